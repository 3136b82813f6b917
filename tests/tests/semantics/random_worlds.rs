//! Random worlds against a slow conductor that is written straight from the rules.

use chaconne_conductor::{ConductorConfig, HaltCause};
use chaconne_tests::reference::conduct::{Outcome, conduct};
use chaconne_tests::reference::random;
use chaconne_tests::reference::world::{Blueprint, View, Views};
use chaconne_tests::{path, world_with};

/// What the real conductor makes of a world.
fn real(blueprint: &Blueprint, threads: usize, typed: bool) -> Outcome {
    let views = Views::default();
    let config = ConductorConfig { world: blueprint.name.clone(), seed: blueprint.seed, threads, typed };
    let mut world = world_with(config, blueprint.actors.iter().map(|actor| actor.build(&views)));
    for (time, leaving) in &blueprint.leaves {
        // After a halt nothing happens any more. One that left with its parent cannot leave again.
        let _ = world.run_until(*time);
        let _ = world.leave(&path(leaving));
    }
    let _ = world.run_until(blueprint.until);
    let report = world.report();
    let halt = report.halt.map(|halt| {
        assert_eq!(halt.cause, HaltCause::Error("the dice said so".to_string()));
        (halt.path.unwrap().to_string(), halt.instant.unwrap().0, halt.others)
    });
    let views = std::mem::take(&mut *views.lock().unwrap());
    Outcome { world_hash: report.world_hash, ticks: report.ticks, signals: report.signals, halt, views }
}

/// The views of each participant, whoever was stepped first at an instant.
fn by_path(outcome: &Outcome) -> Vec<&(String, View)> {
    let mut views: Vec<_> = outcome.views.iter().collect();
    views.sort_by_key(|(path, view)| (path.as_str(), view.now));
    views
}

/// Compares the two on one world.
fn compare(blueprint: &Blueprint) {
    let number = blueprint.seed;
    let expected = conduct(blueprint);
    for (threads, typed) in [(1, true), (4, true), (4, false)] {
        let got = real(blueprint, threads, typed);
        for (got, expected) in by_path(&got).into_iter().zip(by_path(&expected)) {
            assert_eq!(got, expected, "world {number}, {threads} threads, typed {typed}");
        }
        assert_eq!(
            (got.ticks, got.signals, got.views.len(), got.world_hash, &got.halt),
            (expected.ticks, expected.signals, expected.views.len(), expected.world_hash, &expected.halt),
            "world {number}, {threads} threads, typed {typed}"
        );
    }
}

#[test]
fn random_worlds_run_as_the_slow_conductor_says() {
    for number in 0..250 {
        compare(&random::world(number));
    }
}

#[test]
fn large_worlds_run_as_the_slow_conductor_says() {
    for number in 0..2 {
        compare(&random::large_world(number));
    }
}
