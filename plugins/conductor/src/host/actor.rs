//! One hosted actor: its leaves, and the delivery among them.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use chaconne_sim_core::fingerprint::StateWriter;
use chaconne_sim_core::membership::Request;
use chaconne_sim_core::port::{
    Content, Hosted, Inbound, Names, OutputId, OutputTable, Port, Published, StepBounds, StepInput, StepOutput,
};
use chaconne_sim_core::time::SimTime;

use super::{HaltCause, LeafReply, LeafStep, ReplyPart, StepFailure, cause_of, panic_text};
use crate::clock::Stopwatch;
use crate::span::span;

/// What one thread uses again from step to step.
#[derive(Default)]
pub(crate) struct Scratch {
    state: StateWriter,
    /// Items for later leaves of the actor being stepped, by position.
    inside: BTreeMap<u32, Vec<Inbound>>,
    inbox: Vec<Inbound>,
    requests: Vec<Request>,
    /// The leaf being stepped, as an index among the request's leaves: who panicked, when somebody did.
    current: u32,
    /// How much was in the part before the actor being stepped, when that is removable.
    before: Option<Lengths>,
}

/// How much is in a part.
#[derive(Clone, Copy)]
struct Lengths {
    leaves: usize,
    published: usize,
    declared: usize,
    requests: usize,
    times: usize,
    frame: usize,
}

impl Lengths {
    fn of(part: &ReplyPart) -> Self {
        Self {
            leaves: part.leaves.len(),
            published: part.published.len(),
            declared: part.declared.len(),
            requests: part.requests.len(),
            times: part.times.len(),
            frame: part.frame.len(),
        }
    }

    /// Takes out what came since.
    fn restore(self, part: &mut ReplyPart) {
        part.leaves.truncate(self.leaves);
        part.published.truncate(self.published);
        part.declared.truncate(self.declared);
        part.requests.truncate(self.requests);
        part.times.truncate(self.times);
        // Where texts are not kept the frame holds the last step alone.
        part.frame.truncate(self.frame.min(part.frame.len()));
    }
}

/// Takes note that a leaf failed.
#[cold]
fn fail(part: &mut ReplyPart, scratch: &mut Scratch, cause: HaltCause) {
    let failure = StepFailure { index: scratch.current, cause };
    match scratch.before.take() {
        Some(before) => {
            before.restore(part);
            part.lost.push(failure);
        }
        None => part.failures.push(failure),
    }
    scratch.inside.clear();
    scratch.state.clear();
    scratch.requests.clear();
}

/// Some consecutive leaves of one actor, as a request lists them.
pub(crate) struct ActorLeaves<'a> {
    pub(crate) now: SimTime,
    pub(crate) keep_texts: bool,
    pub(crate) leaves: &'a [LeafStep],
    /// Index of the first among the request's leaves.
    pub(crate) first_index: u32,
    /// The request's inbox, and where the first leaf's begins in it.
    pub(crate) inbox: &'a [Inbound],
    pub(crate) inbox_start: u32,
    pub(crate) outputs: &'a OutputTable,
    pub(crate) bounds: StepBounds,
    pub(crate) removable: bool,
    pub(crate) timed: bool,
}

/// Steps an actor's due leaves in pipeline order; `actor` are all its leaves. After a failure its later leaves are not
/// stepped.
#[inline]
pub(crate) fn step_actor(actor: &mut [Hosted], due: &ActorLeaves<'_>, part: &mut ReplyPart, scratch: &mut Scratch) {
    let mut inbox_start = due.inbox_start;
    scratch.before = due.removable.then(|| Lengths::of(part));
    for (index, leaf) in (due.first_index..).zip(due.leaves) {
        let inbox = &due.inbox[inbox_start as usize..leaf.inbox_end as usize];
        inbox_start = leaf.inbox_end;
        scratch.current = index;
        let started = due.timed.then(Stopwatch::start);
        if let Err(cause) = step_leaf(actor, due, leaf, index, inbox, part, scratch) {
            fail(part, scratch, cause);
            break;
        }
        if let Some(started) = started {
            part.times.push((index, started.nanos()));
        }
    }
    scratch.inside.clear();
}

#[inline]
fn step_leaf(
    actor: &mut [Hosted],
    due: &ActorLeaves<'_>,
    leaf: &LeafStep,
    index: u32,
    inbox: &[Inbound],
    part: &mut ReplyPart,
    scratch: &mut Scratch,
) -> Result<(), HaltCause> {
    let Some((siblings, [hosted, later @ ..])) = actor.split_at_mut_checked(leaf.position as usize) else {
        return Err(HaltCause::Error(format!("its actor has no leaf {}", leaf.position)));
    };
    span!("step", path = %hosted.port.path());
    let names = Names { table: due.outputs, siblings };
    // What is for a leaf that is not due stays unread here: the conductor delivers it.
    let inside = if scratch.inside.is_empty() { None } else { scratch.inside.remove(&leaf.position) };
    let inbox = match inside {
        None => inbox,
        Some(inside) => {
            merge(inbox, inside, &names, &mut scratch.inbox);
            &scratch.inbox
        }
    };
    if !due.keep_texts {
        part.frame.clear();
    }
    let before = part.published.len();
    let input = StepInput {
        now: due.now,
        last: (leaf.last_step != SimTime::MIN).then_some(leaf.last_step),
        seq: leaf.seq,
        inbox,
        names: &names,
        bounds: due.bounds,
    };
    let output = StepOutput {
        frame: &mut part.frame,
        published: &mut part.published,
        state: &mut scratch.state,
        requests: &mut scratch.requests,
    };
    let stepped = hosted.step(input, output).map_err(cause_of)?;
    if stepped.next_due <= due.now {
        return Err(HaltCause::NotAdvancing { next_due: stepped.next_due });
    }
    let port = &mut hosted.port;
    if port.has_undeclared() {
        port.link(leaf.position + 1, later);
        part.declared.extend(port.take_declared().map(|key| (index, key.clone())));
    }
    if !scratch.requests.is_empty() {
        part.requests.extend(scratch.requests.drain(..).map(|request| (index, request)));
    }
    let published = &part.published[before..];
    part.leaves.push(LeafReply {
        next_due: stepped.next_due,
        contribution: stepped.contribution,
        state: stepped.state,
        published: published.len() as u32,
    });
    if !later.is_empty() {
        deliver_inside(due.now, leaf, port, published, scratch);
    }
    Ok(())
}

/// Gives what a leaf published to the later leaves of its actor.
fn deliver_inside(now: SimTime, leaf: &LeafStep, port: &Port, published: &[Published], scratch: &mut Scratch) {
    for (signal, seq) in published.iter().zip(leaf.seq..) {
        for link in port.links(signal.output) {
            let item = Inbound {
                output: OutputId { leaf: leaf.leaf, index: signal.output },
                reach: link.reach,
                time: now,
                seq,
                content: Content::Signal(signal.payload.clone()),
            };
            scratch.inside.entry(link.position).or_default().push(item);
        }
    }
}

/// Calls `step` for each of a run of actors. A step that panics is a failure of its leaf, and the others go on; what it
/// leaves behind is not looked at again, because the run halts.
#[inline]
pub(crate) fn for_each_caught(
    actors: std::ops::Range<usize>,
    part: &mut ReplyPart,
    scratch: &mut Scratch,
    mut step: impl FnMut(usize, &mut ReplyPart, &mut Scratch),
) {
    let mut actors = actors;
    loop {
        let all = catch_unwind(AssertUnwindSafe(|| {
            for at in actors.by_ref() {
                step(at, part, scratch);
            }
        }));
        let Err(panic) = all else { break };
        fail(part, scratch, HaltCause::Panic(panic_text(&*panic)));
    }
}

/// Adds to a leaf's inbox what earlier leaves of its actor published at this instant.
fn merge(inbox: &[Inbound], mut inside: Vec<Inbound>, names: &Names<'_>, merged: &mut Vec<Inbound>) {
    // All that came by the conductor is older than this instant.
    names.sort(&mut inside);
    merged.clear();
    merged.extend_from_slice(inbox);
    merged.append(&mut inside);
}
