//! Random streams: naming one, drawing one by one, and filling slices.

use std::hint::black_box;

use chaconne::sim_core::rng::{Domain, StreamKey};
use criterion::{Criterion, Throughput};

pub(crate) fn benches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("rng");
    group.bench_function("stream_key", |bencher| {
        bencher.iter(|| StreamKey::new(black_box(42), Domain::System, black_box("walkers"), "walk", black_box(7)));
    });
    let key = StreamKey::new(42, Domain::System, "walkers", "walk", 0);
    group.bench_function("first_coin_of_a_stream", |bencher| {
        let mut agent = 0_u64;
        bencher.iter(|| {
            agent += 1;
            key.stream(black_box(agent)).coin()
        });
    });
    let mut rng = key.stream(0);
    group.bench_function("next_u32", |bencher| bencher.iter(|| rng.next_u32()));
    group.bench_function("unit", |bencher| bencher.iter(|| rng.unit()));
    group.bench_function("range", |bencher| bencher.iter(|| rng.range(0..black_box(1_000_u32))));
    group.bench_function("normal", |bencher| bencher.iter(|| rng.normal(0.0, 1.0)));
    group.bench_function("poisson_of_10", |bencher| bencher.iter(|| rng.poisson(black_box(10.0))));

    const LEN: usize = 4_096;
    group.throughput(Throughput::Elements(LEN as u64));
    let mut words = vec![0; LEN];
    group.bench_function("fill_u32/4096", |bencher| bencher.iter(|| rng.fill_u32(black_box(&mut words))));
    let mut numbers = vec![0.0; LEN];
    group.bench_function("fill_unit_f64/4096", |bencher| bencher.iter(|| rng.fill_unit_f64(black_box(&mut numbers))));
    let agents: Vec<u64> = (0..LEN as u64).collect();
    group.bench_function("words_for_agents/4096", |bencher| {
        bencher.iter(|| key.words_for_agents(&agents, black_box(&mut words)));
    });
    group.finish();
}
