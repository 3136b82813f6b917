//! Mirrors: an update with one instant of a thousand actors that publish a pose each, with mirrors and without.

use chaconne::prelude::{ConductorAppExt, Mirroring, SimTime};
use chaconne_benches::{PERIOD, mirrored};
use criterion::{Criterion, Throughput};

pub(crate) fn benches(criterion: &mut Criterion) {
    const ACTORS: usize = 1_000;
    let mut group = criterion.benchmark_group("mirror");
    group.throughput(Throughput::Elements(ACTORS as u64));
    for (name, mirrors) in [("on/1000", Mirroring::All), ("off/1000", Mirroring::Off)] {
        let mut run = None;
        group.bench_function(name, |bencher| {
            let (app, until) = run.get_or_insert_with(|| (mirrored(ACTORS, mirrors), SimTime::ZERO));
            bencher.iter(|| {
                *until = until.checked_add(PERIOD).expect("a bench ends before time does");
                app.run_headless(*until)
            });
        });
    }
    group.finish();
}
