//! Benches of the hot paths, in one binary; a file per subject.
//!
//! `cargo bench -p chaconne-benches` runs all, `cargo bench -p chaconne-benches -- routing` those of one subject.

mod agenda;
mod canon;
mod fingerprint;
mod instant;
mod log;
mod mirror;
mod population;
mod rng;
mod routing;

use std::time::Duration;

use chaconne::conductor::Conductor;
use chaconne_benches::conductor;
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput};

fn main() {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .sample_size(20)
        .configure_from_args();
    instant::benches(&mut criterion);
    routing::benches(&mut criterion);
    agenda::benches(&mut criterion);
    mirror::benches(&mut criterion);
    log::benches(&mut criterion);
    population::benches(&mut criterion);
    canon::benches(&mut criterion);
    fingerprint::benches(&mut criterion);
    rng::benches(&mut criterion);
    criterion.final_summary();
}

/// One measured world: what an iteration steps, and what it is divided by.
struct Instants {
    threads: usize,
    /// Instants per iteration.
    instants: u64,
    /// Steps or signals per iteration, whichever the bench is about.
    elements: u64,
}

impl Instants {
    /// One instant per iteration, on one thread.
    fn one(elements: u64) -> Self {
        Self { threads: 1, instants: 1, elements }
    }

    /// Measures the instants of a world that is built when the bench is selected, after the first instants, which
    /// declare the keys.
    fn bench(&self, group: &mut BenchmarkGroup<'_, WallTime>, name: &str, build: impl Fn(&mut Conductor)) {
        let mut world = None;
        group.throughput(Throughput::Elements(self.elements));
        group.bench_function(name, |bencher| {
            let world = world.get_or_insert_with(|| {
                let mut world = conductor(self.threads);
                build(&mut world);
                step(&mut world, 2 * self.instants);
                world
            });
            bencher.iter(|| step(world, self.instants));
        });
    }
}

fn step(world: &mut Conductor, instants: u64) {
    for _ in 0..instants {
        world.step_instant().expect("no participant of the benches fails");
    }
}
