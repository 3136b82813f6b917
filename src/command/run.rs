//! Running a scenario.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bevy_app::{App, PluginGroup};
use chaconne::conductor::{HelperProgram, RunReport};
use chaconne::prelude::*;
use chaconne::scenario::{Factories, HostOverride, Overrides, Scenario, ScenarioAppExt};
use clap::Args;
use serde::Serialize;

use crate::command::apart::{self, Apart};
use crate::command::closing::Closing;
use crate::command::console::{Progress, note, say};
use crate::command::pools;
use crate::command::program::{Failure, factor, rows};
use crate::command::sight::{Sight, Sighted};
use crate::command::told::{Difference, Failed};
use crate::command::worlds::Worlds;

/// Run a scenario file
///
/// The run ends where the file says, or at --until. It exits with 1 when it halts, when somebody who was planned to join or
/// leave could not, and when it differs from the log that it is compared with. Ctrl-C ends it behind the instant that is
/// being stepped, with its log complete; a second one ends it at once.
#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 success, 1 the run failed or differed, 2 bad usage or input, 130 stopped by Ctrl-C or SIGTERM"
)]
pub(crate) struct Arguments {
    /// The scenario
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Record the run to a log; with a name that ends in .zst it is compressed
    #[arg(long, value_name = "LOG")]
    record: Option<PathBuf>,
    /// Compare the run with a log, and stop at the first difference
    #[arg(long, value_name = "LOG")]
    verify: Option<PathBuf>,
    /// Another end than the scenario's, in simulated seconds
    #[arg(long, value_name = "SECONDS", value_parser = above_zero)]
    until: Option<SimTime>,
    /// Another seed than the scenario's
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Threads that work at an instant, and in each of Bevy's task pools, 0 for one per core; changes no result
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=1024))]
    threads: u16,
    /// Keep pace with the wall clock; changes no result
    #[arg(long)]
    realtime: bool,
    /// Keep pace, with so many simulated seconds per second; changes no result
    #[arg(long, value_name = "F", value_parser = factor)]
    factor: Option<f64>,
    /// Keep pace to some microseconds, which keeps a core busy before each instant; changes no result
    #[arg(long)]
    precise: bool,
    /// Measure what steps take, and print a table with the 20 participants that take most, or so many, or `all`; changes
    /// no result
    #[arg(long, value_name = "ROWS", value_parser = rows, num_args = 0..=1, default_missing_value = "20", require_equals = true)]
    timing: Option<usize>,
    /// Step all actors at another place than the scenario says: local, guarded, process or mixed; changes no result
    #[arg(long, value_name = "PLACE")]
    host: Option<HostOverride>,
    /// Write what the time goes to as a file that Perfetto opens; needs the feature `profile`; changes no result
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// Parse every signal from its text instead of handing values over; changes no result
    #[arg(long)]
    no_typed: bool,
    /// Print the result as one JSON object, the last line of stdout
    #[arg(long)]
    json: bool,
    /// Run it to its end before, unpaced, unrecorded and in silence, in the same process; changes no result
    #[arg(long, hide = true)]
    twice: bool,
}

/// A time after the first one.
pub(crate) fn above_zero(text: &str) -> Result<SimTime, String> {
    match text.parse::<SimTime>() {
        Ok(time) if time > SimTime::ZERO => Ok(time),
        Ok(_) => Err("it must be above 0".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

impl Arguments {
    fn overrides(&self) -> Overrides {
        Overrides { seed: self.seed, end: self.until, host: self.host }
    }

    fn pacing(&self) -> Pacing {
        if self.realtime || self.precise || self.factor.is_some() {
            Pacing::RealTime { factor: self.factor.unwrap_or(1.0), spin: self.precise }
        } else {
            Pacing::FreeRun
        }
    }
}

/// What the JSON object says beside the run.
#[derive(Serialize)]
struct Ran {
    world: String,
    traffic: Sighted,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<Failed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verified: Option<Verified>,
}

#[derive(Serialize)]
struct Verified {
    log: String,
    /// Nothing differed.
    verified: bool,
    /// The run was compared to its end.
    whole: bool,
    compared_instants: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<Difference>,
}

pub(crate) fn run(arguments: Arguments, worlds: &Worlds, quiet: bool) -> Result<(), Failure> {
    pools::size(arguments.threads);
    if arguments.twice {
        rehearse(&arguments, worlds)?;
    }
    let sight = Sight::default();
    let apart = Apart::of(sight.watch(quiet));
    let factories = worlds.factories(&apart.watch())?;
    let (scenario, end) = load(&arguments.file, &factories, arguments.overrides())?;
    if let Some(log) = &arguments.verify {
        // What is no log is refused before anything runs.
        LogReader::open(log).map_err(Failure::input)?;
    }
    if arguments.profile.is_some() && arguments.profile == arguments.record {
        return Err(Failure::Input("--profile and --record name one file; give them two".to_owned()));
    }
    let profile = arguments.profile.as_deref().map(profile).transpose()?;
    let world = scenario.world().to_owned();
    let (uses_processes, has_loggers_apart) = (scenario.uses_processes(), apart::has_loggers(&scenario));
    if has_loggers_apart && !quiet {
        note("what loggers in helper processes see is not shown here, nor how many cars there were");
    }
    let mut app = app(&arguments, scenario, &factories, end, arguments.pacing())?;
    if uses_processes {
        app.add_monitor(apart.follow());
    }
    if let Some(log) = &arguments.verify {
        app.add_plugins(VerifyPlugin::new(log));
    }
    if let Some(log) = &arguments.record {
        app.add_plugins(RecordPlugin::new(log));
    }
    let report = conduct(&mut app, end, quiet);
    if let Some(profile) = profile {
        profile.finish().map_err(|error| Failure::Run(error.to_string()))?;
    }
    if !quiet {
        sight.say_summary();
    }
    let mut sighted = sight.sighted();
    if has_loggers_apart {
        sighted.cars = None;
    }
    close(&app, &arguments, &report, world, sighted, quiet)
}

#[cfg(feature = "profile")]
fn profile(file: &Path) -> Result<chaconne::profile::Profile, Failure> {
    chaconne::profile::Profile::to_file(file).map_err(Failure::input)
}

/// What there is instead of one without the feature: nothing, because none is begun.
#[cfg(not(feature = "profile"))]
enum NoProfile {}

#[cfg(not(feature = "profile"))]
impl NoProfile {
    fn finish(self) -> Result<(), String> {
        match self {}
    }
}

#[cfg(not(feature = "profile"))]
fn profile(file: &Path) -> Result<NoProfile, Failure> {
    let file = file.display();
    Err(Failure::Input(format!("no profile can be written to {file}: build the program with the feature `profile`")))
}

/// Runs the scenario to its end, and forgets it.
fn rehearse(arguments: &Arguments, worlds: &Worlds) -> Result<(), Failure> {
    let factories = worlds.factories(&Sight::default().watch(true))?;
    let (scenario, end) = load(&arguments.file, &factories, arguments.overrides())?;
    let mut app = app(arguments, scenario, &factories, end, Pacing::FreeRun)?;
    conduct(&mut app, end, true);
    Ok(())
}

/// Reads a scenario, and says when it ends. Every mistake in it is told, the first one last.
pub(crate) fn load(file: &Path, factories: &Factories, overrides: Overrides) -> Result<(Scenario, SimTime), Failure> {
    let scenario = Scenario::from_file(file, factories, overrides).map_err(mistakes)?;
    let Some(end) = scenario.end else {
        let file = file.display();
        return Err(Failure::Input(format!("the scenario {file} has no `end`: add one, or give --until SECONDS")));
    };
    Ok((scenario, end))
}

/// The scenario in an `App`.
fn app(
    arguments: &Arguments,
    scenario: Scenario,
    factories: &Factories,
    end: SimTime,
    pacing: Pacing,
) -> Result<App, Failure> {
    let mut app = App::new();
    app.add_plugins(ChaconnePlugins.set(ConductorPlugin {
        world: scenario.world().to_owned(),
        seed: scenario.seed(),
        end: Some(end),
        threads: usize::from(arguments.threads),
        typed: !arguments.no_typed,
        mirrors: Mirroring::Off,
        pacing,
        timing: arguments.timing.is_some(),
        ..ConductorPlugin::default()
    }));
    app.provenance().config("scenario", arguments.file.display().to_string()).config("until", end.to_string());
    for input in &scenario.inputs {
        app.provenance().input(input).map_err(Failure::input)?;
    }
    if scenario.uses_processes() {
        app.set_helper(helper(&scenario, arguments.threads)?);
    }
    app.add_scenario(scenario, factories);
    Ok(app)
}

/// This program, as what helper processes run.
fn helper(scenario: &Scenario, threads: u16) -> Result<HelperProgram, Failure> {
    let program = HelperProgram::this(["host", "--pipe", "--threads", &threads.to_string()]).map_err(|error| {
        Failure::Run(format!("helper processes cannot be started: this program is not found ({error})"))
    })?;
    let setting = scenario.setting_text().map_err(Failure::input)?;
    Ok(program.setting(setting))
}

/// Every mistake on a line of its own: all but the first as notes, and the first as the program's error.
fn mistakes(error: chaconne::scenario::ScenarioError) -> Failure {
    let (file, all) = (error.file().to_owned(), error.errors());
    for mistake in all.iter().skip(1) {
        note(&format!("scenario file `{file}`, {mistake}"));
    }
    Failure::input(error)
}

/// Pieces that take less wall time become longer.
const FRAME: Duration = Duration::from_millis(5);

/// Runs to the end, in pieces of simulated time that take little wall time, so that progress can be shown.
#[allow(clippy::disallowed_methods, reason = "progress is for people; no result depends on it")]
fn conduct(app: &mut App, end: SimTime, quiet: bool) -> RunReport {
    let mut progress = Progress::new(quiet);
    let mut piece = SimDuration::from_millis(100);
    let mut until = SimTime::ZERO;
    loop {
        until = until.checked_add(piece).map_or(end, |next| next.min(end));
        let begun = Instant::now();
        let report = app.run_headless(until);
        if begun.elapsed() < FRAME {
            piece = piece.checked_mul(2).unwrap_or(SimDuration::MAX);
        }
        let ended = app.world().resource::<RunStatus>().ended;
        if ended || until >= end {
            // Nobody is due any more, or the end is reached; a run that has ended says what it said.
            return if ended { report } else { app.end_run() };
        }
        progress.show(until.as_secs_f64() / end.as_secs_f64(), || format!("{until} of {end} s simulated"));
    }
}

fn close(
    app: &App,
    arguments: &Arguments,
    report: &RunReport,
    world: String,
    traffic: Sighted,
    quiet: bool,
) -> Result<(), Failure> {
    let complete = report.is_complete();
    let verified = arguments.verify.as_ref().map(|log| {
        let verification = app.world().resource::<Verification>();
        let (whole, compared_instants) = (verification.is_whole(), verification.ticks());
        let difference = verification.difference().map(Difference::from);
        Verified { log: log.display().to_string(), verified: complete, whole, compared_instants, difference }
    });
    if complete && !quiet {
        if let Some(Verified { log, whole, compared_instants, .. }) = &verified {
            let instants = crate::command::console::counted(*compared_instants, "instant");
            let end = match (whole, report.stopped) {
                (true, _) => String::new(),
                (false, true) => format!(", for {instants}: there it was stopped"),
                (false, false) => format!(", for {instants}: there the log ends"),
            };
            say(format_args!("the run is the one in {log}, bit for bit{end}"));
        }
        if let Some(log) = &arguments.record {
            say(format_args!("recorded to {}", log.display()));
        }
    }
    let recorded = arguments.record.as_ref().map(|log| log.display().to_string());
    let closing = Closing {
        threads: arguments.threads,
        typed: !arguments.no_typed,
        quiet,
        json: arguments.json,
        timing: arguments.timing,
    };
    let failed = report.halt.as_ref().and_then(Failed::of);
    closing.close(report, Ran { world, traffic, failed, recorded, verified })
}
