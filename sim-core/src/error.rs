//! What can go wrong while a participant steps.

use std::error::Error;
use std::fmt;

use crate::canon::CanonError;
use crate::key::KeyError;
use crate::path::ActorPath;
use crate::time::SimTime;

/// What a step returns: the next time the participant is due, or why the run must halt.
pub type StepResult = Result<SimTime, StepError>;

/// Any error, on its way from a step to the run's report. Every error type converts with `?`, as does a text.
///
/// ```
/// use chaconne_sim_core::error::{StepError, StepResult};
///
/// fn step() -> StepResult {
///     let _count: u32 = "many".parse()?;
///     Err("the tank is empty".into())
/// }
/// let error: StepError = step().unwrap_err();
/// assert_eq!(error.to_string(), "invalid digit found in string");
/// ```
pub struct StepError(Box<dyn Error + Send + Sync>);

impl StepError {
    /// The wrapped error.
    pub fn into_inner(self) -> Box<dyn Error + Send + Sync> {
        self.0
    }

    /// The wrapped error as its type, when it is an `E`.
    pub fn downcast_ref<E: Error + 'static>(&self) -> Option<&E> {
        self.0.downcast_ref()
    }
}

impl<E> From<E> for StepError
where
    Box<dyn Error + Send + Sync>: From<E>,
{
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why a value could not be published. The run halts even if the participant swallows this.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum PublishError {
    /// The signal's name or key is not well formed.
    #[error("cannot publish `{signal}`: {source}")]
    Key {
        /// The text given to `publish`.
        signal: String,
        /// What is wrong with it.
        source: KeyError,
    },
    /// The key belongs to somebody else.
    #[error(
        "cannot publish `{key}`: `{publisher}` may publish only its own signals and those of its ancestors; publish \
         under its own path and let the other subscribe"
    )]
    NotOwn {
        /// The resolved key.
        key: String,
        /// Who tried.
        publisher: ActorPath,
    },
    /// The value has no canonical text: a non-finite number, a map out of order.
    #[error("cannot publish `{key}`: {source}")]
    Value {
        /// The resolved key.
        key: String,
        /// What is wrong with the value, and where in it.
        source: CanonError,
    },
    /// The type holds a collection whose order varies from process to process.
    #[error(
        "cannot publish `{key}`: a value of type `{type_name}` is written in an order that varies from run to run; use \
         `BTreeMap` or `BTreeSet`"
    )]
    HashOrdered {
        /// The resolved key.
        key: String,
        /// The type's name.
        type_name: &'static str,
    },
    /// One step has published more than a step may.
    #[error(
        "cannot publish `{key}`: the step has published as many {what} as one step may; look for a loop that does not end, \
         or spread them over several steps"
    )]
    TooMuch {
        /// The resolved key.
        key: String,
        /// Of what there are too many: signals, or bytes.
        what: &'static str,
    },
    /// The value's text does not read back as an equal value (found where typed hand-over is off).
    #[error(
        "cannot publish `{key}`: a value of type `{type_name}` does not read back from its own text as an equal value; \
         look for a field that serde skips, an `Option` inside an `Option`, or an untagged enum"
    )]
    NotFaithful {
        /// The resolved key.
        key: String,
        /// The type's name.
        type_name: &'static str,
    },
}

/// Why a received value could not be read.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The text does not read as the type asked for.
    #[error("cannot read `{key}` as `{type_name}`: {source}")]
    Decode {
        /// The signal's key.
        key: String,
        /// The type asked for.
        type_name: &'static str,
        /// What is wrong.
        source: CanonError,
    },
    /// Nothing that this participant subscribed to as `latest` matches.
    #[error(
        "`{key}` is not among the `latest` subscriptions of `{path}`; add Subscription::latest(\"{key}\") to its \
         subscriptions()"
    )]
    NotSubscribed {
        /// The text given to `latest`.
        key: String,
        /// Who asked.
        path: ActorPath,
    },
    /// The text is not a key expression.
    #[error(transparent)]
    Key(#[from] KeyError),
}
