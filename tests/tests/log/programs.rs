//! The examples that record, verify and resimulate, as programs.

use std::path::Path;
use std::process::{Command, Output};

use super::{find, folder, lines, write};

const RECORD: &str = env!("CARGO_BIN_EXE_traffic_record");
const VERIFY: &str = env!("CARGO_BIN_EXE_traffic_verify");
const RESIM: &str = env!("CARGO_BIN_EXE_traffic_resim");

/// Runs a program with a log and options; its exit code, stdout and stderr.
fn run(program: &str, log: &Path, options: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = Command::new(program).arg(log).args(options).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

/// The object that `--json` prints.
fn json(program: &str, log: &Path, options: &[&str]) -> serde_json::Value {
    let (code, stdout, stderr) = run(program, log, &[options, &["--quiet", "--json"]].concat());
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    serde_json::from_str(&stdout).unwrap()
}

fn golden() -> String {
    let golden: serde_json::Value = serde_json::from_str(include_str!("../../golden.json")).unwrap();
    golden["traffic"]["world_hash"].as_str().unwrap().to_owned()
}

#[test]
fn traffic_is_recorded_with_its_golden_hash_and_verified_whatever_the_threads() {
    let folder = folder();
    for name in ["run.jsonl", "run.jsonl.zst"] {
        let log = folder.path().join(name);
        assert_eq!(json(RECORD, &log, &["--threads", "2"])["world_hash"], golden());
        for options in [&["--threads", "1"][..], &["--threads", "8"], &["--no-typed"]] {
            let verified = json(VERIFY, &log, options);
            assert_eq!((&verified["world_hash"], &verified["verified"]), (&golden().into(), &true.into()));
        }
    }
}

#[test]
fn a_changed_log_is_a_difference_and_exit_code_1() {
    let folder = folder();
    let log = folder.path().join("run.jsonl");
    json(RECORD, &log, &["--until", "2"]);
    let mut all = lines(&log);
    let at = find(&all, &["actor/car-2/acceleration", "\"time\":1.5,"]);
    let payload = all[at].find("\"payload\":").unwrap();
    all[at].replace_range(payload.., "\"payload\":0.125}");
    write(&log, &all);
    let (code, _, stderr) = run(VERIFY, &log, &["--until", "2", "--quiet"]);
    assert_eq!(code, Some(1), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    for part in [format!("run.jsonl:{}: payload differs", at + 1), "(1.5 s), `car-2/controller`".to_owned()] {
        assert!(stderr.contains(&part), "no `{part}` in {stderr}");
    }
    // Other options are other runs.
    json(RECORD, &log, &["--until", "2"]);
    for (options, says) in [(&["--until", "3"][..], "end differs"), (&["--until", "2", "--seed", "1"], "seed differs")]
    {
        let (code, _, stderr) = run(VERIFY, &log, options);
        assert_eq!(code, Some(1));
        assert!(stderr.contains(says), "{stderr}");
    }
}

#[test]
fn a_join_that_is_a_nanosecond_later_in_the_log_is_named() {
    let folder = folder();
    let log = folder.path().join("run.jsonl");
    json(RECORD, &log, &["--until", "3"]);
    let mut all = lines(&log);
    let at = find(&all, &["\"join\"", "car-5/physics"]);
    let moved = all[at].replace("\"time\":1.6}", "\"time\":1.600000001}");
    assert_ne!(all[at], moved);
    all[at] = moved;
    write(&log, &all);
    let (code, _, stderr) = run(VERIFY, &log, &["--until", "3", "--quiet"]);
    assert_eq!((code, stderr.lines().count()), (Some(1), 1), "{stderr}");
    for part in [
        &format!("run.jsonl:{}: join differs", at + 1),
        "(1.500000001 s), `car-5/physics`",
        "for 1.600000001 s",
        "for 1.6 s",
    ] {
        assert!(stderr.contains(part), "no `{part}` in {stderr}");
    }
}

/// The lines of a log about the signals, joins and leaves of those whose paths begin so. Without sequence numbers: those
/// of who joins later begin at the number of all signals before.
fn told_of(log: &Path, start: &str) -> Vec<String> {
    let path = format!("\"path\":\"{start}");
    let told = lines(log).into_iter().filter(|line| line.contains(&path));
    let unnumbered = |line: String| match line.split_once("\"seq\":") {
        Some((before, after)) => format!("{before}{}", after.trim_start_matches(|c: char| c.is_ascii_digit())),
        None => line,
    };
    told.map(unnumbered).collect()
}

/// What both logs say of somebody is the same; the first difference is named, not thousands of lines.
#[track_caller]
fn assert_told_alike(one: &Path, other: &Path, start: &str) {
    let (one, other) = (told_of(one, start), told_of(other, start));
    if let Some((one, other)) = one.iter().zip(&other).find(|(one, other)| one != other) {
        panic!("{start}:\n{one}\n{other}");
    }
    assert_eq!(one.len(), other.len(), "{start}");
}

#[test]
fn a_changed_ego_drives_in_recorded_traffic() {
    let folder = folder();
    let [log, unchanged, resim] = ["run.jsonl", "same.jsonl", "resim.jsonl"].map(|name| folder.path().join(name));
    let recorded = json(RECORD, &log, &[]);
    // Unchanged, the ego does what it did, and those who join later are there when they were.
    let same = json(RESIM, &log, &["--ego-speed", "30", "--record", unchanged.to_str().unwrap()]);
    for actor in ["ego/", "lanes", "collisions", "ttc", "car-"] {
        assert_told_alike(&unchanged, &log, actor);
    }
    assert!(told_of(&log, "car-9/").len() > 100);
    for field in ["cars", "collisions", "least_gap_m", "least_ttc_s"] {
        assert_eq!(same[field], recorded[field], "{field}");
    }
    // All that joined but the ego's three parts, who looks on, and the spawner.
    assert_eq!(same["played_back"].as_u64().unwrap(), recorded["joins"].as_u64().unwrap() - 7);
    assert_eq!(same["leaves"], recorded["leaves"]);
    let slow = json(RESIM, &log, &["--ego-speed", "24", "--record", resim.to_str().unwrap()]);
    let fast = json(RESIM, &log, &["--ego-speed", "36"]);
    let place = |run: &serde_json::Value| run["ego_road_m"].as_f64().unwrap();
    assert!(place(&slow) < place(&same) && place(&same) < place(&fast));
    assert!(told_of(&resim, "ego/") != told_of(&log, "ego/"));
    assert_told_alike(&resim, &log, "car-");
    let verified = json(RESIM, &log, &["--ego-speed", "24", "--threads", "1", "--verify", resim.to_str().unwrap()]);
    assert_eq!(verified["world_hash"], slow["world_hash"]);
    let (code, _, stderr) = run(RESIM, &log, &["--ego-speed", "25", "--verify", resim.to_str().unwrap(), "--quiet"]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("differs at instant") && stderr.contains("`ego/"), "{stderr}");
    // Another seed, and more time than was recorded, are another experiment.
    for (options, says) in [(&["--seed", "1"][..], "give --seed 42"), (&["--until", "31"], "give --until ")] {
        let (code, stdout, stderr) = run(RESIM, &log, options);
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{stderr}");
        assert!(stderr.contains(says), "{stderr}");
    }
}

#[test]
fn what_is_no_log_is_refused_in_one_sentence_with_exit_code_2() {
    let folder = folder();
    let nowhere = folder.path().join("nowhere.jsonl");
    for program in [VERIFY, RESIM] {
        let (code, stdout, stderr) = run(program, &nowhere, &[]);
        assert_eq!((code, stdout.as_str(), stderr.lines().count()), (Some(2), "", 1), "{stderr}");
        assert!(stderr.contains("nowhere.jsonl"), "{stderr}");
    }
    let unwritable = folder.path().join("no/such/folder/log.jsonl");
    let (code, _, stderr) = run(RECORD, &unwritable, &["--quiet"]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("no/such/folder/log.jsonl") && stderr.lines().count() == 1, "{stderr}");
}
