//! The world of the `traffic` example, recorded to a log: signals, and who joins and leaves.
//!
//! ```text
//! cargo run --release --example traffic_record -- run.jsonl
//! cargo run --release --features zstd --example traffic_record -- run.jsonl.zst
//! cargo run --release --features cli --bin chaconne -- log info run.jsonl
//! ```
//!
//! The world hash is that of `traffic`: a recorder changes nothing.

#[path = "common/cars.rs"]
mod cars;
mod common;

use std::path::PathBuf;
use std::process::ExitCode;

use chaconne::prelude::*;
use common::say;
use serde::Serialize;

/// Drives an ego among cars that come, change lanes and go, and records the run.
#[derive(clap::Parser)]
struct Arguments {
    /// The log to write; what the file held before is lost. With a name that ends in .zst it is compressed
    #[arg(value_name = "FILE")]
    log: PathBuf,
    #[command(flatten)]
    world: cars::World,
    #[command(flatten)]
    options: common::Options,
}

/// What the JSON object says beside the run.
#[derive(Serialize)]
struct Recorded {
    #[serde(flatten)]
    sighted: cars::Sighted,
    log: String,
    log_bytes: u64,
}

fn main() -> ExitCode {
    common::run(|Arguments { log, world, options }| {
        let (road, sight) = (world.road()?, cars::Sight::default());
        let mut app = world.demo(&options, &road, &sight.watch(options.quiet))?;
        app.add_plugins(RecordPlugin::new(&log));
        let report = app.run_headless(world.until);
        let log_bytes = std::fs::metadata(&log).map_or(0, |file| file.len());
        if report.is_complete() && !options.quiet {
            say("");
            sight.say_summary();
            say(format_args!("recorded to {} ({} bytes)", log.display(), common::count(log_bytes)));
        }
        options.close(&report, Recorded { sighted: sight.sighted(), log: log.display().to_string(), log_bytes })
    })
}
