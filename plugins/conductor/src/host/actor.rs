//! One hosted actor: its leaves, and the delivery among them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use chaconne_sim_core::fingerprint::StateWriter;
use chaconne_sim_core::participant::Participant;
use chaconne_sim_core::port::{Content, Inbound, Names, OutputId, OutputTable, Port, StepInput, StepOutput};
use chaconne_sim_core::time::SimTime;
use smallvec::SmallVec;

use super::{HaltCause, LeafReply, LeafStep, ReplyPart, StepFailure, cause_of, panic_text};

/// An actor as a host keeps it.
pub(crate) struct HostedActor {
    ports: SmallVec<[Port; 1]>,
    participants: SmallVec<[Box<dyn Participant>; 1]>,
}

/// What one thread uses again from step to step.
#[derive(Default)]
pub(crate) struct Scratch {
    state: StateWriter,
    /// Items for later leaves of the actor being stepped: (position, item).
    inside: Vec<(u32, Inbound)>,
    inbox: Vec<Inbound>,
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
}

impl HostedActor {
    pub(crate) fn new(leaves: Vec<(Port, Box<dyn Participant>)>) -> Self {
        let mut actor = Self { ports: SmallVec::new(), participants: SmallVec::new() };
        for (port, participant) in leaves {
            actor.ports.push(port);
            actor.participants.push(participant);
        }
        actor
    }

    /// Steps the actor's due leaves in pipeline order. After a failure its later leaves are not stepped.
    #[inline]
    pub(crate) fn step(&mut self, due: &ActorLeaves<'_>, part: &mut ReplyPart, scratch: &mut Scratch) {
        scratch.inside.clear();
        let mut inbox_start = due.inbox_start;
        for (index, leaf) in (due.first_index..).zip(due.leaves) {
            let inbox = &due.inbox[inbox_start as usize..leaf.inbox_end as usize];
            inbox_start = leaf.inbox_end;
            if let Err(cause) = self.step_leaf(due, leaf, index, inbox, part, scratch) {
                part.failures.push(StepFailure { index, cause });
                return;
            }
        }
    }

    #[inline]
    fn step_leaf(
        &mut self,
        due: &ActorLeaves<'_>,
        leaf: &LeafStep,
        index: u32,
        inbox: &[Inbound],
        part: &mut ReplyPart,
        scratch: &mut Scratch,
    ) -> Result<(), HaltCause> {
        let position = leaf.position as usize;
        let (siblings, rest) = self.ports.split_at_mut(position);
        let (port, later) = rest.split_first_mut().ok_or_else(|| {
            HaltCause::Error(format!("a request names leaf {position} of an actor that has {}", siblings.len()))
        })?;
        let participant = &mut self.participants[position];
        let names = Names { table: due.outputs, siblings };
        let inbox = if scratch.inside.is_empty() {
            inbox
        } else {
            merge(inbox, leaf.position, &names, scratch);
            &scratch.inbox
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
            names,
        };
        let output = StepOutput { frame: &mut part.frame, published: &mut part.published, state: &mut scratch.state };
        // What a panicking participant leaves behind is not looked at again: the run halts.
        let stepped = catch_unwind(AssertUnwindSafe(|| port.step(&mut **participant, input, output)))
            .map_err(|panic| HaltCause::Panic(panic_text(&*panic)))?
            .map_err(cause_of)?;
        if stepped.next_due <= due.now {
            return Err(HaltCause::NotAdvancing { next_due: stepped.next_due });
        }
        let published = &part.published[before..];
        if port.has_undeclared() {
            port.link(leaf.position + 1, later);
            part.declared.extend(port.take_declared().map(|key| (index, key.clone())));
        }
        if !later.is_empty() {
            for (signal, seq) in published.iter().zip(leaf.seq..) {
                for link in port.links(signal.output) {
                    let item = Inbound {
                        output: OutputId { leaf: leaf.leaf, index: signal.output },
                        reach: link.reach,
                        time: due.now,
                        seq,
                        content: Content::Signal(signal.payload.clone()),
                    };
                    scratch.inside.push((link.position, item));
                }
            }
        }
        part.leaves.push(LeafReply {
            next_due: stepped.next_due,
            contribution: stepped.contribution,
            state: stepped.state,
            published: published.len() as u32,
        });
        Ok(())
    }
}

/// Adds to a leaf's inbox what earlier leaves of its actor published at this instant.
fn merge(inbox: &[Inbound], position: u32, names: &Names<'_>, scratch: &mut Scratch) {
    scratch.inbox.clear();
    scratch.inbox.extend_from_slice(inbox);
    let from = scratch.inbox.len();
    for (receiver, item) in &scratch.inside {
        if *receiver == position {
            scratch.inbox.push(item.clone());
        }
    }
    // All that came by the conductor is older than this instant.
    names.sort(&mut scratch.inbox[from..]);
}
