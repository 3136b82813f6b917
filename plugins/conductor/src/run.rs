//! The report of a run.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chaconne_sim_core::fingerprint::Fingerprint;
use chaconne_sim_core::math;
use chaconne_sim_core::path::ActorPath;
use chaconne_sim_core::time::SimTime;

use crate::error::Halt;
use crate::pacing::PacingReport;
use crate::timing::TimingReport;

/// What a run did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunReport {
    /// The world's name.
    pub world: String,
    /// The seed.
    pub seed: u64,
    /// Why the run stopped before its end, if it did.
    pub halt: Option<Halt>,
    /// The last instant.
    pub now: Option<SimTime>,
    /// Number of instants.
    pub ticks: u64,
    /// Number of steps, over all participants.
    pub steps: u64,
    /// Number of signals.
    pub signals: u64,
    /// Number of participants at the end.
    pub participants: usize,
    /// Number of participants that joined, those of the start included, and that left again.
    pub joins: u64,
    /// See [`joins`](Self::joins).
    pub leaves: u64,
    /// Requests of participants to join or to leave that were refused, and told to them.
    pub refusals: u64,
    /// Joins and leaves that were planned for a time and could not be: what was refused then, and why.
    pub refused: Vec<String>,
    /// Actors that failed and were removed, as [`OnFailure::Remove`](crate::OnFailure::Remove) has it, and why.
    pub removed: Vec<String>,
    /// Actors whose step did not come back, and whose threads were left behind. They end with the process.
    pub left_behind: Vec<ActorPath>,
    /// Steps that took longer than their budgets.
    pub misses: u64,
    /// The fingerprint of the run: of every step, signal, join and leave in it.
    pub world_hash: Fingerprint,
    /// What monitors could not bring to its end once the run was over: a log that could not be closed, a verification
    /// that still expected something.
    pub end_failures: Vec<String>,
    /// Whether the run was stopped from outside before its end: by a [`StopHandle`](crate::StopHandle), a signal of the
    /// operating system, or because its `App` exits. What was stepped is complete all the same.
    pub stopped: bool,
    /// Wall time spent in stepping; waiting for the wall clock does not count.
    pub wall: Duration,
    /// How well a paced run kept time; `None` in a free run.
    pub pacing: Option<PacingReport>,
    /// What the time went to, when it was measured.
    pub timing: Option<Arc<TimingReport>>,
}

impl RunReport {
    /// Whether nothing went wrong: the run has not halted, whoever was planned to join or leave at a time did, and every
    /// monitor that was told of its end was content. Between the pieces of a run that has not ended, monitors may still have something to say.
    pub fn is_complete(&self) -> bool {
        self.halt.is_none() && self.refused.is_empty() && self.end_failures.is_empty()
    }

    /// Simulated seconds per wall second of stepping.
    pub fn real_time_factor(&self) -> f64 {
        let simulated = self.now.map_or(0.0, |now| now.as_secs_f64());
        simulated / math::max(self.wall.as_secs_f64(), f64::MIN_POSITIVE)
    }
}

impl fmt::Display for RunReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let now = self.now.unwrap_or_default();
        write!(
            f,
            "{} instants to {now} s, {} steps, {} signals, world hash {}",
            self.ticks, self.steps, self.signals, self.world_hash
        )?;
        if self.stopped {
            write!(f, "; stopped")?;
        }
        if let Some(halt) = &self.halt {
            write!(f, "; halted: {halt}")?;
        }
        self.refused.iter().try_for_each(|refused| write!(f, "; {refused}"))?;
        self.removed.iter().try_for_each(|removed| write!(f, "; removed from the run: {removed}"))?;
        self.end_failures.iter().try_for_each(|failure| write!(f, "; at its end: {failure}"))
    }
}
