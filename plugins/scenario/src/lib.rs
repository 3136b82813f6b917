//! Scenario files: worlds written in JSON5, made by registered factories, with every mistake shown at its place.
//!
//! A *scenario* says what is in a world: actors and populations, who joins later, who leaves, the seed and the end. What can be
//! in it is what somebody has registered with [`Factories`]: a name, a type for the parameters, and a function that makes a
//! participant, a group of them or a population. The same factories serve joins at run time.
//!
//! # Getting started
//!
//! ```
//! use std::path::Path;
//!
//! use chaconne_conductor::{Conductor, ConductorConfig};
//! use chaconne_scenario::quantity::{Period, Range};
//! use chaconne_scenario::{Factories, Overrides, Scenario, Site};
//! use chaconne_sim_core::{Participant, SimDuration, SimTime, StepCtx, StepResult};
//!
//! chaconne_scenario::quantities! {
//!     /// A temperature.
//!     pub struct Celsius(f64) = Range::new("°C").from(-50.0).up_to(60.0);
//! }
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! #[serde(deny_unknown_fields)]
//! struct RoomParams {
//!     celsius: Celsius,
//!     every: Period,
//! }
//!
//! struct Room {
//!     celsius: f64,
//!     every: SimDuration,
//! }
//! impl Participant for Room {
//!     fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
//!         ctx.publish("celsius", &self.celsius)?;
//!         ctx.after(self.every)
//!     }
//! }
//!
//! let mut factories = Factories::default();
//! factories.add("room", "tells how warm it is", |params: RoomParams, _: &Site<'_>| {
//!     Ok::<_, String>(Room { celsius: params.celsius.get(), every: params.every.get() })
//! })?;
//!
//! let read = |text: &str| Scenario::from_text(text, "house.json5", Path::new(""), &factories, Overrides::default());
//! let scenario = read(
//!     "{
//!        world: 'house', seed: 42, end: 60,
//!        actors: [{ path: 'kitchen', type: 'room', params: { celsius: 19.5, every: 0.5 } }], // warm enough
//!      }",
//! )?;
//!
//! let config = ConductorConfig { world: scenario.world().into(), seed: scenario.seed(), ..Default::default() };
//! let mut conductor = Conductor::new(config)?;
//! let end = scenario.end.unwrap_or(SimTime::MAX);
//! scenario.add_to(&mut conductor, &factories)?;
//! conductor.run_until(end)?;
//! assert_eq!(conductor.steps(), 120);
//!
//! let error = read("{ world: 'house', actors: [{ path: 'attic', type: 'rom' }] }").unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "scenario file `house.json5`, line 1, column 51: unknown type `rom`; did you mean `room`?"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The way of a file
//!
//! ```text
//!  text ──► Tree: every value,   ──► Params: what serde    ──► Factories: what is   ──► Scenario: actors, joins,
//!           key and number with      derives is read, each      registered makes       leaves, checked against
//!           its place ([`text`])     error at its place         it ([`factory`])       each other ([`scenario`])
//!                                    ([`params`])
//! ```
//!
//! [`quantity`] has what parameters are made of: numbers with a range and a unit, times that are exact to the nanosecond,
//! orientations. [`scenario_schema`] gives the JSON Schema of whole files, for editors. Where actors are stepped, in this
//! process or in helper processes, is said in the file, too, and can be [overridden](HostOverride); [`Setting::to_text`] and
//! [`Factories::maker`] let a helper process make the same actors.

pub mod error;
pub mod factory;
pub mod params;
pub mod quantity;
pub mod scenario;
pub mod text;
pub mod world;

#[doc(hidden)]
pub use {schemars, serde};

pub use error::{FactoryError, MakeError, Mistake, ScenarioError, SettingError};
pub use factory::{ActorSpec, Factories, Loaded, NodeSpec, Setting, Shared, Site};
pub use params::{ParamError, Params};
pub use quantity::{Orientation, Seconds};
pub use scenario::{HostOverride, HostOverrideError, Overrides, Scenario, scenario_schema, scenario_schema_text};
pub use world::{AddError, Maker, ScenarioAppExt};
