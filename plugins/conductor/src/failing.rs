//! What is done about actors that fail while others go on.
//!
//! An actor that failed at an instant, and is to be removed then, leaves at that instant: nothing of what it did there is
//! delivered, hashed or logged. It is in the hash exactly where a leave stands that was planned for that time, so that a run
//! in which the same leave is planned is the same run.

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

use chaconne_sim_core::fingerprint::MembershipKind;
use chaconne_sim_core::path::ActorPath;
use chaconne_sim_core::time::SimTime;

use crate::conductor::Conductor;
use crate::error::{Halt, HaltCause};
use crate::host::{Outgoing, StepReply, drop_actors};
use crate::hosting::OnFailure;
use crate::membership::just_after;
use crate::monitor::{Observation, Observed};

impl Conductor {
    /// Removes the actors that were lost, with all under their paths, out of the world, the reply, and those who are `due`,
    /// of whom those in `asked` were asked, and none behind them. Says how many of those asked are gone.
    pub(crate) fn lose(
        &mut self,
        now: SimTime,
        due: &mut Vec<u32>,
        asked: Range<usize>,
        reply: &mut StepReply,
    ) -> usize {
        let leaf_of = |index: u32| reply.request.leaves[index as usize].leaf;
        let lost = reply.parts.iter().flat_map(|part| &part.lost);
        let mut lost: Vec<(u32, u32, HaltCause)> =
            lost.map(|lost| (lost.index, leaf_of(lost.index), lost.cause.clone())).collect();
        lost.sort_by_key(|(index, ..)| *index);
        let before = self.changes.log.len();
        for (_, leaf, cause) in lost {
            // One under the path of another that was lost is gone with it.
            if self.registry.rows[leaf as usize].next_due == SimTime::MAX {
                continue;
            }
            let actor = self.registry.actor[leaf as usize];
            let leaf = self.registry.path[leaf as usize].clone();
            let path = self.actor_of(&leaf);
            let fallen = if cause.is_of_actor() { path.clone() } else { leaf };
            self.note_removal(now, path, fallen, cause, now);
            let panicked = self.changes.panicked.take();
            self.remove(actor, now);
            // What it does when it is let go is part of its failure.
            self.changes.panicked = panicked;
        }
        // Where a leave stands that was planned; but one that joined at this very instant leaves behind its join.
        let leaves = self.changes.log.split_off(before);
        let at = self.changes.leaves_end.unwrap_or(before).min(before);
        let (new, old): (Vec<_>, Vec<_>) = leaves.into_iter().partition(|leave| {
            let mut joins = self.changes.log[at..].iter().filter(|change| change.kind == MembershipKind::Join);
            joins.any(|join| join.path == leave.path)
        });
        self.changes.leaves_end = Some(at + old.len());
        self.changes.log.splice(at..at, old);
        self.changes.log.extend(new);
        // Of those who have not been folded: among the others are some that are never due again.
        let rows = &self.registry.rows;
        let is_gone = |leaf: u32| rows[leaf as usize].next_due == SimTime::MAX;
        let actors = (0..).zip(&reply.request.actors);
        let dropped: BTreeSet<u32> = actors
            .filter(|(_, actor)| is_gone(reply.request.leaves[actor.first_leaf as usize].leaf))
            .map(|(at, _)| at)
            .collect();
        drop_actors(reply, &dropped);
        let gone = due[asked.clone()].iter().filter(|&&leaf| is_gone(leaf)).count();
        let mut place = 0;
        due.retain(|&leaf| {
            place += 1;
            place <= asked.start || !is_gone(leaf)
        });
        gone
    }

    /// What the report and the monitors have been told so far.
    pub(crate) fn marks(&self) -> (usize, u64) {
        (self.changes.removed.len(), self.changes.misses)
    }

    /// Takes back what they were told since then: the instant does not count.
    pub(crate) fn forget_since(&mut self, (removed, misses): (usize, u64)) {
        self.changes.removed.truncate(removed);
        self.changes.misses = misses;
        self.observed.clear();
    }

    /// Lets those go who cannot be stepped any more, or should not be, though what they did at this instant counts: they
    /// leave right behind it. Says why the run halts behind it, if one of them may not be lost.
    pub(crate) fn let_go(&mut self, now: SimTime, mut outgoing: Vec<Outgoing>) -> Option<Halt> {
        if outgoing.is_empty() {
            return None;
        }
        let mut halt: Option<Halt> = None;
        let mut leaving: Vec<ActorPath> = Vec::new();
        outgoing.retain(|outgoing| self.registry.rows[outgoing.slot as usize].size > 0);
        outgoing.sort_by_key(|outgoing| self.registry.rows[outgoing.slot as usize].order);
        for Outgoing { slot, cause } in outgoing {
            let actor = self.registry.actor[slot as usize];
            let Some(entry) = self.registry.entry(actor).filter(|entry| entry.first_leaf == slot) else { continue };
            let path = entry.path.clone();
            let special = self.registry.special.get(&actor);
            if special.is_some_and(|special| special.on_failure == OnFailure::Remove) {
                let after = just_after(now);
                self.note_removal(now, path.clone(), path.clone(), cause, after);
                // One under the path of another that goes is gone with it.
                let is_above = |above: &&ActorPath| {
                    path.as_str().strip_prefix(above.as_str()).is_some_and(|rest| rest.starts_with('/'))
                };
                if !leaving.iter().any(|above| is_above(&above)) {
                    self.plan_leave_of(path.clone(), after);
                }
                leaving.push(path);
            } else if let Some(halt) = &mut halt {
                halt.others += 1;
            } else {
                halt = Some(Halt { path: Some(path), instant: Some((self.ticks, now)), cause, others: 0 });
            }
        }
        halt
    }

    /// Tells monitors and the report of an actor that is removed because one of its participants failed.
    fn note_removal(&mut self, now: SimTime, path: ActorPath, fallen: ActorPath, cause: HaltCause, leaves_at: SimTime) {
        let halt = Halt { path: Some(fallen), instant: Some((self.ticks, now)), cause, others: 0 };
        let reason = halt.to_string();
        self.changes.fallen.insert(path.clone());
        self.changes.removed.push(format!("`{path}` left at {leaves_at} s: {reason}"));
        self.observed.push(Observation { time: now, path: Some(path), what: Observed::Removed { reason } });
    }

    /// Takes in how long steps took.
    pub(crate) fn time(&mut self, now: SimTime, reply: &StepReply) {
        for &(index, nanos) in reply.parts.iter().flat_map(|part| &part.times) {
            let leaf = reply.request.leaves[index as usize];
            let actor = self.registry.actor[leaf.leaf as usize];
            let budgets = self.registry.special.get(&actor).map_or(&[][..], |special| &special.budgets);
            let budget = budgets.iter().find(|(position, _)| *position == leaf.position).map(|(_, budget)| *budget);
            if self.timing.step(leaf.leaf, nanos, budget)
                && let Some(budget) = budget
            {
                let took = Duration::from_nanos(nanos);
                self.changes.misses += 1;
                let path = Some(self.registry.path[leaf.leaf as usize].clone());
                self.observed.push(Observation { time: now, path, what: Observed::Budget { took, budget } });
            }
        }
    }
}
