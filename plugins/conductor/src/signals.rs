//! Signals of the operating system: Ctrl-C and requests to terminate (feature `signals`).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use bevy_app::{App, Plugin};

use crate::plugin::ConductorAppExt;
use crate::stop::StopHandle;

/// The exit code of a program that was stopped by a signal: what shells say for Ctrl-C, 128 + 2.
pub const EXIT_STOPPED: u8 = 130;

/// Runs that go on, over all `App`s of the process.
static RUNS: Mutex<Vec<StopHandle>> = Mutex::new(Vec::new());

/// Whether a signal has come.
static RECEIVED: AtomicBool = AtomicBool::new(false);

/// Lets Ctrl-C and SIGTERM (and SIGHUP) stop the run in good order.
///
/// The first signal stops every run of the process as [`StopHandle::stop`] does: the instant that is being stepped is
/// brought to its end, logs get their last line, reports are complete; an `App` that runs ends with the exit code 130,
/// whatever [`exit_at_end`](crate::ConductorPlugin::exit_at_end) says. A second signal, or one while no run goes on, ends
/// the process at once, with the same code.
///
/// A program that handles these signals itself, or ignores them, keeps its way: then this plugin does nothing. Bevy's own
/// `TerminalCtrlCHandlerPlugin` asks for the exit of its `App`s, and an exit ends a run in good order, too.
#[derive(Clone, Copy, Debug, Default)]
pub struct SignalsPlugin;

impl Plugin for SignalsPlugin {
    fn build(&self, app: &mut App) {
        let handle = app.stop_handle();
        let mut runs = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
        runs.retain(|run| !run.is_over());
        runs.push(handle.clone());
        drop(runs);
        if is_received() {
            handle.stop();
        }
        // Once per process; whoever was first keeps the signals.
        let _ = ctrlc::try_set_handler(receive);
    }
}

/// Whether this process was sent a signal that stops runs.
pub fn is_received() -> bool {
    RECEIVED.load(Ordering::Relaxed)
}

/// What a signal does, on a thread of its own.
fn receive() {
    let is_first = !RECEIVED.swap(true, Ordering::Relaxed);
    let mut runs = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
    runs.retain(|run| !run.is_over());
    if !is_first || runs.is_empty() {
        std::process::exit(i32::from(EXIT_STOPPED));
    }
    for run in &*runs {
        run.stop();
    }
}
