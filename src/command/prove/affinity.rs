//! One processor for the runs with one thread: what asks for the number of processors is told another one than in the runs
//! with several.

/// This thread, and whatever process it starts, on one processor, until this is dropped. Where that cannot be had, nothing
/// is changed.
#[cfg(target_os = "linux")]
pub(crate) struct Pinned(Option<rustix::thread::CpuSet>);

#[cfg(target_os = "linux")]
impl Pinned {
    pub(crate) fn new() -> Self {
        use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
        let Ok(before) = sched_getaffinity(None) else { return Self(None) };
        let usable: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| before.is_set(*cpu)).collect();
        if usable.is_empty() {
            return Self(None);
        }
        // Of several programs that prove at the same time, not all take the same one.
        let chosen = usable[std::process::id() as usize % usable.len()];
        let mut one = CpuSet::new();
        one.set(chosen);
        Self(sched_setaffinity(None, &one).is_ok().then_some(before))
    }
}

#[cfg(target_os = "linux")]
impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // It was allowed before.
            let _ = rustix::thread::sched_setaffinity(None, before);
        }
    }
}

/// As on Linux, but there is nothing like it here.
#[cfg(not(target_os = "linux"))]
pub(crate) struct Pinned;

#[cfg(not(target_os = "linux"))]
impl Pinned {
    pub(crate) fn new() -> Self {
        Self
    }
}
