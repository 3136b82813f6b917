//! An ego overtakes slower traffic on a road of three lanes. The others come, change lanes as they like, and go.
//!
//! A spawner keeps six cars around the ego, a control says who may change lanes, a logger prints where everybody is (each
//! car's first pose, and one line per simulated second), and two monitors look for collisions and for close calls: each a
//! participant like any other. Each car is an actor of two parts: a controller that steps every 100 ms and physics that step
//! every 10 ms; the ego has a radar besides.
//!
//! ```text
//! cargo run --release --example traffic
//! cargo run --release --example traffic -- --until 3600 --quiet --json
//! cargo run --release --example traffic -- --road assets/roads/demo.json
//! cargo run --release --example traffic -- --seeds 100 --until 120
//! ```
//!
//! The same seed and the same road end with the same world hash, whatever `--threads` and `--no-typed` say, in debug
//! and in release. `assets/scenarios/demo.json5` is this world as a file.

#[path = "common/cars.rs"]
mod cars;
mod common;

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use chaconne::prelude::*;
use chaconne::traffic::ttc::Minima;
use chaconne::traffic::{Gap, Road, Ttc, Watch};
use common::{Failure, Progress, counted, say};
use serde::Serialize;

/// Drives an ego among cars that come, change lanes and go, and prints where they are.
#[derive(clap::Parser)]
#[command(
    after_help = "Exit codes: 0 success, 1 a run halted, or one of several saw a collision, 2 bad usage or input, 130 stopped by Ctrl-C or SIGTERM"
)]
struct Arguments {
    /// Run N worlds instead of one, with the seeds from --seed on, and print a line for each; exits with 1 if cars collided
    /// in any of them
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    seeds: u64,
    #[command(flatten)]
    world: cars::World,
    #[command(flatten)]
    options: common::Options,
}

/// What the JSON object says beside the run.
#[derive(Serialize)]
struct Drove {
    #[serde(flatten)]
    sighted: cars::Sighted,
    joined: u64,
    left: u64,
    lane_changes: u64,
    into_ego_lane: u64,
}

fn main() -> ExitCode {
    common::run(|Arguments { seeds, world, options }| {
        let road = world.road()?;
        if seeds > 1 {
            return many(seeds, &world, &options, &road);
        }
        let (sight, tally) = (cars::Sight::default(), cars::Tally::default());
        let mut app = world.demo(&options, &road, &sight.watch(options.quiet))?;
        app.add_monitor(tally.clone());
        let report = app.run_headless(world.until);
        let counts = tally.counts();
        if !options.quiet {
            say("");
            sight.say_summary();
            say(counts.told());
        }
        let cars::Counts { joined, left, lane_changes, into_ego_lane } = counts;
        options.close(&report, Drove { sighted: sight.sighted(), joined, left, lane_changes, into_ego_lane })
    })
}

/// One of several worlds.
#[derive(Serialize)]
struct Seed {
    seed: u64,
    world_hash: String,
    joined: u64,
    lane_changes: u64,
    into_ego_lane: u64,
    collisions: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    least_gap_m: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    least_ttc_s: Option<f64>,
}

/// All of them together.
#[derive(Serialize)]
struct Total {
    seeds: u64,
    simulated_s: f64,
    wall_s: f64,
    joined: u64,
    lane_changes: u64,
    into_ego_lane: u64,
    collisions: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    least_gap: Option<Least<Gap>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    least_ttc: Option<Least<Ttc>>,
    runs: Vec<Seed>,
}

/// The smallest of something over all seeds.
#[derive(Serialize)]
struct Least<T> {
    seed: u64,
    #[serde(flatten)]
    at: T,
}

/// Keeps the smaller of both; the earlier seed where they are equal.
fn keep<T>(least: &mut Option<Least<T>>, seed: u64, new: Option<T>, value: impl Fn(&T) -> f64) {
    if let Some(at) = new
        && least.as_ref().is_none_or(|least| value(&at) < value(&least.at))
    {
        *least = Some(Least { seed, at });
    }
}

/// Runs worlds one after another: they are small, and each would rather have the processor's caches to itself.
fn many(seeds: u64, world: &cars::World, options: &common::Options, road: &Arc<Road>) -> Result<(), Failure> {
    let Some(end) = options.seed.checked_add(seeds) else {
        return Err(Failure::Input(format!(
            "seeds end at {}, so there are not {seeds} from {} on: give less to --seed or --seeds",
            u64::MAX - 1,
            options.seed
        )));
    };
    let mut total = Total {
        seeds,
        simulated_s: 0.0,
        wall_s: 0.0,
        joined: 0,
        lane_changes: 0,
        into_ego_lane: 0,
        collisions: 0,
        least_gap: None,
        least_ttc: None,
        runs: Vec::new(),
    };
    let mut progress = Progress::new(options.quiet);
    for seed in options.seed..end {
        progress.show((seed - options.seed) as f64 / seeds as f64, || {
            format!("seed {seed} of {} to {}", options.seed, end - 1)
        });
        one(seed, world, options, road, &mut total)?;
    }
    if !options.quiet {
        total.say();
    }
    options.json(&total);
    let hit: Vec<String> = total.runs.iter().filter(|run| run.collisions > 0).map(|run| run.seed.to_string()).collect();
    match hit.as_slice() {
        [] => Ok(()),
        [seed] => {
            Err(Failure::Run(format!("cars collided with the seed {seed}; run it with --seed {seed} to see how")))
        }
        [seed, ..] => Err(Failure::Run(format!(
            "cars collided with {} of {seeds} seeds ({}); run one with --seed {seed} to see how",
            hit.len(),
            hit.join(", ")
        ))),
    }
}

/// Runs the world of one seed and prints its line.
fn one(
    seed: u64,
    world: &cars::World,
    options: &common::Options,
    road: &Arc<Road>,
    total: &mut Total,
) -> Result<(), Failure> {
    let (tally, seen) = (cars::Tally::default(), Arc::new(Mutex::new((0_u64, Minima::default()))));
    let [collisions, minima] = [(); 2].map(|()| Arc::clone(&seen));
    let watch = Watch {
        collision: Arc::new(move |_| collisions.lock().unwrap_or_else(PoisonError::into_inner).0 += 1),
        minima: Arc::new(move |least| {
            minima.lock().unwrap_or_else(PoisonError::into_inner).1 = least.clone();
        }),
        ..Watch::default()
    };
    let mut app = world.demo(&common::Options { seed, quiet: true, ..options.clone() }, road, &watch)?;
    app.add_monitor(tally.clone());
    let report = app.run_headless(world.until);
    if !report.is_complete() {
        return Err(Failure::Halted);
    }
    if report.stopped {
        return Err(Failure::stopped(&report));
    }
    let cars::Counts { joined, lane_changes, into_ego_lane, .. } = tally.counts();
    let (collisions, Minima { ttc, gap }) = seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let run = Seed {
        seed,
        world_hash: report.world_hash.to_string(),
        joined,
        lane_changes,
        into_ego_lane,
        collisions,
        least_gap_m: gap.as_ref().map(|gap| gap.metres),
        least_ttc_s: ttc.as_ref().map(|ttc| ttc.seconds),
    };
    if !options.quiet {
        if total.runs.is_empty() {
            say("      seed  cars  lane changes  into the ego's  collisions      gap      TTC  world hash");
        }
        let measured =
            |value: Option<f64>, unit: &str| value.map_or("-".to_owned(), |value| format!("{value:.2} {unit}"));
        say(format_args!(
            "{seed:>10}  {joined:>4}  {lane_changes:>12}  {into_ego_lane:>14}  {collisions:>10}  {:>7}  {:>7}  {}",
            measured(run.least_gap_m, "m"),
            measured(run.least_ttc_s, "s"),
            run.world_hash,
        ));
    }
    total.simulated_s += world.until.as_secs_f64();
    total.wall_s += report.wall.as_secs_f64();
    total.joined += joined;
    total.lane_changes += lane_changes;
    total.into_ego_lane += into_ego_lane;
    total.collisions += collisions;
    keep(&mut total.least_gap, seed, gap, |gap| gap.metres);
    keep(&mut total.least_ttc, seed, ttc, |ttc| ttc.seconds);
    total.runs.push(run);
    Ok(())
}

impl Total {
    fn say(&self) {
        let Self { seeds, simulated_s, wall_s, joined, lane_changes, into_ego_lane, collisions, .. } = self;
        say("");
        say(format_args!(
            "{}: {} joined the ego; {} of lanes, {} of them into the ego's",
            counted(*seeds, "world"),
            counted(*joined, "car"),
            counted(*lane_changes, "change"),
            common::count(*into_ego_lane),
        ));
        let collided = match collisions {
            0 => "no collision".to_owned(),
            collisions => counted(*collisions, "collision"),
        };
        match &self.least_gap {
            Some(Least { seed, at: Gap { car, other, time, metres } }) => say(format_args!(
                "{collided}; smallest gap {metres:.2} m, between {car} and {other} at {time} s with the seed {seed}"
            )),
            None => say(collided),
        }
        match &self.least_ttc {
            Some(Least { seed, at: Ttc { car, other, time, seconds, .. } }) => say(format_args!(
                "smallest time to collision {seconds:.2} s, between {car} and {other} at {time} s with the seed {seed}"
            )),
            None => say("nobody was ever on a collision course"),
        }
        say(format_args!(
            "{} s simulated in {wall_s:.3} s, real-time factor {}",
            common::count(*simulated_s as u64),
            common::count((simulated_s / wall_s) as u64)
        ));
    }
}
