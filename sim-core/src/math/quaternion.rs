//! Rotations in space: unit quaternions, and Euler angles at human boundaries.
//!
//! ```
//! use chaconne_sim_core::math::{Euler, Quat, Vec3};
//!
//! let euler = Euler::from_degrees([0.0, 0.0, 90.0]);
//! let rotation = Quat::from_euler(euler);
//! assert!(rotation.rotate(Vec3::X).distance(Vec3::Y) < 1e-15);
//! assert!((rotation.to_euler().to_degrees()[2] - 90.0).abs() < 1e-12);
//! ```

use core::ops::Mul;

use serde::{Deserialize, Serialize};

use super::{
    FRAC_PI_2, Vec3, angle,
    scalar::{acos, atan2, hypot, sin, sin_cos},
};

/// A rotation in space as a quaternion w + xi + yj + zk of length one. On the wire an object with these four fields.
///
/// A quaternion and its negative are one rotation. Reading one does not change it: what came from elsewhere and may not
/// have length one goes through [`normalize`](Self::normalize).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quat {
    /// The real part.
    pub w: f64,
    /// The part along i.
    pub x: f64,
    /// The part along j.
    pub y: f64,
    /// The part along k.
    pub z: f64,
}

/// A rotation as three angles in radians, intrinsic Z-Y-X: first yaw about Z, then pitch about the turned Y, then roll
/// about the turned X. Positive yaw turns left, positive pitch lowers the nose, positive roll lowers the right side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Euler {
    /// The turn about the body's X.
    pub roll: f64,
    /// The turn about the body's Y.
    pub pitch: f64,
    /// The turn about the world's Z.
    pub yaw: f64,
}

impl Euler {
    /// From roll, pitch and yaw in degrees, the order of `rpy_deg` in files.
    #[inline]
    #[must_use]
    pub fn from_degrees([roll, pitch, yaw]: [f64; 3]) -> Self {
        Self { roll: angle::to_radians(roll), pitch: angle::to_radians(pitch), yaw: angle::to_radians(yaw) }
    }

    /// Roll, pitch and yaw in degrees, the order of `rpy_deg` in files.
    #[inline]
    #[must_use]
    pub fn to_degrees(self) -> [f64; 3] {
        [self.roll, self.pitch, self.yaw].map(angle::to_degrees)
    }
}

impl Default for Quat {
    fn default() -> Self {
        Self::IDENTITY
    }
}

impl Quat {
    /// No rotation.
    pub const IDENTITY: Self = Self { w: 1.0, x: 0.0, y: 0.0, z: 0.0 };

    /// A turn by an angle in radians about an axis of any length, by the right-hand rule; `None` for an axis without
    /// direction (zero, or not finite).
    #[must_use]
    pub fn from_axis_angle(axis: Vec3, angle: f64) -> Option<Self> {
        let (sin, cos) = sin_cos(0.5 * angle);
        let part = axis.normalize()? * sin;
        Some(Self { w: cos, x: part.x, y: part.y, z: part.z })
    }

    /// A turn to the left by an angle in radians about Z.
    #[inline]
    #[must_use]
    pub fn from_yaw(yaw: f64) -> Self {
        let (sin, cos) = sin_cos(0.5 * yaw);
        Self { w: cos, x: 0.0, y: 0.0, z: sin }
    }

    /// The heading in [−π, π]: the same as `to_euler().yaw`, and faster for a turn about Z alone.
    #[inline]
    #[must_use]
    pub fn yaw(self) -> f64 {
        if self.x == 0.0 && self.y == 0.0 {
            let Self { w, z, .. } = self.with_positive_real();
            angle::wrap(2.0 * atan2(z, w))
        } else {
            self.to_euler().yaw
        }
    }

    /// The rotation of three angles.
    #[must_use]
    pub fn from_euler(euler: Euler) -> Self {
        let (sr, cr) = sin_cos(0.5 * euler.roll);
        let (sp, cp) = sin_cos(0.5 * euler.pitch);
        let (sy, cy) = sin_cos(0.5 * euler.yaw);
        Self {
            w: cr * cp * cy + sr * sp * sy,
            x: sr * cp * cy - cr * sp * sy,
            y: cr * sp * cy + sr * cp * sy,
            z: cr * cp * sy - sr * sp * cy,
        }
    }

    /// The three angles of this rotation: roll and yaw in [−π, π], pitch in [−π/2, π/2].
    ///
    /// Looking straight up or down (gimbal lock) roll and yaw turn about one axis and only their sum or difference
    /// is defined; roll is then zero. Half sums and half differences keep full accuracy near that point, where
    /// an arcsine would lose half the digits (after Bernardes and Viollet 2022, PLoS ONE 17(11), e0276302).
    #[must_use]
    pub fn to_euler(self) -> Euler {
        /// Lengths that are rounding errors of a quaternion of length one.
        const LOCKED: f64 = 4.0 * f64::EPSILON;
        let Self { w, x, y, z } = self.with_positive_real();
        // With h = pitch/2 + π/4: rising = √2·sin h, falling = √2·cos h.
        let rising = hypot(w + y, z - x);
        let falling = hypot(w - y, z + x);
        let half_difference = atan2(z - x, w + y);
        let half_sum = atan2(z + x, w - y);
        let pitch = 2.0 * atan2(rising, falling) - FRAC_PI_2;
        if falling <= LOCKED {
            Euler { roll: 0.0, pitch: FRAC_PI_2, yaw: angle::wrap(2.0 * half_difference) }
        } else if rising <= LOCKED {
            Euler { roll: 0.0, pitch: -FRAC_PI_2, yaw: angle::wrap(2.0 * half_sum) }
        } else {
            Euler { roll: angle::wrap(half_sum - half_difference), pitch, yaw: angle::wrap(half_sum + half_difference) }
        }
    }

    /// The inverse rotation.
    #[inline]
    #[must_use]
    pub const fn conjugate(self) -> Self {
        Self { w: self.w, x: -self.x, y: -self.y, z: -self.z }
    }

    /// A vector turned by this rotation.
    #[inline]
    #[must_use]
    pub fn rotate(self, vector: Vec3) -> Vec3 {
        let part = Vec3::new(self.x, self.y, self.z);
        let twice = part.cross(vector) * 2.0;
        vector + twice * self.w + part.cross(twice)
    }

    /// The product of components: ±1 for one rotation, the cosine of half the angle between two.
    #[inline]
    #[must_use]
    pub fn dot(self, other: Self) -> f64 {
        self.w * other.w + self.x * other.x + self.y * other.y + self.z * other.z
    }

    /// The length, one for a rotation.
    #[inline]
    #[must_use]
    pub fn length(self) -> f64 {
        self.dot(self).sqrt()
    }

    /// The quaternion of length one in the same direction, to undo the drift of many products; `None` when the length
    /// is zero or not finite.
    #[inline]
    #[must_use]
    pub fn normalize(self) -> Option<Self> {
        let length = self.length();
        (length.is_finite() && length > 0.0).then(|| self.scaled(1.0 / length))
    }

    /// The rotation at fraction `t` of the shorter way to another, at constant angular speed (Shoemake 1985).
    #[must_use]
    pub fn slerp(self, other: Self, t: f64) -> Self {
        /// Above this cosine the arc is straight to within rounding.
        const STRAIGHT: f64 = 1.0 - 1e-12;
        let cosine = self.dot(other);
        let (other, cosine) = if cosine < 0.0 { (other.scaled(-1.0), -cosine) } else { (other, cosine) };
        if cosine > STRAIGHT {
            let mixed = self.scaled(1.0 - t).plus(other.scaled(t));
            return mixed.normalize().unwrap_or(self);
        }
        let angle = acos(cosine);
        let scale = 1.0 / sin(angle);
        self.scaled(sin((1.0 - t) * angle) * scale).plus(other.scaled(sin(t * angle) * scale))
    }

    /// Whether no component is infinite or NaN.
    #[inline]
    #[must_use]
    pub fn is_finite(self) -> bool {
        self.w.is_finite() && self.x.is_finite() && self.y.is_finite() && self.z.is_finite()
    }

    /// The form of this rotation whose real part is not negative, so that both forms have the same angles to the bit.
    fn with_positive_real(self) -> Self {
        if self.w < 0.0 { self.scaled(-1.0) } else { self }
    }

    fn scaled(self, factor: f64) -> Self {
        Self { w: self.w * factor, x: self.x * factor, y: self.y * factor, z: self.z * factor }
    }

    fn plus(self, other: Self) -> Self {
        Self { w: self.w + other.w, x: self.x + other.x, y: self.y + other.y, z: self.z + other.z }
    }
}

impl Mul for Quat {
    type Output = Self;

    /// The rotation that first turns by `other`, then by `self`.
    #[inline]
    fn mul(self, other: Self) -> Self {
        Self {
            w: self.w * other.w - self.x * other.x - self.y * other.y - self.z * other.z,
            x: self.w * other.x + self.x * other.w + self.y * other.z - self.z * other.y,
            y: self.w * other.y - self.x * other.z + self.y * other.w + self.z * other.x,
            z: self.w * other.z + self.x * other.y - self.y * other.x + self.z * other.w,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{
        super::{FRAC_PI_4, PI},
        *,
    };

    fn angles() -> impl Strategy<Value = Euler> {
        (-PI..PI, -FRAC_PI_2..FRAC_PI_2, -PI..PI).prop_map(|(roll, pitch, yaw)| Euler { roll, pitch, yaw })
    }

    /// The largest difference of two rotations in where they take the axes.
    fn apart(a: Quat, b: Quat) -> f64 {
        [Vec3::X, Vec3::Y, Vec3::Z]
            .iter()
            .map(|axis| a.rotate(*axis).distance(b.rotate(*axis)))
            .fold(0.0, super::super::max)
    }

    fn angle_apart(a: f64, b: f64) -> f64 {
        angle::difference(a, b).abs()
    }

    proptest! {
        #[test]
        fn angles_come_back(euler in angles()) {
            let back = Quat::from_euler(euler).to_euler();
            // Toward gimbal lock roll and yaw are ever less distinct; the rotation itself is checked below.
            let tolerance = 1e-14 / (FRAC_PI_2 - euler.pitch.abs()).clamp(1e-14, 1.0);
            prop_assert!(angle_apart(back.roll, euler.roll) < tolerance);
            prop_assert!(angle_apart(back.pitch, euler.pitch) < 1e-14);
            prop_assert!(angle_apart(back.yaw, euler.yaw) < tolerance);
        }

        #[test]
        fn rotations_come_back_also_near_gimbal_lock(
            euler in angles(), exponent in -20.0..0.0_f64, up in any::<bool>(),
        ) {
            let gap = super::super::pow(10.0, exponent);
            let pitch = if up { FRAC_PI_2 - gap } else { gap - FRAC_PI_2 };
            for euler in [euler, Euler { pitch, ..euler }] {
                let rotation = Quat::from_euler(euler);
                let back = rotation.to_euler();
                prop_assert!(apart(Quat::from_euler(back), rotation) < 4e-15);
                prop_assert!((-FRAC_PI_2..=FRAC_PI_2).contains(&back.pitch));
                prop_assert!(back.roll.abs() <= PI && back.yaw.abs() <= PI);
            }
        }

        #[test]
        fn a_quaternion_and_its_negative_have_the_same_angles(euler in angles()) {
            let rotation = Quat::from_euler(euler);
            prop_assert_eq!(rotation.to_euler(), rotation.scaled(-1.0).to_euler());
            let flat = Quat::from_yaw(euler.yaw);
            prop_assert_eq!(flat.yaw(), flat.scaled(-1.0).yaw());
        }

        #[test]
        fn mirrored_rotations_stay_mirrored_to_the_bit(euler in angles()) {
            let mirrored = Euler { roll: -euler.roll, pitch: euler.pitch, yaw: -euler.yaw };
            let (one, other) = (Quat::from_euler(euler), Quat::from_euler(mirrored));
            prop_assert_eq!(other, Quat { w: one.w, x: -one.x, y: one.y, z: -one.z });
            let (one, other) = (one.to_euler(), other.to_euler());
            prop_assert_eq!(other, Euler { roll: -one.roll, pitch: one.pitch, yaw: -one.yaw });
        }

        #[test]
        fn euler_angles_turn_yaw_then_pitch_then_roll(euler in angles()) {
            let turn = |axis, angle| Quat::from_axis_angle(axis, angle).expect("an axis");
            let chained = turn(Vec3::Z, euler.yaw) * turn(Vec3::Y, euler.pitch) * turn(Vec3::X, euler.roll);
            prop_assert!(apart(chained, Quat::from_euler(euler)) < 1e-15 * 4.0);
        }

        #[test]
        fn the_heading_is_the_yaw_of_the_angles(euler in angles()) {
            let rotation = Quat::from_euler(euler);
            prop_assert_eq!(rotation.yaw().to_bits(), rotation.to_euler().yaw.to_bits());
            let flat = Quat::from_yaw(euler.yaw);
            prop_assert_eq!(flat.yaw().to_bits(), flat.to_euler().yaw.to_bits());
            prop_assert!(angle_apart(flat.yaw(), euler.yaw) < 1e-15);
        }

        #[test]
        fn products_turn_one_after_the_other(a in angles(), b in angles(), x in -10.0..10.0_f64) {
            let (a, b) = (Quat::from_euler(a), Quat::from_euler(b));
            let vector = Vec3::new(x, 1.0, -2.0);
            prop_assert!((a * b).rotate(vector).distance(a.rotate(b.rotate(vector))) < 1e-13);
            prop_assert!((a * a.conjugate()).dot(Quat::IDENTITY) > 1.0 - 1e-15);
            prop_assert!((a.rotate(vector).length() - vector.length()).abs() < 1e-13);
        }

        #[test]
        fn slerp_goes_the_short_way_at_constant_speed(a in angles(), b in angles(), t in 0.0..1.0_f64) {
            let (a, b) = (Quat::from_euler(a), Quat::from_euler(b));
            let between = a.slerp(b, t);
            prop_assert!((between.length() - 1.0).abs() < 1e-9);
            let half = acos(a.dot(b).abs().clamp(0.0, 1.0));
            let gone = acos(a.dot(between).abs().clamp(0.0, 1.0));
            prop_assert!((gone - t * half).abs() < 1e-6);
            prop_assert!(apart(a.slerp(b, 0.0), a) < 1e-9 && apart(a.slerp(b, 1.0), b) < 1e-9);
        }
    }

    #[test]
    fn straight_up_and_down_put_all_turning_into_yaw() {
        for (roll, yaw) in [(0.0, 0.5), (0.3, 0.5), (-2.0, 3.0), (3.0, -3.0)] {
            let up = Quat::from_euler(Euler { roll, pitch: FRAC_PI_2, yaw }).to_euler();
            assert_eq!((up.roll, up.pitch), (0.0, FRAC_PI_2));
            assert!(angle_apart(up.yaw, yaw - roll) < 1e-14);
            let down = Quat::from_euler(Euler { roll, pitch: -FRAC_PI_2, yaw }).to_euler();
            assert_eq!((down.roll, down.pitch), (0.0, -FRAC_PI_2));
            assert!(angle_apart(down.yaw, yaw + roll) < 1e-14);
        }
    }

    #[test]
    fn a_level_body_has_exactly_no_pitch_and_roll() {
        for yaw in [0.0, 0.1, -2.5, PI, FRAC_PI_4] {
            let euler = Quat::from_yaw(yaw).to_euler();
            assert_eq!((euler.roll, euler.pitch), (0.0, 0.0));
        }
    }

    #[test]
    fn positive_pitch_lowers_the_nose_and_positive_roll_the_right_side() {
        assert!(Quat::from_euler(Euler { pitch: 0.1, ..Euler::default() }).rotate(Vec3::X).z < 0.0);
        assert!(Quat::from_euler(Euler { roll: 0.1, ..Euler::default() }).rotate(-Vec3::Y).z < 0.0);
        assert!(Quat::from_yaw(0.1).rotate(Vec3::X).y > 0.0);
    }

    #[test]
    fn degrees_are_in_the_order_roll_pitch_yaw() {
        let euler = Euler::from_degrees([90.0, 45.0, -180.0]);
        assert_eq!(euler, Euler { roll: FRAC_PI_2, pitch: FRAC_PI_4, yaw: -PI });
        assert_eq!(euler.to_degrees(), [90.0, 45.0, -180.0]);
    }

    #[test]
    fn the_wire_form_names_its_fields() {
        let text = serde_json::to_string(&Quat::IDENTITY).expect("finite");
        assert_eq!(text, r#"{"w":1.0,"x":0.0,"y":0.0,"z":0.0}"#);
        assert_eq!(serde_json::from_str::<Quat>(&text).expect("just written"), Quat::default());
    }

    #[test]
    fn rotations_without_meaning_are_none() {
        assert_eq!(Quat::from_axis_angle(Vec3::ZERO, 1.0), None);
        assert_eq!(Quat::IDENTITY.scaled(0.0).normalize(), None);
        assert_eq!(Quat { w: f64::NAN, ..Quat::IDENTITY }.normalize(), None);
        assert_eq!(Quat::IDENTITY.scaled(3.0).normalize(), Some(Quat::IDENTITY));
    }
}
