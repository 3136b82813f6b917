//! What the hosts outside of the local one have in common.

#![cfg_attr(not(unix), allow(dead_code, unused_imports, reason = "nobody starts helpers there"))]

use std::time::Duration;

use super::{HaltCause, ReplyPart, StepRequest};
use crate::clock::Deadline;

/// Steps some actors elsewhere. It answers actor by actor, in the order of the request.
pub(super) trait Remote: Send {
    /// Starts on a request, in which leaves and outputs have the numbers that they have there.
    fn begin(&mut self, request: StepRequest);

    /// Waits for what the next actor of the request did. After an error nothing is asked of it any more but to be dropped.
    ///
    /// # Errors
    /// Why there is no answer and will be none: nobody who is stepped there can be stepped again.
    fn next(&mut self, deadline: Deadline) -> Result<Answer, HaltCause>;

    /// A request whose buffers may be filled again.
    fn spare(&mut self) -> StepRequest;

    /// Lets an actor go, by the number of its first leaf.
    ///
    /// # Errors
    /// What went wrong with it.
    fn remove(&mut self, first: u32, timeout: Duration) -> Result<(), Parting>;
}

/// What an actor did elsewhere.
pub(super) struct Answer {
    /// Indices count from the actor's first leaf in the request.
    pub(super) part: ReplyPart,
    /// How long it took there.
    pub(super) took: Duration,
}

/// How an actor was let go, when that did not go well.
pub(super) enum Parting {
    /// Letting go of it panicked.
    Panicked(String),
    /// It does not come back: whoever steps it is left behind.
    Hangs,
    /// Whoever steps it has ended, and why.
    Ended(String),
}

/// Why an actor was not made elsewhere.
pub(crate) enum NotMade {
    /// Whoever makes actors there made nothing of it.
    Refused(String),
    /// Nobody answers there.
    NoHelper(String),
}
