//! Who is in the world: actors, their leaves, and the world's order.
//!
//! Leaves live in slots; an actor's leaves are contiguous. The world's order is (actor's order of joining, leaf
//! position), with an actor under another's path directly after it. It is one number per leaf: the joining number of the
//! outermost actor, then the place among all leaves under it. Slots say nothing about order, and are used again when an
//! actor leaves, without moving anyone.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use chaconne_sim_core::path::ActorPath;
use chaconne_sim_core::time::SimTime;

use crate::delivery::InboxList;
use crate::error::{LeaveError, RegistrationError};
use crate::hosting::OnFailure;

/// Bits of a leaf's order that count the leaves under one outermost actor.
const UNDER_ONE_BITS: u32 = 28;

/// Names an actor that is, or was, in the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ActorId {
    pub(crate) slot: u32,
    /// Counts the occupants of the slot, so that an id of a past one finds nobody.
    pub(crate) generation: u32,
}

/// What a path stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathEntry {
    Actor(u32),
    /// A group inside an actor.
    Group(u32),
    Leaf {
        actor: u32,
        leaf: u32,
    },
}

impl PathEntry {
    /// The slot of the actor that the path belongs to.
    pub(crate) fn actor(self) -> u32 {
        match self {
            Self::Actor(actor) | Self::Group(actor) | Self::Leaf { actor, .. } => actor,
        }
    }
}

/// One actor.
pub(crate) struct ActorEntry {
    pub(crate) path: ActorPath,
    /// First slot and number of its leaves.
    pub(crate) first_leaf: u32,
    pub(crate) leaves: u32,
    /// The groups inside it.
    pub(crate) groups: Vec<ActorPath>,
    /// The actor under whose path it stands.
    pub(crate) parent: Option<u32>,
    /// The actors directly under its path, by joining number.
    children: BTreeMap<u64, u32>,
    /// Counts the actors in the order of their joining.
    number: u64,
    /// Joining number of the outermost actor above it, or its own.
    root: u64,
    /// Of an outermost actor: the next place under it in the world's order.
    next_place: u32,
}

impl ActorEntry {
    /// The slots of its leaves, in pipeline order.
    pub(crate) fn leaf_slots(&self) -> std::ops::Range<u32> {
        self.first_leaf..self.first_leaf + self.leaves
    }
}

/// What the registry is told of an actor that joins.
pub(crate) struct Joining {
    pub(crate) path: ActorPath,
    pub(crate) groups: Vec<ActorPath>,
    pub(crate) leaves: Vec<ActorPath>,
    pub(crate) special: Special,
}

/// What few actors have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Special {
    /// Its steps are long.
    pub(crate) heavy: bool,
    /// What is done when it fails.
    pub(crate) on_failure: OnFailure,
    /// The budgets of its leaves, by position.
    pub(crate) budgets: Vec<(u32, Duration)>,
}

/// Actors and leaves, in slots.
#[derive(Default)]
pub(crate) struct Registry {
    actors: Vec<Option<ActorEntry>>,
    generations: Vec<u32>,
    free_actors: Vec<u32>,
    /// Runs of leaf slots that were given back, by length.
    free_leaves: BTreeMap<u32, Vec<u32>>,
    paths: BTreeMap<ActorPath, PathEntry>,
    /// Actors that are not like most: few, and looked up often.
    pub(crate) special: BTreeMap<u32, Special>,
    /// Outermost actors whose leaves have to be numbered anew.
    unnumbered: BTreeSet<u32>,
    joined: u64,
    live_leaves: u32,

    // By leaf slot.
    pub(crate) path: Vec<ActorPath>,
    pub(crate) actor: Vec<u32>,
    pub(crate) rows: Vec<LeafRow>,
    /// The sequence number that its first signal has: not zero for one that joined after the first instant.
    pub(crate) first_seq: Vec<u64>,
}

/// What the conductor touches of a leaf at every step: one line of the cache.
#[derive(Clone, Copy)]
pub(crate) struct LeafRow {
    /// The world's order.
    pub(crate) order: u64,
    /// When the leaf is due; never for one that is done, or has left.
    pub(crate) next_due: SimTime,
    /// When it stepped last; `SimTime::MIN` before its first step.
    pub(crate) last_step: SimTime,
    /// Sequence number of its next signal.
    pub(crate) seq: u64,
    pub(crate) steps: u64,
    /// Position in the actor's pipeline, and number of the actor's leaves.
    pub(crate) position: u32,
    pub(crate) size: u32,
    /// What waits for it.
    pub(crate) inbox: InboxList,
}

impl LeafRow {
    const VACANT: Self = Self {
        order: 0,
        next_due: SimTime::MAX,
        last_step: SimTime::MIN,
        seq: 0,
        steps: 0,
        position: 0,
        size: 0,
        inbox: InboxList::EMPTY,
    };
}

impl Registry {
    /// Number of leaf slots, vacated ones included.
    pub(crate) fn leaf_slots(&self) -> u32 {
        self.path.len() as u32
    }

    /// Number of leaves in the world.
    pub(crate) fn live_leaves(&self) -> u32 {
        self.live_leaves
    }

    /// Actors in the world, by slot.
    pub(crate) fn actors(&self) -> impl Iterator<Item = (ActorId, &ActorEntry)> {
        self.actors
            .iter()
            .zip(&self.generations)
            .zip(0..)
            .filter_map(|((entry, &generation), slot)| Some((ActorId { slot, generation }, entry.as_ref()?)))
    }

    /// The actor in a slot.
    pub(crate) fn entry(&self, slot: u32) -> Option<&ActorEntry> {
        self.actors.get(slot as usize)?.as_ref()
    }

    /// What stands at a path.
    pub(crate) fn find(&self, path: &ActorPath) -> Option<PathEntry> {
        self.paths.get(path).copied()
    }

    /// Checks that nothing stands at a path, and that there is something for it to stand under.
    pub(crate) fn check_path(&self, path: &ActorPath) -> Result<(), RegistrationError> {
        self.parent_of(path)?;
        match self.find(path).and_then(|entry| self.entry(entry.actor())) {
            Some(other) => {
                Err(RegistrationError::Duplicate { path: path.clone(), actor: path.clone(), other: other.path.clone() })
            }
            None => Ok(()),
        }
    }

    /// Checks what can be checked before anything is changed.
    pub(crate) fn check(&self, joining: &Joining) -> Result<(), RegistrationError> {
        self.parent_of(&joining.path)?;
        let mut own: Vec<&ActorPath> = vec![&joining.path];
        own.extend(&joining.groups);
        own.extend(joining.leaves.iter().filter(|leaf| **leaf != joining.path));
        own.sort();
        let duplicate = |path: &ActorPath, other: &ActorPath| RegistrationError::Duplicate {
            path: path.clone(),
            actor: joining.path.clone(),
            other: other.clone(),
        };
        if let Some(pair) = own.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(duplicate(pair[0], &joining.path));
        }
        for path in own {
            if let Some(entry) = self.find(path).and_then(|entry| self.entry(entry.actor())) {
                return Err(duplicate(path, &entry.path));
            }
        }
        Ok(())
    }

    /// The actor under whose path this one stands.
    fn parent_of(&self, path: &ActorPath) -> Result<Option<u32>, RegistrationError> {
        match path.parent() {
            None => Ok(None),
            Some(parent) => match self.find(&parent) {
                Some(entry) => Ok(Some(entry.actor())),
                None => Err(RegistrationError::NoParent { path: path.clone(), parent }),
            },
        }
    }

    /// Adds an actor whose leaves are first due at `first_due` and number their signals from `seq` on.
    pub(crate) fn join(
        &mut self,
        joining: Joining,
        first_due: SimTime,
        seq: u64,
    ) -> Result<ActorId, RegistrationError> {
        self.check(&joining)?;
        let parent = self.parent_of(&joining.path)?;
        let slot = self.free_actors.pop().unwrap_or_else(|| {
            self.actors.push(None);
            self.generations.push(0);
            self.actors.len() as u32 - 1
        });
        let count = joining.leaves.len() as u32;
        if joining.special != Special::default() {
            self.special.insert(slot, joining.special);
        }
        let first_leaf = self.take_leaf_slots(count);
        self.live_leaves += count;
        for (leaf, path) in (first_leaf..).zip(joining.leaves) {
            let at = leaf as usize;
            if path != joining.path {
                self.paths.insert(path.clone(), PathEntry::Leaf { actor: slot, leaf });
            }
            self.path[at] = path;
            self.rows[at] =
                LeafRow { position: leaf - first_leaf, size: count, next_due: first_due, seq, ..LeafRow::VACANT };
            self.first_seq[at] = seq;
            self.actor[at] = slot;
        }
        for group in &joining.groups {
            self.paths.insert(group.clone(), PathEntry::Group(slot));
        }
        self.paths.insert(joining.path.clone(), PathEntry::Actor(slot));
        let number = self.joined;
        self.joined += 1;
        let is_last = parent.is_none_or(|parent| self.ends_its_tree(parent));
        let root = match parent.and_then(|parent| self.actors[parent as usize].as_mut()) {
            Some(parent) => {
                parent.children.insert(number, slot);
                parent.root
            }
            None => number,
        };
        self.actors[slot as usize] = Some(ActorEntry {
            path: joining.path,
            first_leaf,
            leaves: count,
            groups: joining.groups,
            parent,
            children: BTreeMap::new(),
            number,
            root,
            next_place: 0,
        });
        let outermost = self.outermost(slot);
        if !is_last || !self.append(outermost, first_leaf, count) {
            self.unnumbered.insert(outermost);
        }
        Ok(ActorId { slot, generation: self.generations[slot as usize] })
    }

    /// Whether nothing comes after an actor and those under it, among all under its outermost one.
    fn ends_its_tree(&self, slot: u32) -> bool {
        let mut at = slot;
        while let Some(parent) = self.entry(at).and_then(|entry| entry.parent) {
            let last = self.entry(parent).and_then(|entry| entry.children.last_key_value());
            if last.is_none_or(|(_, &last)| last != at) {
                return false;
            }
            at = parent;
        }
        true
    }

    /// Gives leaves the next places under an outermost actor; not when it is to be numbered anew or has no more places.
    fn append(&mut self, outermost: u32, first_leaf: u32, count: u32) -> bool {
        if self.unnumbered.contains(&outermost) {
            return false;
        }
        let Some(entry) = self.actors[outermost as usize].as_mut() else { return false };
        let first = entry.next_place;
        entry.next_place = first.saturating_add(count);
        if entry.next_place > 1 << UNDER_ONE_BITS {
            return false;
        }
        let order = (entry.root << UNDER_ONE_BITS) + u64::from(first);
        for (leaf, order) in (first_leaf..first_leaf + count).zip(order..) {
            self.rows[leaf as usize].order = order;
        }
        true
    }

    fn take_leaf_slots(&mut self, count: u32) -> u32 {
        if let Some(start) = self.free_leaves.get_mut(&count).and_then(Vec::pop) {
            return start;
        }
        let start = self.leaf_slots();
        let len = (start + count) as usize;
        // Rows are filled by whoever joins; what stands here is only ever read for vacated slots.
        let vacant = ActorPath::new("vacant").expect("a single segment of letters is a path");
        self.path.resize(len, vacant);
        self.actor.resize(len, u32::MAX);
        self.rows.resize(len, LeafRow::VACANT);
        self.first_seq.resize(len, 0);
        start
    }

    fn outermost(&self, slot: u32) -> u32 {
        let mut outermost = slot;
        while let Some(parent) = self.entry(outermost).and_then(|entry| entry.parent) {
            outermost = parent;
        }
        outermost
    }

    /// Brings the world's order up to the joins since the last call. Says whether anything was numbered anew.
    pub(crate) fn number(&mut self) -> bool {
        let outermost = std::mem::take(&mut self.unnumbered);
        for &slot in &outermost {
            let Some(entry) = self.entry(slot) else { continue };
            let mut order = entry.root << UNDER_ONE_BITS;
            // Depth first, the first child next.
            let mut next = vec![slot];
            while let Some(entry) = next.pop().and_then(|slot| self.actors[slot as usize].as_ref()) {
                next.extend(entry.children.values().rev());
                for leaf in entry.leaf_slots() {
                    self.rows[leaf as usize].order = order;
                    order += 1;
                }
            }
            if let Some(entry) = self.actors[slot as usize].as_mut() {
                entry.next_place = (order - (entry.root << UNDER_ONE_BITS)) as u32;
            }
        }
        !outermost.is_empty()
    }

    /// Finds the actor that a leave of `path` would remove.
    pub(crate) fn leaving(&self, path: &ActorPath) -> Result<u32, LeaveError> {
        match self.find(path) {
            Some(PathEntry::Actor(slot)) => Ok(slot),
            Some(entry) => Err(LeaveError::Part {
                path: path.clone(),
                actor: self.entry(entry.actor()).map_or_else(|| path.clone(), |entry| entry.path.clone()),
            }),
            None => Err(LeaveError::Unknown { path: path.clone() }),
        }
    }

    /// The actor of an id, if it is still in the world.
    pub(crate) fn get(&self, id: ActorId) -> Option<&ActorEntry> {
        (self.generations.get(id.slot as usize) == Some(&id.generation)).then(|| self.entry(id.slot)).flatten()
    }

    /// The id of the actor in a slot.
    pub(crate) fn id(&self, slot: u32) -> ActorId {
        ActorId { slot, generation: self.generations[slot as usize] }
    }

    /// Removes an actor and all under it; `each` is told every actor, in the world's order, before it is forgotten. Its
    /// leaf slots stay taken until they are [released](Self::release).
    pub(crate) fn leave(&mut self, slot: u32, each: &mut dyn FnMut(&mut Self, ActorId)) {
        let Some(entry) = self.entry(slot) else { return };
        let (parent, children) = (entry.parent, entry.children.values().copied().collect::<Vec<u32>>());
        each(self, ActorId { slot, generation: self.generations[slot as usize] });
        for child in children {
            self.leave(child, each);
        }
        let Some(entry) = self.actors[slot as usize].take() else { return };
        if let Some(parent) = parent.and_then(|parent| self.actors[parent as usize].as_mut()) {
            parent.children.remove(&entry.number);
        }
        self.paths.remove(&entry.path);
        self.special.remove(&slot);
        for group in &entry.groups {
            self.paths.remove(group);
        }
        for leaf in entry.leaf_slots() {
            self.paths.remove(&self.path[leaf as usize]);
            self.rows[leaf as usize].next_due = SimTime::MAX;
        }
        self.live_leaves -= entry.leaves;
        self.generations[slot as usize] += 1;
        self.unnumbered.remove(&slot);
        self.free_actors.push(slot);
    }

    /// Gives the leaf slots of an actor that left back, to be used again.
    pub(crate) fn release(&mut self, first_leaf: u32) {
        let leaves = self.rows[first_leaf as usize].size;
        self.free_leaves.entry(leaves).or_default().push(first_leaf);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> ActorPath {
        ActorPath::new(text).unwrap()
    }

    fn join(registry: &mut Registry, at: &str, leaves: &[&str]) -> ActorId {
        let leaves = if leaves.is_empty() {
            vec![path(at)]
        } else {
            leaves.iter().map(|leaf| path(&format!("{at}/{leaf}"))).collect()
        };
        let joining = Joining { path: path(at), groups: Vec::new(), leaves, special: Special::default() };
        registry.join(joining, SimTime::ZERO, 0).unwrap()
    }

    fn in_order(registry: &mut Registry) -> Vec<&str> {
        registry.number();
        let mut live: Vec<u32> = registry.actors().flat_map(|(_, entry)| entry.leaf_slots()).collect();
        live.sort_by_key(|&leaf| registry.rows[leaf as usize].order);
        live.into_iter().map(|leaf| registry.path[leaf as usize].as_str()).collect()
    }

    #[test]
    fn an_actor_under_anothers_path_comes_directly_after_it_whenever_it_joins() {
        let mut registry = Registry::default();
        join(&mut registry, "ego", &["controller", "physics"]);
        join(&mut registry, "lead", &[]);
        join(&mut registry, "ego/camera", &[]);
        join(&mut registry, "ego/camera/filter", &[]);
        join(&mut registry, "ego/radar", &["front", "rear"]);
        join(&mut registry, "ego/camera/codec", &[]);
        assert_eq!(
            in_order(&mut registry),
            [
                "ego/controller",
                "ego/physics",
                "ego/camera",
                "ego/camera/filter",
                "ego/camera/codec",
                "ego/radar/front",
                "ego/radar/rear",
                "lead"
            ]
        );
    }

    #[test]
    fn leaving_takes_the_subtree_and_its_slots_are_used_again_without_moving_anyones_order() {
        let mut registry = Registry::default();
        let ego = join(&mut registry, "ego", &["controller", "physics"]);
        join(&mut registry, "ego/camera", &[]);
        join(&mut registry, "lead", &[]);
        let mut left = Vec::new();
        let slot = registry.leaving(&path("ego")).unwrap();
        registry.leave(slot, &mut |registry, id| left.push(registry.entry(id.slot).unwrap().path.clone()));
        assert_eq!(left, [path("ego"), path("ego/camera")]);
        assert_eq!(in_order(&mut registry), ["lead"]);
        assert_eq!(registry.live_leaves(), 1);
        assert!(registry.find(&path("ego/physics")).is_none());
        let slots = registry.leaf_slots();
        for first_leaf in [0, 2] {
            registry.release(first_leaf);
        }
        let again = join(&mut registry, "new", &["a", "b"]);
        join(&mut registry, "ego", &[]);
        assert_eq!(registry.leaf_slots(), slots);
        assert_eq!(in_order(&mut registry), ["lead", "new/a", "new/b", "ego"]);
        assert!(again != ego && registry.find(&path("new")).is_some());
    }

    #[test]
    fn a_part_does_not_leave_alone_and_nobody_leaves_twice() {
        let mut registry = Registry::default();
        join(&mut registry, "ego", &["controller", "physics"]);
        let part = registry.leaving(&path("ego/physics")).unwrap_err().to_string();
        assert!(part.contains("`ego/physics`") && part.contains("actor `ego`"), "{part}");
        assert!(matches!(registry.leaving(&path("nobody")), Err(LeaveError::Unknown { .. })));
    }

    #[test]
    fn two_things_with_one_path_are_refused_with_both_named() {
        let mut registry = Registry::default();
        join(&mut registry, "ego", &["controller", "camera"]);
        let clash = Joining {
            path: path("ego/camera"),
            groups: Vec::new(),
            leaves: vec![path("ego/camera")],
            special: Special::default(),
        };
        let error = registry.join(clash, SimTime::ZERO, 0).unwrap_err().to_string();
        assert!(error.contains("`ego/camera`") && error.contains("actor `ego`"), "{error}");
        let twins = Joining {
            path: path("x"),
            groups: Vec::new(),
            leaves: vec![path("x/a"), path("x/a")],
            special: Special::default(),
        };
        assert!(matches!(registry.join(twins, SimTime::ZERO, 0), Err(RegistrationError::Duplicate { .. })));
        let orphan = Joining {
            path: path("none/a"),
            groups: Vec::new(),
            leaves: vec![path("none/a")],
            special: Special::default(),
        };
        assert!(matches!(registry.join(orphan, SimTime::ZERO, 0), Err(RegistrationError::NoParent { .. })));
        assert_eq!(registry.live_leaves(), 2);
    }
}
