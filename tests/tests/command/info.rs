//! `chaconne log info`.

use serde_json::{Value, json};

use super::{Logs, cast, done, failed, failing, json, refused};

#[test]
fn a_whole_log_is_counted_per_key_and_participant() {
    let logs = Logs::new();
    let file = logs.cast();
    let info = json(&["log", "info", &file]);
    let report = super::record(&logs.path("again.jsonl"), cast());
    assert_eq!(info["world_hash"], json!(report.world_hash.to_string()));
    for (field, value) in [
        ("file", json!(file)),
        ("version", json!(1)),
        ("world", json!("w")),
        ("seed", json!(1)),
        ("complete", json!(true)),
        ("ended", json!("finished")),
        ("halt", Value::Null),
        ("cut_after_line", Value::Null),
        ("being_written", json!(false)),
        ("gaps", json!([])),
        ("first_s", json!(0.0)),
        ("last_s", json!(5.0)),
        ("instants", json!(report.ticks)),
        ("steps", json!(report.steps)),
        ("signals", json!(report.signals)),
        ("joins", json!(6)),
        ("leaves", json!(1)),
        ("observed", json!(0)),
        ("compressed", json!(false)),
        ("file_bytes", json!(std::fs::metadata(&file).unwrap().len())),
        ("text_bytes", json!(std::fs::metadata(&file).unwrap().len())),
        ("lines", json!(std::fs::read_to_string(&file).unwrap().lines().count())),
    ] {
        assert_eq!(info[field], value, "{field}");
    }
    let names = |list: &str, name: &str| -> Vec<String> {
        info[list].as_array().unwrap().iter().map(|row| row[name].as_str().unwrap().to_owned()).collect()
    };
    let keys = ["ego/camera/image", "ego/pose", "ego/steer", "egon/pose", "gone/y"];
    assert_eq!(names("keys", "key"), keys.map(|key| format!("chaconne/w/actor/{key}")));
    assert_eq!(
        info["keys"][4],
        json!({ "key": "chaconne/w/actor/gone/y", "signals": 3, "payload_bytes": 3, "first_s": 0.0, "last_s": 2.0 })
    );
    let participants = ["ego/camera", "ego/controller", "ego/physics", "egon", "gone", "once"];
    assert_eq!(names("participants", "path"), participants);
    assert_eq!(
        info["participants"][4],
        json!({ "path": "gone", "steps": 3, "signals": 3, "payload_bytes": 3, "joins": 1, "leaves": 1 })
    );
    assert!(info["provenance"]["rustc"].is_string());
}

#[test]
fn people_see_the_same_in_columns_that_line_up() {
    let logs = Logs::new();
    let text = done(&["log", "info", &logs.cast()]);
    for part in ["world       ", "w, seed 1", "complete: the run finished", "0.0 s to 5.0 s", "zmij ", "threads "] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let row = |name: &str| text.lines().find(|line| line.trim_start().starts_with(name)).unwrap().len();
    assert_eq!(row("chaconne/w/actor/ego/camera/image"), row("chaconne/w/actor/gone/y"));
    assert_eq!(row("participant  "), row("once"));
    assert_eq!(done(&["log", "info", &logs.name("run.jsonl"), "--quiet"]), "");
}

#[test]
fn a_compressed_log_and_the_standard_input_say_the_same() {
    let logs = Logs::new();
    let (plain, compressed) = (logs.cast(), logs.record("run.jsonl.zst", cast()));
    let (a, b) = (json(&["log", "info", &plain]), json(&["log", "info", &compressed]));
    assert_eq!(b["compressed"], json!(true));
    assert!(b["file_bytes"].as_u64() < b["text_bytes"].as_u64());
    for field in ["world_hash", "instants", "signals", "keys", "participants"] {
        assert_eq!(a[field], b[field], "{field}");
    }
    let piped = std::process::Command::new(super::CHACONNE)
        .args(["log", "info", "-", "--json", "--quiet"])
        .stdin(std::fs::File::open(&plain).unwrap())
        .output()
        .unwrap();
    let piped: Value = serde_json::from_slice(&piped.stdout).unwrap();
    assert_eq!(piped["keys"], a["keys"]);
}

#[test]
fn a_log_that_was_cut_off_is_counted_up_to_there_and_says_so() {
    let logs = Logs::new();
    // Inside the `tick` line of the last instant.
    let file = logs.cut_at("\"tick_hash\"");
    let text = done(&["log", "info", &file]);
    assert!(text.contains("CUT OFF") && text.contains("`chaconne log recover"), "{text}");
    assert!(text.contains("saves the 5 complete instants in it"), "{text}");
    let info = json(&["log", "info", &file]);
    assert_eq!((&info["complete"], &info["ended"], &info["instants"]), (&json!(false), &Value::Null, &json!(5)));
    assert_eq!((&info["last_s"], &info["keys"][1]["signals"]), (&json!(4.0), &json!(5)));
    assert!(info["cut_after_line"].is_u64());
    assert_eq!(info["world_hash"].as_str().unwrap().len(), 32);
}

// A lock keeps others from reading there.
#[cfg(not(windows))]
#[test]
fn a_log_that_is_being_written_is_not_called_cut_off() {
    let logs = Logs::new();
    let mut world = chaconne_tests::world(cast());
    world.add_monitor(chaconne_record::Recorder::new(logs.path("run.jsonl")));
    world.run_until(chaconne_tests::at(3)).unwrap();
    let info = json(&["log", "info", &logs.name("run.jsonl")]);
    assert_eq!((&info["being_written"], &info["instants"]), (&json!(true), &json!(3)));
    drop(world);
    let info = json(&["log", "info", &logs.name("run.jsonl")]);
    assert_eq!((&info["being_written"], &info["ended"]), (&json!(false), &json!("left")));
}

#[test]
fn a_halt_is_shown_with_its_text() {
    let logs = Logs::new();
    let mut actors = cast();
    actors.push(failing());
    let file = logs.record("halted.jsonl", actors);
    let text = done(&["log", "info", &file]);
    assert!(text.contains("the run HALTED at instant 3 (3.0 s), by an error of `pump`: the tank is empty"), "{text}");
    let info = json(&["log", "info", &file]);
    assert_eq!((&info["complete"], &info["ended"]), (&json!(true), &json!("halt")));
    assert_eq!(
        info["halt"],
        json!({ "tick": 3, "time_s": 3.0, "path": "pump", "cause": "error", "text": "the tank is empty", "others": 0 })
    );
}

#[test]
fn hashes_are_not_checked_and_malformed_lines_are_refused() {
    let logs = Logs::new();
    let flipped = logs.changed(|bytes| {
        let at = String::from_utf8(bytes.clone()).unwrap().find("\"payload\":").unwrap();
        bytes[at + 10] ^= 1;
    });
    json(&["log", "info", &flipped]);
    let malformed = logs.changed(|bytes| {
        let at = String::from_utf8(bytes.clone()).unwrap().find("\"payload\":").unwrap();
        bytes[at] = b'!';
    });
    let (sentence, _) = failed(1, &["log", "info", &malformed]);
    assert!(sentence.contains(&format!("{malformed}:8: ")), "{sentence}");
}

#[test]
fn what_is_no_log_is_refused() {
    let logs = Logs::new();
    std::fs::write(logs.path("empty"), "").unwrap();
    std::fs::write(logs.path("other"), "{\"a\":1}\n").unwrap();
    let newer = logs.changed(|bytes| {
        let text = String::from_utf8(bytes.clone()).unwrap().replacen("\"version\":1", "\"version\":2", 1);
        *bytes = text.into_bytes();
    });
    for command in ["info", "cat", "check"] {
        for (file, says) in [
            (logs.name("none"), "No such file"),
            (logs.0.path().to_str().unwrap().to_owned(), "folder"),
            (logs.name("empty"), "is empty"),
            (logs.name("other"), "is not a log"),
            (newer.clone(), "version 2"),
        ] {
            let sentence = refused(&["log", command, &file]);
            assert!(sentence.contains(&file) && (sentence.contains(says) || cfg!(windows)), "{sentence}");
        }
    }
}
