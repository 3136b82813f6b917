//! Worlds beside the demo's: a ring on which a jam forms out of nothing, and a road whose right lane ends.
//!
//! ```
//! use chaconne_traffic::worlds::{self, World};
//!
//! let World { road, cars, .. } = worlds::ring();
//! assert!((road.length() - 230.0).abs() < 0.1);
//! assert_eq!(cars.len(), 22);
//! ```

use std::sync::Arc;

use chaconne_sim_core::ActorPath;

use crate::{
    car::CarParams,
    lane_driver::Manoeuvre,
    law::{Idm, Mobil},
    road::Road,
};

/// Who is where when a world begins.
#[derive(Clone, Debug)]
pub struct World {
    /// The road that all are on.
    pub road: Arc<Road>,
    /// The cars, with the paths of their actors.
    pub cars: Vec<(ActorPath, CarParams)>,
    /// What stands in the way: path, lane counted from the right, and arc length in metres. See
    /// [`StandingBody`](crate::StandingBody).
    pub obstacles: Vec<(ActorPath, usize, f64)>,
}

/// Drivers who are slow to react in dense traffic, so that every small disturbance grows: s0 2 m, T 1 s, a 0.5 m/s²,
/// b 1.5 m/s², v0 10 m/s.
pub const RING_DRIVER: Idm = Idm {
    desired_speed: 10.0,
    time_gap: 1.0,
    acceleration: 0.5,
    deceleration: 1.5,
    exponent: 4.0,
    standstill_gap: 2.0,
    max_braking: 9.0,
};

/// The ring: 22 cars on a circle of 230 m and one lane, evenly spaced at the speed of equilibrium, but for the first, which
/// is half a metre ahead of its place.
///
/// After Sugiyama et al. (2008), Traffic jams without bottlenecks, New Journal of Physics 10, 033001: 22 cars on a circle of
/// 230 m drive evenly for a while, until a wave of stopping and starting goes around against the traffic.
#[must_use]
pub fn ring() -> World {
    const CARS: usize = 22;
    let road = Road::from_json(include_str!("../../../assets/roads/ring.json"), "ring.json")
        .expect("the embedded road is valid, as a test shows");
    let spacing = road.length() / CARS as f64;
    let speed = speed_at_gap(&RING_DRIVER, spacing - crate::vehicle::Vehicle::CAR.length);
    let car = |number: usize| {
        let s = spacing * number as f64 + if number == 0 { 0.5 } else { 0.0 };
        let params = CarParams { idm: RING_DRIVER, desired_speed: None, ..CarParams::new(0, s, speed) };
        (car_name(number + 1), params)
    };
    World { cars: (0..CARS).map(car).collect(), road: Arc::new(road), obstacles: Vec::new() }
}

/// The speed at which a gap is that of equilibrium, in m/s.
fn speed_at_gap(idm: &Idm, gap: f64) -> f64 {
    let (mut low, mut high) = (0.0, idm.desired_speed);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if idm.equilibrium_gap(middle).is_some_and(|needed| needed < gap) { low = middle } else { high = middle }
    }
    low
}

/// The merge: 16 cars on two lanes, of which the right one is blocked after 900 m, so that everybody in it has to find a gap in
/// the left one.
///
/// Drivers keep 8 m to who stands before them: from there a car gets past without reversing.
#[must_use]
pub fn merge() -> World {
    const CARS: usize = 16;
    let road = Road::from_json(include_str!("../../../assets/roads/merge.json"), "merge.json")
        .expect("the embedded road is valid, as a test shows");
    let idm = Idm { standstill_gap: 8.0, ..Idm::BRISK };
    let mobil = Mobil { politeness: 0.2, keep_right_bias: 0.0, ..Mobil::default() };
    let car = |number: usize| {
        // Two in the right lane to each in the left one; all at the same speed, with different wishes.
        let (lane, s) = (usize::from(number % 3 == 2), 30.0 * number as f64);
        let desired_speed = Some(18.0 + (number * 5 % 7) as f64);
        let params = CarParams {
            idm,
            desired_speed,
            mobil: Some(mobil),
            manoeuvre: Manoeuvre::USUAL,
            ..CarParams::new(lane, s, 18.0)
        };
        (car_name(number + 1), params)
    };
    let obstacle = ActorPath::new("obstacle").expect("letters are a segment");
    World { cars: (0..CARS).map(car).collect(), road: Arc::new(road), obstacles: vec![(obstacle, 0, 900.0)] }
}

/// `car-` and a number.
fn car_name(number: usize) -> ActorPath {
    ActorPath::new(&format!("car-{number}")).expect("letters, a hyphen and digits are a segment")
}
