//! Actors: what is added to a world as one thing, a participant or a tree of them.
//!
//! ```
//! use chaconne_conductor::Actor;
//! # use chaconne_sim_core::{context::StepCtx, error::StepResult, participant::Participant};
//! # struct Part;
//! # impl Participant for Part { fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult { Ok(ctx.never()) } }
//! let (controller, front, rear, physics) = (Part, Part, Part, Part);
//! let car = Actor::new("ego")
//!     .child("controller", controller)
//!     .child("sensors", Actor::group().child("front", front).child("rear", rear))
//!     .child("physics", physics);
//! assert_eq!(car.path(), "ego");
//! ```

use std::time::Duration;

use chaconne_sim_core::membership::NodeRequest;
use chaconne_sim_core::participant::Participant;
use chaconne_sim_core::path::ActorPath;
use chaconne_sim_core::time::SimTime;

use crate::error::RegistrationError;
use crate::hosting::Hosting;

/// What is added to the world, stepped and removed as one: a participant, or ordered children that form one pipeline.
///
/// A multi-segment path places an actor under another's path (`ego/camera` under `ego`): it stays an actor of its own,
/// sees its parent's signals one step later, comes directly after it in the world's order and leaves with it.
pub struct Actor {
    path: String,
    node: Node,
    first_due: Option<SimTime>,
    leaves_at: Option<SimTime>,
    joins_at: Option<SimTime>,
    heavy: bool,
    hosting: Hosting,
    /// Relative path of a part, empty for all of them, and the budget of its steps.
    budgets: Vec<(String, Duration)>,
    /// A child given to an actor that is one participant: an error when the actor is added.
    stray: Option<String>,
}

/// A place in an actor's tree: a participant, or a group of ordered children.
pub struct Node(Kind);

enum Kind {
    Leaf(Box<dyn Participant>),
    Group(Vec<(String, Node)>),
    /// Made where it is stepped.
    Requested(NodeRequest),
}

/// Ordered children without a name of their own; see [`Actor::group`].
#[derive(Default)]
pub struct Group(Vec<(String, Node)>);

impl Group {
    /// Appends a child: a participant or another group.
    pub fn child(mut self, name: impl Into<String>, child: impl Into<Node>) -> Self {
        self.0.push((name.into(), child.into()));
        self
    }
}

impl From<Group> for Node {
    fn from(group: Group) -> Self {
        Self(Kind::Group(group.0))
    }
}

impl<P: Participant + 'static> From<P> for Node {
    fn from(participant: P) -> Self {
        Self(Kind::Leaf(Box::new(participant)))
    }
}

impl Actor {
    /// An actor made of children, to be added with [`child`](Self::child).
    pub fn new(path: impl Into<String>) -> Self {
        Self::of(path, Group::default())
    }

    /// An actor that is one participant (or one group).
    pub fn of(path: impl Into<String>, node: impl Into<Node>) -> Self {
        Self {
            path: path.into(),
            node: node.into(),
            first_due: None,
            leaves_at: None,
            joins_at: None,
            heavy: false,
            hosting: Hosting::default(),
            budgets: Vec::new(),
            stray: None,
        }
    }

    /// An actor that is made by factories where it is stepped: in a helper process, or, hosted in this one, by the
    /// [`ActorMaker`](crate::ActorMaker) of the run when it joins.
    pub fn requested(path: impl Into<String>, node: NodeRequest) -> Self {
        Self { node: Node(Kind::Requested(node)), ..Self::new(path) }
    }

    /// Children that stand under one name inside an actor.
    pub fn group() -> Group {
        Group::default()
    }

    /// Appends a child: a participant or a [group](Self::group). Children are stepped in the order of their adding.
    pub fn child(mut self, name: impl Into<String>, child: impl Into<Node>) -> Self {
        match &mut self.node.0 {
            Kind::Group(children) => children.push((name.into(), child.into())),
            Kind::Leaf(_) | Kind::Requested(_) => self.stray = Some(name.into()),
        }
        self
    }

    /// The first instant at which its participants are due. Unless set: zero for an actor that is there from the start, and
    /// one nanosecond after the last instant for one that joins later.
    pub fn first_due(mut self, time: SimTime) -> Self {
        self.first_due = Some(time);
        self
    }

    /// When the actor joins, if not when it is added: before the first instant that is not before `time`. Until then its path
    /// is free, nobody sees it, and its subscriptions have not begun. It is first due then, unless a later time is set.
    /// Should it not be able to join then, [`RunReport::refused`] says why.
    ///
    /// [`RunReport::refused`]: crate::RunReport::refused
    pub fn joins_at(mut self, time: SimTime) -> Self {
        self.joins_at = Some(time);
        self
    }

    /// When it joins and when it is first due then, for one that does not join when it is added.
    pub(crate) fn planned(&self) -> Option<(SimTime, SimTime)> {
        self.joins_at.map(|time| (time, self.first_due.unwrap_or(time)))
    }

    /// Sets both times.
    pub(crate) fn with_life(mut self, first_due: SimTime, leaves_at: Option<SimTime>) -> Self {
        (self.first_due, self.leaves_at) = (Some(first_due), leaves_at);
        self
    }

    /// The first instant at which it is not stepped any more: it then leaves with all under its path. Stays for the whole
    /// run unless set.
    pub fn leaves_at(mut self, time: SimTime) -> Self {
        self.leaves_at = Some(time);
        self
    }

    /// Says that a step takes long enough (tens of microseconds) to be worth a thread of its own even when few actors
    /// are due. Changes no result.
    pub fn heavy(mut self) -> Self {
        self.heavy = true;
        self
    }

    /// Says where it is stepped, how long that may take, and what is done when it fails. Where changes no result.
    pub fn hosted(mut self, hosting: Hosting) -> Self {
        self.hosting = hosting;
        self
    }

    /// Where it is stepped, and what is done when it fails.
    pub fn hosting(&self) -> &Hosting {
        &self.hosting
    }

    /// Sets how long a step of each of its participants should take at most, in wall time. Steps that take longer are
    /// counted and told to monitors; nothing else happens, and no result depends on it.
    pub fn budget(self, budget: Duration) -> Self {
        self.budget_of("", budget)
    }

    /// Sets the budget of one part: `controller`, or `sensors/front`; of a group, that of each participant in it. The budget
    /// of a part goes before that of what it is a part of.
    pub fn budget_of(mut self, part: impl Into<String>, budget: Duration) -> Self {
        self.budgets.push((part.into(), budget));
        self
    }

    /// The path that it was given.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What it is to be made of where it is stepped, when it is [requested](Self::requested).
    pub fn request(&self) -> Option<&NodeRequest> {
        match &self.node.0 {
            Kind::Requested(node) => Some(node),
            _ => None,
        }
    }

    /// The paths of its groups and participants, in the order of the tree, without its own.
    pub fn parts(&self) -> Vec<String> {
        fn walk(path: &str, node: &Node, out: &mut Vec<String>) {
            let Kind::Group(children) = &node.0 else { return };
            for (name, child) in children {
                let path = format!("{path}/{name}");
                out.push(path.clone());
                walk(&path, child, out);
            }
        }
        let mut parts = Vec::new();
        walk(&self.path, &self.node, &mut parts);
        parts
    }

    /// Flattens the tree: checked paths, leaves depth first.
    pub(crate) fn flatten(self) -> Result<FlatActor, RegistrationError> {
        let path =
            ActorPath::new(&self.path).map_err(|source| RegistrationError::Path { path: self.path.clone(), source })?;
        if let Some(child) = self.stray {
            return Err(RegistrationError::NotAGroup { path, child });
        }
        let mut flat = FlatActor {
            path: path.clone(),
            groups: Vec::new(),
            leaves: Vec::new(),
            first_due: self.first_due.or(self.joins_at),
            leaves_at: self.leaves_at,
            heavy: self.heavy,
            hosting: self.hosting,
            budgets: self.budgets,
            requested: None,
        };
        flat.check_depth(&path)?;
        match self.node.0 {
            Kind::Leaf(participant) => flat.leaves.push((path, participant)),
            Kind::Group(children) => flat.add(&path, children)?,
            Kind::Requested(node) => {
                flat.requested = Some(node);
                return Ok(flat);
            }
        }
        if flat.leaves.is_empty() {
            return Err(RegistrationError::Empty { path: flat.path });
        }
        Ok(flat)
    }
}

/// An actor's tree as the registry takes it.
pub(crate) struct FlatActor {
    pub(crate) path: ActorPath,
    /// Paths of the groups inside the actor, without the actor itself.
    pub(crate) groups: Vec<ActorPath>,
    pub(crate) leaves: Vec<(ActorPath, Box<dyn Participant>)>,
    pub(crate) first_due: Option<SimTime>,
    pub(crate) leaves_at: Option<SimTime>,
    pub(crate) heavy: bool,
    pub(crate) hosting: Hosting,
    pub(crate) budgets: Vec<(String, Duration)>,
    /// What is to be made where the actor is stepped; there are no leaves then.
    pub(crate) requested: Option<NodeRequest>,
}

impl FlatActor {
    /// The budget of each leaf that has one: its place in the pipeline, and the budget that is the most precise about it.
    ///
    /// # Errors
    /// When a budget is for a part that the actor does not have.
    pub(crate) fn budgets(
        path: &ActorPath,
        leaves: &[ActorPath],
        budgets: &[(String, Duration)],
    ) -> Result<Vec<(u32, Duration)>, RegistrationError> {
        let mut found: Vec<Option<(usize, Duration)>> = vec![None; leaves.len()];
        for (part, budget) in budgets {
            let whole = if part.is_empty() { path.as_str().to_owned() } else { format!("{path}/{part}") };
            let mut is_known = false;
            for (leaf, found) in leaves.iter().zip(&mut found) {
                let rest = leaf.as_str().strip_prefix(&whole);
                if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
                    is_known = true;
                    if found.is_none_or(|(length, _)| whole.len() >= length) {
                        *found = Some((whole.len(), *budget));
                    }
                }
            }
            if !is_known {
                return Err(RegistrationError::NoPart { path: path.clone(), part: part.clone() });
            }
        }
        Ok((0..).zip(found).filter_map(|(position, found)| Some((position, found?.1))).collect())
    }
}

/// The most segments of a path: trees are walked by recursion.
pub(crate) const MOST_SEGMENTS: usize = 128;

impl FlatActor {
    fn check_depth(&self, path: &ActorPath) -> Result<(), RegistrationError> {
        let segments = path.segments().count();
        if segments <= MOST_SEGMENTS {
            return Ok(());
        }
        Err(RegistrationError::TooDeep { actor: self.path.clone(), segments, most: MOST_SEGMENTS })
    }

    fn add(&mut self, parent: &ActorPath, children: Vec<(String, Node)>) -> Result<(), RegistrationError> {
        for (name, Node(kind)) in children {
            let path = parent
                .join(&name)
                .map_err(|source| RegistrationError::Path { path: format!("{parent}/{name}"), source })?;
            self.check_depth(&path)?;
            match kind {
                Kind::Leaf(participant) => self.leaves.push((path, participant)),
                // No child can be given as one.
                Kind::Requested(_) => return Err(RegistrationError::Empty { path }),
                Kind::Group(children) => {
                    let before = self.leaves.len();
                    self.groups.push(path.clone());
                    self.add(&path, children)?;
                    if self.leaves.len() == before {
                        return Err(RegistrationError::Empty { path });
                    }
                }
            }
        }
        Ok(())
    }
}
