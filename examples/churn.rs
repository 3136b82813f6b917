//! Visitors come and go, a million of them: what a join and a leave cost, whether memory stays where it is, and whether
//! instants stay as fast as they were.
//!
//! A host steps every 10 ms. In each step it asks for some visitors to join, under paths that were never used before, and
//! for as many, the oldest, to leave; a factory makes them. Each visitor holds what the host said last, and publishes a
//! number every 100 ms. A second world without comings and goings tells what the visitors' own steps take.
//!
//! ```text
//! cargo run --release --example churn
//! cargo run --release --example churn -- --joins 10000 --present 100
//! ```

mod common;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use bevy::prelude::*;
use chaconne::prelude::*;
use common::{Failure, count, resident_bytes};
use serde::Serialize;

/// Time between two steps of the host, and of a visitor.
const PERIOD: SimDuration = SimDuration::from_millis(10);
const VISITOR_PERIOD: SimDuration = SimDuration::from_millis(100);

/// Into how many parts the run is cut, to compare the first with the last.
const PARTS: u64 = 10;

/// Lets visitors join and leave and measures what that costs.
#[derive(clap::Parser)]
struct Arguments {
    /// How many join in all
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1_000..=1_000_000_000))]
    joins: u64,
    /// How many are in the world at a time
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    present: u64,
    /// How many join, and leave, at each instant
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    per_instant: u64,
    #[command(flatten)]
    options: common::Options,
}

/// Asks for visitors to come and go.
struct Host {
    joined: u64,
    joins: u64,
    present: u64,
    per_instant: u64,
}

impl Participant for Host {
    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        if let Some(refusal) = ctx.refusals().next() {
            return Err(refusal.to_string().into());
        }
        ctx.publish("said", &(self.joined as f64))?;
        for _ in 0..self.per_instant.min(self.joins - self.joined) {
            let first_due = ctx.now().checked_add(PERIOD)?;
            ctx.join(JoinRequest::new(visitor(self.joined), "visitor").first_due(first_due));
            if let Some(oldest) = self.joined.checked_sub(self.present) {
                ctx.leave(visitor(oldest));
            }
            self.joined += 1;
        }
        ctx.after(PERIOD)
    }
}

fn visitor(number: u64) -> String {
    format!("visitor-{number}")
}

/// Holds what the host said, and says it again.
struct Visitor;

impl Participant for Visitor {
    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::latest("chaconne/*/actor/host/said")]
    }

    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        let said = ctx.latest::<f64>("chaconne/*/actor/host/said")?.map_or(0.0, |said| *said);
        ctx.publish("heard", &said)?;
        ctx.after(VISITOR_PERIOD)
    }
}

/// What the JSON object holds beside the conventions.
#[derive(Serialize)]
struct Measured {
    /// Unless all had joined before the measurement.
    #[serde(skip_serializing_if = "Option::is_none")]
    us_per_join_and_leave: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    us_of_making_one: Option<f64>,
    us_per_instant_without: f64,
    last_part_over_first: f64,
    /// Where the operating system tells.
    bytes_after_first_part: Option<u64>,
    bytes_at_the_end: Option<u64>,
}

/// A world with a host that lets `joins` visitors come.
fn world(options: &common::Options, host: Host, making: &Arc<AtomicU64>) -> App {
    let mut app = App::new();
    let conductor = ConductorPlugin { mirrors: Mirroring::Off, ..options.conductor() };
    app.add_plugins((MinimalPlugins, ChaconnePlugins.set(conductor)));
    let making = Arc::clone(making);
    #[allow(clippy::disallowed_methods, reason = "examples measure themselves; no result depends on it")]
    let make = move |_: &JoinRequest, path: &ActorPath| {
        let start = Instant::now();
        let actor = Actor::of(path.as_str(), Visitor);
        making.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        Ok(actor)
    };
    app.set_maker(make).add_actor(Actor::of("host", host));
    app
}

fn main() -> ExitCode {
    common::run(|Arguments { joins, present, per_instant, options }| {
        let making = Arc::new(AtomicU64::new(0));
        let time = |instants: u64| {
            let nanos = PERIOD.as_nanos().checked_mul(i64::try_from(instants).unwrap_or(i64::MAX));
            nanos.map(SimTime::from_nanos).ok_or_else(|| Failure::Input("the run would be too long".to_owned()))
        };
        // Full, and then some, so that everything has its size.
        let filled = present.div_ceil(per_instant) + 20;
        let instants = joins.div_ceil(per_instant).max(filled + PARTS);
        let part = (instants - filled) / PARTS;

        let mut still = world(&options, Host { joined: 0, joins: present, present, per_instant }, &making);
        still.run_headless(time(filled)?);
        let before = still.run_headless(time(filled)?).wall;
        let without = (still.run_headless(time(filled + part)?).wall - before).as_nanos() as f64 / part as f64;
        drop(still);

        let mut app = world(&options, Host { joined: 0, joins, present, per_instant }, &making);
        let mut wall = app.run_headless(time(filled)?).wall;
        making.store(0, Ordering::Relaxed);
        let (mut parts, mut bytes) = (Vec::new(), Vec::new());
        let from = app.run_headless(time(filled)?);
        for number in 1..=PARTS {
            let report = app.run_headless(time(filled + part * number)?);
            parts.push((report.wall - wall).as_nanos() as f64);
            wall = report.wall;
            bytes.push(resident_bytes());
        }
        let measured_joins = (app.run_headless(time(filled + part * PARTS)?).joins - from.joins) as f64;
        let nanos: f64 = parts.iter().sum();
        let making = making.load(Ordering::Relaxed) as f64;
        // What does not fill a part.
        app.run_headless(time(instants)?);
        let report = app.end_run();
        if report.stopped {
            return options.close(&report, common::Nothing {});
        }
        let per_join = |nanos: f64| (measured_joins > 0.0).then(|| nanos / measured_joins / 1e3);
        let measured = Measured {
            us_per_join_and_leave: per_join(nanos - making - without * (part * PARTS) as f64),
            us_of_making_one: per_join(making),
            us_per_instant_without: without / 1e3,
            last_part_over_first: parts[parts.len() - 1] / parts[0],
            bytes_after_first_part: bytes[0],
            bytes_at_the_end: bytes[bytes.len() - 1],
        };
        match (measured.us_per_join_and_leave, measured.us_of_making_one) {
            (Some(both), Some(making)) => options.say(format_args!(
                "{both:.2} µs per join and leave, and {making:.2} µs of making the visitor; an instant without takes {:.1} µs",
                measured.us_per_instant_without
            )),
            _ => options.say("all had joined before the measurement: give more to --joins, or less to --per-instant"),
        }
        options.say(format_args!("the last tenth took {:.2} times the first", measured.last_part_over_first));
        if let (Some(first), Some(last)) = (bytes[0], bytes[bytes.len() - 1]) {
            let (first, last) = (count(first / 1024), count(last / 1024));
            options.say(format_args!("{first} KiB of memory after the first tenth, {last} KiB after the last"));
        }
        options.close(&report, measured)
    })
}
