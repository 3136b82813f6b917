//! A recorder changes no bit of a run, writes what the specification says, and never takes a log with it when it fails.

use std::fs;

use chaconne_conductor::{Actor, ConductorConfig};
use chaconne_record::{Recorder, check};
use chaconne_tests::{Probe, acting, at, config, run, secs, world, world_with};

use super::{cast, failure, finish, folder, lines, record, run_with};

fn progress(_: f64) {}

#[test]
fn recording_changes_no_hash_plain_or_compressed_on_one_thread_or_eight() {
    let folder = folder();
    let expected = run(cast(), 6).world_hash();
    for name in ["log.jsonl", "log.jsonl.zst"] {
        for threads in [1, 2, 8] {
            for typed in [true, false] {
                let file = folder.path().join(name);
                let config = ConductorConfig { threads, typed, ..config() };
                let report = run_with(config, cast(), Recorder::new(&file));
                assert_eq!(report.world_hash, expected, "{name} {threads} {typed}");
                let checked = check(&file, progress).unwrap();
                assert_eq!((checked.last.world_hash, checked.ticks), (expected, report.ticks));
                assert_eq!((checked.steps, checked.signals), (report.steps, report.signals));
                assert!(checked.gaps.is_empty());
            }
        }
    }
}

#[test]
fn a_compressed_log_holds_the_same_lines() {
    let folder = folder();
    let [plain, packed] = ["log.jsonl", "log.jsonl.zst"].map(|name| folder.path().join(name));
    record(&plain);
    record(&packed);
    let mut unpacked = Vec::new();
    let mut log = chaconne_record::LogReader::open(&packed).unwrap();
    assert!(log.is_compressed());
    while let Some(line) = log.next_line().unwrap() {
        unpacked.push(String::from_utf8(line.text.to_vec()).unwrap());
    }
    assert_eq!(unpacked, lines(&plain)[1..]);
}

#[test]
fn the_specifications_example_is_what_is_written() {
    let text = include_str!("../../../plugins/record/FORMAT.md");
    let (_, example) = text.split_once("## An example").unwrap();
    let (_, example) = example.split_once("```json\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();

    struct Lead;
    impl chaconne_sim_core::Participant for Lead {
        fn step(&mut self, ctx: &mut chaconne_sim_core::StepCtx<'_>) -> chaconne_sim_core::StepResult {
            Ok(ctx.never())
        }

        fn write_state(&self, out: &mut chaconne_sim_core::StateWriter) {
            out.u64(3);
        }
    }
    let mut count = 0_u64;
    let clock = acting(move |ctx| {
        count += 1;
        ctx.publish("count", &count)?;
        if count < 2 { ctx.after(chaconne_sim_core::SimDuration::from_millis(500)) } else { Ok(ctx.never()) }
    });
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    let config = ConductorConfig { seed: 42, ..config() };
    run_with(config, vec![Actor::of("clock", clock), Actor::of("lead", Lead)], Recorder::new(&file));
    let mut written = lines(&file);
    let provenance = written[0].find(",\"provenance\":").unwrap();
    written[0].truncate(provenance);
    written[0] += ",\"provenance\":{}}";
    assert_eq!(written, example.lines().collect::<Vec<_>>());

    // And the example, as it stands, checks.
    let copy = folder.path().join("copy.jsonl");
    fs::write(&copy, example).unwrap();
    check(&copy, progress).unwrap();
}

#[test]
fn the_header_says_what_made_the_run() {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    record(&file);
    let header: serde_json::Value = serde_json::from_str(&lines(&file)[0]).unwrap();
    assert_eq!((&header["world"], &header["seed"]), (&"w".into(), &1.into()));
    let provenance = &header["provenance"];
    assert!(provenance["rustc"].as_str().unwrap().starts_with("rustc 1."), "{provenance}");
    assert_eq!(provenance["crates"]["libm"], "0.2.16");
    assert_eq!(provenance["threads"], 1);
    assert_eq!(provenance["lockfile"].as_str().map(str::len), Some(32));
    for field in ["target", "profile", "command", "typed", "config", "inputs", "features"] {
        assert!(!provenance[field].is_null(), "{field}: {provenance}");
    }
}

#[test]
fn a_run_that_nobody_ends_says_so_in_its_log() {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    let mut world = world(cast());
    world.add_monitor(Recorder::new(&file));
    world.run_until(at(2)).unwrap();
    drop(world);
    let last = lines(&file).pop().unwrap();
    assert!(last.starts_with("{\"type\":\"end\",\"reason\":\"left\",\"ticks\":2,"), "{last}");
    assert_eq!(check(&file, progress).unwrap().ticks, 2);
}

#[test]
fn a_run_of_no_instant_has_a_log_too() {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    let mut empty = world([]);
    empty.add_monitor(Recorder::new(&file));
    let report = finish(&mut empty);
    let checked = check(&file, progress).unwrap();
    assert_eq!((checked.ticks, checked.last.world_hash), (0, report.world_hash));
}

#[test]
fn a_halt_ends_the_log_with_its_cause() {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    let failing =
        acting(|ctx| if ctx.now() < at(2) { ctx.after(secs(1)) } else { Err("the \"engine\" stalled".into()) });
    let report = run_with(
        config(),
        vec![Actor::of("car", failing), Actor::of("p", Probe::every(1).says("x"))],
        Recorder::new(&file),
    );
    assert_eq!(report.ticks, 2);
    let last: serde_json::Value = serde_json::from_str(&lines(&file).pop().unwrap()).unwrap();
    let expected = serde_json::json!({
        "type": "halt", "tick": 2, "time": 2.0, "path": "car", "cause": "error", "text": "the \"engine\" stalled",
        "others": 0, "ticks": 2, "steps": 4, "signals": 2, "world_hash": report.world_hash.to_string(),
    });
    assert_eq!(last, expected);
    check(&file, progress).unwrap();
}

#[test]
fn a_halt_is_in_the_log_of_those_too_who_pass_it_on_and_let_go_of_the_world() {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    let fails = || -> Result<(), chaconne_conductor::Halt> {
        let mut world = world([Actor::of("car", acting(|_| Err("stalled".into())))]);
        world.add_monitor(Recorder::new(&file));
        world.run_until(at(3))?;
        Ok(())
    };
    fails().unwrap_err();
    let last = lines(&file).pop().unwrap();
    assert!(last.starts_with("{\"type\":\"halt\",\"tick\":0,\"time\":0.0,\"path\":\"car\""), "{last}");
}

#[test]
fn a_run_that_was_ended_does_not_go_on_and_its_log_stays_as_it_is() {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    let mut world = world(cast());
    world.add_monitor(Recorder::new(&file));
    world.run_until(at(2)).unwrap();
    let report = world.end(std::time::Duration::ZERO);
    assert_eq!(world.run_until(at(4)).unwrap_err().to_string(), "the run has ended, and cannot go on");
    assert_eq!(world.end(std::time::Duration::ZERO), report);
    assert_eq!((report.ticks, report.is_complete()), (2, true));
    drop(world);
    assert_eq!(check(&file, progress).unwrap().ticks, 2);
}

#[test]
fn a_log_that_cannot_be_opened_halts_the_run_before_its_first_instant() {
    let folder = folder();
    for file in [folder.path().join("no/such/folder/log.jsonl"), folder.path().to_owned()] {
        let report = run_with(config(), cast(), Recorder::new(&file));
        let text = failure(&report);
        assert!(text.contains(file.to_str().unwrap()) && text.contains("cannot write to"), "{text}");
        assert_eq!(report.ticks, 0);
    }
}

#[test]
fn a_recorder_that_comes_late_is_refused() {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    let mut world = world(cast());
    world.run_until(at(2)).unwrap();
    world.add_monitor(Recorder::new(&file));
    let text = failure(&finish(&mut world));
    assert!(text.contains("log.jsonl") && text.contains("before the run starts"), "{text}");
    assert!(!file.exists());
}

#[test]
fn an_older_log_gives_way_when_the_first_instant_is_complete_and_not_before() {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    record(&file);
    let before = fs::read(&file).unwrap();
    // The run never comes to its first instant: a log to be verified against is missing.
    let mut halted = world(cast());
    halted.add_monitor(Recorder::new(&file));
    halted.add_monitor(chaconne_record::Verifier::new(folder.path().join("nowhere.jsonl")));
    failure(&finish(&mut halted));
    drop(halted);
    assert_eq!(fs::read(&file).unwrap(), before);
    // Neither does one that is let go of.
    let mut left = world(cast());
    left.add_monitor(Recorder::new(&file));
    left.run_until(at(0)).unwrap();
    drop(left);
    assert_eq!(fs::read(&file).unwrap(), before);
    // The first instant is the end of it.
    let mut begun = world(cast());
    begun.add_monitor(Recorder::new(&file));
    begun.run_until(at(1)).unwrap();
    drop(begun);
    assert_eq!(check(&file, progress).unwrap().ticks, 1);
}

#[test]
fn what_is_no_log_is_not_written_over() {
    let folder = folder();
    let file = folder.path().join("precious.txt");
    fs::write(&file, "dear diary").unwrap();
    let text = failure(&run_with(config(), cast(), Recorder::new(&file)));
    assert!(text.contains("precious.txt") && text.contains("not a log") && text.contains("not written over"), "{text}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "dear diary");
}

#[test]
fn content_from_elsewhere_has_to_be_canonical_so_that_its_line_can_be_read() {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    let foreign = acting(|ctx| {
        ctx.publish_payload("x", &chaconne_sim_core::Payload::from_text(b"[1,\n2]")?)?;
        Ok(ctx.never())
    });
    let text = failure(&run_with(config(), vec![Actor::of("p", foreign)], Recorder::new(&file)));
    assert!(text.contains("white space"), "{text}");
    check(&file, progress).unwrap();
}

#[test]
fn two_recorders_do_not_write_to_one_file() {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    let mut world = world(cast());
    world.add_monitor(Recorder::new(&file));
    world.add_monitor(Recorder::new(&file));
    let text = failure(&finish(&mut world));
    assert!(text.contains("log.jsonl") && text.contains("being written"), "{text}");
}

#[test]
fn a_recorder_does_not_write_over_the_log_that_is_verified() {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    record(&file);
    let before = fs::read(&file).unwrap();
    let mut world = world(cast());
    world.add_monitor(chaconne_record::Verifier::new(&file));
    world.add_monitor(Recorder::new(&file));
    let text = failure(&finish(&mut world));
    assert!(text.contains("log.jsonl") && text.contains("followed"), "{text}");
    drop(world);
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_a_halt_that_names_the_file() {
    let report = run_with(config(), cast(), Recorder::new("/dev/full"));
    let text = failure(&report);
    assert!(text.contains("/dev/full") && text.contains("No space left"), "{text}");
    assert_eq!(report.ticks, 0);
}

#[test]
fn a_world_of_one_name_and_another_seed_is_another_log() {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    record(&file);
    for other in [ConductorConfig { seed: 2, ..config() }, ConductorConfig { world: "v".into(), ..config() }] {
        let mut world = world_with(other, cast());
        world.add_monitor(chaconne_record::Verifier::new(&file));
        let text = failure(&finish(&mut world));
        assert!(
            text.contains("log.jsonl:1: ") && (text.contains("seed differs") || text.contains("world differs")),
            "{text}"
        );
    }
}
