//! One world hash: whatever the threads, the hand-over of values and the build; in processes of their own.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail their test by panicking")]

mod examples;
mod processes;
mod traffic;

use std::collections::BTreeMap;
use std::process::{Command, Output};

/// An entry of `tests/golden.json`.
#[derive(serde::Deserialize)]
struct Golden {
    #[serde(default)]
    args: Vec<String>,
    world_hash: String,
}

/// The golden hashes of the examples, by name.
fn golden() -> BTreeMap<String, Golden> {
    serde_json::from_str(include_str!("../../golden.json")).unwrap()
}

/// What a program printed: its exit code, stdout and stderr.
struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Runs a program to its end.
fn run(program: &str, arguments: &[&str]) -> Ran {
    let Output { status, stdout, stderr } =
        Command::new(program).args(arguments).env_remove("RUST_BACKTRACE").output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
}
