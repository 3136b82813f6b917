//! What every program does alike: it reads its command line, fails in one sentence, and ends with an exit code. The
//! examples include this file by its path.
//!
//! Exit codes: 0 success, 1 what was to be done failed or differed, 2 bad usage or input, 130 stopped by Ctrl-C or SIGTERM.

use std::fmt::Display;
use std::process::ExitCode;

use chaconne::conductor::RunReport;
use clap::error::{ContextKind, ContextValue};
use clap::{Command, Parser};

use super::console::{Progress, complain, counted, note, say};

/// Why a program fails. The text is one sentence that says what and where.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Bad usage or input.
    Input(String),
    /// The run failed, or came to another result than it should.
    Run(String),
    /// The run halted; the conductor has said why.
    Halted,
    /// The run was stopped from outside, in good order.
    Stopped(String),
}

impl Failure {
    /// What was given is wrong, as `error` says.
    #[allow(dead_code, reason = "not every program needs it")]
    pub(crate) fn input(error: impl Display) -> Self {
        Self::Input(error.to_string())
    }

    /// The run was stopped: what it has come to.
    #[allow(dead_code, reason = "not every program needs it")]
    pub(crate) fn stopped(report: &RunReport) -> Self {
        let instants = counted(report.ticks, "instant");
        Self::Stopped(match report.now {
            Some(now) => {
                format!(
                    "the run was stopped at {now} s; {instants} and what was recorded and reported of them are complete"
                )
            }
            None => "the run was stopped before its first instant".to_owned(),
        })
    }
}

/// A factor between simulated and wall time.
#[allow(dead_code, reason = "not every program needs it")]
pub(crate) fn factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if factor.is_finite() && factor > 0.0 => Ok(factor),
        Ok(_) => Err("it must be a finite number above 0".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Rows of a table: `all`, or so many.
pub(crate) fn rows(text: &str) -> Result<usize, String> {
    if text == "all" {
        return Ok(usize::MAX);
    }
    text.parse::<usize>().map_err(|error| format!("{error}; give a number or `all`"))
}

/// Reads the command line, does the work and turns its end into an exit code.
#[allow(dead_code, reason = "the command has a name of its own")]
pub(crate) fn run<A: Parser>(work: impl FnOnce(A) -> Result<(), Failure>) -> ExitCode {
    run_as(A::command(), work)
}

/// As [`run`], for a command line that is described by this command.
pub(crate) fn run_as<A: Parser>(command: Command, work: impl FnOnce(A) -> Result<(), Failure>) -> ExitCode {
    let command = with_negative_numbers(command);
    let ended = match command.try_get_matches().and_then(|matches| A::from_arg_matches(&matches)) {
        Ok(arguments) => work(arguments),
        Err(error) if error.use_stderr() => Err(Failure::Input(sentence(&error))),
        Err(help) => {
            say(help.render().to_string().trim_end());
            Ok(())
        }
    };
    Progress::erase();
    let (text, code) = match ended {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Input(text)) => (text, 2),
        Err(Failure::Run(text)) => (text, 1),
        Err(Failure::Halted) => return ExitCode::from(1),
        Err(Failure::Stopped(text)) => {
            note(&text);
            return ExitCode::from(130);
        }
    };
    complain(&text.replace('\n', " "));
    ExitCode::from(code)
}

/// A negative number is a wrong value, not an option of that name.
fn with_negative_numbers(command: Command) -> Command {
    let command = command.mut_args(|argument| {
        let is_valued = argument.get_action().takes_values();
        if is_valued { argument.allow_negative_numbers(true) } else { argument }
    });
    command.mut_subcommands(with_negative_numbers)
}

/// What is wrong with the command line, in one sentence.
fn sentence(error: &clap::Error) -> String {
    let text = error.render().to_string();
    // Up to the first empty line; a value may have line breaks of its own.
    let first = text.split("\n\n").next().unwrap_or_default();
    let first = first.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let first = first.strip_prefix("error: ").unwrap_or(&first);
    let suggested = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue];
    match suggested.into_iter().find_map(|kind| error.get(kind)) {
        Some(ContextValue::String(other)) => format!("{first}; did you mean `{other}`?"),
        // The likeliest comes last.
        Some(ContextValue::Strings(others)) if !others.is_empty() => {
            format!("{first}; did you mean `{}`?", others[others.len() - 1])
        }
        _ => format!("{first}; `--help` lists the options"),
    }
}
