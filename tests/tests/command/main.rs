//! The command `chaconne` as a program: what it prints, what it refuses, and with which exit code.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail their test by panicking")]

mod cat;
mod check_and_diff;
mod export;
mod info;
mod lints;
#[cfg(unix)]
mod prove;
mod recover;
mod scenarios;
#[cfg(unix)]
mod signals;
mod usage;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use chaconne_conductor::{Actor, RunReport};
use chaconne_record::Recorder;
use chaconne_tests::{Probe, acting, at, config, secs, world_with};
use tempfile::TempDir;

const CHACONNE: &str = env!("CARGO_BIN_EXE_chaconne-command");

/// What a command printed.
struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Runs the command.
fn chaconne(arguments: &[&str]) -> Ran {
    let Output { status, stdout, stderr } = Command::new(CHACONNE).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
}

/// What the command prints when it succeeds.
fn done(arguments: &[&str]) -> String {
    let Ran { code, stdout, stderr } = chaconne(arguments);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{arguments:?}");
    stdout
}

/// The object that the command prints with `--json`, which it adds.
fn json(arguments: &[&str]) -> serde_json::Value {
    let stdout = done(&[arguments, &["--json"]].concat());
    serde_json::from_str(stdout.lines().last().unwrap()).unwrap()
}

/// The one sentence with which the command fails, and what it printed before.
fn failed(code: i32, arguments: &[&str]) -> (String, String) {
    let ran = chaconne(arguments);
    assert_eq!(ran.code, Some(code), "{arguments:?}: {}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1, "{arguments:?}: {}", ran.stderr);
    assert!(ran.stderr.starts_with("error: ") && !ran.stderr.contains("panicked"), "{}", ran.stderr);
    (ran.stderr, ran.stdout)
}

/// The sentence with which bad usage or input is refused; nothing is printed before.
fn refused(arguments: &[&str]) -> String {
    let (sentence, stdout) = failed(2, arguments);
    assert_eq!(stdout, "", "{arguments:?}");
    sentence
}

/// A folder with logs, which goes when the test ends.
struct Logs(TempDir);

impl Logs {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A file's name, as an argument.
    fn name(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Records a world to a log, and returns its name.
    fn record(&self, name: &str, actors: Vec<Actor>) -> String {
        record(&self.path(name), actors);
        self.name(name)
    }

    /// The log of the cast.
    fn cast(&self) -> String {
        self.record("run.jsonl", cast())
    }

    /// The cast's log after a change to its bytes.
    fn changed(&self, change: impl FnOnce(&mut Vec<u8>)) -> String {
        let file = self.cast();
        let mut bytes = fs::read(&file).unwrap();
        change(&mut bytes);
        fs::write(&file, bytes).unwrap();
        file
    }

    /// The cast's log without what stands from some text on, which is found from the end.
    fn cut_at(&self, text: &str) -> String {
        self.changed(|bytes| {
            let at = String::from_utf8(bytes.clone()).unwrap().rfind(text).unwrap();
            bytes.truncate(at);
        })
    }
}

/// A car of two parts, a camera under its path, one that leaves, and one that steps once.
fn cast() -> Vec<Actor> {
    vec![
        Actor::new("ego")
            .child("controller", Probe::every(2).says("steer"))
            .child("physics", Probe::every(1).says("pose")),
        Actor::of("ego/camera", Probe::every(2).says("image")),
        Actor::of("egon", Probe::every(1).says("pose")),
        Actor::of("gone", Probe::every(1).says("y")).leaves_at(at(3)),
        Actor::of("once", Probe::at([1])),
    ]
}

/// Records a world for six seconds.
fn record(file: &Path, actors: Vec<Actor>) -> RunReport {
    let mut world = world_with(config(), actors);
    world.add_monitor(Recorder::new(file));
    // How it ended is in the report.
    let _ = world.run_until(at(6));
    world.end(std::time::Duration::ZERO)
}

/// An actor that fails at second 3.
fn failing() -> Actor {
    let pump = acting(|ctx| if ctx.now() < at(3) { ctx.after(secs(1)) } else { Err("the tank is empty".into()) });
    Actor::of("pump", pump)
}

/// The lines of a text.
fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}
