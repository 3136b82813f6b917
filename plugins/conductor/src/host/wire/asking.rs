//! The conductor's side: what it asks as bytes, and what it makes of the answers.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use chaconne_sim_core::fingerprint::{Fingerprint, Frame};
use chaconne_sim_core::key::Key;
use chaconne_sim_core::membership::NodeRequest;
use chaconne_sim_core::path::ActorPath;
use chaconne_sim_core::port::{Content, Inbound, Published, RunIdentity, StepBounds};
use chaconne_sim_core::signal::{Payload, Subscription};
use chaconne_sim_core::time::SimTime;

use super::{
    Ask, Failure, Item, Leaf, NAME, Output, Step, Stepped, SteppedLeaf, Told, VERSION, WireError, frame, read,
};
use crate::composite::MOST_SEGMENTS;
use crate::host::remote::Answer;
use crate::host::{HaltCause, LeafReply, ReplyPart, StepFailure, StepRequest, one_line};

/// An actor as the helper made it.
pub(crate) struct Described {
    /// Paths of groups within the actor.
    pub(crate) groups: Vec<ActorPath>,
    /// Its participants in the order of the pipeline.
    pub(crate) leaves: Vec<(ActorPath, Vec<Subscription>)>,
}

/// A conversation with a helper.
pub(crate) struct Asking {
    world: String,
    /// Leaves that are stepped there, by number.
    faces: BTreeMap<u32, Face>,
    /// What has been made and has no seat yet.
    made: Option<Described>,
    /// Which build the helper has to be, where that matters.
    build: Option<String>,
    /// How much one step may publish.
    bounds: StepBounds,
    /// Actors that are on their way, by what a `Stepped` needs to be understood.
    asked: VecDeque<Waiting>,
}

/// What is known of a leaf that is stepped there.
struct Face {
    path: ActorPath,
    /// How many leaves its actor has; for the first.
    leaves: u32,
    keys: Vec<Key>,
}

/// An actor that is to answer.
struct Waiting {
    now: SimTime,
    removable: bool,
    /// Number of each due leaf, and of its next signal.
    leaves: Vec<(u32, u64)>,
}

impl Asking {
    /// A conversation that begins with a greeting.
    pub(crate) fn new(
        run: &RunIdentity,
        memory: Option<u64>,
        setting: &str,
        build: Option<String>,
        out: &mut Vec<u8>,
    ) -> Result<Self, WireError> {
        let RunIdentity { world, seed, typed } = run;
        let hello = Ask::Hello { name: NAME, version: VERSION, world, seed: *seed, typed: *typed, memory, setting };
        frame(&hello, out)?;
        Ok(Self {
            world: world.clone(),
            faces: BTreeMap::new(),
            made: None,
            build,
            bounds: StepBounds::default(),
            asked: VecDeque::new(),
        })
    }

    /// Reads the answer to the greeting.
    ///
    /// # Errors
    /// In the outer result when it is none; in the inner one why the helper cannot make actors for this run.
    pub(crate) fn greeted(&self, told: &[u8]) -> Result<Result<(), String>, WireError> {
        match read(told)? {
            Told::Hello { name: NAME, version: VERSION, build } => match build.zip(self.build.as_deref()) {
                Some((its, ours)) if its != ours => {
                    Ok(Err("its program is not the one that runs here: it was built again \
                                                            meanwhile; start the run again"
                        .to_owned()))
                }
                _ => Ok(Ok(())),
            },
            Told::Hello { name, version, .. } => Err(WireError::Version { name: name.to_owned(), version }),
            Told::Refused(text) => Ok(Err(one_line(text))),
            _ => Err(WireError::unexpected("no greeting")),
        }
    }

    /// Asks for an actor to be made.
    pub(crate) fn make(&mut self, path: &ActorPath, node: &NodeRequest, out: &mut Vec<u8>) -> Result<(), WireError> {
        frame(&Ask::Make { path: path.as_str(), node: node.clone() }, out)
    }

    /// Reads the answer to that.
    ///
    /// # Errors
    /// In the outer result when it is none; in the inner one why nothing was made.
    pub(crate) fn made(&mut self, actor: &ActorPath, told: &[u8]) -> Result<Result<Described, String>, WireError> {
        let (groups, leaves) = match read(told)? {
            Told::Made { groups, leaves } => (groups, leaves),
            Told::Refused(text) => return Ok(Err(one_line(text))),
            _ => return Err(WireError::unexpected("no answer to an actor to be made")),
        };
        let within = |text: &str| {
            let path = ActorPath::new(text).map_err(WireError::malformed)?;
            let rest = path.as_str().strip_prefix(actor.as_str());
            match rest {
                Some(rest) if rest.is_empty() || rest.starts_with('/') => match path.segments().count() {
                    ..=MOST_SEGMENTS => Ok(path),
                    _ => Err(WireError::unexpected(format!("the path of a part that is deeper than {MOST_SEGMENTS}"))),
                },
                _ => Err(WireError::unexpected(format!("`{path}` as a part of `{actor}`"))),
            }
        };
        let groups = groups.into_iter().map(within).collect::<Result<_, _>>()?;
        let subscription = |(key, latest): (&str, bool)| {
            if latest { Subscription::latest(key.to_owned()) } else { Subscription::every(key.to_owned()) }
        };
        let leaves: Vec<(ActorPath, Vec<Subscription>)> = leaves
            .into_iter()
            .map(|leaf| Ok((within(leaf.path)?, leaf.subscriptions.into_iter().map(subscription).collect())))
            .collect::<Result<_, WireError>>()?;
        let is_whole = leaves.iter().any(|(path, _)| path == actor);
        if leaves.is_empty() || (is_whole && leaves.len() > 1) {
            return Err(WireError::unexpected("what is no tree of participants"));
        }
        let described = Described { groups, leaves };
        self.made = Some(Described { groups: Vec::new(), leaves: described.leaves.clone() });
        Ok(Ok(described))
    }

    /// Says that what was made joins, with this number for its first leaf.
    pub(crate) fn seat(&mut self, first: u32, bounds: StepBounds, out: &mut Vec<u8>) -> Result<(), WireError> {
        let leaves = self.made.take().map_or(Vec::new(), |made| made.leaves);
        let count = leaves.len() as u32;
        for (number, (path, _)) in (first..).zip(leaves) {
            self.faces.insert(number, Face { path, leaves: count, keys: Vec::new() });
        }
        frame(&Ask::Seat { first, bounds }, out)
    }

    /// Says that it does not.
    pub(crate) fn discard(&mut self, out: &mut Vec<u8>) -> Result<(), WireError> {
        self.made = None;
        frame(&Ask::Discard, out)
    }

    /// Asks for every actor of a request to be stepped; a frame for each.
    pub(crate) fn step(&mut self, request: &StepRequest, out: &mut Vec<u8>) -> Result<(), WireError> {
        let mut outputs: Vec<Output<'_>> = request
            .outputs
            .iter()
            .map(|(id, info)| Output { number: id.leaf, key: info.key.as_str(), publisher: info.publisher.as_str() })
            .collect();
        for (at, actor) in request.actors.iter().enumerate() {
            let range = request.leaves_of(at);
            let start = match range.start {
                0 => 0,
                first => request.leaves[first - 1].inbox_end as usize,
            };
            let end = request.leaves[..range.end].last().map_or(0, |leaf| leaf.inbox_end as usize);
            let inbox = &request.inbox[start..end];
            let texts: Vec<Option<std::borrow::Cow<'_, [u8]>>> = inbox.iter().map(text).collect();
            let mut items = inbox.iter().zip(&texts).map(|(item, text)| Item {
                leaf: item.output.leaf,
                index: item.output.index,
                reach: u8::from(item.reach.every) | (u8::from(item.reach.latest) << 1),
                time: item.time.as_nanos(),
                seq: item.seq,
                text: text.as_deref(),
            });
            let mut before = start;
            let leaves = request.leaves[range.clone()].iter().map(|leaf| {
                let count = leaf.inbox_end as usize - std::mem::replace(&mut before, leaf.inbox_end as usize);
                let inbox = items.by_ref().take(count).collect();
                Leaf { position: leaf.position, last_step: leaf.last_step.as_nanos(), seq: leaf.seq, inbox }
            });
            let step = Step {
                now: request.now.as_nanos(),
                first: actor.slot,
                timed: actor.timed,
                leaves: leaves.collect(),
                // With the first actor; those behind it know them then.
                outputs: std::mem::take(&mut outputs),
            };
            frame(&Ask::Step(step), out)?;
            let leaves = request.leaves[range].iter().map(|leaf| (leaf.leaf, leaf.seq)).collect();
            self.asked.push_back(Waiting { now: request.now, removable: actor.removable, leaves });
        }
        Ok(())
    }

    /// Reads what the next actor did.
    ///
    /// # Errors
    /// When it does not fit what was asked.
    pub(crate) fn stepped(&mut self, told: &[u8]) -> Result<Answer, WireError> {
        let Some(asked) = self.asked.pop_front() else {
            return Err(WireError::unexpected("a step that nobody asked for"));
        };
        let Told::Stepped(stepped) = read(told)? else {
            return Err(WireError::unexpected("no answer to a step"));
        };
        let took = Duration::from_nanos(stepped.took);
        let mut part = ReplyPart::default();
        if let Some((index, failure)) = &stepped.failure {
            let cause = match failure {
                Failure::Error(text) => HaltCause::Error(one_line(text)),
                Failure::Panic(text) => HaltCause::Panic(one_line(text)),
                Failure::NotAdvancing(next_due) => HaltCause::NotAdvancing { next_due: SimTime::from_nanos(*next_due) },
            };
            if *index as usize >= asked.leaves.len() {
                return Err(WireError::unexpected("a failure of nobody"));
            }
            let failure = StepFailure { index: *index, cause };
            if asked.removable {
                part.lost.push(failure)
            } else {
                part.failures.push(failure)
            }
            return Ok(Answer { part, took });
        }
        if stepped.leaves.len() != asked.leaves.len() {
            let what = format!("{} participants for {} that were asked", stepped.leaves.len(), asked.leaves.len());
            return Err(WireError::unexpected(what));
        }
        self.declare(&asked, &stepped, &mut part)?;
        for (index, (leaf, &(number, seq))) in (0..).zip(stepped.leaves.iter().zip(&asked.leaves)) {
            let Some(face) = self.faces.get(&number) else {
                return Err(WireError::unexpected("a step of one that left"));
            };
            leaf.take_in(&asked, index, face, seq, self.bounds, &mut part)?;
        }
        for (index, request) in stepped.requests {
            if index as usize >= asked.leaves.len() {
                return Err(WireError::unexpected("a request of nobody"));
            }
            part.requests.push((index, request.request()?));
        }
        if !part.requests.is_sorted_by_key(|(index, _)| *index) {
            return Err(WireError::unexpected("requests out of order"));
        }
        Ok(Answer { part, took })
    }

    /// Takes in keys that were used for the first time.
    fn declare(&mut self, asked: &Waiting, stepped: &Stepped<'_>, part: &mut ReplyPart) -> Result<(), WireError> {
        for &(index, text) in &stepped.declared {
            let number = asked.leaves.get(index as usize).map(|leaf| leaf.0);
            let Some(face) = number.and_then(|number| self.faces.get_mut(&number)) else {
                return Err(WireError::unexpected("a key of nobody"));
            };
            let key = Key::new(text).map_err(WireError::malformed)?;
            let is_own = key.world() == Some(self.world.as_str())
                && key.actor().is_some_and(|path| {
                    let rest = face.path.as_str().strip_prefix(path);
                    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                });
            if !is_own || face.keys.contains(&key) {
                return Err(WireError::unexpected(format!("`{key}` as a new key of `{}`", face.path)));
            }
            face.keys.push(key.clone());
            part.declared.push((index, key));
        }
        if part.declared.is_sorted_by_key(|(index, _)| *index) {
            Ok(())
        } else {
            Err(WireError::unexpected("keys out of order"))
        }
    }

    /// Says that an actor leaves.
    pub(crate) fn remove(&mut self, first: u32, out: &mut Vec<u8>) -> Result<(), WireError> {
        let count = self.faces.get(&first).map_or(0, |face| face.leaves);
        for number in first..first + count {
            self.faces.remove(&number);
        }
        frame(&Ask::Remove { first }, out)
    }

    /// Reads the answer to that: with what letting go of it panicked.
    pub(crate) fn removed(&self, told: &[u8]) -> Result<Option<String>, WireError> {
        match read(told)? {
            Told::Removed(panicked) => Ok(panicked.map(one_line)),
            _ => Err(WireError::unexpected("no answer to a leave")),
        }
    }

    /// How many actors are still to answer.
    pub(crate) fn waiting(&self) -> usize {
        self.asked.len()
    }
}

/// The text of a signal that waits in an inbox.
fn text(item: &Inbound) -> Option<std::borrow::Cow<'_, [u8]>> {
    match &item.content {
        Content::Signal(payload) => Some(payload.to_text()),
        Content::Withdrawn => None,
    }
}

impl SteppedLeaf<'_> {
    /// Writes the contribution of a step again, as the participant's host would have, and takes in its signals.
    fn take_in(
        &self,
        asked: &Waiting,
        index: u32,
        face: &Face,
        seq: u64,
        bounds: StepBounds,
        part: &mut ReplyPart,
    ) -> Result<(), WireError> {
        let too_much = || WireError::unexpected(format!("more signals of `{}` than one step may publish", face.path));
        if self.signals.len() > bounds.signals as usize {
            return Err(too_much());
        }
        let frame: &mut Frame = &mut part.frame;
        let next_due = SimTime::from_nanos(self.next_due);
        if next_due <= asked.now {
            return Err(WireError::unexpected(format!("{next_due} s as the next due time of `{}`", face.path)));
        }
        let start = frame.len();
        frame.str(face.path.as_str());
        frame.time(next_due);
        frame.u64(self.signals.len() as u64);
        for (&(output, text), seq) in self.signals.iter().zip(seq..) {
            let Some(key) = face.keys.get(output as usize) else {
                return Err(WireError::unexpected(format!("a signal of `{}` without a key", face.path)));
            };
            let payload = Payload::from_text(text)
                .map_err(|error| WireError::unexpected(format!("a signal under `{key}` that is not JSON ({error})")))?;
            frame.str(key.as_str());
            frame.u64(seq);
            frame.bytes(text);
            let end = frame.len();
            // What the participant's own host counts besides is its path and its state.
            if end - start > bounds.bytes as usize + 4096 {
                return Err(too_much());
            }
            part.published.push(Published { output, text: end - text.len()..end, payload });
        }
        let state = self.state.map(Fingerprint::from_bytes);
        match state {
            None => frame.u8(0),
            Some(state) => {
                frame.u8(1);
                frame.fingerprint(state);
            }
        }
        let contribution = Fingerprint::of(&frame.as_slice()[start..]);
        part.leaves.push(LeafReply { next_due, contribution, state, published: self.signals.len() as u32 });
        part.times.extend(self.took.map(|took| (index, took)));
        Ok(())
    }
}
