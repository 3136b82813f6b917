//! Steering: pure pursuit of a point ahead.
//!
//! ```
//! use chaconne_sim_core::math::Vec2;
//! use chaconne_traffic::law::pursuit_curvature;
//!
//! // A point ten metres ahead and ten to the left lies on a quarter circle of radius ten.
//! let curvature = pursuit_curvature(Vec2::ZERO, Vec2::X, Vec2::new(10.0, 10.0));
//! assert!((curvature - 0.1).abs() < 1e-15);
//! ```

use chaconne_sim_core::math::{self, Vec2};

use crate::{TrafficError, error::check_positive};

/// How far ahead a driver looks for the point to pursue.
///
/// The lateral error of a pursuit with look-ahead time τ behaves like an oscillator with frequency √2/τ and damping
/// 1/√2, whatever the speed, until the minimum distance takes over at low speeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PurePursuit {
    /// Look-ahead distance per speed, in seconds; above 0.
    pub look_ahead_time: f64,
    /// Look-ahead distance at low speed, in metres; above 0.
    pub min_look_ahead: f64,
}

impl Default for PurePursuit {
    /// One second ahead and at least six metres.
    fn default() -> Self {
        Self { look_ahead_time: 1.0, min_look_ahead: 6.0 }
    }
}

impl PurePursuit {
    /// Checks both parameters.
    ///
    /// # Errors
    ///
    /// [`TrafficError::Parameter`] with the first that is not finite or not above zero.
    pub fn check(&self) -> Result<(), TrafficError> {
        check_positive("pure pursuit", "look_ahead_time", self.look_ahead_time)?;
        check_positive("pure pursuit", "min_look_ahead", self.min_look_ahead)
    }

    /// The distance ahead in metres of the point to pursue, at a speed in m/s.
    #[inline]
    #[must_use]
    pub fn look_ahead(&self, speed: f64) -> f64 {
        math::max(speed * self.look_ahead_time, self.min_look_ahead)
    }
}

/// The curvature in 1/m of the circle that starts at `position` along `direction`, a unit vector, and passes through
/// `target`.
///
/// This is κ = 2·sin(α) / L_d of Coulter (1992), Implementation of the Pure Pursuit Path Tracking Algorithm, with the
/// angle α to the target and its distance L_d; positive to the left. The yaw rate that follows it is speed · κ. A
/// target that coincides with the position gives 0.
#[inline]
#[must_use]
pub fn pursuit_curvature(position: Vec2, direction: Vec2, target: Vec2) -> f64 {
    let offset = target - position;
    let distance_squared = offset.length_squared();
    if distance_squared == 0.0 {
        return 0.0;
    }
    // sin(α) is the share of the offset that lies to the left, over the distance.
    2.0 * direction.perp_dot(offset) / distance_squared
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_curvature_is_twice_the_sine_over_the_look_ahead_distance(
            x in -1e3..1e3, y in -1e3..1e3, heading in -4.0..4.0, alpha in -3.1..3.1, distance in 0.1..100.0,
        ) {
            let position = Vec2::new(x, y);
            let target = position + Vec2::from_angle(heading + alpha) * distance;
            let expected = 2.0 * math::sin(alpha) / distance;
            let curvature = pursuit_curvature(position, Vec2::from_angle(heading), target);
            prop_assert!((curvature - expected).abs() < 1e-10 / distance, "{} instead of {}", curvature, expected);
        }

        #[test]
        fn a_target_on_a_circle_gives_that_circle(
            heading in -3.1..3.1, radius in 5.0..500.0, turn in 0.01..3.0, left: bool,
        ) {
            let curvature = if left { 1.0 } else { -1.0 } / radius;
            let chord = 2.0 * radius * math::sin(turn / 2.0);
            let bearing = heading + f64::copysign(turn, curvature) / 2.0;
            let found = pursuit_curvature(Vec2::ZERO, Vec2::from_angle(heading), Vec2::from_angle(bearing) * chord);
            prop_assert!((found - curvature).abs() < 1e-12, "{} instead of {}", found, curvature);
        }

        #[test]
        fn a_mirrored_pursuit_is_mirrored_to_the_bit(
            x in -1e3..1e3, y in -1e3..1e3, heading in -10.0..10.0, tx in -1e3..1e3, ty in -1e3..1e3,
        ) {
            let left = pursuit_curvature(Vec2::new(x, y), Vec2::from_angle(heading), Vec2::new(tx, ty));
            let right = pursuit_curvature(Vec2::new(x, -y), Vec2::from_angle(-heading), Vec2::new(tx, -ty));
            prop_assert_eq!(left.to_bits(), (-right).to_bits());
        }
    }

    #[test]
    fn a_target_at_the_own_position_asks_for_no_turn() {
        assert_eq!(pursuit_curvature(Vec2::X, Vec2::Y, Vec2::X), 0.0);
    }

    #[test]
    fn look_ahead_grows_with_speed_from_its_minimum() {
        let pursuit = PurePursuit { look_ahead_time: 1.5, min_look_ahead: 6.0 };
        assert_eq!([0.0, 4.0, 20.0].map(|speed| pursuit.look_ahead(speed)), [6.0, 6.0, 30.0]);
        assert!(PurePursuit { look_ahead_time: -1.0, ..pursuit }.check().is_err());
    }
}
