//! All hosts of a conductor: each request taken apart, and the replies put together again.
//!
//! Who is stepped elsewhere is begun first; then the local host works, and then the others are waited for, actor by actor in
//! the request's order, each until its own deadline.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use chaconne_sim_core::membership::NodeRequest;
use chaconne_sim_core::path::ActorPath;
use chaconne_sim_core::port::{Hosted, Inbound, RunIdentity, StepBounds};

use super::gather::gather;
use super::guarded::Guarded;
use super::local::LocalHost;
use super::numbers::Numbers;
use super::process::{Helper, HelperProgram};
use super::remote::{Answer, NotMade, Parting, Remote};
use super::wire::Described;
use super::{ActorStep, HaltCause, Host, LeafStep, Outgoing, ReplyPart, StepFailure, StepReply, StepRequest};
use crate::clock::Deadline;
use crate::hosting::{HelperName, Hosting};
use crate::span::span;

/// How long those who are stepped on threads of their own may take to go, all together, when the run is let go of.
const PARTING: Duration = Duration::from_secs(5);

/// The local host, and the places elsewhere at which actors are stepped.
pub(crate) struct Hosts {
    run: Arc<RunIdentity>,
    local: LocalHost,
    places: BTreeMap<u32, Place>,
    /// Who is stepped elsewhere, by first slot.
    seats: BTreeMap<u32, Seat>,
    /// Places of helper processes that are shared.
    shared: BTreeMap<String, u32>,
    program: Option<HelperProgram>,
    /// How many places there ever were.
    opened: u32,
    split: Option<Box<Split>>,
    /// Buffers of requests to the local host, when others have their share.
    spare: StepRequest,
    left_behind: Vec<ActorPath>,
}

/// Where an actor is stepped, if not here.
struct Seat {
    place: u32,
    /// The number of its first leaf there.
    first: u32,
    path: ActorPath,
    timeout: Duration,
    /// How long letting go of it may take.
    once: Duration,
}

/// A place at which actors are stepped.
struct Place {
    kind: Kind,
    numbers: Numbers,
    request: StepRequest,
    /// Who is to answer, by place in the whole request.
    waiting: Vec<u32>,
    deadline: Deadline,
    /// How many actors have their seat here.
    seats: usize,
}

enum Kind {
    Thread(Box<Guarded>),
    Process(Box<Helper>),
    /// Nobody answers there any more, and why.
    Lost(String),
}

impl Kind {
    fn remote(&mut self) -> Option<&mut dyn Remote> {
        match self {
            Self::Thread(guarded) => Some(&mut **guarded),
            Self::Process(helper) => Some(&mut **helper),
            Self::Lost(_) => None,
        }
    }
}

/// A request of which others have their share.
struct Split {
    whole: StepRequest,
    /// Who is stepped here, by place in the whole request, and their leaves.
    here: Vec<u32>,
    leaves_here: Vec<u32>,
}

/// An actor that has been made in a helper process, and has no seat yet.
pub(crate) struct Made {
    place: u32,
    pub(crate) described: Described,
}

/// Who takes a seat, and where.
pub(crate) enum Seating {
    Local(Vec<Hosted>),
    Guarded(Vec<Hosted>),
    Process(Made),
}

impl Hosts {
    pub(crate) fn new(run: Arc<RunIdentity>, threads: usize) -> Self {
        Self {
            local: LocalHost::new(run.clone(), threads),
            run,
            places: BTreeMap::new(),
            seats: BTreeMap::new(),
            shared: BTreeMap::new(),
            program: None,
            opened: 0,
            split: None,
            spare: StepRequest::default(),
            left_behind: Vec::new(),
        }
    }

    /// Sets what helper processes run.
    pub(crate) fn set_program(&mut self, program: HelperProgram) {
        self.program = Some(program);
    }

    /// Actors whose threads were left behind in a step that did not come back, in the order in which it was noticed.
    pub(crate) fn left_behind(&self) -> &[ActorPath] {
        &self.left_behind
    }

    /// Has an actor made in a helper process, which is started when there is none yet.
    ///
    /// # Errors
    /// Why it was not made, in a sentence.
    pub(crate) fn make(
        &mut self,
        path: &ActorPath,
        node: &NodeRequest,
        name: &HelperName,
        hosting: &Hosting,
    ) -> Result<Made, NotMade> {
        let place = self.helper(name, hosting)?;
        let Some(Place { kind: Kind::Process(helper), .. }) = self.places.get_mut(&place) else {
            return Err(NotMade::NoHelper("its helper process has ended".to_owned()));
        };
        match helper.make(path, node, hosting.once()) {
            Ok(described) => Ok(Made { place, described }),
            Err(error) => {
                // With whoever does not answer all are lost that are stepped there.
                if let NotMade::NoHelper(text) = &error {
                    self.lose(place, format!("when `{path}` was made in its helper process: {text}"));
                }
                self.close_if_empty(place);
                Err(error)
            }
        }
    }

    fn helper(&mut self, name: &HelperName, hosting: &Hosting) -> Result<u32, NotMade> {
        if let HelperName::Shared(name) = name
            && let Some(&place) = self.shared.get(name)
        {
            return Ok(place);
        }
        let no_helper = |text| NotMade::NoHelper(text);
        let Some(program) = &self.program else {
            let text = "it is to be stepped in a helper process, and this program has not said which program helper processes \
                        run; call `set_helper`, or run it by the command";
            return Err(no_helper(text.to_owned()));
        };
        let helper = Helper::start(program, &self.run, hosting.memory, hosting.once()).map_err(no_helper)?;
        let place = self.open(Kind::Process(Box::new(helper)));
        if let HelperName::Shared(name) = name {
            self.shared.insert(name.clone(), place);
        }
        Ok(place)
    }

    fn open(&mut self, kind: Kind) -> u32 {
        let place = self.opened;
        self.opened += 1;
        let entry = Place {
            kind,
            numbers: Numbers::default(),
            request: StepRequest::default(),
            waiting: Vec::new(),
            deadline: Deadline::never(),
            seats: 0,
        };
        self.places.insert(place, entry);
        place
    }

    /// Gives up a place: a thread is left behind, a process is ended.
    fn lose(&mut self, place: u32, why: String) {
        if let Some(entry) = self.places.get_mut(&place) {
            entry.kind = Kind::Lost(why);
        }
        self.shared.retain(|_, other| *other != place);
    }

    /// Ends a place at which nobody has a seat.
    fn close_if_empty(&mut self, place: u32) {
        if self.places.get(&place).is_some_and(|place| place.seats == 0) {
            self.shared.retain(|_, other| *other != place);
            self.places.remove(&place);
        }
    }

    /// Lets go of an actor that was made and cannot join.
    pub(crate) fn discard(&mut self, made: &Made) {
        if let Some(Place { kind: Kind::Process(helper), .. }) = self.places.get_mut(&made.place) {
            helper.discard();
        }
        self.close_if_empty(made.place);
    }

    /// Takes an actor in, whose leaves have these slots.
    ///
    /// # Errors
    /// When the system starts no thread for it.
    pub(crate) fn seat(
        &mut self,
        path: &ActorPath,
        slots: Range<u32>,
        seating: Seating,
        hosting: &Hosting,
    ) -> Result<(), String> {
        for place in self.places.values_mut() {
            place.numbers.forget(slots.clone());
        }
        let place = match seating {
            Seating::Local(leaves) => {
                self.local.add(leaves);
                return Ok(());
            }
            Seating::Guarded(mut leaves) => {
                for (number, hosted) in (0..).zip(&mut leaves) {
                    hosted.port.set_leaf(number);
                }
                let guarded = Guarded::start(&self.run, leaves, path.as_str())
                    .map_err(|error| format!("the system starts no thread for it ({error})"))?;
                self.open(Kind::Thread(Box::new(guarded)))
            }
            Seating::Process(made) => made.place,
        };
        let Some(entry) = self.places.get_mut(&place) else { return Ok(()) };
        let first = entry.numbers.seat(slots.clone());
        entry.seats += 1;
        if let Kind::Process(helper) = &mut entry.kind {
            helper.seat(first, StepBounds::MESSAGE);
        }
        let (timeout, once) = (hosting.timeout.unwrap_or(Hosting::TIMEOUT), hosting.once());
        self.seats.insert(slots.start, Seat { place, first, path: path.clone(), timeout, once });
        Ok(())
    }

    /// Takes a request apart.
    fn take_apart(&mut self, mut request: StepRequest) {
        self.local.declare(&mut request.outputs);
        let mut here = std::mem::take(&mut self.spare);
        here.like(&request);
        let mut split = Split { whole: StepRequest::default(), here: Vec::new(), leaves_here: Vec::new() };
        let mut items = std::mem::take(&mut request.inbox);
        let mut inbox = items.drain(..);
        let mut taken = 0;
        let Self { local, places, seats, .. } = self;
        for (at, actor) in (0..).zip(&request.actors) {
            let leaves = request.leaves_of(at as usize);
            let seat = seats.get(&actor.slot);
            let place = seat.and_then(|seat| Some((seat, places.get_mut(&seat.place)?)));
            match place {
                None => {
                    split.here.push(at);
                    split.leaves_here.extend(leaves.clone().map(|leaf| leaf as u32));
                    here.push(*actor, &request.leaves[leaves], &mut inbox, &mut taken, |leaf| leaf, |item| item);
                }
                Some((seat, place)) => {
                    let Place { numbers, request: part, waiting, .. } = place;
                    if waiting.is_empty() {
                        if let Some(remote) = place.kind.remote() {
                            *part = remote.spare();
                        }
                        part.like(&request);
                    }
                    waiting.push(at);
                    let (first, slot) = (seat.first, actor.slot);
                    let mut news = std::mem::take(&mut part.outputs);
                    let actor = ActorStep { slot: first, ..*actor };
                    let number = |item: Inbound| Inbound {
                        output: numbers.output(item.output, local.outputs(), &mut news),
                        ..item
                    };
                    let leaf = |leaf: u32| first + leaf - slot;
                    part.push(actor, &request.leaves[leaves], &mut inbox, &mut taken, leaf, number);
                    part.outputs = news;
                }
            }
        }
        drop(inbox);
        request.inbox = items;
        for place in self.places.values_mut().filter(|place| !place.waiting.is_empty()) {
            let first = place.waiting.first().and_then(|&at| request.actors.get(at as usize));
            let timeout =
                first.and_then(|actor| self.seats.get(&actor.slot)).map_or(Hosting::TIMEOUT, |seat| seat.timeout);
            place.deadline = Deadline::after(timeout);
            let part = std::mem::take(&mut place.request);
            if let Some(remote) = place.kind.remote() {
                remote.begin(part);
            }
        }
        self.local.begin(here);
        split.whole = request;
        self.split = Some(Box::new(split));
    }

    /// Waits for all and puts their replies together.
    fn put_together(&mut self, split: Split) -> StepReply {
        let Split { whole, here, leaves_here } = split;
        let mut reply = {
            span!("local host");
            self.local.finish()
        };
        let mut parts = std::mem::take(&mut reply.parts);
        self.spare = reply.request;
        self.spare.clear();
        let global = |index: &mut u32| *index = leaves_here[*index as usize];
        parts.iter_mut().for_each(|part| part.reindex(global));
        let (mut order, mut absent) = (here, BTreeSet::new());
        let mut outgoing = Vec::new();
        let places: Vec<u32> =
            self.places.iter().filter(|(_, place)| !place.waiting.is_empty()).map(|(place, _)| *place).collect();
        for place in places {
            self.collect(place, &whole, &mut order, &mut absent, &mut parts, &mut outgoing);
        }
        let part = gather(&whole, &order, &mut parts, &absent);
        outgoing.sort_by_key(|outgoing: &Outgoing| outgoing.slot);
        StepReply { parts: vec![part], outgoing, request: whole }
    }

    /// Takes in what the actors of one place did.
    fn collect(
        &mut self,
        number: u32,
        whole: &StepRequest,
        order: &mut Vec<u32>,
        absent: &mut BTreeSet<u32>,
        parts: &mut Vec<ReplyPart>,
        outgoing: &mut Vec<Outgoing>,
    ) {
        let Self { places, seats, left_behind, shared, .. } = self;
        let Some(place) = places.get_mut(&number) else { return };
        let mut deadline = place.deadline;
        let waiting = std::mem::take(&mut place.waiting);
        let mut lost: Option<HaltCause> = None;
        for (done, &at) in waiting.iter().enumerate() {
            let actor = whole.actors[at as usize];
            let seat = seats.get(&actor.slot);
            let timeout = seat.map_or(Hosting::TIMEOUT, |seat| seat.timeout);
            if done > 0 {
                deadline = Deadline::after(timeout);
            }
            span!("wait", path = seat.map_or("", |seat| seat.path.as_str()));
            let answer = match (&lost, &mut place.kind) {
                (Some(cause), _) => Err(cause.clone()),
                (None, Kind::Thread(guarded)) => guarded.next(deadline),
                (None, Kind::Process(helper)) => helper.next(deadline),
                (None, Kind::Lost(why)) => Err(HaltCause::Lost(why.clone())),
            };
            match answer {
                Ok(Answer { mut part, took }) => {
                    part.reindex(|index| *index += actor.first_leaf);
                    if took > timeout {
                        let cause = HaltCause::TimedOut { timeout, took: Some(took) };
                        outgoing.push(Outgoing { slot: actor.slot, cause });
                    }
                    parts.push(part);
                    order.push(at);
                }
                Err(cause) => {
                    if lost.is_none() {
                        if let (Kind::Thread(_), HaltCause::TimedOut { .. }, Some(seat)) = (&place.kind, &cause, seat) {
                            left_behind.push(seat.path.clone());
                        }
                        lost = Some(match (&cause, seat) {
                            (HaltCause::TimedOut { .. }, Some(seat)) => HaltCause::Lost(format!(
                                "it shares a helper process with `{}`, which took longer than its timeout",
                                seat.path
                            )),
                            _ => cause.clone(),
                        });
                        // A thread is left behind; a process is ended, with all that are stepped in it.
                        place.kind = Kind::Lost("its helper process was ended".to_owned());
                        shared.retain(|_, other| *other != number);
                    }
                    let failure = StepFailure { index: actor.first_leaf, cause };
                    let mut part = ReplyPart::default();
                    if actor.removable {
                        part.lost.push(failure)
                    } else {
                        part.failures.push(failure)
                    }
                    absent.insert(at);
                    parts.push(part);
                }
            }
        }
        // Those who were not asked, or have answered, cannot be asked again.
        if let Some(cause) = lost {
            for (&slot, _) in seats.iter().filter(|(_, seat)| seat.place == number) {
                let was_lost = absent.iter().any(|&at| whole.actors[at as usize].slot == slot);
                if !was_lost && !outgoing.iter().any(|outgoing| outgoing.slot == slot) {
                    outgoing.push(Outgoing { slot, cause: cause.clone() });
                }
            }
        }
    }
}

impl Drop for Hosts {
    /// Lets go of all who are stepped elsewhere, at the same time: what they do then is done when this comes back, unless it
    /// takes longer than they may take.
    fn drop(&mut self) {
        self.places.values_mut().for_each(|place| match &mut place.kind {
            Kind::Thread(guarded) => guarded.ask_to_end(),
            Kind::Process(helper) => helper.ask_to_end(),
            Kind::Lost(_) => {}
        });
        let deadline = Deadline::after(PARTING);
        for place in self.places.values_mut() {
            if let Kind::Thread(guarded) = &mut place.kind {
                // Who hangs now is left behind, and ends with the process.
                let _ = guarded.await_end(deadline);
            }
        }
    }
}

impl Host for Hosts {
    fn add(&mut self, leaves: Vec<Hosted>) {
        self.local.add(leaves);
    }

    fn remove(&mut self, slots: Range<u32>) {
        let Some(Seat { place, first, path, once, .. }) = self.seats.remove(&slots.start) else {
            return self.local.remove(slots);
        };
        let Some(entry) = self.places.get_mut(&place) else { return };
        entry.seats -= 1;
        let parted = entry.kind.remote().map_or(Ok(()), |remote| remote.remove(first, once));
        match parted {
            Ok(()) => {}
            Err(Parting::Ended(why)) => self.lose(place, why),
            Err(Parting::Hangs) => {
                if matches!(entry.kind, Kind::Thread(_)) {
                    self.left_behind.push(path.clone());
                }
                self.lose(place, format!("`{path}` shared its helper process, and did not answer when it left"));
            }
            Err(Parting::Panicked(text)) => {
                self.close_if_empty(place);
                resume_unwind(Box::new(text));
            }
        }
        self.close_if_empty(place);
    }

    fn batch(&self) -> usize {
        // Whoever is stepped elsewhere works at the same time as all others only when all are asked at once.
        if self.seats.is_empty() { self.local.batch() } else { usize::MAX }
    }

    fn begin(&mut self, request: StepRequest) {
        let is_here = |actor: &ActorStep| !self.seats.contains_key(&actor.slot);
        if self.seats.is_empty() || request.actors.iter().all(is_here) {
            self.local.begin(request);
        } else {
            self.take_apart(request);
        }
    }

    fn finish(&mut self) -> StepReply {
        match self.split.take() {
            None => self.local.finish(),
            Some(split) => self.put_together(*split),
        }
    }
}

impl StepRequest {
    /// Makes this an empty request of the same instant as another.
    fn like(&mut self, other: &Self) {
        self.clear();
        (self.now, self.keep_texts) = (other.now, other.keep_texts);
    }

    /// The leaves of one of its actors.
    pub(crate) fn leaves_of(&self, actor: usize) -> Range<usize> {
        let first = self.actors[actor].first_leaf as usize;
        let end = self.actors.get(actor + 1).map_or(self.leaves.len(), |next| next.first_leaf as usize);
        first..end
    }

    /// Adds an actor of another request, whose inbox is given out item by item, of which `taken` were given out before.
    fn push(
        &mut self,
        actor: ActorStep,
        leaves: &[LeafStep],
        inbox: &mut impl Iterator<Item = Inbound>,
        taken: &mut u32,
        leaf: impl Fn(u32) -> u32,
        item: impl FnMut(Inbound) -> Inbound,
    ) {
        self.actors.push(ActorStep { first_leaf: self.leaves.len() as u32, ..actor });
        let base = self.inbox.len() as u32;
        let start = *taken;
        for step in leaves {
            self.leaves.push(LeafStep { leaf: leaf(step.leaf), inbox_end: base + step.inbox_end - start, ..*step });
        }
        let end = leaves.last().map_or(start, |last| last.inbox_end);
        self.inbox.extend(inbox.take((end - start) as usize).map(item));
        *taken = end;
    }
}

impl ReplyPart {
    /// Changes the indices of leaves in it.
    fn reindex(&mut self, change: impl Fn(&mut u32)) {
        self.declared.iter_mut().for_each(|(index, _)| change(index));
        self.requests.iter_mut().for_each(|(index, _)| change(index));
        self.times.iter_mut().for_each(|(index, _)| change(index));
        self.failures.iter_mut().for_each(|failure| change(&mut failure.index));
        self.lost.iter_mut().for_each(|failure| change(&mut failure.index));
    }
}
