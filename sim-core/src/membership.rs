//! Requests to join and to leave, and what comes back when one is refused.
//!
//! A participant asks with [`StepCtx::join`](crate::context::StepCtx::join) and [`leave`](crate::context::StepCtx::leave).
//! Requests of one instant apply at its barrier, in the order of (requester's place in the world, order of asking). One
//! that cannot be granted changes nothing, and is told to its requester at its next step as a [`Refusal`].
//!
//! Who joins is named by a *factory*, registered under a name, and parameters in JSON: so a request can be written in a
//! file, made by a participant, or sent over a network.
//!
//! ```
//! use chaconne_sim_core::membership::JoinRequest;
//! use chaconne_sim_core::{Participant, SimDuration, StepCtx, StepResult};
//! use serde::Serialize;
//!
//! #[derive(Serialize)]
//! struct Car { lane: usize, speed: f64 }
//!
//! /// Lets a car join every two seconds, and the one before it leave.
//! struct Spawner { cars: u64 }
//! impl Participant for Spawner {
//!     fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
//!         if let Some(refusal) = ctx.refusals().next() {
//!             return Err(refusal.to_string().into());
//!         }
//!         let speed = ctx.rng().range(16.0..22.0);
//!         ctx.join(JoinRequest::new(format!("car-{}", self.cars), "car").with(&Car { lane: 0, speed })?);
//!         if let Some(last) = self.cars.checked_sub(1) {
//!             ctx.leave(format!("car-{last}"));
//!         }
//!         self.cars += 1;
//!         ctx.after(SimDuration::from_secs(2))
//!     }
//! }
//! ```

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::canon::{self, CanonError};
use crate::time::SimTime;

/// Asks for an actor to join the world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JoinRequest {
    /// The path at which it is to stand; several segments place it under another actor.
    pub path: String,
    /// What it is made of.
    pub node: NodeRequest,
    /// When it is first due; later than the instant of the request. Without one, one nanosecond after it.
    #[serde(default)]
    pub first_due: Option<SimTime>,
    /// The first time at which it is not stepped any more; later than the instant of the request.
    #[serde(default)]
    pub leaves_at: Option<SimTime>,
}

/// A place in the tree of an actor that is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum NodeRequest {
    /// What a factory makes: a participant, or a group of them.
    Made {
        /// The name under which the factory is registered.
        factory: String,
        /// Its parameters: one JSON value as text.
        params: String,
    },
    /// Ordered children with their names.
    Group(Vec<(String, NodeRequest)>),
}

impl NodeRequest {
    /// What the factory registered as `factory` makes of these parameters.
    ///
    /// # Errors
    /// When the parameters have no canonical text: a NaN, an infinity.
    pub fn made(factory: impl Into<String>, params: &impl Serialize) -> Result<Self, CanonError> {
        Ok(Self::Made { factory: factory.into(), params: canon::to_string(params)? })
    }
}

impl JoinRequest {
    /// An actor at `path` that the factory registered as `factory` makes, without parameters.
    pub fn new(path: impl Into<String>, factory: impl Into<String>) -> Self {
        Self::of(path, NodeRequest::Made { factory: factory.into(), params: "{}".to_string() })
    }

    /// An actor at `path` made of this node.
    pub fn of(path: impl Into<String>, node: NodeRequest) -> Self {
        Self { path: path.into(), node, first_due: None, leaves_at: None }
    }

    /// With these parameters for its factory; for a group they say nothing.
    ///
    /// # Errors
    /// When the parameters have no canonical text: a NaN, an infinity.
    pub fn with(mut self, params: &impl Serialize) -> Result<Self, CanonError> {
        if let NodeRequest::Made { params: text, .. } = &mut self.node {
            *text = canon::to_string(params)?;
        }
        Ok(self)
    }

    /// With this first due time, which must be later than the instant of the request.
    pub fn first_due(mut self, time: SimTime) -> Self {
        self.first_due = Some(time);
        self
    }

    /// With a time from which on it is not stepped any more.
    pub fn leaves_at(mut self, time: SimTime) -> Self {
        self.leaves_at = Some(time);
        self
    }
}

/// Asks for an actor, and all under its path, to leave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaveRequest {
    /// The actor's path.
    pub path: String,
    /// The first time at which it is not stepped; later than the instant of the request, and instead of what was planned for
    /// the actor before. Without one, one nanosecond after it.
    #[serde(default)]
    pub time: Option<SimTime>,
}

/// A request, as a step leaves it for the barrier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Request {
    /// To join.
    Join(JoinRequest),
    /// To leave.
    Leave(LeaveRequest),
}

/// What a refused request was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RefusedKind {
    /// A join.
    Join,
    /// A leave.
    Leave,
}

/// Says why a request was not granted. Comes to the requester's next inbox, under the key
/// `chaconne/{world}/conductor/refused`, whether it subscribed to it or not; to nobody else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// What was asked for.
    pub request: RefusedKind,
    /// The path that should have joined or left.
    pub path: String,
    /// The reason, in a sentence.
    pub reason: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_reads_back_from_its_text() {
        let part = |name: &str| (name.to_string(), NodeRequest::made("part", &[0.1, -0.0]).unwrap());
        let request = JoinRequest::of("ego", NodeRequest::Group(vec![part("a"), part("b")]))
            .first_due(SimTime::from_nanos(1))
            .leaves_at(SimTime::from_secs(2));
        let request = Request::Join(request);
        let text = canon::to_string(&request).unwrap();
        assert!(text.starts_with(r#"{"join":{"path":"ego","node":{"group":[["a",{"made":"#), "{text}");
        assert_eq!(canon::from_slice::<Request>(text.as_bytes()).unwrap(), request);
    }

    #[test]
    fn parameters_without_a_text_are_refused_where_they_are_given() {
        assert!(JoinRequest::new("a", "b").with(&f64::NAN).is_err());
    }
}
