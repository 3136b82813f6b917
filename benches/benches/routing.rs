//! Signals on their way: from one to many, from many to one, and the latest of many.

use chaconne_benches::{fan_in, fan_out, sample_and_hold};
use criterion::Criterion;

use crate::Instants;

pub(crate) fn benches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("routing");
    Instants::one(1_000).bench(&mut group, "fan_out/1000", |world| fan_out(world, 1_000));
    Instants::one(1_000).bench(&mut group, "fan_in/1000", |world| fan_in(world, 1_000));
    // Ten instants are one period of the holder.
    let period = Instants { threads: 1, instants: 10, elements: 1_000 };
    period.bench(&mut group, "latest/100", |world| sample_and_hold(world, 100));
    group.finish();
}
