//! Distributions as methods of the generator.

use super::{Binomial, DetRng, Poisson};
use crate::math::{TAU, exp, ln_1p, sin_cos};

/// Why a distribution does not exist.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DistributionError {
    /// The mean of a Poisson distribution is negative, NaN or above [`Poisson::MAX_MEAN`].
    #[error("the mean of a Poisson distribution is {mean}: give a number from 0 to 2^62")]
    Mean {
        /// The mean given.
        mean: f64,
    },
    /// A probability is outside [0, 1].
    #[error("the probability of a binomial distribution is {p}: give a number from 0 to 1")]
    Probability {
        /// The probability given.
        p: f64,
    },
}

/// None of these fails or panics. A parameter without meaning gives NaN, or where the result is no float acts as
/// the nearest one with a meaning, as casts of floats to integers do. To have it refused instead, construct the
/// distribution ([`Poisson::new`], [`Binomial::new`]).
impl DetRng {
    /// True with probability `p`. Never for `p` ≤ 0 and NaN, always for `p` ≥ 1. Two words.
    #[inline]
    pub fn bernoulli(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// A normally distributed number with mean `mean` and standard deviation `sd` (its sign does not matter).
    ///
    /// The first of a [pair](Self::standard_normal_pair), so always four words.
    #[inline]
    pub fn normal(&mut self, mean: f64, sd: f64) -> f64 {
        mean + sd * self.standard_normal_pair().0
    }

    /// Two independent numbers with mean 0 and standard deviation 1, from four words (Box and Muller 1958, Ann. Math.
    /// Stat. 29, 610).
    ///
    /// Their size is at most 8.57, which a perfect generator exceeds once in 10¹⁷ draws.
    #[inline]
    pub fn standard_normal_pair(&mut self) -> (f64, f64) {
        let radius = (-2.0 * ln_1p(-self.unit())).sqrt();
        let (sin, cos) = sin_cos(TAU * self.unit());
        (radius * cos, radius * sin)
    }

    /// A positive number whose logarithm is normally distributed with mean `mu` and standard deviation `sigma`.
    #[inline]
    pub fn log_normal(&mut self, mu: f64, sigma: f64) -> f64 {
        exp(self.normal(mu, sigma))
    }

    /// A waiting time until the next of events that happen at a `rate` (1 over their mean distance). Two words.
    ///
    /// At least 0 and at most 36.8/`rate`, which a perfect generator exceeds once in 10¹⁶ draws. +∞ for a rate of 0, 0
    /// for an infinite one, NaN for a negative or NaN one.
    #[inline]
    pub fn exponential(&mut self, rate: f64) -> f64 {
        let unit_wait = -ln_1p(-self.unit());
        if rate > 0.0 {
            unit_wait / rate
        } else if rate == 0.0 {
            f64::INFINITY
        } else {
            f64::NAN
        }
    }

    /// How many events happen where `mean` are expected: see [`Poisson`], which is faster when one mean serves many
    /// draws.
    ///
    /// A mean below 0 or NaN acts as 0, one above [`Poisson::MAX_MEAN`] as that.
    #[inline]
    pub fn poisson(&mut self, mean: f64) -> u64 {
        Poisson::nearest(mean).sample(self)
    }

    /// How many of `n` trials succeed with probability `p`: see [`Binomial`], which is faster when one pair of
    /// parameters serves many draws.
    ///
    /// A probability below 0 or NaN acts as 0, one above 1 as 1.
    #[inline]
    pub fn binomial(&mut self, n: u64, p: f64) -> u64 {
        Binomial::nearest(n, p).sample(self)
    }
}
