//! The wall clock: what bounds slices and timeouts, and is reported. No result depends on it.

use std::time::{Duration, Instant};

/// Measures wall time from its start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch(Instant);

#[allow(clippy::disallowed_methods, reason = "the one use of the wall clock")]
impl Stopwatch {
    #[inline]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    #[inline]
    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }

    /// The time since the start in nanoseconds.
    #[inline]
    pub(crate) fn nanos(self) -> u64 {
        u64::try_from(self.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// A point in wall time until which something is waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    started: Stopwatch,
    length: Duration,
}

impl Deadline {
    /// This long from now.
    pub(crate) fn after(length: Duration) -> Self {
        Self { started: Stopwatch::start(), length }
    }

    /// Much later than anybody waits.
    pub(crate) fn never() -> Self {
        Self::after(Duration::MAX)
    }

    /// How long that was from the start.
    pub(crate) fn length(self) -> Duration {
        self.length
    }

    /// How much of it is left; zero when it has passed.
    pub(crate) fn remaining(self) -> Duration {
        self.length.saturating_sub(self.started.elapsed())
    }
}
