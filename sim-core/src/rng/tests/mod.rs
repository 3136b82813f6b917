//! Contracts of streams. `statistics` tests distributions, `golden` their bits.

use rand_core::Rng;

use super::{DetRng, Domain, StreamKey, philox::philox4x32_10};

mod golden;
mod statistics;

/// A stream for tests, each with a number of its own.
fn stream(number: u64) -> DetRng {
    StreamKey::new(1, Domain::SetUp, "tests", "rng", 0).stream(number)
}

fn words(rng: &mut DetRng, count: usize) -> Vec<u32> {
    (0..count).map(|_| rng.next_u32()).collect()
}

/// Computed by another program from the documented bytes.
#[test]
fn keys_are_hashes_of_the_documented_bytes() {
    let bits = |seed, domain, path, label, time_ns| StreamKey::new(seed, domain, path, label, time_ns).to_bits();
    assert_eq!(bits(42, Domain::System, "walkers", "walk", 1_000_000_000), 0xd65a_5182_3433_c2c8);
    assert_eq!(bits(0, Domain::Step, "", "", 0), 0x3a7e_16ac_b58c_ddd5);
    assert_eq!(bits(u64::MAX, Domain::SetUp, "ego/controller", "spawn", -1), 0x8991_617d_26e3_dc85);
    assert_eq!(bits(7, Domain::Step, &"p".repeat(300), "ü", 5), {
        let mut bytes = 7_u64.to_le_bytes().to_vec();
        bytes.push(1);
        bytes.extend(300_u64.to_le_bytes());
        bytes.extend([b'p'; 300]);
        bytes.extend(2_u64.to_le_bytes());
        bytes.extend("ü".as_bytes());
        bytes.extend(5_i64.to_le_bytes());
        xxhash_rust::xxh3::xxh3_64(&bytes)
    });
}

#[test]
fn every_part_of_a_name_makes_another_stream() {
    let names = [
        StreamKey::new(1, Domain::Step, "a", "b", 0),
        StreamKey::new(2, Domain::Step, "a", "b", 0),
        StreamKey::new(1, Domain::System, "a", "b", 0),
        StreamKey::new(1, Domain::SetUp, "a", "b", 0),
        StreamKey::new(1, Domain::Step, "ab", "", 0),
        StreamKey::new(1, Domain::Step, "", "ab", 0),
        StreamKey::new(1, Domain::Step, "a", "b", 1),
        StreamKey::new(1, Domain::Step, "a", "b", -1),
    ];
    let mut firsts: Vec<u64> =
        names.iter().flat_map(|key| [0, 1, 1 << 32].map(|id| key.stream(id).next_u64())).collect();
    firsts.sort_unstable();
    firsts.dedup();
    assert_eq!(firsts.len(), 3 * names.len());
}

#[test]
fn a_stream_is_its_blocks_word_by_word() {
    let agent = 0x0123_4567_89ab_cdef;
    let key = StreamKey::from_bits(0xfeed_f00d_dead_beef);
    let drawn = words(&mut key.stream(agent), 12);
    for (draw, block) in (0..).zip(drawn.as_chunks::<4>().0) {
        assert_eq!(*block, philox4x32_10(key.to_bits(), [draw, 0, 0x89ab_cdef, 0x0123_4567]));
    }
}

#[test]
fn the_count_of_blocks_carries_into_the_second_word() {
    let mut rng = stream(5);
    rng.next_block = u64::from(u32::MAX);
    rng.used = 4;
    let drawn = words(&mut rng, 8);
    assert_eq!(drawn[..4], philox4x32_10(rng.key, [u32::MAX, 0, 5, 0]));
    assert_eq!(drawn[4..], philox4x32_10(rng.key, [0, 1, 5, 0]));

    rng.next_block = u64::from(u32::MAX) - 40;
    rng.used = 4;
    let mut filled = [0; 400];
    rng.clone().fill_u32(&mut filled);
    assert_eq!(filled.to_vec(), words(&mut rng, 400));
}

#[test]
fn a_clone_continues_on_its_own() {
    let mut rng = stream(1);
    words(&mut rng, 5);
    let mut clone = rng.clone();
    let expected = words(&mut clone, 10);
    assert_eq!(words(&mut rng, 10), expected);
}

#[test]
fn wider_draws_take_words_in_order() {
    let w = words(&mut stream(2), 7);
    let mut rng = stream(2);
    assert_eq!(rng.next_u32(), w[0]);
    assert_eq!(rng.next_u64(), u64::from(w[2]) << 32 | u64::from(w[1]));
    assert_eq!(rng.next_u64(), u64::from(w[4]) << 32 | u64::from(w[3]), "across the end of a block");
    assert_eq!(rng.coin(), w[5] >= 1 << 31);
    assert_eq!(rng.unit_f32(), (w[6] >> 8) as f32 / (1 << 24) as f32);
}

#[test]
fn rand_core_sees_the_same_stream() {
    let (mut own, mut foreign) = (stream(3), stream(3));
    assert_eq!(Rng::next_u32(&mut foreign), own.next_u32());
    assert_eq!(Rng::next_u64(&mut foreign), own.next_u64());
    let mut bytes = [0; 6];
    foreign.fill_bytes(&mut bytes);
    assert_eq!(bytes[..4], own.next_u32().to_le_bytes());
    assert_eq!(bytes[4..], own.next_u32().to_le_bytes()[..2]);
    assert_eq!(foreign.next_u32(), own.next_u32());
}

#[test]
fn filling_equals_drawing_one_by_one_at_any_offset_and_length() {
    for offset in 0..6 {
        for length in (0..40).chain([127, 128, 129, 255, 256, 257, 1000]) {
            let mut one_by_one = stream(4);
            words(&mut one_by_one, offset);
            let filling = one_by_one.clone();

            let (mut rng, mut out) = (filling.clone(), vec![0; length]);
            rng.fill_u32(&mut out);
            let mut reference = one_by_one.clone();
            assert!(out.iter().all(|word| *word == reference.next_u32()));
            assert_eq!(rng.next_u32(), reference.next_u32(), "what follows");

            let (mut rng, mut out) = (filling.clone(), vec![0.0; length]);
            rng.fill_unit_f32(&mut out);
            let mut reference = one_by_one.clone();
            assert!(out.iter().all(|number| *number == reference.unit_f32()));
            assert_eq!(rng.next_u32(), reference.next_u32(), "what follows");

            let (mut rng, mut out) = (filling, vec![0.0; length]);
            rng.fill_unit_f64(&mut out);
            let mut reference = one_by_one;
            assert!(out.iter().all(|number| *number == reference.unit()));
            assert_eq!(rng.next_u32(), reference.next_u32(), "what follows");
        }
    }
}

#[test]
fn filling_for_agents_equals_each_agents_first_draw() {
    let key = StreamKey::from_bits(99);
    for length in [0, 1, 31, 32, 33, 100] {
        let ids: Vec<u64> = (0..length).map(|n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
        let mut words = vec![0; ids.len()];
        key.words_for_agents(&ids, &mut words);
        let mut units = vec![0.0; ids.len()];
        key.unit_for_agents(&ids, &mut units);
        for ((id, word), unit) in ids.iter().zip(words).zip(units) {
            assert_eq!(word, key.stream(*id).next_u32());
            assert_eq!(unit, key.stream(*id).unit_f32());
        }
    }
    let mut longer = [7; 5];
    key.words_for_agents(&[1, 2], &mut longer);
    assert_eq!(longer[2..], [7; 3]);
}

#[test]
fn wide_registers_and_the_baseline_agree() {
    let ids: Vec<u64> = (0..1000).map(|n| n << 20 | n).collect();
    let (mut wide, mut baseline) = (vec![0; 1000], vec![0; 1000]);
    StreamKey::from_bits(5).words_for_agents(&ids, &mut wide);
    super::fill::words_on_baseline(5, &ids, &mut baseline);
    assert_eq!(wide, baseline);
}

#[test]
fn floats_lie_in_the_half_open_unit_interval_at_both_ends() {
    assert_eq!(super::stream::unit_f64(0), 0.0);
    assert_eq!(super::stream::unit_f64(u64::MAX), 1.0_f64.next_down());
    assert_eq!(super::stream::unit_f32(0), 0.0);
    assert_eq!(super::stream::unit_f32(u32::MAX), 1.0_f32.next_down());
}

#[test]
fn integers_reach_both_bounds_and_no_more() {
    let mut rng = stream(6);
    let dice: Vec<i32> = (0..200).map(|_| rng.range_inclusive(-3..=3)).collect();
    assert_eq!((dice.iter().min(), dice.iter().max()), (Some(&-3), Some(&3)));
    let dice: Vec<u8> = (0..200).map(|_| rng.range(250..255)).collect();
    assert_eq!((dice.iter().min(), dice.iter().max()), (Some(&250), Some(&254)));
    let bytes: Vec<u8> = (0..5000).map(|_| rng.range_inclusive(0..=u8::MAX)).collect();
    assert_eq!((bytes.iter().min(), bytes.iter().max()), (Some(&0), Some(&255)));
    for _ in 0..200 {
        assert!((i64::MIN..i64::MIN + 2).contains(&rng.range(i64::MIN..i64::MIN + 2)));
        assert!(rng.range(i64::MIN..i64::MAX) < i64::MAX);
        assert!(rng.below(3 << 40) < 3 << 40);
        assert!(rng.below(u64::MAX) < u64::MAX);
    }
    let mut signs = [false; 2];
    (0..50).for_each(|_| signs[usize::from(rng.range_inclusive(i64::MIN..=i64::MAX) < 0)] = true);
    assert_eq!(signs, [true; 2]);
}

#[test]
fn the_same_range_of_another_width_draws_the_same() {
    let (mut a, mut b, mut c) = (stream(7), stream(7), stream(7));
    for _ in 0..100 {
        let drawn = a.range(0_u64..1000);
        assert_eq!(drawn, u64::from(b.range(0_u16..1000)));
        assert_eq!(drawn, c.range(0_usize..1000) as u64);
    }
}

#[test]
#[expect(clippy::reversed_empty_ranges, reason = "ranges without numbers are what is tested")]
fn ranges_without_numbers_give_their_start_and_draw_nothing() {
    let mut rng = stream(8);
    assert_eq!(rng.below(0), 0);
    assert_eq!(rng.range(5..5), 5);
    assert_eq!(rng.range(5..3), 5);
    assert_eq!(rng.range_inclusive(5..=3), 5);
    assert_eq!(rng.range_inclusive(5..=5), 5);
    assert_eq!(rng.range(2.0..1.0), 2.0);
    assert_eq!(rng.range(1.0..f64::INFINITY), 1.0);
    assert!(rng.range(f64::NAN..1.0).is_nan());
    assert_eq!(rng.range_inclusive(1.5_f32..=1.5), 1.5);
    assert_eq!(rng.choose::<u8>(&[]), None);
    assert_eq!(rng.weighted_index(&[]), None);
    assert_eq!(rng.next_u32(), stream(8).next_u32());
}

#[test]
fn floats_keep_to_their_range_where_rounding_would_leave_it() {
    let mut rng = stream(9);
    let next = 1.0_f64.next_up();
    let single = 1.0_f32.next_up();
    for _ in 0..100 {
        assert_eq!(rng.range(1.0..next), 1.0);
        assert_eq!(rng.range(1.0..single), 1.0);
        assert!((-f64::MAX..f64::MAX).contains(&rng.range(-f64::MAX..f64::MAX)));
        assert!((-f64::MAX..=f64::MAX).contains(&rng.range_inclusive(-f64::MAX..=f64::MAX)));
        assert!((16.0..22.0).contains(&rng.range(16.0..22.0)));
        assert!((-0.1..=0.1_f32).contains(&rng.range_inclusive(-0.1..=0.1_f32)));
    }
    let both: Vec<f64> = (0..50).map(|_| rng.range_inclusive(1.0..=next)).collect();
    assert!(both.contains(&1.0) && both.contains(&next));
}

#[test]
fn weights_without_meaning_choose_nothing() {
    let mut rng = stream(10);
    for weights in [[0.0, 0.0], [1.0, -1.0], [1.0, f64::NAN], [1.0, f64::INFINITY], [f64::MAX, f64::MAX]] {
        assert_eq!(rng.weighted_index(&weights), None);
    }
    assert!((0..100).all(|_| rng.weighted_index(&[0.0, 2.0, 0.0]) == Some(1)));
}

#[test]
fn parameters_without_meaning_neither_panic_nor_hang() {
    use super::{Binomial, DistributionError, Poisson};
    let mut rng = stream(11);
    let odd = [f64::NAN, f64::NEG_INFINITY, -1.0, -0.0, 0.0, 5e-324, 1e-300, 1e300, f64::MAX, f64::INFINITY];
    for x in odd {
        rng.poisson(x);
        rng.exponential(x);
        rng.normal(x, x);
        rng.bernoulli(x);
        for n in [0, 1, 100, u64::MAX] {
            assert!(rng.binomial(n, x) <= n);
        }
    }
    assert_eq!((rng.poisson(f64::NAN), rng.poisson(-3.0), rng.poisson(0.0)), (0, 0, 0));
    assert!(rng.poisson(f64::INFINITY) > 1 << 61);
    assert_eq!((rng.binomial(9, f64::NAN), rng.binomial(9, -1.0), rng.binomial(9, 2.0)), (0, 0, 9));
    assert_eq!((rng.bernoulli(f64::NAN), rng.bernoulli(0.0), rng.bernoulli(1.0)), (false, false, true));
    assert_eq!((rng.exponential(0.0), rng.exponential(f64::INFINITY)), (f64::INFINITY, 0.0));
    assert!(rng.exponential(-1.0).is_nan() && rng.exponential(f64::NAN).is_nan());
    assert!(matches!(Poisson::new(-1.0), Err(DistributionError::Mean { .. })));
    assert!(matches!(Poisson::new(f64::NAN), Err(DistributionError::Mean { .. })));
    assert!(matches!(Poisson::new(1e300), Err(DistributionError::Mean { .. })));
    let error = Binomial::new(3, 1.5).expect_err("not a probability");
    assert_eq!(error.to_string(), "the probability of a binomial distribution is 1.5: give a number from 0 to 1");
}

#[test]
fn huge_counts_stay_near_their_mean() {
    let mut rng = stream(12);
    for mean in [1e9, 1e15, 4e18] {
        for _ in 0..100 {
            assert!(((rng.poisson(mean) as f64 - mean) / mean.sqrt()).abs() < 6.0);
        }
    }
    for (n, p) in [(u64::MAX, 0.5), (u64::MAX, 1e-17), (1 << 53, 0.999), (u64::MAX, 1.0 - 1e-16)] {
        let (mean, deviation) = (n as f64 * p, (n as f64 * p * (1.0 - p)).sqrt());
        for _ in 0..100 {
            let count = rng.binomial(n, p);
            assert!((count as f64 - mean).abs() < 6.0 * deviation + 4096.0, "{count} of {n} at {p}");
        }
    }
}
