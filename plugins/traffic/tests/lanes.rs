//! Changing lanes: what drivers do, and who may when several want to.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, and its helpers with it")]

mod common;

use std::sync::Arc;

use chaconne_conductor::Actor;
use chaconne_sim_core::{Participant, SimDuration, SimTime, StepCtx, StepResult, math::Vec2};
use chaconne_traffic::{
    CarParams, LaneChange, LaneControl, LaneDriver, Manoeuvre, Road, VehiclePhysics,
    law::{Idm, Mobil},
    vehicle::{Vehicle, VehicleState},
};
use common::{Changes, Watch, actor, assert_mirrored, changes, demo_road, poses_by_car, watch, world};

const SYMMETRIC: Mobil = Mobil { safe_braking: 4.0, politeness: 0.3, threshold: 0.1, keep_right_bias: 0.0 };

/// A straight road of three lanes.
fn straight() -> Arc<Road> {
    let text = r#"{ "name": "straight", "closed": false, "start": { "x_m": 0, "y_m": 0, "heading_deg": 0 },
        "lanes": [{ "width_m": 3.5 }, { "width_m": 3.5 }, { "width_m": 3.5 }],
        "segments": [{ "straight": { "length_m": 5000 } }] }"#;
    Arc::new(Road::from_json(text, "straight.json").unwrap())
}

/// A car that would like to drive 28 m/s and changes lanes without a preference for a side.
fn eager(lane: usize, s: f64, speed: f64) -> CarParams {
    CarParams { desired_speed: Some(28.0), mobil: Some(SYMMETRIC), ..CarParams::new(lane, s, speed) }
}

/// Drives cars, with a control or without; what was seen every half second, and what was asked for and granted.
fn drive(road: &Arc<Road>, cars: Vec<Actor>, control: bool, seed: u64, until: SimTime) -> (Watch, Changes) {
    let mut world = world(seed, road);
    for car in cars {
        world.add(car).unwrap();
    }
    if control {
        world.add(Actor::of("lanes", LaneControl::new(Arc::clone(road)))).unwrap();
    }
    let (watcher, seen) = watch(road, SimDuration::from_millis(100), true);
    let (observer, noted) = changes(road);
    world.add(watcher).unwrap();
    world.add(observer).unwrap();
    world.run_until(until).unwrap();
    (std::mem::take(&mut *seen.lock().unwrap()), std::mem::take(&mut *noted.lock().unwrap()))
}

/// Two eager cars side by side, in the outer lanes behind slow ones: both want the middle lane at the same instant.
fn rivals(road: &Arc<Road>, [first, second]: [&str; 2], mirrored: bool) -> Vec<Actor> {
    let lane = |lane| if mirrored { 2 - lane } else { lane };
    let car = |name, car| actor(name, &car, road).unwrap();
    vec![
        car(first, eager(lane(0), 50.0, 22.0)),
        car(second, eager(lane(2), 50.0, 22.0)),
        car("slow-0", CarParams::new(lane(0), 120.0, 17.0)),
        car("slow-2", CarParams::new(lane(2), 120.0, 17.0)),
    ]
}

#[test]
fn a_car_overtakes_by_the_next_lane_in_four_seconds() {
    let road = straight();
    let cars = || {
        vec![
            actor("fast", &eager(0, 0.0, 25.0), &road).unwrap(),
            actor("slow", &CarParams::new(0, 120.0, 15.0), &road).unwrap(),
        ]
    };
    let (seen, changes) = drive(&road, cars(), true, 0, SimTime::from_secs(40));
    assert!(seen.collisions.is_empty());
    let begun = changes.granted[0].at;
    assert_eq!((changes.granted[0].car.as_str(), changes.granted[0].from, changes.granted[0].to), ("fast", 0, 1));
    let lateral = |millis| {
        let at = begun.checked_add(SimDuration::from_millis(millis)).unwrap();
        let snapshot = seen.kept.range(at..).next().unwrap().1;
        snapshot.iter().find(|(car, _)| car == "fast").unwrap().1.position.y
    };
    assert!((lateral(0) + 3.5).abs() < 0.01 && (lateral(2_200) + 1.75).abs() < 0.3 && lateral(4_500).abs() < 0.15);
    // It never leaves the two lanes, and drives on as fast as it likes.
    let poses = &poses_by_car(&seen)["fast"];
    assert!(poses.iter().all(|pose| pose.position.y > -3.7 && pose.position.y < 0.2));
    assert!(poses.last().unwrap().speed > 27.0);
}

#[test]
fn nothing_changes_without_a_grant_and_the_wish_is_uttered_at_every_step() {
    let road = straight();
    let cars = vec![
        actor("fast", &eager(0, 0.0, 25.0), &road).unwrap(),
        actor("slow", &CarParams::new(0, 120.0, 15.0), &road).unwrap(),
    ];
    let (seen, changes) = drive(&road, cars, false, 0, SimTime::from_secs(40));
    assert!(changes.requests.len() > 100 && changes.granted.is_empty() && seen.collisions.is_empty());
    let poses = &poses_by_car(&seen)["fast"];
    assert!(poses.iter().all(|pose| pose.position.y == -3.5) && poses.last().unwrap().speed < 15.5);
    let (first, second) = (&changes.requests[0], &changes.requests[1]);
    assert_eq!((first.1.as_str(), first.2.from, first.2.to), ("fast/controller", 0, 1));
    assert_eq!(second.0.since(first.0).unwrap(), SimDuration::from_millis(100));
    assert!(first.2.incentive > 0.1 && first.2.s > 0.0);
}

#[test]
fn of_two_who_want_one_gap_one_goes_first_and_each_is_as_likely_whatever_its_path() {
    let road = straight();
    for names in [["a", "b"], ["b", "a"]] {
        let mut wins = 0;
        for seed in 0..64 {
            let (seen, changes) = drive(&road, rivals(&road, names, false), true, seed, SimTime::from_secs(12));
            assert!(seen.collisions.is_empty());
            let (first, second) = (&changes.requests[0], &changes.requests[1]);
            assert_eq!((first.0, first.2.incentive), (second.0, second.2.incentive), "both ask at the same instant");
            // The grant comes 1 ns later, for one of them; the other has to wait until the change is made.
            let granted: Vec<_> = changes.granted.iter().filter(|granted| granted.to == 1).collect();
            assert_eq!(granted[0].at, first.0.checked_add(SimDuration::from_nanos(1)).unwrap());
            assert!(
                granted.get(1).is_none_or(|next| next.at.since(granted[0].at).unwrap() >= SimDuration::from_secs(4))
            );
            wins += u32::from(granted[0].car == names[0]);
        }
        // 32 ± 4 expected; 5 standard deviations.
        assert!((12..=52).contains(&wins), "{wins} of 64");
    }
}

#[test]
fn rivals_stay_mirrored_to_the_bit() {
    for seed in 0..4 {
        let run = |mirrored| {
            let road = demo_road(mirrored);
            drive(&road, rivals(&road, ["a", "b"], mirrored), true, seed, SimTime::from_secs(60))
        };
        let ((left, changes), (right, mirrored)) = (run(false), run(true));
        assert!(changes.granted.len() >= 2 && changes.granted.len() == mirrored.granted.len());
        for (change, mirrored) in changes.granted.iter().zip(&mirrored.granted) {
            assert_eq!((&change.car, change.at), (&mirrored.car, mirrored.at));
            assert_eq!((2 - change.from, 2 - change.to), (mirrored.from, mirrored.to));
        }
        assert_mirrored(&poses_by_car(&left), &poses_by_car(&right));
    }
}

#[test]
fn of_two_equally_good_lanes_the_car_takes_the_one_it_is_nearer_to_and_in_the_middle_none() {
    let road = straight();
    let target = |lateral: f64| {
        let mobil = Mobil { keep_right_bias: 0.0, ..Mobil::default() };
        let driver =
            LaneDriver::new(Arc::clone(&road), 1).unwrap().changing_lanes(mobil, Manoeuvre::default()).unwrap();
        let state = VehicleState { position: Vec2::new(0.0, lateral), heading: 0.0, speed: 25.0 };
        let physics = VehiclePhysics::new(Vehicle::CAR, state);
        let fast = Actor::new("fast").child("controller", driver).child("physics", physics);
        let slow = actor("slow", &CarParams::new(1, 100.0, 15.0), &road).unwrap();
        let (_, changes) = drive(&road, vec![fast, slow], true, 0, SimTime::from_secs(6));
        changes.granted.first().map(|granted| granted.to)
    };
    assert_eq!([target(0.2), target(-0.2), target(0.0)], [Some(2), Some(0), None]);
}

/// Grants one change to somebody at a time.
struct Grant(SimTime, &'static str);

impl Participant for Grant {
    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        if ctx.now() < self.0 {
            return Ok(self.0);
        }
        let change = LaneChange { car: self.1.to_owned(), from: 0, to: 1, granted: ctx.now() };
        ctx.publish("lane_grants", &vec![change])?;
        Ok(ctx.never())
    }
}

#[test]
fn a_car_that_may_come_is_followed_before_it_moves() {
    let road = straight();
    let cars = |grant: bool| {
        let mut cars = vec![
            actor("ego", &CarParams::new(1, 0.0, 30.0), &road).unwrap(),
            actor("other", &CarParams::new(0, 90.0, 20.0), &road).unwrap(),
        ];
        if grant {
            cars.push(Actor::of("grants", Grant(SimTime::from_millis(350), "other")));
        }
        let (seen, _) = drive(&road, cars, false, 0, SimTime::from_secs(1));
        poses_by_car(&seen)["ego"].clone()
    };
    let (with, without) = (cars(true), cars(false));
    // Seen at 0.4 s, where the command takes effect; the pose of 0.5 s is the first to tell.
    assert_eq!(with[..5], without[..5]);
    assert!(with[6].speed < without[6].speed - 0.1);
    // The other one never asked, so it stays where it is.
    assert_eq!(without.last().unwrap().position.y, 0.0);
}

#[test]
fn parameters_are_read_strictly_and_checked() {
    let text = r#"{"lane":2,"s":120,"speed":20,"mobil":{"politeness":0.5},"idm":{"time_gap":1.2}}"#;
    let car: CarParams = serde_json::from_str(text).unwrap();
    assert_eq!(car.mobil, Some(Mobil { politeness: 0.5, ..Mobil::default() }));
    assert_eq!((car.following(), car.manoeuvre), (Idm { time_gap: 1.2, ..Idm::BRISK }, Manoeuvre::default()));
    assert_eq!(CarParams { desired_speed: Some(25.0), ..car }.following().desired_speed, 25.0);
    assert!(serde_json::from_str::<CarParams>(&text.replace("speed", "sped")).is_err());
    assert!(serde_json::from_str::<CarParams>(&text.replace("time_gap", "gap")).is_err());
    let again: CarParams = serde_json::from_str(&serde_json::to_string(&car).unwrap()).unwrap();
    assert_eq!(again, car);

    let error = |car: CarParams| car.parts(&straight()).map(|_| ()).unwrap_err().to_string();
    assert!(error(CarParams { speed: -1.0, ..car }).starts_with("`speed` of the car is -1"));
    assert!(error(CarParams { lane: 3, ..car }).contains("lane 3 does not exist"));
    let never = Manoeuvre { duration: 0.0, ..Manoeuvre::default() };
    assert!(error(CarParams { manoeuvre: never, ..car }).starts_with("`duration` of the lane change is 0"));
    assert!(LaneControl::new(straight()).with_clearance(0.0).is_err());
}
