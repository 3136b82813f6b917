//! The last lines of a program that ran a world: what was done, in how much time, and the world hash; as text and as an
//! object. The examples include this file by its path.

use std::time::Duration;

use chaconne::conductor::{PacingReport, RunReport, Timed, TimingReport};
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
    /// Print a table of step times, with at most so many rows of participants.
    pub(crate) timing: Option<usize>,
}

impl Closing {
    /// Ends a program: the closing lines of its run, and the JSON object with `more` in it.
    pub(crate) fn close(self, report: &RunReport, more: impl Serialize) -> Result<(), Failure> {
        let simulated = report.now.unwrap_or_default();
        let factor = report.real_time_factor();
        if self.quiet {
            self.say_timing(report);
        } else {
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
                removed: report.removed.clone(),
                left_behind: report.left_behind.iter().map(ToString::to_string).collect(),
                budget_misses: report.misses,
                end_failures: report.end_failures.clone(),
                stopped: report.stopped,
                pacing: report.pacing.as_ref().map(Kept::of),
                timing: report.timing.as_deref().map(Times::of),
                more,
            });
        }
        if !report.is_complete() {
            Err(Failure::Halted)
        } else if report.stopped {
            Err(Failure::stopped(report))
        } else {
            Ok(())
        }
    }

    /// The table of times, which is asked for by name.
    fn say_timing(self, report: &RunReport) {
        if let (Some(timing), Some(rows)) = (&report.timing, self.timing) {
            say(timing.table(rows).to_string().trim_end());
        }
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
        for removed in &report.removed {
            say(format_args!("removed from the run: {removed}"));
        }
        for path in &report.left_behind {
            say(format_args!("`{path}` does not come back; its thread was left behind"));
        }
        if report.misses > 0 {
            say(format_args!("{} took longer than budgeted", counted(report.misses, "step")));
        }
        say(format_args!(
            "{} s simulated in {:.3} s, real-time factor {}",
            report.now.unwrap_or_default(),
            report.wall.as_secs_f64(),
            if factor < 100.0 { format!("{factor:.2}") } else { count(factor as u64) },
        ));
        if let Some(pacing) = &report.pacing {
            say_pacing(pacing);
        }
        self.say_timing(report);
        say(format_args!("world hash {}", report.world_hash));
    }
}

fn say_pacing(pacing: &PacingReport) {
    let millis = |duration: Duration| format!("{:.3} ms", 1e3 * duration.as_secs_f64());
    let overruns = match pacing.overruns {
        0 => "no overrun".to_owned(),
        overruns => format!("{}, {:.3} s lost", counted(overruns, "overrun"), pacing.slipped.as_secs_f64()),
    };
    say(format_args!(
        "paced over {:.3} s; late by {} in the median, {} in the 99th percentile, {} at most; {overruns}",
        pacing.elapsed.as_secs_f64(),
        millis(pacing.median),
        millis(pacing.p99),
        millis(pacing.max),
    ));
    say(format_args!(
        "of the last thousand instants late by {} in the mean, {} at most",
        millis(pacing.recent_mean),
        millis(pacing.recent_max),
    ));
}

/// What `--json` prints of how well a paced run kept time.
#[derive(Serialize)]
struct Kept {
    instants: u64,
    overruns: u64,
    slipped_s: f64,
    elapsed_s: f64,
    lateness_max_ms: f64,
    lateness_median_ms: f64,
    lateness_p99_ms: f64,
    lateness_recent_max_ms: f64,
    lateness_recent_mean_ms: f64,
}

impl Kept {
    fn of(pacing: &PacingReport) -> Self {
        let millis = |duration: Duration| duration.as_nanos() as f64 / 1e6;
        Self {
            instants: pacing.instants,
            overruns: pacing.overruns,
            slipped_s: pacing.slipped.as_secs_f64(),
            elapsed_s: pacing.elapsed.as_secs_f64(),
            lateness_max_ms: millis(pacing.max),
            lateness_median_ms: millis(pacing.median),
            lateness_p99_ms: millis(pacing.p99),
            lateness_recent_max_ms: millis(pacing.recent_max),
            lateness_recent_mean_ms: millis(pacing.recent_mean),
        }
    }
}

/// What `--json` prints of where the time went.
#[derive(Serialize)]
struct Times {
    participants: Vec<Time>,
    actors: Vec<Time>,
    left: Vec<Time>,
    instants: Time,
    conductor: Time,
    hosts: Time,
    monitors: Time,
}

impl Times {
    fn of(timing: &TimingReport) -> Self {
        let wall = timing.instants.total;
        let all = |rows: &[Timed]| rows.iter().map(|row| Time::of(row, wall)).collect();
        let [instants, conductor, hosts, monitors] =
            [&timing.instants, &timing.conductor, &timing.hosts, &timing.monitors].map(|row| Time::of(row, wall));
        Self {
            participants: all(&timing.participants),
            actors: all(&timing.actors),
            left: all(&timing.left),
            instants,
            conductor,
            hosts,
            monitors,
        }
    }
}

#[derive(Serialize)]
struct Time {
    path: String,
    count: u64,
    mean_us: f64,
    max_us: f64,
    p99_us: f64,
    misses: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget_us: Option<f64>,
    total_s: f64,
    share: f64,
}

impl Time {
    fn of(row: &Timed, wall: Duration) -> Self {
        let micros = |duration: Duration| duration.as_nanos() as f64 / 1e3;
        Self {
            path: row.path.clone(),
            count: row.count,
            mean_us: micros(row.mean),
            max_us: micros(row.max),
            p99_us: micros(row.p99),
            misses: row.misses,
            budget_us: row.budget.map(micros),
            total_s: row.total.as_secs_f64(),
            share: row.share(wall),
        }
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
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
    removed: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_behind: Vec<String>,
    #[serde(skip_serializing_if = "is_zero")]
    budget_misses: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    end_failures: Vec<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stopped: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pacing: Option<Kept>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timing: Option<Times>,
    #[serde(flatten)]
    more: T,
}

/// Nothing to add to the JSON object.
#[allow(dead_code, reason = "not every program has nothing to add")]
#[derive(Serialize)]
pub(crate) struct Nothing {}
