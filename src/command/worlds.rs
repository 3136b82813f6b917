//! What scenarios can be made of: the factories of every domain that is built in, and those of the program.

use chaconne::scenario::{Factories, FactoryError};
use chaconne::traffic::{Watch, factories};

use super::program::Failure;

type Register = Box<dyn Fn(&mut Factories) -> Result<(), FactoryError>>;

/// What a program registers.
pub(crate) struct Worlds {
    has_traffic: bool,
    own: Vec<Register>,
}

impl Worlds {
    /// All that is built in.
    pub(crate) fn all() -> Self {
        Self { has_traffic: true, own: Vec::new() }
    }

    /// Nothing.
    pub(crate) fn none() -> Self {
        Self { has_traffic: false, own: Vec::new() }
    }

    /// Adds what the program registers.
    pub(crate) fn register(&mut self, register: impl Fn(&mut Factories) -> Result<(), FactoryError> + 'static) {
        self.own.push(Box::new(register));
    }

    /// All factories; `watch` is told what loggers and monitors of the traffic domain see.
    pub(crate) fn factories(&self, watch: &Watch) -> Result<Factories, Failure> {
        let mut all = Factories::default();
        let told = |error: FactoryError| Failure::Run(error.to_string());
        if self.has_traffic {
            factories::add_with(&mut all, watch).map_err(told)?;
        }
        self.own.iter().try_for_each(|register| register(&mut all)).map_err(told)?;
        Ok(all)
    }
}
