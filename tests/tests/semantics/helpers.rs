//! Actors in helper processes: the same run, and nobody is taken along by what happens there.

#![cfg(unix)]

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use chaconne_conductor::host::process::HelperProgram;
use chaconne_conductor::{Actor, Conductor, HaltCause, Hosting, OnFailure};
use chaconne_sim_core::membership::NodeRequest;
use chaconne_tests::made::{Misdeed, make, request};
use chaconne_tests::recheck::{Witness, recheck};
use chaconne_tests::{Probe, at, config, of, path};

/// Long enough for whoever is well.
const LONG: Duration = Duration::from_secs(20);

/// Tests here look at all processes that this one has started: where tests are threads of one process, they take turns.
pub(super) fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn program() -> HelperProgram {
    HelperProgram::new(env!("CARGO_BIN_EXE_helper"), [""; 0])
}

fn empty() -> Conductor {
    let mut world = Conductor::new(config()).unwrap();
    world.set_helper(program());
    world.set_maker(make);
    world
}

fn world_of(actors: impl IntoIterator<Item = Actor>) -> Conductor {
    let mut world = empty();
    for actor in actors {
        world.add(actor).unwrap();
    }
    world
}

/// The processes that this one has started and that are still there, also those that nobody has waited for.
fn children() -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return found };
    for task in tasks.flatten() {
        let text = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        found.extend(text.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
    }
    found
}

fn talkers(hosting: &[Hosting]) -> Vec<Actor> {
    let none = &();
    let pair = NodeRequest::Group(vec![
        ("one".to_owned(), request("talker", none)),
        ("two".to_owned(), NodeRequest::Group(vec![("deep".to_owned(), request("rare", none))])),
        ("three".to_owned(), request("counter", none)),
    ]);
    let actors = [
        Actor::requested("a", request("talker", none)),
        Actor::requested("b", pair.clone()),
        Actor::requested("b/camera", request("rare", none)),
        Actor::requested("c", request("counter", none)),
        Actor::requested("d", pair).leaves_at(at(7)),
        Actor::requested("e", request("talker", none)).joins_at(at(5)),
        Actor::requested("f", request("rare", none)).first_due(at(2)).leaves_at(at(9)),
        Actor::requested("f2", request("talker", none)).joins_at(at(9)),
    ];
    let turns = hosting.iter().cycle();
    actors.into_iter().zip(turns).map(|(actor, hosting)| actor.hosted(hosting.clone())).collect()
}

fn hash_of(hosting: &[Hosting], typed: bool) -> (String, u64) {
    let witness = Witness::default();
    let mut world = Conductor::new(chaconne_conductor::ConductorConfig { typed, ..config() }).unwrap();
    world.set_helper(program());
    world.set_maker(make);
    for actor in talkers(hosting) {
        world.add(actor).unwrap();
    }
    world.add_monitor(witness.clone());
    world.run_until(at(20)).unwrap();
    assert_eq!(recheck("w", 1, &witness.instants()), world.world_hash());
    (world.world_hash().to_string(), world.report().refusals)
}

#[test]
fn local_guarded_and_helper_processes_one_and_several_make_one_run() {
    let _turn = alone();
    let local = Hosting::default();
    let guarded = Hosting::guarded(LONG);
    let own = Hosting::process();
    let shared = |name: &str| Hosting::shared_process(name);
    let expected = hash_of(std::slice::from_ref(&local), true);
    assert!(expected.1 > 0);
    for hosting in [
        vec![guarded.clone()],
        vec![own.clone()],
        vec![shared("all")],
        vec![shared("a"), shared("b")],
        vec![local.clone(), guarded.clone(), shared("a"), own.clone(), shared("b")],
    ] {
        assert_eq!(hash_of(&hosting, true), expected, "{hosting:?}");
    }
    assert_eq!(hash_of(&[local, guarded, shared("a"), own, shared("b")], false), expected);
    assert_eq!(children(), BTreeSet::new());
}

fn around(misdeed: Misdeed, hosting: &Hosting) -> Vec<Actor> {
    vec![
        Actor::of("before", Probe::every(1).says("x").holds(of("ego", "x")).hears("chaconne/**")),
        Actor::requested("ego", request("rogue", &misdeed)).hosted(hosting.clone()),
        Actor::of("ego/camera", Probe::every(1).says("x").holds("x")),
        Actor::of("after", Probe::every(1).says("x").holds(of("ego", "x"))),
    ]
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a timeout is wall time")]
fn whatever_happens_in_a_helper_process_its_actor_leaves_and_the_others_go_on() {
    let _turn = alone();
    let mut planned = world_of(around(Misdeed::None, &Hosting::default()));
    planned.leave_at(&path("ego"), at(3)).unwrap();
    planned.run_until(at(6)).unwrap();
    let short = Duration::from_millis(200);
    for (misdeed, timeout, text) in [
        (Misdeed::Hang, short, "has not answered within its timeout of 0.2 s"),
        (Misdeed::Panic, LONG, "panicked: out of luck"),
        (Misdeed::Error, LONG, "failed: the tank is empty"),
        (Misdeed::StandStill, LONG, "is not advancing: it returned 3.0 s"),
        (Misdeed::Abort, LONG, "was ended by signal 6"),
        (Misdeed::Exit, LONG, "ended with exit code 7"),
        (Misdeed::Recurse, LONG, "was ended by signal"),
        (Misdeed::Allocate, LONG, "was ended by signal 6"),
        (Misdeed::Flood, LONG, "as many signals as one step may"),
    ] {
        let hosting = Hosting::process().timeout(timeout).memory(512 << 20);
        let mut world = world_of(around(misdeed, &hosting.clone().on_failure(OnFailure::Remove)));
        world.run_until(at(3)).unwrap();
        let started = Instant::now();
        world.run_until(at(4)).unwrap();
        let took = started.elapsed();
        world.run_until(at(6)).unwrap();
        let report = world.end(Duration::ZERO);
        assert_eq!(report.world_hash, planned.world_hash(), "{misdeed:?}");
        assert!(report.removed[0].contains(text), "{misdeed:?}: {:?}", report.removed);
        if misdeed == Misdeed::Hang {
            // 50 ms on a machine that does nothing else.
            assert!(took < timeout + Duration::from_millis(500), "{took:?}");
        }
        assert!(report.left_behind.is_empty(), "a process is ended");
        assert_eq!(children(), BTreeSet::new(), "{misdeed:?}");

        let mut world = world_of(around(misdeed, &hosting));
        let halt = world.run_until(at(6)).unwrap_err();
        assert_eq!((halt.path.clone(), halt.instant), (Some(path("ego")), Some((3, at(3)))));
        assert!(halt.to_string().contains(text), "{halt}");
        drop(world);
        assert_eq!(children(), BTreeSet::new(), "{misdeed:?}");
    }
}

#[test]
fn what_a_participant_prints_there_is_not_taken_for_a_message() {
    let _turn = alone();
    let mut world = world_of(around(Misdeed::Print, &Hosting::process()));
    world.run_until(at(6)).unwrap();
    let mut local = world_of(around(Misdeed::None, &Hosting::default()));
    local.run_until(at(6)).unwrap();
    assert_eq!(world.world_hash(), local.world_hash());
}

#[test]
fn those_who_share_a_helper_process_are_lost_together() {
    let _turn = alone();
    let shared = Hosting::shared_process("one").on_failure(OnFailure::Remove);
    for misdeed in [Misdeed::Abort, Misdeed::Hang] {
        let shared = shared.clone().timeout(if misdeed == Misdeed::Hang { Duration::from_millis(200) } else { LONG });
        let mut actors = vec![Actor::requested("first", request("talker", &())).hosted(shared.clone())];
        actors.extend(around(misdeed, &shared));
        // Not due at that instant, and due behind the one that fails.
        actors.push(Actor::requested("idle", request("rare", &())).first_due(at(4)).hosted(shared.clone()));
        actors.push(Actor::requested("last", request("talker", &())).hosted(shared.clone()));
        let mut world = world_of(actors);
        world.run_until(at(6)).unwrap();
        let report = world.end(Duration::ZERO);
        assert_eq!(report.participants, 2, "{:?}", report.removed);
        let left = |who: &str, when: &str| {
            report.removed.iter().any(|one| one.starts_with(&format!("`{who}` left at {when} s: ")))
        };
        assert!(left("first", "3.000000001"), "{:?}", report.removed);
        assert!(left("idle", "3.000000001"), "{:?}", report.removed);
        assert!(left("ego", "3.0") && left("last", "3.0"), "{:?}", report.removed);
        assert_eq!(children(), BTreeSet::new());
    }
}

#[test]
fn a_helper_that_is_none_is_refused_by_name() {
    let _turn = alone();
    for (argument, text) in [
        ("garbage", "sent what is no message of the protocol"),
        ("huge", "sent a message of 4294967295 bytes; the most is"),
        ("deaf", "ended with exit code 3"),
        ("silent", "has not answered within 0.2 s"),
    ] {
        let mut world = Conductor::new(config()).unwrap();
        world.set_helper(HelperProgram::new(env!("CARGO_BIN_EXE_helper"), [argument]));
        let timeout = if argument == "silent" { Duration::from_millis(200) } else { LONG };
        let hosting = Hosting::process().patience(timeout);
        let actor = Actor::requested("a", request("talker", &())).hosted(hosting);
        let error = world.add(actor).unwrap_err().to_string();
        assert!(error.starts_with("cannot add `a`: its helper process") && error.contains(text), "{error}");
        assert_eq!(world.participants(), 0);
        assert_eq!(children(), BTreeSet::new());
    }
    let mut world = Conductor::new(config()).unwrap();
    world.set_helper(HelperProgram::new("/no/such/program", [""; 0]));
    let actor = || Actor::requested("a", request("talker", &())).hosted(Hosting::process());
    let error = world.add(actor()).unwrap_err().to_string();
    assert!(error.contains("`/no/such/program` cannot be started"), "{error}");
    world.set_helper(program().setting("refuse"));
    assert!(world.add(actor()).unwrap_err().to_string().ends_with("cannot make it: it has no wish to"));
    let error = Conductor::new(config()).unwrap().add(actor()).unwrap_err().to_string();
    assert!(error.contains("call `set_helper`"), "{error}");
}

#[test]
fn what_cannot_be_made_in_a_helper_is_refused_and_changes_nothing() {
    let _turn = alone();
    let mut world = empty();
    let shared = Hosting::shared_process("one");
    world.add(Actor::requested("a", request("talker", &())).hosted(shared.clone())).unwrap();
    let mut refused = |actor: Actor| world.add(actor).unwrap_err().to_string();
    let made = |name: &str| Actor::requested("b", request(name, &())).hosted(shared.clone());
    assert_eq!(refused(made("nothing")), "cannot add `b`: there is no `nothing`");
    assert_eq!(refused(made("panics-when-made")), "cannot add `b`: its factory panicked: no such luck");
    assert!(refused(made("talker").budget_of("x", LONG)).contains("it has no part of that name"));
    let taken = Actor::requested("a", request("talker", &())).hosted(shared.clone());
    assert!(refused(taken).contains("already taken"));
    let made_here = Actor::of("b", Probe::every(1)).hosted(shared.clone());
    assert!(refused(made_here).contains("give it as `Actor::requested`"));
    world.run_until(at(3)).unwrap();
    let mut other = world_of([Actor::requested("a", request("talker", &()))]);
    other.run_until(at(3)).unwrap();
    assert_eq!(world.world_hash(), other.world_hash());
    // One that hangs while it is made takes the helper along, and all that are in it.
    let error = world.add(made("hangs-when-made").hosted(shared.patience(Duration::from_millis(200)))).unwrap_err();
    assert!(error.to_string().contains("has not answered within 0.2 s"), "{error}");
    let halt = world.run_until(at(6)).unwrap_err();
    assert!(matches!(halt.cause, HaltCause::Lost(_)), "{halt}");
}

#[test]
fn two_hundred_helpers_that_are_started_killed_and_stopped_leave_nothing() {
    let _turn = alone();
    let before = std::fs::read_dir(std::env::temp_dir()).unwrap().count();
    for round in 0..200 {
        let misdeed = if round % 2 == 0 { Misdeed::None } else { Misdeed::Abort };
        let hosting = Hosting::process().on_failure(OnFailure::Remove);
        let mut world = world_of([
            Actor::requested("ego", request("rogue", &misdeed)).hosted(hosting),
            Actor::of("other", Probe::every(1)),
        ]);
        world.run_until(at(2)).unwrap();
        if round % 4 == 2 {
            // From outside.
            for pid in children() {
                let status = std::process::Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap();
                assert!(status.success());
            }
        }
        world.run_until(at(5)).unwrap();
        assert_eq!(world.participants(), if round % 4 == 0 { 2 } else { 1 }, "{round}");
        drop(world);
        assert_eq!(children(), BTreeSet::new(), "{round}");
    }
    assert!(std::fs::read_dir(std::env::temp_dir()).unwrap().count() <= before + 2);
}

#[test]
fn one_that_leaves_takes_its_helper_process_along() {
    let _turn = alone();
    let mut world = world_of([
        Actor::requested("a", request("talker", &())).hosted(Hosting::process()).leaves_at(at(3)),
        Actor::of("b", Probe::every(1)),
    ]);
    world.run_until(at(3)).unwrap();
    assert_eq!(children().len(), 1);
    world.run_until(at(5)).unwrap();
    assert_eq!(children(), BTreeSet::new());
}

#[test]
fn more_than_a_pipe_takes_goes_both_ways_and_whoever_hangs_keeps_nobody_else_from_answering() {
    let _turn = alone();
    let short = Duration::from_millis(1_500);
    let shared = |name: &str| Hosting::shared_process(name).timeout(short).on_failure(OnFailure::Remove);
    let world_with = |hosting: &dyn Fn(&str) -> Hosting, misdeed| {
        let mut actors = Vec::new();
        for name in ["a", "b", "c"] {
            actors.push(Actor::requested(name, request("loud", &())).hosted(hosting(name)));
        }
        for name in ["h1", "h2"] {
            actors.insert(1, Actor::requested(name, request("rogue", &misdeed)).hosted(hosting(name)));
        }
        world_of(actors)
    };
    let mut hung = world_with(&shared, Misdeed::Hang);
    hung.run_until(at(6)).unwrap();
    let mut planned = world_with(&|_| Hosting::default(), Misdeed::None);
    for name in ["h2", "h1"] {
        planned.leave_at(&path(name), at(3)).unwrap();
    }
    planned.run_until(at(6)).unwrap();
    let report = hung.end(Duration::ZERO);
    assert_eq!(report.removed.len(), 2, "{:?}", report.removed);
    assert_eq!(report.world_hash, planned.world_hash());
}

#[test]
fn one_that_says_what_is_not_of_the_protocol_in_the_middle_of_a_run_is_lost_by_name() {
    let _turn = alone();
    for (argument, text) in [
        ("garbage-later", "sent what is no message of the protocol"),
        ("huge-later", "the most is"),
        ("wrong-later", "sent a message that does not belong there"),
        ("closed-later", "ended with exit code 9"),
        ("dripping-later", "has not answered within its timeout of 0.3 s"),
    ] {
        let mut world = Conductor::new(config()).unwrap();
        world.set_helper(HelperProgram::new(env!("CARGO_BIN_EXE_helper"), [argument]));
        let hosting = Hosting::process().timeout(Duration::from_millis(300)).on_failure(OnFailure::Remove);
        world.add(Actor::requested("a", request("talker", &())).hosted(hosting)).unwrap();
        world.add(Actor::of("b", Probe::every(1))).unwrap();
        world.run_until(at(5)).unwrap();
        let report = world.end(Duration::ZERO);
        assert!(report.removed.len() == 1 && report.removed[0].contains(text), "{argument}: {:?}", report.removed);
        drop(world);
        assert_eq!(children(), BTreeSet::new());
    }
}

#[test]
fn an_actor_and_one_under_its_path_that_are_lost_with_one_helper_leave_once() {
    let _turn = alone();
    let shared = Hosting::shared_process("one").on_failure(OnFailure::Remove);
    let mut world = world_of([
        Actor::requested("ego", request("talker", &())).hosted(shared.clone()),
        Actor::requested("ego/camera", request("talker", &())).hosted(shared.clone()),
        Actor::requested("rogue", request("rogue", &Misdeed::Exit)).hosted(shared),
        Actor::of("b", Probe::every(1)),
    ]);
    world.run_until(at(6)).unwrap();
    let report = world.end(Duration::ZERO);
    assert!(report.is_complete(), "{report}");
    assert_eq!((report.participants, report.removed.len()), (1, 3));
}

#[test]
fn a_participant_that_asks_for_one_that_cannot_be_started_halts_the_run_and_learns_nothing() {
    let _turn = alone();
    let asks = Probe::every(1).asks_in(2, chaconne_sim_core::JoinRequest::new("late", "talker"));
    let mut world = Conductor::new(config()).unwrap();
    world.set_helper(HelperProgram::new("/no/such/program", [""; 0]));
    world.set_maker(|request: &chaconne_sim_core::JoinRequest, path: &chaconne_sim_core::ActorPath| {
        Ok(Actor::requested(path.as_str(), request.node.clone()).hosted(Hosting::process()))
    });
    world.add(Actor::of("a", asks)).unwrap();
    let halt = world.run_until(at(5)).unwrap_err();
    assert_eq!((halt.path.clone(), halt.instant), (Some(path("late")), Some((2, at(2)))));
    assert!(halt.to_string().contains("`/no/such/program` cannot be started"), "{halt}");
}
