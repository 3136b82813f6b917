//! Vectors of two and three `f64` components. On the wire they are objects with the fields `x`, `y` (and `z`).
//!
//! ```
//! use chaconne_sim_core::math::{Vec2, Vec3};
//!
//! let step = Vec2::new(3.0, 4.0);
//! assert_eq!(step.length(), 5.0);
//! assert_eq!(Vec3::X.cross(Vec3::Y), Vec3::Z);
//! assert_eq!(Vec2::ZERO.normalize(), None);
//! ```

use core::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use serde::{Deserialize, Serialize};

use super::scalar::{atan2, lerp, sin_cos};

/// A vector in the plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Vec2 {
    /// The component along X.
    pub x: f64,
    /// The component along Y.
    pub y: f64,
}

/// A vector in space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Vec3 {
    /// The component along X.
    pub x: f64,
    /// The component along Y.
    pub y: f64,
    /// The component along Z.
    pub z: f64,
}

/// Implements what both vectors share, component by component.
macro_rules! vector {
    ($vector:ident, $array:ty, $($axis:ident),+) => {
        impl $vector {
            /// The vector with the given components.
            #[inline]
            #[must_use]
            pub const fn new($($axis: f64),+) -> Self {
                Self { $($axis),+ }
            }

            /// The scalar product.
            #[inline]
            #[must_use]
            pub fn dot(self, other: Self) -> f64 {
                // Started from the first product, not from zero: a sum from +0 would lose a −0.
                let products = [$(self.$axis * other.$axis),+];
                products[1..].iter().fold(products[0], |sum, product| sum + product)
            }

            /// The square of the length.
            #[inline]
            #[must_use]
            pub fn length_squared(self) -> f64 {
                self.dot(self)
            }

            /// The length. Components above about 1e154 overflow to infinity.
            #[inline]
            #[must_use]
            pub fn length(self) -> f64 {
                self.length_squared().sqrt()
            }

            /// The square of the distance to another point.
            #[inline]
            #[must_use]
            pub fn distance_squared(self, other: Self) -> f64 {
                (other - self).length_squared()
            }

            /// The distance to another point.
            #[inline]
            #[must_use]
            pub fn distance(self, other: Self) -> f64 {
                (other - self).length()
            }

            /// The vector of length one in the same direction; `None` for the zero vector and for one with a component
            /// that is not finite.
            #[inline]
            #[must_use]
            pub fn normalize(self) -> Option<Self> {
                /// Squares within these bounds have lost nothing to underflow or overflow.
                const ACCURATE: core::ops::Range<f64> = 1e-280..1e280;
                let square = self.length_squared();
                if ACCURATE.contains(&square) {
                    return Some(self / square.sqrt());
                }
                let mut largest = 0.0_f64;
                $(if !self.$axis.is_finite() { return None; }
                if self.$axis.abs() > largest { largest = self.$axis.abs(); })+
                if largest == 0.0 {
                    return None;
                }
                let scaled = self / largest;
                Some(scaled / scaled.length())
            }

            /// The point at fraction `t` of the way to another, component by component as [`lerp`](super::lerp).
            #[inline]
            #[must_use]
            pub fn lerp(self, other: Self, t: f64) -> Self {
                Self { $($axis: lerp(self.$axis, other.$axis, t)),+ }
            }

            /// Whether no component is infinite or NaN.
            #[inline]
            #[must_use]
            pub fn is_finite(self) -> bool {
                $(self.$axis.is_finite())&&+
            }

            /// The components in the order of the axes.
            #[inline]
            #[must_use]
            pub const fn to_array(self) -> $array {
                [$(self.$axis),+]
            }

            /// The vector with the components of an array in the order of the axes.
            #[inline]
            #[must_use]
            pub const fn from_array([$($axis),+]: $array) -> Self {
                Self { $($axis),+ }
            }
        }

        impl From<$array> for $vector {
            #[inline]
            fn from(array: $array) -> Self {
                Self::from_array(array)
            }
        }

        impl From<$vector> for $array {
            #[inline]
            fn from(vector: $vector) -> Self {
                vector.to_array()
            }
        }

        impl Add for $vector {
            type Output = Self;
            #[inline]
            fn add(self, other: Self) -> Self {
                Self { $($axis: self.$axis + other.$axis),+ }
            }
        }

        impl Sub for $vector {
            type Output = Self;
            #[inline]
            fn sub(self, other: Self) -> Self {
                Self { $($axis: self.$axis - other.$axis),+ }
            }
        }

        impl Neg for $vector {
            type Output = Self;
            #[inline]
            fn neg(self) -> Self {
                Self { $($axis: -self.$axis),+ }
            }
        }

        impl Mul<f64> for $vector {
            type Output = Self;
            #[inline]
            fn mul(self, factor: f64) -> Self {
                Self { $($axis: self.$axis * factor),+ }
            }
        }

        impl Mul<$vector> for f64 {
            type Output = $vector;
            #[inline]
            fn mul(self, vector: $vector) -> $vector {
                vector * self
            }
        }

        impl Div<f64> for $vector {
            type Output = Self;
            #[inline]
            fn div(self, divisor: f64) -> Self {
                Self { $($axis: self.$axis / divisor),+ }
            }
        }

        impl AddAssign for $vector {
            #[inline]
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }

        impl SubAssign for $vector {
            #[inline]
            fn sub_assign(&mut self, other: Self) {
                *self = *self - other;
            }
        }

        impl MulAssign<f64> for $vector {
            #[inline]
            fn mul_assign(&mut self, factor: f64) {
                *self = *self * factor;
            }
        }

        impl DivAssign<f64> for $vector {
            #[inline]
            fn div_assign(&mut self, divisor: f64) {
                *self = *self / divisor;
            }
        }
    };
}

vector!(Vec2, [f64; 2], x, y);
vector!(Vec3, [f64; 3], x, y, z);

impl Vec2 {
    /// The origin.
    pub const ZERO: Self = Self::new(0.0, 0.0);
    /// The unit vector along X.
    pub const X: Self = Self::new(1.0, 0.0);
    /// The unit vector along Y.
    pub const Y: Self = Self::new(0.0, 1.0);

    /// The unit vector at an angle in radians, counted anticlockwise from X.
    #[inline]
    #[must_use]
    pub fn from_angle(angle: f64) -> Self {
        let (sin, cos) = sin_cos(angle);
        Self::new(cos, sin)
    }

    /// The angle from X in [−π, π], anticlockwise; zero for the zero vector.
    #[inline]
    #[must_use]
    pub fn angle(self) -> f64 {
        atan2(self.y, self.x)
    }

    /// This vector turned left by a right angle.
    #[inline]
    #[must_use]
    pub const fn perp(self) -> Self {
        Self::new(-self.y, self.x)
    }

    /// The Z component of the cross product in space: positive when `other` points to the left of this vector.
    #[inline]
    #[must_use]
    pub fn perp_dot(self, other: Self) -> f64 {
        self.x * other.y - self.y * other.x
    }

    /// This vector turned anticlockwise by an angle in radians.
    #[inline]
    #[must_use]
    pub fn rotate(self, angle: f64) -> Self {
        let (sin, cos) = sin_cos(angle);
        Self::new(self.x * cos - self.y * sin, self.x * sin + self.y * cos)
    }

    /// The vector in space with these X and Y components.
    #[inline]
    #[must_use]
    pub const fn extend(self, z: f64) -> Vec3 {
        Vec3::new(self.x, self.y, z)
    }
}

impl Vec3 {
    /// The origin.
    pub const ZERO: Self = Self::new(0.0, 0.0, 0.0);
    /// The unit vector along X.
    pub const X: Self = Self::new(1.0, 0.0, 0.0);
    /// The unit vector along Y.
    pub const Y: Self = Self::new(0.0, 1.0, 0.0);
    /// The unit vector along Z.
    pub const Z: Self = Self::new(0.0, 0.0, 1.0);

    /// The vector product.
    #[inline]
    #[must_use]
    pub fn cross(self, other: Self) -> Self {
        Self::new(
            self.y * other.z - self.z * other.y,
            self.z * other.x - self.x * other.z,
            self.x * other.y - self.y * other.x,
        )
    }

    /// The X and Y components.
    #[inline]
    #[must_use]
    pub const fn truncate(self) -> Vec2 {
        Vec2::new(self.x, self.y)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn vec3() -> impl Strategy<Value = Vec3> {
        [-1e3..1e3_f64, -1e3..1e3_f64, -1e3..1e3_f64].prop_map(Vec3::from_array)
    }

    #[test]
    fn the_wire_form_names_its_fields() {
        let text = serde_json::to_string(&Vec3::new(1.0, -0.5, 2.0)).expect("finite");
        assert_eq!(text, r#"{"x":1.0,"y":-0.5,"z":2.0}"#);
        assert_eq!(serde_json::from_str::<Vec3>(&text).expect("just written"), Vec3::new(1.0, -0.5, 2.0));
        assert_eq!(serde_json::from_str::<Vec2>(r#"{"x":1,"y":2}"#).expect("two fields"), Vec2::new(1.0, 2.0));
    }

    #[test]
    fn axes_follow_the_right_hand() {
        assert_eq!(Vec3::X.cross(Vec3::Y), Vec3::Z);
        assert_eq!(Vec3::Y.cross(Vec3::Z), Vec3::X);
        assert_eq!(Vec2::X.perp(), Vec2::Y);
        assert_eq!(Vec2::X.perp_dot(Vec2::Y), 1.0);
        assert!(Vec2::X.rotate(super::super::FRAC_PI_2).distance(Vec2::Y) < 1e-15);
        assert_eq!(Vec2::Y.angle(), super::super::FRAC_PI_2);
    }

    #[test]
    fn vectors_without_direction_do_not_normalize() {
        assert_eq!(Vec3::ZERO.normalize(), None);
        assert_eq!(Vec3::new(f64::NAN, 1.0, 0.0).normalize(), None);
        assert_eq!(Vec3::new(0.0, f64::INFINITY, 0.0).normalize(), None);
    }

    #[test]
    fn vectors_of_any_size_normalize() {
        for size in [f64::MIN_POSITIVE, 5e-324, 1e-200, 1.0, 1e200, f64::MAX] {
            let unit = Vec3::new(0.0, -size, size).normalize().expect("a direction");
            assert!((unit.length() - 1.0).abs() < 1e-15, "{size}");
            assert_eq!(unit.y, -unit.z);
        }
    }

    #[test]
    fn negative_zeros_survive() {
        let zero = Vec2::new(-0.0, -0.0);
        assert_eq!(zero.dot(Vec2::new(1.0, 1.0)).to_bits(), (-0.0_f64).to_bits());
        assert_eq!((-Vec2::ZERO).x.to_bits(), (-0.0_f64).to_bits());
    }

    proptest! {
        #[test]
        fn a_cross_product_is_perpendicular(a in vec3(), b in vec3()) {
            let cross = a.cross(b);
            let bound = 1e-12 * (1.0 + a.length() * b.length() * (a.length() + b.length()));
            prop_assert!(cross.dot(a).abs() < bound && cross.dot(b).abs() < bound);
            prop_assert_eq!(b.cross(a), -cross);
        }

        #[test]
        fn assigning_operators_equal_the_plain_ones(a in vec3(), b in vec3(), s in 0.1..10.0_f64) {
            let (mut sum, mut difference, mut product, mut quotient) = (a, a, a, a);
            sum += b;
            difference -= b;
            product *= s;
            quotient /= s;
            prop_assert_eq!((sum, difference, product, quotient), (a + b, a - b, s * a, a / s));
        }

        #[test]
        fn rotating_keeps_the_length(x in -1e3..1e3_f64, y in -1e3..1e3_f64, angle in -10.0..10.0_f64) {
            let vector = Vec2::new(x, y);
            prop_assert!((vector.rotate(angle).length() - vector.length()).abs() < 1e-11);
            prop_assert!(vector.rotate(angle).rotate(-angle).distance(vector) < 1e-11);
        }
    }
}
