//! The world of the traffic examples: seven cars on a road, and a logger that prints where they are.

#![allow(dead_code, reason = "no example uses all of it")]

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use bevy::prelude::*;
use chaconne::prelude::*;
use chaconne::sim_core::math::angle;
use chaconne::traffic::demo::{self, CarSpec};
use chaconne::traffic::{Pose, PoseLogger, PoseSample, Road};

use crate::common::{Failure, Options, say};

/// Options of the traffic examples.
#[derive(clap::Args)]
pub(crate) struct World {
    /// Another road than the demo's, as a road file with at least three lanes
    #[arg(long, value_name = "FILE")]
    road: Option<PathBuf>,
    /// Simulated seconds
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) until: SimTime,
}

fn positive(text: &str) -> Result<SimTime, String> {
    match text.parse::<SimTime>() {
        Ok(time) if time > SimTime::ZERO => Ok(time),
        Ok(_) => Err("it must be above 0".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

impl World {
    /// An `App` with this road, no car yet, that remembers what it was made with.
    pub(crate) fn app(&self, options: &Options) -> Result<(App, Arc<Road>), Failure> {
        let road = self.road.as_ref().map_or_else(|| Ok(Road::demo()), Road::from_file).map_err(Failure::input)?;
        let mut app = App::new();
        let conductor = ConductorPlugin { end: Some(self.until), ..options.conductor() };
        app.add_plugins((MinimalPlugins, ChaconnePlugins.set(conductor), options.progress(self.until)))
            .mirror::<Pose>("pose");
        app.provenance().config("until", self.until.to_string()).config("road", road.name());
        if let Some(file) = &self.road {
            app.provenance().input(file).map_err(Failure::input)?;
        }
        Ok((app, Arc::new(road)))
    }

    /// As [`app`](Self::app), with the demo's seven cars and the logger.
    pub(crate) fn demo(&self, options: &Options) -> Result<(App, Arc<Road>), Failure> {
        let (mut app, road) = self.app(options)?;
        for car in demo::cars() {
            app.add_actor(actor(&car, &road)?);
        }
        app.add_actor(Actor::of("log", logger(&road, options.quiet)));
        Ok((app, road))
    }
}

/// A car as an actor: its controller before its physics.
pub(crate) fn actor(car: &CarSpec, road: &Arc<Road>) -> Result<Actor, Failure> {
    let (controller, physics) = car.parts(road).map_err(Failure::input)?;
    Ok(Actor::new(car.name.as_str()).child("controller", controller).child("physics", physics))
}

/// Prints a line per car and second, and marks each car's first one.
pub(crate) fn logger(road: &Arc<Road>, quiet: bool) -> PoseLogger {
    let road = Arc::clone(road);
    let mut seen = BTreeSet::new();
    PoseLogger::new(move |sample: PoseSample<'_>| {
        if quiet {
            return;
        }
        if seen.is_empty() {
            say("    time  car         road m  lane       x m       y m   heading     speed");
        }
        let PoseSample { published, car, pose, .. } = sample;
        let place = road.project(pose.ground(), None);
        let lane = place.and_then(|place| road.lane_at(place.lateral)).map_or("-".to_owned(), |lane| lane.to_string());
        let first = if seen.insert(car.to_owned()) { "  first pose" } else { "" };
        say(format_args!(
            "{published:>6} s  {car:<8} {:>9.1}  {lane:>4}  {:>8.1}  {:>8.1}  {:>7.1}°  {:>4.1} m/s{first}",
            place.map_or(f64::NAN, |place| place.s),
            pose.position.x,
            pose.position.y,
            angle::to_degrees(pose.heading()),
            pose.speed,
        ));
    })
}

/// How far along the road each car is, in metres, from its mirror; by path.
pub(crate) fn places(app: &mut App, road: &Road) -> Vec<(String, Option<f64>)> {
    let mut poses = app.world_mut().query::<(&ActorPath, &Signal<Pose>)>();
    let place = |pose: &Pose| road.project(pose.ground(), None).map(|place| place.s);
    let mut cars: Vec<_> = poses.iter(app.world()).map(|(path, pose)| (path.to_string(), place(pose))).collect();
    cars.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    cars
}

/// Whom the ego has passed.
pub(crate) fn overtaken(app: &mut App, road: &Road) -> String {
    let cars = places(app, road);
    let ego = cars.iter().find_map(|(path, s)| s.filter(|_| path == "ego"));
    let passed = |s: f64| {
        let lead = ego.map_or(0.0, |ego| road.distance_ahead(s, ego));
        lead > 0.0 && (lead < road.length() / 2.0 || !road.is_closed())
    };
    let behind: Vec<_> = cars.iter().filter(|(_, s)| s.is_some_and(passed)).map(|(path, _)| path.as_str()).collect();
    match behind.as_slice() {
        [] => "the ego is ahead of nobody".to_owned(),
        cars => format!("the ego is ahead of {}", cars.join(", ")),
    }
}
