//! Binomial counts.

use super::{DetRng, DistributionError, mass::ln_binomial};
use crate::math::{exp, ln, ln_1p};

/// How many of `n` independent trials succeed, each with probability `p`.
///
/// With n·min(p, 1 − p) below 10 by inversion with one uniform number (two words); from there on by Hörmann's
/// transformed rejection with squeeze, BTRS ("The generation of binomial random variates", 1993, J. Stat. Comput.
/// Simul. 46, 101), in fewer than three uniform numbers on average, whatever `n`. Counts above 2⁵³ are rounded as
/// `f64`.
///
/// ```
/// use chaconne_sim_core::rng::{Binomial, StreamKey};
///
/// let infections = Binomial::new(1000, 0.25)?;
/// let count = infections.sample(&mut StreamKey::from_bits(1).stream(0));
/// assert!((150..350).contains(&count));
/// # Ok::<(), chaconne_sim_core::rng::DistributionError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Binomial {
    trials: u64,
    probability: f64,
    /// The smaller of the probabilities of success and failure: that event is counted.
    p: f64,
    method: Method,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Method {
    Inversion { none: f64, odds: f64 },
    Rejection { slope: f64, scale: f64, center: f64, hat: f64, squeeze: f64, ln_top: f64 },
}

impl Binomial {
    /// Where rejection becomes valid and faster: the mean of the rarer event.
    const REJECTION_FROM: f64 = 10.0;

    /// The distribution of successes in `n` trials with probability `p` in [0, 1].
    ///
    /// # Errors
    /// [`DistributionError::Probability`] for any other `p`.
    pub fn new(n: u64, p: f64) -> Result<Self, DistributionError> {
        if (0.0..=1.0).contains(&p) { Ok(Self::of(n, p)) } else { Err(DistributionError::Probability { p }) }
    }

    /// The distribution for the nearest valid probability; 0 for NaN.
    pub(super) fn nearest(n: u64, p: f64) -> Self {
        Self::of(n, if p > 0.0 { p.clamp(0.0, 1.0) } else { 0.0 })
    }

    fn of(trials: u64, probability: f64) -> Self {
        let p = if probability > 0.5 { 1.0 - probability } else { probability };
        let q = 1.0 - p;
        let n = trials as f64;
        let method = if n * p < Self::REJECTION_FROM {
            Method::Inversion { none: exp(n * ln_1p(-p)), odds: p / q }
        } else {
            // Hörmann's a, b, c, α and v_r, and the logarithm of the probability of the most likely count.
            let deviation = (n * p * q).sqrt();
            let scale = 1.15 + 2.53 * deviation;
            Method::Rejection {
                slope: -0.0873 + 0.0248 * scale + 0.01 * p,
                scale,
                center: n * p + 0.5,
                hat: (2.83 + 5.1 / scale) * deviation,
                squeeze: 0.92 - 4.2 / scale,
                ln_top: ln_binomial(((n + 1.0) * p).floor(), n, p, q),
            }
        };
        Self { trials, probability, p, method }
    }

    /// The number of trials.
    #[inline]
    #[must_use]
    pub const fn trials(&self) -> u64 {
        self.trials
    }

    /// The probability of a success.
    #[inline]
    #[must_use]
    pub const fn probability(&self) -> f64 {
        self.probability
    }

    /// A count from 0 to [`trials`](Self::trials).
    #[must_use]
    pub fn sample(&self, rng: &mut DetRng) -> u64 {
        let count = self.sample_rarer(rng).min(self.trials);
        if self.probability > 0.5 { self.trials - count } else { count }
    }

    fn sample_rarer(&self, rng: &mut DetRng) -> u64 {
        let n = self.trials as f64;
        match self.method {
            Method::Inversion { none, odds } => invert(n, none, odds, rng.unit()),
            Method::Rejection { slope, scale, center, hat, squeeze, ln_top } => loop {
                let u = rng.unit() - 0.5;
                let v = 1.0 - rng.unit();
                let edge = 0.5 - u.abs();
                let count = ((2.0 * slope / edge + scale) * u + center).floor();
                if edge >= 0.07 && v <= squeeze {
                    return count as u64;
                }
                if !(0.0..=n).contains(&count) {
                    continue;
                }
                let height = v * hat / (slope / (edge * edge) + scale);
                if ln(height) <= ln_binomial(count, n, self.p, 1.0 - self.p) - ln_top {
                    return count as u64;
                }
            },
        }
    }
}

/// The smallest count whose cumulated probability exceeds `u`.
fn invert(trials: f64, none: f64, odds: f64, u: f64) -> u64 {
    /// Counts above this have a probability below 1e-70 for the means of inversion. Rounding can keep the sum of all
    /// probabilities below the largest `u`, so the search needs an end.
    const LAST: u64 = 128;
    let mut probability = none;
    let mut sum = none;
    let mut count = 0;
    while u >= sum && count < LAST {
        count += 1;
        probability *= odds * (trials - (count - 1) as f64) / count as f64;
        let next = sum + probability;
        if next == sum && probability < 1e-17 {
            break;
        }
        sum = next;
    }
    count
}
