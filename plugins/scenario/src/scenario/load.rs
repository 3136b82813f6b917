//! From the tree of a file to a scenario, collecting what is wrong on the way.

use std::path::{Path, PathBuf};

use chaconne_conductor::Actor;
use chaconne_sim_core::path::{ActorPath, is_segment};
use chaconne_sim_core::time::SimTime;
use serde::de::DeserializeOwned;

use super::file::{ActorEntry, ChildEntry, FIELDS, Given, JoinEntry, Later, LeaveEntry, PopulationEntry, ScenarioFile};
use super::timeline::{Arrival, Departure, Part, check};
use super::{Overrides, Scenario};
use crate::error::Mistake;
use crate::factory::{Factories, Made, NodeSpec, Setting, Shared, check_depth};
use crate::params::{Params, Placed, Unread, nearest};
use crate::text::{Kind, Place, Tree};

/// Reads a file's tree.
pub(super) fn load(
    tree: &Tree,
    base: &Path,
    factories: &Factories,
    overrides: Overrides,
) -> Result<Scenario, Vec<Mistake>> {
    let mut loader = Loader { tree, factories, mistakes: Vec::new(), makes: true };
    let (own, fields) = loader.split();
    // Without what the whole says there is no sense in looking at its parts.
    let file: ScenarioFile = match Params::new(&own).read() {
        Ok(file) if loader.mistakes.is_empty() => file,
        Ok(_) => return Err(loader.mistakes),
        Err(error) => {
            loader.mistakes.push(error.into());
            return Err(loader.mistakes);
        }
    };
    if !is_segment(&file.world.value) {
        let what = format!("`{}` is not a world's name; use letters, digits, `_` and `-` only", file.world.value);
        loader.mistakes.push(Mistake::new(file.world.place, what));
    }
    let end = overrides.end.or(file.end.map(Later::get));
    if overrides.end.is_some_and(|end| end <= SimTime::ZERO) {
        loader.mistakes.push(Mistake::new(None, "the end that was asked for must be above 0 s; choose a later one"));
    }
    let (shared, inputs) = loader.shared(&fields, base);
    let seed = overrides.seed.unwrap_or(file.seed);
    let setting = Setting { world: file.world.value.clone(), seed, shared };

    let mut arrivals = loader.actors(&setting, &file.actors);
    arrivals.extend(loader.populations(&setting, &file.populations));
    arrivals.extend(loader.joins(&setting, &file.joins));
    let complete = arrivals.len() == file.actors.len() + file.populations.len() + file.joins.len();
    let departures = loader.leaves(&file.leaves);
    check(&arrivals, complete, &departures, &mut loader.mistakes);
    if !loader.mistakes.is_empty() {
        return Err(loader.mistakes);
    }
    let (mut actors, mut joins) = (Vec::new(), Vec::new());
    for arrival in arrivals {
        match (arrival.actor, arrival.joins_at) {
            (Some(actor), None) => actors.push(actor),
            (Some(actor), Some(at)) => joins.push((at, actor)),
            (None, _) => {}
        }
    }
    joins.sort_by_key(|(at, _)| *at);
    let mut leaves: Vec<_> = departures.into_iter().map(|departure| (departure.at, departure.path)).collect();
    leaves.sort_by_key(|(at, _)| *at);
    Ok(Scenario { setting, end, actors, joins, leaves, inputs })
}

struct Loader<'t> {
    tree: &'t Tree,
    factories: &'t Factories,
    mistakes: Vec<Mistake>,
    /// Whether what a file asks for is made: not when a shared value is missing, which would be reported once more by
    /// everything that wants it.
    makes: bool,
}

/// What an actor or a part is made of.
struct Content {
    kind: Option<Placed<String>>,
    params: Option<Unread<Given>>,
    children: Option<Placed<Vec<Unread<ChildEntry>>>>,
}

/// A node that has been read, not made: owns its names so that a [`NodeSpec`] can borrow them.
enum ReadNode<'t> {
    Made { kind: Placed<String>, params: Params<'t> },
    Group(Vec<(String, ReadNode<'t>)>),
}

impl ReadNode<'_> {
    fn spec(&self) -> NodeSpec<'_> {
        match self {
            Self::Made { kind, params } => {
                NodeSpec::Made { factory: &kind.value, params: params.clone(), place: Some(kind.place) }
            }
            Self::Group(children) => {
                NodeSpec::Group(children.iter().map(|(name, child)| (name.as_str(), child.spec())).collect())
            }
        }
    }
}

impl<'t> Loader<'t> {
    /// Parts the format's own fields from those that are shared values. Others are mistakes.
    fn split(&mut self) -> (Tree, Vec<(&'t str, &'t Tree)>) {
        let Kind::Object(members) = self.tree.kind() else { return (self.tree.clone(), Vec::new()) };
        let names: Vec<&str> = self.factories.described_shares().map(|(name, ..)| name).collect();
        let (mut own, mut fields) = (Vec::new(), Vec::new());
        for member in members {
            let key = member.key.as_str();
            if names.contains(&key) {
                fields.push((key, &member.value));
            } else if FIELDS.contains(&key) {
                // The schema is for editors.
                own.extend((key != "$schema").then(|| member.clone()));
            } else {
                let advice = nearest(key, FIELDS[1..].iter().copied().chain(names.iter().copied()));
                let what = format!("unknown field `{}`; {advice}", key.escape_debug());
                self.mistakes.push(Mistake::new(member.place, what));
            }
        }
        (Tree::new(self.tree.place(), Kind::Object(own)), fields)
    }

    fn shared(&mut self, fields: &[(&str, &Tree)], base: &Path) -> (Shared, Vec<PathBuf>) {
        let (mut shared, mut inputs) = (Shared::default(), Vec::new());
        for (field, value) in fields {
            match self.factories.load(field, &Params::new(value), base, &mut shared) {
                Ok(files) => inputs.extend(files),
                Err(mistake) => {
                    self.makes = false;
                    self.mistakes.push(mistake);
                }
            }
        }
        (shared, inputs)
    }

    fn actors(&mut self, setting: &Setting, entries: &[Unread<ActorEntry>]) -> Vec<Arrival> {
        let mut arrivals = Vec::new();
        for unread in entries {
            let Some(entry) = self.read(unread) else { continue };
            let content = Content { kind: entry.kind, params: entry.params, children: entry.children };
            let first_due = entry.first_due.map_or(SimTime::ZERO, |time| time.get());
            let asked = Asked { path: entry.path, first_due, leaves_at: entry.leaves_at, joins: false };
            arrivals.extend(self.arrival(setting, unread.place, asked, content));
        }
        arrivals
    }

    fn joins(&mut self, setting: &Setting, entries: &[Unread<JoinEntry>]) -> Vec<Arrival> {
        let mut arrivals = Vec::new();
        for unread in entries {
            let Some(entry) = self.read(unread) else { continue };
            let content = Content { kind: entry.kind, params: entry.params, children: entry.children };
            let asked = Asked { path: entry.path, first_due: entry.at.get(), leaves_at: entry.leaves_at, joins: true };
            arrivals.extend(self.arrival(setting, unread.place, asked, content));
        }
        arrivals
    }

    fn leaves(&mut self, entries: &[Unread<LeaveEntry>]) -> Vec<Departure> {
        let mut departures = Vec::new();
        for unread in entries {
            let Some(entry) = self.read(unread) else { continue };
            if let Some(path) = self.path(&entry.path) {
                departures.push(Departure { at: entry.at.get(), path, place: entry.path.place });
            }
        }
        departures
    }

    fn populations(&mut self, setting: &Setting, entries: &[Unread<PopulationEntry>]) -> Vec<Arrival> {
        let mut arrivals = Vec::new();
        for unread in entries {
            let Some(entry) = self.read(unread) else { continue };
            let first_due = entry.first_due.map_or(SimTime::ZERO, |time| time.get());
            let asked = Asked { path: entry.path, first_due, leaves_at: entry.leaves_at, joins: false };
            let params = self.params(entry.params.as_ref(), entry.kind.place);
            let Some((path, leaves_at)) = self.frame(&asked) else { continue };
            let mut actor = None;
            if self.makes {
                let kind = (entry.kind.value.as_str(), entry.kind.place);
                match self.factories.make_population(setting, &path, kind, &params) {
                    Ok(population) => {
                        let population = match entry.every {
                            Some(every) => population.every(every.get()),
                            None => population,
                        };
                        let made = Made::Population(Box::new(population));
                        actor = Some(made.into_actor(&path, first_due, leaves_at));
                    }
                    Err(mistake) => self.mistakes.push(placed(mistake, entry.kind.place)),
                }
            }
            arrivals.push(Arrival {
                path,
                place: asked.path.place,
                is_made: true,
                parts: Vec::new(),
                joins_at: None,
                leaves_at,
                actor,
            });
        }
        arrivals
    }

    fn read<T: DeserializeOwned>(&mut self, unread: &Unread<T>) -> Option<T> {
        unread.read(self.tree).map_err(|error| self.mistakes.push(error.into())).ok()
    }

    /// Checks path and times. Times that do not fit together are a mistake, but do not hide the rest.
    fn frame(&mut self, asked: &Asked) -> Option<(ActorPath, Option<SimTime>)> {
        let path = self.path(&asked.path)?;
        let leaves_at = asked.leaves_at.as_ref().map(|leaves_at| leaves_at.value.get());
        if let (Some(time), Some(Placed { place, .. })) = (leaves_at, &asked.leaves_at)
            && time <= asked.first_due
        {
            let (does, first_due) = (if asked.joins { "joins" } else { "is first due" }, asked.first_due);
            let what = format!("`{path}` leaves at {time} s, and {does} at {first_due} s; let it leave later");
            self.mistakes.push(Mistake::new(*place, what));
        }
        Some((path, leaves_at))
    }

    fn path(&mut self, text: &Placed<String>) -> Option<ActorPath> {
        let path = match ActorPath::new(&text.value) {
            Ok(path) => path,
            Err(error) => {
                self.mistakes.push(Mistake::new(text.place, error.to_string()));
                return None;
            }
        };
        match check_depth(&path) {
            Ok(()) => Some(path),
            Err(what) => {
                self.mistakes.push(Mistake::new(text.place, what));
                None
            }
        }
    }

    fn params(&self, params: Option<&Unread<Given>>, place: Place) -> Params<'t> {
        params.map_or_else(|| Params::empty_at(place), |unread| unread.params(self.tree))
    }

    /// Reads and makes one actor.
    fn arrival(&mut self, setting: &Setting, place: Place, asked: Asked, content: Content) -> Option<Arrival> {
        let (path, leaves_at) = self.frame(&asked)?;
        let mut parts = Vec::new();
        let before = self.mistakes.len();
        let node = self.node(&path, place, content, &mut parts);
        let is_made = !matches!(node, Some(ReadNode::Group(_)));
        let mut actor = None;
        // A node that could not be read as a whole has been reported.
        if let Some(node) = node.filter(|_| self.makes && self.mistakes.len() == before) {
            let mut mistakes = Vec::new();
            let made = self.factories.make_node(setting, &path, &path, &node.spec(), &mut mistakes);
            self.mistakes.extend(mistakes.into_iter().map(|error| placed(error.mistake, place)));
            actor = made.map(|made| made.into_actor(&path, asked.first_due, leaves_at));
        }
        // What factories made has parts that the file does not name; they stand where the actor does.
        let mut is_made = is_made;
        for made in actor.iter().flat_map(Actor::parts).filter_map(|part| ActorPath::new(&part).ok()) {
            match parts.iter_mut().find(|part| part.path == made) {
                Some(part) => part.is_made = false,
                None => parts.push(Part { path: made, place: asked.path.place, is_made: false }),
            }
        }
        is_made &= actor.is_none();
        let joins_at = asked.joins.then_some(asked.first_due);
        Some(Arrival { path, place: asked.path.place, is_made, parts, joins_at, leaves_at, actor })
    }

    /// Reads what stands at a path, and lists the parts that the file names.
    fn node(
        &mut self,
        path: &ActorPath,
        place: Place,
        content: Content,
        parts: &mut Vec<Part>,
    ) -> Option<ReadNode<'t>> {
        match (content.kind, content.children) {
            (Some(kind), None) => {
                let params = self.params(content.params.as_ref(), kind.place);
                Some(ReadNode::Made { kind, params })
            }
            (None, Some(children)) => {
                if let Some(params) = content.params {
                    let what =
                        "`params` are for a `type`, and here are `children`; move them into the child they are for";
                    self.mistakes.push(Mistake::new(params.place, what));
                }
                if children.value.is_empty() {
                    let what = format!("`{path}` has no children; give it at least one");
                    self.mistakes.push(Mistake::new(children.place, what));
                }
                let mut nodes = Vec::with_capacity(children.value.len());
                for unread in &children.value {
                    nodes.extend(self.child(path, unread, parts));
                }
                Some(ReadNode::Group(nodes))
            }
            (Some(kind), Some(_)) => {
                let what = format!("`{path}` has a `type` and `children`; leave one of the two");
                self.mistakes.push(Mistake::new(kind.place, what));
                None
            }
            (None, None) => {
                let what = format!("`{path}` has neither a `type` nor `children`; add one of the two");
                self.mistakes.push(Mistake::new(place, what));
                None
            }
        }
    }

    fn child(
        &mut self,
        parent: &ActorPath,
        unread: &Unread<ChildEntry>,
        parts: &mut Vec<Part>,
    ) -> Option<(String, ReadNode<'t>)> {
        let entry = self.read(unread)?;
        let path = match parent.join(&entry.name.value) {
            Ok(path) => path,
            Err(error) => {
                self.mistakes.push(Mistake::new(entry.name.place, error.to_string()));
                return None;
            }
        };
        let is_made = entry.kind.is_some();
        parts.push(Part { path: path.clone(), place: entry.name.place, is_made });
        let content = Content { kind: entry.kind, params: entry.params, children: entry.children };
        Some((entry.name.value, self.node(&path, unread.place, content, parts)?))
    }
}

/// What is asked of an actor beside what it is made of.
struct Asked {
    path: Placed<String>,
    first_due: SimTime,
    leaves_at: Option<Placed<Later>>,
    joins: bool,
}

fn placed(mistake: Mistake, place: Place) -> Mistake {
    Mistake { place: mistake.place.or(Some(place)), what: mistake.what }
}
