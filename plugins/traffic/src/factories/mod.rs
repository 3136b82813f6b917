//! What scenario files can make of this domain, and the road that they share (feature `scenario`).
//!
//! | type | made of | parameters |
//! |---|---|---|
//! | `traffic/car` | a [`LaneDriver`], perhaps a [`Radar`](crate::Radar), and [`VehiclePhysics`] | [`CarFile`] |
//! | `traffic/follower` | a [`Driver`] that follows one car, and physics | [`FollowerFile`] |
//! | `traffic/vehicle` | physics alone, for a controller of one's own | [`VehicleFile`] |
//! | `traffic/obstacle`, `traffic/leader` | bodies that move by a script | [`ObstacleFile`], [`LeaderFile`] |
//! | `traffic/lane-control`, `traffic/spawner` | who may change lanes; who joins and leaves | [`LaneControlFile`], [`SpawnerFile`] |
//! | `traffic/radar`, `traffic/collisions`, `traffic/ttc` | sensors and monitors | [`RadarFile`], [`CollisionsFile`], [`TtcFile`] |
//! | `traffic/logger` | a [`PoseLogger`] | [`LoggerFile`] |
//! | `traffic/fleet` (population) | many cars as agents | [`FleetFile`] |
//!
//! ```
//! use std::path::Path;
//!
//! use chaconne_conductor::{Conductor, ConductorConfig};
//! use chaconne_scenario::{Factories, Overrides, Scenario};
//! use chaconne_sim_core::SimTime;
//!
//! let mut factories = Factories::default();
//! chaconne_traffic::factories::add_to(&mut factories)?;
//! let text = "{
//!     world: 'road', road: 'demo', end: 2,
//!     actors: [{ path: 'ego', type: 'traffic/car', params: { lane: 1, s: 20, speed: 30 } }],
//! }";
//! let scenario = Scenario::from_text(text, "one.json5", Path::new(""), &factories, Overrides::default())?;
//! let mut world = Conductor::new(ConductorConfig { world: scenario.world().into(), ..Default::default() })?;
//! scenario.add_to(&mut world, &factories)?;
//! world.run_until(SimTime::from_secs(2))?;
//! assert_eq!(world.participants(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cars;
mod road;
mod watchers;

use std::sync::Arc;

use chaconne_conductor::{Actor, Group};
use chaconne_scenario::{Factories, FactoryError, Maker, Setting, Site};
use chaconne_sim_core::Participant;

use crate::{
    Driver, LaneControl, LaneDriver, OscillatingBody, PoseLogger, Road, Spawner, StandingBody, TrafficError,
    VehiclePhysics, Watch, fleet::Fleet, population,
};

pub use cars::{
    BodyKind, CarFile, FleetFile, FollowerFile, IdmFile, LaneControlFile, LaneStart, LeaderFile, ManoeuvreFile,
    MobilFile, ObstacleFile, PoseStart, SpawnerFile, Start, VehicleFile,
};
pub use road::RoadSource;
pub use watchers::{CollisionsFile, LoggerFile, RadarFile, TtcFile};

/// Registers everything; nothing is done with what loggers and monitors see.
///
/// # Errors
/// When a name is taken.
pub fn add_to(factories: &mut Factories) -> Result<(), FactoryError> {
    add_with(factories, &Watch::default())
}

/// Registers everything; `watch` is told what loggers and monitors see.
///
/// # Errors
/// When a name is taken.
pub fn add_with(factories: &mut Factories, watch: &Watch) -> Result<(), FactoryError> {
    factories.share("road", "the road that all are on: a road file, `demo`, or a road", RoadSource::load)?;
    factories.add("traffic/car", "a car that keeps a lane, follows whoever is ahead, and may change lanes", car)?;
    factories.add("traffic/follower", "a car that keeps a lane and follows one other", follower)?;
    factories.add("traffic/vehicle", "a body that is steered by signals of its actor", vehicle)?;
    factories.add("traffic/obstacle", "a body of a car's size that stands in a lane", obstacle)?;
    factories.add("traffic/leader", "a body in a lane whose speed oscillates, or stays", leader)?;
    factories.add("traffic/lane-control", "says which cars may change lanes", lane_control)?;
    factories.add("traffic/spawner", "lets cars join ahead of an actor and leave behind it", spawner)?;
    factories.add("traffic/logger", "looks at every car once per period, one nanosecond after it", {
        let log = Arc::clone(&watch.log);
        move |params: LoggerFile, site: &Site<'_>| {
            let (road, log) = (road_of(site)?, Arc::clone(&log));
            let logger = PoseLogger::new(move |sample| log(sample, &road));
            Ok::<_, String>(logger.every(params.every.get()))
        }
    })?;
    watchers::add_to(factories, watch)?;
    factories.add_population("traffic/fleet", "many cars in a ring, as agents of a population", fleet)?;
    Ok(())
}

/// What makes the cars that a [`Spawner`] asks for, in a world that was not read from a scenario.
///
/// # Panics
/// Never: the names that are registered differ.
pub fn maker(world: &str, seed: u64, road: Arc<Road>) -> Maker {
    let mut factories = Factories::default();
    add_to(&mut factories).expect("the names that are registered differ");
    let mut setting = Setting::new(world, seed);
    setting.shared = setting.shared.with::<Road>(road);
    Maker::new(factories, setting)
}

/// The road of a scenario.
fn road_of(site: &Site<'_>) -> Result<Arc<Road>, String> {
    site.shared::<Road>().ok_or_else(|| "it is made for a road; give the scenario a `road`".to_owned())
}

fn text(error: TrafficError) -> String {
    error.to_string()
}

fn car(params: CarFile, site: &Site<'_>) -> Result<Group, String> {
    let road = road_of(site)?;
    let (controller, physics): (LaneDriver, VehiclePhysics) = params.car().parts(&road).map_err(text)?;
    let group = Actor::group().child("controller", controller);
    let group = match params.radar {
        Some(radar) => group.child("radar", radar.radar()?),
        None => group,
    };
    Ok(group.child("physics", physics))
}

fn follower(params: FollowerFile, site: &Site<'_>) -> Result<Group, String> {
    let road = road_of(site)?;
    let driver = Driver::new(Arc::clone(&road), params.lane).and_then(|driver| driver.with_idm(params.idm.idm()));
    let driver = driver.map_err(text)?.every(params.decides_every.get());
    let driver = match &params.follows {
        Some(path) => driver.following(&path.parse().map_err(|error| format!("`follows`: {error}"))?),
        None => driver,
    };
    let physics = params.vehicle().physics(Some(&road))?;
    Ok(Actor::group().child("controller", driver).child("physics", physics))
}

fn vehicle(params: VehicleFile, site: &Site<'_>) -> Result<VehiclePhysics, String> {
    params.physics(site.shared::<Road>().as_deref())
}

fn obstacle(params: ObstacleFile, site: &Site<'_>) -> Result<impl Participant + use<>, String> {
    StandingBody::in_lane(&*road_of(site)?, params.lane, params.s.get()).map_err(text)
}

fn leader(params: LeaderFile, site: &Site<'_>) -> Result<OscillatingBody, String> {
    let LeaderFile { lane, s, mean_speed, amplitude, period, every } = params;
    let body = OscillatingBody::new(road_of(site)?, lane, s.get(), mean_speed.get(), amplitude.get(), period.get());
    Ok(body.map_err(text)?.every(every.get()))
}

fn lane_control(params: LaneControlFile, site: &Site<'_>) -> Result<LaneControl, String> {
    let control = LaneControl::new(road_of(site)?).with_clearance(params.clearance.get());
    control.and_then(|control| control.with_manoeuvre(params.manoeuvre.manoeuvre())).map_err(text)
}

fn spawner(params: SpawnerFile, site: &Site<'_>) -> Result<Spawner, String> {
    Spawner::new(road_of(site)?, params.params()).map_err(text)
}

fn fleet(params: FleetFile, site: &Site<'_>) -> Result<chaconne_conductor::Population, String> {
    let name = site.path().as_str();
    Ok(population::of(name, &Fleet::on_demo_roads(params.cars.get() as usize, params.seed.unwrap_or(site.seed()))))
}
