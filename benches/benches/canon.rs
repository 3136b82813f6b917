//! Canonical JSON: writing a number, a pose and a map; reading a pose.

use std::hint::black_box;

use chaconne::sim_core::canon;
use chaconne::traffic::Pose;
use chaconne_benches::{map, pose};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion};
use serde::Serialize;

pub(crate) fn benches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("canon");
    write(&mut group, "write_f64", &0.123_456_789_012_345_6);
    write(&mut group, "write_pose", &pose(7));
    write(&mut group, "write_map/100", &map(100));
    let text = canon::to_vec(&pose(7)).expect("a pose has a text");
    group.bench_function("read_pose", |bencher| bencher.iter(|| canon::from_slice::<Pose>(black_box(&text))));
    group.finish();
}

/// Writes into a buffer that is used again, as hosts do.
fn write<T: Serialize>(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, value: &T) {
    let mut out = Vec::new();
    group.bench_function(name, |bencher| {
        bencher.iter(|| {
            out.clear();
            canon::to_writer(&mut out, black_box(value)).expect("the value has a text");
            out.len()
        });
    });
}
