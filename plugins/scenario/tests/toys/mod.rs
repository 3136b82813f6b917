//! A few small factories, and how scenarios are read with them.
#![allow(dead_code, reason = "not every test uses all of them")]

use std::path::Path;
use std::sync::Arc;

use bevy_app::App;
use chaconne_conductor::{Actor, Population, Tick};
use chaconne_scenario::quantity::Range;
use chaconne_scenario::{Factories, FactoryError, Loaded, Overrides, Params, Scenario, ScenarioError, Site, text};
use chaconne_sim_core::{Participant, SimDuration, StepCtx, StepResult};
use schemars::JsonSchema;
use serde::Deserialize;

chaconne_scenario::quantities! {
    /// A speed along the road.
    pub(crate) struct Speed(f64) = Range::new("m/s").above(0.0).up_to(100.0);
}

/// A road of some length.
#[derive(Debug)]
pub(crate) struct Road {
    pub(crate) length: f64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CarParams {
    /// How fast it goes.
    speed: Speed,
    #[serde(default)]
    law: Law,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Law {
    #[default]
    Pursuit,
    Lane(u32),
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HerdParams {
    #[serde(default)]
    agents: u32,
}

/// Publishes its speed once a second.
struct Car(f64);

impl Participant for Car {
    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        ctx.publish("speed", &self.0)?;
        ctx.after(SimDuration::from_secs(1))
    }
}

/// Those that read no files and do not panic.
pub(crate) fn harmless() -> Result<Factories, FactoryError> {
    let mut factories = Factories::default();
    let car = |params: CarParams, _: &Site<'_>| match params.law {
        Law::Lane(lane) if lane > 3 => Err(format!("there is no lane {lane}; use one up to 3")),
        _ => Ok(Actor::group().child("controller", Car(1.0)).child("physics", Car(params.speed.get()))),
    };
    factories.add("car", "a car with a controller", car)?;
    factories.add("lens", "half a camera", |_: Nothing, _: &Site<'_>| Ok::<_, String>(Car(0.5)))?;
    let tracker = |_: Nothing, site: &Site<'_>| {
        let road: Arc<Road> = site.shared().ok_or("it needs a `road`; add one to the scenario")?;
        Ok::<_, &str>(Car(road.length))
    };
    factories.add("tracker", "follows the road", tracker)?;
    let herd = |params: HerdParams, site: &Site<'_>| {
        if params.agents > 1_000_000 {
            return Err(format!("`{}` has too many agents", site.path()));
        }
        Ok(Population::new("herd", |app: &mut App| {
            app.add_systems(Tick, || {});
        }))
    };
    factories.add_population("herd", "agents that do nothing", herd)?;
    Ok(factories)
}

/// All of them.
pub(crate) fn factories() -> Factories {
    let all = || {
        let mut factories = harmless()?;
        let bomb = |_: Nothing, _: &Site<'_>| -> Result<Car, String> { panic!("boom") };
        factories.add("bomb", "panics", bomb)?;
        factories.share("road", "a file with a road", road)?;
        Ok::<_, FactoryError>(factories)
    };
    all().unwrap_or_else(|error| panic!("{error}"))
}

fn road(file: String, base: &Path) -> Result<Loaded<Road>, String> {
    let file = base.join(file);
    let text = std::fs::read_to_string(&file).map_err(|error| format!("cannot read `{}`: {error}", file.display()))?;
    let length = Params::from_json(&text).and_then(|params| params.read()).map_err(|error| error.to_string())?;
    Ok(Loaded::from_file(Road { length }, file))
}

pub(crate) fn load(text: &str) -> Result<Scenario, ScenarioError> {
    Scenario::from_text(text, "x.json5", Path::new(""), &factories(), Overrides::default())
}

/// Whether every place of an error lies in a text.
pub(crate) fn check_places(text: &str, error: &ScenarioError) {
    assert!(!error.errors().is_empty());
    for mistake in error.errors() {
        let place = mistake.place.unwrap_or_else(|| panic!("{mistake} has no place"));
        assert!(place.line >= 1 && place.column >= 1 && place <= text::end_of(text), "{mistake} lies outside the text");
    }
}
