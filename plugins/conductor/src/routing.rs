//! Routing: which leaves an output reaches. Matches are made once per output, when its key is first used.

use std::collections::BTreeMap;

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
    pub(crate) routes: SmallVec<[Route; 1]>,
    pub(crate) newest: Option<Sample>,
}

struct Subscriber {
    leaf: u32,
    delivery: Delivery,
}

struct WildSubscriber {
    expr: KeyExpr,
    leaf: u32,
    delivery: Delivery,
}

/// Subscriptions and outputs of the world.
#[derive(Default)]
pub(crate) struct Routing {
    /// Subscriptions without wild cards, by key.
    concrete: BTreeMap<Key, SmallVec<[Subscriber; 1]>>,
    /// Subscriptions with wild cards.
    wild: Vec<WildSubscriber>,
    /// By leaf slot.
    outputs: Vec<SmallVec<[Output; 1]>>,
    /// By leaf slot: the subscriptions, and the outputs with a route to the leaf.
    subscriptions: Vec<SmallVec<[KeyExpr; 1]>>,
    fed_by: Vec<SmallVec<[OutputId; 2]>>,
    /// Outputs by key, for those who subscribe later and for mirrors.
    by_key: BTreeMap<Key, SmallVec<[OutputId; 1]>>,
}

impl Routing {
    /// Makes room for `leaves` slots.
    pub(crate) fn resize(&mut self, leaves: u32) {
        let leaves = leaves as usize;
        self.outputs.resize_with(leaves.max(self.outputs.len()), SmallVec::new);
        self.subscriptions.resize_with(leaves.max(self.subscriptions.len()), SmallVec::new);
        self.fed_by.resize_with(leaves.max(self.fed_by.len()), SmallVec::new);
    }

    /// Adds a subscription of `leaf`, to be applied to outputs declared from now on.
    pub(crate) fn subscribe(&mut self, leaf: u32, expr: &KeyExpr, delivery: Delivery) {
        match expr.as_key() {
            Some(key) => self.concrete.entry(key).or_default().push(Subscriber { leaf, delivery }),
            None => self.wild.push(WildSubscriber { expr: expr.clone(), leaf, delivery }),
        }
        self.subscriptions[leaf as usize].push(expr.clone());
    }

    /// Removes all subscriptions of a leaf that leaves.
    pub(crate) fn unsubscribe(&mut self, leaf: u32) {
        for expr in std::mem::take(&mut self.subscriptions[leaf as usize]) {
            match expr.as_key() {
                Some(key) => {
                    if let Some(subscribers) = self.concrete.get_mut(&key) {
                        subscribers.retain(|subscriber| subscriber.leaf != leaf);
                        if subscribers.is_empty() {
                            self.concrete.remove(&key);
                        }
                    }
                }
                None => self.wild.retain(|subscriber| subscriber.leaf != leaf),
            }
        }
        for id in std::mem::take(&mut self.fed_by[leaf as usize]) {
            if let Some(output) = self.outputs[id.leaf as usize].get_mut(id.index as usize) {
                output.routes.retain(|route| route.leaf != leaf);
            }
        }
    }

    /// Adds an output of `leaf`. `inside` are the slots of the later leaves of its actor.
    pub(crate) fn declare(&mut self, leaf: u32, key: Key, inside: std::ops::Range<u32>) -> OutputId {
        let mut routes: SmallVec<[Route; 1]> = SmallVec::new();
        let mut add = |receiver: u32, delivery: Delivery| {
            let route = match routes.iter_mut().find(|route| route.leaf == receiver) {
                Some(route) => route,
                None => {
                    let inside = inside.contains(&receiver);
                    routes.push(Route { leaf: receiver, reach: Reach::default(), inside, waiting: None });
                    routes.last_mut().expect("a route was pushed in the line before")
                }
            };
            route.reach.join(delivery);
        };
        for subscriber in self.concrete.get(&key).into_iter().flatten() {
            add(subscriber.leaf, subscriber.delivery);
        }
        for subscriber in &self.wild {
            if subscriber.expr.matches(&key) {
                add(subscriber.leaf, subscriber.delivery);
            }
        }
        let slot = leaf as usize;
        let id = OutputId { leaf, index: self.outputs[slot].len() as u32 };
        for route in &routes {
            self.fed_by[route.leaf as usize].push(id);
        }
        self.by_key.entry(key.clone()).or_default().push(id);
        self.outputs[slot].push(Output { key, routes, newest: None });
        id
    }

    /// Forgets the outputs of a leaf that leaves, and returns them.
    pub(crate) fn withdraw(&mut self, leaf: u32) -> SmallVec<[Output; 1]> {
        let outputs = std::mem::take(&mut self.outputs[leaf as usize]);
        for output in &outputs {
            for route in &output.routes {
                self.fed_by[route.leaf as usize].retain(|id| id.leaf != leaf);
            }
            if let Some(ids) = self.by_key.get_mut(&output.key) {
                ids.retain(|id| id.leaf != leaf);
                if ids.is_empty() {
                    self.by_key.remove(&output.key);
                }
            }
        }
        outputs
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

    /// The outputs of a leaf.
    pub(crate) fn outputs_of(&self, leaf: u32) -> &[Output] {
        self.outputs.get(leaf as usize).map_or(&[], |outputs| outputs)
    }

    /// The outputs under a key.
    pub(crate) fn under(&self, key: &Key) -> impl Iterator<Item = (OutputId, &Output)> {
        self.by_key
            .get(key)
            .into_iter()
            .flatten()
            .filter_map(|&id| Some((id, self.outputs.get(id.leaf as usize)?.get(id.index as usize)?)))
    }

    /// All outputs, by leaf slot and index.
    pub(crate) fn all(&self) -> impl Iterator<Item = (OutputId, &Output)> {
        self.outputs.iter().zip(0..).flat_map(|(outputs, leaf)| {
            outputs.iter().zip(0..).map(move |(output, index)| (OutputId { leaf, index }, output))
        })
    }
}
