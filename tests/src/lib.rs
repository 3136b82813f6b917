//! Helpers of the tests: participants whose behaviour is written down in the test itself, worlds made of them, and traces
//! of what reaches them.
//!
//! A [`Probe`] steps when it is told, publishes what it is told, and writes a line of its [`Trace`] at every step:
//!
//! ```
//! use chaconne_tests::{Probe, Trace, of, run};
//! use chaconne_conductor::Actor;
//!
//! let trace = Trace::default();
//! run(
//!     [
//!         Actor::of("a", Probe::every(1).says("x")),
//!         Actor::of("b", Probe::every(2).hears(of("a", "x")).traced(&trace)),
//!     ],
//!     3,
//! );
//! assert_eq!(trace.lines(), ["0 b: -", "2 b: a/x#0@0=0, a/x#1@1=1"]);
//! ```

#![allow(clippy::unwrap_used, reason = "a helper of tests fails its test by panicking")]

pub mod crowd;
pub mod made;
mod probe;
pub mod recheck;
pub mod reference;
mod trace;

pub use probe::{Acting, Probe, acting};
pub use trace::{Trace, short};

use chaconne_conductor::{Actor, Conductor, ConductorConfig, Halt};
use chaconne_sim_core::{ActorPath, KeyExpr, SimDuration, SimTime};

/// Whole seconds as a time.
pub fn at(secs: i32) -> SimTime {
    SimTime::from_secs(secs)
}

/// Whole seconds as a duration.
pub fn secs(secs: i32) -> SimDuration {
    SimDuration::from_secs(secs)
}

/// A path.
///
/// # Panics
/// When the text is none.
pub fn path(text: &str) -> ActorPath {
    ActorPath::new(text).unwrap()
}

/// The text of a subscription to an actor's signal, whatever the world.
pub fn of(actor: &str, signal: &str) -> String {
    KeyExpr::of_actor(actor, signal)
}

/// The settings of the tests' worlds: world `w`, seed 1, one thread, typed hand-over.
pub fn config() -> ConductorConfig {
    ConductorConfig { world: "w".to_string(), seed: 1, threads: 1, typed: true, ..ConductorConfig::default() }
}

/// A world of these actors, in this order.
///
/// # Panics
/// When an actor is refused.
pub fn world(actors: impl IntoIterator<Item = Actor>) -> Conductor {
    world_with(config(), actors)
}

/// As [`world`], with other settings.
///
/// # Panics
/// When an actor is refused.
pub fn world_with(config: ConductorConfig, actors: impl IntoIterator<Item = Actor>) -> Conductor {
    let mut conductor = Conductor::new(config).unwrap();
    for actor in actors {
        conductor.add(actor).unwrap();
    }
    conductor
}

/// A world of these actors, after every instant before `until` seconds.
///
/// # Panics
/// When an actor is refused, or the run halts.
pub fn run(actors: impl IntoIterator<Item = Actor>, until: i32) -> Conductor {
    let mut world = world(actors);
    world.run_until(at(until)).unwrap();
    world
}

/// The halt that ends a world of these actors within a thousand instants.
///
/// # Panics
/// When an actor is refused, or the run does not halt.
pub fn halt(actors: impl IntoIterator<Item = Actor>) -> Halt {
    let mut world = world(actors);
    (0..1_000).find_map(|_| world.step_instant().err()).expect("the run halts")
}
