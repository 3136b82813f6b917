//! What a scenario file may say. These types are read, and the schema is made from them.

use chaconne_sim_core::time::{SimDuration, SimTime};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::params::{Placed, Unread};
use crate::quantities;
use crate::quantity::{Instant, Period, Range};

quantities! {
    /// A point in simulated time after zero.
    pub(super) struct Later(SimTime) = Range::new("s").above(SimTime::ZERO).below(SimTime::MAX);
    /// How long the steps of an actor may take in wall time.
    pub(super) struct Timeout(SimDuration) =
        Range::new("s").above(SimDuration::ZERO).up_to(SimDuration::from_secs(3600));
    /// An amount of memory.
    pub(super) struct Mebibytes(u32) = Range::new("MiB").from(16).up_to(1_048_576);
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

/// Declares what can be hosted: its own fields, and those of every actor.
macro_rules! hosted {
    ($(#[$attribute:meta])* pub(super) struct $name:ident { $($fields:tt)* }) => {
        $(#[$attribute])*
        pub(super) struct $name {
            $($fields)*
            /// Where it is stepped, which changes no result: `local` unless given, or `guarded` when a `timeout` is.
            host: Option<HostKind>,
            /// The helper process that it shares with all that name the same one; one of its own unless given. Of actors with
            /// `host: "process"` only.
            helper: Option<Placed<String>>,
            /// How long its steps at one instant may take together, in wall time; 60 s unless given. Not of actors with
            /// `host: "local"`.
            timeout: Option<Placed<Timeout>>,
            /// What is done when it fails; `halt` unless given.
            on_failure: Option<FailureKind>,
            /// How much memory its helper process may take; as much as there is unless given. Of several actors that share
            /// a helper the first one decides. Of actors with `host: "process"` only.
            memory_mib: Option<Placed<Mebibytes>>,
            /// How long a step of each of its participants should take at most, in wall time. Steps that take longer are
            /// counted; nothing else happens.
            budget: Option<Period>,
        }

        impl $name {
            /// What is said of its host.
            pub(super) fn host(&self) -> HostFields {
                HostFields {
                    host: self.host,
                    helper: self.helper.clone(),
                    timeout: self.timeout.clone(),
                    on_failure: self.on_failure.unwrap_or_default(),
                    memory: self.memory_mib.clone(),
                    budget: self.budget,
                }
            }
        }
    };
}

/// What an entry says of where it is stepped.
pub(super) struct HostFields {
    pub(super) host: Option<HostKind>,
    pub(super) helper: Option<Placed<String>>,
    pub(super) timeout: Option<Placed<Timeout>>,
    pub(super) on_failure: FailureKind,
    pub(super) memory: Option<Placed<Mebibytes>>,
    pub(super) budget: Option<Period>,
}

/// Where an actor is stepped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Host")]
pub(super) enum HostKind {
    /// In this process, by the threads that step everybody else.
    Local,
    /// In this process, on a thread of its own that may never come back.
    Guarded,
    /// In a helper process, whose end is not the end of the run.
    Process,
}

/// What is done when an actor fails: when a step returns an error, panics or takes longer than its timeout, or when its
/// process ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "OnFailure")]
pub(super) enum FailureKind {
    /// The run halts.
    #[default]
    Halt,
    /// The actor leaves, with all under its path, and the run goes on.
    Remove,
}

hosted! {
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
    /// How long a step of it, or of each of its parts, should take at most, in wall time. Goes before that of what it is a
    /// part of.
    pub(super) budget: Option<Period>,
}

hosted! {
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
}

hosted! {
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
