//! Logs of runs in which actors hang or fail and are removed: they check, and verify when the same leave is asked for.

use std::time::Duration;

use chaconne_conductor::{Actor, Hosting, OnFailure, RunReport};
use chaconne_record::{Recorder, Verifier, check};
use chaconne_sim_core::{Participant, StepCtx, StepResult};
use chaconne_tests::reference::drive::{drive, set_up};
use chaconne_tests::reference::random;
use chaconne_tests::reference::world::{Seats, Views};
use chaconne_tests::{Probe, at, of, path, secs, world};
use serde_json::Value;

use super::{failure, folder, lines};

/// Hangs at three seconds, if it does.
struct Ego {
    hangs: bool,
}

impl Participant for Ego {
    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        ctx.publish("x", &1)?;
        while self.hangs && ctx.now() == at(3) {
            std::hint::spin_loop();
        }
        ctx.after(secs(1))
    }
}

fn cast(ego: Actor) -> Vec<Actor> {
    vec![
        Actor::of("before", Probe::every(1).says("x").holds(of("ego", "x"))),
        ego,
        Actor::of("ego/camera", Probe::every(1).says("x").holds("x")),
        Actor::of("after", Probe::every(2).says("x").hears(of("ego", "x"))),
    ]
}

fn healthy() -> Actor {
    Actor::of("ego", Ego { hangs: false })
}

fn hung(on_failure: OnFailure) -> Actor {
    let hosting = Hosting::guarded(Duration::from_millis(100)).on_failure(on_failure);
    Actor::of("ego", Ego { hangs: true }).hosted(hosting)
}

fn observed(file: &std::path::Path) -> Vec<Value> {
    let lines = lines(file).into_iter().filter(|line| line.contains("\"type\":\"observed\""));
    lines.map(|line| serde_json::from_str(&line).unwrap()).collect()
}

#[test]
fn a_log_of_a_run_that_lost_one_verifies_when_the_same_leave_is_planned_and_says_where_not_when_none_is() {
    let folder = folder();
    let log = folder.path().join("log.jsonl");
    let run = |mut world: chaconne_conductor::Conductor| -> RunReport {
        let _ = world.run_until(at(6));
        world.end(Duration::ZERO)
    };
    let mut recorded = world(cast(hung(OnFailure::Remove)));
    recorded.add_monitor(Recorder::new(&log));
    assert!(run(recorded).is_complete());
    check(&log, |_| ()).unwrap();
    let [removed] = &observed(&log)[..] else { panic!("{:?}", observed(&log)) };
    assert_eq!((removed["kind"].as_str(), removed["path"].as_str()), (Some("removed"), Some("ego")));
    assert_eq!(
        removed["data"]["reason"].as_str(),
        Some("`ego` has not answered within its timeout of 0.1 s (at 3.0 s, instant 3)")
    );

    let mut planned = world(cast(healthy()));
    planned.leave_at(&path("ego"), at(3)).unwrap();
    planned.add_monitor(Verifier::new(&log));
    let report = run(planned);
    assert!(report.is_complete(), "{report}");
    // It hangs again: that is the same run, too.
    let mut again = world(cast(hung(OnFailure::Remove)));
    again.add_monitor(Verifier::new(&log));
    let report = run(again);
    assert!(report.is_complete(), "{report}");

    let mut without = world(cast(healthy()));
    without.add_monitor(Verifier::new(&log));
    let text = failure(&run(without));
    for part in ["instant 3 (3.0 s)", "`ego`", "leave"] {
        assert!(text.contains(part), "no {part} in: {text}");
    }
}

#[test]
fn a_log_of_a_run_that_halts_for_one_that_hangs_is_complete_and_says_so() {
    let folder = folder();
    let log = folder.path().join("log.jsonl");
    let mut recorded = world(cast(hung(OnFailure::Halt)));
    recorded.add_monitor(Recorder::new(&log));
    let halt = recorded.run_until(at(6)).unwrap_err();
    recorded.end(Duration::ZERO);
    let checked = check(&log, |_| ()).unwrap();
    assert_eq!(checked.ticks, 3);
    let last: Value = serde_json::from_str(lines(&log).last().unwrap()).unwrap();
    assert_eq!((last["type"].as_str(), last["cause"].as_str()), (Some("halt"), Some("timeout")));
    assert_eq!((last["path"].as_str(), last["tick"].as_u64()), (Some("ego"), Some(3)), "{halt}");
}

#[test]
fn misses_of_budgets_are_in_the_log_and_nowhere_else() {
    let folder = folder();
    let [log, other] = ["log.jsonl", "other.jsonl"].map(|name| folder.path().join(name));
    for (file, budget) in [(&log, Duration::ZERO), (&other, Duration::from_secs(60))] {
        let mut recorded = world(cast(healthy().budget(budget)));
        recorded.add_monitor(Recorder::new(file));
        recorded.run_until(at(4)).unwrap();
        recorded.end(Duration::ZERO);
        check(file, |_| ()).unwrap();
    }
    assert_eq!((observed(&log).len(), observed(&other).len()), (4, 0));
    assert!(observed(&log).iter().all(|one| one["kind"] == "budget" && one["data"]["took_ns"].as_u64() > Some(0)));
    assert!(chaconne_record::diff(&log, &other, |_| ()).unwrap().difference.is_none());
}

#[test]
fn random_worlds_that_lose_actors_leave_logs_that_check() {
    let folder = folder();
    let log = folder.path().join("log.jsonl");
    let mut removed = 0;
    for number in 0..150 {
        let blueprint = random::failing_world(number);
        let _ = std::fs::remove_file(&log);
        let seats = [Seats::HereRemoved, Seats::GuardedRemoved][number as usize % 2];
        let mut world = set_up(&blueprint, 2, true, seats, None, &Views::default());
        world.add_monitor(Recorder::new(&log));
        drive(&mut world, &blueprint, seats, &Views::default());
        let report = world.end(Duration::ZERO);
        removed += report.removed.len();
        let checked = check(&log, |_| ()).unwrap_or_else(|error| panic!("world {number}: {error}"));
        assert_eq!((checked.last.world_hash, checked.ticks), (report.world_hash, report.ticks), "world {number}");
    }
    assert!(removed > 200, "{removed}");
}
