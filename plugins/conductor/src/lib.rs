//! temp
pub mod composite;
pub mod conductor;
mod agenda;
mod delivery;
pub mod error;
pub mod host;
mod instant;
pub mod monitor;
mod registry;
mod routing;
pub mod run;
pub use composite::Actor;
pub use conductor::{Conductor, ConductorConfig};
