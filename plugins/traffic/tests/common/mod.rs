//! What the tests of whole worlds share: a world of cars, and somebody who watches their bodies.

#![allow(dead_code, reason = "no test file uses all of it")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking, and its helpers with it")]

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use chaconne_conductor::{Actor, ActorMaker, Conductor, ConductorConfig};
use chaconne_sim_core::{
    ActorPath, JoinRequest, Participant, SimDuration, SimTime, StepCtx, StepResult, Subscription, canon, math::Vec2,
    membership::NodeRequest,
};
use chaconne_traffic::{
    CarParams, LaneChange, LaneControl, LaneRequest, Pose, PoseLogger, Road, StandingBody, vehicle::Vehicle,
    worlds::World,
};

/// How far a body reaches from its reference point, in metres.
const BACK: f64 = -1.0;
const FRONT: f64 = 4.0;
const HALF_WIDTH: f64 = 0.9;

/// A world on one thread, with a maker of cars on a road.
pub(crate) fn world(seed: u64, road: &Arc<Road>) -> Conductor {
    world_with(ConductorConfig { threads: 1, seed, ..ConductorConfig::default() }, road)
}

/// As [`world`], with other settings.
pub(crate) fn world_with(config: ConductorConfig, road: &Arc<Road>) -> Conductor {
    let mut world = Conductor::new(config).unwrap();
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

/// Adds the cars of a world, what stands in their way, and the control of their lanes.
pub(crate) fn populate(world: &mut Conductor, start: &World) {
    for (path, car) in &start.cars {
        world.add(actor(path.as_str(), car, &start.road).unwrap()).unwrap();
    }
    for (path, lane, s) in &start.obstacles {
        let body = StandingBody::in_lane(&start.road, *lane, *s).unwrap();
        world.add(Actor::of(path.as_str(), body)).unwrap();
    }
    world.add(Actor::of("lanes", LaneControl::new(Arc::clone(&start.road)))).unwrap();
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

/// A gap in metres or a time in seconds, when it was seen, and the follower and the leader.
pub(crate) type Closest = (f64, SimTime, String, String);

/// The least of several, with its seed.
#[derive(Debug, Default)]
pub(crate) struct Least(pub(crate) Option<Closest>, pub(crate) u64);

impl Least {
    pub(crate) fn note(&mut self, closest: &Option<Closest>, seed: u64) {
        if let Some(closest) = closest
            && self.0.as_ref().is_none_or(|least| closest.0 < least.0)
        {
            *self = Self(Some(closest.clone()), seed);
        }
    }
}

/// What was seen on the road.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// Pairs of bodies that overlapped, with the first time.
    pub(crate) collisions: BTreeMap<(String, String), SimTime>,
    /// The smallest gap between one and the next in its way, in metres, with time and names.
    pub(crate) least_gap: Option<Closest>,
    /// The smallest time to collision between two in each other's way, in seconds, with time and names.
    pub(crate) least_ttc: Option<Closest>,
    /// How many cars there were.
    pub(crate) cars: BTreeMap<String, SimTime>,
    /// Poses by time, when they are kept.
    pub(crate) kept: BTreeMap<SimTime, Snapshot>,
    /// The hardest braking, in m/s², with time and name.
    pub(crate) hardest: Option<Closest>,
    speeds: BTreeMap<String, (SimTime, f64)>,
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
            if let Some((then, speed)) = self.speeds.insert(a.clone(), (now, pose_a.speed)) {
                let acceleration = (pose_a.speed - speed) / now.since(then).unwrap().as_secs_f64();
                if self.hardest.as_ref().is_none_or(|hardest| acceleration < hardest.0) {
                    self.hardest = Some((acceleration, now, a.clone(), String::new()));
                }
            }
            for (j, (b, pose_b)) in current.iter().enumerate().filter(|&(j, _)| j != i) {
                let ahead = road.signed_distance(places[i].s, places[j].s);
                if i < j && ahead.abs() < 20.0 && overlap(pose_a, pose_b) {
                    self.collisions.entry((a.clone(), b.clone())).or_insert(now);
                }
                let (apart, gap) = ((places[i].lateral - places[j].lateral).abs(), ahead - Vehicle::CAR.length);
                // In each other's way: their bodies overlap when seen along the road.
                if ahead > 0.0 && apart < 2.0 * HALF_WIDTH {
                    let closing = pose_a.speed - pose_b.speed;
                    let note = |least: &mut Option<Closest>, value: f64| {
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

/// Poses by car, in order of time, of those who kept them.
pub(crate) fn poses_by_car(watch: &Watch) -> BTreeMap<String, Vec<Pose>> {
    let mut poses = BTreeMap::<String, Vec<Pose>>::new();
    for (car, pose) in watch.kept.values().flatten() {
        poses.entry(car.clone()).or_default().push(*pose);
    }
    poses
}

/// Every pose of one world is the other's, mirrored in the X axis.
pub(crate) fn assert_mirrored(left: &BTreeMap<String, Vec<Pose>>, right: &BTreeMap<String, Vec<Pose>>) {
    assert!(!left.is_empty() && left.keys().eq(right.keys()));
    for (car, left) in left {
        assert_eq!(left.len(), right[car].len(), "{car}");
        for (index, (a, b)) in left.iter().zip(&right[car]).enumerate() {
            let a = [a.position.x, -a.position.y, a.orientation.w, -a.orientation.z, a.speed];
            let b = [b.position.x, b.position.y, b.orientation.w, b.orientation.z, b.speed];
            // Equal numbers have equal bits, but for zeros: on the axis of the mirror their sign means nothing.
            assert_eq!(a, b, "{car}, pose {index}");
        }
    }
}

/// The demo road, or with `mirrored` its mirror image across the X axis.
pub(crate) fn demo_road(mirrored: bool) -> Arc<Road> {
    let text = include_str!("../../../../assets/roads/demo.json");
    let mut file: serde_json::Value = serde_json::from_str(text).unwrap();
    if mirrored {
        for segment in file["segments"].as_array_mut().unwrap() {
            if let Some(turn) = segment.pointer_mut("/arc/turn_deg") {
                *turn = serde_json::json!(-turn.as_f64().unwrap());
            }
        }
    }
    Arc::new(Road::from_json(&file.to_string(), "demo.json").unwrap())
}

/// A change of lanes that was granted, and how far ahead of the ego the car was.
#[derive(Clone, Debug)]
pub(crate) struct Granted {
    pub(crate) car: String,
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) at: SimTime,
    pub(crate) ahead: f64,
}

/// What was asked for, and what was granted.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) requests: Vec<(SimTime, String, LaneRequest)>,
    pub(crate) granted: Vec<Granted>,
}

/// Notes every request and every grant.
struct Observer(Arc<Mutex<Changes>>, Arc<Road>);

const POSES: &str = "chaconne/*/actor/*/pose";

impl Observer {
    fn s(&self, ctx: &StepCtx<'_>, car: &str) -> Option<f64> {
        let poses = ctx.latest_all::<Pose>(POSES).unwrap();
        let pose = poses.iter().find(|(key, _)| key.actor() == Some(car)).map(|(_, pose)| pose.value)?;
        Some(self.1.project(pose.ground(), None).unwrap().s)
    }
}

impl Participant for Observer {
    fn subscriptions(&self) -> Vec<Subscription> {
        vec![
            Subscription::every("chaconne/*/actor/*/lane_request"),
            Subscription::every("chaconne/*/actor/*/lane_grants"),
            Subscription::latest(POSES),
        ]
    }

    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        let mut changes = self.0.lock().unwrap();
        for received in ctx.inbox() {
            if received.key().signal() == Some("lane_request") {
                changes.requests.push((received.time(), received.publisher().to_string(), received.decode()?));
                continue;
            }
            for LaneChange { car, from, to, granted } in received.decode::<Vec<LaneChange>>()? {
                if granted == received.time() {
                    let places = self.s(ctx, &car).zip(self.s(ctx, "ego"));
                    let ahead = places.map_or(f64::NAN, |(car, ego)| self.1.signed_distance(ego, car));
                    changes.granted.push(Granted { car, from, to, at: granted, ahead });
                }
            }
        }
        drop(changes);
        ctx.after(SimDuration::from_millis(100))
    }
}

/// Somebody who notes what happens on a road, as an actor, and what was noted.
pub(crate) fn changes(road: &Arc<Road>) -> (Actor, Arc<Mutex<Changes>>) {
    let changes = Arc::default();
    (Actor::of("observer", Observer(Arc::clone(&changes), Arc::clone(road))), changes)
}
