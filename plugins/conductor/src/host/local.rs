//! The local host: actors in this process, stepped by the caller and a pool of its own.

use std::sync::{Mutex, PoisonError};

use bevy_tasks::{TaskPool, TaskPoolBuilder};
use chaconne_sim_core::participant::Participant;
use chaconne_sim_core::port::{OutputTable, Port};

use super::actor::{ActorLeaves, HostedActor, Scratch, for_each_caught};
use super::{ActorStep, Host, ReplyPart, StepReply, StepRequest};

/// From this many due leaves on, an instant is worth several threads.
const PARALLEL_FROM: usize = 512;
/// Leaves per piece of work handed to a thread.
const CHUNK: usize = 256;

/// Steps actors in this process. `threads` threads work at an instant: the caller and `threads` − 1 workers.
pub(crate) struct LocalHost {
    // Boxed so that a piece of work owns its actors while a worker has it.
    actors: Vec<Option<Box<HostedActor>>>,
    outputs: OutputTable,
    workers: Option<TaskPool>,
    request: Option<StepRequest>,
    scratch: Vec<Scratch>,
}

impl LocalHost {
    pub(crate) fn new(threads: usize) -> Self {
        let workers = (threads > 1)
            .then(|| TaskPoolBuilder::new().num_threads(threads - 1).thread_name("conductor".to_string()).build());
        Self { actors: Vec::new(), outputs: OutputTable::default(), workers, request: None, scratch: Vec::new() }
    }

    /// Takes in what the request says of outputs.
    fn learn(&mut self, request: &mut StepRequest) {
        for (leaf, info) in request.outputs.drain(..) {
            self.outputs.declare(leaf, info);
        }
    }

    fn step_here(&mut self, request: &StepRequest, part: &mut ReplyPart) {
        self.scratch.resize_with(self.scratch.len().max(1), Scratch::default);
        let scratch = &mut self.scratch[0];
        let (actors, outputs) = (&mut self.actors, &self.outputs);
        for_each_caught(0..request.actors.len(), part, scratch, |at, part, scratch| {
            let (actor, due) = due_of(request, at, outputs);
            // A number that stands for no actor is the conductor's mistake; nothing is stepped, and its check notices.
            if let Some(hosted) = &mut actors[actor as usize] {
                hosted.step(&due, part, scratch);
            }
        });
    }

    fn step_together(&mut self, request: &StepRequest, parts: &mut Vec<ReplyPart>) {
        let Self { actors, outputs, workers, scratch, .. } = self;
        let chunks = cut(&request.actors, request.leaves.len());
        parts.resize_with(parts.len().max(chunks.len()), ReplyPart::default);
        scratch.resize_with(scratch.len().max(chunks.len()), Scratch::default);
        let mut jobs: Vec<Job<'_>> = chunks
            .iter()
            .zip(parts.iter_mut().zip(scratch.iter_mut()))
            .map(|(range, (part, scratch))| {
                let taken =
                    request.actors[range.clone()].iter().map(|step| actors[step.actor as usize].take()).collect();
                Job { range: range.clone(), taken, part, scratch }
            })
            .collect();
        let queue = Mutex::new(jobs.iter_mut());
        let (queue, outputs) = (&queue, &*outputs);
        let work = move || {
            loop {
                // A lock is poisoned by a panic only, and steps are caught.
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some(job) = next else { break };
                let Job { range, taken, part, scratch } = job;
                for_each_caught(range.clone(), part, scratch, |at, part, scratch| {
                    if let Some(hosted) = &mut taken[at - range.start] {
                        hosted.step(&due_of(request, at, outputs).1, part, scratch);
                    }
                });
            }
        };
        if let Some(workers) = workers {
            workers.scope(|scope| {
                for _ in 0..workers.thread_num().min(chunks.len() - 1) {
                    scope.spawn(async move { work() });
                }
                work();
            });
        }
        for job in jobs {
            for (step, hosted) in request.actors[job.range].iter().zip(job.taken) {
                actors[step.actor as usize] = hosted;
            }
        }
    }
}

/// A piece of work: consecutive actors of a request.
struct Job<'a> {
    range: std::ops::Range<usize>,
    taken: Vec<Option<Box<HostedActor>>>,
    part: &'a mut ReplyPart,
    scratch: &'a mut Scratch,
}

/// The number and the due leaves of the `at`-th actor of a request.
#[inline]
fn due_of<'a>(request: &'a StepRequest, at: usize, outputs: &'a OutputTable) -> (u32, ActorLeaves<'a>) {
    let step = request.actors[at];
    let end = request.actors.get(at + 1).map_or(request.leaves.len(), |next| next.first_leaf as usize);
    let first = step.first_leaf as usize;
    let inbox_start = if first == 0 { 0 } else { request.leaves[first - 1].inbox_end };
    let due = ActorLeaves {
        now: request.now,
        keep_texts: request.keep_texts,
        leaves: &request.leaves[first..end],
        first_index: step.first_leaf,
        inbox: &request.inbox,
        inbox_start,
        outputs,
    };
    (step.actor, due)
}

/// Cuts the actors into pieces of about [`CHUNK`] leaves, a heavy one into a piece of its own. Follows from the request
/// alone; no result depends on it.
fn cut(actors: &[ActorStep], leaves: usize) -> Vec<std::ops::Range<usize>> {
    let mut chunks = Vec::with_capacity(leaves / CHUNK + 2);
    let (mut start, mut weight) = (0, 0);
    for (at, step) in actors.iter().enumerate() {
        let end = actors.get(at + 1).map_or(leaves, |next| next.first_leaf as usize);
        let own = if step.heavy { CHUNK } else { end - step.first_leaf as usize };
        if at > start && weight + own > CHUNK {
            chunks.push(start..at);
            (start, weight) = (at, 0);
        }
        weight += own;
    }
    if start < actors.len() {
        chunks.push(start..actors.len());
    }
    chunks
}

impl Host for LocalHost {
    fn add(&mut self, actor: u32, leaves: Vec<(Port, Box<dyn Participant>)>) {
        let slot = actor as usize;
        if self.actors.len() <= slot {
            self.actors.resize_with(slot + 1, || None);
        }
        self.actors[slot] = HostedActor::new(leaves).map(Box::new);
    }

    fn remove(&mut self, actor: u32) {
        if let Some(slot) = self.actors.get_mut(actor as usize) {
            *slot = None;
        }
    }

    fn begin(&mut self, request: StepRequest) {
        self.request = Some(request);
    }

    fn finish(&mut self) -> StepReply {
        let Some(mut request) = self.request.take() else { return StepReply::default() };
        self.learn(&mut request);
        let together = self.workers.is_some()
            && request.actors.len() > 1
            && (request.leaves.len() >= PARALLEL_FROM || request.actors.iter().filter(|step| step.heavy).count() > 1);
        let mut parts = std::mem::take(&mut request.spare);
        parts.resize_with(parts.len().max(1), ReplyPart::default);
        parts.iter_mut().for_each(ReplyPart::clear);
        if together {
            self.step_together(&request, &mut parts);
        } else {
            self.step_here(&request, &mut parts[0]);
        }
        StepReply { parts, request }
    }
}
