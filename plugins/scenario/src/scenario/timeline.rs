//! Who is in the world when: paths that are taken, parents that are missing, leaves of nobody.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use chaconne_conductor::Actor;
use chaconne_sim_core::path::ActorPath;
use chaconne_sim_core::time::SimTime;

use crate::error::Mistake;
use crate::params::nearest;
use crate::quantity::Period;
use crate::text::Place;

/// An actor that comes, at the start or later.
pub(super) struct Arrival {
    pub(super) path: ActorPath,
    pub(super) place: Place,
    /// Whether a factory makes the whole of it, so that it may have parts that the file does not name.
    pub(super) is_made: bool,
    pub(super) parts: Vec<Part>,
    /// None for those of the first instant.
    pub(super) joins_at: Option<SimTime>,
    pub(super) leaves_at: Option<SimTime>,
    /// None when it could not be made.
    pub(super) actor: Option<Actor>,
}

/// A part that the file names.
pub(super) struct Part {
    pub(super) path: ActorPath,
    pub(super) place: Place,
    pub(super) is_made: bool,
    pub(super) budget: Option<Period>,
}

/// A leave that the file schedules.
pub(super) struct Departure {
    pub(super) at: SimTime,
    pub(super) path: ActorPath,
    pub(super) place: Place,
}

/// Goes through the run, from one arrival or departure to the next. At one time departures come first. `arrivals` are not
/// `complete` when some could not be read: nobody is then said to be missing.
pub(super) fn check(arrivals: &[Arrival], complete: bool, departures: &[Departure], mistakes: &mut Vec<Mistake>) {
    let known = arrivals.iter().map(|arrival| &arrival.path).collect();
    let mut world = World { arrivals, known, complete, present: BTreeMap::new(), mistakes };
    let mut events: Vec<(SimTime, Event)> = Vec::new();
    for (index, arrival) in arrivals.iter().enumerate() {
        match arrival.joins_at {
            None => world.join(index, None),
            Some(at) => events.push((at, Event::Join(index))),
        }
        events.extend(arrival.leaves_at.map(|at| (at, Event::Expire(index))));
    }
    events.extend(departures.iter().enumerate().map(|(index, departure)| (departure.at, Event::Leave(index))));
    events.sort();
    for (at, event) in events {
        if world.mistakes.len() > MOST_MISTAKES {
            return;
        }
        match event {
            Event::Leave(index) => world.leave(&departures[index]),
            Event::Expire(index) => world.expire(index),
            Event::Join(index) => world.join(index, Some(at)),
        }
    }
}

/// What happens at one time, in this order, and then in that of the file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Leave(usize),
    Expire(usize),
    Join(usize),
}

struct World<'a> {
    arrivals: &'a [Arrival],
    /// The paths of all arrivals.
    known: BTreeSet<&'a ActorPath>,
    complete: bool,
    present: BTreeMap<ActorPath, Present>,
    mistakes: &'a mut Vec<Mistake>,
}

/// What stands at a path.
#[derive(Clone, Copy)]
struct Present {
    /// The actor that it is, or is a part of.
    arrival: usize,
    is_actor: bool,
    is_made: bool,
    place: Place,
}

/// With more mistakes than these, no more are looked for: nobody reads them, and each costs a search for what is meant.
const MOST_MISTAKES: usize = 100;

/// With more names than these, none is looked for that may be meant.
const MOST_NAMES: usize = 1_000;

impl World<'_> {
    fn join(&mut self, index: usize, at: Option<SimTime>) {
        let arrival = &self.arrivals[index];
        let when = at.map_or(String::new(), |at| format!(" at {at} s"));
        if let Some(parent) = arrival.path.parent()
            && self.complete
            && !self.may_stand_under(&parent)
        {
            let what = match at {
                None => format!(
                    "there is no actor `{parent}` for `{}` to stand under; write it before this one",
                    arrival.path
                ),
                Some(_) => format!(
                    "there is no actor `{parent}` for `{}` to stand under{when}; let it join by then, and leave later",
                    arrival.path
                ),
            };
            self.mistakes.push(Mistake::new(arrival.place, what));
        }
        let whole = Present { arrival: index, is_actor: true, is_made: arrival.is_made, place: arrival.place };
        self.stand(&arrival.path, whole, &when);
        for part in &arrival.parts {
            let present = Present { is_actor: false, is_made: part.is_made, place: part.place, ..whole };
            self.stand(&part.path, present, &when);
        }
    }

    /// Whether there is such a path, or may be: a factory's actor has parts that the file does not name.
    fn may_stand_under(&self, parent: &ActorPath) -> bool {
        if self.present.contains_key(parent) {
            return true;
        }
        let mut above = parent.parent();
        while let Some(path) = above {
            if let Some(present) = self.present.get(&path) {
                return present.is_made;
            }
            above = path.parent();
        }
        false
    }

    fn stand(&mut self, path: &ActorPath, present: Present, when: &str) {
        let Some(other) = self.present.get(path) else {
            self.present.insert(path.clone(), present);
            return;
        };
        let line = other.place.line;
        let what = format!(
            "the path `{path}` is taken{when}: it stands in line {line} already; give one of them another name"
        );
        self.mistakes.push(Mistake::new(present.place, what));
    }

    fn leave(&mut self, departure: &Departure) {
        let Departure { at, path, place } = departure;
        let what = match self.present.get(path) {
            Some(present) if present.is_actor => {
                self.remove(path);
                return;
            }
            Some(present) => {
                let actor = &self.arrivals[present.arrival].path;
                format!("`{path}` cannot leave alone: it is a part of `{actor}`, and an actor leaves as a whole")
            }
            None if !self.complete => return,
            None if self.known.contains(path) => {
                format!("no actor `{path}` is in the world at {at} s; choose a time at which it is")
            }
            None => {
                let names = self.arrivals.iter().take(MOST_NAMES).map(|arrival| arrival.path.as_str());
                format!("no actor `{path}` is in the world at {at} s; {}", nearest_actor(path, names))
            }
        };
        self.mistakes.push(Mistake::new(*place, what));
    }

    /// An actor leaves as it was made to, if it has not left before.
    fn expire(&mut self, index: usize) {
        let path = &self.arrivals[index].path;
        if self.present.get(path).is_some_and(|present| present.arrival == index) {
            self.remove(path);
        }
    }

    fn remove(&mut self, path: &ActorPath) {
        self.present.remove(path);
        let under = format!("{path}/");
        let within = self.present.range::<str, _>((Bound::Included(under.as_str()), Bound::Unbounded));
        let within = within.map(|(path, _)| path).take_while(|path| path.as_str().starts_with(&under));
        let within: Vec<ActorPath> = within.cloned().collect();
        for path in within {
            self.present.remove(&path);
        }
    }
}

fn nearest_actor<'n>(path: &ActorPath, names: impl Iterator<Item = &'n str> + Clone) -> String {
    let advice = nearest(path.as_str(), names);
    if advice.starts_with("did you") { advice } else { "name an actor that is".to_owned() }
}
