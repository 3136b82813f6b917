//! Between actors: a signal published at T is seen at the consumer's next step after T.

use chaconne_conductor::Actor;
use chaconne_tests::recheck::Witness;
use chaconne_tests::{Probe, Trace, at, of, run, world};

/// The paths of those who stepped at the first instant, in the world's order.
fn order_of(actors: impl IntoIterator<Item = Actor>) -> Vec<String> {
    let witness = Witness::default();
    let mut world = world(actors);
    world.add_monitor(witness.clone());
    world.step_instant().unwrap();
    witness.instants()[0].steps.iter().map(|step| step.path.clone()).collect()
}

#[test]
fn a_signal_is_seen_at_the_next_step_after_its_time_and_only_there() {
    let trace = Trace::default();
    let a = Actor::of("a", Probe::every(1).says("x"));
    let b = Actor::of("b", Probe::at([0, 2, 3]).hears(of("a", "x")).traced(&trace));
    run([a, b], 10);
    assert_eq!(trace.lines(), ["0 b: -", "2 b: a/x#0@0=0, a/x#1@1=1", "3 b: a/x#2@2=2"]);
}

#[test]
fn actors_due_at_one_instant_do_not_see_each_other_whoever_was_added_first() {
    for reversed in [false, true] {
        let (of_a, of_b) = (Trace::default(), Trace::default());
        let a = Actor::of("a", Probe::every(1).says("x").hears(of("b", "x")).traced(&of_a));
        let b = Actor::of("b", Probe::every(1).says("x").hears(of("a", "x")).traced(&of_b));
        run(if reversed { [b, a] } else { [a, b] }, 3);
        assert_eq!(of_a.lines(), ["0 a: -", "1 a: b/x#0@0=0", "2 a: b/x#1@1=1"]);
        assert_eq!(of_b.lines(), ["0 b: -", "1 b: a/x#0@0=0", "2 b: a/x#1@1=1"]);
    }
}

#[test]
fn a_signal_waits_for_a_consumer_that_is_first_due_later() {
    let trace = Trace::default();
    let a = Actor::of("a", Probe::at([0, 1, 4]).says("x"));
    let b = Actor::of("b", Probe::every(10).hears(of("a", "x")).traced(&trace)).first_due(at(4));
    run([a, b], 20);
    assert_eq!(trace.lines(), ["4 b: a/x#0@0=0, a/x#1@1=1", "14 b: a/x#2@4=2"]);
}

#[test]
fn a_part_of_another_actor_is_seen_one_step_later_like_any_other() {
    let trace = Trace::default();
    let lead = Actor::new("lead").child("physics", Probe::every(1).says("pose"));
    let ego = Actor::new("ego").child("controller", Probe::every(1).hears(of("lead", "pose")).traced(&trace));
    run([lead, ego], 3);
    assert_eq!(
        trace.lines(),
        [
            "0 ego/controller: -",
            "1 ego/controller: lead/pose#0@0=0 by lead/physics",
            "2 ego/controller: lead/pose#1@1=1 by lead/physics"
        ]
    );
}

#[test]
fn an_actor_under_anothers_path_sees_it_one_step_later_though_it_stands_behind_it() {
    let trace = Trace::default();
    let ego = Actor::new("ego")
        .child("camera-less", Probe::every(1).hears(of("ego/camera", "image")).traced(&trace))
        .child("physics", Probe::every(1).says("pose"))
        .child("display", Probe::every(1).hears("pose").traced(&trace));
    let camera =
        Actor::of("ego/camera", Probe::every(1).hears(of("ego", "pose")).hears("pose").says("image").traced(&trace));
    run([ego, camera], 2);
    assert_eq!(
        trace.lines(),
        [
            "0 ego/camera-less: -",
            "0 ego/display: ego/pose#0@0=0 by ego/physics",
            "0 ego/camera: -",
            "1 ego/camera-less: ego/camera/image#0@0=0",
            "1 ego/display: ego/pose#1@1=1 by ego/physics",
            "1 ego/camera: ego/pose#0@0=0 by ego/physics",
        ]
    );
}

#[test]
fn an_actor_under_anothers_path_comes_directly_after_it_whenever_it_was_added() {
    let one = |path: &str| Actor::of(path, Probe::every(1));
    let order = order_of([
        one("first"),
        Actor::new("ego")
            .child("controller", Probe::every(1))
            .child("sensors", Actor::group().child("radar", Probe::every(1)))
            .child("physics", Probe::every(1)),
        one("last"),
        one("ego/camera"),
        one("ego/sensors/lidar"),
        one("ego/camera/codec"),
        one("ego/controller/log"),
    ]);
    assert_eq!(
        order,
        [
            "first",
            "ego/controller",
            "ego/sensors/radar",
            "ego/physics",
            "ego/camera",
            "ego/camera/codec",
            "ego/sensors/lidar",
            "ego/controller/log",
            "last"
        ]
    );
}

#[test]
fn the_order_of_adding_is_the_worlds_order_and_no_other_is() {
    let one = |path: &str| Actor::of(path, Probe::every(1));
    assert_eq!(order_of([one("b"), one("c"), one("a")]), ["b", "c", "a"]);
}
