//! What readers say of logs that no recorder writes.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail their test by panicking")]

mod worlds;

use std::fs;

use chaconne_record::{Block, InstantRecord, LogReader, check, recover, summarize};
use tempfile::TempDir;
use worlds::short_log;

const HEADER: &str = r#"{"type":"header","format":"chaconne-log","version":1,"world":"w","seed":1,"provenance":{}}"#;
const NEVER: &str = "00000000000000000000000000000000";

#[test]
fn behind_its_last_line_a_log_says_that_it_ends_there() {
    let folder = TempDir::new().unwrap();
    short_log(folder.path());
    let mut log = LogReader::open(folder.path().join("short.jsonl")).unwrap();
    let mut instant = InstantRecord::default();
    while !matches!(log.next_block(&mut instant).unwrap(), Block::Last { .. }) {}
    let error = log.next_block(&mut instant).unwrap_err().to_string();
    assert!(error.ends_with("short.jsonl:27: the log ends here, and nothing of it follows"), "{error}");
}

#[test]
fn a_gap_without_instants_is_refused() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("log.jsonl");
    for (tick, next) in [(0, 0), (5, 3), (u64::MAX, 0)] {
        fs::write(&file, format!("{HEADER}\n{{\"type\":\"gap\",\"tick\":{tick},\"next\":{next}}}\n")).unwrap();
        let expected = format!("log.jsonl:2: a gap from instant {tick} to {next}, in which there is none");
        assert!(summarize(&file, |_| {}).unwrap_err().to_string().ends_with(&expected));
        assert!(check(&file, |_| {}).unwrap_err().to_string().ends_with(&expected));
    }
}

#[test]
fn the_largest_numbers_are_refused_without_an_overflow() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("log.jsonl");
    let most = u64::MAX;
    // Signals with the largest sequence number twice, in the first instant behind a gap.
    for (tick, line, expected) in [(most, 5, "has none after it that could be counted"), (7, 3, "seq: ")] {
        let signal = format!(r#"{{"type":"signal","time":0.0,"path":"a","key":"k","seq":{most},"payload":1}}"#);
        let lines = [
            HEADER.to_owned(),
            format!(r#"{{"type":"gap","tick":0,"next":{tick}}}"#),
            signal.clone(),
            signal,
            format!(
                r#"{{"type":"tick","tick":{tick},"time":0.0,"steps":[["a",1.0,null]],"tick_hash":"{NEVER}","world_hash":"{NEVER}"}}"#
            ),
        ];
        fs::write(&file, lines.join("\n") + "\n").unwrap();
        let error = check(&file, |_| {}).unwrap_err().to_string();
        assert!(error.contains(&format!("log.jsonl:{line}: ")) && error.contains(expected), "{error}");
        assert_eq!(recover(&file, folder.path().join("out.jsonl"), |_| {}).unwrap().ticks, 0);
    }
}
