//! What can go wrong with a log.

use std::io;
use std::path::PathBuf;

use crate::compare::Difference;

/// Why a log could not be written, read or followed. The text is one sentence that names the file, the line where there
/// is one, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The file could not be opened.
    #[error("cannot open the log {}: {source}", file.display())]
    Open {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file could not be made, or opened for writing.
    #[error("cannot write to {}: {source}", file.display())]
    Create {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// An input of the run that is to be noted could not be read.
    #[error("cannot note the input {}: {source}", file.display())]
    Input {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file holds something else, which a log would take the place of.
    #[error(
        "{} is there, and is not a log: it is not written over; choose another name, or remove it",
        file.display()
    )]
    NotReplaced {
        /// The file.
        file: PathBuf,
    },
    /// Somebody else writes or follows the file.
    #[error(
        "cannot use {} for a log: it is being {by}; choose another file, or wait until that has ended",
        file.display()
    )]
    InUse {
        /// The file.
        file: PathBuf,
        /// What is done with it.
        by: &'static str,
    },
    /// The file could not be written.
    #[error("cannot write the log {}: {source}; what was recorded before that is in it", file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file that a log was to be turned into could not be written.
    #[error("cannot write {}: {source}; what was there before is as it was", file.display())]
    Output {
        /// The file or folder.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file could not be read.
    #[error("{}:{line}: cannot read on: {source}; `chaconne log recover` saves what can be read", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// The line that was being read.
        line: u64,
        /// Why.
        source: io::Error,
    },
    /// The file is something else.
    #[error("{} is not a log: {what}", file.display())]
    NotALog {
        /// The file.
        file: PathBuf,
        /// What is there instead.
        what: String,
    },
    /// The log was written by another version.
    #[error(
        "{} is a log of format version {version}, and this program reads version 1; use the version that recorded it",
        file.display()
    )]
    Version {
        /// The file.
        file: PathBuf,
        /// The version that it names.
        version: u64,
    },
    /// The log is compressed, and this build cannot read that.
    #[error("cannot use {}: a compressed log needs the feature `zstd`, which this program was built without", file.display())]
    Compressed {
        /// The file.
        file: PathBuf,
    },
    /// A line is malformed, or does not follow from those before it.
    #[error("{}:{line}: {what}", file.display())]
    Line {
        /// The file.
        file: PathBuf,
        /// The line's number, counted from 1.
        line: u64,
        /// What is wrong.
        what: String,
    },
    /// The log ends without its last line.
    #[error(
        "{} was cut off in or after line {line}: it has no `end` or `halt` line; `chaconne log recover` saves the {} in it",
        file.display(),
        instants(*ticks)
    )]
    Cut {
        /// The file.
        file: PathBuf,
        /// The last line that is there.
        line: u64,
        /// Number of complete instants.
        ticks: u64,
    },
    /// A run, or another log, differs from the log.
    #[error("{}:{}: {difference}", file.display(), difference.line)]
    Differs {
        /// The file.
        file: PathBuf,
        /// Where and in what.
        difference: Box<Difference>,
    },
    /// What was asked for cannot be done with this log.
    #[error("{what}")]
    Unfit {
        /// Why.
        what: String,
    },
}

fn instants(count: u64) -> String {
    match count {
        1 => "one complete instant".to_owned(),
        count => format!("{count} complete instants"),
    }
}
