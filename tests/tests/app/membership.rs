//! Joining and leaving in a Bevy `App`: from the app, from systems, by plans and by participants; and what mirrors show of it.

use bevy::prelude::*;
use chaconne::prelude::*;
use chaconne::sim_core::membership::NodeRequest;
use chaconne_tests::{Probe, at, path, world};

use super::{app_of, conductor, mirror};

/// What is mirrored: path, steps, signals, and the number last published as `pose`.
fn shown(app: &mut App) -> Vec<String> {
    let mut mirrors = app.world_mut().query::<(&ActorPath, &StepCounters, Option<&Signal<u64>>)>();
    let mut rows: Vec<String> = mirrors
        .iter(app.world())
        .map(|(path, counters, pose)| {
            let pose = pose.map_or("-".to_owned(), |pose| pose.value.to_string());
            format!("{path} {} {} {pose}", counters.steps, counters.signals)
        })
        .collect();
    rows.sort();
    rows
}

/// An `App` of these actors that mirrors `pose`.
fn app(actors: impl IntoIterator<Item = Actor>) -> App {
    let mut app = App::new();
    app.add_plugins((MinimalPlugins, ChaconnePlugins.set(conductor()))).mirror::<u64>("pose");
    for actor in actors {
        app.add_actor(actor);
    }
    app
}

fn car(path: &str) -> Actor {
    Actor::of(path, Probe::every(1).says("pose"))
}

#[test]
fn one_that_joins_late_has_a_mirror_from_the_next_frame_on_and_takes_it_along() {
    let mut app = app([car("a")]);
    app.run_headless(at(2));
    app.join_actor(car("b").first_due(at(2))).unwrap();
    app.join_actor(car("b/camera").first_due(at(3))).unwrap();
    app.run_headless(at(4));
    assert_eq!(shown(&mut app), ["a 4 4 3", "b 2 2 1", "b/camera 1 1 0"]);
    let (b, camera) = (mirror(&mut app, "b"), mirror(&mut app, "b/camera"));
    assert_eq!(app.world().get::<ChildOf>(camera).map(ChildOf::parent), Some(b));
    app.remove_actor(&path("b")).unwrap();
    app.run_headless(at(5));
    assert_eq!(shown(&mut app), ["a 5 5 4"]);
    assert!(app.world().get_entity(b).is_err() && app.world().get_entity(camera).is_err());
}

#[test]
fn one_whose_path_joins_again_has_a_new_mirror_that_counts_from_zero() {
    let mut app = app([car("a"), car("z")]);
    app.run_headless(at(3));
    let first = mirror(&mut app, "a");
    app.remove_actor(&path("a")).unwrap();
    app.join_actor(car("a").first_due(at(4))).unwrap();
    app.run_headless(at(6));
    assert_eq!(shown(&mut app), ["a 2 2 1", "z 6 6 5"]);
    assert_ne!(mirror(&mut app, "a"), first);
    assert!(app.world().get_entity(first).is_err());
}

#[test]
fn a_signal_leaves_the_mirror_of_an_ancestor_with_the_one_who_published_it() {
    let ego = Actor::of("ego", Probe::every(1));
    let camera = Actor::of("ego/camera", Probe::every(1).says("chaconne/w/actor/ego/pose"));
    let mut app = app([ego, camera]);
    app.run_headless(at(2));
    assert_eq!(shown(&mut app), ["ego 2 0 1", "ego/camera 2 2 -"]);
    app.remove_actor(&path("ego/camera")).unwrap();
    app.run_headless(at(3));
    assert_eq!(shown(&mut app), ["ego 3 0 -"]);
}

#[test]
fn many_who_come_and_go_within_a_frame_leave_nothing_behind_and_change_no_hash() {
    let spawner = || {
        let mut probe = Probe::every(1);
        for second in 0..40 {
            probe = probe.asks_in(second, JoinRequest::new(format!("car-{second}"), "car").first_due(at(second + 1)));
            if second >= 3 {
                probe = probe.asks_out(second, &format!("car-{}", second - 3));
            }
        }
        Actor::of("spawner", probe)
    };
    let make = |_: &JoinRequest, path: &ActorPath| Ok(car(path.as_str()));
    let mut reference = world([spawner()]);
    reference.set_maker(make);
    reference.run_until(at(40)).unwrap();
    // In one frame, and in forty.
    for pieces in [1, 40] {
        let mut app = app([spawner()]);
        app.set_maker(make);
        for piece in 1..=pieces {
            app.run_headless(at(40 * piece / pieces));
        }
        let report = app.run_headless(at(40));
        assert_eq!((report.world_hash, report.joins, report.leaves), (reference.world_hash(), 41, 37));
        assert_eq!(shown(&mut app), ["car-37 2 2 1", "car-38 1 1 0", "car-39 0 0 -", "spawner 40 0 -"]);
        assert_eq!(app.world_mut().query::<&ActorPath>().iter(app.world()).count(), 4);
    }
}

#[test]
fn a_system_can_let_an_actor_join_and_leave() {
    let mut app = app([car("a")]);
    app.add_systems(Update, |status: Res<RunStatus>, mut commands: Commands, mut done: Local<bool>| {
        if status.now >= Some(at(1)) && !*done {
            *done = true;
            commands.queue(|world: &mut World| {
                world.join_actor(car("b")).unwrap();
                world.remove_actor(&path("a")).unwrap();
                let refused = world.join_actor(car("b")).unwrap_err().to_string();
                assert!(refused.contains("`b` is already taken"), "{refused}");
            });
        }
    });
    app.run_headless(at(2));
    assert_eq!(app.run_headless(at(4)).participants, 1);
    assert_eq!(shown(&mut app).len(), 1);
}

#[test]
fn plans_of_an_app_come_true_and_those_that_cannot_make_it_fail() {
    let run = |refused: bool| {
        let mut app = app_of(ConductorPlugin { end: Some(at(6)), ..conductor() });
        app.add_actor(car("later").joins_at(at(2))).plan_leave(path("lead"), at(4));
        if refused {
            app.plan_leave(path("nobody"), at(3));
        }
        let report = app.run_headless(at(9));
        (report.is_complete(), report.participants, report.refused.len(), app.should_exit())
    };
    assert_eq!(run(false), (true, 5, 0, Some(AppExit::Success)));
    assert_eq!(run(true), (false, 5, 1, Some(AppExit::error())));
}

#[test]
fn a_request_is_made_into_an_actor_for_an_app_too() {
    let mut app = app([car("a")]);
    let none = app.join_made(&JoinRequest::new("b", "car")).unwrap_err().to_string();
    assert!(none.contains("this run has none; register factories"), "{none}");
    app.set_maker(|request: &JoinRequest, path: &ActorPath| match &request.node {
        NodeRequest::Made { factory, .. } if factory == "car" => Ok(car(path.as_str())),
        _ => Err("there are cars only".to_owned()),
    });
    app.join_made(&JoinRequest::new("b", "car")).unwrap();
    let other = app.join_made(&JoinRequest::new("c", "bus")).unwrap_err().to_string();
    assert_eq!(other, "cannot add `c`: there are cars only");
    assert_eq!(app.run_headless(at(2)).participants, 2);
    let without = App::new().join_actor(car("a")).unwrap_err().to_string();
    assert!(without.contains("ConductorPlugin is not part of this App"), "{without}");
}
