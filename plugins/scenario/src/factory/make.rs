//! From what is asked for to actors.

use chaconne_conductor::population::{Population, PopulationParticipant};
use chaconne_conductor::{Actor, Group, Node};
use chaconne_sim_core::membership::NodeRequest;
use chaconne_sim_core::path::ActorPath;
use chaconne_sim_core::time::{SimDuration, SimTime};

use super::{Factories, Make, Setting, Site};
use crate::error::{MakeError, Mistake};
use crate::params::{Params, nearest};
use crate::text::Place;

/// An actor that is asked for.
#[derive(Clone, Debug)]
pub struct ActorSpec<'a> {
    /// Its path.
    pub path: &'a str,
    /// What it is.
    pub node: NodeSpec<'a>,
    /// The first instant at which it is due.
    pub first_due: SimTime,
    /// The first instant at which it is not stepped any more.
    pub leaves_at: Option<SimTime>,
}

/// A place in an actor's tree that is asked for.
#[derive(Clone, Debug)]
pub enum NodeSpec<'a> {
    /// What a factory makes.
    Made {
        /// The factory's name.
        factory: &'a str,
        /// What it is given.
        params: Params<'a>,
        /// Where its name stands, if in a text.
        place: Option<Place>,
    },
    /// What a factory of populations makes.
    Population {
        /// The factory's name.
        factory: &'a str,
        /// What it is given.
        params: Params<'a>,
        /// Where its name stands, if in a text.
        place: Option<Place>,
        /// The time between ticks, above zero; what the factory says unless given.
        every: Option<SimDuration>,
    },
    /// Ordered children, by name.
    Group(Vec<(&'a str, NodeSpec<'a>)>),
}

impl<'a> ActorSpec<'a> {
    /// An actor that is first due at zero and stays for the whole run.
    pub fn new(path: &'a str, node: NodeSpec<'a>) -> Self {
        Self { path, node, first_due: SimTime::ZERO, leaves_at: None }
    }

    /// Sets the first instant at which it is due.
    #[must_use]
    pub fn first_due(mut self, time: SimTime) -> Self {
        self.first_due = time;
        self
    }

    /// Sets the first instant at which it is not stepped any more.
    #[must_use]
    pub fn leaves_at(mut self, time: SimTime) -> Self {
        self.leaves_at = Some(time);
        self
    }
}

/// What stands in a request between a factory's name and the time between ticks. No name has spaces.
const EVERY: &str = " every ";

impl<'a> NodeSpec<'a> {
    /// What a factory makes of parameters.
    pub fn made(factory: &'a str, params: Params<'a>) -> Self {
        Self::Made { factory, params, place: None }
    }

    /// As a request, which can be told to another process. The pace of a population stands behind its factory's name:
    /// `traffic/fleet every 0.1`.
    ///
    /// ```
    /// use chaconne_scenario::{NodeSpec, Params};
    ///
    /// let lens = || NodeSpec::made("lens", Params::from_json("{ f: .5 }").unwrap());
    /// let request = NodeSpec::Group(vec![("left", lens()), ("right", lens())]).to_request();
    /// assert_eq!(NodeSpec::of_request(&request)?.to_request(), request);
    /// # Ok::<(), String>(())
    /// ```
    pub fn to_request(&self) -> NodeRequest {
        match self {
            Self::Population { factory, params, every: Some(every), .. } => {
                NodeRequest::Made { factory: format!("{factory}{EVERY}{every}"), params: params.to_json() }
            }
            Self::Made { factory, params, .. } | Self::Population { factory, params, .. } => {
                NodeRequest::Made { factory: (*factory).to_owned(), params: params.to_json() }
            }
            Self::Group(children) => {
                let child = |(name, child): &(&str, Self)| ((*name).to_owned(), child.to_request());
                NodeRequest::Group(children.iter().map(child).collect())
            }
        }
    }

    /// What a request asks for.
    ///
    /// # Errors
    /// When parameters are no JSON, or a pace is no time above zero.
    pub fn of_request(request: &'a NodeRequest) -> Result<Self, String> {
        match request {
            NodeRequest::Made { factory, params } => {
                let params = Params::from_json(params)
                    .map_err(|error| format!("the parameters of `{factory}` are no JSON: {}", error.what()))?;
                let Some((factory, every)) = factory.split_once(EVERY) else { return Ok(Self::made(factory, params)) };
                match every.parse::<SimDuration>() {
                    Ok(every) if every.is_positive() => {
                        Ok(Self::Population { factory, params, place: None, every: Some(every) })
                    }
                    _ => Err(format!("`{factory}` cannot tick every `{every}`; give a time in seconds above 0")),
                }
            }
            NodeRequest::Group(children) => {
                let child = |(name, child): &'a (String, NodeRequest)| Ok((name.as_str(), Self::of_request(child)?));
                Ok(Self::Group(children.iter().map(child).collect::<Result<_, String>>()?))
            }
        }
    }
}

/// What came out of a factory.
pub(crate) enum Made {
    Node(Node),
    Population(Box<Population>),
}

impl Made {
    fn into_node(self) -> Node {
        match self {
            Self::Node(node) => node,
            Self::Population(population) => PopulationParticipant::from(*population).into(),
        }
    }

    /// As an actor.
    pub(crate) fn into_actor(self, path: &ActorPath, first_due: SimTime, leaves_at: Option<SimTime>) -> Actor {
        let actor = match self {
            Self::Node(node) => Actor::of(path.as_str(), node),
            Self::Population(population) => {
                Actor::of(path.as_str(), PopulationParticipant::from(population.first_due(first_due))).heavy()
            }
        };
        with_life(actor, first_due, leaves_at)
    }
}

/// Sets both times of an actor.
pub(crate) fn with_life(actor: Actor, first_due: SimTime, leaves_at: Option<SimTime>) -> Actor {
    let actor = actor.first_due(first_due);
    match leaves_at {
        Some(time) => actor.leaves_at(time),
        None => actor,
    }
}

/// The most segments of a path: trees are walked by recursion.
const MOST_SEGMENTS: usize = 128;

/// Refuses a path that is deeper than a world takes, in words.
pub(crate) fn check_depth(path: &ActorPath) -> Result<(), String> {
    let segments = path.segments().count();
    if segments <= MOST_SEGMENTS {
        return Ok(());
    }
    Err(format!("a path of {segments} segments is deeper than {MOST_SEGMENTS}; use fewer"))
}

impl Factories {
    /// Makes an actor.
    ///
    /// # Errors
    /// A malformed path, an unknown factory, parameters that do not fit, an empty group, times in the wrong order, and what
    /// a factory refuses or panics with: the first of them.
    pub fn make(&self, setting: &Setting, spec: &ActorSpec<'_>) -> Result<Actor, MakeError> {
        let wrong = |path: &str, what: String| MakeError { path: path.to_owned(), mistake: Mistake::new(None, what) };
        let path = ActorPath::new(spec.path).map_err(|error| wrong(spec.path, error.to_string()))?;
        if [SimTime::MIN, SimTime::MAX].contains(&spec.first_due) {
            return Err(wrong(
                spec.path,
                "its first due time is one end of time; give it a time in between".to_owned(),
            ));
        }
        if let Some(leaves_at) = spec.leaves_at.filter(|&time| time <= spec.first_due) {
            let first_due = spec.first_due;
            let what = format!("it leaves at {leaves_at} s, and is first due at {first_due} s; let it leave later");
            return Err(wrong(spec.path, what));
        }
        let mut mistakes = Vec::new();
        let made = self.make_node(setting, &path, &path, &spec.node, &mut mistakes);
        match (made, mistakes.into_iter().next()) {
            (Some(made), None) => Ok(made.into_actor(&path, spec.first_due, spec.leaves_at)),
            (_, Some(error)) => Err(error),
            (None, None) => Err(wrong(spec.path, "nothing was made".to_owned())),
        }
    }

    /// Makes what stands at `path` in an actor; what is wrong, in any part, is added to `mistakes`.
    pub(crate) fn make_node(
        &self,
        setting: &Setting,
        actor: &ActorPath,
        path: &ActorPath,
        spec: &NodeSpec<'_>,
        mistakes: &mut Vec<MakeError>,
    ) -> Option<Made> {
        let mut wrong = |path: &str, mistake| mistakes.push(MakeError { path: path.to_owned(), mistake });
        if let Err(what) = check_depth(path) {
            wrong(path.as_str(), Mistake::new(None, what));
            return None;
        }
        match spec {
            NodeSpec::Made { factory, params, place } => {
                let made = self.call(factory, *place, params, &Site { setting, path, actor });
                made.map_err(|mistake| wrong(path.as_str(), mistake)).ok()
            }
            NodeSpec::Population { factory, params, place, every } => {
                let made = self.make_population((factory, *place), params, &Site { setting, path, actor });
                let paced = made.map(|population| match every {
                    Some(every) => population.every(*every),
                    None => population,
                });
                paced
                    .map_err(|mistake| wrong(path.as_str(), mistake))
                    .ok()
                    .map(|paced| Made::Population(Box::new(paced)))
            }
            NodeSpec::Group(children) if children.is_empty() => {
                wrong(path.as_str(), Mistake::new(None, "it has no children; give it at least one"));
                None
            }
            NodeSpec::Group(children) => {
                let mut group = Some(Group::default());
                for (name, child) in children {
                    let node = match path.join(name) {
                        Ok(path) => self.make_node(setting, actor, &path, child, mistakes).map(Made::into_node),
                        Err(error) => {
                            mistakes.push(MakeError {
                                path: path.to_string(),
                                mistake: Mistake::new(None, error.to_string()),
                            });
                            None
                        }
                    };
                    group = group.zip(node).map(|(group, node)| group.child(*name, node));
                }
                group.map(|group| Made::Node(group.into()))
            }
        }
    }

    /// Calls one factory.
    fn call(&self, name: &str, place: Option<Place>, params: &Params<'_>, site: &Site<'_>) -> Result<Made, Mistake> {
        let Some(factory) = self.factories.get(name) else {
            return Err(Mistake::new(place, self.unknown(name, |_| true)));
        };
        match &factory.make {
            Make::Node(make) => make(params, site).map(Made::Node),
            Make::Population(make) => make(params, site).map(|population| Made::Population(Box::new(population))),
        }
    }

    /// Makes a population.
    fn make_population(
        &self,
        (name, place): (&str, Option<Place>),
        params: &Params<'_>,
        site: &Site<'_>,
    ) -> Result<Population, Mistake> {
        match self.factories.get(name).map(|factory| &factory.make) {
            Some(Make::Population(make)) => make(params, site),
            Some(Make::Node(_)) => {
                Err(Mistake::new(place, format!("`{name}` does not make populations; write it under `actors`")))
            }
            None => Err(Mistake::new(place, self.unknown(name, |make| matches!(make, Make::Population(_))))),
        }
    }

    fn unknown(&self, name: &str, fits: impl Fn(&Make) -> bool) -> String {
        let known = self.factories.iter().filter(|(_, factory)| fits(&factory.make)).map(|(name, _)| name.as_str());
        let known: Vec<&str> = known.collect();
        let advice = match known.as_slice() {
            [] => "no factory is registered that could make it".to_owned(),
            known => nearest(name, known.iter().copied()),
        };
        format!("unknown type `{}`; {advice}", name.escape_debug())
    }
}
