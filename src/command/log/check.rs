//! `chaconne log check`: whether a log is right, from itself alone.

use chaconne::record::{CheckReport, LogError, check};
use clap::Args;
use serde::Serialize;

use super::{
    GapObject, HaltObject, Input, Json, Secs, end_text, end_word, failure, gap_objects, gaps_text, name, progress, say,
    span_text,
};
use crate::command::console::counted;
use crate::command::program::Failure;

/// Check a log: the order of its lines, and every hash computed again from its signals
///
/// Nothing is run again, and nothing but the file is needed.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    json: Json,
}

pub(super) fn run(Arguments { input, json }: Arguments, quiet: bool) -> Result<(), Failure> {
    let file = input.file.display().to_string();
    match check(&input.file, progress(quiet, "of the log checked")) {
        Ok(report) => {
            print(&name(&input.file), &report, quiet);
            json.say(&Right::of(&file, &report));
            Ok(())
        }
        Err(error) => {
            let line = line_of(&error);
            let failure = failure(error);
            if let Failure::Run(text) = &failure {
                json.say(&Wrong { file: &file, valid: false, line, error: text });
            }
            Err(failure)
        }
    }
}

fn print(file: &str, report: &CheckReport, quiet: bool) {
    say(quiet, format_args!("{file} is right: order, counts and every hash of {}", counted(report.lines, "line")));
    say(
        quiet,
        format_args!(
            "{}, {} and {}, {}; {}",
            counted(report.ticks, "instant"),
            counted(report.steps, "step"),
            counted(report.signals, "signal"),
            span_text(report.span),
            end_text(&report.last),
        ),
    );
    for line in gaps_text(&report.gaps).lines() {
        say(quiet, format_args!("missing: {line}"));
    }
    say(quiet, format_args!("world hash {}", report.last.world_hash));
}

fn line_of(error: &LogError) -> Option<u64> {
    match error {
        LogError::Line { line, .. } | LogError::Read { line, .. } | LogError::Cut { line, .. } => Some(*line),
        _ => None,
    }
}

/// What `--json` prints of a log that is right.
#[derive(Serialize)]
struct Right<'a> {
    file: &'a str,
    valid: bool,
    world: &'a str,
    seed: u64,
    world_hash: String,
    ended: String,
    halt: Option<HaltObject<'a>>,
    gaps: Vec<GapObject>,
    first_s: Option<Secs>,
    last_s: Option<Secs>,
    instants: u64,
    steps: u64,
    signals: u64,
    lines: u64,
}

impl<'a> Right<'a> {
    fn of(file: &'a str, report: &'a CheckReport) -> Self {
        Self {
            file,
            valid: true,
            world: &report.header.world,
            seed: report.header.seed,
            world_hash: report.last.world_hash.to_string(),
            ended: end_word(&report.last),
            halt: HaltObject::of(&report.last),
            gaps: gap_objects(&report.gaps),
            first_s: report.span.map(|span| Secs(span.0)),
            last_s: report.span.map(|span| Secs(span.1)),
            instants: report.ticks,
            steps: report.steps,
            signals: report.signals,
            lines: report.lines,
        }
    }
}

/// What `--json` prints of one that is not.
#[derive(Serialize)]
struct Wrong<'a> {
    file: &'a str,
    valid: bool,
    line: Option<u64>,
    error: &'a str,
}
