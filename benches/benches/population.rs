//! A population's tick: what it costs beside its systems, and with many agents.

use chaconne_benches::{add, walkers};
use criterion::Criterion;

use crate::Instants;

pub(crate) fn benches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("population");
    for len in [1, 10_000] {
        let tick = Instants::one(len as u64);
        tick.bench(&mut group, &format!("tick/{len}"), |world| add(world, walkers(len).into()));
    }
    group.finish();
}
