//! Sensors, monitors and loggers, as they are written in scenarios.

use chaconne_scenario::quantity::Period;
use chaconne_scenario::schemars::JsonSchema;
use chaconne_scenario::{Factories, FactoryError};
use chaconne_sim_core::SimDuration;
use serde::Deserialize;

/// Who looks at every car.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LoggerFile {
    /// Time between two samples.
    pub(super) every: Period,
}

impl Default for LoggerFile {
    fn default() -> Self {
        Self { every: Period::of(SimDuration::from_secs(1)) }
    }
}

pub(super) fn add_to(_: &mut Factories) -> Result<(), FactoryError> {
    Ok(())
}
