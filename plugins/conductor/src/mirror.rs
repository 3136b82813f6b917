//! Mirrors: the world's actors as entities, for Bevy systems, inspectors and renderers.
//!
//! The conductor's tables are the truth. Entities follow them once per frame, changed rows only; nothing is ever read
//! back from them but two wishes: despawning the mirror of an actor asks for the actor to leave, and reparenting one halts
//! the run, because the world's order cannot follow it. A system that despawns in `Update` acts between two slices of wall
//! time: at which instant the actor leaves then depends on the slice. Where a run must repeat, stop it at a time of your
//! own with `run_headless`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bevy_ecs::hierarchy::ChildOf;
use bevy_ecs::lifecycle::{Insert, Remove};
use bevy_ecs::name::Name;
use bevy_ecs::observer::On;
use bevy_ecs::prelude::{Component, Entity, Query, ResMut, Resource, With, World};
use chaconne_sim_core::key::Key;
use chaconne_sim_core::path::ActorPath;
use chaconne_sim_core::port::OutputId;
use chaconne_sim_core::signal::SignalValue;
use chaconne_sim_core::time::SimTime;
use smallvec::{SmallVec, smallvec};

use crate::conductor::Conductor;
use crate::registry::{ActorId, PathEntry};

/// What of the world is mirrored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mirroring {
    /// Every actor, group and participant.
    #[default]
    All,
    /// Actors only, without the parts of composites.
    Actors,
    /// Nothing.
    Off,
}

/// Marks an entity that mirrors a part of the world. Beside it stand `Name`, [`ActorPath`] and, on those under another,
/// `ChildOf`.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mirror {
    /// What it mirrors.
    pub kind: MirrorKind,
}

/// What a mirror stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MirrorKind {
    /// An actor; it may be a participant itself.
    Actor,
    /// A group inside an actor.
    Group,
    /// A participant inside an actor.
    Participant,
}

/// When the mirrored participant is due next ([`SimTime::MAX`]: never again).
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextDue(pub SimTime);

/// How often the mirrored participant has stepped, and what it has published.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepCounters {
    /// Steps.
    pub steps: u64,
    /// Signals.
    pub signals: u64,
}

/// The newest value of a signal, on the mirror of the actor under whose path it was published. Dereferences to the value.
#[derive(Component, Clone, Debug, PartialEq)]
pub struct Signal<T: Send + Sync + 'static> {
    /// When it was published.
    pub time: SimTime,
    /// The value.
    pub value: T,
}

impl<T: Send + Sync + 'static> Deref for Signal<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// What happened to mirrors since the last advance.
#[derive(Resource, Default)]
pub(crate) struct MirrorChanges {
    removed: Vec<Entity>,
    moved: Vec<Entity>,
}

pub(crate) fn watch_removal(removed: On<Remove, Mirror>, mut changes: ResMut<MirrorChanges>) {
    changes.removed.push(removed.entity);
}

pub(crate) fn watch_hierarchy(
    inserted: On<Insert, ChildOf>,
    mirrors: Query<(), With<Mirror>>,
    mut changes: ResMut<MirrorChanges>,
) {
    if mirrors.contains(inserted.entity) {
        changes.moved.push(inserted.entity);
    }
}

pub(crate) fn watch_orphans(
    removed: On<Remove, ChildOf>,
    mirrors: Query<(), With<Mirror>>,
    mut changes: ResMut<MirrorChanges>,
) {
    if mirrors.contains(removed.entity) {
        changes.moved.push(removed.entity);
    }
}

/// An actor that is mirrored.
struct Mirrored {
    id: ActorId,
    /// Its own path and those of its parts, as far as they have mirrors.
    paths: Vec<ActorPath>,
    leaves: std::ops::Range<u32>,
}

/// The mirror entities, and how far they follow.
#[derive(Default)]
pub(crate) struct Mirrors {
    entities: BTreeMap<ActorPath, Entity>,
    /// What each entity mirrors, whatever has become of its components.
    paths: BTreeMap<Entity, ActorPath>,
    /// Entities that are mirrors no more, though they were not despawned.
    leftover: Vec<Entity>,
    /// Which actor was mirrored at a path, and the paths of its parts.
    actors: BTreeMap<ActorPath, Mirrored>,
    /// By leaf slot: the entity, and the steps that it shows.
    leaves: Vec<Option<(Entity, u64)>>,
    /// How many of the specs know every output so far.
    introduced: usize,
}

impl Mirrors {
    /// Turns changes of mirrors into requests to leave.
    ///
    /// # Errors
    /// A path and a sentence, when a change cannot be followed.
    pub(crate) fn requests(
        &mut self,
        changes: MirrorChanges,
        world: &World,
        conductor: &mut Conductor,
    ) -> Result<(), (Option<ActorPath>, String)> {
        let mut gone = BTreeSet::new();
        for entity in changes.removed {
            // Those that the mirrors despawn themselves are no longer in the table.
            if let Some(path) = self.paths.remove(&entity) {
                self.entities.remove(&path);
                self.leftover.push(entity);
                gone.insert(path);
            }
        }
        let mut leaving = Vec::new();
        for path in &gone {
            match conductor.registry.find(path) {
                Some(PathEntry::Actor(slot)) => leaving.push((conductor.order_of(slot), path)),
                // A part goes with its actor, when that goes too.
                Some(entry) => {
                    let actor = conductor.registry.entry(entry.actor()).map(|entry| entry.path.clone());
                    if !actor.as_ref().is_some_and(|actor| gone.contains(actor)) {
                        let text = format!(
                            "is a part of an actor, and its mirror was despawned alone; despawn the mirror of {}, and the actor leaves as a whole",
                            actor.map_or_else(|| "its actor".to_string(), |actor| format!("`{actor}`")),
                        );
                        return Err((Some(path.clone()), text));
                    }
                }
                None => {}
            }
        }
        leaving.sort();
        for (_, path) in leaving {
            // The path was found in the registry just before.
            let _ = conductor.leave(path);
        }
        for entity in changes.moved {
            let (Ok(mirror), Some(path)) = (world.get_entity(entity), self.paths.get(&entity)) else { continue };
            let expected = path.parent().and_then(|parent| self.entities.get(&parent).copied());
            if mirror.get::<ChildOf>().map(ChildOf::parent) != expected {
                let text = "was given another parent entity; the world's order cannot follow that: put an entity of your \
                            own beside the mirror instead";
                return Err((Some(path.clone()), text.to_string()));
            }
        }
        Ok(())
    }

    /// Brings the entities up to the conductor's tables.
    pub(crate) fn follow(
        &mut self,
        mirroring: Mirroring,
        conductor: &mut Conductor,
        specs: &mut [Box<dyn MirrorSpec>],
        world: &mut World,
    ) {
        if mirroring == Mirroring::Off {
            conductor.unmirrored.clear();
            return;
        }
        for entity in self.leftover.drain(..) {
            let _ = world.try_despawn(entity);
        }
        conductor.number();
        if !conductor.changes.is_followed {
            conductor.changes.is_followed = true;
            conductor.changes.moved.extend(conductor.registry.actors().map(|(_, actor)| actor.path.clone()));
        }
        if !conductor.changes.moved.is_empty() {
            let moved: BTreeSet<ActorPath> = conductor.changes.moved.drain(..).collect();
            self.follow_membership(mirroring, moved, conductor, specs, world);
        }
        let registry = &conductor.registry;
        for (slot, mirrored) in self.leaves.iter_mut().enumerate() {
            let Some((entity, shown)) = mirrored else { continue };
            let row = &registry.rows[slot];
            if *shown == row.steps {
                continue;
            }
            *shown = row.steps;
            let Ok(mut mirror) = world.get_entity_mut(*entity) else { continue };
            if let Some(mut due) = mirror.get_mut::<NextDue>() {
                due.0 = row.next_due;
            }
            if let Some(mut counters) = mirror.get_mut::<StepCounters>() {
                *counters = StepCounters { steps: row.steps, signals: row.seq - registry.first_seq[slot] };
            }
        }
        // A signal that is to be mirrored from now on may have been published before.
        let (known, new) = specs.split_at_mut(self.introduced.min(specs.len()));
        for (id, output) in conductor.routing.all() {
            if new.is_empty() {
                break;
            }
            for spec in new.iter_mut() {
                spec.declare(id, &output.key, &self.entities);
            }
        }
        for id in conductor.unmirrored.drain(..) {
            // One that left within the frame is not shown; where its slot was used again, the other one is.
            let Some(output) = conductor.routing.outputs_of(id.leaf).get(id.index as usize) else { continue };
            if !conductor.routing.is_live(id, &output.key) {
                continue;
            }
            for spec in known.iter_mut() {
                spec.declare(id, &output.key, &self.entities);
            }
        }
        self.introduced = specs.len();
        for spec in specs {
            spec.follow(conductor, world);
        }
    }

    /// Follows the actors that joined or left since the last frame, by their paths.
    fn follow_membership(
        &mut self,
        mirroring: Mirroring,
        moved: BTreeSet<ActorPath>,
        conductor: &Conductor,
        specs: &mut [Box<dyn MirrorSpec>],
        world: &mut World,
    ) {
        let registry = &conductor.registry;
        self.leaves.resize(registry.leaf_slots() as usize, None);
        let mut gone = BTreeSet::new();
        for path in &moved {
            // Whoever has the path of one that left is somebody else, with a mirror of its own.
            let left = self.actors.get(path).is_some_and(|mirrored| registry.get(mirrored.id).is_none());
            let Some(mirrored) = left.then(|| self.actors.remove(path)).flatten() else { continue };
            for path in &mirrored.paths {
                if let Some(entity) = self.entities.remove(path) {
                    self.paths.remove(&entity);
                    gone.insert(entity);
                }
            }
            for leaf in mirrored.leaves {
                self.leaves[leaf as usize] = None;
            }
        }
        if !gone.is_empty() {
            for spec in specs {
                spec.forget(&gone, conductor);
            }
        }
        for entity in gone {
            // Those under another one go with it.
            let _ = world.try_despawn(entity);
        }
        let mut arrived: Vec<(u64, u32)> = moved
            .iter()
            .filter_map(|path| match registry.find(path)? {
                PathEntry::Actor(slot) if !self.actors.contains_key(path) => Some((conductor.order_of(slot), slot)),
                _ => None,
            })
            .collect();
        // In the world's order, so that parents come before those under them.
        arrived.sort_unstable();
        for (_, slot) in arrived {
            self.follow_actor(mirroring, slot, conductor, world);
        }
    }

    fn follow_actor(&mut self, mirroring: Mirroring, slot: u32, conductor: &Conductor, world: &mut World) {
        let registry = &conductor.registry;
        let Some(actor) = registry.entry(slot) else { return };
        let mut paths = vec![actor.path.clone()];
        let entity = self.entity(&actor.path, MirrorKind::Actor, world);
        let due = |leaf: u32| registry.rows[leaf as usize].next_due;
        if actor.leaves == 1 && registry.path[actor.first_leaf as usize] == actor.path {
            self.show(entity, actor.first_leaf, due(actor.first_leaf), world);
        } else if mirroring == Mirroring::All {
            for group in &actor.groups {
                self.entity(group, MirrorKind::Group, world);
                paths.push(group.clone());
            }
            for leaf in actor.leaf_slots() {
                let path = &registry.path[leaf as usize];
                let entity = self.entity(path, MirrorKind::Participant, world);
                self.show(entity, leaf, due(leaf), world);
                paths.push(path.clone());
            }
        }
        let mirrored = Mirrored { id: registry.id(slot), paths, leaves: actor.leaf_slots() };
        self.actors.insert(actor.path.clone(), mirrored);
    }

    /// The mirror of a path, spawned when there is none.
    fn entity(&mut self, path: &ActorPath, kind: MirrorKind, world: &mut World) -> Entity {
        if let Some(&entity) = self.entities.get(path) {
            return entity;
        }
        let mirror = (Name::new(path.name().to_string()), path.clone(), Mirror { kind });
        let parent = path.parent().and_then(|parent| self.entities.get(&parent).copied());
        let entity = match parent {
            Some(parent) => world.spawn((mirror, ChildOf(parent))).id(),
            None => world.spawn(mirror).id(),
        };
        self.entities.insert(path.clone(), entity);
        self.paths.insert(entity, path.clone());
        entity
    }

    fn show(&mut self, entity: Entity, leaf: u32, next_due: SimTime, world: &mut World) {
        if let Ok(mut mirror) = world.get_entity_mut(entity)
            && !mirror.contains::<NextDue>()
        {
            mirror.insert((NextDue(next_due), StepCounters::default()));
        }
        self.leaves[leaf as usize] = Some((entity, u64::MAX));
    }
}

/// A signal to be kept on mirrors, whatever its type.
pub(crate) trait MirrorSpec: Send {
    /// Takes note of an output, if it is one of the signal's.
    fn declare(&mut self, id: OutputId, key: &Key, entities: &BTreeMap<ActorPath, Entity>);

    /// Forgets mirrors that are gone, and outputs of participants that left.
    fn forget(&mut self, gone: &BTreeSet<Entity>, conductor: &Conductor);

    /// Copies newer values to the mirrors.
    fn follow(&mut self, conductor: &Conductor, world: &mut World);
}

/// A signal kept as [`Signal<T>`].
pub(crate) struct SignalSpec<T> {
    signal: String,
    rows: BTreeMap<Key, Row>,
    value: std::marker::PhantomData<fn() -> T>,
}

struct Row {
    entity: Entity,
    /// Several when several parts publish under one key.
    outputs: SmallVec<[OutputId; 1]>,
    newest: Option<(SimTime, OutputId, u64)>,
}

impl<T> SignalSpec<T> {
    pub(crate) fn new(signal: &str) -> Self {
        Self { signal: signal.to_string(), rows: BTreeMap::new(), value: std::marker::PhantomData }
    }
}

impl<T: SignalValue> MirrorSpec for SignalSpec<T> {
    fn declare(&mut self, id: OutputId, key: &Key, entities: &BTreeMap<ActorPath, Entity>) {
        if key.signal() != Some(&self.signal) {
            return;
        }
        if let Some(row) = self.rows.get_mut(key) {
            if !row.outputs.contains(&id) {
                row.outputs.push(id);
            }
            return;
        }
        let path = key.actor().and_then(|path| ActorPath::new(path).ok());
        if let Some(&entity) = path.and_then(|path| entities.get(&path)) {
            self.rows.insert(key.clone(), Row { entity, outputs: smallvec![id], newest: None });
        }
    }

    fn forget(&mut self, gone: &BTreeSet<Entity>, conductor: &Conductor) {
        self.rows.retain(|_, row| !gone.contains(&row.entity));
        for (key, row) in &mut self.rows {
            row.outputs.retain(|id| conductor.routing.is_live(*id, key));
        }
    }

    fn follow(&mut self, conductor: &Conductor, world: &mut World) {
        for row in self.rows.values_mut() {
            let Some((id, sample)) = conductor.newest_of(row.outputs.iter().copied()) else {
                // A value dies with its publisher.
                if row.newest.take().is_some()
                    && let Ok(mut mirror) = world.get_entity_mut(row.entity)
                {
                    mirror.remove::<Signal<T>>();
                }
                continue;
            };
            let newest = Some((sample.time, id, sample.seq));
            if row.newest == newest {
                continue;
            }
            row.newest = newest;
            // A type whose reading panics is one that does not read.
            let read = catch_unwind(AssertUnwindSafe(|| sample.payload.decode::<T>()));
            let Ok(Ok(value)) = read else { continue };
            let Ok(mut mirror) = world.get_entity_mut(row.entity) else { continue };
            let time = sample.time;
            match mirror.get_mut::<Signal<T>>() {
                Some(mut signal) => *signal = Signal { time, value },
                None => {
                    mirror.insert(Signal { time, value });
                }
            }
        }
    }
}
