//! The slow conductor.

use std::collections::{BTreeMap, BTreeSet};

use chaconne_sim_core::fingerprint::{self, MembershipChange, MembershipKind};
use chaconne_sim_core::membership::RefusedKind;
use chaconne_sim_core::rng::{Domain, StreamKey};
use chaconne_sim_core::{Delivery, Fingerprint, SimDuration, SimTime, StateWriter, canon};

use super::matcher::matches;
use super::world::{Action, ActorPlan, Arrival, Ask, Blueprint, Held, NodePlan, Value, View, Wanderer};

/// What a run comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The fingerprint.
    pub world_hash: Fingerprint,
    /// The number of instants.
    pub ticks: u64,
    /// The number of signals.
    pub signals: u64,
    /// Who failed first, at which instant, and how many others did.
    pub halt: Option<(String, u64, usize)>,
    /// What every leaf was given, step by step, in the world's order within an instant.
    pub views: Vec<(String, View)>,
}

/// A participant in the world.
struct Leaf {
    path: String,
    /// Which of all actors that ever joined it is a part of.
    life: usize,
    actor: String,
    wanderer: Wanderer,
    next_due: SimTime,
    last_step: Option<SimTime>,
    /// The number of its next signal.
    seq: u64,
    /// How many signals there were when it joined.
    since: usize,
    /// Which of all signals it has been given, ascending.
    given: Vec<usize>,
    /// What was refused since its last step.
    refusals: Vec<Arrival>,
}

/// An actor in the world.
struct Present {
    plan: ActorPlan,
    /// When it is planned to leave, and the number of that plan.
    leaves_at: Option<(SimTime, usize)>,
}

/// A signal that was published.
struct Sent {
    time: SimTime,
    key: String,
    publisher: String,
    /// Which of all actors that ever joined it is a part of, and its place in the world's order.
    life: usize,
    place: usize,
    seq: u64,
    value: Value,
}

/// A world in the course of its run.
struct Run<'a> {
    blueprint: &'a Blueprint,
    /// In the order of joining.
    actors: Vec<Present>,
    /// The paths of these and of all their parts.
    taken: BTreeSet<String>,
    /// Path and life of those who left, and the first instant that they were not stepped at, once that is known.
    gone: Vec<(String, usize, Option<SimTime>)>,
    /// In the world's order, when it was asked for since the last join.
    leaves: Vec<Leaf>,
    sent: Vec<Sent>,
    lives: usize,
    /// Joins that are planned, in the order of planning.
    planned: Vec<ActorPlan>,
    /// Leaves that are planned for whoever has a path.
    planned_leaves: Vec<(SimTime, usize, String)>,
    /// The number of plans to leave.
    plans: usize,
    /// When one who was removed between two instants would have been due.
    closing: Option<SimTime>,
    /// Kind, path, time, since the last instant; a leave between two instants has no time yet.
    membership: Vec<(MembershipKind, String, Option<SimTime>)>,
    /// The instant at whose barrier the run is, or that was the last.
    last: Option<SimTime>,
    outcome: Outcome,
}

const NANOSECOND: SimDuration = SimDuration::from_nanos(1);

/// Runs a world to its end, or until somebody fails.
///
/// # Panics
/// When a participant's next due time lies beyond the end of time.
pub fn conduct(blueprint: &Blueprint) -> Outcome {
    let outcome = Outcome {
        world_hash: fingerprint::world_start(&blueprint.name, blueprint.seed),
        ticks: 0,
        signals: 0,
        halt: None,
        views: Vec::new(),
    };
    let mut run = Run {
        blueprint,
        actors: Vec::new(),
        taken: BTreeSet::new(),
        gone: Vec::new(),
        leaves: Vec::new(),
        sent: Vec::new(),
        lives: 0,
        planned: blueprint.planned_joins.clone(),
        planned_leaves: Vec::new(),
        plans: 0,
        closing: None,
        membership: Vec::new(),
        last: None,
        outcome,
    };
    run.planned.sort_by_key(|plan| plan.first_due);
    for actor in &blueprint.actors {
        run.join(actor.clone());
    }
    for (time, path) in &blueprint.planned_leaves {
        let number = run.plan();
        run.planned_leaves.push((*time, number, path.clone()));
    }
    let mut drives: Vec<(SimTime, Result<&ActorPlan, &String>)> =
        blueprint.leaves.iter().map(|(time, path)| (*time, Err(path))).collect();
    drives.extend(blueprint.joins.iter().map(|(time, plan)| (*time, Ok(plan))));
    drives.sort_by_key(|(time, _)| *time);
    let mut drives = drives.into_iter().peekable();
    loop {
        // The driver acts when all instants before a time have been stepped.
        let next = run.next().filter(|time| *time < blueprint.until);
        if let Some((_, drive)) = drives.next_if(|(time, _)| next.is_none_or(|next| *time <= next)) {
            match drive {
                Ok(plan) => drop(run.join(plan.clone())),
                Err(path) => {
                    let earliest = run.leaves.iter().map(|leaf| leaf.next_due).min();
                    if run.remove(path, None) {
                        let earliest = earliest.filter(|time| *time < SimTime::MAX);
                        run.closing = run.closing.into_iter().chain(earliest).min();
                    }
                }
            }
            continue;
        }
        let Some(now) = next else { break };
        run.instant(now);
        if run.outcome.halt.is_some() {
            break;
        }
    }
    run.outcome
}

impl Run<'_> {
    fn next(&self) -> Option<SimTime> {
        let due = self.leaves.iter().map(|leaf| leaf.next_due).min().filter(|time| *time < SimTime::MAX);
        let planned = self.planned.first().map(|plan| plan.first_due);
        due.into_iter().chain(planned).chain(self.closing).min()
    }

    /// Takes an actor in, when nothing speaks against it.
    fn join(&mut self, plan: ActorPlan) -> bool {
        let own = paths(&plan.path, &plan.node);
        let is_free = own.iter().all(|path| !self.taken.contains(path));
        let stands = plan.path.rsplit_once('/').is_none_or(|(parent, _)| self.taken.contains(parent));
        let lies_ahead = |time: SimTime| self.last.is_none_or(|last| time > last);
        if !is_free || !stands || !lies_ahead(plan.first_due) || !plan.leaves_at.is_none_or(lies_ahead) {
            return false;
        }
        let life = self.lives;
        self.lives += 1;
        for mut leaf in flatten(&plan) {
            (leaf.life, leaf.since) = (life, self.sent.len());
            leaf.seq = if self.outcome.ticks > 0 { self.sent.len() as u64 } else { 0 };
            self.membership.push((MembershipKind::Join, leaf.path.clone(), Some(plan.first_due)));
            self.leaves.push(leaf);
        }
        let leaves_at = plan.leaves_at.map(|time| (time, self.plan()));
        self.taken.extend(own);
        self.actors.push(Present { plan, leaves_at });
        true
    }

    /// The number of the next plan to leave.
    fn plan(&mut self) -> usize {
        self.plans += 1;
        self.plans
    }

    /// Sorts the participants: actor by actor, each followed by those under its path.
    fn bring_in_order(&mut self) {
        let plans: Vec<ActorPlan> = self.actors.iter().map(|actor| actor.plan.clone()).collect();
        let order: BTreeMap<String, usize> = in_order(&plans).into_iter().map(|leaf| leaf.path).zip(0..).collect();
        self.leaves.sort_by_key(|leaf| order.get(&leaf.path));
    }

    /// Takes an actor and all under its path out of the world; says whether there is one of that path.
    fn remove(&mut self, path: &str, time: Option<SimTime>) -> bool {
        if !self.actors.iter().any(|actor| actor.plan.path == path) {
            return false;
        }
        self.bring_in_order();
        let below = format!("{path}/");
        self.taken.retain(|taken| taken != path && !taken.starts_with(&below));
        let (gone, stay): (Vec<Leaf>, Vec<Leaf>) =
            self.leaves.drain(..).partition(|leaf| leaf.path == path || leaf.path.starts_with(&below));
        self.leaves = stay;
        self.actors.retain(|actor| actor.plan.path != path && !actor.plan.path.starts_with(&below));
        self.gone.extend(gone.iter().map(|leaf| (leaf.path.clone(), leaf.life, time)));
        self.membership.extend(gone.into_iter().map(|leaf| (MembershipKind::Leave, leaf.path, time)));
        true
    }

    /// Removes whom plans remove until a time.
    fn planned_leaves(&mut self, until: SimTime) {
        loop {
            let of_actors = self.actors.iter().filter_map(|actor| {
                let (time, number) = actor.leaves_at?;
                Some((time, true, number, actor.plan.path.clone()))
            });
            let of_paths = self.planned_leaves.iter().map(|(time, number, path)| (*time, false, *number, path.clone()));
            let Some(due) = of_actors.chain(of_paths).min().filter(|due| due.0 <= until) else {
                break;
            };
            self.planned_leaves.retain(|planned| planned.1 != due.2);
            self.remove(&due.3, None);
        }
    }

    /// Removes actors that leave at a time by their own plans, in the order of planning.
    fn own_leaves(&mut self, time: SimTime) {
        loop {
            let of_actors = self.actors.iter().filter_map(|actor| {
                let (at, number) = actor.leaves_at?;
                (at <= time).then(|| (at, number, actor.plan.path.clone()))
            });
            let Some((_, _, path)) = of_actors.min() else { break };
            self.remove(&path, Some(time));
        }
    }

    fn instant(&mut self, now: SimTime) {
        let mut is_instant = self.closing == Some(now) || self.leaves.iter().any(|leaf| leaf.next_due == now);
        let earliest = self.leaves.iter().map(|leaf| leaf.next_due).min().filter(|time| *time < SimTime::MAX);
        let changes = self.membership.len();
        while self.planned.first().is_some_and(|plan| plan.first_due <= now) {
            let plan = self.planned.remove(0);
            // At one time leaves come before joins.
            self.planned_leaves(plan.first_due);
            self.join(plan);
        }
        self.planned_leaves(now);
        self.bring_in_order();
        is_instant |= self.leaves.iter().any(|leaf| leaf.next_due == now);
        let joins_now = |(kind, _, time): &(MembershipKind, String, Option<SimTime>)| {
            *kind == MembershipKind::Join && *time == Some(now)
        };
        is_instant |= self.membership[changes..].iter().any(joins_now);
        if is_instant {
            self.closing = None;
            for (_, _, time) in &mut self.membership {
                time.get_or_insert(now);
            }
            for (_, _, time) in &mut self.gone {
                time.get_or_insert(now);
            }
            self.step_instant(now);
        } else if self.membership.len() > changes {
            self.closing = self.closing.into_iter().chain(earliest).min();
        }
    }

    /// Steps all that are due, in the world's order, grants what they ask for, and hashes what they did.
    fn step_instant(&mut self, now: SimTime) {
        let Self { blueprint, leaves, gone, sent, outcome, .. } = self;
        let mut present: BTreeSet<(String, usize)> = leaves.iter().map(|leaf| (leaf.path.clone(), leaf.life)).collect();
        // A leave shows at steps after its time.
        gone.retain(|(_, _, time)| time.is_none_or(|time| time >= now));
        present.extend(gone.iter().map(|(path, life, _)| (path.clone(), *life)));
        let mut contributions = Vec::new();
        let mut signals = 0;
        let mut asked: Vec<(usize, String, usize, Ask)> = Vec::new();
        // Paths, and the actors whose later leaves are not stepped.
        let mut failures: Vec<(String, String)> = Vec::new();
        for (place, leaf) in leaves.iter_mut().enumerate().filter(|(_, leaf)| leaf.next_due == now) {
            if failures.iter().any(|(_, actor)| *actor == leaf.actor) {
                continue;
            }
            let view = view(now, place, leaf, &present, sent, blueprint);
            leaf.given = (0..sent.len()).filter(|&index| visible(&sent[index], now, place, leaf)).collect();
            leaf.refusals.clear();
            let mut rng = StreamKey::new(blueprint.seed, Domain::Step, &leaf.path, "", now.as_nanos()).stream(0);
            let action = leaf.wanderer.act(&view, &mut rng).unwrap();
            outcome.views.push((leaf.path.clone(), view));
            match action {
                Some(action) => {
                    signals += action.signals.len() as u64;
                    let asks = action.asks.iter().cloned();
                    asked.extend(asks.map(|ask| (leaf.life, leaf.path.clone(), 0, ask)));
                    contributions.push(publish(now, place, leaf, action, sent, blueprint));
                }
                None => failures.push((leaf.path.clone(), leaf.actor.clone())),
            }
        }
        if let Some((first, _)) = failures.first() {
            outcome.halt = Some((first.clone(), outcome.ticks, failures.len() - 1));
            return;
        }
        for (number, ask) in asked.iter_mut().enumerate() {
            ask.2 = number;
        }
        self.barrier(now, asked);
        let outcome = &mut self.outcome;
        let membership: Vec<_> = self
            .membership
            .iter()
            .map(|(kind, path, time)| MembershipChange { kind: *kind, path, time: time.unwrap() })
            .collect();
        let tick_hash = fingerprint::tick_hash(outcome.ticks, now, &contributions, &membership);
        outcome.world_hash = fingerprint::world_next(outcome.world_hash, tick_hash);
        outcome.ticks += 1;
        outcome.signals += signals;
        self.membership.clear();
    }

    fn barrier(&mut self, now: SimTime, asked: Vec<(usize, String, usize, Ask)>) {
        self.last = Some(now);
        let after = now.checked_add(NANOSECOND).unwrap();
        self.own_leaves(after);
        for (life, path, number, ask) in asked {
            let later = |after: Option<SimDuration>| after.map(|after| now.checked_add(after).unwrap());
            let (kind, of, granted) = match ask {
                Ask::Join { path, node, due, leaves } => {
                    let first_due = later(due).unwrap_or(after);
                    let node = self.blueprint.pool[node].clone();
                    let plan =
                        ActorPlan { path: path.clone(), first_due, leaves_at: later(leaves), heavy: false, node };
                    (RefusedKind::Join, path, self.join(plan))
                }
                Ask::Leave { path, after: time } => {
                    let time = later(time).unwrap_or(after);
                    let is_there = self.actors.iter().any(|actor| actor.plan.path == path);
                    let granted = time > now && is_there;
                    if granted && time <= after {
                        self.remove(&path, Some(time));
                    } else if granted {
                        let number = self.plan();
                        let actor = self.actors.iter_mut().find(|actor| actor.plan.path == path).unwrap();
                        actor.leaves_at = Some((time, number));
                    }
                    (RefusedKind::Leave, path, granted)
                }
            };
            let asker = self.leaves.iter_mut().find(|leaf| leaf.life == life && leaf.path == path);
            if let Some(asker) = asker.filter(|_| !granted) {
                asker.refusals.push(Arrival {
                    time: now,
                    publisher: "conductor".to_string(),
                    seq: number as u64,
                    key: format!("chaconne/{}/conductor/refused", self.blueprint.name),
                    value: Value::Refused(kind, of),
                });
            }
        }
        // Who joined with this instant and was not stepped numbers its signals from all before it on; in the first instant
        // from zero, unless its path left in it.
        let of_first = self.outcome.ticks == 0;
        for leaf in self.leaves.iter_mut().filter(|leaf| leaf.last_step.is_none() && leaf.next_due > now) {
            let changes = |kind| self.membership.iter().any(|change| change.0 == kind && change.1 == leaf.path);
            if changes(MembershipKind::Join) && (!of_first || changes(MembershipKind::Leave)) {
                leaf.seq = self.sent.len() as u64;
            }
        }
    }
}

/// All leaves in the world's order: actor by actor, each followed by those under its path.
fn in_order(actors: &[ActorPlan]) -> Vec<Leaf> {
    fn place(actor: usize, actors: &[ActorPlan], parents: &[Option<usize>], out: &mut Vec<Leaf>) {
        out.extend(flatten(&actors[actor]));
        for (other, parent) in parents.iter().enumerate() {
            if *parent == Some(actor) {
                place(other, actors, parents, out);
            }
        }
    }
    let parents: Vec<_> = actors.iter().map(|actor| parent_of(actor, actors)).collect();
    let mut out = Vec::new();
    for (actor, parent) in parents.iter().enumerate() {
        if parent.is_none() {
            place(actor, actors, &parents, &mut out);
        }
    }
    out
}

/// The number of the actor of whose tree the path in front of the last segment is a part.
fn parent_of(actor: &ActorPlan, all: &[ActorPlan]) -> Option<usize> {
    let (parent, _) = actor.path.rsplit_once('/')?;
    all.iter().position(|other| paths(&other.path, &other.node).iter().any(|path| path == parent))
}

/// The paths of a tree.
fn paths(path: &str, node: &NodePlan) -> Vec<String> {
    let mut all = vec![path.to_string()];
    if let NodePlan::Group(children) = node {
        all.extend(children.iter().flat_map(|(name, child)| paths(&format!("{path}/{name}"), child)));
    }
    all
}

/// The leaves of an actor, depth first.
fn flatten(actor: &ActorPlan) -> Vec<Leaf> {
    fn walk(path: &str, node: &NodePlan, actor: &ActorPlan, out: &mut Vec<Leaf>) {
        match node {
            NodePlan::Leaf(wanderer) => out.push(Leaf {
                path: path.to_string(),
                life: 0,
                actor: actor.path.clone(),
                wanderer: wanderer.clone(),
                next_due: actor.first_due,
                last_step: None,
                seq: 0,
                since: 0,
                given: Vec::new(),
                refusals: Vec::new(),
            }),
            NodePlan::Group(children) => {
                for (name, child) in children {
                    walk(&format!("{path}/{name}"), child, actor, out);
                }
            }
        }
    }
    let mut out = Vec::new();
    walk(&actor.path, &actor.node, actor, &mut out);
    out
}

/// Between actors: what is older than now. Inside an actor also what an earlier leaf published now.
fn visible(signal: &Sent, now: SimTime, place: usize, leaf: &Leaf) -> bool {
    signal.time < now || (signal.life == leaf.life && signal.place < place)
}

fn view(
    now: SimTime,
    place: usize,
    leaf: &Leaf,
    present: &BTreeSet<(String, usize)>,
    sent: &[Sent],
    blueprint: &Blueprint,
) -> View {
    let resolved = |text: &str| match text.strip_prefix("chaconne/") {
        Some(_) => text.to_string(),
        None => format!("chaconne/{}/actor/{}/{text}", blueprint.name, leaf.actor),
    };
    let seen: Vec<usize> = (0..sent.len()).filter(|&index| visible(&sent[index], now, place, leaf)).collect();

    let expressions = |delivery: Delivery| -> Vec<String> {
        let asked = leaf.wanderer.subscriptions.iter().filter(|subscription| subscription.delivery() == delivery);
        asked.map(|subscription| resolved(subscription.key())).collect()
    };
    let every = expressions(Delivery::Every);
    let mut inbox: Vec<&Sent> = Vec::new();
    for &index in &seen {
        let wanted = every.iter().any(|expression| matches(expression, &sent[index].key));
        // A subscription starts when its participant joins.
        if wanted && index >= leaf.since && leaf.given.binary_search(&index).is_err() {
            inbox.push(&sent[index]);
        }
    }
    inbox.sort_by_key(|signal| (signal.time, signal.publisher.as_bytes(), signal.seq));

    let (mut held, mut newest) = (Vec::new(), Vec::new());
    for expression in expressions(Delivery::Latest) {
        // What a publisher said last under a key stands for all that it said before.
        let mut last: Vec<usize> = Vec::new();
        for &index in &seen {
            let signal = &sent[index];
            if matches(&expression, &signal.key) && present.contains(&(signal.publisher.clone(), signal.life)) {
                last.retain(|&other| (&sent[other].key, &sent[other].publisher) != (&signal.key, &signal.publisher));
                last.push(index);
            }
        }
        last.sort_by_key(|&index| (sent[index].key.as_bytes(), sent[index].publisher.as_bytes()));
        let latest = last.iter().map(|&index| &sent[index]).max_by_key(|s| (s.time, s.publisher.as_bytes(), s.seq));
        newest.push(latest.map(|signal| (signal.time, text(&signal.value))));
        let each = last.iter().map(|&index| Held {
            key: sent[index].key.clone(),
            time: sent[index].time,
            is_new: leaf.given.binary_search(&index).is_err(),
            value: sent[index].value.clone(),
        });
        held.push(each.collect());
    }

    let mut arrivals: Vec<Arrival> = leaf.refusals.clone();
    arrivals.extend(inbox.into_iter().map(|signal| Arrival {
        time: signal.time,
        publisher: signal.publisher.clone(),
        seq: signal.seq,
        key: signal.key.clone(),
        value: signal.value.clone(),
    }));
    // Stable: what the conductor says comes first.
    arrivals.sort_by_key(|arrival| arrival.time);
    View {
        now,
        dt: leaf.last_step.map_or(SimDuration::ZERO, |last| now.since(last).unwrap()),
        inbox: arrivals,
        held,
        newest,
    }
}

fn publish(
    now: SimTime,
    place: usize,
    leaf: &mut Leaf,
    action: Action,
    sent: &mut Vec<Sent>,
    blueprint: &Blueprint,
) -> Fingerprint {
    let mut signals: Vec<(String, u64, Vec<u8>)> = Vec::new();
    for (signal, value) in action.signals {
        let key = match signal.strip_prefix("chaconne/") {
            Some(_) => signal,
            None => format!("chaconne/{}/actor/{}/{signal}", blueprint.name, leaf.actor),
        };
        signals.push((key.clone(), leaf.seq, text(&value).into_bytes()));
        sent.push(Sent { time: now, key, publisher: leaf.path.clone(), life: leaf.life, place, seq: leaf.seq, value });
        leaf.seq += 1;
    }
    leaf.next_due = action.next_due;
    leaf.last_step = Some(now);
    let state = leaf.wanderer.state().and_then(|state| {
        let mut out = StateWriter::new();
        out.u64(state);
        out.finish()
    });
    let signals: Vec<(&str, u64, &[u8])> =
        signals.iter().map(|(key, seq, text)| (key.as_str(), *seq, text.as_slice())).collect();
    fingerprint::contribution(&leaf.path, action.next_due, &signals, state)
}

/// The canonical text of a value.
fn text(value: &Value) -> String {
    match value {
        Value::Number(value) => canon::to_string(value),
        Value::Reading(value) => canon::to_string(value),
        Value::Text(value) => canon::to_string(value),
        Value::Refused(..) => Ok(String::new()),
    }
    .unwrap()
}
