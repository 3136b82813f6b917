//! What a run tells of its failure in its JSON object: for programs, of which `prove` is one.

use chaconne::conductor::{Halt, HaltCause};
use chaconne::prelude::SimTime;
use chaconne::record;
use serde::{Deserialize, Serialize};

/// Where a run differs from a log, as far as that is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Difference {
    /// The line of the log.
    pub(crate) line: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) instant: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) time: Option<SimTime>,
    /// The participant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
    pub(crate) field: String,
    /// What the log has.
    pub(crate) expected: String,
    /// What the run has.
    pub(crate) found: String,
}

impl From<&record::Difference> for Difference {
    fn from(difference: &record::Difference) -> Self {
        let record::Difference { line, instant, path, field, expected, found, .. } = difference;
        Self {
            line: *line,
            instant: instant.map(|(tick, _)| tick),
            time: instant.map(|(_, time)| time),
            path: path.clone(),
            field: field.to_string(),
            expected: expected.clone(),
            found: found.clone(),
        }
    }
}

/// A participant that failed, so that the run halted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failed {
    /// The participant.
    pub(crate) path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) instant: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) time: Option<SimTime>,
    /// The whole sentence.
    pub(crate) text: String,
}

impl Failed {
    /// What is told of a halt, if it is one of a participant.
    pub(crate) fn of(halt: &Halt) -> Option<Self> {
        let path = halt.path.as_ref()?.to_string();
        let (instant, time) = halt.instant.unzip();
        let of_itself = !matches!(halt.cause, HaltCause::Monitor(_) | HaltCause::Mirror(_));
        of_itself.then(|| Self { path, instant, time, text: halt.to_string() })
    }
}
