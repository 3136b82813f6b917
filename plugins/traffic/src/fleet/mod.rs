//! Fleets: as many cars as one likes, each behind the next, to be driven in three ways that agree to the bit.
//!
//! A [`Fleet`] says where cars start and whom each follows. It can be driven as
//!
//! * participants, an actor of a [`Driver`] and a [`VehiclePhysics`] per car: [`Fleet::parts`];
//! * agents of one population, moved by systems over columns: `FleetPlugin` in the module `population` (feature `bevy`);
//! * plain [`Columns`], moved by a plain loop: what the others are measured and tested against.
//!
//! In each a driver decides every 100 ms by the poses of 10 ms before, its own and its leader's, and a body moves every
//! 10 ms under the last decision. All use the same laws, so their cars are in the same places, to the last bit.
//!
//! ```
//! use chaconne_traffic::fleet::Fleet;
//!
//! let fleet = Fleet::on_demo_roads(1_000, 42);
//! let mut columns = fleet.columns();
//! for _ in 0..200 {
//!     columns.step();
//! }
//! let poses: Vec<_> = columns.poses().collect();
//! assert_eq!(poses.len(), 1_000);
//! assert!(poses.iter().all(|pose| pose.speed > 15.0 && pose.speed < 35.0));
//! ```

mod columns;

use std::sync::Arc;

use chaconne_sim_core::{ActorPath, StreamKey, rng::Domain};

pub use columns::Columns;

use crate::{
    TrafficError,
    driver::{Driver, DriverModel},
    law::Idm,
    physics::VehiclePhysics,
    road::Road,
    vehicle::{Vehicle, VehicleState},
};

/// Cars in each lane of a road when it is full; 55 m apart on the demo road, enough to be held up by each other.
const PER_LANE: usize = 100;

/// One car of a fleet: a [`Vehicle::CAR`] with a driver of [`Idm::BRISK`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FleetCar {
    /// Its lane, counted from the right.
    pub lane: usize,
    /// Where it starts, as arc length in metres.
    pub s: f64,
    /// The speed it starts with in m/s, zero or more.
    pub speed: f64,
    /// The speed it keeps on an empty road in m/s, above 0.
    pub desired_speed: f64,
    /// The car it follows, by its place in the fleet.
    pub leader: Option<usize>,
}

/// Cars on a road, each with a number: its place in the fleet.
#[derive(Clone, Debug)]
pub struct Fleet {
    road: Arc<Road>,
    cars: Vec<FleetCar>,
}

impl Fleet {
    /// A fleet of these cars.
    ///
    /// # Errors
    ///
    /// [`TrafficError::NoSuchLane`], [`TrafficError::NoSuchLeader`], or [`TrafficError::Parameter`] for a speed out of its
    /// range.
    pub fn new(road: Arc<Road>, cars: Vec<FleetCar>) -> Result<Self, TrafficError> {
        for (number, car) in cars.iter().enumerate() {
            road.lane_centre(car.lane)?;
            Idm::BRISK.with_desired_speed(car.desired_speed).check()?;
            crate::error::check_parameter("the fleet", "speed", car.speed, "zero or more", car.speed >= 0.0)?;
            if let Some(leader) = car.leader.filter(|&leader| leader >= cars.len()) {
                return Err(TrafficError::NoSuchLeader { car: number, leader, count: cars.len() });
            }
        }
        Ok(Self { road, cars })
    }

    /// `count` cars on as many roads like [`Road::demo`] as it takes, one above the other.
    ///
    /// A road holds 300 cars, 100 in each lane and 55 m apart, where each follows the next and the last the first. The seed
    /// draws what speeds they start with, 20 to 24 m/s, and what speeds they would like, 26 to 34 m/s.
    #[must_use]
    pub fn on_demo_roads(count: usize, seed: u64) -> Self {
        let road = Road::demo();
        let lanes = road.lane_count();
        let spacing = road.length() / PER_LANE as f64;
        let key = StreamKey::new(seed, Domain::SetUp, "fleet", "speeds", 0);
        let cars = (0..count).map(|car| {
            let on_road = car % (lanes * PER_LANE);
            let (lane, place) = (on_road % lanes, on_road / lanes);
            // The next in the lane, if there is one; behind the last one drives the first.
            let (next, first) = (car + lanes, car - place * lanes);
            let leader = if place + 1 < PER_LANE && next < count { next } else { first };
            let mut rng = key.stream(car as u64);
            FleetCar {
                lane,
                s: spacing * place as f64,
                speed: rng.range(20.0..24.0),
                desired_speed: rng.range(26.0..34.0),
                leader: (leader != car).then_some(leader),
            }
        });
        Self { cars: cars.collect(), road: Arc::new(road) }
    }

    /// The road.
    #[must_use]
    pub fn road(&self) -> &Arc<Road> {
        &self.road
    }

    /// The cars, by number.
    #[must_use]
    pub fn cars(&self) -> &[FleetCar] {
        &self.cars
    }

    /// The path of a car's actor: `car-` and its number.
    #[must_use]
    pub fn name(car: usize) -> ActorPath {
        ActorPath::new(&format!("car-{car}")).expect("letters, a hyphen and digits are a segment")
    }

    /// The two parts of a car's actor, in their order: the controller and the physics. The physics publishes poses as
    /// often as drivers look at them.
    ///
    /// # Panics
    ///
    /// When there is no car of that number.
    #[must_use]
    pub fn parts(&self, car: usize) -> (Driver, VehiclePhysics) {
        let spec = self.cars[car];
        let driver = Driver::with_model(Arc::clone(&self.road), model(self.lane_centre(&spec), spec.desired_speed));
        let driver = match spec.leader {
            Some(leader) => driver.following(&Self::name(leader)),
            None => driver,
        };
        let physics = VehiclePhysics::new(Vehicle::CAR, self.start(&spec)).publishing_every(Driver::PERIOD);
        (driver, physics)
    }

    /// The cars as plain columns.
    #[must_use]
    pub fn columns(&self) -> Columns {
        Columns::new(self)
    }

    /// The middle of a car's lane.
    pub(crate) fn lane_centre(&self, car: &FleetCar) -> f64 {
        self.road.lane_centre(car.lane).expect("lanes were checked when the fleet was made")
    }

    /// The state in which a car starts.
    pub(crate) fn start(&self, car: &FleetCar) -> VehicleState {
        let (position, heading) = self.road.pose_at(car.s, self.lane_centre(car));
        VehicleState { position, heading, speed: car.speed }
    }
}

/// The driver of a car of a fleet.
#[inline]
pub(crate) fn model(lane_centre: f64, desired_speed: f64) -> DriverModel {
    DriverModel { idm: Idm::BRISK.with_desired_speed(desired_speed), ..DriverModel::new(lane_centre) }
}
