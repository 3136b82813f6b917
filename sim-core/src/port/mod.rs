//! What a host keeps beside each participant, and how it has one stepped. For those who write hosts; a participant sees
//! only its [`StepCtx`].
//!
//! Every host steps through [`Hosted::step`], so a participant that is stepped elsewhere sees the same inbox, publishes the
//! same bytes and yields the same contribution.

mod inbound;
mod names;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use xxhash_rust::xxh3::xxh3_64;

use crate::canon;
use crate::context::StepCtx;
use crate::error::{PublishError, StepError, StepResult};
use crate::fingerprint::{Fingerprint, Frame, StateWriter};
use crate::key::{Key, KeyError, KeyExpr};
use crate::membership::Request;
use crate::participant::Participant;
use crate::path::ActorPath;
use crate::prefetch::prefetch;
use crate::signal::{Delivery, Payload, SignalValue, Spares, Subscription};
use crate::time::SimTime;

pub use inbound::{Content, Inbound, Link, Published, Reach};
pub use names::{Names, OutputId, OutputInfo, OutputTable};

/// What every participant of one run shares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunIdentity {
    /// The world's name: the second segment of every key.
    pub world: String,
    /// The seed of every random stream.
    pub seed: u64,
    /// Whether values are handed over as they are where types agree. Off, every value is parsed from its text, and each
    /// is checked at publish.
    pub typed: bool,
}

/// A participant and its port, side by side as hosts keep them.
#[repr(C)]
pub struct Hosted {
    /// The participant.
    pub participant: Box<dyn Participant>,
    /// The connection to the world.
    pub port: Port,
}

/// A participant's connection to the world: its identity, its subscriptions and held values, the keys it has used.
///
/// Hosts keep ports in one dense array and walk along it at every instant: what every step touches stands first, in
/// [`STEPPED_BYTES`] together with the participant's address; what publishing touches comes next, the rest behind a pointer.
#[repr(C)]
pub struct Port {
    steps: u64,
    /// How many outputs there are, and how many of them have been told to the conductor.
    used: u32,
    declared: u32,
    /// The path's text, once more: it is part of every contribution.
    path: SmallVec<[u8; 32]>,
    latest: SmallVec<[LatestInput; 1]>,
    held: SmallVec<[Held; 1]>,
    outputs: SmallVec<[Output; 1]>,
    run: Arc<RunIdentity>,
    leaf: u32,
    /// The output used last.
    turn: u32,
    /// Whether the last step published something: the next one is expected to, then.
    publishes: bool,
    cold: Box<Cold>,
}

/// The first bytes of a [`Hosted`], which a step touches even when it publishes nothing.
pub const STEPPED_BYTES: usize = std::mem::offset_of!(Hosted, port) + std::mem::offset_of!(Port, outputs);

// Three lines of the cache.
const _: () = assert!(STEPPED_BYTES <= 192);

/// How much of what lies behind a pointer is asked for ahead.
const PARTICIPANT_BYTES: usize = 192;

/// What a step rarely needs.
struct Cold {
    path: ActorPath,
    actor: ActorPath,
    inputs: Box<[Input]>,
    /// Positions in [`Port::held`] by output, where many are held.
    #[allow(clippy::box_collection, reason = "one word for the many ports that hold few")]
    places: Option<Box<Vec<(OutputId, u32)>>>,
}

/// From this many held samples on they are found by [`Cold::places`].
const MANY_HELD: usize = 16;

/// One subscription, resolved.
struct Input {
    expr: KeyExpr,
    delivery: Delivery,
    /// Positions in [`Port::held`] of the samples that it matches, ordered by (key, publisher path).
    held: SmallVec<[u32; 1]>,
}

/// Where [`StepCtx::latest`] finds the value of a subscription's text: by a hash of the text, so that no text is touched.
/// That two texts of one participant share a 64-bit hash is not to be expected in the life of the universe.
#[derive(Clone, Copy)]
struct LatestInput {
    text: u64,
    input: u32,
    /// The one sample that it holds.
    held: u32,
}

impl LatestInput {
    /// No sample has come.
    const NONE: u32 = u32::MAX;
    /// Several are held: look at the input.
    const SEVERAL: u32 = u32::MAX - 1;
}

/// One key under which the leaf has published.
struct Output {
    key: Key,
    /// Where the text given to `publish` begins in the key: it is the whole key, or its tail. The whole key names the
    /// output in any case.
    signal: u32,
    /// Later leaves of the same actor that are to be given its signals in the same instant.
    later: Box<[Link]>,
    spares: Spares,
}

/// The newest sample of one output, held for `latest` subscriptions.
pub(crate) struct Held {
    pub(crate) output: OutputId,
    pub(crate) time: SimTime,
    pub(crate) seq: u64,
    pub(crate) payload: Payload,
    /// The step that received it.
    step: u64,
}

/// The held samples that a text stands for.
pub(crate) enum Samples<'a> {
    /// None or one.
    One(Option<&'a Held>),
    /// Ordered by (key, publisher path).
    Several(Vec<&'a Held>),
}

/// What one step is given.
pub struct StepInput<'a> {
    /// The instant.
    pub now: SimTime,
    /// The participant's previous step, if any.
    pub last: Option<SimTime>,
    /// Sequence number of the first signal that it publishes.
    pub seq: u64,
    /// Everything since its last step, in order.
    pub inbox: &'a [Inbound],
    /// The keys and publishers behind output ids.
    pub names: &'a Names<'a>,
    /// How much it may publish.
    pub bounds: StepBounds,
}

/// How much one step may publish: what is more is a failure of the step. No host lets a participant fill its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepBounds {
    /// Signals.
    pub signals: u32,
    /// Bytes of keys and canonical texts together.
    pub bytes: u32,
}

impl Default for StepBounds {
    /// Two million signals, 256 MiB.
    fn default() -> Self {
        Self { signals: 2_000_000, bytes: 256 << 20 }
    }
}

impl StepBounds {
    /// What fits a message to another process: a million signals, 120 MiB.
    pub const MESSAGE: Self = Self { signals: 1_000_000, bytes: 120 << 20 };
}

/// Where one step writes. The buffers are the host's, and are used again.
pub struct StepOutput<'a> {
    /// The bytes of the contribution are appended here; `Published::text` points into it.
    pub frame: &'a mut Frame,
    /// The signals are appended here.
    pub published: &'a mut Vec<Published>,
    /// Scratch for the participant's state; empty.
    pub state: &'a mut StateWriter,
    /// Requests to join and to leave are appended here.
    pub requests: &'a mut Vec<Request>,
}

/// What one step yielded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stepped {
    /// When the participant is due next.
    pub next_due: SimTime,
    /// Its contribution to the tick hash.
    pub contribution: Fingerprint,
    /// The fingerprint of the state that it wrote, if it wrote any.
    pub state: Option<Fingerprint>,
}

/// Nobody: what a host puts where a participant left.
struct Vacant;

impl Participant for Vacant {
    fn step(&mut self, _: &mut StepCtx<'_>) -> StepResult {
        Err("nobody is here; its host was asked to step a participant that left".into())
    }
}

impl Hosted {
    /// A place without a participant.
    pub fn vacant(run: &Arc<RunIdentity>) -> Self {
        let path = ActorPath::new("vacant").expect("a single segment of letters is a path");
        let cold = Cold { path: path.clone(), actor: path, inputs: Box::default(), places: None };
        let port = Port::empty(run.clone(), cold);
        Self { port, participant: Box::new(Vacant) }
    }

    /// Asks ahead for the memory behind this place in a host's array that a step is likely to touch. The place itself should
    /// have been asked for before.
    #[inline]
    pub fn prefetch(&self) {
        prefetch(&*self.participant, PARTICIPANT_BYTES);
        let port = &self.port;
        if port.held.spilled() {
            prefetch(port.held.as_slice(), PARTICIPANT_BYTES);
            prefetch(port.latest.as_slice(), PARTICIPANT_BYTES);
        }
        if let Some(output) = port.outputs.first().filter(|_| port.publishes) {
            prefetch(output.key.as_str(), PARTICIPANT_BYTES);
            output.spares.prefetch();
        }
    }

    /// Steps the participant once. The contribution's bytes and the signals are appended to `output`.
    ///
    /// # Errors
    /// What the participant returned, or a publish that failed, even if the participant swallowed it. `output` then
    /// holds a part of the step and must not be used.
    #[inline]
    pub fn step(&mut self, input: StepInput<'_>, output: StepOutput<'_>) -> Result<Stepped, StepError> {
        let Self { port, participant } = self;
        port.receive(input.inbox, input.names);
        port.steps += 1;
        let StepOutput { frame, published, state, requests } = output;
        let start = frame.len();
        frame.bytes(&port.path);
        let (due_at, count_at) = (frame.reserve_u64(), frame.reserve_u64());
        let before = published.len();
        let mut ctx = StepCtx::new(port, &input, frame, published, requests);
        let returned = participant.step(&mut ctx);
        if let Some(failure) = ctx.take_failure() {
            return Err(failure.into());
        }
        let next_due = returned?;
        port.publishes = published.len() > before;
        frame.patch_u64(due_at, next_due.as_nanos() as u64);
        frame.patch_u64(count_at, (published.len() - before) as u64);
        participant.write_state(state);
        let state = if state.is_untouched() {
            frame.u8(0);
            None
        } else {
            take_state(state, frame)?
        };
        let contribution = Fingerprint::of(&frame.as_slice()[start..]);
        Ok(Stepped { next_due, contribution, state })
    }
}

impl Port {
    /// The port of the leaf at `path`, part of the actor added at `actor`.
    ///
    /// # Errors
    /// When a subscription's text is not a key expression.
    pub fn new(
        run: Arc<RunIdentity>,
        path: ActorPath,
        actor: ActorPath,
        subscriptions: &[Subscription],
    ) -> Result<Self, KeyError> {
        let inputs: Box<[Input]> = subscriptions
            .iter()
            .map(|subscription| {
                Ok(Input {
                    expr: resolve(subscription.key(), &run.world, &actor)?,
                    delivery: subscription.delivery(),
                    held: SmallVec::new(),
                })
            })
            .collect::<Result<_, KeyError>>()?;
        let mut port = Self::empty(run, Cold { path, actor, inputs, places: None });
        for (subscription, input) in subscriptions.iter().zip(0..) {
            let text = xxh3_64(subscription.key().as_bytes());
            // The same text twice needs one entry.
            let is_known = port.latest.iter().any(|other| other.text == text);
            if subscription.delivery() == Delivery::Latest && !is_known {
                port.latest.push(LatestInput { text, input, held: LatestInput::NONE });
            }
        }
        Ok(port)
    }

    fn empty(run: Arc<RunIdentity>, cold: Cold) -> Self {
        Self {
            steps: 0,
            used: 0,
            declared: 0,
            path: cold.path.as_str().as_bytes().into(),
            latest: SmallVec::new(),
            held: SmallVec::new(),
            outputs: SmallVec::new(),
            run,
            leaf: u32::MAX,
            turn: 0,
            publishes: false,
            cold: Box::new(cold),
        }
    }

    /// Tells the port the leaf's slot in the conductor's registry.
    pub fn set_leaf(&mut self, leaf: u32) {
        self.leaf = leaf;
    }

    /// The leaf's slot in the conductor's registry.
    pub fn leaf(&self) -> u32 {
        self.leaf
    }

    /// The leaf's path.
    pub fn path(&self) -> &ActorPath {
        &self.cold.path
    }

    /// The path of the actor that the leaf is part of.
    pub fn actor(&self) -> &ActorPath {
        &self.cold.actor
    }

    /// What the run's participants share.
    #[inline]
    pub fn run(&self) -> &RunIdentity {
        &self.run
    }

    /// The resolved subscriptions.
    pub fn inputs(&self) -> impl Iterator<Item = (&KeyExpr, Delivery)> {
        self.cold.inputs.iter().map(|input| (&input.expr, input.delivery))
    }

    /// How signals under `key` reach this leaf.
    pub fn reach(&self, key: &Key) -> Reach {
        let mut reach = Reach::default();
        for (expr, delivery) in self.inputs() {
            if expr.matches(key) {
                reach.join(delivery);
            }
        }
        reach
    }

    /// The keys used since the last call: what the conductor has to be told.
    pub fn take_declared(&mut self) -> impl Iterator<Item = &Key> {
        let from = self.declared as usize;
        self.declared = self.used;
        self.outputs[from..].iter().map(|output| &output.key)
    }

    /// Whether [`take_declared`](Self::take_declared) has something to tell.
    #[inline]
    pub fn has_undeclared(&self) -> bool {
        self.used > self.declared
    }

    /// Finds out which of `later` (the leaves behind this one in its actor, the first at pipeline position `position`)
    /// are to be given each key that has not been told yet.
    pub fn link(&mut self, position: u32, later: &[Hosted]) {
        for output in &mut self.outputs[self.declared as usize..] {
            output.later = (position..)
                .zip(later)
                .map(|(position, hosted)| Link { position, reach: hosted.port.reach(&output.key) })
                .filter(|link| !link.reach.is_none())
                .collect();
        }
    }

    /// The later leaves of the actor that receive an output in the same instant.
    #[inline]
    pub fn links(&self, output: u32) -> &[Link] {
        &self.outputs[output as usize].later
    }

    /// The key of an output.
    pub(crate) fn key(&self, output: u32) -> Option<&Key> {
        self.outputs.get(output as usize).map(|output| &output.key)
    }

    /// Takes the `latest` part of an inbox into the held values.
    #[inline]
    fn receive(&mut self, inbox: &[Inbound], names: &Names<'_>) {
        let mut new = false;
        for item in inbox {
            if item.reach.latest {
                new |= self.hold(item);
            }
        }
        if new {
            self.order_held(names);
        }
    }

    /// Holds one sample; says whether it is the first of its output.
    #[inline]
    fn hold(&mut self, item: &Inbound) -> bool {
        let found = if self.held.len() < MANY_HELD {
            self.held.iter().position(|held| held.output == item.output)
        } else {
            self.find_held(item.output)
        };
        match (&item.content, found) {
            (Content::Signal(payload), Some(at)) => {
                let held = &mut self.held[at];
                held.time = item.time;
                held.seq = item.seq;
                held.step = self.steps + 1;
                held.payload = payload.clone();
                false
            }
            (Content::Signal(payload), None) => {
                self.hold_new(item, payload);
                true
            }
            (Content::Withdrawn, Some(at)) => {
                self.drop_held(at);
                false
            }
            (Content::Withdrawn, None) => false,
        }
    }

    #[cold]
    fn find_held(&mut self, output: OutputId) -> Option<usize> {
        let held = &self.held;
        let places = self.cold.places.get_or_insert_with(|| {
            let mut places: Vec<_> = held.iter().map(|held| held.output).zip(0..).collect();
            places.sort_unstable();
            Box::new(places)
        });
        let at = places.binary_search_by_key(&output, |place| place.0).ok()?;
        Some(places[at].1 as usize)
    }

    #[cold]
    fn hold_new(&mut self, item: &Inbound, payload: &Payload) {
        if let Some(places) = &mut self.cold.places {
            let at = places.partition_point(|place| place.0 < item.output);
            places.insert(at, (item.output, self.held.len() as u32));
        }
        self.held.push(Held {
            output: item.output,
            time: item.time,
            seq: item.seq,
            payload: payload.clone(),
            step: self.steps + 1,
        });
    }

    /// Forgets the sample of a publisher that left.
    #[cold]
    fn drop_held(&mut self, at: usize) {
        self.held.remove(at);
        self.cold.places = None;
        let at = at as u32;
        for input in &mut self.cold.inputs {
            input.held.retain(|position| *position != at);
            for position in &mut input.held {
                *position -= u32::from(*position > at);
            }
        }
        self.index_held();
    }

    /// Finds out which subscriptions the held samples are for, after new ones came.
    #[cold]
    fn order_held(&mut self, names: &Names<'_>) {
        let mut held: Vec<u32> = (0..self.held.len() as u32).collect();
        let name = |position: u32| names.get(self.held[position as usize].output);
        held.sort_by(|&a, &b| name(a).cmp(&name(b)));
        for input in &mut self.cold.inputs {
            if input.delivery == Delivery::Latest {
                input.held = held.iter().copied().filter(|&position| input.expr.matches(name(position).0)).collect();
            }
        }
        self.index_held();
    }

    fn index_held(&mut self) {
        for latest in &mut self.latest {
            latest.held = match self.cold.inputs[latest.input as usize].held.as_slice() {
                [] => LatestInput::NONE,
                [one] => *one,
                _ => LatestInput::SEVERAL,
            };
        }
    }

    /// The held samples that `text` stands for; `None` when it is not a `latest` subscription's text and no such
    /// subscription matches it.
    #[inline]
    pub(crate) fn held(&self, text: &str, names: &Names<'_>) -> Result<Option<Samples<'_>>, KeyError> {
        let hash = xxh3_64(text.as_bytes());
        match self.latest.iter().find(|latest| latest.text == hash) {
            Some(latest) if latest.held == LatestInput::NONE => Ok(Some(Samples::One(None))),
            Some(latest) if latest.held != LatestInput::SEVERAL => {
                Ok(Some(Samples::One(Some(&self.held[latest.held as usize]))))
            }
            Some(latest) => Ok(Some(self.several(&self.cold.inputs[latest.input as usize]))),
            None => self.held_by_match(text, names),
        }
    }

    #[cold]
    fn several(&self, input: &Input) -> Samples<'_> {
        Samples::Several(input.held.iter().map(|&at| &self.held[at as usize]).collect())
    }

    /// For a text that stands in no subscription: what of the held it matches.
    #[cold]
    fn held_by_match(&self, text: &str, names: &Names<'_>) -> Result<Option<Samples<'_>>, KeyError> {
        let expr = resolve(text, &self.run.world, &self.cold.actor)?;
        let latest = |input: &&Input| input.delivery == Delivery::Latest;
        if !self.cold.inputs.iter().filter(latest).any(|input| input.expr.intersects(&expr)) {
            return Ok(None);
        }
        let mut held: Vec<&Held> = self.held.iter().filter(|held| expr.matches(names.get(held.output).0)).collect();
        held.sort_by(|a, b| names.get(a.output).cmp(&names.get(b.output)));
        Ok(Some(Samples::Several(held)))
    }

    /// Whether the sample came with the current step's inbox.
    #[inline]
    pub(crate) fn is_new(&self, held: &Held) -> bool {
        held.step == self.steps
    }

    /// The index, the key and the spare values of the output that `signal` names, declared if it is new.
    #[inline]
    pub(crate) fn output<T>(&mut self, signal: &str) -> Result<(u32, &Key, &mut Spares), PublishError> {
        let outputs = self.outputs.as_slice();
        let named = |output: &Output| {
            let key = output.key.as_str().as_bytes();
            key[output.signal as usize..] == *signal.as_bytes() || *key == *signal.as_bytes()
        };
        // A publisher of many keys uses them in turn, as a rule.
        let next = (self.turn as usize + 1) % outputs.len().max(1);
        let found = match outputs.get(next) {
            Some(output) if named(output) => Some(next),
            _ => outputs.iter().position(named),
        };
        let index = match found {
            Some(index) => index as u32,
            None => self.declare(signal, std::any::type_name::<T>())?,
        };
        self.turn = index;
        let output = &mut self.outputs[index as usize];
        Ok((index, &output.key, &mut output.spares))
    }

    #[cold]
    fn declare(&mut self, signal: &str, type_name: &'static str) -> Result<u32, PublishError> {
        let key = Key::resolve(signal, &self.run.world, &self.cold.actor)
            .map_err(|source| PublishError::Key { signal: signal.to_string(), source })?;
        let own = key.world() == Some(self.run.world.as_str())
            && key.actor().is_some_and(|path| {
                let own = self.cold.path.as_str();
                own.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            });
        if !own {
            return Err(PublishError::NotOwn { key: key.to_string(), publisher: self.cold.path.clone() });
        }
        // A collection inside another type does not show here; a map out of order is refused when it is written.
        if type_name.contains("HashMap<") || type_name.contains("HashSet<") {
            return Err(PublishError::HashOrdered { key: key.to_string(), type_name });
        }
        let from = key.as_str().len() - signal.len();
        // Used by its whole key before, and by its tail now: one output still.
        if let Some(index) = self.outputs.iter().position(|output| output.key == key) {
            self.outputs[index].signal = from as u32;
            return Ok(index as u32);
        }
        self.outputs.push(Output { key, signal: from as u32, later: Box::default(), spares: Spares::default() });
        self.used += 1;
        Ok(self.used - 1)
    }

    /// Where typed hand-over is off: the value's own text must read back as an equal value.
    #[cold]
    pub(crate) fn check_faithful<T: SignalValue>(key: &Key, value: &T, text: &[u8]) -> Result<(), PublishError> {
        match canon::from_slice::<T>(text) {
            Ok(read) if read == *value && canon::to_vec(&read).is_ok_and(|again| again == text) => Ok(()),
            _ => Err(PublishError::NotFaithful { key: key.to_string(), type_name: std::any::type_name::<T>() }),
        }
    }
}

/// Appends the fingerprint of a state to a contribution and empties the writer.
#[cold]
fn take_state(state: &mut StateWriter, frame: &mut Frame) -> Result<Option<Fingerprint>, StepError> {
    if let Some(error) = state.take_error() {
        return Err(format!("its state cannot be written: {error}").into());
    }
    let fingerprint = state.finish();
    state.clear();
    match fingerprint {
        None => frame.u8(0),
        Some(fingerprint) => {
            frame.u8(1);
            frame.fingerprint(fingerprint);
        }
    }
    Ok(fingerprint)
}

/// Resolves a subscription's text. Every key of a run lies in its own world, so a wild card for the world says nothing
/// and is replaced: what is left is concrete, and found without matching.
fn resolve(text: &str, world: &str, actor: &ActorPath) -> Result<KeyExpr, KeyError> {
    if let Some(rest) = text.strip_prefix("chaconne/*/")
        && let Ok(expr) = KeyExpr::new(&format!("chaconne/{world}/{rest}"))
    {
        return Ok(expr);
    }
    // Errors name the text as it was written.
    KeyExpr::resolve(text, world, actor)
}
