//! The bits of every draw, written down. A change here changes every run that draws: it needs a reason in CHANGELOG.md.
//! To update a value, run the test and copy what it prints.

use super::*;

/// The first draws of a stream.
fn first<T>(mut draw: impl FnMut(&mut DetRng) -> T) -> [T; 3] {
    let mut rng = stream(1);
    core::array::from_fn(|_| draw(&mut rng))
}

/// The XXH3-64 hash of many draws, which also reach the rare branches.
fn hash(mut draw: impl FnMut(&mut DetRng) -> u64) -> String {
    let mut rng = stream(2);
    let bytes: Vec<u8> = (0..2000).flat_map(|_| draw(&mut rng).to_le_bytes()).collect();
    format!("{:016x}", xxhash_rust::xxh3::xxh3_64(&bytes))
}

#[test]
fn words() {
    assert_eq!(first(DetRng::next_u32), [3892895761, 3308082920, 2589346068]);
}

#[test]
fn integers() {
    assert_eq!(first(|rng| rng.below(1000)), [906, 770, 602]);
    let hashes = [
        hash(|rng| rng.below(1000)),
        hash(|rng| rng.below(3 << 62)),
        hash(|rng| rng.range_inclusive(-7_i64..=7) as u64),
    ];
    assert_eq!(hashes, ["5cd94ea6ec45a604", "81ae7f4c7b3ee523", "478650113c33a868"]);
}

#[test]
fn orders() {
    let mut order = [0, 1, 2, 3, 4, 5, 6, 7];
    stream(1).shuffle(&mut order);
    assert_eq!(order, [2, 6, 4, 1, 0, 3, 5, 7]);
    assert_eq!(first(|rng| rng.weighted_index(&[1.0, 2.0, 3.0])), [Some(2), Some(0), Some(1)]);
}

#[test]
fn unit_floats() {
    assert_eq!(first(DetRng::unit), [0.7702230757350068, 0.06864402713321127, 0.2036389003647937]);
}

#[test]
fn unit_single_floats() {
    assert_eq!(first(DetRng::unit_f32), [0.9063854, 0.770223, 0.6028791]);
}

#[test]
fn float_ranges() {
    assert_eq!(first(|rng| rng.range(-3.0..5.0)), [3.1617846058800545, -2.45084778293431, -1.3708887970816503]);
    assert_eq!(hash(|rng| rng.range_inclusive(-0.1..=0.7_f64).to_bits()), "4e44642630ccbde7");
}

#[test]
fn normal() {
    assert_eq!(first(|rng| rng.normal(0.0, 1.0)), [1.5579611991842146, -0.3953207227710124, 0.2053648551435642]);
    assert_eq!(hash(|rng| rng.normal(5.0, 3.0).to_bits()), "a3719c3c0eb25811");
}

#[test]
fn log_normal() {
    assert_eq!(first(|rng| rng.log_normal(0.0, 1.0)), [4.74912884029991, 0.6734640093646074, 1.2279730155105448]);
    assert_eq!(hash(|rng| rng.log_normal(1.0, 0.5).to_bits()), "f198baf29dd964db");
}

#[test]
fn exponential() {
    assert_eq!(first(|rng| rng.exponential(1.0)), [1.4706463352109884, 0.07111371939566173, 0.22770255324472496]);
    assert_eq!(hash(|rng| rng.exponential(2.5).to_bits()), "288dc7632eba3a08");
}

#[test]
fn bernoulli() {
    assert_eq!(hash(|rng| rng.bernoulli(0.3).into()), "0972e66adaef58c7");
}

#[test]
fn poisson() {
    assert_eq!(first(|rng| rng.poisson(3.0)), [4, 1, 2]);
    let means = [3.0, 30.0, 1e12];
    assert_eq!(
        means.map(|mean| hash(|rng| rng.poisson(mean))),
        ["2136b92210c35701", "fe4bce523a90dfac", "f7f87345b64bf110"]
    );
}

#[test]
fn binomial() {
    assert_eq!(first(|rng| rng.binomial(20, 0.3)), [7, 3, 4]);
    let cases = [(20, 0.3), (1000, 0.3), (1 << 50, 0.8)];
    assert_eq!(
        cases.map(|(n, p)| hash(|rng| rng.binomial(n, p))),
        ["fbaa8096ca80ee99", "48b6676f257447c6", "f0fd5723440214f4"]
    );
}
