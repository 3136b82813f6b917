//! A world as a value, and participants that either conductor can run.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use chaconne_conductor::{Actor, ActorMaker, Group, Hosting, Node, OnFailure, Placement};
use chaconne_sim_core::membership::{JoinRequest, NodeRequest, Refusal, RefusedKind};
use chaconne_sim_core::{
    ActorPath, Delivery, DetRng, Participant, SimDuration, SimTime, StateWriter, StepCtx, StepError, StepResult,
    Subscription, TimeError, canon,
};

/// A world: its actors in the order of adding, and the leaves that are asked of it.
#[derive(Clone, Debug)]
pub struct Blueprint {
    /// The world's name.
    pub name: String,
    /// The seed.
    pub seed: u64,
    /// The actors, in the order of adding.
    pub actors: Vec<ActorPlan>,
    /// Actors that are asked to leave, when all instants before a time have been stepped; ordered by time.
    pub leaves: Vec<(SimTime, String)>,
    /// Actors that the driver adds, when all instants before a time have been stepped; ordered by time. Leaves of that time
    /// come first.
    pub joins: Vec<(SimTime, ActorPlan)>,
    /// Actors that are planned to join when they are due.
    pub planned_joins: Vec<ActorPlan>,
    /// Leaves that are planned for a time.
    pub planned_leaves: Vec<(SimTime, String)>,
    /// What the factory makes, by number.
    pub pool: Vec<NodePlan>,
    /// The end.
    pub until: SimTime,
}

/// An actor.
#[derive(Clone, Debug)]
pub struct ActorPlan {
    /// Its path.
    pub path: String,
    /// When its leaves are first due.
    pub first_due: SimTime,
    /// From when on it is not stepped.
    pub leaves_at: Option<SimTime>,
    /// Whether a thread of its own is worth while.
    pub heavy: bool,
    /// What it is made of.
    pub node: NodePlan,
}

/// A participant, or children with names.
#[derive(Clone, Debug)]
pub enum NodePlan {
    /// A participant.
    Leaf(Wanderer),
    /// Children, in order.
    Group(Vec<(String, NodePlan)>),
}

/// A participant that publishes, sleeps and sometimes stops by dice, loaded with all that it has ever been given: whatever
/// reaches it differently changes everything after.
#[derive(Clone, Debug, Default)]
pub struct Wanderer {
    /// What it asks for.
    pub subscriptions: Vec<Subscription>,
    /// The texts that it publishes under; the first letter of the last segment says as what: `n`, `r` or `t`.
    pub signals: Vec<String>,
    /// How long it may sleep.
    pub periods: Vec<SimDuration>,
    /// One in so many steps is its last; zero: none.
    pub stops: u64,
    /// One in so many steps fails; zero: none.
    pub fails: u64,
    /// Whether it writes state.
    pub stateful: bool,
    /// What it may ask for.
    pub asks: Vec<Ask>,
    pub(super) digest: u64,
}

/// A request to join or to leave, with times from the instant of asking on.
#[derive(Clone, Debug, PartialEq)]
pub enum Ask {
    /// To join.
    Join {
        /// The path.
        path: String,
        /// Which of the pool.
        node: usize,
        /// When it is first due; zero and less is refused.
        due: Option<SimDuration>,
        /// When it leaves.
        leaves: Option<SimDuration>,
    },
    /// To leave.
    Leave {
        /// The path.
        path: String,
        /// When.
        after: Option<SimDuration>,
    },
}

/// What one step is given.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// The instant.
    pub now: SimTime,
    /// Time since the last step.
    pub dt: SimDuration,
    /// The inbox.
    pub inbox: Vec<Arrival>,
    /// For each `latest` subscription the held values, ordered by (key, publisher).
    pub held: Vec<Vec<Held>>,
    /// For each `latest` subscription the time of the newest, and its text.
    pub newest: Vec<Option<(SimTime, String)>>,
}

/// A signal in an inbox.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrival {
    /// When it was published.
    pub time: SimTime,
    /// By whom.
    pub publisher: String,
    /// As which of its signals.
    pub seq: u64,
    /// Under which key.
    pub key: String,
    /// The value.
    pub value: Value,
}

/// A held value.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// Its key.
    pub key: String,
    /// When it was published.
    pub time: SimTime,
    /// Whether it came since the last step.
    pub is_new: bool,
    /// The value.
    pub value: Value,
}

/// What is published.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Published as a `u64`.
    Number(u64),
    /// Published as an `f64`.
    Reading(f64),
    /// Published as a `String`.
    Text(String),
    /// Said by the conductor: a request that was refused.
    Refused(RefusedKind, String),
}

/// What one step does.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// What it publishes.
    pub signals: Vec<(String, Value)>,
    /// When it is due next.
    pub next_due: SimTime,
    /// What it asks for.
    pub asks: Vec<Ask>,
}

impl Wanderer {
    /// One step, by the view and the dice alone; `None` when it fails.
    ///
    /// # Errors
    /// When the next due time lies beyond the end of time.
    ///
    /// # Panics
    /// When it has no periods, or has signals without a known first letter.
    pub fn act(&mut self, view: &View, rng: &mut DetRng) -> Result<Option<Action>, TimeError> {
        for byte in format!("{view:?}").bytes() {
            self.digest = (self.digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        let count = if self.signals.is_empty() { 0 } else { rng.below(4) };
        let signals = (0..count)
            .map(|_| {
                let signal = rng.choose(&self.signals).unwrap().clone();
                let load = self.digest ^ rng.next_u64();
                let value = match kind(&signal) {
                    'n' => Value::Number(load),
                    'r' => Value::Reading((load >> 11) as f64 / 1024.0),
                    _ => Value::Text(format!("{load}").repeat((load % 4) as usize)),
                };
                (signal, value)
            })
            .collect();
        let stops = self.stops > 0 && rng.below(self.stops) == 0;
        let period = *rng.choose(&self.periods).unwrap();
        let next_due = if stops { SimTime::MAX } else { view.now.checked_add(period)? };
        let fails = self.fails > 0 && rng.below(self.fails) == 0;
        let mut asks = Vec::new();
        if !self.asks.is_empty() {
            for _ in 0..rng.below(4).saturating_sub(1) {
                asks.push(rng.choose(&self.asks).unwrap().clone());
            }
        }
        Ok((!fails).then_some(Action { signals, next_due, asks }))
    }

    /// What it writes as state.
    pub fn state(&self) -> Option<u64> {
        self.stateful.then_some(self.digest)
    }
}

/// As what a signal is published.
fn kind(signal: &str) -> char {
    signal.rsplit('/').next().and_then(|name| name.chars().next()).unwrap()
}

/// What every leaf was given, by path: kept while a world runs.
pub type Views = Arc<Mutex<Vec<(String, View)>>>;

/// Runs a [`Wanderer`] as a participant of the real conductor.
struct Conducted {
    wanderer: Wanderer,
    views: Views,
}

impl Conducted {
    fn view(&self, ctx: &StepCtx<'_>) -> Result<View, StepError> {
        let inbox = ctx
            .inbox()
            .map(|received| {
                Ok(Arrival {
                    time: received.time(),
                    publisher: received.publisher().to_string(),
                    seq: received.seq(),
                    key: received.key().to_string(),
                    value: match kind(received.key().as_str()) {
                        _ if received.key().actor().is_none() => {
                            let refusal: Refusal = received.decode()?;
                            Value::Refused(refusal.request, refusal.path)
                        }
                        'n' => Value::Number(received.decode()?),
                        'r' => Value::Reading(received.decode()?),
                        _ => Value::Text(received.decode()?),
                    },
                })
            })
            .collect::<Result<_, StepError>>()?;
        let (mut all_held, mut all_newest) = (Vec::new(), Vec::new());
        for subscription in &self.wanderer.subscriptions {
            if subscription.delivery() == Delivery::Every {
                continue;
            }
            let mut held = Vec::new();
            for (key, latest) in ctx.latest_payloads(subscription.key())? {
                let value = match kind(key.as_str()) {
                    'n' => Value::Number(latest.value.decode()?),
                    'r' => Value::Reading(latest.value.decode()?),
                    _ => Value::Text(latest.value.decode()?),
                };
                held.push(Held { key: key.to_string(), time: latest.time, is_new: latest.is_new, value });
            }
            all_held.push(held);
            // A set of keys may hold values of several types: any JSON will do.
            let newest = ctx.latest::<serde_json::Value>(subscription.key())?;
            all_newest.push(
                newest.map(|newest| Ok::<_, StepError>((newest.time, canon::to_string(&newest.value)?))).transpose()?,
            );
        }
        Ok(View { now: ctx.now(), dt: ctx.dt(), inbox, held: all_held, newest: all_newest })
    }
}

impl Participant for Conducted {
    fn subscriptions(&self) -> Vec<Subscription> {
        self.wanderer.subscriptions.clone()
    }

    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        let view = self.view(ctx)?;
        let action = self.wanderer.act(&view, ctx.rng())?;
        self.views.lock().unwrap().push((ctx.path().to_string(), view));
        let Some(action) = action else { return Err("the dice said so".into()) };
        for (signal, value) in &action.signals {
            match value {
                Value::Number(value) => ctx.publish(signal, value)?,
                Value::Reading(value) => ctx.publish(signal, value)?,
                Value::Text(value) => ctx.publish(signal, value)?,
                Value::Refused(..) => {}
            }
        }
        let now = ctx.now();
        let later = |after: SimDuration| now.checked_add(after);
        for ask in &action.asks {
            match ask {
                Ask::Join { path, node, due, leaves } => {
                    let mut request = JoinRequest::new(path, "pool").with(node)?;
                    request.first_due = due.map(later).transpose()?;
                    request.leaves_at = leaves.map(later).transpose()?;
                    ctx.join(request);
                }
                Ask::Leave { path, after: None } => ctx.leave(path),
                Ask::Leave { path, after: Some(after) } => {
                    let time = ctx.now().checked_add(*after)?;
                    ctx.leave_at(path, time);
                }
            }
        }
        Ok(action.next_due)
    }

    fn write_state(&self, out: &mut StateWriter) {
        if let Some(state) = self.wanderer.state() {
            out.u64(state);
        }
    }
}

impl ActorPlan {
    /// The actor, for the real conductor; `list` and `at` say where it stands in its world. Leaves that are stepped in this
    /// process add what they are given to `views`.
    pub fn build(&self, views: &Views, seats: Seats, list: &str, at: usize) -> Actor {
        let hosting = seats.of(&self.path);
        let actor = if matches!(hosting.placement, Placement::Process(_)) {
            Actor::requested(self.path.as_str(), NodeRequest::made("plan", &(list, at)).unwrap())
        } else {
            Actor::of(self.path.as_str(), self.node.build(views))
        };
        let actor = actor.hosted(hosting).first_due(self.first_due);
        let actor = match self.leaves_at {
            Some(time) => actor.leaves_at(time),
            None => actor,
        };
        if self.heavy { actor.heavy() } else { actor }
    }
}

/// Makes the actors of a world: those that participants ask for, from its pool, and in another process all others too.
#[derive(Clone)]
pub struct Pool {
    /// The world.
    pub blueprint: Arc<Blueprint>,
    /// Where leaves add what they are given.
    pub views: Views,
    /// Where actors that are asked for are stepped.
    pub seats: Seats,
}

/// Where the actors of a world are stepped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seats {
    /// All here.
    Here,
    /// About every second one on a thread of its own.
    Guarded,
    /// All here; one that fails is removed.
    HereRemoved,
    /// About every second one on a thread of its own; one that fails is removed.
    GuardedRemoved,
    /// Some here, some on threads of their own, some in helper processes, one of their own or one of two that are shared.
    Mixed,
}

impl Seats {
    /// Where the actor at a path is stepped.
    pub fn of(self, path: &str) -> Hosting {
        let turn = path.bytes().fold(7_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte))) >> 3;
        let long = Duration::from_secs(60);
        match (self, turn % 5) {
            (Self::Here, _) => Hosting::default(),
            (Self::HereRemoved, _) => Hosting::default().on_failure(OnFailure::Remove),
            (Self::GuardedRemoved, _) => Self::Guarded.of(path).on_failure(OnFailure::Remove),
            (Self::Guarded, turn) if turn < 3 => Hosting::guarded(long),
            (Self::Mixed, 0) => Hosting::guarded(long),
            (Self::Mixed, 1 | 2) => Hosting::shared_process(format!("helper-{}", turn % 2)),
            (Self::Mixed, 3) => Hosting::process(),
            (Self::Guarded | Self::Mixed, _) => Hosting::default(),
        }
    }
}

/// Which actor of a world is meant: `[list, place in it]`, as the parameters of its factory.
fn plan_of<'a>(blueprint: &'a Blueprint, params: &str) -> Result<&'a NodePlan, String> {
    if let Ok(number) = params.parse::<usize>() {
        return blueprint.pool.get(number).ok_or_else(|| "the pool has fewer nodes".to_owned());
    }
    let (list, at): (String, usize) = serde_json::from_str(params).map_err(|error| format!("{params}: {error}"))?;
    let plan = match list.as_str() {
        "actors" => blueprint.actors.get(at),
        "planned" => blueprint.planned_joins.get(at),
        _ => blueprint.joins.get(at).map(|(_, plan)| plan),
    };
    plan.map(|plan| &plan.node).ok_or_else(|| format!("there is no {params}"))
}

impl ActorMaker for Pool {
    fn make(&mut self, request: &JoinRequest, path: &ActorPath) -> Result<Actor, String> {
        let NodeRequest::Made { params, .. } = &request.node else { return Err("one node, please".to_string()) };
        let hosting = self.seats.of(path.as_str());
        if matches!(hosting.placement, Placement::Process(_)) {
            return Ok(Actor::requested(path.as_str(), request.node.clone()).hosted(hosting));
        }
        let node = plan_of(&self.blueprint, params)?;
        Ok(Actor::of(path.as_str(), node.build(&self.views)).hosted(hosting))
    }
}

impl NodePlan {
    fn build(&self, views: &Views) -> Node {
        match self {
            Self::Leaf(wanderer) => Conducted { wanderer: wanderer.clone(), views: views.clone() }.into(),
            Self::Group(children) => children
                .iter()
                .fold(Group::default(), |group, (name, child)| group.child(name.as_str(), child.build(views)))
                .into(),
        }
    }
}
