//! `chaconne log cat`.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use super::{CHACONNE, Logs, cast, chaconne, done, failed, failing, lines, refused};

/// The lines of the log that contain any of these.
fn with<'a>(log: &'a str, parts: &[&str]) -> Vec<&'a str> {
    log.lines().filter(|line| parts.iter().any(|part| line.contains(part))).collect()
}

/// The cast's log: its name and its text.
fn log(logs: &Logs) -> (String, String) {
    let file = logs.cast();
    let text = std::fs::read_to_string(&file).unwrap();
    (file, text)
}

#[test]
fn without_filters_a_log_is_printed_byte_for_byte() {
    let logs = Logs::new();
    let (file, text) = log(&logs);
    assert_eq!(done(&["log", "cat", &file]), text);
    assert_eq!(done(&["log", "cat", &file, "--quiet"]), text);
    let compressed = logs.record("run.jsonl.zst", cast());
    let unpacked = done(&["log", "cat", &compressed]);
    assert_eq!(lines(&unpacked)[1..], lines(&text)[1..]);
}

#[test]
fn keys_are_whole_expressions_or_those_of_any_actor() {
    let logs = Logs::new();
    let (file, text) = log(&logs);
    for (keys, parts) in [
        (&["ego/pose"][..], &["actor/ego/pose\""][..]),
        (&["chaconne/w/actor/ego/pose"], &["actor/ego/pose\""]),
        (&["chaconne/*/actor/ego/pose"], &["actor/ego/pose\""]),
        (&["*/pose"], &["actor/ego/pose\"", "actor/egon/pose\""]),
        (&["**/pose"], &["/pose\""]),
        (&["pose"], &["/pose\""]),
        (&["p$*"], &["/pose\""]),
        (&["ego/*"], &["actor/ego/pose\"", "actor/ego/steer\""]),
        (&["ego/**"], &["actor/ego/"]),
        (&["**"], &["\"payload\""]),
        (&["*"], &["\"payload\""]),
        (&["ego/steer", "gone/y"], &["actor/ego/steer\"", "actor/gone/y\""]),
    ] {
        let options: Vec<&str> = keys.iter().flat_map(|key| ["--key", key]).collect();
        let printed = done(&[&["log", "cat", &file], options.as_slice()].concat());
        assert_eq!(lines(&printed), with(&text, parts), "{keys:?}");
    }
    // Nothing chosen is no failure, and most likely a slip.
    for key in ["lead/pose", "chaconne/other/actor/ego/pose"] {
        let ran = chaconne(&["log", "cat", &file, "--key", key]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{key}");
        assert!(ran.stderr.starts_with("note: no line was chosen"), "{}", ran.stderr);
        assert_eq!(done(&["log", "cat", &file, "--key", key, "--quiet"]), "");
    }
    let sentence = refused(&["log", "cat", &file, "--key", "**/*"]);
    assert!(sentence.contains("write `*/**`"), "{sentence}");
    refused(&["log", "cat", &file, "--key", "a//b"]);
}

#[test]
fn an_actor_is_everything_under_its_path() {
    let logs = Logs::new();
    let (file, text) = log(&logs);
    let of = |actor: &str| {
        let printed = done(&["log", "cat", &file, "--actor", actor]);
        printed.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    // With `/` or the end of the text behind it; `egon` is another.
    assert_eq!(of("ego"), with(&text, &["\"path\":\"ego/"]));
    assert_eq!(of("ego/camera"), with(&text, &["\"path\":\"ego/camera\""]));
    assert_eq!(of("gone"), with(&text, &["\"path\":\"gone\""]));
    assert!(of("gone").last().unwrap().contains("leave"));
    refused(&["log", "cat", &file, "--actor", "ego/*"]);
}

#[test]
fn a_window_is_half_open() {
    let logs = Logs::new();
    let (file, text) = log(&logs);
    let printed = done(&["log", "cat", &file, "--from", "1", "--to", "3"]);
    let expected: Vec<&str> = with(&text, &["\"time\":1.0", "\"time\":2.0"]);
    assert_eq!(lines(&printed), expected);
    let all = lines(&text);
    // The header and the `end` line have no time.
    assert_eq!(lines(&done(&["log", "cat", &file, "--from", "-1.5"])), all[1..all.len() - 1]);
    let printed = done(&["log", "cat", &file, "--to", "0.000000001", "--type", "tick,end"]);
    assert_eq!(lines(&printed), with(&text, &["\"tick\":0,", "\"end\""]));
    for (from, to) in [("3", "3"), ("4", "1")] {
        refused(&["log", "cat", &file, "--from", from, "--to", to]);
    }
    for time in ["soon", "1e3", "99999999999", "0.0000000001"] {
        refused(&["log", "cat", &file, "--from", time]);
    }
}

#[test]
fn types_choose_and_filters_leave_out_what_they_cannot_judge() {
    let logs = Logs::new();
    let (file, text) = log(&logs);
    let printed = done(&["log", "cat", &file, "--type", "join,leave"]);
    assert_eq!(lines(&printed), with(&text, &["\"join\"", "\"leave\""]));
    let printed = done(&["log", "cat", &file, "--type", "header", "--type", "end"]);
    assert_eq!(lines(&printed), with(&text, &["\"header\"", "\"end\""]));
    let printed = done(&["log", "cat", &file, "--key", "ego/pose", "--type", "signal,tick"]);
    assert_eq!(lines(&printed), with(&text, &["actor/ego/pose\"", "\"tick\":"]));
    let printed = done(&["log", "cat", &file, "--key", "pose", "--actor", "egon", "--from", "2", "--to", "3"]);
    assert_eq!(lines(&printed), [with(&text, &["actor/egon/pose\""])[2]]);
    let sentence = refused(&["log", "cat", &file, "--type", "sinal"]);
    assert!(sentence.contains("did you mean `signal`?"), "{sentence}");
    let mut actors = cast();
    actors.push(failing());
    let halted = logs.record("halted.jsonl", actors);
    let printed = done(&["log", "cat", &halted, "--actor", "pump"]);
    assert!(lines(&printed).last().unwrap().contains("\"halt\""), "{printed}");
}

#[test]
fn payloads_stand_in_columns() {
    let logs = Logs::new();
    let (file, _) = log(&logs);
    let printed = done(&["log", "cat", &file, "--payload", "--key", "ego/steer"]);
    let key = "chaconne/w/actor/ego/steer";
    assert_eq!(printed, format!("0.0\t{key}\t0\n2.0\t{key}\t1\n4.0\t{key}\t2\n"));
    refused(&["log", "cat", &file, "--payload", "--type", "tick"]);
}

#[test]
fn a_log_that_was_cut_off_is_printed_up_to_its_last_complete_instant() {
    let logs = Logs::new();
    let file = logs.cut_at("\"tick_hash\"");
    let text = std::fs::read_to_string(&file).unwrap();
    let (sentence, printed) = failed(1, &["log", "cat", &file]);
    assert!(sentence.contains("cut off") && sentence.contains("recover"), "{sentence}");
    assert!(text.starts_with(&printed) && printed.ends_with("}\n"));
    assert!(lines(&printed).last().unwrap().contains("\"tick\":4,"), "{printed}");
}

#[test]
fn damage_is_named_after_what_stands_before_it() {
    let logs = Logs::new();
    let file = logs.changed(|bytes| {
        let text = String::from_utf8(bytes.clone()).unwrap();
        *bytes = text.replacen("{\"type\":\"tick\",\"tick\":3", "{\"type\":\"tock\",\"tick\":3", 1).into_bytes();
    });
    let (sentence, printed) = failed(1, &["log", "cat", &file]);
    assert!(sentence.contains("`tock`"), "{sentence}");
    assert!(lines(&printed).last().unwrap().contains("\"tick\":2,"), "{printed}");
}

#[test]
fn a_reader_that_has_seen_enough_ends_it_silently() {
    let logs = Logs::new();
    // More than fits a pipe.
    let actors = (0..200).map(|n| {
        chaconne_conductor::Actor::of(format!("a{n}").as_str(), chaconne_tests::Probe::every(1).says("x").says("y"))
    });
    let file = logs.record("long.jsonl", actors.collect());
    for arguments in [&["log", "cat", &file][..], &["log", "cat", &file, "--payload"]] {
        let mut child =
            Command::new(CHACONNE).args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        let mut stdout = BufReader::with_capacity(64, child.stdout.take().unwrap());
        stdout.read_line(&mut first).unwrap();
        drop(stdout);
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""));
    }
}
