//! Recording a run.
//!
//! ```no_run
//! use bevy_app::App;
//! use chaconne_conductor::{ConductorAppExt, ConductorPlugin};
//! use chaconne_record::RecordPlugin;
//! use chaconne_sim_core::SimTime;
//!
//! let mut app = App::new();
//! app.add_plugins((ConductorPlugin::default(), RecordPlugin::new("run.jsonl")));
//! app.run_headless(SimTime::from_secs(10));
//! let report = app.end_run();
//! ```

use std::io::Write;
use std::path::PathBuf;

use bevy_app::{App, Plugin};
use chaconne_conductor::monitor::{Instant, Monitor, MonitorError, RunStart};
use chaconne_conductor::{ConductorAppExt, RunReport};
use chaconne_sim_core::fingerprint::{self, Fingerprint};

use crate::encode::Encoder;
use crate::error::LogError;
use crate::line::{End, Halted, Header, Last, Reason};
use crate::provenance::{Provenance, ProvenanceAppExt};
use crate::sink::{Opened, Sink, open};
use crate::source::{LONGEST_INSTANT, LONGEST_LINE};

/// Records the run of an `App` to a log.
///
/// The file is opened before the first instant; an older log in it gives way when that is complete, and anything else
/// is not written over. A file that cannot be written halts the run with a sentence that names it; what was recorded
/// before that stays readable. A run whose end is not known before
/// ([`ConductorPlugin::end`](chaconne_conductor::ConductorPlugin::end)) is [ended](ConductorAppExt::end_run) by its
/// program; when the program just lets go of it, its log says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordPlugin {
    /// The log. With a name that ends in `.zst` it is compressed, which needs the feature `zstd`.
    pub file: PathBuf,
}

impl RecordPlugin {
    /// Records to a file.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self { file: file.into() }
    }
}

impl Plugin for RecordPlugin {
    fn build(&self, app: &mut App) {
        let provenance = app.provenance();
        app.add_monitor(Recorder::new(&self.file).with_provenance(provenance));
    }

    fn is_unique(&self) -> bool {
        // One may record to several files.
        false
    }
}

/// A monitor that records: for those who drive a [`Conductor`](chaconne_conductor::Conductor) themselves.
///
/// Every instant is written by one call to the system before the next begins, so that a process that is killed loses
/// the instant that it was in. A compressed log loses at most a second, or a mebibyte of lines (two or
/// three instants, where they are larger than that). Nothing waits for the
/// disk itself: what the system had taken is lost only when the system goes down.
pub struct Recorder {
    file: PathBuf,
    provenance: Provenance,
    encoder: Encoder,
    /// The file, which holds an older log until the first instant is complete.
    opened: Option<Opened>,
    sink: Option<Box<dyn Sink>>,
    /// The header is in the file.
    headed: bool,
    ticks: u64,
    steps: u64,
    signals: u64,
    world_hash: Fingerprint,
}

impl Recorder {
    /// Records to a file, which is opened when the run starts.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self {
            file: file.into(),
            provenance: Provenance::default(),
            encoder: Encoder::default(),
            opened: None,
            sink: None,
            headed: false,
            ticks: 0,
            steps: 0,
            signals: 0,
            world_hash: Fingerprint::of(&[]),
        }
    }

    /// This recorder with what the program wants to be remembered.
    #[must_use]
    pub fn with_provenance(mut self, provenance: Provenance) -> Self {
        self.provenance = provenance;
        self
    }

    /// Takes the place of an older log.
    fn begin(&mut self) -> Result<(), LogError> {
        if let Some(opened) = self.opened.take() {
            self.sink = Some(opened.begin()?);
        }
        Ok(())
    }

    /// Gives the encoder's lines to the file. The first ones begin with the header.
    fn write(&mut self) -> Result<(), LogError> {
        let written = self.sink.as_mut().map_or(Ok(()), |sink| sink.write(&self.encoder.out));
        self.encoder.out.clear();
        if written.is_err() && !self.headed {
            // A log without header is none: nothing more is written to it.
            self.sink = None;
        }
        self.headed = true;
        written.map_err(|source| LogError::Write { file: self.file.clone(), source })
    }

    /// A log holds what readers read.
    fn refuse_long_lines(&mut self, instant: &Instant<'_>) -> Result<(), LogError> {
        let longest = self.encoder.out.split(|byte| *byte == b'\n').max_by_key(|line| line.len()).unwrap_or_default();
        if longest.len() <= LONGEST_LINE && self.encoder.out.len() <= LONGEST_INSTANT {
            return Ok(());
        }
        let beginning = String::from_utf8_lossy(&longest[..longest.len().min(200)]).into_owned();
        self.encoder.out.clear();
        let what = format!(
            "cannot record instant {} ({} s) to {}: a line of a log has at most {} MiB and an instant {}; the longest line \
             begins with {beginning}",
            instant.tick,
            instant.time,
            self.file.display(),
            LONGEST_LINE >> 20,
            LONGEST_INSTANT >> 20
        );
        Err(LogError::Unfit { what })
    }

    /// Writes the last line and closes the file. A run that halted or was stopped before its first instant leaves an older
    /// log as it is.
    fn close(&mut self, end: End) -> Result<(), LogError> {
        if matches!(end, End::Halted(_) | End::Ended(Reason::Left | Reason::Stopped)) {
            self.opened = None;
        }
        self.begin()?;
        let Self { ticks, steps, signals, world_hash, .. } = *self;
        self.encoder.last(&Last { end, ticks, steps, signals, world_hash });
        let written = self.write();
        let Some(mut sink) = self.sink.take() else { return Ok(()) };
        let finished = sink.finish().map_err(|source| LogError::Write { file: self.file.clone(), source });
        written.and(finished)
    }
}

impl Monitor for Recorder {
    fn started(&mut self, run: &RunStart) -> Result<(), MonitorError> {
        if run.ticks > 0 {
            let what = format!(
                "cannot record to {}: the run is at instant {} already, and a log begins with the first; add the \
                 recorder before the run starts",
                self.file.display(),
                run.ticks
            );
            return Err(LogError::Unfit { what }.into());
        }
        let opened = open(&self.file)?;
        let is_new = !opened.has_content;
        self.opened = Some(opened);
        self.world_hash = fingerprint::world_start(&run.world, run.seed);
        let provenance = self.provenance.gather(run);
        self.encoder.header(&Header { world: run.world.clone(), seed: run.seed, provenance });
        if is_new {
            self.begin()?;
            self.write()?;
        }
        Ok(())
    }

    fn instant(&mut self, instant: &Instant<'_>) -> Result<(), MonitorError> {
        let size = self.encoder.instant(instant);
        instant.observed.iter().for_each(|observation| self.encoder.observed(observation));
        if self.encoder.out.len() > LONGEST_LINE {
            self.refuse_long_lines(instant)?;
        }
        self.begin()?;
        self.write()?;
        // Only what is in the log counts there.
        self.ticks = instant.tick + 1;
        self.steps += size.steps;
        self.signals += size.signals;
        self.world_hash = instant.world_hash;
        Ok(())
    }

    fn ended(&mut self, report: &RunReport) -> Result<(), MonitorError> {
        let end = match &report.halt {
            None if report.stopped => End::Ended(Reason::Stopped),
            None => End::Ended(Reason::Finished),
            Some(halt) => End::Halted(Halted::of(halt)),
        };
        Ok(self.close(end)?)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // The program lets go of a run that has not ended.
        if !std::thread::panicking()
            && let Err(error) = self.close(End::Ended(Reason::Left))
        {
            // There is no report any more that could say it, and perhaps nobody who listens.
            let _ = writeln!(std::io::stderr(), "{error}");
        }
    }
}
