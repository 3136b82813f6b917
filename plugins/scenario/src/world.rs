//! From a scenario to a world: what is there, who comes and goes by plan, and how later joins are made.

use bevy_app::App;
use chaconne_conductor::error::{LeaveError, RegistrationError};
use chaconne_conductor::{Actor, ActorMaker, Conductor, ConductorAppExt, Placement};
use chaconne_sim_core::membership::JoinRequest;
use chaconne_sim_core::path::ActorPath;

use crate::error::SettingError;
use crate::factory::{ActorSpec, Factories, NodeSpec, Setting};
use crate::scenario::{HostOverride, Scenario};

/// Makes the actors that participants and drivers ask for, by registered factories.
#[derive(Clone)]
pub struct Maker {
    factories: Factories,
    setting: Setting,
    host: Option<HostOverride>,
}

impl Maker {
    /// A maker for a run. What it makes is stepped where the conductor steps who says nothing.
    pub fn new(factories: Factories, setting: Setting) -> Self {
        Self { factories, setting, host: None }
    }

    /// Says where those are stepped that it makes. For a helper process nothing is made: the request is passed on to it, and
    /// it says what is wrong with it.
    #[must_use]
    pub fn hosted(mut self, host: Option<HostOverride>) -> Self {
        self.host = host;
        self
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
        let hosting = self.host.map(|host| host.of_request(&request.path)).unwrap_or_default();
        if matches!(hosting.placement, Placement::Process(_)) {
            return Ok(Actor::requested(&request.path, request.node.clone()).hosted(hosting));
        }
        // The times of a request are the conductor's affair, and so is its path.
        let spec = ActorSpec::new(&request.path, NodeSpec::of_request(&request.node)?);
        let made = self.factories.make(&self.setting, &spec).map(|actor| actor.hosted(hosting));
        made.map_err(|error| match error.mistake.place {
            Some(place) => format!("{} (column {} of its parameters)", error.mistake.what, place.column),
            None => error.mistake.what,
        })
    }
}

impl Scenario {
    /// Puts a scenario into a world of its name and seed, and lets its factories make whoever is asked for later.
    ///
    /// # Errors
    /// What the conductor refuses: the first actor or leave.
    pub fn add_to(self, conductor: &mut Conductor, factories: &Factories) -> Result<(), AddError> {
        conductor.set_maker(Maker::new(factories.clone(), self.setting).hosted(self.host));
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
        self.set_maker(Maker::new(factories.clone(), scenario.setting).hosted(scenario.host));
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
