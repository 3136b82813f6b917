//! Simulated time: whole nanoseconds in 64 bits, with checked arithmetic and a text form that loses nothing.
//!
//! A [`SimTime`] is a point on the run's clock, which starts at zero; a [`SimDuration`] is the distance between two points.
//! Neither has arithmetic operators: every sum is checked, and an overflow is a [`TimeError`] with both operands in it.
//!
//! The text form is decimal seconds, written and read with integer arithmetic only: trailing zeros trimmed, at least one
//! and at most nine fractional digits. Inside JSON a time is a *string* of that form, because a JSON number would pass
//! through `f64` in most programs and lose nanoseconds from 2^53 ns (104 days) on.
//!
//! ```
//! use chaconne_sim_core::time::{SimDuration, SimTime};
//!
//! let start: SimTime = "1.5".parse()?;
//! let later = start.checked_add(SimDuration::from_millis(33))?;
//! assert_eq!(later.to_string(), "1.533");
//! assert_eq!(later.since(start)?, SimDuration::from_nanos(33_000_000));
//! # Ok::<(), chaconne_sim_core::time::TimeError>(())
//! ```

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// A point on the clock of a run, in nanoseconds from its start.
///
/// [`SimTime::MAX`] as a next due time means *never again*.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SimTime(i64);

/// A distance between two points in time, in nanoseconds; it may be negative.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SimDuration(i64);

/// Why a time could not be computed or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TimeError {
    /// A sum, difference, product or conversion left the range of 64-bit nanoseconds.
    #[error("{operation} does not fit into 64-bit nanoseconds (about ±292 years): use smaller times")]
    Overflow {
        /// The operation with its operands, such as `1.0 s + 2.0 s`.
        operation: String,
    },
    /// A text is not decimal seconds.
    #[error(
        "`{text}` is not a time in decimal seconds ({reason}): write digits with at most nine decimals, such as `2.0` or `-0.033333333`"
    )]
    Text {
        /// The text that was read.
        text: String,
        /// What is wrong with it.
        reason: &'static str,
    },
}

#[cold]
fn overflow(left: i64, operator: char, right: i64) -> TimeError {
    TimeError::Overflow { operation: format!("{} s {operator} {} s", SimTime(left), SimTime(right)) }
}

#[cold]
fn too_many(count: i64, unit: &str) -> TimeError {
    TimeError::Overflow { operation: format!("{count} {unit}") }
}

impl SimTime {
    /// The sum of this time and a duration.
    ///
    /// # Errors
    /// [`TimeError::Overflow`] when the sum leaves the range of 64-bit nanoseconds.
    #[inline]
    pub fn checked_add(self, duration: SimDuration) -> Result<Self, TimeError> {
        match self.0.checked_add(duration.0) {
            Some(nanos) => Ok(Self(nanos)),
            None => Err(overflow(self.0, '+', duration.0)),
        }
    }

    /// The time that lies a duration before this one.
    ///
    /// # Errors
    /// [`TimeError::Overflow`] when the difference leaves the range of 64-bit nanoseconds.
    #[inline]
    pub fn checked_sub(self, duration: SimDuration) -> Result<Self, TimeError> {
        match self.0.checked_sub(duration.0) {
            Some(nanos) => Ok(Self(nanos)),
            None => Err(overflow(self.0, '-', duration.0)),
        }
    }

    /// The duration from `earlier` to this time; negative when `earlier` is the later one.
    ///
    /// # Errors
    /// [`TimeError::Overflow`] when the distance leaves the range of 64-bit nanoseconds.
    #[inline]
    pub fn since(self, earlier: Self) -> Result<SimDuration, TimeError> {
        match self.0.checked_sub(earlier.0) {
            Some(nanos) => Ok(SimDuration(nanos)),
            None => Err(overflow(self.0, '-', earlier.0)),
        }
    }
}

impl SimDuration {
    /// The sum of two durations.
    ///
    /// # Errors
    /// [`TimeError::Overflow`] when the sum leaves the range of 64-bit nanoseconds.
    #[inline]
    pub fn checked_add(self, other: Self) -> Result<Self, TimeError> {
        match self.0.checked_add(other.0) {
            Some(nanos) => Ok(Self(nanos)),
            None => Err(overflow(self.0, '+', other.0)),
        }
    }

    /// The difference of two durations.
    ///
    /// # Errors
    /// [`TimeError::Overflow`] when the difference leaves the range of 64-bit nanoseconds.
    #[inline]
    pub fn checked_sub(self, other: Self) -> Result<Self, TimeError> {
        match self.0.checked_sub(other.0) {
            Some(nanos) => Ok(Self(nanos)),
            None => Err(overflow(self.0, '-', other.0)),
        }
    }

    /// This duration `factor` times.
    ///
    /// # Errors
    /// [`TimeError::Overflow`] when the product leaves the range of 64-bit nanoseconds.
    #[inline]
    pub fn checked_mul(self, factor: i64) -> Result<Self, TimeError> {
        match self.0.checked_mul(factor) {
            Some(nanos) => Ok(Self(nanos)),
            None => Err(TimeError::Overflow { operation: format!("{self} s × {factor}") }),
        }
    }

    /// From seconds, rounded to the nearest nanosecond: for waiting times that were drawn or computed. Use the integer
    /// constructors for a cadence.
    ///
    /// # Errors
    /// [`TimeError::Overflow`] when the value is not a number, or leaves the range of 64-bit nanoseconds.
    pub fn try_from_secs_f64(secs: f64) -> Result<Self, TimeError> {
        const LIMIT: f64 = 9_223_372_036_854_775_808.0;
        let nanos = (secs * 1e9).round();
        if (-LIMIT..LIMIT).contains(&nanos) {
            return Ok(Self(nanos as i64));
        }
        Err(TimeError::Overflow { operation: format!("{secs} s") })
    }

    /// Whether the duration is longer than zero.
    #[inline]
    pub const fn is_positive(self) -> bool {
        self.0 > 0
    }
}

macro_rules! nanosecond_type {
    ($type:ident, $expecting:literal) => {
        impl $type {
            /// Zero nanoseconds.
            pub const ZERO: Self = Self(0);
            /// The smallest value, −2^63 ns.
            pub const MIN: Self = Self(i64::MIN);
            /// The largest value, 2^63 − 1 ns.
            pub const MAX: Self = Self(i64::MAX);

            /// From nanoseconds.
            #[inline]
            pub const fn from_nanos(nanos: i64) -> Self {
                Self(nanos)
            }

            /// From microseconds. The argument has 32 bits so that the product cannot overflow;
            #[doc = concat!("[`", stringify!($type), "::try_from_micros`] takes 64.")]
            #[inline]
            pub const fn from_micros(micros: i32) -> Self {
                Self(micros as i64 * 1_000)
            }

            /// From milliseconds. The argument has 32 bits so that the product cannot overflow;
            #[doc = concat!("[`", stringify!($type), "::try_from_millis`] takes 64.")]
            #[inline]
            pub const fn from_millis(millis: i32) -> Self {
                Self(millis as i64 * 1_000_000)
            }

            /// From seconds. The argument has 32 bits so that the product cannot overflow;
            #[doc = concat!("[`", stringify!($type), "::try_from_secs`] takes 64.")]
            #[inline]
            pub const fn from_secs(secs: i32) -> Self {
                Self(secs as i64 * 1_000_000_000)
            }

            /// From microseconds.
            ///
            /// # Errors
            /// [`TimeError::Overflow`] when the value leaves the range of 64-bit nanoseconds.
            pub fn try_from_micros(micros: i64) -> Result<Self, TimeError> {
                micros.checked_mul(1_000).map(Self).ok_or_else(|| too_many(micros, "µs"))
            }

            /// From milliseconds.
            ///
            /// # Errors
            /// [`TimeError::Overflow`] when the value leaves the range of 64-bit nanoseconds.
            pub fn try_from_millis(millis: i64) -> Result<Self, TimeError> {
                millis.checked_mul(1_000_000).map(Self).ok_or_else(|| too_many(millis, "ms"))
            }

            /// From seconds.
            ///
            /// # Errors
            /// [`TimeError::Overflow`] when the value leaves the range of 64-bit nanoseconds.
            pub fn try_from_secs(secs: i64) -> Result<Self, TimeError> {
                secs.checked_mul(1_000_000_000).map(Self).ok_or_else(|| too_many(secs, "s"))
            }

            /// In nanoseconds.
            #[inline]
            pub const fn as_nanos(self) -> i64 {
                self.0
            }

            /// In seconds, as an `f64`: for physics and plots, never to be turned back into a time. Beyond 2^53 ns (104
            /// days) the nanoseconds are rounded first.
            #[inline]
            pub fn as_secs_f64(self) -> f64 {
                self.0 as f64 / 1e9
            }

            /// Appends the text form to `out`: what a line of a log or a frame of a protocol holds as a JSON number.
            #[inline]
            pub fn append_to(self, out: &mut Vec<u8>) {
                out.extend_from_slice(SecondsText::new(self.0).as_bytes());
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(SecondsText::new(self.0).as_str())
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({} s)", stringify!($type), SecondsText::new(self.0).as_str())
            }
        }

        impl FromStr for $type {
            type Err = TimeError;

            /// Reads an optional sign, digits, and an optional point with one to nine digits; nothing else.
            fn from_str(text: &str) -> Result<Self, TimeError> {
                parse_seconds(text).map(Self)
            }
        }

        impl Serialize for $type {
            #[inline]
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(SecondsText::new(self.0).as_str())
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl de::Visitor<'_> for Visitor {
                    type Value = $type;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expecting)
                    }

                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Visitor)
            }
        }
    };
}

nanosecond_type!(SimTime, "a time as a string of decimal seconds, such as \"2.0\"");
nanosecond_type!(SimDuration, "a duration as a string of decimal seconds, such as \"0.1\"");

/// Decimal seconds in a buffer of their own, right-aligned: sign, ten digits, point and nine digits at the most.
struct SecondsText {
    bytes: [u8; 21],
    start: u8,
    end: u8,
}

impl SecondsText {
    #[inline]
    fn new(nanos: i64) -> Self {
        let magnitude = nanos.unsigned_abs();
        let (mut seconds, mut fraction) = (magnitude / NANOS_PER_SECOND, (magnitude % NANOS_PER_SECOND) as u32);
        let mut bytes = [b'0'; 21];
        for digit in bytes[12..].iter_mut().rev() {
            *digit = b'0' + (fraction % 10) as u8;
            fraction /= 10;
        }
        let mut end = bytes.len();
        while end > 13 && bytes[end - 1] == b'0' {
            end -= 1;
        }
        bytes[11] = b'.';
        let mut start = 11;
        loop {
            start -= 1;
            bytes[start] = b'0' + (seconds % 10) as u8;
            seconds /= 10;
            if seconds == 0 {
                break;
            }
        }
        if nanos < 0 {
            start -= 1;
            bytes[start] = b'-';
        }
        Self { bytes, start: start as u8, end: end as u8 }
    }

    #[inline]
    fn as_bytes(&self) -> &[u8] {
        &self.bytes[usize::from(self.start)..usize::from(self.end)]
    }

    #[inline]
    fn as_str(&self) -> &str {
        // The bytes are ASCII digits, a point and a minus sign, so that the default is never taken.
        std::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }
}

fn parse_seconds(text: &str) -> Result<i64, TimeError> {
    let refuse = |reason| TimeError::Text { text: text.to_owned(), reason };
    let (negative, unsigned) = match text.as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        all => (false, all),
    };
    let point = unsigned.iter().position(|&byte| byte == b'.');
    let (whole, fraction) = match point {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    if whole.is_empty() {
        return Err(refuse("there is no digit before the point"));
    }
    let fraction = fraction.unwrap_or(b"0");
    if fraction.is_empty() {
        return Err(refuse("there is no digit after the point"));
    }
    if !whole.iter().chain(fraction).all(u8::is_ascii_digit) {
        return Err(refuse("a character is not a digit"));
    }
    if fraction.len() > 9 {
        return Err(refuse("it has more than nine decimals"));
    }
    let digits = whole.iter().chain(fraction).copied().chain(std::iter::repeat_n(b'0', 9 - fraction.len()));
    // Built up as a negative number, whose range is the larger one by a nanosecond.
    let mut nanos = 0_i64;
    for digit in digits {
        nanos = nanos
            .checked_mul(10)
            .and_then(|nanos| nanos.checked_sub(i64::from(digit - b'0')))
            .ok_or_else(|| TimeError::Overflow { operation: format!("{text} s") })?;
    }
    if negative {
        return Ok(nanos);
    }
    nanos.checked_neg().ok_or_else(|| TimeError::Overflow { operation: format!("{text} s") })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_is_decimal_seconds_with_one_to_nine_decimals() {
        let cases = [
            (0, "0.0"),
            (2_000_000_000, "2.0"),
            (33_333_333, "0.033333333"),
            (-500_000_000, "-0.5"),
            (1, "0.000000001"),
            (-1, "-0.000000001"),
            (100, "0.0000001"),
            (i64::MAX, "9223372036.854775807"),
            (i64::MIN, "-9223372036.854775808"),
        ];
        for (nanos, text) in cases {
            assert_eq!(SimTime::from_nanos(nanos).to_string(), text);
            assert_eq!(SimDuration::from_nanos(nanos).to_string(), text);
            assert_eq!(text.parse(), Ok(SimTime::from_nanos(nanos)));
        }
    }

    #[test]
    fn other_spellings_of_a_number_are_read() {
        for (text, nanos) in
            [("2", 2_000_000_000), ("+2.50", 2_500_000_000), ("-0", 0), ("-0.0", 0), ("007.1", 7_100_000_000)]
        {
            assert_eq!(text.parse(), Ok(SimTime::from_nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_its_text() {
        for text in [
            "",
            "-",
            "+",
            ".",
            ".5",
            "5.",
            "1e3",
            " 1",
            "1 ",
            "1_000",
            "0x1",
            "--1",
            "1.2.3",
            "٣",
            "1.0000000000",
            "NaN",
        ] {
            let error = text.parse::<SimTime>().unwrap_err();
            assert!(matches!(&error, TimeError::Text { text: named, .. } if named == text), "{text}: {error}");
        }
        for text in ["9223372036.854775808", "-9223372036.854775809", "99999999999999999999999999"] {
            assert!(matches!(text.parse::<SimTime>(), Err(TimeError::Overflow { .. })), "{text}");
        }
    }

    #[test]
    fn arithmetic_that_overflows_is_an_error_that_names_both_operands() {
        let error = SimTime::MAX.checked_add(SimDuration::from_nanos(1)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "9223372036.854775807 s + 0.000000001 s does not fit into 64-bit nanoseconds (about ±292 years): use smaller times"
        );
        assert!(SimTime::MIN.checked_sub(SimDuration::from_nanos(1)).is_err());
        assert!(SimTime::MIN.since(SimTime::from_nanos(1)).is_err());
        assert!(SimDuration::MAX.checked_add(SimDuration::from_nanos(1)).is_err());
        assert!(SimDuration::MIN.checked_sub(SimDuration::from_nanos(1)).is_err());
        assert!(SimDuration::MIN.checked_mul(-1).is_err());
        assert!(SimDuration::try_from_secs(9_223_372_037).is_err());
        assert_eq!(SimDuration::try_from_secs(9_223_372_036), Ok(SimDuration::from_nanos(9_223_372_036_000_000_000)));
    }

    #[test]
    fn the_largest_arguments_of_the_infallible_constructors_fit() {
        for argument in [i32::MIN, i32::MAX] {
            assert_eq!(Ok(SimTime::from_secs(argument)), SimTime::try_from_secs(argument.into()));
            assert_eq!(Ok(SimTime::from_millis(argument)), SimTime::try_from_millis(argument.into()));
            assert_eq!(Ok(SimTime::from_micros(argument)), SimTime::try_from_micros(argument.into()));
        }
    }

    #[test]
    fn computed_seconds_are_rounded_to_the_nearest_nanosecond() {
        let cases = [
            (0.1, 100_000_000),
            (-0.5, -500_000_000),
            (1e-10, 0),
            (6e-10, 1),
            (-9_223_372_036.0, -9_223_372_036_000_000_000),
        ];
        for (secs, nanos) in cases {
            assert_eq!(SimDuration::try_from_secs_f64(secs), Ok(SimDuration::from_nanos(nanos)));
        }
        for secs in [f64::NAN, f64::INFINITY, 9_223_372_037.0, -1e300] {
            assert!(SimDuration::try_from_secs_f64(secs).is_err(), "{secs}");
        }
    }

    #[test]
    fn json_holds_a_string_and_never_a_number() {
        // 9,000,000,000.000000001 s is beyond 2^53 ns, where an `f64` no longer tells nanoseconds apart.
        let time = SimTime::from_nanos(9_000_000_000_000_000_001);
        let text = serde_json::to_string(&time).unwrap();
        assert_eq!(text, "\"9000000000.000000001\"");
        assert_eq!(serde_json::from_str::<SimTime>(&text).unwrap(), time);
        assert!(serde_json::from_str::<SimTime>("2.0").unwrap_err().to_string().contains("decimal seconds"));
    }

    proptest! {
        #[test]
        fn every_time_survives_its_text(nanos: i64) {
            let time = SimTime::from_nanos(nanos);
            prop_assert_eq!(time.to_string().parse(), Ok(time));
            let mut bytes = Vec::new();
            time.append_to(&mut bytes);
            prop_assert_eq!(bytes, time.to_string().into_bytes());
        }

        #[test]
        fn times_that_differ_by_a_nanosecond_have_texts_that_differ(nanos in (1_i64 << 53)..i64::MAX) {
            prop_assert_ne!(SimTime::from_nanos(nanos).to_string(), SimTime::from_nanos(nanos + 1).to_string());
        }

        #[test]
        fn adding_and_subtracting_are_inverse(time: i64, duration: i64) {
            let (time, duration) = (SimTime::from_nanos(time), SimDuration::from_nanos(duration));
            if let Ok(sum) = time.checked_add(duration) {
                prop_assert_eq!(sum.checked_sub(duration), Ok(time));
                prop_assert_eq!(sum.since(time), Ok(duration));
            }
        }
    }
}
