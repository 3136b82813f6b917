//! What a subscriber is given: every signal, or the latest of each key.

use std::sync::{Arc, Mutex};

use chaconne_conductor::Actor;
use chaconne_sim_core::{Participant, StepCtx, StepResult, Subscription};
use chaconne_tests::{Probe, Trace, at, halt, of, run, secs, short};

#[test]
fn the_latest_value_is_held_until_it_is_replaced_and_is_new_once() {
    let trace = Trace::default();
    let a = Actor::of("a", Probe::every(1).says_at("x", [1, 2, 5]));
    let b = Actor::of("b", Probe::every(2).holds(of("a", "x")).traced(&trace));
    run([a, b], 9);
    assert_eq!(
        trace.lines(),
        ["0 b: []", "2 b: [a/x@1=1 new]", "4 b: [a/x@2=2 new]", "6 b: [a/x@5=5 new]", "8 b: [a/x@5=5]"]
    );
}

#[test]
fn of_several_values_between_two_steps_the_last_is_held() {
    let trace = Trace::default();
    let a = Actor::of("a", Probe::every(1).says("x").says("y").says("x"));
    let b = Actor::of("b", Probe::at([0, 3, 4]).holds(of("a", "x")).traced(&trace));
    run([a, b], 6);
    assert_eq!(trace.lines(), ["0 b: []", "3 b: [a/x@2=2 new]", "4 b: [a/x@3=3 new]"]);
}

#[test]
fn a_value_from_before_the_first_step_is_held() {
    let trace = Trace::default();
    let a = Actor::of("a", Probe::at([0, 1]).says("x"));
    let b = Actor::of("b", Probe::every(1).holds(of("a", "x")).traced(&trace)).first_due(at(50));
    run([a, b], 52);
    assert_eq!(trace.lines(), ["50 b: [a/x@1=1 new]", "51 b: [a/x@1=1]"]);
}

#[test]
fn overlapping_subscriptions_deliver_a_signal_once() {
    let trace = Trace::default();
    let a = Actor::of("a", Probe::every(1).says("x"));
    let b = Probe::every(1).hears(of("a", "x")).hears("chaconne/w/actor/a/x").hears("chaconne/**").hears(of("*", "x"));
    run([a, Actor::of("b", b.traced(&trace))], 3);
    assert_eq!(trace.lines(), ["0 b: -", "1 b: a/x#0@0=0", "2 b: a/x#1@1=1"]);
}

#[test]
fn overlapping_subscriptions_hold_a_value_once_each() {
    let trace = Trace::default();
    let a = Actor::of("a", Probe::every(1).says("x"));
    let b = Actor::of("b", Probe::every(1).holds(of("a", "x")).holds(of("*", "*")).traced(&trace));
    run([a, b], 2);
    assert_eq!(trace.lines(), ["0 b: [], []", "1 b: [a/x@0=0 new], [a/x@0=0 new]"]);
}

#[test]
fn every_and_latest_on_one_key_give_both() {
    let trace = Trace::default();
    let a = Actor::of("a", Probe::every(1).says("x"));
    let b = Actor::of("b", Probe::at([0, 2, 3]).hears(of("a", "x")).holds(of("a", "x")).traced(&trace));
    let c = Actor::of("c", Probe::at([0, 2, 3]).holds(of("*", "x")).hears(of("a", "*")).traced(&trace));
    run([a, b, c], 4);
    let mut expected = Vec::new();
    for says in ["0 ?: []", "2 ?: a/x#0@0=0, a/x#1@1=1, [a/x@1=1 new]", "3 ?: a/x#2@2=2, [a/x@2=2 new]"] {
        expected.extend(["b", "c"].map(|listener| says.replace('?', listener)));
    }
    assert_eq!(trace.lines(), expected);
}

#[test]
fn every_and_latest_on_one_key_give_both_inside_an_actor() {
    let trace = Trace::default();
    let car = Actor::new("car")
        .child("source", Probe::at([0, 1]).says("x"))
        .child("sink", Probe::every(1).hears("x").holds("x").traced(&trace));
    run([car], 3);
    assert_eq!(
        trace.lines(),
        [
            "0 car/sink: car/x#0@0=0 by car/source, [car/x@0=0 new]",
            "1 car/sink: car/x#1@1=1 by car/source, [car/x@1=1 new]",
            "2 car/sink: [car/x@1=1]",
        ]
    );
}

#[test]
fn held_values_are_ordered_by_key() {
    let trace = Trace::default();
    let source = |path: &str| Actor::of(path, Probe::every(1).says("x"));
    let sink = Actor::of("sink", Probe::at([0, 1]).holds("chaconne/*/actor/**/x").traced(&trace));
    run([source("b"), sink, source("a"), source("a/c"), source("a-b")], 2);
    // As bytes: a-b/x < a/c/x < a/x < b/x.
    assert_eq!(trace.lines()[1], "1 sink: [a-b/x@0=0 new a/c/x@0=0 new a/x@0=0 new b/x@0=0 new]");
}

#[test]
fn a_key_and_a_publisher_have_one_held_value_however_the_key_was_written() {
    let trace = Trace::default();
    let a = Actor::of("a", Probe::at([0, 1]).says_at("x", [0]).says_at("chaconne/w/actor/a/x", [1]));
    let b = Actor::of("b", Probe::every(2).holds(of("a", "x")).traced(&trace));
    run([a, b], 3);
    assert_eq!(trace.lines(), ["0 b: []", "2 b: [a/x@1=1 new]"]);
}

/// Writes what `latest` gives for one key text.
struct Asks {
    subscription: &'static str,
    key: &'static str,
    answers: Arc<Mutex<Vec<String>>>,
}

impl Participant for Asks {
    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::latest(self.subscription)]
    }

    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        let answer = match ctx.latest::<u64>(self.key)? {
            None => "none".to_string(),
            Some(latest) => format!("{}@{}{}", *latest, short(latest.time), if latest.is_new { " new" } else { "" }),
        };
        self.answers.lock().unwrap().push(answer);
        ctx.after(secs(1))
    }
}

fn answers(subscription: &'static str, key: &'static str, sources: Vec<Actor>) -> Vec<String> {
    let answers = Arc::default();
    let asks = Actor::of("asks", Asks { subscription, key, answers: Arc::clone(&answers) });
    run(sources.into_iter().chain([asks]), 4);
    let answers = answers.lock().unwrap();
    answers.clone()
}

#[test]
fn latest_of_several_keys_is_the_newest_by_time_then_publisher_then_seq() {
    let sources = || {
        vec![
            Actor::of("b", Probe::at([0, 1]).says("x")),
            Actor::of("a", Probe::at([0, 1, 2]).says("x")),
            Actor::of("c", Probe::at([0])),
        ]
    };
    // At 0 and 1 both speak and b sorts last; at 2 a alone.
    let key = "chaconne/*/actor/*/x";
    assert_eq!(answers(key, key, sources()), ["none", "0@0 new", "1@1 new", "2@2 new"]);
    let one_publisher =
        vec![Actor::of("a", Probe::at([0, 1]).says_at("z", [0]).says_at("b", [0, 1]).says_at("a", [1]))];
    let key = "chaconne/*/actor/a/*";
    assert_eq!(answers(key, key, one_publisher), ["none", "0@0 new", "1@1 new", "1@1"]);
}

#[test]
fn of_two_parts_that_publish_under_one_key_the_later_by_path_is_newest_at_one_time() {
    // Both parts say `x` at 0, the first part (of the greater path) again at 1; at 2 the other.
    let car = Actor::new("car")
        .child("z", Probe::at([0, 1]).says("x").says("y"))
        .child("m", Probe::at([0, 2]).says("x").says("x"));
    let key = "chaconne/*/actor/car/x";
    let answers = answers(key, key, vec![car, Actor::of("other", Probe::at([0]))]);
    assert_eq!(answers, ["none", "0@0 new", "1@1 new", "1@2 new"]);
}

#[test]
fn a_narrower_text_reads_what_a_wider_subscription_holds() {
    let sources = || vec![Actor::of("a", Probe::at([0]).says("x")), Actor::of("b", Probe::at([0, 1]).says("x"))];
    assert_eq!(answers("chaconne/*/actor/*/x", "chaconne/w/actor/a/x", sources()), ["none", "0@0 new", "0@0", "0@0"]);
    assert_eq!(
        answers("chaconne/*/actor/*/x", "chaconne/*/actor/b/x", sources()),
        ["none", "0@0 new", "1@1 new", "1@1"]
    );
}

#[test]
fn reading_what_was_not_subscribed_halts_and_says_what_to_add() {
    let asks = Asks { subscription: "chaconne/*/actor/a/x", key: "chaconne/*/actor/a/y", answers: Arc::default() };
    assert_eq!(
        halt([Actor::of("asks", asks)]).to_string(),
        "`asks` failed: `chaconne/*/actor/a/y` is not among the `latest` subscriptions of `asks`; add \
         Subscription::latest(\"chaconne/*/actor/a/y\") to its subscriptions() (at 0.0 s, instant 0)"
    );
}

#[test]
fn reading_a_value_as_another_type_halts_and_names_key_and_type() {
    let asks = Asks { subscription: "chaconne/*/actor/a/x", key: "chaconne/*/actor/a/x", answers: Arc::default() };
    let a = Actor::of(
        "a",
        chaconne_tests::acting(|ctx| {
            ctx.publish("x", &"seven".to_string())?;
            Ok(ctx.never())
        }),
    );
    let text = halt([a, Actor::of("asks", asks)]).to_string();
    assert!(text.starts_with("`asks` failed: cannot read `chaconne/w/actor/a/x` as `u64`: "), "{text}");
    assert!(text.ends_with("(at 1.0 s, instant 1)"), "{text}");
}
