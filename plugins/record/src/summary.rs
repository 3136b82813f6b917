//! What is in a log, in numbers.
//!
//! ```no_run
//! let summary = chaconne_record::summarize("run.jsonl", |_share| {})?;
//! for key in &summary.keys {
//!     println!("{}: {} signals", key.key, key.signals);
//! }
//! # Ok::<(), chaconne_record::LogError>(())
//! ```

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::path::Path;

use chaconne_sim_core::fingerprint::{self, Fingerprint, MembershipKind};
use chaconne_sim_core::time::SimTime;

use crate::error::LogError;
use crate::instant::InstantText;
use crate::line::{Gap, Header, Last, Line};
use crate::reader::{Block, LogReader};

/// What is in a log. What stands behind the last complete instant of a log that was cut off is not counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The header.
    pub header: Header,
    /// Whether the file is compressed.
    pub compressed: bool,
    /// The file's length, where it has one.
    pub file_bytes: Option<u64>,
    /// The length of its lines, decompressed.
    pub text_bytes: u64,
    /// Number of lines.
    pub lines: u64,
    /// How the log ends.
    pub ending: Ending,
    /// The first instant and the last.
    pub span: Option<(SimTime, SimTime)>,
    /// Number of instants.
    pub ticks: u64,
    /// Number of steps, over all participants.
    pub steps: u64,
    /// Number of signals.
    pub signals: u64,
    /// The length of all payloads, in bytes.
    pub payload_bytes: u64,
    /// Number of `observed` lines.
    pub observed: u64,
    /// Runs of instants that are missing.
    pub gaps: Vec<Gap>,
    /// The fingerprint of the run, as the log states it.
    pub world_hash: Fingerprint,
    /// The keys, sorted.
    pub keys: Vec<KeySummary>,
    /// The participants, sorted.
    pub participants: Vec<ParticipantSummary>,
}

/// How a log ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With its last line.
    Complete(Last),
    /// It was cut off in or after a line.
    Cut {
        /// The last line that is there.
        line: u64,
        /// Somebody writes it at this moment.
        is_written: bool,
    },
}

/// The signals of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySummary {
    /// The key.
    pub key: String,
    /// Number of signals.
    pub signals: u64,
    /// The length of their payloads, in bytes.
    pub payload_bytes: u64,
    /// When the first was published, and the last.
    pub span: (SimTime, SimTime),
}

/// What one participant did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParticipantSummary {
    /// Its path.
    pub path: String,
    /// How often it joined. None at all means that this is in a part of the log that is missing.
    pub joins: u64,
    /// How often it left.
    pub leaves: u64,
    /// Number of steps.
    pub steps: u64,
    /// Number of signals.
    pub signals: u64,
    /// The length of their payloads, in bytes.
    pub payload_bytes: u64,
}

impl Summary {
    /// Whether the log has its last line, and no instant is missing.
    pub fn is_complete(&self) -> bool {
        matches!(self.ending, Ending::Complete(_)) && self.gaps.is_empty()
    }

    /// Number of joins.
    pub fn joins(&self) -> u64 {
        self.participants.iter().map(|participant| participant.joins).sum()
    }

    /// Number of leaves.
    pub fn leaves(&self) -> u64 {
        self.participants.iter().map(|participant| participant.leaves).sum()
    }
}

/// Counts what is in a log, in memory that grows with its keys and participants and not with its length. A log that was
/// cut off is counted up to there.
///
/// Hashes are taken as they are stated; [`check()`](crate::check::check) computes them again. `progress` is told the
/// share that has been read, where that is known.
///
/// # Errors
/// When the log cannot be read, or a line is malformed.
pub fn summarize(file: impl AsRef<Path>, mut progress: impl FnMut(f64)) -> Result<Summary, LogError> {
    let mut log = LogReader::open(file)?;
    let mut counts = Counts::default();
    let mut text = InstantText::default();
    let mut gaps = Vec::new();
    let ending = loop {
        match log.next_text(&mut text) {
            Ok(Block::Instant) => counts.instant(&text).map_err(|(line, what)| log.fault(line, what))?,
            Ok(Block::Gap { gap, .. }) => gaps.push(gap),
            Ok(Block::Last { last, .. }) => break Ending::Complete(last),
            Err(LogError::Cut { line, .. }) => break Ending::Cut { line, is_written: is_written(log.file()) },
            Err(error) => return Err(error),
        }
        if let Some(share) = log.progress() {
            progress(share);
        }
    };
    let header = log.header().clone();
    let world_hash = match &ending {
        Ending::Complete(last) => last.world_hash,
        Ending::Cut { .. } => counts.world_hash.unwrap_or_else(|| fingerprint::world_start(&header.world, header.seed)),
    };
    let Counts { span, ticks, steps, signals, payload_bytes, keys, participants, .. } = counts;
    Ok(Summary {
        header,
        compressed: log.is_compressed(),
        file_bytes: log.file_length(),
        text_bytes: log.bytes(),
        lines: log.line_number(),
        ending,
        span,
        ticks,
        steps,
        signals,
        payload_bytes,
        observed: log.observed(),
        gaps,
        world_hash,
        keys: keys.sorted(),
        participants: participants.sorted(),
    })
}

/// Whether a recorder holds the file.
fn is_written(file: &Path) -> bool {
    File::open(file).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// The counts so far.
#[derive(Default)]
struct Counts {
    span: Option<(SimTime, SimTime)>,
    ticks: u64,
    steps: u64,
    signals: u64,
    payload_bytes: u64,
    world_hash: Option<Fingerprint>,
    keys: Table<KeySummary>,
    participants: Table<ParticipantSummary>,
}

impl Counts {
    fn instant(&mut self, text: &InstantText) -> Result<(), (u64, String)> {
        let ends = text.lines.iter().skip(1).map(|line| line.0).chain([text.text.len()]);
        for (&(start, number), end) in text.lines.iter().zip(ends) {
            let line = Line::parse(&text.text[start..end - 1]).map_err(|what| (number, what))?;
            self.line(&line).map_err(|what| (number, what))?;
        }
        Ok(())
    }

    fn line(&mut self, line: &Line<'_>) -> Result<(), String> {
        match line {
            Line::Membership(change) => {
                let row = self.participants.row(change.path, || named(change.path));
                match change.kind {
                    MembershipKind::Join => row.joins += 1,
                    MembershipKind::Leave => row.leaves += 1,
                }
            }
            Line::Signal(signal) => {
                let bytes = signal.payload.len() as u64;
                self.signals += 1;
                self.payload_bytes += bytes;
                let key = self.keys.row(signal.key, || KeySummary {
                    key: signal.key.to_owned(),
                    signals: 0,
                    payload_bytes: 0,
                    span: (signal.time, signal.time),
                });
                key.signals += 1;
                key.payload_bytes += bytes;
                key.span.1 = signal.time;
                let publisher = self.participants.row(signal.path, || named(signal.path));
                publisher.signals += 1;
                publisher.payload_bytes += bytes;
            }
            Line::Tick(tick) => {
                self.ticks += 1;
                self.span = Some((self.span.map_or(tick.time, |span| span.0), tick.time));
                self.world_hash = Some(tick.world_hash);
                tick.steps(|step| {
                    self.steps += 1;
                    self.participants.row(step.path, || named(step.path)).steps += 1;
                })?;
            }
            _ => {}
        }
        Ok(())
    }
}

fn named(path: &str) -> ParticipantSummary {
    ParticipantSummary { path: path.to_owned(), ..ParticipantSummary::default() }
}

/// Rows by name. Names come in much the same order instant after instant, so the row that followed last time is tried
/// first.
struct Table<R> {
    index: BTreeMap<Box<str>, usize>,
    rows: Vec<Entry<R>>,
    last: usize,
}

struct Entry<R> {
    name: Box<str>,
    row: R,
    /// Which came after it last time.
    successor: usize,
}

impl<R> Default for Table<R> {
    fn default() -> Self {
        Self { index: BTreeMap::new(), rows: Vec::new(), last: 0 }
    }
}

impl<R> Table<R> {
    fn row(&mut self, name: &str, new: impl FnOnce() -> R) -> &mut R {
        let likely = self.rows.get(self.last).map_or(0, |entry| entry.successor);
        let at = match self.rows.get(likely) {
            Some(entry) if *entry.name == *name => likely,
            _ => self.index.get(name).copied().unwrap_or_else(|| self.add(name, new())),
        };
        self.rows[self.last].successor = at;
        self.last = at;
        &mut self.rows[at].row
    }

    fn add(&mut self, name: &str, row: R) -> usize {
        let at = self.rows.len();
        self.index.insert(name.into(), at);
        self.rows.push(Entry { name: name.into(), row, successor: at + 1 });
        at
    }

    /// The rows, sorted by name.
    fn sorted(mut self) -> Vec<R> {
        self.rows.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        self.rows.into_iter().map(|entry| entry.row).collect()
    }
}
