//! Random worlds against a slow conductor that is written straight from the rules.

use chaconne_conductor::{ConductorConfig, HaltCause, RunReport};
use chaconne_tests::reference::conduct::{Outcome, conduct};
use chaconne_tests::reference::random;
use chaconne_tests::reference::world::{Blueprint, Pool, View, Views};
use chaconne_tests::{path, world_with};

/// What the real conductor makes of a world.
fn real(blueprint: &Blueprint, threads: usize, typed: bool) -> Outcome {
    let views = Views::default();
    let report = drive(blueprint, threads, typed, &views);
    let halt = report.halt.map(|halt| {
        assert_eq!(halt.cause, HaltCause::Error("the dice said so".to_string()));
        (halt.path.unwrap().to_string(), halt.instant.unwrap().0, halt.others)
    });
    let views = std::mem::take(&mut *views.lock().unwrap());
    Outcome { world_hash: report.world_hash, ticks: report.ticks, signals: report.signals, halt, views }
}

/// Runs a world as its blueprint says; leaves add what they are given to `views`.
fn drive(blueprint: &Blueprint, threads: usize, typed: bool, views: &Views) -> RunReport {
    let config = ConductorConfig { world: blueprint.name.clone(), seed: blueprint.seed, threads, typed };
    let mut world = world_with(config, blueprint.actors.iter().map(|actor| actor.build(views)));
    world.set_maker(Pool { nodes: blueprint.pool.clone(), views: views.clone() });
    for actor in &blueprint.planned_joins {
        world.add(actor.build(views).joins_when_due()).unwrap();
    }
    for (time, leaving) in &blueprint.planned_leaves {
        world.leave_at(&path(leaving), *time).unwrap();
    }
    let mut drives: Vec<_> = blueprint.leaves.iter().map(|(time, leaving)| (*time, Err(leaving))).collect();
    drives.extend(blueprint.joins.iter().map(|(time, joining)| (*time, Ok(joining))));
    drives.sort_by_key(|(time, _)| *time);
    for (time, drive) in drives {
        // After a halt nothing happens any more. What is refused changes nothing.
        let _ = world.run_until(time.min(blueprint.until));
        match drive {
            Ok(joining) => drop(world.add(joining.build(views))),
            Err(leaving) => drop(world.leave(&path(leaving))),
        }
    }
    let _ = world.run_until(blueprint.until);
    world.report()
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
fn living_worlds_run_as_the_slow_conductor_says() {
    for number in 0..400 {
        compare(&random::living_world(number));
    }
}

#[test]
fn in_living_worlds_many_join_and_leave_and_are_refused() {
    let mut counts = [0; 4];
    for number in 0..100 {
        let blueprint = random::living_world(number);
        let report = drive(&blueprint, 1, true, &Views::default());
        for (count, more) in counts.iter_mut().zip([
            report.joins - report.participants as u64,
            report.leaves,
            report.refusals,
            report.refused.len() as u64,
        ]) {
            *count += more;
        }
    }
    assert!(counts.iter().zip([500, 500, 500, 100]).all(|(count, least)| *count >= least), "{counts:?}");
}

#[test]
fn large_worlds_run_as_the_slow_conductor_says() {
    for number in 0..2 {
        compare(&random::large_world(number));
    }
}
