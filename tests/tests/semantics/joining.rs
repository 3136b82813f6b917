//! Joining while the run goes on, by drivers, by plans and by participants; and what leaving has to do with it.

use chaconne_conductor::{Actor, Conductor};
use chaconne_sim_core::fingerprint::MembershipKind::{Join, Leave};
use chaconne_sim_core::key::Key;
use chaconne_sim_core::membership::{JoinRequest, NodeRequest};
use chaconne_sim_core::{ActorPath, SimTime};
use chaconne_tests::recheck::{SeenInstant, Witness, recheck};
use chaconne_tests::{Probe, Trace, at, of, path, world};

/// Makes a probe that steps every second, publishes `x`, and writes to a trace; a group of two for `pair`.
fn maker(trace: &Trace) -> impl FnMut(&JoinRequest, &ActorPath) -> Result<Actor, String> + Send + use<> {
    let trace = trace.clone();
    move |request, path| {
        let NodeRequest::Made { factory, .. } = &request.node else { return Err("one node, please".to_string()) };
        let probe = || Probe::every(1).says("x").hears(of("*", "x")).traced(&trace);
        match factory.as_str() {
            "probe" => Ok(Actor::of(path.as_str(), probe())),
            "pair" => Ok(Actor::new(path.as_str()).child("first", probe()).child("second", probe())),
            "panic" => panic!("two\nlines"),
            _ => Err(format!("there is no factory `{factory}`; did you mean `probe`?")),
        }
    }
}

fn probe(path: &str) -> JoinRequest {
    JoinRequest::new(path, "probe")
}

/// A world of these actors with a maker and a witness, run until `until`, with all hashes computed again.
fn watch(actors: impl IntoIterator<Item = Actor>, until: i32) -> (Conductor, Vec<SeenInstant>) {
    watch_traced(actors, until, &Trace::default())
}

fn watch_traced(actors: impl IntoIterator<Item = Actor>, until: i32, trace: &Trace) -> (Conductor, Vec<SeenInstant>) {
    let witness = Witness::default();
    let mut world = world(actors);
    world.set_maker(maker(trace));
    world.add_monitor(witness.clone());
    world.run_until(at(until)).unwrap();
    assert_eq!(recheck("w", 1, &witness.instants()), world.world_hash());
    (world, witness.instants())
}

fn stepped(instant: &SeenInstant) -> Vec<&str> {
    instant.steps.iter().map(|step| step.path.as_str()).collect()
}

fn changes(instant: &SeenInstant) -> Vec<(chaconne_sim_core::fingerprint::MembershipKind, &str, SimTime)> {
    instant.membership.iter().map(|(kind, path, time)| (*kind, path.as_str(), *time)).collect()
}

/// The first time after whole seconds.
fn after(secs: i32) -> SimTime {
    SimTime::from_nanos(i64::from(secs) * 1_000_000_000 + 1)
}

#[test]
fn one_that_is_asked_for_joins_at_the_barrier_and_is_hashed_there() {
    let spawner = Probe::every(1).asks_in(1, probe("car").first_due(at(2)));
    let (world, seen) = watch([Actor::of("spawner", spawner), Actor::of("a", Probe::every(1))], 4);
    assert_eq!(changes(&seen[1]), [(Join, "car", at(2))]);
    assert_eq!(stepped(&seen[1]), ["spawner", "a"]);
    // Last in order, whoever asked.
    assert_eq!(stepped(&seen[2]), ["spawner", "a", "car"]);
    assert_eq!((world.participants(), world.report().joins, world.report().refusals), (3, 3, 0));
}

#[test]
fn without_a_first_due_time_it_is_due_a_nanosecond_later() {
    let spawner = Probe::at([0, 1]).asks_in(0, probe("car"));
    let (_, seen) = watch([Actor::of("spawner", spawner)], 2);
    let times: Vec<_> = seen.iter().map(|instant| (instant.time, stepped(instant))).collect();
    assert_eq!(
        times,
        [(at(0), vec!["spawner"]), (after(0), vec!["car"]), (at(1), vec!["spawner"]), (after(1), vec!["car"])]
    );
}

#[test]
fn a_whole_actor_joins_and_leaves_together() {
    let spawner = Probe::every(1)
        .asks_in(1, JoinRequest::new("ego", "pair").first_due(at(2)))
        .asks_in(1, probe("ego/camera").first_due(at(2)))
        .asks_out(3, "ego");
    let (world, seen) = watch([Actor::of("spawner", spawner), Actor::of("z", Probe::every(1))], 6);
    let joined = [(Join, "ego/first", at(2)), (Join, "ego/second", at(2)), (Join, "ego/camera", at(2))];
    assert_eq!(changes(&seen[1]), joined);
    assert_eq!(stepped(&seen[3]), ["spawner", "z", "ego/first", "ego/second", "ego/camera"]);
    let left = [(Leave, "ego/first", after(3)), (Leave, "ego/second", after(3)), (Leave, "ego/camera", after(3))];
    assert_eq!(changes(&seen[3]), left);
    assert_eq!(stepped(&seen[4]), ["spawner", "z"]);
    assert_eq!((world.participants(), world.report().joins, world.report().leaves), (2, 5, 3));
}

#[test]
fn one_under_anothers_path_comes_directly_after_it_whenever_it_joins() {
    let spawner =
        Probe::every(1).asks_in(0, probe("ego/b").first_due(at(1))).asks_in(1, probe("ego/b/c").first_due(at(2)));
    let spawner = spawner.asks_in(2, probe("ego/d").first_due(at(3)));
    let one = |path: &str| Actor::of(path, Probe::every(1));
    let (_, seen) = watch([Actor::of("spawner", spawner), one("ego"), one("lead")], 4);
    assert_eq!(stepped(&seen[3]), ["spawner", "ego", "ego/b", "ego/b/c", "ego/d", "lead"]);
}

#[test]
fn a_leave_at_the_instant_at_which_one_would_step_comes_before_that_step() {
    // By a plan, and by a request that names the time: half-open.
    for asked in [false, true] {
        let mut a = Actor::of("a", Probe::every(1));
        let mut killer = Probe::every(1);
        if asked {
            killer = killer.asks_out_at(1, "a", at(3));
        } else {
            a = a.leaves_at(at(3));
        }
        let (_, seen) = watch([a, Actor::of("b", killer)], 5);
        assert_eq!(stepped(&seen[2]), ["a", "b"]);
        assert_eq!((stepped(&seen[3]), changes(&seen[3])), (vec!["b"], vec![(Leave, "a", at(3))]));
    }
}

#[test]
fn one_that_is_asked_to_leave_at_an_instant_at_which_it_steps_steps_and_then_leaves() {
    // Whether it comes before or after the one who asks.
    let killer = Probe::every(1).asks_out(2, "a").asks_out(2, "z");
    let one = |path: &str| Actor::of(path, Probe::every(1));
    let (_, seen) = watch([one("a"), Actor::of("k", killer), one("z")], 4);
    assert_eq!(stepped(&seen[2]), ["a", "k", "z"]);
    assert_eq!(changes(&seen[2]), [(Leave, "a", after(2)), (Leave, "z", after(2))]);
    assert_eq!(stepped(&seen[3]), ["k"]);
}

#[test]
fn a_join_at_an_instant_already_stepped_is_refused_to_driver_participant_and_plan() {
    let trace = Trace::default();
    let spawner = Probe::every(1).asks_in(2, probe("now").first_due(at(2))).asks_in(2, probe("past").first_due(at(1)));
    let spawner = Actor::of("spawner", spawner.traced(&trace));
    let (mut world, seen) = watch([spawner], 4);
    let refused = |path: &str, time: &str, now: &str| {
        format!(
            "cannot add `{path}`: its first due time {time} s must lie after {now} s, the last instant that was stepped; \
             choose a later time"
        )
    };
    let expected = format!(
        "3 spawner: refused #0@2: {}, refused #1@2: {}",
        refused("now", "2.0", "2.0"),
        refused("past", "1.0", "2.0")
    );
    assert_eq!(trace.lines(), ["0 spawner: -", "1 spawner: -", "2 spawner: -", &expected]);
    assert!(seen.iter().skip(1).all(|instant| instant.membership.is_empty()));
    let before = world.report();
    for actor in [Actor::of("late", Probe::every(1)), Actor::of("late", Probe::every(1)).joins_at(at(3))] {
        let error = world.add(actor.first_due(at(3))).unwrap_err().to_string();
        assert_eq!(error, refused("late", "3.0", "3.0"));
    }
    let error = world.leave_at(&path("spawner"), at(3)).unwrap_err().to_string();
    assert!(error.starts_with("`spawner` cannot leave at 3.0 s: that must lie after 3.0 s"), "{error}");
    assert_eq!((world.report(), before.refusals), (before, 2));
}

#[test]
fn a_refusal_reaches_its_requester_and_nobody_else_and_changes_nothing() {
    let trace = Trace::default();
    let listener = || Probe::every(1).hears("**").traced(&trace);
    let asks = Probe::every(1)
        .asks_in(0, JoinRequest::new("a", "prob"))
        .asks_in(0, JoinRequest::new("a", "panic"))
        .asks_in(0, JoinRequest::new("a b", "probe"))
        .asks_in(0, JoinRequest::new("none/a", "probe"))
        .asks_in(0, JoinRequest::new("listener", "probe"))
        .asks_out(0, "nobody");
    let (asking, silent) = (Actor::of("asks", asks.traced(&trace)), Actor::of("asks", Probe::every(1).traced(&trace)));
    let (world, _) = watch_traced([asking, Actor::of("listener", listener())], 2, &Trace::default());
    let lines = trace.lines();
    for (text, number) in [
        ("cannot add `a`: there is no factory `prob`; did you mean `probe`?", 0),
        ("cannot add `a`: its factory panicked: two lines", 1),
        ("cannot add an actor at `a b`", 2),
        ("cannot add `none/a`: there is no actor `none` for it to stand under", 3),
        ("cannot add `listener`: the path `listener` is already taken by actor `listener`", 4),
        ("`nobody` cannot leave: there is no actor of that path", 5),
    ] {
        assert!(lines[2].contains(&format!("refused #{number}@0: {text}")), "{}", lines[2]);
    }
    assert_eq!(lines[3], "1 listener: -");
    let (quiet, _) = watch([silent, Actor::of("listener", listener())], 2);
    assert_eq!(world.world_hash(), quiet.world_hash());
    assert_eq!((world.report().refusals, world.report().joins), (6, 2));
}

#[test]
fn a_path_that_joins_again_is_a_new_arrival_last_in_order_and_its_numbers_do_not_restart() {
    let trace = Trace::default();
    let spawner = Probe::every(1).asks_out(2, "a").asks_in(4, probe("a").first_due(at(5)));
    let a = Actor::of("a", Probe::every(1).says("x"));
    let sink = Actor::of("sink", Probe::every(1).hears(of("a", "x")).holds(of("a", "x")).traced(&trace));
    let (world, seen) = watch([a, Actor::of("spawner", spawner), sink], 8);
    assert_eq!(stepped(&seen[0]), ["a", "spawner", "sink"]);
    assert_eq!(stepped(&seen[5]), ["spawner", "sink", "a"]);
    assert_eq!(
        trace.lines(),
        [
            "0 sink: []",
            "1 sink: a/x#0@0=0, [a/x@0=0 new]",
            "2 sink: a/x#1@1=1, [a/x@1=1 new]",
            "3 sink: a/x#2@2=2, []",
            "4 sink: []",
            "5 sink: []",
            "6 sink: a/x#3@5=0, [a/x@5=0 new]",
            "7 sink: a/x#4@6=1, [a/x@6=1 new]",
        ]
    );
    let numbers: Vec<u64> =
        seen.iter().flat_map(|i| &i.steps).filter(|s| s.path == "a").flat_map(|s| &s.signals).map(|s| s.1).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5]);
    assert_eq!((world.report().joins, world.report().leaves, world.participants()), (4, 1, 3));
}

#[test]
fn numbers_do_not_restart_either_for_a_path_that_leaves_and_joins_at_one_barrier() {
    for first in [0, 2] {
        let spawner = Probe::at([first]).asks_out(first, "a").asks_in(first, probe("a"));
        let a = Actor::of("a", Probe::every(1).says("x").says("x"));
        let (_, seen) = watch([a, Actor::of("spawner", spawner).first_due(at(first))], first + 3);
        let steps = seen.iter().flat_map(|instant| &instant.steps).filter(|step| step.path == "a");
        let numbers: Vec<u64> = steps.flat_map(|step| &step.signals).map(|signal| signal.1).collect();
        assert!(numbers.is_sorted_by(|a, b| a < b) && numbers.len() >= 4, "{numbers:?}");
    }
}

#[test]
fn removing_an_actor_whose_child_is_due_takes_the_child_too() {
    let child = Actor::of("ego/camera", Probe::at([3, 4])).first_due(at(3));
    let killer = Probe::every(1).asks_out(2, "ego");
    let ego = Actor::of("ego", Probe::at([0]));
    let (world, seen) = watch([ego, child, Actor::of("killer", killer)], 5);
    assert_eq!(changes(&seen[2]), [(Leave, "ego", after(2)), (Leave, "ego/camera", after(2))]);
    assert!(seen[3..].iter().all(|instant| stepped(instant) == ["killer"]));
    assert_eq!(world.participants(), 1);
}

#[test]
fn of_two_requests_for_one_path_at_one_instant_the_first_in_the_worlds_order_is_granted() {
    let trace = Trace::default();
    let asks = |node: &str| Probe::every(1).asks_in(1, JoinRequest::new("car", node).first_due(at(2))).traced(&trace);
    for names in [["a", "b"], ["b", "a"]] {
        let actors = [Actor::of(names[0], asks("probe")), Actor::of(names[1], asks("pair"))];
        let (world, seen) = watch(actors, 3);
        assert_eq!(changes(&seen[1]), [(Join, "car", at(2))]);
        assert_eq!(world.report().refusals, 1);
        let refused = format!(
            "2 {}: refused #1@1: cannot add `car`: the path `car` is already taken by actor `car`; give one of them \
             another name",
            names[1]
        );
        assert!(trace.lines().contains(&refused), "{:?}", trace.lines());
    }
}

#[test]
fn a_leave_and_a_join_of_one_path_by_one_requester_replace_the_actor() {
    let spawner = Probe::every(1).asks_out(1, "a").asks_in(1, JoinRequest::new("a", "pair").first_due(at(2)));
    let (_, seen) = watch([Actor::of("spawner", spawner), Actor::of("a", Probe::every(1))], 3);
    let expected = [(Leave, "a", after(1)), (Join, "a/first", at(2)), (Join, "a/second", at(2))];
    assert_eq!(changes(&seen[1]), expected);
    assert_eq!(stepped(&seen[2]), ["spawner", "a/first", "a/second"]);
    // The other way around the join is refused, and the leave is granted.
    let spawner = Probe::every(1).asks_in(1, JoinRequest::new("a", "pair")).asks_out(1, "a");
    let (world, _) = watch([Actor::of("spawner", spawner), Actor::of("a", Probe::every(1))], 3);
    assert_eq!((world.participants(), world.report().refusals), (1, 1));
}

#[test]
fn an_instant_emptied_by_requests_is_none_and_one_emptied_by_a_driver_or_a_plan_holds_the_leave() {
    let times =
        |seen: &[SeenInstant]| seen.iter().map(|instant| (instant.time, stepped(instant).len())).collect::<Vec<_>>();
    let rare = || Actor::of("rare", Probe::at([5]));
    // At its barrier, with the hash of the instant of asking.
    let (_, seen) = watch([rare(), Actor::of("k", Probe::at([0, 1, 9]).asks_out(1, "rare"))], 10);
    assert_eq!(times(&seen), [(at(0), 2), (at(1), 1), (at(9), 1)]);
    // A plan: at the instant of its time.
    let (_, seen) = watch([rare().leaves_at(at(5)), Actor::of("k", Probe::at([0, 1, 9]))], 10);
    assert_eq!(times(&seen), [(at(0), 2), (at(1), 1), (at(5), 0), (at(9), 1)]);
    assert_eq!(changes(&seen[2]), [(Leave, "rare", at(5))]);
}

#[test]
fn a_spawner_can_remove_itself() {
    let spawner = Probe::every(1).asks_in(2, probe("car").first_due(at(3))).asks_out(2, "spawner");
    let (world, seen) = watch([Actor::of("spawner", spawner), Actor::of("b", Probe::every(1))], 5);
    assert_eq!(changes(&seen[2]), [(Join, "car", at(3)), (Leave, "spawner", after(2))]);
    assert_eq!(stepped(&seen[3]), ["b", "car"]);
    assert_eq!(world.participants(), 2);
    // Also when nobody is left: its leave is in the last instant.
    let (world, seen) = watch([Actor::of("alone", Probe::every(1).asks_out(1, "alone"))], 5);
    assert_eq!((seen.len(), changes(&seen[1])), (2, vec![(Leave, "alone", after(1))]));
    assert_eq!((world.participants(), world.next_instant()), (0, None));
}

#[test]
fn who_joins_late_is_given_the_latest_value_from_before_until_its_publisher_leaves() {
    let trace = Trace::default();
    let slow = Probe::at([0, 6]).says("x");
    let late = Probe::every(1).hears(of("slow", "x")).holds(of("slow", "x")).holds(of("*", "x")).traced(&trace);
    let killer = Probe::every(1).asks_out(4, "slow");
    let mut world = world([Actor::of("slow", slow), Actor::of("k", killer)]);
    world.run_until(at(2)).unwrap();
    world.add(Actor::of("late", late).first_due(at(2))).unwrap();
    world.run_until(at(7)).unwrap();
    assert_eq!(
        trace.lines(),
        [
            // Held, and new to it; but not in its inbox: its subscription began when it joined.
            "2 late: [slow/x@0=0 new], [slow/x@0=0 new]",
            "3 late: [slow/x@0=0], [slow/x@0=0]",
            "4 late: [slow/x@0=0], [slow/x@0=0]",
            "5 late: [], []",
            "6 late: [], []",
        ]
    );
    assert_eq!(world.latest::<u64>(&Key::new("chaconne/w/actor/slow/x").unwrap()), None);
}

#[test]
fn a_subscription_starts_at_the_barrier_that_applies_the_join() {
    let trace = Trace::default();
    // What the others publish at the instant of asking is not in the newcomer's inbox; it is the latest value.
    let spawner = Probe::every(1).says("x").asks_in(1, probe("car").first_due(at(2)));
    watch_traced([Actor::of("spawner", spawner), Actor::of("b", Probe::every(1).says("x"))], 4, &trace);
    assert_eq!(trace.lines(), ["2 car: -", "3 car: b/x#2@2=2, car/x#4@2=0, spawner/x#2@2=2"]);
}

#[test]
fn a_plan_comes_true_at_its_time_and_leaves_of_one_time_come_before_joins() {
    let one = |path: &str| Actor::of(path, Probe::every(1));
    let planned = [one("a").joins_at(at(3)), one("c").joins_at(at(2)).leaves_at(at(4))];
    let witness = Witness::default();
    let mut world = world([one("a"), one("b")]);
    world.add_monitor(witness.clone());
    world.leave_at(&path("a"), at(3)).unwrap();
    for actor in planned {
        world.add(actor).unwrap();
    }
    assert_eq!(world.participants(), 2);
    world.run_until(at(6)).unwrap();
    let seen = witness.instants();
    assert_eq!(stepped(&seen[2]), ["a", "b", "c"]);
    assert_eq!(changes(&seen[3]), [(Leave, "a", at(3)), (Join, "a", at(3))]);
    assert_eq!(stepped(&seen[3]), ["b", "c", "a"]);
    assert_eq!(stepped(&seen[4]), ["b", "a"]);
    assert!(world.report().is_complete());
}

#[test]
fn one_that_joins_before_it_is_due_has_its_path_from_then_on() {
    let one = |path: &str| Actor::of(path, Probe::every(1));
    let mut world = world([one("a")]);
    world.add(one("b").joins_at(SimTime::from_millis(1_500)).first_due(at(5))).unwrap();
    world.run_until(at(2)).unwrap();
    assert_eq!(world.participants(), 1);
    world.run_until(at(3)).unwrap();
    assert_eq!(world.participants(), 2);
    assert!(world.add(one("b").first_due(at(4))).is_err());
    // Nobody else is due any more: it is, at its first due time.
    world.leave(&path("a")).unwrap();
    world.run_until(at(9)).unwrap();
    assert_eq!((world.now(), world.ticks()), (Some(at(8)), 8));
    let mut alone = chaconne_tests::world([]);
    alone.add(one("b").joins_at(at(1)).first_due(at(5))).unwrap();
    assert_eq!(alone.next_instant(), Some(at(5)));
}

#[test]
fn plans_between_two_instants_come_true_in_the_order_of_their_times() {
    let one = |path: &str| Actor::of(path, Probe::every(1));
    let time = SimTime::from_millis;
    let mut joined_and_left = world([one("a")]);
    joined_and_left.add(one("b").joins_at(time(1_200)).first_due(at(5))).unwrap();
    joined_and_left.leave_at(&path("b"), time(1_400)).unwrap();
    joined_and_left.run_until(at(3)).unwrap();
    assert_eq!((joined_and_left.participants(), joined_and_left.report().refused.len()), (1, 0));
    // The path is free only later.
    let mut too_early = world([one("a"), one("b")]);
    too_early.add(one("b").joins_at(time(1_200)).first_due(at(5))).unwrap();
    too_early.leave_at(&path("b"), time(1_400)).unwrap();
    too_early.run_until(at(3)).unwrap();
    assert_eq!((too_early.participants(), too_early.report().refused.len()), (1, 1));
}

#[test]
fn a_leave_that_is_planned_twice_for_one_time_is_one() {
    let one = |path: &str| Actor::of(path, Probe::every(1));
    let mut world = world([one("a").leaves_at(at(2)), one("a/b"), one("z")]);
    world.leave_at(&path("a/b"), at(2)).unwrap();
    world.leave_at(&path("a"), at(2)).unwrap();
    world.run_until(at(4)).unwrap();
    assert_eq!((world.participants(), world.report().refused), (1, Vec::new()));
}

#[test]
fn what_one_that_left_published_first_says_nothing_of_who_has_its_slot_next() {
    // Its key is used for the first time in the instant behind which it leaves; the next request comes when the slot is taken.
    let trace = Trace::default();
    let short = Actor::new("a").child("first", Probe::every(1).says("aaa")).child("second", Probe::every(1));
    let sink = Probe::every(1).hears(of("b", "*")).holds(of("b", "x")).traced(&trace);
    let next = Actor::new("b").child("first", Probe::every(1).says("x")).child("second", sink);
    let one = Actor::of("k", Probe::every(1));
    let mut world = world([one, short.leaves_at(SimTime::from_nanos(1)), next.joins_at(at(1))]);
    world.run_until(at(3)).unwrap();
    assert_eq!(
        trace.lines(),
        ["1 b/second: b/x#1@1=0 by b/first, [b/x@1=0 new]", "2 b/second: b/x#2@2=1 by b/first, [b/x@2=1 new]",]
    );
}

#[test]
fn one_that_joined_and_left_between_two_instants_does_not_renumber_who_has_its_slot() {
    let talker = Actor::of("z", Probe::every(1).says("x").says("y").says("w"));
    let witness = Witness::default();
    let mut world = world([talker]);
    world.add_monitor(witness.clone());
    world.run_until(at(2)).unwrap();
    world.add(Actor::of("a", Probe::every(1)).first_due(at(100))).unwrap();
    world.leave(&path("a")).unwrap();
    world.add(Actor::of("b", Probe::every(1).says("x")).first_due(at(2))).unwrap();
    world.run_until(at(5)).unwrap();
    let steps = witness.instants();
    let of_b = steps.iter().flat_map(|instant| &instant.steps).filter(|step| step.path == "b");
    assert_eq!(of_b.flat_map(|step| &step.signals).map(|signal| signal.1).collect::<Vec<_>>(), [6, 7, 8]);
}

#[test]
fn a_maker_that_makes_another_actor_is_refused() {
    let mut world = world([]);
    world.set_maker(|_: &JoinRequest, _: &ActorPath| Ok(Actor::of("elsewhere", Probe::every(1))));
    let error = world.add_made(&probe("here")).unwrap_err().to_string();
    assert_eq!(error, "cannot add `here`: its factory made an actor at `elsewhere`");
}

#[test]
fn one_that_panics_when_it_is_let_go_halts_the_run() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("boom");
        }
    }
    let bomb = || {
        let bomb = Bomb;
        Actor::of(
            "bomb",
            chaconne_tests::acting(move |ctx| {
                let _ = &bomb;
                ctx.after(chaconne_tests::secs(1))
            }),
        )
    };
    let mut asked = world([bomb(), Actor::of("k", Probe::every(1).asks_out(1, "bomb"))]);
    let halt = asked.run_until(at(4)).unwrap_err().to_string();
    assert_eq!((halt.as_str(), asked.ticks()), ("`bomb` panicked: boom (at 1.0 s, instant 1)", 1));
    assert!(asked.run_until(at(9)).is_err());
    let mut driven = world([bomb(), Actor::of("k", Probe::every(1))]);
    driven.run_until(at(1)).unwrap();
    driven.leave(&path("bomb")).unwrap();
    assert_eq!(driven.run_until(at(4)).unwrap_err().to_string(), "`bomb` panicked: boom");
    let planned = world([bomb().leaves_at(at(2)), Actor::of("k", Probe::every(1))]).run_until(at(4));
    assert!(planned.unwrap_err().to_string().starts_with("`bomb` panicked: boom"));
}

#[test]
fn one_that_would_be_due_before_it_joins_is_refused() {
    let early = Actor::of("b", Probe::every(1)).joins_at(at(5)).first_due(at(3));
    let error = world([]).add(early).unwrap_err().to_string();
    assert_eq!(error, "cannot add `b`: it is first due at 3.0 s, and joins at 5.0 s; let it join by then");
}

#[test]
fn a_plan_that_cannot_come_true_is_told_in_the_report_and_changes_nothing() {
    let one = |path: &str| Actor::of(path, Probe::every(1));
    let mut planned = world([one("a")]);
    planned.leave_at(&path("b"), SimTime::from_millis(1_500)).unwrap();
    planned.add(one("a").joins_at(SimTime::from_millis(2_500))).unwrap();
    planned.run_until(at(5)).unwrap();
    let report = planned.report();
    assert_eq!(
        report.refused,
        [
            "at 1.5 s: `b` cannot leave: there is no actor of that path",
            "at 2.5 s: cannot add `a`: the path `a` is already taken by actor `a`; give one of them another name"
        ]
    );
    assert!(!report.is_complete());
    let plain = chaconne_tests::run([one("a")], 5);
    assert_eq!((report.ticks, report.world_hash), (plain.ticks(), plain.world_hash()));
}

#[test]
fn a_planned_leave_of_an_actor_does_not_concern_whoever_has_its_path_later() {
    let spawner = Probe::every(1).asks_out(1, "a").asks_in(2, probe("a").first_due(at(3)));
    let a = Actor::of("a", Probe::every(1)).leaves_at(at(4));
    let (_, seen) = watch([a, Actor::of("spawner", spawner)], 6);
    assert_eq!(stepped(&seen[5]), ["spawner", "a"]);
}

#[test]
fn signals_of_one_whose_slot_is_used_again_keep_their_names() {
    let trace = Trace::default();
    // A slow listener takes them when others have long been where the publisher was.
    let listener = Probe::at([0, 6, 7]).hears("chaconne/**").holds(of("*", "y")).traced(&trace);
    let a = Probe::every(1).says("x").says("y");
    let spawner = Probe::every(1).asks_out(1, "a").asks_in(2, probe("b").first_due(at(3)));
    let spawner = spawner.asks_out(4, "b").asks_in(5, probe("c").first_due(at(6)));
    watch([Actor::of("a", a), Actor::of("spawner", spawner), Actor::of("listener", listener)], 8);
    assert_eq!(
        trace.lines(),
        [
            "0 listener: []",
            "6 listener: a/x#0@0=0, a/y#1@0=0, a/x#2@1=1, a/y#3@1=1, b/x#4@3=0, b/x#5@4=1, []",
            "7 listener: c/x#6@6=0, []",
        ]
    );
}

#[test]
fn who_joins_under_another_in_a_large_family_is_in_its_place() {
    // Some hundred under one path, joining and leaving all the time: the places are those of a world set up at once.
    let one = |path: String| Actor::of(path, Probe::every(1));
    let mut world = world([one("family".to_string()), one("z".to_string())]);
    let witness = Witness::default();
    world.add_monitor(witness.clone());
    for round in 0..20 {
        for number in 0..10 {
            world.add(one(format!("family/{}", round * 10 + number)).first_due(at(round))).unwrap();
        }
        if round >= 5 {
            for number in 0..7 {
                world.leave(&path(&format!("family/{}", (round - 5) * 10 + number))).unwrap();
            }
        }
        world.run_until(at(round + 1)).unwrap();
    }
    let seen = witness.instants();
    let numbers: Vec<i32> =
        stepped(&seen[19]).iter().filter_map(|path| path.strip_prefix("family/")?.parse().ok()).collect();
    assert_eq!(stepped(&seen[19]).len(), numbers.len() + 2);
    assert!(numbers.is_sorted() && numbers.len() == 200 - 15 * 7, "{numbers:?}");
    assert_eq!(stepped(&seen[19]).last(), Some(&"z"));
    assert_eq!(recheck("w", 1, &seen), world.world_hash());
}
