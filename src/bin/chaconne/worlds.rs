//! What scenarios can be made of: the factories of every domain that is built in.

use chaconne::scenario::Factories;
use chaconne::traffic::{Watch, factories};

use crate::program::Failure;

/// All factories; `watch` is told what loggers and monitors of the traffic domain see.
pub(crate) fn factories(watch: &Watch) -> Result<Factories, Failure> {
    let mut all = Factories::default();
    factories::add_with(&mut all, watch).map_err(|error| Failure::Run(error.to_string()))?;
    Ok(all)
}
