//! The step `python`: programs that share nothing with ours read what we write.
//!
//! The programs and their tests are in `tests/python`. They run in a virtual environment under the target folder, which
//! is kept, with the packages of [`PACKAGES`]. Then an example's log is checked, and what is exported from it is read.
//! Python is no prerequisite: without it, or when the packages cannot be fetched, the step is a skip with its reason.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::cargo::{Call, Cargo, Output};
use crate::error::Error;
use crate::golden;
use crate::steps::Outcome;
use crate::summary::{Tests, read_unittest};
use crate::workspace::Workspace;

/// What the programs need besides the standard library. Pinned, so that a run of today is one of next year.
const PACKAGES: [&str; 3] = ["xxhash==4.1.0", "mcap==1.6.0", "jsonschema==4.26.0"];

/// Succeeds with a Python that is new enough and can make virtual environments; Debian ships one without `ensurepip`.
const PROBE: &str = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))";

/// What a line of a log has to be like.
const SCHEMA: &str = "plugins/record/schema/log-1.schema.json";

/// The example that writes a log.
const RECORDED: &str = "traffic_record";
/// The example that runs the same world, and has its golden hash.
const GOLDEN: &str = "traffic";

/// Why the step ends before its end.
#[derive(Debug)]
enum Stop {
    /// Something is not there that a machine need not have.
    Skip(String),
    /// A check failed.
    Failure(String),
    Error(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Error(error)
    }
}

/// Carries the step out.
pub(crate) fn verify(workspace: &Workspace, cargo: &Cargo) -> Result<Outcome, Error> {
    let mut outcome = Outcome::default();
    match check(workspace, cargo, &mut outcome.tests) {
        Ok(()) => outcome.remark = "log and export".to_owned(),
        Err(Stop::Skip(reason)) => {
            outcome.remark = "nothing run".to_owned();
            outcome.skips.push(reason);
        }
        Err(Stop::Failure(failure)) => outcome.failure = Some(failure),
        Err(Stop::Error(error)) => return Err(error),
    }
    Ok(outcome)
}

fn check(workspace: &Workspace, cargo: &Cargo, tests: &mut Tests) -> Result<(), Stop> {
    let folder = workspace.target.join("python");
    fs::create_dir_all(&folder).map_err(|source| Error::File { path: folder.clone(), source })?;
    let python = prepare(workspace, &folder.join("venv"))?;
    *tests = run_tests(&python)?;
    let log = fresh(&folder.join("traffic.jsonl"))?;
    let signals = check_log(workspace, cargo, &python, &log)?;
    let export = fresh(&folder.join("traffic.mcap"))?;
    check_export(cargo, &python, &log, &export, signals)
}

/// The tests of the programs themselves.
fn run_tests(python: &Python) -> Result<Tests, Stop> {
    let ended = python.run(&["tests/python/test_check_log.py", "-v"])?;
    let tests = read_unittest(&ended.stderr);
    if !ended.success {
        eprint!("{}", ended.stderr);
        return Err(Stop::Failure(format!("{} of the tests in Python failed", tests.failed.max(1))));
    }
    if tests.passed == 0 {
        return Err(Stop::Failure("tests/python/test_check_log.py ran no test".to_owned()));
    }
    println!("    {} tests passed", tests.passed);
    Ok(tests)
}

/// What `check_log.py --json` prints.
#[derive(Debug, Deserialize)]
struct Checked {
    world_hash: String,
    signals: u64,
}

/// Records the example and has its log checked; returns how many signals are in it.
fn check_log(workspace: &Workspace, cargo: &Cargo, python: &Python, log: &str) -> Result<u64, Stop> {
    let golden = golden::hash_of(workspace, GOLDEN)?;
    let Some(example) = workspace.examples().into_iter().find(|example| example.name == RECORDED) else {
        return Err(Stop::Failure(format!("there is no example `{RECORDED}`, whose log is to be checked")));
    };
    let mut call = example.call();
    call.args.extend([log.to_owned(), "--quiet".to_owned()]);
    run_cargo(cargo, &call)?;
    let checked: Checked = python.json(&["tests/python/check_log.py", "--json", log])?;
    if checked.world_hash != golden {
        let hash = checked.world_hash;
        return Err(Stop::Failure(format!(
            "the log of example `{RECORDED}` gives world hash {hash}, but tests/golden.json has {golden} for `{GOLDEN}`"
        )));
    }
    println!("    {RECORDED}: {golden}, computed from its log");
    let types: BTreeMap<String, u64> = python.json(&["tests/python/check_schema.py", SCHEMA, log])?;
    if !["header", "join", "signal", "tick", "end"].iter().all(|name| types.contains_key(*name)) {
        return Err(Stop::Failure(format!("no line of some types was looked at: {types:?}")));
    }
    println!("    {} of its lines fit the schema", types.values().sum::<u64>());
    Ok(checked.signals)
}

/// What the topics of an export have that are not keys of signals.
const OWN: &str = "/conductor/";

/// What `read_mcap.py` prints.
#[derive(Debug, Deserialize)]
struct Exported {
    channels: Vec<Channel>,
    log_times_in_order: bool,
    all_json_objects: bool,
}

#[derive(Debug, Deserialize)]
struct Channel {
    topic: String,
    encoding: String,
    messages: u64,
    schema_encoding: Option<String>,
}

impl Exported {
    /// What is wrong with the export of a log that has `signals` signals.
    fn fault(&self, signals: u64) -> Option<String> {
        let odd =
            |channel: &&Channel| channel.encoding != "json" || channel.schema_encoding.as_deref() != Some("jsonschema");
        // Joins, leaves and the end have channels of their own.
        let of_signals = self.channels.iter().filter(|channel| !channel.topic.contains(OWN));
        let messages: u64 = of_signals.map(|channel| channel.messages).sum();
        if messages != signals {
            Some(format!("it has {messages} messages of signals, but the log has {signals} signals"))
        } else if !self.log_times_in_order {
            Some("a message has an earlier log time than the one before it".to_owned())
        } else if !self.all_json_objects {
            Some("a message is not a JSON object".to_owned())
        } else if let Some(Channel { topic, encoding, schema_encoding, .. }) = self.channels.iter().find(odd) {
            let schema = schema_encoding.as_deref().unwrap_or("no schema");
            Some(format!("the encodings of `{topic}` must be json and jsonschema, not {encoding} and {schema}"))
        } else {
            None
        }
    }
}

/// Exports the log, and has the export read.
fn check_export(cargo: &Cargo, python: &Python, log: &str, export: &str, signals: u64) -> Result<(), Stop> {
    let mut call = Call::new("run --release --features cli --bin chaconne -- log export");
    call.args.extend([log, "--mcap", export, "--quiet"].map(str::to_owned));
    run_cargo(cargo, &call)?;
    let exported: Exported = python.json(&["tests/python/read_mcap.py", export])?;
    match exported.fault(signals) {
        Some(fault) => Err(Stop::Failure(format!("the export of the log is wrong: {fault}"))),
        None => {
            println!("    {signals} messages on {} channels, read from the export", exported.channels.len());
            Ok(())
        }
    }
}

fn run_cargo(cargo: &Cargo, call: &Call) -> Result<(), Stop> {
    println!("    {call}");
    match cargo.run(call, Output::Shown)?.success {
        true => Ok(()),
        false => Err(Stop::Failure(format!("`{call}` failed"))),
    }
}

/// Makes sure that nothing is left of an earlier run, and returns the path as an argument.
fn fresh(path: &Path) -> Result<String, Error> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(Error::File { path: path.to_owned(), source }),
        _ => Ok(argument(path)),
    }
}

/// The target folder comes from cargo as text, so no path under it loses anything here.
fn argument(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The Python of the virtual environment in `folder`, which is made if need be, with its packages.
fn prepare(workspace: &Workspace, folder: &Path) -> Result<Python, Stop> {
    let program =
        if cfg!(windows) { folder.join("Scripts").join("python.exe") } else { folder.join("bin").join("python") };
    let python = Python::new(&argument(&program), workspace);
    if !python.will_do() {
        let Some(base) =
            ["python3", "python"].map(|name| Python::new(name, workspace)).into_iter().find(Python::will_do)
        else {
            let looked = "neither `python3` nor `python` is a Python 3.10 or newer with `venv` and `ensurepip`";
            return Err(Stop::Skip(format!("{looked}; on Debian and Ubuntu, install python3-venv")));
        };
        base.run(&["-m", "venv", "--clear", &argument(folder)])?.succeeded()?;
    }
    // With the pinned versions there, pip says so and asks nobody.
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--retries", "1"];
    let ended = python.run(&[&pip[..], &PACKAGES].concat())?;
    if !ended.success && is_out_of_reach(&ended.stderr) {
        let reason = "the package index could not be reached";
        return Err(Stop::Skip(format!("{} could not be installed: {reason}", PACKAGES.join(", "))));
    }
    ended.succeeded()?;
    Ok(python)
}

/// Whether pip failed for want of a network: it says so in warnings, and its error is that it found no version at all.
fn is_out_of_reach(output: &str) -> bool {
    let signs = ["connection broken", "Max retries exceeded", "timed out", "(from versions: none)"];
    signs.iter().any(|sign| output.contains(sign))
}

/// A Python, to be run in the root of the workspace.
#[derive(Debug)]
struct Python {
    program: String,
    root: PathBuf,
}

/// How a Python ended.
#[derive(Debug)]
struct Ended {
    command: String,
    success: bool,
    stdout: String,
    stderr: String,
}

impl Python {
    fn new(program: &str, workspace: &Workspace) -> Python {
        Python { program: program.to_owned(), root: workspace.root.clone() }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(args).current_dir(&self.root).stdin(Stdio::null());
        // UTF-8 everywhere, no compiled files beside the sources, and no packages but those of the environment.
        command.env("PYTHONUTF8", "1").env("PYTHONDONTWRITEBYTECODE", "1");
        command.env_remove("PYTHONPATH").env_remove("PYTHONHOME");
        command
    }

    fn will_do(&self) -> bool {
        self.command(&["-c", PROBE]).output().is_ok_and(|output| output.status.success())
    }

    /// Runs to the end and keeps the output. A failure is not an error here.
    fn run(&self, args: &[&str]) -> Result<Ended, Error> {
        let command = format!("{} {}", self.program, args.join(" "));
        println!("    {command}");
        let output = self.command(args).output().map_err(|source| Error::Start { command: command.clone(), source })?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        Ok(Ended { command, success: output.status.success(), stdout, stderr })
    }

    /// Runs a program that prints a JSON object.
    fn json<T: DeserializeOwned>(&self, args: &[&str]) -> Result<T, Stop> {
        let ended = self.run(args)?.succeeded()?;
        serde_json::from_str(&ended.stdout)
            .map_err(|error| Stop::Failure(format!("the output of `{}` is not as expected: {error}", ended.command)))
    }
}

impl Ended {
    /// Itself, or a failure with the last line of what it said.
    fn succeeded(self) -> Result<Ended, Stop> {
        if self.success {
            return Ok(self);
        }
        let last = self.stderr.trim_end().lines().next_back().unwrap_or("it said nothing").to_owned();
        Err(Stop::Failure(format!("`{}` failed: {last}", self.command)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exported(change: impl FnOnce(&mut Exported)) -> Option<String> {
        let text = r#"{"messages": 5, "first_log_time": 0, "last_log_time": 1, "log_times_in_order": true,
            "all_json_objects": true, "channels": [{"topic": "speed", "encoding": "json", "schema": "Speed",
            "schema_encoding": "jsonschema", "messages": 3}, {"topic": "chaconne/w/conductor/end", "encoding": "json",
            "schema": "End", "schema_encoding": "jsonschema", "messages": 2}]}"#;
        let mut exported = serde_json::from_str(text).expect("the sample has the form of what is printed");
        change(&mut exported);
        exported.fault(3)
    }

    #[test]
    fn an_export_as_it_should_be_has_no_fault() {
        assert_eq!(exported(|_| {}), None);
    }

    #[test]
    fn every_fault_of_an_export_is_named() {
        let fault = |change: fn(&mut Exported)| exported(change).expect("something was made wrong");
        assert!(fault(|it| it.channels[0].messages = 2).contains("2 messages of signals, but the log has 3 signals"));
        assert!(fault(|it| it.log_times_in_order = false).contains("log time"));
        assert!(fault(|it| it.all_json_objects = false).contains("not a JSON object"));
        assert!(fault(|it| it.channels[0].encoding = "cbor".into()).contains("`speed`"));
        assert!(fault(|it| it.channels[0].schema_encoding = None).contains("no schema"));
    }

    #[test]
    fn a_failure_ends_with_the_last_thing_that_was_said() {
        let ended = |stderr: &str| Ended {
            command: "python a.py".into(),
            success: false,
            stdout: String::new(),
            stderr: stderr.into(),
        };
        let failure = |stderr| match ended(stderr).succeeded() {
            Err(Stop::Failure(text)) => text,
            other => panic!("a failure is expected, not {other:?}"),
        };
        assert_eq!(failure("a warning\nrun.jsonl:3: wrong\n"), "`python a.py` failed: run.jsonl:3: wrong");
        assert_eq!(failure(""), "`python a.py` failed: it said nothing");
    }

    #[test]
    fn pip_without_a_network_is_told_from_pip_with_a_wrong_version() {
        let offline =
            "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError()': /simple/xxhash/
ERROR: Could not find a version that satisfies the requirement xxhash==4.1.0 (from versions: none)
ERROR: No matching distribution found for xxhash==4.1.0";
        assert!(is_out_of_reach(offline));
        let wrong =
            "ERROR: Could not find a version that satisfies the requirement xxhash==9.9.9 (from versions: 4.0.2, 4.1.0)
ERROR: No matching distribution found for xxhash==9.9.9";
        assert!(!is_out_of_reach(wrong));
    }
}
