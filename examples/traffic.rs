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
//! The same seed and the same road end with the same world hash, whatever `--threads` and `--no-typed` say, in debug
//! and in release.

#[path = "common/cars.rs"]
mod cars;
mod common;

use std::process::ExitCode;

use chaconne::prelude::*;

/// Drives seven cars along a road and prints where they are.
#[derive(clap::Parser)]
struct Arguments {
    #[command(flatten)]
    world: cars::World,
    #[command(flatten)]
    options: common::Options,
}

fn main() -> ExitCode {
    common::run(|Arguments { world, options }| {
        let (mut app, road) = world.demo(&options)?;
        let report = app.run_headless(world.until);
        options.say("");
        options.say(cars::overtaken(&mut app, &road));
        options.close(&report, common::Nothing {})
    })
}
