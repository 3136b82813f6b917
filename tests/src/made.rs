//! Actors that are made by name, here and in the helper process of the tests (`src/bin/helper.rs`).

use std::time::Duration;

use chaconne_conductor::{Actor, Node};
use chaconne_sim_core::membership::{JoinRequest, NodeRequest};
use chaconne_sim_core::{ActorPath, Participant, StateWriter, StepCtx, StepResult, Subscription};
use serde::{Deserialize, Serialize};

use crate::{Probe, at, of, secs};

/// Makes what a request names.
///
/// # Errors
/// When there is no such thing.
pub fn make(request: &JoinRequest, _: &ActorPath) -> Result<Actor, String> {
    Ok(Actor::of(&request.path, node(&request.node)?))
}

fn node(request: &NodeRequest) -> Result<Node, String> {
    match request {
        NodeRequest::Group(children) => {
            let mut group = Actor::group();
            for (name, child) in children {
                group = group.child(name, node(child)?);
            }
            Ok(group.into())
        }
        NodeRequest::Made { factory, params } => made(factory, params),
    }
}

fn made(factory: &str, params: &str) -> Result<Node, String> {
    match factory {
        "talker" => Ok(Probe::every(1).says("x").says("y").hears("chaconne/**").holds("chaconne/*/actor/**/x").into()),
        "rare" => Ok(Probe::every(3).says("x").hears(of("*", "x")).holds(of("a", "y")).into()),
        "counter" => Ok(Counter(0).into()),
        "loud" => Ok(Loud.into()),
        "rogue" => {
            let misdeed = serde_json::from_str(params).map_err(|error| error.to_string())?;
            Ok(Rogue { misdeed }.into())
        }
        "hangs-when-made" => loop {
            std::thread::sleep(Duration::from_secs(1));
        },
        "panics-when-made" => panic!("no such luck"),
        other => Err(format!("there is no `{other}`")),
    }
}

/// A request for one of these.
///
/// # Panics
/// Never: the parameters have a canonical text.
pub fn request(factory: &str, params: &impl Serialize) -> NodeRequest {
    NodeRequest::made(factory, params).unwrap()
}

/// Says more at each step than a pipe takes, and hears as much.
struct Loud;

impl Participant for Loud {
    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::every(of("*", "noise"))]
    }

    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        let heard: usize = ctx.inbox().map(|item| item.payload().to_text().len()).sum();
        ctx.publish("noise", &format!("{heard} {}", "x".repeat(400_000)))?;
        ctx.after(secs(1))
    }
}

/// Hashes how often it was stepped and what it heard, and asks for others.
struct Counter(u64);

impl Participant for Counter {
    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::every(of("*", "x"))]
    }

    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        for item in ctx.inbox() {
            let more = item.payload().to_text().iter().map(|byte| u64::from(*byte)).sum::<u64>();
            self.0 = self.0.wrapping_mul(31).wrapping_add(more);
        }
        let drawn: f64 = ctx.rng().range(0.0..1.0);
        ctx.publish("count", &(self.0, drawn))?;
        if ctx.now() == at(2) {
            ctx.join(JoinRequest::new("late", "talker"));
            ctx.leave("nobody");
        }
        for refusal in ctx.refusals() {
            ctx.publish("refused", &refusal.reason)?;
        }
        ctx.after(secs(1))
    }

    fn write_state(&self, out: &mut StateWriter) {
        out.u64(self.0);
    }
}

/// What a [`rogue`](Misdeed) does in its step at three seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Misdeed {
    /// Nothing bad.
    None,
    /// Never returns.
    Hang,
    /// Panics.
    Panic,
    /// Returns an error.
    Error,
    /// Returns a time that does not lie ahead.
    StandStill,
    /// Ends its process at once, as a fault would.
    Abort,
    /// Exits.
    Exit,
    /// Takes memory without end.
    Allocate,
    /// Publishes signals without end.
    Flood,
    /// Prints to stdout what is no message.
    Print,
    /// Recurses without end.
    Recurse,
}

struct Rogue {
    misdeed: Misdeed,
}

impl Participant for Rogue {
    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::every("chaconne/**")]
    }

    #[allow(clippy::print_stdout, reason = "what is printed must not end up between messages")]
    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        ctx.publish("x", &ctx.now())?;
        if ctx.now() != at(3) {
            return ctx.after(secs(1));
        }
        match self.misdeed {
            Misdeed::None => {}
            Misdeed::Hang => loop {
                std::hint::black_box(0);
            },
            Misdeed::Panic => panic!("out of luck"),
            Misdeed::Error => return Err("the tank is empty".into()),
            Misdeed::StandStill => return Ok(ctx.now()),
            Misdeed::Abort => std::process::abort(),
            Misdeed::Exit => std::process::exit(7),
            Misdeed::Allocate => {
                let mut taken: Vec<Vec<u8>> = Vec::new();
                loop {
                    taken.push(vec![1; 1 << 20]);
                    std::hint::black_box(&taken);
                }
            }
            Misdeed::Flood => while ctx.publish("flood", &0).is_ok() {},
            Misdeed::Print => println!("printed by {} in {}", ctx.path(), std::process::id()),
            Misdeed::Recurse => {
                std::hint::black_box(recurse(1));
            }
        }
        ctx.after(secs(1))
    }
}

#[allow(unconditional_recursion, reason = "it is to run out of stack")]
fn recurse(depth: u64) -> u64 {
    let page = std::hint::black_box([depth; 512]);
    recurse(depth + 1) + page[(depth % 512) as usize]
}
