//! The traffic of the example `traffic`, in step with the wall clock: what a viewer or hardware beside it would see.
//!
//! ```text
//! cargo run --release --example traffic_realtime
//! cargo run --release --example traffic_realtime -- --precise --until 5
//! cargo run --release --example traffic_realtime -- --factor 20 --quiet --json
//! ```
//!
//! The closing lines say how late instants began. Pacing changes nothing else: the world hash is that of `traffic` with the
//! same end.

#[path = "common/cars.rs"]
mod cars;
mod common;

use std::process::ExitCode;

use chaconne::prelude::*;
use common::say;
use serde::Serialize;

/// Drives an ego among cars that come, change lanes and go, in real time.
#[derive(clap::Parser)]
#[command(mut_arg("until", |until| until.default_value("20")))]
struct Arguments {
    /// Simulated seconds per second
    #[arg(long, value_name = "F", default_value = "1", value_parser = common::factor)]
    factor: f64,
    /// Keep pace to some microseconds, which keeps a core busy before each instant
    #[arg(long)]
    precise: bool,
    #[command(flatten)]
    world: cars::World,
    #[command(flatten)]
    options: common::Options,
}

/// What the JSON object says beside the run and its `pacing`.
#[derive(Serialize)]
struct Drove {
    factor: f64,
    precise: bool,
    #[serde(flatten)]
    sighted: cars::Sighted,
}

fn main() -> ExitCode {
    common::run(|Arguments { factor, precise, world, mut options }| {
        options.pacing = Pacing::RealTime { factor, spin: precise };
        let (road, sight) = (world.road()?, cars::Sight::default());
        let mut app = world.demo(&options, &road, &sight.watch(options.quiet))?;
        let report = app.run_headless(world.until);
        if !options.quiet {
            say("");
            sight.say_summary();
        }
        options.close(&report, Drove { factor, precise, sighted: sight.sighted() })
    })
}
