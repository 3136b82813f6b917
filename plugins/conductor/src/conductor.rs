//! The conductor: owns simulated time, and steps exactly those who are due.
//!
//! ```
//! use chaconne_conductor::{Actor, Conductor, ConductorConfig};
//! use chaconne_sim_core::{context::StepCtx, error::StepResult, participant::Participant, time::{SimDuration, SimTime}};
//!
//! struct Clock;
//! impl Participant for Clock {
//!     fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
//!         ctx.publish("time", &ctx.now())?;
//!         ctx.after(SimDuration::from_secs(1))
//!     }
//! }
//! let mut conductor = Conductor::new(ConductorConfig { seed: 42, ..Default::default() }).unwrap();
//! conductor.add(Actor::of("clock", Clock)).unwrap();
//! conductor.run_until(SimTime::from_secs(10)).unwrap();
//! assert_eq!((conductor.ticks(), conductor.now()), (10, Some(SimTime::from_secs(9))));
//! ```

use std::sync::Arc;
use std::time::Duration;

use chaconne_sim_core::fingerprint::{self, Fingerprint, Frame};
use chaconne_sim_core::key::Key;
use chaconne_sim_core::membership::Request;
use chaconne_sim_core::path::{ActorPath, is_segment};
use chaconne_sim_core::port::{OutputId, OutputInfo, RunIdentity};
use chaconne_sim_core::time::SimTime;

use crate::agenda::Agenda;
use crate::delivery::Inboxes;
use crate::error::{Halt, HaltCause, RegistrationError};
use crate::host::process::HelperProgram;
use crate::host::{Hosts, StepReply, StepRequest};
use crate::instant::Parts;
use crate::membership::{ActorMaker, Changes, Plans};
use crate::monitor::{Monitor, Observation, RunStart, failure_of};
use crate::pacing::PacingReport;
use crate::registry::Registry;
use crate::routing::{Routing, Sample};
use crate::run::RunReport;
use crate::timing::Timing;

/// Settings of a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConductorConfig {
    /// The world's name: the second segment of every key. Letters, digits, `_`, `-`.
    pub world: String,
    /// The seed of every random stream.
    pub seed: u64,
    /// Threads that work at an instant, the caller included; zero means as many as there are cores. Changes no result.
    pub threads: usize,
    /// Hands values over as they are where types agree. Off, every value is parsed from its text, and each is checked
    /// at publish to read back as an equal value. Changes no result.
    pub typed: bool,
    /// Measures what each step takes, for [`RunReport::timing`]. Changes no result.
    pub timing: bool,
}

impl Default for ConductorConfig {
    fn default() -> Self {
        Self { world: "world".to_string(), seed: 0, threads: 0, typed: true, timing: false }
    }
}

/// More threads than this are a mistake, and may be more than the system can start.
const MOST_THREADS: usize = 1024;

/// Everything of one run: the world's tables, its clock and its fingerprint.
pub struct Conductor {
    pub(crate) run: Arc<RunIdentity>,
    pub(crate) registry: Registry,
    pub(crate) agenda: Agenda,
    pub(crate) routing: Routing,
    pub(crate) inboxes: Inboxes,
    pub(crate) hosts: Hosts,
    pub(crate) monitors: Vec<Box<dyn Monitor>>,
    /// How many of the monitors have been told that the run starts.
    started: usize,
    threads: usize,
    /// The report of a run that is over.
    ended: Option<RunReport>,
    pub(crate) changes: Changes,
    pub(crate) plans: Plans,
    pub(crate) maker: Option<Box<dyn ActorMaker>>,
    /// The instant at whose barrier the conductor is.
    pub(crate) barrier: Option<SimTime>,
    /// Outputs that came into use, where somebody follows, until it takes note of them.
    pub(crate) unmirrored: Vec<OutputId>,
    /// Outputs that the host has not been told of.
    pub(crate) declared: Vec<(OutputId, OutputInfo)>,
    pub(crate) now: Option<SimTime>,
    pub(crate) ticks: u64,
    pub(crate) steps: u64,
    pub(crate) signals: u64,
    pub(crate) world_hash: Fingerprint,
    pub(crate) halt: Option<Halt>,
    /// The tables hold a part of an instant that failed.
    pub(crate) torn: bool,
    /// What whoever drives the run says of it, for the report.
    pub(crate) stopped: bool,
    pub(crate) pacing: Option<PacingReport>,
    pub(crate) timing: Timing,

    // Buffers that are used again at every instant.
    pub(crate) due: Vec<u32>,
    pub(crate) tick_frame: Frame,
    pub(crate) request: StepRequest,
    pub(crate) replies: Vec<StepReply>,
    /// What the steps of this instant ask for, with their leaf slots.
    pub(crate) requests: Vec<(u32, Request)>,
    /// What was observed since the last instant was shown to monitors.
    pub(crate) observed: Vec<Observation>,
    /// What this instant spent outside of the conductor, where that is measured.
    pub(crate) parts: Parts,
}

impl Conductor {
    /// An empty world.
    ///
    /// # Errors
    /// When the world's name cannot be a segment of a key, or the threads are more than 1024.
    pub fn new(config: ConductorConfig) -> Result<Self, RegistrationError> {
        if !is_segment(&config.world) {
            return Err(RegistrationError::World { world: config.world });
        }
        if config.threads > MOST_THREADS {
            return Err(RegistrationError::Threads { threads: config.threads, most: MOST_THREADS });
        }
        Ok(Self::nameless(config))
    }

    /// As [`new`](Self::new), for a name that is known to be a segment.
    pub(crate) fn nameless(config: ConductorConfig) -> Self {
        let threads = match config.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let run = RunIdentity { world: config.world, seed: config.seed, typed: config.typed };
        let run = Arc::new(run);
        let hosts = Hosts::new(run.clone(), threads);
        Self {
            world_hash: fingerprint::world_start(&run.world, run.seed),
            run,
            registry: Registry::default(),
            agenda: Agenda::default(),
            routing: Routing::default(),
            inboxes: Inboxes::new(),
            hosts,
            monitors: Vec::new(),
            started: 0,
            threads,
            ended: None,
            changes: Changes::default(),
            plans: Plans::default(),
            maker: None,
            barrier: None,
            unmirrored: Vec::new(),
            declared: Vec::new(),
            now: None,
            ticks: 0,
            steps: 0,
            signals: 0,
            halt: None,
            torn: false,
            stopped: false,
            pacing: None,
            timing: Timing::new(config.timing),
            due: Vec::new(),
            tick_frame: Frame::new(),
            request: StepRequest::default(),
            replies: Vec::new(),
            requests: Vec::new(),
            observed: Vec::new(),
            parts: Parts::default(),
        }
    }

    /// Adds a monitor, which sees every instant from now on.
    pub fn add_monitor(&mut self, monitor: impl Monitor + 'static) {
        self.monitors.push(Box::new(monitor));
    }

    /// Sets which program helper processes run; see [`Hosting::process`](crate::Hosting::process).
    pub fn set_helper(&mut self, program: HelperProgram) {
        self.hosts.set_program(program);
    }

    /// The next instant: when somebody is due next, or is planned to join. One who was removed and would have been due first
    /// has it too.
    #[inline]
    pub fn next_instant(&self) -> Option<SimTime> {
        let others = [self.plans.next_due(), self.changes.closing];
        others.into_iter().flatten().chain(self.agenda.next()).min()
    }

    /// Steps every instant before `until`, and none at it; so that runs in pieces equal one run.
    ///
    /// # Errors
    /// The halt, also when the run had halted before.
    pub fn run_until(&mut self, until: SimTime) -> Result<(), Halt> {
        while self.next_instant().is_some_and(|time| time < until) {
            self.step_instant()?;
        }
        match &self.halt {
            Some(halt) => Err(halt.clone()),
            None => Ok(()),
        }
    }

    /// Stops the run for a reason that lies outside its steps.
    pub fn halt(&mut self, path: Option<ActorPath>, cause: HaltCause) -> Halt {
        self.set_halt(Halt { path, instant: None, cause, others: 0 })
    }

    pub(crate) fn set_halt(&mut self, halt: Halt) -> Halt {
        self.halt.get_or_insert(halt).clone()
    }

    /// Why the run stopped early, if it did.
    pub fn halted(&self) -> Option<&Halt> {
        self.halt.as_ref()
    }

    /// Whether the run was ended.
    pub fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// The last instant.
    pub fn now(&self) -> Option<SimTime> {
        self.now
    }

    /// Number of instants so far.
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// Number of steps so far, over all participants.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Number of signals so far.
    pub fn signals(&self) -> u64 {
        self.signals
    }

    /// Number of participants in the world.
    pub fn participants(&self) -> usize {
        self.registry.live_leaves() as usize
    }

    /// The fingerprint of the run so far.
    pub fn world_hash(&self) -> Fingerprint {
        self.world_hash
    }

    /// The world's name, the seed, and whether values are handed over typed.
    pub fn identity(&self) -> &RunIdentity {
        &self.run
    }

    /// The newest value under a key, read as a `T`; when several publish under it, the newest by (time, publisher path,
    /// sequence number). `None` before the first, when it does not read as a `T`, and after its publisher left. After a
    /// halt it may be one of the instant that failed.
    pub fn latest<T: chaconne_sim_core::signal::SignalValue>(&self, key: &Key) -> Option<(SimTime, T)> {
        let sample = self.newest(key)?;
        Some((sample.time, sample.payload.decode().ok()?))
    }

    fn newest(&self, key: &Key) -> Option<&Sample> {
        Some(self.newest_of(self.routing.under(key).map(|(id, _)| id))?.1)
    }

    /// The newest sample among some outputs.
    pub(crate) fn newest_of(&self, outputs: impl Iterator<Item = OutputId>) -> Option<(OutputId, &Sample)> {
        let path = |leaf: u32| &self.registry.path[leaf as usize];
        outputs
            .filter_map(|id| Some((id, self.routing.outputs_of(id.leaf).get(id.index as usize)?.newest.as_ref()?)))
            .max_by(|(a, x), (b, y)| (x.time, path(a.leaf), x.seq).cmp(&(y.time, path(b.leaf), y.seq)))
    }

    /// The place of an actor's first leaf in the world's order.
    pub(crate) fn order_of(&self, actor: u32) -> u64 {
        self.registry.entry(actor).map_or(u64::MAX, |entry| self.registry.rows[entry.first_leaf as usize].order)
    }

    /// The report of the run so far, without wall times.
    pub fn report(&self) -> RunReport {
        RunReport {
            world: self.run.world.clone(),
            seed: self.run.seed,
            halt: self.halt.clone(),
            now: self.now,
            ticks: self.ticks,
            steps: self.steps,
            signals: self.signals,
            participants: self.participants(),
            joins: self.changes.joins,
            leaves: self.changes.leaves,
            refusals: self.changes.refusals,
            refused: self.changes.refused.clone(),
            removed: self.changes.removed.clone(),
            left_behind: self.hosts.left_behind().to_vec(),
            misses: self.changes.misses,
            world_hash: self.world_hash,
            end_failures: self.ended.as_ref().map(|report| report.end_failures.clone()).unwrap_or_default(),
            stopped: self.stopped,
            wall: Duration::ZERO,
            pacing: self.pacing.clone(),
            timing: self.timing_report(),
        }
    }

    /// Tells monitors that have not seen an instant yet what they are going to see.
    ///
    /// # Errors
    /// The halt, when one of them fails; all are told.
    pub(crate) fn start_monitors(&mut self) -> Result<(), Halt> {
        if self.started == self.monitors.len() {
            return Ok(());
        }
        let run = RunStart {
            world: self.run.world.clone(),
            seed: self.run.seed,
            typed: self.run.typed,
            threads: self.threads,
            ticks: self.ticks,
        };
        let from = std::mem::replace(&mut self.started, self.monitors.len());
        let failures = self.monitors[from..].iter_mut().filter_map(|monitor| failure_of(|| monitor.started(&run)));
        let mut failures: Vec<String> = failures.collect();
        if failures.is_empty() {
            return Ok(());
        }
        Err(self.halt(None, HaltCause::Monitor(failures.swap_remove(0))))
    }

    /// Ends the run: tells the monitors that it is over, and returns its report, in which `wall` is the time spent in
    /// stepping. For those who drive a conductor themselves: nothing else marks the end, but that a conductor that has
    /// halted ends its run when it is dropped. Nothing is stepped afterwards; asked again, it returns the same report.
    pub fn end(&mut self, wall: Duration) -> RunReport {
        if let Some(report) = &self.ended {
            return report.clone();
        }
        // A run that halted before its first instant ends with a log too; a monitor that cannot start halts it.
        let _ = self.start_monitors();
        let mut report = RunReport { wall, ..self.report() };
        for monitor in &mut self.monitors {
            report.end_failures.extend(failure_of(|| monitor.ended(&report)));
        }
        self.ended.insert(report).clone()
    }
}

impl Drop for Conductor {
    /// A run that halted has ended, also for those who pass the halt on and let go of the conductor.
    fn drop(&mut self) {
        if self.halt.is_some() && !std::thread::panicking() {
            self.end(Duration::ZERO);
        }
    }
}
