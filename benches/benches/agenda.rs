//! The agenda with a due time per participant: instants with one due each.

use chaconne_benches::jittered;
use criterion::Criterion;

use crate::Instants;

pub(crate) fn benches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("agenda");
    for len in [100, 10_000] {
        let instants = Instants { threads: 1, instants: 100, elements: 100 };
        instants.bench(&mut group, &format!("jittered/{len}"), |world| jittered(world, len));
    }
    group.finish();
}
