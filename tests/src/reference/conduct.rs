//! The slow conductor.

use std::collections::BTreeSet;

use chaconne_sim_core::fingerprint::{self, MembershipChange, MembershipKind};
use chaconne_sim_core::rng::{Domain, StreamKey};
use chaconne_sim_core::{Delivery, Fingerprint, SimDuration, SimTime, StateWriter, canon};

use super::matcher::matches;
use super::world::{Action, ActorPlan, Arrival, Blueprint, Held, NodePlan, Value, View, Wanderer};

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
    actor: String,
    wanderer: Wanderer,
    next_due: SimTime,
    last_step: Option<SimTime>,
    /// The number of its next signal.
    seq: u64,
    /// Which of all signals it has been given, ascending.
    given: Vec<usize>,
}

/// A signal that was published.
struct Sent {
    time: SimTime,
    key: String,
    publisher: String,
    /// The publisher's actor, and its place in the world's order.
    actor: String,
    place: usize,
    seq: u64,
    value: Value,
}

/// A world in the course of its run.
struct Run<'a> {
    blueprint: &'a Blueprint,
    leaves: Vec<Leaf>,
    sent: Vec<Sent>,
    /// Kind, path, time: since the last instant.
    membership: Vec<(MembershipKind, String, SimTime)>,
    outcome: Outcome,
}

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
    let joins = blueprint.actors.iter().flat_map(flatten);
    let membership = joins.map(|leaf| (MembershipKind::Join, leaf.path, leaf.next_due)).collect();
    let mut run = Run { blueprint, leaves: in_order(&blueprint.actors), sent: Vec::new(), membership, outcome };
    let mut requests = blueprint.leaves.iter().peekable();
    while let Some(now) = run.leaves.iter().map(|leaf| leaf.next_due).min().filter(|time| *time < blueprint.until) {
        while let Some((_, path)) = requests.next_if(|(time, _)| *time <= now) {
            run.leave(now, path);
        }
        run.step_instant(now);
        if run.outcome.halt.is_some() {
            break;
        }
    }
    run.outcome
}

impl Run<'_> {
    /// Takes an actor and all under its path out of the world, before it is stepped at `now`.
    fn leave(&mut self, now: SimTime, path: &str) {
        let below = format!("{path}/");
        let (gone, stay): (Vec<Leaf>, Vec<Leaf>) =
            self.leaves.drain(..).partition(|leaf| leaf.path == path || leaf.path.starts_with(&below));
        self.leaves = stay;
        self.membership.extend(gone.into_iter().map(|leaf| (MembershipKind::Leave, leaf.path, now)));
    }

    /// Steps all that are due, in the world's order, and hashes what they did.
    fn step_instant(&mut self, now: SimTime) {
        let Self { blueprint, leaves, sent, outcome, .. } = self;
        let present: BTreeSet<String> = leaves.iter().map(|leaf| leaf.path.clone()).collect();
        let mut contributions = Vec::new();
        let mut signals = 0;
        // Paths, and the actors whose later leaves are not stepped.
        let mut failures: Vec<(String, String)> = Vec::new();
        for (place, leaf) in leaves.iter_mut().enumerate().filter(|(_, leaf)| leaf.next_due == now) {
            if failures.iter().any(|(_, actor)| *actor == leaf.actor) {
                continue;
            }
            let view = view(now, place, leaf, &present, sent, blueprint);
            leaf.given = (0..sent.len()).filter(|&index| visible(&sent[index], now, place, leaf)).collect();
            let mut rng = StreamKey::new(blueprint.seed, Domain::Step, &leaf.path, "", now.as_nanos()).stream(0);
            let action = leaf.wanderer.act(&view, &mut rng).unwrap();
            outcome.views.push((leaf.path.clone(), view));
            match action {
                Some(action) => {
                    signals += action.signals.len() as u64;
                    contributions.push(publish(now, place, leaf, action, sent, blueprint));
                }
                None => failures.push((leaf.path.clone(), leaf.actor.clone())),
            }
        }
        if let Some((first, _)) = failures.first() {
            outcome.halt = Some((first.clone(), outcome.ticks, failures.len() - 1));
            return;
        }
        let membership: Vec<_> = self
            .membership
            .iter()
            .map(|(kind, path, time)| MembershipChange { kind: *kind, path, time: *time })
            .collect();
        let tick_hash = fingerprint::tick_hash(outcome.ticks, now, &contributions, &membership);
        outcome.world_hash = fingerprint::world_next(outcome.world_hash, tick_hash);
        outcome.ticks += 1;
        outcome.signals += signals;
        self.membership.clear();
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
                actor: actor.path.clone(),
                wanderer: wanderer.clone(),
                next_due: actor.first_due,
                last_step: None,
                seq: 0,
                given: Vec::new(),
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
    signal.time < now || (signal.actor == leaf.actor && signal.place < place)
}

fn view(
    now: SimTime,
    place: usize,
    leaf: &Leaf,
    present: &BTreeSet<String>,
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
        if wanted && leaf.given.binary_search(&index).is_err() {
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
            if matches(&expression, &signal.key) && present.contains(&signal.publisher) {
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

    View {
        now,
        dt: leaf.last_step.map_or(SimDuration::ZERO, |last| now.since(last).unwrap()),
        inbox: inbox
            .into_iter()
            .map(|signal| Arrival {
                time: signal.time,
                publisher: signal.publisher.clone(),
                seq: signal.seq,
                key: signal.key.clone(),
                value: signal.value.clone(),
            })
            .collect(),
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
        sent.push(Sent {
            time: now,
            key,
            publisher: leaf.path.clone(),
            actor: leaf.actor.clone(),
            place,
            seq: leaf.seq,
            value,
        });
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
    }
    .unwrap()
}
