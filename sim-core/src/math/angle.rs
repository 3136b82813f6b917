//! Angles in radians: wrapping that is odd to the bit, shortest turns, degrees.
//!
//! ```
//! use chaconne_sim_core::math::{PI, angle};
//!
//! assert_eq!(angle::wrap(1.5 * PI), -0.5 * PI);
//! assert_eq!(angle::wrap(-1.5 * PI), 0.5 * PI);
//! // From 170° to −170° is a left turn of 20°.
//! let turn = angle::difference(angle::to_radians(-170.0), angle::to_radians(170.0));
//! assert!((angle::to_degrees(turn) - 20.0).abs() < 1e-12);
//! ```

use super::{PI, TAU};

/// The same direction as an angle in [−π, π].
///
/// Angles within [−π, π] are returned unchanged, so both −π and π stay as they are: they are one direction, and only a
/// range with both is symmetric. `wrap(-a)` has exactly the bits of `-wrap(a)`, so mirrored bodies stay mirrored.
/// The result is the exact IEEE 754 remainder by [`TAU`], the `f64` nearest to 2π; NaN for an infinite or NaN angle.
#[inline]
#[must_use]
pub fn wrap(angle: f64) -> f64 {
    /// Below 3π, where one turn is enough.
    const ONE_TURN: f64 = 9.0;
    let size = angle.abs();
    if size <= PI {
        angle
    } else if size <= ONE_TURN {
        // Exact, because a number between y/2 and 2y minus y is (Sterbenz 1974).
        angle - TAU.copysign(angle)
    } else {
        libm::remainder(angle, TAU)
    }
}

/// The shortest turn from angle `b` to angle `a`, in [−π, π]: `wrap(a − b)`.
///
/// Positive when `a` lies to the left (anticlockwise) of `b`. `difference(b, a)` is exactly `-difference(a, b)`.
#[inline]
#[must_use]
pub fn difference(a: f64, b: f64) -> f64 {
    wrap(a - b)
}

/// The nearest `f64` to one degree.
const RADIANS_PER_DEGREE: f64 = PI / 180.0;

/// Degrees to radians. Multiples of 45° give exactly that multiple of [`FRAC_PI_4`](super::FRAC_PI_4).
#[inline]
#[must_use]
pub fn to_radians(degrees: f64) -> f64 {
    degrees * RADIANS_PER_DEGREE
}

/// Radians to degrees. Multiples of 45° that went through [`to_radians`] come back exactly.
#[inline]
#[must_use]
pub fn to_degrees(radians: f64) -> f64 {
    // Of the ways to write this, a division by the factor of `to_radians` returns most numbers unchanged.
    radians / RADIANS_PER_DEGREE
}
