//! The conductor: owns simulated time and steps participants in lockstep, at due instants, with one fingerprint.

mod agenda;
pub mod composite;
pub mod conductor;
mod delivery;
pub mod error;
pub mod host;
mod instant;
pub mod mirror;
pub mod monitor;
pub mod plugin;
pub mod population;
mod registry;
mod routing;
pub mod run;

pub use composite::{Actor, Group, Node};
pub use conductor::{Conductor, ConductorConfig};
pub use error::{Halt, HaltCause, LeaveError, RegistrationError};
pub use mirror::{Mirror, MirrorKind, Mirroring, NextDue, Signal, StepCounters};
pub use monitor::Monitor;
pub use plugin::{Conduct, ConductorAppExt, ConductorPlugin, ConductorSystems, RunEnded, RunStatus};
pub use population::{Population, PopulationParticipant, PopulationRun, PopulationSignals, PopulationStartup, Tick};
pub use run::RunReport;
