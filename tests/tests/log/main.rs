//! Logs of runs: recording changes nothing, differences are found and named, recorded traffic plays back.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail their test by panicking")]

mod crash;
mod playing_back;
mod programs;
mod random_worlds;
mod recording;
mod verifying;

use std::fs;
use std::path::{Path, PathBuf};

use chaconne_conductor::{Actor, Conductor, ConductorConfig, RunReport};
use chaconne_record::{Recorder, Verifier};
use chaconne_sim_core::{Participant, StateWriter, StepCtx, StepResult};
use chaconne_tests::{Probe, at, config, of, secs, world_with};
use tempfile::TempDir;

/// A folder that goes when the test ends.
fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// Counts its steps; the count is its state, and each second step publishes it.
struct Counter(u64);

impl Participant for Counter {
    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        self.0 += 1;
        if self.0.is_multiple_of(2) {
            ctx.publish("count", &self.0)?;
        }
        ctx.after(secs(1))
    }

    fn write_state(&self, out: &mut StateWriter) {
        out.u64(self.0);
    }
}

/// Actors of every kind: with parts, with state, one that comes late, one that leaves, one under another's path.
fn cast() -> Vec<Actor> {
    vec![
        Actor::new("ego").child("controller", Probe::every(1).says("steer").says("brake")).child("counter", Counter(0)),
        Actor::of("ego/camera", Probe::every(2).says("image").hears(of("ego", "*"))),
        Actor::of("late", Probe::every(1).says("x").holds(of("**", "steer"))).first_due(at(2)),
        Actor::of("gone", Probe::every(1).says("y")).leaves_at(at(3)),
        Actor::of("once", Probe::at([1])),
    ]
}

/// Runs a cast to 6 s with a monitor.
fn run_with(
    config: ConductorConfig,
    actors: Vec<Actor>,
    monitor: impl chaconne_conductor::Monitor + 'static,
) -> RunReport {
    let mut world = world_with(config, actors);
    world.add_monitor(monitor);
    finish(&mut world)
}

/// Runs a world to 6 s and ends it.
fn finish(world: &mut Conductor) -> RunReport {
    // How it ended is in the report.
    let _ = world.run_until(at(6));
    world.end(std::time::Duration::ZERO)
}

/// Records the cast.
fn record(file: &Path) -> RunReport {
    let report = run_with(config(), cast(), Recorder::new(file));
    assert!(report.is_complete(), "{report}");
    report
}

/// Verifies the cast against a log.
fn verify(file: &Path) -> RunReport {
    run_with(config(), cast(), Verifier::new(file))
}

/// What the report of a run that must not be complete says.
fn failure(report: &RunReport) -> String {
    assert!(!report.is_complete(), "{report}");
    match &report.halt {
        Some(halt) => halt.to_string(),
        None => report.end_failures.join("; "),
    }
}

/// The lines of a log.
fn lines(file: &Path) -> Vec<String> {
    fs::read_to_string(file).unwrap().lines().map(str::to_owned).collect()
}

/// Writes lines as a log.
fn write(file: &Path, lines: &[String]) {
    fs::write(file, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
}

/// The recorded cast, with one change made to its lines.
fn changed(folder: &TempDir, change: impl FnOnce(&mut Vec<String>)) -> PathBuf {
    let file = folder.path().join("log.jsonl");
    record(&file);
    let mut all = lines(&file);
    let before = all.clone();
    change(&mut all);
    assert_ne!(all, before, "the change changed nothing");
    write(&file, &all);
    file
}

/// The index of the first line that contains all of these.
fn find(lines: &[String], parts: &[&str]) -> usize {
    lines.iter().position(|line| parts.iter().all(|part| line.contains(part))).expect("a line with these parts")
}
