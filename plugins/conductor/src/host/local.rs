//! The local host: actors in this process, stepped by the caller and a pool of its own.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bevy_tasks::{TaskPool, TaskPoolBuilder};
use chaconne_sim_core::port::{Hosted, OutputId, OutputInfo, OutputTable, RunIdentity, STEPPED_BYTES, StepBounds};
use chaconne_sim_core::prefetch::prefetch;

use super::actor::{ActorLeaves, Scratch, for_each_caught, step_actor};
use super::gather::gather;
use super::{ActorStep, Host, ReplyPart, StepReply, StepRequest};

/// From this many due leaves on, a request is worth several threads.
const PARALLEL_FROM: usize = 512;
/// Leaves per piece of work handed to a thread.
const CHUNK: usize = 256;
/// Leaves per request, on one thread and on several.
const BATCH: usize = 1024;
const BATCH_TOGETHER: usize = 4096;
/// How many leaves ahead of the one being stepped a participant's memory is asked for; and, farther ahead, the place in the
/// array that tells where the participant is.
const AHEAD: usize = 4;
const FAR_AHEAD: usize = 12;
/// Stack of a worker, in bytes: as much as main threads have, so that a deep step fares alike on any thread.
pub(super) const WORKER_STACK: usize = 8 << 20;

/// Steps actors in this process. `threads` threads work at an instant: the caller and `threads` − 1 workers.
pub(crate) struct LocalHost {
    run: Arc<RunIdentity>,
    /// By leaf slot, dense: the walk of an instant is mostly a walk along this array.
    leaves: Vec<Hosted>,
    outputs: OutputTable,
    workers: Option<TaskPool>,
    request: Option<StepRequest>,
    scratch: Vec<Scratch>,
    bounds: StepBounds,
}

impl LocalHost {
    pub(crate) fn new(run: Arc<RunIdentity>, threads: usize) -> Self {
        let workers = (threads > 1).then(|| {
            let pool = TaskPoolBuilder::new().num_threads(threads - 1).stack_size(WORKER_STACK);
            pool.thread_name("conductor".to_string()).build()
        });
        Self {
            outputs: OutputTable::new(&run.world),
            run,
            leaves: Vec::new(),
            workers,
            request: None,
            scratch: vec![Scratch::default()],
            bounds: StepBounds::default(),
        }
    }

    /// Takes note of outputs.
    pub(super) fn declare(&mut self, outputs: &mut Vec<(OutputId, OutputInfo)>) {
        for (id, info) in outputs.drain(..) {
            self.outputs.declare(id, info);
        }
    }

    /// Takes note of what its own actors have published for the first time in a reply: for a host that nobody tells.
    pub(super) fn declare_own(&mut self, reply: &StepReply) {
        for (index, key) in reply.parts.iter().flat_map(|part| &part.declared) {
            let leaf = reply.request.leaves[*index as usize].leaf;
            if let Some(hosted) = self.leaves.get(leaf as usize) {
                let info = OutputInfo { key: key.clone(), publisher: hosted.port.path().clone() };
                self.outputs.declare_next(leaf, info);
            }
        }
    }

    /// Takes note of one output.
    pub(super) fn declare_one(&mut self, id: OutputId, info: OutputInfo) {
        self.outputs.declare(id, info);
    }

    /// Sets how much one step may publish.
    pub(super) fn set_bounds(&mut self, bounds: StepBounds) {
        self.bounds = bounds;
    }

    /// The outputs that it has been told of.
    pub(super) fn outputs(&self) -> &OutputTable {
        &self.outputs
    }

    fn step_here(&mut self, request: &StepRequest, part: &mut ReplyPart) {
        let Self { leaves, outputs, scratch, bounds, .. } = self;
        let with = With { outputs, bounds: *bounds };
        step_run(request, Order::Request, 0..request.actors.len(), leaves, 0, with, part, &mut scratch[0]);
    }

    /// Threads share the array of leaves out by slot.
    fn step_together(&mut self, request: &StepRequest, parts: &mut Vec<ReplyPart>) {
        if request.actors.is_sorted_by_key(|step| step.slot) {
            return self.step_in(Order::Request, request, parts);
        }
        let mut order: Vec<u32> = (0..request.actors.len() as u32).collect();
        order.sort_unstable_by_key(|&at| request.actors[at as usize].slot);
        self.step_in(Order::Slots(&order), request, parts);
        let whole = gather(request, &order, parts, &BTreeSet::new());
        parts.iter_mut().for_each(ReplyPart::clear);
        parts[0] = whole;
    }

    fn step_in(&mut self, order: Order<'_>, request: &StepRequest, parts: &mut Vec<ReplyPart>) {
        let Self { leaves, outputs, workers, scratch, bounds, .. } = self;
        let chunks = cut(request, order);
        parts.resize_with(parts.len().max(chunks.len()), ReplyPart::default);
        scratch.resize_with(scratch.len().max(chunks.len()), Scratch::default);
        let mut jobs = Vec::with_capacity(chunks.len());
        let (mut rest, mut base) = (leaves.as_mut_slice(), 0);
        for (range, (part, scratch)) in chunks.into_iter().zip(parts.iter_mut().zip(scratch.iter_mut())) {
            let last = request.actors[order.actor(range.end - 1)];
            let start = request.actors[order.actor(range.start)].slot as usize;
            let (_, behind) = rest.split_at_mut(start - base);
            let (own, behind) = behind.split_at_mut((last.slot + last.size) as usize - start);
            (rest, base) = (behind, start + own.len());
            jobs.push(Job { range, leaves: own, first_slot: start, part, scratch });
        }
        let count = jobs.len();
        let queue = Mutex::new(jobs.into_iter());
        let (queue, with) = (&queue, With { outputs, bounds: *bounds });
        let work = move || {
            loop {
                // A lock is poisoned by a panic only, and steps are caught.
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some(Job { range, leaves, first_slot, part, scratch }) = next else { break };
                step_run(request, order, range, leaves, first_slot, with, part, scratch);
            }
        };
        if let Some(workers) = workers {
            workers.scope(|scope| {
                for _ in 0..workers.thread_num().min(count - 1) {
                    scope.spawn(async move { work() });
                }
                work();
            });
        }
    }
}

/// The order in which a request's actors are stepped.
#[derive(Clone, Copy)]
enum Order<'a> {
    /// The request's own.
    Request,
    /// By slot: which actor comes when.
    Slots(&'a [u32]),
}

impl Order<'_> {
    #[inline]
    fn actor(self, at: usize) -> usize {
        match self {
            Self::Request => at,
            Self::Slots(order) => order[at] as usize,
        }
    }
}

/// What all steps share.
#[derive(Clone, Copy)]
struct With<'a> {
    outputs: &'a OutputTable,
    bounds: StepBounds,
}

/// A piece of work: consecutive actors of a request, and the slots that their leaves lie in.
struct Job<'a> {
    range: Range<usize>,
    leaves: &'a mut [Hosted],
    first_slot: usize,
    part: &'a mut ReplyPart,
    scratch: &'a mut Scratch,
}

/// Steps consecutive actors of an order, whose leaves lie in `leaves`, the first in slot `first_slot`.
#[allow(clippy::too_many_arguments, reason = "what a piece of work is made of, called from two places")]
fn step_run(
    request: &StepRequest,
    order: Order<'_>,
    actors: Range<usize>,
    leaves: &mut [Hosted],
    first_slot: usize,
    with: With<'_>,
    part: &mut ReplyPart,
    scratch: &mut Scratch,
) {
    for_each_caught(actors, part, scratch, |at, part, scratch| {
        let (step, due) = due_of(request, order.actor(at), with);
        let first = due.first_index as usize;
        for leaf in first..first + due.leaves.len() {
            let place = |ahead: usize| {
                let slot = (request.leaves.get(leaf + ahead)?.leaf as usize).checked_sub(first_slot)?;
                leaves.get(slot)
            };
            if let Some(hosted) = place(FAR_AHEAD) {
                prefetch(hosted, STEPPED_BYTES);
            }
            if let Some(hosted) = place(AHEAD) {
                hosted.prefetch();
            }
        }
        let slot = step.slot as usize - first_slot;
        step_actor(&mut leaves[slot..slot + step.size as usize], &due, part, scratch);
    });
}

/// The `at`-th actor of a request, and its due leaves.
#[inline]
fn due_of<'a>(request: &'a StepRequest, at: usize, with: With<'a>) -> (ActorStep, ActorLeaves<'a>) {
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
        outputs: with.outputs,
        bounds: with.bounds,
        removable: step.removable,
        timed: step.timed,
    };
    (step, due)
}

/// Cuts the actors into pieces of about [`CHUNK`] leaves, a heavy one into a piece of its own. Follows from the request
/// alone; no result depends on it.
fn cut(request: &StepRequest, order: Order<'_>) -> Vec<Range<usize>> {
    let (actors, leaves) = (&request.actors, request.leaves.len());
    let mut chunks = Vec::with_capacity(leaves / CHUNK + 2);
    let (mut start, mut weight) = (0, 0);
    for at in 0..actors.len() {
        let actor = order.actor(at);
        let end = actors.get(actor + 1).map_or(leaves, |next| next.first_leaf as usize);
        let own = if actors[actor].heavy { CHUNK } else { end - actors[actor].first_leaf as usize };
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
    fn add(&mut self, leaves: Vec<Hosted>) {
        for hosted in leaves {
            self.outputs.forget(hosted.port.leaf());
            let slot = hosted.port.leaf() as usize;
            while self.leaves.len() <= slot {
                self.leaves.push(Hosted::vacant(&self.run));
            }
            self.leaves[slot] = hosted;
        }
    }

    fn remove(&mut self, slots: Range<u32>) {
        for slot in slots {
            if let Some(hosted) = self.leaves.get_mut(slot as usize) {
                // Vacant first: letting one go may panic.
                drop(std::mem::replace(hosted, Hosted::vacant(&self.run)));
            }
        }
    }

    fn batch(&self) -> usize {
        if self.workers.is_some() { BATCH_TOGETHER } else { BATCH }
    }

    fn begin(&mut self, request: StepRequest) {
        self.request = Some(request);
    }

    fn finish(&mut self) -> StepReply {
        let Some(mut request) = self.request.take() else { return StepReply::default() };
        self.declare(&mut request.outputs);
        let mut parts = std::mem::take(&mut request.spare);
        parts.resize_with(parts.len().max(1), ReplyPart::default);
        parts.iter_mut().for_each(ReplyPart::clear);
        let together = self.workers.is_some()
            && request.actors.len() > 1
            && (request.leaves.len() >= PARALLEL_FROM || request.actors.iter().filter(|step| step.heavy).count() > 1);
        if together {
            self.step_together(&request, &mut parts);
        } else {
            self.step_here(&request, &mut parts[0]);
        }
        StepReply { parts, outgoing: Vec::new(), request }
    }
}
