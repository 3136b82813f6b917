//! Logs: an instant recorded, against the same without; a log checked, read and verified, in bytes.

use std::path::Path;

use chaconne::conductor::Conductor;
use chaconne::record::{Block, InstantRecord, LogReader, Recorder, Verifier, check};
use chaconne_benches::{conductor, ring};
use criterion::{BatchSize, Criterion, Throughput};

use crate::step;

const PARTICIPANTS: usize = 1_000;

/// Instants that are recorded per iteration.
const RECORDED: u64 = 20;

/// Instants in the log that is read: about ten megabytes.
const INSTANTS: u64 = 60;

pub(crate) fn benches(criterion: &mut Criterion) {
    let folder = std::env::temp_dir().join(format!("chaconne-benches-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder can be made beside other temporary files");
    let file = folder.join("log.jsonl");
    recording(criterion, &folder.join("endless.jsonl"));
    reading(criterion, &file);
    // Whatever is left lies in the system's folder for such things.
    let _ = std::fs::remove_dir_all(&folder);
}

fn world() -> Conductor {
    let mut world = conductor(1);
    ring(&mut world, PARTICIPANTS);
    world
}

fn recording(criterion: &mut Criterion, file: &Path) {
    let mut group = criterion.benchmark_group("log");
    group.throughput(Throughput::Elements(RECORDED * PARTICIPANTS as u64));
    for (name, recorded) in [("unrecorded/1000", false), ("recorded/1000", true)] {
        // Begun anew now and then, so that the file stays small.
        group.bench_function(name, |bencher| {
            bencher.iter_batched_ref(
                || {
                    let mut world = world();
                    if recorded {
                        world.add_monitor(Recorder::new(file));
                    }
                    step(&mut world, 2);
                    world
                },
                |world| step(world, RECORDED),
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

fn reading(criterion: &mut Criterion, file: &Path) {
    // A filter on the command line may leave all of it out; the log is a matter of milliseconds.
    let mut recorded = world();
    recorded.add_monitor(Recorder::new(file));
    step(&mut recorded, INSTANTS);
    drop(recorded);
    let mut group = criterion.benchmark_group("log");
    group.throughput(Throughput::Bytes(std::fs::metadata(file).map_or(0, |file| file.len())));
    group.bench_function("check", |bencher| {
        bencher.iter(|| check(file, |_| ()).expect("the log is whole").ticks);
    });
    group.bench_function("read", |bencher| {
        bencher.iter(|| {
            let mut log = LogReader::open(file).expect("the log is there");
            let (mut instant, mut signals) = (InstantRecord::default(), 0);
            while let Ok(Block::Instant) = log.next_block(&mut instant) {
                signals += instant.signal_count();
            }
            signals
        });
    });
    group.bench_function("run_verified", |bencher| {
        let begin = || {
            let mut world = world();
            world.add_monitor(Verifier::new(file));
            world
        };
        bencher.iter_batched_ref(begin, |world| step(world, INSTANTS), BatchSize::PerIteration);
    });
    group.finish();
}
