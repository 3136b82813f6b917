//! A step that fails halts the run, and the halt says who, when, why, and how many others.

use chaconne_conductor::monitor::{Instant, Monitor, MonitorError, RunStart};
use chaconne_conductor::{Actor, Conductor, ConductorConfig, Halt, HaltCause, RunReport};
use chaconne_sim_core::StepResult;
use chaconne_tests::recheck::Witness;
use chaconne_tests::{Acting, Probe, Trace, acting, at, config, halt, path, run, secs, world, world_with};

/// Steps every second; at second `fail_at` this happens instead.
fn until(
    fail_at: i32,
    failure: impl Fn() -> StepResult + Send,
) -> Acting<impl FnMut(&mut chaconne_sim_core::StepCtx<'_>) -> StepResult + Send> {
    acting(move |ctx| if ctx.now() < at(fail_at) { ctx.after(secs(1)) } else { failure() })
}

fn fails(fail_at: i32) -> Acting<impl FnMut(&mut chaconne_sim_core::StepCtx<'_>) -> StepResult + Send> {
    until(fail_at, || Err("the tank is empty".into()))
}

#[test]
fn an_error_halts_and_names_path_and_instant() {
    let halt = halt([Actor::of("clock", Probe::every(1)), Actor::new("ego").child("pump", fails(3))]);
    assert_eq!(halt.to_string(), "`ego/pump` failed: the tank is empty (at 3.0 s, instant 3)");
    let expected = Halt {
        path: Some(path("ego/pump")),
        instant: Some((3, at(3))),
        cause: HaltCause::Error("the tank is empty".to_string()),
        others: 0,
    };
    assert_eq!(halt, expected);
}

#[test]
fn a_panic_halts_and_names_path_instant_and_text() {
    let literal = until(1, || panic!("out of range"));
    assert_eq!(halt([Actor::of("a", literal)]).to_string(), "`a` panicked: out of range (at 1.0 s, instant 1)");
    let formatted = until(1, || panic!("{} is out of range", 7));
    assert_eq!(halt([Actor::of("a", formatted)]).to_string(), "`a` panicked: 7 is out of range (at 1.0 s, instant 1)");
    let value = until(1, || std::panic::panic_any(7_u8));
    let expected = "`a` panicked: a panic whose value is not a text (at 1.0 s, instant 1)";
    assert_eq!(halt([Actor::of("a", value)]).to_string(), expected);
}

#[test]
fn of_several_failures_at_one_instant_the_first_in_the_worlds_order_is_told_with_the_number_of_others() {
    let actors = || {
        [
            Actor::of("z", Probe::every(1)),
            Actor::new("m").child("x", Probe::every(1)).child("y", until(2, || panic!("late"))),
            Actor::of("a", fails(2)),
            Actor::of("c", until(2, || Ok(at(2)))),
            // Under `z`, so before all of them.
            Actor::of("z/b", fails(2)),
        ]
    };
    for threads in [1, 4] {
        let mut world = world_with(ConductorConfig { threads, ..config() }, actors().map(Actor::heavy));
        let halt = world.run_until(at(9)).unwrap_err();
        let expected =
            "`z/b` failed: the tank is empty (at 2.0 s, instant 2); 3 other participants failed at that instant";
        assert_eq!(halt.to_string(), expected);
    }
    let two = halt([Actor::of("b", fails(2)), Actor::of("a", fails(2)), Actor::of("c", fails(5))]).to_string();
    assert!(two.starts_with("`b` ") && two.ends_with("; one other participant failed at that instant"), "{two}");
}

#[test]
fn all_failures_of_a_large_instant_are_counted_whether_or_not_a_monitor_looks_on() {
    let fail = [10, 300, 4_095, 4_096, 9_000, 9_999];
    let reports = [(1, false), (4, false), (1, true), (4, true)].map(|(threads, monitored)| {
        let actors = (0..10_000).map(|number| {
            let path = format!("p{number}");
            if fail.contains(&number) { Actor::of(path, fails(1)) } else { Actor::of(path, Probe::every(1).says("x")) }
        });
        let mut world = world_with(ConductorConfig { threads, ..config() }, actors);
        if monitored {
            world.add_monitor(Witness::default());
        }
        world.run_until(at(9)).unwrap_err();
        world.report()
    });
    let halt = reports[0].halt.as_ref().unwrap();
    assert_eq!((halt.path.as_ref().unwrap().as_str(), halt.others), ("p10", 5));
    for report in &reports {
        assert_eq!((report.ticks, report.steps), (1, 10_000));
        assert_eq!(report, &reports[0]);
    }
}

#[test]
fn later_parts_of_an_actor_are_not_stepped_after_a_failure_and_no_others_are_spared() {
    let trace = Trace::default();
    let car = Actor::new("car").child("a", fails(0)).child("b", Probe::every(1).traced(&trace));
    let text = halt([car, Actor::of("c", Probe::every(1).traced(&trace)), Actor::of("d", fails(0))]).to_string();
    assert!(text.starts_with("`car/a` ") && text.ends_with("; one other participant failed at that instant"), "{text}");
    assert_eq!(trace.lines(), ["0 c: -"]);
}

#[test]
fn a_run_that_halted_stays_halted_with_the_hash_of_its_last_whole_instant() {
    let clock = || Actor::of("clock", Probe::every(1).says("x"));
    let mut world = world([clock(), Actor::of("a", fails(3))]);
    let halt = world.run_until(at(9)).unwrap_err();
    let whole = run([clock(), Actor::of("a", fails(100))], 3).report();
    assert_eq!(world.run_until(at(9)).unwrap_err(), halt);
    assert_eq!(world.step_instant().unwrap_err(), halt);
    let report = world.report();
    assert!(!report.is_complete());
    assert_eq!(report.halt, Some(halt));
    assert_eq!((report.world_hash, report.ticks, report.now), (whole.world_hash, 3, Some(at(2))));
    let told = report.to_string();
    assert!(told.ends_with("; halted: `a` failed: the tank is empty (at 3.0 s, instant 3)"), "{told}");
}

#[test]
fn a_halt_from_outside_stops_a_run() {
    let mut world = run([Actor::of("a", Probe::every(1))], 3);
    world.halt(Some(path("a")), HaltCause::Mirror("was moved".to_string()));
    assert_eq!(world.run_until(at(9)).unwrap_err().to_string(), "`a` was moved");
    assert_eq!(world.ticks(), 3);
}

/// Fails at an instant.
struct FailsAt(u64);

impl Monitor for FailsAt {
    fn instant(&mut self, instant: &Instant<'_>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        if instant.tick < self.0 { Ok(()) } else { Err("the disk is full".into()) }
    }
}

#[test]
fn a_monitor_that_fails_halts_after_the_instant_and_the_others_see_it() {
    let mut world: Conductor = world([Actor::of("a", Probe::every(1))]);
    let (before, behind) = (Witness::default(), Witness::default());
    world.add_monitor(before.clone());
    world.add_monitor(FailsAt(2));
    world.add_monitor(behind.clone());
    assert_eq!(world.run_until(at(9)).unwrap_err().to_string(), "the disk is full (at 2.0 s, instant 2)");
    assert_eq!((before.instants().len(), behind.instants().len(), world.ticks()), (3, 3, 3));
}

/// Writes down what it is told, and fails where it is told to.
struct Scribe {
    told: Trace,
    fails: &'static str,
}

impl Scribe {
    fn note(&self, what: String) -> Result<(), MonitorError> {
        let fails = !self.fails.is_empty() && what.starts_with(self.fails);
        self.told.push(what);
        if fails { Err("the pen is dry".into()) } else { Ok(()) }
    }
}

impl Monitor for Scribe {
    fn started(&mut self, run: &RunStart) -> Result<(), MonitorError> {
        self.note(format!("start of {} with seed {} after {} instants", run.world, run.seed, run.ticks))
    }

    fn instant(&mut self, instant: &Instant<'_>) -> Result<(), MonitorError> {
        self.note(format!("instant {}", instant.tick))
    }

    fn ended(&mut self, report: &RunReport) -> Result<(), MonitorError> {
        self.note(format!("end after {} instants", report.ticks))
    }
}

#[test]
fn a_monitor_is_told_the_start_before_the_first_instant_that_it_sees_and_the_end() {
    let (first, late) = (Trace::default(), Trace::default());
    let mut world = world([Actor::of("a", Probe::every(1))]);
    world.add_monitor(Scribe { told: first.clone(), fails: "" });
    world.run_until(at(2)).unwrap();
    world.add_monitor(Scribe { told: late.clone(), fails: "" });
    world.run_until(at(3)).unwrap();
    assert!(world.end(std::time::Duration::ZERO).is_complete());
    let lines =
        ["start of w with seed 1 after 0 instants", "instant 0", "instant 1", "instant 2", "end after 3 instants"];
    assert_eq!(first.lines(), lines);
    assert_eq!(late.lines(), ["start of w with seed 1 after 2 instants", "instant 2", "end after 3 instants"]);
}

#[test]
fn a_monitor_that_cannot_start_halts_the_run_before_its_first_instant() {
    let told = Trace::default();
    let mut world = world([Actor::of("a", Probe::every(1))]);
    world.add_monitor(Scribe { told: told.clone(), fails: "start" });
    assert_eq!(world.run_until(at(2)).unwrap_err().to_string(), "the pen is dry");
    world.end(std::time::Duration::ZERO);
    assert_eq!(told.lines(), ["start of w with seed 1 after 0 instants", "end after 0 instants"]);
}

#[test]
fn a_monitor_that_fails_at_the_end_spoils_the_report_and_hides_no_halt() {
    let scribe = || Scribe { told: Trace::default(), fails: "end" };
    let mut ended = run([Actor::of("a", Probe::every(1))], 2);
    ended.add_monitor(scribe());
    let report = ended.end(std::time::Duration::ZERO);
    assert!(!report.is_complete() && report.halt.is_none());
    assert!(report.to_string().ends_with("; at its end: the pen is dry"), "{report}");

    let mut halted = world([Actor::of("a", fails(1))]);
    halted.add_monitor(scribe());
    let halt = halted.run_until(at(9)).unwrap_err();
    let report = halted.end(std::time::Duration::ZERO);
    assert_eq!((report.halt, report.end_failures), (Some(halt), vec!["the pen is dry".to_string()]));
}
