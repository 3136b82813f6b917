//! Populations: worlds of agents that are stepped like any participant.

use std::sync::{Arc, Mutex};

use bevy::prelude::*;
use chaconne::prelude::*;
use chaconne_tests::recheck::{Witness, recheck};
use chaconne_tests::{Probe, Trace, at, config, halt, of, path, run, secs, world, world_with};

#[derive(Component)]
struct Energy(u64);

fn spawn_agents(mut commands: Commands) {
    commands.spawn_batch((0..10).map(Energy));
}

fn feed(mut agents: Query<&mut Energy>, mut signals: ResMut<PopulationSignals>) {
    let mut total = 0;
    for mut energy in &mut agents {
        energy.0 += 1;
        total += energy.0;
    }
    signals.publish("total", total);
}

/// Ten agents, of which each gains one per tick; publishes their `total`.
fn herd(app: &mut App) {
    app.add_systems(PopulationStartup, spawn_agents).add_systems(Tick, feed);
}

fn population(name: &str, period: i32) -> Population {
    Population::new(name, herd).every(secs(period))
}

#[test]
fn several_populations_are_due_at_one_instant_each_at_its_own_cadence() {
    let trace = Trace::default();
    let sink = Probe::every(1).hears("chaconne/*/actor/*/total").traced(&trace);
    run(
        [
            population("sheep", 1).into(),
            population("cows", 2).into(),
            population("goats", 2).first_due(at(1)).into(),
            Actor::of("sink", sink),
        ],
        5,
    );
    assert_eq!(
        trace.lines(),
        [
            "0 sink: -",
            "1 sink: cows/total#0@0=55, sheep/total#0@0=55",
            "2 sink: goats/total#0@1=55, sheep/total#1@1=65",
            "3 sink: cows/total#1@2=65, sheep/total#2@2=75",
            "4 sink: goats/total#1@3=65, sheep/total#3@3=85",
        ]
    );
}

#[test]
fn populations_due_at_one_instant_do_not_see_each_other_and_threads_change_nothing() {
    fn listen(mut signals: ResMut<PopulationSignals>) {
        let heard =
            signals.inbox().iter().map(|signal| format!("{}@{}", signal.publisher, signal.time)).collect::<Vec<_>>();
        signals.publish("heard", heard);
    }
    let populations = || {
        ["c", "a", "b", "d"].map(|name| {
            Population::new(name, |app: &mut App| {
                app.add_systems(Tick, listen);
            })
            .subscribe(Subscription::every("chaconne/*/actor/*/heard"))
            .into()
        })
    };
    let expected = run(populations(), 20).world_hash();
    for threads in [2, 4] {
        let mut world = world_with(chaconne::conductor::ConductorConfig { threads, ..config() }, populations());
        world.run_until(at(20)).unwrap();
        assert_eq!(world.world_hash(), expected);
    }
    let witness = Witness::default();
    let mut world = world(populations());
    world.add_monitor(witness.clone());
    world.run_until(at(2)).unwrap();
    let said =
        |tick: usize| witness.instants()[tick].steps.iter().map(|step| step.signals[0].2.clone()).collect::<Vec<_>>();
    assert_eq!(said(0), ["[]"; 4]);
    assert_eq!(said(1), [r#"["a@0.0","b@0.0","c@0.0","d@0.0"]"#; 4]);
    assert_eq!(recheck("w", 1, &witness.instants()), world.world_hash());
}

#[test]
fn a_population_nested_in_an_actor_is_seen_by_the_parent_behind_it_in_the_same_instant() {
    let trace = Trace::default();
    let city = Actor::new("city")
        .child("before", Probe::every(1).hears("total").traced(&trace))
        .child("people", PopulationParticipant::from(population("unused", 1)))
        .child("mayor", Probe::every(1).hears("total").traced(&trace));
    run([city], 2);
    assert_eq!(
        trace.lines(),
        [
            "0 city/before: -",
            "0 city/mayor: city/total#0@0=55 by city/people",
            "1 city/before: city/total#0@0=55 by city/people",
            "1 city/mayor: city/total#1@1=65 by city/people",
        ]
    );
}

#[test]
fn a_population_is_given_signals_and_held_values_like_any_participant() {
    #[derive(Resource, Clone)]
    struct Said(Arc<Mutex<Vec<String>>>);
    fn write(signals: Res<PopulationSignals>, run: Res<PopulationRun>, said: Res<Said>) {
        let inbox: Vec<_> = signals
            .inbox()
            .iter()
            .map(|s| format!("{}#{}={}", s.key.signal().unwrap(), s.seq, s.decode::<u64>().unwrap()))
            .collect();
        let held = signals.latest::<u64>("chaconne/*/actor/a/x").unwrap();
        let held = held.map(|held| format!("{}@{} {}", *held, held.time, held.is_new));
        said.0.lock().unwrap().push(format!("{} {} {} {inbox:?} {held:?}", run.tick, run.now, run.dt));
    }
    let said = Said(Arc::default());
    let resource = said.clone();
    let listener = Population::new("listener", move |app: &mut App| {
        app.insert_resource(resource.clone()).add_systems(Tick, write);
    });
    let listener = listener
        .every(secs(2))
        .first_due(at(1))
        .subscribe(Subscription::every(of("a", "*")))
        .subscribe(Subscription::latest(of("a", "x")));
    run([Actor::of("a", Probe::at([0, 1, 2]).says("x").says("y")), listener.into()], 6);
    assert_eq!(
        *said.0.lock().unwrap(),
        [
            r#"0 1.0 0.0 ["x#0=0", "y#1=0"] Some("0@0.0 true")"#,
            r#"1 3.0 2.0 ["x#2=1", "y#3=1", "x#4=2", "y#5=2"] Some("2@2.0 true")"#,
            r#"2 5.0 2.0 [] Some("2@2.0 false")"#,
        ]
    );
}

#[test]
fn the_latest_of_several_keys_is_the_same_for_a_population_and_for_any_participant() {
    const KEY: &str = "chaconne/*/actor/**";
    struct Reader;
    impl Participant for Reader {
        fn subscriptions(&self) -> Vec<Subscription> {
            vec![Subscription::latest(KEY)]
        }

        fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
            let latest = ctx.latest::<u64>(KEY)?.map(|latest| *latest);
            ctx.publish("latest", &latest)?;
            ctx.after(secs(1))
        }
    }
    fn read(mut signals: ResMut<PopulationSignals>) {
        let latest = signals.latest::<u64>(KEY).unwrap().map(|latest| *latest);
        signals.publish("latest", latest);
    }
    fn reading(app: &mut App) {
        app.add_systems(Tick, read);
    }
    // Told apart by what they say: `a-b` is behind `a` as a path, before it in keys; `b` says `z`, then `a`.
    let says = |signals: &'static [(&'static str, u64)]| {
        chaconne_tests::acting(move |ctx| {
            signals.iter().try_for_each(|(signal, value)| ctx.publish(signal, value))?;
            Ok(ctx.never())
        })
    };
    let latest = |sources: Vec<Actor>| {
        let witness = Witness::default();
        let reader = Actor::of("0-reader", Reader).first_due(at(1));
        let population = Population::new("0-population", reading).first_due(at(1)).subscribe(Subscription::latest(KEY));
        let mut world = world(sources.into_iter().chain([reader, population.into()]));
        world.add_monitor(witness.clone());
        world.run_until(at(2)).unwrap();
        let steps = &witness.instants()[1].steps;
        [0, 1].map(|step| steps[step].signals[0].2.clone())
    };
    assert_eq!(latest(vec![Actor::of("b", says(&[("z", 1), ("a", 2)]))]), ["2", "2"]);
    assert_eq!(latest(vec![Actor::of("a-b", says(&[("x", 1)])), Actor::of("a", says(&[("x", 2)]))]), ["1", "1"]);
}

#[test]
fn time_inside_a_tick_is_simulation_time() {
    #[derive(Resource, Clone)]
    struct Said(Arc<Mutex<Vec<(u64, u64)>>>);
    fn write(time: Res<Time>, said: Res<Said>) {
        said.0.lock().unwrap().push((time.delta().as_nanos() as u64, time.elapsed().as_nanos() as u64));
    }
    let ticks = |first_due: SimTime, until: i32| {
        let said = Said(Arc::default());
        let resource = said.clone();
        let population = Population::new("clock", move |app: &mut App| {
            app.insert_resource(resource.clone()).add_systems(Tick, write);
        });
        run([population.every(SimDuration::from_nanos(333_333_333)).first_due(first_due).into()], until);
        let said = said.0.lock().unwrap();
        said.clone()
    };
    let tick = 333_333_333;
    assert_eq!(ticks(at(0), 1), [(0, 0), (tick, tick), (tick, 2 * tick), (tick, 3 * tick)]);
    let five = 5_000_000_000;
    assert_eq!(ticks(at(5), 6), [(0, five), (tick, five + tick), (tick, five + 2 * tick), (tick, five + 3 * tick)]);
}

#[test]
fn start_up_runs_once_and_a_change_is_seen_once() {
    #[derive(Resource, Default)]
    struct Starts(u64);
    fn start(mut starts: ResMut<Starts>) {
        starts.0 += 1;
    }
    fn count(starts: Res<Starts>, added: Query<&Energy, Added<Energy>>, mut signals: ResMut<PopulationSignals>) {
        signals.publish("counts", [starts.0, added.iter().count() as u64]);
    }
    let trace = Trace::default();
    let population = Population::new("p", |app: &mut App| {
        app.init_resource::<Starts>()
            .add_systems(PopulationStartup, (start, spawn_agents).chain())
            .add_systems(Tick, count);
    });
    run([population.into(), Actor::of("sink", Probe::every(1).hears(of("p", "counts")).traced(&trace))], 4);
    assert_eq!(
        trace.lines()[1..],
        ["1 sink: p/counts#0@0=[1,10]", "2 sink: p/counts#1@1=[1,0]", "3 sink: p/counts#2@2=[1,0]"]
    );
}

#[test]
fn systems_whose_order_is_not_given_are_refused_by_name() {
    fn grow(mut agents: Query<&mut Energy>) {
        agents.iter_mut().for_each(|mut energy| energy.0 += 1);
    }
    fn shrink(mut agents: Query<&mut Energy>) {
        agents.iter_mut().for_each(|mut energy| energy.0 /= 2);
    }
    let ambiguous = Population::new("herd", |app: &mut App| {
        app.add_systems(PopulationStartup, spawn_agents).add_systems(Tick, (grow, shrink));
    });
    let text = halt([Actor::of("clock", Probe::every(1)), ambiguous.into()]).to_string();
    assert!(text.starts_with("`herd` failed: "), "{text}");
    assert!(text.contains("grow") && text.contains("shrink") && text.contains("(at 0.0 s, instant 0)"), "{text}");

    let ordered = Population::new("herd", |app: &mut App| {
        app.add_systems(PopulationStartup, spawn_agents).add_systems(Tick, (grow, shrink).chain());
    });
    assert!(world([ordered.into()]).run_until(at(3)).is_ok());
}

#[test]
fn a_population_that_fails_halts_the_run_with_its_path() {
    fn nan(mut signals: ResMut<PopulationSignals>) {
        signals.publish("mean", 0.0 / f64::from(u8::MIN));
    }
    let text = halt([Population::new("herd", |app: &mut App| {
        app.add_systems(Tick, nan);
    })
    .into()])
    .to_string();
    assert!(text.starts_with("`herd` failed: cannot publish `chaconne/w/actor/herd/mean`: "), "{text}");

    fn panics(run: Res<PopulationRun>) {
        assert!(run.tick < 2, "the grass is gone");
    }
    let text = halt([Population::new("herd", |app: &mut App| {
        app.add_systems(Tick, panics);
    })
    .into()])
    .to_string();
    assert!(text.starts_with("`herd` panicked: ") && text.ends_with("(at 2.0 s, instant 2)"), "{text}");

    fn errs() -> bevy::prelude::Result {
        Err("the fence is down")?
    }
    let text = halt([Population::new("herd", |app: &mut App| {
        app.add_systems(Tick, errs);
    })
    .into()])
    .to_string();
    assert!(text.starts_with("`herd` ") && text.contains("the fence is down"), "{text}");
}

#[test]
fn what_a_system_draws_depends_on_seed_path_label_and_time_alone() {
    fn draw(run: Res<PopulationRun>, mut signals: ResMut<PopulationSignals>) {
        let streams = run.streams("draw");
        signals.publish("draws", [streams.stream(0).next_u64(), streams.stream(1).next_u64()]);
    }
    fn other(run: Res<PopulationRun>) {
        run.streams("other").stream(0).next_u64();
    }
    let draws = |seed: u64, name: &str, crowded: bool| {
        let witness = Witness::default();
        let population = Population::new(name, move |app: &mut App| {
            app.add_systems(Tick, draw);
            if crowded {
                app.add_systems(Tick, other.before(draw)).add_systems(PopulationStartup, spawn_agents);
            }
        });
        let others = crowded.then(|| Actor::of("others", Probe::every(1)));
        let mut world = world_with(
            chaconne::conductor::ConductorConfig { seed, ..config() },
            others.into_iter().chain([population.every(secs(2)).into()]),
        );
        world.add_monitor(witness.clone());
        world.run_until(at(5)).unwrap();
        let steps = witness.instants().into_iter().flat_map(|instant| instant.steps);
        steps.flat_map(|step| step.signals.into_iter().map(|signal| signal.2)).collect::<Vec<_>>()
    };
    let alone = draws(1, "p", false);
    assert_eq!(alone.len(), 3);
    assert!(alone[0] != alone[1] && alone[1] != alone[2]);
    assert_eq!(draws(1, "p", true), alone);
    assert_ne!(draws(2, "p", false), alone);
    assert_ne!(draws(1, "q", false), alone);
}

#[test]
fn a_population_is_added_to_an_app_and_removed_like_any_actor() {
    let mut app = App::new();
    app.add_plugins((MinimalPlugins, super::conductor()))
        .mirror::<u64>("total")
        .add_population(population("sheep", 1))
        .add_population(population("cows", 2));
    app.run_headless(at(3));
    let totals = |app: &mut App| {
        let mut totals = app.world_mut().query::<(&ActorPath, &Signal<u64>)>();
        let mut rows: Vec<_> = totals.iter(app.world()).map(|(path, total)| (path.to_string(), total.value)).collect();
        rows.sort();
        rows
    };
    assert_eq!(totals(&mut app), [("cows".to_string(), 65), ("sheep".to_string(), 75)]);
    app.remove_actor(&path("cows")).unwrap();
    assert_eq!(app.run_headless(at(4)).participants, 1);
    assert_eq!(totals(&mut app), [("sheep".to_string(), 85)]);
}

#[test]
fn the_worlds_of_populations_and_of_the_app_are_apart() {
    let mut app = App::new();
    app.add_plugins((MinimalPlugins, super::conductor())).add_population(population("sheep", 1));
    app.add_systems(Update, |mut energies: Query<&mut Energy>| {
        energies.iter_mut().for_each(|mut energy| energy.0 = 1_000);
    });
    app.world_mut().spawn(Energy(5));
    let hash = app.run_headless(at(5)).world_hash;
    assert_eq!(hash, run([population("sheep", 1).into()], 5).world_hash());
    assert_eq!(app.world_mut().query::<&Energy>().iter(app.world()).count(), 1);
}
