//! Times in files: seconds, exact to the nanosecond.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use chaconne_sim_core::time::{SimDuration, SimTime};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::params::LITERAL;

/// A time that is read from seconds: a number, or a text of the same form.
///
/// From [`Params`](crate::params::Params) the digits are taken as they are written, so that `9000000000.000000001` is what
/// it says. More than nine decimals are an error, not rounded. Other sources of numbers give what their `f64` gives.
///
/// ```
/// use chaconne_scenario::{params::Params, quantity::Seconds};
/// use chaconne_sim_core::SimTime;
///
/// let time: Seconds<SimTime> = Params::from_json("9000000000.000000001")?.read()?;
/// assert_eq!(time.0, SimTime::from_nanos(9_000_000_000_000_000_001));
/// # Ok::<(), chaconne_scenario::params::ParamError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seconds<T>(pub T);

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::SimTime {}
    impl Sealed for super::SimDuration {}
}

/// What is given in seconds: `SimTime` and `SimDuration`.
pub trait InSeconds: Copy + Serialize + sealed::Sealed {
    /// From decimal seconds.
    #[doc(hidden)]
    fn from_text(text: &str) -> Option<Self>;
}

impl InSeconds for SimTime {
    fn from_text(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl InSeconds for SimDuration {
    fn from_text(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

/// The literal of a number in the one form in which times are read: no bare point, no exponent, no hexadecimal digits.
fn plain(literal: &str) -> Option<Cow<'_, str>> {
    let (sign, unsigned) = match literal.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", literal.strip_prefix('+').unwrap_or(literal)),
    };
    if let Some(digits) = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X")) {
        return Some(format!("{sign}{}", u64::from_str_radix(digits, 16).ok()?).into());
    }
    if let Some((mantissa, exponent)) = unsigned.split_once(['e', 'E']) {
        return shift(sign, mantissa, exponent.parse().ok()?).map(Cow::Owned);
    }
    match (unsigned.strip_prefix('.'), unsigned.strip_suffix('.')) {
        (Some(_), _) => Some(format!("{sign}0{unsigned}").into()),
        (_, Some(whole)) => Some(format!("{sign}{whole}").into()),
        _ => Some(literal.into()),
    }
}

/// Moves the point of `mantissa` to the right by `exponent` digits.
fn shift(sign: &str, mantissa: &str, exponent: i32) -> Option<String> {
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: String = [whole, fraction].concat();
    if digits.bytes().all(|digit| digit == b'0') {
        return Some("0".to_owned());
    }
    // Beyond these no digit that counts is left among those of a time.
    let point = i64::try_from(whole.len()).ok()? + i64::from(exponent);
    if !(-40..=40).contains(&point) {
        return None;
    }
    let zeros = |count: i64| "0".repeat(usize::try_from(count).unwrap_or(0));
    let padded = format!("{}{digits}{}", zeros(1 - point), zeros(point - i64::try_from(digits.len()).ok()?));
    let at = usize::try_from(point.max(1)).ok()?;
    let fraction = padded[at..].trim_end_matches('0');
    Some(format!("{sign}{}.{}", &padded[..at], if fraction.is_empty() { "0" } else { fraction }))
}

impl<'de, T: InSeconds> Deserialize<'de> for Seconds<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SecondsVisitor<T>(PhantomData<T>);

        impl<T: InSeconds> SecondsVisitor<T> {
            fn read<E: de::Error>(&self, literal: &str) -> Result<Seconds<T>, E> {
                let time = plain(literal).and_then(|text| T::from_text(&text));
                time.map(Seconds).ok_or_else(|| E::invalid_value(Unexpected::Str(literal), self))
            }
        }

        impl<'de, T: InSeconds> Visitor<'de> for SecondsVisitor<T> {
            type Value = Seconds<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time in seconds, such as 2.5, with at most nine decimals and within 292 years of 0")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                self.read(text)
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Self::Value, E> {
                self.read(&value.to_string())
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
                self.read(&value.to_string())
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Self::Value, E> {
                self.read(&value.to_string())
            }

            fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<Self::Value, D::Error> {
                inner.deserialize_any(self)
            }
        }

        deserializer.deserialize_newtype_struct(LITERAL, SecondsVisitor(PhantomData))
    }
}

impl<T: InSeconds> Serialize for Seconds<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<T> JsonSchema for Seconds<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Seconds".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["number", "string"], "description": "in s" })
    }
}
