//! Random worlds against a slow conductor that is written straight from the rules.

use chaconne_conductor::{HaltCause, HelperProgram, Observation, Observed, RunReport};
use chaconne_tests::recheck::{Witness, recheck};
use chaconne_tests::reference::conduct::{Outcome, conduct};
use chaconne_tests::reference::drive::{drive, set_up};
use chaconne_tests::reference::random;
use chaconne_tests::reference::world::{Blueprint, Seats, View, Views};

/// What the real conductor makes of a world.
fn real(blueprint: &Blueprint, threads: usize, typed: bool, seats: Seats) -> Outcome {
    let views = Views::default();
    let report = run(blueprint, threads, typed, seats, &views);
    let halt = report.halt.map(|halt| {
        assert_eq!(halt.cause, HaltCause::Error("the dice said so".to_string()));
        (halt.path.unwrap().to_string(), halt.instant.unwrap().0, halt.others)
    });
    let views = std::mem::take(&mut *views.lock().unwrap());
    Outcome { world_hash: report.world_hash, ticks: report.ticks, signals: report.signals, halt, views }
}

/// Runs a world as its blueprint says; leaves add what they are given to `views`.
fn run(blueprint: &Blueprint, threads: usize, typed: bool, seats: Seats, views: &Views) -> RunReport {
    let mut world = set_up(blueprint, threads, typed, seats, Some(helper(blueprint)), views);
    drive(&mut world, blueprint, seats, views);
    world.report()
}

/// Makes the actors of a world in other processes: from the number of the world, which says it all.
fn helper(blueprint: &Blueprint) -> HelperProgram {
    HelperProgram::new(env!("CARGO_BIN_EXE_helper"), [""; 0]).setting(format!("living {}", blueprint.seed))
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
        let got = real(blueprint, threads, typed, Seats::Here);
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
        let report = run(&blueprint, 1, true, Seats::Here, &Views::default());
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

/// Compares what does not depend on who was asked where: on other threads and in other processes nobody keeps views.
fn compare_seats(blueprint: &Blueprint, seats: Seats) -> u64 {
    let expected = real(blueprint, 1, true, Seats::Here);
    let got = real(blueprint, 2, true, seats);
    let number = blueprint.seed;
    assert_eq!(
        (got.ticks, got.signals, got.world_hash, &got.halt),
        (expected.ticks, expected.signals, expected.world_hash, &expected.halt),
        "world {number}, {seats:?}"
    );
    got.ticks
}

#[test]
fn living_worlds_are_the_same_with_actors_on_threads_of_their_own() {
    for number in 0..120 {
        let blueprint = random::living_world(number);
        compare_seats(&blueprint, Seats::Guarded);
        let (here, guarded) = (real(&blueprint, 1, true, Seats::Here), real(&blueprint, 1, false, Seats::Guarded));
        assert_eq!(by_path(&guarded), by_path(&here), "world {number}");
    }
}

#[cfg(unix)]
#[test]
fn living_worlds_are_the_same_with_actors_in_helper_processes() {
    let _turn = super::helpers::alone();
    let ticks: u64 = (0..60).map(|number| compare_seats(&random::living_world(number), Seats::Mixed)).sum();
    assert!(ticks > 1_000);
}

#[test]
fn a_world_in_which_actors_fail_and_are_removed_is_the_one_in_which_these_leaves_were_planned() {
    let (mut compared, mut removed) = (0, 0);
    for number in 0..300 {
        let mut blueprint = random::failing_world(number);
        let seats = [Seats::HereRemoved, Seats::GuardedRemoved][number as usize % 2];
        let run = |blueprint: &Blueprint, threads| {
            let witness = Witness::default();
            let mut world = set_up(blueprint, threads, true, seats, None, &Views::default());
            world.add_monitor(witness.clone());
            drive(&mut world, blueprint, seats, &Views::default());
            assert_eq!(recheck(&blueprint.name, blueprint.seed, &witness.instants()), world.world_hash());
            (world.report(), witness.observed())
        };
        let (report, observed) = run(&blueprint, 1);
        assert_eq!(report.halt, None);
        // With several threads, and in batches where nobody looks on.
        assert_eq!(run(&blueprint, 3).0.world_hash, report.world_hash, "world {number}");
        let mut world = set_up(&blueprint, 1, true, seats, None, &Views::default());
        drive(&mut world, &blueprint, seats, &Views::default());
        assert_eq!(world.world_hash(), report.world_hash, "world {number} without a monitor");

        for one in &observed {
            let Observed::Removed { .. } = one.what else { continue };
            blueprint.planned_leaves.push((one.time, one.path.as_ref().unwrap().to_string()));
            removed += 1;
        }
        let (planned, again) = run(&blueprint, 2);
        // At one time leaves come before joins. So one that joins at the time at which it fails, or in the place of one that
        // fails then, makes another run when the leave is planned: something is refused in one of them.
        let joins = |report: &RunReport| {
            report.refused.iter().filter(|one| one.contains("cannot add")).cloned().collect::<Vec<String>>()
        };
        let is_refused = |one: &Observation| {
            let told = format!("at {} s: `{}` cannot leave", one.time, one.path.as_ref().unwrap());
            planned.refused.iter().any(|refused| refused.starts_with(&told))
        };
        let is_same = joins(&planned) == joins(&report) && planned.refusals == report.refusals;
        if is_same && !observed.iter().any(is_refused) {
            assert!(again.is_empty(), "world {number}: nobody fails who has left");
            assert_eq!(planned.world_hash, report.world_hash, "world {number}");
            compared += 1;
        }
    }
    assert!(compared > 200 && removed > 500, "{compared} {removed}");
}
