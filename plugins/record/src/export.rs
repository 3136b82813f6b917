//! Turning a log into files for other programs: MCAP for Foxglove, CSV for tables and notebooks.
//!
//! ```no_run
//! # #[cfg(all(feature = "mcap", feature = "csv"))]
//! # fn export() -> Result<(), chaconne_record::LogError> {
//! chaconne_record::export_mcap("run.jsonl", "run.mcap", |_| {})?;
//! chaconne_record::export_csv("run.jsonl", "run-csv", |_| {})?;
//! # Ok(())
//! # }
//! ```
//!
//! A log is read twice: first to check it as [`check()`](crate::check::check) does and to see what its payloads look
//! like, then to write. Of a log that was cut off, the complete instants are exported, and the report says so.
//! `observed` lines are left out. What is made is made under another name beside its place and renamed when it is
//! complete, so that a failure leaves nothing behind.

#[cfg(feature = "csv")]
mod csv;
mod json;
#[cfg(feature = "mcap")]
mod mcap;
#[cfg(feature = "mcap")]
mod shape;

use std::path::Path;

#[cfg(feature = "csv")]
pub use self::csv::export_csv;
#[cfg(feature = "mcap")]
pub use self::mcap::export_mcap;
use crate::check::Checker;
use crate::error::LogError;
use crate::instant::InstantRecord;
use crate::line::{Header, Last};
use crate::reader::{Block, LogReader};

/// What was exported.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ExportReport {
    /// The log's header.
    pub header: Header,
    /// The log's last line; `None` for a log that was cut off, of which what is complete was exported.
    pub last: Option<Last>,
    /// The last line of the file, for a log that was cut off.
    pub cut_at: Option<u64>,
    /// Number of instants.
    pub ticks: u64,
    /// Number of instants that are missing from the log, because it was recovered from damage.
    pub lost: u64,
    /// Number of signals.
    pub signals: u64,
    /// Number of keys that signals were published under.
    pub keys: u64,
}

/// Goes through a log, checks it, and shows every instant. Of a log that was cut off, what is complete counts.
fn first_pass(
    input: &Path,
    progress: &mut dyn FnMut(f64),
    mut each: impl FnMut(&InstantRecord) -> Result<(), LogError>,
) -> Result<ExportReport, LogError> {
    if input == Path::new("-") {
        let what =
            "the standard input cannot be exported, because a log is read twice for that: give the name of a file";
        return Err(LogError::Unfit { what: what.to_owned() });
    }
    let mut log = LogReader::open(input)?;
    let mut checker = Checker::new(log.header());
    let mut instant = InstantRecord::default();
    let (mut last, mut cut_at) = (None, None);
    loop {
        match log.next_block(&mut instant) {
            Ok(Block::Instant) => {
                checker.instant(&instant).map_err(|(line, what)| log.fault(line, what))?;
                each(&instant)?;
            }
            Ok(Block::Gap { gap, line }) => checker.gap(gap).map_err(|what| log.fault(line, what))?,
            Ok(Block::Last { last: found, line }) => {
                checker.last(&found).map_err(|what| log.fault(line, what))?;
                last = Some(found);
                break;
            }
            Err(LogError::Cut { line, .. }) => {
                cut_at = Some(line);
                break;
            }
            Err(error) => return Err(error),
        }
        if let Some(share) = log.progress() {
            progress(share / 2.0);
        }
    }
    let lost = checker.gaps.iter().map(|gap| gap.next - gap.tick).sum();
    let Checker { ticks, signals, .. } = checker;
    Ok(ExportReport { header: log.header().clone(), last, cut_at, ticks, lost, signals, keys: 0 })
}

/// Goes through the instants that the first pass saw; the file may have grown since.
fn second_pass(
    input: &Path,
    ticks: u64,
    progress: &mut dyn FnMut(f64),
    mut each: impl FnMut(&InstantRecord) -> Result<(), LogError>,
) -> Result<(), LogError> {
    let mut log = LogReader::open(input)?;
    let mut instant = InstantRecord::default();
    let mut seen = 0;
    while seen < ticks {
        match log.next_block(&mut instant)? {
            Block::Instant => {
                seen += 1;
                each(&instant)?;
            }
            Block::Gap { .. } => {}
            Block::Last { line, .. } => return Err(log.fault(line, CHANGED.to_owned())),
        }
        if let Some(share) = log.progress() {
            progress(0.5 + share / 2.0);
        }
    }
    Ok(())
}

const CHANGED: &str = "the log was changed while it was being exported: export it again";

/// The error of a log that has other signals than it had when it was read first.
fn changed(input: &Path, line: u64) -> LogError {
    LogError::Line { file: input.to_owned(), line, what: CHANGED.to_owned() }
}
