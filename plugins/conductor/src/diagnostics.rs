//! A run among Bevy's diagnostics (feature `diagnostics`): what a viewer, or Bevy's own overlays and loggers, can plot.
//!
//! | path | what it says |
//! |---|---|
//! | `chaconne/instants` | number of instants so far |
//! | `chaconne/instants_per_second` | instants per wall second, over the last frame |
//! | `chaconne/real_time_factor` | simulated seconds per wall second, over the last frame |
//! | `chaconne/lateness` | how late the last instant was, in ms; zero in a free run |
//! | `chaconne/step/<path>/count` | steps of a participant so far |
//! | `chaconne/step/<path>/mean`, `…/max`, `…/p99` | what they took, in µs |
//! | `chaconne/step/<path>/misses` | how many missed their budget |
//! | `chaconne/step/<path>/share` | their share of the wall time of all instants, in % |
//!
//! The first four are measured once per frame. Those of participants exist with
//! [`ConductorPlugin::timing`](crate::ConductorPlugin::timing), for the first thousand that are met, and are measured four
//! times per second, because percentiles take a while. Those of one who left stay as they were.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use bevy_app::{App, Plugin};
use bevy_diagnostic::{Diagnostic, DiagnosticMeasurement, DiagnosticPath, DiagnosticsStore};
use bevy_ecs::prelude::{IntoScheduleConfigs, Resource, World};
use chaconne_sim_core::time::SimTime;

use crate::clock;
use crate::conductor::Conductor;
use crate::driver::driver_of;
use crate::plugin::{Conduct, ConductorSystems, RunStatus};
use crate::timing::Timed;

/// Number of instants so far.
pub const INSTANTS: DiagnosticPath = DiagnosticPath::const_new("chaconne/instants");
/// Instants per wall second, over the last frame.
pub const INSTANTS_PER_SECOND: DiagnosticPath = DiagnosticPath::const_new("chaconne/instants_per_second");
/// Simulated seconds per wall second, over the last frame.
pub const REAL_TIME_FACTOR: DiagnosticPath = DiagnosticPath::const_new("chaconne/real_time_factor");
/// How late the last instant was on the wall clock, in ms.
pub const LATENESS: DiagnosticPath = DiagnosticPath::const_new("chaconne/lateness");

/// How many participants have diagnostics of their own.
const MOST: usize = 1000;

/// Wall time between two measurements of participants.
const INTERVAL: Duration = Duration::from_millis(250);

/// Puts a run among Bevy's diagnostics.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConductorDiagnosticsPlugin;

impl Plugin for ConductorDiagnosticsPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<DiagnosticsStore>().init_resource::<Measured>();
        let mut store = app.world_mut().resource_mut::<DiagnosticsStore>();
        for (path, suffix) in [(INSTANTS, ""), (INSTANTS_PER_SECOND, "/s"), (REAL_TIME_FACTOR, "x"), (LATENESS, " ms")]
        {
            store.add(Diagnostic::new(path).with_suffix(suffix));
        }
        app.init_schedule(Conduct).add_systems(Conduct, measure.after(ConductorSystems::End));
    }
}

/// What was measured last.
#[derive(Resource, Default)]
struct Measured {
    frame: Option<Frame>,
    participants: Option<Instant>,
    /// Participants that have diagnostics, by path.
    known: BTreeSet<String>,
    ended: bool,
}

#[derive(Clone, Copy)]
struct Frame {
    at: Instant,
    ticks: u64,
    now: SimTime,
}

fn measure(world: &mut World) {
    let Some(status) = world.get_resource::<RunStatus>() else { return };
    let at = clock::now();
    let (ticks, ended, lateness) = (status.ticks, status.ended, status.lateness);
    let frame = Frame { at, ticks, now: status.now.unwrap_or_default() };
    let mut last = world.resource_mut::<Measured>();
    let before = last.frame.replace(frame);
    // What a run came to at its end is measured once; then nothing changes any more.
    let ends = ended && !std::mem::replace(&mut last.ended, ended);
    let is_due = ends || (!ended && last.participants.is_none_or(|before| at - before >= INTERVAL));
    if is_due {
        last.participants = Some(at);
    }
    let mut store = world.resource_mut::<DiagnosticsStore>();
    let mut put = |path: &DiagnosticPath, value: f64| put(&mut store, path, at, value);
    put(&INSTANTS, ticks as f64);
    put(&LATENESS, lateness.as_secs_f64() * 1e3);
    if let Some(before) = before.filter(|before| before.at < at) {
        let wall = (at - before.at).as_secs_f64();
        let simulated = frame.now.as_secs_f64() - before.now.as_secs_f64();
        put(&INSTANTS_PER_SECOND, (ticks - before.ticks) as f64 / wall);
        put(&REAL_TIME_FACTOR, simulated / wall);
    }
    if is_due {
        measure_participants(world, at);
    }
}

fn measure_participants(world: &mut World, at: Instant) {
    let report = driver_of(world).conductor.as_ref().and_then(Conductor::timing_report);
    let Some(report) = report else { return };
    let mut known = std::mem::take(&mut world.resource_mut::<Measured>().known);
    let mut store = world.resource_mut::<DiagnosticsStore>();
    for row in &report.participants {
        // The store forgets nothing, so those who come and go must not fill it.
        let is_new = !known.contains(&row.path);
        if is_new && known.len() == MOST {
            continue;
        }
        for (what, suffix, value) in values(row, report.instants.total) {
            let path = DiagnosticPath::new(format!("chaconne/step/{}/{what}", row.path));
            if is_new {
                store.add(Diagnostic::new(path.clone()).with_suffix(suffix));
            }
            put(&mut store, &path, at, value);
        }
        if is_new {
            known.insert(row.path.clone());
        }
    }
    world.resource_mut::<Measured>().known = known;
}

/// What is measured of a participant: names, units and values.
fn values(row: &Timed, wall: Duration) -> [(&'static str, &'static str, f64); 6] {
    let micros = |duration: Duration| duration.as_secs_f64() * 1e6;
    [
        ("count", "", row.count as f64),
        ("mean", " µs", micros(row.mean)),
        ("max", " µs", micros(row.max)),
        ("p99", " µs", micros(row.p99)),
        ("misses", "", row.misses as f64),
        ("share", " %", 100.0 * row.share(wall)),
    ]
}

fn put(store: &mut DiagnosticsStore, path: &DiagnosticPath, time: Instant, value: f64) {
    if let Some(diagnostic) = store.get_mut(path).filter(|diagnostic| diagnostic.is_enabled) {
        diagnostic.add_measurement(DiagnosticMeasurement { time, value });
    }
}

#[cfg(test)]
mod tests {
    use bevy_app::App;
    use chaconne_sim_core::{Participant, SimDuration, StepCtx, StepResult};

    use super::*;
    use crate::composite::Actor;
    use crate::plugin::{ConductorAppExt, ConductorPlugin};

    struct Clock;
    impl Participant for Clock {
        fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
            ctx.after(SimDuration::from_secs(1))
        }
    }

    fn value(app: &App, path: &str) -> Option<f64> {
        app.world().resource::<DiagnosticsStore>().get(&DiagnosticPath::new(path.to_owned()))?.value()
    }

    /// Lets the interval between two measurements of participants be over.
    fn pass_time(app: &mut App) {
        app.world_mut().resource_mut::<Measured>().participants = None;
    }

    #[test]
    fn a_run_is_measured_once_per_frame() {
        let mut app = App::new();
        let conductor = ConductorPlugin { slice: Duration::ZERO, ..Default::default() };
        app.add_plugins((ConductorDiagnosticsPlugin, conductor)).add_actor(Actor::of("clock", Clock));
        app.run_headless(SimTime::from_secs(5));
        assert_eq!(value(&app, "chaconne/instants"), Some(5.0));
        assert_eq!(value(&app, "chaconne/lateness"), Some(0.0));
        for path in ["chaconne/instants_per_second", "chaconne/real_time_factor"] {
            assert!(value(&app, path) > Some(0.0), "{path}");
        }
        let store = app.world().resource::<DiagnosticsStore>();
        assert_eq!(store.get(&INSTANTS).unwrap().values().copied().collect::<Vec<_>>(), [1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(store.iter().count(), 4);
    }

    #[test]
    fn participants_are_measured_when_their_steps_are_timed_and_no_more_than_a_thousand_ever() {
        let mut app = App::new();
        let conductor = ConductorPlugin { timing: true, ..Default::default() };
        app.add_plugins((conductor, ConductorDiagnosticsPlugin));
        for number in 0..1200 {
            app.add_actor(Actor::of(format!("p{number}"), Clock));
        }
        app.run_headless(SimTime::from_secs(1));
        let conductor = driver_of(app.world_mut()).conductor.as_mut().unwrap();
        for slot in 0..1200 {
            conductor.timing.step(slot, 2_000 + u64::from(slot), Some(Duration::from_micros(1)));
        }
        pass_time(&mut app);
        app.run_headless(SimTime::from_secs(2));
        assert!(value(&app, "chaconne/step/p3/max") >= Some(2.003));
        assert!(value(&app, "chaconne/step/p3/misses") >= Some(1.0));
        assert!(
            ["count", "mean", "p99", "share"]
                .iter()
                .all(|what| value(&app, &format!("chaconne/step/p3/{what}")).is_some())
        );
        assert_eq!(value(&app, "chaconne/step/p1100/max"), None);
        pass_time(&mut app);
        app.run_headless(SimTime::from_secs(3));
        assert_eq!(app.world().resource::<DiagnosticsStore>().iter().count(), 4 + 6 * MOST);
    }
}
