//! Routing: which leaves an output reaches. Matches are made once per output, when its key is first used.

use std::collections::{BTreeMap, BTreeSet};

use chaconne_sim_core::key::{Key, KeyExpr};
use chaconne_sim_core::port::{OutputId, Reach};
use chaconne_sim_core::prefetch::prefetch;
use chaconne_sim_core::signal::{Delivery, Payload};
use chaconne_sim_core::time::SimTime;
use smallvec::SmallVec;

/// One receiver of an output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    pub(crate) leaf: u32,
    pub(crate) reach: Reach,
    /// The receiver is a later leaf of the publisher's own actor: its host delivers when both are due at one instant.
    pub(crate) inside: bool,
    /// The item that waits in the receiver's inbox, when it is for the latest value alone and may be overwritten.
    pub(crate) waiting: Option<Waiting>,
}

/// A place in an inbox, valid until the inbox is taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub(crate) node: u32,
    /// The receiver's inbox epoch when it was put there.
    pub(crate) epoch: u32,
}

/// The newest value of an output.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) time: SimTime,
    pub(crate) seq: u64,
    pub(crate) payload: Payload,
}

/// One key as one leaf publishes it.
pub(crate) struct Output {
    pub(crate) key: Key,
    /// One per receiver, by slot.
    pub(crate) routes: SmallVec<[Route; 1]>,
    pub(crate) newest: Option<Sample>,
}

#[derive(Clone, Copy)]
struct Subscriber {
    leaf: u32,
    delivery: Delivery,
}

/// Who subscribes under one expression, by slot.
type Subscribers = SmallVec<[Subscriber; 1]>;

/// Puts an item to where it belongs in a list that is sorted by a key, behind its equals.
fn insert_by<T, K: Ord, const N: usize>(list: &mut SmallVec<[T; N]>, item: T, key: impl Fn(&T) -> K)
where
    [T; N]: smallvec::Array<Item = T>,
{
    let at = list.partition_point(|other| key(other) <= key(&item));
    list.insert(at, item);
}

/// Removes the items with a key from a list that is sorted by it.
fn remove_by<T, K: Ord, const N: usize>(list: &mut SmallVec<[T; N]>, of: K, key: impl Fn(&T) -> K)
where
    [T; N]: smallvec::Array<Item = T>,
{
    let from = list.partition_point(|item| key(item) < of);
    let to = from + list[from..].partition_point(|item| key(item) == of);
    list.drain(from..to);
}

/// The route to a receiver, made when there is none; and whether it was.
fn route_to(routes: &mut SmallVec<[Route; 1]>, leaf: u32, inside: bool) -> (&mut Route, bool) {
    let found = routes.binary_search_by_key(&leaf, |route| route.leaf);
    let (Ok(at) | Err(at)) = found;
    if found.is_err() {
        routes.insert(at, Route { leaf, reach: Reach::default(), inside, waiting: None });
    }
    (&mut routes[at], found.is_err())
}

/// Removes a leaf from the subscribers under an expression.
fn forget<K: Ord>(subscriptions: &mut BTreeMap<K, Subscribers>, of: &K, leaf: u32) {
    if let Some(subscribers) = subscriptions.get_mut(of) {
        remove_by(subscribers, leaf, |subscriber| subscriber.leaf);
        if subscribers.is_empty() {
            subscriptions.remove(of);
        }
    }
}

/// Subscriptions and outputs of the world.
#[derive(Default)]
pub(crate) struct Routing {
    /// Subscriptions without wild cards, by key.
    concrete: BTreeMap<Key, Subscribers>,
    /// Subscriptions with wild cards: many share one expression, which is matched once.
    wild: BTreeMap<KeyExpr, Subscribers>,
    /// By leaf slot.
    outputs: Vec<SmallVec<[Output; 1]>>,
    /// By leaf slot: the subscriptions, and the outputs with a route to the leaf, in order.
    subscriptions: Vec<SmallVec<[KeyExpr; 1]>>,
    fed_by: Vec<SmallVec<[OutputId; 2]>>,
    /// Outputs by key, for those who subscribe later and for mirrors.
    by_key: BTreeMap<Key, SmallVec<[OutputId; 1]>>,
    /// Leaves that left and whose values are held for one more instant.
    fading: BTreeSet<u32>,
}

impl Routing {
    /// Makes room for `leaves` slots.
    pub(crate) fn resize(&mut self, leaves: u32) {
        let leaves = leaves as usize;
        self.outputs.resize_with(leaves.max(self.outputs.len()), SmallVec::new);
        self.subscriptions.resize_with(leaves.max(self.subscriptions.len()), SmallVec::new);
        self.fed_by.resize_with(leaves.max(self.fed_by.len()), SmallVec::new);
    }

    /// Adds a subscription of `leaf`: routes from the outputs that there are, and from those declared from now on.
    pub(crate) fn subscribe(&mut self, leaf: u32, expr: &KeyExpr, delivery: Delivery) {
        let mut matching: SmallVec<[OutputId; 4]> = SmallVec::new();
        self.matching(expr, |ids| matching.extend_from_slice(ids));
        for id in matching {
            let routes = &mut self.outputs[id.leaf as usize][id.index as usize].routes;
            // A subscription before this one may have made the route.
            let (route, is_new) = route_to(routes, leaf, false);
            route.reach.join(delivery);
            if is_new {
                insert_by(&mut self.fed_by[leaf as usize], id, |id| *id);
            }
        }
        let subscribers = match expr.as_key() {
            Some(key) => self.concrete.entry(key).or_default(),
            None => self.wild.entry(expr.clone()).or_default(),
        };
        insert_by(subscribers, Subscriber { leaf, delivery }, |subscriber| subscriber.leaf);
        self.subscriptions[leaf as usize].push(expr.clone());
    }

    /// Calls `each` with the outputs under every key that an expression matches.
    fn matching(&self, expr: &KeyExpr, mut each: impl FnMut(&[OutputId])) {
        if let Some(key) = expr.as_key() {
            self.by_key.get(&key).into_iter().for_each(|ids| each(ids));
            return;
        }
        // Keys are in order: only those that begin as the expression does, up to its first wild chunk, have to be looked at.
        let text = expr.as_str();
        let wild = text.find('*').unwrap_or(text.len());
        let prefix = text[..wild].rsplit_once('/').map_or("", |(prefix, _)| prefix);
        let mut look = |(key, ids): (&Key, &SmallVec<[OutputId; 1]>)| {
            let is_near = key.as_str().starts_with(prefix);
            if is_near && expr.matches(key) {
                each(ids);
            }
            is_near
        };
        match Key::new(prefix) {
            Ok(from) => {
                self.by_key.range(from..).all(&mut look);
            }
            Err(_) => self.by_key.iter().for_each(|entry| {
                look(entry);
            }),
        }
    }

    /// What a leaf that joins is to be given of what was published before: the outputs of its `latest` subscriptions that
    /// have a value.
    pub(crate) fn held_for(&self, leaf: u32) -> impl Iterator<Item = (OutputId, &Sample)> {
        self.fed_by[leaf as usize].iter().filter_map(move |&id| {
            let output = &self.outputs[id.leaf as usize][id.index as usize];
            let at = output.routes.binary_search_by_key(&leaf, |route| route.leaf).ok()?;
            output.newest.as_ref().filter(|_| output.routes[at].reach.latest).map(|sample| (id, sample))
        })
    }

    /// Removes all subscriptions of a leaf that leaves.
    pub(crate) fn unsubscribe(&mut self, leaf: u32) {
        for expr in std::mem::take(&mut self.subscriptions[leaf as usize]) {
            if let Some(key) = expr.as_key() {
                forget(&mut self.concrete, &key, leaf);
            } else {
                forget(&mut self.wild, &expr, leaf);
            }
        }
        for id in std::mem::take(&mut self.fed_by[leaf as usize]) {
            if let Some(output) = self.outputs[id.leaf as usize].get_mut(id.index as usize) {
                remove_by(&mut output.routes, leaf, |route| route.leaf);
            }
        }
    }

    /// Adds an output of `leaf`. `inside` are the slots of the later leaves of its actor.
    pub(crate) fn declare(&mut self, leaf: u32, key: Key, inside: std::ops::Range<u32>) -> OutputId {
        let mut routes: SmallVec<[Route; 1]> = SmallVec::new();
        let mut add = |receiver: u32, delivery: Delivery| {
            route_to(&mut routes, receiver, inside.contains(&receiver)).0.reach.join(delivery);
        };
        for subscriber in self.concrete.get(&key).into_iter().flatten() {
            add(subscriber.leaf, subscriber.delivery);
        }
        for (_, subscribers) in self.wild.iter().filter(|(expr, _)| expr.matches(&key)) {
            for subscriber in subscribers {
                add(subscriber.leaf, subscriber.delivery);
            }
        }
        let slot = leaf as usize;
        let id = OutputId { leaf, index: self.outputs[slot].len() as u32 };
        for route in &routes {
            insert_by(&mut self.fed_by[route.leaf as usize], id, |id| *id);
        }
        self.by_key.entry(key.clone()).or_default().push(id);
        self.outputs[slot].push(Output { key, routes, newest: None });
        id
    }

    /// Takes note that a leaf left. What it said last is held until it is [withdrawn](Self::withdraw).
    pub(crate) fn fade(&mut self, leaf: u32) {
        self.fading.insert(leaf);
    }

    /// Ends the outputs of a leaf that left; `each` is told every route of theirs. Their keys stay known by their numbers
    /// until the slot is [vacated](Self::vacate).
    pub(crate) fn withdraw(&mut self, leaf: u32, mut each: impl FnMut(OutputId, &Route)) {
        let Self { outputs, by_key, fed_by, fading, .. } = self;
        fading.remove(&leaf);
        for (output, index) in outputs[leaf as usize].iter_mut().zip(0..) {
            output.newest = None;
            for route in std::mem::take(&mut output.routes) {
                remove_by(&mut fed_by[route.leaf as usize], leaf, |id| id.leaf);
                each(OutputId { leaf, index }, &route);
            }
            if let Some(ids) = by_key.get_mut(&output.key) {
                ids.retain(|id| id.leaf != leaf);
                if ids.is_empty() {
                    by_key.remove(&output.key);
                }
            }
        }
    }

    /// Forgets the outputs of a leaf that left, before its slot is used again.
    pub(crate) fn vacate(&mut self, leaf: u32) {
        self.outputs[leaf as usize].clear();
    }

    /// Asks for the memory of the outputs of a slot.
    #[inline]
    pub(crate) fn prefetch(&self, slot: usize) {
        if let Some(outputs) = self.outputs.get(slot) {
            prefetch(outputs, 192);
        }
    }

    /// An output of a leaf.
    #[inline]
    pub(crate) fn output(&mut self, leaf: u32, index: u32) -> &mut Output {
        &mut self.outputs[leaf as usize][index as usize]
    }

    /// Whether an output is one of a leaf that is in the world, under this key.
    pub(crate) fn is_live(&self, id: OutputId, key: &Key) -> bool {
        !self.fading.contains(&id.leaf) && self.by_key.get(key).is_some_and(|ids| ids.contains(&id))
    }

    /// The outputs of a leaf, also after it left, until its slot is used again.
    pub(crate) fn outputs_of(&self, leaf: u32) -> &[Output] {
        self.outputs.get(leaf as usize).map_or(&[], |outputs| outputs)
    }

    /// The outputs under a key of leaves that are in the world.
    pub(crate) fn under(&self, key: &Key) -> impl Iterator<Item = (OutputId, &Output)> {
        self.by_key
            .get(key)
            .into_iter()
            .flatten()
            .filter(|id| !self.fading.contains(&id.leaf))
            .filter_map(|&id| Some((id, self.outputs.get(id.leaf as usize)?.get(id.index as usize)?)))
    }

    /// All outputs of leaves that are in the world, by key.
    pub(crate) fn all(&self) -> impl Iterator<Item = (OutputId, &Output)> {
        let ids = self.by_key.values().flatten().filter(|id| !self.fading.contains(&id.leaf));
        ids.filter_map(|&id| Some((id, self.outputs.get(id.leaf as usize)?.get(id.index as usize)?)))
    }
}
