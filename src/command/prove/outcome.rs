//! What became of a run, from what its process said.

use std::time::Duration;

use serde::Deserialize;

use super::child::{Ended, How};
use crate::command::told::{Difference, Failed};

/// Characters that are shown of what a process said last.
const SHOWN: usize = 400;

/// What became of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// It came to its end, and nothing differed on the way.
    Whole { world_hash: String },
    /// It came to its end, with another hash than the reference.
    OtherHash { world_hash: String },
    /// It differed, and stopped there.
    Differs(Difference),
    /// It did not come to its end.
    Broken { text: String, failed: Option<Failed> },
    /// It was stopped from outside.
    Stopped,
}

/// The JSON object of a run, as far as it matters here.
#[derive(Deserialize)]
struct Told {
    world_hash: String,
    halt: Option<String>,
    failed: Option<Failed>,
    #[serde(default)]
    refused: Vec<String>,
    #[serde(default)]
    end_failures: Vec<String>,
    verified: Option<Verified>,
}

#[derive(Deserialize)]
struct Verified {
    whole: bool,
    compared_instants: u64,
    difference: Option<Difference>,
}

impl Outcome {
    /// What became of a process that ran a world.
    pub(crate) fn of(ended: &Ended, timeout: Duration) -> Self {
        let broken = |text: String| Self::Broken { text, failed: None };
        let status = match ended.how {
            How::Stopped => return Self::Stopped,
            How::TimedOut => {
                let seconds = timeout.as_secs_f64();
                return broken(format!("it took longer than {seconds} s; with --timeout it may take longer"));
            }
            How::Exited(status) => status,
        };
        match (status.code(), told(&ended.stdout)) {
            (Some(130), _) => Self::Stopped,
            (Some(0), Some(told)) => match told.verified {
                Some(Verified { whole: false, compared_instants, .. }) => {
                    broken(format!("it could be compared for {compared_instants} instants only"))
                }
                _ => Self::Whole { world_hash: told.world_hash },
            },
            (Some(1), Some(told)) => Self::of_failure(told),
            (code, _) => {
                let how = match code {
                    Some(code) => format!("it ended with the exit code {code}"),
                    // Such as `signal: 9 (SIGKILL)`.
                    None => format!("it was ended from outside, by a {status}"),
                };
                let said = shortened(&ended.stderr);
                broken(if said.is_empty() { how } else { format!("{how}: {said}") })
            }
        }
    }

    fn of_failure(told: Told) -> Self {
        // Whoever fails has the run halt before anything could be compared; it says more than that the log goes on.
        if let Some(failed) = told.failed {
            return Self::Broken { text: failed.text.clone(), failed: Some(failed) };
        }
        if let Some(difference) = told.verified.and_then(|verified| verified.difference) {
            return Self::Differs(difference);
        }
        let said = told.halt.into_iter().chain(told.refused).chain(told.end_failures).next();
        Self::Broken { text: said.unwrap_or_else(|| "it failed and did not say why".to_owned()), failed: None }
    }

    /// The same, beside a reference run of this hash.
    pub(crate) fn beside(self, reference: &str) -> Self {
        match self {
            Self::Whole { world_hash } if world_hash != reference => Self::OtherHash { world_hash },
            other => other,
        }
    }

    /// Its name in the table and in JSON.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Whole { .. } => "same",
            Self::OtherHash { .. } | Self::Differs(_) => "differs",
            Self::Broken { .. } => "failed",
            Self::Stopped => "stopped",
        }
    }

    /// The hash of the whole run.
    pub(crate) fn world_hash(&self) -> Option<&str> {
        match self {
            Self::Whole { world_hash } | Self::OtherHash { world_hash } => Some(world_hash),
            _ => None,
        }
    }
}

/// The object in the last line of stdout. What a participant printed may stand before it.
fn told(line: &str) -> Option<Told> {
    let start = line.rfind("{\"world_hash\":")?;
    serde_json::from_str(&line[start..]).ok()
}

fn shortened(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_found_behind_what_a_participant_printed() {
        let line = r#"step {1} {"world_hash":"ab","more":1}"#;
        assert_eq!(told(line).unwrap().world_hash, "ab");
        assert!(told("step {1}").is_none());
    }
}
