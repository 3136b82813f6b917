//! The demo world: an ego in the centre lane, and cars that join, change lanes and leave.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, and its helpers with it")]

mod common;

use std::{collections::BTreeMap, sync::Arc, sync::Mutex};

use chaconne_conductor::{Actor, Conductor};
use chaconne_sim_core::{Participant, SimDuration, SimTime, StepCtx, StepResult, Subscription};
use chaconne_traffic::{CarParams, LaneChange, LaneControl, Road, Spawner, SpawnerParams};
use common::{Watch, actor, watch, world};

/// Notes every change of lanes that is granted, once.
struct Changes(Arc<Mutex<BTreeMap<(SimTime, String), LaneChange>>>);

impl Participant for Changes {
    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::every("chaconne/*/actor/*/lane_grants")]
    }

    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        for received in ctx.inbox() {
            for change in received.decode::<Vec<LaneChange>>()? {
                self.0.lock().unwrap().insert((change.granted, change.car.clone()), change);
            }
        }
        ctx.after(SimDuration::from_secs(1))
    }
}

struct Demo {
    world: Conductor,
    watch: Arc<Mutex<Watch>>,
    changes: Arc<Mutex<BTreeMap<(SimTime, String), LaneChange>>>,
}

fn demo(seed: u64, period: SimDuration) -> Demo {
    let road = Arc::new(Road::demo());
    let mut world = world(seed, &road);
    let (watcher, watch) = watch(&road, period, false);
    let changes = Arc::default();
    world.add(actor("ego", &CarParams::new(1, 20.0, 30.0), &road).unwrap()).unwrap();
    world.add(Actor::of("lanes", LaneControl::new(Arc::clone(&road)))).unwrap();
    world.add(Actor::of("spawner", Spawner::new(Arc::clone(&road), params()).unwrap())).unwrap();
    world.add(watcher).unwrap();
    world.add(Actor::of("changes", Changes(Arc::clone(&changes)))).unwrap();
    Demo { world, watch, changes }
}

#[test]
#[ignore = "takes a minute in release; run it after every change of a law"]
fn nobody_collides_in_a_hundred_worlds() {
    let seeds: u64 = std::env::var("SEEDS").map_or(100, |text| text.parse().unwrap());
    let (mut changes, mut into_ego, mut cars, mut cars30) = (0, 0, 0, 0);
    let (mut gap, mut ttc) = (None::<(f64, SimTime, String, String)>, None::<(f64, SimTime, String, String)>);
    let mut collisions = Vec::new();
    for seed in 0..seeds {
        let mut demo = demo(seed, SimDuration::from_millis(50));
        demo.world.run_until(SimTime::from_secs(120)).unwrap();
        let seen = demo.watch.lock().unwrap();
        let granted = demo.changes.lock().unwrap();
        changes += granted.len();
        into_ego += granted.values().filter(|change| change.to == 1).count();
        cars += seen.cars.len() - 1;
        cars30 += seen.cars.values().filter(|&&time| time < SimTime::from_secs(30)).count() - 1;
        collisions.extend(seen.collisions.iter().map(|(pair, time)| (seed, *time, pair.clone())));
        let least = |a: &mut Option<(f64, SimTime, String, String)>, b: &Option<(f64, SimTime, String, String)>| {
            if let Some(b) = b && a.as_ref().is_none_or(|a| b.0 < a.0) {
                *a = Some((b.0, b.1, format!("seed {seed} {}", b.2), b.3.clone()));
            }
        };
        least(&mut gap, &seen.least_gap);
        least(&mut ttc, &seen.least_ttc);
        if seed < 5 {
            println!("seed {seed}: {} changes, {:?} {:?}", granted.len(), seen.least_gap, seen.least_ttc);
        }
    }
    println!("{changes} changes, {into_ego} into the ego's lane, {cars} cars, {} in 30 s", cars30 as f64 / seeds as f64);
    println!("least gap {gap:?}\nleast ttc {ttc:?}\ncollisions {collisions:?}");
    assert!(collisions.is_empty());
}
fn params() -> SpawnerParams {
    let mut p = SpawnerParams::default();
    let v: Vec<f64> = std::env::var("P").map_or(vec![], |t| t.split(',').map(|x| x.parse().unwrap()).collect());
    if let [bias, polite, near, far, th, cool, first, a, n] = v[..] {
        let m = p.mobil.as_mut().unwrap();
        m.keep_right_bias = bias;
        m.politeness = polite;
        m.threshold = th;
        p.nearest = near;
        p.farthest = far;
        p.manoeuvre.cool_down = cool;
        p.first_nearest = first; p.idm.acceleration = a; p.idm.deceleration = n;
    }
    p
}
