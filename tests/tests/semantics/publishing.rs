//! Who may publish what, and what happens to who may not.

use std::collections::BTreeMap;

use chaconne_conductor::Actor;
use chaconne_sim_core::signal::SignalValue;
use chaconne_tests::{Probe, Trace, acting, at, halt, run, world};

/// An actor `ego` whose part `ego/g/part` publishes under this key at its second step and swallows the error.
fn swallowing<T: SignalValue>(signal: &'static str, value: T) -> [Actor; 2] {
    let mut steps = 0;
    let part = acting(move |ctx| {
        steps += 1;
        if steps == 2 {
            let _ = ctx.publish(signal, &value);
        }
        ctx.after(chaconne_tests::secs(1))
    });
    [
        Actor::new("ego")
            .child("g", Actor::group().child("part", part).child("sibling", Probe::every(1)))
            .child("other", Probe::every(1)),
        Actor::of("ego2", Probe::every(1)),
    ]
}

#[test]
fn one_publishes_ones_own_signals_and_those_of_ones_ancestors() {
    let trace = Trace::default();
    let part = Probe::at([0])
        .says("x")
        .says("chaconne/w/actor/ego/g/part/x")
        .says("chaconne/w/actor/ego/g/x")
        .says("chaconne/w/actor/ego/x")
        .says("g/part/y");
    let camera = Probe::at([0]).says("chaconne/w/actor/ego/image").says("image");
    let sink = Probe::at([0, 1]).hears("chaconne/*/actor/ego/**").traced(&trace);
    run(
        [
            Actor::new("ego").child("g", Actor::group().child("part", part)),
            Actor::of("ego/camera", camera),
            Actor::of("sink", sink),
        ],
        2,
    );
    assert_eq!(
        trace.lines()[1],
        "1 sink: ego/image#0@0=0 by ego/camera, ego/camera/image#1@0=0, ego/x#0@0=0 by ego/g/part, ego/g/part/x#1@0=0, \
         ego/g/x#2@0=0 by ego/g/part, ego/x#3@0=0 by ego/g/part, ego/g/part/y#4@0=0"
    );
}

#[test]
fn publishing_what_is_anothers_halts_even_if_the_error_is_swallowed() {
    for (signal, key) in [
        ("chaconne/w/actor/ego2/x", "chaconne/w/actor/ego2/x"),
        ("chaconne/w/actor/eg/x", "chaconne/w/actor/eg/x"),
        ("chaconne/w/actor/ego/other/x", "chaconne/w/actor/ego/other/x"),
        ("chaconne/w/actor/ego/g/sibling/x", "chaconne/w/actor/ego/g/sibling/x"),
        ("chaconne/w/actor/ego/g/part/below/x", "chaconne/w/actor/ego/g/part/below/x"),
        ("other/x", "chaconne/w/actor/ego/other/x"),
        ("chaconne/v/actor/ego/x", "chaconne/v/actor/ego/x"),
        ("chaconne/w/conductor/x", "chaconne/w/conductor/x"),
        ("chaconne/w/actor/x", "chaconne/w/actor/x"),
        ("chaconne/w/actor/ego/@x", "chaconne/w/actor/ego/@x"),
    ] {
        assert_eq!(
            halt(swallowing(signal, 1_u64)).to_string(),
            format!(
                "`ego/g/part` failed: cannot publish `{key}`: `ego/g/part` may publish only its own signals and those of \
                 its ancestors; publish under its own path and let the other subscribe (at 1.0 s, instant 1)"
            )
        );
    }
}

#[test]
fn publishing_under_what_is_no_key_halts_even_if_the_error_is_swallowed() {
    for (signal, says) in [
        ("a b", "cannot be the name of a signal"),
        ("", "a chunk is empty"),
        ("x/", "a chunk is empty"),
        ("*", "has wild cards"),
        ("chaconne/w/actor/ego/$*x", "has wild cards"),
        ("@x", "cannot be the name of a signal"),
        ("größe", "cannot be the name of a signal"),
    ] {
        let text = halt(swallowing(signal, 1_u64)).to_string();
        assert!(text.starts_with(&format!("`ego/g/part` failed: cannot publish `{signal}`: `{signal}` ")), "{text}");
        assert!(text.contains(says) && text.ends_with("(at 1.0 s, instant 1)"), "{text}");
    }
}

#[test]
fn a_value_without_canonical_text_halts_and_names_publisher_key_and_place() {
    #[derive(Clone, PartialEq, serde::Serialize, serde::Deserialize)]
    struct Reading {
        name: String,
        values: Vec<f64>,
    }
    let nan = Reading { name: "r".to_string(), values: vec![1.0, f64::NAN] };
    let text = halt(swallowing("reading", nan)).to_string();
    assert!(text.starts_with("`ego/g/part` failed: cannot publish `chaconne/w/actor/ego/reading`: "), "{text}");
    assert!(text.contains("values[1]") && text.contains("NaN") && text.ends_with("(at 1.0 s, instant 1)"), "{text}");

    let text = halt(swallowing("x", f64::NEG_INFINITY)).to_string();
    assert!(text.contains("cannot publish `chaconne/w/actor/ego/x`: ") && text.contains("inf"), "{text}");

    let numbers = BTreeMap::from([(String::from("b"), f32::INFINITY)]);
    let text = halt(swallowing("map", numbers)).to_string();
    assert!(text.contains("`chaconne/w/actor/ego/map`") && text.contains("b"), "{text}");
}

#[test]
fn the_first_failed_publish_is_the_one_that_is_told() {
    let twice = acting(|ctx| {
        let _ = ctx.publish("first", &f64::NAN);
        let _ = ctx.publish("second", &f64::NAN);
        Err("and then it failed".into())
    });
    let text = halt([Actor::of("a", twice)]).to_string();
    assert!(text.contains("`chaconne/w/actor/a/first`"), "{text}");
}

#[test]
fn nothing_of_a_failed_instant_counts() {
    let mut complete = world(swallowing("x", 1_u64));
    complete.step_instant().unwrap();
    let before = complete.report();
    let mut failing = world(swallowing("x", f64::NAN));
    failing.run_until(at(10)).unwrap_err();
    let after = failing.report();
    assert_eq!((after.world_hash, after.ticks, after.now), (before.world_hash, before.ticks, before.now));
    assert_eq!((after.steps, after.signals), (before.steps, before.signals));
}
