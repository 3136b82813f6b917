//! One instant: take those due, have them stepped, fold what they did into the world and its fingerprint.
//!
//! Nobody who steps at an instant can see what another actor publishes at it, so an instant may be stepped in batches, in
//! the world's order: what a batch publishes waits in inboxes with its time, and an inbox gives only what is older than
//! the instant. Batches keep the buffers small enough for the caches. The fold is one loop over the replies in the world's
//! order, so nothing depends on who was ready first.

use chaconne_sim_core::fingerprint::{self, MembershipKind};
use chaconne_sim_core::path::ActorPath;
use chaconne_sim_core::port::{Content, Inbound, OutputId, OutputInfo, Published};
use chaconne_sim_core::time::SimTime;

use std::time::Duration;

use crate::agenda::Taken;
use crate::clock::Stopwatch;
use crate::conductor::Conductor;
use crate::error::{Halt, HaltCause};
use crate::host::{ActorStep, Host, LeafStep, ReplyPart, StepReply, StepRequest};
use crate::hosting::OnFailure;
use crate::monitor::{Instant, failure_of};
use crate::routing::Sample;
use crate::span::span;

/// What an instant spent outside of the conductor's own work.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Parts {
    hosts: Duration,
    monitors: Duration,
}

/// How many leaves ahead of the one being folded the routes of its outputs are asked for; slots follow each other mostly.
const AHEAD: usize = 6;

impl Conductor {
    /// Steps the next instant, if anybody is due.
    ///
    /// # Errors
    /// The halt: a step that failed or panicked, a participant that is not advancing, a monitor that failed. A run that
    /// halted stays halted.
    pub fn step_instant(&mut self) -> Result<(), Halt> {
        if let Some(halt) = &self.halt {
            return Err(halt.clone());
        }
        if self.has_ended() {
            // The run is as it was reported; only who asks for more is told.
            return Err(Halt { path: None, instant: None, cause: HaltCause::Ended, others: 0 });
        }
        self.start_monitors()?;
        let Some(now) = self.next_instant() else { return Ok(()) };
        let started = self.timing.is_on().then(Stopwatch::start);
        // An instant whose last participant leaves at it is one still; a time at which a plan to join is refused is none.
        let earliest = self.agenda.next();
        let mut is_instant = self.changes.closing == Some(now) || self.agenda.next() == Some(now);
        let changed = self.carry_out_plans(now);
        self.number();
        let mut due = std::mem::take(&mut self.due);
        due.clear();
        let mut taken = Taken { time: now, stale: false, unsorted: false };
        if self.agenda.next() == Some(now) {
            is_instant = true;
            taken = self.agenda.take_next(&mut due).unwrap_or(taken);
        }
        if changed && !is_instant {
            // One that joins when it leaves again was due at this time, if only on paper.
            let mut joins = self.changes.log.iter().filter(|change| change.kind == MembershipKind::Join);
            is_instant = joins.any(|join| join.time == now);
        }
        let result = if is_instant {
            self.changes.closing = None;
            self.conduct(taken, changed, &mut due)
        } else {
            // Who left would have been due at an instant, which holds the leave if no other does before.
            if changed {
                self.changes.closing = self.changes.closing.into_iter().chain(earliest).min();
            }
            Ok(())
        };
        self.due = due;
        if let Some(started) = started {
            let Parts { hosts, monitors } = std::mem::take(&mut self.parts);
            if is_instant && result.is_ok() {
                self.timing.instant(started.elapsed(), hosts, monitors);
            }
        }
        result.map_err(|halt| self.set_halt(halt))
    }

    /// Steps those taken; `changed` says that somebody joined or left with this instant already.
    fn conduct(
        &mut self,
        Taken { time: now, stale, unsorted }: Taken,
        changed: bool,
        due: &mut Vec<u32>,
    ) -> Result<(), Halt> {
        span!("instant", tick = self.ticks, time = %now, due = due.len());
        self.date_leaves(now);
        let rows = &self.registry.rows;
        if stale {
            due.retain(|&leaf| rows[leaf as usize].next_due == now);
        }
        if unsorted || stale {
            due.sort_unstable_by_key(|&leaf| rows[leaf as usize].order);
        }
        if stale {
            due.dedup();
        }
        self.tick_frame.clear();
        self.tick_frame.u64(self.ticks);
        self.tick_frame.time(now);
        let count_at = self.tick_frame.reserve_u64();
        let keep_texts = !self.monitors.is_empty();
        let counts = (self.steps, self.signals);
        let mut failed: Option<Halt> = None;
        let mut outgoing = Vec::new();
        let before = self.marks();
        let mut at = 0;
        while at < due.len() {
            let end = if keep_texts { due.len() } else { self.batch_end(&due[at..]) + at };
            let mut request = std::mem::take(&mut self.request);
            span!("batch", leaves = end - at);
            self.fill(&mut request, now, keep_texts, &due[at..end]);
            let started = self.timing.is_on().then(Stopwatch::start);
            let mut reply = {
                span!("hosts");
                self.hosts.begin(request);
                self.hosts.finish()
            };
            if let Some(started) = started {
                self.parts.hosts += started.elapsed();
            }
            outgoing.append(&mut reply.outgoing);
            match (&mut failed, self.first_failure(now, &reply)) {
                (None, None) => {
                    let is_lossy = reply.parts.iter().any(|part| !part.lost.is_empty());
                    let gone = if is_lossy { self.lose(now, due, at..end, &mut reply) } else { 0 };
                    at = end - gone;
                    match self.check_complete(now, &reply) {
                        Ok(()) => self.fold(now, &mut reply),
                        Err(halt) => failed = Some(halt),
                    }
                }
                // After a failure the rest is stepped for the report alone: how many others failed.
                (None, Some(halt)) => failed = Some(halt),
                (Some(_), None) => {}
                (Some(first), Some(halt)) => first.others += 1 + halt.others,
            }
            if failed.is_some() {
                at = end;
            }
            if keep_texts {
                self.replies.push(reply);
            } else {
                self.take_back(reply);
            }
        }
        match failed {
            None => {
                self.tick_frame.patch_u64(count_at, due.len() as u64);
                span!("barrier");
                let halt = self.let_go(now, outgoing);
                self.grant_requests(now);
                self.torn = self.changes.panicked.is_some() || self.changes.unstarted.is_some();
                self.check_let_go(now)?;
                self.close(now)?;
                halt.map_or(Ok(()), Err)
            }
            Some(halt) => {
                // The instant does not count, though plans came true with it and earlier batches may have been folded.
                self.torn = changed || self.steps != counts.0;
                self.requests.clear();
                self.forget_since(before);
                (self.steps, self.signals) = counts;
                Err(halt)
            }
        }
    }

    /// Brings the world's order up to the joins since the last instant.
    pub(crate) fn number(&mut self) {
        if self.registry.number() {
            self.agenda.renumbered();
        }
    }

    /// Where as many leaves end as the hosts take at once, cut between actors.
    fn batch_end(&self, due: &[u32]) -> usize {
        let rows = &self.registry.rows;
        let mut end = self.hosts.batch().min(due.len());
        let first_slot = |leaf: u32| leaf - rows[leaf as usize].position;
        while end < due.len() && first_slot(due[end]) == first_slot(due[end - 1]) {
            end += 1;
        }
        end
    }

    /// Writes the request for a batch.
    fn fill(&mut self, request: &mut StepRequest, now: SimTime, keep_texts: bool, batch: &[u32]) {
        request.now = now;
        request.keep_texts = keep_texts;
        std::mem::swap(&mut request.outputs, &mut self.declared);
        let Self { registry, inboxes, timing, .. } = self;
        let timed = timing.is_on();
        let mut current = u32::MAX;
        for &leaf in batch {
            let row = &mut registry.rows[leaf as usize];
            let slot = leaf - row.position;
            if slot != current {
                current = slot;
                let first_leaf = request.leaves.len() as u32;
                let mut step = ActorStep { slot, size: row.size, first_leaf, heavy: false, removable: false, timed };
                if !registry.special.is_empty()
                    && let Some(special) = registry.special.get(&registry.actor[leaf as usize])
                {
                    step.heavy = special.heavy;
                    step.removable = special.on_failure == OnFailure::Remove;
                    step.timed |= !special.budgets.is_empty();
                }
                request.actors.push(step);
            }
            inboxes.take(&mut row.inbox, now, &registry.path, &mut request.inbox);
            request.leaves.push(LeafStep {
                leaf,
                position: row.position,
                last_step: row.last_step,
                seq: row.seq,
                inbox_end: request.inbox.len() as u32,
            });
        }
    }

    /// Finds the first failure in the world's order.
    fn first_failure(&self, now: SimTime, reply: &StepReply) -> Option<Halt> {
        let failures = || reply.parts.iter().flat_map(|part| &part.failures);
        let first = failures().min_by_key(|failure| failure.index)?;
        let leaf = self.path_of(reply, first.index as usize);
        let path = if first.cause.is_of_actor() { self.actor_of(&leaf) } else { leaf };
        let (cause, others) = (first.cause.clone(), failures().count() - 1);
        Some(Halt { path: Some(path), instant: Some((self.ticks, now)), cause, others })
    }

    /// Checks that everybody answered.
    fn check_complete(&self, now: SimTime, reply: &StepReply) -> Result<(), Halt> {
        let (stepped, asked): (usize, usize) =
            (reply.parts.iter().map(|part| part.leaves.len()).sum(), reply.request.leaves.len());
        if stepped == asked {
            return Ok(());
        }
        let cause = HaltCause::Error(format!("its host answered for {stepped} of {asked} participants"));
        let path = Some(self.path_of(reply, stepped.min(asked - 1)));
        Err(Halt { path, instant: Some((self.ticks, now)), cause, others: 0 })
    }

    /// The path of the actor that a participant is part of.
    pub(crate) fn actor_of(&self, leaf: &ActorPath) -> ActorPath {
        let entry = self.registry.find(leaf).and_then(|entry| self.registry.entry(entry.actor()));
        entry.map_or_else(|| leaf.clone(), |entry| entry.path.clone())
    }

    fn path_of(&self, reply: &StepReply, index: usize) -> ActorPath {
        self.registry.path[reply.request.leaves[index].leaf as usize].clone()
    }

    /// Takes a batch's replies into the world: due times, contributions, new keys, signals.
    fn fold(&mut self, now: SimTime, reply: &mut StepReply) {
        if reply.parts.iter().any(|part| !part.times.is_empty()) {
            self.time(now, reply);
        }
        span!("fold");
        let mut requests = reply.request.leaves.iter();
        let mut first_index = 0;
        for part in &mut reply.parts {
            self.declare(part, &reply.request.leaves);
            for (index, request) in part.requests.drain(..) {
                self.requests.push((reply.request.leaves[index as usize].leaf, request));
            }
            let ReplyPart { leaves, published, .. } = part;
            let mut published = published.iter_mut();
            for (at, (step, request)) in leaves.iter().zip(requests.by_ref()).enumerate() {
                let leaf = request.leaf;
                if leaves.get(at + AHEAD).is_some_and(|ahead| ahead.published > 0) {
                    self.routing.prefetch(leaf as usize + AHEAD);
                }
                let row = &mut self.registry.rows[leaf as usize];
                row.next_due = step.next_due;
                row.last_step = now;
                row.seq = request.seq + u64::from(step.published);
                row.steps += 1;
                self.tick_frame.fingerprint(step.contribution);
                if step.next_due != SimTime::MAX {
                    self.agenda.push(step.next_due, leaf, row.order);
                }
                for (signal, seq) in published.by_ref().take(step.published as usize).zip(request.seq..) {
                    self.route(now, leaf, seq, signal);
                }
                self.signals += u64::from(step.published);
            }
            first_index += leaves.len();
        }
        self.steps += first_index as u64;
    }

    /// Takes in keys used for the first time.
    fn declare(&mut self, part: &mut ReplyPart, requests: &[LeafStep]) {
        for (index, key) in part.declared.drain(..) {
            let leaf = requests[index as usize].leaf;
            let later = self
                .registry
                .entry(self.registry.actor[leaf as usize])
                .map_or(0..0, |entry| leaf + 1..entry.first_leaf + entry.leaves);
            let publisher = self.registry.path[leaf as usize].clone();
            let info = OutputInfo { key: key.clone(), publisher };
            let id = self.routing.declare(leaf, key, later);
            self.declared.push((id, info));
            if self.changes.is_followed {
                self.unmirrored.push(id);
            }
        }
    }

    /// Delivers one signal to the inboxes of its receivers, and keeps it as the newest of its output.
    #[inline]
    fn route(&mut self, now: SimTime, leaf: u32, seq: u64, signal: &mut Published) {
        let Self { routing, inboxes, registry, .. } = self;
        let output = routing.output(leaf, signal.output);
        for route in &mut output.routes {
            let receiver = &mut registry.rows[route.leaf as usize];
            let due = receiver.next_due;
            // A later leaf of the same actor, due at this instant, had it from its host; one that is done never looks.
            if (route.inside && due == now) || due == SimTime::MAX {
                continue;
            }
            let item = Inbound {
                output: OutputId { leaf, index: signal.output },
                reach: route.reach,
                time: now,
                seq,
                content: Content::Signal(signal.payload.clone()),
            };
            if route.reach.every {
                inboxes.push(&mut receiver.inbox, item);
            } else {
                inboxes.push_latest(&mut receiver.inbox, route, item, due == now);
            }
        }
        // The reply's buffer is only cleared after this.
        let payload = std::mem::take(&mut signal.payload);
        output.newest = Some(Sample { time: now, seq, payload });
    }

    /// Ends the instant: hashes, monitors.
    fn close(&mut self, now: SimTime) -> Result<(), Halt> {
        self.tick_frame.u64(self.changes.log.len() as u64);
        for change in &self.changes.log {
            self.tick_frame.u8(change.kind.as_byte());
            self.tick_frame.str(change.path.as_str());
            self.tick_frame.time(change.time);
        }
        let tick_hash = self.tick_frame.finish();
        self.world_hash = fingerprint::world_next(self.world_hash, tick_hash);
        let tick = self.ticks;
        self.ticks += 1;
        self.now = Some(now);
        let mut failed = None;
        if !self.monitors.is_empty() {
            let instant = Instant {
                tick,
                time: now,
                membership: &self.changes.log,
                observed: &self.observed,
                tick_hash,
                world_hash: self.world_hash,
                replies: &self.replies,
                registry: &self.registry,
                routing: &self.routing,
            };
            let started = self.timing.is_on().then(Stopwatch::start);
            span!("monitors");
            for monitor in &mut self.monitors {
                if let Some(failure) = failure_of(|| monitor.instant(&instant)) {
                    failed.get_or_insert(failure);
                }
            }
            if let Some(started) = started {
                self.parts.monitors += started.elapsed();
            }
            for reply in std::mem::take(&mut self.replies) {
                self.take_back(reply);
            }
        }
        self.changes.log.clear();
        self.observed.clear();
        self.settle();
        match failed {
            Some(text) => {
                Err(Halt { path: None, instant: Some((tick, now)), cause: HaltCause::Monitor(text), others: 0 })
            }
            None => Ok(()),
        }
    }

    /// Keeps a reply's buffers for the next request.
    fn take_back(&mut self, reply: StepReply) {
        self.request = reply.request;
        self.request.clear();
        self.request.spare = reply.parts;
    }
}
