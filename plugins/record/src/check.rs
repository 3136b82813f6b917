//! Checking a log from itself alone: its order, and every hash computed again.

use std::collections::BTreeMap;
use std::path::Path;

use chaconne_sim_core::fingerprint::{self, Fingerprint, Frame, MembershipKind};
use chaconne_sim_core::path::ActorPath;
use chaconne_sim_core::time::SimTime;

use crate::error::LogError;
use crate::instant::{Fault, InstantRecord};
use crate::line::{End, Gap, Header, Last};
use crate::reader::{Block, LogReader};

/// What a check found, when it found nothing wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckReport {
    /// The header.
    pub header: Header,
    /// The last line.
    pub last: Last,
    /// Number of instants that are in the log.
    pub ticks: u64,
    /// Number of steps that are in the log.
    pub steps: u64,
    /// Number of signals that are in the log.
    pub signals: u64,
    /// Runs of instants that are missing. Empty, unless the log was recovered from damage.
    pub gaps: Vec<Gap>,
    /// The first instant and the last.
    pub span: Option<(SimTime, SimTime)>,
    /// Number of lines.
    pub lines: u64,
}

/// Checks a log: the order of its lines, who steps when, sequence numbers and counts, and every contribution, tick hash
/// and world hash computed again. `progress` is told the share that has been read, where that is known.
///
/// # Errors
/// The first thing that is wrong, with its line; also that the log was cut off.
pub fn check(file: impl AsRef<Path>, mut progress: impl FnMut(f64)) -> Result<CheckReport, LogError> {
    let mut log = LogReader::open(file)?;
    let mut checker = Checker::new(log.header());
    let mut instant = InstantRecord::default();
    loop {
        let place = |fault: Fault, log: &LogReader| log.fault(fault.0, fault.1);
        match log.next_block(&mut instant)? {
            Block::Instant => checker.instant(&instant).map_err(|fault| place(fault, &log))?,
            Block::Gap { gap, line } => checker.gap(gap).map_err(|what| place((line, what), &log))?,
            Block::Last { last, line } => {
                checker.last(&last).map_err(|what| place((line, what), &log))?;
                let Checker { ticks, steps, signals, gaps, span, .. } = checker;
                let (header, lines) = (log.header().clone(), log.line_number());
                return Ok(CheckReport { header, last, ticks, steps, signals, gaps, span, lines });
            }
        }
        if let Some(share) = log.progress() {
            progress(share);
        }
    }
}

/// Checks a log instant by instant.
pub(crate) struct Checker {
    participants: Participants,
    /// The world's hash so far; not known after a gap.
    world_hash: Option<Fingerprint>,
    pub(crate) next_tick: u64,
    /// A gap came last.
    after_gap: bool,
    now: Option<SimTime>,
    pub(crate) ticks: u64,
    pub(crate) steps: u64,
    pub(crate) signals: u64,
    pub(crate) gaps: Vec<Gap>,
    pub(crate) span: Option<(SimTime, SimTime)>,
    tick_frame: Frame,
    step_frame: Frame,
}

/// Who is in the world, as far as the log has said.
#[derive(Default)]
struct Participants {
    index: BTreeMap<Box<str>, usize>,
    rows: Vec<Row>,
    /// How many are due at each time.
    due: BTreeMap<SimTime, usize>,
    /// The row after the one that stepped last: who steps next, as a rule.
    likely: usize,
    /// Not everybody is known, because instants are missing.
    partial: bool,
    /// Counts the gaps.
    gaps: u32,
}

struct Row {
    path: Box<str>,
    /// `None` for one that has left.
    next_due: Option<SimTime>,
    last_step: Option<SimTime>,
    /// It is to leave at this time, which was said before.
    leaves_at: Option<SimTime>,
    /// Sequence number of its next signal, or the least that it can be where instants are missing.
    seq: u64,
    seq_is_known: bool,
    /// The number of gaps when it was heard of last: what was known of it before the last one may not hold any more.
    heard: u32,
    /// Who stepped after it last time.
    successor: usize,
}

impl Participants {
    fn find(&mut self, path: &str) -> Option<usize> {
        if self.rows.get(self.likely).is_some_and(|row| *row.path == *path) {
            return Some(self.likely);
        }
        self.index.get(path).copied()
    }

    /// Somebody who has not been heard of.
    fn add(&mut self, path: &str) -> usize {
        let at = self.rows.len();
        self.index.insert(path.into(), at);
        self.rows.push(Row {
            path: path.into(),
            next_due: None,
            last_step: None,
            leaves_at: None,
            seq: 0,
            seq_is_known: !self.partial,
            heard: self.gaps,
            successor: at + 1,
        });
        at
    }

    /// Takes in that instants are missing: anybody may have joined, stepped and left in them.
    fn lose(&mut self) {
        self.gaps += 1;
        self.partial = true;
        self.due.clear();
        for row in &mut self.rows {
            (row.next_due, row.last_step, row.leaves_at, row.seq_is_known) = (None, None, None, false);
        }
    }

    /// Who has this path, if anything is known of it since instants were missing; otherwise it may be anywhere, which
    /// is `Err`, with its row if it has one.
    fn known(&mut self, path: &str) -> Result<usize, Option<usize>> {
        match self.find(path) {
            Some(at) if self.rows[at].heard == self.gaps => Ok(at),
            lost => Err(lost),
        }
    }

    /// Somebody of whom something is heard for the first time since instants were missing.
    fn hear(&mut self, path: &str, lost: Option<usize>) -> usize {
        let at = lost.unwrap_or_else(|| self.add(path));
        self.rows[at].heard = self.gaps;
        at
    }

    fn set_due(&mut self, at: usize, next_due: Option<SimTime>) {
        let before = std::mem::replace(&mut self.rows[at].next_due, next_due);
        if before == next_due {
            return;
        }
        if let Some(time) = before
            && let Some(count) = self.due.get_mut(&time)
        {
            *count -= 1;
            if *count == 0 {
                self.due.remove(&time);
            }
        }
        if let Some(time) = next_due.filter(|time| *time != SimTime::MAX) {
            *self.due.entry(time).or_default() += 1;
        }
    }

    fn join(&mut self, path: &str, time: SimTime) -> Result<(), String> {
        if ActorPath::new(path).is_err() {
            return Err(format!("join: `{path}` is not a path"));
        }
        let at = match self.known(path) {
            Ok(at) if self.rows[at].next_due.is_some() => {
                return Err(format!("join: `{path}` joins, and is in the world already"));
            }
            // Sequence numbers of a path never restart.
            Ok(at) => at,
            Err(lost) => self.hear(path, lost),
        };
        self.set_due(at, Some(time));
        Ok(())
    }

    /// Takes in that somebody is not stepped from a time on.
    fn leave(&mut self, path: &str, time: SimTime) -> Result<(), String> {
        match self.known(path) {
            Ok(at) if self.rows[at].next_due.is_some() => {
                if let Some(last) = self.rows[at].last_step.filter(|last| *last >= time) {
                    return Err(format!("leave: `{path}` leaves at {time} s, and has stepped at {last} s"));
                }
                self.rows[at].leaves_at = Some(time);
                self.let_leave(at);
            }
            Err(lost) if self.partial => {
                self.hear(path, lost);
            }
            _ => return Err(format!("leave: `{path}` leaves, and is not in the world")),
        }
        Ok(())
    }

    /// Who is not due any more before the time of leaving has left.
    fn let_leave(&mut self, at: usize) {
        let row = &mut self.rows[at];
        if row.leaves_at.is_some_and(|time| row.next_due.is_none_or(|due| due >= time)) {
            row.leaves_at = None;
            self.set_due(at, None);
        }
    }

    /// Takes a step in: it has to be due now.
    fn step(&mut self, path: &str, now: SimTime, next_due: SimTime) -> Result<usize, String> {
        let at = match self.known(path) {
            Ok(at) => at,
            Err(lost) if self.partial => {
                let at = self.hear(path, lost);
                self.set_due(at, Some(now));
                at
            }
            Err(_) => return Err(format!("steps: `{path}` steps at {now} s, and has not joined")),
        };
        match self.rows[at].next_due {
            Some(due) if due == now => {}
            Some(due) if due == SimTime::MAX => {
                return Err(format!("steps: `{path}` steps at {now} s, and was never to be due again"));
            }
            Some(due) => return Err(format!("steps: `{path}` steps at {now} s, and was due next at {due} s")),
            None => return Err(format!("steps: `{path}` steps at {now} s, and has left the world")),
        }
        if next_due <= now {
            return Err(format!("next due: `{path}` steps at {now} s and is due next at {next_due} s, not later"));
        }
        self.set_due(at, Some(next_due));
        self.rows[at].last_step = Some(now);
        self.let_leave(at);
        Ok(at)
    }

    /// A participant that is due before a time and has not stepped.
    fn overdue(&self, before: SimTime) -> Option<(&str, SimTime)> {
        let (&time, _) = self.due.range(..before).next()?;
        let row = self.rows.iter().find(|row| row.next_due == Some(time))?;
        Some((&row.path, time))
    }
}

impl Checker {
    pub(crate) fn new(header: &Header) -> Self {
        Self {
            participants: Participants::default(),
            world_hash: Some(fingerprint::world_start(&header.world, header.seed)),
            next_tick: 0,
            after_gap: false,
            now: None,
            ticks: 0,
            steps: 0,
            signals: 0,
            gaps: Vec::new(),
            span: None,
            tick_frame: Frame::new(),
            step_frame: Frame::new(),
        }
    }

    /// Takes in that instants are missing.
    pub(crate) fn gap(&mut self, gap: Gap) -> Result<(), String> {
        if gap.tick != self.next_tick || gap.next <= gap.tick {
            return Err(format!(
                "tick: a gap from instant {} to {}, where instant {} comes next",
                gap.tick, gap.next, self.next_tick
            ));
        }
        if self.after_gap {
            return Err(format!("tick: a gap from instant {} on follows another", gap.tick));
        }
        self.after_gap = true;
        self.participants.lose();
        self.world_hash = None;
        self.next_tick = gap.next;
        self.gaps.push(gap);
        Ok(())
    }

    /// Whether the hash of the instant itself is what its lines give: they are as they were written.
    pub(crate) fn is_intact(&mut self, instant: &InstantRecord) -> bool {
        instant.tick_hash == Some(instant.compute_tick_hash(&mut self.tick_frame, &mut self.step_frame))
    }

    /// Checks the next instant.
    pub(crate) fn instant(&mut self, instant: &InstantRecord) -> Result<(), Fault> {
        let (first, line) = instant.line_numbers();
        let at_tick = |what: String| (line, what);
        if instant.tick != self.next_tick {
            let what = format!("tick: instant {} where instant {} comes next", instant.tick, self.next_tick);
            return Err((line, what));
        }
        let Some(next_tick) = self.next_tick.checked_add(1) else {
            return Err((line, format!("tick: instant {} has none after it that could be counted", instant.tick)));
        };
        let now = instant.time;
        if let Some(last) = self.now.filter(|last| now <= *last) {
            return Err((line, format!("time: instant {} is at {now} s, not after {last} s", instant.tick)));
        }
        for change in instant.membership() {
            let (change, at) = (change.change, |what: String| (change.line, what));
            match change.kind {
                MembershipKind::Join if change.time < now => {
                    let what = format!("join: `{}` is first due at {} s, before {now} s", change.path, change.time);
                    return Err(at(what));
                }
                MembershipKind::Join => self.participants.join(change.path, change.time).map_err(at)?,
                MembershipKind::Leave => self.participants.leave(change.path, change.time).map_err(at)?,
            }
        }
        if let Some((path, due)) = self.participants.overdue(now) {
            return Err((line, format!("steps: `{path}` was due at {due} s and has not stepped by {now} s")));
        }
        let due_now = self.participants.due.get(&now).copied().unwrap_or(0);
        let mut stepped = 0;
        let mut previous = None;
        for step in instant.steps() {
            let at = self.participants.step(step.step.path, now, step.step.next_due).map_err(at_tick)?;
            let rows = &mut self.participants.rows;
            if let Some(previous) = previous.replace(at) {
                let previous: &mut Row = &mut rows[previous];
                previous.successor = at;
            }
            for signal in step.signals() {
                let Row { seq, seq_is_known, path, .. } = &mut rows[at];
                let fits = if *seq_is_known { signal.seq == *seq } else { signal.seq >= *seq };
                let Some(next) = signal.seq.checked_add(1).filter(|_| fits) else {
                    let more = if *seq_is_known { "" } else { " at the earliest" };
                    let what =
                        format!("seq: `{path}` publishes its signal {}, where {seq} comes next{more}", signal.seq);
                    return Err((signal.line, what));
                };
                (*seq, *seq_is_known) = (next, true);
            }
            self.participants.likely = rows[at].successor;
            stepped += 1;
        }
        if stepped < due_now
            && let Some((path, _)) = self
                .participants
                .overdue(now.checked_add(chaconne_sim_core::SimDuration::from_nanos(1)).unwrap_or(SimTime::MAX))
        {
            return Err((line, format!("steps: `{path}` is due at {now} s and does not step at it")));
        }
        self.hashes(instant, first, line)?;
        self.next_tick = next_tick;
        self.after_gap = false;
        self.now = Some(now);
        self.span = Some((self.span.map_or(now, |span| span.0), now));
        self.ticks += 1;
        self.steps += stepped as u64;
        self.signals += instant.signal_count() as u64;
        Ok(())
    }

    fn hashes(&mut self, instant: &InstantRecord, first: u64, line: u64) -> Result<(), Fault> {
        let tick_hash = instant.compute_tick_hash(&mut self.tick_frame, &mut self.step_frame);
        let stated = |hash: Option<Fingerprint>| hash.map_or("none".to_owned(), |hash| hash.to_string());
        if instant.tick_hash != Some(tick_hash) {
            let what = format!(
                "tick hash: lines {first} to {line} (instant {} at {} s) have {tick_hash}, and {} is stated: one of them was \
                 changed, or is missing",
                instant.tick,
                instant.time,
                stated(instant.tick_hash)
            );
            return Err((line, what));
        }
        let world_hash = match self.world_hash {
            Some(previous) => fingerprint::world_next(previous, tick_hash),
            None => instant.world_hash.unwrap_or(tick_hash),
        };
        if instant.world_hash != Some(world_hash) {
            let what = format!(
                "world hash: it is {world_hash} after instant {}, and {} is stated",
                instant.tick,
                stated(instant.world_hash)
            );
            return Err((line, what));
        }
        self.world_hash = Some(world_hash);
        Ok(())
    }

    /// The earliest time at which somebody is due next.
    pub(crate) fn next_due(&self) -> SimTime {
        self.participants.due.first_key_value().map_or(SimTime::MAX, |(time, _)| *time)
    }

    /// Checks the last line.
    pub(crate) fn last(&mut self, last: &Last) -> Result<(), String> {
        if let Some(hash) = self.world_hash.filter(|hash| *hash != last.world_hash) {
            return Err(format!("world hash: it is {hash} at the end, and {} is stated", last.world_hash));
        }
        if last.ticks != self.next_tick {
            return Err(format!("ticks: the log has {} instants, and {} are stated", self.next_tick, last.ticks));
        }
        if let End::Halted(halted) = &last.end
            && let Some((tick, time)) = halted.instant
        {
            let after = halted.fails_after(self.next_tick);
            if tick != self.next_tick && !after {
                return Err(format!("tick: a halt at instant {tick}, where instant {} comes next", self.next_tick));
            }
            let expected = self.now.filter(|_| self.world_hash.is_some());
            if let Some(now) = expected.filter(|now| if after { time != *now } else { time <= *now }) {
                return Err(format!(
                    "time: a halt at {time} s in instant {tick}, where the last instant is at {now} s"
                ));
            }
        }
        for (name, counted, stated) in [("steps", self.steps, last.steps), ("signals", self.signals, last.signals)] {
            let agrees = if self.gaps.is_empty() { counted == stated } else { counted <= stated };
            if !agrees {
                return Err(format!("{name}: the log has {counted}, and {stated} are stated"));
            }
        }
        Ok(())
    }
}
