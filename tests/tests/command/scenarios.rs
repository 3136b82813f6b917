//! Running scenarios, and what they can be made of.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use super::{Logs, Ran, chaconne, done, json, refused};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../");

/// The path of a scenario of the repository.
pub(super) fn asset(name: &str) -> String {
    format!("{ROOT}assets/scenarios/{name}.json5")
}

/// The golden hash of an example.
fn golden(example: &str) -> String {
    let text = fs::read_to_string(format!("{ROOT}tests/golden.json")).unwrap();
    let golden: serde_json::Value = serde_json::from_str(&text).unwrap();
    golden[example]["world_hash"].as_str().unwrap().to_owned()
}

impl Logs {
    /// Writes a scenario and returns its name.
    fn scenario(&self, text: &str) -> String {
        let name = self.name("world.json5");
        fs::write(&name, text).unwrap();
        name
    }
}

/// A world of two cars, of which one joins at 1 s; `more` stands behind its actors.
fn two_cars(more: &str) -> String {
    format!(
        "{{
  world: 'two', end: 3, road: 'demo',
  actors: [{{ path: 'a', type: 'traffic/car', params: {{ lane: 0, s: 0, speed: 20 }} }}],
  joins: [{{ at: 1, path: 'b', type: 'traffic/car', params: {{ lane: 1, s: 0, speed: 20 }}, leaves_at: 2.5 }}],
  {more}
}}
"
    )
}

#[test]
fn the_demo_world_of_a_file_is_that_of_the_example_whatever_the_threads_the_recorder_and_the_hand_over() {
    let logs = Logs::new();
    let (file, log) = (asset("demo"), logs.name("demo.jsonl"));
    for options in [
        &["--threads", "1"][..],
        &["--threads", "2", "--record", &log],
        &["--threads", "8", "--verify", &log],
        &["--no-typed", "--verify", &log],
    ] {
        let ran = json(&[&["run", &file, "--quiet"], options].concat());
        assert_eq!(ran["world_hash"], golden("traffic"), "{options:?}");
        assert!(ran["joins"].as_u64() > ran["participants"].as_u64(), "{ran}");
        if options.contains(&"--verify") {
            assert_eq!((&ran["verified"]["verified"], &ran["verified"]["whole"]), (&true.into(), &true.into()));
        }
    }
    assert_eq!(json(&["log", "check", &log])["world_hash"], golden("traffic"));
    assert_ne!(json(&["run", &file, "--quiet", "--seed", "7"])["world_hash"], golden("traffic"));
    let differs = halted(&["run", &file, "--quiet", "--seed", "7", "--verify", &log]);
    assert!(differs.contains("seed differs: the log has 42, the run has 7"), "{differs}");
}

#[test]
fn what_is_run_is_told_in_a_table_and_closing_lines() {
    let text = done(&["run", &asset("demo"), "--until", "3"]);
    for part in ["    time  car", "first pose", "no collision; smallest gap", "signals of", "world hash "] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn every_scenario_of_the_repository_runs_without_a_collision() {
    let mut count = 0;
    for entry in fs::read_dir(format!("{ROOT}assets/scenarios")).unwrap() {
        let path = entry.unwrap().path();
        let file = path.to_str().unwrap();
        let ran = json(&["run", file, "--quiet", "--until", "20"]);
        assert_eq!(ran["traffic"]["collisions"], 0, "{file}");
        assert!(ran["traffic"]["cars"].as_u64() >= Some(7), "{file}");
        count += 1;
    }
    assert!(count >= 4);
}

#[test]
fn planned_joins_and_leaves_come_true_and_are_in_the_log() {
    let logs = Logs::new();
    let (file, log) = (logs.scenario(&two_cars("leaves: [{ at: 2, path: 'a' }],")), logs.name("two.jsonl"));
    let ran = json(&["run", &file, "--quiet", "--record", &log]);
    assert_eq!(
        (ran["joins"].as_u64(), ran["leaves"].as_u64(), ran["participants"].as_u64()),
        (Some(4), Some(4), Some(0))
    );
    let lines = fs::read_to_string(&log).unwrap();
    let changes: Vec<&str> =
        lines.lines().filter(|line| line.contains("\"join\"") || line.contains("\"leave\"")).collect();
    assert_eq!(changes[2], r#"{"type":"join","path":"b/controller","time":1.0}"#);
    assert_eq!(changes[4], r#"{"type":"leave","path":"a/controller","time":2.0}"#);
    assert_eq!(changes[7], r#"{"type":"leave","path":"b/physics","time":2.5}"#);
    done(&["run", &file, "--quiet", "--verify", &log]);
}

#[test]
fn the_readmes_scenario_runs() {
    let readme = fs::read_to_string(format!("{ROOT}README.md")).unwrap();
    let text = readme.split("```json5\n").nth(1).unwrap().split("```").next().unwrap();
    let logs = Logs::new();
    let ran = json(&["run", &logs.scenario(text), "--quiet"]);
    assert_eq!((ran["joins"].as_u64(), ran["leaves"].as_u64()), (Some(7), Some(2)), "{ran}");
}

#[test]
#[allow(clippy::disallowed_methods, reason = "the test is about the wall clock")]
fn a_run_in_real_time_takes_its_time_and_is_the_same_run() {
    let free = json(&["run", &asset("demo"), "--quiet", "--until", "1.5"]);
    let start = Instant::now();
    let paced = json(&["run", &asset("demo"), "--quiet", "--until", "1.5", "--realtime"]);
    let wall = start.elapsed();
    assert!((Duration::from_millis(1_500)..Duration::from_secs(20)).contains(&wall), "{wall:?}");
    assert_eq!(free["world_hash"], paced["world_hash"]);
    assert_eq!((paced["pacing"]["instants"].as_u64(), free.get("pacing")), (paced["instants"].as_u64(), None));
}

#[test]
fn a_factor_or_precision_is_real_time_too() {
    for options in [&["--factor", "20"][..], &["--factor", "10", "--precise"], &["--precise"]] {
        let ran = json(&[&["run", &asset("demo"), "--quiet", "--until", "1"], options].concat());
        let factor = if options.len() > 1 { options[1].parse().unwrap() } else { 1.0 };
        assert!(ran["pacing"]["elapsed_s"].as_f64() >= Some(1.0 / factor), "{ran}");
    }
    for factor in ["0", "-1", "inf", "NaN", "fast"] {
        refused(&["run", &asset("demo"), "--factor", factor]);
    }
}

#[test]
fn step_times_are_told_when_they_are_asked_for_and_change_nothing() {
    let arguments = ["run", &asset("demo"), "--until", "1"];
    let free = json(&[&arguments[..], &["--quiet"]].concat());
    for rows in ["--timing", "--timing=3", "--timing=all"] {
        let timed = json(&[&arguments[..], &["--quiet", rows]].concat());
        assert_eq!((&timed["world_hash"], free.get("timing")), (&free["world_hash"], None));
        assert!(timed["timing"]["conductor"]["path"] == "conductor", "{timed}");
        let text = done(&[&arguments[..], &[rows]].concat());
        assert!(text.contains("p99    budget     misses    share"), "{text}");
    }
    refused(&["run", &asset("demo"), "--timing=some"]);
}

#[test]
fn a_scenario_without_an_end_is_refused_unless_one_is_given() {
    let logs = Logs::new();
    let file = logs.scenario("{ world: 'w', road: 'demo', actors: [] }");
    let sentence = refused(&["run", &file]);
    assert!(sentence.contains("has no `end`: add one, or give --until"), "{sentence}");
    done(&["run", &file, "--until", "1", "--quiet"]);
}

#[test]
fn every_mistake_is_shown_with_file_line_and_column_and_what_was_meant() {
    let logs = Logs::new();
    for (text, place, says) in [
        (
            "{ world: 'w', end: 1, actors: [{ path: 'a', type: 'traffic/carr' }] }",
            "line 1, column 51",
            "did you mean `traffic/car`?",
        ),
        (
            "{ world: 'w', end: 1,\n road: 'demo', actors: [{ path: 'a', type: 'traffic/car', params: { lane: 1, s: 0, sped: 3 } }] }",
            "line 2, column 84",
            "did you mean `speed`?",
        ),
        (
            "{ world: 'w', end: 1,\n road: 'demo', actors: [{ path: 'a', type: 'traffic/car', params: { lane: 1, s: 0, speed: -3 } }] }",
            "line 2, column 91",
            "`speed` is -3, but must be from 0 to 150 (m/s)",
        ),
        (
            "{ world: 'w', end: 1,\n road: 'demo', actors: [{ path: 'a', type: 'traffic/car', params: { lane: 9, s: 0, speed: 3 } }] }",
            "line 2",
            "lane 9 does not exist",
        ),
        ("{ world: 'w', ende: 1 }", "line 1, column 15", "did you mean `end`?"),
        ("{ world: 'w', end: 1, road: 'demp' }", "line 1, column 29", "demp"),
        (
            "{ world: 'w', end: 1, road: { name: 'r', closed: false, start: { x_m: 0, y_m: 0, heading_deg: 999 }, lanes: [], segments: [] } }",
            "line 1, column 95",
            "degrees from -360 to 360",
        ),
        ("{ world: 'w' end: 1 }", "line 1, column 14", "`,`"),
        ("", "line 1, column 1", "the text ends where a value should stand"),
    ] {
        let file = logs.scenario(text);
        let sentence = super::chaconne(&["run", &file]);
        assert_eq!(sentence.code, Some(2), "{text}");
        assert!(sentence.stdout.is_empty() && sentence.stderr.contains("world.json5"), "{}", sentence.stderr);
        assert!(
            sentence.stderr.contains(place) && sentence.stderr.contains(says),
            "{place} {says}: {}",
            sentence.stderr
        );
    }
    assert!(refused(&["run", "no/such.json5"]).contains("no/such.json5"));
    let twice = two_cars("leaves: [{ at: 2, path: 'nobody' }],").replace("path: 'b'", "path: 'a'");
    let ran = super::chaconne(&["run", &logs.scenario(&twice)]);
    assert!(
        ran.stderr.contains("line 4, column 26: the path `a` is taken at 1.0 s: it stands in line 3 already"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("line 5, column 27: no actor `nobody`"), "{}", ran.stderr);
}

#[test]
fn a_plan_that_a_world_cannot_follow_is_told_and_the_exit_code_says_so() {
    let logs = Logs::new();
    // The spawner's cars are not known when the file is read; `car-1` is there before the plan's.
    let text = fs::read_to_string(asset("demo")).unwrap();
    let joins = "joins: [{ at: 2, path: 'car-1', type: 'traffic/car', params: { lane: 1, s: 900, speed: 30 } }],\n}";
    let text = text.replace("../roads/demo.json", "demo");
    let file = logs.scenario(&format!("{}{joins}", text.trim_end().strip_suffix('}').unwrap()));
    let sentence = halted(&["run", &file, "--quiet", "--until", "3"]);
    assert!(sentence.contains("at 2.0 s: cannot add `car-1`: the path `car-1` is already taken"), "{sentence}");
    let object = super::chaconne(&["run", &file, "--quiet", "--until", "3", "--json"]);
    let object: serde_json::Value = serde_json::from_str(object.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(object["refused"].as_array().unwrap().len(), 1);
}

/// What is said of a run that failed.
fn halted(arguments: &[&str]) -> String {
    let ran = super::chaconne(arguments);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    ran.stderr
}

#[test]
fn the_schema_in_the_repository_is_that_of_the_types() {
    let file = format!("{ROOT}assets/scenario.schema.json");
    let kept = fs::read_to_string(&file).unwrap_or_default();
    let made = done(&["schema"]);
    // To renew it: chaconne schema > assets/scenario.schema.json
    assert!(made == kept, "{file} is not what `chaconne schema` prints; renew it");
}

#[test]
fn types_are_listed_with_their_parameters() {
    let text = done(&["list"]);
    for part in [
        "traffic/car: a car",
        "traffic/fleet (population)",
        "road (shared)",
        "speed",
        "required",
        "m/s²",
        "default 0.3",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let one = done(&["list", "traffic/ttc"]);
    assert!(one.starts_with("traffic/ttc: ") && one.lines().count() == 4, "{one}");
    let object = json(&["list"]);
    let types = object["types"].as_array().unwrap();
    assert!(types.len() >= 12 && types.iter().all(|one| one["parameters"].is_object()), "{object}");
    assert!(refused(&["list", "traffic/cart"]).contains("`traffic/car`"));
    assert!(Path::new(&asset("demo")).exists());
}

#[test]
fn what_is_profiled_is_a_file_of_spans_where_the_program_can_write_one() {
    let logs = Logs::new();
    let file = logs.name("run.trace.json");
    let Ran { code, stderr, .. } =
        chaconne(&["run", &asset("hosts"), "--quiet", "--host", "local", "--until", "0.1", "--profile", &file]);
    if code == Some(0) {
        let text = fs::read_to_string(&file).unwrap();
        for span in ["\"instant\"", "\"step\"", "ego/physics"] {
            assert!(text.contains(span), "{span}");
        }
        assert!(serde_json::from_str::<Vec<serde_json::Value>>(&text).is_ok());
    } else {
        assert_eq!((code, stderr.lines().count()), (Some(2), 1), "{stderr}");
        assert!(stderr.contains("build the program with the feature `profile`"), "{stderr}");
        assert!(!Path::new(&file).exists());
    }
}

#[test]
fn who_was_removed_and_what_took_longer_than_budgeted_are_told() {
    let logs = Logs::new();
    let file = logs.scenario(
        "{ world: 'w', end: 1, road: 'demo', actors: [
            { path: 'a', type: 'traffic/car', params: { lane: 0, s: 20, speed: 20 }, timeout: 1e-9, on_failure: 'remove' },
            { path: 'b', type: 'traffic/car', params: { lane: 2, s: 20, speed: 20 }, budget: 1e-9 },
        ] }",
    );
    let Ran { code, stdout, stderr } = chaconne(&["run", &file, "--json"]);
    assert_eq!(code, Some(0), "{stderr}");
    let ran: serde_json::Value = serde_json::from_str(stdout.lines().last().unwrap()).unwrap();
    let removed = ran["removed"][0].as_str().unwrap();
    assert!(removed.starts_with("`a` left at 0.0 s: "), "{removed}");
    let misses = ran["budget_misses"].as_u64().unwrap();
    assert!(misses > 100, "{misses}");
    for line in [&format!("removed from the run: {removed}"), &format!("{misses} steps took longer than budgeted")] {
        assert!(stdout.lines().any(|told| told == line), "{line}: {stdout}");
    }
    // What there was none of is not told.
    let other = json(&["run", &asset("demo"), "--quiet", "--until", "1"]);
    assert!(["removed", "left_behind", "budget_misses"].iter().all(|field| other.get(field).is_none()), "{other}");
}

#[cfg(unix)]
mod helpers {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::*;
    use crate::CHACONNE;

    #[test]
    fn cars_in_three_places_make_the_run_of_cars_in_one() {
        let ran = json(&["run", &asset("hosts"), "--quiet"]);
        let local = json(&["run", &asset("hosts"), "--quiet", "--host", "local"]);
        assert_eq!(ran["world_hash"], local["world_hash"]);
        // Its watchers are local.
        assert_eq!(ran["traffic"], local["traffic"]);
        assert_eq!(local["traffic"]["cars"], 8);
    }

    /// A crash, and who looks on, in a place.
    fn crash(place: &str) -> String {
        format!(
            "{{ world: 'crash', end: 3, road: 'demo', actors: [
                {{ path: 'standing', type: 'traffic/obstacle', params: {{ lane: 0, s: 70 }} }},
                {{ path: 'blind', type: 'traffic/leader', params: {{ lane: 0, s: 20, mean_speed: 30 }} }},
                {{ path: 'log', type: 'traffic/logger' {place} }},
                {{ path: 'watch', children: [
                    {{ name: 'collisions', type: 'traffic/collisions' }},
                    {{ name: 'ttc', type: 'traffic/ttc' }},
                ] {place} }},
            ] }}"
        )
    }

    #[test]
    fn collisions_and_gaps_are_told_wherever_their_monitors_are_and_cars_only_where_loggers_are_heard() {
        let logs = Logs::new();
        let file = logs.scenario(&crash(""));
        let local = json(&["run", &file, "--quiet"]);
        assert_eq!((&local["traffic"]["collisions"], &local["traffic"]["cars"]), (&1.into(), &2.into()), "{local}");
        assert!(local["traffic"]["least_ttc_s"].is_f64() && local["traffic"]["least_gap_m"].is_f64(), "{local}");
        let apart = Logs::new();
        let apart = apart.scenario(&crash(", host: 'process', helper: 'watchers'"));
        for arguments in [&[&file, "--host", "process"][..], &[&file, "--host", "mixed"], &[&apart]] {
            let ran = json(&[&["run", "--quiet"], arguments].concat());
            assert_eq!(ran["world_hash"], local["world_hash"], "{arguments:?}");
            for field in ["collisions", "least_gap_m", "least_ttc_s"] {
                assert_eq!(ran["traffic"][field], local["traffic"][field], "{field}: {arguments:?}");
            }
            assert_eq!(ran["traffic"].get("cars"), None, "{arguments:?}");
            let Ran { code, stdout, stderr } = chaconne(&[&["run"], arguments].concat());
            assert_eq!((code, stderr.lines().count()), (Some(0), 1), "{stderr}");
            assert!(stderr.starts_with("note: what loggers in helper processes see is not shown here"), "{stderr}");
            assert!(stdout.contains("standing and blind collide") || stdout.contains("blind and standing collide"));
            assert!(stdout.contains("1 collision; smallest gap 0.00 m"), "{stdout}");
        }
    }

    /// What a helper process says to what it is sent.
    fn sent(bytes: &[u8]) -> (Option<i32>, String) {
        let mut command = Command::new(CHACONNE);
        command.args(["host", "--pipe"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut helper = command.spawn().unwrap();
        helper.stdin.take().unwrap().write_all(bytes).unwrap();
        let ended = helper.wait_with_output().unwrap();
        assert_eq!(ended.stdout, b"");
        (ended.status.code(), String::from_utf8(ended.stderr).unwrap())
    }

    #[test]
    fn a_helper_process_by_hand_ends_with_its_input_and_says_what_is_not_of_the_protocol() {
        assert_eq!(sent(b""), (Some(0), String::new()));
        let (code, stderr) = sent(b"let me in, let me in, let me in\n");
        assert_eq!((code, stderr.lines().count()), (Some(1), 1), "{stderr}");
        assert!(stderr.starts_with("error: a helper process was sent "), "{stderr}");
    }
}
