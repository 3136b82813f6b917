//! The world hash: what it takes in, and what it does not.

use chaconne_conductor::{Actor, ConductorConfig};
use chaconne_sim_core::fingerprint::MembershipChange;
use chaconne_sim_core::fingerprint::{MembershipKind, contribution, tick_hash, world_next, world_start};
use chaconne_sim_core::{Fingerprint, Participant, SimTime, StateWriter, StepCtx, StepResult};
use chaconne_tests::recheck::{Witness, recheck};
use chaconne_tests::{Probe, acting, at, config, of, path, run, secs, world, world_with};

/// Writes a number as its state, or nothing.
struct Stateful(Option<u64>);

impl Participant for Stateful {
    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        ctx.after(secs(2))
    }

    fn write_state(&self, out: &mut StateWriter) {
        if let Some(state) = self.0 {
            out.u64(state);
        }
    }
}

/// Actors with every kind of thing that is hashed.
fn actors() -> Vec<Actor> {
    let car = Actor::new("car")
        .child("controller", Probe::every(2).holds("pose").says("steering"))
        .child("physics", Probe::every(1).holds("steering").says("pose").says("speed"));
    let noise = acting(|ctx| {
        let noise = ctx.rng().unit();
        ctx.publish("noise", &noise)?;
        ctx.publish("note", &format!("{noise} is more than twenty-two characters"))?;
        ctx.after(secs(3))
    });
    vec![
        car,
        Actor::of("noise", noise),
        Actor::of("listener", Probe::every(3).hears("chaconne/**").says("heard")).first_due(at(1)),
        Actor::of("state", Stateful(Some(7))),
    ]
}

fn hash(config: ConductorConfig, actors: Vec<Actor>) -> Fingerprint {
    let mut world = world_with(config, actors);
    world.run_until(at(20)).unwrap();
    world.world_hash()
}

#[test]
fn every_hash_follows_from_what_a_monitor_sees() {
    let witness = Witness::default();
    let mut world = world(actors());
    world.add_monitor(witness.clone());
    world.run_until(at(10)).unwrap();
    world.leave(&path("car")).unwrap();
    world.run_until(at(20)).unwrap();
    let seen = witness.instants();
    assert_eq!(recheck("w", 1, &seen), world.world_hash());
    let joined: Vec<_> = seen[0].membership.iter().map(|(_, path, time)| (path.as_str(), *time)).collect();
    assert_eq!(
        joined,
        [("car/controller", at(0)), ("car/physics", at(0)), ("noise", at(0)), ("listener", at(1)), ("state", at(0))]
    );
    let left: Vec<_> = seen[10].membership.iter().map(|(kind, path, _)| (*kind, path.as_str())).collect();
    assert_eq!(left, [(MembershipKind::Leave, "car/controller"), (MembershipKind::Leave, "car/physics")]);
    let report = world.report();
    assert_eq!(report.ticks, seen.len() as u64);
    assert_eq!(report.steps, seen.iter().map(|instant| instant.steps.len() as u64).sum::<u64>());
    let signals = seen.iter().flat_map(|instant| &instant.steps).map(|step| step.signals.len() as u64);
    assert_eq!(report.signals, signals.sum::<u64>());
}

#[test]
fn a_world_of_two_instants_has_the_hash_that_the_layout_says() {
    let world = run([Actor::of("b", Probe::at([0, 1]).says("x")), Actor::of("a", Stateful(Some(3)))], 2);
    let mut state = StateWriter::new();
    state.u64(3);
    let speaks =
        |seq: u64, next: SimTime, text: &[u8]| contribution("b", next, &[("chaconne/w/actor/b/x", seq, text)], None);
    let join = |path| MembershipChange { kind: MembershipKind::Join, path, time: SimTime::ZERO };
    let first = tick_hash(
        0,
        SimTime::ZERO,
        &[speaks(0, at(1), b"0"), contribution("a", at(2), &[], state.finish())],
        &[join("b"), join("a")],
    );
    let second = tick_hash(1, at(1), &[speaks(1, SimTime::MAX, b"1")], &[]);
    assert_eq!(world.world_hash(), world_next(world_next(world_start("w", 1), first), second));
}

#[test]
fn an_empty_world_has_the_hash_that_it_starts_with() {
    assert_eq!(world([]).world_hash(), world_start("w", 1));
}

#[test]
fn a_monitor_sees_every_signal_in_the_worlds_order() {
    let witness = Witness::default();
    let mut world = world([
        Actor::of("b", Probe::every(1).says("x").says("y")),
        Actor::new("a").child("z", Probe::every(2).says("x")).child("c", Probe::every(1).says("x")),
    ]);
    world.add_monitor(witness.clone());
    world.run_until(at(2)).unwrap();
    let seen: Vec<String> = witness
        .instants()
        .iter()
        .flat_map(|instant| {
            instant.steps.iter().flat_map(move |step| step.signals.iter().map(move |s| (instant.time, step, s)))
        })
        .map(|(time, step, (key, seq, text))| format!("{time} {} {key} {seq} {text}", step.path))
        .collect();
    assert_eq!(
        seen,
        [
            "0.0 b chaconne/w/actor/b/x 0 0",
            "0.0 b chaconne/w/actor/b/y 1 0",
            "0.0 a/z chaconne/w/actor/a/x 0 0",
            "0.0 a/c chaconne/w/actor/a/x 0 0",
            "1.0 b chaconne/w/actor/b/x 2 1",
            "1.0 b chaconne/w/actor/b/y 3 1",
            "1.0 a/c chaconne/w/actor/a/x 1 1",
        ]
    );
}

#[test]
fn neither_monitors_nor_threads_nor_typed_hand_over_change_the_hash() {
    let expected = hash(config(), actors());
    for (threads, typed) in [(1, false), (2, true), (8, true), (8, false), (0, true)] {
        assert_eq!(hash(ConductorConfig { threads, typed, ..config() }, actors()), expected, "{threads} {typed}");
    }
    for monitors in 1..=2 {
        let mut world = world(actors());
        (0..monitors).for_each(|_| world.add_monitor(Witness::default()));
        world.run_until(at(20)).unwrap();
        assert_eq!(world.world_hash(), expected);
    }
}

#[test]
fn heavy_is_a_hint_and_changes_no_hash() {
    let heavy = actors().into_iter().map(Actor::heavy).collect();
    assert_eq!(hash(ConductorConfig { threads: 4, ..config() }, heavy), hash(config(), actors()));
}

#[test]
fn the_seed_and_the_worlds_name_are_part_of_the_hash() {
    let expected = hash(config(), actors());
    assert_ne!(hash(ConductorConfig { seed: 2, ..config() }, actors()), expected);
    assert_ne!(hash(ConductorConfig { world: "v".to_string(), ..config() }, actors()), expected);
    assert_eq!(hash(config(), actors()), expected);
}

#[test]
fn the_order_of_adding_and_a_cadence_and_a_first_due_time_are_part_of_the_hash() {
    let one = |path: &str, secs: i32| Actor::of(path, Probe::every(secs));
    let expected = hash(config(), vec![one("a", 1), one("b", 1)]);
    assert_ne!(hash(config(), vec![one("b", 1), one("a", 1)]), expected);
    assert_ne!(hash(config(), vec![one("a", 1), one("b", 30)]), expected);
    assert_ne!(hash(config(), vec![one("a", 1), one("b", 1).first_due(at(1))]), expected);
}

#[test]
fn state_is_part_of_the_hash_and_no_state_differs_from_any() {
    let with = |state: Option<u64>| run([Actor::of("a", Stateful(state))], 2).world_hash();
    assert_eq!(with(Some(7)), with(Some(7)));
    assert_ne!(with(Some(7)), with(Some(8)));
    assert_ne!(with(None), with(Some(0)));
}

#[test]
fn a_state_without_canonical_text_halts() {
    struct Lost;
    impl Participant for Lost {
        fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
            ctx.after(secs(1))
        }

        fn write_state(&self, out: &mut StateWriter) {
            out.value(&[1.0, f64::NAN]);
        }
    }
    let text = chaconne_tests::halt([Actor::of("a", Lost)]).to_string();
    assert!(text.starts_with("`a` failed: its state cannot be written: ") && text.contains("[1]"), "{text}");
}

#[test]
fn a_type_with_a_skipped_field_is_named_where_typed_hand_over_is_off() {
    #[derive(Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
    struct Leaky {
        kept: u32,
        #[serde(skip)]
        lost: u32,
    }
    let run = |typed: bool, lost: u32| {
        let a = acting(move |ctx| {
            ctx.publish("leaky", &Leaky { kept: 1, lost })?;
            ctx.after(secs(1))
        });
        let mut world = world_with(ConductorConfig { typed, ..config() }, [Actor::of("a", a)]);
        world.run_until(at(2))
    };
    assert!(run(true, 2).is_ok());
    assert!(run(false, 0).is_ok(), "this value reads back as an equal one");
    let text = run(false, 2).unwrap_err().to_string();
    assert!(text.starts_with("`a` failed: cannot publish `chaconne/w/actor/a/leaky`: a value of type `"), "{text}");
    assert!(text.contains("Leaky` does not read back from its own text as an equal value"), "{text}");
}

#[test]
fn what_one_draws_does_not_depend_on_who_else_is_there() {
    let drawn = |others: Vec<Actor>| {
        let witness = Witness::default();
        let dice = acting(|ctx| {
            let draws = [ctx.rng().next_u64(), ctx.rng().next_u64()];
            ctx.publish("draws", &draws)?;
            ctx.after(secs(2))
        });
        let mut world = world(others.into_iter().chain([Actor::of("dice", dice)]));
        world.add_monitor(witness.clone());
        world.run_until(at(7)).unwrap();
        let steps = witness.instants().into_iter().flat_map(|instant| instant.steps);
        steps.filter(|step| step.path == "dice").flat_map(|step| step.signals).collect::<Vec<_>>()
    };
    let alone = drawn(Vec::new());
    assert_eq!(alone.len(), 4);
    assert_ne!(alone[0].2, alone[1].2);
    assert_eq!(drawn(actors()), alone);
    assert_eq!(drawn(vec![Actor::of("dice2", Probe::every(1).hears(of("dice", "draws")))]), alone);
}
