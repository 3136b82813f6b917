//! Running a world in an `App`: to the end, in pieces, in slices; what the systems of `Update` and observers see.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bevy::prelude::*;
use chaconne::prelude::*;
use chaconne_tests::recheck::Witness;
use chaconne_tests::{Probe, acting, at, path, secs};

use super::{actors, app_of, conductor, expected};

/// A list that systems and observers add to.
#[derive(Resource, Clone)]
struct Seen<T>(Arc<Mutex<Vec<T>>>);

impl<T: Clone> Seen<T> {
    fn new() -> Self {
        Self(Arc::default())
    }

    fn push(&self, value: T) {
        self.0.lock().unwrap().push(value);
    }

    fn list(&self) -> Vec<T> {
        self.0.lock().unwrap().clone()
    }
}

#[test]
fn a_run_ends_with_success_and_one_report_while_the_world_is_there() {
    let mut app = app_of(ConductorPlugin { end: Some(at(20)), ..conductor() });
    let seen = Seen::new();
    let written = seen.clone();
    app.add_observer(move |ended: On<RunEnded>, mirrors: Query<&ActorPath>, status: Res<RunStatus>| {
        written.push((ended.report.clone(), mirrors.iter().count(), status.ended));
    });
    assert_eq!(app.run(), AppExit::Success);
    let [(report, mirrors, ended)] = seen.list().try_into().unwrap();
    assert_eq!((report.world_hash, report.ticks, report.halt), (expected(at(20)), 20, None));
    assert_eq!((report.world.as_str(), report.seed, report.participants), ("w", 1, 5));
    assert_eq!((mirrors, ended), (7, true));
}

#[test]
fn a_run_without_an_end_ends_when_nobody_is_due_any_more() {
    let mut app = App::new();
    app.add_plugins((MinimalPlugins, conductor())).add_actor(Actor::of("a", Probe::at([0, 5, 900])));
    let seen = Seen::new();
    let written = seen.clone();
    app.add_observer(move |ended: On<RunEnded>| written.push((ended.report.ticks, ended.report.now)));
    assert_eq!(app.run(), AppExit::Success);
    assert_eq!(seen.list(), [(3, Some(at(900)))]);
}

#[test]
fn a_halt_ends_the_app_with_an_error_and_is_in_the_report() {
    let mut app = app_of(conductor());
    app.add_actor(Actor::of(
        "pump",
        acting(|ctx| if ctx.now() < at(2) { ctx.after(secs(1)) } else { Err("dry".into()) }),
    ));
    let seen = Seen::new();
    let written = seen.clone();
    app.add_observer(move |ended: On<RunEnded>| written.push(ended.report.halt.clone().unwrap().to_string()));
    assert_eq!(app.run(), AppExit::error());
    assert_eq!(seen.list(), ["`pump` failed: dry (at 2.0 s, instant 2)"]);
}

#[test]
fn every_error_of_registration_is_told_and_halts_before_the_first_instant() {
    let mut app = app_of(conductor());
    app.add_actor(Actor::of("lead", Probe::every(1)));
    app.add_actor(Actor::of("nobody/camera", Probe::every(1)));
    app.add_actor(Actor::of("a", Probe::every(1).hears("a*")));
    let report = app.run_headless(at(5));
    assert_eq!((report.ticks, report.now), (0, None));
    let halt = report.halt.unwrap().to_string();
    let sentences: Vec<_> = halt.split("; ").collect();
    assert_eq!(
        sentences[..2],
        ["cannot add `lead`: the path `lead` is already taken by actor `lead`", "give one of them another name"]
    );
    assert!(halt.contains("cannot add `nobody/camera`: there is no actor `nobody`"), "{halt}");
    assert!(halt.contains("cannot add `a`: its subscription is not valid: `a*`"), "{halt}");

    let mut app = app_of(ConductorPlugin { world: "no name".to_string(), ..conductor() });
    let halt = app.run_headless(at(5)).halt.unwrap().to_string();
    assert_eq!(halt, "`no name` is not a world's name: use letters, digits, `_` and `-` only");
}

#[test]
fn a_duplicate_path_ends_the_app_with_an_error() {
    let mut app = app_of(conductor());
    app.add_actor(Actor::of("ego", Probe::every(1)));
    assert_eq!(app.run(), AppExit::error());
}

#[test]
fn running_headless_does_the_set_up_once_and_leaves_the_app_queryable() {
    let mut app = app_of(conductor());
    let seen = Seen::new();
    let (in_startup, in_update) = (seen.clone(), seen.clone());
    app.add_systems(Startup, move || in_startup.push("startup"));
    app.add_systems(Update, move |status: Res<RunStatus>| {
        if status.ticks == 1 {
            in_update.push("update");
        }
    });
    assert_eq!(app.run_headless(at(1)).ticks, 1);
    assert_eq!(app.run_headless(at(7)).ticks, 7);
    assert_eq!(seen.list()[..2], ["startup", "update"]);
    assert_eq!(seen.list().iter().filter(|text| **text == "startup").count(), 1);
    let mut mirrors = app.world_mut().query::<(&ActorPath, &StepCounters)>();
    let lead = mirrors.iter(app.world()).find(|(path, _)| **path == "lead").unwrap();
    assert_eq!(lead.1.steps, 7);
}

#[test]
fn runs_in_pieces_equal_one_run() {
    let whole = app_of(conductor()).run_headless(at(30));
    let mut app = app_of(conductor());
    for until in [0, 1, 1, 2, 17, 3, 30] {
        app.run_headless(at(until));
    }
    let mut pieces = app.run_headless(at(30));
    pieces.wall = whole.wall;
    assert_eq!(pieces, whole);
    assert_eq!(whole.world_hash, expected(at(30)));
}

#[test]
fn a_run_headless_stops_at_the_end_and_triggers_the_report_there() {
    let mut app = app_of(ConductorPlugin { end: Some(at(4)), ..conductor() });
    let seen = Seen::new();
    let written = seen.clone();
    app.add_observer(move |ended: On<RunEnded>| written.push(ended.report.ticks));
    app.run_headless(at(3));
    assert_eq!(seen.list(), [0; 0]);
    assert_eq!(app.run_headless(at(100)).ticks, 4);
    assert_eq!(app.run_headless(at(200)).ticks, 4);
    assert_eq!(seen.list(), [4]);
    assert_eq!(app.should_exit(), Some(AppExit::Success));
}

#[test]
fn the_length_of_a_slice_changes_nothing_but_the_number_of_frames() {
    let frames = |slice: Duration| {
        let mut app = app_of(ConductorPlugin { slice, end: Some(at(40)), ..conductor() });
        let seen = Seen::new();
        let written = seen.clone();
        app.add_systems(Update, move |status: Res<RunStatus>| written.push(status.ticks));
        let report = app.run_headless(SimTime::MAX);
        assert_eq!(report.world_hash, expected(at(40)));
        seen.list()
    };
    assert_eq!(frames(Duration::ZERO), (1..=40).collect::<Vec<u64>>());
    assert_eq!(frames(Duration::from_secs(60)), [40]);
}

#[test]
fn update_sees_the_last_instant_and_conducts_schedule_runs_before_it() {
    let mut app = app_of(ConductorPlugin { slice: Duration::ZERO, ..conductor() });
    let seen = Seen::new();
    let (in_conduct, in_update) = (seen.clone(), seen.clone());
    app.add_systems(
        Conduct,
        (move |status: Res<RunStatus>| in_conduct.push(("conduct", status.now))).before(ConductorSystems::Advance),
    );
    app.add_systems(Update, move |status: Res<RunStatus>, mirrors: Query<(&ActorPath, &NextDue, &StepCounters)>| {
        in_update.push(("update", status.now));
        let lead = mirrors.iter().find(|(path, ..)| **path == "lead").unwrap();
        assert_eq!((lead.1.0, lead.2.steps, lead.2.signals), (at(status.ticks as i32), status.ticks, status.ticks));
    });
    app.run_headless(at(2));
    assert_eq!(
        seen.list(),
        [("conduct", None), ("update", Some(at(0))), ("conduct", Some(at(0))), ("update", Some(at(1)))]
    );
}

#[test]
fn without_exit_at_end_the_app_goes_on_and_the_world_stands() {
    let mut app = app_of(ConductorPlugin { end: Some(at(3)), exit_at_end: false, ..conductor() });
    app.run_headless(at(9));
    for _ in 0..3 {
        app.update();
    }
    assert_eq!(app.should_exit(), None);
    let status = app.world().resource::<RunStatus>();
    assert_eq!((status.ticks, status.now, status.ended, status.world_hash), (3, Some(at(2)), true, expected(at(3))));
}

#[test]
fn removing_an_actor_is_a_leave_like_any_other() {
    let mut app = app_of(conductor());
    let witness = Witness::default();
    app.add_monitor(witness.clone());
    assert!(app.remove_actor(&path("nobody")).is_err());
    app.run_headless(at(3));
    app.remove_actor(&path("ego")).unwrap();
    assert!(app.remove_actor(&path("ego/physics")).is_err());
    let report = app.run_headless(at(9));
    let left: Vec<_> = witness.instants()[3].membership.iter().map(|(_, path, _)| path.clone()).collect();
    assert_eq!(left, ["ego/controller", "ego/sensors/radar", "ego/physics", "ego/camera"]);

    let mut world = chaconne_tests::world(actors());
    world.run_until(at(3)).unwrap();
    world.leave(&path("ego")).unwrap();
    world.run_until(at(9)).unwrap();
    assert_eq!((report.world_hash, report.participants), (world.world_hash(), 1));
    let mut mirrors = app.world_mut().query::<&ActorPath>();
    assert_eq!(mirrors.iter(app.world()).map(ActorPath::as_str).collect::<Vec<_>>(), ["lead"]);
}

#[test]
fn actors_can_be_added_while_the_run_goes_on_and_not_after_its_end() {
    let mut app = app_of(conductor());
    app.run_headless(at(0));
    app.add_actor(Actor::of("late", Probe::every(1)));
    let report = app.run_headless(at(3));
    assert_eq!((report.halt, report.participants), (None, 6));
    app.add_actor(Actor::of("later", Probe::every(1)).first_due(at(5)));
    assert!(app.join_actor(Actor::of("later", Probe::every(1)).first_due(at(6))).is_err(), "the path is taken");
    let past = app.join_actor(Actor::of("past", Probe::every(1)).first_due(at(2))).unwrap_err().to_string();
    let expected = "cannot add `past`: its first due time 2.0 s must lie after 2.0 s, the last instant that was stepped; \
                    choose a later time";
    assert_eq!(past, expected);
    let report = app.run_headless(at(9));
    assert_eq!((report.halt, report.participants, report.joins), (None, 7, 7));
    app.end_run();
    let ended = app.join_actor(Actor::of("ended", Probe::every(1))).unwrap_err().to_string();
    assert_eq!(ended, "cannot add `ended`: the run has ended");
    assert!(app.remove_actor(&path("later")).unwrap_err().to_string().ends_with("the run has ended"));
}

#[test]
fn monitors_are_told_the_end_once() {
    struct Ends(Seen<u64>);
    impl Monitor for Ends {
        fn instant(
            &mut self,
            _: &chaconne::conductor::monitor::Instant<'_>,
        ) -> Result<(), chaconne::conductor::monitor::MonitorError> {
            Ok(())
        }

        fn ended(&mut self, report: &RunReport) -> Result<(), chaconne::conductor::monitor::MonitorError> {
            self.0.push(report.ticks);
            Ok(())
        }
    }
    let seen = Seen::new();
    let mut app = app_of(ConductorPlugin { end: Some(at(3)), ..conductor() });
    app.add_monitor(Ends(seen.clone()));
    app.run_headless(at(9));
    app.run_headless(at(10));
    assert_eq!(seen.list(), [3]);
}
