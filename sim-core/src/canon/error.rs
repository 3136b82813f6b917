//! Why a value has no canonical text, and where in the value.

use std::fmt;

/// Why a value could not be written as canonical JSON, or not be read back.
///
/// It is one pointer in size, so that the path without an error costs nothing.
#[derive(Clone)]
pub struct CanonError(Box<Report>);

#[derive(Clone)]
struct Report {
    kind: CanonErrorKind,
    /// From the innermost step to the outermost, as errors travel.
    steps: Vec<Step>,
    type_name: &'static str,
}

#[derive(Clone)]
enum Step {
    Name(String),
    Index(usize),
}

/// The kinds of fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CanonErrorKind {
    /// A floating-point number is infinite or not a number.
    #[error("{number} is not a finite number, and JSON has no text for it: check the computation, or use an `Option`")]
    NonFinite {
        /// `NaN`, `inf` or `-inf`.
        number: &'static str,
    },
    /// Keys of a map are not strictly ascending.
    #[error(
        "the key {next} comes after {previous} in a map, and keys must be strictly ascending: use a `BTreeMap` with string or integer keys"
    )]
    MapOrder {
        /// The key that came first, as it would be written.
        previous: String,
        /// The key after it, as it would be written.
        next: String,
    },
    /// A key of a map is neither a string nor an integer.
    #[error("{what} cannot be the key of a map: use a string or an integer")]
    MapKey {
        /// What the key is.
        what: &'static str,
    },
    /// A map does not know its length.
    #[error(
        "a map of unknown length, as `#[serde(flatten)]` makes, has no canonical order of fields: nest the inner struct, or write its fields out"
    )]
    MapOfUnknownLength,
    /// A private object of `serde_json`.
    #[error(
        "{token} is a private object of `serde_json`, which its feature `{feature}` makes: use numbers and structs of your own, or switch the feature off"
    )]
    Private {
        /// The name of the object.
        token: &'static str,
        /// The feature that makes it.
        feature: &'static str,
    },
    /// A text from elsewhere is JSON, but not as it is written here.
    #[error("the text has white space outside of strings, at byte {at}: canonical JSON has none")]
    WhiteSpace {
        /// Where, counted from 0.
        at: usize,
    },
    /// The value nests too deeply to be read back.
    #[error("the value nests deeper than {limit} levels, and could not be read back: make it flatter")]
    TooDeep {
        /// The number of levels allowed.
        limit: u8,
    },
    /// The value's own `Serialize` refused.
    #[error("{message}")]
    Custom {
        /// Its message.
        message: String,
    },
    /// A text could not be read as the type asked for.
    #[error("{message}")]
    Read {
        /// What is wrong and at which line and column.
        message: String,
    },
}

impl CanonError {
    #[cold]
    pub(super) fn new(kind: CanonErrorKind) -> Self {
        Self(Box::new(Report { kind, steps: Vec::new(), type_name: "" }))
    }

    #[cold]
    pub(super) fn read(error: &serde_json::Error, type_name: &'static str) -> Self {
        Self::new(CanonErrorKind::Read { message: error.to_string() }).in_type(type_name)
    }

    #[cold]
    pub(super) fn in_field(mut self, name: &str) -> Self {
        self.0.steps.push(Step::Name(name.to_owned()));
        self
    }

    #[cold]
    pub(super) fn in_element(mut self, index: usize) -> Self {
        self.0.steps.push(Step::Index(index));
        self
    }

    #[cold]
    pub(super) fn in_type(mut self, type_name: &'static str) -> Self {
        self.0.type_name = type_name;
        self
    }

    /// What is wrong.
    pub fn kind(&self) -> &CanonErrorKind {
        &self.0.kind
    }

    /// Where in the value: fields and indices from the outermost, such as `position.x` or `lanes[2].width`; empty for the
    /// value itself.
    pub fn at(&self) -> String {
        let mut path = String::new();
        for step in self.0.steps.iter().rev() {
            match step {
                Step::Name(name) => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(name);
                }
                Step::Index(index) => path.push_str(&format!("[{index}]")),
            }
        }
        path
    }

    /// The type that was written or read.
    pub fn type_name(&self) -> &'static str {
        self.0.type_name
    }
}

impl fmt::Display for CanonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at();
        if !at.is_empty() {
            write!(f, "at {at} ")?;
        }
        if !self.0.type_name.is_empty() {
            write!(f, "in `{}`: ", self.0.type_name)?;
        }
        write!(f, "{}", self.0.kind)
    }
}

impl fmt::Debug for CanonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CanonError")
            .field("kind", &self.0.kind)
            .field("at", &self.at())
            .field("type_name", &self.0.type_name)
            .finish()
    }
}

impl std::error::Error for CanonError {}

impl serde::ser::Error for CanonError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(CanonErrorKind::Custom { message: message.to_string() })
    }
}
