//! The world of the `traffic` example once more, compared with a log instant by instant.
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
use common::Failure;
use serde::Serialize;

/// Drives an ego among cars that come, change lanes and go, and compares the run with a log.
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
    #[serde(flatten)]
    sighted: cars::Sighted,
    log: String,
    /// Nothing differed.
    verified: bool,
    /// The run was compared to its end.
    whole: bool,
    compared_instants: u64,
}

fn main() -> ExitCode {
    common::run(|Arguments { log, world, options }| {
        // What is no log is refused before anything runs.
        LogReader::open(&log).map_err(Failure::input)?;
        let sight = cars::Sight::default();
        let mut app = world.demo(&options, &world.road()?, &sight.watch(true))?;
        app.add_plugins(VerifyPlugin::new(&log));
        let report = app.run_headless(world.until);
        let verified = report.is_complete();
        let verification = app.world().resource::<Verification>();
        let (whole, compared_instants) = (verification.is_whole(), verification.ticks());
        let log = log.display().to_string();
        match (verified, whole) {
            (true, true) => options.say(format_args!("the run is the one in {log}, bit for bit")),
            (true, false) if report.stopped => {}
            (true, false) => {
                let compared = common::counted(compared_instants, "instant");
                options
                    .say(format_args!("the run is the one in {log}, bit for bit, for {compared}: there the log ends"));
            }
            (false, _) => {}
        }
        options.close(&report, Verified { sighted: sight.sighted(), log, verified, whole, compared_instants })
    })
}
