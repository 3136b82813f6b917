//! The demo world without the example around it: its golden hash, from code and from its file, and how little changes it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use bevy::prelude::*;
use chaconne::prelude::*;
use chaconne::scenario::Overrides;
use chaconne::traffic::law::{Idm, PurePursuit};
use chaconne::traffic::{Radar, RadarSpec, Road, Spawner, SpawnerParams, Watch, demo, factories};
use chaconne_conductor::{Conductor, ConductorConfig};
use chaconne_tests::recheck::Witness;

use super::golden;

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../assets/scenarios/demo.json5");
const WORLD: &str = "traffic";

/// What of the world differs from the demo.
#[derive(Default)]
struct Change {
    /// Of the ego's steering.
    pursuit: Option<PurePursuit>,
    /// Of those who join while the world runs.
    spawner: Option<SpawnerParams>,
    /// The road's file.
    road: Option<String>,
}

fn config() -> ConductorConfig {
    ConductorConfig { world: WORLD.to_owned(), seed: 42, ..ConductorConfig::default() }
}

/// The ego's actor as [`demo::ego_actor`] makes it, with another steering.
fn ego(road: &Arc<Road>, pursuit: PurePursuit) -> Actor {
    let (controller, physics) = demo::ego().parts(road).unwrap();
    let controller = controller.with_pursuit(pursuit).unwrap();
    let radar = Radar::new(RadarSpec::default()).unwrap();
    Actor::new("ego").child("controller", controller).child("radar", radar).child("physics", physics)
}

fn hash(config: ConductorConfig, monitored: bool, change: Change) -> String {
    let road = Arc::new(change.road.map_or_else(Road::demo, |file| Road::from_json(&file, "changed").unwrap()));
    let mut world = Conductor::new(config.clone()).unwrap();
    world.set_maker(factories::maker(WORLD, config.seed, Arc::clone(&road)));
    for actor in demo::actors(&road, demo::ego().speed, &Watch::default()).unwrap() {
        let actor = match (actor.path(), change.pursuit, &change.spawner) {
            ("ego", Some(pursuit), _) => ego(&road, pursuit),
            ("spawner", _, Some(params)) => {
                Actor::of("spawner", Spawner::new(Arc::clone(&road), params.clone()).unwrap())
            }
            _ => actor,
        };
        world.add(actor).unwrap();
    }
    if monitored {
        world.add_monitor(Witness::default());
    }
    world.run_until(SimTime::from_secs(30)).unwrap();
    world.world_hash().to_string()
}

#[test]
fn without_an_app_the_world_has_the_examples_golden_hash() {
    let expected = &golden()["traffic"].world_hash;
    for (threads, typed, monitored) in [(1, true, false), (8, true, true), (1, false, true), (8, false, false)] {
        let config = ConductorConfig { threads, typed, ..config() };
        let hash = hash(config, monitored, Change::default());
        assert_eq!(&hash, expected, "{threads} threads, typed {typed}, monitored {monitored}");
    }
}

#[test]
fn a_scenario_file_and_the_same_world_in_code_have_one_hash() {
    let expected = hash(config(), false, Change::default());
    let mut made = Factories::default();
    factories::add_to(&mut made).unwrap();
    let read = || Scenario::from_file(DEMO, &made, Overrides::default()).unwrap();

    let scenario = read();
    assert_eq!((scenario.world(), scenario.seed()), (WORLD, 42));
    let end = scenario.end.unwrap();
    let mut world = Conductor::new(config()).unwrap();
    scenario.add_to(&mut world, &made).unwrap();
    world.run_until(end).unwrap();
    assert_eq!(world.world_hash().to_string(), expected);

    let scenario = read();
    let (world, seed) = (scenario.world().to_owned(), scenario.seed());
    let mut app = App::new();
    let conductor = ConductorPlugin { world, seed, end: Some(end), ..ConductorPlugin::default() };
    app.add_plugins((MinimalPlugins, ChaconnePlugins.set(conductor))).add_scenario(scenario, &made);
    let report = app.run_headless(SimTime::MAX);
    assert!(report.is_complete(), "{report}");
    assert_eq!(report.world_hash.to_string(), expected);
}

#[test]
fn one_constant_of_a_law_or_of_the_road_changed_is_another_hash() {
    let changed = |change: Change| hash(config(), false, change);
    let expected = changed(Change::default());
    let next = |value: f64| f64::from_bits(value.to_bits() + 1);

    let pursuit = PurePursuit::default();
    assert_eq!(changed(Change { pursuit: Some(pursuit), ..Change::default() }), expected);
    let slower = PurePursuit { look_ahead_time: next(pursuit.look_ahead_time), ..pursuit };
    assert_ne!(changed(Change { pursuit: Some(slower), ..Change::default() }), expected);
    // Nobody hinders the ego of this seed, but those who join follow each other.
    let others = SpawnerParams::default();
    let idm = Idm { acceleration: next(others.idm.acceleration), ..others.idm };
    assert_ne!(changed(Change { spawner: Some(SpawnerParams { idm, ..others }), ..Change::default() }), expected);

    let road = include_str!("../../../assets/roads/demo.json");
    assert_eq!(changed(Change { road: Some(road.to_string()), ..Change::default() }), expected);
    let bent = road.replacen("\"radius_m\": 600,", "\"radius_m\": 600.0000001,", 1);
    assert_ne!(bent, road);
    assert_ne!(changed(Change { road: Some(bent), ..Change::default() }), expected);
}

#[test]
fn another_seed_is_another_world() {
    let other = hash(ConductorConfig { seed: 43, ..config() }, false, Change::default());
    assert_ne!(other, golden()["traffic"].world_hash);
}

#[test]
fn populations_declared_in_another_order_contribute_the_same_to_another_hash() {
    let mut made = Factories::default();
    factories::add_to(&mut made).unwrap();
    let population = |path: &str, cars: u32| {
        format!("{{ path: '{path}', type: 'traffic/fleet', every: 0.1, params: {{ cars: {cars} }} }}")
    };
    let (north, south) = (population("north", 40), population("south", 25));
    let run = |first: &str, second: &str| {
        let text = format!("{{ world: 'w', seed: 7, road: 'demo', end: 2, populations: [{first}, {second}] }}");
        let scenario = Scenario::from_text(&text, "two.json5", Path::new(""), &made, Overrides::default()).unwrap();
        let mut world =
            Conductor::new(ConductorConfig { world: "w".to_owned(), seed: 7, ..ConductorConfig::default() }).unwrap();
        let witness = Witness::default();
        world.add_monitor(witness.clone());
        scenario.add_to(&mut world, &made).unwrap();
        world.run_until(SimTime::from_secs(2)).unwrap();
        let contributions: BTreeMap<(SimTime, String), Fingerprint> = witness
            .instants()
            .into_iter()
            .flat_map(|instant| {
                instant.steps.into_iter().map(move |step| ((instant.time, step.path), step.contribution))
            })
            .collect();
        (contributions, world.world_hash())
    };
    let (one, other) = (run(&north, &south), run(&south, &north));
    assert_eq!(one.0, other.0);
    assert!(one.0.len() >= 40, "{} contributions", one.0.len());
    assert_ne!(one.1, other.1);
}
