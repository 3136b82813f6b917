//! The command `chaconne`: runs scenarios, and looks into the logs of runs.
//!
//! ```text
//! cargo run --release --features cli --bin chaconne -- run assets/scenarios/demo.json5 --record run.jsonl
//! cargo run --release --features cli --bin chaconne -- log info run.jsonl
//! ```

mod closing;
mod console;
mod list;
mod log;
mod program;
mod run;
mod sight;
mod table;
mod worlds;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

/// Runs worlds that are written down, and works with what runs leave behind
#[derive(Parser)]
#[command(name = "chaconne", bin_name = "chaconne", version, after_help = EXIT_CODES, arg_required_else_help = false)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Print nothing but errors and what was asked for by name
    #[arg(long, global = true)]
    quiet: bool,
}

const EXIT_CODES: &str = "Exit codes: 0 success, 1 a run failed or differed, or a log is damaged or cut off or differs, 2 bad usage or input, 130 stopped by Ctrl-C or SIGTERM";

#[derive(Subcommand)]
enum Command {
    Run(run::Arguments),
    List(list::Arguments),
    /// Print the JSON Schema of scenario files, for editors
    Schema,
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
        Command::Run(arguments) => run::run(arguments, quiet),
        Command::List(arguments) => list::run(&arguments),
        Command::Schema => list::schema(),
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
