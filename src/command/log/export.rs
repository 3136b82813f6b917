//! `chaconne log export`: a log as files for other programs.

use std::fs;
use std::path::{Path, PathBuf};

use chaconne::record::{ExportReport, export_csv, export_mcap};
use clap::Args;
use serde::Serialize;

use super::{Input, Json, failure, progress, say};
use crate::command::console::{count, counted};
use crate::command::program::Failure;
use crate::command::table::bytes;

/// Write a log as files for other programs
///
/// The log is checked on the way. Of a log that was cut off, what is complete is exported.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    outputs: Outputs,
    #[command(flatten)]
    json: Json,
}

#[derive(Args)]
#[group(required = true, multiple = true)]
struct Outputs {
    /// An MCAP file to write, which Foxglove opens
    #[arg(long, value_name = "OUT")]
    mcap: Option<PathBuf>,
    /// A new folder for CSV files, one per key
    #[arg(long, value_name = "DIR")]
    csv: Option<PathBuf>,
}

pub(super) fn run(Arguments { input, outputs, json }: Arguments, quiet: bool) -> Result<(), Failure> {
    let file = input.file.as_path();
    let Outputs { mcap, csv } = &outputs;
    let works = [mcap.is_some(), csv.is_some()].into_iter().filter(|is_wanted| *is_wanted).count() as f64;
    let mut done = 0.0;
    let mut progress = progress(quiet, "of the log exported");
    let mut report = None;
    // A folder that is there already is refused before anything is written.
    if let Some(folder) = csv {
        let exported = export_csv(file, folder, |share| progress(share / works)).map_err(failure)?;
        say(quiet, format_args!("{}: {}", folder.display(), counted(exported.keys, "key")));
        report = Some(exported);
        done = 1.0;
    }
    if let Some(output) = mcap {
        let exported = export_mcap(file, output, |share| progress((done + share) / works)).map_err(failure)?;
        let size = size(output).map_or_else(String::new, |size| format!(", {}", bytes(size)));
        say(quiet, format_args!("{}: {}{size}", output.display(), counted(exported.keys, "key")));
        report = Some(exported);
    }
    // The command line asks for one output at least.
    let Some(report) = report else { return Ok(()) };
    if !quiet {
        print(&report);
    }
    json.say(&Object::of(file, &outputs, &report));
    Ok(())
}

fn print(report: &ExportReport) {
    let (signals, instants) = (counted(report.signals, "signal"), counted(report.ticks, "instant"));
    say(false, format_args!("{signals} of {instants} exported"));
    if let Some(line) = report.cut_at {
        say(false, format_args!("the log was CUT OFF in or after line {}: what is complete was exported", count(line)));
    }
    if report.lost > 0 {
        say(false, format_args!("NOT COMPLETE: {} are missing from the log", counted(report.lost, "instant")));
    }
}

fn size(file: &Path) -> Option<u64> {
    fs::metadata(file).ok().map(|metadata| metadata.len())
}

/// What `--json` prints.
#[derive(Serialize)]
struct Object<'a> {
    file: String,
    mcap: Option<&'a Path>,
    mcap_bytes: Option<u64>,
    csv: Option<&'a Path>,
    world: &'a str,
    seed: u64,
    /// That of the whole run; null when the log was cut off.
    world_hash: Option<String>,
    /// The log has its last line, and no instant is missing.
    complete: bool,
    /// The last line that is there of a log that was cut off.
    cut_after_line: Option<u64>,
    lost: u64,
    instants: u64,
    signals: u64,
    keys: u64,
}

impl<'a> Object<'a> {
    fn of(file: &Path, outputs: &'a Outputs, report: &'a ExportReport) -> Self {
        Self {
            file: file.display().to_string(),
            mcap: outputs.mcap.as_deref(),
            mcap_bytes: outputs.mcap.as_deref().and_then(size),
            csv: outputs.csv.as_deref(),
            world: &report.header.world,
            seed: report.header.seed,
            world_hash: report.last.as_ref().map(|last| last.world_hash.to_string()),
            complete: report.last.is_some() && report.lost == 0,
            cut_after_line: report.cut_at,
            lost: report.lost,
            instants: report.ticks,
            signals: report.signals,
            keys: report.keys,
        }
    }
}
