//! The conductor: owns simulated time and steps participants in lockstep, each exactly when it is due, under one
//! fingerprint.
//!
//! There is no tick rate. Each participant returns when it is due next; the conductor goes to the earliest due time,
//! steps those who are due then and nobody else, and repeats. In the words of FMI it is the co-simulation algorithm,
//! and an *instant* is a communication point. What participants exchange are *signals*: values published under keys.
//! Everything that they do goes into the world hash, so that two runs with one hash are one run.
//!
//! # Getting started
//!
//! A room that cools down by itself, and a thermostat that looks at it every ten seconds. Both are parts of one actor:
//!
//! ```
//! use bevy_app::App;
//! use chaconne_conductor::{Actor, ConductorAppExt, ConductorPlugin};
//! use chaconne_sim_core::{Participant, SimDuration, SimTime, StepCtx, StepResult, Subscription};
//!
//! struct Thermostat;
//! impl Participant for Thermostat {
//!     fn subscriptions(&self) -> Vec<Subscription> {
//!         vec![Subscription::latest("celsius")] // of its own actor
//!     }
//!     fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
//!         if let Some(celsius) = ctx.latest::<f64>("celsius")? {
//!             ctx.publish("heating", &(*celsius < 20.0))?;
//!         }
//!         ctx.after(SimDuration::from_secs(10))
//!     }
//! }
//!
//! struct Room(f64);
//! impl Participant for Room {
//!     fn subscriptions(&self) -> Vec<Subscription> {
//!         vec![Subscription::latest("heating")]
//!     }
//!     fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
//!         let heating = ctx.latest::<bool>("heating")?.is_some_and(|heating| *heating);
//!         let change = if heating { 0.02 } else { -0.01 }; // in degrees per second
//!         self.0 += change * ctx.dt().as_secs_f64();
//!         ctx.publish("celsius", &self.0)?;
//!         ctx.after(SimDuration::from_secs(1))
//!     }
//! }
//!
//! let run = |seed| {
//!     let mut app = App::new();
//!     app.add_plugins(ConductorPlugin { seed, ..Default::default() })
//!         .add_actor(Actor::new("office").child("thermostat", Thermostat).child("room", Room(19.0)));
//!     app.run_headless(SimTime::from_secs(600))
//! };
//! let report = run(42);
//! assert_eq!((report.ticks, report.steps), (600, 660));
//! assert_eq!(report.world_hash, run(42).world_hash);
//! assert_ne!(report.world_hash, run(43).world_hash);
//! ```
//!
//! Without Bevy's `App`, a [`Conductor`] does the same by hand: see the module [`conductor`].
//!
//! # What an instant is
//!
//! ```text
//!  agenda ──► due leaves ──► StepRequest ──► host ──► StepReply ──► fold ──► tick hash ──► world hash
//!    ▲        in the         time, inboxes,  steps    due times,      │
//!    │        world's order  sequence        actors   contributions,  ├──► inboxes of those who step later
//!    │                       numbers                  signals         ├──► monitors
//!    └────────────────────────────────────────────────────────────────┘    next due times
//! ```
//!
//! 1. The earliest time in the agenda becomes now. Plans to join and to leave come true.
//! 2. Those who are due stand in the *world's order*: actors in the order of their joining, the parts of each in
//!    pipeline order, and an actor under another's path directly after it.
//! 3. A [host] steps them. Actors that are due at one instant cannot see each other's signals of that instant, so
//!    they may be stepped side by side, on any thread.
//! 4. What they did is folded in the world's order, whoever was ready first: due times go to the agenda, signals to
//!    inboxes, contributions to the tick hash, the tick hash to the world hash.
//!
//! 5. At the *barrier* behind the fold, what participants asked for is granted or refused: who joins, who leaves.
//!
//! So the number of threads, the wall clock, mirrors and monitors change no bit of a run. The layout of the hashes is
//! in [`chaconne_sim_core::fingerprint`].
//!
//! [`SimTime::MAX`](chaconne_sim_core::SimTime::MAX) as a next due time means *never again*; when nobody is due any
//! more, the run ends. Running until T steps every instant before T and none at T, so that a run in pieces equals one
//! run.
//!
//! # Who sees a signal when
//!
//! | receiver | sees what was published at T |
//! |---|---|
//! | a later part of the same actor that is due at T | at T |
//! | a later part that is not due at T, an earlier part, the publisher itself | at its next step, once |
//! | another actor, also one under the publisher's path | at its next step after T |
//!
//! ```text
//!              instant T                                       its next step after T
//!  ┌─ ego ────────────────────────────────────┐
//!  │ controller ── publishes ──┬─► physics    │      ┌─► ego/controller   the publisher
//!  │                           │   due at T   │      ├─► ego/gearbox      a later part, not due at T
//!  │                           └──────────────┼──────┼─► ego/camera       an actor under ego's path
//!  └──────────────────────────────────────────┘      └─► lead             another actor
//! ```
//!
//! So an actor made of parts is a pipeline: within it a command reaches the physics without delay. Between actors there
//! is always one step of delay, which is what makes their order at one instant meaningless. A part that should be seen
//! one step later, or leave alone, is an actor of its own under the other's path (`ego/camera`); it leaves with its
//! parent.
//!
//! ```
//! use std::sync::mpsc::{self, Sender};
//!
//! use chaconne_conductor::{Actor, Conductor, ConductorConfig};
//! use chaconne_sim_core::{KeyExpr, Participant, SimDuration, SimTime, StepCtx, StepResult, Subscription};
//!
//! struct Clock;
//! impl Participant for Clock {
//!     fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
//!         ctx.publish("time", &ctx.now())?;
//!         ctx.after(SimDuration::from_secs(1))
//!     }
//! }
//!
//! /// Tells how old each signal is when it is seen.
//! struct Watch(Sender<(String, SimDuration)>);
//! impl Participant for Watch {
//!     fn subscriptions(&self) -> Vec<Subscription> {
//!         vec![Subscription::every(KeyExpr::of_actor("tower", "time"))]
//!     }
//!     fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
//!         for signal in ctx.inbox() {
//!             self.0.send((ctx.path().to_string(), ctx.now().since(signal.time())?))?;
//!         }
//!         ctx.after(SimDuration::from_secs(1))
//!     }
//! }
//!
//! let (told, heard) = mpsc::channel();
//! let mut world = Conductor::new(ConductorConfig::default())?;
//! world.add(Actor::new("tower").child("clock", Clock).child("face", Watch(told.clone())))?;
//! world.add(Actor::of("passer-by", Watch(told)))?;
//! world.run_until(SimTime::from_secs(2))?;
//!
//! let ages: Vec<_> = heard.try_iter().map(|(who, age)| (who, age.to_string())).collect();
//! let expected = [("tower/face", "0.0"), ("tower/face", "0.0"), ("passer-by", "1.0")];
//! assert_eq!(ages, expected.map(|(who, age)| (who.to_string(), age.to_string())));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Keys and delivery
//!
//! A signal has a key, `chaconne/{world}/actor/{path}/{signal}`. A text that does not begin with `chaconne/` is
//! relative to one's own *actor*, not to the part that says it: `ego/controller` publishes `steering` as
//! `chaconne/{world}/actor/ego/steering`, and `ego/physics` subscribes to it as `steering`. Others use
//! [`KeyExpr::of_actor`](chaconne_sim_core::KeyExpr::of_actor), with Zenoh's wild cards where many are meant
//! (`of_actor("*", "pose")`). One publishes only one's own signals and those of an ancestor.
//!
//! A [subscription](chaconne_sim_core::Subscription) asks for *every* signal since the last step, or for the *latest*
//! per key: sample and hold, with its age, also the value from before one joined. A held value dies
//! with its publisher: like a signal, a leave at a time shows at steps after it.
//! Signals wake nobody: a participant sees them when it is due. Inboxes are sorted by (time, publisher's path as bytes,
//! sequence number), never by arrival, and overlapping subscriptions deliver a signal once.
//!
//! # Joining and leaving
//!
//! Actors join and leave while the run goes on, each as a whole and with all under its path. A join names the time at which
//! the actor is first due, a leave the first time at which it is not stepped. Three may ask:
//!
//! | who | how | when it takes effect | a refusal is |
//! |---|---|---|---|
//! | a driver, the code around the world | [`Conductor::add`], [`leave`](Conductor::leave) | now, between two instants | an `Err` |
//! | a plan | [`Actor::joins_at`], [`Actor::leaves_at`], [`Conductor::leave_at`] | before the first instant that is not before its time; leaves first | told in [`RunReport::refused`] |
//! | a participant | `ctx.join`, `ctx.leave`, `ctx.leave_at` | at the barrier of its step, in the order of (place in the world, order of asking) | in its next inbox: `ctx.refusals` |
//!
//! A request that is refused (a path that is taken, a time that was stepped, an unknown factory) changes nothing. Whoever joins
//! is last in the world's order, or directly after its parent; who joins again at a path that it had is a new arrival. Its
//! `latest` subscriptions hold the values from before it came, and its inbox begins behind the barrier. Numbers of signals never
//! restart for a path: those of one that joins after the first instant begin at the number of all signals before.
//!
//! ```
//! use chaconne_conductor::{Actor, Conductor, ConductorConfig};
//! use chaconne_sim_core::membership::JoinRequest;
//! use chaconne_sim_core::{ActorPath, Participant, SimDuration, SimTime, StepCtx, StepResult};
//!
//! struct Egg;
//! impl Participant for Egg {
//!     fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
//!         Ok(ctx.never())
//!     }
//! }
//!
//! /// Lays an egg per second, three in all, and goes.
//! struct Hen(u32);
//! impl Participant for Hen {
//!     fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
//!         self.0 += 1;
//!         ctx.join(JoinRequest::new(format!("egg-{}", self.0), "egg"));
//!         if self.0 == 3 {
//!             let hen = ctx.actor().to_string();
//!             ctx.leave(hen);
//!         }
//!         ctx.after(SimDuration::from_secs(1))
//!     }
//! }
//!
//! let mut world = Conductor::new(ConductorConfig::default())?;
//! // Whoever makes actors of requests: chaconne-scenario has one that knows registered factories.
//! world.set_maker(|_: &JoinRequest, path: &ActorPath| Ok(Actor::of(path.as_str(), Egg)));
//! world.add(Actor::of("hen", Hen(0)))?;
//! world.run_until(SimTime::from_secs(60))?;
//! let report = world.report();
//! assert_eq!((report.participants, report.joins, report.leaves, report.refusals), (3, 4, 1, 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # In a Bevy App
//!
//! [`ConductorPlugin`] advances the world in the schedule [`Conduct`], before `Update`, for as many instants as fit its
//! slice of wall time; [`RunStatus`] says how far it is, and [`RunEnded`] is triggered at the end while the `World` is
//! still there. [`ConductorAppExt`] adds actors, populations and monitors, in any order with the plugin, and runs
//! without a window.
//!
//! Actors are *mirrored* as entities with `Name`, `ActorPath`, `ChildOf`, [`NextDue`] and [`StepCounters`], and
//! `app.mirror::<T>("signal")` keeps the newest value of a signal on them as a [`Signal<T>`](Signal). The conductor's
//! tables are the truth: what is written to a mirror changes nothing, but despawning that of an actor asks for the
//! actor to leave, and reparenting one halts the run.
//!
//! ```
//! use bevy_app::App;
//! use bevy_ecs::prelude::*;
//! use chaconne_conductor::{Actor, ConductorAppExt, ConductorPlugin, RunEnded, Signal};
//! use chaconne_sim_core::{ActorPath, Participant, SimDuration, SimTime, StepCtx, StepResult};
//!
//! struct Dice;
//! impl Participant for Dice {
//!     fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
//!         let pips: u8 = ctx.rng().range_inclusive(1..=6);
//!         ctx.publish("pips", &pips)?;
//!         ctx.after(SimDuration::from_secs(1))
//!     }
//! }
//!
//! fn report(end: On<RunEnded>, dice: Query<(&ActorPath, &Signal<u8>)>) {
//!     assert!(end.report.is_complete());
//!     for (path, pips) in &dice {
//!         println!("{path}: {}, thrown at {} s", **pips, pips.time);
//!     }
//! }
//!
//! let mut app = App::new();
//! app.add_plugins(ConductorPlugin { seed: 42, end: Some(SimTime::from_secs(10)), ..Default::default() })
//!     .mirror::<u8>("pips")
//!     .add_actor(Actor::of("left", Dice))
//!     .add_actor(Actor::of("right", Dice))
//!     .add_observer(report);
//! let report = app.run_headless(SimTime::MAX);
//! assert_eq!(report.signals, 20);
//! let thrown = app.world_mut().query::<&Signal<u8>>().iter(app.world()).count();
//! assert_eq!(thrown, 2);
//! ```
//!
//! # Real time, stopping, and where the time goes
//!
//! [`ConductorPlugin::pacing`] keeps a run in step with the wall clock: [`Pacing::RealTime`] with a factor, against one
//! anchor, so that small delays do not add up, and with a limit beyond which a run that was held up is not caught up with.
//! [`RunReport::pacing`] says how late instants were. None of this changes a bit of a run: waiting happens between two
//! instants.
//!
//! A [`StopHandle`] ends a run from outside at the next barrier, with its log complete; an `App` that exits does the same,
//! and so do Ctrl-C and SIGTERM with the feature `signals`. [`RunReport::stopped`] says that it happened.
//!
//! [`ConductorPlugin::timing`] measures what every participant's steps take: [`RunReport::timing`], which prints as a
//! table, and with the feature `diagnostics` Bevy's diagnostics.
//!
//! # Populations
//!
//! A [`Population`] is a participant that owns a `World` of agents: an ordinary Bevy plugin adds systems to its
//! schedules [`PopulationStartup`] and [`Tick`]. It is stepped, timed and fingerprinted like any participant, and
//! exchanges data with the rest only by signals, through [`PopulationSignals`]. See the module [`population`].
//!
//! # When a run halts
//!
//! A step that returns an error or panics, a publish that failed (also when the participant swallowed its error), a
//! next due time that does not lie after now, steps that take longer than their actor's timeout, a helper process that
//! ended or sent what it may not, an error at registration, a monitor that failed and a mirror that was
//! changed in a way that cannot be followed halt the run. The [report](RunReport) names path, instant and cause; of
//! several participants that failed, the first in the world's order. The world hash is that of the last whole instant.
//!
//! What an actor or its helper process does wrong need not end the run: with [`OnFailure::Remove`] the actor leaves, with all
//! under its path, and the others go on. [`RunReport::removed`] and the log say who left, when, and why; a run in which
//! the same leaves are planned is the same run. See the module [`hosting`].
//!
//! # Where to find what
//!
//! | topic | items |
//! |---|---|
//! | actors made of participants, trees of them | [`Actor`], [`Group`], module [`composite`] |
//! | a world by hand: add, step, leave, read | [`Conductor`], [`ConductorConfig`] |
//! | a world in an `App`; order among its systems | [`ConductorPlugin`], [`ConductorAppExt`], [`Conduct`], [`ConductorSystems`] |
//! | what a run did | [`RunReport`], [`RunStatus`], [`RunEnded`] |
//! | real time, and how late instants were | [`Pacing`], [`PacingReport`], module [`pacing`] |
//! | ending a run from outside | [`StopHandle`], `SignalsPlugin` |
//! | what the time went to | [`TimingReport`], `ConductorDiagnosticsPlugin` |
//! | entities that follow actors | [`Mirror`], [`Mirroring`], [`Signal`], [`NextDue`], [`StepCounters`] |
//! | agents in a `World` of their own | [`Population`], [`PopulationSignals`], [`PopulationRun`] |
//! | joining and leaving at run time | [`Conductor::add`], [`ActorMaker`], [`ConductorWorldExt`], module [`membership`] |
//! | looking on without taking part | [`Monitor`], [`RunStart`], module [`monitor`] |
//! | where actors are stepped, timeouts, and what is done with those that fail | [`Hosting`], [`Placement`], [`OnFailure`], module [`hosting`] |
//! | helper processes, and hosts of one's own | [`HelperProgram`], module [`host`] |
//! | what can go wrong | [`RegistrationError`], [`LeaveError`], [`Halt`], [`HaltCause`] |

mod agenda;
mod clock;
pub mod composite;
pub mod conductor;
mod delivery;
#[cfg(feature = "diagnostics")]
pub mod diagnostics;
mod driver;
pub mod error;
mod failing;
pub mod host;
pub mod hosting;
mod instant;
pub mod membership;
pub mod mirror;
pub mod monitor;
pub mod pacing;
pub mod plugin;
pub mod population;
mod registry;
mod routing;
pub mod run;
#[cfg(feature = "signals")]
pub mod signals;
mod span;
pub mod stop;
pub mod timing;

pub use composite::{Actor, Group, Node};
pub use conductor::{Conductor, ConductorConfig};
#[cfg(feature = "diagnostics")]
pub use diagnostics::ConductorDiagnosticsPlugin;
pub use error::{Halt, HaltCause, LeaveError, RegistrationError};
pub use host::process::HelperProgram;
pub use hosting::{HelperName, Hosting, OnFailure, Placement};
pub use membership::ActorMaker;
pub use mirror::{Mirror, MirrorKind, Mirroring, NextDue, Signal, StepCounters};
pub use monitor::{Monitor, MonitorError, Observation, Observed, RunStart};
pub use pacing::{Pacing, PacingReport};
pub use plugin::{Conduct, ConductorAppExt, ConductorPlugin, ConductorSystems, ConductorWorldExt, RunEnded, RunStatus};
pub use population::{Population, PopulationParticipant, PopulationRun, PopulationSignals, PopulationStartup, Tick};
pub use run::RunReport;
#[cfg(feature = "signals")]
pub use signals::SignalsPlugin;
pub use stop::StopHandle;
pub use timing::{Timed, TimingReport};
