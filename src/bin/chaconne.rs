//! The command `chaconne`: runs scenarios, and looks into the logs of runs.
//!
//! ```text
//! cargo run --release --features cli --bin chaconne -- run assets/scenarios/demo.json5 --record run.jsonl
//! cargo run --release --features cli --bin chaconne -- log info run.jsonl
//! ```

use std::process::ExitCode;

use chaconne::command::Program;

fn main() -> ExitCode {
    Program::new("chaconne").main()
}
