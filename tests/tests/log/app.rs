//! Logs of an `App`'s run, also in pieces.

use bevy::prelude::*;
use chaconne::prelude::*;
use chaconne::record::{Verification, check, line};
use chaconne_tests::{Probe, at};

use super::{failure, folder, lines};

/// An `App` with a plugin and an actor that never ends by itself.
fn app(plugin: impl Plugin, end: Option<SimTime>) -> App {
    let mut app = App::new();
    let conductor = ConductorPlugin { seed: 3, end, ..default() };
    app.add_plugins((MinimalPlugins, ChaconnePlugins.set(conductor), plugin))
        .add_actor(Actor::of("a", Probe::every(1).says("x")))
        .add_actor(Actor::of("b", Probe::every(2).hears(chaconne_tests::of("a", "x"))));
    app
}

#[test]
fn a_run_in_pieces_is_recorded_and_verified_as_one_when_it_is_ended() {
    let folder = folder();
    let [pieces, whole] = ["pieces.jsonl", "whole.jsonl"].map(|name| folder.path().join(name));
    let mut recorded = app(RecordPlugin::new(&pieces), None);
    recorded.run_headless(at(2));
    recorded.run_headless(at(5));
    let report = recorded.end_run();
    assert!(report.is_complete(), "{report}");
    // It stays as it is.
    assert_eq!(recorded.run_headless(at(9)).ticks, 5);
    assert_eq!(recorded.end_run().world_hash, report.world_hash);
    let expected = app(RecordPlugin::new(&whole), Some(at(5))).run_headless(at(9));
    assert_eq!(report.world_hash, expected.world_hash);
    assert_eq!(lines(&pieces)[1..], lines(&whole)[1..]);
    assert!(lines(&pieces).pop().unwrap().contains("\"reason\":\"finished\",\"ticks\":5"));

    let mut verified = app(VerifyPlugin::new(&whole), None);
    verified.run_headless(at(3));
    let so_far = verified.world().resource::<Verification>().clone();
    assert_eq!((so_far.ticks(), so_far.is_whole()), (3, false));
    verified.run_headless(at(5));
    assert!(verified.end_run().is_complete());
    assert!(so_far.is_whole());
}

#[test]
fn a_run_that_is_ended_too_early_differs_from_its_log() {
    let folder = folder();
    let log = folder.path().join("log.jsonl");
    app(RecordPlugin::new(&log), Some(at(5))).run_headless(at(9));
    let mut verified = app(VerifyPlugin::new(&log), None);
    verified.run_headless(at(3));
    let text = failure(&verified.end_run());
    assert!(text.contains("log.jsonl") && text.contains("end differs"), "{text}");
}

#[test]
fn a_log_that_is_not_there_is_found_also_when_no_instant_is_run() {
    let folder = folder();
    let mut verified = app(VerifyPlugin::new(folder.path().join("nowhere.jsonl")), None);
    verified.run_headless(at(0));
    let text = failure(&verified.end_run());
    assert!(text.contains("nowhere.jsonl"), "{text}");
}

#[test]
fn an_app_that_is_dropped_leaves_a_log_that_says_so() {
    let folder = folder();
    let log = folder.path().join("log.jsonl");
    let mut left = app(RecordPlugin::new(&log), None);
    left.run_headless(at(2));
    drop(left);
    assert_eq!(check(&log, |_| ()).unwrap().last.end, line::End::Ended(line::Reason::Left));
}

#[test]
fn the_log_of_a_world_that_was_set_up_wrongly_says_so() {
    let folder = folder();
    let log = folder.path().join("log.jsonl");
    let mut wrong = app(RecordPlugin::new(&log), None);
    wrong.add_actor(Actor::of("a", Probe::every(1)));
    assert!(!wrong.run_headless(at(2)).is_complete());
    let last = lines(&log).pop().unwrap();
    assert!(last.contains("\"cause\":\"registration\"") && last.contains("`a` is already taken"), "{last}");
    check(&log, |_| ()).unwrap();
}

#[test]
fn the_header_names_the_features_and_what_the_program_notes() {
    let folder = folder();
    let log = folder.path().join("log.jsonl");
    let mut recorded = app(RecordPlugin::new(&log), Some(at(1)));
    recorded.provenance().config("cars", 2).feature("own");
    recorded.provenance().input_content("road.json", b"{}");
    recorded.run_headless(at(2));
    let header: serde_json::Value = serde_json::from_str(&lines(&log)[0]).unwrap();
    let provenance = &header["provenance"];
    // What else is on depends on how the tests are built.
    let features = provenance["features"].as_array().unwrap().iter().filter(|feature| *feature != "profile");
    assert_eq!(
        serde_json::Value::from_iter(features.cloned()),
        serde_json::json!(["cli", "diagnostics", "own", "record", "scenario", "signals", "traffic", "zstd"])
    );
    assert_eq!((&provenance["config"]["cars"], &provenance["inputs"][0]["bytes"]), (&2.into(), &2.into()));
}
