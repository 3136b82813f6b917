//! Logs of runs: recording changes nothing, differences are found and named, recorded traffic plays back.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail their test by panicking")]

mod app;
mod crash;
mod losing;
mod memory;
mod playing_back;
mod programs;
mod random_worlds;
mod recording;
mod verifying;

use std::fs;
use std::path::{Path, PathBuf};

use chaconne_conductor::{Actor, Conductor, ConductorConfig, RunReport};
use chaconne_record::{Recorder, Verifier};
use chaconne_sim_core::fingerprint::{self, MembershipChange, MembershipKind};
use chaconne_sim_core::{Fingerprint, Participant, SimTime, StateWriter, StepCtx, StepResult};
use chaconne_tests::{Probe, at, config, of, secs, world_with};
use serde_json::Value;
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

/// Computes the hashes of a changed log anew, as the format says, so that it is right again.
fn seal(lines: &mut [String]) {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    // Times have few digits in these logs, but for the one that means never.
    let time = |value: &Value| format!("{:.9}", value.as_f64().unwrap()).parse().unwrap_or(SimTime::MAX);
    let header: Value = serde_json::from_str(&lines[0]).unwrap();
    let mut world_hash = fingerprint::world_start(&text(&header["world"]), header["seed"].as_u64().unwrap());
    let (mut signals, mut membership) = (Vec::new(), Vec::new());
    for line in lines {
        let value: Value = serde_json::from_str(line).unwrap();
        let replaced =
            |line: &str, field: &str, hash: Fingerprint| line.replace(&text(&value[field]), &hash.to_string());
        match value["type"].as_str().unwrap() {
            "signal" => {
                let payload = line.find(",\"payload\":").map(|at| line[at + 11..line.len() - 1].to_owned()).unwrap();
                signals.push((text(&value["path"]), text(&value["key"]), value["seq"].as_u64().unwrap(), payload));
            }
            kind @ ("join" | "leave") => {
                let kind = if kind == "join" { MembershipKind::Join } else { MembershipKind::Leave };
                membership.push((kind, text(&value["path"]), time(&value["time"])));
            }
            "tick" => {
                let contribution = |step: &Value| {
                    let path = text(&step[0]);
                    let own = signals.iter().filter(|signal| signal.0 == path);
                    let own: Vec<(&str, u64, &[u8])> =
                        own.map(|(_, key, seq, payload)| (key.as_str(), *seq, payload.as_bytes())).collect();
                    let state = step[2].as_str().map(|state| state.parse().unwrap());
                    fingerprint::contribution(&path, time(&step[1]), &own, state)
                };
                let contributions: Vec<_> = value["steps"].as_array().unwrap().iter().map(contribution).collect();
                let changes: Vec<MembershipChange<'_>> = membership
                    .iter()
                    .map(|(kind, path, time)| MembershipChange { kind: *kind, path, time: *time })
                    .collect();
                let (tick, now) = (value["tick"].as_u64().unwrap(), time(&value["time"]));
                let tick_hash = fingerprint::tick_hash(tick, now, &contributions, &changes);
                world_hash = fingerprint::world_next(world_hash, tick_hash);
                *line = replaced(&replaced(line, "tick_hash", tick_hash), "world_hash", world_hash);
                (signals, membership) = (Vec::new(), Vec::new());
            }
            "end" => *line = replaced(line, "world_hash", world_hash),
            _ => {}
        }
    }
}

/// The index of the first line that contains all of these.
fn find(lines: &[String], parts: &[&str]) -> usize {
    lines.iter().position(|line| parts.iter().all(|part| line.contains(part))).expect("a line with these parts")
}
