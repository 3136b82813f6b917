//! Tasks of this repository, run as `cargo xtask <task>` from any folder of the workspace.
//!
//! ```text
//! cargo xtask verify            # every check, cheapest first, stopping at the first failure
//! cargo xtask verify --only lint
//! cargo xtask golden            # rewrite tests/golden.json from the examples
//! ```
//!
//! Exit codes: 0 success, 1 a check failed, 2 bad usage or a missing prerequisite.

#![allow(clippy::print_stdout, reason = "a command-line tool: standard output is its product")]
#![allow(clippy::print_stderr, reason = "a command-line tool: errors go to standard error")]

mod cargo;
mod error;
mod golden;
mod prerequisites;
mod python;
mod report;
mod steps;
mod summary;
mod verify;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::cargo::Cargo;
use crate::error::Error;
use crate::workspace::Workspace;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Tasks of this repository.")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Runs every check, cheapest first, and stops at the first failure.
    Verify(verify::Options),
    /// Runs the examples in release and rewrites their hashes in tests/golden.json.
    Golden,
}

fn main() -> ExitCode {
    match run(Cli::parse().task) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

/// Runs one task; `false` means that a check failed and that the task has said which.
fn run(task: Task) -> Result<bool, Error> {
    match task {
        Task::Verify(options) if options.list => {
            verify::list();
            Ok(true)
        }
        Task::Verify(options) => {
            let workspace = Workspace::load()?;
            let cargo = Cargo::new(workspace.root.clone());
            verify::run(&options, &workspace, &cargo)
        }
        Task::Golden => {
            let workspace = Workspace::load()?;
            let cargo = Cargo::new(workspace.root.clone());
            golden::rewrite(&workspace, &cargo)?;
            Ok(true)
        }
    }
}
