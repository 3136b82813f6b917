//! The helper's side: messages in, messages out. Whoever has the stream of bytes drives it.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use chaconne_sim_core::key::Key;
use chaconne_sim_core::membership::{JoinRequest, NodeRequest};
use chaconne_sim_core::participant::Participant;
use chaconne_sim_core::path::ActorPath;
use chaconne_sim_core::port::{Content, Hosted, Inbound, OutputId, OutputInfo, Port, Reach, RunIdentity, StepBounds};
use chaconne_sim_core::signal::{Delivery, Payload, Subscription};
use chaconne_sim_core::time::SimTime;

use super::{
    Ask, Asked, Failure, Item, MadeLeaf, NAME, Step, Stepped, SteppedLeaf, Told, VERSION, WireError, frame, read,
};
use crate::clock::Stopwatch;
use crate::error::RegistrationError;
use crate::host::local::LocalHost;
use crate::host::{ActorStep, HaltCause, Host, LeafStep, StepReply, StepRequest, panic_text};
use crate::membership::ActorMaker;

/// What a conductor says when it greets.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct OpenSetting<'a> {
    /// The world's name.
    pub world: &'a str,
    /// The seed of the run.
    pub seed: u64,
    /// The most bytes of memory that this process may take.
    pub memory: Option<u64>,
    /// What factories need to know of the run.
    pub setting: &'a str,
}

/// Answers a conductor.
pub struct Server<F> {
    open: F,
    /// Which build this is, where that is known.
    build: Option<String>,
    running: Option<Running>,
}

struct Running {
    run: Arc<RunIdentity>,
    maker: Box<dyn ActorMaker>,
    host: LocalHost,
    /// What has been made and has no seat yet.
    made: Option<MadeActor>,
    /// By the number of the first leaf: how many leaves.
    actors: BTreeMap<u32, u32>,
    request: StepRequest,
}

struct MadeActor {
    path: ActorPath,
    groups: Vec<ActorPath>,
    leaves: Vec<(ActorPath, Box<dyn Participant>, Vec<Subscription>)>,
}

impl<F: FnMut(OpenSetting<'_>) -> Result<Box<dyn ActorMaker>, String>> Server<F> {
    /// A server that makes actors by what `open` returns for a run.
    pub fn new(open: F) -> Self {
        Self { open, build: None, running: None }
    }

    /// This server, of this build: a conductor may want its own.
    #[must_use]
    pub fn build(mut self, build: Option<String>) -> Self {
        self.build = build;
        self
    }

    /// Takes in one frame and appends the frames of the answer, if there is one.
    ///
    /// # Errors
    /// When the frame is no message, or none that belongs there; the conversation is over then.
    pub fn answer(&mut self, frame_bytes: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
        let ask: Ask<'_> = read(frame_bytes)?;
        if let Ask::Hello { name, version, world, seed, typed, memory, setting } = ask {
            if (name, version) != (NAME, VERSION) {
                // The other side says which it is, when it can read that.
                frame(&Told::Hello { name: NAME, version: VERSION, build: self.build.as_deref() }, out)?;
                return Err(WireError::Version { name: name.to_owned(), version });
            }
            let opening = OpenSetting { world, seed, memory, setting };
            let opened = catch_unwind(AssertUnwindSafe(|| (self.open)(opening)));
            return match opened.unwrap_or_else(|panic| Err(panic_text(&*panic))) {
                Ok(maker) => {
                    let run = Arc::new(RunIdentity { world: world.to_owned(), seed, typed });
                    self.running = Some(Running::new(run, maker));
                    frame(&Told::Hello { name: NAME, version: VERSION, build: self.build.as_deref() }, out)
                }
                Err(text) => frame(&Told::Refused(&text), out),
            };
        }
        let Some(running) = &mut self.running else { return Err(WireError::unexpected("no greeting")) };
        match ask {
            Ask::Hello { .. } => Ok(()),
            Ask::Make { path, node } => running.make(path, node, out),
            Ask::Seat { first, bounds } => running.seat(first, bounds),
            Ask::Discard => {
                running.made = None;
                Ok(())
            }
            Ask::Step(step) => running.step(&step, out),
            Ask::Remove { first } => running.remove(first, out),
        }
    }
}

impl Running {
    fn new(run: Arc<RunIdentity>, maker: Box<dyn ActorMaker>) -> Self {
        let host = LocalHost::new(Arc::clone(&run), 1);
        Self { run, maker, host, made: None, actors: BTreeMap::new(), request: StepRequest::default() }
    }

    fn make(&mut self, path: &str, node: NodeRequest, out: &mut Vec<u8>) -> Result<(), WireError> {
        match self.made_of(path, node) {
            Ok(made) => {
                let leaves = made.leaves.iter().map(|(path, _, subscriptions)| MadeLeaf {
                    path: path.as_str(),
                    subscriptions: subscriptions
                        .iter()
                        .map(|subscription| (subscription.key(), subscription.delivery() == Delivery::Latest))
                        .collect(),
                });
                let told = Told::Made {
                    groups: made.groups.iter().map(ActorPath::as_str).collect(),
                    leaves: leaves.collect(),
                };
                frame(&told, out)?;
                self.made = Some(made);
                Ok(())
            }
            Err(text) => frame(&Told::Refused(&text), out),
        }
    }

    fn made_of(&mut self, path: &str, node: NodeRequest) -> Result<MadeActor, String> {
        let path = ActorPath::new(path).map_err(|error| error.to_string())?;
        let request = JoinRequest::of(path.as_str(), node);
        let made = catch_unwind(AssertUnwindSafe(|| self.maker.make(&request, &path)));
        let actor = made.unwrap_or_else(|panic| Err(format!("its factory panicked: {}", panic_text(&*panic))))?;
        if actor.path() != path.as_str() {
            return Err(format!("its factory made an actor at `{}`", actor.path()));
        }
        // The other side says whom it cannot add.
        let reason = |error: RegistrationError| {
            let text = error.to_string();
            text.strip_prefix(&format!("cannot add `{path}`: ")).map_or(text.clone(), str::to_owned)
        };
        let flat = actor.flatten().map_err(reason)?;
        if flat.requested.is_some() {
            return Err("its factory asks for it to be made elsewhere".to_owned());
        }
        let mut leaves = Vec::with_capacity(flat.leaves.len());
        for (path, participant) in flat.leaves {
            let asked = catch_unwind(AssertUnwindSafe(|| participant.subscriptions()));
            let subscriptions = asked.map_err(|panic| {
                format!("`{path}` panicked when it was asked for its subscriptions: {}", panic_text(&*panic))
            })?;
            leaves.push((path, participant, subscriptions));
        }
        Ok(MadeActor { path, groups: flat.groups, leaves })
    }

    fn seat(&mut self, first: u32, bounds: StepBounds) -> Result<(), WireError> {
        let Some(MadeActor { path: actor, leaves, .. }) = self.made.take() else {
            return Err(WireError::unexpected("a seat for nobody"));
        };
        self.actors.insert(first, leaves.len() as u32);
        self.host.set_bounds(bounds);
        let mut seated = Vec::with_capacity(leaves.len());
        for (number, (path, participant, subscriptions)) in (first..).zip(leaves) {
            // The other side has resolved these subscriptions before it gave the seat.
            let mut port = Port::new(Arc::clone(&self.run), path, actor.clone(), &subscriptions)
                .map_err(|error| WireError::unexpected(error.to_string()))?;
            port.set_leaf(number);
            seated.push(Hosted { port, participant });
        }
        self.host.add(seated);
        Ok(())
    }

    fn step(&mut self, step: &Step<'_>, out: &mut Vec<u8>) -> Result<(), WireError> {
        let started = Stopwatch::start();
        self.fill(step)?;
        self.host.begin(std::mem::take(&mut self.request));
        let mut reply = self.host.finish();
        self.host.declare_own(&reply);
        let told = stepped(&reply, started)?;
        let framed = frame(&Told::Stepped(told), out);
        let parts = std::mem::take(&mut reply.parts);
        self.request = reply.request;
        self.request.clear();
        self.request.spare = parts;
        framed
    }

    /// Writes the request for one actor.
    fn fill(&mut self, step: &Step<'_>) -> Result<(), WireError> {
        let Some(&size) = self.actors.get(&step.first) else { return Err(WireError::unexpected("a step of nobody")) };
        for output in &step.outputs {
            let key = Key::new(output.key).map_err(WireError::malformed)?;
            let publisher = ActorPath::new(output.publisher).map_err(WireError::malformed)?;
            self.host.declare_one(OutputId { leaf: output.number, index: 0 }, OutputInfo { key, publisher });
        }
        let request = &mut self.request;
        request.clear();
        (request.now, request.keep_texts) = (SimTime::from_nanos(step.now), true);
        let (slot, timed) = (step.first, step.timed);
        request.actors.push(ActorStep { slot, size, first_leaf: 0, heavy: false, removable: false, timed });
        let mut after = None;
        for leaf in &step.leaves {
            if leaf.position >= size || after.is_some_and(|after| leaf.position <= after) {
                return Err(WireError::unexpected("participants out of order"));
            }
            after = Some(leaf.position);
            for item in &leaf.inbox {
                request.inbox.push(inbound(item, &self.host)?);
            }
            request.leaves.push(LeafStep {
                leaf: slot + leaf.position,
                position: leaf.position,
                last_step: SimTime::from_nanos(leaf.last_step),
                seq: leaf.seq,
                inbox_end: request.inbox.len() as u32,
            });
        }
        Ok(())
    }

    fn remove(&mut self, first: u32, out: &mut Vec<u8>) -> Result<(), WireError> {
        let Some(size) = self.actors.remove(&first) else { return Err(WireError::unexpected("a leave of nobody")) };
        let removed = catch_unwind(AssertUnwindSafe(|| self.host.remove(first..first + size)));
        let panicked = removed.err().map(|panic| panic_text(&*panic));
        frame(&Told::Removed(panicked.as_deref()), out)
    }
}

/// An item of an inbox, checked: what it is of must be known.
fn inbound(item: &Item<'_>, host: &LocalHost) -> Result<Inbound, WireError> {
    let output = OutputId { leaf: item.leaf, index: item.index };
    if host.outputs().get(output).is_none() {
        return Err(WireError::unexpected("a signal of an output that was not told"));
    }
    let content = match item.text {
        None => Content::Withdrawn,
        Some(text) => Content::Signal(Payload::from_text(text).map_err(WireError::malformed)?),
    };
    let reach = Reach { every: item.reach & 1 != 0, latest: item.reach & 2 != 0 };
    Ok(Inbound { output, reach, time: SimTime::from_nanos(item.time), seq: item.seq, content })
}

/// What an actor did, as it is told.
fn stepped(reply: &StepReply, started: Stopwatch) -> Result<Stepped<'_>, WireError> {
    let Some(part) = reply.parts.first() else { return Err(WireError::unexpected("nobody to step")) };
    let mut told = Stepped { took: started.nanos(), ..Stepped::default() };
    if let Some(failure) = part.failures.first() {
        told.failure = Some((
            failure.index,
            match &failure.cause {
                HaltCause::Error(text) => Failure::Error(text),
                HaltCause::Panic(text) => Failure::Panic(text),
                HaltCause::NotAdvancing { next_due } => Failure::NotAdvancing(next_due.as_nanos()),
                _ => Failure::Error("it failed"),
            },
        ));
        return Ok(told);
    }
    let text = part.frame.as_slice();
    let mut published = part.published.iter();
    let mut times = part.times.iter().map(|(_, took)| *took);
    told.leaves = part
        .leaves
        .iter()
        .map(|leaf| SteppedLeaf {
            next_due: leaf.next_due.as_nanos(),
            state: leaf.state.map(|state| *state.as_bytes()),
            signals: published
                .by_ref()
                .take(leaf.published as usize)
                .map(|signal| (signal.output, &text[signal.text.clone()]))
                .collect(),
            took: times.next(),
        })
        .collect();
    told.declared = part.declared.iter().map(|(index, key)| (*index, key.as_str())).collect();
    told.requests = part.requests.iter().map(|(index, request)| (*index, Asked::of(request))).collect();
    Ok(told)
}
