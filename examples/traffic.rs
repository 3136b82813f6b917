//! Seven cars on a road of three lanes: an ego overtakes the others, who follow each other.
//!
//! Each car is an actor of two parts: a controller that steps every 100 ms and physics that step every 10 ms. A logger,
//! a participant like any other, prints where they are: each car's first pose, and one line per simulated second.
//!
//! ```text
//! cargo run --release --example traffic
//! cargo run --release --example traffic -- --until 3600 --quiet --json
//! cargo run --release --example traffic -- --road assets/roads/demo.json
//! ```
//!
//! The same seed and the same road end with the same world hash, whatever `--threads` and `--no-typed` say, in debug and
//! in release.

mod common;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use bevy::prelude::*;
use chaconne::prelude::*;
use chaconne::sim_core::math::angle;
use chaconne::traffic::{Pose, PoseLogger, PoseSample, Road, demo};
use common::{Failure, say};

/// Drives seven cars along a road and prints where they are.
#[derive(clap::Parser)]
struct Arguments {
    /// Another road than the demo's, as a road file with at least three lanes
    #[arg(long, value_name = "FILE")]
    road: Option<PathBuf>,
    /// Simulated seconds
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = positive, allow_negative_numbers = true)]
    until: SimTime,
    #[command(flatten)]
    options: common::Options,
}

fn positive(text: &str) -> Result<SimTime, String> {
    match text.parse::<SimTime>() {
        Ok(time) if time > SimTime::ZERO => Ok(time),
        Ok(_) => Err("it must be above 0".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn main() -> ExitCode {
    common::run(|Arguments { road, until, options }| {
        let road = road.map_or_else(|| Ok(Road::demo()), Road::from_file).map_err(Failure::input)?;
        let road = Arc::new(road);
        let mut app = App::new();
        let conductor = ConductorPlugin { end: Some(until), ..options.conductor() };
        app.add_plugins((MinimalPlugins, ChaconnePlugins.set(conductor), options.progress(until)))
            .mirror::<Pose>("pose");
        for car in demo::cars() {
            let (controller, physics) = car.parts(&road).map_err(Failure::input)?;
            app.add_actor(Actor::new(car.name.as_str()).child("controller", controller).child("physics", physics));
        }
        app.add_actor(Actor::of("log", logger(&road, options.quiet)));

        let report = app.run_headless(until);
        options.say("");
        options.say(overtaken(&mut app, &road));
        options.close(&report, common::Nothing {})
    })
}

/// Prints a line per car and second, and marks each car's first one.
fn logger(road: &Arc<Road>, quiet: bool) -> PoseLogger {
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

/// Whom the ego has passed, from the mirrors of the cars.
fn overtaken(app: &mut App, road: &Road) -> String {
    let mut poses = app.world_mut().query::<(&ActorPath, &Signal<Pose>)>();
    let place = |pose: &Pose| road.project(pose.ground(), None).map(|place| place.s);
    let mut cars: Vec<_> = poses.iter(app.world()).map(|(path, pose)| (path.as_str(), place(pose))).collect();
    cars.sort_unstable_by_key(|(path, _)| *path);
    let ego = cars.iter().find_map(|&(path, s)| s.filter(|_| path == "ego"));
    let passed = |s: f64| {
        let lead = ego.map_or(0.0, |ego| road.distance_ahead(s, ego));
        lead > 0.0 && (lead < road.length() / 2.0 || !road.is_closed())
    };
    let behind: Vec<_> = cars.iter().filter(|(_, s)| s.is_some_and(passed)).map(|(path, _)| *path).collect();
    match behind.as_slice() {
        [] => "the ego is ahead of nobody".to_owned(),
        cars => format!("the ego is ahead of {}", cars.join(", ")),
    }
}
