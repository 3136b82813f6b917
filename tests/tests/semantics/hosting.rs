//! Where an actor is stepped changes nothing, and one that fails elsewhere takes nobody along.

use std::time::{Duration, Instant};

use chaconne_conductor::{Actor, Conductor, ConductorConfig, HaltCause, Hosting, Observed, OnFailure, RunReport};
use chaconne_sim_core::fingerprint::MembershipKind::{Join, Leave};
use chaconne_sim_core::{Participant, SimDuration, SimTime, StepCtx, StepResult, Subscription};
use chaconne_tests::recheck::{Witness, recheck};
use chaconne_tests::{Probe, Trace, acting, at, config, of, path, secs, world};

/// Long enough for whoever is well.
const LONG: Duration = Duration::from_secs(20);

/// Short enough for a test to wait for.
const SHORT: Duration = Duration::from_millis(150);

fn just_after(time: SimTime) -> SimTime {
    time.checked_add(SimDuration::from_nanos(1)).unwrap()
}

fn talker(name: &str) -> Actor {
    Actor::new(name)
        .child("a", Probe::every(1).says("x").hears("chaconne/**"))
        .child("g", Actor::group().child("b", Probe::every(2).says("y").holds("x")))
}

/// Some that talk to each other, the second and fourth as they are hosted.
fn talkers(hosting: &Hosting) -> Vec<Actor> {
    let trace = Trace::default();
    vec![
        talker("a"),
        talker("b").hosted(hosting.clone()),
        Actor::of("b/camera", Probe::every(1).says("x").holds("chaconne/*/actor/**/x").traced(&trace)),
        Actor::of("c", Probe::every(3).says("x").hears(of("b", "x")).holds(of("b", "y"))).hosted(hosting.clone()),
        talker("d").leaves_at(at(7)),
        talker("e").joins_at(at(5)),
    ]
}

fn hash_of(actors: Vec<Actor>) -> String {
    let witness = Witness::default();
    let mut world = world(actors);
    world.add_monitor(witness.clone());
    world.run_until(at(20)).unwrap();
    assert_eq!(recheck("w", 1, &witness.instants()), world.world_hash());
    world.world_hash().to_string()
}

#[test]
fn a_guarded_actor_does_what_it_does_elsewhere() {
    let local = hash_of(talkers(&Hosting::default()));
    assert_eq!(hash_of(talkers(&Hosting::guarded(LONG))), local);
    let all = |mut actors: Vec<Actor>| {
        actors = actors.into_iter().map(|actor| actor.hosted(Hosting::guarded(LONG))).collect();
        actors
    };
    assert_eq!(hash_of(all(talkers(&Hosting::default()))), local);
    let mut fewer = talkers(&Hosting::default());
    fewer.pop();
    assert_ne!(hash_of(fewer), local);
}

/// Misbehaves in its step at three seconds.
fn rogue(what: impl Fn(&mut StepCtx<'_>) -> StepResult + Send + 'static) -> impl Participant {
    struct Rogue<F>(F);
    impl<F: Fn(&mut StepCtx<'_>) -> StepResult + Send> Participant for Rogue<F> {
        fn subscriptions(&self) -> Vec<Subscription> {
            vec![Subscription::every("chaconne/**")]
        }
        fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
            ctx.publish("x", &ctx.now())?;
            if ctx.now() == at(3) { (self.0)(ctx) } else { ctx.after(secs(1)) }
        }
    }
    Rogue(what)
}

fn hangs() -> impl Participant {
    rogue(|ctx| {
        loop {
            std::hint::black_box(&ctx);
        }
    })
}

/// A world in which `ego` and what stands under its path may be lost.
fn around(ego: Actor) -> Vec<Actor> {
    vec![
        Actor::of("before", Probe::every(1).says("x").holds(of("ego", "x")).hears("chaconne/**")),
        ego,
        Actor::of("ego/camera", Probe::every(1).says("x").holds("x")),
        Actor::of("after", Probe::every(1).says("x").holds(of("ego", "x"))),
        Actor::of("new", Probe::every(1).says("x").holds(of("ego", "x"))).joins_at(at(3)),
        Actor::of("old", Probe::every(1).says("x")).leaves_at(at(3)),
    ]
}

#[allow(clippy::disallowed_methods, reason = "a timeout is wall time")]
fn finish(mut world: Conductor) -> (RunReport, Witness, Duration) {
    let witness = Witness::default();
    world.add_monitor(witness.clone());
    world.run_until(at(3)).unwrap();
    let started = Instant::now();
    let _ = world.run_until(just_after(at(3)));
    let took = started.elapsed();
    let _ = world.run_until(at(8));
    (world.end(Duration::ZERO), witness, took)
}

/// A run in which the instant with the hung step takes no more than 50 ms longer than the timeout: one of a few, because
/// others use the machine too.
fn in_time(run: impl Fn() -> (RunReport, Witness, Duration)) -> (RunReport, Witness, Duration) {
    let runs = std::iter::repeat_with(run).take(4);
    let mut slowest = Duration::ZERO;
    for (report, witness, took) in runs {
        if took < SHORT + Duration::from_millis(50) {
            return (report, witness, took);
        }
        slowest = slowest.max(took);
    }
    panic!("it took {slowest:?}");
}

/// The run in which `ego` leaves by a plan.
fn planned(time: SimTime) -> RunReport {
    let well = rogue(|ctx| ctx.after(secs(1)));
    let mut world = world(around(Actor::of("ego", well)));
    world.leave_at(&path("ego"), time).unwrap();
    finish(world).0
}

#[test]
fn one_that_hangs_is_removed_in_time_and_the_run_is_that_in_which_the_leave_was_planned() {
    let hosting = Hosting::guarded(SHORT).on_failure(OnFailure::Remove);
    let (report, witness, took) = in_time(|| finish(world(around(Actor::of("ego", hangs()).hosted(hosting.clone())))));
    assert!(took >= SHORT, "{took:?}");
    assert_eq!(report.halt, None);
    assert_eq!(report.world_hash, planned(at(3)).world_hash);
    assert_eq!(recheck("w", 1, &witness.instants()), report.world_hash);
    assert_eq!(report.left_behind, [path("ego")]);
    let [removed] = &report.removed[..] else { panic!("{:?}", report.removed) };
    assert_eq!(
        removed,
        "`ego` left at 3.0 s: `ego` has not answered within its timeout of 0.15 s (at 3.0 s, instant 3)"
    );
}

#[test]
fn one_that_hangs_halts_the_run_unless_something_else_is_said() {
    let hosting = Hosting::guarded(SHORT);
    let (report, _, _) = in_time(|| finish(world(around(Actor::of("ego", hangs()).hosted(hosting.clone())))));
    let halt = report.halt.unwrap();
    assert_eq!(halt.cause, HaltCause::TimedOut { timeout: SHORT, took: None });
    assert_eq!((halt.path, halt.instant), (Some(path("ego")), Some((3, at(3)))));
    assert_eq!((report.ticks, report.left_behind.len()), (3, 1));
}

#[test]
fn a_reply_that_came_late_counts_and_its_actor_leaves_behind_the_instant() {
    // Others of the instant take longer still, so that the late reply is there when it is looked for.
    let slow = |millis: u64| {
        rogue(move |ctx| {
            std::thread::sleep(Duration::from_millis(millis));
            ctx.after(secs(1))
        })
    };
    let hosting = |on_failure| Hosting::guarded(Duration::from_millis(20)).on_failure(on_failure);
    let mut actors = around(Actor::of("ego", slow(60)).hosted(hosting(OnFailure::Remove)));
    actors.push(Actor::of("busy", slow(200)));
    let (report, _, _) = finish(world(actors));
    let well = || rogue(|ctx| ctx.after(secs(1)));
    let mut other = around(Actor::of("ego", well()));
    other.push(Actor::of("busy", well()));
    let mut other = world(other);
    other.leave_at(&path("ego"), just_after(at(3))).unwrap();
    assert_eq!(report.world_hash, finish(other).0.world_hash);
    assert!(report.removed[0].starts_with("`ego` left at 3.000000001 s: "), "{:?}", report.removed);
    assert!(report.left_behind.is_empty());

    let mut actors = around(Actor::of("ego", slow(60)).hosted(hosting(OnFailure::Halt)));
    actors.push(Actor::of("busy", slow(200)));
    let (report, _, _) = finish(world(actors));
    let halt = report.halt.unwrap();
    assert!(matches!(halt.cause, HaltCause::TimedOut { took: Some(_), .. }), "{halt}");
    // The instant counts.
    assert_eq!((halt.instant, report.ticks), (Some((3, at(3))), 4));
}

#[test]
fn one_that_fails_in_another_way_is_removed_as_well_wherever_it_is_stepped() {
    let expected = planned(at(3)).world_hash;
    type Misdeed = fn(&mut StepCtx<'_>) -> StepResult;
    let misdeeds: [(&str, Misdeed); 5] = [
        ("failed: the tank is empty", |_| Err("the tank is empty".into())),
        ("panicked: out of luck", |_| panic!("out of luck")),
        ("is not advancing", |ctx| Ok(ctx.now())),
        ("as many signals as one step may", |ctx| {
            while ctx.publish("flood", &0).is_ok() {}
            ctx.after(secs(1))
        }),
        ("as many bytes as one step may", |ctx| {
            let text = "x".repeat(1 << 20);
            while ctx.publish("flood", &text).is_ok() {}
            ctx.after(secs(1))
        }),
    ];
    for hosting in [Hosting::default(), Hosting::guarded(LONG)] {
        for (text, misdeed) in misdeeds {
            let hosting = hosting.clone().on_failure(OnFailure::Remove);
            let (report, witness, _) = finish(world(around(Actor::of("ego", rogue(misdeed)).hosted(hosting))));
            assert_eq!(report.halt, None);
            assert_eq!(report.world_hash, expected, "{text}");
            assert_eq!(recheck("w", 1, &witness.instants()), expected);
            assert!(report.removed[0].contains(text), "{:?}", report.removed);
        }
    }
}

#[test]
fn several_that_are_lost_at_one_instant_leave_in_the_worlds_order() {
    let removed = Hosting::guarded(SHORT).on_failure(OnFailure::Remove);
    let local = Hosting::default().on_failure(OnFailure::Remove);
    let world_of = |hang: bool| {
        let one = |name: &str, hosting: &Hosting, fails: bool| {
            let what: Box<dyn Participant> = match (hang, fails) {
                (false, _) => Box::new(rogue(|ctx| ctx.after(secs(1)))),
                (true, true) => Box::new(rogue(|_| Err("no".into()))),
                (true, false) => Box::new(hangs()),
            };
            Actor::of(name, what).hosted(hosting.clone())
        };
        let mut actors = vec![one("a", &removed, false), one("b", &local, true), one("c", &removed, true)];
        actors.extend(around(one("ego", &removed, false)));
        world(actors)
    };
    let (report, _, _) = finish(world_of(true));
    let mut other = world_of(false);
    for name in ["a", "b", "c", "ego"] {
        other.leave_at(&path(name), at(3)).unwrap();
    }
    assert_eq!(report.world_hash, finish(other).0.world_hash);
    assert_eq!(report.removed.len(), 4);
}

#[test]
fn what_stands_under_one_that_is_lost_leaves_with_it_though_it_stepped() {
    let hosting = Hosting::guarded(SHORT).on_failure(OnFailure::Remove);
    let (_, witness, _) = finish(world(around(Actor::of("ego", hangs()).hosted(hosting))));
    let instant = &witness.instants()[3];
    assert!(instant.steps.iter().all(|step| !step.path.starts_with("ego")));
    let left: Vec<&str> = instant.membership.iter().map(|(_, path, _)| path.as_str()).collect();
    assert_eq!(left, ["ego", "ego/camera", "old", "new"]);
}

#[test]
fn a_step_over_budget_is_counted_and_told_and_nothing_else() {
    let slow = || {
        acting(|ctx| {
            std::thread::sleep(Duration::from_millis(2));
            ctx.publish("x", &1)?;
            ctx.after(secs(1))
        })
    };
    let ego = |budget: Option<Duration>| {
        let ego = Actor::new("ego").child("quick", Probe::every(1)).child("slow", slow());
        budget
            .map_or_else(|| Actor::new("ego").child("quick", Probe::every(1)).child("slow", slow()), |b| ego.budget(b))
    };
    for hosting in [Hosting::default(), Hosting::guarded(LONG)] {
        let witness = Witness::default();
        let mut budgeted = world([ego(Some(Duration::from_millis(1))).hosted(hosting)]);
        budgeted.add_monitor(witness.clone());
        budgeted.run_until(at(5)).unwrap();
        let mut free = world([ego(None)]);
        free.run_until(at(5)).unwrap();
        assert_eq!(budgeted.world_hash(), free.world_hash());
        assert_eq!((budgeted.report().misses, free.report().misses), (5, 0));
        let observed: Vec<_> = witness.observed();
        assert_eq!(observed.len(), 5);
        assert!(observed.iter().all(|one| one.path == Some(path("ego/slow"))
            && matches!(one.what, Observed::Budget { took, budget } if took > budget)));
    }
    let refused = world([]).add(Actor::new("ego").child("a", Probe::every(1)).budget_of("b", LONG)).unwrap_err();
    assert_eq!(refused.to_string(), "cannot add `ego`: its budget is for `b`, and it has no part of that name");
}

#[test]
fn a_guarded_actor_that_panics_when_it_is_let_go_halts_as_any_other() {
    struct Bomb(bool);
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(!self.0, "it was not to be dropped");
        }
    }
    impl Participant for Bomb {
        fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
            ctx.after(secs(1))
        }
    }
    for hosting in [Hosting::default(), Hosting::guarded(LONG)] {
        let mut world =
            world([Actor::of("a", Bomb(true)).hosted(hosting).leaves_at(at(2)), Actor::of("b", Bomb(false))]);
        let halt = world.run_until(at(4)).unwrap_err();
        assert_eq!(halt.cause, HaltCause::Panic("it was not to be dropped".to_owned()));
    }
}

#[test]
fn in_a_large_instant_losses_are_the_same_in_one_batch_and_in_many_and_on_any_threads() {
    // Some are never due again, some fail, some stand under those who fail.
    let actors = |fails: bool| {
        let mut actors = Vec::new();
        for number in 0..6_000_u32 {
            let name = format!("a{number}");
            let step = move |may_fail: bool| {
                move |ctx: &mut StepCtx<'_>| {
                    ctx.publish("x", &u64::from(number))?;
                    if may_fail && fails && ctx.now() == at(1) && number % 1_000 == 500 {
                        return Err("the tank is empty".into());
                    }
                    if number % 7 == 3 && number % 1_000 != 500 { Ok(ctx.never()) } else { ctx.after(secs(1)) }
                }
            };
            let hosting = Hosting::default().on_failure(OnFailure::Remove);
            actors.push(Actor::of(&name, acting(step(true))).hosted(hosting));
            if number % 500 == 0 {
                actors.push(Actor::of(format!("{name}/b"), acting(step(false))));
            }
        }
        actors
    };
    let run = |threads: usize, watched: bool, fails: bool, planned: bool| {
        let config = ConductorConfig { threads, ..config() };
        let mut world = Conductor::new(config).unwrap();
        let witness = Witness::default();
        if watched {
            world.add_monitor(witness.clone());
        }
        for actor in actors(fails) {
            world.add(actor).unwrap();
        }
        if planned {
            for number in (0..6_000).filter(|number| number % 1_000 == 500) {
                world.leave_at(&path(&format!("a{number}")), at(1)).unwrap();
            }
        }
        world.run_until(at(4)).unwrap();
        if watched {
            assert_eq!(recheck("w", 1, &witness.instants()), world.world_hash());
        }
        let report = world.end(Duration::ZERO);
        assert_eq!((report.removed.len(), report.refused.len()), (if fails { 6 } else { 0 }, 0));
        report.world_hash
    };
    let expected = run(1, true, false, true);
    for (threads, watched) in [(1, true), (1, false), (3, true), (3, false)] {
        assert_eq!(run(threads, watched, true, false), expected, "{threads} threads, watched: {watched}");
    }
}

#[test]
fn when_one_halts_the_run_nothing_is_told_of_those_who_were_lost_at_that_instant() {
    for threads in [1, 3] {
        let mut world = Conductor::new(ConductorConfig { threads, ..config() }).unwrap();
        for number in 0..6_000_u32 {
            let step = move |ctx: &mut StepCtx<'_>| match (ctx.now() == at(1), number) {
                (true, 5 | 5_005) => Err("it may be lost".into()),
                (true, 2_500 | 5_900) => Err("it may not".into()),
                _ => ctx.after(secs(1)),
            };
            let removed = Hosting::default().on_failure(OnFailure::Remove);
            let hosting = if number % 5 == 0 && number % 100 == 5 { removed } else { Hosting::default() };
            world.add(Actor::of(format!("a{number}"), acting(step)).hosted(hosting)).unwrap();
        }
        let halt = world.run_until(at(3)).unwrap_err();
        assert_eq!(
            halt.to_string(),
            "`a2500` failed: it may not (at 1.0 s, instant 1); one other participant failed at that instant"
        );
        let report = world.report();
        assert!(report.removed.is_empty() && report.ticks == 1, "{:?}", report.removed);
    }
}

#[test]
fn that_a_leave_was_planned_for_one_that_was_removed_before_is_no_mistake() {
    let hosting = Hosting::default().on_failure(OnFailure::Remove);
    let mut world = world(around(Actor::of("ego", rogue(|_| Err("no".into()))).hosted(hosting)));
    world.leave_at(&path("ego"), at(5)).unwrap();
    world.leave_at(&path("ego/camera"), at(6)).unwrap();
    world.leave_at(&path("stranger"), at(6)).unwrap();
    let (report, _, _) = finish(world);
    assert_eq!(report.refused, ["at 6.0 s: `stranger` cannot leave: there is no actor of that path"]);
}

#[test]
fn one_that_fails_in_its_first_step_leaves_behind_its_join() {
    let hosting = Hosting::default().on_failure(OnFailure::Remove);
    let mut actors = around(Actor::of("ego", rogue(|ctx| ctx.after(secs(1)))));
    actors.push(Actor::of("short", rogue(|_| Err("no".into()))).hosted(hosting).joins_at(at(3)));
    let (_, witness, _) = finish(world(actors));
    let changes: Vec<_> =
        witness.instants()[3].membership.iter().map(|(kind, path, _)| (*kind, path.clone())).collect();
    let expected = [(Leave, "old"), (Join, "new"), (Join, "short"), (Leave, "short")];
    assert_eq!(changes, expected.map(|(kind, path)| (kind, path.to_owned())));
}

#[test]
fn a_guarded_participant_is_let_go_of_before_the_run_is_gone() {
    struct Slow(std::sync::Arc<std::sync::atomic::AtomicBool>);
    impl Drop for Slow {
        fn drop(&mut self) {
            std::thread::sleep(Duration::from_millis(100));
            self.0.store(true, std::sync::atomic::Ordering::SeqCst);
        }
    }
    impl Participant for Slow {
        fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
            ctx.after(secs(1))
        }
    }
    let is_gone = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let mut world = world([Actor::of("a", Slow(is_gone.clone())).hosted(Hosting::guarded(Duration::from_millis(10)))]);
    world.run_until(at(2)).unwrap();
    drop(world);
    assert!(is_gone.load(std::sync::atomic::Ordering::SeqCst));
}
