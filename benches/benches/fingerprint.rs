//! Fingerprints: a participant's contribution with one signal, and the hash of a tick with a thousand of them.

use std::hint::black_box;

use chaconne::prelude::{Fingerprint, SimTime};
use chaconne::sim_core::fingerprint::{Frame, world_next};
use chaconne_benches::pose;
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput};
use serde::Serialize;

pub(crate) fn benches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("fingerprint");
    contribution(&mut group, "contribution_f64", &0.123_456_789_012_345_6);
    contribution(&mut group, "contribution_pose", &pose(7));
    tick(&mut group);
    group.finish();
}

/// The bytes of one step with one signal, framed and hashed as a port does it.
fn contribution<T: Serialize>(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, value: &T) {
    let mut frame = Frame::new();
    group.bench_function(name, |bencher| {
        bencher.iter(|| {
            frame.clear();
            frame.str(black_box("p1234"));
            frame.time(SimTime::from_millis(10));
            frame.u64(1);
            frame.str(black_box("chaconne/world/actor/p1234/value"));
            frame.u64(7);
            frame.payload(black_box(value)).expect("the value has a text");
            frame.u8(0);
            frame.finish()
        });
    });
}

fn tick(group: &mut BenchmarkGroup<'_, WallTime>) {
    const CONTRIBUTIONS: usize = 1_000;
    let contributions: Vec<Fingerprint> = (0..CONTRIBUTIONS).map(|at| Fingerprint::of(&at.to_le_bytes())).collect();
    let (mut frame, mut world_hash) = (Frame::new(), Fingerprint::of(b""));
    group.throughput(Throughput::Elements(CONTRIBUTIONS as u64));
    group.bench_function("tick/1000", |bencher| {
        bencher.iter(|| {
            frame.clear();
            frame.u64(7);
            frame.time(SimTime::from_millis(10));
            frame.u64(CONTRIBUTIONS as u64);
            for &contribution in &contributions {
                frame.fingerprint(contribution);
            }
            frame.u64(0);
            world_hash = world_next(world_hash, frame.finish());
            world_hash
        });
    });
}
