//! Scenario files of this domain: the worlds of the repository are those in code, and no text makes a factory panic.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, and its helpers with it")]
#![cfg(feature = "scenario")]

mod common;

use std::{fs, path::Path, sync::Arc};

use chaconne_conductor::{Actor, Conductor, ConductorConfig};
use chaconne_scenario::{Factories, Overrides, Scenario, ScenarioError};
use chaconne_sim_core::{
    Fingerprint, SimDuration, SimTime,
    rng::{Domain, StreamKey},
};
use chaconne_traffic::{
    CollisionMonitor, LaneControl, PoseLogger, Road, Spawner, SpawnerParams, TtcMonitor, demo, factories,
    worlds::{self, World},
};
use common::{actor, populate, world};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/scenarios/");

fn registered() -> Factories {
    let mut all = Factories::default();
    factories::add_to(&mut all).unwrap();
    all
}

fn load(text: &str) -> Result<Scenario, ScenarioError> {
    Scenario::from_text(text, "world.json5", Path::new(ROOT), &registered(), Overrides::default())
}

/// The hash of a scenario of the repository before `until`.
fn hash_of_file(name: &str, until: SimTime) -> Fingerprint {
    let scenario = load(&fs::read_to_string(format!("{ROOT}{name}.json5")).unwrap()).unwrap();
    let config = ConductorConfig { world: scenario.world().into(), seed: scenario.seed(), ..Default::default() };
    let mut world = Conductor::new(config).unwrap();
    scenario.add_to(&mut world, &registered()).unwrap();
    world.run_until(until).unwrap();
    world.world_hash()
}

/// The hash of a world in code, with the monitors that its scenario has.
fn hash_of_code(name: &str, start: &World, log_every: i32, until: SimTime) -> Fingerprint {
    let mut world = Conductor::new(ConductorConfig { world: name.into(), ..Default::default() }).unwrap();
    populate(&mut world, start);
    let logger = PoseLogger::new(|_| ()).every(SimDuration::from_secs(log_every));
    world.add(Actor::of("log", logger)).unwrap();
    world.add(Actor::of("collisions", CollisionMonitor::new())).unwrap();
    world.add(Actor::of("ttc", TtcMonitor::all())).unwrap();
    world.run_until(until).unwrap();
    world.world_hash()
}

#[test]
fn the_ring_and_the_merge_are_the_same_worlds_in_files_and_in_code() {
    let until = SimTime::from_secs(30);
    assert_eq!(hash_of_file("ring", until), hash_of_code("ring", &worlds::ring(), 10, until));
    assert_eq!(hash_of_file("merge", until), hash_of_code("merge", &worlds::merge(), 5, until));
}

#[test]
fn a_text_that_is_changed_at_random_is_read_or_refused_at_a_place_in_it() {
    let mut rng = StreamKey::new(1, Domain::SetUp, "scenarios", "changes", 0).stream(0);
    let (mut read, mut refused) = (0, 0);
    for name in ["demo", "merge", "ring", "platoon"] {
        let whole = fs::read_to_string(format!("{ROOT}{name}.json5")).unwrap();
        // Of the many cars a few will do.
        let lines: Vec<&str> = whole
            .lines()
            .enumerate()
            .filter(|(at, line)| *at < 18 || !line.contains("car-"))
            .map(|(_, line)| line)
            .collect();
        let text: Vec<char> = lines.join("\n").chars().collect();
        for _ in 0..300 {
            let mut changed = text.clone();
            for _ in 0..rng.range_inclusive(1..=3) {
                let at = rng.below(changed.len() as u64) as usize;
                let from = rng.below(text.len() as u64) as usize;
                match rng.below(5) {
                    0 => drop(changed.remove(at)),
                    1 => changed.insert(at, text[from]),
                    2 => changed[at] = *rng.choose(&['9', '-', 'e', '{', ']', ',', 'x', '\'']).unwrap(),
                    3 => {
                        let end = (at + rng.below(30) as usize).min(changed.len());
                        changed.drain(at..end);
                    }
                    _ => {
                        let piece: Vec<char> = text[from..(from + 40).min(text.len())].to_vec();
                        changed.splice(at..at, piece);
                    }
                }
            }
            let changed: String = changed.into_iter().collect();
            match load(&changed) {
                Ok(_) => read += 1,
                Err(error) => {
                    refused += 1;
                    let place = error.place().unwrap_or_else(|| panic!("{error} has no place in {changed}"));
                    let line = changed.split('\n').nth(place.line - 1);
                    let fits = line.is_some_and(|line| place.column <= line.chars().count() + 1);
                    assert!(fits, "{error} lies outside of {changed}");
                }
            }
        }
    }
    assert!(read > 100 && refused > 300, "{read} read, {refused} refused");
}

#[test]
fn an_error_in_a_road_that_stands_in_the_scenario_has_one_place() {
    let text = "{ world: 'w', end: 1, road: { name: 'r', closed: false,\n start: { x_m: 0, y_m: 0, heading_deg: 0 }, \
                lanes: [{ width_m: -3.5 }], segments: [] } }";
    let error = load(text).unwrap_err().to_string();
    assert!(error.starts_with("scenario file `world.json5`, line 2, column 64: `lanes[0]`: `width_m`: "), "{error}");
}

#[test]
fn a_path_that_a_factory_gives_to_a_part_is_taken_in_the_file_already() {
    let text = "{ world: 'w', end: 1, road: 'demo', actors: [\n  { path: 'c', type: 'traffic/car', params: { lane: 0, s: 0, \
                speed: 9 } },\n  { path: 'c/physics', type: 'traffic/lane-control' },\n] }";
    let error = load(text).unwrap_err().to_string();
    assert!(error.contains("line 3, column 11: the path `c/physics` is taken: it stands in line 2"), "{error}");
}

#[test]
fn a_spawner_replaces_a_car_that_leaves_by_itself_and_two_spawners_live_in_one_world() {
    let road = Arc::new(Road::demo());
    let mut world = world(3, &road);
    world.add(actor("ego", &demo::ego(), &road).unwrap()).unwrap();
    world.add(Actor::of("lanes", LaneControl::new(Arc::clone(&road)))).unwrap();
    for (path, name, lanes) in [("left", "left-car", vec![2]), ("right", "right-car", vec![0])] {
        let params = SpawnerParams { name: name.into(), lanes, cars: 3, ..SpawnerParams::default() };
        world.add(Actor::of(path, Spawner::new(Arc::clone(&road), params).unwrap())).unwrap();
    }
    world.run_until(SimTime::from_secs(5)).unwrap();
    assert_eq!(world.participants(), 2 + 3 + 2 * 6);
    world.leave(&"left-car-1".parse().unwrap()).unwrap();
    world.leave(&"right-car-2".parse().unwrap()).unwrap();
    world.run_until(SimTime::from_secs(40)).unwrap();
    let report = world.report();
    assert_eq!((report.halt, report.participants), (None, 2 + 3 + 2 * 6));
    assert!(report.leaves > 8, "{}", report.leaves);
}
