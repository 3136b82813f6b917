//! Car following over signals: platoons whose cars know of each other by nothing but poses.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, and its helpers with it")]

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use chaconne_conductor::{Actor, Conductor, ConductorConfig};
use chaconne_sim_core::{ActorPath, Participant, SimDuration, SimTime, StepCtx, StepResult, math};
use chaconne_traffic::{
    Driver, Pose, PoseLogger, Road, VehiclePhysics,
    law::Idm,
    vehicle::{Vehicle, VehicleState},
};

const CARS: usize = 60;
const MEAN_SPEED: f64 = 15.0;

/// A body whose speed oscillates around a mean, exactly: the leader of a platoon.
struct Oscillating {
    road: Arc<Road>,
    s: f64,
    amplitude: f64,
    period: f64,
    step: SimDuration,
}

impl Participant for Oscillating {
    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        let (omega, time) = (math::TAU / self.period, ctx.now().as_nanos() as f64 * 1e-9);
        let (sin, cos) = math::sin_cos(omega * time);
        let s = self.s + MEAN_SPEED * time + self.amplitude / omega * (1.0 - cos);
        let (position, heading) = self.road.pose_at(s, self.road.lane_centre(0)?);
        let state = VehicleState { position, heading, speed: MEAN_SPEED + self.amplitude * sin };
        ctx.publish("pose", &Pose::from(state))?;
        ctx.after(self.step)
    }
}

/// A straight road of one lane.
fn road() -> Arc<Road> {
    let text = r#"{ "name": "straight", "closed": false, "start": { "x_m": 0, "y_m": 0, "heading_deg": 0 },
        "lanes": [{ "width_m": 3.5 }], "segments": [{ "straight": { "length_m": 100000 } }] }"#;
    Arc::new(Road::from_json(text, "straight.json").unwrap())
}

fn name(car: usize) -> ActorPath {
    ActorPath::new(&format!("car-{car}")).unwrap()
}

/// The largest deviation from the mean speed of each car in the last of `periods` periods of 60 s.
fn amplitudes(idm: Idm, controllers: SimDuration, physics: SimDuration, periods: i32) -> Vec<f64> {
    let road = road();
    let spacing = idm.equilibrium_gap(MEAN_SPEED).unwrap() + Vehicle::CAR.length;
    let mut world = Conductor::new(ConductorConfig { threads: 1, ..ConductorConfig::default() }).unwrap();
    let leader = Oscillating { road: Arc::clone(&road), s: 0.0, amplitude: 0.3, period: 60.0, step: physics };
    world.add(Actor::of(name(1).as_str(), leader)).unwrap();
    for car in 2..=CARS {
        let driver = Driver::new(Arc::clone(&road), 0).unwrap().with_idm(idm).unwrap();
        let driver = driver.following(&name(car - 1)).every(controllers);
        let (position, heading) = road.pose_at(-spacing * (car - 1) as f64, 0.0);
        let state = VehicleState { position, heading, speed: MEAN_SPEED };
        let body = VehiclePhysics::new(Vehicle::CAR, state).every(physics).publishing_every(controllers);
        world.add(Actor::new(name(car).as_str()).child("controller", driver).child("physics", body)).unwrap();
    }
    let largest = Arc::new(Mutex::new(BTreeMap::<String, f64>::new()));
    let noted = Arc::clone(&largest);
    let begin = SimTime::from_secs(60 * (periods - 1));
    let logger = PoseLogger::new(move |sample| {
        if sample.sampled >= begin {
            let mut noted = noted.lock().unwrap();
            let largest = noted.entry(sample.car.to_owned()).or_default();
            *largest = math::max(*largest, (sample.pose.speed - MEAN_SPEED).abs());
        }
    });
    world.add(Actor::of("log", logger.every(SimDuration::from_millis(100)))).unwrap();
    world.run_until(SimTime::from_secs(60 * periods)).unwrap();
    let largest = largest.lock().unwrap();
    [2, 11, 31, 60].map(|car| largest[name(car).as_str()]).into()
}

#[test]
fn scan() {
    for (c, p) in [(30, 10)] {
        for idm in [Idm::PUBLISHED, Idm::BRISK] {
            let ms = SimDuration::from_millis;
            let periods = std::env::var("N").map_or(12, |n| n.parse().unwrap());
            println!("{c} {p}: {:?}", amplitudes(idm, ms(c), ms(p), periods));
        }
    }
}
