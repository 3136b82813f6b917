//! Time: who is due when, and that it only goes forward.

use chaconne_conductor::{Actor, Conductor};
use chaconne_sim_core::{SimDuration, SimTime};
use chaconne_tests::recheck::Witness;
use chaconne_tests::{Probe, Trace, acting, at, config, halt, of, run, secs, world};

/// The times of all instants, in nanoseconds, and who stepped.
fn instants(actors: impl IntoIterator<Item = Actor>, until: SimTime) -> Vec<(i64, Vec<String>)> {
    let witness = Witness::default();
    let mut world = world(actors);
    world.add_monitor(witness.clone());
    world.run_until(until).unwrap();
    let paths = |steps: Vec<chaconne_tests::recheck::SeenStep>| steps.into_iter().map(|step| step.path).collect();
    witness.instants().into_iter().map(|instant| (instant.time.as_nanos(), paths(instant.steps))).collect()
}

#[test]
fn at_each_instant_exactly_those_are_stepped_who_are_due() {
    let nanos = |list: &[i64]| Probe::at_times(list.iter().copied().map(SimTime::from_nanos));
    let actors = [
        Actor::of("a", nanos(&[0, 3, 10])),
        Actor::new("b").child("x", nanos(&[3, 4])).child("y", nanos(&[7, 10])),
        Actor::of("c", nanos(&[5])).first_due(SimTime::from_nanos(4)),
    ];
    let expected: [(i64, &[&str]); 6] = [
        (0, &["a", "b/x", "b/y"]),
        (3, &["a", "b/x"]),
        (4, &["b/x", "c"]),
        (5, &["c"]),
        (7, &["b/y"]),
        (10, &["a", "b/y"]),
    ];
    assert_eq!(
        instants(actors, at(1)),
        expected.map(|(time, paths)| (time, paths.iter().map(ToString::to_string).collect()))
    );
}

#[test]
fn a_next_due_time_at_now_or_before_it_halts() {
    for (returned, text) in [(1, "1.0"), (0, "0.0"), (-5, "-5.0")] {
        let stuck = acting(move |ctx| if ctx.now() < at(1) { ctx.after(secs(1)) } else { Ok(at(returned)) });
        let actors = [Actor::of("clock", Probe::every(1)), Actor::new("car").child("stuck", stuck)];
        assert_eq!(
            halt(actors).to_string(),
            format!(
                "`car/stuck` is not advancing: it returned {text} s as its next due time, which must lie after now (at \
                 1.0 s, instant 1)"
            )
        );
    }
}

#[test]
fn times_beyond_the_integers_of_an_f64_are_exact() {
    // 2^53 + 1, which no f64 is, and on by single nanoseconds.
    let start = (1 << 53) + 1;
    let nanosecond = SimDuration::from_nanos(1);
    let a = acting(move |ctx| {
        ctx.publish("now", &ctx.now())?;
        ctx.after(nanosecond)
    });
    let trace = Trace::default();
    let times = (1..=2).map(|n| SimTime::from_nanos(start + n));
    let b = Probe::at_times(times).hears(of("a", "now")).traced(&trace);
    let start = SimTime::from_nanos(start);
    let actors = [Actor::of("a", a).first_due(start), Actor::of("b", b).first_due(start)];
    let seen = instants(actors, SimTime::from_nanos((1 << 53) + 4));
    let times: Vec<i64> = seen.into_iter().map(|(time, _)| time).collect();
    assert_eq!(times, [9_007_199_254_740_993, 9_007_199_254_740_994, 9_007_199_254_740_995]);
    assert_eq!(
        trace.lines(),
        [
            "9007199.254740993 b: -",
            "9007199.254740994 b: a/now#0@9007199.254740993=\"9007199.254740993\"",
            "9007199.254740995 b: a/now#1@9007199.254740994=\"9007199.254740994\"",
        ]
    );
}

#[test]
fn the_whole_axis_of_time_can_be_stepped() {
    let (first, last) = (SimTime::from_nanos(i64::MIN + 1), SimTime::from_nanos(i64::MAX - 1));
    let a = Actor::of("a", Probe::at_times([SimTime::ZERO, last])).first_due(first);
    let seen = instants([a], SimTime::MAX);
    assert_eq!(seen.iter().map(|(time, _)| *time).collect::<Vec<_>>(), [i64::MIN + 1, 0, i64::MAX - 1]);
}

#[test]
fn a_next_due_time_beyond_the_end_of_time_halts() {
    let a = Actor::of("a", acting(|ctx| ctx.after(SimDuration::MAX))).first_due(at(1));
    let text = halt([a]).to_string();
    assert!(text.starts_with("`a` failed: ") && text.contains("9223372036.854775807"), "{text}");
    assert!(text.ends_with("(at 1.0 s, instant 0)"), "{text}");
}

#[test]
fn who_is_never_due_is_not_woken_by_signals_and_the_run_ends_when_all_are() {
    let trace = Trace::default();
    let done = Actor::of("done", Probe::at([0, 1]).hears(of("a", "x")).holds(of("a", "x")).traced(&trace));
    let mut world = run([done, Actor::of("a", Probe::at([0, 1, 2, 7]).says("x"))], 5);
    assert_eq!(world.next_instant(), Some(at(7)));
    world.run_until(SimTime::MAX).unwrap();
    assert_eq!((world.next_instant(), world.now(), world.ticks()), (None, Some(at(7)), 4));
    assert_eq!(trace.lines(), ["0 done: []", "1 done: a/x#0@0=0, [a/x@0=0 new]"]);
    world.step_instant().unwrap();
    assert_eq!(world.ticks(), 4, "a step when nobody is due is no instant");
}

#[test]
fn an_actor_that_would_never_be_due_is_refused() {
    let mut world = Conductor::new(config()).unwrap();
    for end in [SimTime::MAX, SimTime::MIN] {
        let error = world.add(Actor::of("a", Probe::every(1)).first_due(end)).unwrap_err();
        let expected = "cannot add `a`: its first due time is one end of time; give it a time in between";
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn running_until_a_time_steps_all_before_it_and_nothing_at_it() {
    let mut world = world([Actor::of("a", Probe::every(1))]);
    world.run_until(at(0)).unwrap();
    assert_eq!((world.ticks(), world.now()), (0, None));
    world.run_until(at(3)).unwrap();
    assert_eq!((world.ticks(), world.now(), world.next_instant()), (3, Some(at(2)), Some(at(3))));
    world.run_until(at(1)).unwrap();
    assert_eq!(world.ticks(), 3, "time does not go back");
}

#[test]
fn runs_in_pieces_equal_one_run() {
    let actors = || {
        let car = Actor::new("car")
            .child("a", Probe::every(3).says("x").holds(of("b", "x")))
            .child("c", Probe::every(2).says("y").hears("x"));
        [car, Actor::of("b", Probe::every(5).says("x").hears("chaconne/**"))]
    };
    let whole = run(actors(), 60).report();
    let mut pieces = world(actors());
    for until in [0, 1, 1, 2, 3, 10, 11, 30, 59, 60, 60] {
        pieces.run_until(at(until)).unwrap();
    }
    assert_eq!(pieces.report(), whole);
    let mut instants = world(actors());
    while instants.next_instant().is_some_and(|time| time < at(60)) {
        instants.step_instant().unwrap();
    }
    assert_eq!(instants.report(), whole);
}

#[test]
fn the_time_since_the_last_step_is_zero_at_the_first() {
    let trace = Trace::default();
    let written = trace.clone();
    let mut gaps = [2, 5, 1].into_iter();
    let a = acting(move |ctx| {
        written.push(format!("{} {} {:?}", ctx.now(), ctx.dt(), ctx.last_step().map(SimTime::as_nanos)));
        match gaps.next() {
            Some(gap) => ctx.after(secs(gap)),
            None => Ok(ctx.never()),
        }
    });
    run([Actor::of("a", a).first_due(at(3))], 50);
    let second = 1_000_000_000_i64;
    assert_eq!(
        trace.lines(),
        [
            "3.0 0.0 None".to_string(),
            format!("5.0 2.0 Some({})", 3 * second),
            format!("10.0 5.0 Some({})", 5 * second),
            format!("11.0 1.0 Some({})", 10 * second)
        ]
    );
}

#[test]
fn a_cadence_does_not_drift() {
    // 0.04 s two hundred and fifty times is ten seconds, not nearly ten.
    let a = Actor::of("a", acting(|ctx| ctx.after(SimDuration::from_millis(40))));
    let mut world = run([a], 10);
    assert_eq!((world.ticks(), world.next_instant()), (250, Some(at(10))));
    world.step_instant().unwrap();
    assert_eq!(world.now(), Some(at(10)));
}
