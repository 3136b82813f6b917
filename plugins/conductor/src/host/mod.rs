//! The host seam: how the conductor has actors stepped, wherever they are.
//!
//! A [`StepRequest`] names many actors at once and carries all that their steps need; the [`StepReply`] carries what they
//! did. Both are owned data, so a host may pass them to a thread, a process or a network, and the buffers travel back and
//! forth: [`StepReply::request`] is the request, to be filled again. The conductor does not know where an actor is.
//!
//! Hosts deliver inside an actor (a signal reaches later leaves due at the same instant), the conductor between actors
//! and between instants.
//!
//! A conductor has the *local* host and whoever is stepped elsewhere, each request taken
//! apart and the replies put together again. A *guarded* actor is stepped on a thread of its own, others in *helper
//! processes*, which [`wire`] talks to, over any stream of bytes, and [`process`] over pipes.

mod actor;
mod everywhere;
mod gather;
mod guarded;
mod local;
mod numbers;
pub mod process;
mod remote;
pub mod wire;

use std::ops::Range;
use std::time::Duration;

use chaconne_sim_core::error::StepError;
use chaconne_sim_core::fingerprint::{Fingerprint, Frame};
use chaconne_sim_core::key::Key;
use chaconne_sim_core::membership::Request;
use chaconne_sim_core::port::{Hosted, Inbound, OutputId, OutputInfo, Published};
use chaconne_sim_core::time::SimTime;

pub(crate) use everywhere::{Hosts, Made, Seating};
pub(crate) use gather::drop_actors;
pub(crate) use remote::NotMade;

use crate::error::HaltCause;

/// Steps actors.
pub trait Host: Send {
    /// Takes an actor in: its leaves, in pipeline order. Their ports know their slots, which follow each other.
    fn add(&mut self, leaves: Vec<Hosted>);

    /// Lets an actor go, whose leaves had these slots. They may be used again.
    fn remove(&mut self, slots: Range<u32>);

    /// How many leaves a request should name, if there are that many: enough to keep the host busy, and few enough for its
    /// caches.
    fn batch(&self) -> usize;

    /// Starts on a request; the caller may do other work until it asks for the reply.
    fn begin(&mut self, request: StepRequest);

    /// Waits for what [`begin`](Self::begin) started.
    fn finish(&mut self) -> StepReply;
}

/// An actor to be stepped.
#[derive(Clone, Copy, Debug)]
pub struct ActorStep {
    /// Slot of its first leaf, due or not.
    pub slot: u32,
    /// Number of its leaves, due or not.
    pub size: u32,
    /// Where its leaves begin in [`StepRequest::leaves`]; they end where the next actor's begin.
    pub first_leaf: u32,
    /// Its steps are long: worth a thread of their own.
    pub heavy: bool,
    /// When it fails, it is [lost](ReplyPart::lost) and the others go on.
    pub removable: bool,
    /// Its steps are to be [timed](ReplyPart::times).
    pub timed: bool,
}

/// A leaf to be stepped, in pipeline order within its actor.
#[derive(Clone, Copy, Debug)]
pub struct LeafStep {
    /// The leaf's slot in the conductor's registry.
    pub leaf: u32,
    /// Its position in the actor's pipeline.
    pub position: u32,
    /// When it stepped last; `SimTime::MIN` before its first step.
    pub last_step: SimTime,
    /// Sequence number of its next signal.
    pub seq: u64,
    /// Where its inbox ends in [`StepRequest::inbox`]; it begins where the previous leaf's ends.
    pub inbox_end: u32,
}

/// What to step at one instant: some or all of the actors due, in the world's order.
#[derive(Default)]
pub struct StepRequest {
    /// The instant.
    pub now: SimTime,
    /// Whether the texts of signals must stay in the reply, for monitors.
    pub keep_texts: bool,
    /// The actors.
    pub actors: Vec<ActorStep>,
    /// Their due leaves, one actor after another.
    pub leaves: Vec<LeafStep>,
    /// The leaves' inboxes, one after another.
    pub inbox: Vec<Inbound>,
    /// Outputs declared since the last request, in the order of their declaration.
    pub outputs: Vec<(OutputId, OutputInfo)>,
    /// Parts of an earlier reply, to be written again.
    pub spare: Vec<ReplyPart>,
}

impl StepRequest {
    /// Empties the lists and keeps their memory.
    pub fn clear(&mut self) {
        self.actors.clear();
        self.leaves.clear();
        self.inbox.clear();
        self.outputs.clear();
    }
}

/// What one leaf did.
#[derive(Clone, Copy, Debug)]
pub struct LeafReply {
    /// When it is due next; after now.
    pub next_due: SimTime,
    /// Its contribution to the tick hash.
    pub contribution: Fingerprint,
    /// The fingerprint of the state it wrote, if any.
    pub state: Option<Fingerprint>,
    /// How many signals it published.
    pub published: u32,
}

/// Why a leaf's step does not count.
#[derive(Debug)]
pub struct StepFailure {
    /// Index among the request's leaves.
    pub index: u32,
    /// What happened.
    pub cause: HaltCause,
}

/// What a run of consecutive leaves of a request did.
#[derive(Default)]
pub struct ReplyPart {
    /// One per leaf, in the request's order; incomplete when there are failures.
    pub leaves: Vec<LeafReply>,
    /// Their signals, leaf after leaf.
    pub published: Vec<Published>,
    /// Keys used for the first time: index among the request's leaves, and the key, in the order of use.
    pub declared: Vec<(u32, Key)>,
    /// What they ask for, to join or to leave: index among the request's leaves, and the request, in order.
    pub requests: Vec<(u32, Request)>,
    /// Leaves that failed, in order.
    pub failures: Vec<StepFailure>,
    /// The leaves with which removable actors failed, in order: nothing else of these actors is in the part.
    pub lost: Vec<StepFailure>,
    /// How long steps took, in nanoseconds, where that was asked for: index among the request's leaves, and time, in order.
    pub times: Vec<(u32, u64)>,
    /// The bytes of the contributions; the signals' texts lie in them when the request asked for texts.
    pub frame: Frame,
}

impl ReplyPart {
    fn clear(&mut self) {
        self.leaves.clear();
        self.published.clear();
        self.declared.clear();
        self.requests.clear();
        self.failures.clear();
        self.lost.clear();
        self.times.clear();
        self.frame.clear();
    }
}

/// An actor that cannot be stepped any more, or should not be, though what it did at this instant counts.
#[derive(Debug)]
pub struct Outgoing {
    /// Slot of its first leaf.
    pub slot: u32,
    /// Why.
    pub cause: HaltCause,
}

/// What the leaves of a request did.
#[derive(Default)]
pub struct StepReply {
    /// In the request's order; parts without leaves say nothing.
    pub parts: Vec<ReplyPart>,
    /// Actors that have to go behind this instant, whether they were asked to step at it or not.
    pub outgoing: Vec<Outgoing>,
    /// The request, whose buffers travel back.
    pub request: StepRequest,
}

/// Seconds for people: `0.25 s`.
pub(crate) fn seconds(time: Duration) -> String {
    let text = format!("{:.6}", time.as_secs_f64());
    let text = text.trim_end_matches('0');
    format!("{} s", text.strip_suffix('.').unwrap_or(text))
}

/// How a step ended when it did not end well.
fn cause_of(error: StepError) -> HaltCause {
    HaltCause::Error(one_line(&error.to_string()))
}

/// The text of a caught panic, in one line.
pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    one_line(text.unwrap_or("a panic whose value is not a text"))
}

/// Reports are sentences: what others wrote in several lines is put into one.
pub(crate) fn one_line(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if lines.is_empty() { "no reason was given".to_string() } else { lines.join(" ") }
}
