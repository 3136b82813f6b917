//! Car following over signals: cars that know of each other by nothing but poses, in a conductor, keep the gaps and swing
//! with the amplitudes that the law has without any world around it.
//!
//! A driver decides on poses that are one step of the physics old, and its decision holds until the next: on average an
//! acceleration comes late by one step of the physics and half a step of the driver. The stated amplitudes come from the
//! explicit Euler rule with 25 ms (`platoon.rs`), whose error is that of a delay of the same size. Physics at 10 ms and drivers
//! at 30 ms have a delay of 10 + 15 = 25 ms, and so the same error; any other pair with a delay of 15 to 30 ms stays within one
//! percent, too.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, and its helpers with it")]

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use chaconne_conductor::{Actor, Conductor, ConductorConfig};
use chaconne_sim_core::{ActorPath, SimDuration, SimTime, math};
use chaconne_traffic::{
    Driver, OscillatingBody, Pose, PoseLogger, Road, VehiclePhysics,
    law::Idm,
    vehicle::{Vehicle, VehicleState},
};

/// The cadences whose delay is that of the stated values.
const DRIVERS: SimDuration = SimDuration::from_millis(30);
const PHYSICS: SimDuration = SimDuration::from_millis(10);

/// A leader, the parameters of those who follow, and what lies between them at the start.
struct Platoon {
    cars: usize,
    mean_speed: f64,
    amplitude: f64,
    idm: Idm,
    gap: f64,
    drivers: SimDuration,
}

fn name(car: usize) -> ActorPath {
    ActorPath::new(&format!("car-{car}")).unwrap()
}

impl Platoon {
    /// Drives until `end` along a straight road, and shows every car's pose every 100 ms from `begin` on.
    fn drive(&self, begin: SimTime, end: SimTime, mut show: impl FnMut(&str, &Pose) + Send + 'static) {
        let text = r#"{ "name": "straight", "closed": false, "start": { "x_m": 0, "y_m": 0, "heading_deg": 0 },
            "lanes": [{ "width_m": 3.5 }], "segments": [{ "straight": { "length_m": 100000 } }] }"#;
        let road = Arc::new(Road::from_json(text, "straight.json").unwrap());
        let mut world = Conductor::new(ConductorConfig { threads: 1, ..ConductorConfig::default() }).unwrap();
        let leader = OscillatingBody::new(Arc::clone(&road), 0, 0.0, self.mean_speed, self.amplitude, 60.0).unwrap();
        world.add(Actor::of(name(1).as_str(), leader.every(PHYSICS))).unwrap();
        for car in 2..=self.cars {
            let driver = Driver::new(Arc::clone(&road), 0).unwrap().with_idm(self.idm).unwrap();
            let driver = driver.following(&name(car - 1)).every(self.drivers);
            let (position, heading) = road.pose_at(-(self.gap + Vehicle::CAR.length) * (car - 1) as f64, 0.0);
            let state = VehicleState { position, heading, speed: self.mean_speed };
            let physics = VehiclePhysics::new(Vehicle::CAR, state).every(PHYSICS);
            world.add(Actor::new(name(car).as_str()).child("controller", driver).child("physics", physics)).unwrap();
        }
        let logger = PoseLogger::new(move |sample| {
            if sample.sampled >= begin {
                show(sample.car, sample.pose);
            }
        });
        world.add(Actor::of("log", logger.every(SimDuration::from_millis(100)))).unwrap();
        world.run_until(end).unwrap();
    }
}

/// The largest deviation from the mean speed of car 2, 11, 31 and 60, counted from one, in the fifth minute.
fn amplitudes(idm: Idm) -> [f64; 4] {
    let gap = idm.equilibrium_gap(15.0).unwrap();
    let platoon = Platoon { cars: 60, mean_speed: 15.0, amplitude: 0.3, idm, gap, drivers: DRIVERS };
    let largest = Arc::new(Mutex::new(BTreeMap::<String, f64>::new()));
    let noted = Arc::clone(&largest);
    platoon.drive(SimTime::from_secs(240), SimTime::from_secs(300), move |car, pose| {
        let mut noted = noted.lock().unwrap();
        let largest = noted.entry(car.to_owned()).or_default();
        *largest = math::max(*largest, (pose.speed - 15.0).abs());
    });
    let largest = largest.lock().unwrap();
    [2, 11, 31, 60].map(|car| largest[name(car).as_str()])
}

#[test]
fn platoon_amplitudes_over_signals_equal_the_stated_values_within_a_percent() {
    for (idm, expected) in [(Idm::PUBLISHED, [0.308, 0.379, 0.594, 1.127]), (Idm::BRISK, [0.295, 0.252, 0.176, 0.105])]
    {
        let found = amplitudes(idm);
        println!("{found:?} of {expected:?}");
        for (found, expected) in found.into_iter().zip(expected) {
            assert!((found / expected - 1.0).abs() < 0.01, "{found} instead of {expected}");
        }
    }
}

#[test]
fn equilibrium_gaps_over_signals_equal_the_stated_values_within_a_percent() {
    let checked = Idm { acceleration: 1.5, ..Idm::BRISK };
    for (idm, mean_speed, expected) in [
        (Idm::PUBLISHED, 10.0, 18.0734),
        (Idm::PUBLISHED, 20.0, 36.4435),
        (checked, 10.0, 17.1059),
        (checked, 20.0, 35.7220),
    ] {
        for drivers in [DRIVERS, Driver::PERIOD] {
            let platoon = Platoon { cars: 2, mean_speed, amplitude: 0.0, idm, gap: 60.0, drivers };
            let poses = Arc::new(Mutex::new([0.0; 2]));
            let noted = Arc::clone(&poses);
            platoon.drive(SimTime::from_secs(299), SimTime::from_secs(300), move |car, pose| {
                noted.lock().unwrap()[usize::from(car == "car-2")] = pose.position.x;
            });
            let [leader, follower] = *poses.lock().unwrap();
            let gap = leader - follower - Vehicle::CAR.length;
            println!("{gap} of {expected}");
            assert!((gap / expected - 1.0).abs() < 0.01, "{gap} m instead of {expected} m");
        }
    }
}
