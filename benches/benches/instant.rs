//! One instant: few due and many due, few due among many, parts of one actor.

use chaconne_benches::{pipelines, ring, sparse_ring};
use criterion::{Criterion, SamplingMode};

use crate::Instants;

pub(crate) fn benches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("instant");
    for len in [10, 1_000] {
        Instants::one(len as u64).bench(&mut group, &format!("ring/{len}"), |world| ring(world, len));
    }
    Instants::one(2_000).bench(&mut group, "pipelines/1000", |world| pipelines(world, 1_000));
    Instants::one(10).bench(&mut group, "sparse/10_of_100000", |world| sparse_ring(world, 100_000, 10));
    // An instant takes milliseconds: few of them in every sample, and as many in one as in the next.
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    for threads in [1, 2] {
        let instants = Instants { threads, ..Instants::one(100_000) };
        instants.bench(&mut group, &format!("ring/100000/threads_{threads}"), |world| ring(world, 100_000));
    }
    group.finish();
}
