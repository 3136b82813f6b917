//! Open-loop resimulation: recorded participants publish again what they published, at the times at which they did, and
//! the rest of the world is new.
//!
//! What is played back hears nothing, so nothing that a changed participant does reaches it. Nothing is compared. The
//! run is a run like any other: it can be recorded, and its log verified.
//!
//! ```no_run
//! use bevy_app::App;
//! use chaconne_conductor::{ConductorAppExt, ConductorPlugin};
//! use chaconne_record::Playback;
//! use chaconne_sim_core::SimTime;
//!
//! let log = Playback::open("run.jsonl")?;
//! let conductor = ConductorPlugin { seed: log.header().seed, end: Some(log.end()), ..Default::default() };
//! let mut app = App::new();
//! app.add_plugins(conductor);
//! // … the changed ego, live, and everybody else from the log …
//! for actor in log.actors(|path| path.segments().next() != Some("ego"))? {
//!     app.add_actor(actor);
//! }
//! let report = app.run_headless(SimTime::MAX);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The seed and the world's name of the new run are its own: what is played back draws nothing, and is heard under the
//! keys of the world that it is in.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use chaconne_conductor::{Actor, Group};
use chaconne_sim_core::fingerprint::MembershipKind;
use chaconne_sim_core::{ActorPath, Participant, Payload, SimDuration, SimTime, StepCtx, StepError, StepResult};

use crate::check::Checker;
use crate::error::LogError;
use crate::instant::{InstantRecord, RecordedMembership};
use crate::line::Header;
use crate::reader::{Block, LogReader};

/// A log whose participants can be played back.
pub struct Playback {
    header: Header,
    file: PathBuf,
    /// Who is in the log, in the order of joining; one whose path joins again is there once for each time.
    recorded: Vec<Recorded>,
    /// The paths in the log, each with its first in `recorded`.
    numbers: BTreeMap<Box<str>, usize>,
    end: SimTime,
    /// Who has been handed out: a log is played once.
    taken: Mutex<BTreeSet<usize>>,
    tape: Arc<Mutex<Tape>>,
}

/// A participant in the log.
#[derive(Clone, Debug)]
struct Recorded {
    path: ActorPath,
    life: Life,
}

/// When a participant is in the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Life {
    first_due: SimTime,
    leaves_at: Option<SimTime>,
    /// When it joins, for one that is not there from the start on.
    joins_at: Option<SimTime>,
}

impl Playback {
    /// Opens a log, checks it, and looks through it for who joins and leaves when.
    ///
    /// # Errors
    /// When it cannot be read, is not right, was cut off, lacks instants, or is being written.
    pub fn open(file: impl AsRef<Path>) -> Result<Self, LogError> {
        let file = file.as_ref();
        let unfit = |why: &str| LogError::Unfit { what: format!("{} cannot be played back: {why}", file.display()) };
        if file == Path::new("-") {
            return Err(unfit("it is read twice, and the standard input can be read once; give a file"));
        }
        let (recorded, end) = scan(file)?;
        let log = LogReader::follow(file)?;
        let header = log.header().clone();
        let mut numbers: BTreeMap<Box<str>, usize> = BTreeMap::new();
        for (recorded, number) in recorded.iter().zip(0..) {
            numbers.entry(recorded.path.as_str().into()).or_insert(number);
        }
        let places = vec![None; recorded.len()];
        let tape = Tape { log, instant: InstantRecord::default(), at: At::Start, numbers: numbers.clone(), places };
        Ok(Self {
            header,
            file: file.to_owned(),
            recorded,
            numbers,
            end,
            taken: Mutex::default(),
            tape: Arc::new(Mutex::new(tape)),
        })
    }

    /// The log's header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// How far the log can be played: the earliest time at which somebody in it would have been due after its last
    /// instant, [`SimTime::MAX`] when nobody was to be due any more. A run that goes on beyond halts, because those who
    /// are played back would stand still.
    pub fn end(&self) -> SimTime {
        self.end
    }

    /// The participants in the log, in the order of their joining; a path that joined again is there again.
    pub fn paths(&self) -> impl ExactSizeIterator<Item = &ActorPath> {
        self.recorded.iter().map(|recorded| &recorded.path)
    }

    /// One participant, to be put into an actor whose other parts are live, at the path that it had. It joins and
    /// leaves with that actor; when it left before, it falls silent. Of a path that joined several times it is the first.
    ///
    /// # Errors
    /// When nobody of this path is in the log, or it was handed out before.
    pub fn participant(&self, path: &ActorPath) -> Result<Played, LogError> {
        match self.numbers.get(path.as_str()) {
            Some(&number) => self.played(number),
            None => Err(LogError::Unfit { what: format!("nobody called `{path}` is in {}", self.file.display()) }),
        }
    }

    fn played(&self, number: usize) -> Result<Played, LogError> {
        let recorded = &self.recorded[number];
        if !self.taken.lock().unwrap_or_else(PoisonError::into_inner).insert(number) {
            let what = format!(
                "`{}` of {} is played back already, and a log is wound in one direction: open it again for another world",
                recorded.path,
                self.file.display()
            );
            return Err(LogError::Unfit { what });
        }
        let number = self.numbers.get(recorded.path.as_str()).copied().unwrap_or(number);
        Ok(Played { number, leaves_at: recorded.life.leaves_at, tape: self.tape.clone() })
    }

    /// Actors of the participants that `select` picks by their paths, to be added to a world in this order. They are
    /// first due when they were, and leave when they did. Those who joined later join when they did ([`Actor::joins_at`]).
    ///
    /// Participants under one path become one actor as far as they join and leave together. Those under the path of
    /// participants that are not picked become actors of their own under it, so a live actor of that path has to be
    /// added before.
    ///
    /// # Errors
    /// When nobody is picked, or one that is was handed out before, or may have been a
    /// part of an actor together with one that is not picked: the log does not say, and a part is heard at once where
    /// an actor is heard at the next step. Put such a one where it belongs with [`participant`](Self::participant).
    pub fn actors(&self, select: impl Fn(&ActorPath) -> bool) -> Result<Vec<Actor>, LogError> {
        // Paths at which something live stands, so that an actor can stand under them.
        let mut standing = Standing::default();
        // Those under one outermost path are looked at together; trees come in the order of their first participants.
        let mut trees: Vec<Vec<usize>> = Vec::new();
        let mut tree_of: BTreeMap<&str, usize> = BTreeMap::new();
        for (Recorded { path, life }, number) in self.recorded.iter().zip(0..) {
            // One that left before it was due did nothing.
            if life.joins_at.is_some() && life.leaves_at.is_some_and(|time| time <= life.first_due) {
                continue;
            }
            if select(path) {
                let tree = *tree_of.entry(path.segments().next().unwrap_or_default()).or_insert(trees.len());
                if tree == trees.len() {
                    trees.push(Vec::new());
                }
                trees[tree].push(number);
            } else {
                standing.add(path, *life);
            }
        }
        if trees.is_empty() {
            let names: Vec<&str> = self.paths().take(5).map(ActorPath::as_str).collect();
            let what =
                format!("nobody in {} was picked; in it are {} and so on", self.file.display(), names.join(", "));
            return Err(LogError::Unfit { what });
        }
        for tree in &trees {
            self.refuse_halves(tree, &standing)?;
        }
        let mut actors = Vec::new();
        for tree in trees {
            self.tree(tree, &mut standing, &mut actors)?;
        }
        // In the order of joining; who stands under another's path joined after it.
        actors.sort_by_key(|(first, _)| *first);
        Ok(actors.into_iter().map(|(_, actor)| actor).collect())
    }

    /// Refuses what may be a part of an actor that is live otherwise: it joined and left with one that is not picked.
    /// `standing` are the paths of those that are not, and of what is above them.
    fn refuse_halves(&self, tree: &[usize], standing: &Standing) -> Result<(), LogError> {
        let Some(outermost) = tree.first().map(|&first| outermost(&self.recorded[first].path)) else { return Ok(()) };
        // A participant alone at the outermost path has no parts.
        if !standing.0.contains_key(&outermost) || self.numbers.contains_key(outermost.as_str()) {
            return Ok(());
        }
        let picked: BTreeSet<usize> = tree.iter().copied().collect();
        let live = self
            .recorded
            .iter()
            .zip(0..)
            .filter(|(recorded, number)| recorded.path.is_within(&outermost) && !picked.contains(number));
        let live: Vec<&Recorded> = live.map(|(recorded, _)| recorded).collect();
        for &number in tree {
            let picked = &self.recorded[number];
            if let Some(live) = live.iter().find(|live| live.life == picked.life) {
                let what = format!(
                    "{}: `{}` may have been a part of one actor with `{}`, which is not to be played back; put it into an \
                     actor yourself, with Playback::participant",
                    self.file.display(),
                    picked.path,
                    live.path
                );
                return Err(LogError::Unfit { what });
            }
        }
        Ok(())
    }

    /// Actors of participants under one outermost path.
    fn tree(
        &self,
        mut rest: Vec<usize>,
        standing: &mut Standing,
        actors: &mut Vec<(usize, Actor)>,
    ) -> Result<(), LogError> {
        while let Some(&first) = rest.first() {
            let Recorded { path, life } = &self.recorded[first];
            let root = ancestors(path).find(|path| !standing.has(path, life)).unwrap_or_else(|| path.clone());
            let together = |number: usize| {
                let other = &self.recorded[number];
                // A participant has no parts: who stands under its path is an actor of its own.
                let stands_alone = |path: ActorPath| path.is_within(&root) && self.numbers.contains_key(path.as_str());
                other.life == *life
                    && other.path.is_within(&root)
                    && (other.path == *path || !ancestors(&other.path).any(stands_alone))
            };
            let members: Vec<usize> = rest.iter().copied().filter(|&number| together(number)).collect();
            rest.retain(|number| !members.contains(number));
            for &number in &members {
                standing.add(&self.recorded[number].path, *life);
            }
            let actor = if root == *path {
                Actor::of(root.as_str(), self.played(first)?)
            } else {
                Actor::of(root.as_str(), self.group(root.segments().count(), &members)?)
            };
            let actor = actor.first_due(life.first_due);
            let actor = match life.joins_at {
                Some(time) => actor.joins_at(time),
                None => actor,
            };
            let actor = match life.leaves_at {
                Some(time) => actor.leaves_at(time),
                None => actor,
            };
            actors.push((first, actor));
        }
        Ok(())
    }

    /// Members under one path as a tree; `depth` segments of their paths lie above it.
    fn group(&self, depth: usize, members: &[usize]) -> Result<Group, LogError> {
        let name = |number: usize| self.recorded[number].path.segments().nth(depth).unwrap_or_default();
        let is_leaf = |number: usize| self.recorded[number].path.segments().count() == depth + 1;
        let mut group = Actor::group();
        let mut done = BTreeSet::new();
        for &number in members {
            if !done.insert(name(number)) {
                continue;
            }
            if is_leaf(number) {
                group = group.child(name(number), self.played(number)?);
            } else {
                let inner: Vec<usize> = members.iter().copied().filter(|&other| name(other) == name(number)).collect();
                group = group.child(name(number), self.group(depth + 1, &inner)?);
            }
        }
        Ok(group)
    }
}

/// At which paths something stands, and when: an actor can be put under it then.
#[derive(Default)]
struct Standing(BTreeMap<ActorPath, BTreeSet<Life>>);

impl Standing {
    fn add(&mut self, path: &ActorPath, life: Life) {
        for path in ancestors(path).chain([path.clone()]) {
            self.0.entry(path).or_default().insert(life);
        }
    }

    /// Whether something stands at a path when one with this life joins.
    fn has(&self, path: &ActorPath, life: &Life) -> bool {
        let is_there = |other: &Life| match life.joins_at {
            None => other.joins_at.is_none(),
            Some(now) => other.joins_at <= Some(now) && other.leaves_at.is_none_or(|time| time > now),
        };
        self.0.get(path).is_some_and(|lives| lives.iter().any(is_there))
    }
}

/// The first segment of a path.
fn outermost(path: &ActorPath) -> ActorPath {
    ancestors(path).next().unwrap_or_else(|| path.clone())
}

/// The paths above a path, from the outermost on.
fn ancestors(path: &ActorPath) -> impl Iterator<Item = ActorPath> {
    let mut above: Vec<ActorPath> = std::iter::successors(path.parent(), ActorPath::parent).collect();
    above.reverse();
    above.into_iter()
}

/// Looks through a log for joins and leaves.
fn scan(file: &Path) -> Result<(Vec<Recorded>, SimTime), LogError> {
    let mut log = LogReader::open(file)?;
    let mut checker = Checker::new(log.header());
    let mut instant = InstantRecord::default();
    let mut recorded: Vec<Recorded> = Vec::new();
    // Who is in the world, by path.
    let mut present: BTreeMap<Box<str>, usize> = BTreeMap::new();
    let mut tick = 0;
    loop {
        match log.next_block(&mut instant)? {
            Block::Instant => checker.instant(&instant).map_err(|(line, what)| log.fault(line, what))?,
            Block::Gap { line, .. } => {
                return Err(log.fault(line, "instants are missing here, so the log cannot be played back".to_owned()));
            }
            Block::Last { last, line } => {
                checker.last(&last).map_err(|what| log.fault(line, what))?;
                return Ok((recorded, checker.next_due()));
            }
        }
        let now = instant.time;
        // What was before the instant was stepped comes first. It surely was when somebody behind it joined or left at it.
        let at_it = instant.membership().zip(1..).filter(|(recorded, _)| recorded.change.time == now);
        let before = at_it.map(|(_, place)| place).last().unwrap_or(0);
        // Until somebody has left in the first instant, those who join are there from the start on.
        let mut is_start = tick == 0;
        for (RecordedMembership { change, line }, place) in instant.membership().zip(0..) {
            let fault = |what: String| log.fault(line, what);
            let path = ActorPath::new(change.path).map_err(|error| fault(error.to_string()))?;
            match change.kind {
                MembershipKind::Join => {
                    let joins_at = if place < before { now } else { just_after(now) };
                    present.insert(change.path.into(), recorded.len());
                    let joins_at = (!is_start).then_some(joins_at);
                    recorded.push(Recorded { path, life: Life { first_due: change.time, leaves_at: None, joins_at } });
                }
                MembershipKind::Leave => match present.remove(change.path) {
                    Some(number) => {
                        is_start = false;
                        recorded[number].life.leaves_at = Some(change.time);
                    }
                    None => return Err(fault(format!("`{path}` leaves, and is not in the world"))),
                },
            }
        }
        tick += 1;
    }
}

/// The first time after an instant.
fn just_after(now: SimTime) -> SimTime {
    now.checked_add(SimDuration::from_nanos(1)).unwrap_or(SimTime::MAX)
}

/// Plays one participant back: publishes what it published when it did, and is due when it was.
pub struct Played {
    number: usize,
    leaves_at: Option<SimTime>,
    tape: Arc<Mutex<Tape>>,
}

/// The log, wound to an instant. Whoever steps first at an instant winds it; the order among them changes nothing.
struct Tape {
    log: LogReader,
    instant: InstantRecord,
    at: At,
    /// Participants by path.
    numbers: BTreeMap<Box<str>, usize>,
    /// Where each participant's step is in the instant, with the instant's number.
    places: Vec<Option<(u64, usize)>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Start,
    Instant(SimTime),
    End,
}

impl Tape {
    /// Winds to an instant; says whether the log has it.
    fn wind(&mut self, now: SimTime) -> Result<bool, LogError> {
        loop {
            match self.at {
                At::Instant(time) if time >= now => return Ok(time == now),
                At::End => return Ok(false),
                At::Start | At::Instant(_) => {}
            }
            match self.log.next_block(&mut self.instant)? {
                Block::Instant => self.at = At::Instant(self.instant.time),
                Block::Gap { .. } | Block::Last { .. } => self.at = At::End,
            }
            if self.at == At::Instant(now) {
                for (step, place) in self.instant.steps().zip(0..) {
                    if let Some(&number) = self.numbers.get(step.step.path) {
                        self.places[number] = Some((self.instant.tick, place));
                    }
                }
            }
        }
    }
}

impl Participant for Played {
    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        // Poisoned means that another participant panicked while it read, and the run halts for that.
        let mut tape = self.tape.lock().unwrap_or_else(PoisonError::into_inner);
        let now = ctx.now();
        let is_there = tape.wind(now)?;
        let place = tape.places[self.number].filter(|(tick, _)| is_there && *tick == tape.instant.tick);
        let Some(step) = place.and_then(|(_, place)| tape.instant.step(place)) else {
            // The actor goes on where the participant had left.
            if self.leaves_at.is_some_and(|time| time <= now) {
                return Ok(ctx.never());
            }
            return Err(if tape.at == At::End { at_end(ctx) } else { not_there(ctx) });
        };
        let (there, here) = (tape.log.header().world.as_str(), ctx.world().to_owned());
        for recorded in step.signals() {
            let signal = recorded.signal;
            let payload = Payload::from_text(signal.payload.as_bytes())?;
            if there == here {
                ctx.publish_payload(signal.key, &payload)?;
            } else {
                let key = signal.key.strip_prefix("chaconne/").and_then(|key| key.strip_prefix(there));
                let key = key.map_or(signal.key.to_owned(), |rest| format!("chaconne/{here}{rest}"));
                ctx.publish_payload(&key, &payload)?;
            }
        }
        Ok(step.step.next_due)
    }
}

fn at_end(ctx: &StepCtx<'_>) -> StepError {
    format!("the log that is played back ends before {} s: end the run there, as Playback::end says", ctx.now()).into()
}

fn not_there(ctx: &StepCtx<'_>) -> StepError {
    format!(
        "the log that is played back has no step of it at {} s; it was put where it is due at other times",
        ctx.now()
    )
    .into()
}
