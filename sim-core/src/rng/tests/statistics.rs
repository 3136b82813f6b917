//! Distributions have the shape they claim. Seeds are fixed, so a test that passes once always passes.

use super::{super::mass, *};
use crate::math::{FRAC_PI_2, atan2, erf, exp, exp_m1, ln};

/// Fails when counts differ from what is expected by more than chance does once in about two thousand times.
fn check_chi_square(observed: &[f64], expected: &[f64], what: &str) {
    assert_eq!(observed.len(), expected.len());
    assert!(expected.iter().all(|count| *count >= 5.0), "{what}: cells too small for the test");
    let statistic: f64 = observed.iter().zip(expected).map(|(o, e)| (o - e) * (o - e) / e).sum();
    // The quantile by Wilson and Hilferty (1931), for a normal quantile of 3.3.
    let freedom = (observed.len() - 1) as f64;
    let cube_root = 1.0 - 2.0 / (9.0 * freedom) + 3.3 * (2.0 / (9.0 * freedom)).sqrt();
    let limit = freedom * cube_root * cube_root * cube_root;
    assert!(statistic < limit, "{what}: {statistic} with {freedom} degrees of freedom, limit {limit}");
}

fn check_uniform(counts: &[f64], what: &str) {
    let expected = counts.iter().sum::<f64>() / counts.len() as f64;
    check_chi_square(counts, &vec![expected; counts.len()], what);
}

/// Kolmogorov and Smirnov's test: fails when the sample strays from the distribution by more than chance does once in
/// a thousand times.
fn check_distribution(mut sample: Vec<f64>, cumulative: impl Fn(f64) -> f64, what: &str) {
    sample.sort_by(f64::total_cmp);
    let n = sample.len() as f64;
    let gap = |(rank, x): (usize, &f64)| {
        let p = cumulative(*x);
        crate::math::max((p - rank as f64 / n).abs(), ((rank + 1) as f64 / n - p).abs())
    };
    let largest = sample.iter().enumerate().map(gap).fold(0.0, crate::math::max);
    assert!(largest < 1.95 / n.sqrt(), "{what}: largest gap {largest} of {n}");
}

/// Compares counts with probabilities, with the rare counts at both ends put together.
fn check_counts(draws: &[u64], ln_probability: impl Fn(f64) -> f64, last: u64, what: &str) {
    let n = draws.len() as f64;
    let (mut observed, mut expected) = (vec![], vec![]);
    let (mut o, mut e) = (0.0, 0.0);
    let mut counts = std::collections::BTreeMap::<u64, f64>::new();
    draws.iter().for_each(|draw| *counts.entry(*draw).or_default() += 1.0);
    for count in 0..=last {
        o += counts.get(&count).copied().unwrap_or_default();
        e += n * exp(ln_probability(count as f64));
        if e >= 10.0 {
            observed.push(o);
            expected.push(e);
            (o, e) = (0.0, 0.0);
        }
    }
    assert!((expected.iter().sum::<f64>() + e - n).abs() < 1e-6 * n, "{what}: probabilities do not add up to one");
    if let (Some(last_observed), Some(last_expected)) = (observed.last_mut(), expected.last_mut()) {
        *last_observed += o;
        *last_expected += e;
    }
    check_chi_square(&observed, &expected, what);
}

#[test]
fn every_bit_is_even_and_independent_of_the_others() {
    let mut rng = stream(100);
    let sample: Vec<u32> = words(&mut rng, 20_000);
    let n = sample.len() as f64;
    for bit in 0..32 {
        let ones = sample.iter().filter(|word| *word >> bit & 1 == 1).count() as f64;
        check_uniform(&[ones, n - ones], &format!("bit {bit}"));
        for other in 0..bit {
            let equal = sample.iter().filter(|word| (*word >> bit ^ *word >> other) & 1 == 0).count() as f64;
            check_uniform(&[equal, n - equal], &format!("bits {bit} and {other}"));
        }
    }
}

#[test]
fn bounded_integers_are_even() {
    for n in [2, 3, 6, 7, 10, 64, 100, 255] {
        let mut rng = stream(n);
        let mut counts = vec![0.0; n as usize];
        (0..20_000).for_each(|_| counts[rng.below(n) as usize] += 1.0);
        check_uniform(&counts, &format!("below {n}"));
    }
    // A bound of three quarters of all words: without rejection every third number would come up twice as often.
    for n in [3 << 30, 3 << 62] {
        let mut rng = stream(101);
        let mut thirds = [0.0; 3];
        (0..20_000).for_each(|_| thirds[(rng.below(n) % 3) as usize] += 1.0);
        check_uniform(&thirds, &format!("below {n}"));
    }
    let mut rng = stream(102);
    let mut counts = [0.0; 7];
    (0..20_000).for_each(|_| counts[(rng.range_inclusive(-3..=3) + 3) as usize] += 1.0);
    check_uniform(&counts, "range_inclusive(-3..=3)");
}

#[test]
fn coins_are_fair_in_a_row_and_across_agents() {
    let mut rng = stream(103);
    let key = StreamKey::new(3, Domain::System, "walkers", "walk", 0);
    let in_a_row: Vec<bool> = (0..30_000).map(|_| rng.coin()).collect();
    let across: Vec<bool> = (0..30_000).map(|id| key.stream(id).coin()).collect();
    for (coins, what) in [(in_a_row, "in a row"), (across, "across agents")] {
        // Runs of three, so that a dependence of neighbours shows as well.
        let mut counts = [0.0; 8];
        for three in coins.as_chunks::<3>().0 {
            counts[three.iter().fold(0, |sum, coin| 2 * sum + usize::from(*coin))] += 1.0;
        }
        check_uniform(&counts, what);
    }
}

#[test]
fn streams_of_neighbouring_agents_and_instants_are_independent() {
    const SIDE: usize = 8;
    let cell = |a: f64, b: f64| (a * SIDE as f64) as usize * SIDE + (b * SIDE as f64) as usize;
    let (mut agents, mut instants) = (vec![0.0; SIDE * SIDE], vec![0.0; SIDE * SIDE]);
    for n in 0..20_000 {
        let key = StreamKey::new(1, Domain::System, "a", "b", n);
        agents[cell(key.stream(0).unit(), key.stream(1).unit())] += 1.0;
        let next = StreamKey::new(1, Domain::System, "a", "b", n + 1);
        instants[cell(key.stream(0).unit(), next.stream(0).unit())] += 1.0;
    }
    check_uniform(&agents, "agents");
    check_uniform(&instants, "instants");
}

#[test]
fn floats_are_uniform() {
    let mut rng = stream(104);
    check_distribution((0..20_000).map(|_| rng.unit()).collect(), |x| x, "unit");
    check_distribution((0..20_000).map(|_| rng.unit_f32().into()).collect(), |x| x, "unit_f32");
    check_distribution((0..20_000).map(|_| rng.range(-3.0..5.0)).collect(), |x| (x + 3.0) / 8.0, "range");
    check_distribution((0..20_000).map(|_| rng.range_inclusive(1.0..=2.0)).collect(), |x| x - 1.0, "inclusive");
}

#[test]
fn continuous_distributions_have_their_shape() {
    let normal = |x: f64| 0.5 + 0.5 * erf(x * core::f64::consts::FRAC_1_SQRT_2);
    let mut rng = stream(105);
    check_distribution((0..50_000).map(|_| rng.normal(0.0, 1.0)).collect(), normal, "normal");
    check_distribution((0..50_000).map(|_| rng.normal(5.0, 3.0)).collect(), |x| normal((x - 5.0) / 3.0), "normal");
    check_distribution((0..50_000).map(|_| rng.log_normal(1.0, 0.5)).collect(), |x| normal((ln(x) - 1.0) / 0.5), "log");
    check_distribution((0..50_000).map(|_| rng.exponential(2.5)).collect(), |x| -exp_m1(-2.5 * x), "exponential");

    // A pair is independent when its direction is uniform and its squared length exponential.
    let pairs: Vec<(f64, f64)> = (0..50_000).map(|_| rng.standard_normal_pair()).collect();
    check_distribution(pairs.iter().map(|pair| pair.1).collect(), normal, "second of a pair");
    let direction = |x: f64| 0.5 + x / (4.0 * FRAC_PI_2);
    check_distribution(pairs.iter().map(|(x, y)| atan2(*y, *x)).collect(), direction, "direction of pairs");
    check_distribution(pairs.iter().map(|(x, y)| x * x + y * y).collect(), |x| -exp_m1(-0.5 * x), "length of pairs");
}

#[test]
fn poisson_counts_have_their_probabilities() {
    for mean in [0.01, 0.5, 3.0, 9.9, 10.0, 12.0, 30.0, 200.0, 5000.0] {
        let mut rng = stream(106);
        let draws: Vec<u64> = (0..400_000).map(|_| rng.poisson(mean)).collect();
        let last = (mean + 12.0 * mean.sqrt() + 12.0) as u64;
        check_counts(&draws, |count| mass::ln_poisson(count, mean), last, &format!("mean {mean}"));
    }
}

#[test]
fn binomial_counts_have_their_probabilities() {
    let cases = [
        (1, 0.5),
        (3, 0.2),
        (20, 0.49),
        (20, 0.5),
        (20, 0.51),
        (25, 0.4),
        (40, 0.9),
        (100, 0.05),
        (1000, 0.3),
        (1000, 0.7),
        (100_000, 0.000_05),
        (100_000, 0.001),
        (5000, 0.5),
    ];
    for (n, p) in cases {
        let mut rng = stream(107);
        let draws: Vec<u64> = (0..400_000).map(|_| rng.binomial(n, p)).collect();
        let ln_probability = |count| mass::ln_binomial(count, n as f64, p, 1.0 - p);
        check_counts(&draws, ln_probability, n.min(10_000), &format!("{n} trials at {p}"));
    }
}

#[test]
fn bernoulli_and_weights_follow_their_probabilities() {
    let mut rng = stream(108);
    let yes = (0..20_000).filter(|_| rng.bernoulli(0.3)).count() as f64;
    check_chi_square(&[yes, 20_000.0 - yes], &[6000.0, 14_000.0], "bernoulli");
    let mut counts = [0.0; 4];
    (0..20_000).for_each(|_| counts[rng.weighted_index(&[1.0, 0.5, 2.0, 0.5]).expect("weights")] += 1.0);
    check_chi_square(&counts, &[5000.0, 2500.0, 10_000.0, 2500.0], "weights");
}

#[test]
fn shuffles_give_each_order_equally_often() {
    let mut rng = stream(109);
    let mut counts = std::collections::BTreeMap::<[u8; 4], f64>::new();
    for _ in 0..24_000 {
        let mut order = [0, 1, 2, 3];
        rng.shuffle(&mut order);
        *counts.entry(order).or_default() += 1.0;
    }
    assert_eq!(counts.len(), 24);
    check_uniform(&counts.into_values().collect::<Vec<_>>(), "orders");

    let mut order: Vec<u32> = (0..1000).collect();
    rng.shuffle(&mut order);
    let mut sorted = order.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (0..1000).collect::<Vec<_>>());
    assert_ne!(sorted, order);

    let mut counts = [0.0; 5];
    (0..5000).for_each(|_| counts[*rng.choose(&[0, 1, 2, 3, 4]).expect("not empty")] += 1.0);
    check_uniform(&counts, "choices");
}
