//! From a scenario to a world: what is there, who comes and goes by plan, and how later joins are made.

use bevy_app::App;
use chaconne_conductor::error::{LeaveError, RegistrationError};
use chaconne_conductor::{Actor, ActorMaker, Conductor, ConductorAppExt};
use chaconne_sim_core::membership::{JoinRequest, NodeRequest};
use chaconne_sim_core::path::ActorPath;

use crate::error::SettingError;
use crate::factory::{ActorSpec, Factories, NodeSpec, Setting};
use crate::params::Params;
use crate::scenario::Scenario;

/// Makes the actors that participants and drivers ask for, by registered factories.
#[derive(Clone)]
pub struct Maker {
    factories: Factories,
    setting: Setting,
}

impl Maker {
    /// A maker for a run.
    pub fn new(factories: Factories, setting: Setting) -> Self {
        Self { factories, setting }
    }
}

impl Factories {
    /// What makes the actors of a run in another process, from the text of the run's [setting](Setting::to_text).
    ///
    /// ```
    /// use chaconne_conductor::ActorMaker;
    /// use chaconne_scenario::{Factories, Setting, Site};
    /// use chaconne_sim_core::membership::JoinRequest;
    /// # use chaconne_sim_core::{context::StepCtx, error::StepResult, participant::Participant};
    /// # #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// # struct Nothing {}
    /// # struct Lamp;
    /// # impl Participant for Lamp { fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult { Ok(ctx.never()) } }
    ///
    /// let mut factories = Factories::default();
    /// factories.add("lamp", "a lamp that blinks", |_: Nothing, _: &Site<'_>| Ok::<_, String>(Lamp))?;
    /// let text = Setting::new("house", 42).to_text()?;
    ///
    /// // In the other process, in which the same is registered:
    /// let mut maker = factories.maker(&text)?;
    /// let porch = maker.make(&JoinRequest::new("porch", "lamp"), &"porch".parse()?)?;
    /// assert_eq!(porch.path(), "porch");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Setting::from_text`].
    pub fn maker(&self, setting_text: &str) -> Result<Maker, SettingError> {
        Ok(Maker::new(self.clone(), Setting::from_text(setting_text, self)?))
    }
}

impl ActorMaker for Maker {
    fn make(&mut self, request: &JoinRequest, _: &ActorPath) -> Result<Actor, String> {
        // The times of a request are the conductor's affair, and so is its path.
        let spec = ActorSpec::new(&request.path, spec_of(&request.node)?);
        self.factories.make(&self.setting, &spec).map_err(|error| match error.mistake.place {
            Some(place) => format!("{} (column {} of its parameters)", error.mistake.what, place.column),
            None => error.mistake.what,
        })
    }
}

/// A place in the tree of a request, as factories are asked for it.
fn spec_of(node: &NodeRequest) -> Result<NodeSpec<'_>, String> {
    match node {
        NodeRequest::Made { factory, params } => {
            let params = Params::from_json(params)
                .map_err(|error| format!("the parameters of `{factory}` are no JSON: {}", error.what()))?;
            Ok(NodeSpec::made(factory, params))
        }
        NodeRequest::Group(children) => {
            let children = children.iter().map(|(name, child)| Ok((name.as_str(), spec_of(child)?)));
            Ok(NodeSpec::Group(children.collect::<Result<_, String>>()?))
        }
    }
}

impl Scenario {
    /// Puts a scenario into a world of its name and seed, and lets its factories make whoever is asked for later.
    ///
    /// # Errors
    /// What the conductor refuses: the first actor or leave.
    pub fn add_to(self, conductor: &mut Conductor, factories: &Factories) -> Result<(), AddError> {
        conductor.set_maker(Maker::new(factories.clone(), self.setting));
        for actor in self.actors {
            conductor.add(actor)?;
        }
        for (time, actor) in self.joins {
            conductor.add(actor.joins_at(time))?;
        }
        for (time, path) in self.leaves {
            conductor.leave_at(&path, time)?;
        }
        Ok(())
    }
}

/// Why a scenario could not be put into a world.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum AddError {
    /// An actor was refused.
    #[error(transparent)]
    Actor(#[from] RegistrationError),
    /// A leave was refused.
    #[error(transparent)]
    Leave(#[from] LeaveError),
}

/// Scenarios in an `App`.
pub trait ScenarioAppExt {
    /// Adds a scenario's actors, joins and leaves, and lets its factories make whoever is asked for later. The world's name,
    /// the seed and the end are the conductor plugin's: give it those of the scenario. Errors halt the run.
    fn add_scenario(&mut self, scenario: Scenario, factories: &Factories) -> &mut Self;
}

impl ScenarioAppExt for App {
    fn add_scenario(&mut self, scenario: Scenario, factories: &Factories) -> &mut Self {
        self.set_maker(Maker::new(factories.clone(), scenario.setting));
        for actor in scenario.actors {
            self.add_actor(actor);
        }
        for (time, actor) in scenario.joins {
            self.add_actor(actor.joins_at(time));
        }
        for (time, path) in scenario.leaves {
            self.plan_leave(path, time);
        }
        self
    }
}
