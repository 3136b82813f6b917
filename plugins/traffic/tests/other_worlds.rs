//! The ring and the merge: a jam out of nothing, and a lane that ends.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, and its helpers with it")]

mod common;

use std::sync::{Arc, Mutex};

use chaconne_conductor::Actor;
use chaconne_sim_core::{SimDuration, SimTime};
use chaconne_traffic::{LaneControl, StandingBody, worlds};
use common::{Snapshot, Watch, actor, watch, world};

/// Drives a world and returns what was seen of it, with a snapshot every half second.
fn drive(scene: &worlds::World, until: SimTime) -> Arc<Mutex<Watch>> {
    let mut world = world(1, &scene.road);
    for (path, car) in &scene.cars {
        world.add(actor(path.as_str(), car, &scene.road).unwrap()).unwrap();
    }
    for (path, lane, s) in &scene.obstacles {
        let body = StandingBody::in_lane(&scene.road, *lane, *s).unwrap();
        world.add(Actor::of(path.as_str(), body)).unwrap();
    }
    world.add(Actor::of("lanes", LaneControl::new(Arc::clone(&scene.road)))).unwrap();
    let (watcher, watch) = watch(&scene.road, SimDuration::from_millis(500), true);
    world.add(watcher).unwrap();
    world.run_until(until).unwrap();
    watch
}

/// Mean and variance of the speeds.
fn speeds(snapshot: &Snapshot) -> (f64, f64, f64, f64) {
    let n = snapshot.len() as f64;
    let mean = snapshot.iter().map(|(_, pose)| pose.speed).sum::<f64>() / n;
    let variance = snapshot.iter().map(|(_, pose)| (pose.speed - mean) * (pose.speed - mean)).sum::<f64>() / n;
    let low = snapshot.iter().map(|(_, pose)| pose.speed).fold(f64::INFINITY, chaconne_sim_core::math::min);
    let high = snapshot.iter().map(|(_, pose)| pose.speed).fold(0.0, chaconne_sim_core::math::max);
    (mean, variance, low, high)
}

#[test]
fn ring() {
    let watch = drive(&worlds::ring(), SimTime::from_secs(400));
    let watch = watch.lock().unwrap();
    for (time, snapshot) in watch.kept.iter().step_by(40) {
        println!("{time} {:?}", speeds(snapshot));
    }
    println!("{:?} {:?}", watch.collisions, watch.least_gap);
}

#[test]
fn merge() {
    let scene = worlds::merge();
    let watch = drive(&scene, SimTime::from_secs(200));
    let watch = watch.lock().unwrap();
    for (time, snapshot) in watch.kept.iter().step_by(8) {
        let v: Vec<String> = snapshot.iter().map(|(name, pose)| { let p = scene.road.project(pose.ground(), None).unwrap(); format!("{}:{:.0}/{:.1}/{:.0}", &name[4..], p.s, p.lateral, pose.speed) }).collect();
        println!("{time} {}", v.join(" "));
    }
    println!("{:?} {:?} {:?}", watch.collisions, watch.least_gap, watch.least_ttc);
}
