//! Poisson counts.

use super::{DetRng, DistributionError, mass::ln_poisson};
use crate::math::{exp, ln};

/// How many events happen where `mean` are expected, and each is independent of the others.
///
/// Below a mean of 10 by inversion with one uniform number (two words); from there on by Hörmann's transformed
/// rejection with squeeze, PTRS ("The transformed rejection method for generating Poisson random variables", 1993,
/// Insurance: Mathematics and Economics 12, 39), in fewer than three uniform numbers on average, whatever the mean.
///
/// ```
/// use chaconne_sim_core::rng::{Poisson, StreamKey};
///
/// let arrivals = Poisson::new(2.5)?;
/// let mut rng = StreamKey::from_bits(1).stream(0);
/// let total: u64 = (0..1000).map(|_| arrivals.sample(&mut rng)).sum();
/// assert!((2200..2800).contains(&total));
/// # Ok::<(), chaconne_sim_core::rng::DistributionError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Poisson {
    mean: f64,
    method: Method,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Method {
    Inversion { none: f64 },
    Rejection { slope: f64, scale: f64, hat: f64, squeeze: f64 },
}

impl Poisson {
    /// The largest mean: counts near it still fit `u64`.
    pub const MAX_MEAN: f64 = (1_u64 << 62) as f64;
    /// Where rejection becomes valid and faster.
    const REJECTION_FROM: f64 = 10.0;

    /// The distribution with a mean from 0 to [`MAX_MEAN`](Self::MAX_MEAN).
    ///
    /// # Errors
    /// [`DistributionError::Mean`] for any other mean.
    pub fn new(mean: f64) -> Result<Self, DistributionError> {
        if (0.0..=Self::MAX_MEAN).contains(&mean) { Ok(Self::of(mean)) } else { Err(DistributionError::Mean { mean }) }
    }

    /// The distribution for the nearest valid mean; 0 for NaN.
    pub(super) fn nearest(mean: f64) -> Self {
        Self::of(if mean > 0.0 { mean.clamp(0.0, Self::MAX_MEAN) } else { 0.0 })
    }

    fn of(mean: f64) -> Self {
        let method = if mean < Self::REJECTION_FROM {
            Method::Inversion { none: exp(-mean) }
        } else {
            // Hörmann's b, a, ln(1/α) and v_r.
            let scale = 0.931 + 2.53 * mean.sqrt();
            Method::Rejection {
                slope: -0.059 + 0.02483 * scale,
                scale,
                hat: 1.1239 + 1.1328 / (scale - 3.4),
                squeeze: 0.9277 - 3.6224 / (scale - 2.0),
            }
        };
        Self { mean, method }
    }

    /// The expected count.
    #[inline]
    #[must_use]
    pub const fn mean(&self) -> f64 {
        self.mean
    }

    /// A count.
    #[must_use]
    pub fn sample(&self, rng: &mut DetRng) -> u64 {
        match self.method {
            Method::Inversion { none } => self.invert(none, rng.unit()),
            Method::Rejection { slope, scale, hat, squeeze } => loop {
                let u = rng.unit() - 0.5;
                let v = 1.0 - rng.unit();
                let edge = 0.5 - u.abs();
                let count = ((2.0 * slope / edge + scale) * u + self.mean + 0.43).floor();
                if edge >= 0.07 && v <= squeeze {
                    return count as u64;
                }
                if count < 0.0 || (edge < 0.013 && v > edge) {
                    continue;
                }
                if ln(v * hat / (slope / (edge * edge) + scale)) <= ln_poisson(count, self.mean) {
                    return count as u64;
                }
            },
        }
    }

    /// The smallest count whose cumulated probability exceeds `u`.
    fn invert(&self, none: f64, u: f64) -> u64 {
        /// Counts above this have a probability below 1e-70 for the means of inversion. Rounding can keep the sum
        /// of all probabilities below the largest `u`, so the search needs an end.
        const LAST: u64 = 128;
        let mut probability = none;
        let mut sum = none;
        let mut count = 0;
        while u >= sum && count < LAST {
            count += 1;
            probability *= self.mean / count as f64;
            let next = sum + probability;
            if next == sum && probability < 1e-17 {
                break;
            }
            sum = next;
        }
        count
    }
}
