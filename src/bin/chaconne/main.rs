//! The command `chaconne`: what is in the log of a run, whether it is right, and what else can be done with it.
//!
//! ```text
//! cargo run --release --features cli --bin chaconne -- log info run.jsonl
//! ```

mod console;
mod log;
mod program;
mod table;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

/// Works with what runs of Chaconne leave behind
#[derive(Parser)]
#[command(name = "chaconne", bin_name = "chaconne", version, after_help = EXIT_CODES, arg_required_else_help = false)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Print nothing but errors and what was asked for by name
    #[arg(long, global = true)]
    quiet: bool,
}

const EXIT_CODES: &str = "Exit codes: 0 success, 1 a log is damaged or cut off or differs, 2 bad usage or input";

#[derive(Subcommand)]
enum Command {
    /// Logs of runs: look into them, check, compare, recover, export
    #[command(subcommand, arg_required_else_help = false)]
    Log(log::Command),
    /// Print the completions of a shell
    ///
    /// For bash: source <(chaconne completions bash)
    Completions {
        /// The shell
        shell: Shell,
    },
}

fn main() -> ExitCode {
    program::run(|Arguments { command, quiet }| match command {
        Command::Log(command) => log::run(command, quiet),
        Command::Completions { shell } => {
            completions(shell);
            Ok(())
        }
    })
}

fn completions(shell: Shell) {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "chaconne", &mut script);
    console::say(String::from_utf8_lossy(&script).trim_end());
}
