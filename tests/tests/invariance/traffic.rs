//! The traffic world without the example around it: its golden hash, and how little changes it.

use std::sync::Arc;

use chaconne::prelude::*;
use chaconne::traffic::law::{Idm, PurePursuit};
use chaconne::traffic::{Driver, PoseLogger, Road, demo};
use chaconne_conductor::{Conductor, ConductorConfig};
use chaconne_tests::recheck::Witness;

use super::golden;

/// What of the world differs from the demo.
#[derive(Default)]
struct Change {
    /// Of one car's following.
    idm: Option<Idm>,
    /// Of its steering.
    pursuit: Option<PurePursuit>,
    /// The road's file.
    road: Option<String>,
}

fn hash(seed: u64, config: ConductorConfig, monitored: bool, change: Change) -> Fingerprint {
    let road = Arc::new(change.road.map_or_else(Road::demo, |file| Road::from_json(&file, "changed").unwrap()));
    let mut world = Conductor::new(ConductorConfig { seed, ..config }).unwrap();
    for car in demo::cars() {
        let (mut controller, physics) = car.parts(&road).unwrap();
        if car.name == "right-1" {
            let idm = change.idm.unwrap_or(Idm::BRISK).with_desired_speed(car.speed);
            let pursuit = change.pursuit.unwrap_or_default();
            controller = Driver::new(Arc::clone(&road), car.lane)
                .and_then(|driver| driver.with_idm(idm)?.with_pursuit(pursuit))
                .unwrap()
                .following(car.leader.as_ref().unwrap());
        }
        world.add(Actor::new(car.name.as_str()).child("controller", controller).child("physics", physics)).unwrap();
    }
    world.add(Actor::of("log", PoseLogger::new(|_| ()))).unwrap();
    if monitored {
        world.add_monitor(Witness::default());
    }
    world.run_until(SimTime::from_secs(30)).unwrap();
    world.world_hash()
}

fn demo_hash(config: ConductorConfig, monitored: bool) -> String {
    hash(42, config, monitored, Change::default()).to_string()
}

#[test]
fn without_an_app_the_world_has_the_examples_golden_hash() {
    let expected = &golden()["traffic"].world_hash;
    for (threads, typed, monitored) in [(1, true, false), (8, true, true), (1, false, true), (8, false, false)] {
        let config = ConductorConfig { threads, typed, ..ConductorConfig::default() };
        assert_eq!(&demo_hash(config, monitored), expected, "{threads} threads, typed {typed}, monitored {monitored}");
    }
}

#[test]
fn one_constant_of_a_law_or_of_the_road_changed_is_another_hash() {
    let expected = demo_hash(ConductorConfig::default(), false);
    let changed = |change: Change| hash(42, ConductorConfig::default(), false, change).to_string();
    let next = |value: f64| f64::from_bits(value.to_bits() + 1);

    let idm = Idm { acceleration: next(Idm::BRISK.acceleration), ..Idm::BRISK };
    assert_ne!(changed(Change { idm: Some(idm), ..Change::default() }), expected);
    let road = include_str!("../../../assets/roads/demo.json");
    assert_eq!(changed(Change { road: Some(road.to_string()), ..Change::default() }), expected);
    let bent = road.replacen("\"radius_m\": 600,", "\"radius_m\": 600.0000001,", 1);
    assert_ne!(bent, road);
    assert_ne!(changed(Change { road: Some(bent), ..Change::default() }), expected);
    let slower =
        PurePursuit { look_ahead_time: next(PurePursuit::default().look_ahead_time), ..PurePursuit::default() };
    assert_ne!(changed(Change { pursuit: Some(slower), ..Change::default() }), expected);
}

#[test]
fn the_seed_is_part_of_the_hash_though_nobody_draws() {
    assert_ne!(
        hash(43, ConductorConfig::default(), false, Change::default()).to_string(),
        golden()["traffic"].world_hash
    );
}
