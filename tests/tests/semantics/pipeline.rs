//! Inside an actor: its leaves form one pipeline, however deep its tree.

use chaconne_conductor::Actor;
use chaconne_tests::{Probe, Trace, at, of, run};

#[test]
fn later_leaves_see_a_signal_in_the_same_instant_at_any_depth_and_earlier_ones_and_oneself_at_the_next_step() {
    let trace = Trace::default();
    let leaf = |signal: &str| Probe::every(1).hears("*").says(signal).traced(&trace);
    let car = Actor::new("car")
        .child("a", leaf("sa"))
        .child(
            "g",
            Actor::group()
                .child("b", leaf("sb"))
                .child("h", Actor::group().child("c", leaf("sc")).child("d", leaf("sd"))),
        )
        .child("e", leaf("se"));
    run([car], 2);
    let [a, b, c, d, e] = ["a", "g/b", "g/h/c", "g/h/d", "e"];
    let says = |leaf: &str, number: u32| {
        format!("car/s{}#{number}@{number}={number} by car/{leaf}", leaf.rsplit('/').next().unwrap())
    };
    let line = |time: u32, leaf: &str, arrivals: &[(&str, u32)]| {
        let arrivals: Vec<String> = arrivals.iter().map(|(leaf, number)| says(leaf, *number)).collect();
        let arrivals = if arrivals.is_empty() { "-".to_string() } else { arrivals.join(", ") };
        format!("{time} car/{leaf}: {arrivals}")
    };
    // Publishers sort as car/a, car/e, car/g/b, car/g/h/c, car/g/h/d.
    assert_eq!(
        trace.lines(),
        [
            line(0, a, &[]),
            line(0, b, &[(a, 0)]),
            line(0, c, &[(a, 0), (b, 0)]),
            line(0, d, &[(a, 0), (b, 0), (c, 0)]),
            line(0, e, &[(a, 0), (b, 0), (c, 0), (d, 0)]),
            line(1, a, &[(a, 0), (e, 0), (b, 0), (c, 0), (d, 0)]),
            line(1, b, &[(e, 0), (b, 0), (c, 0), (d, 0), (a, 1)]),
            line(1, c, &[(e, 0), (c, 0), (d, 0), (a, 1), (b, 1)]),
            line(1, d, &[(e, 0), (d, 0), (a, 1), (b, 1), (c, 1)]),
            line(1, e, &[(e, 0), (a, 1), (b, 1), (c, 1), (d, 1)]),
        ]
    );
}

#[test]
fn a_leaf_that_is_not_due_is_given_all_at_its_next_step_once() {
    let trace = Trace::default();
    let car = Actor::new("car")
        .child("before", Probe::at([0, 3, 4]).hears("x").traced(&trace))
        .child("source", Probe::every(1).says("x"))
        .child("behind", Probe::at([0, 3, 4]).hears("x").traced(&trace));
    run([car], 5);
    assert_eq!(
        trace.lines(),
        [
            "0 car/before: -",
            "0 car/behind: car/x#0@0=0 by car/source",
            "3 car/before: car/x#0@0=0 by car/source, car/x#1@1=1 by car/source, car/x#2@2=2 by car/source",
            "3 car/behind: car/x#1@1=1 by car/source, car/x#2@2=2 by car/source, car/x#3@3=3 by car/source",
            "4 car/before: car/x#3@3=3 by car/source",
            "4 car/behind: car/x#4@4=4 by car/source",
        ]
    );
}

#[test]
fn what_the_source_says_when_it_steps_alone_reaches_a_later_leaf_once() {
    let trace = Trace::default();
    let car = Actor::new("car")
        .child("source", Probe::at([0, 2, 5]).says("x").says("x"))
        .child("behind", Probe::at([0, 1, 3, 6]).hears("x").traced(&trace));
    run([car], 10);
    assert_eq!(
        trace.lines(),
        [
            "0 car/behind: car/x#0@0=0 by car/source, car/x#1@0=0 by car/source",
            "1 car/behind: -",
            "3 car/behind: car/x#2@2=1 by car/source, car/x#3@2=1 by car/source",
            "6 car/behind: car/x#4@5=2 by car/source, car/x#5@5=2 by car/source",
        ]
    );
}

#[test]
fn the_latest_value_is_held_inside_an_actor_by_the_same_rule() {
    let trace = Trace::default();
    let car = Actor::new("car")
        .child("before", Probe::every(1).holds("x").traced(&trace))
        .child("source", Probe::every(1).says_at("x", [0, 2]).says_at("x", [0]))
        .child("behind", Probe::every(1).holds("x").traced(&trace));
    run([car], 4);
    assert_eq!(
        trace.lines(),
        [
            "0 car/before: []",
            "0 car/behind: [car/x@0=0 new]",
            "1 car/before: [car/x@0=0 new]",
            "1 car/behind: [car/x@0=0]",
            "2 car/before: [car/x@0=0]",
            "2 car/behind: [car/x@2=2 new]",
            "3 car/before: [car/x@2=2 new]",
            "3 car/behind: [car/x@2=2]",
        ]
    );
}

#[test]
fn what_comes_from_other_actors_stands_before_what_comes_from_this_instant() {
    let trace = Trace::default();
    let car = Actor::new("a-car")
        .child("source", Probe::every(1).says("x"))
        .child("sink", Probe::every(1).hears("chaconne/*/actor/**/x").traced(&trace));
    run([car, Actor::of("z", Probe::every(1).says("x"))], 2);
    assert_eq!(
        trace.lines(),
        ["0 a-car/sink: a-car/x#0@0=0 by a-car/source", "1 a-car/sink: z/x#0@0=0, a-car/x#1@1=1 by a-car/source",]
    );
}

#[test]
fn what_parts_say_in_one_instant_is_ordered_by_their_paths_and_not_by_their_places() {
    let trace = Trace::default();
    let car = Actor::new("car")
        .child("z", Probe::every(1).says("x"))
        .child("m", Probe::every(1).says("x").says("x"))
        .child("sink", Probe::at([0]).hears("x").traced(&trace));
    run([car], 1);
    assert_eq!(trace.lines(), ["0 car/sink: car/x#0@0=0 by car/m, car/x#1@0=0 by car/m, car/x#0@0=0 by car/z"]);
}

#[test]
fn overlapping_subscriptions_inside_an_actor_deliver_a_signal_once() {
    let trace = Trace::default();
    let car = Actor::new("car")
        .child("source", Probe::at([0, 1]).says("x"))
        .child("sink", Probe::at([0, 2]).hears("x").hears("*").hears(of("car", "x")).holds("**").traced(&trace));
    run([car], 3);
    assert_eq!(
        trace.lines(),
        [
            "0 car/sink: car/x#0@0=0 by car/source, [car/x@0=0 new]",
            "2 car/sink: car/x#1@1=1 by car/source, [car/x@1=1 new]"
        ]
    );
}

#[test]
fn a_key_that_is_first_used_late_is_delivered_in_that_instant() {
    let trace = Trace::default();
    let car = Actor::new("car")
        .child("source", Probe::every(1).says_at("x", [1]).says_at("y", [2]))
        .child("sink", Probe::every(1).hears("*").traced(&trace));
    run([car], 4);
    assert_eq!(
        trace.lines(),
        [
            "0 car/sink: -",
            "1 car/sink: car/x#0@1=1 by car/source",
            "2 car/sink: car/y#1@2=2 by car/source",
            "3 car/sink: -"
        ]
    );
}

#[test]
fn a_composite_that_starts_late_starts_as_a_whole() {
    let trace = Trace::default();
    let car = Actor::new("car")
        .child("source", Probe::every(2).says("x"))
        .child("sink", Probe::every(1).hears("x").hears(of("lead", "x")).traced(&trace))
        .first_due(at(1));
    run([Actor::of("lead", Probe::at([0]).says("x")), car], 4);
    assert_eq!(
        trace.lines(),
        [
            "1 car/sink: lead/x#0@0=0, car/x#0@1=0 by car/source",
            "2 car/sink: -",
            "3 car/sink: car/x#1@3=1 by car/source"
        ]
    );
}
