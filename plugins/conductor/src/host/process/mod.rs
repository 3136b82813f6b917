//! Helper processes: actors in processes whose end is not the end of this one.
//!
//! A helper is a program that reads frames of [`wire`](super::wire) from its stdin and writes frames to its stdout, as
//! [`serve`] does: `chaconne host --pipe`, or one's own with one's own factories. It runs in a process group of its own, so
//! that a Ctrl-C in the terminal reaches the conductor alone, ends when its stdin ends, and is ended, and waited for, when
//! nobody has a seat in it any more. Needs a Unix system.

#[cfg(unix)]
mod buffer;
#[cfg(unix)]
mod helper;
#[cfg(unix)]
mod serve;

use std::ffi::OsString;
use std::path::PathBuf;

#[cfg(unix)]
pub(super) use helper::Helper;
#[cfg(unix)]
pub use serve::{ServeError, serve};

/// The variable by which a helper process knows that it is one, and starts no helpers itself.
pub const IS_HELPER: &str = "CHACONNE_HELPER";

/// What helper processes run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelperProgram {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// What its factories need to know of the run: handed to them as it is.
    pub setting: String,
    /// Which build it has to be, as [`build_of_this`] says; any, unless it is set.
    pub build: Option<String>,
}

/// Which build this very program is: that of another one is another. None when its file cannot be looked at.
pub fn build_of_this() -> Option<String> {
    let file = std::fs::metadata(std::env::current_exe().ok()?).ok()?;
    let since = file.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(format!("{} {} {}", env!("CARGO_PKG_VERSION"), file.len(), since.as_nanos()))
}

impl HelperProgram {
    /// A program with its arguments.
    pub fn new(program: impl Into<PathBuf>, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        Self { program: program.into(), args, setting: String::new(), build: None }
    }

    /// This program itself, with arguments at which it [serves](serve).
    ///
    /// # Errors
    /// When the system does not tell where it is.
    pub fn this(args: impl IntoIterator<Item = impl Into<OsString>>) -> std::io::Result<Self> {
        Ok(Self { build: build_of_this(), ..Self::new(std::env::current_exe()?, args) })
    }

    /// With what its factories need to know of the run.
    #[must_use]
    pub fn setting(mut self, setting: impl Into<String>) -> Self {
        self.setting = setting.into();
        self
    }
}

#[cfg(not(unix))]
pub(super) use absent::Helper;

#[cfg(not(unix))]
mod absent {
    use std::sync::Arc;
    use std::time::Duration;

    use chaconne_sim_core::membership::NodeRequest;
    use chaconne_sim_core::path::ActorPath;
    use chaconne_sim_core::port::{RunIdentity, StepBounds};

    use super::HelperProgram;
    use crate::clock::Deadline;
    use crate::host::remote::{Answer, NotMade, Parting, Remote};
    use crate::host::wire::Described;
    use crate::host::{HaltCause, StepRequest};

    /// There are none.
    pub(in crate::host) enum Helper {}

    impl Helper {
        pub(in crate::host) fn start(
            _: &HelperProgram,
            _: &Arc<RunIdentity>,
            _: Option<u64>,
            _: Duration,
        ) -> Result<Self, String> {
            Err("helper processes need a Unix system; let it be stepped on a guarded thread".to_owned())
        }

        pub(in crate::host) fn make(
            &mut self,
            _: &ActorPath,
            _: &NodeRequest,
            _: Duration,
        ) -> Result<Described, NotMade> {
            match *self {}
        }

        pub(in crate::host) fn seat(&mut self, _: u32, _: StepBounds) {
            match *self {}
        }

        pub(in crate::host) fn ask_to_end(&mut self) {
            match *self {}
        }

        pub(in crate::host) fn discard(&mut self) {
            match *self {}
        }
    }

    impl Remote for Helper {
        fn begin(&mut self, _: StepRequest) {
            match *self {}
        }

        fn next(&mut self, _: Deadline) -> Result<Answer, HaltCause> {
            match *self {}
        }

        fn spare(&mut self) -> StepRequest {
            match *self {}
        }

        fn remove(&mut self, _: u32, _: Duration) -> Result<(), Parting> {
            match *self {}
        }
    }
}
