//! The commands that work with logs.

mod cat;
mod check;
mod diff;
mod export;
mod info;
mod recover;

use std::fmt::Display;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use chaconne::record::LogError;
use chaconne::record::line::{Cause, End, Gap, Halted, Last, Reason};
use chaconne::sim_core::SimTime;
use clap::{Args, Subcommand};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::command::console::{self, Progress, count, counted};
use crate::command::program::Failure;

/// Runs of missing instants that are shown one by one.
const GAPS_SHOWN: usize = 20;

/// What can be done with logs.
#[derive(Subcommand)]
pub(crate) enum Command {
    Info(info::Arguments),
    Cat(cat::Arguments),
    Check(check::Arguments),
    Diff(diff::Arguments),
    Recover(recover::Arguments),
    Export(export::Arguments),
}

pub(crate) fn run(command: Command, quiet: bool) -> Result<(), Failure> {
    match command {
        Command::Info(arguments) => info::run(arguments, quiet),
        Command::Cat(arguments) => cat::run(arguments, quiet),
        Command::Check(arguments) => check::run(arguments, quiet),
        Command::Diff(arguments) => diff::run(arguments, quiet),
        Command::Recover(arguments) => recover::run(arguments, quiet),
        Command::Export(arguments) => export::run(arguments, quiet),
    }
}

/// A log that is read.
#[derive(Args)]
struct Input {
    /// The log, plain or compressed; - is the standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// The option `--json`.
#[derive(Args)]
struct Json {
    /// Print the result as one JSON object, the last line of stdout
    #[arg(long)]
    json: bool,
}

impl Json {
    fn say(&self, object: &impl Serialize) {
        if self.json {
            console::say_json(object);
        }
    }
}

/// Whether a log that cannot be used is bad input, or one that is damaged.
fn failure(error: LogError) -> Failure {
    let text = error.to_string();
    match error {
        LogError::Open { .. }
        | LogError::InUse { .. }
        | LogError::NotALog { .. }
        | LogError::Version { .. }
        | LogError::Compressed { .. }
        | LogError::Unfit { .. } => Failure::Input(text),
        // A place where nothing can be written, rather than a disk that is full.
        LogError::Output { source, .. } if is_of_the_place(source.kind()) => Failure::Input(text),
        _ => Failure::Run(text),
    }
}

fn is_of_the_place(kind: ErrorKind) -> bool {
    use ErrorKind::{AlreadyExists, IsADirectory, NotADirectory, NotFound, PermissionDenied, ReadOnlyFilesystem};
    matches!(kind, AlreadyExists | IsADirectory | NotADirectory | NotFound | PermissionDenied | ReadOnlyFilesystem)
}

/// Shows how much of a file has been read, on a terminal.
fn progress(quiet: bool, doing: &str) -> impl FnMut(f64) {
    let mut progress = Progress::new(quiet);
    move |share| progress.show(share, || doing.to_owned())
}

/// A time as the JSON number of seconds that a log has for it, to the nanosecond.
struct Secs(SimTime);

impl Serialize for Secs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(self.0.to_string()).map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

/// The first instant of a log and the last, for people.
fn span_text(span: Option<(SimTime, SimTime)>) -> String {
    span.map_or("no instant".to_owned(), |(first, last)| format!("{first} s to {last} s"))
}

/// How a run ended, for people.
fn end_text(last: &Last) -> String {
    match &last.end {
        End::Ended(Reason::Finished) => "the run finished".to_owned(),
        End::Ended(Reason::Left) => "the program left the run before its end".to_owned(),
        End::Ended(Reason::Stopped) => "the run was stopped before its end".to_owned(),
        End::Ended(Reason::Recovered) => "the log had been cut off, and was recovered up to here".to_owned(),
        End::Halted(halted) => halt_text(halted),
    }
}

fn halt_text(Halted { instant, path, cause, text, others }: &Halted) -> String {
    let at = instant.map_or(String::new(), |(tick, time)| format!(" at instant {} ({time} s)", count(tick)));
    let cause = match cause {
        Cause::Error => "an error",
        Cause::Panic => "a panic",
        Cause::NotAdvancing => "a step that does not advance",
        Cause::Registration => "a world that was set up wrongly",
        Cause::Monitor => "a monitor",
        Cause::Mirror => "a mirror that was changed",
        Cause::Timeout => "a timeout",
        Cause::Lost => "the loss",
    };
    let of = path.as_ref().map_or(String::new(), |path| format!(" of `{path}`"));
    let others = if *others > 0 { format!(" ({} failed too)", counted(*others, "other")) } else { String::new() };
    format!("the run HALTED{at}, by {cause}{of}: {text}{others}")
}

/// How a run ended, in a word: `finished`, `left`, `recovered` or `halt`.
fn end_word(last: &Last) -> String {
    match &last.end {
        End::Ended(reason) => reason.to_string(),
        End::Halted(_) => "halt".to_owned(),
    }
}

/// A halt, as `--json` prints it.
#[derive(Serialize)]
struct HaltObject<'a> {
    tick: Option<u64>,
    time_s: Option<Secs>,
    path: Option<&'a str>,
    cause: &'static str,
    text: &'a str,
    others: u64,
}

impl<'a> HaltObject<'a> {
    fn of(last: &'a Last) -> Option<Self> {
        let End::Halted(Halted { instant, path, cause, text, others }) = &last.end else { return None };
        Some(Self {
            tick: instant.map(|(tick, _)| tick),
            time_s: instant.map(|(_, time)| Secs(time)),
            path: path.as_deref(),
            cause: cause.as_str(),
            text,
            others: *others,
        })
    }
}

/// Instants that are missing, as `--json` prints them: from `tick` on and before `next`.
#[derive(Serialize)]
struct GapObject {
    tick: u64,
    next: u64,
}

/// Runs of instants that are missing, for people, one a line.
fn gaps_text(gaps: &[Gap]) -> String {
    let mut lines: Vec<String> = gaps.iter().take(GAPS_SHOWN).map(gap_text).collect();
    if gaps.len() > GAPS_SHOWN {
        lines.push(format!("… and {} more; --json lists them", count((gaps.len() - GAPS_SHOWN) as u64)));
    }
    lines.join("\n")
}

fn gap_text(gap: &Gap) -> String {
    match gap.next.saturating_sub(gap.tick) {
        0 | 1 => format!("instant {}", count(gap.tick)),
        several => format!("instants {} to {} ({})", count(gap.tick), count(gap.next - 1), count(several)),
    }
}

fn gap_objects(gaps: &[Gap]) -> Vec<GapObject> {
    gaps.iter().map(|gap| GapObject { tick: gap.tick, next: gap.next }).collect()
}

/// Prints a line, unless `--quiet` is given.
fn say(quiet: bool, line: impl Display) {
    if !quiet {
        console::say(line);
    }
}

fn name(file: &Path) -> String {
    if file == Path::new("-") { "the standard input".to_owned() } else { file.display().to_string() }
}
