//! Identity of agents inside a population.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The number of an agent in its population: counts up from zero and is never reused.
///
/// An id outlives its agent: what is sent to the dead is counted and reported, and reaches nobody else. Agents are ordered,
/// seeded and logged by this number, never by an entity's.
///
/// ```
/// use chaconne_sim_core::agent::AgentId;
///
/// assert_eq!(AgentId(7).to_string(), "7");
/// assert!(AgentId(7) < AgentId(10));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "bevy", derive(bevy_ecs::component::Component))]
pub struct AgentId(pub u64);

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_the_number() {
        assert_eq!(serde_json::to_string(&AgentId(u64::MAX)).unwrap(), "18446744073709551615");
        assert_eq!(serde_json::from_str::<AgentId>("3").unwrap(), AgentId(3));
    }
}
