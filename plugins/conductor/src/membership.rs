//! Who joins and leaves while the run goes on.
//!
//! Three may ask. A *driver*, the code around the conductor, adds and removes between two instants: what it does is in
//! the hash of the next one. A *participant* asks in its step: what it asks for is granted at the barrier of that instant,
//! in the order of (place in the world, order of asking), and is in the hash of that instant. A *plan* names a time: it
//! comes true before the first instant that is not before that time. Whoever asks, an actor joins as a whole and leaves as a
//! whole, with all under its path, and a request that is refused changes nothing.
//!
//! Leaf slots of an actor that left are used again once nothing of it is on its way any more: each receiver of its signals
//! is told that it left, behind the last of them, and when all have taken note the slots are free.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use chaconne_sim_core::canon;
use chaconne_sim_core::fingerprint::MembershipKind;
use chaconne_sim_core::membership::{JoinRequest, LeaveRequest, Refusal, RefusedKind, Request};
use chaconne_sim_core::participant::Participant;
use chaconne_sim_core::path::ActorPath;
use chaconne_sim_core::port::{Content, Hosted, Inbound, OutputId, Port, Reach};
use chaconne_sim_core::signal::Payload;
use chaconne_sim_core::time::{SimDuration, SimTime};

use crate::composite::{Actor, FlatActor};
use crate::conductor::Conductor;
use crate::error::{Halt, HaltCause, LeaveError, RegistrationError};
use crate::host::{Host, Made, NotMade, Seating, panic_text};
use crate::hosting::Placement;
use crate::monitor::Membership;
use crate::registry::{ActorId, Joining, Special};

/// Makes actors from names and parameters, for requests to join.
pub trait ActorMaker: Send {
    /// Makes the actor that is asked for; `path` is where it will stand. Its times are set by the conductor. What it makes may
    /// depend on nothing but the request and what the maker was made with.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the request and what to do.
    fn make(&mut self, request: &JoinRequest, path: &ActorPath) -> Result<Actor, String>;
}

impl<F: FnMut(&JoinRequest, &ActorPath) -> Result<Actor, String> + Send> ActorMaker for F {
    fn make(&mut self, request: &JoinRequest, path: &ActorPath) -> Result<Actor, String> {
        self(request, path)
    }
}

/// What is to happen at a time.
#[derive(Default)]
pub(crate) struct Plans {
    /// By time; then those of a path before those of an actor, so that both may mean the same one; then in the order of
    /// planning.
    leaves: BTreeMap<LeaveKey, PlannedLeave>,
    /// Where in it an actor's own is, by slot.
    of_actors: BTreeMap<u32, LeaveKey>,
    joins: BTreeMap<(SimTime, u64), (SimTime, Actor)>,
    /// When those who are to join are first due: how many at each time.
    first_dues: BTreeMap<SimTime, usize>,
    count: u64,
}

/// Time, whether it is of an actor, number of the plan.
type LeaveKey = (SimTime, bool, u64);

enum PlannedLeave {
    /// Of this actor: whoever has its path later is somebody else.
    Of(ActorId),
    /// Of whoever has the path then.
    Path(ActorPath),
}

impl Plans {
    fn key(&mut self, time: SimTime) -> (SimTime, u64) {
        self.count += 1;
        (time, self.count)
    }

    fn join(&mut self, time: SimTime, first_due: SimTime, actor: Actor) {
        *self.first_dues.entry(first_due).or_default() += 1;
        let key = self.key(time);
        self.joins.insert(key, (first_due, actor));
    }

    /// The time of the next leave that is planned.
    fn next_leave(&self) -> Option<SimTime> {
        self.leaves.first_key_value().map(|((time, ..), _)| *time)
    }

    /// The time of the next join that is planned.
    fn next_join(&self) -> Option<SimTime> {
        self.joins.first_key_value().map(|((time, _), _)| *time)
    }

    /// The next who is to join at `until` or before.
    fn take_join(&mut self, until: SimTime) -> Option<(SimTime, Actor)> {
        let ((time, _), (first_due, actor)) =
            self.joins.first_entry().filter(|entry| entry.key().0 <= until)?.remove_entry();
        if let Some(count) = self.first_dues.get_mut(&first_due) {
            *count -= 1;
            if *count == 0 {
                self.first_dues.remove(&first_due);
            }
        }
        Some((time, actor))
    }

    /// The earliest time at which somebody who is to join is due.
    #[inline]
    pub(crate) fn next_due(&self) -> Option<SimTime> {
        self.first_dues.first_key_value().map(|(time, _)| *time)
    }
}

/// Changes of who is in the world.
#[derive(Default)]
pub(crate) struct Changes {
    /// Joins and leaves since the last instant's hash. A leave without a time yet has [`SimTime::MAX`].
    pub(crate) log: Vec<Membership>,
    /// First leaf slot and number of leaves of the actors that joined among them.
    newcomers: Vec<(u32, u32)>,
    /// The earliest time at which one who left between two instants would have been due: an instant of the leave alone, if
    /// nobody else is due.
    pub(crate) closing: Option<SimTime>,
    /// Actors that left and whose last values are still held: the first instant that each is not stepped at, its first
    /// leaf slot, and the number of its leaves.
    fading: Vec<(SimTime, u32, u32)>,
    /// Actors that left, by first leaf slot: how many receivers have to take note.
    departing: BTreeMap<u32, usize>,
    /// Those of whom nothing is on its way.
    departed: Vec<u32>,
    pub(crate) joins: u64,
    pub(crate) leaves: u64,
    pub(crate) refusals: u64,
    /// Plans that did not come true.
    pub(crate) refused: Vec<String>,
    /// Actors that failed and were removed.
    pub(crate) removed: Vec<String>,
    /// An actor whose helper process could not be started, or did not make it, in this instant.
    pub(crate) unstarted: Option<(ActorPath, String)>,
    /// Their paths: that a leave was planned for one of them is no mistake.
    pub(crate) fallen: BTreeSet<ActorPath>,
    /// How many steps took longer than their budgets.
    pub(crate) misses: u64,
    /// Where in `log` a leave stands that was planned, as the last of all, for a path and the time of this instant.
    pub(crate) leaves_end: Option<usize>,
    /// An actor that panicked when it was let go.
    pub(crate) panicked: Option<(ActorPath, String)>,
    /// Whether somebody follows: then the paths of actors that joined or left since it looked are kept.
    pub(crate) is_followed: bool,
    pub(crate) moved: Vec<ActorPath>,
}

/// The first time after an instant.
pub(crate) fn just_after(now: SimTime) -> SimTime {
    now.checked_add(SimDuration::from_nanos(1)).unwrap_or(SimTime::MAX)
}

/// An actor that can join.
struct Prepared {
    paths: Vec<ActorPath>,
    /// None when they are in a helper process.
    participants: Vec<Box<dyn Participant>>,
    ports: Vec<Port>,
    joining: Joining,
}

impl Conductor {
    /// Adds an actor. The order of adding is the world's order; one that [joins at a time](Actor::joins_at) is last in order
    /// then.
    ///
    /// # Errors
    /// A malformed or taken path, a path under one that is not there, an actor without participants, a subscription that is
    /// not a key expression, a first due time at or before the last instant, a run that has ended; nothing of the actor is
    /// then in the world. Whether the path of one that joins at a time is free shows then.
    pub fn add(&mut self, actor: Actor) -> Result<(), RegistrationError> {
        if self.has_ended() {
            return Err(RegistrationError::Ended { path: actor.path().to_string() });
        }
        let Some((time, first_due)) = actor.planned() else { return self.join(actor) };
        let path = ActorPath::new(actor.path())
            .map_err(|source| RegistrationError::Path { path: actor.path().to_string(), source })?;
        self.check_first_due(&path, first_due)?;
        self.check_time(&path, "time of joining", time)?;
        if first_due < time {
            return Err(RegistrationError::DueBeforeJoining { path, first_due, joins_at: time });
        }
        self.plans.join(time, first_due, actor);
        Ok(())
    }

    /// Adds the actor that a request names, made by the [`ActorMaker`].
    ///
    /// # Errors
    /// As [`add`](Self::add), and when the maker makes nothing of the request.
    pub fn add_made(&mut self, request: &JoinRequest) -> Result<(), RegistrationError> {
        if self.has_ended() {
            return Err(RegistrationError::Ended { path: request.path.clone() });
        }
        let actor = self.made(request)?;
        self.join(actor)
    }

    /// Sets who makes actors for requests to join.
    pub fn set_maker(&mut self, maker: impl ActorMaker + 'static) {
        self.maker = Some(Box::new(maker));
    }

    /// Removes an actor and all under its path: the next instant is the first that is not stepped, and names it. When nobody
    /// else is due then, it is an instant of the leave alone.
    ///
    /// # Errors
    /// When no actor has this path, or it is a part of one, or the run has ended. Nothing is changed then.
    pub fn leave(&mut self, path: &ActorPath) -> Result<(), LeaveError> {
        if self.has_ended() {
            return Err(LeaveError::Ended { path: path.clone() });
        }
        let slot = self.registry.leaving(path)?;
        self.changes.closing = self.changes.closing.into_iter().chain(self.agenda.next()).min();
        self.remove(slot, SimTime::MAX);
        self.settle();
        if let Some((path, text)) = self.changes.panicked.take() {
            self.halt(Some(path), HaltCause::Panic(text));
        }
        Ok(())
    }

    /// Plans that whoever has a path at a time leaves then: that is the first time at which it is not stepped. At one time
    /// leaves come before joins. Should nobody have the path then, [`RunReport::refused`](crate::RunReport::refused) says so.
    ///
    /// # Errors
    /// When the time lies at the last instant or before, or the run has ended.
    pub fn leave_at(&mut self, path: &ActorPath, time: SimTime) -> Result<(), LeaveError> {
        if self.has_ended() {
            return Err(LeaveError::Ended { path: path.clone() });
        }
        if let Some(now) = self.now.filter(|now| time <= *now) {
            return Err(LeaveError::AlreadyStepped { path: path.clone(), time, now });
        }
        self.plan_leave_of(path.clone(), time);
        Ok(())
    }

    /// Plans a leave of whoever has a path; the time lies ahead.
    pub(crate) fn plan_leave_of(&mut self, path: ActorPath, time: SimTime) {
        let (time, number) = self.plans.key(time);
        self.plans.leaves.insert((time, false, number), PlannedLeave::Path(path));
    }

    fn check_first_due(&self, path: &ActorPath, time: SimTime) -> Result<(), RegistrationError> {
        if [SimTime::MIN, SimTime::MAX].contains(&time) {
            return Err(RegistrationError::FirstDue { path: path.clone() });
        }
        self.check_time(path, "first due time", time)
    }

    fn check_time(&self, path: &ActorPath, what: &'static str, time: SimTime) -> Result<(), RegistrationError> {
        match self.barrier.or(self.now).filter(|now| time <= *now) {
            Some(now) => Err(RegistrationError::AlreadyStepped { path: path.clone(), what, time, now }),
            None => Ok(()),
        }
    }

    /// Makes the actor of a request, whose path and time can be granted.
    fn made(&mut self, request: &JoinRequest) -> Result<Actor, RegistrationError> {
        let path = ActorPath::new(&request.path)
            .map_err(|source| RegistrationError::Path { path: request.path.clone(), source })?;
        let first_due = request.first_due.unwrap_or_else(|| self.default_due());
        self.check_first_due(&path, first_due)?;
        // What can be refused without making anything is refused first.
        self.registry.check_path(&path)?;
        let Some(maker) = &mut self.maker else { return Err(RegistrationError::NoFactories { path }) };
        let made = catch_unwind(AssertUnwindSafe(|| maker.make(request, &path)));
        let made = made.unwrap_or_else(|panic| Err(format!("its factory panicked: {}", panic_text(&*panic))));
        let actor = match made {
            Ok(actor) if actor.path() == path.as_str() => actor,
            Ok(other) => {
                let text = format!("its factory made an actor at `{}`", other.path());
                return Err(RegistrationError::NotMade { path, text });
            }
            Err(text) => return Err(RegistrationError::NotMade { path, text }),
        };
        Ok(actor.with_life(first_due, request.leaves_at))
    }

    /// When one is first due who does not say.
    fn default_due(&self) -> SimTime {
        self.barrier.or(self.now).map_or(SimTime::ZERO, just_after)
    }

    /// Has an actor made that is to be made where it is stepped: in a helper process, or here.
    fn make_elsewhere(&mut self, flat: &mut FlatActor) -> Result<Option<Made>, RegistrationError> {
        let path = flat.path.clone();
        let Some(node) = flat.requested.take() else {
            return match flat.hosting.placement {
                Placement::Process(_) => Err(RegistrationError::NotRequested { path }),
                _ => Ok(None),
            };
        };
        if let Placement::Process(helper) = &flat.hosting.placement {
            let made = self.hosts.make(&path, &node, helper, &flat.hosting);
            return made.map(Some).map_err(|error| match error {
                NotMade::Refused(text) => RegistrationError::NotMade { path, text },
                NotMade::NoHelper(text) => RegistrationError::Helper { path, text },
            });
        }
        let made = self.made(&JoinRequest::of(path.as_str(), node))?.flatten()?;
        if made.requested.is_some() {
            let text = "its factory asks for it to be made elsewhere".to_owned();
            return Err(RegistrationError::NotMade { path, text });
        }
        (flat.groups, flat.leaves) = (made.groups, made.leaves);
        Ok(None)
    }

    /// Checks everything about an actor that can be refused, before anything changes.
    fn prepare(&self, flat: &mut FlatActor, made: Option<&Made>) -> Result<Prepared, RegistrationError> {
        let (paths, participants): (Vec<ActorPath>, Vec<_>);
        let mut subscriptions = Vec::new();
        if let Some(made) = made {
            flat.groups.clone_from(&made.described.groups);
            (paths, participants) = (made.described.leaves.iter().map(|(path, _)| path.clone()).collect(), Vec::new());
            subscriptions.extend(made.described.leaves.iter().map(|(_, subscriptions)| subscriptions.clone()));
        } else {
            (paths, participants) = std::mem::take(&mut flat.leaves).into_iter().unzip();
            for (path, participant) in paths.iter().zip(&participants) {
                let asked = catch_unwind(AssertUnwindSafe(|| participant.subscriptions()));
                subscriptions.push(
                    asked.map_err(|panic| RegistrationError::Panicked {
                        path: path.clone(),
                        text: panic_text(&*panic),
                    })?,
                );
            }
        }
        let budgets = FlatActor::budgets(&flat.path, &paths, &flat.budgets)?;
        let special = Special { heavy: flat.heavy, on_failure: flat.hosting.on_failure, budgets };
        let groups = std::mem::take(&mut flat.groups);
        let joining = Joining { path: flat.path.clone(), groups, leaves: paths.clone(), special };
        self.registry.check(&joining)?;
        let mut ports = Vec::with_capacity(paths.len());
        for (path, subscriptions) in paths.iter().zip(&subscriptions) {
            // The slot is not known yet; a port is told it when it has one.
            let port = Port::new(self.run.clone(), path.clone(), flat.path.clone(), subscriptions)
                .map_err(|source| RegistrationError::Subscription { path: path.clone(), source })?;
            ports.push(port);
        }
        Ok(Prepared { paths, participants, ports, joining })
    }

    /// Takes an actor into the world.
    fn join(&mut self, actor: Actor) -> Result<(), RegistrationError> {
        let mut flat = actor.flatten()?;
        let first_due = flat.first_due.unwrap_or_else(|| self.default_due());
        self.check_first_due(&flat.path, first_due)?;
        if let Some(time) = flat.leaves_at {
            self.check_time(&flat.path, "time of leaving", time)?;
        }
        // What can be refused without making anything is refused first.
        self.registry.check_path(&flat.path)?;
        let made = self.make_elsewhere(&mut flat)?;
        let prepared = match self.prepare(&mut flat, made.as_ref()) {
            Ok(prepared) => prepared,
            Err(error) => {
                made.iter().for_each(|made| self.hosts.discard(made));
                return Err(error);
            }
        };
        let Prepared { paths, participants, mut ports, joining } = prepared;
        // Numbers of signals never restart for a path: who joins later begins at the number of all signals before.
        let seq = if self.ticks > 0 { self.signals } else { 0 };
        let id = self.registry.join(joining, first_due, seq)?;
        let count = paths.len() as u32;
        let first_leaf = self.registry.entry(id.slot).map_or(0, |entry| entry.first_leaf);
        // Those of the start begin at zero, as far as nobody has left.
        if self.ticks > 0 || self.barrier.is_some() || self.changes.leaves > 0 {
            self.changes.newcomers.push((first_leaf, count));
        }
        self.routing.resize(self.registry.leaf_slots());
        for (leaf, (path, port)) in (first_leaf..).zip(paths.iter().cloned().zip(&mut ports)) {
            port.set_leaf(leaf);
            for (expr, delivery) in port.inputs() {
                self.routing.subscribe(leaf, expr, delivery);
            }
            let row = &mut self.registry.rows[leaf as usize];
            for (output, sample) in self.routing.held_for(leaf) {
                let reach = Reach { every: false, latest: true };
                let content = Content::Signal(sample.payload.clone());
                let item = Inbound { output, reach, time: sample.time, seq: sample.seq, content };
                self.inboxes.push(&mut row.inbox, item);
            }
            self.agenda.push(first_due, leaf, row.order);
            self.changes.log.push(Membership { kind: MembershipKind::Join, path, time: first_due });
        }
        let hosted = ports.into_iter().zip(participants).map(|(port, participant)| Hosted { port, participant });
        let seating = match (made, &flat.hosting.placement, flat.hosting.timeout) {
            (Some(made), ..) => Seating::Process(made),
            (None, Placement::Local, None) => Seating::Local(hosted.collect()),
            (None, ..) => Seating::Guarded(hosted.collect()),
        };
        let seated = self.hosts.seat(&flat.path, first_leaf..first_leaf + count, seating, &flat.hosting);
        self.changes.joins += u64::from(count);
        if let Some(time) = flat.leaves_at {
            self.plan_leave(id, time);
        }
        if let Err(text) = seated {
            // It is in all tables already, and nobody steps it: the run cannot go on.
            self.halt(Some(flat.path.clone()), HaltCause::Lost(text));
        }
        self.note(flat.path);
        Ok(())
    }

    /// Plans that an actor leaves at a time, instead of what was planned before.
    fn plan_leave(&mut self, id: ActorId, time: SimTime) {
        let (time, number) = self.plans.key(time);
        let key = (time, true, number);
        self.plans.leaves.insert(key, PlannedLeave::Of(id));
        if let Some(before) = self.plans.of_actors.insert(id.slot, key) {
            self.plans.leaves.remove(&before);
        }
    }

    fn note(&mut self, path: ActorPath) {
        if self.changes.is_followed {
            self.changes.moved.push(path);
        }
    }

    /// Takes an actor and all under it out of the world; `time` is the first that is not stepped, [`SimTime::MAX`] when that
    /// is the next instant.
    pub(crate) fn remove(&mut self, slot: u32, time: SimTime) {
        let Self { registry, agenda, routing, inboxes, hosts, changes, plans, timing, .. } = self;
        registry.leave(slot, &mut |registry, id| {
            let Some(entry) = registry.entry(id.slot) else { return };
            let (path, first_leaf, leaves) = (entry.path.clone(), entry.first_leaf, entry.leaf_slots());
            if let Some(plan) = plans.of_actors.remove(&id.slot) {
                plans.leaves.remove(&plan);
            }
            for leaf in leaves.clone() {
                let row = &mut registry.rows[leaf as usize];
                let due = std::mem::replace(&mut row.next_due, SimTime::MAX);
                inboxes.clear(&mut row.inbox);
                let rows = &registry.rows;
                agenda.leave(due, |leaf| rows[leaf as usize].next_due == due);
                routing.unsubscribe(leaf);
                let path = registry.path[leaf as usize].clone();
                changes.log.push(Membership { kind: MembershipKind::Leave, path, time });
                changes.leaves += 1;
            }
            leaves.clone().for_each(|leaf| routing.fade(leaf));
            if timing.is_on() {
                timing.left(leaves.clone(), &registry.path[leaves.start as usize..leaves.end as usize]);
            }
            changes.fading.push((time, first_leaf, leaves.len() as u32));
            // Where one that is let go panics, nothing of it is left in the tables; the run halts.
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| hosts.remove(leaves))) {
                changes.panicked.get_or_insert((path.clone(), panic_text(&*panic)));
            }
            if changes.is_followed {
                changes.moved.push(path);
            }
        });
    }

    /// Ends the values of those who left before a time. Like a signal of that time, a leave shows at steps after it.
    fn withdraw(&mut self, before: SimTime) {
        let Self { registry, routing, inboxes, changes, .. } = self;
        changes.fading.retain(|&(time, first_leaf, leaves)| {
            if time >= before {
                return true;
            }
            let mut told = 0;
            for leaf in first_leaf..first_leaf + leaves {
                routing.withdraw(leaf, |output, route| {
                    let receiver = &mut registry.rows[route.leaf as usize];
                    // One that is done never looks, and where nothing waits there is nothing to end but a held value.
                    if receiver.next_due == SimTime::MAX || (!route.reach.latest && receiver.inbox.is_empty()) {
                        return;
                    }
                    let reach = Reach { every: false, latest: route.reach.latest };
                    let item = Inbound { output, reach, time, seq: u64::MAX, content: Content::Withdrawn };
                    inboxes.push(&mut receiver.inbox, item);
                    told += 1;
                });
            }
            if told == 0 {
                changes.departed.push(first_leaf);
            } else {
                changes.departing.insert(first_leaf, told);
            }
            false
        });
    }

    /// The halt of an instant at which somebody was let go and panicked, or asked for one who cannot be started.
    pub(crate) fn check_let_go(&mut self, now: SimTime) -> Result<(), Halt> {
        let panicked = self.changes.panicked.take().map(|(path, text)| (path, HaltCause::Panic(text)));
        let unstarted = self.changes.unstarted.take().map(|(path, text)| (path, HaltCause::Lost(text)));
        let Some((path, cause)) = panicked.or(unstarted) else { return Ok(()) };
        Err(Halt { path: Some(path), instant: Some((self.ticks, now)), cause, others: 0 })
    }

    /// Frees the slots of actors of whom nothing is on its way any more. Not while an instant is being stepped.
    pub(crate) fn settle(&mut self) {
        let Self { registry, routing, inboxes, changes, declared, .. } = self;
        for leaf in inboxes.forgotten.drain(..) {
            let first_leaf = leaf - registry.rows[leaf as usize].position;
            if let Some(told) = changes.departing.get_mut(&first_leaf) {
                *told -= 1;
                if *told == 0 {
                    changes.departing.remove(&first_leaf);
                    changes.departed.push(first_leaf);
                }
            }
        }
        for first_leaf in changes.departed.drain(..) {
            let leaves = first_leaf..first_leaf + registry.rows[first_leaf as usize].size;
            leaves.clone().for_each(|leaf| routing.vacate(leaf));
            // What the host has not been told of yet it need not know any more.
            declared.retain(|(output, _)| !leaves.contains(&output.leaf));
            registry.release(first_leaf);
        }
    }

    /// Lets what is planned until `now` come true, before that instant is stepped. Says whether anybody joined or left.
    pub(crate) fn carry_out_plans(&mut self, now: SimTime) -> bool {
        let (joins, leaves) = (self.changes.joins, self.changes.leaves);
        self.changes.leaves_end = None;
        // In the order of their times, and at one time leaves before joins.
        loop {
            let join = self.plans.next_join().filter(|time| *time <= now);
            if self.plans.next_leave().is_some_and(|leave| leave <= join.unwrap_or(now)) {
                self.carry_out_leaves(now, join.unwrap_or(now));
            } else if let Some((time, actor)) = self.plans.take_join(now) {
                self.withdraw(time);
                if time == now {
                    self.changes.leaves_end.get_or_insert(self.changes.log.len());
                }
                if let Err(error) = self.join(actor) {
                    self.changes.refused.push(format!("at {time} s: {error}"));
                }
            } else {
                break;
            }
        }
        self.settle();
        (joins, leaves) != (self.changes.joins, self.changes.leaves)
    }

    /// Says to those who left since the last instant which is the first that they do not step. Values of those who left
    /// before end.
    pub(crate) fn date_leaves(&mut self, now: SimTime) {
        for change in &mut self.changes.log {
            if change.time == SimTime::MAX {
                change.time = now;
            }
        }
        for (time, ..) in &mut self.changes.fading {
            *time = now.min(*time);
        }
        if self.changes.fading.iter().any(|(time, ..)| *time < now) {
            self.withdraw(now);
            self.settle();
        }
    }

    /// Removes whom plans remove at `until` or before, where the instant `now` is the next.
    fn carry_out_leaves(&mut self, now: SimTime, until: SimTime) {
        while let Some(entry) = self.plans.leaves.first_entry().filter(|entry| entry.key().0 <= until) {
            let ((planned, of_actor, _), leave) = entry.remove_entry();
            if of_actor && planned == now {
                self.changes.leaves_end.get_or_insert(self.changes.log.len());
            }
            let slot = match leave {
                PlannedLeave::Of(id) => Ok(id.slot),
                PlannedLeave::Path(path) => self.registry.leaving(&path),
            };
            match slot {
                Ok(slot) => self.remove(slot, SimTime::MAX),
                Err(error) if self.has_fallen(error.path()) => {}
                Err(error) => self.changes.refused.push(format!("at {planned} s: {error}")),
            }
        }
    }

    /// Whether an actor of a path, or one above it, was removed because it failed.
    fn has_fallen(&self, path: Option<&ActorPath>) -> bool {
        let mut above = path.cloned();
        while let Some(path) = above {
            if self.changes.fallen.contains(&path) {
                return true;
            }
            above = path.parent();
        }
        false
    }

    /// Removes actors that are to leave at a time by their own plans, right behind the instant before it.
    fn carry_out_own_leaves(&mut self, time: SimTime) {
        while let Some((&key, &PlannedLeave::Of(id))) =
            self.plans.leaves.range((time, true, 0)..=(time, true, u64::MAX)).next()
        {
            self.plans.leaves.remove(&key);
            self.remove(id.slot, time);
        }
    }

    /// The barrier of an instant: who is planned to leave right behind it leaves, and requests of its steps are granted or
    /// refused.
    pub(crate) fn grant_requests(&mut self, now: SimTime) {
        let after = just_after(now);
        self.barrier = Some(now);
        self.withdraw(after);
        self.carry_out_own_leaves(after);
        let mut requests = std::mem::take(&mut self.requests);
        for ((leaf, request), seq) in requests.drain(..).zip(0..) {
            let (kind, path, outcome) = match request {
                Request::Join(request) => {
                    let outcome = self.made(&request).and_then(|actor| self.join(actor));
                    if let Err(RegistrationError::Helper { path, text }) = &outcome {
                        // That a process does not start is nothing that a participant may come to know.
                        self.changes.unstarted.get_or_insert((path.clone(), text.clone()));
                    }
                    (RefusedKind::Join, request.path, outcome.map_err(|error| error.to_string()))
                }
                Request::Leave(request) => {
                    let outcome = self.grant_leave(now, &request);
                    (RefusedKind::Leave, request.path, outcome.map_err(|error| error.to_string()))
                }
            };
            if let Err(reason) = outcome {
                self.changes.refusals += 1;
                self.refuse(now, leaf, seq, &Refusal { request: kind, path, reason });
            }
        }
        self.requests = requests;
        self.barrier = None;
        self.number_newcomers(now);
    }

    fn grant_leave(&mut self, now: SimTime, request: &LeaveRequest) -> Result<(), LeaveError> {
        let path =
            ActorPath::new(&request.path).map_err(|source| LeaveError::Path { path: request.path.clone(), source })?;
        let (after, time) = (just_after(now), request.time.unwrap_or(just_after(now)));
        if time <= now {
            return Err(LeaveError::AlreadyStepped { path, time, now });
        }
        let slot = self.registry.leaving(&path)?;
        if time <= after {
            self.remove(slot, time);
        } else {
            self.plan_leave(self.registry.id(slot), time);
        }
        Ok(())
    }

    /// Puts a refusal into the inbox of whoever asked, if it will look.
    fn refuse(&mut self, now: SimTime, leaf: u32, seq: u64, refusal: &Refusal) {
        let row = &mut self.registry.rows[leaf as usize];
        if row.next_due == SimTime::MAX {
            return;
        }
        // A refusal is made of texts, and those have a canonical form.
        let text = canon::to_vec(refusal).unwrap_or_default();
        let content = Content::Signal(Payload::from_text(&text).unwrap_or_default());
        let reach = Reach { every: true, latest: false };
        let item = Inbound { output: OutputId::REFUSED, reach, time: now, seq, content };
        self.inboxes.push(&mut row.inbox, item);
    }

    /// Sets from which number on those who joined with this instant, and were not stepped at it, count their signals: the
    /// number of all signals up to and with it. In the first instant that is zero, but for a path that left in it before.
    fn number_newcomers(&mut self, now: SimTime) {
        let left: BTreeSet<&ActorPath> = match self.ticks {
            0 => {
                self.changes.log.iter().filter(|change| change.kind == MembershipKind::Leave).map(|c| &c.path).collect()
            }
            _ => BTreeSet::new(),
        };
        for (first_leaf, count) in self.changes.newcomers.drain(..) {
            for leaf in (first_leaf..first_leaf + count).map(|leaf| leaf as usize) {
                // One that left again may have given its slot to another, who may have stepped.
                let (path, row) = (&self.registry.path[leaf], &self.registry.rows[leaf]);
                if row.steps == 0 && row.next_due > now && (self.ticks > 0 || left.contains(path)) {
                    self.registry.rows[leaf].seq = self.signals;
                    self.registry.first_seq[leaf] = self.signals;
                }
            }
        }
    }
}
