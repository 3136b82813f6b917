//! From the tree of a file to a scenario, collecting what is wrong on the way.

use std::path::{Path, PathBuf};

use chaconne_conductor::{Actor, Hosting, Placement};
use chaconne_sim_core::path::{ActorPath, is_segment};
use chaconne_sim_core::time::{SimDuration, SimTime};
use serde::de::DeserializeOwned;

use super::file::{
    ActorEntry, ChildEntry, FIELDS, Given, HostFields, JoinEntry, Later, LeaveEntry, PopulationEntry, ScenarioFile,
};
use super::host::{HostOverride, hosting, wall};
use super::timeline::{Arrival, Departure, Part, check};
use super::{Overrides, Scenario};
use crate::error::Mistake;
use crate::factory::{Factories, NodeSpec, Setting, Shared, check_depth, with_life};
use crate::params::{Params, Placed, Unread, nearest};
use crate::quantity::Period;
use crate::text::{Kind, Place, Tree};

/// Reads a file's tree.
pub(super) fn load(
    tree: &Tree,
    base: &Path,
    factories: &Factories,
    overrides: Overrides,
) -> Result<Scenario, Vec<Mistake>> {
    let mut loader = Loader { tree, factories, host: overrides.host, mistakes: Vec::new(), makes: true, turn: 0 };
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
    Ok(Scenario { setting, end, actors, joins, leaves, host: overrides.host, inputs })
}

struct Loader<'t> {
    tree: &'t Tree,
    factories: &'t Factories,
    /// Where actors are stepped, if not where the file says.
    host: Option<HostOverride>,
    mistakes: Vec<Mistake>,
    /// Whether what a file asks for is made: not when a shared value is missing, which would be reported once more by
    /// everything that wants it.
    makes: bool,
    /// Of the next actor, in the order of the file.
    turn: usize,
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
    Population { kind: Placed<String>, params: Params<'t>, every: Option<SimDuration> },
    Group(Vec<(String, ReadNode<'t>)>),
}

impl ReadNode<'_> {
    fn spec(&self) -> NodeSpec<'_> {
        match self {
            Self::Made { kind, params } => {
                NodeSpec::Made { factory: &kind.value, params: params.clone(), place: Some(kind.place) }
            }
            Self::Population { kind, params, every } => NodeSpec::Population {
                factory: &kind.value,
                params: params.clone(),
                place: Some(kind.place),
                every: *every,
            },
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
            let host = entry.host();
            let content = Content { kind: entry.kind, params: entry.params, children: entry.children };
            let first_due = entry.first_due.map_or(SimTime::ZERO, |time| time.get());
            let asked = Asked { path: entry.path, first_due, leaves_at: entry.leaves_at, joins: false, host };
            arrivals.extend(self.actor(setting, unread.place, asked, content));
        }
        arrivals
    }

    fn joins(&mut self, setting: &Setting, entries: &[Unread<JoinEntry>]) -> Vec<Arrival> {
        let mut arrivals = Vec::new();
        for unread in entries {
            let Some(entry) = self.read(unread) else { continue };
            let (host, first_due) = (entry.host(), entry.at.get());
            let content = Content { kind: entry.kind, params: entry.params, children: entry.children };
            let asked = Asked { path: entry.path, first_due, leaves_at: entry.leaves_at, joins: true, host };
            arrivals.extend(self.actor(setting, unread.place, asked, content));
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
            let host = entry.host();
            let first_due = entry.first_due.map_or(SimTime::ZERO, |time| time.get());
            let asked = Asked { path: entry.path, first_due, leaves_at: entry.leaves_at, joins: false, host };
            let params = self.params(entry.params.as_ref(), entry.kind.place);
            let node = ReadNode::Population { kind: entry.kind, params, every: entry.every.map(Period::get) };
            let Some(frame) = self.frame(asked) else { continue };
            let named = Named { parts: Vec::new(), is_made: true };
            arrivals.push(self.arrival(setting, unread.place, frame, Some(node), named));
        }
        arrivals
    }

    fn read<T: DeserializeOwned>(&mut self, unread: &Unread<T>) -> Option<T> {
        unread.read(self.tree).map_err(|error| self.mistakes.push(error.into())).ok()
    }

    /// Checks path, times and host. What does not fit together is a mistake, but does not hide the rest.
    fn frame(&mut self, asked: Asked) -> Option<Frame> {
        let hosting = hosting(&asked.host, &mut self.mistakes);
        let hosting = match self.host {
            Some(host) => host.of_entry(self.turn, hosting),
            None => hosting,
        };
        self.turn += 1;
        let path = self.path(&asked.path)?;
        let leaves_at = asked.leaves_at.as_ref().map(|leaves_at| leaves_at.value.get());
        if let (Some(time), Some(Placed { place, .. })) = (leaves_at, &asked.leaves_at)
            && time <= asked.first_due
        {
            let (does, first_due) = (if asked.joins { "joins" } else { "is first due" }, asked.first_due);
            let what = format!("`{path}` leaves at {time} s, and {does} at {first_due} s; let it leave later");
            self.mistakes.push(Mistake::new(*place, what));
        }
        let joins_at = asked.joins.then_some(asked.first_due);
        let (place, first_due, budget) = (asked.path.place, asked.first_due, asked.host.budget);
        Some(Frame { path, place, first_due, joins_at, leaves_at, hosting, budget })
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
    fn actor(&mut self, setting: &Setting, place: Place, asked: Asked, content: Content) -> Option<Arrival> {
        let frame = self.frame(asked)?;
        let mut parts = Vec::new();
        let before = self.mistakes.len();
        let node = self.node(&frame.path, place, content, &mut parts);
        let is_made = !matches!(node, Some(ReadNode::Group(_)));
        // A node that could not be read as a whole has been reported.
        let node = node.filter(|_| self.mistakes.len() == before);
        Some(self.arrival(setting, place, frame, node, Named { parts, is_made }))
    }

    /// Makes one actor; for a helper process too, so that its mistakes and its parts are known.
    fn arrival(
        &mut self,
        setting: &Setting,
        place: Place,
        frame: Frame,
        node: Option<ReadNode<'t>>,
        named: Named,
    ) -> Arrival {
        let Frame { path, leaves_at, first_due, .. } = &frame;
        let Named { mut parts, mut is_made } = named;
        let mut actor = None;
        if let Some(node) = node.filter(|_| self.makes) {
            let (spec, mut mistakes) = (node.spec(), Vec::new());
            let made = self.factories.make_node(setting, path, path, &spec, &mut mistakes);
            self.mistakes.extend(mistakes.into_iter().map(|error| placed(error.mistake, place)));
            actor = made.map(|made| made.into_actor(path, *first_due, *leaves_at));
            // What factories made has parts that the file does not name; they stand where the actor does.
            for made in actor.iter().flat_map(Actor::parts).filter_map(|part| ActorPath::new(&part).ok()) {
                match parts.iter_mut().find(|part| part.path == made) {
                    Some(part) => part.is_made = false,
                    None => parts.push(Part { path: made, place: frame.place, is_made: false, budget: None }),
                }
            }
            is_made &= actor.is_none();
            if matches!(frame.hosting.placement, Placement::Process(_)) {
                let requested =
                    || with_life(Actor::requested(path.as_str(), spec.to_request()), *first_due, *leaves_at);
                actor = actor.map(|_| requested());
            }
        }
        let actor = actor.map(|actor| frame.settle(actor, &parts));
        let Frame { path, place, joins_at, leaves_at, .. } = frame;
        Arrival { path, place, is_made, parts, joins_at, leaves_at, actor }
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
        parts.push(Part { path: path.clone(), place: entry.name.place, is_made, budget: entry.budget });
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
    host: HostFields,
}

/// An actor's place in the world.
struct Frame {
    path: ActorPath,
    /// Where its path stands in the file.
    place: Place,
    first_due: SimTime,
    joins_at: Option<SimTime>,
    leaves_at: Option<SimTime>,
    hosting: Hosting,
    budget: Option<Period>,
}

impl Frame {
    /// Says of an actor where it is stepped, and how long that should take.
    fn settle(&self, actor: Actor, parts: &[Part]) -> Actor {
        let actor = actor.hosted(self.hosting.clone());
        let actor = match self.budget {
            Some(budget) => actor.budget(wall(budget.get())),
            None => actor,
        };
        let within = |part: &Part| part.path.as_str()[self.path.as_str().len() + 1..].to_owned();
        let budgets = parts.iter().filter_map(|part| Some((within(part), part.budget?)));
        budgets.fold(actor, |actor, (part, budget)| actor.budget_of(part, wall(budget.get())))
    }
}

/// What is known of an actor's parts before it is made.
struct Named {
    parts: Vec<Part>,
    /// Whether a factory makes the whole of it.
    is_made: bool,
}

fn placed(mistake: Mistake, place: Place) -> Mistake {
    Mistake { place: mistake.place.or(Some(place)), what: mistake.what }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    #[test]
    fn each_part_has_the_budget_that_stands_with_it() {
        let tree = text::parse(
            "{ world: 'w', actors: [{ path: 'a', budget: 1, children: [
                { name: 'b', budget: 0.5, children: [{ name: 'c', type: 'x', budget: '0.000001' }, { name: 'd', type: 'x' }] },
            ] }] }",
        );
        let (tree, factories) = (tree.unwrap(), Factories::default());
        let mut loader =
            Loader { tree: &tree, factories: &factories, host: None, mistakes: Vec::new(), makes: false, turn: 0 };
        let file: ScenarioFile = Params::new(&tree).read().unwrap();
        let arrivals = loader.actors(&Setting::new("w", 0), &file.actors);
        let budgets: Vec<_> = arrivals[0].parts.iter().map(|part| (part.path.as_str(), part.budget)).collect();
        let seconds = |seconds| Some(Period::of(SimDuration::from_micros(seconds)));
        assert_eq!(budgets, [("a/b", seconds(500_000)), ("a/b/c", seconds(1)), ("a/b/d", None)]);
        assert_eq!(wall(SimDuration::from_micros(1)), std::time::Duration::from_micros(1));
        assert!(loader.mistakes.is_empty());
    }
}
