//! A fleet as plain columns, and the plain loop that moves it.

use std::sync::Arc;

use chaconne_sim_core::SimDuration;

use super::Fleet;
use crate::{
    driver::Driver,
    physics::VehiclePhysics,
    road::Road,
    signal::Pose,
    vehicle::{Command, Held, Vehicle, VehicleState},
};

/// Steps of the bodies between two decisions of the drivers.
const STEPS_PER_DECISION: u64 = (Driver::PERIOD.as_nanos() / VehiclePhysics::PERIOD.as_nanos()) as u64;

/// The cars of a fleet as columns in memory, by car number: no world, no signals, no fingerprint. See the
/// [module](super).
#[derive(Clone, Debug)]
pub struct Columns {
    road: Arc<Road>,
    steps: u64,
    state: Vec<VehicleState>,
    held: Vec<Held>,
    /// What holds from the end of a step on at which drivers decided.
    next: Vec<Held>,
    lane_centre: Vec<f64>,
    desired_speed: Vec<f64>,
    leader: Vec<Option<usize>>,
    /// Where each car was when its driver looked last.
    s: Vec<Option<f64>>,
}

impl Columns {
    pub(super) fn new(fleet: &Fleet) -> Self {
        let cars = fleet.cars();
        let held = vec![Vehicle::CAR.hold(Command::default()); cars.len()];
        Self {
            road: Arc::clone(fleet.road()),
            steps: 0,
            state: cars.iter().map(|car| fleet.start(car)).collect(),
            next: held.clone(),
            held,
            lane_centre: cars.iter().map(|car| fleet.lane_centre(car)).collect(),
            desired_speed: cars.iter().map(|car| car.desired_speed).collect(),
            leader: cars.iter().map(|car| car.leader).collect(),
            s: vec![None; cars.len()],
        }
    }

    /// Takes every car through one step of 10 ms. The first step is that of time zero, at which nothing has moved.
    pub fn step(&mut self) {
        let dt = if self.steps == 0 { SimDuration::ZERO } else { VehiclePhysics::PERIOD }.as_secs_f64();
        if self.steps > 0 && self.steps.is_multiple_of(STEPS_PER_DECISION) {
            self.decide_and_move(dt);
        } else {
            for (state, held) in self.state.iter_mut().zip(&self.held) {
                *state = held.advance(*state, dt);
            }
        }
        self.steps += 1;
    }

    /// A step at which drivers decide too: by what was before it, and for what is after it.
    fn decide_and_move(&mut self, dt: f64) {
        for (s, state) in self.s.iter_mut().zip(&self.state) {
            *s = self.road.project(state.position, *s).map(|place| place.s);
        }
        for car in 0..self.state.len() {
            self.next[car] = self.decide(car);
        }
        for ((state, held), next) in self.state.iter_mut().zip(&mut self.held).zip(&self.next) {
            *state = held.advance(*state, dt);
            *held = *next;
        }
    }

    #[inline]
    fn decide(&self, car: usize) -> Held {
        // What is not finite has no place; it stays as it is until somebody publishes it.
        let Some(s) = self.s[car] else { return self.held[car] };
        let (state, model) = (self.state[car], super::model(self.lane_centre[car], self.desired_speed[car]));
        let leader = self.leader[car]
            .and_then(|leader| Some(model.see(&self.road, s, self.s[leader]?, self.state[leader].speed)));
        model.vehicle.hold(Command {
            acceleration: model.acceleration(state.speed, leader),
            steering: model.steering(&self.road, s, &Pose::from(state)),
        })
    }

    /// The number of steps so far, of bodies and drivers: what a world of participants counts for the same cars.
    #[must_use]
    pub fn component_steps(&self) -> u64 {
        let decisions = self.steps.div_ceil(STEPS_PER_DECISION);
        (self.steps + decisions) * self.state.len() as u64
    }

    /// Where the cars are, by number.
    pub fn poses(&self) -> impl ExactSizeIterator<Item = Pose> {
        self.state.iter().map(|&state| Pose::from(state))
    }
}
