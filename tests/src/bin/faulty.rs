//! The command, with participants that do what simulation code must not do, and some that do not: for the tests of
//! `prove`.

#![allow(clippy::unwrap_used, reason = "a helper of tests fails its test by panicking")]

use std::collections::BTreeMap;
use std::hash::BuildHasher;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use bevy::tasks::{ComputeTaskPool, TaskPool};
use chaconne::command::Program;
use chaconne::prelude::*;
use chaconne::scenario::FactoryError;
use chaconne::scenario::factory::Site;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How often everybody steps.
const PERIOD: SimDuration = SimDuration::from_millis(100);

/// Instants at which the faulty ones behave well before they do not: a fault is to be found where it is.
const GOOD: u64 = 3;

/// Makes a number of the number of a step.
type Value = fn(u64) -> f64;

/// Publishes a number that `value` makes of the number of the step.
struct Says {
    step: u64,
    value: Value,
    is_faulty: bool,
}

impl Participant for Says {
    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        let step = self.step;
        self.step += 1;
        let value = if self.is_faulty && step < GOOD { step as f64 } else { (self.value)(step) };
        ctx.publish("value", &value)?;
        ctx.after(PERIOD)
    }
}

/// A sum whose order of additions is that of the threads that share the work.
fn thread_sum(_: u64) -> f64 {
    let pool = ComputeTaskPool::get_or_init(TaskPool::default);
    let numbers: Vec<f64> = (1..=10_000).map(|number| 1.0 / f64::from(number)).collect();
    let parts = numbers.chunks(numbers.len().div_ceil(pool.thread_num()));
    parts.map(|part| part.iter().sum::<f64>()).sum()
}

/// As many as the operating system says that there are.
fn processors(_: u64) -> f64 {
    std::thread::available_parallelism().unwrap().get() as f64
}

/// Two keys of a hash table that come first. That they are the same in two processes happens once in ten billion times.
#[allow(clippy::disallowed_types, reason = "this is the fault")]
fn hash_order(_: u64) -> f64 {
    let table: std::collections::HashMap<u32, ()> = (0..100_000).map(|key| (key, ())).collect();
    table.keys().take(2).fold(0.0, |sum, key| 100_000.0 * sum + f64::from(*key))
}

#[allow(clippy::disallowed_methods, reason = "this is the fault")]
fn wall_clock(_: u64) -> f64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().subsec_nanos().into()
}

#[allow(clippy::disallowed_types, reason = "this is the fault")]
fn entropy(_: u64) -> f64 {
    // As many bits as a number holds.
    (std::hash::RandomState::new().hash_one(0) >> 11) as f64
}

/// A count that outlives the participant.
fn outside(_: u64) -> f64 {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    COUNT.fetch_add(1, Ordering::Relaxed) as f64
}

/// The sum of an ordered table, with transcendental functions that have the same bits everywhere.
fn innocent(step: u64) -> f64 {
    let table: BTreeMap<u64, f64> =
        (0..20).map(|key| (key, chaconne::sim_core::math::sin((key * step) as f64))).collect();
    table.values().sum()
}

/// A signal of which serde leaves something out, and which is equal to what is left.
#[derive(Clone, Serialize, Deserialize)]
struct Parcel {
    label: String,
    #[serde(skip)]
    weight: f64,
}

/// A parcel whose comparison finds out that its weight is lost.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
struct Weighed(Parcel);

impl PartialEq for Parcel {
    fn eq(&self, other: &Self) -> bool {
        self.label == other.label && self.weight.to_bits() == other.weight.to_bits()
    }
}

/// A parcel whose comparison knows no more than its text.
#[derive(Clone, Serialize, Deserialize)]
struct Blind(Parcel);

impl PartialEq for Blind {
    fn eq(&self, other: &Self) -> bool {
        self.0.label == other.0.label
    }
}

/// Sends parcels.
struct Sender {
    is_blind: bool,
}

impl Participant for Sender {
    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        // A text that is long enough to be written again only where somebody asks for it.
        let label = "a parcel that is sent from one to the other".to_owned();
        let weight = if ctx.now() < SimTime::from_millis(300) { 0.0 } else { 1.5 };
        let parcel = Parcel { label, weight };
        if self.is_blind {
            ctx.publish("parcel", &Blind(parcel))?;
        } else {
            ctx.publish("parcel", &Weighed(parcel))?;
        }
        ctx.after(PERIOD)
    }
}

/// Weighs the parcels of actor `sender`.
struct Receiver {
    is_blind: bool,
}

impl Participant for Receiver {
    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::latest("chaconne/*/actor/sender/parcel")]
    }

    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        let key = "chaconne/*/actor/sender/parcel";
        let weight = if self.is_blind {
            ctx.latest::<Blind>(key)?.map(|parcel| parcel.0.weight)
        } else {
            ctx.latest::<Weighed>(key)?.map(|parcel| parcel.0.weight)
        };
        ctx.publish("weight", &weight.unwrap_or_default())?;
        ctx.after(PERIOD)
    }
}

/// Fails at 0.3 s in any run, prints to where it can, or does not end; nothing of this is random.
struct Odd(Oddity);

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Oddity {
    /// Fails in any run.
    Fails,
    /// Writes to stdout and stderr.
    Prints,
    /// Ends its process where it is not the first run of it.
    Aborts,
    /// Does not come back where it is not the first run of its process.
    Hangs,
}

impl Participant for Odd {
    #[allow(clippy::print_stdout, clippy::print_stderr, reason = "what participants print is not the object")]
    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        static RUNS: AtomicU64 = AtomicU64::new(0);
        let is_second = ctx.last_step().is_none() && RUNS.fetch_add(1, Ordering::Relaxed) > 0;
        match self.0 {
            Oddity::Fails if ctx.now() >= SimTime::from_millis(300) => return Err("the tank is empty".into()),
            Oddity::Prints => {
                println!("a line");
                print!("{{\"world_hash\":\"printed\"}} and a beginning ");
                eprintln!("error: not at all");
            }
            Oddity::Aborts if is_second => std::process::abort(),
            Oddity::Hangs if is_second => loop {
                std::thread::park();
            },
            _ => {}
        }
        ctx.publish("value", &0.0)?;
        ctx.after(PERIOD)
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Kind {
    /// Compares parcels by what stands in their text.
    #[serde(default)]
    blind: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct What {
    what: Oddity,
}

fn register(factories: &mut Factories) -> Result<(), FactoryError> {
    let says: [(&str, Value, bool); 7] = [
        ("thread-sum", thread_sum, true),
        ("processors", processors, true),
        ("hash-order", hash_order, true),
        ("wall-clock", wall_clock, true),
        ("entropy", entropy, true),
        ("outside", outside, true),
        ("innocent", innocent, false),
    ];
    for (name, value, is_faulty) in says {
        factories.add(name, "says a number", move |_: Nothing, _: &Site<'_>| {
            Ok::<_, String>(Says { step: 0, value, is_faulty })
        })?;
    }
    factories
        .add("sender", "sends parcels", |kind: Kind, _: &Site<'_>| Ok::<_, String>(Sender { is_blind: kind.blind }))?;
    factories.add("receiver", "weighs parcels", |kind: Kind, _: &Site<'_>| {
        Ok::<_, String>(Receiver { is_blind: kind.blind })
    })?;
    factories.add("odd", "does what nobody should do", |what: What, _: &Site<'_>| Ok::<_, String>(Odd(what.what)))?;
    Ok(())
}

fn main() -> ExitCode {
    Program::bare("faulty").factories(register).main()
}
