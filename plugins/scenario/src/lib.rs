//! Scenario files.
pub mod error;
pub mod factory;
pub mod params;
pub mod quantity;
pub mod scenario;
pub mod text;

#[doc(hidden)]
pub use {schemars, serde};

pub use error::{FactoryError, MakeError, Mistake, ScenarioError};
pub use factory::{ActorSpec, Factories, Loaded, NodeSpec, Setting, Shared, Site};
pub use params::{ParamError, Params};
pub use quantity::{Orientation, Seconds};
pub use scenario::{Overrides, Scenario, scenario_schema, scenario_schema_text};
