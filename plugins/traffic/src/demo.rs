//! The demo world: an ego overtakes slower traffic on three lanes.
//!
//! On [`Road::demo`] the [`ego`] holds the centre lane at 30 m/s. A [`Spawner`](crate::Spawner) with its default parameters
//! keeps six cars around it, at 16 to 22 m/s, that start in the lanes on either side and change lanes as they like: about
//! fourteen in 30 simulated seconds. A [`LaneControl`](crate::LaneControl) says who may change, and a
//! [`PoseLogger`](crate::PoseLogger) looks on. Each car is an actor of two parts, a controller before its physics; a factory
//! makes it of [`CarParams`].
//!
//! | actor | made of | due |
//! |---|---|---|
//! | `ego` | [`ego`], with a [`Radar`](crate::Radar) | controller every 100 ms, radar every 50 ms, physics every 10 ms |
//! | `lanes` | [`LaneControl`](crate::LaneControl) | 1 ns after each multiple of 100 ms |
//! | `spawner` | [`Spawner`](crate::Spawner) | 1 ns after each half second |
//! | `log` | [`PoseLogger`](crate::PoseLogger) | 1 ns after each second |
//! | `collisions` | [`CollisionMonitor`](crate::CollisionMonitor) | 1 ns after each multiple of 10 ms |
//! | `ttc` | [`TtcMonitor`](crate::TtcMonitor) of the ego | 1 ns after each multiple of 100 ms |
//! | `car-1`, `car-2`, … | what the spawner asks for | as the ego, from the multiple of 100 ms after it was asked for |
//!
//! [`cars`] are seven cars of a simpler world, each with a [`Driver`] that knows whom it follows:
//!
//! ```
//! use std::sync::Arc;
//!
//! use chaconne_conductor::{Actor, Conductor, ConductorConfig};
//! use chaconne_sim_core::SimTime;
//! use chaconne_traffic::{demo, road::Road};
//!
//! let road = Arc::new(Road::demo());
//! let mut world = Conductor::new(ConductorConfig::default())?;
//! for car in demo::cars() {
//!     let (controller, physics) = car.parts(&road)?;
//!     world.add(Actor::new(car.name.as_str()).child("controller", controller).child("physics", physics))?;
//! }
//! world.run_until(SimTime::from_secs(1))?;
//! // Per second a car steps its physics a hundred times and its controller ten times.
//! assert_eq!((world.participants(), world.steps()), (14, 7 * 110));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::sync::Arc;

use chaconne_sim_core::ActorPath;

use crate::{
    TrafficError,
    car::CarParams,
    driver::Driver,
    law::Idm,
    physics::VehiclePhysics,
    road::Road,
    vehicle::{Vehicle, VehicleState},
};

/// A car on a road: where it starts, how fast it wants to go, and whom it follows.
#[derive(Clone, Debug, PartialEq)]
pub struct CarSpec {
    /// The path of its actor.
    pub name: ActorPath,
    /// Its lane, counted from the right.
    pub lane: usize,
    /// Where it starts, as arc length in metres.
    pub s: f64,
    /// The speed it starts with and keeps on an empty road, in m/s; above 0.
    pub speed: f64,
    /// The car ahead of it in its lane.
    pub leader: Option<ActorPath>,
}

impl CarSpec {
    /// The two parts of the car's actor, in their order: the controller and the physics.
    ///
    /// # Errors
    ///
    /// [`TrafficError::NoSuchLane`], or [`TrafficError::Parameter`] for a speed that is not finite and above zero.
    pub fn parts(&self, road: &Arc<Road>) -> Result<(Driver, VehiclePhysics), TrafficError> {
        let idm = Idm::BRISK.with_desired_speed(self.speed);
        let driver = Driver::new(Arc::clone(road), self.lane)?.with_idm(idm)?;
        let driver = match &self.leader {
            Some(leader) => driver.following(leader),
            None => driver,
        };
        let (position, heading) = road.pose_at(self.s, road.lane_centre(self.lane)?);
        let state = VehicleState { position, heading, speed: self.speed };
        Ok((driver, VehiclePhysics::new(Vehicle::CAR, state)))
    }
}

/// The ego: 20 m along the centre lane of the demo road, at the 30 m/s that it would like to keep. It follows whoever enters
/// its lane, and stays in it.
#[must_use]
pub const fn ego() -> CarParams {
    CarParams::new(1, 20.0, 30.0)
}

/// The actors of the demo world, in their order; `watch` is told what the logger and the monitors see, and the ego would like
/// to keep `ego_speed` m/s. Whoever runs them needs a maker of cars, for those that the spawner asks for.
///
/// # Errors
///
/// [`TrafficError::Parameter`] for a speed that is not above zero, and [`TrafficError::NoSuchLane`] on a road with fewer than
/// three lanes.
#[cfg(feature = "bevy")]
pub fn actors(
    road: &Arc<Road>,
    ego_speed: f64,
    watch: &crate::Watch,
) -> Result<Vec<chaconne_conductor::Actor>, TrafficError> {
    use chaconne_conductor::Actor;

    let lanes = crate::LaneControl::new(Arc::clone(road));
    let spawner = crate::Spawner::new(Arc::clone(road), crate::SpawnerParams::default())?;
    let (log, seen) = (Arc::clone(&watch.log), Arc::clone(road));
    let logger = crate::PoseLogger::new(move |sample| log(sample, &seen));
    let collision = Arc::clone(&watch.collision);
    let collisions = crate::CollisionMonitor::new().with_sink(move |seen| collision(seen));
    let minima = Arc::clone(&watch.minima);
    let ttc = crate::TtcMonitor::new(path("ego")).with_sink(move |seen| minima(seen));
    Ok(vec![
        ego_actor(road, ego_speed)?,
        Actor::of("lanes", lanes),
        Actor::of("spawner", spawner),
        Actor::of("log", logger),
        Actor::of("collisions", collisions),
        Actor::of("ttc", ttc),
    ])
}

/// The ego's actor: controller, radar and physics.
///
/// # Errors
///
/// As [`actors`].
#[cfg(feature = "bevy")]
pub fn ego_actor(road: &Arc<Road>, speed: f64) -> Result<chaconne_conductor::Actor, TrafficError> {
    let (controller, physics) = CarParams { desired_speed: Some(speed), ..ego() }.parts(road)?;
    let radar = crate::Radar::new(crate::RadarSpec::default())?;
    let ego = chaconne_conductor::Actor::new("ego").child("controller", controller);
    Ok(ego.child("radar", radar).child("physics", physics))
}

fn path(name: &str) -> ActorPath {
    ActorPath::new(name).expect("the names of the demo world are paths")
}

/// Seven cars that each follow the next in their lane; the ego comes first.
#[must_use]
pub fn cars() -> Vec<CarSpec> {
    [
        ("ego", 1, 20.0, 30.0, None),
        ("right-1", 0, 60.0, 21.0, Some("right-2")),
        ("right-2", 0, 130.0, 17.0, Some("right-3")),
        ("right-3", 0, 230.0, 18.0, None),
        ("left-1", 2, 95.0, 22.0, Some("left-2")),
        ("left-2", 2, 180.0, 19.0, Some("left-3")),
        ("left-3", 2, 290.0, 20.0, None),
    ]
    .map(|(name, lane, s, speed, leader)| CarSpec { name: path(name), lane, s, speed, leader: leader.map(path) })
    .into()
}
