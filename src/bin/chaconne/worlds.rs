//! What scenarios can be made of: the factories of every domain that is built in.

use chaconne::scenario::Factories;

use crate::program::Failure;

/// All factories.
pub(crate) fn factories() -> Result<Factories, Failure> {
    let mut factories = Factories::default();
    chaconne::traffic::factories::add_to(&mut factories).map_err(|error| Failure::Run(error.to_string()))?;
    Ok(factories)
}
