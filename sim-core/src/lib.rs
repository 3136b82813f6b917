//! What every part of Chaconne agrees on: time, identity, keys, bytes, hashes, random streams, and the contract between
//! a simulator and the world. No Bevy, no input or output, no knowledge of any other crate of the suite.
//!
//! The conductor links it, and so can whoever steps participants elsewhere or recomputes the hashes of a run: all of them
//! agree to the bit on what a run is.
//!
//! # The contract
//!
//! A [`Participant`] is whatever can be stepped: a controller, a physics engine, a sensor, a population. It says what
//! it wants to be given, advances to an instant, and returns the next time it is due:
//!
//! ```
//! use chaconne_sim_core::{Participant, SimDuration, StateWriter, StepCtx, StepResult, Subscription};
//!
//! /// Water flows out of a tank in proportion to its level, at random moments about ten seconds apart.
//! struct Tank {
//!     level: f64,
//! }
//!
//! impl Participant for Tank {
//!     fn subscriptions(&self) -> Vec<Subscription> {
//!         vec![Subscription::every("refill"), Subscription::latest("chaconne/*/actor/*/tap")]
//!     }
//!
//!     fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
//!         for litres in ctx.inbox() {
//!             self.level += litres.decode::<f64>()?; // each refill once, in an order that is part of the run
//!         }
//!         let mut open = 0.0;
//!         for (_, tap) in ctx.latest_all::<f64>("chaconne/*/actor/*/tap")? {
//!             open += *tap; // held until replaced
//!         }
//!         self.level -= self.level * open * ctx.dt().as_secs_f64();
//!         ctx.publish("level", &self.level)?;
//!         let wait = SimDuration::try_from_secs_f64(ctx.rng().exponential(0.1))?;
//!         ctx.after(wait.max(SimDuration::from_nanos(1)))
//!     }
//!
//!     fn write_state(&self, out: &mut StateWriter) {
//!         out.f64(self.level); // part of the fingerprint at every step, published or not
//!     }
//! }
//! ```
//!
//! Given the same inbox at the same times it must do the same: nothing in it may depend on threads, hash order, the
//! wall clock or the entropy of the operating system. Random numbers come from [`StepCtx::rng`], transcendental
//! functions from [`math`]. Then the run is the same, bit for bit, on every platform.
//!
//! # What a run is made of
//!
//! Values become canonical text, texts become contributions, contributions become the hash of a world:
//!
//! ```
//! use chaconne_sim_core::fingerprint::{contribution, tick_hash, world_next, world_start};
//! use chaconne_sim_core::{ActorPath, Key, SimTime, canon};
//!
//! let key = Key::of("plant", &ActorPath::new("tank")?, "level")?;
//! let text = canon::to_vec(&2.50)?;
//! assert_eq!((key.as_str(), text.as_slice()), ("chaconne/plant/actor/tank/level", &b"2.5"[..]));
//!
//! let next_due = SimTime::from_millis(10);
//! let step = contribution("tank", next_due, &[(key.as_str(), 0, &text)], None);
//! let world = world_next(world_start("plant", 42), tick_hash(0, SimTime::ZERO, &[step], &[]));
//! assert_eq!(world.to_string().len(), 32);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Modules
//!
//! | module | what it holds |
//! |---|---|
//! | [`time`] | [`SimTime`], [`SimDuration`]: whole nanoseconds, checked arithmetic, a text form that loses nothing |
//! | [`path`] | [`ActorPath`]: `ego`, `ego/controller` |
//! | [`agent`] | [`AgentId`]: an agent's number in its population |
//! | [`key`] | [`Key`], [`KeyExpr`]: names of signals, with Zenoh's wild cards |
//! | [`canon`] | canonical JSON: one value, one text |
//! | [`fingerprint`] | [`Fingerprint`], [`Frame`], [`StateWriter`]: hashes, to the byte |
//! | [`rng`] | [`DetRng`], [`StreamKey`]: random streams that depend on nothing but their names |
//! | [`math`] | scalars, vectors, quaternions and angles whose bits do not depend on the platform |
//! | [`grid`] | cells, wrap-around, minimum image, neighbourhoods |
//! | [`signal`] | [`Subscription`], [`Payload`]: what participants exchange |
//! | [`participant`], [`context`], [`error`] | the contract: [`Participant`], [`StepCtx`], [`StepResult`] |
//! | [`membership`] | [`JoinRequest`], [`Refusal`]: asking for actors to join and leave |
//! | [`port`] | for those who write hosts: how a participant is stepped, wherever it is |
//! | [`prefetch`] | for those who write hosts: asking ahead for memory |
//!
//! Feature `bevy` makes [`ActorPath`] and [`AgentId`] Bevy components. It is off by default and changes nothing else.

pub mod agent;
pub mod canon;
pub mod context;
pub mod error;
pub mod fingerprint;
pub mod grid;
pub mod key;
pub mod math;
pub mod membership;
pub mod participant;
pub mod path;
pub mod port;
pub mod prefetch;
pub mod rng;
pub mod signal;
pub mod time;

pub use agent::AgentId;
pub use canon::CanonError;
pub use context::{Latest, StepCtx};
pub use error::{PublishError, ReadError, StepError, StepResult};
pub use fingerprint::{Fingerprint, Frame, StateWriter};
pub use key::{Key, KeyError, KeyExpr};
pub use membership::{JoinRequest, Refusal};
pub use participant::Participant;
pub use path::{ActorPath, PathError};
pub use rng::{DetRng, StreamKey};
pub use signal::{Delivery, Payload, SignalValue, Subscription};
pub use time::{SimDuration, SimTime, TimeError};
