//! `chaconne log recover`.

use serde_json::json;

use super::{Logs, done, json, refused};

#[test]
fn a_log_that_was_cut_off_becomes_a_right_one() {
    let logs = Logs::new();
    let (cut, output) = (logs.cut_at("\"tick_hash\""), logs.name("saved.jsonl"));
    let text = done(&["log", "recover", &cut, &output]);
    assert!(text.contains("5 instants in ") && text.contains("cut off"), "{text}");
    let object = json(&["log", "recover", &cut, &output]);
    let checked = json(&["log", "check", &output]);
    assert_eq!(checked["ended"], json!("recovered"));
    for (field, value) in [
        ("instants", json!(5)),
        ("lost", json!(0)),
        ("gaps", json!([])),
        ("was_whole", json!(false)),
        ("header_remade", json!(false)),
        ("input_end", json!("cut")),
        ("ended", json!("recovered")),
        ("world_hash", checked["world_hash"].clone()),
    ] {
        assert_eq!(object[field], value, "{field}");
    }
}

#[test]
fn lost_instants_are_named_and_stay_named() {
    let logs = Logs::new();
    let damaged = logs.changed(|bytes| {
        let at = String::from_utf8(bytes.clone()).unwrap().find("\"time\":2.0,\"path\":\"ego/physics\"").unwrap();
        bytes[at + 7] = b'7';
    });
    let output = logs.name("saved.jsonl");
    let text = done(&["log", "recover", &damaged, &output]);
    assert!(text.contains("lost") && text.contains("instant 2"), "{text}");
    let info = json(&["log", "info", &output]);
    assert_eq!((&info["complete"], &info["gaps"]), (&json!(false), &json!([{ "tick": 2, "next": 3 }])));
    assert!(done(&["log", "info", &output]).contains("NOT COMPLETE"));
    assert!(done(&["log", "check", &output]).contains("missing: instant 2"));
}

#[test]
fn a_whole_log_is_copied() {
    let logs = Logs::new();
    let (whole, output) = (logs.cast(), logs.name("copy.jsonl"));
    assert!(done(&["log", "recover", &whole, &output]).contains("is a copy of it"));
    assert_eq!(std::fs::read(&whole).unwrap(), std::fs::read(&output).unwrap());
}

#[test]
fn what_cannot_be_recovered_is_refused() {
    let logs = Logs::new();
    let whole = logs.cast();
    std::fs::write(logs.path("empty"), "").unwrap();
    refused(&["log", "recover", &logs.name("none"), &logs.name("out")]);
    refused(&["log", "recover", &logs.name("empty"), &logs.name("out")]);
    refused(&["log", "recover", &whole, &whole]);
    refused(&["log", "recover", &whole, &logs.name("no/such/folder")]);
    refused(&["log", "recover", &whole]);
    assert!(!logs.path("out").exists());
}
