//! Populations: a `World` of agents that is stepped like any participant.
//!
//! A population is written as an ordinary Bevy plugin that adds systems to [`PopulationStartup`] and [`Tick`]. It owns its
//! `World` and exchanges data with the rest only by signals, through [`PopulationSignals`]; several populations, each at its
//! own cadence, may be due at one instant.
//!
//! ```
//! use bevy_app::App;
//! use bevy_ecs::prelude::*;
//! use chaconne_conductor::population::{Population, PopulationSignals, PopulationStartup, Tick};
//! use chaconne_sim_core::time::SimDuration;
//!
//! #[derive(Component)]
//! struct Energy(u64);
//!
//! fn spawn(mut commands: Commands) {
//!     commands.spawn_batch((0..100).map(Energy));
//! }
//! fn feed(mut agents: Query<&mut Energy>, mut signals: ResMut<PopulationSignals>) {
//!     let mut total = 0;
//!     for mut energy in &mut agents {
//!         energy.0 += 1;
//!         total += energy.0;
//!     }
//!     signals.publish("total", total);
//! }
//! fn herd(app: &mut App) {
//!     app.add_systems(PopulationStartup, spawn).add_systems(Tick, feed);
//! }
//! let population = Population::new("herd", herd).every(SimDuration::from_secs(1));
//! # let _: chaconne_conductor::Actor = population.into();
//! ```

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;

use bevy_app::{App, First, Plugin, SubApp};
use bevy_ecs::error::{BevyError, ErrorContext, FallbackErrorHandler};
use bevy_ecs::prelude::{Resource, World};
use bevy_ecs::schedule::{LogLevel, ScheduleBuildSettings, ScheduleLabel, SingleThreadedExecutor};
use bevy_time::Time;
use chaconne_sim_core::context::{Latest, StepCtx};
use chaconne_sim_core::error::{PublishError, ReadError, StepError, StepResult};
use chaconne_sim_core::key::Key;
use chaconne_sim_core::participant::Participant;
use chaconne_sim_core::path::ActorPath;
use chaconne_sim_core::rng::{Domain, StreamKey};
use chaconne_sim_core::signal::{Delivery, Payload, SignalValue, Subscription};
use chaconne_sim_core::time::{SimDuration, SimTime};

use crate::composite::Actor;

/// Runs once, at the population's first step, before its first [`Tick`].
#[derive(ScheduleLabel, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PopulationStartup;

/// Runs at every step of the population, on one thread. Systems that touch the same data must be ordered (`chain`,
/// `before`, `after`): an ambiguity halts the run and is named. Bevy does not see what `Commands` do: order systems that
/// spawn or despawn, too. A system that returns an error fails the step.
#[derive(ScheduleLabel, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tick;

/// A population, to be added to a world with `add_population`, or placed anywhere an actor or a child goes.
pub struct Population {
    name: String,
    app: SubApp,
    every: SimDuration,
    first_due: Option<SimTime>,
    subscriptions: Vec<Subscription>,
}

impl Population {
    /// A population named `name` whose systems `plugin` adds (a `fn(&mut App)` will do). Ticks once per second unless
    /// [`every`](Self::every) says otherwise.
    pub fn new(name: impl Into<String>, plugin: impl Plugin) -> Self {
        let mut app = App::empty();
        app.init_resource::<PopulationSignals>().init_resource::<Time>().init_resource::<PopulationRun>();
        app.init_schedule(PopulationStartup).init_schedule(Tick);
        for label in [PopulationStartup.intern(), Tick.intern(), First.intern()] {
            plain(&mut app, label);
        }
        app.insert_resource(FallbackErrorHandler(keep_error));
        app.add_plugins(plugin);
        app.finish();
        app.cleanup();
        Self {
            name: name.into(),
            app: std::mem::take(app.main_mut()),
            every: SimDuration::from_secs(1),
            first_due: None,
            subscriptions: Vec::new(),
        }
    }

    /// Sets the time between ticks.
    pub fn every(mut self, period: SimDuration) -> Self {
        self.every = period;
        self
    }

    /// Sets the time of the first tick; that of an actor that says nothing, unless set (see [`Actor::first_due`]).
    pub fn first_due(mut self, time: SimTime) -> Self {
        self.first_due = Some(time);
        self
    }

    /// Adds a subscription; what it brings is in [`PopulationSignals`].
    pub fn subscribe(mut self, subscription: Subscription) -> Self {
        self.subscriptions.push(subscription);
        self
    }
}

/// Schedules of populations run on one thread and refuse ambiguities.
fn plain(app: &mut App, label: impl ScheduleLabel) {
    app.edit_schedule(label, |schedule| {
        schedule.set_executor(SingleThreadedExecutor::new());
        schedule.set_build_settings(ScheduleBuildSettings {
            ambiguity_detection: LogLevel::Error,
            ..ScheduleBuildSettings::default()
        });
    });
}

impl From<Population> for Actor {
    fn from(population: Population) -> Self {
        let Population { name, app, every, first_due, subscriptions } = population;
        let participant = PopulationParticipant { app, every, first_due, subscriptions, started: false };
        let actor = Self::of(name, participant).heavy();
        match first_due {
            Some(time) => actor.first_due(time),
            None => actor,
        }
    }
}

impl From<Population> for PopulationParticipant {
    fn from(population: Population) -> Self {
        let Population { name: _, app, every, first_due, subscriptions } = population;
        Self { app, every, first_due, subscriptions, started: false }
    }
}

/// A population as a participant: what nests one inside an actor
/// (`Actor::new("city").child("people", PopulationParticipant::from(population))`). It goes by the name it is given there.
pub struct PopulationParticipant {
    app: SubApp,
    every: SimDuration,
    first_due: Option<SimTime>,
    subscriptions: Vec<Subscription>,
    started: bool,
}

/// Where and when a tick happens. `Res<Time>` holds the same times, as Bevy's systems expect them.
#[derive(Resource, Clone, Debug)]
pub struct PopulationRun {
    /// The instant.
    pub now: SimTime,
    /// Time since the last tick; zero at the first.
    pub dt: SimDuration,
    /// Counts ticks from zero.
    pub tick: u64,
    /// The run's seed.
    pub seed: u64,
    /// The population's path.
    pub path: Option<ActorPath>,
}

impl Default for PopulationRun {
    fn default() -> Self {
        Self { now: SimTime::ZERO, dt: SimDuration::ZERO, tick: 0, seed: 0, path: None }
    }
}

impl PopulationRun {
    /// The random streams of one system at this tick, one per agent. `label` is a literal, and no two systems of a
    /// schedule may use one label.
    pub fn streams(&self, label: &'static str) -> StreamKey {
        let path = self.path.as_ref().map_or("", ActorPath::as_str);
        StreamKey::new(self.seed, Domain::System, path, label, self.now.as_nanos())
    }
}

type Publication = Box<dyn FnOnce(&mut StepCtx<'_>) -> Result<(), PublishError> + Send + Sync>;

/// What reaches a population and what it publishes.
#[derive(Resource, Default)]
pub struct PopulationSignals {
    inbox: Vec<Arrived>,
    held: BTreeMap<String, HeldValues>,
    path: Option<ActorPath>,
    outbox: Vec<Publication>,
}

/// What a `latest` subscription holds.
#[derive(Default)]
struct HeldValues {
    /// Ordered by key.
    all: Vec<(Key, Latest<Payload>)>,
    newest: Option<(Key, Latest<Payload>)>,
}

/// A signal in a population's inbox.
#[derive(Clone, Debug)]
pub struct Arrived {
    /// Its key.
    pub key: Key,
    /// Who published it.
    pub publisher: ActorPath,
    /// When it was published.
    pub time: SimTime,
    /// Its place among all that its publisher ever published.
    pub seq: u64,
    /// The content, not yet read.
    pub payload: Payload,
}

impl Arrived {
    /// The value.
    ///
    /// # Errors
    /// When the text does not read as a `T`.
    pub fn decode<T: SignalValue>(&self) -> Result<T, ReadError> {
        read(&self.key, &self.payload)
    }
}

fn read<T: SignalValue>(key: &Key, payload: &Payload) -> Result<T, ReadError> {
    payload.decode().map_err(|source| ReadError::Decode {
        key: key.to_string(),
        type_name: std::any::type_name::<T>(),
        source,
    })
}

impl PopulationSignals {
    /// The signals of `every` subscriptions since the last tick, ordered by (time, publisher path, sequence number).
    pub fn inbox(&self) -> &[Arrived] {
        &self.inbox
    }

    /// The held values of the `latest` subscription with this text, with their keys, ordered by key.
    ///
    /// # Errors
    /// When no `latest` subscription has this text, or a value does not read as a `T`.
    pub fn latest_all<T: SignalValue>(&self, key: &str) -> Result<Vec<(Key, Latest<T>)>, ReadError> {
        self.held_under(key)?
            .all
            .iter()
            .map(|(key, held)| {
                let value = read(key, &held.value)?;
                Ok((key.clone(), Latest { value, time: held.time, is_new: held.is_new }))
            })
            .collect()
    }

    /// The newest of [`latest_all`](Self::latest_all), by (time, publisher path, sequence number).
    ///
    /// # Errors
    /// As [`latest_all`](Self::latest_all).
    pub fn latest<T: SignalValue>(&self, key: &str) -> Result<Option<Latest<T>>, ReadError> {
        let Some((key, newest)) = &self.held_under(key)?.newest else { return Ok(None) };
        Ok(Some(Latest { value: read(key, &newest.value)?, time: newest.time, is_new: newest.is_new }))
    }

    fn held_under(&self, key: &str) -> Result<&HeldValues, ReadError> {
        self.held.get(key).ok_or_else(|| ReadError::NotSubscribed {
            key: key.to_string(),
            // Set before the first system runs.
            path: self.path.clone().unwrap_or_else(|| ActorPath::new("population").expect("letters make a path")),
        })
    }

    /// Publishes a value at the end of this tick; a value without canonical text halts the run.
    pub fn publish<T: SignalValue>(&mut self, signal: impl Into<Cow<'static, str>>, value: T) {
        let signal = signal.into();
        self.outbox.push(Box::new(move |ctx| ctx.publish(&signal, &value)));
    }
}

thread_local! {
    /// The first error of a system since a schedule of this thread's population began to run.
    static SYSTEM_ERROR: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps a system's error for the step that runs it, which then fails.
fn keep_error(error: BevyError, context: ErrorContext) {
    SYSTEM_ERROR.with_borrow_mut(|first| {
        first.get_or_insert_with(|| format!("{} `{}`: {error}", context.kind(), context.name()));
    });
}

impl PopulationParticipant {
    /// The population's own `World`.
    pub fn world(&self) -> &World {
        self.app.world()
    }

    /// Runs a schedule; an error in its making is final, as is one of its systems.
    fn run(&mut self, label: impl ScheduleLabel + Clone) -> Result<(), StepError> {
        let world = self.app.world_mut();
        let built = world.schedule_scope(label.clone(), |world, schedule| {
            schedule.initialize(world).map_err(|error| {
                let text = error.to_string(schedule.graph(), world);
                StepError::from(format!("schedule {label:?} cannot be built: {text}"))
            })?;
            let mut systems = schedule.systems().into_iter().flatten();
            match systems.find(|(_, system)| !system.is_send() && !system.is_exclusive()) {
                Some((_, system)) => Err(StepError::from(format!(
                    "system `{}` wants data that stays on one thread (a non-send resource), and a population is stepped on \
                     any; keep such data outside the population",
                    system.name()
                ))),
                None => Ok(()),
            }
        });
        built?;
        SYSTEM_ERROR.take();
        world.run_schedule(label);
        match SYSTEM_ERROR.take() {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }

    /// Hands what came since the last tick to the population's world.
    fn receive(&mut self, ctx: &StepCtx<'_>) -> Result<(), StepError> {
        let mut held = BTreeMap::new();
        for subscription in &self.subscriptions {
            if subscription.delivery() == Delivery::Latest {
                let key = subscription.key();
                let values = HeldValues { all: ctx.latest_payloads(key)?, newest: ctx.latest_payload(key)? };
                held.insert(key.to_string(), values);
            }
        }
        let mut signals = self.app.world_mut().resource_mut::<PopulationSignals>();
        signals.held = held;
        signals.path.get_or_insert_with(|| ctx.path().clone());
        signals.inbox.clear();
        signals.inbox.extend(ctx.inbox().map(|received| Arrived {
            key: received.key().clone(),
            publisher: received.publisher().clone(),
            time: received.time(),
            seq: received.seq(),
            payload: received.payload().clone(),
        }));
        Ok(())
    }

    fn keep_time(&mut self, ctx: &StepCtx<'_>) {
        let (now, dt, started) = (ctx.now(), ctx.dt(), self.started);
        let world = self.app.world_mut();
        let mut run = world.resource_mut::<PopulationRun>();
        run.tick = if started { run.tick + 1 } else { 0 };
        (run.now, run.dt) = (now, dt);
        if !started {
            (run.seed, run.path) = (ctx.seed(), Some(ctx.path().clone()));
        }
        // Bevy's time does not go below zero: a population that starts earlier counts from zero on.
        let nanos = |nanos: i64| std::time::Duration::from_nanos(u64::try_from(nanos).unwrap_or(0));
        let mut time = world.resource_mut::<Time>();
        if started {
            let passed = nanos(now.as_nanos()).saturating_sub(time.elapsed());
            time.advance_by(passed);
        } else {
            time.advance_to(nanos(now.as_nanos()));
            time.advance_by(std::time::Duration::ZERO);
        }
    }
}

impl Participant for PopulationParticipant {
    fn subscriptions(&self) -> Vec<Subscription> {
        self.subscriptions.clone()
    }

    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        if let Some(first_due) = self.first_due.filter(|time| ctx.now() < *time) {
            return Ok(first_due);
        }
        self.keep_time(ctx);
        self.receive(ctx)?;
        if !self.started {
            self.started = true;
            self.run(PopulationStartup)?;
        }
        // Where a plain `App` forgets its old messages, a population does too.
        self.run(First)?;
        self.run(Tick)?;
        let world = self.app.world_mut();
        world.clear_trackers();
        let outbox = std::mem::take(&mut world.resource_mut::<PopulationSignals>().outbox);
        for publication in outbox {
            publication(ctx)?;
        }
        ctx.after(self.every)
    }
}
