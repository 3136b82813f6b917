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

/// Degrees to radians. Multiples of 45° up to a full turn give exactly that multiple of
/// [`FRAC_PI_4`](super::FRAC_PI_4).
#[inline]
#[must_use]
pub fn to_radians(degrees: f64) -> f64 {
    degrees * RADIANS_PER_DEGREE
}

/// Radians to degrees. Multiples of 45° up to a full turn that went through [`to_radians`] come back exactly.
#[inline]
#[must_use]
pub fn to_degrees(radians: f64) -> f64 {
    // Of the ways to write this, a division by the factor of `to_radians` returns most numbers unchanged.
    radians / RADIANS_PER_DEGREE
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{
        super::{FRAC_PI_4, cos, sin},
        *,
    };

    #[test]
    fn both_half_turns_stay_what_they_are() {
        assert_eq!(wrap(PI), PI);
        assert_eq!(wrap(-PI), -PI);
        assert_eq!(wrap(PI.next_up()), -PI.next_down());
    }

    #[test]
    fn zeros_keep_their_sign() {
        assert_eq!(wrap(-0.0).to_bits(), (-0.0_f64).to_bits());
        assert_eq!(wrap(2.0 * TAU).to_bits(), 0.0_f64.to_bits());
        assert_eq!(wrap(-2.0 * TAU).to_bits(), (-0.0_f64).to_bits());
    }

    #[test]
    fn what_is_not_finite_has_no_direction() {
        for angle in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            assert!(wrap(angle).is_nan());
        }
    }

    #[test]
    fn multiples_of_45_degrees_are_exact_both_ways() {
        for n in -8..=8 {
            let degrees = f64::from(n) * 45.0;
            assert_eq!(to_radians(degrees), f64::from(n) * FRAC_PI_4);
            assert_eq!(to_degrees(to_radians(degrees)), degrees);
        }
    }

    proptest! {
        #[test]
        fn wrapping_is_odd_to_the_bit_and_stays_in_range(any in any::<f64>(), near in -50.0..50.0_f64) {
            for angle in [any, near] {
                if angle.is_finite() {
                    let wrapped = wrap(angle);
                    prop_assert!((-PI..=PI).contains(&wrapped));
                    prop_assert_eq!(wrap(-angle).to_bits(), (-wrapped).to_bits());
                    prop_assert_eq!(wrap(wrapped).to_bits(), wrapped.to_bits());
                    prop_assert_eq!(wrapped, libm::remainder(angle, TAU));
                }
            }
        }

        #[test]
        fn wrapping_keeps_the_direction(angle in -1000.0..1000.0_f64) {
            prop_assert!((sin(angle) - sin(wrap(angle))).abs() < 1e-12);
            prop_assert!((cos(angle) - cos(wrap(angle))).abs() < 1e-12);
        }

        #[test]
        fn a_difference_turns_one_angle_to_the_other(a in -10.0..10.0_f64, b in -10.0..10.0_f64) {
            let turn = difference(a, b);
            prop_assert!((wrap(b + turn) - wrap(a)).abs() < 1e-12 || (wrap(b + turn) - wrap(a)).abs() > TAU - 1e-12);
            prop_assert_eq!(difference(b, a).to_bits(), (-turn).to_bits());
        }

        #[test]
        fn degrees_come_back(degrees in -720.0..720.0_f64) {
            prop_assert!((to_degrees(to_radians(degrees)) - degrees).abs() <= 2.0 * f64::EPSILON * degrees.abs());
        }
    }
}
