//! Monitors: who sees every signal at the barrier and changes nothing.
//!
//! A recorder, a verifier or a live view is a monitor. It is not part of the world: it has no path, no order, and no
//! influence on the fingerprint. An observer that takes part in the simulation is an ordinary participant.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use chaconne_sim_core::canon;
use chaconne_sim_core::fingerprint::{Fingerprint, MembershipKind};
use chaconne_sim_core::key::Key;
use chaconne_sim_core::path::ActorPath;
use chaconne_sim_core::time::SimTime;

use crate::host::{LeafReply, StepReply, one_line, panic_text};
use crate::registry::Registry;
use crate::routing::Routing;
use crate::run::RunReport;

/// What a monitor fails with; its text becomes the report's.
pub type MonitorError = Box<dyn std::error::Error + Send + Sync>;

/// What a run is, for a monitor that is about to see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunStart {
    /// The world's name.
    pub world: String,
    /// The seed.
    pub seed: u64,
    /// Whether values are handed over as they are; changes no result.
    pub typed: bool,
    /// Threads that work at an instant; changes no result.
    pub threads: usize,
    /// Number of instants so far: zero for a monitor that was added before the first.
    pub ticks: u64,
}

/// Looks on.
pub trait Monitor: Send {
    /// Called once, before the first instant that the monitor sees, or before [`ended`](Self::ended) when there is none.
    ///
    /// # Errors
    /// An error halts the run before that instant.
    fn started(&mut self, _run: &RunStart) -> Result<(), MonitorError> {
        Ok(())
    }

    /// Called at the barrier of every instant, after the world hash has taken it in.
    ///
    /// # Errors
    /// An error halts the run; its text becomes the report's.
    fn instant(&mut self, instant: &Instant<'_>) -> Result<(), MonitorError>;

    /// Called once, when the run has ended or halted.
    ///
    /// # Errors
    /// The run is over and counts as failed: the text stands in [`RunReport::end_failures`].
    fn ended(&mut self, _report: &RunReport) -> Result<(), MonitorError> {
        Ok(())
    }
}

/// Calls a monitor; the text in one line when it fails or panics.
pub(crate) fn failure_of(call: impl FnOnce() -> Result<(), MonitorError>) -> Option<String> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(one_line(&error.to_string())),
        Err(panic) => Some(format!("a monitor panicked: {}", panic_text(&*panic))),
    }
}

/// A join or a leave, as the tick hash takes it in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// Joined or left.
    pub kind: MembershipKind,
    /// The leaf's path.
    pub path: ActorPath,
    /// The first due time of one that joined; the first instant not stepped of one that left.
    pub time: SimTime,
}

/// Something of the run that is not part of the world: in no hash, and never compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The simulation time.
    pub time: SimTime,
    /// Whom it concerns, if somebody.
    pub path: Option<ActorPath>,
    /// What was observed.
    pub what: Observed,
}

/// What can be observed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Observed {
    /// A step took longer than its budget.
    Budget {
        /// How long it took.
        took: Duration,
        /// How long it should take at most.
        budget: Duration,
    },
    /// An actor failed and was removed.
    Removed {
        /// Why, in a sentence.
        reason: String,
    },
    /// An instant came so late that the pace was given up for once.
    Overrun {
        /// How late it came.
        late: Duration,
        /// How much of that is not caught up.
        slipped: Duration,
    },
}

impl Observed {
    /// The kind of observation, in a word.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Budget { .. } => "budget",
            Self::Removed { .. } => "removed",
            Self::Overrun { .. } => "overrun",
        }
    }

    /// What is to be said of it, as canonical JSON; times are in nanoseconds.
    pub fn data(&self) -> String {
        match self {
            Self::Budget { took, budget } => {
                format!("{{\"budget_ns\":{},\"took_ns\":{}}}", budget.as_nanos(), took.as_nanos())
            }
            // A text always has a canonical form.
            Self::Removed { reason } => {
                format!("{{\"reason\":{}}}", canon::to_string(reason).unwrap_or_else(|_| "\"\"".to_owned()))
            }
            Self::Overrun { late, slipped } => {
                format!("{{\"late_ns\":{},\"slipped_ns\":{}}}", late.as_nanos(), slipped.as_nanos())
            }
        }
    }
}

/// One instant, complete.
pub struct Instant<'a> {
    /// Counts instants from zero.
    pub tick: u64,
    /// The simulation time.
    pub time: SimTime,
    /// Joins and leaves of this instant, in order.
    pub membership: &'a [Membership],
    /// What was observed since the instant before, in no particular order but a stable one.
    pub observed: &'a [Observation],
    /// The tick's hash.
    pub tick_hash: Fingerprint,
    /// The world's hash after this instant.
    pub world_hash: Fingerprint,
    pub(crate) replies: &'a [StepReply],
    pub(crate) registry: &'a Registry,
    pub(crate) routing: &'a Routing,
}

/// One participant's step.
#[derive(Clone, Copy)]
pub struct Step<'a> {
    /// Its path.
    pub path: &'a ActorPath,
    /// When it is due next.
    pub next_due: SimTime,
    /// Its contribution to the tick hash.
    pub contribution: Fingerprint,
    /// The fingerprint of the state that it wrote, if any.
    pub state: Option<Fingerprint>,
    leaf: u32,
    first_seq: u64,
    published: &'a [chaconne_sim_core::port::Published],
    frame: &'a [u8],
    routing: &'a Routing,
}

/// One signal.
#[derive(Clone, Copy, Debug)]
pub struct SeenSignal<'a> {
    /// Its key.
    pub key: &'a Key,
    /// Its place among all that its publisher ever published.
    pub seq: u64,
    /// Its canonical text.
    pub text: &'a [u8],
}

impl<'a> Instant<'a> {
    /// The steps, in the world's order.
    pub fn steps(&self) -> impl Iterator<Item = Step<'a>> + use<'a> {
        let (registry, routing) = (self.registry, self.routing);
        self.replies.iter().flat_map(move |reply| {
            let mut rest = reply.request.leaves.as_slice();
            reply.parts.iter().flat_map(move |part| {
                let mut signals = 0;
                // The request's leaves and the replies of all parts run side by side.
                let requests;
                (requests, rest) = rest.split_at(part.leaves.len());
                part.leaves.iter().zip(requests).map(move |(leaf, request): (&LeafReply, _)| {
                    let from = signals;
                    signals += leaf.published as usize;
                    Step {
                        path: &registry.path[request.leaf as usize],
                        next_due: leaf.next_due,
                        contribution: leaf.contribution,
                        state: leaf.state,
                        leaf: request.leaf,
                        first_seq: request.seq,
                        published: &part.published[from..signals],
                        frame: part.frame.as_slice(),
                        routing,
                    }
                })
            })
        })
    }
}

impl<'a> Step<'a> {
    /// How many signals the step published.
    pub fn published(&self) -> usize {
        self.published.len()
    }

    /// What the step published, in order.
    pub fn signals(&self) -> impl Iterator<Item = SeenSignal<'a>> + use<'a> {
        let outputs = self.routing.outputs_of(self.leaf);
        let frame = self.frame;
        self.published.iter().zip(self.first_seq..).map(move |(signal, seq)| SeenSignal {
            key: &outputs[signal.output as usize].key,
            seq,
            text: &frame[signal.text.clone()],
        })
    }
}
