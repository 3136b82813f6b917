//! One instant of a log: its lines, and what they say.

use std::ops::{Deref, Range};

use chaconne_sim_core::fingerprint::{Fingerprint, Frame, MembershipKind};
use chaconne_sim_core::time::SimTime;

use crate::line::{Kind, Line, MembershipLine, SignalLine, StepEntry};

/// The lines of one instant, without its `observed` lines. Used again from instant to instant.
#[derive(Clone, Debug, Default)]
pub(crate) struct InstantText {
    /// The lines, each with its line feed.
    pub(crate) text: Vec<u8>,
    /// Where each line begins, and its number in the file.
    pub(crate) lines: Vec<(usize, u64)>,
}

impl InstantText {
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.lines.clear();
    }

    pub(crate) fn push(&mut self, number: u64, line: &[u8]) {
        self.lines.push((self.text.len(), number));
        self.text.extend_from_slice(line);
        self.text.push(b'\n');
    }

    /// The lines of `text`, which are not those of a file, numbered from `first`.
    pub(crate) fn set(&mut self, text: &[u8], first: u64) {
        self.clear();
        for (line, number) in text.split_inclusive(|byte| *byte == b'\n').zip(first..) {
            self.push(number, line.strip_suffix(b"\n").unwrap_or(line));
        }
    }

    /// The number of its first line and of its last, which is the `tick` line.
    pub(crate) fn numbers(&self) -> (u64, u64) {
        let number = |line: Option<&(usize, u64)>| line.map_or(0, |line| line.1);
        (number(self.lines.first()), number(self.lines.last()))
    }

    /// A line without its line feed, and its number.
    pub(crate) fn line(&self, index: usize) -> (&[u8], u64) {
        let (start, number) = self.lines[index];
        let end = self.lines.get(index + 1).map_or(self.text.len(), |next| next.0);
        (&self.text[start..end - 1], number)
    }
}

/// One instant, complete: what its lines say. Texts lie in the lines.
#[derive(Clone, Debug, Default)]
pub struct InstantRecord {
    pub(crate) lines: InstantText,
    /// Counts instants from zero.
    pub tick: u64,
    /// The simulation time.
    pub time: SimTime,
    /// The tick's hash, as the log states it.
    pub tick_hash: Option<Fingerprint>,
    /// The world's hash after this instant, as the log states it.
    pub world_hash: Option<Fingerprint>,
    membership: Vec<MemberRow>,
    steps: Vec<StepRow>,
    signals: Vec<SignalRow>,
}

#[derive(Clone, Debug)]
struct MemberRow {
    kind: MembershipKind,
    path: Range<usize>,
    time: SimTime,
    line: u64,
}

#[derive(Clone, Debug)]
struct StepRow {
    path: Range<usize>,
    next_due: SimTime,
    state: Option<Fingerprint>,
    /// Its signals, as indices.
    signals: Range<usize>,
}

#[derive(Clone, Debug)]
struct SignalRow {
    time: SimTime,
    path: Range<usize>,
    key: Range<usize>,
    seq: u64,
    payload: Range<usize>,
    line: u64,
}

/// A join or a leave of an instant.
#[derive(Clone, Copy, Debug)]
pub struct RecordedMembership<'a> {
    /// What the line says.
    pub change: MembershipLine<'a>,
    /// The line's number.
    pub line: u64,
}

/// A signal of an instant.
#[derive(Clone, Copy, Debug)]
pub struct RecordedSignal<'a> {
    /// What the line says.
    pub signal: SignalLine<'a>,
    /// The line's number.
    pub line: u64,
}

/// A step of an instant.
#[derive(Clone, Copy, Debug)]
pub struct RecordedStep<'a> {
    /// What the `tick` line says.
    pub step: StepEntry<'a>,
    record: &'a InstantRecord,
    index: usize,
}

impl<'a> Deref for RecordedMembership<'a> {
    type Target = MembershipLine<'a>;

    fn deref(&self) -> &MembershipLine<'a> {
        &self.change
    }
}

impl<'a> Deref for RecordedSignal<'a> {
    type Target = SignalLine<'a>;

    fn deref(&self) -> &SignalLine<'a> {
        &self.signal
    }
}

impl<'a> Deref for RecordedStep<'a> {
    type Target = StepEntry<'a>;

    fn deref(&self) -> &StepEntry<'a> {
        &self.step
    }
}

/// What is wrong with an instant's lines: the line's number, and a reason in words.
pub(crate) type Fault = (u64, String);

impl InstantRecord {
    /// Reads the lines. After an error the record must not be used.
    pub(crate) fn read(&mut self) -> Result<(), Fault> {
        self.membership.clear();
        self.steps.clear();
        self.signals.clear();
        let Self { lines, membership, steps, signals, .. } = self;
        let base = lines.text.as_ptr() as usize;
        // Slices of the lines as places in them; whatever happens to the memory, places stay right.
        let place = |slice: &str| {
            let start = slice.as_ptr() as usize - base;
            start..start + slice.len()
        };
        for index in 0..lines.lines.len() {
            let (text, line) = lines.line(index);
            let fault = |what: String| (line, what);
            match Line::parse(text).map_err(fault)? {
                Line::Membership(MembershipLine { kind, path, time }) => {
                    if !signals.is_empty() {
                        return Err((line, "a join or leave stands after a signal of its instant".to_owned()));
                    }
                    membership.push(MemberRow { kind, path: place(path), time, line });
                }
                Line::Signal(SignalLine { time, path, key, seq, payload }) => {
                    let (path, key, payload) = (place(path), place(key), place(payload));
                    signals.push(SignalRow { time, path, key, seq, payload, line });
                }
                Line::Tick(tick) => {
                    self.tick = tick.tick;
                    self.time = tick.time;
                    self.tick_hash = Some(tick.tick_hash);
                    self.world_hash = Some(tick.world_hash);
                    tick.steps(|StepEntry { path, next_due, state }| {
                        steps.push(StepRow { path: place(path), next_due, state, signals: 0..0 });
                    })
                    .map_err(fault)?;
                }
                _ => return Err((line, "a line of another kind stands inside an instant".to_owned())),
            }
        }
        self.assign()
    }

    /// Gives each step its signals.
    fn assign(&mut self) -> Result<(), Fault> {
        let text = &self.lines.text;
        let mut next = 0;
        for step in &mut self.steps {
            let first = next;
            while self.signals.get(next).is_some_and(|signal| text[signal.path.clone()] == text[step.path.clone()]) {
                next += 1;
            }
            step.signals = first..next;
        }
        if let Some(signal) = self.signals.get(next) {
            let path = self.text(&signal.path);
            let stepped = self.steps.iter().any(|step| self.text(&step.path) == path);
            let what = if stepped {
                format!("order: the signal of `{path}` is not in the order of the steps of its instant")
            } else {
                format!("a signal of `{path}`, which did not step at this instant ({} s)", self.time)
            };
            return Err((signal.line, what));
        }
        match self.signals.iter().find(|signal| signal.time != self.time) {
            Some(signal) => {
                let what = format!("time: the signal is of {} s, and its instant is at {} s", signal.time, self.time);
                Err((signal.line, what))
            }
            None => Ok(()),
        }
    }

    fn text(&self, place: &Range<usize>) -> &str {
        // Places are those of parts of checked lines.
        std::str::from_utf8(&self.lines.text[place.clone()]).unwrap_or_default()
    }

    /// The number of its first line, and of its `tick` line.
    pub fn line_numbers(&self) -> (u64, u64) {
        self.lines.numbers()
    }

    /// Joins and leaves, in order.
    pub fn membership(&self) -> impl ExactSizeIterator<Item = RecordedMembership<'_>> {
        self.membership.iter().map(|row| RecordedMembership {
            change: MembershipLine { kind: row.kind, path: self.text(&row.path), time: row.time },
            line: row.line,
        })
    }

    /// Steps, in the world's order.
    pub fn steps(&self) -> impl ExactSizeIterator<Item = RecordedStep<'_>> {
        (0..self.steps.len()).map(|index| self.step_at(index))
    }

    /// One step, by its place in the world's order.
    pub fn step(&self, index: usize) -> Option<RecordedStep<'_>> {
        (index < self.steps.len()).then(|| self.step_at(index))
    }

    fn step_at(&self, index: usize) -> RecordedStep<'_> {
        let row = &self.steps[index];
        let step = StepEntry { path: self.text(&row.path), next_due: row.next_due, state: row.state };
        RecordedStep { step, record: self, index }
    }

    /// Number of signals.
    pub fn signal_count(&self) -> usize {
        self.signals.len()
    }

    /// All signals, in order.
    pub fn signals(&self) -> impl ExactSizeIterator<Item = RecordedSignal<'_>> {
        self.signals.iter().map(|row| self.signal(row))
    }

    fn signal(&self, row: &SignalRow) -> RecordedSignal<'_> {
        RecordedSignal {
            signal: SignalLine {
                time: row.time,
                path: self.text(&row.path),
                key: self.text(&row.key),
                seq: row.seq,
                payload: self.text(&row.payload),
            },
            line: row.line,
        }
    }

    /// Computes the tick's hash from the lines.
    pub(crate) fn compute_tick_hash(&self, tick: &mut Frame, step: &mut Frame) -> Fingerprint {
        let bytes = |place: &Range<usize>| &self.lines.text[place.clone()];
        tick.clear();
        tick.u64(self.tick);
        tick.time(self.time);
        tick.u64(self.steps.len() as u64);
        for row in &self.steps {
            step.clear();
            step.bytes(bytes(&row.path));
            step.time(row.next_due);
            step.u64(row.signals.len() as u64);
            for signal in &self.signals[row.signals.clone()] {
                step.bytes(bytes(&signal.key));
                step.u64(signal.seq);
                step.bytes(bytes(&signal.payload));
            }
            match row.state {
                None => step.u8(0),
                Some(state) => {
                    step.u8(1);
                    step.fingerprint(state);
                }
            }
            tick.fingerprint(step.finish());
        }
        tick.u64(self.membership.len() as u64);
        for change in &self.membership {
            tick.u8(change.kind.as_byte());
            tick.bytes(bytes(&change.path));
            tick.time(change.time);
        }
        tick.finish()
    }
}

impl<'a> RecordedStep<'a> {
    /// What the step published, in order.
    pub fn signals(&self) -> impl ExactSizeIterator<Item = RecordedSignal<'a>> + use<'a> {
        let record = self.record;
        record.signals[record.steps[self.index].signals.clone()].iter().map(|row| record.signal(row))
    }
}

/// Whether a line of this kind is part of an instant.
pub(crate) fn is_part(kind: Kind) -> bool {
    matches!(kind, Kind::Join | Kind::Leave | Kind::Signal | Kind::Tick)
}
