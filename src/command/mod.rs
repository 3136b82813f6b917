//! The command `chaconne` as a library: for programs that have participants of their own and want the same command.
//!
//! A program registers its factories and has everything else: it runs scenarios that name them, with logs, pacing and helper
//! processes, lists them with their parameters, makes the schema for editors, and proves that they keep the promise.
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use chaconne::command::Program;
//! use chaconne::prelude::*;
//! use chaconne::scenario::Site;
//! # use schemars::JsonSchema;
//! # use serde::Deserialize;
//!
//! /// A lamp that blinks.
//! struct Lamp(SimDuration);
//!
//! impl Participant for Lamp {
//!     fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
//!         ctx.publish("lit", &true)?;
//!         ctx.after(self.0)
//!     }
//! }
//!
//! #[derive(Deserialize, JsonSchema)]
//! #[serde(deny_unknown_fields)]
//! struct LampParams {
//!     every_s: i32,
//! }
//!
//! fn main() -> ExitCode {
//!     Program::new("lamps")
//!         .factories(|factories| {
//!             factories.add("lamp", "a lamp that blinks", |params: LampParams, _: &Site<'_>| {
//!                 if params.every_s > 0 { Ok(Lamp(SimDuration::from_secs(params.every_s))) } else { Err("it never blinks") }
//!             })?;
//!             Ok(())
//!         })
//!         .main()
//! }
//! ```

mod apart;
mod closing;
mod console;
mod host;
mod list;
mod log;
mod pools;
mod program;
mod prove;
mod run;
mod sight;
mod table;
mod told;
mod worlds;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

use crate::scenario::{Factories, FactoryError};
use worlds::Worlds;

/// Runs worlds that are written down, and works with what runs leave behind
#[derive(Parser)]
#[command(version, after_help = EXIT_CODES, arg_required_else_help = false)]
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
    Prove(prove::Arguments),
    Host(host::Arguments),
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

/// A program that has this command.
pub struct Program {
    name: &'static str,
    worlds: Worlds,
}

impl Program {
    /// A program of this name, in which scenarios can be made of all that is built in.
    pub fn new(name: &'static str) -> Self {
        Self { name, worlds: Worlds::all() }
    }

    /// A program of this name, in which scenarios can be made of what it registers, and of nothing else.
    pub fn bare(name: &'static str) -> Self {
        Self { name, worlds: Worlds::none() }
    }

    /// Registers more that scenarios can be made of. Whatever is registered must be so in every process of the program,
    /// because helper processes make actors too.
    #[must_use]
    pub fn factories(mut self, register: impl Fn(&mut Factories) -> Result<(), FactoryError> + 'static) -> Self {
        self.worlds.register(register);
        self
    }

    /// Reads the command line, does what it asks for, and says how that ended: 0 for success, 1 when a run failed or
    /// differed, 2 for bad usage or input, 130 when it was stopped by Ctrl-C or SIGTERM.
    pub fn main(self) -> ExitCode {
        let Self { name, worlds } = self;
        let mut command = Arguments::command().name(name).bin_name(name);
        program::run_as(command.clone(), |Arguments { command: asked, quiet }| match asked {
            Command::Run(arguments) => run::run(arguments, &worlds, quiet),
            Command::Prove(arguments) => prove::run(&arguments, &worlds, quiet),
            Command::Host(arguments) => host::run(&arguments, &worlds),
            Command::List(arguments) => list::run(&arguments, &worlds),
            Command::Schema => list::schema(&worlds),
            Command::Log(command) => log::run(command, quiet),
            Command::Completions { shell } => {
                let mut script = Vec::new();
                clap_complete::generate(shell, &mut command, name, &mut script);
                console::say(String::from_utf8_lossy(&script).trim_end());
                Ok(())
            }
        })
    }
}
