//! Ranges of numbers: checked, described in words, and in a schema.

use std::fmt;
use std::ops::Bound;

use chaconne_sim_core::time::{SimDuration, SimTime};
use schemars::{Schema, json_schema};
use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::Seconds;

/// The values that a quantity can have, and their unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range<T> {
    lower: Bound<T>,
    upper: Bound<T>,
    unit: &'static str,
}

/// A value lies outside its range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{value} is out of range: it must be {range}")]
pub struct OutOfRange {
    /// The value, as text.
    pub value: String,
    /// The range, in words.
    pub range: String,
}

impl<T: Copy> Range<T> {
    /// All values, in a unit: `m/s`, or empty for a plain number.
    pub const fn new(unit: &'static str) -> Self {
        Self { lower: Bound::Unbounded, upper: Bound::Unbounded, unit }
    }

    /// `lower` and what is larger.
    #[must_use]
    pub const fn from(self, lower: T) -> Self {
        Self { lower: Bound::Included(lower), ..self }
    }

    /// What is larger than `lower`.
    #[must_use]
    pub const fn above(self, lower: T) -> Self {
        Self { lower: Bound::Excluded(lower), ..self }
    }

    /// `upper` and what is smaller.
    #[must_use]
    pub const fn up_to(self, upper: T) -> Self {
        Self { upper: Bound::Included(upper), ..self }
    }

    /// What is smaller than `upper`.
    #[must_use]
    pub const fn below(self, upper: T) -> Self {
        Self { upper: Bound::Excluded(upper), ..self }
    }
}

impl<T: RangeNumber> Range<T> {
    /// Whether a value lies in it; one that is not finite never does.
    pub fn contains(&self, value: T) -> bool {
        value.is_finite() && std::ops::RangeBounds::contains(&(self.lower, self.upper), &value)
    }

    /// The value, if it lies in the range.
    ///
    /// # Errors
    /// When it does not.
    pub fn check(&self, value: T) -> Result<T, OutOfRange> {
        if self.contains(value) {
            return Ok(value);
        }
        Err(OutOfRange { value: value.to_string(), range: self.to_string() })
    }
}

impl<T: RangeNumber> fmt::Display for Range<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lower = match self.lower {
            Bound::Included(lower) => Some(format!("from {}", lower.shown())),
            Bound::Excluded(lower) => Some(format!("above {}", lower.shown())),
            Bound::Unbounded => None,
        };
        let upper = match (self.lower, self.upper) {
            (Bound::Included(_), Bound::Included(upper)) => Some(format!("to {}", upper.shown())),
            (_, Bound::Included(upper)) => Some(format!("up to {}", upper.shown())),
            (_, Bound::Excluded(upper)) if upper.is_last() => None,
            (_, Bound::Excluded(upper)) => Some(format!("below {}", upper.shown())),
            (_, Bound::Unbounded) => None,
        };
        match (lower, upper) {
            (Some(lower), Some(upper)) if upper.starts_with("to ") => write!(f, "{lower} {upper}")?,
            (Some(lower), Some(upper)) => write!(f, "{lower} and {upper}")?,
            (Some(lower), None) if lower.starts_with("from ") => write!(f, "{lower} on")?,
            (Some(bound), None) | (None, Some(bound)) => f.write_str(&bound)?,
            (None, None) => f.write_str(T::WORDS)?,
        }
        if self.unit.is_empty() { Ok(()) } else { write!(f, " ({})", self.unit) }
    }
}

mod sealed {
    pub trait Sealed {}
}

/// What a [`Range`] can be a range of.
pub trait RangeNumber: Copy + PartialOrd + fmt::Display + sealed::Sealed {
    /// Any of them, in words.
    #[doc(hidden)]
    const WORDS: &'static str;

    #[doc(hidden)]
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;

    /// The schema of any of them.
    #[doc(hidden)]
    fn any() -> Schema;

    /// As a number of a schema.
    #[doc(hidden)]
    fn value(self) -> Value;

    #[doc(hidden)]
    fn is_finite(self) -> bool {
        true
    }

    /// Whether it stands for the end of the type's range, which no sentence needs to name.
    #[doc(hidden)]
    fn is_last(self) -> bool {
        false
    }

    #[doc(hidden)]
    fn shown(self) -> String {
        self.to_string()
    }
}

macro_rules! numbers {
    ($words:literal, $kind:literal, $finite:expr; $($type:ty)+) => {$(
        impl sealed::Sealed for $type {}
        impl RangeNumber for $type {
            const WORDS: &'static str = $words;

            fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::deserialize(deserializer)
            }

            fn any() -> Schema {
                json_schema!({ "type": $kind })
            }

            fn value(self) -> Value {
                json!(self)
            }

            fn is_finite(self) -> bool {
                let finite: fn($type) -> bool = $finite;
                finite(self)
            }
        }
    )+};
}

numbers! { "a finite number", "number", |value| value.is_finite(); f64 f32 }
numbers! { "a whole number", "integer", |_| true; u8 u16 u32 u64 }
numbers! { "a whole number", "integer", |_| true; i8 i16 i32 i64 }

macro_rules! times {
    ($($type:ident)+) => {$(
        impl sealed::Sealed for $type {}
        impl RangeNumber for $type {
            const WORDS: &'static str = "a time";

            fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Seconds::deserialize(deserializer).map(|Seconds(time)| time)
            }

            fn any() -> Schema {
                json_schema!({ "type": ["number", "string"] })
            }

            fn value(self) -> Value {
                json!(self.as_secs_f64())
            }

            fn is_last(self) -> bool {
                self == Self::MAX
            }

            fn shown(self) -> String {
                let text = self.to_string();
                text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
            }
        }
    )+};
}

times! { SimTime SimDuration }

/// Reads a number that lies in a range: what [`quantities!`](crate::quantities) calls, and what can be called from a
/// function of one's own for `#[serde(deserialize_with)]`.
///
/// # Errors
/// What is no number, or lies outside the range.
pub fn read<'de, T: RangeNumber, D: Deserializer<'de>>(deserializer: D, range: &Range<T>) -> Result<T, D::Error> {
    let value = T::read(deserializer)?;
    if range.contains(value) {
        return Ok(value);
    }
    Err(D::Error::invalid_value(Unexpected::Other(&value.to_string()), &range.to_string().as_str()))
}

/// The schema of the numbers in a range.
pub fn schema<T: RangeNumber>(range: &Range<T>) -> Schema {
    let mut schema = T::any();
    let mut insert = |key: &str, value: T| {
        if !value.is_last() {
            schema.insert(key.to_owned(), value.value());
        }
    };
    match range.lower {
        Bound::Included(lower) => insert("minimum", lower),
        Bound::Excluded(lower) => insert("exclusiveMinimum", lower),
        Bound::Unbounded => {}
    }
    match range.upper {
        Bound::Included(upper) => insert("maximum", upper),
        Bound::Excluded(upper) => insert("exclusiveMaximum", upper),
        Bound::Unbounded => {}
    }
    if !range.unit.is_empty() {
        // The description gives way to the field's own, the unit does not.
        schema.insert("description".to_owned(), json!(format!("in {}", range.unit)));
        schema.insert("unit".to_owned(), json!(range.unit));
    }
    schema
}
