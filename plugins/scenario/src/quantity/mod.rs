//! Numbers with a range and a unit, times, and orientations: what the parameters of factories are made of.
//!
//! A range is declared once, with [`quantities!`](crate::quantities). It is then checked while a file is read, at the place
//! of the value, and stands in the schema of the file:
//!
//! ```
//! use chaconne_scenario::params::Params;
//! use chaconne_scenario::quantity::Range;
//!
//! chaconne_scenario::quantities! {
//!     /// A speed along the road.
//!     pub struct Speed(f64) = Range::new("m/s").above(0.0).up_to(100.0);
//! }
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Car {
//!     speed: Speed,
//! }
//!
//! let car: Car = Params::from_json("{ speed: 30 }")?.read()?;
//! assert_eq!(car.speed.get(), 30.0);
//!
//! let error = Params::from_json("{ speed: -3 }")?.read::<Car>().err().unwrap();
//! assert_eq!(error.to_string(), "line 1, column 10: `speed` is -3, but must be above 0 and up to 100 (m/s)");
//!
//! let schema = schemars::schema_for!(Car);
//! assert_eq!(schema.pointer("/properties/speed/exclusiveMinimum"), Some(&serde_json::json!(0.0)));
//! assert_eq!(schema.pointer("/properties/speed/maximum"), Some(&serde_json::json!(100.0)));
//! # Ok::<(), chaconne_scenario::params::ParamError>(())
//! ```

mod range;
mod seconds;
#[cfg(test)]
mod tests;

use chaconne_sim_core::math::{Euler, Quat};
use chaconne_sim_core::time::{SimDuration, SimTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use range::{OutOfRange, Range, RangeNumber, read, schema};
pub use seconds::{InSeconds, Seconds};

/// Declares types of numbers that lie in a [`Range`]: `f64`, `f32`, integers up to 64 bits, `SimTime` and `SimDuration`.
///
/// Each has `RANGE`, `new` (checks), `of` (for constants; panics), `get`, and reads, writes and describes itself; see the
/// [module](crate::quantity).
#[macro_export]
macro_rules! quantities {
    ($($(#[$attribute:meta])* $visibility:vis struct $name:ident($number:ty) = $range:expr;)+) => {$(
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
        $visibility struct $name($number);

        #[allow(dead_code, reason = "not every quantity is used in every way")]
        impl $name {
            /// The values that it can have.
            $visibility const RANGE: $crate::quantity::Range<$number> = $range;

            /// Checks a value.
            ///
            /// # Errors
            /// When it lies outside the range.
            $visibility fn new(value: $number) -> ::std::result::Result<Self, $crate::quantity::OutOfRange> {
                Self::RANGE.check(value).map(Self)
            }

            /// A value that is known to lie in the range: a default.
            ///
            /// # Panics
            /// When it does not.
            #[track_caller]
            $visibility fn of(value: $number) -> Self {
                match Self::new(value) {
                    Ok(quantity) => quantity,
                    Err(error) => panic!("{error}"),
                }
            }

            /// The value.
            $visibility fn get(self) -> $number {
                self.0
            }
        }

        impl ::std::convert::From<$name> for $number {
            fn from(quantity: $name) -> $number {
                quantity.0
            }
        }

        impl<'de> $crate::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                $crate::quantity::read(deserializer, &Self::RANGE).map(Self)
            }
        }

        impl $crate::serde::Serialize for $name {
            fn serialize<S: $crate::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                $crate::serde::Serialize::serialize(&self.0, serializer)
            }
        }

        impl $crate::schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn schema_id() -> ::std::borrow::Cow<'static, str> {
                concat!(module_path!(), "::", stringify!($name)).into()
            }

            fn json_schema(_: &mut $crate::schemars::SchemaGenerator) -> $crate::schemars::Schema {
                $crate::quantity::schema(&Self::RANGE)
            }
        }
    )+};
}

quantities! {
    /// A point in simulated time that a file can name: not before zero.
    pub struct Instant(SimTime) = Range::new("s").from(SimTime::ZERO).below(SimTime::MAX);
    /// A duration that is longer than zero, such as a cadence.
    pub struct Period(SimDuration) = Range::new("s").above(SimDuration::ZERO).below(SimDuration::MAX);
    /// An angle in degrees, at most one turn to either side.
    pub struct Degrees(f64) = Range::new("degrees").from(-360.0).up_to(360.0);
}

/// An orientation as files give it: roll, pitch and yaw in degrees, turned about Z, then Y, then X.
///
/// ```
/// use chaconne_scenario::{params::Params, quantity::Orientation};
///
/// let level: Orientation = Params::from_json("{ rpy_deg: [0, 0, 90] }")?.read()?;
/// assert!((level.quat().yaw() - std::f64::consts::FRAC_PI_2).abs() < 1e-15);
/// # Ok::<(), chaconne_scenario::params::ParamError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Orientation {
    /// Roll (positive lowers the right side), pitch (positive lowers the nose) and yaw (positive turns left), in degrees.
    pub rpy_deg: [Degrees; 3],
}

impl Orientation {
    /// As the rotation from the body to what it is mounted on.
    #[must_use]
    pub fn quat(&self) -> Quat {
        Quat::from_euler(Euler::from_degrees(self.rpy_deg.map(Degrees::get)))
    }
}

impl Default for Orientation {
    /// Level, to the front.
    fn default() -> Self {
        Self { rpy_deg: [Degrees(0.0); 3] }
    }
}
