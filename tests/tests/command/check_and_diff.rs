//! `chaconne log check` and `chaconne log diff`.

use serde_json::{Value, json};

use super::{Logs, Ran, cast, chaconne, done, failed, json, lines, refused};
use chaconne_conductor::Actor;
use chaconne_tests::Probe;

#[test]
fn a_right_log_is_right() {
    let logs = Logs::new();
    let file = logs.cast();
    let text = done(&["log", "check", &file]);
    assert!(text.contains(" is right: ") && text.contains("world hash "), "{text}");
    let (checked, info) = (json(&["log", "check", &file]), json(&["log", "info", &file]));
    assert_eq!((&checked["valid"], &checked["ended"]), (&json!(true), &json!("finished")));
    for field in ["world", "seed", "world_hash", "instants", "steps", "signals", "lines", "first_s", "last_s"] {
        assert_eq!(checked[field], info[field], "{field}");
    }
    assert_eq!(done(&["log", "check", &file, "--quiet"]), "");
}

/// Fails with code 1; the object that `--json` prints then.
fn wrong(file: &str) -> (String, Value) {
    let (sentence, _) = failed(1, &["log", "check", file]);
    let Ran { code, stdout, .. } = chaconne(&["log", "check", file, "--json", "--quiet"]);
    assert_eq!(code, Some(1));
    let object: Value = serde_json::from_str(lines(&stdout)[0]).unwrap();
    assert_eq!(object["valid"], json!(false));
    assert_eq!(sentence.trim_end().strip_prefix("error: "), object["error"].as_str());
    (sentence, object)
}

#[test]
fn a_changed_byte_is_found_with_its_line() {
    let logs = Logs::new();
    let file = logs.changed(|bytes| {
        let at = String::from_utf8(bytes.clone()).unwrap().rfind("\"payload\":").unwrap();
        bytes[at + 10] ^= 1;
    });
    let (sentence, object) = wrong(&file);
    assert!(sentence.contains("tick hash"), "{sentence}");
    let line = object["line"].as_u64().unwrap();
    assert!(sentence.contains(&format!("{file}:{line}: ")), "{sentence}");
}

#[test]
fn a_log_that_was_cut_off_is_not_right() {
    let logs = Logs::new();
    let (sentence, _) = wrong(&logs.cut_at("{\"type\":\"end\""));
    assert!(sentence.contains("cut off") && sentence.contains("recover"), "{sentence}");
}

#[test]
fn equal_logs_are_one_run_whatever_made_them() {
    let logs = Logs::new();
    let (a, b) = (logs.cast(), logs.record("other.jsonl", cast()));
    let text = std::fs::read_to_string(&b).unwrap().replacen("\"threads\":1", "\"threads\":8", 1);
    std::fs::write(&b, text).unwrap();
    let text = done(&["log", "diff", &a, &b]);
    assert!(text.contains("are one run: 6 instants and the end are equal"), "{text}");
    assert!(text.contains("threads  1 | 8"), "{text}");
    let object = json(&["log", "diff", &a, &b]);
    assert_eq!((&object["equal"], &object["equal_instants"]), (&json!(true), &json!(6)));
    assert_eq!((&object["difference"], &object["provenance"]), (&Value::Null, &json!({ "threads": [1, 8] })));
    assert!(!done(&["log", "diff", &a, &a]).contains("differently"));
}

#[test]
fn the_first_difference_is_named_with_both_lines() {
    let logs = Logs::new();
    let mut others = cast();
    others[1] = Actor::of("ego/camera", Probe::every(2).says("image").says_at("flash", [2]));
    let (a, b) = (logs.cast(), logs.record("other.jsonl", others));
    let (sentence, stdout) = failed(1, &["log", "diff", &a, &b]);
    assert!(stdout.contains("are equal for 2 instants, then differ"), "{stdout}");
    let Ran { code, stdout, .. } = chaconne(&["log", "diff", &a, &b, "--json", "--quiet"]);
    assert_eq!(code, Some(1));
    let object: Value = serde_json::from_str(lines(&stdout)[0]).unwrap();
    let difference = &object["difference"];
    assert_eq!(
        (&object["equal"], &difference["instant"], &difference["path"]),
        (&json!(false), &json!(2), &json!("ego/camera"))
    );
    for (file, line) in [(&a, "line_a"), (&b, "line_b")] {
        let place = format!("{file}:{}", difference[line]);
        assert!(sentence.contains(&place), "{sentence}");
    }
    let text = std::fs::read_to_string(&b).unwrap();
    let line = lines(&text)[difference["line_b"].as_u64().unwrap() as usize - 1];
    assert!(line.contains("flash"), "{line}");
}

#[test]
fn logs_that_cannot_be_compared_are_refused() {
    let logs = Logs::new();
    let a = logs.cast();
    let sentence = refused(&["log", "diff", &a, &logs.name("none")]);
    assert!(sentence.contains("none"), "{sentence}");
    refused(&["log", "diff", &a]);
    refused(&["log", "diff", &a, "-"]);
    let whole = logs.name("whole.jsonl");
    std::fs::copy(&a, &whole).unwrap();
    let cut = logs.cut_at("{\"type\":\"end\"");
    let (sentence, _) = failed(1, &["log", "diff", &whole, &cut]);
    assert!(sentence.contains("cut off"), "{sentence}");
}
