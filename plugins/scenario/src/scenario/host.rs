//! Where actors are stepped: what a file says of it, and what is said instead of the file.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use chaconne_conductor::{HelperName, Hosting, OnFailure, Placement};
use chaconne_sim_core::fingerprint::Fingerprint;
use chaconne_sim_core::path::is_segment;
use chaconne_sim_core::time::SimDuration;

use super::file::{FailureKind, HostFields, HostKind};
use crate::error::Mistake;
use crate::params::nearest;

/// Where all actors of a run are stepped, whatever their scenario says, and those too that join at run time. It changes no
/// result, so that one scenario can be tried in every way. What is done with an actor that fails stays as it was.
///
/// ```
/// use chaconne_scenario::HostOverride;
///
/// assert_eq!("guarded".parse::<HostOverride>()?, HostOverride::Guarded);
/// assert_eq!(
///     "proces".parse::<HostOverride>().unwrap_err().to_string(),
///     "`proces` is not a way to host actors; did you mean `process`?"
/// );
/// # Ok::<(), chaconne_scenario::HostOverrideError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostOverride {
    /// In this process, by the threads that step everybody else; without timeouts.
    Local,
    /// In this process, each on a thread of its own, with the timeout of the scenario, or [`Hosting::TIMEOUT`].
    Guarded,
    /// In helper processes: where the scenario says so in the one that it says, all others together in one named `all`.
    Process,
    /// By turns, in the order of the file: local, guarded, in a helper process `a`, in a helper process `b`. Of those that
    /// join at run time the path decides.
    Mixed,
}

/// A text that names no [`HostOverride`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a way to host actors; {}", text.escape_debug(), nearest(text, HostOverride::ALL.iter().map(|host| host.as_str())))]
pub struct HostOverrideError {
    /// The text that was read.
    pub text: String,
}

impl HostOverride {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Local, Self::Guarded, Self::Process, Self::Mixed];

    /// Its name: that of the variant, in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Guarded => "guarded",
            Self::Process => "process",
            Self::Mixed => "mixed",
        }
    }

    /// Where the actor is stepped that stands in a file as number `turn`, from zero, and for which it says `hosting`.
    pub(super) fn of_entry(self, turn: usize, hosting: Hosting) -> Hosting {
        let Hosting { timeout, on_failure, .. } = hosting;
        let guarded = Hosting::guarded(timeout.unwrap_or(Hosting::TIMEOUT));
        let moved = match (self, turn % 4) {
            (Self::Process, _) if matches!(hosting.placement, Placement::Process(_)) => return hosting,
            (Self::Local, _) | (Self::Mixed, 0) => Hosting::default(),
            (Self::Guarded, _) | (Self::Mixed, 1) => guarded,
            // The bound on the memory was that of another process.
            (Self::Process, _) => Hosting { timeout, ..Hosting::shared_process("all") },
            (Self::Mixed, turn) => Hosting { timeout, ..Hosting::shared_process(if turn == 2 { "a" } else { "b" }) },
        };
        moved.on_failure(on_failure)
    }

    /// Where an actor is stepped that joins at run time.
    pub(crate) fn of_request(self, path: &str) -> Hosting {
        // Not by the order of arrival, which says nothing about an actor.
        let turn = Fingerprint::of(path.as_bytes()).as_bytes()[15];
        self.of_entry(usize::from(turn), Hosting::default())
    }
}

impl fmt::Display for HostOverride {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for HostOverride {
    type Err = HostOverrideError;

    fn from_str(text: &str) -> Result<Self, HostOverrideError> {
        let found = Self::ALL.into_iter().find(|host| host.as_str() == text);
        found.ok_or_else(|| HostOverrideError { text: text.to_owned() })
    }
}

/// What an entry says of its host, as the conductor takes it. What does not fit together is a mistake.
pub(super) fn hosting(fields: &HostFields, mistakes: &mut Vec<Mistake>) -> Hosting {
    let host = fields.host;
    let timeout = fields.timeout.as_ref().map(|timeout| wall(timeout.value.get()));
    let process_alone = "is for actors in helper processes; write `host: \"process\"`, or leave it out";
    let mut wrong = |place, what: String| mistakes.push(Mistake::new(place, what));
    if let (Some(timeout), Some(HostKind::Local)) = (&fields.timeout, host) {
        let what = "a timeout needs a host that can be given up; write `host: \"guarded\"` or `\"process\"`";
        wrong(timeout.place, what.to_owned());
    }
    if let Some(helper) = &fields.helper {
        if host != Some(HostKind::Process) {
            wrong(helper.place, format!("`helper` {process_alone}"));
        } else if !is_segment(&helper.value) {
            let name = helper.value.escape_debug();
            wrong(helper.place, format!("`{name}` is not a helper's name; use letters, digits, `_` and `-` only"));
        }
    }
    if let Some(memory) = fields.memory.as_ref().filter(|_| host != Some(HostKind::Process)) {
        wrong(memory.place, format!("`memory_mib` {process_alone}"));
    }
    let placed = match (host, timeout) {
        (None, None) | (Some(HostKind::Local), _) => Hosting::default(),
        (None, Some(timeout)) => Hosting::guarded(timeout),
        (Some(HostKind::Guarded), timeout) => Hosting::guarded(timeout.unwrap_or(Hosting::TIMEOUT)),
        (Some(HostKind::Process), timeout) => {
            let name = fields.helper.as_ref().map(|helper| HelperName::Shared(helper.value.clone()));
            let memory = fields.memory.as_ref().map(|memory| u64::from(memory.value.get()) << 20);
            Hosting { placement: Placement::Process(name.unwrap_or_default()), timeout, memory, ..Hosting::default() }
        }
    };
    placed.on_failure(match fields.on_failure {
        FailureKind::Halt => OnFailure::Halt,
        FailureKind::Remove => OnFailure::Remove,
    })
}

/// Wall time from a time in a file, which is above zero.
pub(super) fn wall(time: SimDuration) -> Duration {
    Duration::from_nanos(u64::try_from(time.as_nanos()).unwrap_or(0))
}
