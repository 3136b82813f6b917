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
//! [`ConductorPlugin::timing`](crate::ConductorPlugin::timing), for the first thousand in the world's order, and are measured
//! four times per second, because percentiles take a while. Those of one who left stay as they were.

use std::time::{Duration, Instant};

use bevy_app::{App, Plugin};
use bevy_diagnostic::{Diagnostic, DiagnosticMeasurement, DiagnosticPath, DiagnosticsStore};
use bevy_ecs::prelude::{IntoScheduleConfigs, Resource, World};
use chaconne_sim_core::time::SimTime;

use crate::clock;
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

/// Participants that have diagnostics of their own.
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
    let mut put = |path: &DiagnosticPath, value: f64| {
        if let Some(diagnostic) = store.get_mut(path).filter(|diagnostic| diagnostic.is_enabled) {
            diagnostic.add_measurement(DiagnosticMeasurement { time: at, value });
        }
    };
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
    let Some(report) = driver_of(world).conductor.as_ref().and_then(|conductor| conductor.timing_report()) else {
        return;
    };
    let mut store = world.resource_mut::<DiagnosticsStore>();
    let mut put = |path: String, suffix: &'static str, value: f64| {
        let path = DiagnosticPath::new(path);
        if store.get(&path).is_none() {
            store.add(Diagnostic::new(path.clone()).with_suffix(suffix));
        }
        if let Some(diagnostic) = store.get_mut(&path).filter(|diagnostic| diagnostic.is_enabled) {
            diagnostic.add_measurement(DiagnosticMeasurement { time: at, value });
        }
    };
    for row in report.participants.iter().take(MOST) {
        let Timed { path, count, mean, max, p99, misses, .. } = row;
        for (what, suffix, value) in [
            ("count", "", *count as f64),
            ("mean", " µs", mean.as_secs_f64() * 1e6),
            ("max", " µs", max.as_secs_f64() * 1e6),
            ("p99", " µs", p99.as_secs_f64() * 1e6),
            ("misses", "", *misses as f64),
            ("share", " %", 100.0 * row.share(report.instants.total)),
        ] {
            put(format!("chaconne/step/{path}/{what}"), suffix, value);
        }
    }
}
