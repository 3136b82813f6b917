//! What a scenario file may say. These types are read, and the schema is made from them.

use chaconne_sim_core::time::SimTime;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::params::{Placed, Unread};
use crate::quantities;
use crate::quantity::{Instant, Period, Range};

quantities! {
    /// A point in simulated time after zero.
    pub(super) struct Later(SimTime) = Range::new("s").above(SimTime::ZERO).below(SimTime::MAX);
}

/// The fields of a file that are the format's own.
pub(crate) const FIELDS: [&str; 9] =
    ["$schema", "about", "actors", "end", "joins", "leaves", "populations", "seed", "world"];

/// A world: what is in it, who comes and who goes. Times are in seconds.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Scenario")]
pub(super) struct ScenarioFile {
    /// The world's name, which its keys and its fingerprint contain: letters, digits, `_` and `-`.
    pub(super) world: Placed<String>,
    /// The seed of all random streams; 0 unless given.
    #[serde(default)]
    pub(super) seed: u64,
    /// The end of the run: the first instant that is not stepped. Without it the run ends when nobody is due any more.
    pub(super) end: Option<Later>,
    /// What this scenario is about.
    #[serde(default, rename = "about")]
    pub(super) _about: Option<String>,
    /// The actors of the first instant, in the world's order.
    #[serde(default)]
    pub(super) actors: Vec<Unread<ActorEntry>>,
    /// Populations of the first instant, behind the actors in the world's order.
    #[serde(default)]
    pub(super) populations: Vec<Unread<PopulationEntry>>,
    /// Actors that join later, by time and then in this order.
    #[serde(default)]
    pub(super) joins: Vec<Unread<JoinEntry>>,
    /// Actors that leave before the run ends. At one time leaves come before joins.
    #[serde(default)]
    pub(super) leaves: Vec<Unread<LeaveEntry>>,
}

/// An actor.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Actor")]
pub(super) struct ActorEntry {
    /// Its path: `ego`, or `ego/camera` under another actor, which has to stand before it.
    pub(super) path: Placed<String>,
    /// The name of the factory that makes it. Either this or `children`.
    #[serde(rename = "type")]
    pub(super) kind: Option<Placed<String>>,
    /// What the factory is given.
    pub(super) params: Option<Unread<Given>>,
    /// Its parts, in the order of their pipeline.
    pub(super) children: Option<Placed<Vec<Unread<ChildEntry>>>>,
    /// The first instant at which it is due; 0 unless given.
    pub(super) first_due: Option<Instant>,
    /// The first instant at which it is not stepped any more.
    pub(super) leaves_at: Option<Placed<Later>>,
}

/// A part of an actor.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Child")]
pub(super) struct ChildEntry {
    /// Its name: the last segment of its path.
    pub(super) name: Placed<String>,
    /// The name of the factory that makes it. Either this or `children`.
    #[serde(rename = "type")]
    pub(super) kind: Option<Placed<String>>,
    /// What the factory is given.
    pub(super) params: Option<Unread<Given>>,
    /// Its parts, in the order of their pipeline.
    pub(super) children: Option<Placed<Vec<Unread<ChildEntry>>>>,
}

/// A population.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Population")]
pub(super) struct PopulationEntry {
    /// Its path.
    pub(super) path: Placed<String>,
    /// The name of the factory that makes it.
    #[serde(rename = "type")]
    pub(super) kind: Placed<String>,
    /// The time between ticks; what the factory says unless given.
    pub(super) every: Option<Period>,
    /// What the factory is given.
    pub(super) params: Option<Unread<Given>>,
    /// The time of its first tick; 0 unless given.
    pub(super) first_due: Option<Instant>,
    /// The first instant at which it does not tick any more.
    pub(super) leaves_at: Option<Placed<Later>>,
}

/// An actor that joins later.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Join")]
pub(super) struct JoinEntry {
    /// When it joins, which is the first instant at which it is due.
    pub(super) at: Instant,
    /// Its path: `ego`, or `ego/camera` under an actor that is in the world by then.
    pub(super) path: Placed<String>,
    /// The name of the factory that makes it. Either this or `children`.
    #[serde(rename = "type")]
    pub(super) kind: Option<Placed<String>>,
    /// What the factory is given.
    pub(super) params: Option<Unread<Given>>,
    /// Its parts, in the order of their pipeline.
    pub(super) children: Option<Placed<Vec<Unread<ChildEntry>>>>,
    /// The first instant at which it is not stepped any more.
    pub(super) leaves_at: Option<Placed<Later>>,
}

/// A leave.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Leave")]
pub(super) struct LeaveEntry {
    /// The first instant at which the actor, and all under its path, is not stepped any more.
    pub(super) at: Later,
    /// Its path.
    pub(super) path: Placed<String>,
}

/// What a factory is given: read by the factory.
pub(super) struct Given;

impl JsonSchema for Given {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Given".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!(true)
    }
}
