//! What can go wrong in a task, apart from a check that failed.

use std::io;
use std::path::PathBuf;

/// Why a task could not be carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A program could not be started.
    #[error("`{command}` could not be started: {source}")]
    Start { command: String, source: io::Error },

    /// A program's output could not be read or passed on.
    #[error("the output of `{command}` could not be read: {source}")]
    Output { command: String, source: io::Error },

    /// `cargo metadata` failed.
    #[error("`cargo metadata` failed, so the workspace is unknown: {message}")]
    Metadata { message: String },

    /// A program that the checks need is neither there nor could it be installed.
    #[error("{0}")]
    Prerequisite(String),

    /// A file could not be read or written.
    #[error("{path}: {source}", path = path.display())]
    File { path: PathBuf, source: io::Error },

    /// The file of golden hashes is not what it should be.
    #[error("{path}: {message}", path = path.display())]
    Golden { path: PathBuf, message: String },

    /// An example failed, or printed no hash.
    #[error("example `{example}`: {message}")]
    Example { example: String, message: String },
}

impl Error {
    /// The exit code that tells a caller whose turn it is: 2 when the machine or the command line must change, else 1.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Error::Start { .. } | Error::Metadata { .. } | Error::Prerequisite(_) => 2,
            Error::Output { .. } | Error::File { .. } | Error::Golden { .. } | Error::Example { .. } => 1,
        }
    }
}
