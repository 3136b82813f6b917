//! What a host keeps beside each participant, and how it has one stepped. For those who write hosts; a participant sees
//! only its [`StepCtx`].
//!
//! Every host steps through [`Port::step`], so a participant that is stepped elsewhere sees the same inbox, publishes the
//! same bytes and yields the same contribution.

use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::canon;
use crate::context::StepCtx;
use crate::error::{PublishError, StepError};
use crate::fingerprint::{Fingerprint, Frame, StateWriter};
use crate::key::{Key, KeyError, KeyExpr};
use crate::participant::Participant;
use crate::path::ActorPath;
use crate::signal::{Delivery, Payload, SignalValue, Subscription};
use crate::time::SimTime;

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

/// Names an output: one key as one leaf publishes it. Numbers, not names: nothing is ordered or hashed by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OutputId {
    /// The publisher's slot in the conductor's registry.
    pub leaf: u32,
    /// Counts the keys of that leaf in the order of their first publication.
    pub index: u32,
}

/// What an [`OutputId`] stands for.
#[derive(Clone, Debug)]
pub struct OutputInfo {
    /// The key.
    pub key: Key,
    /// The leaf that publishes under it.
    pub publisher: ActorPath,
}

/// All outputs of a world that a host has been told of, by leaf.
#[derive(Default, Debug)]
pub struct OutputTable {
    leaves: Vec<SmallVec<[OutputInfo; 1]>>,
}

impl OutputTable {
    /// Adds the next output of `leaf` and returns its id.
    pub fn declare(&mut self, leaf: u32, info: OutputInfo) -> OutputId {
        let slot = leaf as usize;
        if self.leaves.len() <= slot {
            self.leaves.resize_with(slot + 1, SmallVec::new);
        }
        self.leaves[slot].push(info);
        OutputId { leaf, index: self.leaves[slot].len() as u32 - 1 }
    }

    /// Looks one up.
    pub fn get(&self, id: OutputId) -> Option<&OutputInfo> {
        self.leaves.get(id.leaf as usize)?.get(id.index as usize)
    }
}

/// How a signal reaches one receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Reach {
    /// In the inbox.
    pub every: bool,
    /// As the held value of its key.
    pub latest: bool,
}

impl Reach {
    /// Adds what another subscription of the same receiver asks for: a signal is still delivered once.
    pub fn join(&mut self, delivery: Delivery) {
        match delivery {
            Delivery::Every => self.every = true,
            Delivery::Latest => self.latest = true,
        }
    }

    /// Neither in the inbox nor held.
    pub fn is_none(self) -> bool {
        !self.every && !self.latest
    }
}

/// What an inbox item says.
#[derive(Clone, Debug)]
pub enum Content {
    /// A signal was published.
    Signal(Payload),
    /// The publisher left: its value is held no longer.
    Withdrawn,
}

/// One item of an inbox, as the conductor or a host hands it over.
#[derive(Clone, Debug)]
pub struct Inbound {
    /// Which key, by whom.
    pub output: OutputId,
    /// In the inbox, as the latest value, or both.
    pub reach: Reach,
    /// When it was published.
    pub time: SimTime,
    /// The publisher's sequence number.
    pub seq: u64,
    /// The signal itself.
    pub content: Content,
}

/// One signal as published by a step.
#[derive(Clone, Debug)]
pub struct Published {
    /// Index of the key among the publisher's outputs.
    pub output: u32,
    /// Where the canonical text lies in the step's [`Frame`].
    pub text: Range<usize>,
    /// The content.
    pub payload: Payload,
}

/// One subscription, resolved.
struct Input {
    /// As the participant wrote it; [`StepCtx::latest`] finds it by this text.
    text: Box<str>,
    expr: KeyExpr,
    delivery: Delivery,
    /// Positions in [`Port::held`] of the samples that it matches, ordered by (key, publisher path).
    held: SmallVec<[u32; 2]>,
}

/// One key under which the leaf has published.
struct Output {
    key: Key,
    /// Where the text given to `publish` begins in the key: it is the whole key, or its tail. The whole key names the
    /// output in any case.
    signal: u32,
    /// Later leaves of the same actor that are to be given its signals in the same instant.
    later: Box<[Link]>,
}

/// A later leaf of the same actor that receives an output.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// The receiver's position in the actor's pipeline.
    pub position: u32,
    /// Every signal, the latest, or both.
    pub reach: Reach,
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

/// A participant's connection to the world: its identity, its subscriptions and held values, the keys it has used.
pub struct Port {
    run: Arc<RunIdentity>,
    path: ActorPath,
    actor: ActorPath,
    leaf: u32,
    steps: u64,
    inputs: Box<[Input]>,
    outputs: SmallVec<[Output; 1]>,
    /// How many outputs there are, and how many of them have been told to the conductor.
    used: u32,
    declared: u32,
    held: Vec<Held>,
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
}

/// Where one step writes. The buffers are the host's, and are used again.
pub struct StepOutput<'a> {
    /// The bytes of the contribution are appended here; `Published::text` points into it.
    pub frame: &'a mut Frame,
    /// The signals are appended here.
    pub published: &'a mut Vec<Published>,
    /// Scratch for the participant's state; empty.
    pub state: &'a mut StateWriter,
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

/// Resolves output ids to names, also those first used earlier in the same instant by the same actor.
#[derive(Clone, Copy)]
pub struct Names<'a> {
    /// What the conductor has told.
    pub table: &'a OutputTable,
    /// The first leaf of the same actor, if it is an earlier one.
    pub first: Option<&'a Port>,
    /// The other earlier leaves.
    pub siblings: &'a [Port],
}

impl<'a> Names<'a> {
    /// The key and the publisher's path.
    ///
    /// # Panics
    /// On an id that was never declared: hosts check what comes from outside before it gets here.
    pub fn get(&self, id: OutputId) -> (&'a Key, &'a ActorPath) {
        if let Some(info) = self.table.get(id) {
            return (&info.key, &info.publisher);
        }
        self.first
            .into_iter()
            .chain(self.siblings)
            .find(|port| port.leaf == id.leaf)
            .and_then(|port| Some((&port.outputs.get(id.index as usize)?.key, &port.path)))
            .expect("an output is declared before its signals are delivered")
    }

    /// Orders an inbox by (time, publisher path as bytes, sequence number).
    pub fn sort(&self, inbox: &mut [Inbound]) {
        inbox.sort_by(|a, b| {
            a.time
                .cmp(&b.time)
                .then_with(|| {
                    if a.output.leaf == b.output.leaf {
                        std::cmp::Ordering::Equal
                    } else {
                        self.get(a.output).1.cmp(self.get(b.output).1)
                    }
                })
                .then_with(|| a.seq.cmp(&b.seq))
        });
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
        let inputs = subscriptions
            .iter()
            .map(|subscription| {
                Ok(Input {
                    text: subscription.key().into(),
                    expr: resolve(subscription.key(), &run.world, &actor)?,
                    delivery: subscription.delivery(),
                    held: SmallVec::new(),
                })
            })
            .collect::<Result<_, KeyError>>()?;
        Ok(Self {
            run,
            path,
            actor,
            leaf: u32::MAX,
            steps: 0,
            inputs,
            outputs: SmallVec::new(),
            used: 0,
            declared: 0,
            held: Vec::new(),
        })
    }

    /// Tells the port the leaf's slot in the conductor's registry.
    pub fn set_leaf(&mut self, leaf: u32) {
        self.leaf = leaf;
    }

    /// The leaf's path.
    pub fn path(&self) -> &ActorPath {
        &self.path
    }

    /// The path of the actor that the leaf is part of.
    pub fn actor(&self) -> &ActorPath {
        &self.actor
    }

    /// What the run's participants share.
    pub fn run(&self) -> &RunIdentity {
        &self.run
    }

    /// The resolved subscriptions.
    pub fn inputs(&self) -> impl Iterator<Item = (&KeyExpr, Delivery)> {
        self.inputs.iter().map(|input| (&input.expr, input.delivery))
    }

    /// How signals under `key` reach this leaf.
    pub fn reach(&self, key: &Key) -> Reach {
        let mut reach = Reach::default();
        for input in &self.inputs {
            if input.expr.matches(key) {
                reach.join(input.delivery);
            }
        }
        reach
    }

    /// The keys used since the last call: what the conductor has to be told.
    pub fn take_declared(&mut self) -> impl Iterator<Item = &Key> {
        let from = self.declared as usize;
        self.declared = self.outputs.len() as u32;
        self.outputs[from..].iter().map(|output| &output.key)
    }

    /// Whether [`take_declared`](Self::take_declared) has something to tell.
    #[inline]
    pub fn has_undeclared(&self) -> bool {
        self.used > self.declared
    }

    /// Finds out which of `later` (the leaves behind this one in its actor, the first at pipeline position `position`)
    /// are to be given each key that has not been told yet.
    pub fn link(&mut self, position: u32, later: &[Port]) {
        for output in &mut self.outputs[self.declared as usize..] {
            output.later = (position..)
                .zip(later)
                .map(|(position, port)| Link { position, reach: port.reach(&output.key) })
                .filter(|link| !link.reach.is_none())
                .collect();
        }
    }

    /// The later leaves of the actor that receive an output in the same instant.
    #[inline]
    pub fn links(&self, output: u32) -> &[Link] {
        &self.outputs[output as usize].later
    }

    /// Steps the participant once. The contribution's bytes and the signals are appended to `output`.
    ///
    /// # Errors
    /// What the participant returned, or a publish that failed, even if the participant swallowed it. `output` then
    /// holds a part of the step and must not be used.
    #[inline]
    pub fn step(
        &mut self,
        participant: &mut dyn Participant,
        input: StepInput<'_>,
        output: StepOutput<'_>,
    ) -> Result<Stepped, StepError> {
        self.receive(input.inbox, input.names);
        self.steps += 1;
        let StepOutput { frame, published, state } = output;
        let start = frame.len();
        frame.str(self.path.as_str());
        let (due_at, count_at) = (frame.reserve_u64(), frame.reserve_u64());
        let before = published.len();
        let mut ctx = StepCtx::new(self, &input, frame, published);
        let returned = participant.step(&mut ctx);
        if let Some(failure) = ctx.take_failure() {
            return Err(failure.into());
        }
        let next_due = returned?;
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

    /// Takes the `latest` part of an inbox into the held values.
    #[inline]
    fn receive(&mut self, inbox: &[Inbound], names: &Names<'_>) {
        for item in inbox {
            if item.reach.latest {
                self.hold(item, names);
            }
        }
    }

    fn hold(&mut self, item: &Inbound, names: &Names<'_>) {
        // One receiver holds few outputs, nearly always; a receiver of thousands is asked for them rarely.
        let found = self.held.iter().position(|held| held.output == item.output);
        match (&item.content, found) {
            (Content::Signal(payload), Some(at)) => {
                let held = &mut self.held[at];
                held.time = item.time;
                held.seq = item.seq;
                held.step = self.steps + 1;
                held.payload = payload.clone();
            }
            (Content::Signal(payload), None) => {
                let position = self.held.len() as u32;
                self.held.push(Held {
                    output: item.output,
                    time: item.time,
                    seq: item.seq,
                    payload: payload.clone(),
                    step: self.steps + 1,
                });
                let name = names.get(item.output);
                for input in &mut self.inputs {
                    if input.delivery == Delivery::Latest && input.expr.matches(name.0) {
                        let at =
                            input.held.partition_point(|&other| names.get(self.held[other as usize].output) < name);
                        input.held.insert(at, position);
                    }
                }
            }
            (Content::Withdrawn, Some(at)) => {
                self.held.remove(at);
                let at = at as u32;
                for input in &mut self.inputs {
                    input.held.retain(|position| *position != at);
                    for position in &mut input.held {
                        *position -= u32::from(*position > at);
                    }
                }
            }
            (Content::Withdrawn, None) => {}
        }
    }

    /// The held samples that match `text`, ordered by (key, publisher path); `None` when it is not a `latest`
    /// subscription's text and no such subscription matches it.
    #[inline]
    pub(crate) fn held(&self, text: &str, names: &Names<'_>) -> Result<Option<SmallVec<[&Held; 2]>>, KeyError> {
        for input in &self.inputs {
            if input.delivery == Delivery::Latest && *input.text == *text {
                return Ok(Some(input.held.iter().map(|&at| &self.held[at as usize]).collect()));
            }
        }
        self.held_by_match(text, names)
    }

    /// For a text that stands in no subscription: what of the held it matches.
    #[cold]
    fn held_by_match(&self, text: &str, names: &Names<'_>) -> Result<Option<SmallVec<[&Held; 2]>>, KeyError> {
        let expr = resolve(text, &self.run.world, &self.actor)?;
        let latest = |input: &&Input| input.delivery == Delivery::Latest;
        if !self.inputs.iter().filter(latest).any(|input| input.expr.intersects(&expr)) {
            return Ok(None);
        }
        let mut held: SmallVec<[&Held; 2]> =
            self.held.iter().filter(|held| expr.matches(names.get(held.output).0)).collect();
        held.sort_by(|a, b| names.get(a.output).cmp(&names.get(b.output)));
        Ok(Some(held))
    }

    /// Whether the sample came with the current step's inbox.
    #[inline]
    pub(crate) fn is_new(&self, held: &Held) -> bool {
        held.step == self.steps
    }

    /// The index and the key of the output that `signal` names, declared if it is new.
    #[inline]
    pub(crate) fn output(&mut self, signal: &str) -> Result<(u32, &Key), PublishError> {
        let outputs = self.outputs.as_slice();
        let named = |output: &Output| {
            let key = output.key.as_str().as_bytes();
            key[output.signal as usize..] == *signal.as_bytes() || *key == *signal.as_bytes()
        };
        let index = match outputs.iter().position(named) {
            Some(index) => index as u32,
            None => self.declare(signal)?,
        };
        Ok((index, &self.outputs[index as usize].key))
    }

    #[cold]
    fn declare(&mut self, signal: &str) -> Result<u32, PublishError> {
        let key = Key::resolve(signal, &self.run.world, &self.actor)
            .map_err(|source| PublishError::Key { signal: signal.to_string(), source })?;
        let own = key.world() == Some(self.run.world.as_str())
            && key.actor().is_some_and(|path| {
                let own = self.path.as_str();
                own.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            });
        if !own {
            return Err(PublishError::NotOwn { key: key.to_string(), publisher: self.path.clone() });
        }
        let from = key.as_str().len() - signal.len();
        // Used by its whole key before, and by its tail now: one output still.
        if let Some(index) = self.outputs.iter().position(|output| output.key == key) {
            self.outputs[index].signal = from as u32;
            return Ok(index as u32);
        }
        self.outputs.push(Output { key, signal: from as u32, later: Box::default() });
        self.used += 1;
        Ok(self.used - 1)
    }

    /// Where typed hand-over is off: the value's own text must read back as an equal value.
    #[cold]
    pub(crate) fn check_faithful<T: SignalValue>(key: &Key, value: &T, text: &[u8]) -> Result<(), PublishError> {
        match canon::from_slice::<T>(text) {
            Ok(read) if read == *value => Ok(()),
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
    match text.strip_prefix("chaconne/*/") {
        Some(rest) => KeyExpr::new(&format!("chaconne/{world}/{rest}")),
        None => KeyExpr::resolve(text, world, actor),
    }
}
