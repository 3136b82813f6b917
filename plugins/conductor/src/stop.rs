//! Stopping a run from outside, before its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Stops the run of an `App`, from any thread: see
/// [`ConductorAppExt::stop_handle`](crate::ConductorAppExt::stop_handle).
///
/// The run ends at the next barrier, between two instants, as if it had reached its end: monitors are told, a log gets its
/// last line, [`RunEnded`](crate::RunEnded) is triggered, and [`RunReport::stopped`](crate::RunReport::stopped) says so.
/// Where that is depends on the moment, so of two runs that are stopped one is a beginning of the other. A step that goes
/// on is waited for; a run that waits for the wall clock ends within 20 ms.
///
/// ```
/// use bevy_app::App;
/// use chaconne_conductor::{Actor, ConductorAppExt, ConductorPlugin};
/// use chaconne_sim_core::{Participant, SimDuration, SimTime, StepCtx, StepResult};
///
/// struct Clock;
/// impl Participant for Clock {
///     fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
///         ctx.after(SimDuration::from_secs(1))
///     }
/// }
///
/// let mut app = App::new();
/// app.add_plugins(ConductorPlugin::default()).add_actor(Actor::of("clock", Clock));
/// let stop = app.stop_handle();
/// std::thread::spawn(move || stop.stop());
/// // Nothing else would end this run.
/// let report = app.run_headless(SimTime::MAX);
/// assert!(report.stopped && report.is_complete());
/// ```
#[derive(Clone, Debug, Default)]
pub struct StopHandle(Arc<Flags>);

#[derive(Debug, Default)]
struct Flags {
    stop: AtomicBool,
    over: AtomicBool,
}

impl StopHandle {
    /// Asks the run to end at the next barrier. One that has ended stays as it is.
    pub fn stop(&self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }

    /// Whether the run was asked to end.
    pub fn is_stopped(&self) -> bool {
        self.0.stop.load(Ordering::Relaxed)
    }

    /// Takes note that the run has ended, or is gone.
    pub(crate) fn close(&self) {
        self.0.over.store(true, Ordering::Relaxed);
    }

    /// Whether the run has ended, or is gone.
    #[cfg_attr(not(feature = "signals"), allow(dead_code, reason = "signals ask"))]
    pub(crate) fn is_over(&self) -> bool {
        self.0.over.load(Ordering::Relaxed)
    }
}
