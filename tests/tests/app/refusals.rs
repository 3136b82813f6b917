//! What cannot go well ends the run by a sentence, whatever the threads: no panic gets out, and nothing is dropped in silence.

use chaconne::sim_core::signal::SignalValue;
use chaconne_tests::{acting, at};

use super::*;

/// The sentence with which a world of these actors halts, on one thread and on several.
fn halts(make: impl Fn(&mut App)) -> String {
    let sentence = |threads| {
        let mut app = App::new();
        app.add_plugins((MinimalPlugins, ChaconnePlugins.set(ConductorPlugin { threads, ..conductor() })));
        make(&mut app);
        let report = app.run_headless(at(3));
        let sentence = report.halt.expect("the run halts").to_string();
        assert!(!sentence.contains('\n'), "{sentence}");
        sentence
    };
    let one = sentence(1);
    assert_eq!(one, sentence(3));
    one
}

#[test]
fn data_of_one_thread_is_refused_in_populations() {
    struct Local(*const u8);
    fn look(local: NonSend<Local>) {
        assert!(local.0.is_null());
    }
    fn plugin(app: &mut App) {
        app.insert_non_send(Local(std::ptr::null())).add_systems(Tick, look);
    }
    let sentence = halts(|app| {
        app.add_population(Population::new("a", plugin)).add_population(Population::new("b", plugin));
    });
    assert!(sentence.starts_with("`a` failed: system `"), "{sentence}");
    assert!(sentence.contains("look` wants data that stays on one thread"), "{sentence}");
}

#[test]
fn an_error_of_a_system_fails_its_population_by_name() {
    fn fail() -> Result {
        Err("the well is dry".into())
    }
    let sentence = halts(|app| {
        app.add_population(Population::new("herd", |app: &mut App| {
            app.add_systems(Tick, fail);
        }));
    });
    assert!(sentence.starts_with("`herd` failed: system `"), "{sentence}");
    assert!(sentence.contains("fail`: the well is dry"), "{sentence}");
}

#[test]
fn a_population_starts_at_its_first_due_time_also_inside_an_actor() {
    fn plugin(app: &mut App) {
        app.add_systems(Tick, |run: Res<PopulationRun>, mut signals: ResMut<PopulationSignals>| {
            signals.publish("tick", (run.tick, run.now));
        });
    }
    let mut app = App::new();
    app.add_plugins((MinimalPlugins, ChaconnePlugins.set(conductor()))).mirror::<(u64, SimTime)>("tick");
    let people = Population::new("people", plugin).first_due(at(2));
    app.add_actor(Actor::new("city").child("people", PopulationParticipant::from(people)));
    let report = app.run_headless(at(3));
    assert_eq!((report.ticks, report.signals), (2, 1));
    let ticks: Vec<_> = app.world_mut().query::<&Signal<(u64, SimTime)>>().iter(app.world()).map(|t| t.value).collect();
    assert_eq!(ticks, [(0, at(2))]);
}

#[test]
fn a_misspelt_key_in_a_population_is_an_error_that_says_what_to_add() {
    fn look(signals: Res<PopulationSignals>) -> Result {
        signals.latest::<f64>("levle")?;
        Ok(())
    }
    let sentence = halts(|app| {
        let population = Population::new("pond", |app: &mut App| {
            app.add_systems(Tick, look);
        });
        app.add_population(population.subscribe(Subscription::latest("level")));
    });
    assert!(sentence.contains("`levle` is not among the `latest` subscriptions of `pond`"), "{sentence}");
}

#[test]
fn panics_outside_of_steps_are_caught_and_named() {
    struct Shy;
    impl Participant for Shy {
        fn subscriptions(&self) -> Vec<Subscription> {
            panic!("not now");
        }
        fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
            Ok(ctx.never())
        }
    }
    let sentence = halts(|app| {
        app.add_actor(Actor::of("shy", Shy));
    });
    assert_eq!(sentence, "cannot add `shy`: it panicked when it was asked for its subscriptions: not now");

    struct Clumsy;
    impl Monitor for Clumsy {
        fn instant(
            &mut self,
            _: &chaconne::conductor::monitor::Instant<'_>,
        ) -> std::result::Result<(), Box<dyn std::error::Error + Send + Sync>> {
            panic!("dropped\nthe pen");
        }
    }
    let sentence = halts(|app| {
        app.add_actor(Actor::of("a", Probe::every(1))).add_monitor(Clumsy);
    });
    assert_eq!(sentence, "a monitor panicked: dropped the pen (at 0.0 s, instant 0)");
}

#[test]
fn more_threads_than_can_be_meant_are_refused() {
    let mut app = App::new();
    app.add_plugins((MinimalPlugins, ChaconnePlugins.set(ConductorPlugin { threads: 1_000_000, ..conductor() })));
    let halt = app.run_headless(at(1)).halt.unwrap().to_string();
    assert!(halt.starts_with("1000000 threads are more than 1024"), "{halt}");
}

#[test]
#[allow(clippy::disallowed_types, reason = "what is refused is their order")]
fn hash_ordered_collections_are_refused_however_few_they_hold() {
    use std::collections::{HashMap, HashSet};

    fn refuses<T: SignalValue>(value: T, name: &str) {
        let sentence = halts(|app| {
            let value = value.clone();
            app.add_actor(Actor::of(
                "a",
                acting(move |ctx| {
                    ctx.publish("x", &value)?;
                    Ok(ctx.never())
                }),
            ));
        });
        assert!(sentence.contains("cannot publish `chaconne/w/actor/a/x`") && sentence.contains(name), "{sentence}");
        assert!(sentence.contains("an order that varies from run to run"), "{sentence}");
    }
    refuses(HashMap::from([(1_u8, 2_u8)]), "HashMap");
    refuses(vec![HashSet::<u8>::new()], "HashSet");
}

#[test]
fn a_signal_that_is_mirrored_from_now_on_shows_what_was_published_before() {
    let mut app = app_of(conductor());
    app.run_headless(at(3));
    assert_eq!(app.world_mut().query::<&Signal<u64>>().iter(app.world()).count(), 0);
    app.mirror::<u64>("pose");
    app.run_headless(at(4));
    assert_eq!(app.world_mut().query::<&Signal<u64>>().iter(app.world()).count(), 2);
}
