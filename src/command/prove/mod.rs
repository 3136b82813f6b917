//! Proving that a scenario gives the same run, whatever changes around it.
//!
//! The reference run has one thread and everything in its own process, and is recorded. Every variant is another process,
//! in which one thing is different, and which compares itself with that log and stops at the first difference.

mod affinity;
mod child;
mod diagnosis;
mod outcome;
mod report;
mod stop;
mod variant;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use clap::Args;
use tempfile::TempDir;

use crate::command::console::{Progress, say};
use crate::command::program::Failure;
use crate::command::run::{above_zero, load};
use crate::command::sight::Sight;
use crate::command::worlds::Worlds;
use crate::prelude::SimTime;
use crate::scenario::Overrides;
use outcome::Outcome;
use report::{Report, Trial};
use variant::Variant;

/// Prove that a scenario gives the same run, whatever changes around it
///
/// It is run once, and then again in a process of its own per variant: a second time, with other numbers of threads, with
/// every signal parsed from its text, with its actors in other places, in step with the wall clock. A table shows which of
/// them came to another world hash, and where they differ first, and then what is probably wrong. The recording that they
/// are compared with is in a temporary folder, which goes with this program.
#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 all are one run, 1 one differed or failed, 2 bad usage or input, 130 stopped by Ctrl-C or SIGTERM"
)]
pub(crate) struct Arguments {
    /// The scenario
    #[arg(value_name = "SCENARIO", required_unless_present = "list")]
    file: Option<PathBuf>,
    /// Another end than the scenario's, in simulated seconds
    #[arg(long, value_name = "SECONDS", value_parser = above_zero)]
    until: Option<SimTime>,
    /// Another seed than the scenario's
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Only this variant beside the reference; can be given several times
    #[arg(long, value_name = "VARIANT")]
    only: Vec<String>,
    /// List the variants
    #[arg(long)]
    list: bool,
    /// How long each run may take
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = seconds)]
    timeout: Duration,
    /// Print the result as one JSON object, the last line of stdout
    #[arg(long)]
    json: bool,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|error| format!("{error}"))?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if !duration.is_zero() => Ok(duration),
        _ => Err("it must be a number of seconds above 0".to_owned()),
    }
}

/// Simulated seconds per second of a paced run, unless it would take longer than [`PACED`].
const FACTOR: f64 = 20.0;

/// Seconds that a paced run takes at most.
const PACED: f64 = 5.0;

pub(crate) fn run(arguments: &Arguments, worlds: &Worlds, quiet: bool) -> Result<(), Failure> {
    let chosen = chosen(&arguments.only)?;
    let Some(file) = arguments.file.as_deref().filter(|_| !arguments.list) else {
        for one in Variant::available() {
            say(format_args!("{:<10}  {}", one.name(), one.about()));
        }
        return Ok(());
    };
    // A mistake in the file is told here, once.
    let factories = worlds.factories(&Sight::default().watch(true))?;
    let overrides = Overrides { seed: arguments.seed, end: arguments.until, host: None };
    let (scenario, end) = load(file, &factories, overrides)?;
    let failed = |what: &str, error: std::io::Error| Failure::Run(format!("{what} ({error})"));
    let program = std::env::current_exe().map_err(|error| failed("this program is not found", error))?;
    stop::watch();
    let folder = tempfile::Builder::new().prefix("chaconne-prove-").tempdir();
    let folder = folder.map_err(|error| failed("there is no temporary folder for the recording", error))?;
    let prover = Prover { arguments, file, program: &program, folder: &folder, end };
    let mut report = Report::new(file, scenario.world(), scenario.seed(), end);
    let proven = prover.prove(&chosen, &mut report, quiet);
    // Before anything that could end this program.
    folder.close().map_err(|error| failed("the temporary folder cannot be removed", error))?;
    proven?;
    report.close(arguments.json, quiet)
}

/// The variants of these names; all when there are none.
fn chosen(names: &[String]) -> Result<Vec<Variant>, Failure> {
    for name in names {
        if !Variant::available().any(|one| one.name() == name) {
            let all: Vec<&str> = Variant::available().map(Variant::name).collect();
            let name = name.escape_debug();
            return Err(Failure::Input(format!("there is no variant `{name}`: there are {}", diagnosis::listed(&all))));
        }
    }
    let is_chosen = |one: &Variant| names.is_empty() || names.iter().any(|name| name == one.name());
    Ok(Variant::available().filter(is_chosen).collect())
}

struct Prover<'a> {
    arguments: &'a Arguments,
    file: &'a Path,
    program: &'a Path,
    folder: &'a TempDir,
    end: SimTime,
}

impl Prover<'_> {
    /// Runs the reference, and then the variants, until something is not as it should be that concerns them all.
    fn prove(&self, chosen: &[Variant], report: &mut Report, quiet: bool) -> Result<(), Failure> {
        let mut progress = Progress::new(quiet);
        let total = chosen.len() + 1;
        report.begin(quiet)?;
        for (at, variant) in std::iter::once(None).chain(chosen.iter().copied().map(Some)).enumerate() {
            let name = variant.map_or("reference", Variant::name);
            let trial = self.run(variant, |elapsed| {
                progress.show(at as f64 / total as f64, || {
                    format!("{name}, run {} of {total}, for {:.0} s", at + 1, elapsed.as_secs_f64())
                });
            })?;
            report.add(variant, trial, quiet)?;
            if report.is_over() {
                break;
            }
        }
        Ok(())
    }

    fn run(&self, variant: Option<Variant>, look: impl FnMut(Duration)) -> Result<Trial, Failure> {
        let timeout = self.arguments.timeout;
        let threads = variant.map_or(1, Variant::threads);
        let mut command = self.command(variant, threads);
        let ended = child::run(&mut command, threads == 1, timeout, look)
            .map_err(|error| Failure::Run(format!("this program cannot be started once more ({error})")))?;
        Ok(Trial { outcome: Outcome::of(&ended, timeout), wall: ended.wall })
    }

    fn command(&self, variant: Option<Variant>, threads: u16) -> Command {
        let log = self.folder.path().join("reference.jsonl.zst");
        let mut command = Command::new(self.program);
        command.args(["run", "--quiet", "--json", "--threads", &threads.to_string()]);
        command.args(["--host", variant.map_or("local", Variant::host)]);
        command.env("RAYON_NUM_THREADS", threads.to_string());
        if let Some(until) = self.arguments.until {
            command.args(["--until", &until.to_string()]);
        }
        if let Some(seed) = self.arguments.seed {
            command.args(["--seed", &seed.to_string()]);
        }
        match variant {
            None => {
                command.arg("--record").arg(&log);
            }
            Some(variant) if variant.is_verified() => {
                command.arg("--verify").arg(&log);
            }
            Some(_) => {}
        }
        match variant {
            Some(Variant::SecondRun) => {
                command.arg("--twice");
            }
            Some(Variant::Recorded) => {
                command.arg("--record").arg(self.folder.path().join("recorded.jsonl"));
            }
            Some(Variant::NoTyped) => {
                command.arg("--no-typed");
            }
            Some(Variant::Paced) => {
                let factor = crate::sim_core::math::max(FACTOR, self.end.as_secs_f64() / PACED);
                command.args(["--factor", &factor.to_string()]);
            }
            _ => {}
        }
        // The name of a file may begin with a hyphen.
        command.arg("--").arg(self.file);
        command
    }
}
