//! Checking a log from itself alone: its order, and every hash computed again.

mod participants;

use std::path::Path;

use chaconne_sim_core::fingerprint::{self, Fingerprint, Frame, MembershipKind};
use chaconne_sim_core::time::SimTime;

use crate::error::LogError;
use crate::instant::{Fault, InstantRecord, RecordedMembership};
use crate::line::{End, Gap, Header, Last};
use crate::reader::{Block, LogReader};

use participants::{Participants, Row};

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

    /// Checks one join or leave of an instant.
    fn membership(&mut self, recorded: &RecordedMembership<'_>, instant: &InstantRecord) -> Result<(), Fault> {
        let (change, at) = (recorded.change, |what: String| (recorded.line, what));
        let now = instant.time;
        if change.kind == MembershipKind::Leave {
            return self.participants.leave(change.path, change.time).map_err(at);
        }
        if change.time < now {
            let what = format!("join: `{}` is first due at {} s, before {now} s", change.path, change.time);
            return Err(at(what));
        }
        let left_before = || {
            let earlier = instant.membership().take_while(|earlier| earlier.line < recorded.line);
            let mut leaves = earlier.filter(|earlier| earlier.change.kind == MembershipKind::Leave);
            leaves.any(|earlier| earlier.change.path == change.path)
        };
        // The numbers of signals of those who join later begin behind all that there were, so that none comes twice.
        let first_seq = if instant.tick == 0 && !(change.time > now && left_before()) {
            0
        } else if change.time == now {
            self.signals
        } else {
            self.signals + instant.signal_count() as u64
        };
        self.participants.join(change.path, change.time, first_seq).map_err(at)
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
        // Who leaves right behind this instant steps at it first; what comes of that path afterwards can wait until then.
        let mut behind: Vec<RecordedMembership<'_>> = Vec::new();
        for change in instant.membership() {
            let path = change.change.path;
            let joins = change.change.kind == MembershipKind::Join;
            let waits = behind.iter().any(|earlier| earlier.change.path == path)
                || (joins && self.participants.leaves_behind(path, now));
            if waits {
                behind.push(change);
            } else {
                self.membership(&change, instant)?;
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
        for change in behind {
            self.membership(&change, instant)?;
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
