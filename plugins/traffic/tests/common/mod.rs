//! What the tests of whole worlds share: a world of cars, and somebody who watches their bodies.

#![allow(dead_code, reason = "no test file uses all of it")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking, and its helpers with it")]

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use chaconne_conductor::{Actor, ActorMaker, Conductor, ConductorConfig};
use chaconne_sim_core::{ActorPath, JoinRequest, SimDuration, SimTime, canon, math::Vec2, membership::NodeRequest};
use chaconne_traffic::{CarParams, Pose, PoseLogger, Road, vehicle::Vehicle};

/// How far a body reaches from its reference point, in metres.
const BACK: f64 = -1.0;
const FRONT: f64 = 4.0;
const HALF_WIDTH: f64 = 0.9;

/// A world on one thread, with a maker of cars on a road.
pub(crate) fn world(seed: u64, road: &Arc<Road>) -> Conductor {
    let mut world = Conductor::new(ConductorConfig { threads: 1, seed, ..ConductorConfig::default() }).unwrap();
    world.set_maker(Cars(Arc::clone(road)));
    world
}

/// Makes cars on a road.
struct Cars(Arc<Road>);

impl ActorMaker for Cars {
    fn make(&mut self, request: &JoinRequest, path: &ActorPath) -> Result<Actor, String> {
        let NodeRequest::Made { factory, params } = &request.node else { return Err("a car is no group".to_owned()) };
        assert_eq!(factory, "traffic/car");
        let car: CarParams = canon::from_slice(params.as_bytes()).map_err(|error| error.to_string())?;
        actor(path.as_str(), &car, &self.0).map_err(|error| error.to_string())
    }
}

/// A car as an actor of two parts.
pub(crate) fn actor(path: &str, car: &CarParams, road: &Arc<Road>) -> Result<Actor, chaconne_traffic::TrafficError> {
    let (controller, physics) = car.parts(road)?;
    Ok(Actor::new(path).child("controller", controller).child("physics", physics))
}

/// The corners of a body, anticlockwise.
fn corners(pose: &Pose) -> [Vec2; 4] {
    let (forward, position) = (pose.direction(), pose.ground());
    [(BACK, -1.0), (FRONT, -1.0), (FRONT, 1.0), (BACK, 1.0)]
        .map(|(x, side)| position + forward * x + forward.perp() * (side * HALF_WIDTH))
}

/// Whether two bodies overlap: no side of either separates them.
pub(crate) fn overlap(a: &Pose, b: &Pose) -> bool {
    let (a, b) = (corners(a), corners(b));
    [(a, b), (b, a)].iter().all(|(of, others)| {
        (0..4).all(|side| {
            let (from, to) = (of[side], of[(side + 1) % 4]);
            others.iter().any(|&corner| (to - from).perp_dot(corner - from) > 0.0)
        })
    })
}

/// One instant: every car's path and pose.
pub(crate) type Snapshot = Vec<(String, Pose)>;

/// What was seen on the road.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// Pairs of bodies that overlapped, with the first time.
    pub(crate) collisions: BTreeMap<(String, String), SimTime>,
    /// The smallest gap between one and the next in its way, in metres, with time and names.
    pub(crate) least_gap: Option<(f64, SimTime, String, String)>,
    /// The smallest time to collision between two in each other's way, in seconds, with time and names.
    pub(crate) least_ttc: Option<(f64, SimTime, String, String)>,
    /// How many cars there were.
    pub(crate) cars: BTreeMap<String, SimTime>,
    /// Poses by time, when they are kept.
    pub(crate) kept: BTreeMap<SimTime, Snapshot>,
    keep: bool,
    now: Option<SimTime>,
    current: Snapshot,
}

impl Watch {
    fn close(&mut self, road: &Road) {
        let Some(now) = self.now else { return };
        let current = std::mem::take(&mut self.current);
        let places: Vec<_> = current.iter().map(|(_, pose)| road.project(pose.ground(), None).unwrap()).collect();
        for (i, (a, pose_a)) in current.iter().enumerate() {
            self.cars.entry(a.clone()).or_insert(now);
            for (j, (b, pose_b)) in current.iter().enumerate().filter(|&(j, _)| j != i) {
                let ahead = road.signed_distance(places[i].s, places[j].s);
                if i < j && ahead.abs() < 20.0 && overlap(pose_a, pose_b) {
                    self.collisions.entry((a.clone(), b.clone())).or_insert(now);
                }
                let (apart, gap) = ((places[i].lateral - places[j].lateral).abs(), ahead - Vehicle::CAR.length);
                // In each other's way: their bodies overlap when seen along the road.
                if ahead > 0.0 && apart < 2.0 * HALF_WIDTH {
                    let closing = pose_a.speed - pose_b.speed;
                    let note = |least: &mut Option<(f64, SimTime, String, String)>, value: f64| {
                        if least.as_ref().is_none_or(|(old, ..)| value < *old) {
                            *least = Some((value, now, a.clone(), b.clone()));
                        }
                    };
                    note(&mut self.least_gap, gap);
                    if closing > 0.1 {
                        note(&mut self.least_ttc, gap / closing);
                    }
                }
            }
        }
        if self.keep {
            self.kept.insert(now, current);
        }
    }
}

/// Somebody who looks at all bodies once per period, as an actor, and what was seen.
pub(crate) fn watch(road: &Arc<Road>, period: SimDuration, keep: bool) -> (Actor, Arc<Mutex<Watch>>) {
    let watch = Arc::new(Mutex::new(Watch { keep, ..Watch::default() }));
    let (road, noted) = (Arc::clone(road), Arc::clone(&watch));
    let logger = PoseLogger::new(move |sample| {
        let mut watch = noted.lock().unwrap();
        if watch.now != Some(sample.sampled) {
            watch.close(&road);
            watch.now = Some(sample.sampled);
        }
        watch.current.push((sample.car.to_owned(), *sample.pose));
    });
    (Actor::of("watch", logger.every(period)), watch)
}
