//! A changed ego in recorded traffic: the others are played back from a log, and the ego drives anew.
//!
//! ```text
//! cargo run --release --example traffic_record -- run.jsonl --quiet
//! cargo run --release --example traffic_resim -- run.jsonl
//! cargo run --release --example traffic_resim -- run.jsonl --ego-speed 36 --record faster.jsonl
//! cargo run --release --example traffic_resim -- run.jsonl --ego-speed 36 --verify faster.jsonl
//! ```
//!
//! The others join, change lanes and leave as they did, and do not react to the ego: what they publish is in the log. So an
//! ego that is not where it was may be hit. Who looks on is new: a logger, and the monitors of collisions and close calls.
//! Nothing is compared with the log that is played back, but the run itself can be recorded, and verified.

#[path = "common/cars.rs"]
mod cars;
mod common;

use std::path::PathBuf;
use std::process::ExitCode;

use chaconne::prelude::*;
use chaconne::traffic::demo;
use common::{Failure, say};
use serde::Serialize;

/// Plays recorded cars back around an ego that wants to go at another speed.
#[derive(clap::Parser)]
struct Arguments {
    /// The log of traffic_record to play back
    #[arg(value_name = "FILE")]
    log: PathBuf,
    /// The speed that the ego wants, in m/s; it was 30 in the recording
    #[arg(long, value_name = "M/S", default_value_t = 24.0)]
    ego_speed: f64,
    /// Record this run to another log
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Compare this run with a log of it
    #[arg(long, value_name = "FILE")]
    verify: Option<PathBuf>,
    #[command(flatten)]
    world: cars::World,
    #[command(flatten)]
    options: common::Options,
}

/// What the JSON object says beside the run.
#[derive(Serialize)]
struct Resimulated {
    log: String,
    played_back: usize,
    ego_speed: f64,
    ego_road_m: Option<f64>,
    #[serde(flatten)]
    sighted: cars::Sighted,
}

/// The others are where the log says: another seed or another road would be another experiment than it seems.
fn same_world(playback: &Playback, options: &common::Options, road: &str) -> Result<(), Failure> {
    let header = playback.header();
    let recorded = header.provenance["config"]["road"].as_str();
    if let Some(recorded) = recorded.filter(|recorded| *recorded != road) {
        return Err(Failure::Input(format!(
            "the log was recorded on the road `{recorded}`, and this is `{road}`: give its file with --road"
        )));
    }
    if header.seed != options.seed {
        return Err(Failure::Input(format!("the log was recorded with the seed {}: give --seed {0}", header.seed)));
    }
    Ok(())
}

fn main() -> ExitCode {
    common::run(|Arguments { log, ego_speed, record, verify, world, options }| {
        let playback = Playback::open(&log).map_err(Failure::input)?;
        let road = world.road()?;
        same_world(&playback, &options, road.name())?;
        if world.until > playback.end() {
            return Err(Failure::Input(format!(
                "the log can be played to {0} s: give --until {0} or less",
                playback.end()
            )));
        }
        let mut app = world.app(&options, &road)?;
        app.provenance().config("played_back", log.display().to_string()).config("ego_speed", ego_speed);

        app.add_actor(demo::ego_actor(&road, ego_speed).map_err(Failure::input)?);
        // Who looked on in the recording looks on anew. The recorded spawner said nothing, and those it asked for are in
        // the log.
        let others = |path: &ActorPath| {
            !matches!(path.segments().next(), Some("ego" | "spawner" | "log" | "collisions" | "ttc"))
        };
        let played_back = playback.paths().filter(|path| others(path)).count();
        for actor in playback.actors(others).map_err(Failure::input)? {
            app.add_actor(actor);
        }
        let sight = cars::Sight::default();
        let looking_on = demo::actors(&road, ego_speed, &sight.watch(options.quiet)).map_err(Failure::input)?;
        for actor in looking_on.into_iter().filter(|actor| matches!(actor.path(), "log" | "collisions" | "ttc")) {
            app.add_actor(actor);
        }

        if let Some(file) = &verify {
            LogReader::open(file).map_err(Failure::input)?;
            app.add_plugins(VerifyPlugin::new(file));
        }
        if let Some(file) = &record {
            app.add_plugins(RecordPlugin::new(file));
        }
        let report = app.run_headless(world.until);
        if !options.quiet && report.is_complete() {
            say("");
            sight.say_summary();
            if let Some(file) = &record {
                say(format_args!("recorded to {}", file.display()));
            }
            if verify.is_some() && !report.stopped {
                say("the run is the one in the log, bit for bit");
            }
        }
        let ego_road_m = cars::ego_place(&mut app, &road);
        let (log, sighted) = (log.display().to_string(), sight.sighted());
        options.close(&report, Resimulated { log, played_back, ego_speed, ego_road_m, sighted })
    })
}
