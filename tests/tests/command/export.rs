//! `chaconne log export`.

use serde_json::{Value, json};

use super::{Logs, done, failed, json, refused};

#[test]
fn a_log_is_exported_to_each_format_that_is_named() {
    let logs = Logs::new();
    let file = logs.cast();
    let (mcap, csv) = (logs.name("run.mcap"), logs.name("tables"));
    let text = done(&["log", "export", &file, "--mcap", &mcap, "--csv", &csv]);
    assert!(text.contains("run.mcap: 5 keys, ") && text.contains("tables: 5 keys"), "{text}");
    assert!(std::fs::read(&mcap).unwrap().starts_with(b"\x89MCAP0\r\n"));
    assert!(std::fs::read_dir(&csv).unwrap().count() >= 5);
    let info = json(&["log", "info", &file]);
    let object = json(&["log", "export", &file, "--mcap", &mcap]);
    assert_eq!((&object["mcap"], &object["csv"], &object["complete"]), (&json!(mcap), &Value::Null, &json!(true)));
    assert_eq!(object["mcap_bytes"], json!(std::fs::metadata(&mcap).unwrap().len()));
    for field in ["world", "seed", "world_hash", "instants", "signals"] {
        assert_eq!(object[field], info[field], "{field}");
    }
    assert_eq!(done(&["log", "export", &file, "--csv", &logs.name("others"), "--quiet"]), "");
}

#[test]
fn of_a_log_that_was_cut_off_what_is_complete_is_exported() {
    let logs = Logs::new();
    let file = logs.cut_at("\"tick_hash\"");
    let object = json(&["log", "export", &file, "--csv", &logs.name("tables")]);
    assert_eq!((&object["complete"], &object["instants"]), (&json!(false), &json!(5)));
    let text = done(&["log", "export", &file, "--mcap", &logs.name("run.mcap")]);
    assert!(text.contains("CUT OFF"), "{text}");
}

#[test]
fn what_cannot_be_exported_is_refused() {
    let logs = Logs::new();
    let file = logs.cast();
    let sentence = refused(&["log", "export", &file]);
    assert!(sentence.contains("--mcap <OUT>") && sentence.contains("--csv <DIR>"), "{sentence}");
    refused(&["log", "export", "-", "--csv", &logs.name("tables")]);
    refused(&["log", "export", &logs.name("none"), "--csv", &logs.name("tables")]);
    refused(&["log", "export", &file, "--mcap", &logs.name("no/such/folder")]);
    // A folder with something in it, and nothing is written beside it.
    refused(&["log", "export", &file, "--csv", logs.0.path().to_str().unwrap(), "--mcap", &logs.name("run.mcap")]);
    assert!(!logs.path("run.mcap").exists());
    let damaged = logs.changed(|bytes| {
        let at = String::from_utf8(bytes.clone()).unwrap().rfind("\"payload\":").unwrap();
        bytes[at + 10] ^= 1;
    });
    let (sentence, _) = failed(1, &["log", "export", &damaged, "--csv", &logs.name("tables")]);
    assert!(sentence.contains("tick hash"), "{sentence}");
    assert!(!logs.path("tables").exists());
}
