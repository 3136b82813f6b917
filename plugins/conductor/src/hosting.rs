//! Where an actor is stepped, how long its steps may take, and what is done when it fails.
//!
//! ```
//! use std::time::Duration;
//!
//! use chaconne_conductor::{Actor, Hosting, OnFailure};
//! # use chaconne_sim_core::{context::StepCtx, error::StepResult, participant::Participant};
//! # struct Camera;
//! # impl Participant for Camera { fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult { Ok(ctx.never()) } }
//!
//! // On a thread of its own: should a step hang for more than 200 ms, the camera leaves and the others go on.
//! let hosting = Hosting::guarded(Duration::from_millis(200)).on_failure(OnFailure::Remove);
//! let camera = Actor::of("camera", Camera).hosted(hosting);
//! # assert_eq!(camera.path(), "camera");
//! ```

use std::time::Duration;

/// Where an actor is stepped. No result depends on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Placement {
    /// In this process, by the threads that step everybody else.
    #[default]
    Local,
    /// In this process, on a thread of its own that may never come back.
    Guarded,
    /// In a helper process, whose end is not the end of this one. The actor is made there: it is given as
    /// [`Actor::requested`](crate::Actor::requested).
    Process(HelperName),
}

/// Which helper process an actor is stepped in.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum HelperName {
    /// One of its own.
    #[default]
    Own,
    /// One that it shares with all that name it, and with whose end they all end.
    Shared(String),
}

/// What is done when an actor fails: when a step returns an error, panics, takes longer than its timeout, publishes more
/// than it may, or when the process ends in which it is stepped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// The run halts.
    #[default]
    Halt,
    /// The actor leaves, with all under its path, and the run goes on. What it did at that instant does not count, and the
    /// instant is the first that it is not stepped at. When its step came to an end after all, but too late, that step
    /// counts, and the actor leaves one nanosecond later.
    ///
    /// It is an ordinary leave: a run in which the same leave is planned ([`Conductor::leave_at`](crate::Conductor::leave_at),
    /// or `leaves` of a scenario) is the same run. Plans are carried out in the order of their times, leaves before joins; so it
    /// is not when somebody is planned to join, at the very time at which the actor fails, in its place or under its path, or
    /// is the one that fails.
    Remove,
}

/// Where an actor is stepped, how long a step may take, and what is done when it fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosting {
    /// Where.
    pub placement: Placement,
    /// How long the steps of the actor at one instant may take together, in wall time, in which time counts during which the
    /// system stopped the process. None in the local place, where nobody could act on it; elsewhere [`Hosting::TIMEOUT`]
    /// unless it is set.
    pub timeout: Option<Duration>,
    /// What is done when it fails.
    pub on_failure: OnFailure,
    /// How much memory its helper process may take, in bytes; as much as there is unless it is set. Of several actors that
    /// share a helper the first one decides.
    pub memory: Option<u64>,
    /// How long it may take, in wall time, to start its helper process, to make it there, and to let go of it, if that is more
    /// than the timeout; [`Hosting::PATIENCE`] unless it is set.
    pub patience: Duration,
}

impl Default for Hosting {
    fn default() -> Self {
        Self {
            placement: Placement::default(),
            timeout: None,
            on_failure: OnFailure::default(),
            memory: None,
            patience: Self::PATIENCE,
        }
    }
}

impl Hosting {
    /// How long what happens once may take unless something else is said.
    pub const PATIENCE: Duration = Duration::from_secs(30);

    /// How long a step outside of the local place may take unless something else is said: so long that only what hangs
    /// is caught.
    pub const TIMEOUT: Duration = Duration::from_secs(60);

    /// In this process, on a thread of its own; its steps at one instant take `timeout` at most.
    pub fn guarded(timeout: Duration) -> Self {
        Self { placement: Placement::Guarded, timeout: Some(timeout), ..Self::default() }
    }

    /// In a helper process of its own.
    pub fn process() -> Self {
        Self { placement: Placement::Process(HelperName::Own), ..Self::default() }
    }

    /// In the helper process of a name, together with others.
    pub fn shared_process(name: impl Into<String>) -> Self {
        Self { placement: Placement::Process(HelperName::Shared(name.into())), ..Self::default() }
    }

    /// With this timeout.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// With this patience.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// How long what happens once may take.
    pub(crate) fn once(&self) -> Duration {
        self.patience.max(self.timeout.unwrap_or(Duration::ZERO))
    }

    /// With this done when it fails.
    #[must_use]
    pub fn on_failure(mut self, on_failure: OnFailure) -> Self {
        self.on_failure = on_failure;
        self
    }

    /// With this bound on the memory of its helper process, in bytes.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }
}
