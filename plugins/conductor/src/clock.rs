//! The wall clock: the only place of the library that reads it. No result depends on it.

use std::time::{Duration, Instant};

/// Waits shorter than this are spun: `sleep` may come back so much too late.
const SPIN: Duration = Duration::from_millis(1);

/// Wall time since a moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch(Instant);

#[allow(
    clippy::disallowed_methods,
    reason = "wall time bounds slices and steps, paces and is reported; no result depends on it"
)]
impl Stopwatch {
    #[inline]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    #[inline]
    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }

    /// The time since then in nanoseconds.
    #[inline]
    pub(crate) fn nanos(self) -> u64 {
        u64::try_from(self.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Sleeps for as long. With `spin` it sleeps a little less and spins for the rest, so as not to come too late.
pub(crate) fn sleep(wait: Duration, spin: bool) {
    if !spin {
        return std::thread::sleep(wait);
    }
    let since = Stopwatch::start();
    if let Some(long) = wait.checked_sub(SPIN) {
        std::thread::sleep(long);
    }
    while since.elapsed() < wait {
        std::hint::spin_loop();
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

/// The moment, for those who keep it.
#[cfg(feature = "diagnostics")]
#[allow(clippy::disallowed_methods, reason = "says when something was measured; no result depends on it")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
