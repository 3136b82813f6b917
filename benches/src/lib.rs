//! Worlds that the benches measure, each the smallest that shows one cost.
//!
//! ```
//! use chaconne_benches::{conductor, ring};
//!
//! let mut world = conductor(1);
//! ring(&mut world, 10);
//! world.step_instant()?;
//! world.step_instant()?;
//! assert_eq!((world.ticks(), world.signals()), (2, 20));
//! # Ok::<(), chaconne::conductor::Halt>(())
//! ```

use std::collections::BTreeMap;

use bevy::prelude::{App, Commands, Component, Query, ResMut};
use chaconne::conductor::{Conductor, ConductorConfig};
use chaconne::prelude::*;
use chaconne::sim_core::math::{Quat, Vec3};
use chaconne::traffic::Pose;

/// The cadence of participants that have no other.
pub const PERIOD: SimDuration = SimDuration::from_millis(10);

/// An empty world that is stepped by `threads` threads.
pub fn conductor(threads: usize) -> Conductor {
    let config = ConductorConfig { seed: 42, threads, ..ConductorConfig::default() };
    Conductor::new(config).expect("the default name of a world is valid")
}

/// Adds an actor to a world that takes it.
pub fn add(world: &mut Conductor, actor: Actor) {
    world.add(actor).expect("the worlds of the benches are well formed");
}

/// Publishes one number per step, and takes in what its subscriptions bring.
pub struct Number {
    value: f64,
    period: SimDuration,
    subscriptions: Vec<Subscription>,
}

impl Number {
    /// A participant that starts from a number of its own and listens to nobody.
    pub fn new(seed: usize) -> Self {
        Self { value: seed as f64 * 0.1, period: PERIOD, subscriptions: Vec::new() }
    }

    /// With another cadence.
    pub fn every(self, period: SimDuration) -> Self {
        Self { period, ..self }
    }

    /// With a subscription to every signal under a key.
    pub fn listen(mut self, key: String) -> Self {
        self.subscriptions.push(Subscription::every(key));
        self
    }
}

impl Participant for Number {
    fn subscriptions(&self) -> Vec<Subscription> {
        self.subscriptions.clone()
    }

    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        for signal in ctx.inbox() {
            self.value = signal.decode::<f64>()?;
        }
        self.value += 1.0;
        ctx.publish("value", &self.value)?;
        ctx.after(self.period)
    }
}

/// Holds the latest value of every key that an expression selects, and reads them all at each step.
pub struct Holder {
    key: String,
    period: SimDuration,
}

impl Holder {
    /// A reader of all that `key` selects.
    pub fn new(key: String, period: SimDuration) -> Self {
        Self { key, period }
    }
}

impl Participant for Holder {
    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::latest(self.key.clone())]
    }

    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        for (_, value) in ctx.latest_all::<f64>(&self.key)? {
            std::hint::black_box(*value);
        }
        ctx.after(self.period)
    }
}

/// Publishes a pose per step.
pub struct Body(pub Pose);

impl Participant for Body {
    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        self.0.position.x += self.0.speed * ctx.dt().as_secs_f64();
        ctx.publish("pose", &self.0)?;
        ctx.after(PERIOD)
    }
}

/// A pose with digits as a simulation has them.
pub fn pose(seed: usize) -> Pose {
    let x = seed as f64;
    Pose {
        position: Vec3::new(x * 7.3 + 0.1, x * 0.37 - 1.9, 0.0),
        orientation: Quat::from_yaw(x * 0.01 + 0.3),
        speed: 20.0 + x * 0.013,
    }
}

/// A map of `len` named numbers.
pub fn map(len: usize) -> BTreeMap<String, f64> {
    (0..len).map(|at| (format!("entry-{at}"), at as f64 * 0.7)).collect()
}

/// The key of the number of the participant with this place.
pub fn value_of(at: usize) -> String {
    KeyExpr::of_actor(&name(at), "value")
}

/// The path of the participant with this place. Without leading zeros, so that the order of paths is not that of joining.
pub fn name(at: usize) -> String {
    format!("p{at}")
}

/// `len` participants, all due at every instant, each listening to the one before it.
pub fn ring(world: &mut Conductor, len: usize) {
    for at in 0..len {
        add(world, Actor::of(name(at), Number::new(at).listen(value_of((at + len - 1) % len))));
    }
}

/// A ring of `len` participants of which `due` are due at each instant: one per millisecond and turn.
pub fn sparse_ring(world: &mut Conductor, len: usize, due: usize) {
    let turns = i32::try_from(len / due).expect("the benches' rings are small");
    for (at, turn) in (0..len).zip((0..turns).cycle()) {
        let number = Number::new(at).every(SimDuration::from_millis(turns)).listen(value_of((at + len - 1) % len));
        add(world, Actor::of(name(at), number).first_due(SimTime::from_millis(turn)));
    }
}

/// `len` participants with a cadence of their own each, near 10 ms: nearly every instant has one of them due.
pub fn jittered(world: &mut Conductor, len: usize) {
    for at in 0..len {
        let jitter = SimDuration::from_nanos(at as i64 * 37 % 9_999_991);
        let period = PERIOD.checked_add(jitter).expect("two periods fit");
        add(world, Actor::of(name(at), Number::new(at).every(period)).first_due(SimTime::from_nanos(at as i64)));
    }
}

/// `len` actors of two parts; the second receives the first one's signal in the same instant.
pub fn pipelines(world: &mut Conductor, len: usize) {
    for at in 0..len {
        let sink = Number::new(at).listen("value".to_string());
        add(world, Actor::new(name(at)).child("source", Number::new(at)).child("sink", sink));
    }
}

/// One publisher, and `len` listeners to it.
pub fn fan_out(world: &mut Conductor, len: usize) {
    for at in 0..=len {
        let number = Number::new(at);
        add(world, Actor::of(name(at), if at == 0 { number } else { number.listen(value_of(0)) }));
    }
}

/// `len` publishers, and one listener to them all, whose inbox has to be sorted.
pub fn fan_in(world: &mut Conductor, len: usize) {
    for at in 0..len {
        add(world, Actor::of(name(at), Number::new(at)));
    }
    add(world, Actor::of("sink", Number::new(0).listen(KeyExpr::of_actor("*", "value"))));
}

/// `len` publishers, and one holder of their latest values that steps ten times less often.
pub fn sample_and_hold(world: &mut Conductor, len: usize) {
    for at in 0..len {
        add(world, Actor::of(name(at), Number::new(at)));
    }
    let period = PERIOD.checked_mul(10).expect("ten periods fit");
    add(world, Actor::of("holder", Holder::new(KeyExpr::of_actor("*", "value"), period)));
}

/// An `App` with `len` actors that publish a pose each, mirrored or not.
pub fn mirrored(len: usize, mirrors: Mirroring) -> App {
    let mut app = App::new();
    app.add_plugins(ConductorPlugin { seed: 42, threads: 1, mirrors, ..ConductorPlugin::default() });
    app.mirror::<Pose>("pose");
    for at in 0..len {
        app.add_actor(Actor::of(name(at), Body(pose(at))));
    }
    app
}

/// One agent of the benches' population.
#[derive(Component)]
struct Walker {
    position: f64,
    speed: f64,
}

/// A population of `len` agents that one system moves; it publishes one number per tick.
pub fn walkers(len: usize) -> Population {
    let spawn = move |mut commands: Commands| {
        commands.spawn_batch((0..len).map(|at| Walker { position: 0.0, speed: at as f64 * 0.01 }));
    };
    fn walk(mut walkers: Query<&mut Walker>, mut signals: ResMut<PopulationSignals>) {
        let mut sum = 0.0;
        for mut walker in &mut walkers {
            walker.position += walker.speed * 0.01;
            sum += walker.position;
        }
        signals.publish("sum", sum);
    }
    let plugin = move |app: &mut App| {
        app.add_systems(PopulationStartup, spawn).add_systems(Tick, walk);
    };
    Population::new("walkers", plugin).every(PERIOD)
}
