//! Signals of the operating system: Ctrl-C and requests to terminate (feature `signals`).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;

use bevy_app::{App, Plugin};

use crate::clock::Stopwatch;
use crate::plugin::ConductorAppExt;
use crate::stop::StopHandle;

/// The exit code of a program that was stopped by a signal: what shells say for Ctrl-C, 128 + 2.
pub const EXIT_STOPPED: u8 = 130;

/// Runs that go on, over all `App`s of the process.
static RUNS: Mutex<Vec<StopHandle>> = Mutex::new(Vec::new());

/// Whether a signal has come.
static RECEIVED: AtomicBool = AtomicBool::new(false);

/// Since when.
static FIRST: Mutex<Option<Stopwatch>> = Mutex::new(None);

/// Some programs send a signal to a process and once more to its group: so soon, it is the same one.
const ECHO: Duration = Duration::from_millis(20);

/// Lets Ctrl-C and SIGTERM (and SIGHUP) stop the run in good order.
///
/// The first signal stops every run of the process as [`StopHandle::stop`] does: the instant that is being stepped is
/// brought to its end, logs get their last line, reports are complete; an `App` that runs ends with the exit code 130,
/// whatever [`exit_at_end`](crate::ConductorPlugin::exit_at_end) says. A second signal, or one while no run goes on, ends
/// the process at once, with the same code.
///
/// Each of the signals that the process ignores, or that somebody in it handles already, stays as it is, and the others do
/// as is said here: see [`on_signal`]. Bevy's own `TerminalCtrlCHandlerPlugin` asks for the exit of its `App`s, and an exit
/// ends a run in good order, too.
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
        static HANDLED: Once = Once::new();
        HANDLED.call_once(|| on_signal(receive));
    }
}

/// Whether this process was sent a signal that stops runs.
pub fn is_received() -> bool {
    RECEIVED.load(Ordering::Relaxed)
}

/// Has every Ctrl-C, SIGTERM and SIGHUP from now on call a function, on a thread of its own, instead of what it would do.
///
/// Those of the three that this process ignores (SIGHUP under `nohup`, SIGINT in the background of a script), or that
/// somebody in it handles already, stay as they are, each by itself. What they are is read from `/proc`, where there is one.
/// Elsewhere on Unix SIGHUP always stays as it is, SIGINT and SIGTERM call the function beside what they do, and are
/// not ignored any more. On Windows it is Ctrl-C and the like, and none of them when somebody handles them already.
pub fn on_signal(receive: impl FnMut() + Send + 'static) {
    #[cfg(unix)]
    unix::on_signal(receive);
    #[cfg(windows)]
    // Whoever was first keeps them.
    let _ = ctrlc::try_set_handler(receive);
    #[cfg(not(any(unix, windows)))]
    drop(receive);
}

/// What a signal does, on a thread of its own.
fn receive() {
    let is_first = !RECEIVED.swap(true, Ordering::Relaxed);
    let mut first = FIRST.lock().unwrap_or_else(PoisonError::into_inner);
    let since = first.get_or_insert_with(Stopwatch::start).elapsed();
    drop(first);
    if !is_first && since < ECHO {
        return;
    }
    let mut runs = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
    runs.retain(|run| !run.is_over());
    if !is_first || runs.is_empty() {
        std::process::exit(i32::from(EXIT_STOPPED));
    }
    for run in &*runs {
        run.stop();
    }
}

#[cfg(unix)]
mod unix {
    use std::ffi::c_int;
    use std::fs;
    use std::sync::mpsc;
    use std::thread;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    pub(super) fn on_signal(mut receive: impl FnMut() + Send + 'static) {
        let signals = free(&fs::read_to_string("/proc/self/status").unwrap_or_default());
        if signals.is_empty() {
            return;
        }
        let (registered, is_registered) = mpsc::channel::<()>();
        // On the thread, because without it nobody would listen to what is registered.
        let listen = move || {
            let Ok(mut received) = Signals::new(signals) else { return };
            drop(registered);
            received.forever().for_each(|_| receive());
        };
        if thread::Builder::new().name("signals".to_owned()).spawn(listen).is_ok() {
            // Nothing is ever sent: this waits for the other end to be dropped.
            let _ = is_registered.recv();
        }
    }

    /// The signals that are neither ignored nor handled, as a process's `/proc/self/status` has them.
    fn free(status: &str) -> Vec<c_int> {
        let mask = |name| {
            let field = status.lines().find_map(|line| line.strip_prefix(name))?;
            u64::from_str_radix(field.trim(), 16).ok()
        };
        match (mask("SigIgn:"), mask("SigCgt:")) {
            (Some(ignored), Some(handled)) => {
                let is_free = |signal: &c_int| (ignored | handled) >> (signal - 1) & 1 == 0;
                [SIGINT, SIGTERM, SIGHUP].into_iter().filter(is_free).collect()
            }
            // `nohup` is the likeliest of what cannot be seen.
            _ => vec![SIGINT, SIGTERM],
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn what_is_ignored_or_handled_is_left_out_each_by_itself() {
            let status =
                |ignored, handled| format!("Name:\tx\nSigBlk:\t7\nSigIgn:\t{ignored}\nSigCgt:\t{handled}\nx:\ty\n");
            let none = "0000000000000000";
            assert_eq!(free(&status(none, none)), [SIGINT, SIGTERM, SIGHUP]);
            assert_eq!(free(&status("0000000000001001", "0000000000000440")), [SIGINT, SIGTERM]);
            assert_eq!(free(&status("0000000000000002", none)), [SIGTERM, SIGHUP]);
            assert_eq!(free(&status(none, "0000000000000002")), [SIGTERM, SIGHUP]);
            assert!(free(&status("0000000000004001", "0000000180000002")).is_empty());
        }

        #[test]
        fn where_nothing_can_be_known_hangups_stay_as_they_are() {
            assert_eq!(free(""), [SIGINT, SIGTERM]);
        }
    }
}
