//! Mirrors: the world's actors as entities, and the two wishes that are read from them.

use std::time::Duration;

use bevy::prelude::*;
use chaconne::conductor::{Mirror, MirrorKind};
use chaconne::prelude::*;
use chaconne_tests::recheck::Witness;
use chaconne_tests::{Probe, acting, at, path, secs, world};

use super::{actors, app_of, conductor, expected, mirror};

#[test]
fn every_actor_group_and_part_has_an_entity_with_name_path_and_parent() {
    let mut app = app_of(conductor());
    app.run_headless(at(1));
    let mut mirrors = app.world_mut().query::<(&ActorPath, &Name, &Mirror, Option<&ChildOf>)>();
    let mut rows: Vec<String> = mirrors
        .iter(app.world())
        .map(|(path, name, mirror, parent)| {
            let parent = parent.map_or("-", |parent| app.world().get::<ActorPath>(parent.parent()).unwrap().as_str());
            format!("{path} {name} {:?} {parent}", mirror.kind)
        })
        .collect();
    rows.sort();
    assert_eq!(
        rows,
        [
            "ego ego Actor -",
            "ego/camera camera Actor ego",
            "ego/controller controller Participant ego",
            "ego/physics physics Participant ego",
            "ego/sensors sensors Group ego",
            "ego/sensors/radar radar Participant ego/sensors",
            "lead lead Actor -",
        ]
    );
}

#[test]
fn participants_show_when_they_are_due_and_what_they_did() {
    let mut app = app_of(conductor());
    app.run_headless(at(4));
    let mut mirrors = app.world_mut().query::<(&ActorPath, &NextDue, &StepCounters)>();
    let mut rows: Vec<_> = mirrors
        .iter(app.world())
        .map(|(path, due, counters)| (path.as_str(), due.0, counters.steps, counters.signals))
        .collect();
    rows.sort();
    assert_eq!(
        rows,
        [
            ("ego/camera", at(5), 1, 1),
            ("ego/controller", at(4), 2, 2),
            ("ego/physics", at(4), 4, 4),
            ("ego/sensors/radar", at(6), 2, 2),
            ("lead", at(4), 4, 4),
        ]
    );
}

#[test]
fn a_mirrored_signal_stands_on_the_actor_under_whose_path_it_is_published() {
    let mut app = app_of(conductor());
    app.mirror::<u64>("pose").mirror::<u64>("image").mirror::<u64>("nothing").mirror::<String>("target");
    app.add_actor(Actor::of("late", Probe::every(1).says_at("pose", [3])));
    let signals = |app: &mut App| -> Vec<String> {
        let mut signals = app.world_mut().query::<(&ActorPath, &Signal<u64>)>();
        let mut rows: Vec<_> =
            signals.iter(app.world()).map(|(path, signal)| format!("{path} {} {}", **signal, signal.time)).collect();
        rows.sort();
        rows
    };
    app.run_headless(at(1));
    assert_eq!(signals(&mut app), ["ego 0 0.0", "ego/camera 0 0.0", "lead 0 0.0"]);
    app.run_headless(at(7));
    assert_eq!(signals(&mut app), ["ego 6 6.0", "ego/camera 1 5.0", "late 3 3.0", "lead 6 6.0"]);
    // `target` is a number: what does not read as the type asked for is left out.
    assert_eq!(app.world_mut().query::<&Signal<String>>().iter(app.world()).count(), 0);
}

#[test]
fn the_newest_of_two_parts_under_one_key_is_shown() {
    let mut app = App::new();
    let car =
        Actor::new("car").child("z", Probe::at([0, 1]).says("x")).child("m", Probe::at([0, 2]).says("x").says("x"));
    app.add_plugins((MinimalPlugins, conductor())).mirror::<u64>("x").add_actor(car);
    for (until, expected) in [(1, (0, at(0))), (2, (1, at(1))), (3, (1, at(2)))] {
        app.run_headless(at(until));
        let signal = app.world_mut().query::<&Signal<u64>>().single(app.world()).unwrap();
        assert_eq!((signal.value, signal.time), expected);
    }
}

#[test]
fn update_and_the_report_see_signals_of_the_last_instant() {
    let mut app = app_of(ConductorPlugin { end: Some(at(6)), slice: Duration::ZERO, ..conductor() });
    app.mirror::<u64>("pose");
    app.add_systems(Update, |status: Res<RunStatus>, poses: Query<(&ActorPath, &Signal<u64>)>| {
        assert_eq!(poses.iter().count(), 2);
        for (path, pose) in &poses {
            assert_eq!((pose.value, Some(pose.time)), (status.ticks - 1, status.now), "{path}");
        }
    });
    app.add_observer(|ended: On<RunEnded>, poses: Query<&Signal<u64>>, due: Query<&NextDue>| {
        assert_eq!(poses.iter().map(|pose| pose.value).collect::<Vec<_>>(), [5, 5]);
        assert_eq!((ended.report.ticks, due.iter().count()), (6, 5));
        assert!(due.iter().all(|due| due.0 >= at(6)));
    });
    assert_eq!(app.run(), AppExit::Success);
}

#[test]
fn only_changed_rows_are_written() {
    #[derive(Resource, Default)]
    struct Changed(Vec<Vec<String>>);
    let mut app = app_of(ConductorPlugin { slice: Duration::ZERO, ..conductor() });
    app.init_resource::<Changed>();
    app.add_systems(
        Update,
        |rows: Query<&ActorPath, bevy::prelude::Changed<StepCounters>>, mut changed: ResMut<Changed>| {
            let mut rows: Vec<_> = rows.iter().map(ToString::to_string).collect();
            rows.sort();
            changed.0.push(rows);
        },
    );
    app.run_headless(at(3));
    let changed = &app.world().resource::<Changed>().0;
    assert_eq!(changed[0].len(), 5);
    assert_eq!(changed[1..], [vec!["ego/physics", "lead"], vec!["ego/controller", "ego/physics", "lead"]]);
}

#[test]
fn mirrors_can_be_limited_to_actors_or_switched_off_and_change_no_hash() {
    for (mirrors, paths, counters, poses) in
        [(Mirroring::All, 7, 5, 2), (Mirroring::Actors, 3, 2, 2), (Mirroring::Off, 0, 0, 0)]
    {
        let mut app = app_of(ConductorPlugin { mirrors, ..conductor() });
        app.mirror::<u64>("pose");
        let report = app.run_headless(at(20));
        assert_eq!(report.world_hash, expected(at(20)));
        let world = app.world_mut();
        assert_eq!(world.query::<&Mirror>().iter(world).count(), paths, "{mirrors:?}");
        assert_eq!(world.query::<&StepCounters>().iter(world).count(), counters, "{mirrors:?}");
        assert_eq!(world.query::<&Signal<u64>>().iter(world).count(), poses, "{mirrors:?}");
    }
}

/// The end of a run in which something is done to mirrors when three instants have been stepped.
fn disturbed(disturb: impl FnOnce(&mut App)) -> (RunReport, Witness) {
    let mut app = app_of(conductor());
    let witness = Witness::default();
    app.add_monitor(witness.clone());
    // In two frames: what is done in the frame after the mirrors' first one could be noticed by their spawning alone.
    app.run_headless(at(2));
    app.run_headless(at(3));
    disturb(&mut app);
    (app.run_headless(at(9)), witness)
}

/// The hash of a run in which an actor leaves when three instants have been stepped.
fn hash_after_leave(who: &[&str]) -> Fingerprint {
    let mut world = world(actors());
    world.run_until(at(3)).unwrap();
    for who in who {
        world.leave(&path(who)).unwrap();
    }
    world.run_until(at(9)).unwrap();
    world.world_hash()
}

fn despawn(app: &mut App, path: &str) {
    let entity = mirror(app, path);
    app.world_mut().despawn(entity);
}

#[test]
fn despawning_an_actors_mirror_is_a_leave_of_the_actor_and_all_under_it() {
    let (report, witness) = disturbed(|app| despawn(app, "ego"));
    assert_eq!((report.halt, report.participants), (None, 1));
    assert_eq!(report.world_hash, hash_after_leave(&["ego"]));
    let instants = witness.instants();
    let left: Vec<_> = instants[3].membership.iter().map(|(_, path, time)| (path.as_str(), *time)).collect();
    let paths = ["ego/controller", "ego/sensors/radar", "ego/physics", "ego/camera"];
    assert_eq!(left, paths.map(|path| (path, at(3))));
    assert!(instants[3..].iter().all(|instant| instant.steps.iter().all(|step| step.path == "lead")));
}

#[test]
fn despawning_the_mirror_of_an_actor_under_another_is_its_own_leave() {
    let (report, _) = disturbed(|app| despawn(app, "ego/camera"));
    assert_eq!((report.halt, report.participants), (None, 4));
    assert_eq!(report.world_hash, hash_after_leave(&["ego/camera"]));
}

#[test]
fn mirrors_despawned_together_leave_in_the_worlds_order() {
    for order in [["lead", "ego"], ["ego", "lead"]] {
        let (report, _) = disturbed(|app| order.iter().for_each(|path| despawn(app, path)));
        assert_eq!(report.participants, 0);
        assert_eq!(report.world_hash, hash_after_leave(&["ego", "lead"]));
    }
}

#[test]
fn a_despawned_actor_takes_its_held_values_with_it() {
    let trace = chaconne_tests::Trace::default();
    let mut app = App::new();
    app.add_plugins((MinimalPlugins, conductor()))
        .add_actor(Actor::of("a", Probe::every(1).says("x")))
        .add_actor(Actor::of("b", Probe::every(1).holds("chaconne/*/actor/a/x").traced(&trace)));
    app.run_headless(at(2));
    despawn(&mut app, "a");
    app.run_headless(at(4));
    // It leaves at 2 s, which shows at steps after that.
    assert_eq!(trace.lines(), ["0 b: []", "1 b: [a/x@0=0 new]", "2 b: [a/x@1=1 new]", "3 b: []"]);
}

#[test]
fn a_system_can_despawn_a_mirror() {
    let mut app = app_of(ConductorPlugin { slice: Duration::ZERO, ..conductor() });
    app.add_systems(Update, |mut commands: Commands, status: Res<RunStatus>, mirrors: Query<(Entity, &ActorPath)>| {
        if status.ticks == 3 {
            let lead = mirrors.iter().find(|(_, path)| **path == "lead").unwrap();
            commands.entity(lead.0).despawn();
        }
    });
    assert_eq!(app.run_headless(at(9)).world_hash, hash_after_leave(&["lead"]));
}

#[test]
fn despawning_the_mirror_of_a_part_or_a_group_alone_halts() {
    for part in ["ego/physics", "ego/sensors", "ego/sensors/radar"] {
        let (report, _) = disturbed(|app| despawn(app, part));
        let text = report.halt.unwrap().to_string();
        let says = " is a part of an actor, and its mirror was despawned alone; despawn the mirror of `ego`, and the actor \
                    leaves as a whole";
        assert!(text.starts_with(&format!("`{part}")) && text.ends_with(says), "{text}");
        assert_eq!((report.ticks, report.world_hash), (3, expected(at(3))));
    }
}

const MOVED: &str = "was given another parent entity; the world's order cannot follow that: put an entity of your own \
                     beside the mirror instead";

#[test]
fn reparenting_a_mirror_halts_with_its_path() {
    for (child, parent) in [("lead", "ego"), ("ego/physics", "lead"), ("ego/camera", "ego/sensors"), ("ego", "lead")] {
        let (report, _) = disturbed(|app| {
            let (child, parent) = (mirror(app, child), mirror(app, parent));
            app.world_mut().entity_mut(child).insert(ChildOf(parent));
        });
        assert_eq!(report.halt.unwrap().to_string(), format!("`{child}` {MOVED}"));
        assert_eq!(report.ticks, 3);
    }
    let (report, _) = disturbed(|app| {
        let lead = mirror(app, "lead");
        app.world_mut().spawn(Name::new("mine")).add_child(lead);
    });
    assert_eq!(report.halt.unwrap().to_string(), format!("`lead` {MOVED}"));
}

#[test]
fn orphaning_a_mirror_halts_with_its_path() {
    let (report, _) = disturbed(|app| {
        let part = mirror(app, "ego/physics");
        app.world_mut().entity_mut(part).remove::<ChildOf>();
    });
    assert_eq!(report.halt.unwrap().to_string(), format!("`ego/physics` {MOVED}"));
    let (report, _) = disturbed(|app| {
        let ego = mirror(app, "ego/sensors");
        app.world_mut().entity_mut(ego).remove::<Children>();
    });
    assert_eq!(report.halt.unwrap().to_string(), format!("`ego/sensors/radar` {MOVED}"));
}

#[test]
fn what_is_put_back_within_a_frame_was_never_moved() {
    let (report, _) = disturbed(|app| {
        let (ego, lead, physics) = (mirror(app, "ego"), mirror(app, "lead"), mirror(app, "ego/physics"));
        app.world_mut().entity_mut(physics).insert(ChildOf(lead));
        app.world_mut().entity_mut(physics).insert(ChildOf(ego));
        app.world_mut().entity_mut(lead).insert(ChildOf(ego));
        app.world_mut().entity_mut(lead).remove::<ChildOf>();
    });
    assert_eq!((report.halt, report.world_hash), (None, expected(at(9))));
}

#[test]
fn components_and_children_of_ones_own_on_a_mirror_change_nothing() {
    #[derive(Component)]
    struct Paint;
    let (report, _) = disturbed(|app| {
        let lead = mirror(app, "lead");
        app.world_mut().entity_mut(lead).insert((Paint, Name::new("renamed"))).with_child(Paint);
        // An entity with a path of its own is no mirror.
        app.world_mut().spawn((path("lead"), Paint));
        let stray = app.world_mut().spawn((path("ego"), Mirror { kind: MirrorKind::Actor })).id();
        app.world_mut().despawn(stray);
    });
    assert_eq!((report.halt, report.world_hash), (None, expected(at(9))));
}

#[test]
fn mirrors_show_the_last_whole_instant_after_a_halt() {
    let mut app = app_of(ConductorPlugin { end: Some(at(9)), ..conductor() });
    app.mirror::<u64>("pose").add_actor(Actor::of(
        "pump",
        acting(|ctx| if ctx.now() < at(4) { ctx.after(secs(1)) } else { Err("dry".into()) }),
    ));
    app.add_observer(|ended: On<RunEnded>, poses: Query<(&ActorPath, &Signal<u64>, Option<&StepCounters>)>| {
        assert_eq!(ended.report.ticks, 4);
        assert_eq!(poses.iter().count(), 2);
        for (path, pose, counters) in &poses {
            assert_eq!((pose.value, pose.time), (3, at(3)), "{path}");
            assert!(counters.is_none_or(|counters| counters.steps == 4), "{path}");
        }
    });
    assert_eq!(app.run(), AppExit::error());
}
