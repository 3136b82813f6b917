//! Car following: the Intelligent Driver Model.
//!
//! ```
//! use chaconne_traffic::law::{Idm, Leader};
//!
//! let idm = Idm::PUBLISHED;
//! let gap = idm.equilibrium_gap(20.0).expect("20 m/s is below the desired speed");
//! assert!((gap - 36.4435).abs() < 1e-4);
//! // At that gap, at equal speeds, nobody accelerates.
//! assert!(idm.acceleration(20.0, Some(Leader { gap, speed: 20.0 })).abs() < 1e-12);
//! // An empty road invites to accelerate.
//! assert!(idm.acceleration(20.0, None) > 0.6);
//! ```

use chaconne_sim_core::math;
use serde::{Deserialize, Serialize};

use crate::{TrafficError, error::check_positive};

/// What a driver sees of the vehicle ahead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leader {
    /// Distance from one's own front bumper to the leader's rear bumper, in metres.
    pub gap: f64,
    /// The leader's speed in m/s.
    pub speed: f64,
}

/// The Intelligent Driver Model: acceleration from speed, gap and approach rate.
///
/// With speed v, gap s and approach rate Δv = v − v_leader,
///
/// ```text
/// acceleration = a · [1 − (v / v0)^δ − (s* / s)²]
/// s*           = s0 + max(0, v · T + v · Δv / (2 · √(a · b)))
/// ```
///
/// after Treiber, Hennecke and Helbing (2000), Phys. Rev. E 62, 1805, equations 3 and 4. As in Treiber's own
/// implementation only the dynamic part of s* is floored at zero. A gap below s0 counts as s0 in the quotient, and the
/// result is never below −`max_braking`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Idm {
    /// Speed on an empty road, v0, in m/s; above 0.
    pub desired_speed: f64,
    /// Time gap to the leader, T, in seconds; above 0.
    pub time_gap: f64,
    /// Largest acceleration, a, in m/s²; above 0.
    pub acceleration: f64,
    /// Comfortable deceleration, b, in m/s²; above 0.
    pub deceleration: f64,
    /// How late the acceleration fades on the way to the desired speed, δ; above 0, usually 4.
    pub exponent: f64,
    /// Gap at standstill, s0, in metres; above 0.
    pub standstill_gap: f64,
    /// Hardest braking, b_max, in m/s²; above 0.
    pub max_braking: f64,
}

impl Default for Idm {
    /// [`Idm::BRISK`].
    fn default() -> Self {
        Self::BRISK
    }
}

impl Idm {
    /// The parameters of the publication: 120 km/h, 1.6 s, 0.73 m/s², 1.67 m/s², 4, 2 m.
    ///
    /// It names no hardest braking; 9 m/s² is what dry asphalt allows.
    pub const PUBLISHED: Self = Self {
        desired_speed: 120.0 / 3.6,
        time_gap: 1.6,
        acceleration: 0.73,
        deceleration: 1.67,
        exponent: 4.0,
        standstill_gap: 2.0,
        max_braking: 9.0,
    };

    /// A brisker driver whose platoons damp disturbances: 30 m/s, 1.5 s, 2 m/s², 2 m/s², 4, 2 m.
    pub const BRISK: Self = Self {
        desired_speed: 30.0,
        time_gap: 1.5,
        acceleration: 2.0,
        deceleration: 2.0,
        exponent: 4.0,
        standstill_gap: 2.0,
        max_braking: 9.0,
    };

    /// This driver with another desired speed in m/s.
    #[must_use]
    pub const fn with_desired_speed(self, desired_speed: f64) -> Self {
        Self { desired_speed, ..self }
    }

    /// Checks every parameter.
    ///
    /// # Errors
    ///
    /// [`TrafficError::Parameter`] with the first that is not finite or not above zero.
    pub fn check(&self) -> Result<(), TrafficError> {
        let of = "the Intelligent Driver Model";
        check_positive(of, "desired_speed", self.desired_speed)?;
        check_positive(of, "time_gap", self.time_gap)?;
        check_positive(of, "acceleration", self.acceleration)?;
        check_positive(of, "deceleration", self.deceleration)?;
        check_positive(of, "exponent", self.exponent)?;
        check_positive(of, "standstill_gap", self.standstill_gap)?;
        check_positive(of, "max_braking", self.max_braking)
    }

    /// The acceleration in m/s², in [−`max_braking`, `acceleration`], at a speed in m/s of zero or more.
    ///
    /// Without a leader the road is empty. A NaN in gives a NaN out.
    #[inline]
    #[must_use]
    pub fn acceleration(&self, speed: f64, leader: Option<Leader>) -> f64 {
        let interaction = leader.map_or(0.0, |leader| {
            let ratio = self.desired_gap(speed, speed - leader.speed) / math::max(leader.gap, self.standstill_gap);
            ratio * ratio
        });
        math::max(self.acceleration * (1.0 - self.speed_ratio_power(speed) - interaction), -self.max_braking)
    }

    /// The gap s* in metres that a driver strives for at a speed and an approach rate, both in m/s.
    #[inline]
    #[must_use]
    pub fn desired_gap(&self, speed: f64, approach_rate: f64) -> f64 {
        let braking = 2.0 * (self.acceleration * self.deceleration).sqrt();
        self.standstill_gap + math::max(0.0, speed * self.time_gap + speed * approach_rate / braking)
    }

    /// The gap in metres at which a driver follows steadily: s_e(v) = (s0 + v·T) / √(1 − (v/v0)^δ).
    ///
    /// `None` from the desired speed on, where no gap is large enough.
    #[must_use]
    pub fn equilibrium_gap(&self, speed: f64) -> Option<f64> {
        let reserve = 1.0 - self.speed_ratio_power(speed);
        (reserve > 0.0).then(|| self.desired_gap(speed, 0.0) / reserve.sqrt())
    }

    /// (v / v0)^δ; for the usual exponent with two products instead of a call of `pow`.
    #[inline]
    fn speed_ratio_power(&self, speed: f64) -> f64 {
        let ratio = speed / self.desired_speed;
        if self.exponent == 4.0 {
            let square = ratio * ratio;
            square * square
        } else {
            math::pow(ratio, self.exponent)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHECKED: Idm = Idm { acceleration: 1.5, ..Idm::BRISK };

    #[test]
    fn equilibrium_gaps_equal_the_stated_values() {
        for (idm, speed, expected) in [
            (Idm::PUBLISHED, 10.0, 18.0734),
            (Idm::PUBLISHED, 20.0, 36.4435),
            (CHECKED, 10.0, 17.1059),
            (CHECKED, 20.0, 35.7220),
        ] {
            let gap = idm.equilibrium_gap(speed).expect("below the desired speed");
            assert!((gap - expected).abs() < 1e-4, "{gap} instead of {expected}");
            assert!(idm.acceleration(speed, Some(Leader { gap, speed })).abs() < 1e-12);
        }
    }

    #[test]
    fn there_is_no_equilibrium_at_the_desired_speed() {
        assert_eq!(CHECKED.equilibrium_gap(30.0), None);
        assert_eq!(CHECKED.equilibrium_gap(31.0), None);
        assert_eq!(CHECKED.equilibrium_gap(f64::NAN), None);
    }

    /// Seconds from standstill to 100 km/h with steps of `dt`, in the trapezoidal rule (Heun's method), the last step
    /// interpolated.
    fn free_start(idm: &Idm, dt: f64) -> f64 {
        let (target, mut speed, mut steps) = (100.0 / 3.6, 0.0, 0_u32);
        loop {
            let slope = idm.acceleration(speed, None);
            let next = speed + dt / 2.0 * (slope + idm.acceleration(speed + dt * slope, None));
            if next >= target {
                return dt * (f64::from(steps) + (target - speed) / (next - speed));
            }
            (speed, steps) = (next, steps + 1);
        }
    }

    #[test]
    fn a_free_start_takes_the_stated_time_and_converges_with_second_order() {
        let idm = Idm { acceleration: 1.0, ..Idm::PUBLISHED };
        let ratio = 100.0 / 3.6 / idm.desired_speed;
        let exact = idm.desired_speed / 2.0 * (math::atanh(ratio) + math::atan(ratio));
        assert!((exact - 31.5614).abs() < 5e-5, "{exact}");

        let errors = [0.4, 0.2, 0.1].map(|dt| (free_start(&idm, dt) - exact).abs());
        assert!(errors[0] < 0.05, "{errors:?}");
        for pair in errors.windows(2) {
            assert!((3.0..6.0).contains(&(pair[0] / pair[1])), "{errors:?}");
        }
        assert!((free_start(&idm, 0.01) - exact).abs() < 1e-5);
    }

    #[test]
    fn a_leader_that_draws_away_does_not_shrink_the_standstill_gap() {
        let value = CHECKED.acceleration(20.0, Some(Leader { gap: 20.0, speed: 30.0 }));
        assert!((value - 1.189).abs() < 5e-4, "{value}");
        assert_eq!(CHECKED.desired_gap(20.0, -10.0), CHECKED.standstill_gap);
    }

    #[test]
    fn braking_is_bounded_whatever_the_gap() {
        for gap in [0.5, 0.0, -3.0, f64::NEG_INFINITY] {
            let hardest = CHECKED.acceleration(30.0, Some(Leader { gap, speed: 0.0 }));
            assert_eq!(hardest, -CHECKED.max_braking);
        }
        // Two stopped cars, bumper to bumper: the gap counts as s0, so that the driver waits without a reverse pull.
        assert_eq!(CHECKED.acceleration(0.0, Some(Leader { gap: 0.0, speed: 0.0 })), 0.0);
    }

    #[test]
    fn any_other_exponent_goes_through_the_power_function() {
        let near = Idm { exponent: 4.0 + 1e-9, ..CHECKED };
        assert!((near.acceleration(20.0, None) - CHECKED.acceleration(20.0, None)).abs() < 1e-8);
        let linear = Idm { exponent: 1.0, ..CHECKED };
        assert_eq!(linear.acceleration(15.0, None), 0.75);
    }

    #[test]
    fn nan_is_passed_on_rather_than_hidden() {
        assert!(CHECKED.acceleration(f64::NAN, None).is_nan());
        assert!(CHECKED.acceleration(10.0, Some(Leader { gap: f64::NAN, speed: 10.0 })).is_nan());
    }

    #[test]
    fn a_parameter_out_of_range_is_named() {
        let error = Idm { time_gap: f64::NAN, ..CHECKED }.check().expect_err("NaN is no time");
        assert_eq!(
            error.to_string(),
            "`time_gap` of the Intelligent Driver Model is NaN, but must be a finite number above 0; \
             choose a value in that range"
        );
        assert!(Idm { desired_speed: 0.0, ..CHECKED }.check().is_err());
        assert!(CHECKED.check().is_ok() && Idm::PUBLISHED.check().is_ok());
    }
}
