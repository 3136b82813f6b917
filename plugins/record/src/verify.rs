//! Verifying a run against a log: the run is made again, live, and stops at the first difference.
//!
//! ```no_run
//! use bevy_app::App;
//! use chaconne_conductor::{ConductorAppExt, ConductorPlugin};
//! use chaconne_record::VerifyPlugin;
//! use chaconne_sim_core::SimTime;
//!
//! let mut app = App::new();
//! app.add_plugins((ConductorPlugin::default(), VerifyPlugin::new("run.jsonl")));
//! // … the same actors as in the run that was recorded …
//! app.run_headless(SimTime::from_secs(10));
//! let report = app.end_run();
//! assert!(report.is_complete(), "{report}");
//! ```

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use bevy_app::{App, Plugin};
use bevy_ecs::resource::Resource;
use chaconne_conductor::monitor::{Instant, Monitor, MonitorError, RunStart};
use chaconne_conductor::{ConductorAppExt, HaltCause, RunReport};
use chaconne_sim_core::fingerprint::{self, Fingerprint};
use chaconne_sim_core::time::SimTime;

use crate::compare::{Comparison, Difference, Field, Other, halt_text};
use crate::encode::Encoder;
use crate::error::LogError;
use crate::instant::InstantRecord;
use crate::line::{End, Halted, Last, Reason};
use crate::reader::{Block, LogReader};

/// Compares the run of an `App` with a log, instant by instant.
///
/// At the first difference the run halts with a sentence that names the log's line, the instant, the participant and
/// the field. A run that was compared to its end without difference has a complete [`RunReport`]; the end of the run is
/// part of the comparison, so a run in pieces has to be [ended](ConductorAppExt::end_run). The resource
/// [`Verification`] says how far the comparison went.
///
/// A log of a run that halted is compared up to the halt, which the run has to repeat when the world itself failed. A
/// log whose program let go of the run, or that was recovered, is compared as far as it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyPlugin {
    /// The log.
    pub file: PathBuf,
}

impl VerifyPlugin {
    /// Verifies against a log.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self { file: file.into() }
    }
}

impl Plugin for VerifyPlugin {
    fn build(&self, app: &mut App) {
        let verifier = Verifier::new(&self.file);
        app.insert_resource(verifier.verification());
        app.add_monitor(verifier);
    }

    fn is_unique(&self) -> bool {
        false
    }
}

/// How far a run has been compared with a log without a difference. A resource of an `App` with a [`VerifyPlugin`] (the
/// last one added); copies share it.
#[derive(Resource, Clone, Debug, Default)]
pub struct Verification(Arc<Compared>);

#[derive(Debug, Default)]
struct Compared {
    ticks: AtomicU64,
    whole: AtomicBool,
    difference: OnceLock<Difference>,
}

impl Verification {
    /// Number of instants that were compared and are equal.
    pub fn ticks(&self) -> u64 {
        self.0.ticks.load(Ordering::Relaxed)
    }

    /// Whether the run was compared from its first instant to its end, and the log ended with it. `false` while it goes
    /// on, after a difference, and when the log ended before the run did: its program let go of the run, it was
    /// recovered, or a monitor halted it.
    pub fn is_whole(&self) -> bool {
        self.0.whole.load(Ordering::Relaxed)
    }

    /// Where the run differs from the log first, once that was found.
    pub fn difference(&self) -> Option<&Difference> {
        self.0.difference.get()
    }
}

/// A monitor that verifies: for those who drive a [`Conductor`](chaconne_conductor::Conductor) themselves.
pub struct Verifier {
    file: PathBuf,
    log: Option<LogReader>,
    /// The log's last line, once it has been read.
    last: Option<(Last, u64)>,
    encoder: Encoder,
    expected: InstantRecord,
    found: InstantRecord,
    /// What has been compared so far.
    steps: u64,
    signals: u64,
    world_hash: Fingerprint,
    verification: Verification,
    /// A difference was found, or the log could not be read: there is nothing more to say.
    failed: bool,
}

impl Verifier {
    /// Verifies against a log, which is opened when the run starts.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self {
            file: file.into(),
            log: None,
            last: None,
            encoder: Encoder::default(),
            expected: InstantRecord::default(),
            found: InstantRecord::default(),
            steps: 0,
            signals: 0,
            world_hash: Fingerprint::of(&[]),
            verification: Verification::default(),
            failed: false,
        }
    }

    /// How far the run has been compared.
    pub fn verification(&self) -> Verification {
        self.verification.clone()
    }

    fn differs(&self, difference: Difference) -> LogError {
        // Only the first one counts.
        let _ = self.verification.0.difference.set(difference.clone());
        LogError::Differs { file: self.file.clone(), difference: Box::new(difference) }
    }

    fn start(&mut self, run: &RunStart) -> Result<(), LogError> {
        if run.ticks > 0 {
            let what = format!(
                "cannot verify against {}: the run is at instant {} already, and a log begins with the first",
                self.file.display(),
                run.ticks
            );
            return Err(LogError::Unfit { what });
        }
        let log = LogReader::follow(&self.file)?;
        let header = log.header();
        let differing = if header.world != run.world {
            Some((Field::World, format!("`{}`", header.world), format!("`{}`", run.world)))
        } else if header.seed != run.seed {
            Some((Field::Seed, header.seed.to_string(), run.seed.to_string()))
        } else {
            None
        };
        if let Some((field, expected, found)) = differing {
            return Err(self.differs(of_run(1, None, field, expected, found)));
        }
        self.log = Some(log);
        self.world_hash = fingerprint::world_start(&run.world, run.seed);
        Ok(())
    }

    fn compare(&mut self, instant: &Instant<'_>) -> Result<(), LogError> {
        let Some(log) = &mut self.log else { return Ok(()) };
        if self.last.is_some() {
            return Ok(());
        }
        match log.next_text(&mut self.expected.lines)? {
            Block::Instant => {}
            Block::Gap { gap, line } => {
                let what = format!("the log lacks {gap}, so a run can be verified up to here only");
                return Err(log.fault(line, what));
            }
            Block::Last { last, line } => {
                if !may_go_on(&last) {
                    let place = Some((instant.tick, instant.time));
                    let more = "an instant more".to_owned();
                    return Err(self.differs(of_run(line, place, Field::End, end_text(&last), more)));
                }
                self.counts(&last, line)?;
                self.last = Some((last, line));
                return Ok(());
            }
        }
        self.encoder.out.clear();
        let size = self.encoder.instant(instant);
        if self.encoder.out != self.expected.lines.text {
            self.explain()?;
        }
        self.steps += size.steps;
        self.signals += size.signals;
        self.world_hash = instant.world_hash;
        self.verification.0.ticks.store(instant.tick + 1, Ordering::Relaxed);
        Ok(())
    }

    /// Finds out what differs in an instant that is not written alike.
    fn explain(&mut self) -> Result<(), LogError> {
        let fault = |line, what| LogError::Line { file: self.file.clone(), line, what };
        // The same may have been written in other words; otherwise find out what differs.
        self.expected.read().map_err(|(line, what)| fault(line, what))?;
        self.found.lines.set(&self.encoder.out, 1);
        self.found.read().map_err(|(_, what)| LogError::Unfit { what })?;
        match Comparison::new(&self.expected, &self.found, Other::Run).first() {
            Some(difference) => Err(self.differs(difference)),
            None => Ok(()),
        }
    }

    /// Compares what the log's last line says of the instants before it.
    fn counts(&self, last: &Last, line: u64) -> Result<(), LogError> {
        let ticks = self.verification.ticks();
        let text = |(ticks, steps, signals)| format!("{ticks} instants, {steps} steps and {signals} signals");
        let (expected, found) = ((last.ticks, last.steps, last.signals), (ticks, self.steps, self.signals));
        let difference = if expected != found {
            of_run(line, None, Field::Counts, text(expected), text(found))
        } else if last.world_hash != self.world_hash {
            of_run(line, None, Field::WorldHash, last.world_hash.to_string(), self.world_hash.to_string())
        } else {
            return Ok(());
        };
        Err(self.differs(difference))
    }

    fn close(&mut self, report: &RunReport) -> Result<(), LogError> {
        let Some(mut log) = self.log.take().filter(|_| !self.failed) else { return Ok(()) };
        let place = report.now.map(|now| (report.ticks.saturating_sub(1), now));
        let halted = report.halt.as_ref().map(Halted::of);
        // Who halts or stops the run from outside stops the verification with it.
        if report.stopped {
            return Ok(());
        }
        if let Some(halt) = &report.halt
            && matches!(halt.cause, HaltCause::Monitor(_) | HaltCause::Mirror(_))
        {
            return Ok(());
        }
        let found = || halted.as_ref().map_or("its end there".to_owned(), halt_text);
        let ended_before = self.last.is_some();
        let (last, line) = match self.last.take() {
            Some(last) => last,
            None => match log.next_block(&mut self.expected)? {
                Block::Last { last, line } => {
                    self.counts(&last, line)?;
                    (last, line)
                }
                Block::Gap { gap, line } => {
                    return Err(log.fault(line, format!("the log lacks {gap}, which the run does not have")));
                }
                Block::Instant => {
                    let line = self.expected.line_numbers().0;
                    let expected = format!("instant {} at {} s next", self.expected.tick, self.expected.time);
                    return Err(self.differs(of_run(line, place, Field::End, expected, found())));
                }
            },
        };
        let agrees = match (&last.end, &halted) {
            (End::Ended(Reason::Finished), None) => true,
            (End::Ended(Reason::Left | Reason::Stopped | Reason::Recovered), _) => true,
            (End::Halted(expected), Some(found)) => !expected.cause.is_of_the_world() || expected == found,
            (End::Halted(expected), None) => !expected.cause.is_of_the_world(),
            (End::Ended(Reason::Finished), Some(_)) => false,
        };
        if !agrees {
            return Err(self.differs(of_run(line, place, Field::End, end_text(&last), found())));
        }
        if self.verification.ticks() == 0 && report.ticks > 0 {
            let what = format!("nothing was verified: {} ends before its first instant", self.file.display());
            return Err(LogError::Unfit { what });
        }
        self.verification.0.whole.store(!ended_before, Ordering::Relaxed);
        Ok(())
    }
}

fn end_text(last: &Last) -> String {
    match &last.end {
        End::Ended(_) => "its end there".to_owned(),
        End::Halted(halted) => halt_text(halted),
    }
}

/// Whether a run may go on where the log ends.
fn may_go_on(last: &Last) -> bool {
    match &last.end {
        End::Ended(reason) => *reason != Reason::Finished,
        End::Halted(halted) => !halted.cause.is_of_the_world(),
    }
}

fn of_run(line: u64, instant: Option<(u64, SimTime)>, field: Field, expected: String, found: String) -> Difference {
    Difference { line, other_line: None, instant, path: None, field, expected, found, other: Other::Run }
}

impl Monitor for Verifier {
    fn started(&mut self, run: &RunStart) -> Result<(), MonitorError> {
        self.start(run).inspect_err(|_| self.failed = true).map_err(Into::into)
    }

    fn instant(&mut self, instant: &Instant<'_>) -> Result<(), MonitorError> {
        self.compare(instant).inspect_err(|_| self.failed = true).map_err(Into::into)
    }

    fn ended(&mut self, report: &RunReport) -> Result<(), MonitorError> {
        self.close(report).map_err(Into::into)
    }
}
