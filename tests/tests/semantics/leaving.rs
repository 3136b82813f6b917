//! Leaving: from the next instant on an actor and all under its path are not stepped.

use chaconne_conductor::{Actor, Conductor};
use chaconne_sim_core::SimTime;
use chaconne_sim_core::fingerprint::MembershipKind::{Join, Leave};
use chaconne_sim_core::key::Key;
use chaconne_tests::recheck::{SeenInstant, Witness, recheck};
use chaconne_tests::{Probe, Trace, at, of, path, world};

/// A world of these actors with a witness, in which one leaves after `when` seconds, run until `until`.
fn leave(actors: impl IntoIterator<Item = Actor>, who: &str, when: i32, until: i32) -> (Conductor, Vec<SeenInstant>) {
    let witness = Witness::default();
    let mut world = world(actors);
    world.add_monitor(witness.clone());
    world.run_until(at(when)).unwrap();
    world.leave(&path(who)).unwrap();
    world.run_until(at(until)).unwrap();
    assert_eq!(recheck("w", 1, &witness.instants()), world.world_hash());
    (world, witness.instants())
}

fn stepped(instant: &SeenInstant) -> Vec<&str> {
    instant.steps.iter().map(|step| step.path.as_str()).collect()
}

#[test]
fn one_that_leaves_is_not_stepped_at_the_next_instant_and_its_leave_is_hashed_there() {
    let (world, seen) = leave([Actor::of("a", Probe::every(1)), Actor::of("b", Probe::every(1))], "a", 2, 4);
    let steps: Vec<_> = seen.iter().map(stepped).collect();
    assert_eq!(steps, [&["a", "b"][..], &["a", "b"], &["b"], &["b"]]);
    assert_eq!(seen[0].membership, [(Join, "a".to_string(), at(0)), (Join, "b".to_string(), at(0))]);
    assert_eq!(seen[2].membership, [(Leave, "a".to_string(), at(2))]);
    assert!(seen[1].membership.is_empty() && seen[3].membership.is_empty());
    assert_eq!(world.report().participants, 1);
}

#[test]
fn an_actor_leaves_with_all_its_parts_and_all_under_its_path_one_leave_each_in_the_worlds_order() {
    let one = |path: &str| Actor::of(path, Probe::every(1));
    let ego = Actor::new("ego")
        .child("a", Probe::every(1))
        .child("g", Actor::group().child("b", Probe::every(1)).child("c", Probe::every(1)));
    let actors = [ego, one("lead"), one("ego/camera"), one("ego/g/b/log"), one("ego/camera/codec"), one("ego2")];
    let (_, seen) = leave(actors, "ego", 1, 3);
    let left: Vec<_> = seen[1].membership.iter().map(|(_, path, _)| path.as_str()).collect();
    assert_eq!(left, ["ego/a", "ego/g/b", "ego/g/c", "ego/camera", "ego/camera/codec", "ego/g/b/log"]);
    assert_eq!(stepped(&seen[1]), ["lead", "ego2"]);
}

#[test]
fn one_under_anothers_path_leaves_alone() {
    let one = |path: &str| Actor::of(path, Probe::every(1));
    let (_, seen) = leave([one("ego"), one("ego/camera"), one("lead")], "ego/camera", 1, 3);
    assert_eq!(stepped(&seen[2]), ["ego", "lead"]);
}

#[test]
fn one_that_is_due_much_later_leaves_at_the_next_instant_and_makes_none_of_its_own() {
    let actors = [Actor::of("often", Probe::every(1)), Actor::of("rare", Probe::every(10))];
    let (world, seen) = leave(actors, "rare", 3, 30);
    assert_eq!(seen.len(), 30);
    assert_eq!(seen[3].membership, [(Leave, "rare".to_string(), at(3))]);
    assert!(seen[1..].iter().all(|instant| stepped(instant) == ["often"]));
    assert_eq!(world.next_instant(), Some(at(30)));
}

#[test]
fn one_that_left_is_not_stepped_with_those_who_are_due_when_it_would_have_been() {
    let one = |path: &str, secs: i32| Actor::of(path, Probe::every(secs));
    let (_, seen) = leave([one("often", 1), one("rare", 10), one("as-rare", 10)], "rare", 3, 12);
    assert_eq!(stepped(&seen[10]), ["often", "as-rare"]);
    assert_eq!(seen.len(), 12);
}

#[test]
fn the_run_ends_when_the_last_has_left() {
    let actors = [Actor::of("once", Probe::at([0])), Actor::of("a", Probe::every(10))];
    let (mut world, seen) = leave(actors, "a", 5, 100);
    // The instant at which it would have been stepped holds its leave, and nothing else.
    assert_eq!((seen.len(), seen[1].time, stepped(&seen[1]).len()), (2, at(10), 0));
    assert_eq!(seen[1].membership, [(Leave, "a".to_string(), at(10))]);
    assert_eq!(world.next_instant(), None);
    world.run_until(SimTime::MAX).unwrap();
    assert_eq!(world.ticks(), 2);
}

#[test]
fn what_one_said_before_leaving_arrives() {
    let trace = Trace::default();
    let a = Actor::of("a", Probe::every(1).says("x"));
    let b = Actor::of("b", Probe::at([0, 3]).hears(of("a", "x")).traced(&trace));
    leave([a, b], "a", 2, 5);
    assert_eq!(trace.lines(), ["0 b: -", "3 b: a/x#0@0=0, a/x#1@1=1"]);
}

#[test]
fn a_leave_shows_at_steps_after_its_time_as_a_signal_would_and_held_values_die_then() {
    let trace = Trace::default();
    let car = Actor::new("car").child("p", Probe::every(1).says("x")).child("q", Probe::every(1).says("x"));
    let camera = Actor::of("car/camera", Probe::every(1).says("x"));
    let other = Actor::of("other", Probe::at([0]).says("x"));
    let sink = Probe::every(1).holds("chaconne/*/actor/**/x").holds(of("other", "x")).traced(&trace);
    let (world, _) = leave([car, camera, other, Actor::of("sink", sink)], "car", 2, 4);
    assert_eq!(
        trace.lines(),
        [
            "0 sink: [], []",
            "1 sink: [car/camera/x@0=0 new car/x@0=0 new car/x@0=0 new other/x@0=0 new], [other/x@0=0 new]",
            "2 sink: [car/camera/x@1=1 new car/x@1=1 new car/x@1=1 new other/x@0=0], [other/x@0=0]",
            "3 sink: [other/x@0=0], [other/x@0=0]",
        ]
    );
    assert_eq!(world.latest::<u64>(&Key::new("chaconne/w/actor/car/x").unwrap()), None);
    assert_eq!(world.latest(&Key::new("chaconne/w/actor/other/x").unwrap()), Some((at(0), 0_u64)));
}

#[test]
fn one_that_joins_when_another_leaves_is_given_its_value_for_one_step() {
    let trace = Trace::default();
    let a = Actor::of("a", Probe::every(1).says("x")).leaves_at(at(2));
    let b = Actor::of("b", Probe::every(1).holds(of("a", "x")).traced(&trace)).joins_at(at(2));
    let c = Actor::of("c", Probe::every(1).holds(of("a", "x")).traced(&trace)).joins_at(at(3));
    watch([a, b, c], 5);
    assert_eq!(trace.lines(), ["2 b: [a/x@1=1 new]", "3 b: []", "3 c: []", "4 b: []", "4 c: []"]);
}

#[test]
fn a_value_that_nobody_has_taken_yet_dies_with_its_publisher_too() {
    let trace = Trace::default();
    let a = Actor::of("a", Probe::every(1).says("x"));
    let b = Actor::of("b", Probe::at([0, 5]).holds(of("a", "x")).traced(&trace));
    leave([a, b, Actor::of("clock", Probe::every(1))], "a", 2, 7);
    assert_eq!(trace.lines(), ["0 b: []", "5 b: []"]);
}

#[test]
fn two_requests_for_one_actor_or_for_it_and_its_parent_are_one_leave() {
    let one = |path: &str| Actor::of(path, Probe::every(1));
    let witness = Witness::default();
    let mut world = world([one("ego"), one("ego/camera"), one("lead")]);
    world.add_monitor(witness.clone());
    world.run_until(at(1)).unwrap();
    for (who, is_granted) in [("ego/camera", true), ("ego", true), ("ego", false), ("ego/camera", false)] {
        assert_eq!(world.leave(&path(who)).is_ok(), is_granted, "{who}");
    }
    world.run_until(at(3)).unwrap();
    let left: Vec<_> = witness.instants()[1].membership.iter().map(|(_, path, _)| path.clone()).collect();
    assert_eq!(left, ["ego/camera", "ego"]);
    assert!(world.leave(&path("ego")).is_err(), "it has left");
}

#[test]
fn a_leave_before_the_first_instant_is_hashed_behind_the_joins() {
    let (_, seen) = leave([Actor::of("a", Probe::every(1)), Actor::of("b", Probe::every(1))], "a", 0, 2);
    assert_eq!(
        seen[0].membership,
        [(Join, "a".to_string(), at(0)), (Join, "b".to_string(), at(0)), (Leave, "a".to_string(), at(0))]
    );
    assert_eq!(stepped(&seen[0]), ["b"]);
}

#[test]
fn what_is_said_to_one_that_left_goes_nowhere() {
    let a = || Actor::of("a", Probe::every(1).says("x").says_at("y", [5]));
    let b = || Actor::of("b", Probe::every(3).hears("chaconne/**").holds(of("a", "x")));
    let (_, seen) = leave([a(), b(), Actor::of("c", Probe::every(1))], "b", 2, 9);
    assert_eq!(seen.len(), 9);
    assert!(seen[2..].iter().all(|instant| stepped(instant) == ["a", "c"]));
}

/// A world of these actors with a witness, run until `until`.
fn watch(actors: impl IntoIterator<Item = Actor>, until: i32) -> Vec<SeenInstant> {
    let witness = Witness::default();
    let mut world = world(actors);
    world.add_monitor(witness.clone());
    world.run_until(at(until)).unwrap();
    assert_eq!(recheck("w", 1, &witness.instants()), world.world_hash());
    witness.instants()
}

#[test]
fn an_actor_that_is_to_leave_at_a_time_is_not_stepped_from_there_on() {
    let one = |path: &str| Actor::of(path, Probe::every(1));
    let seen = watch([one("a").leaves_at(at(2)), one("b")], 4);
    let steps: Vec<_> = seen.iter().map(stepped).collect();
    assert_eq!(steps, [&["a", "b"][..], &["a", "b"], &["b"], &["b"]]);
    assert_eq!(seen[2].membership, [(Leave, "a".to_string(), at(2))]);
}

#[test]
fn between_two_instants_it_leaves_at_the_second() {
    let time = SimTime::from_millis(1_500);
    let seen = watch([Actor::of("a", Probe::every(1)).leaves_at(time), Actor::of("b", Probe::every(1))], 4);
    assert_eq!(seen[2].membership, [(Leave, "a".to_string(), at(2))]);
}

#[test]
fn who_is_to_leave_before_it_is_ever_due_joins_and_leaves_without_a_step() {
    let early = Actor::of("a", Probe::every(1)).first_due(at(3)).leaves_at(at(1));
    let seen = watch([early, Actor::of("b", Probe::every(1))], 5);
    assert!(seen.iter().all(|instant| stepped(instant) == ["b"]));
    assert_eq!(seen[0].membership[0], (Join, "a".to_string(), at(3)));
    assert_eq!(seen[1].membership, [(Leave, "a".to_string(), at(1))]);
}

#[test]
fn one_that_left_before_its_time_leaves_once() {
    let one = |path: &str, leaves: i32| Actor::of(path, Probe::every(1)).leaves_at(at(leaves));
    let (_, seen) = leave([one("a", 3), one("ego", 2), one("ego/camera", 4), one("c", 100)], "a", 1, 6);
    let left: Vec<_> =
        seen.iter().flat_map(|instant| &instant.membership).filter(|(kind, ..)| *kind == Leave).collect();
    let expected = [("a", 1), ("ego", 2), ("ego/camera", 2)].map(|(path, time)| (Leave, path.to_string(), at(time)));
    assert_eq!(left, expected.iter().collect::<Vec<_>>());
}
