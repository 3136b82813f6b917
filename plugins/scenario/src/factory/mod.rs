//! Factories: what makes actors out of a name and parameters.
//!
//! ```
//! use chaconne_scenario::factory::{ActorSpec, Factories, NodeSpec, Setting, Site};
//! use chaconne_scenario::params::Params;
//! # use chaconne_sim_core::{context::StepCtx, error::StepResult, participant::Participant};
//! # struct Clock(u32);
//! # impl Participant for Clock { fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult { Ok(ctx.never()) } }
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! #[serde(deny_unknown_fields)]
//! struct ClockParams {
//!     start: u32,
//! }
//!
//! let mut factories = Factories::default();
//! factories.add("clock", "counts seconds", |params: ClockParams, _site: &Site<'_>| {
//!     if params.start < 60 { Ok(Clock(params.start)) } else { Err("there are 60 seconds in a minute") }
//! })?;
//!
//! let setting = Setting::new("office", 42);
//! let spec = |params| ActorSpec::new("wall", NodeSpec::made("clock", Params::from_json(params).unwrap()));
//! let actor = factories.make(&setting, &spec("{ \"start\": 7 }"))?;
//! assert_eq!(actor.path(), "wall");
//! let error = factories.make(&setting, &spec("{ \"start\": 70 }")).err().unwrap();
//! assert_eq!(error.to_string(), "cannot make `wall`: line 1, column 1: there are 60 seconds in a minute");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod make;
mod setting;
mod shared;
#[cfg(test)]
mod tests;

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use bevy_ecs::resource::Resource;
use chaconne_conductor::Node;
use chaconne_conductor::population::Population;
use chaconne_sim_core::path::{ActorPath, is_segment};
use chaconne_sim_core::rng::{DetRng, Domain, StreamKey};
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde::de::DeserializeOwned;

pub use make::{ActorSpec, NodeSpec};
pub use setting::Setting;
pub use shared::{Loaded, Shared};

pub(crate) use make::{check_depth, with_life};

use crate::error::{FactoryError, Mistake};
use crate::params::{ParamError, Params};
use crate::scenario::FIELDS;
use shared::{Share, SharedValue, Source};

/// What a factory may know of the place for which it makes something.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    setting: &'a Setting,
    path: &'a ActorPath,
    actor: &'a ActorPath,
}

impl<'a> Site<'a> {
    /// The world's name.
    pub fn world(&self) -> &'a str {
        &self.setting.world
    }

    /// The run's seed.
    pub fn seed(&self) -> u64 {
        self.setting.seed
    }

    /// A random stream for the making of this: the same for the same seed, path and label, whoever else is made.
    pub fn rng(&self, label: &'static str) -> DetRng {
        StreamKey::new(self.seed(), Domain::SetUp, self.path.as_str(), label, 0).stream(0)
    }

    /// The path of what is being made.
    pub fn path(&self) -> &'a ActorPath {
        self.path
    }

    /// The path of the actor that it is, or is a part of.
    pub fn actor(&self) -> &'a ActorPath {
        self.actor
    }

    /// The value of the shared field that gives a `T`; none when the scenario does not have the field.
    pub fn shared<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.setting.shared.get()
    }
}

/// The registry of factories and of shared fields, by name. Copies share what is registered.
#[derive(Clone, Default, Resource)]
pub struct Factories {
    factories: BTreeMap<String, Factory>,
    shares: BTreeMap<String, Share>,
}

type Function<T> = Arc<dyn Fn(&Params<'_>, &Site<'_>) -> Result<T, Mistake> + Send + Sync>;

#[derive(Clone)]
struct Factory {
    about: String,
    at: &'static Location<'static>,
    make: Make,
    schema: fn(&mut SchemaGenerator) -> Schema,
}

#[derive(Clone)]
enum Make {
    Node(Function<Node>),
    Population(Function<Population>),
}

/// What is registered under a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Registered {
    /// The name.
    pub name: String,
    /// What it makes, in a few words.
    pub about: String,
    /// What kind of thing it makes.
    pub kind: FactoryKind,
    /// The JSON Schema of its parameters.
    pub schema: serde_json::Value,
}

/// What is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FactoryKind {
    /// A participant or a group of them.
    Node,
    /// A population.
    Population,
    /// A value that factories share: a top-level field of scenarios.
    Shared,
}

impl FactoryKind {
    /// In one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Node => "actor",
            Self::Population => "population",
            Self::Shared => "shared",
        }
    }
}

impl Factories {
    /// Registers what makes participants, or groups of them: `about` says what, in a few words. The parameters are read
    /// before `make` is called, and should refuse unknown fields (`#[serde(deny_unknown_fields)]`).
    ///
    /// # Errors
    /// When the name is taken or cannot be a name.
    #[track_caller]
    pub fn add<P, N, E, F>(&mut self, name: &str, about: &str, make: F) -> Result<&mut Self, FactoryError>
    where
        P: DeserializeOwned + JsonSchema + 'static,
        N: Into<Node>,
        E: Display + 'static,
        F: Fn(P, &Site<'_>) -> Result<N, E> + Send + Sync + 'static,
    {
        let make = Make::Node(function(move |params, site| make(params, site).map(Into::into)));
        self.insert::<P>(name, about, make, Location::caller())
    }

    /// Registers what makes populations; the name that a population is given is of no account. Otherwise as
    /// [`add`](Self::add).
    ///
    /// # Errors
    /// As [`add`](Self::add).
    #[track_caller]
    pub fn add_population<P, E, F>(&mut self, name: &str, about: &str, make: F) -> Result<&mut Self, FactoryError>
    where
        P: DeserializeOwned + JsonSchema + 'static,
        E: Display + 'static,
        F: Fn(P, &Site<'_>) -> Result<Population, E> + Send + Sync + 'static,
    {
        self.insert::<P>(name, about, Make::Population(function(make)), Location::caller())
    }

    /// Registers a top-level field of scenario files, such as `road`, and what loads its value, which factories get from
    /// [`Site::shared`]. `load` is given what stands in the field, and the folder that the file's relative paths start from.
    ///
    /// # Errors
    /// When the field is taken, cannot be a name, or another one gives the same type.
    #[track_caller]
    pub fn share<T, P, E, F>(&mut self, field: &str, about: &str, load: F) -> Result<&mut Self, FactoryError>
    where
        T: Send + Sync + 'static,
        P: DeserializeOwned + JsonSchema + 'static,
        E: Display + 'static,
        F: Fn(P, &Path) -> Result<Loaded<T>, E> + Send + Sync + 'static,
    {
        let at = Location::caller();
        check_name(field, at)?;
        let other = match self.shares.get(field) {
            Some(share) => Some(format!("{}; {}", share.about, share.at)),
            None => FIELDS.contains(&field).then(|| "the format's own".to_owned()),
        };
        if let Some(other) = other {
            return Err(FactoryError::Field { field: field.to_owned(), at, other });
        }
        if let Some((other, _)) = self.shares.iter().find(|(_, share)| share.type_id == TypeId::of::<T>()) {
            let type_name = std::any::type_name::<T>();
            return Err(FactoryError::SharedType { field: field.to_owned(), at, other: other.clone(), type_name });
        }
        let load = move |params: &Params<'_>, base: &Path| {
            let given = params.read::<P>()?;
            let loaded = guarded(params, "what loads it", || load(given, base))?;
            Ok(SharedValue { value: loaded.value, files: loaded.files })
        };
        let share = Share {
            about: about.to_owned(),
            at,
            type_id: TypeId::of::<T>(),
            load: Arc::new(load),
            schema: |generator| generator.subschema_for::<P>(),
        };
        self.shares.insert(field.to_owned(), share);
        Ok(self)
    }

    /// What is registered: factories by name, then shared fields by name.
    pub fn list(&self) -> Vec<Registered> {
        let schema = |of: fn(&mut SchemaGenerator) -> Schema| {
            let mut settings = SchemaSettings::draft2020_12();
            settings.inline_subschemas = true;
            settings.meta_schema = None;
            let mut schema = of(&mut settings.into_generator()).to_value();
            schema.sort_all_objects();
            schema
        };
        let factories = self.factories.iter().map(|(name, factory)| Registered {
            name: name.clone(),
            about: factory.about.clone(),
            kind: factory.kind(),
            schema: schema(factory.schema),
        });
        let shares = self.shares.iter().map(|(name, share)| Registered {
            name: name.clone(),
            about: share.about.clone(),
            kind: FactoryKind::Shared,
            schema: schema(share.schema),
        });
        factories.chain(shares).collect()
    }

    fn insert<P: JsonSchema + 'static>(
        &mut self,
        name: &str,
        about: &str,
        make: Make,
        at: &'static Location<'static>,
    ) -> Result<&mut Self, FactoryError> {
        check_name(name, at)?;
        if let Some(other) = self.factories.get(name) {
            return Err(FactoryError::Duplicate {
                name: name.to_owned(),
                about: about.to_owned(),
                at,
                other_about: other.about.clone(),
                other_at: other.at,
            });
        }
        let schema = |generator: &mut SchemaGenerator| generator.subschema_for::<P>();
        self.factories.insert(name.to_owned(), Factory { about: about.to_owned(), at, make, schema });
        Ok(self)
    }

    /// Name, what it makes, and the schema of the parameters of each factory, by name.
    pub(crate) fn described(&self) -> impl Iterator<Item = (&str, &str, FactoryKind, SchemaOf)> {
        self.factories.iter().map(|(name, f)| (name.as_str(), f.about.as_str(), f.kind(), f.schema))
    }

    /// The same of each shared field.
    pub(crate) fn described_shares(&self) -> impl Iterator<Item = (&str, &str, SchemaOf)> {
        self.shares.iter().map(|(name, share)| (name.as_str(), share.about.as_str(), share.schema))
    }

    /// Loads the value of a shared field into `shared`, and adds the files that were read to `files`.
    pub(crate) fn load(
        &self,
        field: &str,
        params: &Params<'_>,
        base: &Path,
        shared: &mut Shared,
    ) -> Result<Vec<std::path::PathBuf>, Mistake> {
        let Some(share) = self.shares.get(field) else {
            return Err(Mistake::new(params.place(), format!("unknown field `{field}`")));
        };
        let SharedValue { value, files } = (share.load)(params, base)?;
        let source = Source::new(field, params, base, &files).map_err(|what| Mistake::new(params.place(), what))?;
        shared.insert(share.type_id, value, Some(source));
        Ok(files)
    }
}

/// How the schema of a type is had.
pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

impl Factory {
    fn kind(&self) -> FactoryKind {
        match self.make {
            Make::Node(_) => FactoryKind::Node,
            Make::Population(_) => FactoryKind::Population,
        }
    }
}

fn check_name(name: &str, at: &'static Location<'static>) -> Result<(), FactoryError> {
    // A domain's name may stand before, as in `traffic/car`.
    if name.split('/').all(is_segment) { Ok(()) } else { Err(FactoryError::Name { name: name.to_owned(), at }) }
}

/// Puts the reading of parameters before what makes something of them.
fn function<P, T, E, F>(make: F) -> Function<T>
where
    P: DeserializeOwned,
    E: Display + 'static,
    F: Fn(P, &Site<'_>) -> Result<T, E> + Send + Sync + 'static,
{
    Arc::new(move |params, site| {
        let given = params.read()?;
        guarded(params, "its factory", || make(given, site))
    })
}

/// Runs what a user wrote: an error is a mistake in the parameters, and so is a panic.
fn guarded<T, E: Display + 'static>(
    params: &Params<'_>,
    who: &str,
    run: impl FnOnce() -> Result<T, E>,
) -> Result<T, Mistake> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(value)) => Ok(value),
        // One that was raised while reading more of the text knows better where.
        Ok(Err(error)) => Err(match (&error as &dyn Any).downcast_ref::<ParamError>() {
            Some(error) => Mistake::new(error.place().or(params.place()), error.what()),
            None => Mistake::new(params.place(), error.to_string()),
        }),
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().copied();
            let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no text");
            Err(Mistake::new(params.place(), format!("{who} panicked: {text}")))
        }
    }
}
