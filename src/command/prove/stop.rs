//! Ctrl-C and SIGTERM: the run that goes on is ended, and what was made is cleared away.

use std::sync::atomic::{AtomicBool, Ordering};

static STOPPED: AtomicBool = AtomicBool::new(false);

/// Takes note of signals from now on, instead of being ended by them.
pub(crate) fn watch() {
    // A program that handles these signals itself keeps its way.
    let _ = ctrlc::try_set_handler(|| STOPPED.store(true, Ordering::Relaxed));
}

/// Whether a signal has come.
pub(crate) fn is_stopped() -> bool {
    STOPPED.load(Ordering::Relaxed)
}
