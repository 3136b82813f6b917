//! What a reader of a log needs does not grow with its length.

use std::path::Path;
use std::process::{Command, Stdio};

use chaconne_conductor::Actor;
use chaconne_record::Recorder;
use chaconne_sim_core::{SimDuration, SimTime};
use chaconne_tests::{acting, config, world_with};

use super::folder;

/// Twenty talkers, fifty thousand instants: a million signals.
fn record_a_million(file: &Path) {
    let talker = |number: u64| {
        let mut steps = 0_u64;
        let talk = acting(move |ctx| {
            steps += 1;
            ctx.publish("number", &(steps * number))?;
            ctx.after(SimDuration::from_millis(1))
        });
        Actor::of(format!("talker-{number}"), talk)
    };
    let mut world = world_with(config(), (0..20).map(talker));
    world.add_monitor(Recorder::new(file));
    world.run_until(SimTime::from_secs(50)).unwrap();
    assert_eq!(world.end(std::time::Duration::ZERO).signals, 1_000_000);
}

/// The most memory that a program held, in KiB: the high-water mark that the system keeps, looked at until the program
/// ends.
#[cfg(target_os = "linux")]
fn peak_kib(arguments: &[&str]) -> u64 {
    let program = env!("CARGO_BIN_EXE_chaconne-command");
    let mut child = Command::new(program).args(arguments).stdout(Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let ended = loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let mark = text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
        peak = peak.max(mark.unwrap_or(0));
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    };
    assert!(ended.success(), "{arguments:?}");
    peak
}

#[test]
#[cfg(target_os = "linux")]
fn looking_into_a_million_signals_takes_less_than_64_mebibytes() {
    let folder = folder();
    for name in ["log.jsonl", "log.jsonl.zst"] {
        let file = folder.path().join(name);
        record_a_million(&file);
        let file = file.to_str().unwrap();
        for command in ["info", "check", "cat"] {
            let peak = peak_kib(&["log", command, file]);
            assert!(peak > 0 && peak < 64 * 1024, "{command} of {name} held {peak} KiB");
        }
    }
}
