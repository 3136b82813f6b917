//! The demo world: an ego in the centre lane, and cars around it that join, change lanes and leave.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, and its helpers with it")]

mod common;

use std::sync::{Arc, Mutex};

use chaconne_conductor::{Actor, Conductor, ConductorConfig};
use chaconne_sim_core::{SimDuration, SimTime, math};
use chaconne_traffic::{LaneControl, Road, Spawner, SpawnerParams, demo};
use common::{Changes, Least, Watch, actor, changes, demo_road, poses_by_car, watch, world, world_with};

struct Demo {
    world: Conductor,
    watch: Arc<Mutex<Watch>>,
    changes: Arc<Mutex<Changes>>,
}

/// Adds the demo world's actors.
fn populate(world: &mut Conductor, road: &Arc<Road>, spawner: SpawnerParams) {
    world.add(actor("ego", &demo::ego(), road).unwrap()).unwrap();
    world.add(Actor::of("lanes", LaneControl::new(Arc::clone(road)))).unwrap();
    world.add(Actor::of("spawner", Spawner::new(Arc::clone(road), spawner).unwrap())).unwrap();
}

/// The demo world with two who look on; with `keep`, every pose that one of them sees is kept.
fn demo(seed: u64, road: &Arc<Road>, spawner: SpawnerParams, keep: bool) -> Demo {
    let mut world = world(seed, road);
    populate(&mut world, road, spawner);
    let (watcher, watch) = watch(road, SimDuration::from_millis(if keep { 500 } else { 50 }), keep);
    let (observer, changes) = changes(road);
    world.add(watcher).unwrap();
    world.add(observer).unwrap();
    Demo { world, watch, changes }
}

/// A hundred worlds of two minutes in release; twenty in debug, which takes as long.
#[test]
fn nobody_collides_while_cars_change_lanes_around_the_ego() {
    let seeds: u64 = if cfg!(debug_assertions) { 20 } else { 100 };
    let road = Arc::new(Road::demo());
    let (mut granted, mut refused, mut before_ego, mut out, mut cars, mut early) = (0, 0, 0, 0, 0, 0);
    let (mut gap, mut ttc, mut braking) = (Least::default(), Least::default(), Least::default());
    for seed in 0..seeds {
        let mut demo = demo(seed, &road, SpawnerParams::default(), false);
        demo.world.run_until(SimTime::from_secs(120)).unwrap();
        let (seen, changes) = (demo.watch.lock().unwrap(), demo.changes.lock().unwrap());
        assert!(seen.collisions.is_empty(), "seed {seed}: {:?}", seen.collisions);
        assert!(changes.granted.iter().all(|change| change.from.abs_diff(change.to) == 1));
        granted += changes.granted.len();
        refused += changes.requests.len() - changes.granted.len();
        before_ego += changes.granted.iter().filter(|change| change.to == 1 && change.ahead > 0.0).count();
        out += changes.granted.iter().filter(|change| change.from == 1).count();
        cars += seen.cars.len() - 1;
        early += seen.cars.values().filter(|&&time| time < SimTime::from_secs(30)).count() - 1;
        gap.note(&seen.least_gap, seed);
        ttc.note(&seen.least_ttc, seed);
        braking.note(&seen.hardest, seed);
    }
    let early = early as f64 / seeds as f64;
    println!(
        "{granted} changes: {before_ego} into the ego's lane before it, {out} out of it; {refused} lapsed requests"
    );
    println!("{cars} cars, {early} in 30 s; least gap {gap:?}; least time to collision {ttc:?}");
    println!("hardest braking {braking:?}");
    // Others take the ego to drive by their parameters when they ask nobody to brake harder than 4 m/s²; its own are brisker
    // by 2 to 1.5, which allows for 5.3 m/s².
    assert!(braking.0.unwrap().0 > -5.4);
    assert!(granted as u64 >= 5 * seeds && before_ego > 0 && out > 0);
    assert!((11.0..16.0).contains(&early), "{early} cars in 30 s");
    // Far above what a failure of a law would leave.
    assert!(gap.0.unwrap().0 > 5.0 && ttc.0.unwrap().0 > 3.0);
}

#[test]
fn there_are_six_cars_at_a_time_and_none_is_left_behind() {
    let road = Arc::new(Road::demo());
    let mut demo = demo(7, &road, SpawnerParams::default(), true);
    demo.world.run_until(SimTime::from_secs(60)).unwrap();
    let seen = demo.watch.lock().unwrap();
    for (time, snapshot) in seen.kept.range(SimTime::from_secs(1)..) {
        assert!((4..=7).contains(&snapshot.len()), "{} actors at {time}", snapshot.len());
        let place = |pose: &chaconne_traffic::Pose| road.project(pose.ground(), None).unwrap().s;
        let ego = snapshot.iter().find(|(car, _)| car == "ego").map(|(_, pose)| place(pose)).unwrap();
        for (car, pose) in snapshot {
            let ahead = road.signed_distance(ego, place(pose));
            assert!(ahead > -75.0, "{car} is {ahead} m ahead at {time}");
        }
    }
    // No path is used twice, and the spawner counts.
    let mut numbers: Vec<usize> = seen.cars.keys().filter_map(|car| car.strip_prefix("car-")?.parse().ok()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=numbers.len()).collect::<Vec<_>>());
}

#[test]
fn the_ego_holds_its_lane_and_slows_down_for_those_who_enter_it() {
    let road = Arc::new(Road::demo());
    let mut slowest = f64::INFINITY;
    for seed in 0..4 {
        let mut demo = demo(seed, &road, SpawnerParams::default(), true);
        demo.world.run_until(SimTime::from_secs(90)).unwrap();
        for pose in &poses_by_car(&demo.watch.lock().unwrap())["ego"] {
            let off = road.project(pose.ground(), None).unwrap().lateral;
            assert!(off.abs() < 0.2, "the ego is {off} m off");
            assert!(pose.speed > 10.0 && pose.speed < 30.1, "the ego drives {} m/s", pose.speed);
            slowest = math::min(slowest, pose.speed);
        }
    }
    assert!(slowest < 25.0, "{slowest} m/s");
}

#[test]
fn one_seed_is_one_world_whatever_the_threads_and_the_hand_over_and_another_seed_another() {
    let road = Arc::new(Road::demo());
    let hash = |seed, threads, typed| {
        let config = ConductorConfig { seed, threads, typed, ..ConductorConfig::default() };
        let mut world = world_with(config, &road);
        populate(&mut world, &road, SpawnerParams::default());
        world.run_until(SimTime::from_secs(20)).unwrap();
        world.world_hash()
    };
    let first = hash(3, 1, true);
    assert_eq!([hash(3, 1, true), hash(3, 1, false), hash(3, 3, true)], [first; 3]);
    assert_ne!(first, hash(4, 1, true));
}

#[test]
fn a_mirrored_demo_world_stays_mirrored_to_the_bit() {
    let drive = |mirrored: bool| {
        let lanes = if mirrored { vec![2, 0] } else { vec![0, 2] };
        let mut demo = demo(5, &demo_road(mirrored), SpawnerParams { lanes, ..SpawnerParams::default() }, true);
        demo.world.run_until(SimTime::from_secs(60)).unwrap();
        let changes = demo.changes.lock().unwrap().granted.clone();
        (poses_by_car(&demo.watch.lock().unwrap()), changes)
    };
    let ((left, changes), (right, mirrored)) = (drive(false), drive(true));
    assert!(changes.len() > 5, "{} changes", changes.len());
    for (change, mirrored) in changes.iter().zip(&mirrored) {
        assert_eq!((2 - change.from, 2 - change.to, change.ahead), (mirrored.from, mirrored.to, mirrored.ahead));
    }
    common::assert_mirrored(&left, &right);
}
