//! What can be wrong with a scenario, and with what is registered for scenarios.

use std::fmt;
use std::panic::Location;

use crate::params::ParamError;
use crate::text::{Place, TextError};

/// One mistake in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Where; none when the text does not say it (a parameter that is absent, an override).
    pub place: Option<Place>,
    /// What is wrong, and what to do.
    pub what: String,
}

impl Mistake {
    pub(crate) fn new(place: impl Into<Option<Place>>, what: impl Into<String>) -> Self {
        Self { place: place.into(), what: what.into() }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = self.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.what)
    }
}

impl From<ParamError> for Mistake {
    fn from(error: ParamError) -> Self {
        Self::new(error.place(), error.what())
    }
}

impl From<TextError> for Mistake {
    fn from(error: TextError) -> Self {
        Self::new(error.place, error.what)
    }
}

/// Why a factory or a shared field could not be registered.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FactoryError {
    /// Two factories would have one name.
    #[error(
        "the factory `{name}` ({about}; {at}) cannot be added: `{name}` ({other_about}; {other_at}) is registered; give one \
         of them another name"
    )]
    Duplicate {
        /// The name that both want.
        name: String,
        /// What the one being added makes.
        about: String,
        /// Where it was to be added.
        at: &'static Location<'static>,
        /// What the registered one makes.
        other_about: String,
        /// Where that was added.
        other_at: &'static Location<'static>,
    },
    /// A name that cannot be written down.
    #[error("`{name}` ({at}) is not a name: use letters, digits, `_` and `-`, and `/` between parts, only")]
    Name {
        /// The name given.
        name: String,
        /// Where it was to be registered.
        at: &'static Location<'static>,
    },
    /// A shared field would have the name of another field of scenario files.
    #[error("the shared field `{field}` ({at}) cannot be added: scenario files have a field of that name ({other})")]
    Field {
        /// The name that both want.
        field: String,
        /// Where it was to be added.
        at: &'static Location<'static>,
        /// The other one.
        other: String,
    },
    /// Two shared fields would give one type, so that a factory could not tell them apart.
    #[error(
        "the shared field `{field}` ({at}) cannot be added: `{other}` gives a `{type_name}` too; wrap one of them in a type of its own"
    )]
    SharedType {
        /// The field being added.
        field: String,
        /// Where it was to be added.
        at: &'static Location<'static>,
        /// The registered one.
        other: String,
        /// The type of both.
        type_name: &'static str,
    },
}

/// Why an actor could not be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot make `{path}`: {mistake}")]
pub struct MakeError {
    /// The path of the part at fault, or of the actor.
    pub path: String,
    /// What is wrong; its place is in the text of the parameters.
    pub mistake: Mistake,
}

/// Why a run's setting could not be written as text, or not be had again from its text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingError {
    /// A path that text cannot hold.
    #[error("the path `{path}` is not UTF-8, so that no other process can be told of it; rename what it leads through")]
    Path {
        /// The path, as far as it can be shown.
        path: String,
    },
    /// What was read is not the text of a setting.
    #[error("this is not the text of a setting: {source}")]
    Text {
        /// Why.
        source: serde_json::Error,
    },
    /// A shared field could not be loaded.
    #[error("cannot load the field `{field}`: {what}")]
    Field {
        /// The field.
        field: String,
        /// What is wrong with it.
        what: String,
    },
    /// What was read before cannot be read any more.
    #[error("cannot read `{file}`, which the scenario was read with: {source}")]
    Read {
        /// The file.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// What was read before was something else.
    #[error(
        "the file `{file}` has changed since the scenario was read; run it again, and leave its files alone meanwhile"
    )]
    Changed {
        /// The file.
        file: String,
    },
}

/// Why a scenario cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScenarioError {
    /// The file cannot be read.
    #[error("cannot read scenario file `{file}`: {source}")]
    Read {
        /// The file.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// There are mistakes in it.
    #[error("{}", sentence(file, mistakes))]
    Mistakes {
        /// The file.
        file: String,
        /// At least one, in the order of the text.
        mistakes: Vec<Mistake>,
    },
}

impl ScenarioError {
    /// The mistakes, in the order of the text; none when the file could not be read. Of a hundred joins and leaves that
    /// fail, later ones are not looked at.
    pub fn errors(&self) -> &[Mistake] {
        match self {
            Self::Read { .. } => &[],
            Self::Mistakes { mistakes, .. } => mistakes,
        }
    }

    /// The file's name, as it was given.
    pub fn file(&self) -> &str {
        match self {
            Self::Read { file, .. } | Self::Mistakes { file, .. } => file,
        }
    }

    /// The place of the first mistake that has one.
    pub fn place(&self) -> Option<Place> {
        self.errors().first().and_then(|mistake| mistake.place)
    }
}

fn sentence(file: &str, mistakes: &[Mistake]) -> String {
    let Some((first, others)) = mistakes.split_first() else { return format!("scenario file `{file}`") };
    let place = first.place.map_or(String::new(), |place| format!(", {place}"));
    let others = match others.len() {
        0 => String::new(),
        count => format!(" (and {count} more)"),
    };
    format!("scenario file `{file}`{place}: {}{others}", first.what)
}
