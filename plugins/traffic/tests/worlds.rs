//! The participants in worlds of their own: single bodies, two cars, the demo world.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, and its helpers with it")]

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use chaconne_conductor::{Actor, Conductor, ConductorConfig};
use chaconne_sim_core::{
    ActorPath, Fingerprint, Participant, SimDuration, SimTime, StepCtx, StepResult, Subscription, math,
};
use chaconne_traffic::{
    Acceleration, Driver, Pose, PoseLogger, Road, Steering, TrafficError, Unicycle, VehiclePhysics,
    demo::{self, CarSpec},
    law::{Idm, PurePursuit},
    vehicle::{Vehicle, VehicleState},
};

/// A world of these actors, stepped on one thread.
fn world(actors: impl IntoIterator<Item = Actor>, typed: bool) -> Conductor {
    let mut conductor = Conductor::new(ConductorConfig { threads: 1, typed, ..ConductorConfig::default() }).unwrap();
    for actor in actors {
        conductor.add(actor).unwrap();
    }
    conductor
}

/// The end of a run that halts.
fn halt(actor: Actor) -> String {
    world([actor], true).run_until(SimTime::from_secs(1)).unwrap_err().to_string()
}

/// Poses by car, in order of time.
type Log = Arc<Mutex<BTreeMap<String, Vec<(SimTime, Pose)>>>>;

/// A logger with a period, as an actor, and what it logs.
fn logger(period: SimDuration) -> (Actor, Log) {
    let log = Log::default();
    let kept = Arc::clone(&log);
    let logger = PoseLogger::new(move |sample| {
        kept.lock().unwrap().entry(sample.car.to_owned()).or_default().push((sample.published, *sample.pose));
    });
    (Actor::of("log", logger.every(period)), log)
}

/// Publishes one value of each command at one time.
struct Once {
    at: SimTime,
    steering: f64,
    acceleration: f64,
}

impl Participant for Once {
    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        if ctx.now() < self.at {
            return Ok(self.at);
        }
        ctx.publish("steering", &Steering(self.steering))?;
        ctx.publish("acceleration", &Acceleration(self.acceleration))?;
        Ok(ctx.never())
    }
}

/// A car as an actor of two parts.
fn car(spec: &CarSpec, road: &Arc<Road>) -> Actor {
    let (controller, physics) = spec.parts(road).unwrap();
    Actor::new(spec.name.as_str()).child("controller", controller).child("physics", physics)
}

/// The world of `cars` on `road` with a logger, run until `end`: its hash and the log.
fn drive(cars: &[CarSpec], road: &Arc<Road>, end: SimTime, typed: bool) -> (Fingerprint, Log) {
    let (logger, log) = logger(SimDuration::from_secs(1));
    let mut world = world(cars.iter().map(|spec| car(spec, road)).chain([logger]), typed);
    world.run_until(end).unwrap();
    (world.world_hash(), log)
}

fn path(name: &str) -> ActorPath {
    ActorPath::new(name).unwrap()
}

#[test]
fn a_body_publishes_its_first_pose_at_once_and_rolls_straight_on_without_commands() {
    let (logger, log) = logger(SimDuration::from_secs(1));
    let ego = Actor::of("ego", Unicycle::new(1.0, 2.0, 30.0));
    world([ego, logger], true).run_until(SimTime::from_secs(3)).unwrap();
    let log = log.lock().unwrap();
    for (second, (time, pose)) in log["ego"].iter().enumerate() {
        assert_eq!(*time, SimTime::from_secs(second as i32));
        assert!((pose.position.x - 1.0 - 30.0 * second as f64).abs() < 1e-11);
        assert_eq!((pose.position.y, pose.heading(), pose.speed), (2.0, 0.0, 30.0));
    }
    assert_eq!(log["ego"].len(), 3);
}

#[test]
fn a_command_acts_from_the_instant_it_comes_and_is_held() {
    let once = Once { at: SimTime::from_millis(100), steering: 0.5, acceleration: 0.5 };
    let (logger, log) = logger(SimDuration::from_millis(10));
    let ego = Actor::new("ego").child("script", once).child("physics", Unicycle::new(0.0, 0.0, 10.0));
    world([ego, logger], true).run_until(SimTime::from_secs(1)).unwrap();
    for (time, pose) in &log.lock().unwrap()["ego"] {
        let held = math::max(0.0, time.as_nanos() as f64 * 1e-9 - 0.1);
        // Half of 0.5 rad/s and of 3 m/s², from the tenth of a second on.
        assert!((pose.heading() - 0.25 * held).abs() < 1e-12, "{time}");
        assert!((pose.speed - 10.0 - 1.5 * held).abs() < 1e-12, "{time}");
    }
}

#[test]
fn the_demo_cars_keep_their_lanes_and_gaps_while_the_ego_overtakes_all() {
    let road = Arc::new(Road::demo());
    let cars = demo::cars();
    let (_, log) = drive(&cars, &road, SimTime::from_secs(60), true);
    let log = log.lock().unwrap();
    let place = |car: &ActorPath, second: usize| {
        let (time, pose) = log[car.as_str()][second];
        assert_eq!(time, SimTime::from_secs(second as i32));
        (road.project(pose.ground(), None).unwrap(), pose.speed)
    };
    for second in 0..60 {
        for car in &cars {
            let (own, speed) = place(&car.name, second);
            let off = own.lateral - road.lane_centre(car.lane).unwrap();
            assert!(off.abs() < 0.2, "{} is {off} m off its lane's centre at {second} s", car.name);
            assert!(speed > 15.0 && speed < car.speed + 1e-9, "{} drives {speed} m/s at {second} s", car.name);
            if let Some(leader) = &car.leader {
                let gap = road.distance_ahead(own.s, place(leader, second).0.s) - Vehicle::CAR.length;
                assert!(gap > 20.0 && gap < 200.0, "{} is {gap} m behind {leader} at {second} s", car.name);
            }
        }
    }
    let ego = place(&cars[0].name, 30).0.s;
    for car in &cars[1..] {
        assert!(road.distance_ahead(place(&car.name, 30).0.s, ego) < 1000.0, "{} is still ahead", car.name);
    }
    // Followers are held up: at the end they drive as fast as their leaders, below what they would like to.
    assert!(place(&path("right-1"), 59).1 < 17.5 && place(&path("left-1"), 59).1 < 20.0);
}

#[test]
fn the_demo_world_has_one_hash_whatever_the_hand_over_and_another_with_another_constant() {
    let road = Arc::new(Road::demo());
    let hash = |cars: &[CarSpec], typed| drive(cars, &road, SimTime::from_secs(3), typed).0;
    let mut cars = demo::cars();
    let first = hash(&cars, true);
    assert_eq!(first, hash(&cars, true));
    assert_eq!(first, hash(&cars, false));
    cars[3].speed += 1e-9;
    assert_ne!(first, hash(&cars, true));
}

/// The demo road, or with `turns` the other way around its mirror image across the X axis.
fn demo_road(mirrored: bool) -> Arc<Road> {
    let text = include_str!("../../../assets/roads/demo.json");
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

#[test]
fn a_mirrored_demo_world_stays_mirrored_to_the_bit() {
    let mut cars = demo::cars();
    let (_, left) = drive(&cars, &demo_road(false), SimTime::from_secs(40), true);
    for car in &mut cars {
        car.lane = 2 - car.lane;
    }
    let (_, right) = drive(&cars, &demo_road(true), SimTime::from_secs(40), true);
    let (left, right) = (left.lock().unwrap(), right.lock().unwrap());
    for (car, left) in left.iter() {
        for ((time, a), (_, b)) in left.iter().zip(&right[car]) {
            let a = [a.position.x, -a.position.y, a.orientation.w, -a.orientation.z, a.speed];
            let b = [b.position.x, b.position.y, b.orientation.w, b.orientation.z, b.speed];
            // Equal numbers have equal bits, but for zeros: on the axis of the mirror their sign means nothing.
            assert_eq!(a, b, "{car} at {time}");
        }
    }
}

/// A follower in the centre lane of the demo road, at a gap and a speed behind a car that keeps its own speed: how it
/// ends, as (gap, speed).
fn follow(leader_speed: f64, gap: f64, speed: f64, end: SimTime) -> (f64, f64) {
    let road = Arc::new(Road::demo());
    let spec = |name, s, speed, leader| CarSpec { name: path(name), lane: 1, s, speed, leader };
    let front = 100.0 + gap + Vehicle::CAR.length;
    let leader = if leader_speed > 0.0 {
        car(&spec("leader", front, leader_speed, None), &road)
    } else {
        let (position, heading) = road.pose_at(front, 0.0);
        Actor::of("leader", VehiclePhysics::new(Vehicle::CAR, VehicleState { position, heading, speed: 0.0 }))
    };
    let follower = car(&spec("follower", 100.0, speed, Some(path("leader"))), &road);
    let (logger, log) = logger(SimDuration::from_millis(500));
    world([leader, follower, logger], true).run_until(end).unwrap();

    let log = log.lock().unwrap();
    let s = |car: &str, at: usize| road.project(log[car][at].1.ground(), None).unwrap().s;
    let gaps: Vec<f64> = (0..log["leader"].len())
        .map(|at| road.distance_ahead(s("follower", at), s("leader", at)) - Vehicle::CAR.length)
        .collect();
    assert!(gaps.iter().all(|&gap| gap > 1.5 && gap < 1e3), "a crash: {gaps:?}");
    (gaps[gaps.len() - 1], log["follower"][gaps.len() - 1].1.speed)
}

#[test]
fn a_follower_settles_at_the_equilibrium_gap() {
    let (gap, speed) = follow(15.0, 80.0, 25.0, SimTime::from_secs(200));
    let expected = Idm::BRISK.with_desired_speed(25.0).equilibrium_gap(15.0).unwrap();
    // The leader's pose is 10 ms old when it is seen.
    assert!((gap - expected).abs() < 0.3, "{gap} m instead of {expected} m");
    assert!((speed - 15.0).abs() < 0.01, "{speed} m/s");
}

#[test]
fn a_follower_stops_behind_a_standing_car() {
    let (gap, speed) = follow(0.0, 120.0, 25.0, SimTime::from_secs(60));
    assert!((gap - Idm::BRISK.standstill_gap).abs() < 0.5, "{gap} m");
    assert!(speed < 0.05, "{speed} m/s");
}

#[test]
fn a_driver_without_a_pose_publishes_nothing_and_without_its_leader_drives_freely() {
    let road = Arc::new(Road::demo());
    let alone = CarSpec { name: path("ego"), lane: 1, s: 0.0, speed: 20.0, leader: Some(path("ghost")) };
    let (_, log) = drive(&[alone], &road, SimTime::from_secs(20), true);
    assert!(log.lock().unwrap()["ego"].iter().all(|(_, pose)| (pose.speed - 20.0).abs() < 1e-9));

    let mut world = world([Actor::new("ego").child("controller", Driver::new(road, 1).unwrap())], true);
    world.run_until(SimTime::from_secs(1)).unwrap();
    assert_eq!((world.steps(), world.signals()), (10, 0));
}

#[test]
fn parameters_out_of_range_are_refused_where_they_are_given() {
    let road = Arc::new(Road::demo());
    let driver = || Driver::new(Arc::clone(&road), 0).unwrap();
    assert!(matches!(Driver::new(Arc::clone(&road), 3), Err(TrafficError::NoSuchLane { lane: 3, count: 3, .. })));
    assert!(driver().with_idm(Idm { time_gap: -1.0, ..Idm::BRISK }).is_err());
    assert!(driver().with_pursuit(PurePursuit { look_ahead_time: f64::NAN, ..PurePursuit::default() }).is_err());
    assert!(driver().with_vehicle(Vehicle { length: 0.0, ..Vehicle::CAR }).is_err());
    assert!(CarSpec { speed: f64::INFINITY, ..demo::cars().remove(0) }.parts(&road).is_err());
}

#[test]
fn a_body_that_is_not_finite_halts_the_run_with_its_key() {
    let error = halt(Actor::of("ego", Unicycle::new(f64::NAN, 0.0, 10.0)));
    assert!(error.contains("cannot publish `chaconne/world/actor/ego/pose`"), "{error}");
}

#[test]
fn a_car_beyond_any_road_halts_the_run_with_its_position() {
    let driver = Driver::new(Arc::new(Road::demo()), 1).unwrap();
    let error = halt(Actor::new("ego").child("controller", driver).child("physics", Unicycle::new(1e300, 0.0, 10.0)));
    assert!(error.contains("too far away to be projected onto road `demo`"), "{error}");
}

/// Notes when it is stepped.
struct Notes(PoseLogger, Arc<Mutex<Vec<i64>>>);

impl Participant for Notes {
    fn subscriptions(&self) -> Vec<Subscription> {
        self.0.subscriptions()
    }

    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        self.1.lock().unwrap().push(ctx.now().as_nanos());
        self.0.step(ctx)
    }
}

#[test]
fn the_logger_samples_one_nanosecond_after_each_boundary() {
    let times = Arc::default();
    let logger = PoseLogger::new(|_| ()).every(SimDuration::from_millis(400));
    let mut world = world([Actor::of("log", Notes(logger, Arc::clone(&times)))], true);
    world.run_until(SimTime::from_secs(1)).unwrap();
    assert_eq!(*times.lock().unwrap(), [0, 1, 400_000_001, 800_000_001]);
}

#[test]
fn a_logger_without_a_period_halts_with_a_remedy() {
    let error = halt(Actor::of("log", PoseLogger::new(|_| ()).every(SimDuration::ZERO)));
    assert!(error.contains("the pose logger's period is 0.0 s; choose at least 1 ns"), "{error}");
}
