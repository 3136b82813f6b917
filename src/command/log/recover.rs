//! `chaconne log recover`: what is whole in a damaged log, as a log.

use std::path::PathBuf;

use chaconne::record::{InputEnd, RecoverReport, recover};
use clap::Args;
use serde::Serialize;

use super::{GapObject, Input, Json, end_word, failure, gap_objects, gaps_text, name, progress};
use crate::command::console::{counted, say};
use crate::command::program::Failure;
use crate::command::table::pairs;

/// Save what is whole in a log that was cut off or damaged
///
/// Writes every complete instant whose hash is right to a new log. Where instants are lost between others, it says so
/// with a `gap` line.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    input: Input,
    /// The log to write; compressed when its name ends in .zst
    output: PathBuf,
    #[command(flatten)]
    json: Json,
}

pub(super) fn run(Arguments { input, output, json }: Arguments, quiet: bool) -> Result<(), Failure> {
    let report = recover(&input.file, &output, progress(quiet, "of the log recovered")).map_err(failure)?;
    if !quiet {
        print(&name(&input.file), &output.display().to_string(), &report);
    }
    json.say(&Object::of(&input.file.display().to_string(), &output.display().to_string(), &report));
    Ok(())
}

fn print(input: &str, output: &str, report: &RecoverReport) {
    if report.was_whole {
        say(format_args!("{input} is whole; {output} is a copy of it"));
        say(format_args!("world hash {}", report.last.world_hash));
        return;
    }
    say(format_args!("{input} was damaged: {}", report.input_end));
    let mut facts = vec![("saved", format!("{} in {output}", counted(report.ticks, "instant")))];
    if report.lost > 0 {
        facts.push(("lost", gaps_text(&report.gaps)));
    }
    facts.push(("left out", counted(report.dropped_lines, "line")));
    if report.header_remade {
        facts.push(("header", "damaged, and made again; world and seed are right".to_owned()));
    }
    let after = counted(report.last.ticks, "instant");
    facts.push(("world hash", format!("{} after {after}", report.last.world_hash)));
    pairs(&facts);
}

/// What `--json` prints.
#[derive(Serialize)]
struct Object<'a> {
    input: &'a str,
    output: &'a str,
    world: &'a str,
    seed: u64,
    world_hash: String,
    was_whole: bool,
    ended: String,
    instants: u64,
    lost: u64,
    gaps: Vec<GapObject>,
    dropped_lines: u64,
    header_remade: bool,
    /// How the input ended: `last`, `more`, `cut`, `other-log` or `unreadable`.
    input_end: &'static str,
}

impl<'a> Object<'a> {
    fn of(input: &'a str, output: &'a str, report: &'a RecoverReport) -> Self {
        Self {
            input,
            output,
            world: &report.header.world,
            seed: report.header.seed,
            world_hash: report.last.world_hash.to_string(),
            was_whole: report.was_whole,
            ended: end_word(&report.last),
            instants: report.ticks,
            lost: report.lost,
            gaps: gap_objects(&report.gaps),
            dropped_lines: report.dropped_lines,
            header_remade: report.header_remade,
            input_end: match report.input_end {
                InputEnd::Last => "last",
                InputEnd::More => "more",
                InputEnd::Cut => "cut",
                InputEnd::OtherLog => "other-log",
                _ => "unreadable",
            },
        }
    }
}
