//! Scalar functions: transcendental ones over `libm`, and `min`, `max`, `clamp`, `lerp` with every case defined.
//!
//! All are re-exported by [`math`](crate::math). Names and domains are those of the standard library's methods; where
//! a function has no real value (`ln(-1.0)`, `asin(2.0)`) the result is NaN. The module [`f32`](mod@self::f32) holds
//! the single-precision forms.

pub use core::f64::consts::{E, FRAC_PI_2, FRAC_PI_3, FRAC_PI_4, FRAC_PI_6, LN_2, LN_10, PI, SQRT_2, TAU};

/// Declares functions that pass straight to one of `libm`.
macro_rules! through_libm {
    ($($(#[$doc:meta])* $name:ident($($argument:ident),+) -> $float:ident = $function:path;)+) => {$(
        $(#[$doc])*
        #[inline]
        #[must_use]
        pub fn $name($($argument: $float),+) -> $float {
            $function($($argument),+)
        }
    )+};
}

/// Declares `min`, `max`, `clamp`, `lerp`, `powi` and `sin_cos` for one float type.
macro_rules! defined_cases {
    ($float:ident, $sincos:path) => {
        /// The smaller of two numbers: −0 is below +0, and NaN when either is NaN (`minimum` of IEEE 754-2019).
        ///
        /// A NaN is passed on, unlike by the standard library's method, so that a fault upstream stays visible.
        #[inline]
        #[must_use]
        pub fn min(a: $float, b: $float) -> $float {
            if a < b {
                a
            } else if b < a {
                b
            } else if a == b {
                // Equal numbers have equal bits, except for zeros of two signs: there the sign bit of either counts.
                <$float>::from_bits(a.to_bits() | b.to_bits())
            } else {
                <$float>::NAN
            }
        }

        /// The larger of two numbers: +0 is above −0, and NaN when either is NaN (`maximum` of IEEE 754-2019).
        ///
        /// A NaN is passed on, unlike by the standard library's method, so that a fault upstream stays visible.
        #[inline]
        #[must_use]
        pub fn max(a: $float, b: $float) -> $float {
            if a > b {
                a
            } else if b > a {
                b
            } else if a == b {
                <$float>::from_bits(a.to_bits() & b.to_bits())
            } else {
                <$float>::NAN
            }
        }

        /// `x` itself when it lies within `[low, high]`, else the bound that it passed.
        ///
        /// Equal to the standard library's method where that is defined, and never a panic: a NaN `x` stays NaN, a NaN
        /// bound does not bind, and with `low > high` the result is `low` below `low` and `high` from there on.
        #[inline]
        #[must_use]
        pub fn clamp(x: $float, low: $float, high: $float) -> $float {
            if x < low {
                low
            } else if x > high {
                high
            } else {
                x
            }
        }

        /// The point at fraction `t` of the way from `a` to `b`: `a + (b − a)·t`, and `b` itself at `t = 1`.
        ///
        /// A `t` outside [0, 1] extrapolates. The difference `b − a` must not overflow.
        #[inline]
        #[must_use]
        pub fn lerp(a: $float, b: $float, t: $float) -> $float {
            if t == 1.0 { b } else { a + (b - a) * t }
        }

        /// `x` to an integer power by repeated squaring, with the same order of multiplications everywhere.
        ///
        /// A negative power is the reciprocal of the positive one; `powi(x, 0)` is 1 for every `x`, NaN included.
        #[inline]
        #[must_use]
        pub fn powi(x: $float, n: i32) -> $float {
            let mut rest = n.unsigned_abs();
            let mut square = x;
            let mut product = 1.0;
            while rest > 0 {
                if rest & 1 == 1 {
                    product *= square;
                }
                rest >>= 1;
                if rest > 0 {
                    square *= square;
                }
            }
            if n < 0 { 1.0 / product } else { product }
        }

        /// Sine and cosine of an angle in radians, with the same bits as [`sin`] and [`cos`].
        #[inline]
        #[must_use]
        pub fn sin_cos(x: $float) -> ($float, $float) {
            $sincos(x)
        }
    };
}

through_libm! {
    /// The sine of an angle in radians.
    sin(x) -> f64 = libm::sin;
    /// The cosine of an angle in radians.
    cos(x) -> f64 = libm::cos;
    /// The tangent of an angle in radians.
    tan(x) -> f64 = libm::tan;
    /// The angle in [−π/2, π/2] whose sine is `x`; NaN outside [−1, 1].
    asin(x) -> f64 = libm::asin;
    /// The angle in [0, π] whose cosine is `x`; NaN outside [−1, 1].
    acos(x) -> f64 = libm::acos;
    /// The angle in [−π/2, π/2] whose tangent is `x`.
    atan(x) -> f64 = libm::atan;
    /// The angle of the point (`x`, `y`) in [−π, π]: note the order of the arguments.
    atan2(y, x) -> f64 = libm::atan2;
    /// The hyperbolic sine.
    sinh(x) -> f64 = libm::sinh;
    /// The hyperbolic cosine.
    cosh(x) -> f64 = libm::cosh;
    /// The hyperbolic tangent.
    tanh(x) -> f64 = libm::tanh;
    /// The inverse hyperbolic sine.
    asinh(x) -> f64 = libm::asinh;
    /// The inverse hyperbolic cosine; NaN below 1.
    acosh(x) -> f64 = libm::acosh;
    /// The inverse hyperbolic tangent; NaN outside [−1, 1].
    atanh(x) -> f64 = libm::atanh;
    /// e to the power of `x`.
    exp(x) -> f64 = libm::exp;
    /// 2 to the power of `x`.
    exp2(x) -> f64 = libm::exp2;
    /// eˣ − 1, accurate near zero.
    exp_m1(x) -> f64 = libm::expm1;
    /// The natural logarithm; −∞ at zero, NaN below it.
    ln(x) -> f64 = libm::log;
    /// ln(1 + x), accurate near zero.
    ln_1p(x) -> f64 = libm::log1p;
    /// The logarithm to base 2.
    log2(x) -> f64 = libm::log2;
    /// The logarithm to base 10.
    log10(x) -> f64 = libm::log10;
    /// `x` to the power of `y`; NaN for a negative `x` and a `y` that is no integer. See also [`powi`].
    pow(x, y) -> f64 = libm::pow;
    /// The cube root, with the sign of `x`.
    cbrt(x) -> f64 = libm::cbrt;
    /// √(x² + y²) without overflow or underflow on the way.
    hypot(x, y) -> f64 = libm::hypot;
    /// The error function.
    erf(x) -> f64 = libm::erf;
    /// 1 − erf(x), accurate for large `x`.
    erfc(x) -> f64 = libm::erfc;
    /// The natural logarithm of |Γ(x)|.
    ln_gamma(x) -> f64 = libm::lgamma;
}

defined_cases!(f64, libm::sincos);

pub mod f32 {
    //! The single-precision forms of [`scalar`](super), for large columns of agents.

    pub use core::f32::consts::{E, FRAC_PI_2, FRAC_PI_3, FRAC_PI_4, FRAC_PI_6, LN_2, LN_10, PI, SQRT_2, TAU};

    through_libm! {
        /// The sine of an angle in radians.
        sin(x) -> f32 = libm::sinf;
        /// The cosine of an angle in radians.
        cos(x) -> f32 = libm::cosf;
        /// The tangent of an angle in radians.
        tan(x) -> f32 = libm::tanf;
        /// The angle in [−π/2, π/2] whose sine is `x`; NaN outside [−1, 1].
        asin(x) -> f32 = libm::asinf;
        /// The angle in [0, π] whose cosine is `x`; NaN outside [−1, 1].
        acos(x) -> f32 = libm::acosf;
        /// The angle in [−π/2, π/2] whose tangent is `x`.
        atan(x) -> f32 = libm::atanf;
        /// The angle of the point (`x`, `y`) in [−π, π]: note the order of the arguments.
        atan2(y, x) -> f32 = libm::atan2f;
        /// The hyperbolic tangent.
        tanh(x) -> f32 = libm::tanhf;
        /// e to the power of `x`.
        exp(x) -> f32 = libm::expf;
        /// eˣ − 1, accurate near zero.
        exp_m1(x) -> f32 = libm::expm1f;
        /// The natural logarithm; −∞ at zero, NaN below it.
        ln(x) -> f32 = libm::logf;
        /// ln(1 + x), accurate near zero.
        ln_1p(x) -> f32 = libm::log1pf;
        /// The logarithm to base 2.
        log2(x) -> f32 = libm::log2f;
        /// The logarithm to base 10.
        log10(x) -> f32 = libm::log10f;
        /// `x` to the power of `y`; NaN for a negative `x` and a `y` that is no integer. See also [`powi`].
        pow(x, y) -> f32 = libm::powf;
        /// The cube root, with the sign of `x`.
        cbrt(x) -> f32 = libm::cbrtf;
        /// √(x² + y²) without overflow or underflow on the way.
        hypot(x, y) -> f32 = libm::hypotf;
    }

    defined_cases!(f32, libm::sincosf);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_smaller_zero_is_the_negative_one() {
        for (a, b) in [(0.0, -0.0), (-0.0, 0.0)] {
            assert_eq!(min(a, b).to_bits(), (-0.0_f64).to_bits());
            assert_eq!(max(a, b).to_bits(), 0.0_f64.to_bits());
            assert_eq!(f32::min(a as _, b as _).to_bits(), (-0.0_f32).to_bits());
            assert_eq!(f32::max(a as _, b as _).to_bits(), 0.0_f32.to_bits());
        }
        assert_eq!(min(-0.0, -0.0).to_bits(), (-0.0_f64).to_bits());
        assert_eq!(max(-0.0, -0.0).to_bits(), (-0.0_f64).to_bits());
    }

    #[test]
    fn not_a_number_is_passed_on() {
        for (a, b) in [(f64::NAN, 1.0), (1.0, f64::NAN), (-f64::NAN, f64::INFINITY)] {
            // The same NaN whatever went in.
            assert_eq!(min(a, b).to_bits(), f64::NAN.to_bits());
            assert_eq!(max(a, b).to_bits(), f64::NAN.to_bits());
        }
        assert!(clamp(f64::NAN, 0.0, 1.0).is_nan());
    }

    #[test]
    fn clamp_never_panics() {
        assert_eq!(clamp(5.0, 3.0, 1.0), 1.0);
        assert_eq!(clamp(2.0, 3.0, 1.0), 3.0);
        assert_eq!(clamp(2.0, f64::NAN, 1.0), 1.0);
        assert_eq!(clamp(-0.0, 0.0, 1.0).to_bits(), (-0.0_f64).to_bits());
    }

    #[test]
    fn lerp_reaches_both_ends() {
        for (a, b) in [(0.1, 0.7), (-1e9, 1e-9), (3.0, 3.0)] {
            assert_eq!(lerp(a, b, 0.0), a);
            assert_eq!(lerp(a, b, 1.0), b);
        }
        assert_eq!(lerp(2.0, 4.0, 1.5), 5.0);
    }

    #[test]
    fn integer_powers_are_products() {
        assert_eq!(powi(3.0, 4), 81.0);
        assert_eq!(powi(2.0, -3), 0.125);
        assert_eq!(powi(-2.0, 3), -8.0);
        assert_eq!(powi(f64::NAN, 0), 1.0);
        assert_eq!(powi(1.0, i32::MIN), 1.0);
        assert_eq!(powi(2.0, i32::MAX), f64::INFINITY);
        let x = 1.1;
        assert_eq!(powi(x, 4).to_bits(), ((x * x) * (x * x)).to_bits());
    }

    proptest! {
        #[test]
        fn sin_cos_has_the_bits_of_sin_and_cos(x in any::<f64>(), small in -10.0..10.0_f64) {
            for x in [x, small] {
                prop_assert_eq!(sin_cos(x).0.to_bits(), sin(x).to_bits());
                prop_assert_eq!(sin_cos(x).1.to_bits(), cos(x).to_bits());
                let single = x as core::primitive::f32;
                prop_assert_eq!(f32::sin_cos(single).0.to_bits(), f32::sin(single).to_bits());
                prop_assert_eq!(f32::sin_cos(single).1.to_bits(), f32::cos(single).to_bits());
            }
        }

        #[test]
        fn odd_functions_are_odd_to_the_bit(x in -1e6..1e6_f64, small in -1.0..1.0_f64) {
            type Function = fn(f64) -> f64;
            let everywhere: [Function; 5] = [sin, tan, atan, tanh, cbrt];
            let inside: [Function; 3] = [asin, atanh, sinh];
            for function in everywhere {
                prop_assert_eq!(function(-x).to_bits(), (-function(x)).to_bits());
            }
            for function in inside {
                prop_assert_eq!(function(-small).to_bits(), (-function(small)).to_bits());
            }
            prop_assert_eq!(cos(-x).to_bits(), cos(x).to_bits());
            prop_assert_eq!(atan2(-x, small).to_bits(), (-atan2(x, small)).to_bits());
        }

        #[test]
        fn min_and_max_agree_with_the_order(a in any::<f64>(), b in any::<f64>()) {
            if !a.is_nan() && !b.is_nan() {
                prop_assert!(min(a, b) <= a && min(a, b) <= b && (min(a, b) == a || min(a, b) == b));
                prop_assert!(max(a, b) >= a && max(a, b) >= b && (max(a, b) == a || max(a, b) == b));
            }
            prop_assert_eq!(min(a, b).to_bits(), min(b, a).to_bits());
            prop_assert_eq!(max(a, b).to_bits(), max(b, a).to_bits());
        }
    }

    /// One hash over many results of each function. It changes when a function does on this platform, or when another
    /// platform differs. To update it, run the test and copy the value it prints; say why in CHANGELOG.md.
    #[test]
    fn the_bits_of_every_function_are_fixed() {
        type Function = fn(f64) -> f64;
        let functions: [Function; 22] = [
            sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, asinh, acosh, atanh, exp, exp2, exp_m1, ln, ln_1p, log2,
            log10, cbrt, erf, ln_gamma,
        ];
        let mut bytes = Vec::new();
        let mut push = |x: f64| {
            // The sign and payload of a NaN are the platform's.
            let bits = if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() };
            bytes.extend_from_slice(&bits.to_le_bytes());
        };
        for n in -200..200 {
            let x = f64::from(n) * 0.137;
            for function in functions {
                push(function(x));
                push(function(x * 0.03));
            }
            push(pow(x.abs(), 0.7 - x));
            push(atan2(x, 1.0 - x));
            push(hypot(x, 2.0 + x));
            push(erfc(x));
        }
        assert_eq!(format!("{:016x}", xxhash_rust::xxh3::xxh3_64(&bytes)), "3deb6d23cca5870d");

        type Single = fn(core::primitive::f32) -> core::primitive::f32;
        let functions: [Single; 14] = [
            f32::sin,
            f32::cos,
            f32::tan,
            f32::asin,
            f32::acos,
            f32::atan,
            f32::tanh,
            f32::exp,
            f32::exp_m1,
            f32::ln,
            f32::ln_1p,
            f32::log2,
            f32::log10,
            f32::cbrt,
        ];
        let mut bytes = Vec::new();
        for n in -200_i16..200 {
            let x = core::primitive::f32::from(n) * 0.137;
            let pairs = [f32::pow(x.abs(), 0.7 - x), f32::atan2(x, 1.0 - x), f32::hypot(x, 2.0 + x)];
            for y in functions.into_iter().flat_map(|function| [function(x), function(x * 0.03)]).chain(pairs) {
                let bits = if y.is_nan() { core::primitive::f32::NAN.to_bits() } else { y.to_bits() };
                bytes.extend_from_slice(&bits.to_le_bytes());
            }
        }
        assert_eq!(format!("{:016x}", xxhash_rust::xxh3::xxh3_64(&bytes)), "a925391a0953b616");
    }
}
