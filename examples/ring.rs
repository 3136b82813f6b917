//! A ring of participants that pass numbers on: what a step and a signal cost, and how much memory a participant takes.
//!
//! Each participant steps every 10 ms, adds one half to the number that its neighbour sent at the instant before, and
//! sends it on. So the numbers go around the ring, and after the last instant their sum is known: it is checked.
//!
//! ```text
//! cargo run --release --example ring
//! cargo run --release --example ring -- --participants 100000 --threads 2
//! cargo run --release --example ring -- --participants 100000 --mirrors
//! ```

mod common;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bevy::prelude::*;
use chaconne::prelude::*;
use common::{Failure, count, resident_bytes};
use serde::Serialize;

/// Time between two steps.
const PERIOD: SimDuration = SimDuration::from_millis(10);

/// Instants before the measurement, in which keys are declared and buffers find their size.
const WARM_UP: u64 = 10;

/// Passes numbers around a ring of participants and measures it.
#[derive(clap::Parser)]
struct Arguments {
    /// How many participants stand in the ring
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    participants: u32,
    /// How many instants are stepped, the first ten unmeasured [default: about a million steps]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(11..=100_000_000))]
    instants: Option<u32>,
    /// Mirror every participant, and its newest number, as an entity of the App
    #[arg(long)]
    mirrors: bool,
    #[command(flatten)]
    options: common::Options,
}

/// One participant of the ring.
struct Member {
    /// The signal to listen to.
    previous: String,
    number: f64,
    /// Steps to go.
    steps: u64,
    /// Where the last number is handed in, in halves.
    halves: Arc<AtomicU64>,
}

impl Participant for Member {
    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::every(self.previous.clone())]
    }

    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        for signal in ctx.inbox() {
            self.number = signal.decode()?;
        }
        self.number += 0.5;
        ctx.publish("number", &self.number)?;
        self.steps -= 1;
        if self.steps == 0 {
            self.halves.fetch_add((2.0 * self.number) as u64, Ordering::Relaxed);
            return Ok(ctx.never());
        }
        ctx.after(PERIOD)
    }
}

/// What the JSON object holds beside the conventions.
#[derive(Serialize)]
struct Measured {
    mirrors: bool,
    sum: f64,
    ns_per_step_and_signal: f64,
    /// Where the operating system tells.
    bytes_per_participant: Option<f64>,
}

fn main() -> ExitCode {
    common::run(|Arguments { participants, instants, mirrors, options }| {
        let members = u64::from(participants);
        let instants = instants.map_or((1_000_000 / members).clamp(2 * WARM_UP, 100_000), u64::from);
        let end = SimTime::ZERO.checked_add(PERIOD.checked_mul(instants as i64).map_err(Failure::input)?);
        let end = end.map_err(Failure::input)?;

        let halves = Arc::new(AtomicU64::new(0));
        let mut app = App::new();
        let mirroring = if mirrors { Mirroring::All } else { Mirroring::Off };
        let conductor = ConductorPlugin { mirrors: mirroring, ..options.conductor() };
        app.add_plugins((MinimalPlugins, ChaconnePlugins.set(conductor), options.progress(end)));
        if mirrors {
            app.mirror::<f64>("number");
        }
        let before = resident_bytes();
        for member in 0..members {
            let previous = KeyExpr::of_actor(&name((member + members - 1) % members), "number");
            let number = member as f64;
            let halves = Arc::clone(&halves);
            app.add_actor(Actor::of(name(member), Member { previous, number, steps: instants, halves }));
        }
        let warm_up = SimTime::ZERO.checked_add(PERIOD.checked_mul(WARM_UP as i64).map_err(Failure::input)?);
        let warm = app.run_headless(warm_up.map_err(Failure::input)?);
        let bytes = before.zip(resident_bytes()).map(|(before, after)| after.saturating_sub(before));

        let report = app.run_headless(SimTime::MAX);
        if report.stopped {
            return options.close(&report, common::Nothing {});
        }
        let (steps, wall) = (report.steps - warm.steps, report.wall - warm.wall);
        let ns = wall.as_nanos() as f64 / steps as f64;
        let bytes = bytes.map(|bytes| bytes as f64 / members as f64);
        options.say(format_args!("{ns:.1} ns per step and signal, of {} in all", count(steps)));
        if let Some(bytes) = bytes.filter(|_| members >= 1000) {
            options.say(format_args!("{bytes:.0} bytes per participant"));
        }
        let sum = halves.load(Ordering::Relaxed) as f64 / 2.0;
        let measured = Measured { mirrors, sum, ns_per_step_and_signal: ns, bytes_per_participant: bytes };
        options.close(&report, measured)?;

        // Every number began as its participant's place, and one half was added at each instant.
        let expected = members * (members - 1) + members * instants;
        if halves.load(Ordering::Relaxed) == expected {
            Ok(())
        } else {
            Err(Failure::Run(format!("the numbers of the ring add up to {sum}, not to {}", expected as f64 / 2.0)))
        }
    })
}

fn name(member: u64) -> String {
    format!("p{member}")
}
