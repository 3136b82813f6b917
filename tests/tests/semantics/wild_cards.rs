//! Wild cards in subscriptions: `*`, `**`, `$*` and `@`, as Zenoh has them.

use chaconne_conductor::{Actor, Conductor};
use chaconne_tests::{Probe, Trace, config, run};

/// What sources under several paths say, as an expression selects it; by key.
fn heard(expression: &str) -> Vec<String> {
    let trace = Trace::default();
    let source = |path: &str| Actor::of(path, Probe::at([0]).says("x").says("y"));
    let every = Probe::at([0, 1]).hears(expression).traced(&trace);
    let latest = Probe::at([0, 1]).holds(expression).traced(&trace);
    let sources = ["a", "ab", "b", "a/b", "a/b/c"].map(source);
    run(sources.into_iter().chain([Actor::of("every", every), Actor::of("latest", latest)]), 2);
    let keys = |line: &str| -> Vec<String> {
        let mut keys: Vec<String> = line
            .split([' ', ',', '[', ']'])
            .filter_map(|word| Some(word.split_once(['#', '@'])?.0.to_string()))
            .collect();
        keys.sort();
        keys
    };
    let lines = trace.lines();
    assert_eq!(keys(&lines[2]), keys(&lines[3]), "every and latest of `{expression}`");
    keys(&lines[2])
}

#[test]
fn a_star_is_one_segment() {
    assert_eq!(heard("chaconne/*/actor/*/x"), ["a/x", "ab/x", "b/x"]);
    assert_eq!(heard("chaconne/*/actor/a/*/x"), ["a/b/x"]);
    assert_eq!(heard("chaconne/w/*/a/*"), ["a/x", "a/y"]);
    assert_eq!(heard("*/w/actor/a/x"), Vec::<String>::new(), "without its root it is relative to one's own actor");
}

#[test]
fn two_stars_are_any_number_of_segments() {
    assert_eq!(heard("chaconne/*/actor/**/x"), ["a/b/c/x", "a/b/x", "a/x", "ab/x", "b/x"]);
    assert_eq!(heard("chaconne/*/actor/a/**/x"), ["a/b/c/x", "a/b/x", "a/x"]);
    assert_eq!(heard("chaconne/*/actor/**/b/**"), ["a/b/c/x", "a/b/c/y", "a/b/x", "a/b/y", "b/x", "b/y"]);
    assert_eq!(heard("chaconne/**").len(), 10);
}

#[test]
fn a_dollar_and_a_star_are_any_characters_inside_a_segment() {
    assert_eq!(heard("chaconne/*/actor/a$*/x"), ["a/x", "ab/x"]);
    assert_eq!(heard("chaconne/*/actor/$*b/x"), ["ab/x", "b/x"]);
    assert_eq!(heard("chaconne/*/actor/**/$*b$*/y"), ["a/b/y", "ab/y", "b/y"]);
    assert_eq!(heard("chaconne/w$*/actor/b/x"), ["b/x"]);
}

#[test]
fn an_at_sign_is_matched_by_itself_alone_and_nothing_in_a_world_has_one() {
    for expression in ["chaconne/*/actor/@a/x", "chaconne/*/actor/**/@x", "chaconne/w/actor/@$*/x", "chaconne/@w/**"] {
        assert_eq!(heard(expression), Vec::<String>::new(), "{expression}");
    }
}

#[test]
fn another_world_or_branch_selects_nothing() {
    for expression in ["chaconne/v/actor/**", "chaconne/w/conductor/**", "chaconne/*/b/x"] {
        assert_eq!(heard(expression), Vec::<String>::new(), "{expression}");
    }
}

#[test]
fn relative_wild_cards_stay_below_ones_own_actor() {
    let trace = Trace::default();
    let car = Actor::new("car")
        .child("source", Probe::at([0]).says("x").says("y"))
        .child("one", Probe::at([0, 1]).hears("*").traced(&trace))
        .child("all", Probe::at([0, 1]).hears("**").traced(&trace))
        .child("some", Probe::at([0, 1]).hears("**/$*x").traced(&trace));
    run([car, Actor::of("car/radar", Probe::at([0]).says("x")), Actor::of("cart", Probe::at([0]).says("x"))], 2);
    let here = "car/x#0@0=0 by car/source";
    assert_eq!(
        trace.lines(),
        [
            format!("0 car/one: {here}, car/y#1@0=0 by car/source"),
            format!("0 car/all: {here}, car/y#1@0=0 by car/source"),
            format!("0 car/some: {here}"),
            "1 car/one: -".to_string(),
            "1 car/all: car/radar/x#0@0=0".to_string(),
            "1 car/some: car/radar/x#0@0=0".to_string(),
        ]
    );
}

#[test]
fn an_expression_that_is_none_is_refused_with_the_path_and_what_to_write() {
    for (expression, says) in [
        ("chaconne//a", "`chaconne//a` is not a key expression: a chunk is empty"),
        ("a*", "`a*` is not a key expression: `*` and `**` stand for whole chunks; write `$*`"),
        ("**/*", "`**/*` is not the canonical form of this key expression: write `*/**`"),
        ("a/$*", "`a/$*` is not the canonical form of this key expression: write `a/*`"),
        ("x#", "`x#` is not a key expression: `#` and `?` are not allowed"),
        ("", "`` is not a key expression: a chunk is empty"),
    ] {
        let mut world = Conductor::new(config()).unwrap();
        let text = world.add(Actor::of("a", Probe::every(1).hears(expression))).unwrap_err().to_string();
        assert!(text.starts_with("cannot add `a`: its subscription is not valid: ") && text.contains(says), "{text}");
        assert_eq!(world.next_instant(), None, "nothing of it was added");
    }
}
