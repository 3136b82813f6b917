//! The variants: what must not change a run, one by one.

/// One thing that is different from the reference run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Variant {
    Again,
    SecondRun,
    Unrecorded,
    Recorded,
    Threads2,
    Threads8,
    NoTyped,
    Guarded,
    Process,
    Mixed,
    Paced,
}

impl Variant {
    /// All of them, in the order in which they run.
    pub(crate) const ALL: [Self; 11] = [
        Self::Again,
        Self::SecondRun,
        Self::Unrecorded,
        Self::Recorded,
        Self::Threads2,
        Self::Threads8,
        Self::NoTyped,
        Self::Guarded,
        Self::Process,
        Self::Mixed,
        Self::Paced,
    ];

    /// Those that this system has.
    pub(crate) fn available() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|one| cfg!(unix) || !matches!(one, Self::Process | Self::Mixed))
    }

    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Again => "again",
            Self::SecondRun => "second-run",
            Self::Unrecorded => "unrecorded",
            Self::Recorded => "recorded",
            Self::Threads2 => "threads-2",
            Self::Threads8 => "threads-8",
            Self::NoTyped => "no-typed",
            Self::Guarded => "guarded",
            Self::Process => "process",
            Self::Mixed => "mixed",
            Self::Paced => "paced",
        }
    }

    /// What is different in it.
    pub(crate) fn about(self) -> &'static str {
        match self {
            Self::Again => "the same in another process",
            Self::SecondRun => "the second run of a process",
            Self::Unrecorded => "nobody records it or compares it while it runs",
            Self::Recorded => "recorded while it is compared",
            Self::Threads2 => "two threads instead of one",
            Self::Threads8 => "eight threads instead of one",
            Self::NoTyped => "every signal is parsed from its text",
            Self::Guarded => "every actor on a thread of its own",
            Self::Process => "every actor in a helper process",
            Self::Mixed => "actors by turns here, on threads of their own and in two helper processes",
            Self::Paced => "in step with the wall clock",
        }
    }

    /// Threads that work at an instant.
    pub(crate) fn threads(self) -> u16 {
        match self {
            Self::Threads2 => 2,
            Self::Threads8 => 8,
            _ => 1,
        }
    }

    /// Where all actors are stepped.
    pub(crate) fn host(self) -> &'static str {
        match self {
            Self::Guarded => "guarded",
            Self::Process => "process",
            Self::Mixed => "mixed",
            _ => "local",
        }
    }

    /// Whether it is compared with the reference's log while it runs; otherwise the hashes are compared.
    pub(crate) fn is_verified(self) -> bool {
        self != Self::Unrecorded
    }
}
