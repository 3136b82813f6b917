//! A process that is killed while it records loses the instant that it was in, and no more.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use chaconne_record::{LogError, check, recover};
use chaconne_sim_core::{DetRng, StreamKey, rng::Domain};

use super::{folder, lines};

/// From when the time to a kill counts.
#[derive(Clone, Copy, PartialEq)]
enum From {
    /// The start of the process.
    Start,
    /// Its first instant, however long it takes to come to it.
    FirstInstant,
}

/// Records, kills the process after some time, and returns how many instants the recorder had surely taken.
fn record_and_kill(file: &Path, from: From, after: Duration) -> u64 {
    let mut child = Command::new(env!("CARGO_BIN_EXE_recording")).arg(file).stdout(Stdio::piped()).spawn().unwrap();
    // Read all the time, so that the child never waits for us.
    let mut stdout = child.stdout.take().unwrap();
    let (first, begun) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        let (mut last, mut count) = (0, [0; 8]);
        while stdout.read_exact(&mut count).is_ok() {
            last = u64::from_le_bytes(count);
            if last == 1 {
                // Nobody may wait for it.
                let _ = first.send(());
            }
        }
        last
    });
    if from == From::FirstInstant {
        begun.recv_timeout(Duration::from_secs(60)).expect("the process comes to its first instant");
    }
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap()
}

/// Moments within 25 ms, of which one in four counts from the start of the process: some before the header is written.
fn moments() -> impl Iterator<Item = (From, Duration)> {
    let mut rng: DetRng = StreamKey::new(200, Domain::Step, "crash", "", 0).stream(0);
    std::iter::from_fn(move || {
        let from = if rng.below(4) == 0 { From::Start } else { From::FirstInstant };
        Some((from, Duration::from_micros(rng.range(10_u64..25_000))))
    })
}

#[test]
fn two_hundred_kills_lose_at_most_the_last_instant() {
    let folder = folder();
    let [file, saved] = ["log.jsonl", "saved.jsonl"].map(|name| folder.path().join(name));
    let mut with_instants = 0;
    for (from, after) in moments().take(200) {
        let _ = std::fs::remove_file(&file);
        let taken = record_and_kill(&file, from, after);
        match recover(&file, &saved, |_| ()) {
            Ok(report) => {
                assert!(report.ticks >= taken, "{} instants of {taken}", report.ticks);
                let checked = check(&saved, |_| ()).unwrap();
                assert_eq!((checked.ticks, checked.gaps.len()), (report.ticks, 0));
                // What was saved is what is there, line for line.
                let (before, after) = (lines(&file), lines(&saved));
                assert_eq!(before[..after.len() - 1], after[..after.len() - 1]);
                with_instants += u64::from(taken > 0);
            }
            // Killed before the header was written.
            Err(LogError::NotALog { .. } | LogError::Open { .. }) => assert_eq!(taken, 0),
            Err(error) => panic!("{error}"),
        }
    }
    assert!(with_instants > 100, "only {with_instants} of the processes had recorded something");
}

#[test]
fn a_compressed_log_of_a_killed_process_recovers_and_lacks_a_second_or_a_mebibyte_at_most() {
    let folder = folder();
    let [file, saved] = ["log.jsonl.zst", "saved.jsonl"].map(|name| folder.path().join(name));
    let mut with_instants = 0;
    for after in [30, 100, 200, 300, 400, 500, 700, 1_100, 1_200, 1_500].into_iter().map(Duration::from_millis) {
        let _ = std::fs::remove_file(&file);
        let taken = record_and_kill(&file, From::FirstInstant, after);
        match recover(&file, &saved, |_| ()) {
            Ok(report) => {
                check(&saved, |_| ()).unwrap();
                // All that was taken but is lost, in bytes of lines.
                let per_instant = std::fs::metadata(&saved).unwrap().len() / report.ticks.max(1);
                let lost = taken.saturating_sub(report.ticks) * per_instant;
                assert!(
                    report.ticks == 0 || lost <= 1 << 20,
                    "{lost} bytes of {} instants are lost",
                    taken - report.ticks
                );
                with_instants += u64::from(report.ticks > 0);
            }
            Err(LogError::NotALog { .. } | LogError::Open { .. }) => assert_eq!(taken, 0),
            Err(error) => panic!("{error}"),
        }
    }
    assert!(with_instants >= 5, "only {with_instants} of the processes had recorded something");
}

#[test]
#[cfg(unix)]
fn an_older_log_that_gives_way_on_a_full_disk_leaves_no_log_without_header() {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    super::record(&file);
    // Less than the header and the first instant.
    let text = String::from_utf8(record_into(&file, 1).stderr).unwrap();
    assert!(text.contains("log.jsonl") && text.contains("cannot write"), "{text}");
    let left = std::fs::read_to_string(&file).unwrap();
    assert!(left.is_empty() || left.starts_with("{\"type\":\"header\""), "{left}");
}

/// Runs the example that records, with a bound on the size of its file in blocks of 512 bytes or more: writes beyond it
/// fail in their middle, as on a disk that is full.
#[cfg(unix)]
fn record_into(file: &Path, blocks: u32) -> std::process::Output {
    let bounded = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    let program = env!("CARGO_BIN_EXE_traffic_record");
    Command::new("sh").args(["-c", &bounded, program]).arg(file).args(["--quiet"]).output().unwrap()
}

#[test]
#[cfg(unix)]
fn a_disk_that_fills_up_in_the_middle_of_an_instant_leaves_a_log_that_checks_or_recovers() {
    let folder = folder();
    // Compressed, the run has about 1.4 MB in frames of 0.2 MB.
    for (name, limits) in [("log.jsonl", [0, 1, 3, 17, 40, 101]), ("log.jsonl.zst", [0, 1, 40, 450, 700, 1001])] {
        let [file, saved] = [name, "saved.jsonl"].map(|name| folder.path().join(name));
        let mut saved_instants = 0;
        for blocks in limits {
            let _ = std::fs::remove_file(&file);
            let ran = record_into(&file, blocks);
            let text = String::from_utf8(ran.stderr).unwrap();
            assert_eq!(ran.status.code(), Some(1), "{blocks}: {text}");
            assert!(text.contains(name) && text.contains("cannot write"), "{text}");
            match check(&file, |_| ()) {
                // There was room for the last line, which says why.
                Ok(report) => {
                    assert!(matches!(report.last.end, chaconne_record::line::End::Halted(_)), "{report:?}");
                    saved_instants += report.ticks;
                }
                Err(LogError::Cut { ticks, .. }) => {
                    let report = recover(&file, &saved, |_| ()).unwrap();
                    assert_eq!((report.ticks, report.gaps.len()), (ticks, 0));
                    saved_instants += ticks;
                }
                // No room for the header.
                Err(LogError::NotALog { .. }) => assert!(blocks <= 3, "{blocks}"),
                Err(error) => panic!("{error}"),
            }
        }
        assert!(saved_instants > 0, "{name}");
    }
}
