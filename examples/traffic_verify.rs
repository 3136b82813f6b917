//! The cars of the `traffic` example once more, compared with a log instant by instant.
//!
//! ```text
//! cargo run --release --example traffic_record -- run.jsonl
//! cargo run --release --example traffic_verify -- run.jsonl
//! cargo run --release --example traffic_verify -- run.jsonl --threads 1 --no-typed
//! ```
//!
//! The run stops at the first difference with exit code 1 and a sentence that names the log's line, the instant, the
//! participant and the field. Give it the options (`--seed`, `--until`, `--road`) that the log was recorded with.

#[path = "common/cars.rs"]
mod cars;
mod common;

use std::path::PathBuf;
use std::process::ExitCode;

use chaconne::prelude::*;
use serde::Serialize;

/// Drives seven cars along a road and compares the run with a log.
#[derive(clap::Parser)]
struct Arguments {
    /// The log to compare with
    #[arg(value_name = "FILE")]
    log: PathBuf,
    #[command(flatten)]
    world: cars::World,
    #[command(flatten)]
    options: common::Options,
}

/// What the JSON object says beside the run.
#[derive(Serialize)]
struct Verified {
    log: String,
    verified: bool,
}

fn main() -> ExitCode {
    common::run(|Arguments { log, world, options }| {
        common::readable(&log)?;
        let (mut app, _) = world.demo(&common::Options { quiet: true, ..options.clone() })?;
        app.add_plugins(VerifyPlugin::new(&log));
        let report = app.run_headless(world.until);
        let verified = report.is_complete();
        if verified {
            options.say(format_args!("the run is the one in {}, bit for bit", log.display()));
        }
        options.close(&report, Verified { log: log.display().to_string(), verified })
    })
}
