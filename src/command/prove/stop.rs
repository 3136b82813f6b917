//! Ctrl-C and SIGTERM: the run that goes on is ended, and what was made is cleared away.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::conductor::signals::on_signal;

static STOPPED: AtomicBool = AtomicBool::new(false);

/// Takes note of signals from now on, instead of being ended by them.
pub(crate) fn watch() {
    on_signal(|| STOPPED.store(true, Ordering::Relaxed));
}

/// Whether a signal has come.
pub(crate) fn is_stopped() -> bool {
    STOPPED.load(Ordering::Relaxed)
}
