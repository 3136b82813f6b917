//! The first difference between two records of one instant, or of two runs.

use std::fmt;

use chaconne_sim_core::fingerprint::{Fingerprint, MembershipKind};
use chaconne_sim_core::time::SimTime;

use crate::instant::{InstantRecord, RecordedMembership, RecordedSignal, RecordedStep};
use crate::line::Halted;

/// How much of a long value is shown on either side of its first difference.
const SHOWN: usize = 40;

/// What of a run differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Field {
    /// The world's name, in the header.
    World,
    /// The seed, in the header.
    Seed,
    /// Who joins, or when it is first due.
    Join,
    /// Who leaves, or when.
    Leave,
    /// The value of a signal.
    Payload,
    /// The key of a signal.
    Key,
    /// The sequence number of a signal.
    Seq,
    /// The order of signals or of steps.
    Order,
    /// A signal that the log does not have.
    MissingLine,
    /// A signal that only the log has.
    ExtraLine,
    /// Who steps at an instant.
    Steps,
    /// When a participant is due next.
    NextDue,
    /// The hash of a participant's state.
    State,
    /// The number of an instant.
    Tick,
    /// The time of an instant.
    Time,
    /// The hash of an instant.
    TickHash,
    /// The hash of the world.
    WorldHash,
    /// How many instants, steps and signals there are, in the last line.
    Counts,
    /// How the run ended.
    End,
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::World => "world",
            Self::Seed => "seed",
            Self::Join => "join",
            Self::Leave => "leave",
            Self::Payload => "payload",
            Self::Key => "key",
            Self::Seq => "seq",
            Self::Order => "order",
            Self::MissingLine => "missing line",
            Self::ExtraLine => "extra line",
            Self::Steps => "steps",
            Self::NextDue => "next due",
            Self::State => "state",
            Self::Tick => "tick",
            Self::Time => "time",
            Self::TickHash => "tick hash",
            Self::WorldHash => "world hash",
            Self::Counts => "counts",
            Self::End => "end",
        })
    }
}

/// Who is compared with the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Other {
    /// A run that goes on.
    Run,
    /// Another log.
    Log,
}

impl fmt::Display for Other {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Run => "the run",
            Self::Log => "the other log",
        })
    }
}

/// Where a log and something else differ, and in what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The line of the log.
    pub line: u64,
    /// The line of the other log, where there is one.
    pub other_line: Option<u64>,
    /// The instant's number and time, unless the header differs.
    pub instant: Option<(u64, SimTime)>,
    /// The participant, if it is about one.
    pub path: Option<String>,
    /// What differs.
    pub field: Field,
    /// What the log has.
    pub expected: String,
    /// What the other one has.
    pub found: String,
    /// Who that is.
    pub other: Other,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { instant, path, field, expected, found, other, .. } = self;
        write!(f, "{field} differs")?;
        if let Some((tick, time)) = instant {
            write!(f, " at instant {tick} ({time} s)")?;
        }
        if let Some(path) = path {
            write!(f, ", `{path}`")?;
        }
        write!(f, ": the log has {expected}, {other} has {found}")
    }
}

/// The parts of two texts where they differ, with three dots for what is left out.
fn excerpts(a: &str, b: &str) -> (String, String) {
    let same = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let cut = |text: &str| {
        let floor = |at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let (from, to) = (floor(same.saturating_sub(SHOWN)), floor(same + SHOWN));
        let dots = |there: bool| if there { "…" } else { "" };
        format!("{}{}{}", dots(from > 0), &text[from..to], dots(to < text.len()))
    };
    (cut(a), cut(b))
}

/// Compares what a log has of an instant with what somebody else has.
pub(crate) struct Comparison<'a> {
    expected: &'a InstantRecord,
    found: &'a InstantRecord,
    other: Other,
}

impl<'a> Comparison<'a> {
    pub(crate) fn new(expected: &'a InstantRecord, found: &'a InstantRecord, other: Other) -> Self {
        Self { expected, found, other }
    }

    /// The first difference, in the order of the lines.
    pub(crate) fn first(&self) -> Option<Difference> {
        self.tick()
            .or_else(|| self.membership())
            .or_else(|| self.time())
            .or_else(|| self.steps())
            .or_else(|| self.signals())
            .or_else(|| self.outcomes())
            .or_else(|| self.hashes())
    }

    fn difference(&self, field: Field, lines: (u64, u64), expected: String, found: String) -> Difference {
        Difference {
            line: lines.0,
            other_line: (self.other == Other::Log).then_some(lines.1),
            instant: Some((self.found.tick, self.found.time)),
            path: None,
            field,
            expected,
            found,
            other: self.other,
        }
    }

    /// The last line of both, which is the `tick` line.
    fn tick_lines(&self) -> (u64, u64) {
        (self.expected.line_numbers().1, self.found.line_numbers().1)
    }

    fn tick(&self) -> Option<Difference> {
        let (expected, found) = (self.expected, self.found);
        if expected.tick != found.tick {
            let texts = (format!("instant {}", expected.tick), format!("instant {}", found.tick));
            return Some(self.difference(Field::Tick, self.tick_lines(), texts.0, texts.1));
        }
        None
    }

    /// Who joins or leaves elsewhere moves an instant too: it is asked for after that.
    fn time(&self) -> Option<Difference> {
        let (expected, found) = (self.expected, self.found);
        (expected.time != found.time).then(|| {
            let texts = (format!("{} s", expected.time), format!("{} s", found.time));
            self.difference(Field::Time, self.tick_lines(), texts.0, texts.1)
        })
    }

    fn membership(&self) -> Option<Difference> {
        let (expected, found): (Vec<_>, Vec<_>) =
            (self.expected.membership().collect(), self.found.membership().collect());
        let same = |a: &RecordedMembership<'_>, b: &RecordedMembership<'_>| a.change == b.change;
        let at = expected.iter().zip(&found).take_while(|(a, b)| same(a, b)).count();
        let (a, b) = (expected.get(at), found.get(at));
        let text = |of: Option<&RecordedMembership<'_>>| match of {
            None => "none there".to_owned(),
            Some(of) => {
                let kind = if of.change.kind == MembershipKind::Join { "a join" } else { "a leave" };
                format!("{kind} of `{}` for {} s", of.change.path, of.change.time)
            }
        };
        let lines = |a: Option<&RecordedMembership<'_>>, b: Option<&RecordedMembership<'_>>| {
            // Where a line that is not there would be.
            let place =
                |found: Option<&RecordedMembership<'_>>, list: &[RecordedMembership<'_>], record: &InstantRecord| {
                    let last = list.last().map_or(record.line_numbers().0, |line| line.line + 1);
                    found.or(list.get(at)).map_or(last, |line| line.line)
                };
            (place(a, &expected, self.expected), place(b, &found, self.found))
        };
        if let (Some(a), Some(b)) = (a, b)
            && expected[at..].iter().any(|later| same(b, later))
            && found[at..].iter().any(|later| same(a, later))
        {
            let difference = self.difference(Field::Order, lines(Some(a), Some(b)), text(Some(a)), text(Some(b)));
            return Some(Difference { path: Some(a.change.path.to_owned()), ..difference });
        }
        // Of two that have nothing in common, one is extra.
        let (a, b) = match (a, b) {
            (None, None) => return None,
            (Some(a), Some(b)) if a.change.path == b.change.path => (Some(a), Some(b)),
            (Some(a), Some(b)) if found[at..].iter().any(|later| same(a, later)) => (None, Some(b)),
            (Some(a), Some(_)) => (Some(a), None),
            one => one,
        };
        let of = a.or(b)?;
        let field = if of.change.kind == MembershipKind::Join { Field::Join } else { Field::Leave };
        let path = Some(of.change.path.to_owned());
        Some(Difference { path, ..self.difference(field, lines(a, b), text(a), text(b)) })
    }

    fn steps(&self) -> Option<Difference> {
        let paths = |record: &'a InstantRecord| record.steps().map(|step| step.step.path);
        let at = paths(self.expected).zip(paths(self.found)).take_while(|(a, b)| a == b).count();
        let (a, b) = (paths(self.expected).nth(at), paths(self.found).nth(at));
        if a.is_none() && b.is_none() {
            return None;
        }
        let text = |of: Option<&str>| of.map_or("no step there".to_owned(), |path| format!("a step of `{path}` there"));
        let contains = |record: &'a InstantRecord, path: Option<&str>| paths(record).any(|other| Some(other) == path);
        let is_order = contains(self.found, a) && contains(self.expected, b);
        let field = if is_order { Field::Order } else { Field::Steps };
        // Name the one that only one side has.
        let path = if contains(self.found, a) { b } else { a.or(b) };
        let difference = self.difference(field, self.tick_lines(), text(a), text(b));
        Some(Difference { path: path.map(str::to_owned), ..difference })
    }

    fn signals(&self) -> Option<Difference> {
        self.expected.steps().zip(self.found.steps()).find_map(|(a, b)| self.signals_of(&a, &b))
    }

    fn signals_of(&self, a: &RecordedStep<'_>, b: &RecordedStep<'_>) -> Option<Difference> {
        let (expected, found): (Vec<_>, Vec<_>) = (a.signals().collect(), b.signals().collect());
        let same = |a: &RecordedSignal<'_>, b: &RecordedSignal<'_>| a.signal == b.signal;
        let at = expected.iter().zip(&found).take_while(|(a, b)| same(a, b)).count();
        let difference = |field: Field, lines: (u64, u64), expected: String, found: String| {
            let path = Some(a.step.path.to_owned());
            Some(Difference { path, ..self.difference(field, lines, expected, found) })
        };
        let named = |of: &RecordedSignal<'_>| {
            let (payload, _) = excerpts(of.signal.payload, "");
            format!("signal {} under {}, {payload}", of.signal.seq, of.signal.key)
        };
        // Where a line that is not there would be.
        let place = |list: &[RecordedSignal<'_>], record: &InstantRecord| {
            list.get(at).or(list.last()).map_or(record.line_numbers().1, |signal| signal.line)
        };
        let lines = (place(&expected, self.expected), place(&found, self.found));
        let (a, b) = match (expected.get(at), found.get(at)) {
            (None, None) => return None,
            (Some(a), None) => return difference(Field::ExtraLine, lines, named(a), "none there".to_owned()),
            (None, Some(b)) => return difference(Field::MissingLine, lines, "none there".to_owned(), named(b)),
            (Some(a), Some(b)) => (a, b),
        };
        if a.signal.seq != b.signal.seq {
            let has = |list: &[RecordedSignal<'_>], of: &RecordedSignal<'_>| list.iter().any(|other| same(other, of));
            let field = match (has(&found, a), has(&expected, b)) {
                (true, true) if expected.len() == found.len() => Field::Order,
                (true, false) => Field::MissingLine,
                _ if expected.len() > found.len() => Field::ExtraLine,
                _ => Field::Seq,
            };
            let none = || "none there".to_owned();
            return match field {
                Field::Seq => difference(field, lines, a.signal.seq.to_string(), b.signal.seq.to_string()),
                Field::MissingLine => difference(field, lines, none(), named(b)),
                Field::ExtraLine => difference(field, lines, named(a), none()),
                _ => difference(field, lines, named(a), named(b)),
            };
        }
        if a.signal.key != b.signal.key {
            return difference(Field::Key, lines, a.signal.key.to_owned(), b.signal.key.to_owned());
        }
        let (expected, found) = excerpts(a.signal.payload, b.signal.payload);
        let under = |text: String| format!("{text} in signal {} under {}", a.signal.seq, a.signal.key);
        difference(Field::Payload, lines, under(expected), found)
    }

    fn outcomes(&self) -> Option<Difference> {
        self.expected.steps().zip(self.found.steps()).find_map(|(a, b)| {
            let (field, expected, found) = if a.step.next_due != b.step.next_due {
                let text = |time: SimTime| if time == SimTime::MAX { "never".to_owned() } else { format!("{time} s") };
                (Field::NextDue, text(a.step.next_due), text(b.step.next_due))
            } else if a.step.state != b.step.state {
                let text = |state: Option<Fingerprint>| state.map_or("none".to_owned(), |state| state.to_string());
                (Field::State, text(a.step.state), text(b.step.state))
            } else {
                return None;
            };
            let difference = self.difference(field, self.tick_lines(), expected, found);
            Some(Difference { path: Some(a.step.path.to_owned()), ..difference })
        })
    }

    fn hashes(&self) -> Option<Difference> {
        let (expected, found) = (self.expected, self.found);
        let text = |hash: Option<Fingerprint>| hash.map_or("none".to_owned(), |hash| hash.to_string());
        let pairs = [
            (Field::TickHash, expected.tick_hash, found.tick_hash),
            (Field::WorldHash, expected.world_hash, found.world_hash),
        ];
        let (field, a, b) = pairs.into_iter().find(|(_, a, b)| a != b)?;
        Some(self.difference(field, self.tick_lines(), text(a), text(b)))
    }
}

/// A halt as the sentences of a comparison name it.
pub(crate) fn halt_text(halted: &Halted) -> String {
    let who = halted.path.as_ref().map_or(String::new(), |path| format!(" of `{path}`"));
    let place = halted.instant.map_or(String::new(), |(tick, time)| format!(" at instant {tick} ({time} s)"));
    format!("a halt{who}{place} ({}: {})", halted.cause.as_str(), halted.text)
}
