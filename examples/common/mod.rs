//! What the examples share: options, exit codes, the closing lines, and the object that `--json` prints.
//!
//! Exit codes: 0 success, 1 the run failed or differed, 2 bad usage or input, 130 stopped by Ctrl-C or SIGTERM. Errors are
//! one sentence on stderr.

#![allow(dead_code, unused_imports, reason = "no example uses all of it")]

#[path = "../../src/command/closing.rs"]
mod closing;
#[path = "../../src/command/console.rs"]
pub(crate) mod console;
#[path = "../../src/command/program.rs"]
mod program;

use std::fmt::Display;
use std::time::Instant;

use bevy::prelude::*;
use chaconne::prelude::*;
use clap::Args;
use serde::Serialize;

use closing::Closing;
pub(crate) use closing::Nothing;
pub(crate) use console::{Progress, count, counted, say};
pub(crate) use program::{Failure, factor, run};

/// Options that every example understands.
#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// Seed of every random stream
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub(crate) seed: u64,
    /// Threads that work at an instant, 0 for one per core; changes no result
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=1024))]
    pub(crate) threads: u16,
    /// Print nothing but errors and what --json asks for
    #[arg(long)]
    pub(crate) quiet: bool,
    /// Print the result as one JSON object, the last line of stdout
    #[arg(long)]
    pub(crate) json: bool,
    /// Parse every signal from its text instead of handing values over; changes no result
    #[arg(long)]
    pub(crate) no_typed: bool,
    /// Measure what steps take, and print a table with the 20 participants that take most, or so many, or `all`; changes
    /// no result
    #[arg(long, value_name = "ROWS", value_parser = program::rows, num_args = 0..=1, default_missing_value = "20", require_equals = true)]
    pub(crate) timing: Option<usize>,
    /// How the run keeps time, which most examples do not let choose.
    #[arg(skip)]
    pub(crate) pacing: Pacing,
}

impl Options {
    /// The conductor's settings that these options stand for.
    pub(crate) fn conductor(&self) -> ConductorPlugin {
        ConductorPlugin {
            seed: self.seed,
            threads: usize::from(self.threads),
            typed: !self.no_typed,
            pacing: self.pacing,
            timing: self.timing.is_some(),
            ..ConductorPlugin::default()
        }
    }

    /// Shows how far a run of an `App` is, on a terminal, when it takes longer than two seconds.
    pub(crate) fn progress(&self, until: SimTime) -> impl Plugin + use<> {
        let progress = Progress::new(self.quiet);
        move |app: &mut App| {
            let mut progress = progress.clone();
            app.add_systems(Update, move |status: Res<RunStatus>| {
                if let (Some(now), false) = (status.now, status.ended) {
                    let now = now.as_secs_f64();
                    progress.show(now / until.as_secs_f64(), || format!("{now:.1} of {until} s simulated"));
                }
            });
        }
    }

    /// Prints a line, unless `--quiet` is given.
    pub(crate) fn say(&self, line: impl Display) {
        if !self.quiet {
            say(line);
        }
    }

    /// Ends an example: the closing lines of its run, and the JSON object with `more` in it.
    pub(crate) fn close(&self, report: &RunReport, more: impl Serialize) -> Result<(), Failure> {
        let &Self { threads, quiet, json, timing, .. } = self;
        let closing = Closing { threads, typed: !self.no_typed, quiet, json, timing };
        closing.close(report, more)
    }

    /// Prints an object as the last line, if `--json` is given.
    pub(crate) fn json(&self, object: &impl Serialize) {
        if self.json {
            console::say_json(object);
        }
    }
}

/// Wall-clock seconds that `work` takes, and what it returns.
#[allow(clippy::disallowed_methods, reason = "examples measure themselves; no result depends on it")]
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let result = work();
    (start.elapsed().as_secs_f64(), result)
}

/// The resident memory of this process, where `/proc` tells.
pub(crate) fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(1024 * line.split_whitespace().next()?.parse::<u64>().ok()?)
}
