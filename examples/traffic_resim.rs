//! A changed ego in recorded traffic: the others are played back from a log, and the ego drives anew.
//!
//! ```text
//! cargo run --release --example traffic_record -- run.jsonl --quiet
//! cargo run --release --example traffic_resim -- run.jsonl
//! cargo run --release --example traffic_resim -- run.jsonl --ego-speed 36 --record faster.jsonl
//! cargo run --release --example traffic_resim -- run.jsonl --ego-speed 36 --verify faster.jsonl
//! ```
//!
//! The others do not react to the ego: what they publish is in the log. Nothing is compared with the log that is played
//! back, but the run itself can be recorded, and verified.

#[path = "common/cars.rs"]
mod cars;
mod common;

use std::path::PathBuf;
use std::process::ExitCode;

use chaconne::prelude::*;
use chaconne::traffic::demo;
use common::Failure;
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
        let (mut app, road) = world.app(&options)?;
        same_world(&playback, &options, road.name())?;
        if world.until > playback.end() {
            return Err(Failure::Input(format!(
                "the log can be played to {0} s: give --until {0} or less",
                playback.end()
            )));
        }
        app.provenance().config("played_back", log.display().to_string()).config("ego_speed", ego_speed);

        let mut ego = demo::cars().swap_remove(0);
        ego.speed = ego_speed;
        app.add_actor(cars::actor(&ego, &road)?);
        // The recorded logger heard everything and said nothing; it is not needed.
        let others = |path: &ActorPath| !matches!(path.segments().next(), Some("ego" | "log"));
        let played_back = playback.paths().filter(|path| others(path)).count();
        for actor in playback.actors(others).map_err(Failure::input)? {
            app.add_actor(actor);
        }
        app.add_actor(Actor::of("log", cars::logger(&road, options.quiet)));

        if let Some(file) = &verify {
            LogReader::open(file).map_err(Failure::input)?;
            app.add_plugins(VerifyPlugin::new(file));
        }
        if let Some(file) = &record {
            app.add_plugins(RecordPlugin::new(file));
        }
        let report = app.run_headless(world.until);
        options.say("");
        options.say(cars::overtaken(&mut app, &road));
        if let Some(file) = &record {
            options.say(format_args!("recorded to {}", file.display()));
        }
        if verify.is_some() && report.is_complete() {
            options.say("the run is the one in the log, bit for bit");
        }
        let ego_road_m = cars::places(&mut app, &road).into_iter().find_map(|(path, s)| s.filter(|_| path == "ego"));
        options.close(&report, Resimulated { log: log.display().to_string(), played_back, ego_speed, ego_road_m })
    })
}
