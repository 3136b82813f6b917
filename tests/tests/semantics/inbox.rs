//! The order of an inbox: time, then the publisher's path as bytes, then sequence number.

use chaconne_conductor::Actor;
use chaconne_tests::{Probe, Trace, of, run};

#[test]
fn an_inbox_is_ordered_by_time_then_by_the_bytes_of_the_publishers_path_then_by_seq() {
    let trace = Trace::default();
    let twice = |path: &str| Actor::of(path, Probe::every(1).says("x").says("x"));
    let sink = Actor::of("sink", Probe::at([0, 2]).hears("chaconne/*/actor/**/x").traced(&trace));
    // As bytes: B < a < a-b < a/c < a0 < b.
    run([twice("b"), twice("a0"), sink, twice("a"), twice("a/c"), twice("B"), twice("a-b")], 3);
    let mut expected = Vec::new();
    for time in [0, 1] {
        for path in ["B", "a", "a-b", "a/c", "a0", "b"] {
            for number in [2 * time, 2 * time + 1] {
                expected.push(format!("{path}/x#{number}@{time}={time}"));
            }
        }
    }
    assert_eq!(trace.lines(), ["0 sink: -".to_string(), format!("2 sink: {}", expected.join(", "))]);
}

#[test]
fn the_publisher_orders_and_not_the_key_that_it_publishes_under() {
    let trace = Trace::default();
    let car = Actor::new("car")
        .child("z", Probe::every(1).says("a").says("chaconne/w/actor/car/z/b"))
        .child("m", Probe::every(1).says("b"));
    let sink = Actor::of("sink", Probe::at([0, 1]).hears("chaconne/*/actor/car/**").traced(&trace));
    run([car, sink], 2);
    assert_eq!(trace.lines()[1], "1 sink: car/b#0@0=0 by car/m, car/a#0@0=0 by car/z, car/z/b#1@0=0");
}

#[test]
fn seq_counts_all_signals_of_a_publisher_heard_or_not_and_never_starts_again() {
    let trace = Trace::default();
    let a = Actor::of("a", Probe::every(1).says("x").says("y").says("x"));
    let b = Actor::of("b", Probe::every(1).hears(of("a", "y")).traced(&trace));
    run([a, b], 4);
    assert_eq!(trace.lines(), ["0 b: -", "1 b: a/y#1@0=0", "2 b: a/y#4@1=1", "3 b: a/y#7@2=2"]);
}

#[test]
fn the_order_does_not_follow_who_was_due_first_at_an_instant() {
    let trace = Trace::default();
    // At 6 the three are put down for it in the order c (at 0), b (at 2), a (at 4).
    let a = Actor::of("a", Probe::at([0, 2, 4, 6]).says_at("x", [6]));
    let b = Actor::of("b", Probe::at([0, 2, 6]).says_at("x", [6]));
    let c = Actor::of("c", Probe::at([0, 6]).says_at("x", [6]));
    let sink = Actor::of("sink", Probe::at([0, 7]).hears("chaconne/*/actor/*/x").traced(&trace));
    run([a, b, c, sink], 8);
    assert_eq!(trace.lines()[1], "7 sink: a/x#0@6=3, b/x#0@6=2, c/x#0@6=1");
}
