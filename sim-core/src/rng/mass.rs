//! Probabilities of counts, accurate at every size: the saddle-point form of Loader, "Fast and accurate computation of
//! binomial probabilities" (2000).
//!
//! The textbook form subtracts logarithms of factorials that agree in all but their last digits; already for a mean of
//! a billion the difference is noise. Here a probability is written as the deviance from the mean, plus corrections of
//! Stirling's formula that are small.

use crate::math::{TAU, ln, ln_1p};

/// What Stirling's formula misses: ln k! − (k + ½)·ln k + k − ½·ln 2π, for k = 0 (by convention) to 15.
const STIRLING: [f64; 16] = [
    0.0,
    0.081_061_466_795_327_26,
    0.041_340_695_955_409_29,
    0.027_677_925_684_998_34,
    0.020_790_672_103_765_093,
    0.016_644_691_189_821_193,
    0.013_876_128_823_070_748,
    0.011_896_709_945_891_77,
    0.010_411_265_261_972_096,
    0.009_255_462_182_712_733,
    0.008_330_563_433_362_87,
    0.007_573_675_487_951_841,
    0.006_942_840_107_209_53,
    0.006_408_994_188_004_207,
    0.005_951_370_112_758_848,
    0.005_554_733_551_962_801,
];

/// The logarithm of the probability of `count` events where `mean` are expected. `count` is a whole number from 0,
/// `mean` positive.
pub(super) fn ln_poisson(count: f64, mean: f64) -> f64 {
    if count == 0.0 {
        return -mean;
    }
    -stirling_error(count) - deviance(count, mean) - 0.5 * ln(TAU * count)
}

/// The logarithm of the probability of `count` successes in `trials`, each with probability `p` and else `q` = 1 − `p`.
/// `count` and `trials` are whole numbers with 0 ≤ `count` ≤ `trials`, `p` lies in (0, 1).
pub(super) fn ln_binomial(count: f64, trials: f64, p: f64, q: f64) -> f64 {
    let failures = trials - count;
    if count == 0.0 {
        return trials * ln_1p(-p);
    }
    if failures == 0.0 {
        return trials * ln(p);
    }
    stirling_error(trials)
        - stirling_error(count)
        - stirling_error(failures)
        - deviance(count, trials * p)
        - deviance(failures, trials * q)
        - 0.5 * ln(TAU * count * (failures / trials))
}

/// What Stirling's formula misses of ln k!, for a whole number k.
fn stirling_error(k: f64) -> f64 {
    if k < STIRLING.len() as f64 {
        return STIRLING[k as usize];
    }
    let square = k * k;
    (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - (1.0 / 1680.0 - 1.0 / (1188.0 * square)) / square) / square) / square)
        / k
}

/// x·ln(x/m) + m − x, for positive x and m.
fn deviance(x: f64, mean: f64) -> f64 {
    let difference = x - mean;
    let ratio = difference / (x + mean);
    if ratio.abs() >= 0.1 {
        return x * ln(x / mean) - difference;
    }
    // Near the mean a series in ratio², which shrinks by a factor of at least a hundred with every term.
    let square = ratio * ratio;
    let mut term = 2.0 * x * ratio;
    let mut sum = difference * ratio;
    for odd in (3..40).step_by(2) {
        term *= square;
        let next = sum + term / f64::from(odd);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::ln_gamma;

    #[test]
    fn agrees_with_factorials_where_those_are_accurate() {
        for mean in [0.3, 4.0, 12.5, 80.0] {
            for count in 0..200 {
                let k = f64::from(count);
                let direct = k * ln(mean) - mean - ln_gamma(k + 1.0);
                assert!((ln_poisson(k, mean) - direct).abs() < 1e-11, "mean {mean}, count {count}");
            }
        }
        for (trials, p) in [(1, 0.5), (20, 0.3), (150, 0.01), (150, 0.97)] {
            for count in 0..=trials {
                let (n, k) = (f64::from(trials), f64::from(count));
                let factorials = ln_gamma(n + 1.0) - ln_gamma(k + 1.0) - ln_gamma(n - k + 1.0);
                let direct = factorials + k * ln(p) + (n - k) * ln_1p(-p);
                assert!((ln_binomial(k, n, p, 1.0 - p) - direct).abs() < 1e-10, "{count} of {trials} at {p}");
            }
        }
    }

    #[test]
    fn stays_accurate_for_huge_means() {
        // At the mean the probability is 1/√(2πm), and one standard deviation above it smaller by e^(−½).
        for mean in [1e6, 1e12, 1e15] {
            let top = ln_poisson(mean, mean) + 0.5 * ln(TAU * mean);
            assert!(top.abs() < 1e-6, "mean {mean}: {top}");
            let beside = ln_poisson(mean + mean.sqrt().floor(), mean) - ln_poisson(mean, mean);
            assert!((beside + 0.5).abs() < 2e-3, "mean {mean}: {beside}");
        }
    }
}
