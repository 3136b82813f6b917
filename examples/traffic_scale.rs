//! Many cars, each behind the next: what a step costs when there are a hundred thousand of them.
//!
//! Every car is a driver, who decides every 100 ms by where the car and its leader were 10 ms before, and a body, which
//! moves every 10 ms under the last decision. The same cars can be driven
//!
//! * as *boxed participants*: an actor of two participants per car. What a follower needs of its leader crosses from
//!   actor to actor as a `pose` signal, published as often as drivers look and no oftener;
//! * with `--population`: as agents of one population, whose systems find places on the road, decide and move over
//!   columns of ECS tables. All poses are published together, once per simulated second;
//! * with `--compare`: as both, and as a plain loop over columns that writes the same poses in the same form, one after
//!   the other in each round.
//!
//! With `--record FILE` the run is recorded to a log, and what that costs is measured against the same run without.
//!
//! The three do the same arithmetic, and their cars are in the same places, to the last bit. Participants and their
//! hosts use `--threads`; the population and the loop use one.
//!
//! ```text
//! cargo run --release --example traffic_scale
//! cargo run --release --example traffic_scale -- --cars 100000 --population
//! cargo run --release --example traffic_scale -- --cars 100000 --compare --threads 1
//! ```

mod common;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use bevy::prelude::*;
use chaconne::prelude::*;
use chaconne::sim_core::canon;
use chaconne::traffic::{Driver, Pose, VehiclePhysics, fleet::Columns, fleet::Fleet, population};
use common::{Failure, Progress, count, timed};
use serde::{Serialize, Serializer};

/// Cars of the small world that the large one is compared with.
const FEW: usize = 7;

/// Steps per car and simulated second: of its body and its driver.
const STEPS_PER_SECOND: f64 = 1e9 / VehiclePhysics::PERIOD.as_nanos() as f64 + 1e9 / Driver::PERIOD.as_nanos() as f64;

/// Drives many cars, as participants or as a population, and measures a step.
#[derive(clap::Parser)]
struct Arguments {
    /// How many cars there are
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    cars: u32,
    /// Drive them as agents of a population instead of as participants
    #[arg(long)]
    population: bool,
    /// Measure population, participants and a plain loop side by side
    #[arg(long, conflicts_with = "population")]
    compare: bool,
    /// Record the run to a log, and measure what that costs
    #[arg(long, value_name = "FILE", conflicts_with = "compare")]
    record: Option<PathBuf>,
    /// Measured rounds of one simulated second each, after a first one that is not measured
    #[arg(long, value_name = "R", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
    #[command(flatten)]
    options: common::Options,
}

fn main() -> ExitCode {
    common::run(|arguments: Arguments| if arguments.compare { compare(&arguments) } else { grow(&arguments) })
}

/// A world of cars, and how far it is.
struct World {
    app: App,
    cars: usize,
    until: SimTime,
    report: Option<RunReport>,
}

impl World {
    fn new(options: &common::Options) -> Self {
        let mut app = App::new();
        let conductor = ConductorPlugin { mirrors: Mirroring::Off, ..options.conductor() };
        app.add_plugins((MinimalPlugins, ChaconnePlugins.set(conductor)));
        Self { app, cars: 0, until: SimTime::ZERO, report: None }
    }

    /// Each car as an actor of two participants.
    fn of_participants(fleet: &Fleet, options: &common::Options) -> Self {
        let mut world = Self::new(options);
        for car in 0..fleet.cars().len() {
            let (controller, physics) = fleet.parts(car);
            let actor = Actor::new(Fleet::name(car).as_str()).child("controller", controller).child("physics", physics);
            world.app.add_actor(actor);
        }
        Self { cars: fleet.cars().len(), ..world }
    }

    /// All cars as one population.
    fn of_agents(fleet: &Fleet, options: &common::Options) -> Self {
        let mut world = Self::new(options);
        world.app.add_population(population::of("cars", fleet));
        Self { cars: fleet.cars().len(), ..world }
    }

    /// Goes on for some simulated seconds; returns nanoseconds per step of a car's body or driver.
    fn run(&mut self, seconds: u32) -> Result<f64, Failure> {
        let span = SimDuration::try_from_secs(i64::from(seconds)).map_err(Failure::input)?;
        self.until = self.until.checked_add(span).map_err(Failure::input)?;
        let (wall, report) = timed(|| self.app.run_headless(self.until));
        if !report.is_complete() {
            return Err(Failure::Halted);
        }
        if report.stopped {
            return Err(Failure::stopped(&report));
        }
        self.report = Some(report);
        Ok(1e9 * wall / (f64::from(seconds) * STEPS_PER_SECOND * self.cars as f64))
    }
}

/// What the JSON object of one world holds beside the conventions.
#[derive(Serialize)]
struct Growth {
    cars: usize,
    population: bool,
    component_steps: u64,
    component_steps_per_s: f64,
    ns_per_component_step: f64,
    ns_per_component_step_of_7_cars: f64,
    growth: f64,
    rounds: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    recording: Option<Recording>,
}

/// What recording costs.
#[derive(Serialize)]
struct Recording {
    log: String,
    log_bytes: u64,
    /// Wall time with the recorder by that without, the middle of all rounds.
    ratio: f64,
    target: f64,
}

/// Measures a world, and how much dearer a step is in it than in a world of seven cars.
fn grow(Arguments { cars, population, record, rounds, options, .. }: &Arguments) -> Result<(), Failure> {
    let (cars, rounds) = (*cars as usize, *rounds);
    let make = if *population { World::of_agents } else { World::of_participants };
    let mut large = make(&Fleet::on_demo_roads(cars, options.seed), options);
    let mut unrecorded = record.as_ref().map(|_| make(&Fleet::on_demo_roads(cars, options.seed), options));
    if let Some(log) = record {
        large.app.add_plugins(RecordPlugin::new(log));
    }
    let mut small = make(&Fleet::on_demo_roads(FEW, options.seed), options);
    // About as many steps as in the large world, so that both are measured over like times.
    let seconds = (cars / FEW).clamp(1, 20_000) as u32;
    let mut progress = Progress::new(options.quiet);
    let mut measured = Vec::new();
    for round in 0..=rounds {
        progress.show(f64::from(round) / f64::from(rounds + 1), || format!("round {round} of {rounds}"));
        let without = unrecorded.as_mut().map_or(Ok(f64::NAN), |world| world.run(1))?;
        let costs = [large.run(1)?, small.run(seconds)?, without];
        if round > 0 {
            measured.push(costs);
        }
    }
    let [cost, of_few] = [0, 1].map(|world| median(measured.iter().map(|costs| costs[world])));
    let growth = median(measured.iter().map(|[large, small, _]| large / small));
    let kind = if *population { "agents of a population" } else { "participants, two per car" };
    options.say(format_args!("{} cars as {kind}", count(cars as u64)));
    options.say(format_args!(
        "{} component steps per second, {cost:.0} ns each; {of_few:.0} ns with {FEW} cars, growth {growth:.2}",
        count((1e9 / cost) as u64)
    ));
    // Closes the log.
    let report = large.app.end_run();
    let recording = record.as_ref().map(|log| Recording {
        log: log.display().to_string(),
        log_bytes: std::fs::metadata(log).map_or(0, |file| file.len()),
        ratio: median(measured.iter().map(|[recorded, _, without]| recorded / without)),
        target: 1.5,
    });
    if let Some(Recording { log, log_bytes, ratio, target }) = &recording {
        let bytes = count(*log_bytes);
        options.say(format_args!("recorded to {log} ({bytes} bytes) at {ratio:.2} times the cost (target {target})"));
    }
    let growth = Growth {
        cars,
        population: *population,
        component_steps: (f64::from(rounds + 1) * STEPS_PER_SECOND * cars as f64) as u64,
        component_steps_per_s: 1e9 / cost,
        ns_per_component_step: cost,
        ns_per_component_step_of_7_cars: of_few,
        growth,
        rounds,
        recording,
    };
    if let Some(other) = unrecorded.and_then(|world| world.report)
        && other.world_hash != report.world_hash
    {
        return Err(Failure::Run(format!("without the recorder the world hash is {}", other.world_hash)));
    }
    options.close(&report, growth)
}

/// The plain loop: columns, and the text of their poses.
struct PlainLoop {
    columns: Columns,
    text: Vec<u8>,
}

/// Serialises as the list of poses that a population publishes.
struct Poses<'a>(&'a Columns);

impl Serialize for Poses<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.poses())
    }
}

impl PlainLoop {
    /// Goes on for a simulated second; returns nanoseconds per step of a car's body or driver.
    fn run(&mut self) -> Result<f64, Failure> {
        let (wall, written) = timed(|| {
            self.columns.step();
            self.text.clear();
            let written = canon::to_writer(&mut self.text, &Poses(&self.columns));
            (1..1_000_000_000 / VehiclePhysics::PERIOD.as_nanos()).for_each(|_| self.columns.step());
            written
        });
        written.map_err(|error| Failure::Run(format!("the poses of the plain loop cannot be written: {error}")))?;
        Ok(1e9 * wall / (STEPS_PER_SECOND * self.columns.poses().len() as f64))
    }
}

/// Takes the last poses of a population down.
struct Witness {
    at: SimTime,
    text: Arc<Mutex<Vec<u8>>>,
}

impl Participant for Witness {
    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::latest("chaconne/*/actor/cars/poses")]
    }

    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        if ctx.now() < self.at {
            return Ok(self.at);
        }
        if let Some(poses) = ctx.latest::<Vec<Pose>>("chaconne/*/actor/cars/poses")? {
            *self.text.lock().unwrap_or_else(PoisonError::into_inner) = canon::to_vec(&*poses)?;
        }
        Ok(ctx.never())
    }
}

/// One measured comparison.
#[derive(Serialize)]
struct Row {
    work: String,
    ours: f64,
    theirs: f64,
    unit: &'static str,
    ratio: f64,
    target: f64,
}

/// What the JSON object of a comparison holds.
#[derive(Serialize)]
struct Comparison {
    world_hash: String,
    seed: u64,
    threads: u16,
    typed: bool,
    cars: usize,
    instants: u64,
    steps: u64,
    signals: u64,
    participants: usize,
    wall_s: f64,
    rounds: u16,
    rows: [Row; 2],
}

/// Measures a population against participants and against a plain loop.
fn compare(Arguments { cars, rounds, options, .. }: &Arguments) -> Result<(), Failure> {
    let (cars, rounds) = (*cars as usize, *rounds);
    let fleet = Fleet::on_demo_roads(cars, options.seed);
    let mut plain = PlainLoop { columns: fleet.columns(), text: Vec::new() };
    let mut boxed = World::of_participants(&fleet, options);
    let mut agents = World::of_agents(&fleet, options);
    let witnessed = Arc::default();
    // One nanosecond after the last poses.
    let at = SimTime::from_secs(i32::from(rounds)).checked_add(SimDuration::from_nanos(1)).map_err(Failure::input)?;
    agents.app.add_actor(Actor::of("witness", Witness { at, text: Arc::clone(&witnessed) }));

    let mut progress = Progress::new(options.quiet);
    let mut measured = Vec::new();
    let (wall_s, ran) = timed(|| {
        for round in 0..=rounds {
            progress.show(f64::from(round) / f64::from(rounds + 1), || format!("round {round} of {rounds}"));
            let costs = [plain.run()?, agents.run(1)?, boxed.run(1)?];
            if round > 0 {
                measured.push(costs);
            }
        }
        Ok(())
    });
    ran?;
    let [of_loop, of_agents, of_boxed] = [0, 1, 2].map(|side| median(measured.iter().map(|costs| costs[side])));
    let row = |theirs: &str, side: usize, cost: f64, target: f64| Row {
        work: format!("{} cars: a population against {theirs}", count(cars as u64)),
        ours: of_agents,
        theirs: cost,
        unit: "ns per component step",
        ratio: median(measured.iter().map(|costs| costs[1] / costs[side])),
        target,
    };
    let rows = [row("a plain loop", 0, of_loop, 2.0), row("boxed participants", 2, of_boxed, 0.25)];
    for Row { work, ours, theirs, ratio, target, .. } in &rows {
        options.say(format_args!("{work}: {ours:.1} and {theirs:.1} ns per step, ratio {ratio:.2} (target {target})"));
    }
    let same = *witnessed.lock().unwrap_or_else(PoisonError::into_inner) == plain.text;
    let report = agents.report.ok_or(Failure::Halted)?;
    options.say(format_args!("world hash of the population {}", report.world_hash));
    options.json(&Comparison {
        world_hash: report.world_hash.to_string(),
        seed: options.seed,
        threads: options.threads,
        typed: !options.no_typed,
        cars,
        instants: report.ticks,
        steps: report.steps,
        signals: report.signals,
        participants: report.participants,
        wall_s,
        rounds,
        rows,
    });
    if same { Ok(()) } else { Err(Failure::Run("the cars of the population and of the plain loop differ".to_owned())) }
}

/// The middle value; of an even number the larger of both.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
