//! Real time, and stopping: what they change of a run (nothing, and its end), and what is told of them.

#![allow(clippy::disallowed_methods, reason = "the tests are about the wall clock")]

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bevy::prelude::*;
use chaconne::conductor::{Pacing, PacingReport, monitor};
use chaconne::prelude::*;
use chaconne::record::{check::check, line};
use chaconne_tests::{Probe, acting, at, secs};

use super::{actors, app_of, conductor, expected};

/// What a machine that others use, too, may be late without a test's failing.
const PATIENCE: Duration = Duration::from_secs(2);

/// One simulated second takes ten milliseconds.
const FAST: Pacing = Pacing::RealTime { factor: 100.0, spin: false };

/// A second takes an hour.
const SLOW: Pacing = Pacing::RealTime { factor: 1.0 / 3600.0, spin: false };

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// What work returns, and how long it took.
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}

/// Panics unless it took as long as it should, and not much longer.
fn took(elapsed: Duration, expected: Duration) {
    assert!((expected..expected + PATIENCE).contains(&elapsed), "{elapsed:?} instead of {expected:?}");
}

fn paced(report: &RunReport) -> PacingReport {
    report.pacing.clone().unwrap()
}

#[test]
fn a_paced_run_has_the_same_hash_and_ends_when_the_wall_clock_is_at_its_end() {
    for spin in [false, true] {
        let pacing = Pacing::RealTime { factor: 100.0, spin };
        let mut app = app_of(ConductorPlugin { end: Some(at(20)), pacing, ..conductor() });
        let (report, elapsed) = timed(|| app.run_headless(SimTime::MAX));
        took(elapsed, millis(200));
        assert_eq!((report.world_hash, report.ticks, report.stopped), (expected(at(20)), 20, false));
        assert!(app.world().resource::<RunStatus>().ended);
        let pacing = paced(&report);
        assert_eq!(pacing.instants, 20);
        took(pacing.elapsed, millis(200));
        assert!(pacing.median <= pacing.p99 && pacing.p99 <= pacing.max, "{pacing:?}");
        assert!(report.wall < millis(150), "{:?}", report.wall);
    }
}

#[test]
fn a_headless_app_keeps_pace_and_reports_it_to_observers() {
    let mut app = app_of(ConductorPlugin { end: Some(at(20)), pacing: FAST, ..conductor() });
    let seen = Arc::new(Mutex::new(None));
    let written = Arc::clone(&seen);
    app.add_observer(move |ended: On<RunEnded>| *written.lock().unwrap() = Some(ended.report.clone()));
    let (exit, elapsed) = timed(|| app.run());
    took(elapsed, millis(200));
    assert_eq!(exit, AppExit::Success);
    let report = seen.lock().unwrap().take().unwrap();
    assert_eq!((report.world_hash, paced(&report).instants), (expected(at(20)), 20));
}

#[test]
fn a_free_run_reports_no_pacing() {
    assert_eq!(app_of(conductor()).run_headless(at(3)).pacing, None);
}

#[test]
fn the_pieces_of_a_paced_run_return_when_the_wall_clock_is_there() {
    let mut app = app_of(ConductorPlugin { pacing: FAST, ..conductor() });
    let start = Instant::now();
    // The piece that nobody is due in waits as well.
    for until in [at(5), SimTime::from_millis(9_500), at(9), at(10)] {
        let report = app.run_headless(until);
        took(start.elapsed(), Duration::from_secs_f64(until.as_secs_f64() / 100.0));
        assert!(!report.stopped && !app.world().resource::<RunStatus>().ended);
    }
    assert_eq!(app.end_run().world_hash, expected(at(10)));
}

#[test]
fn a_run_of_which_nobody_is_due_any_more_ends_at_once() {
    let mut app = App::new();
    let settings = ConductorPlugin { end: Some(at(9)), pacing: SLOW, ..conductor() };
    app.add_plugins((MinimalPlugins, settings)).add_actor(Actor::of("a", Probe::at([0])));
    let (report, elapsed) = timed(|| app.run_headless(SimTime::MAX));
    took(elapsed, Duration::ZERO);
    assert_eq!((report.ticks, report.stopped), (1, false));
}

#[test]
fn the_rest_of_the_app_goes_on_while_the_conductor_waits() {
    #[derive(Resource, Default)]
    struct Frames(u32);
    let mut app = app_of(ConductorPlugin { end: Some(at(2)), pacing: FAST, slice: millis(2), ..conductor() });
    app.init_resource::<Frames>().add_systems(Update, |mut frames: ResMut<Frames>| frames.0 += 1);
    app.run_headless(SimTime::MAX);
    let frames = app.world().resource::<Frames>().0;
    assert!((3..100).contains(&frames), "{frames} frames in 20 ms");
}

#[test]
fn without_a_headless_runner_an_update_steps_what_is_due_and_never_waits() {
    let mut app = App::new();
    app.add_plugins(ConductorPlugin { end: Some(at(20)), pacing: FAST, ..conductor() });
    for actor in actors() {
        app.add_actor(actor);
    }
    app.finish();
    app.cleanup();
    let start = Instant::now();
    let (mut updates, mut longest) = (0, Duration::ZERO);
    while !app.world().resource::<RunStatus>().ended {
        let ((), elapsed) = timed(|| app.update());
        (updates, longest) = (updates + 1, longest.max(elapsed));
    }
    took(start.elapsed(), millis(200));
    assert!(updates > 40 && longest < millis(200), "{updates} updates, the longest of {longest:?}");
    assert_eq!(app.world().resource::<RunStatus>().world_hash, expected(at(20)));
}

#[test]
fn who_is_late_beyond_the_limit_falls_behind_and_no_instant_is_left_out() {
    let slow = acting(|ctx| {
        if ctx.now() == at(3) {
            std::thread::sleep(millis(150));
        }
        ctx.after(secs(1))
    });
    let settings = ConductorPlugin { end: Some(at(20)), pacing: FAST, lateness_limit: millis(30), ..conductor() };
    let mut app = app_of(settings);
    app.add_actor(Actor::of("slow", slow));
    let (report, elapsed) = timed(|| app.run_headless(SimTime::MAX));
    let pacing = paced(&report);
    assert_eq!((report.ticks, pacing.instants), (20, 20));
    assert!(pacing.overruns >= 1 && pacing.max >= millis(140) && pacing.slipped >= millis(110), "{pacing:?}");
    took(elapsed, millis(200) + pacing.slipped);
    // The time that a step sleeps is its own.
    assert!(report.wall >= millis(150));
}

/// The time of an instant, and those of the observations that come with it.
type Seen = (SimTime, Vec<SimTime>);

/// Keeps what is seen of instants.
#[derive(Clone, Default)]
struct Times(Arc<Mutex<Vec<Seen>>>);

impl monitor::Monitor for Times {
    fn instant(&mut self, instant: &monitor::Instant<'_>) -> Result<(), monitor::MonitorError> {
        let observed = instant.observed.iter().map(|seen| seen.time).collect();
        self.0.lock().unwrap().push((instant.time, observed));
        Ok(())
    }
}

#[test]
fn a_time_at_which_nothing_but_a_plan_is_refused_is_no_instant_that_is_late() {
    let slow = acting(|ctx| {
        if ctx.now() == at(3) {
            std::thread::sleep(millis(150));
        }
        ctx.after(secs(1))
    });
    let settings = ConductorPlugin { end: Some(at(8)), pacing: FAST, lateness_limit: millis(30), ..conductor() };
    let (mut app, times) = (app_of(settings), Times::default());
    app.add_actor(Actor::of("slow", slow)).add_monitor(times.clone());
    // The path is taken, and nobody else is due then.
    app.add_actor(Actor::of("lead", Probe::every(1)).joins_at(SimTime::from_millis(3500)));
    let report = app.run_headless(SimTime::MAX);
    assert_eq!((report.ticks, report.refused.len(), paced(&report).instants), (8, 1, 8));
    assert!(paced(&report).overruns >= 1);
    let times = times.0.lock().unwrap();
    assert!(times.iter().any(|(time, observed)| *time == at(4) && !observed.is_empty()), "{times:?}");
    assert!(times.iter().all(|(time, observed)| observed.iter().all(|seen| seen == time)), "{times:?}");
}

#[test]
fn an_impossible_factor_halts_before_the_first_instant() {
    for factor in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let pacing = Pacing::RealTime { factor, spin: false };
        let report = app_of(ConductorPlugin { pacing, ..conductor() }).run_headless(at(3));
        let expected = format!("the pacing factor {factor} is not possible: give a finite number above 0");
        assert_eq!((report.ticks, report.halt.unwrap().to_string()), (0, expected));
    }
}

#[test]
fn a_run_that_waits_notices_a_stop() {
    let mut app = app_of(ConductorPlugin { end: Some(at(20)), pacing: SLOW, slice: PATIENCE, ..conductor() });
    let stop = app.stop_handle();
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(millis(50));
        stop.stop();
    });
    let (report, elapsed) = timed(|| app.run_headless(SimTime::MAX));
    stopper.join().unwrap();
    took(elapsed, millis(50));
    assert!(elapsed < PATIENCE, "within a slice");
    assert_eq!((report.ticks, report.stopped, report.halt.is_none()), (1, true, true));
    assert!(report.to_string().ends_with("; stopped"), "{report}");
    assert!(app.world().resource::<RunStatus>().ended);
    assert_eq!(app.should_exit(), Some(AppExit::Success));
    assert_eq!(app.run_headless(at(9)).ticks, 1, "it does not go on");
}

#[test]
fn a_stop_comes_true_at_the_next_barrier_and_everybody_is_told() {
    struct Told(Arc<Mutex<Vec<(u64, bool)>>>);
    impl Monitor for Told {
        fn instant(&mut self, _: &monitor::Instant<'_>) -> Result<(), monitor::MonitorError> {
            Ok(())
        }

        fn ended(&mut self, report: &RunReport) -> Result<(), monitor::MonitorError> {
            self.0.lock().unwrap().push((report.ticks, report.stopped));
            Ok(())
        }
    }
    let told = Arc::default();
    let mut app = app_of(ConductorPlugin { end: Some(at(20)), exit_at_end: false, ..conductor() });
    let stop = app.stop_handle();
    let stopping = acting(move |ctx| {
        if ctx.now() == at(6) {
            stop.stop();
        }
        ctx.after(secs(1))
    });
    app.add_actor(Actor::of("stopping", stopping));
    app.add_monitor(Told(Arc::clone(&told)));
    let ended = Arc::clone(&told);
    app.add_observer(move |end: On<RunEnded>| ended.lock().unwrap().push((end.report.ticks, end.report.stopped)));
    let report = app.run_headless(SimTime::MAX);
    assert_eq!((report.ticks, report.stopped), (7, true));
    assert_eq!(*told.lock().unwrap(), [(7, true), (7, true)]);
    assert_eq!(app.should_exit(), None);
}

#[test]
fn a_stop_before_the_first_instant_is_a_run_of_none_with_a_complete_log() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("run.jsonl");
    let mut app = app_of(conductor());
    app.add_plugins(RecordPlugin::new(&log));
    app.stop_handle().stop();
    let report = app.run_headless(at(9));
    assert_eq!((report.ticks, report.stopped, report.is_complete()), (0, true, true));
    let checked = check(&log, |_| ()).unwrap();
    assert_eq!((checked.last.ticks, checked.last.end), (0, line::End::Ended(line::Reason::Stopped)));
}

#[test]
fn a_stop_behind_the_last_instant_changes_nothing() {
    let mut app = app_of(ConductorPlugin { end: Some(at(3)), ..conductor() });
    app.run_headless(SimTime::MAX);
    app.stop_handle().stop();
    assert!(!app.run_headless(SimTime::MAX).stopped);

    // Nobody is due before the end, which is hours away.
    let mut app = App::new();
    let settings = ConductorPlugin { end: Some(at(4)), pacing: SLOW, ..conductor() };
    app.add_plugins((MinimalPlugins, settings)).add_actor(Actor::of("a", Probe::every(5)));
    let stop = app.stop_handle();
    std::thread::spawn(move || {
        std::thread::sleep(millis(30));
        stop.stop();
    });
    let (report, elapsed) = timed(|| app.run_headless(SimTime::MAX));
    took(elapsed, millis(30));
    assert_eq!((report.ticks, report.stopped, app.world().resource::<RunStatus>().ended), (1, false, true));
}

#[test]
fn an_app_that_exits_stops_its_run_and_the_log_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("run.jsonl");
    let mut app = app_of(ConductorPlugin { slice: Duration::ZERO, ..conductor() });
    app.add_plugins(RecordPlugin::new(&log));
    app.add_systems(Update, |status: Res<RunStatus>, mut exit: MessageWriter<AppExit>| {
        if status.ticks == 4 {
            exit.write(AppExit::from_code(130));
        }
    });
    assert_eq!(app.run(), AppExit::from_code(130));
    let checked = check(&log, |_| ()).unwrap();
    assert_eq!((checked.last.ticks, checked.last.end), (4, line::End::Ended(line::Reason::Stopped)));
    assert_eq!(checked.last.world_hash, expected(at(4)));
}
