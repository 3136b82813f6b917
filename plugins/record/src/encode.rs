//! Writing the lines of a log, as [the specification](crate::format) has them.

use chaconne_conductor::monitor::{Instant, Membership, Observation, SeenSignal};
use chaconne_sim_core::canon;
use chaconne_sim_core::fingerprint::{Fingerprint, MembershipKind};
use chaconne_sim_core::time::SimTime;

use crate::line::{Cause, End, FORMAT, Gap, Halted, Header, Last, VERSION};

/// Writes lines to a buffer that is used again.
#[derive(Default)]
pub(crate) struct Encoder {
    pub(crate) out: Vec<u8>,
    /// The entries of `steps`, put together while signals are written.
    steps: Vec<u8>,
    /// What follows the path of a step without state, up to the next path; kept, because most participants of an instant
    /// have the same next due time.
    due: Option<SimTime>,
    between: Vec<u8>,
    /// What precedes the path of a signal.
    prefix: Vec<u8>,
    digits: itoa::Buffer,
}

/// How an entry of `steps` begins.
const OPEN: &[u8] = b"[\"";

/// How an entry without state goes on after its next due time, up to the path of the next one.
const NO_STATE: &[u8] = b",null],[\"";

/// How much an instant holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) steps: u64,
    pub(crate) signals: u64,
}

impl Encoder {
    fn raw(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.out.extend_from_slice(self.digits.format(value).as_bytes());
    }

    /// A JSON string. Strings always have a canonical text.
    fn string(&mut self, text: &str) {
        if canon::to_writer(&mut self.out, text).is_err() {
            self.raw("\"\"");
        }
    }

    fn hash(&mut self, hash: Fingerprint) {
        self.out.push(b'"');
        self.out.extend_from_slice(&hash.to_hex());
        self.out.push(b'"');
    }

    /// The lines of an instant.
    pub(crate) fn instant(&mut self, instant: &Instant<'_>) -> Size {
        for change in instant.membership {
            self.membership(change);
        }
        self.prefix.clear();
        self.prefix.extend_from_slice(b"{\"type\":\"signal\",\"time\":");
        instant.time.append_to(&mut self.prefix);
        self.prefix.extend_from_slice(b",\"path\":\"");
        self.steps.clear();
        self.steps.extend_from_slice(OPEN);
        let mut size = Size::default();
        // By `for_each`, which walks nested lists faster than `for`.
        instant.steps().for_each(|step| {
            size.steps += 1;
            let path = step.path.as_str();
            if step.published() > 0 {
                step.signals().for_each(|signal| self.signal(path, &signal));
                size.signals += step.published() as u64;
            }
            self.step(path, step.next_due, step.state);
        });
        self.raw("{\"type\":\"tick\",\"tick\":");
        self.u64(instant.tick);
        self.raw(",\"time\":");
        instant.time.append_to(&mut self.out);
        self.raw(",\"steps\":[");
        // The last entry is followed by the opening of one that does not come.
        self.steps.truncate(self.steps.len() - OPEN.len());
        self.out.extend_from_slice(self.steps.strip_suffix(b",").unwrap_or(&self.steps));
        self.raw("],\"tick_hash\":");
        self.hash(instant.tick_hash);
        self.raw(",\"world_hash\":");
        self.hash(instant.world_hash);
        self.raw("}\n");
        size
    }

    /// The line of what was observed: behind its instant, so that both stand there or none.
    pub(crate) fn observed(&mut self, observation: &Observation) {
        self.raw("{\"type\":\"observed\",\"time\":");
        observation.time.append_to(&mut self.out);
        self.raw(",\"path\":");
        match &observation.path {
            None => self.raw("null"),
            Some(path) => self.string(path.as_str()),
        }
        self.raw(",\"kind\":\"");
        self.raw(observation.what.kind());
        self.raw("\",\"data\":");
        self.raw(&observation.what.data());
        self.raw("}\n");
    }

    /// Paths and keys hold nothing that JSON escapes.
    fn signal(&mut self, path: &str, signal: &SeenSignal<'_>) {
        let key = signal.key.as_str();
        self.out.reserve(self.prefix.len() + path.len() + key.len() + signal.text.len() + 64);
        self.out.extend_from_slice(&self.prefix);
        self.raw(path);
        self.raw("\",\"key\":\"");
        self.raw(key);
        self.raw("\",\"seq\":");
        self.u64(signal.seq);
        self.raw(",\"payload\":");
        self.out.extend_from_slice(signal.text);
        self.raw("}\n");
    }

    fn step(&mut self, path: &str, next_due: SimTime, state: Option<Fingerprint>) {
        if self.due != Some(next_due) {
            self.due = Some(next_due);
            self.between.clear();
            self.between.extend_from_slice(b"\",");
            next_due.append_to(&mut self.between);
            self.between.extend_from_slice(NO_STATE);
        }
        self.steps.extend_from_slice(path.as_bytes());
        match state {
            None => self.steps.extend_from_slice(&self.between),
            Some(state) => {
                self.steps.extend_from_slice(&self.between[..self.between.len() - NO_STATE.len()]);
                self.steps.extend_from_slice(b",\"");
                self.steps.extend_from_slice(&state.to_hex());
                self.steps.extend_from_slice(b"\"],[\"");
            }
        }
    }

    fn membership(&mut self, change: &Membership) {
        self.raw(match change.kind {
            MembershipKind::Join => "{\"type\":\"join\",\"path\":\"",
            MembershipKind::Leave => "{\"type\":\"leave\",\"path\":\"",
        });
        self.raw(change.path.as_str());
        self.raw("\",\"time\":");
        change.time.append_to(&mut self.out);
        self.raw("}\n");
    }

    /// The first line.
    pub(crate) fn header(&mut self, header: &Header) {
        self.raw("{\"type\":\"header\",\"format\":");
        self.string(FORMAT);
        self.raw(",\"version\":");
        self.u64(VERSION);
        self.raw(",\"world\":");
        self.string(&header.world);
        self.raw(",\"seed\":");
        self.u64(header.seed);
        self.raw(",\"provenance\":");
        self.raw(&header.provenance.to_string());
        self.raw("}\n");
    }

    /// A line that says that instants are missing.
    pub(crate) fn gap(&mut self, gap: Gap) {
        self.raw("{\"type\":\"gap\",\"tick\":");
        self.u64(gap.tick);
        self.raw(",\"next\":");
        self.u64(gap.next);
        self.raw("}\n");
    }

    /// The last line.
    pub(crate) fn last(&mut self, last: &Last) {
        match &last.end {
            End::Ended(reason) => {
                self.raw("{\"type\":\"end\",\"reason\":\"");
                self.raw(&reason.to_string());
                self.raw("\"");
            }
            End::Halted(halted) => self.halted(halted),
        }
        self.raw(",\"ticks\":");
        self.u64(last.ticks);
        self.raw(",\"steps\":");
        self.u64(last.steps);
        self.raw(",\"signals\":");
        self.u64(last.signals);
        self.raw(",\"world_hash\":");
        self.hash(last.world_hash);
        self.raw("}\n");
    }

    fn halted(&mut self, halted: &Halted) {
        self.raw("{\"type\":\"halt\",\"tick\":");
        match halted.instant {
            None => self.raw("null,\"time\":null"),
            Some((tick, time)) => {
                self.u64(tick);
                self.raw(",\"time\":");
                time.append_to(&mut self.out);
            }
        }
        self.raw(",\"path\":");
        match &halted.path {
            None => self.raw("null"),
            Some(path) => self.string(path),
        }
        self.raw(",\"cause\":\"");
        self.raw(halted.cause.as_str());
        self.raw("\",\"text\":");
        self.string(&halted.text);
        self.raw(",\"others\":");
        self.u64(halted.others);
    }
}

impl Halted {
    /// What a halt's line says of it.
    pub(crate) fn of(halt: &chaconne_conductor::Halt) -> Self {
        use chaconne_conductor::HaltCause;
        let (cause, text) = match &halt.cause {
            HaltCause::Error(text) => (Cause::Error, text.clone()),
            HaltCause::Panic(text) => (Cause::Panic, text.clone()),
            HaltCause::NotAdvancing { next_due } => {
                (Cause::NotAdvancing, format!("it returned {next_due} s as its next due time"))
            }
            HaltCause::Registration(errors) => (Cause::Registration, errors.join("; ")),
            HaltCause::Monitor(text) => (Cause::Monitor, text.clone()),
            HaltCause::Mirror(text) => (Cause::Mirror, text.clone()),
            HaltCause::TimedOut { timeout, took } => (
                Cause::Timeout,
                match took {
                    None => format!("no answer within {} s", timeout.as_secs_f64()),
                    Some(took) => {
                        format!("it took {} s, and its timeout is {} s", took.as_secs_f64(), timeout.as_secs_f64())
                    }
                },
            ),
            HaltCause::Lost(text) => (Cause::Lost, text.clone()),
            // Kinds that came later than this crate.
            _ => (Cause::Error, halt.to_string()),
        };
        let path = halt.path.as_ref().map(ToString::to_string);
        Self { instant: halt.instant, path, cause, text, others: halt.others as u64 }
    }
}
