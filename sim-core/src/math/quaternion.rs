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
        if self.x == 0.0 && self.y == 0.0 { angle::wrap(2.0 * atan2(self.z, self.w)) } else { self.to_euler().yaw }
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
        // With h = pitch/2 + π/4: rising = √2·sin h, falling = √2·cos h.
        let rising = hypot(self.w + self.y, self.z - self.x);
        let falling = hypot(self.w - self.y, self.z + self.x);
        let half_difference = atan2(self.z - self.x, self.w + self.y);
        let half_sum = atan2(self.z + self.x, self.w - self.y);
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
