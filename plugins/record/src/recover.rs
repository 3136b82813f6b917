//! Saving what is whole in a log that was cut off or damaged.
//!
//! ```no_run
//! let report = chaconne_record::recover("run.jsonl", "recovered.jsonl", |_| {})?;
//! println!("{} instants saved, {} known to be lost", report.ticks, report.lost);
//! # Ok::<(), chaconne_record::LogError>(())
//! ```
//!
//! An instant is whole when the hash of its lines is the one that it states, and when it follows from what was saved
//! before it. The hash takes in every byte that means something, so that damage inside an instant costs this instant
//! and no other.

mod header;
mod pieces;
mod repair;

use std::fmt;
use std::path::Path;

use chaconne_sim_core::fingerprint::{self, Fingerprint};
use chaconne_sim_core::time::SimTime;

use crate::check::{CheckReport, Checker, check};
use crate::encode::Encoder;
use crate::error::LogError;
use crate::instant::{InstantRecord, is_part};
use crate::line::{End, Gap, Header, Kind, Last, Line, Reason};
use crate::sink::{Sink, create};
use crate::source::{Damage, LONGEST_INSTANT, LineSource, SourceLine};
use crate::temporary::{self, Temporary};

use pieces::pieces;

/// What a recovery came to.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RecoverReport {
    /// The header of the output.
    pub header: Header,
    /// The last line of the output, with the fingerprint of the run as far as it goes.
    pub last: Last,
    /// Number of instants that were saved.
    pub ticks: u64,
    /// Number of instants that are known to be lost: those that the output's `gap` lines name. What was lost behind the
    /// last instant that was saved is only known when the log's last line was saved too.
    pub lost: u64,
    /// The `gap` lines of the output.
    pub gaps: Vec<Gap>,
    /// Number of lines of the input that are not in the output: damaged ones, and those of instants that were not
    /// complete.
    pub dropped_lines: u64,
    /// The input was whole, and the output is equal to it.
    pub was_whole: bool,
    /// The header was damaged, and made again from the world and the seed that could be read from it. They are right:
    /// the hash of the first instant, or of a run without instants, says so.
    pub header_remade: bool,
    /// How the input ended.
    pub input_end: InputEnd,
}

/// How a log ended that was recovered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputEnd {
    /// With its last line, which is in the output.
    Last,
    /// Its last line is in the output, and more stood behind it, which is not.
    More,
    /// Without a last line, or with one that does not fit.
    Cut,
    /// Where another log began.
    OtherLog,
    /// It could not be read on, for this reason.
    Unreadable(String),
}

impl fmt::Display for InputEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Last => f.write_str("it has its last line"),
            Self::More => f.write_str("there was more behind its last line"),
            Self::Cut => f.write_str("it was cut off, or its last line was damaged"),
            Self::OtherLog => f.write_str("another log began behind it"),
            Self::Unreadable(why) => write!(f, "it could not be read on ({why})"),
        }
    }
}

/// Writes every complete instant of a log that was cut off or damaged to a new log, which then passes
/// [`check()`](crate::check::check).
///
/// | damage | what becomes of it |
/// |---|---|
/// | the log was cut off | its complete instants are saved, and an `end` line with reason `recovered` is written |
/// | bytes or lines of an instant are changed or missing | the instant is left out and a `gap` line written |
/// | a line feed is damaged, lines of an instant are swapped or there twice | they are put in order, if the hash then agrees |
/// | line ends were converted to CR LF | they are restored |
/// | a part of a compressed log is damaged | reading goes on behind it |
/// | zeros, as after a power failure, or other text between, in or behind the lines | it is left out |
/// | the log is followed by another, or by parts of itself | the other is left out; instants that are missing are taken from the parts |
/// | the provenance is damaged | the text that is left is kept in it as `damaged` |
/// | the last line is damaged | `end` with reason `recovered` |
/// | the world or the seed is damaged | refused: without them no hash can be checked |
///
/// What no hash takes in is kept as it is: `observed` lines, the provenance, and the words of a `halt`. After a gap,
/// the first instant's world hash cannot be computed. It counts when the next instant, or the last line, follows from
/// it; when that is lost too, it is taken as it is stated, as [the format](crate::format) says. A log that is whole is
/// copied byte for byte.
///
/// `input` may be compressed, or `-`, the standard input; `output` is compressed when its name ends in `.zst`. The
/// output is made under another name beside its place and renamed when it has passed the check. So an older file of
/// that name is there until then, and nothing is left behind by a failure. Memory holds two instants. `progress` is
/// told the share that is done, where it is known.
///
/// # Errors
/// When the input cannot be read or is no log of this version, when its header lacks the world or the seed or
/// contradicts the first instants, when input and output are one file, or when the output cannot be written.
pub fn recover(
    input: impl AsRef<Path>,
    output: impl AsRef<Path>,
    mut progress: impl FnMut(f64),
) -> Result<RecoverReport, LogError> {
    let (input, output) = (input.as_ref(), output.as_ref());
    if output.extension().is_some_and(|extension| extension == "zst") && !cfg!(feature = "zstd") {
        return Err(LogError::Compressed { file: output.to_owned() });
    }
    let mut source = LineSource::open(input, Damage::Skip)?;
    let start = header::find(&mut source)?;
    let temporary = Temporary::file(input, output)?;
    let at_output = |error: LogError| match error {
        LogError::Open { source, .. } | LogError::Write { source, .. } => temporary::of(output, source),
        other => other,
    };
    let sink = create(temporary.path()).map_err(at_output)?;
    let mut recovery = Recovery::new(&start, input, sink);
    let header_remade = !start.is_proven;
    recovery.begin(start).map_err(at_output)?;
    let unreadable = loop {
        match source.next() {
            Ok(None) => break None,
            Ok(Some(line)) => recovery.line(&line).map_err(at_output)?,
            Err(LogError::Read { source, .. }) => break Some(source.to_string()),
            Err(other) => return Err(other),
        }
        if let Some(share) = source.progress() {
            progress(share / 2.0);
        }
    };
    let (input_end, dropped_lines, was_whole) = recovery.finish(unreadable, source.has_skipped()).map_err(at_output)?;
    let CheckReport { header, last, ticks, gaps, .. } =
        check(temporary.path(), |share| progress(0.5 + share / 2.0)).map_err(|error| not_sound(input, &error))?;
    temporary.keep()?;
    let lost = gaps.iter().map(|gap| gap.next - gap.tick).sum();
    Ok(RecoverReport { header, last, ticks, lost, gaps, dropped_lines, was_whole, header_remade, input_end })
}

/// What was saved does not pass the check: a mistake of ours, which must not become a log.
fn not_sound(input: &Path, error: &LogError) -> LogError {
    let what = format!(
        "{} cannot be recovered: what was saved of it does not pass the check ({error}); please report this with the log",
        input.display()
    );
    LogError::Unfit { what }
}

/// An instant behind a gap, whose world hash nothing confirms yet.
struct Held {
    /// What is to be written: the gap, the instant, and `observed` lines behind it.
    text: Vec<u8>,
    /// Number of lines of it that are the input's.
    lines: u64,
    /// The `observed` lines among them.
    observed: Vec<u8>,
    observed_lines: u64,
    before: Before,
}

/// Where a recovery was before an instant.
#[derive(Clone, Copy)]
struct Before {
    next: u64,
    now: Option<SimTime>,
    world_hash: Fingerprint,
    last_tick_hash: Option<Fingerprint>,
    /// Instants, steps and signals so far.
    counts: (u64, u64, u64),
}

/// Goes through the lines of a damaged log and writes what is whole.
struct Recovery<'a> {
    input: &'a Path,
    sink: Box<dyn Sink>,
    encoder: Encoder,
    checker: Checker,
    header: Header,
    /// World and seed of the header are known to be right.
    proven: bool,
    /// The instant that is being collected.
    record: InstantRecord,
    /// `observed` lines, and the number of lines of the instant that stand before each.
    observed: Vec<(usize, Vec<u8>)>,
    /// The instant that came last, if it stands behind a gap and nothing follows from it yet.
    held: Option<Held>,
    /// A `gap` line of the input, which is written when an instant confirms it.
    pending_gap: Option<(Gap, Vec<u8>)>,

    /// The instant that comes next in the output.
    next: u64,
    now: Option<SimTime>,
    world_hash: Fingerprint,
    last_tick_hash: Option<Fingerprint>,
    /// The checker has taken in a part of an instant that did not fit: only a gap brings it back.
    torn: bool,
    /// Instants that were there already have come again. They may be of another run: nothing is taken with a gap until
    /// one follows without.
    repeated: bool,
    /// The world hash that the first instant states, when it does not follow from the header.
    suspect: Option<Fingerprint>,

    end: Option<InputEnd>,
    /// Number of lines up to the header.
    begun: u64,
    seen: u64,
    kept: u64,
    /// Something is not as it was in the input.
    touched: bool,
}

impl<'a> Recovery<'a> {
    fn new(start: &header::Start, input: &'a Path, sink: Box<dyn Sink>) -> Self {
        let header = &start.header;
        Self {
            input,
            sink,
            encoder: Encoder::default(),
            checker: Checker::new(header),
            header: header.clone(),
            proven: start.is_proven,
            record: InstantRecord::default(),
            observed: Vec::new(),
            held: None,
            pending_gap: None,
            next: 0,
            now: None,
            world_hash: fingerprint::world_start(&header.world, header.seed),
            last_tick_hash: None,
            torn: false,
            repeated: false,
            suspect: None,
            end: None,
            begun: start.lines,
            seen: start.lines,
            kept: 1,
            touched: start.is_touched,
        }
    }

    /// Writes the header, and takes what stood behind it in its line.
    fn begin(&mut self, start: header::Start) -> Result<(), LogError> {
        match &start.text {
            Some(text) => append_line(&mut self.encoder.out, text),
            None => self.encoder.header(&start.header),
        }
        self.write()?;
        start.rest.iter().try_for_each(|text| self.piece(1, text))
    }

    /// Gives the encoder's lines to the file.
    fn write(&mut self) -> Result<(), LogError> {
        let written = self.sink.write(&self.encoder.out);
        self.encoder.out.clear();
        written.map_err(|source| LogError::Write { file: self.input.to_owned(), source })
    }

    /// Takes a line of the input.
    fn line(&mut self, line: &SourceLine<'_>) -> Result<(), LogError> {
        self.seen += 1;
        if let Some(end) = &mut self.end {
            if *end == InputEnd::Last {
                *end = InputEnd::More;
            }
            return Ok(());
        }
        let text = without_returns(line.text);
        self.touched |= text.len() != line.text.len() || !line.terminated;
        match Kind::of(text) {
            Ok(kind) if is_part(kind) => self.part(line.number, kind, text),
            _ => match Line::parse(text) {
                Ok(parsed) => self.other(parsed, text),
                Err(_) => {
                    self.touched = true;
                    pieces(text).iter().try_for_each(|piece| self.piece(line.number, piece))
                }
            },
        }
    }

    /// Takes a part of a damaged line that may be a line of its own.
    fn piece(&mut self, number: u64, text: &[u8]) -> Result<(), LogError> {
        match (self.end.is_some(), Line::parse(text), Kind::of(text)) {
            (false, Ok(_), Ok(kind)) if is_part(kind) => self.part(number, kind, text),
            (false, Ok(parsed), _) => self.other(parsed, text),
            _ => Ok(()),
        }
    }

    /// Takes a line of an instant.
    fn part(&mut self, number: u64, kind: Kind, text: &[u8]) -> Result<(), LogError> {
        self.record.lines.push(number, text);
        if kind != Kind::Tick {
            // It is the end of an instant that was lost.
            if self.record.lines.text.len() > LONGEST_INSTANT {
                return self.give_up();
            }
            return Ok(());
        }
        if self.record.read().is_ok() && self.checker.is_intact(&self.record) {
            return self.take();
        }
        self.repair()
    }

    /// Takes a well-formed line that is no part of an instant.
    fn other(&mut self, line: Line<'_>, text: &[u8]) -> Result<(), LogError> {
        if let Line::Observed(_) = line {
            self.observed.push((self.record.lines.lines.len(), text.to_vec()));
            if self.record.lines.lines.is_empty() && self.pending_gap.is_none() {
                return self.let_go();
            }
            return Ok(());
        }
        self.settle()?;
        if self.end.is_some() {
            return Ok(());
        }
        if let Line::Last(last) = &line
            && self.last(last, text)?
        {
            return Ok(());
        }
        self.let_go()?;
        match line {
            Line::Gap(gap) if gap.tick == self.next && gap.next > gap.tick => {
                self.pending_gap = Some((gap, text.to_vec()));
            }
            Line::Header(header) => self.second_header(&header),
            _ => self.touched = true,
        }
        Ok(())
    }

    /// A header that is not the first line: the line is there twice, parts of the log follow, or another log does.
    fn second_header(&mut self, header: &Header) {
        self.touched = true;
        if (&header.world, header.seed) != (&self.header.world, self.header.seed) {
            self.end = Some(InputEnd::OtherLog);
        } else if self.seen > self.begun + 1 {
            self.repeated = true;
        }
    }

    /// Whatever is collected cannot become complete any more, unless line feeds were lost in it.
    fn settle(&mut self) -> Result<(), LogError> {
        if !self.record.lines.lines.is_empty() {
            self.repair()?;
            self.record.lines.clear();
        }
        Ok(())
    }

    /// Drops what is collected.
    fn give_up(&mut self) -> Result<(), LogError> {
        self.touched |= !self.record.lines.lines.is_empty();
        self.record.lines.clear();
        self.let_go()
    }

    /// Writes the `observed` lines that wait.
    fn let_go(&mut self) -> Result<(), LogError> {
        for (_, text) in self.observed.drain(..) {
            let of_held = self.held.as_mut().map(|held| {
                held.lines += 1;
                held.observed_lines += 1;
                [&mut held.text, &mut held.observed]
            });
            match of_held {
                Some(places) => places.into_iter().for_each(|place| append_line(place, &text)),
                None => {
                    append_line(&mut self.encoder.out, &text);
                    self.kept += 1;
                }
            }
        }
        self.write()
    }

    /// Writes the instant that waits for something to follow from it.
    fn put_held(&mut self) -> Result<(), LogError> {
        if let Some(held) = self.held.take() {
            self.kept += held.lines;
            self.encoder.out.extend_from_slice(&held.text);
        }
        self.write()
    }

    /// Leaves out the instant that waits: what comes does not follow from it.
    fn drop_held(&mut self) -> Result<(), LogError> {
        if let Some(Held { observed, observed_lines, before, .. }) = self.held.take() {
            self.touched = true;
            self.kept += observed_lines;
            self.encoder.out.extend_from_slice(&observed);
            (self.next, self.now) = (before.next, before.now);
            // A gap follows, behind which the checker asks nothing of what was before.
            self.checker.next_tick = before.next;
            (self.world_hash, self.last_tick_hash) = (before.world_hash, before.last_tick_hash);
            (self.checker.ticks, self.checker.steps, self.checker.signals) = before.counts;
        }
        self.write()
    }

    fn place(&self) -> Before {
        let Self { next, now, world_hash, last_tick_hash, checker, .. } = self;
        let counts = (checker.ticks, checker.steps, checker.signals);
        Before { next: *next, now: *now, world_hash: *world_hash, last_tick_hash: *last_tick_hash, counts }
    }

    /// Writes the instant in the record, which is intact, if it follows from what was written before.
    fn take(&mut self) -> Result<(), LogError> {
        let (tick, time) = (self.record.tick, self.record.time);
        let (Some(tick_hash), Some(stated)) = (self.record.tick_hash, self.record.world_hash) else {
            return self.give_up();
        };
        if tick < self.next || self.now.is_some_and(|now| time <= now) {
            // The last one once more says nothing about what comes.
            self.repeated |= self.last_tick_hash != Some(tick_hash);
            return self.give_up();
        }
        let follows = fingerprint::world_next(self.world_hash, tick_hash) == stated;
        if tick == self.next && !follows && self.held.is_some() && !self.repeated {
            // One of two world hashes is damaged; when it is this one, the next instant says so.
            self.drop_held()?;
        }
        if tick == self.next && !follows {
            if tick == 0 {
                self.suspect = Some(stated);
            }
            return self.give_up();
        }
        if let Some(first) = self.suspect
            && tick == 1
            && fingerprint::world_next(first, tick_hash) == stated
        {
            return Err(self.contradiction());
        }
        if self.torn && tick <= self.checker.next_tick || self.repeated && tick > self.next {
            return self.give_up();
        }
        let gap = (tick > self.next).then_some(Gap { tick: self.next, next: tick });
        if gap.is_some() {
            self.prove(false)?;
            let gap = Gap { tick: self.checker.next_tick, next: tick };
            if self.checker.gap(gap).is_err() {
                return self.give_up();
            }
        }
        let before = self.place();
        if self.checker.instant(&self.record).is_err() {
            self.torn = true;
            return self.give_up();
        }
        self.put_held()?;
        self.proven |= gap.is_none();
        (self.torn, self.repeated, self.suspect) = (false, false, None);
        (self.next, self.now) = (self.checker.next_tick, Some(time));
        (self.world_hash, self.last_tick_hash) = (stated, Some(tick_hash));
        let mut lines = self.put_gap(gap);
        let observed: Vec<u8> = self.observed.iter().flat_map(|(_, text)| text.iter().chain(b"\n")).copied().collect();
        let observed_lines = self.observed.len() as u64;
        lines += self.put_instant();
        if gap.is_some() {
            let text = std::mem::take(&mut self.encoder.out);
            self.held = Some(Held { text, lines, observed, observed_lines, before });
            return Ok(());
        }
        self.kept += lines;
        self.write()
    }

    /// The line of a gap, as it stands in the input if it does. Says how many lines of the input that is.
    fn put_gap(&mut self, gap: Option<Gap>) -> u64 {
        match (self.pending_gap.take(), gap) {
            (Some((stated, text)), Some(gap)) if stated == gap => {
                append_line(&mut self.encoder.out, &text);
                return 1;
            }
            (_, Some(gap)) => {
                self.encoder.gap(gap);
                self.touched = true;
            }
            (_, None) => {}
        }
        0
    }

    /// The lines of the instant, with the `observed` lines that stood among them. Says how many they are.
    fn put_instant(&mut self) -> u64 {
        let Self { record, observed, encoder, .. } = self;
        let lines = (record.lines.lines.len() + observed.len()) as u64;
        let mut written = 0;
        for (before, text) in observed.drain(..) {
            let until = record.lines.lines.get(before).map_or(record.lines.text.len(), |line| line.0).max(written);
            encoder.out.extend_from_slice(&record.lines.text[written..until]);
            written = until;
            append_line(&mut encoder.out, &text);
        }
        encoder.out.extend_from_slice(&record.lines.text[written..]);
        record.lines.clear();
        lines
    }

    /// Takes the log's last line, if it follows from what was written before. Says whether it does.
    fn last(&mut self, last: &Last, text: &[u8]) -> Result<bool, LogError> {
        if self.suspect == Some(last.world_hash) && last.ticks == 1 {
            return Err(self.contradiction());
        }
        let mut fits = match last.ticks > self.next {
            false => !self.torn && self.checker.last(last).is_ok(),
            true => !self.repeated && self.counts_fit(last),
        };
        if !fits && self.held.is_some() && last.ticks == self.next && self.counts_fit(last) {
            self.drop_held()?;
            fits = true;
        }
        if !fits {
            return Ok(false);
        }
        let gap = (last.ticks > self.next).then_some(Gap { tick: self.next, next: last.ticks });
        self.prove(gap.is_none())?;
        self.put_held()?;
        self.kept += self.put_gap(gap) + self.observed.len() as u64 + 1;
        for (_, text) in self.observed.drain(..) {
            append_line(&mut self.encoder.out, &text);
        }
        append_line(&mut self.encoder.out, text);
        self.end = Some(InputEnd::Last);
        self.write()?;
        Ok(true)
    }

    /// Whether a last line that counts more instants than were saved can be right: every instant changes the world's
    /// hash.
    fn counts_fit(&self, last: &Last) -> bool {
        let halt_fits = match &last.end {
            End::Halted(halted) => {
                halted.fails_after(last.ticks) || halted.instant.is_none_or(|(tick, _)| tick == last.ticks)
            }
            End::Ended(_) => true,
        };
        last.world_hash != self.world_hash
            && last.steps >= self.checker.steps
            && last.signals >= self.checker.signals
            && halt_fits
    }

    /// World and seed that were read from a damaged header have to be right before anything counts.
    fn prove(&mut self, by_hash: bool) -> Result<(), LogError> {
        self.proven |= by_hash;
        if self.proven {
            return Ok(());
        }
        let what = "the header is damaged, and so is the first instant, which would tell whether the world and the seed that \
                    can be read from it are right; put the header of a log of the same world and seed in front of the file, \
                    and recover again";
        Err(LogError::Line { file: self.input.to_owned(), line: 1, what: what.to_owned() })
    }

    fn contradiction(&self) -> LogError {
        let what = format!(
            "the world `{}` and the seed {} are not those of the instants that follow: one of them was changed; correct it, and \
             recover again",
            self.header.world, self.header.seed
        );
        LogError::Line { file: self.input.to_owned(), line: 1, what }
    }

    /// Writes a last line if there is none, and closes the file. Says how the input ended, how many lines were dropped,
    /// and whether it was whole.
    fn finish(mut self, unreadable: Option<String>, has_skipped: bool) -> Result<(InputEnd, u64, bool), LogError> {
        if self.end.is_none() {
            self.settle()?;
        }
        let is_ended = matches!(self.end, Some(InputEnd::Last | InputEnd::More));
        if !is_ended {
            self.prove(false)?;
            self.let_go()?;
            self.put_held()?;
            let Self { next: ticks, world_hash, .. } = self;
            let (steps, signals) = (self.checker.steps, self.checker.signals);
            self.encoder.last(&Last { end: End::Ended(Reason::Recovered), ticks, steps, signals, world_hash });
            self.write()?;
        }
        self.sink.finish().map_err(|source| LogError::Write { file: self.input.to_owned(), source })?;
        let dropped = self.seen.saturating_sub(self.kept);
        let was_whole = self.end == Some(InputEnd::Last) && dropped == 0 && !self.touched && !has_skipped;
        let end = match (self.end, unreadable) {
            (Some(InputEnd::Last), None) if has_skipped => InputEnd::More,
            (Some(end), _) => end,
            (None, Some(why)) => InputEnd::Unreadable(why),
            (None, None) => InputEnd::Cut,
        };
        Ok((end, dropped, was_whole))
    }
}

fn append_line(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(text);
    out.push(b'\n');
}

fn without_returns(mut text: &[u8]) -> &[u8] {
    while let Some(rest) = text.strip_suffix(b"\r") {
        text = rest;
    }
    text
}
