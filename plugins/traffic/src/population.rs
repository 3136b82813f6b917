//! A fleet as a population: cars are agents, what belongs to them stands in the columns of ECS tables, and systems move
//! all of them at once.
//!
//! ```
//! use chaconne_conductor::{Actor, Conductor, ConductorConfig};
//! use chaconne_sim_core::SimTime;
//! use chaconne_traffic::{fleet::Fleet, population};
//!
//! let fleet = Fleet::on_demo_roads(1_000, 42);
//! let mut world = Conductor::new(ConductorConfig::default())?;
//! world.add(population::of("cars", &fleet).into())?;
//! world.run_until(SimTime::from_secs(3))?;
//! // One participant, a step every 10 ms, and one signal per second with the poses of all cars.
//! assert_eq!((world.participants(), world.steps(), world.signals()), (1, 300, 3));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Agents know each other by their numbers in the fleet, never by entity or row, so that nothing depends on where the ECS
//! keeps them.

use std::sync::Arc;

use bevy_app::{App, Plugin};
use bevy_ecs::prelude::{Commands, Component, IntoScheduleConfigs, Query, Res, ResMut, Resource, SystemSet};
use chaconne_conductor::{Population, PopulationRun, PopulationSignals, PopulationStartup, Tick};
use chaconne_sim_core::SimDuration;

use crate::{
    driver::Driver,
    fleet::{self, Fleet},
    physics::VehiclePhysics,
    road::Road,
    signal::Pose,
    vehicle::{Command, Held, Vehicle, VehicleState},
};

/// How often the poses of all cars are published.
const REPORT_PERIOD: SimDuration = SimDuration::from_secs(1);

/// A population of the cars of a fleet. It steps every 10 ms and publishes `poses`, a list of [`Pose`] by car number, at
/// its first step and once per second.
#[must_use]
pub fn of(name: &str, fleet: &Fleet) -> Population {
    Population::new(name, FleetPlugin(fleet.clone())).every(VehiclePhysics::PERIOD)
}

/// Spawns the cars of a fleet and moves them: for populations that hold more than cars. Such a population should tick every
/// 10 ms; drivers decide, and poses are published, at the first tick at or after each multiple of their period.
#[derive(Clone, Debug)]
pub struct FleetPlugin(pub Fleet);

impl Plugin for FleetPlugin {
    fn build(&self, app: &mut App) {
        app.insert_resource(Start(self.0.clone()))
            .insert_resource(OnRoad(Arc::clone(self.0.road())))
            .insert_resource(Sightings(vec![None; self.0.cars().len()]))
            .configure_sets(Tick, (FleetSystems::Decide, FleetSystems::Move, FleetSystems::Report).chain())
            .add_systems(PopulationStartup, spawn)
            .add_systems(Tick, (locate, follow, steer).chain().in_set(FleetSystems::Decide).run_if(drivers_are_due))
            .add_systems(Tick, advance.in_set(FleetSystems::Move))
            .add_systems(Tick, report.in_set(FleetSystems::Report).run_if(a_report_is_due));
    }
}

/// What happens at a tick, in this order.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FleetSystems {
    /// Every 100 ms: drivers see where they and their leaders were after the last tick, and decide.
    Decide,
    /// Bodies move under what held so far; then the decisions hold.
    Move,
    /// Every second: the poses are published.
    Report,
}

/// A car's number in the fleet.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarNumber(pub u32);

/// The number of the car that a car follows, if there is one.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Follows(pub Option<u32>);

/// Where a car is and how it moves.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
pub struct Body(pub VehicleState);

/// What a driver wants.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
pub struct Habits {
    /// Lateral offset of the lane's centre in metres.
    pub lane_centre: f64,
    /// Speed on an empty road in m/s.
    pub desired_speed: f64,
}

/// Arc length in metres of where the driver looked last.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
struct Place(Option<f64>);

/// What the driver has decided, until the body takes it over.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
struct Decision(Command);

/// What the body moves under.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct HeldCommand(Held);

/// The fleet, until its cars are spawned.
#[derive(Resource)]
struct Start(Fleet);

#[derive(Resource)]
struct OnRoad(Arc<Road>);

/// Where each car was seen, and at what speed, by its number.
#[derive(Resource)]
struct Sightings(Vec<Option<(f64, f64)>>);

fn spawn(start: Res<Start>, mut commands: Commands) {
    let fleet = start.0.clone();
    let held = HeldCommand(Vehicle::CAR.hold(Command::default()));
    let cars: Vec<_> = (0..)
        .zip(fleet.cars())
        .map(|(number, car)| {
            let habits = Habits { lane_centre: fleet.lane_centre(car), desired_speed: car.desired_speed };
            let follows = Follows(car.leader.map(|leader| leader as u32));
            let body = Body(fleet.start(car));
            (CarNumber(number), follows, body, habits, Place::default(), Decision::default(), held)
        })
        .collect();
    commands.spawn_batch(cars);
    commands.remove_resource::<Start>();
}

/// Whether a multiple of `period` lies after the last tick and not after this one.
fn is_due(run: &PopulationRun, period: SimDuration) -> bool {
    let (now, period) = (run.now.as_nanos(), period.as_nanos());
    let last = now.saturating_sub(run.dt.as_nanos());
    now.div_euclid(period) > last.div_euclid(period)
}

fn drivers_are_due(run: Res<PopulationRun>) -> bool {
    is_due(&run, Driver::PERIOD)
}

fn a_report_is_due(run: Res<PopulationRun>) -> bool {
    run.tick == 0 || is_due(&run, REPORT_PERIOD)
}

/// Finds every car's place on the road.
fn locate(road: Res<OnRoad>, mut sightings: ResMut<Sightings>, mut cars: Query<(&CarNumber, &Body, &mut Place)>) {
    for (number, Body(state), mut place) in &mut cars {
        // What is not finite has no place; the run halts where it is published.
        place.0 = road.0.project(state.position, place.0).map(|place| place.s);
        sightings.0[number.0 as usize] = place.0.map(|s| (s, state.speed));
    }
}

/// Decides on accelerations, by the gap to the leader.
fn follow(
    road: Res<OnRoad>,
    sightings: Res<Sightings>,
    mut cars: Query<(&Body, &Place, &Habits, &Follows, &mut Decision)>,
) {
    for (Body(state), place, habits, follows, mut decision) in &mut cars {
        let Some(s) = place.0 else { continue };
        let model = habits.model();
        let sighting = follows.0.and_then(|leader| sightings.0[leader as usize]);
        let leader = sighting.map(|(leader_s, speed)| model.see(&road.0, s, leader_s, speed));
        decision.0.acceleration = model.acceleration(state.speed, leader);
    }
}

/// Decides on steering, by the middle of the lane ahead.
fn steer(road: Res<OnRoad>, mut cars: Query<(&Body, &Place, &Habits, &mut Decision)>) {
    for (Body(state), place, habits, mut decision) in &mut cars {
        let Some(s) = place.0 else { continue };
        decision.0.steering = habits.model().steering(&road.0, s, &Pose::from(*state));
    }
}

/// Moves the bodies, and takes over what was decided at this tick.
fn advance(run: Res<PopulationRun>, mut cars: Query<(&mut Body, &mut HeldCommand, &Decision)>) {
    let dt = run.dt.as_secs_f64();
    if is_due(&run, Driver::PERIOD) {
        for (mut body, mut held, decision) in &mut cars {
            body.0 = held.0.advance(body.0, dt);
            held.0 = Vehicle::CAR.hold(decision.0);
        }
    } else {
        for (mut body, held, _) in &mut cars {
            body.0 = held.0.advance(body.0, dt);
        }
    }
}

fn report(cars: Query<(&CarNumber, &Body)>, sightings: Res<Sightings>, mut signals: ResMut<PopulationSignals>) {
    let mut poses = vec![Pose::default(); sightings.0.len()];
    for (number, body) in &cars {
        poses[number.0 as usize] = Pose::from(body.0);
    }
    signals.publish("poses", poses);
}

impl Habits {
    #[inline]
    fn model(&self) -> crate::DriverModel {
        fleet::model(self.lane_centre, self.desired_speed)
    }
}
