//! Changing lanes: MOBIL, "minimising overall braking induced by lane changes".
//!
//! ```
//! use chaconne_traffic::law::{Idm, Leader, Mobil, Outlook, Prospect, Side};
//!
//! let (idm, mobil) = (Idm::BRISK, Mobil::default());
//! // Behind a slow car, with nobody in the lane to the left.
//! let stuck = idm.acceleration(20.0, Some(Leader { gap: 30.0, speed: 16.0 }));
//! let free = idm.acceleration(20.0, None);
//! let outlook = Outlook { own: Prospect { stay: stuck, change: free }, ..Outlook::default() };
//! assert!(mobil.wants(&outlook, Side::Left));
//!
//! // The same with somebody coming up from behind, who would have to brake hard.
//! let approaching = idm.acceleration(30.0, Some(Leader { gap: 25.0, speed: 20.0 }));
//! let outlook = Outlook { new_follower: Prospect { stay: 0.0, change: approaching }, ..outlook };
//! assert!(!mobil.wants(&outlook, Side::Left));
//! ```

use serde::{Deserialize, Serialize};

use crate::{
    TrafficError,
    error::{check_parameter, check_positive},
};

/// To which side a change of lanes goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Side {
    /// To the lane with the next higher number.
    Left,
    /// To the lane with the next lower number.
    Right,
}

/// What one driver does without and with a change of lanes, in m/s².
///
/// The default, zero in both cases, stands for somebody who is not there or not concerned.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Prospect {
    /// The driver's acceleration while everybody stays.
    pub stay: f64,
    /// The driver's acceleration once the change is made.
    pub change: f64,
}

impl Prospect {
    /// What the driver gains by the change, in m/s².
    #[inline]
    #[must_use]
    pub fn gain(&self) -> f64 {
        self.change - self.stay
    }
}

/// Whom a change of lanes concerns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outlook {
    /// The driver who considers the change.
    pub own: Prospect,
    /// The driver who would follow in the new lane.
    pub new_follower: Prospect,
    /// The driver who follows now.
    pub old_follower: Prospect,
}

/// The parameters of MOBIL, and its two criteria.
///
/// After Kesting, Treiber and Helbing (2007), General Lane-Changing Model MOBIL for Car-Following Models, Transportation
/// Research Record 1999, 86. A change is made when it is safe (equation 2) and worth it (equation 3, with the bias of
/// equation 8 as an amount added for one side and taken off for the other):
///
/// ```text
/// ã_new_follower                                        ≥ −b_safe
/// ã_self − a_self + p · (Δa_new_follower + Δa_old_follower) ± bias > Δa_threshold
/// ```
///
/// Accelerations may come from any law of car following. A NaN in any of them makes a change unsafe or not worth it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mobil {
    /// Hardest braking that a change may force on anybody, b_safe, in m/s²; above 0.
    pub safe_braking: f64,
    /// How much the others' gains count beside one's own, p; 0 to 1, usually 0 to 0.5.
    pub politeness: f64,
    /// What a change must be worth, Δa_threshold, in m/s²; 0 or more, usually 0.1 to 0.2.
    pub threshold: f64,
    /// What a change to the right is worth by itself, and one to the left costs, in m/s²; usually 0.2 to 0.3. With 0 the
    /// two sides are equal; where traffic keeps left it is negative.
    pub keep_right_bias: f64,
}

impl Default for Mobil {
    /// 4 m/s², 0.3, 0.1 m/s², 0.2 m/s².
    fn default() -> Self {
        Self { safe_braking: 4.0, politeness: 0.3, threshold: 0.1, keep_right_bias: 0.2 }
    }
}

impl Mobil {
    /// Checks every parameter.
    ///
    /// # Errors
    ///
    /// [`TrafficError::Parameter`] with the first that is not finite or out of the range that its field states.
    pub fn check(&self) -> Result<(), TrafficError> {
        let of = "MOBIL";
        check_positive(of, "safe_braking", self.safe_braking)?;
        let polite = (0.0..=1.0).contains(&self.politeness);
        check_parameter(of, "politeness", self.politeness, "from 0 to 1", polite)?;
        check_parameter(of, "threshold", self.threshold, "0 or more", self.threshold >= 0.0)?;
        check_parameter(of, "keep_right_bias", self.keep_right_bias, "a finite number", true)
    }

    /// The safety criterion: nobody is forced to brake harder than `safe_braking`.
    ///
    /// The publication asks this of the new follower. Here it holds for the changing driver too, so that nobody changes into
    /// an emergency of one's own. The old follower only gains room.
    #[inline]
    #[must_use]
    pub fn is_safe(&self, outlook: &Outlook) -> bool {
        outlook.new_follower.change >= -self.safe_braking && outlook.own.change >= -self.safe_braking
    }

    /// What a change is worth, in m/s²: the own gain, the others' by politeness, and the bias.
    #[inline]
    #[must_use]
    pub fn incentive(&self, outlook: &Outlook, side: Side) -> f64 {
        let others = outlook.new_follower.gain() + outlook.old_follower.gain();
        let bias = match side {
            Side::Left => -self.keep_right_bias,
            Side::Right => self.keep_right_bias,
        };
        outlook.own.gain() + self.politeness * others + bias
    }

    /// Whether a change is safe and worth more than the threshold.
    #[inline]
    #[must_use]
    pub fn wants(&self, outlook: &Outlook, side: Side) -> bool {
        self.is_safe(outlook) && self.incentive(outlook, side) > self.threshold
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::law::{Idm, Leader};

    fn outlook([own, new, old]: [(f64, f64); 3]) -> Outlook {
        let prospect = |(stay, change)| Prospect { stay, change };
        Outlook { own: prospect(own), new_follower: prospect(new), old_follower: prospect(old) }
    }

    #[test]
    fn the_incentive_is_that_of_the_formula() {
        let mobil = Mobil { politeness: 0.5, threshold: 0.2, keep_right_bias: 0.25, ..Mobil::default() };
        // Gains of 1.5, −1 and 0.5: 1.5 + 0.5 · (−1 + 0.5) = 1.25.
        let outlook = outlook([(-1.0, 0.5), (0.5, -0.5), (-0.25, 0.25)]);
        assert_eq!(mobil.incentive(&outlook, Side::Left), 1.0);
        assert_eq!(mobil.incentive(&outlook, Side::Right), 1.5);
        assert_eq!(Mobil { politeness: 0.0, ..mobil }.incentive(&outlook, Side::Left), 1.25);
        assert!(mobil.wants(&outlook, Side::Left));
        assert!(!Mobil { threshold: 1.0, ..mobil }.wants(&outlook, Side::Left));
        assert!(Mobil { threshold: 1.0, ..mobil }.wants(&outlook, Side::Right));
    }

    #[test]
    fn braking_of_exactly_the_limit_is_still_safe() {
        let mobil = Mobil::default();
        assert!(mobil.is_safe(&outlook([(-9.0, 2.0), (0.0, -4.0), (0.0, 0.0)])));
        assert!(!mobil.is_safe(&outlook([(-9.0, 2.0), (0.0, -4.0 - 1e-12), (0.0, 0.0)])));
        assert!(!mobil.is_safe(&outlook([(-9.0, -5.0), (0.0, 0.0), (0.0, 0.0)])));
        assert!(!mobil.is_safe(&outlook([(0.0, 0.0), (0.0, f64::NAN), (0.0, 0.0)])));
    }

    #[test]
    fn a_polite_driver_makes_way_and_a_selfish_one_does_not() {
        // At its desired speed of 18 m/s, 25 m before somebody who would like to drive 30 m/s.
        let (slow, fast) = (Idm::BRISK.with_desired_speed(18.0), Idm::BRISK);
        let blocked = fast.acceleration(18.0, Some(Leader { gap: 25.0, speed: 18.0 }));
        let own = slow.acceleration(18.0, None);
        let outlook = outlook([(own, own), (0.0, 0.0), (blocked, fast.acceleration(18.0, None))]);
        let symmetric = Mobil { keep_right_bias: 0.0, ..Mobil::default() };
        assert!(symmetric.wants(&outlook, Side::Left) && symmetric.wants(&outlook, Side::Right));
        assert!(!Mobil { politeness: 0.0, ..symmetric }.wants(&outlook, Side::Left));
    }

    #[test]
    fn a_parameter_out_of_range_is_named() {
        let error = Mobil { politeness: 1.5, ..Mobil::default() }.check().expect_err("nobody is that polite");
        assert_eq!(
            error.to_string(),
            "`politeness` of MOBIL is 1.5, but must be from 0 to 1; choose a value in that range"
        );
        assert!(Mobil { safe_braking: 0.0, ..Mobil::default() }.check().is_err());
        assert!(Mobil { threshold: -0.1, ..Mobil::default() }.check().is_err());
        assert!(Mobil { keep_right_bias: f64::NAN, ..Mobil::default() }.check().is_err());
        assert!(Mobil::default().check().is_ok());
    }

    proptest! {
        #[test]
        fn nobody_changes_when_the_safety_criterion_fails(
            own in (-9.0..3.0, -4.0..3.0), new in (-9.0..3.0, -9.0..-4.0001), old in (-9.0..3.0, -9.0..3.0),
            politeness in 0.0..=1.0, bias in -1.0..1.0,
        ) {
            let mobil = Mobil { politeness, keep_right_bias: bias, ..Mobil::default() };
            for side in [Side::Left, Side::Right] {
                prop_assert!(!mobil.wants(&outlook([own, new, old]), side));
                prop_assert!(!mobil.wants(&outlook([new, own, old]), side));
            }
        }

        #[test]
        fn sides_and_followers_are_equal_to_the_bit_without_a_bias(
            own in (-9.0..3.0, -9.0..3.0), new in (-9.0..3.0, -9.0..3.0), old in (-9.0..3.0, -9.0..3.0),
            politeness in 0.0..=1.0,
        ) {
            let mobil = Mobil { politeness, keep_right_bias: 0.0, ..Mobil::default() };
            let incentive = |outlook, side| mobil.incentive(&outlook, side).to_bits();
            let left = incentive(outlook([own, new, old]), Side::Left);
            prop_assert_eq!(left, incentive(outlook([own, new, old]), Side::Right));
            prop_assert_eq!(left, incentive(outlook([own, old, new]), Side::Left));
        }

        #[test]
        fn a_bias_to_one_side_is_one_against_the_other(
            own in (-9.0..3.0, -9.0..3.0), new in (-9.0..3.0, -9.0..3.0), bias in -1.0..1.0,
        ) {
            let mobil = Mobil { keep_right_bias: bias, ..Mobil::default() };
            let mirrored = Mobil { keep_right_bias: -bias, ..mobil };
            let outlook = outlook([own, new, (0.0, 0.0)]);
            prop_assert_eq!(mobil.incentive(&outlook, Side::Left), mirrored.incentive(&outlook, Side::Right));
            prop_assert_eq!(mobil.wants(&outlook, Side::Right), mirrored.wants(&outlook, Side::Left));
        }
    }
}
