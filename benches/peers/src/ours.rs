//! Chaconne's side of every work.
//!
//! A side that is not there yet is `None`; its rows then say `"ours": null`.

use crate::{error::PeerError, growth::Traffic, ring::Ring};

/// Chaconne's ring of `n` participants on `threads` threads, at time zero, fingerprint on.
pub(crate) fn build(_n: usize, _threads: usize) -> Result<Option<Box<dyn Ring>>, PeerError> {
    Ok(None)
}

/// Chaconne's traffic of `cars` cars, two participants each, on one thread, at time zero, fingerprint on.
pub(crate) fn traffic(_cars: usize) -> Result<Option<Box<dyn Traffic>>, PeerError> {
    Ok(None)
}
