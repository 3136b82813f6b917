//! The task pools of Bevy, which participants may use, sized like the threads of the run.

use bevy_tasks::{AsyncComputeTaskPool, ComputeTaskPool, IoTaskPool, TaskPool, TaskPoolBuilder};

/// Gives each pool so many threads; with 0 they become what Bevy makes of them when they are used first. Has to come before
/// anything that uses them.
pub(crate) fn size(threads: u16) {
    if threads == 0 {
        return;
    }
    let pool = |name: &str| -> TaskPool {
        TaskPoolBuilder::new().num_threads(usize::from(threads)).thread_name(name.to_owned()).build()
    };
    ComputeTaskPool::get_or_init(|| pool("Compute Task Pool"));
    AsyncComputeTaskPool::get_or_init(|| pool("Async Compute Task Pool"));
    IoTaskPool::get_or_init(|| pool("IO Task Pool"));
}
