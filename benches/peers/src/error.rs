//! What can go wrong while peers are measured.

use std::io;

use nexosim::simulation::SimulationError;
use thiserror::Error;

/// A failure that ends the command with exit code 1.
#[derive(Debug, Error)]
pub(crate) enum PeerError {
    /// NeXosim refused the bench or stopped while time advanced.
    #[error(
        "NeXosim stopped in its ring of {n} models on {threads} thread(s): {source}; run it alone to see whether it repeats"
    )]
    NeXosim { n: usize, threads: usize, source: Box<SimulationError> },

    /// A contender did not do the work it was timed for.
    #[error(
        "{contender} ended with {found} where {expected} was due, so its times mean nothing: check its wiring before measuring again"
    )]
    Differs { contender: String, expected: f64, found: f64 },

    /// Rows could not be written.
    #[error("a row could not be written to standard output: {0}")]
    Output(#[from] io::Error),
    /// Chaconne refused or halted.
    #[error("Chaconne's side failed: {0}")]
    Ours(String),
}

impl PeerError {
    pub(crate) fn ours(error: impl std::fmt::Display) -> Self {
        Self::Ours(error.to_string())
    }
}
