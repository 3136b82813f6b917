//! Random worlds: every log checks, verifies, and plays back around live participants that cannot tell the difference.

use std::path::Path;

use chaconne_conductor::{Actor, Conductor, ConductorConfig, RunReport};
use chaconne_record::{Playback, Recorder, Verifier, check, diff};
use chaconne_sim_core::{ActorPath, SimTime};
use chaconne_tests::reference::drive::{drive, set_up_watched};
use chaconne_tests::reference::random;
use chaconne_tests::reference::world::{Blueprint, Seats, Views};
use chaconne_tests::{path, world_with};

use super::{folder, lines};

fn settings(blueprint: &Blueprint, threads: usize, typed: bool) -> ConductorConfig {
    ConductorConfig {
        world: blueprint.name.clone(),
        seed: blueprint.seed,
        threads,
        typed,
        ..ConductorConfig::default()
    }
}

fn actors(blueprint: &Blueprint) -> Vec<Actor> {
    blueprint.actors.iter().map(|actor| actor.build(&Default::default(), Seats::Here, "actors", 0)).collect()
}

/// Runs a world to its end, with what its driver does from outside.
fn run(mut world: Conductor, blueprint: &Blueprint) -> RunReport {
    drive(&mut world, blueprint, Seats::Here, &Views::default());
    world.end(std::time::Duration::ZERO)
}

fn outermost(path: &ActorPath) -> String {
    path.segments().next().unwrap().to_owned()
}

/// The signals of a log without who came before whom at one instant, which depends on the order of adding.
fn signals(file: &Path) -> Vec<String> {
    let mut signals: Vec<String> =
        lines(file).into_iter().filter(|line| line.contains("\"type\":\"signal\"")).collect();
    signals.sort();
    signals
}

/// Plays everybody back but the actors under one outermost path.
fn play(blueprint: &Blueprint, log: &Path, live: &str, again: &Path) {
    let number = blueprint.seed;
    let playback = Playback::open(log).unwrap();
    let is_live = |path: &str| path == live || path.starts_with(&format!("{live}/"));
    let all: Vec<Actor> = actors(blueprint)
        .into_iter()
        .filter(|actor| is_live(actor.path()))
        .chain(playback.actors(|path| outermost(path) != live).unwrap())
        .collect();
    let mut world = world_with(settings(blueprint, 4, number.is_multiple_of(2)), all);
    world.add_monitor(Recorder::new(again));
    let leaves = blueprint.leaves.iter().filter(|(_, path)| is_live(path)).cloned().collect();
    let report = run(world, &Blueprint { leaves, ..blueprint.clone() });
    assert!(report.is_complete(), "world {number}, live {live}: {report}");
    assert_eq!(signals(again), signals(log), "world {number}, live {live}");
    check(again, |_| ()).unwrap();
}

#[test]
fn random_worlds_are_recorded_checked_verified_and_played_back() {
    let folder = folder();
    let [log, packed, again] = ["log.jsonl", "log.jsonl.zst", "again.jsonl"].map(|name| folder.path().join(name));
    let (mut played, mut halted, mut left) = (0, 0, 0);
    for number in 0..120 {
        let blueprint = random::world(number);
        // A run that halts before its first instant would leave the log of the last one.
        for file in [&log, &packed] {
            let _ = std::fs::remove_file(file);
        }
        let mut world = world_with(settings(&blueprint, 1, true), actors(&blueprint));
        world.add_monitor(Recorder::new(&log));
        let recorded = run(world, &blueprint);
        let checked = check(&log, |_| ()).unwrap();
        assert_eq!((checked.last.world_hash, checked.ticks), (recorded.world_hash, recorded.ticks), "world {number}");

        let mut world = world_with(settings(&blueprint, 4, false), actors(&blueprint));
        world.add_monitor(Verifier::new(&log));
        world.add_monitor(Recorder::new(&packed));
        let verified = run(world, &blueprint);
        assert_eq!((&verified.halt, &verified.end_failures), (&recorded.halt, &Vec::new()), "world {number}");
        assert_eq!(diff(&log, &packed, |_| ()).unwrap().difference, None, "world {number}");

        if recorded.halt.is_some() {
            halted += 1;
            continue;
        }
        left += usize::from(lines(&log).iter().any(|line| line.contains("\"type\":\"leave\"")));
        let mut roots: Vec<String> = blueprint.actors.iter().map(|actor| outermost(&path(&actor.path))).collect();
        roots.sort();
        roots.dedup();
        // Of one alone nobody is left to be played.
        for live in roots.iter().take(3).filter(|_| roots.len() > 1) {
            play(&blueprint, &log, live, &again);
            played += 1;
        }
    }
    assert!(played > 100 && halted > 5 && left > 20, "{played} played, {halted} halted, {left} with leaves");
}

#[test]
fn a_large_world_is_recorded_checked_and_verified_in_its_batches() {
    let folder = folder();
    let log = folder.path().join("log.jsonl");
    let blueprint = random::large_world(0);
    let mut world = world_with(settings(&blueprint, 4, true), actors(&blueprint));
    world.add_monitor(Recorder::new(&log));
    let recorded = run(world, &blueprint);
    // Without a monitor it is stepped in batches.
    let alone = run(world_with(settings(&blueprint, 4, true), actors(&blueprint)), &blueprint);
    assert_eq!(recorded.world_hash, alone.world_hash);
    assert_eq!(check(&log, |_| ()).unwrap().last.world_hash, alone.world_hash);
    let mut world = world_with(settings(&blueprint, 1, false), actors(&blueprint));
    world.add_monitor(Verifier::new(&log));
    assert!(run(world, &blueprint).is_complete());
    assert!(recorded.now > Some(SimTime::ZERO));
}

/// The signals of a log, without their numbers, which depend on when who joined is said to have joined.
fn unnumbered(file: &Path) -> Vec<String> {
    let mut signals: Vec<String> = signals(file)
        .iter()
        .map(|line| {
            let (head, tail) = line.split_once(",\"seq\":").unwrap();
            format!("{head}{}", tail.split_once(',').unwrap().1)
        })
        .collect();
    signals.sort();
    signals
}

#[test]
fn living_worlds_are_recorded_checked_verified_and_played_back() {
    let folder = folder();
    let [log, again] = ["log.jsonl", "again.jsonl"].map(|name| folder.path().join(name));
    let (mut joined, mut left) = (0, 0);
    for number in 0..120 {
        let blueprint = random::living_world(number);
        for file in [&log, &again] {
            let _ = std::fs::remove_file(file);
        }
        let recorded = run(set_up_watched(&blueprint, 1, Recorder::new(&log)), &blueprint);
        let checked = check(&log, |_| ()).unwrap();
        assert_eq!((checked.last.world_hash, checked.ticks), (recorded.world_hash, recorded.ticks), "world {number}");
        let verified = run(set_up_watched(&blueprint, 4, Verifier::new(&log)), &blueprint);
        assert_eq!((&verified.halt, &verified.end_failures), (&recorded.halt, &Vec::new()), "world {number}");
        if recorded.halt.is_some() {
            continue;
        }
        joined += recorded.joins - blueprint.actors.len() as u64;
        left += recorded.leaves;
        // Everybody from the log, alone.
        let playback = Playback::open(&log).unwrap();
        let config = ConductorConfig { threads: 2, ..settings(&blueprint, 2, true) };
        let mut world = world_with(config, playback.actors(|_| true).unwrap());
        world.add_monitor(Recorder::new(&again));
        let _ = world.run_until(blueprint.until.min(playback.end()));
        let played = world.end(std::time::Duration::ZERO);
        assert!(played.is_complete(), "world {number}: {played}");
        let (got, expected) = (unnumbered(&again), unnumbered(&log));
        let place = got.iter().zip(&expected).position(|(got, expected)| got != expected);
        let differ = place.map(|place| (&got[place], &expected[place]));
        assert_eq!((differ, got.len()), (None, expected.len()), "world {number}");
        check(&again, |_| ()).unwrap();
    }
    assert!(joined > 300 && left > 300, "{joined} joined, {left} left");
}
