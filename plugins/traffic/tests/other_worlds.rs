//! The ring and the merge: a jam out of nothing, and a lane that ends.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, and its helpers with it")]

mod common;

use chaconne_sim_core::{SimDuration, SimTime, math};
use chaconne_traffic::worlds::{self, World};
use common::{Snapshot, Watch, populate, poses_by_car, watch, world};

/// The conflict rule draws from the seed who goes first.
const SEEDS: u64 = 8;

/// Drives a world and returns what was seen of it, every 100 ms.
fn drive(start: &World, seed: u64, until: SimTime) -> Watch {
    let mut world = world(seed, &start.road);
    populate(&mut world, start);
    let (watcher, watch) = watch(&start.road, SimDuration::from_millis(100), true);
    world.add(watcher).unwrap();
    world.run_until(until).unwrap();
    std::mem::take(&mut *watch.lock().unwrap())
}

/// Mean, variance, least and largest of the speeds.
fn speeds(snapshot: &Snapshot) -> [f64; 4] {
    let speeds = || snapshot.iter().map(|(_, pose)| pose.speed);
    let mean = speeds().sum::<f64>() / snapshot.len() as f64;
    let variance = speeds().map(|speed| (speed - mean) * (speed - mean)).sum::<f64>() / snapshot.len() as f64;
    [mean, variance, speeds().fold(f64::INFINITY, math::min), speeds().fold(0.0, math::max)]
}

#[test]
fn on_the_ring_a_small_disturbance_grows_into_a_wave_of_stopping_and_starting() {
    let seen = drive(&worlds::ring(), 0, SimTime::from_secs(240));
    assert!(seen.collisions.is_empty() && seen.least_gap.unwrap().0 > 0.5);
    let at = |second| speeds(seen.kept.range(SimTime::from_secs(second)..).next().unwrap().1);
    let variances = [20, 60, 100, 140].map(|second| at(second)[1]);
    assert!(variances[0] < 1e-3, "{variances:?}");
    for pair in variances.windows(2) {
        assert!(pair[1] > 10.0 * pair[0], "{variances:?}");
    }
    // Then some stand while others drive, and all are slower than on the even ring.
    let [even, .., even_low, even_high] = at(0);
    assert!(even_low > 3.0 && even_high < 4.0);
    for second in (180..240).step_by(10) {
        let [mean, variance, low, high] = at(second);
        assert!(variance > 2.0 && low < 0.1 && high > 5.0 && mean < 0.7 * even, "{:?} at {second} s", at(second));
    }
}

#[test]
fn at_the_merge_everybody_finds_a_gap_and_nobody_collides() {
    let start = worlds::merge();
    let (_, lane, end) = start.obstacles[0];
    for seed in 0..SEEDS {
        let seen = drive(&start, seed, SimTime::from_secs(120));
        assert!(seen.collisions.is_empty(), "seed {seed}: {:?}", seen.collisions);
        for (car, poses) in poses_by_car(&seen) {
            let place = |index: usize| start.road.project(poses[index].ground(), None).unwrap();
            if car != "obstacle" {
                let passed = (0..poses.len()).find(|&index| place(index).s > end);
                let passed = passed.unwrap_or_else(|| panic!("seed {seed}: {car} is still before the end of the lane"));
                let aside = place(passed).lateral - start.road.lane_centre(lane).unwrap();
                assert!(aside.abs() > 1.8, "seed {seed}: {car} passed {aside} m beside the obstacle");
            }
        }
    }
}
