//! Verification finds each kind of difference and names the field, the line, the instant and the participant.

use chaconne_conductor::Actor;
use chaconne_record::{Field, Recorder, Verifier, check, diff};
use chaconne_sim_core::SimTime;
use chaconne_tests::{Probe, acting, at, config, secs, world};

use super::{cast, changed, failure, find, finish, folder, lines, record, run_with, verify, write};

/// Changes the log of the cast, verifies the cast against it, and sees to it that what is said names all of these.
/// The first is the field.
#[track_caller]
fn finds(change: impl FnOnce(&mut Vec<String>) -> usize, says: &[&str]) {
    let folder = folder();
    let mut line = 0;
    let file = changed(&folder, |lines| line = change(lines) + 1);
    let report = verify(&file);
    let text = failure(&report);
    for part in says.iter().map(|part| part.to_string()).chain([format!("log.jsonl:{line}: ")]) {
        assert!(text.contains(&part), "no `{part}` in: {text}");
    }
    // Whatever was changed, the log does not check by itself alone either.
    let alone = check(&file, |_| ()).unwrap_err().to_string();
    assert!(alone.contains("log.jsonl:"), "{alone}");
}

/// Replaces a part of the first line that contains all of these.
fn edit(
    parts: &'static [&'static str],
    from: &'static str,
    to: &'static str,
) -> impl FnOnce(&mut Vec<String>) -> usize {
    move |lines| {
        let at = find(lines, parts);
        lines[at] = lines[at].replacen(from, to, 1);
        at
    }
}

#[test]
fn a_run_is_verified_against_its_own_log() {
    let folder = folder();
    for name in ["log.jsonl", "log.jsonl.zst"] {
        let file = folder.path().join(name);
        let recorded = record(&file);
        let verified = verify(&file);
        assert!(verified.is_complete(), "{verified}");
        assert_eq!(verified.world_hash, recorded.world_hash);
    }
}

#[test]
fn a_payload() {
    finds(
        edit(&["\"key\":\"chaconne/w/actor/ego/steer\"", "\"seq\":4"], "\"payload\":2", "\"payload\":3"),
        &[
            "payload differs",
            "at instant 2 (2.0 s), `ego/controller`",
            "the log has 3 in signal 4",
            "the run has 2",
            "ego/steer",
        ],
    );
}

#[test]
fn a_key() {
    finds(
        edit(&["actor/ego/brake", "\"time\":1.0"], "actor/ego/brake", "actor/ego/break"),
        &["key differs", "instant 1", "`ego/controller`", "actor/ego/break", "actor/ego/brake"],
    );
}

#[test]
fn a_sequence_number() {
    finds(
        edit(&["\"path\":\"gone\"", "\"seq\":1"], "\"seq\":1", "\"seq\":7"),
        &["seq differs", "instant 1", "`gone`", "the log has 7", "the run has 1"],
    );
}

#[test]
fn the_order_of_one_participants_signals() {
    finds(
        |lines| {
            let at = find(lines, &["actor/ego/steer", "\"time\":2.0"]);
            lines.swap(at, at + 1);
            at
        },
        &["order differs", "instant 2", "`ego/controller`"],
    );
}

#[test]
fn the_order_of_two_participants_signals() {
    finds(
        |lines| {
            let at = find(lines, &["\"signal\"", "\"path\":\"ego/camera\"", "\"time\":2.0"]);
            lines.swap(at, at + 1);
            // The one that stands too late is named.
            at + 1
        },
        &["order", "`ego/camera`"],
    );
}

#[test]
fn the_order_of_steps() {
    finds(
        |lines| {
            let at = find(lines, &["\"type\":\"tick\",\"tick\":1,"]);
            let [a, b] = ["[\"gone\",2.0,null]", "[\"once\",9223372036.854775807,null]"];
            lines[at] = lines[at].replace(&format!("{a},{b}"), &format!("{b},{a}"));
            at
        },
        &["order differs", "instant 1"],
    );
}

#[test]
fn a_step_that_is_not_there() {
    finds(
        edit(&["\"type\":\"tick\",\"tick\":1,"], ",[\"once\",9223372036.854775807,null]", ""),
        &["steps differs", "instant 1", "`once`", "no step there"],
    );
}

#[test]
fn a_next_due_time() {
    finds(
        edit(&["\"type\":\"tick\",\"tick\":1,"], "[\"once\",9223372036.854775807,", "[\"once\",5.0,"),
        &["next due differs", "instant 1", "`once`", "the log has 5.0 s", "the run has never"],
    );
}

#[test]
fn a_state() {
    finds(
        |lines| {
            let at = find(lines, &["\"type\":\"tick\",\"tick\":3,"]);
            let start = lines[at].find("\"ego/counter\",4.0,\"").unwrap() + 19;
            lines[at].replace_range(start..start + 32, "00000000000000000000000000000000");
            at
        },
        &["state differs", "instant 3", "`ego/counter`", "the log has 00000000000000000000000000000000"],
    );
}

#[test]
fn a_join() {
    finds(
        edit(&["\"join\"", "\"late\""], "2.0", "1.0"),
        &["join differs", "instant 0", "`late`", "for 1.0 s", "for 2.0 s"],
    );
    finds(edit(&["\"join\"", "\"late\""], "late", "later"), &["join differs", "instant 0", "`later`"]);
    finds(
        |lines| {
            let at = find(lines, &["\"join\"", "\"gone\""]);
            lines.remove(at);
            at
        },
        &["join differs", "instant 0", "`gone`", "the log has none there"],
    );
}

#[test]
fn a_leave() {
    finds(edit(&["\"leave\""], "3.0", "2.5"), &["leave differs", "instant 3", "`gone`", "for 2.5 s", "for 3.0 s"]);
    finds(
        |lines| {
            let at = find(lines, &["\"leave\""]);
            lines.remove(at);
            at
        },
        &["leave differs", "instant 3", "`gone`", "the log has none there", "the run has a leave of `gone`"],
    );
    finds(
        |lines| {
            let at = find(lines, &["\"type\":\"tick\",\"tick\":3,"]) - 1;
            let at = lines[..at].iter().rposition(|line| line.contains("\"type\":\"tick\"")).unwrap() + 1;
            lines.insert(at, "{\"type\":\"leave\",\"path\":\"late\",\"time\":3.0}".to_owned());
            at
        },
        &["leave differs", "instant 3", "`late`"],
    );
}

#[test]
fn a_missing_line() {
    finds(
        |lines| {
            let at = find(lines, &["actor/ego/steer", "\"time\":2.0"]);
            lines.remove(at);
            at
        },
        &["missing line differs", "instant 2", "`ego/controller`", "signal 4 under chaconne/w/actor/ego/steer"],
    );
    finds(
        |lines| {
            let at = find(lines, &["\"path\":\"gone\"", "\"time\":1.0"]);
            lines.remove(at);
            at
        },
        &["missing line differs", "instant 1", "`gone`", "the log has none there"],
    );
}

#[test]
fn a_line_too_many() {
    finds(
        |lines| {
            let at = find(lines, &["actor/ego/brake", "\"time\":2.0"]);
            lines.insert(at + 1, lines[at].replace("\"seq\":5", "\"seq\":6"));
            at + 1
        },
        &["extra line differs", "instant 2", "`ego/controller`", "signal 6"],
    );
    finds(
        |lines| {
            let at = find(lines, &["actor/ego/steer", "\"time\":2.0"]);
            lines.insert(at, lines[at].clone());
            at + 1
        },
        &["extra line differs", "instant 2", "`ego/controller`"],
    );
}

#[test]
fn hashes() {
    let zero = |name: &'static str| {
        move |lines: &mut Vec<String>| {
            let at = find(lines, &["\"type\":\"tick\",\"tick\":2,"]);
            let start = lines[at].find(name).unwrap() + name.len();
            lines[at].replace_range(start..start + 32, "0123456789abcdef0123456789abcdef");
            at
        }
    };
    finds(
        zero("\"tick_hash\":\""),
        &["tick hash differs", "instant 2", "the log has 0123456789abcdef0123456789abcdef"],
    );
    finds(
        zero("\"world_hash\":\""),
        &["world hash differs", "instant 2", "the log has 0123456789abcdef0123456789abcdef"],
    );
}

#[test]
fn the_last_line() {
    let end = |from: &'static str, to: &'static str| {
        move |lines: &mut Vec<String>| {
            let at = lines.len() - 1;
            lines[at] = lines[at].replace(from, to);
            at
        }
    };
    finds(end("\"ticks\":6", "\"ticks\":7"), &["counts differs", "the log has 7 instants", "the run has 6 instants"]);
    finds(end("\"signals\":", "\"signals\":1"), &["counts differs"]);
    finds(end("\"steps\":", "\"steps\":1"), &["counts differs"]);
    finds(
        |lines| {
            let at = lines.len() - 1;
            let start = lines[at].len() - 34;
            lines[at].replace_range(start..start + 32, "0123456789abcdef0123456789abcdef");
            at
        },
        &["world hash differs", "the log has 0123456789abcdef0123456789abcdef"],
    );
}

#[test]
fn times_and_numbers_of_instants() {
    finds(
        edit(&["\"type\":\"tick\",\"tick\":1,"], "\"tick\":1,", "\"tick\":5,"),
        &["tick differs", "instant 5", "instant 1"],
    );
    finds(
        |lines| {
            for line in lines.iter_mut() {
                *line = line.replace("\"time\":1.0", "\"time\":1.5");
            }
            find(lines, &["\"type\":\"tick\",\"tick\":1,"])
        },
        &["time differs", "instant 1", "the log has 1.5 s"],
    );
}

#[test]
fn an_instant_that_is_not_there_and_a_log_without_end() {
    let folder = folder();
    let file = changed(&folder, |lines| {
        lines.pop();
    });
    let text = failure(&verify(&file));
    assert!(text.contains("was cut off") && text.contains("log recover"), "{text}");

    let file = changed(&folder, |lines| {
        let from = find(lines, &["\"type\":\"tick\",\"tick\":4,"]) + 1;
        let to = lines.len() - 1;
        lines.drain(from..to);
    });
    let text = failure(&verify(&file));
    assert!(text.contains("end differs") && text.contains("the run has an instant more"), "{text}");
}

#[test]
fn a_run_that_ends_before_its_log_differs_at_its_end() {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    record(&file);
    let mut world = world(cast());
    world.add_monitor(Verifier::new(&file));
    world.run_until(at(4)).unwrap();
    let report = world.end(std::time::Duration::ZERO);
    assert_eq!(report.halt, None);
    let text = failure(&report);
    assert!(text.contains("end differs") && text.contains("instant 4 at 4.0 s next"), "{text}");
}

#[test]
fn the_run_halts_at_the_instant_that_differs_and_not_later() {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    record(&file);
    let mut other = cast();
    other[1] = Actor::of("ego/camera", Probe::at([2, 4]).says("image"));
    let report = run_with(config(), other, Verifier::new(&file));
    let text = failure(&report);
    // It is due at 4 s and then never again, where the recorded one is due at 6 s.
    assert!(text.contains("next due differs at instant 4 (4.0 s), `ego/camera`"), "{text}");
    assert_eq!(report.now, Some(at(4)));
}

#[test]
fn a_halt_has_to_be_repeated() {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    let failing = |reason: &'static str, when: SimTime| {
        let step = acting(move |ctx| if ctx.now() < when { ctx.after(secs(1)) } else { Err(reason.into()) });
        vec![Actor::of("car", step)]
    };
    run_with(config(), failing("stalled", at(2)), Recorder::new(&file));
    let again = run_with(config(), failing("stalled", at(2)), Verifier::new(&file));
    assert!(again.end_failures.is_empty() && again.halt.is_some(), "{again}");
    for other in [failing("stopped", at(2)), failing("stalled", at(3)), failing("stalled", at(1))] {
        let report = run_with(config(), other, Verifier::new(&file));
        let text = report.to_string();
        assert!(text.contains("end differs"), "{text}");
    }
}

#[test]
fn a_log_that_its_program_left_is_verified_as_far_as_it_goes() {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    let mut recorded = world(cast());
    recorded.add_monitor(Recorder::new(&file));
    recorded.run_until(at(2)).unwrap();
    drop(recorded);
    let verifier = Verifier::new(&file);
    let verification = verifier.verification();
    assert!(run_with(config(), cast(), verifier).is_complete());
    assert_eq!((verification.ticks(), verification.is_whole()), (2, false));

    let verifier = Verifier::new(&file);
    let verification = verifier.verification();
    record(&file);
    assert!(run_with(config(), cast(), verifier).is_complete());
    assert_eq!((verification.ticks(), verification.is_whole()), (6, true));
}

#[test]
fn the_first_difference_is_there_as_data_too() {
    let folder = folder();
    let change = edit(&["\"key\":\"chaconne/w/actor/ego/steer\"", "\"seq\":4"], "\"payload\":2", "\"payload\":3");
    let mut line = 0;
    let file = changed(&folder, |lines| line = change(lines) + 1);
    let verifier = Verifier::new(&file);
    let verification = verifier.verification();
    assert!(verification.difference().is_none());
    assert!(!run_with(config(), cast(), verifier).is_complete());
    let difference = verification.difference().unwrap();
    assert_eq!((difference.line, difference.instant), (line as u64, Some((2, at(2)))));
    assert_eq!((difference.path.as_deref(), difference.field), (Some("ego/controller"), Field::Payload));
}

#[test]
fn a_log_without_an_instant_verifies_nothing() {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    let mut left = world(cast());
    left.add_monitor(Recorder::new(&file));
    left.end(std::time::Duration::ZERO);
    let mut all = lines(&file);
    all[1] = all[1].replace("finished", "recovered");
    write(&file, &all);
    let text = failure(&verify(&file));
    assert!(text.contains("nothing was verified") && text.contains("log.jsonl"), "{text}");
}

#[test]
fn what_is_observed_and_where_it_ran_is_not_compared() {
    let folder = folder();
    let file = changed(&folder, |lines| {
        let at = find(lines, &["actor/ego/brake", "\"time\":2.0"]);
        let observed = r#"{"type":"observed","time":2.0,"path":"ego","kind":"budget","data":{"ms":3}}"#;
        lines.insert(at, observed.to_owned());
        lines[0] = lines[0].replace("\"threads\":1", "\"threads\":64");
    });
    let report = verify(&file);
    assert!(report.is_complete(), "{report}");
    check(&file, |_| ()).unwrap();
    let other = folder.path().join("other.jsonl");
    record(&other);
    assert_eq!(diff(&file, &other, |_| ()).unwrap().difference, None);
}

#[test]
fn two_logs_differ_where_their_runs_did() {
    let folder = folder();
    let [a, b] = ["a.jsonl", "b.jsonl"].map(|name| folder.path().join(name));
    record(&a);
    let mut other = cast();
    other[2] = Actor::of("late", Probe::every(1).says_at("x", [2, 4])).first_due(at(2));
    let mut world = world(other);
    world.add_monitor(Recorder::new(&b));
    finish(&mut world);
    let report = diff(&a, &b, |_| ()).unwrap();
    let difference = report.difference.unwrap();
    assert_eq!(report.equal_ticks, 3);
    let text = difference.to_string();
    assert!(text.starts_with("extra line differs at instant 3 (3.0 s), `late`: the log has signal 1"), "{text}");
    assert!(lines(&a)[difference.line as usize - 1].contains("\"path\":\"late\""));
    // In the other log a line is missing.
    let text = diff(&b, &a, |_| ()).unwrap().difference.unwrap().to_string();
    assert!(text.starts_with("missing line differs at instant 3"), "{text}");
    // A log that goes on is longer.
    let short = folder.path().join("short.jsonl");
    let mut lines = lines(&a);
    let from = find(&lines, &["\"type\":\"tick\",\"tick\":4,"]) + 1;
    let to = lines.len() - 1;
    lines.drain(from..to);
    write(&short, &lines);
    let report = diff(&a, &short, |_| ()).unwrap();
    assert_eq!(report.equal_ticks, 5);
    assert!(report.difference.unwrap().to_string().starts_with("end differs"), "{short:?}");
}
