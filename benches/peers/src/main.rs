//! Chaconne and its peers, measured side by side in one process.
//!
//! ```sh
//! cargo run --release -p chaconne-peers -- ring          # a table
//! cargo run --release -p chaconne-peers -- ring --json   # one JSON object per row
//! ```
//!
//! Contenders run in turn, at least five rounds; a row gives medians. `ours` and `theirs` are costs in `unit`, `ratio` is
//! ours divided by theirs, and a row with a `target` is `met` when the ratio is at most that. Setting up is not timed, and
//! every contender is checked to have done the work it was timed for.
//!
//! Exit code 0: everything was measured, whether targets were met or not; 1: a contender failed or did other work than
//! was asked of it; 2: bad usage.

mod alternate;
mod error;
mod growth;
mod hosts;
mod minimal;
mod nexosim_ring;
mod ours;
mod report;
mod ring;

use std::{
    io::{self, Write},
    process::ExitCode,
    time::Duration,
};

use clap::{Args, Parser, Subcommand, builder::RangedU64ValueParser};

use crate::{alternate::Plan, error::PeerError, report::Report};

/// Chaconne and its peers, measured side by side in one process.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    work: WorkArgs,
}

#[derive(Subcommand)]
enum WorkArgs {
    /// The ring on Chaconne and on NeXosim 1.0, and the growth of a step's cost beside that of a minimal loop
    Ring {
        /// Sizes of the ring
        #[arg(
            long,
            value_name = "N",
            value_delimiter = ',',
            default_values_t = ring::TARGETS.map(|(n, _)| n),
            value_parser = RangedU64ValueParser::<usize>::new().range(2..=10_000_000),
        )]
        participants: Vec<usize>,
        #[command(flatten)]
        measuring: MeasuringArgs,
    },
    /// An actor stepped on a guarded thread and in a helper process, beside bare round trips
    Hosts {
        #[command(flatten)]
        measuring: MeasuringArgs,
    },
    /// What a helper process of these benches runs
    #[command(name = hosts::HELPER, hide = true)]
    Helper,
    /// The other end of bare pipes
    #[command(name = hosts::ECHO, hide = true)]
    Echo,
    /// The growth of a step's cost alone
    Growth {
        #[command(flatten)]
        measuring: MeasuringArgs,
    },
}

#[derive(Args)]
struct MeasuringArgs {
    /// Rounds in which every contender runs once
    #[arg(
        long,
        default_value_t = 5,
        value_parser = RangedU64ValueParser::<usize>::new().range(5..=1_000),
    )]
    runs: usize,
    /// Runs of a few hundredths of a second, to see that everything works; the times are not worth quoting
    #[arg(long)]
    quick: bool,
    /// One JSON object per row instead of a table
    #[arg(long)]
    json: bool,
    /// No progress
    #[arg(long)]
    quiet: bool,
}

impl MeasuringArgs {
    fn plan(&self) -> Plan {
        Plan { runs: self.runs, slice: Duration::from_millis(if self.quick { 20 } else { 400 }) }
    }

    fn report<'a>(&self, out: &'a mut dyn Write) -> Report<'a> {
        let report = if self.json { Report::json(out) } else { Report::table(out) };
        let report = report.quick(self.quick);
        if self.quiet { report } else { report.with_progress() }
    }
}

fn run(work: &WorkArgs) -> Result<(), PeerError> {
    match work {
        WorkArgs::Helper => return hosts::help(),
        WorkArgs::Echo => return hosts::echo(),
        _ => {}
    }
    let mut out = io::stdout().lock();
    match work {
        WorkArgs::Ring { participants, measuring } => {
            let mut report = measuring.report(&mut out);
            for &n in participants {
                ring::measure(n, measuring.plan(), &mut report)?;
            }
            growth::measure(measuring.plan(), &mut report)
        }
        WorkArgs::Hosts { measuring } => hosts::measure(measuring.plan(), &mut measuring.report(&mut out)),
        WorkArgs::Helper | WorkArgs::Echo => Ok(()),
        WorkArgs::Growth { measuring } => growth::measure(measuring.plan(), &mut measuring.report(&mut out)),
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    // Failing to write to standard error leaves nobody to tell.
    if cfg!(debug_assertions) {
        let _ = writeln!(io::stderr(), "warning: this is a debug build, its times mean nothing: run with --release");
    }
    match run(&cli.work) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::from(1)
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_ring_is_measured_at_the_sizes_that_have_targets() {
        let Cli { work: WorkArgs::Ring { participants, measuring } } = Cli::parse_from(["peers", "ring"]) else {
            panic!("`ring` is the ring");
        };
        assert_eq!((participants, measuring.runs), (vec![10, 1_000, 100_000], 5));
    }

    #[test]
    fn fewer_than_five_runs_a_ring_of_one_and_unknown_options_are_bad_usage() {
        for arguments in [
            &["peers", "ring", "--runs", "4"][..],
            &["peers", "ring", "--participants", "10,1"],
            &["peers", "ring", "--fast"],
            &["peers"],
        ] {
            let error = Cli::try_parse_from(arguments).err().unwrap();
            assert_eq!(error.exit_code(), 2, "{arguments:?}");
        }
    }
}
