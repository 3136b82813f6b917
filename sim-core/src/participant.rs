//! The contract between a simulator and the world: three methods, free of Bevy and of transport.
//!
//! A participant that integrates:
//!
//! ```
//! use chaconne_sim_core::{participant::Participant, context::StepCtx, error::StepResult, signal::Subscription,
//!     time::SimDuration};
//!
//! struct Tank { level: f64 }
//!
//! impl Participant for Tank {
//!     fn subscriptions(&self) -> Vec<Subscription> {
//!         vec![Subscription::latest("inflow")]
//!     }
//!
//!     fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
//!         let inflow = ctx.latest::<f64>("inflow")?.map_or(0.0, |flow| *flow);
//!         self.level += inflow * ctx.dt().as_secs_f64();
//!         ctx.publish("level", &self.level)?;
//!         ctx.after(SimDuration::from_millis(10))
//!     }
//! }
//! ```

use crate::context::StepCtx;
use crate::error::StepResult;
use crate::fingerprint::StateWriter;
use crate::signal::Subscription;

/// A simulator that the conductor steps: a controller, a physics engine, a sensor, a population.
///
/// Given the same inbox at the same times it must publish the same signals and return the same due times: nothing in it
/// may depend on threads, hash order, the wall clock or operating-system entropy. Random numbers come from
/// [`StepCtx::rng`].
pub trait Participant: Send {
    /// What this participant wants to be given. Asked once, when its actor joins.
    fn subscriptions(&self) -> Vec<Subscription> {
        Vec::new()
    }

    /// Advances to [`StepCtx::now`] and returns the next time it is due, which must lie after now
    /// ([`SimTime::MAX`](crate::time::SimTime::MAX): never again; signals wake nobody).
    ///
    /// # Errors
    /// An error halts the run, and the run's report names this participant, the instant and the error.
    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult;

    /// Optional: writes the state that should be part of the fingerprint, called after every step. What is written is
    /// hashed, so two runs differ as soon as their states do, not only when what they publish does.
    fn write_state(&self, _out: &mut StateWriter) {}
}

impl<P: Participant + ?Sized> Participant for Box<P> {
    fn subscriptions(&self) -> Vec<Subscription> {
        (**self).subscriptions()
    }

    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        (**self).step(ctx)
    }

    fn write_state(&self, out: &mut StateWriter) {
        (**self).write_state(out);
    }
}
