//! Proving scenarios: innocent worlds pass, and planted faults are found where they are and called what they are.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::scenarios::asset;
use super::{CHACONNE, Logs, Ran, chaconne, json, refused};

const FAULTY: &str = env!("CARGO_BIN_EXE_faulty");

/// A folder with a scenario, in which temporary files are made, too.
struct Proof(Logs);

impl Proof {
    /// A world of these actors among two innocents, for one second.
    fn of(actors: &str) -> Self {
        let logs = Logs::new();
        fs::create_dir(logs.path("temporary")).unwrap();
        let innocent = |path| format!("{{ path: '{path}', type: 'innocent' }}");
        let (first, last) = (innocent("first"), innocent("last"));
        let text = format!("{{ world: 'w', seed: 3, end: 1, actors: [{first}, {actors} {last}] }}");
        fs::write(logs.path("world.json5"), text).unwrap();
        Self(logs)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(FAULTY);
        command.arg("prove").arg(self.0.path("world.json5")).args(arguments);
        command.env("TMPDIR", self.0.path("temporary"));
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        let Output { status, stdout, stderr } = self.command(arguments).output().unwrap();
        self.assert_nothing_is_left();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
    }

    fn assert_nothing_is_left(&self) {
        let left: Vec<_> = fs::read_dir(self.0.path("temporary")).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }

    /// What is found where something is; one sentence says so.
    fn found(&self, arguments: &[&str]) -> Found {
        let ran = self.run(&[arguments, &["--json"]].concat());
        assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.starts_with("error: ") && ran.stderr.lines().count() == 1, "{}", ran.stderr);
        let object = serde_json::from_str(ran.stdout.lines().last().unwrap()).unwrap();
        Found { object, text: ran.stdout, error: ran.stderr }
    }
}

struct Found {
    object: Value,
    text: String,
    error: String,
}

impl Found {
    fn variant(&self, name: &str) -> &Value {
        self.object["variants"].as_array().unwrap().iter().find(|one| one["variant"] == name).unwrap()
    }

    /// The variants that are not the reference's run.
    fn differing(&self) -> Vec<&str> {
        let all = self.object["variants"].as_array().unwrap().iter();
        all.filter(|one| one["same"] == false).map(|one| one["variant"].as_str().unwrap()).collect()
    }

    /// Checks that there is one diagnosis, of this cause and participant, and that people are told.
    fn assert_diagnosis(&self, cause: &str, path: &str) {
        let all = self.object["diagnosis"].as_array().unwrap();
        assert_eq!(all.len(), 1, "{}", self.text);
        assert_eq!((&all[0]["cause"], &all[0]["path"]), (&cause.into(), &path.into()), "{}", self.text);
        let sentence = all[0]["text"].as_str().unwrap();
        assert!(sentence.contains(&format!("`{path}`")) && self.text.contains(sentence), "{}", self.text);
    }

    /// Checks that a variant differs first in a payload of this participant, at this instant and time.
    fn assert_differs(&self, variant: &str, path: &str, instant: u64, time: &str) {
        let difference = &self.variant(variant)["difference"];
        assert_eq!(difference["path"], path, "{variant}: {}", self.text);
        assert_eq!((&difference["instant"], &difference["time"]), (&instant.into(), &time.into()), "{variant}");
        assert_eq!(difference["field"], "payload", "{variant}");
        assert_ne!(difference["expected"], difference["found"], "{variant}");
        assert!(difference["line"].as_u64() > Some(1), "{variant}");
        let place = format!("`{path}`, payload, at instant {instant} ({time} s)");
        assert!(self.text.contains(&place), "{place}: {}", self.text);
    }
}

const BAD: &str = "{ path: 'bad', type: 'TYPE' },";

/// What is found in a world with one faulty participant, `bad`.
fn fault(kind: &str) -> Found {
    Proof::of(&BAD.replace("TYPE", kind)).found(&[])
}

#[test]
fn a_world_of_innocents_is_one_run() {
    let proof = Proof::of("{ path: 'talker', type: 'odd', params: { what: 'prints' } },");
    let ran = proof.run(&["--json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{}", ran.stdout);
    assert!(ran.stdout.contains("\n12 runs, one world hash\n"), "{}", ran.stdout);
    let object: Value = serde_json::from_str(ran.stdout.lines().last().unwrap()).unwrap();
    assert_eq!((&object["same"], &object["world"], &object["seed"]), (&true.into(), &"w".into(), &3.into()));
    let variants = object["variants"].as_array().unwrap();
    assert_eq!(variants.len(), 12);
    assert!(variants.iter().all(|one| one["world_hash"] == object["world_hash"]), "{object}");
    assert_eq!(proof.run(&["--quiet"]).stdout, "");
}

#[test]
fn the_demo_world_is_one_run() {
    let ran = json(&["prove", &asset("demo"), "--until", "5"]);
    assert_eq!(ran["same"], true, "{ran}");
    assert_eq!(ran["world_hash"], json(&["run", &asset("demo"), "--until", "5", "--quiet"])["world_hash"]);
    let other = json(&["prove", &asset("demo"), "--until", "1", "--seed", "7", "--only", "again"]);
    assert_eq!((&other["seed"], &other["until"]), (&7.into(), &"1.0".into()));
}

#[test]
fn a_sum_that_is_cut_by_the_number_of_threads_is_found() {
    let found = fault("thread-sum");
    assert_eq!(found.differing(), ["threads-2", "threads-8"]);
    found.assert_differs("threads-2", "bad", 3, "0.3");
    found.assert_diagnosis("threads", "bad");
}

#[test]
#[cfg(target_os = "linux")]
fn what_asks_for_the_number_of_processors_is_found_where_there_are_several() {
    if std::thread::available_parallelism().unwrap().get() == 1 {
        return;
    }
    let found = fault("processors");
    assert_eq!(found.differing(), ["threads-2", "threads-8"]);
    found.assert_diagnosis("threads", "bad");
}

#[test]
fn the_order_of_a_hash_table_is_found() {
    let found = fault("hash-order");
    found.assert_differs("again", "bad", 3, "0.3");
    found.assert_diagnosis("ambient", "bad");
}

#[test]
fn the_wall_clock_is_found() {
    let found = fault("wall-clock");
    found.assert_differs("again", "bad", 3, "0.3");
    found.assert_diagnosis("ambient", "bad");
    // One without a log of its own has only its hash.
    assert_eq!(found.variant("unrecorded")["result"], "differs");
    assert!(found.error.contains("error: 11 of 11 variants differ from the reference, or failed"), "{}", found.error);
}

#[test]
fn entropy_of_the_operating_system_is_found() {
    let found = fault("entropy");
    found.assert_differs("again", "bad", 3, "0.3");
    found.assert_diagnosis("ambient", "bad");
}

#[test]
fn state_outside_of_the_participant_is_found() {
    let found = fault("outside");
    assert_eq!(found.differing(), ["second-run"]);
    found.assert_differs("second-run", "bad", 3, "0.3");
    found.assert_diagnosis("outside", "bad");
}

const PARCELS: &str = "{ path: 'sender', type: 'sender', params: { blind: BLIND } },
    { path: 'receiver', type: 'receiver', params: { blind: BLIND } },";

#[test]
fn a_signal_whose_text_does_not_hold_all_of_it_is_found_with_its_key_and_type() {
    let found = Proof::of(&PARCELS.replace("BLIND", "false")).found(&[]);
    assert_eq!(found.differing(), ["no-typed", "process", "mixed"]);
    assert_eq!(found.variant("no-typed")["path"], "sender");
    found.assert_differs("process", "receiver", 4, "0.4");
    found.assert_diagnosis("text", "sender");
    for part in ["`chaconne/w/actor/sender/parcel`", "`faulty::Weighed`"] {
        assert!(found.object["diagnosis"][0]["text"].as_str().unwrap().contains(part), "{}", found.text);
    }
}

#[test]
fn a_signal_that_its_type_takes_for_equal_all_the_same_is_found_where_it_is_received() {
    let found = Proof::of(&PARCELS.replace("BLIND", "true")).found(&[]);
    assert_eq!(found.differing(), ["no-typed", "process", "mixed"]);
    found.assert_differs("no-typed", "receiver", 4, "0.4");
    found.assert_diagnosis("text", "receiver");
}

#[test]
fn two_faults_have_two_diagnoses() {
    let found =
        Proof::of(&[BAD.replace("TYPE", "outside"), BAD.replace("bad", "sum").replace("TYPE", "thread-sum")].concat())
            .found(&["--only", "again", "--only", "second-run", "--only", "threads-2"]);
    let all = found.object["diagnosis"].as_array().unwrap();
    let told: Vec<_> = all.iter().map(|one| (one["cause"].as_str().unwrap(), one["path"].as_str().unwrap())).collect();
    assert_eq!(told, [("outside", "bad"), ("threads", "sum")], "{}", found.text);
}

#[test]
fn a_reference_that_fails_is_told_and_nothing_else_is_run() {
    let found = Proof::of("{ path: 'pump', type: 'odd', params: { what: 'fails' } },").found(&[]);
    assert!(found.error.contains("the reference run failed"), "{}", found.error);
    assert!(found.error.contains("`pump` failed: the tank is empty (at 0.3 s, instant 3)"), "{}", found.error);
    assert_eq!(found.object["variants"].as_array().unwrap().len(), 1);
}

#[test]
fn a_run_that_crashes_or_hangs_is_told_and_the_others_are_run_all_the_same() {
    let odd = |what| Proof::of(&format!("{{ path: 'odd', type: 'odd', params: {{ what: '{what}' }} }},"));
    let only = ["--only", "second-run", "--only", "unrecorded"];
    let found = odd("aborts").found(&only);
    assert!(found.variant("second-run")["failure"].as_str().unwrap().contains("SIGABRT"), "{}", found.text);
    assert_eq!(found.differing(), ["second-run"]);
    let found = odd("hangs").found(&[&only[..], &["--timeout", "1.5"]].concat());
    assert!(found.text.contains("it took longer than 1.5 s"), "{}", found.text);
    assert_eq!(found.differing(), ["second-run"]);
}

#[test]
fn a_proof_that_is_told_to_stop_ends_soon_and_leaves_nothing() {
    // Ctrl-C reaches the whole group of processes, and SIGTERM one.
    for (signal, is_for_all) in [("INT", true), ("TERM", false)] {
        let proof = Proof::of("{ path: 'odd', type: 'odd', params: { what: 'hangs' } },");
        let mut command = proof.command(&["--only", "second-run"]);
        command.process_group(0);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        // The second run begins soon after the folder has the whole recording.
        wait(|| fs::read_dir(proof.0.path("temporary")).unwrap().any(|entry| holds_a_log(&entry.unwrap().path())));
        std::thread::sleep(Duration::from_millis(300));
        let receiver = format!("{}{}", if is_for_all { "-" } else { "" }, child.id());
        let sent = Command::new("kill").args([&format!("-{signal}"), "--", &receiver]).status().unwrap();
        assert!(sent.success());
        wait(|| child.try_wait().unwrap().is_some());
        let Output { status, stderr, .. } = child.wait_with_output().unwrap();
        assert_eq!(status.code(), Some(130));
        assert_eq!(String::from_utf8(stderr).unwrap(), "note: the proof was stopped behind 0 variants\n");
        proof.assert_nothing_is_left();
    }
}

fn holds_a_log(folder: &Path) -> bool {
    folder.join("reference.jsonl.zst").exists()
}

/// Waits for what comes soon.
#[allow(clippy::disallowed_methods, reason = "the test is about the wall clock")]
fn wait(mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(20), "it does not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_table_that_cannot_be_written_is_an_error_and_leaves_nothing() {
    let Ok(full) = fs::OpenOptions::new().write(true).open("/dev/full") else { return };
    let proof = Proof::of("");
    let Output { status, stderr, .. } = proof.command(&[]).stdout(full).output().unwrap();
    assert_eq!(status.code(), Some(1));
    assert!(String::from_utf8(stderr).unwrap().starts_with("error: the output cannot be written"));
    proof.assert_nothing_is_left();
}

#[test]
fn variants_are_listed_and_chosen_by_name() {
    let list = chaconne(&["prove", "--list"]);
    assert_eq!((list.code, list.stdout.lines().count()), (Some(0), if cfg!(unix) { 11 } else { 9 }));
    let proof = Proof::of("");
    let ran = proof.run(&["--only", "threads-2", "--only", "again"]);
    assert!(ran.stdout.contains("3 runs, one world hash") && !ran.stdout.contains("paced"), "{}", ran.stdout);
    let sentence = refused(&["prove", &asset("demo"), "--only", "threads-3"]);
    assert!(sentence.contains("there is no variant `threads-3`: there are again, second-run,"), "{sentence}");
}

#[test]
fn mistakes_in_a_scenario_are_told_once_and_bad_usage_is_refused() {
    let proof = Proof::of("{ path: 'a', type: 'innocentt' }, { path: 'b', type: 'innocent', params: { x: 1 } },");
    let ran = proof.run(&[]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.lines().count()), (Some(2), "", 2), "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("did you mean `innocent`?").count(), 1, "{}", ran.stderr);
    for arguments in [&["prove"][..], &["prove", "no/such.json5"], &["prove", "a", "--timeout", "0"]] {
        refused(arguments);
    }
    let endless = proof.0.name("endless.json5");
    fs::write(&endless, "{ world: 'w', actors: [] }").unwrap();
    let ran = Command::new(CHACONNE).args(["prove", &endless]).output().unwrap();
    assert_eq!(ran.status.code(), Some(2));
    assert!(String::from_utf8(ran.stderr).unwrap().contains("has no `end`: add one, or give --until"));
}

#[test]
fn a_hidden_run_before_changes_nothing_and_prints_nothing() {
    let logs = Logs::new();
    let (file, log) = (asset("demo"), logs.name("run.jsonl"));
    let arguments = ["run", &file, "--until", "1"];
    let (once, twice) = (json(&arguments), json(&[&arguments[..], &["--twice", "--record", &log]].concat()));
    assert_eq!((&once["world_hash"], &once["instants"]), (&twice["world_hash"], &twice["instants"]));
    let lines = |ran: &Ran| ran.stdout.lines().count();
    assert_eq!(lines(&chaconne(&arguments)), lines(&chaconne(&[&arguments[..], &["--twice"]].concat())));
    assert!(!chaconne(&["run", "--help"]).stdout.contains("--twice"));
    json(&["log", "check", &log]);
}
