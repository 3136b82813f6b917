//! The last lines of a program that ran a world: what was done, in how much time, and the world hash; as text and as an
//! object. The examples include this file by its path.

use chaconne::conductor::RunReport;
use serde::Serialize;

use super::console::{count, counted, say, say_json};
use super::program::Failure;

/// How a run was made, for the closing lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Closing {
    /// Threads asked for; zero for one per core.
    pub(crate) threads: u16,
    /// Whether values were handed over as they are.
    pub(crate) typed: bool,
    /// Print no text.
    pub(crate) quiet: bool,
    /// Print the object.
    pub(crate) json: bool,
}

impl Closing {
    /// Ends a program: the closing lines of its run, and the JSON object with `more` in it.
    pub(crate) fn close(self, report: &RunReport, more: impl Serialize) -> Result<(), Failure> {
        let simulated = report.now.unwrap_or_default();
        let factor = report.real_time_factor();
        if !self.quiet {
            self.say_lines(report, factor);
        }
        if self.json {
            say_json(&Summary {
                world_hash: report.world_hash.to_string(),
                seed: report.seed,
                threads: self.threads,
                typed: self.typed,
                instants: report.ticks,
                steps: report.steps,
                signals: report.signals,
                participants: report.participants,
                joins: report.joins,
                leaves: report.leaves,
                refusals: report.refusals,
                simulated_s: simulated.as_secs_f64(),
                wall_s: report.wall.as_secs_f64(),
                real_time_factor: factor,
                halt: report.halt.as_ref().map(ToString::to_string),
                refused: report.refused.clone(),
                end_failures: report.end_failures.clone(),
                more,
            });
        }
        if report.is_complete() { Ok(()) } else { Err(Failure::Halted) }
    }

    fn say_lines(self, report: &RunReport, factor: f64) {
        say(format_args!(
            "{}, {} and {} of {}",
            counted(report.ticks, "instant"),
            counted(report.steps, "step"),
            counted(report.signals, "signal"),
            counted(report.participants as u64, "participant"),
        ));
        if report.joins != report.participants as u64 || report.refusals > 0 {
            let refused = match report.refusals {
                0 => String::new(),
                refusals => format!("; {} of participants refused", counted(refusals, "request")),
            };
            say(format_args!("{} joined and {} left{refused}", count(report.joins), count(report.leaves)));
        }
        say(format_args!(
            "{} s simulated in {:.3} s, real-time factor {}",
            report.now.unwrap_or_default(),
            report.wall.as_secs_f64(),
            if factor < 100.0 { format!("{factor:.2}") } else { count(factor as u64) },
        ));
        say(format_args!("world hash {}", report.world_hash));
    }
}

/// What `--json` prints of a run.
#[derive(Serialize)]
struct Summary<T> {
    world_hash: String,
    seed: u64,
    threads: u16,
    typed: bool,
    instants: u64,
    steps: u64,
    signals: u64,
    participants: usize,
    joins: u64,
    leaves: u64,
    refusals: u64,
    simulated_s: f64,
    wall_s: f64,
    real_time_factor: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    halt: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    refused: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    end_failures: Vec<String>,
    #[serde(flatten)]
    more: T,
}

/// Nothing to add to the JSON object.
#[allow(dead_code, reason = "not every program has nothing to add")]
#[derive(Serialize)]
pub(crate) struct Nothing {}
