//! Scenario files: a world, written down.
//!
//! ```json5
//! {
//!   world: "highway", seed: 42, end: 30.0, about: "one car comes, another goes",
//!   // A field that somebody has registered with `Factories::share`:
//!   road: "../roads/demo.json",
//!   actors: [
//!     { path: "ego", type: "car", params: { lane: 1 }, leaves_at: 20.0 },
//!     { path: "ego/camera", type: "camera" },
//!     { path: "rig", children: [{ name: "lens", type: "lens" }, { name: "chip", type: "chip" }] },
//!   ],
//!   populations: [{ path: "fleet", type: "fleet", every: 0.1, params: { cars: 1000 } }],
//!   joins: [{ at: 5.0, path: "late", type: "car", params: { lane: 2 } }],
//!   leaves: [{ at: 10.0, path: "rig" }],
//! }
//! ```
//!
//! The format is JSON5. Times are in seconds, exact to the nanosecond. Actors come first in the world's order, in the order of
//! the file, then populations in theirs; those that join later follow by time. At one time leaves come before joins, so that
//! a path that has become free can be taken. What is made is checked when the file is read: types, parameters, paths,
//! and who is in the world when. What participants ask for while the run
//! goes on is not known here: a plan that collides with it is told in the run's report.
//!
//! # Hosts
//!
//! Where an actor is stepped, how long that may take, and what is done when it fails, stands with the actor:
//!
//! ```json5
//! actors: [
//!   // A thread of its own: a step that hangs for more than 200 ms halts the run with a sentence that names the camera.
//!   { path: "camera", type: "camera", host: "guarded", timeout: 0.2 },
//!   // A helper process that the two share, of 512 MiB at most: should it end, both leave, and the run goes on.
//!   { path: "left", type: "plugin", host: "process", helper: "plugins", memory_mib: 512, on_failure: "remove" },
//!   { path: "right", type: "plugin", host: "process", helper: "plugins", on_failure: "remove" },
//!   // Steps that take more than a millisecond, those of the controller more than 5 ms, are counted.
//!   { path: "ego", budget: 0.001, children: [{ name: "controller", type: "x", budget: 0.005 }, { name: "physics", type: "y" }] },
//! ],
//! ```
//!
//! None of it is in the fingerprint, and [`Overrides::host`] says it of everybody at once. What is to be stepped in a helper
//! process is made here too, for its mistakes and its parts, and then given to the conductor by the names of its factories;
//! with [`Scenario::setting_text`] the other process makes [the same](crate::Factories::maker).

mod file;
mod host;
mod load;
mod schema;
mod timeline;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use chaconne_conductor::{Actor, Placement};
use chaconne_sim_core::path::ActorPath;
use chaconne_sim_core::time::SimTime;

pub(crate) use file::FIELDS;
pub use host::{HostOverride, HostOverrideError};
pub use schema::{scenario_schema, scenario_schema_text};

use crate::error::{Mistake, ScenarioError, SettingError};
use crate::factory::{Factories, Setting};
use crate::text::{self, MOST_BYTES};

/// A scenario that has been read, checked and made: what is added to a world, now and later.
pub struct Scenario {
    /// The world's name, the seed, and the values of shared fields: what later joins are made for.
    pub setting: Setting,
    /// The first instant that is not stepped.
    pub end: Option<SimTime>,
    /// Actors and populations of the first instant, in the world's order.
    pub actors: Vec<Actor>,
    /// Actors that join later and when, in the order of their joining.
    pub joins: Vec<(SimTime, Actor)>,
    /// Who leaves when, in order of time, beside those that were made with a time at which they leave.
    pub leaves: Vec<(SimTime, ActorPath)>,
    /// Where those are stepped, too, that join at run time; nothing is said of them unless it was overridden.
    pub host: Option<HostOverride>,
    /// The files that were read, the scenario's own first.
    pub inputs: Vec<PathBuf>,
}

/// What is used instead of what the file says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// The seed.
    pub seed: Option<u64>,
    /// The end of the run.
    pub end: Option<SimTime>,
    /// Where actors are stepped.
    pub host: Option<HostOverride>,
}

impl Scenario {
    /// Reads a file. Relative paths in it start from its folder.
    ///
    /// # Errors
    /// When the file cannot be read, or holds mistakes: all that could be found.
    pub fn from_file(
        path: impl AsRef<Path>,
        factories: &Factories,
        overrides: Overrides,
    ) -> Result<Self, ScenarioError> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let mut bytes = Vec::new();
        // One byte more than may be shows that there is too much.
        let read = open(path).and_then(|file| file.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes));
        if let Err(source) = read {
            return Err(ScenarioError::Read { file: name, source });
        }
        let text = text::decode(&bytes)
            .map_err(|error| ScenarioError::Mistakes { file: name.clone(), mistakes: vec![error.into()] })?;
        let base = path.parent().unwrap_or(Path::new(""));
        let mut scenario = Self::from_text(text, &name, base, factories, overrides)?;
        scenario.inputs.insert(0, path.to_owned());
        Ok(scenario)
    }

    /// Reads a text. `name` names it in errors, and relative paths in it start from `base`.
    ///
    /// # Errors
    /// When it holds mistakes: all that could be found.
    pub fn from_text(
        text: &str,
        name: &str,
        base: &Path,
        factories: &Factories,
        overrides: Overrides,
    ) -> Result<Self, ScenarioError> {
        let mistakes = |mut mistakes: Vec<Mistake>| {
            mistakes.sort_by_key(|mistake| mistake.place);
            ScenarioError::Mistakes { file: name.to_owned(), mistakes }
        };
        let tree = text::parse(text).map_err(|error| mistakes(vec![error.into()]))?;
        load::load(&tree, base, factories, overrides).map_err(mistakes)
    }

    /// The world's name.
    pub fn world(&self) -> &str {
        &self.setting.world
    }

    /// The run's seed.
    pub fn seed(&self) -> u64 {
        self.setting.seed
    }

    /// Whether an actor is stepped in a helper process, or may be that joins at run time.
    pub fn uses_processes(&self) -> bool {
        let all = self.actors.iter().chain(self.joins.iter().map(|(_, actor)| actor));
        matches!(self.host, Some(HostOverride::Process | HostOverride::Mixed))
            || all.into_iter().any(|actor| matches!(actor.hosting().placement, Placement::Process(_)))
    }

    /// What a helper process has to be told so that it makes the same actors: see [`Setting::to_text`], and
    /// [`Factories::maker`] for the other side.
    ///
    /// # Errors
    /// When the path of the scenario's folder or of a file is not UTF-8.
    pub fn setting_text(&self) -> Result<String, SettingError> {
        self.setting.to_text()
    }
}

/// Opens a plain file: a pipe may have nobody at its other end.
fn open(path: &Path) -> std::io::Result<File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("it is not a plain file"));
    }
    File::open(path)
}

impl std::fmt::Debug for Scenario {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let paths: Vec<&str> = self.actors.iter().map(Actor::path).collect();
        let joins: Vec<(SimTime, &str)> = self.joins.iter().map(|(time, actor)| (*time, actor.path())).collect();
        f.debug_struct("Scenario")
            .field("setting", &self.setting)
            .field("end", &self.end)
            .field("actors", &paths)
            .field("joins", &joins)
            .field("leaves", &self.leaves)
            .field("host", &self.host)
            .field("inputs", &self.inputs)
            .finish()
    }
}
