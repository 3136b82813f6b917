//! What is saved of a damaged log: everything that was not touched, and never a log that does not pass the check.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail their test by panicking")]

mod worlds;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use chaconne_record::line::{End, Gap, Reason};
use chaconne_record::{InputEnd, LogError, RecoverReport, check, recover};
use chaconne_sim_core::time::SimTime;
use tempfile::TempDir;
use worlds::{Layout, instants, short_log};

/// What instants say, and the world's hash after each.
type Saved = BTreeMap<u64, (String, String)>;

/// A folder with a log in it.
struct Bench {
    folder: TempDir,
    text: Vec<u8>,
    layout: Layout,
    instants: Saved,
}

impl Bench {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let text = short_log(folder.path());
        let instants = instants(&folder.path().join("short.jsonl")).unwrap();
        let layout = Layout::of(&text);
        assert_eq!((layout.instants.len(), instants.len()), (6, 6));
        Self { folder, text, layout, instants }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Recovers a text; what comes out passes the check, and has no instant that the log has not.
    fn recover(&self, text: &[u8]) -> Result<(RecoverReport, Saved), LogError> {
        self.recover_as(text, "damaged.jsonl", "recovered.jsonl")
    }

    fn recover_as(&self, text: &[u8], from: &str, to: &str) -> Result<(RecoverReport, Saved), LogError> {
        let (from, to) = (self.path(from), self.path(to));
        fs::write(&from, text).unwrap();
        let _ = fs::remove_file(&to);
        let report = recover(&from, &to, |share| assert!((0.0..=1.0).contains(&share)));
        self.assert_nothing_is_left();
        let report = report.inspect_err(|_| assert!(!to.exists(), "nothing is written when it fails"))?;
        let checked = check(&to, |_| {}).unwrap();
        assert_eq!((checked.ticks, &checked.gaps, &checked.last), (report.ticks, &report.gaps, &report.last));
        let saved = instants(&to).unwrap();
        assert_eq!(saved.len() as u64, report.ticks);
        for (tick, (content, hash)) in &saved {
            assert_eq!(*content, self.instants[tick].0, "instant {tick}");
            // Between two gaps, it is taken as it is stated.
            let is_alone = !saved.contains_key(&tick.wrapping_sub(1)) && !saved.contains_key(&(tick + 1)) && *tick > 0;
            assert!(*hash == self.instants[tick].1 || is_alone, "instant {tick}: {hash}");
        }
        Ok((report, saved))
    }

    fn assert_nothing_is_left(&self) {
        for entry in fs::read_dir(self.folder.path()).unwrap() {
            let name = entry.unwrap().file_name();
            assert!(!name.to_string_lossy().contains(".tmp"), "{name:?}");
        }
    }

    fn output(&self) -> Vec<u8> {
        fs::read(self.path("recovered.jsonl")).unwrap()
    }

    fn lines(&self) -> Vec<&[u8]> {
        self.text.split_inclusive(|byte| *byte == b'\n').collect()
    }

    /// The numbers of the lines of an instant, from zero.
    fn lines_of(&self, instant: usize) -> std::ops::Range<usize> {
        let line = |at: usize| self.text[..at].iter().filter(|byte| **byte == b'\n').count();
        line(self.layout.instants[instant].start)..line(self.layout.instants[instant].end)
    }
}

fn ticks(saved: &Saved) -> Vec<u64> {
    saved.keys().copied().collect()
}

#[test]
fn a_whole_log_is_copied_byte_for_byte() {
    let bench = Bench::new();
    let (report, saved) = bench.recover(&bench.text).unwrap();
    assert!(report.was_whole && !report.header_remade);
    assert_eq!((report.lost, report.dropped_lines, report.input_end), (0, 0, InputEnd::Last));
    assert_eq!(ticks(&saved), [0, 1, 2, 3, 4, 5]);
    assert_eq!(bench.output(), bench.text);
}

#[test]
fn a_log_that_was_recovered_is_copied_byte_for_byte() {
    let bench = Bench::new();
    for lost in 0..6 {
        let lines = bench.lines_of(lost);
        let damaged = [&bench.lines()[..lines.start], &bench.lines()[lines.end..]].concat().concat();
        let (report, saved) = bench.recover(&damaged).unwrap();
        assert_eq!(report.gaps, [Gap { tick: lost as u64, next: lost as u64 + 1 }]);
        assert_eq!((saved.len(), report.lost, report.was_whole), (5, 1, false));
        let first = bench.output();
        let (report, _) = bench.recover(&first).unwrap();
        assert!(report.was_whole, "{report:?}");
        assert_eq!(bench.output(), first);
    }
}

#[test]
fn of_a_log_cut_off_at_any_byte_every_complete_instant_is_saved() {
    let bench = Bench::new();
    for length in 0..bench.text.len() {
        let recovered = bench.recover(&bench.text[..length]);
        // A line feed is not needed.
        if length + 1 < bench.layout.header.end {
            assert!(matches!(recovered, Err(LogError::NotALog { .. } | LogError::Line { line: 1, .. })), "{length}");
            continue;
        }
        let (report, saved) = recovered.unwrap();
        let complete = bench.layout.instants.iter().filter(|range| range.end <= length + 1).count();
        assert_eq!(saved.len(), complete, "{length}");
        assert!(report.gaps.is_empty() && !report.was_whole);
        let is_ended = length + 1 == bench.text.len();
        let reason = if is_ended { Reason::Finished } else { Reason::Recovered };
        assert_eq!(report.last.end, End::Ended(reason), "{length}");
        assert_eq!(report.input_end, if is_ended { InputEnd::Last } else { InputEnd::Cut });
    }
}

#[test]
fn a_flipped_byte_costs_the_instant_that_it_is_in_and_no_other() {
    let bench = Bench::new();
    let provenance = bench.text.windows(13).position(|text| text == b"\"provenance\":").unwrap();
    for at in 0..bench.text.len() {
        for mask in [0x01, 0x20, 0x80] {
            let mut text = bench.text.clone();
            text[at] ^= mask;
            let place = format!("byte {at} with {mask:#x}");
            let (report, saved) = match bench.recover(&text) {
                Ok(recovered) => recovered,
                // World, seed and version stand before the provenance.
                Err(error) => {
                    assert!(at < provenance + 13, "{place}: {error}");
                    continue;
                }
            };
            assert!(
                !report.was_whole || bench.output() == text,
                "{place} of {}: {report:?}",
                String::from_utf8_lossy(&text)
            );
            for (tick, range) in bench.layout.instants.iter().enumerate() {
                if range.contains(&at) {
                    // Its gap is known, as the log goes on behind it.
                    let gap = Gap { tick: tick as u64, next: tick as u64 + 1 };
                    assert!(saved.contains_key(&(tick as u64)) || report.gaps == [gap], "{place}: {report:?}");
                } else {
                    assert!(saved.contains_key(&(tick as u64)), "{place}: {report:?}");
                }
            }
            if !bench.layout.last.contains(&at) {
                assert_eq!(report.last.end, End::Ended(Reason::Finished), "{place}");
            }
        }
    }
}

#[test]
fn a_header_of_another_world_or_seed_is_refused_and_a_damaged_one_is_made_again() {
    let bench = Bench::new();
    let with_header = |from: &str, to: &str| {
        let text = String::from_utf8(bench.text.clone()).unwrap();
        assert!(text.contains(from));
        bench.recover(text.replacen(from, to, 1).as_bytes())
    };
    let refused = |from: &str, to: &str| with_header(from, to).unwrap_err().to_string();
    assert!(refused(r#""seed":42"#, r#""seed":43"#).ends_with(
        "damaged.jsonl:1: the world `w` and the seed 43 are not those of the instants that follow: one of them was \
         changed; correct it, and recover again"
    ));
    assert!(refused(r#""world":"w""#, r#""world":"x""#).contains("the world `x` and the seed 42"));
    assert!(refused(r#""world":"w""#, r#""word":"w""#).contains("damaged.jsonl:1: the header is damaged"));
    assert!(refused(r#""version":1"#, r#""version":2"#).contains("format version 2"));
    let (report, saved) = with_header(r#""provenance":{"config""#, r#""provenance":{"con"fig""#).unwrap();
    assert!(report.header_remade && saved.len() == 6);
    assert_eq!(report.header.provenance["damaged"], r#"{"con"fig":{"a":"b"}}}"#);
    assert_eq!((report.header.world.as_str(), report.header.seed), ("w", 42));
    assert!(with_header(r#""version":1"#, r#""version":-"#).unwrap().0.header_remade);
}

#[test]
fn a_damaged_header_is_believed_only_when_the_first_instant_proves_it() {
    let bench = Bench::new();
    let text = String::from_utf8(bench.text.clone()).unwrap().replacen("chaconne-log\"", "chaconne-log", 1);
    assert_eq!(bench.recover(text.as_bytes()).unwrap().1.len(), 6);
    for (from, to) in [(r#""tick":0,"#, r#""tick":9,"#), (r#""seed":42"#, r#""seed":43"#)] {
        let error = bench.recover(text.replacen(from, to, 1).as_bytes()).unwrap_err().to_string();
        assert!(error.contains("damaged.jsonl:1: the "), "{error}");
    }
    // A header alone proves nothing.
    let error = bench.recover(text.lines().next().unwrap().as_bytes()).unwrap_err().to_string();
    assert!(error.contains("the header is damaged, and so is the first instant"), "{error}");
}

#[test]
fn without_an_instant_a_valid_log_of_none_is_written() {
    let bench = Bench::new();
    let (report, saved) = bench.recover(&bench.text[bench.layout.header.clone()]).unwrap();
    assert_eq!((saved.len(), report.last.ticks, report.input_end), (0, 0, InputEnd::Cut));
    assert!(matches!(bench.recover(b""), Err(LogError::NotALog { .. })));
    assert!(matches!(bench.recover(b"\n\n"), Err(LogError::NotALog { .. })));
    assert!(matches!(bench.recover(b"time,x\n0,1\n"), Err(LogError::NotALog { .. })));
}

#[test]
fn converted_line_ends_are_restored() {
    let bench = Bench::new();
    let converted = String::from_utf8(bench.text.clone()).unwrap().replace('\n', "\r\n");
    let (report, _) = bench.recover(format!("\u{feff}{converted}").as_bytes()).unwrap();
    assert!(!report.was_whole);
    assert_eq!((report.dropped_lines, &report.input_end), (0, &InputEnd::Last));
    assert_eq!(bench.output(), bench.text);
}

#[test]
fn any_line_that_is_missing_costs_its_instant_and_no_other() {
    let bench = Bench::new();
    let lines = bench.lines();
    for missing in 1..lines.len() {
        let damaged = [&lines[..missing], &lines[missing + 1..]].concat().concat();
        let (report, saved) = bench.recover(&damaged).unwrap();
        for tick in 0..6 {
            assert!(saved.contains_key(&(tick as u64)) || bench.lines_of(tick).contains(&missing), "{missing}");
        }
        assert!(saved.len() >= 5 && report.lost == 6 - saved.len() as u64);
    }
}

#[test]
fn a_line_that_is_there_twice_costs_nothing() {
    let bench = Bench::new();
    let lines = bench.lines();
    for twice in 0..lines.len() {
        let damaged = [&lines[..=twice], &lines[twice..]].concat().concat();
        let (report, saved) = bench.recover(&damaged).unwrap();
        assert_eq!((saved.len(), report.was_whole && bench.output() != damaged), (6, false), "{twice}: {report:?}");
        assert_eq!(report.last.end, End::Ended(Reason::Finished));
    }
}

#[test]
fn two_lines_that_are_swapped_cost_no_instant_but_their_own() {
    let bench = Bench::new();
    let lines = bench.lines();
    for (a, b) in (1..lines.len() - 1).map(|a| (a, a + 1)).chain([(2, lines.len() - 3), (5, 9)]) {
        let mut swapped = lines.clone();
        swapped.swap(a, b);
        let (_, saved) = bench.recover(&swapped.concat()).unwrap();
        for tick in 0..6 {
            let is_touched = [a, b].iter().any(|line| bench.lines_of(tick).contains(line));
            assert!(saved.contains_key(&(tick as u64)) || is_touched, "{a} with {b}, instant {tick}");
        }
    }
    // Signals of one instant are put in order again.
    let is_signal = |line: &[u8]| line.starts_with(b"{\"type\":\"signal\"");
    let last = bench.lines_of(3).rev().find(|line| is_signal(lines[*line])).unwrap();
    assert!(is_signal(lines[last - 1]));
    let mut swapped = lines.clone();
    swapped.swap(last, last - 1);
    assert_eq!(bench.recover(&swapped.concat()).unwrap().1.len(), 6);
}

#[test]
fn zeros_behind_before_and_inside_are_left_out() {
    let bench = Bench::new();
    let Layout { instants, .. } = &bench.layout;
    for zeros in [1, 4096, 3 << 20] {
        let zeros = vec![0; zeros];
        // A power failure: the file has its length, and not its content.
        let (report, saved) = bench.recover(&[&bench.text[..instants[3].start + 20], &zeros].concat()).unwrap();
        assert_eq!((ticks(&saved), report.input_end), (vec![0, 1, 2], InputEnd::Cut));
        let (report, _) = bench.recover(&[&bench.text, &zeros[..]].concat()).unwrap();
        assert_eq!((report.ticks, report.was_whole, report.input_end), (6, false, InputEnd::More));
        let (_, saved) = bench.recover(&[&zeros, &bench.text[..]].concat()).unwrap();
        assert_eq!(saved.len(), 6);
        let (before, behind) = bench.text.split_at(instants[2].end);
        assert_eq!(bench.recover(&[before, &zeros, behind].concat()).unwrap().1.len(), 6);
        let (before, behind) = bench.text.split_at(instants[2].end - 7);
        let (report, saved) = bench.recover(&[before, &zeros, &behind[7..]].concat()).unwrap();
        assert_eq!(ticks(&saved), [0, 1, 3, 4, 5]);
        assert_eq!(report.last.end, End::Ended(Reason::Finished));
    }
}

#[test]
fn text_behind_the_last_line_is_left_out() {
    let bench = Bench::new();
    let (report, _) = bench.recover(&[&bench.text[..], b"{\"type\":\"tick\"}\nmore\n"].concat()).unwrap();
    assert_eq!((report.dropped_lines, report.input_end), (2, InputEnd::More));
    assert_eq!(bench.output(), bench.text);
}

#[test]
fn a_log_behind_another_is_left_out_and_parts_of_the_same_complete_it() {
    let bench = Bench::new();
    let (report, _) = bench.recover(&bench.text.repeat(2)).unwrap();
    assert_eq!((report.ticks, report.input_end), (6, InputEnd::More));
    assert_eq!(bench.output(), bench.text);
    // Cut inside of a line, so that the second header is not at the beginning of one.
    for cut in (bench.layout.header.end..bench.layout.last.start + 10).step_by(5) {
        let (report, saved) = bench.recover(&[&bench.text[..cut], &bench.text].concat()).unwrap();
        assert_eq!((saved.len(), report.gaps.len(), &report.input_end), (6, 0, &InputEnd::Last), "{cut}");
    }
    let other = String::from_utf8(bench.text.clone()).unwrap().replace(r#""seed":42"#, r#""seed":43"#);
    for cut in (bench.layout.header.end..bench.layout.last.start + 10).step_by(5) {
        let complete = bench.layout.instants.iter().filter(|range| range.end <= cut + 1).count();
        let (report, saved) = bench.recover(&[&bench.text[..cut], other.as_bytes()].concat()).unwrap();
        assert_eq!((saved.len(), &report.input_end), (complete, &InputEnd::OtherLog), "{cut}");
    }
}

#[test]
fn instants_of_another_run_are_never_mixed_in() {
    let bench = Bench::new();
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("other.jsonl");
    let mut other = worlds::conductor();
    other.add(chaconne_conductor::Actor::of("late", worlds::Teller::new(30, &[("x", "1")]))).unwrap();
    worlds::record(other, SimTime::from_millis(400), &file);
    let other = fs::read(&file).unwrap();
    let headless = &other[other.iter().position(|byte| *byte == b'\n').unwrap() + 1..];
    let cut = bench.layout.instants[2].end;
    // Its header is lost, or says the same.
    for other in [headless, &other] {
        let (report, saved) = bench.recover(&[&bench.text[..cut], other].concat()).unwrap();
        assert_eq!((ticks(&saved), report.gaps.len()), (vec![0, 1, 2], 0));
    }
}

#[test]
fn observed_lines_are_kept_where_they_stand_and_those_of_lost_instants_too() {
    let bench = Bench::new();
    let Layout { instants, .. } = &bench.layout;
    let count = |text: &[u8]| text.windows(18).filter(|text| *text == b"{\"type\":\"observed\"").count();
    assert_eq!(count(&bench.text), 2);
    for damaged in [2, 3] {
        let mut text = bench.text.clone();
        text[instants[damaged].end - 10] ^= 1;
        assert_eq!(bench.recover(&text).unwrap().0.lost, 1);
        assert_eq!(count(&bench.output()), 2);
    }
}

#[test]
fn what_was_lost_before_the_last_line_is_named_by_it() {
    let bench = Bench::new();
    let Layout { instants, last, .. } = &bench.layout;
    let text = [&bench.text[..instants[3].end], &bench.text[last.clone()]].concat();
    let (report, _) = bench.recover(&text).unwrap();
    assert_eq!((report.gaps, report.lost), (vec![Gap { tick: 4, next: 6 }], 2));
    assert_eq!((report.last.end, report.last.ticks), (End::Ended(Reason::Finished), 6));
    // One that counts wrong is not believed.
    let text = String::from_utf8(bench.text.clone()).unwrap().replace(r#""ticks":6"#, r#""ticks":7"#);
    let (report, _) = bench.recover(text.as_bytes()).unwrap();
    assert_eq!((report.ticks, report.last.end, report.lost), (6, End::Ended(Reason::Recovered), 0));
}

#[test]
fn the_last_line_of_a_run_that_halted_is_kept() {
    use chaconne_conductor::{Actor, HaltCause};
    let bench = Bench::new();
    let file = bench.path("halted.jsonl");
    let mut conductor = worlds::conductor();
    conductor.add(Actor::of("fails", worlds::Teller::new(0, &[])).first_due(SimTime::from_millis(200))).unwrap();
    conductor.add_monitor(chaconne_record::Recorder::new(&file));
    let halt = conductor.run_until(SimTime::from_secs(1)).unwrap_err();
    assert!(matches!(halt.cause, HaltCause::NotAdvancing { .. }));
    conductor.end(std::time::Duration::ZERO);
    let output = bench.path("recovered.jsonl");
    assert!(recover(&file, &output, |_| {}).unwrap().was_whole);
    assert_eq!(fs::read(&output).unwrap(), fs::read(&file).unwrap());
}

#[test]
fn what_cannot_be_done_is_said_and_changes_nothing() {
    let bench = Bench::new();
    let file = bench.path("short.jsonl");
    let refused = |input: &Path, output: &Path| recover(input, output, |_| {}).unwrap_err().to_string();
    assert!(refused(&file, &file).contains("would be written over itself"));
    assert!(refused(&file, &bench.path("./short.jsonl")).contains("would be written over itself"));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&file, bench.path("link")).unwrap();
        fs::hard_link(&file, bench.path("hard")).unwrap();
        assert!(refused(&file, &bench.path("link")).contains("would be written over itself"));
        assert!(refused(&bench.path("link"), &file).contains("would be written over itself"));
        assert!(refused(&file, &bench.path("hard")).contains("would be written over itself"));
        std::os::unix::fs::symlink(bench.path("nothing"), bench.path("broken")).unwrap();
        assert!(refused(&file, &bench.path("broken")).contains("it is a link to something that does not exist"));
    }
    assert!(refused(&bench.path("missing"), &bench.path("out")).contains("cannot open the log"));
    assert!(refused(bench.folder.path(), &bench.path("out")).contains("it is a folder"));
    assert!(refused(&file, bench.folder.path()).contains("is not a file"));
    let error = refused(&file, &bench.path("none/out"));
    assert!(error.starts_with("cannot write ") && error.contains("none/out: "), "{error}");
    // An older output stays when there is nothing to take its place.
    fs::write(bench.path("older"), "older").unwrap();
    fs::write(bench.path("garbage"), "garbage").unwrap();
    refused(&bench.path("garbage"), &bench.path("older"));
    assert_eq!(fs::read(bench.path("older")).unwrap(), b"older");
    assert_eq!(fs::read(&file).unwrap(), bench.text);
    let in_use = fs::File::open(bench.path("older")).unwrap();
    in_use.lock_shared().unwrap();
    assert!(refused(&file, &bench.path("older")).contains("it is being written or followed"));
    drop(in_use);
    recover(&file, bench.path("older"), |_| {}).unwrap();
    assert_eq!(fs::read(bench.path("older")).unwrap(), bench.text);
    bench.assert_nothing_is_left();
}

#[cfg(feature = "zstd")]
mod compressed {
    use super::*;

    /// The log in frames: header, instants by twos, last line.
    fn frames(bench: &Bench) -> Vec<Vec<u8>> {
        let Layout { header, instants, last } = &bench.layout;
        let ends = [header.end, instants[1].end, instants[3].end, instants[5].end, last.end];
        let mut compressor = zstd::bulk::Compressor::new(1).unwrap();
        compressor.set_parameter(zstd::zstd_safe::CParameter::ChecksumFlag(true)).unwrap();
        let starts = [0].into_iter().chain(ends);
        starts.zip(ends).map(|(from, to)| compressor.compress(&bench.text[from..to]).unwrap()).collect()
    }

    #[test]
    fn a_compressed_log_is_written_and_read() {
        let bench = Bench::new();
        let (report, _) = bench.recover_as(&bench.text, "damaged.jsonl", "recovered.jsonl.zst").unwrap();
        assert!(report.was_whole);
        let compressed = fs::read(bench.path("recovered.jsonl.zst")).unwrap();
        assert_eq!(zstd::decode_all(&compressed[..]).unwrap(), bench.text);
        let (report, _) = bench.recover_as(&compressed, "damaged.jsonl.zst", "recovered.jsonl").unwrap();
        assert!(report.was_whole);
        assert_eq!(bench.output(), bench.text);
    }

    #[test]
    fn of_a_compressed_log_cut_off_at_any_byte_every_whole_frame_is_saved() {
        let bench = Bench::new();
        let frames = frames(&bench);
        let whole = frames.concat();
        for length in 0..whole.len() {
            let Ok((_, saved)) = bench.recover_as(&whole[..length], "damaged.jsonl.zst", "recovered.jsonl") else {
                assert!(length < frames[0].len(), "{length}");
                continue;
            };
            let mut end = frames[0].len();
            let complete = frames[1..4].iter().filter(|frame| {
                end += frame.len();
                end <= length
            });
            assert!(saved.len() >= complete.count() * 2, "{length}");
        }
    }

    #[test]
    fn a_flipped_byte_costs_the_frame_that_it_is_in_and_no_other() {
        let bench = Bench::new();
        let frames = frames(&bench);
        let whole = frames.concat();
        for at in 0..whole.len() {
            for mask in [0x01, 0x20, 0x80] {
                let mut text = whole.clone();
                text[at] ^= mask;
                let mut end = 0;
                let touched = frames.iter().position(|frame| {
                    end += frame.len();
                    at < end
                });
                let Ok((report, saved)) = bench.recover_as(&text, "damaged.jsonl.zst", "recovered.jsonl") else {
                    assert_eq!(touched, Some(0), "byte {at} with {mask:#x}");
                    continue;
                };
                for tick in 0..6 {
                    let is_saved = saved.contains_key(&tick);
                    assert!(is_saved || touched == Some(tick as usize / 2 + 1), "byte {at} with {mask:#x}: {report:?}");
                }
                if touched != Some(4) {
                    assert_eq!(report.last.end, End::Ended(Reason::Finished), "byte {at} with {mask:#x}");
                }
            }
        }
    }

    #[test]
    fn whatever_happens_to_a_compressed_log_what_comes_out_is_true() {
        let bench = Bench::new();
        let whole = frames(&bench).concat();
        let mut dice = Dice(3);
        for _ in 0..2000 {
            let mut text = whole.clone();
            for _ in 0..=dice.below(2) {
                dice.damage(&mut text);
            }
            let _ = bench.recover_as(&text, "damaged.jsonl.zst", "recovered.jsonl");
        }
    }

    #[test]
    fn a_log_as_the_recorder_compresses_it_is_copied() {
        let bench = Bench::new();
        let file = bench.path("own.jsonl.zst");
        worlds::record(worlds::conductor(), SimTime::from_millis(400), &file);
        let report = recover(&file, bench.path("recovered.jsonl"), |_| {}).unwrap();
        assert!(report.was_whole);
        assert_eq!(bench.output(), zstd::decode_all(&fs::read(&file).unwrap()[..]).unwrap());
    }
}

/// Numbers that look random and are always the same.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound.max(1)
    }

    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length);
        let most = if self.below(3) == 0 { length } else { 200 };
        start..(start + self.below(most)).min(length)
    }

    /// Does one thing to a file that happens to files.
    fn damage(&mut self, text: &mut Vec<u8>) {
        let range = self.range(text.len());
        let at = self.below(text.len());
        match self.below(7) {
            0 => text.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << self.below(8)),
            1 => drop(text.drain(range)),
            2 => text[range].fill(0),
            3 => text.truncate(at),
            4 => {
                let copy = text[range].to_vec();
                drop(text.splice(at..at, copy));
            }
            5 => {
                let moved: Vec<u8> = text.drain(range).collect();
                let at = at.min(text.len());
                drop(text.splice(at..at, moved));
            }
            _ => text[range].iter_mut().for_each(|byte| *byte = self.below(256) as u8),
        }
    }
}

#[test]
fn whatever_happens_to_a_log_what_comes_out_is_true() {
    let bench = Bench::new();
    let mut dice = Dice(1);
    for _ in 0..4000 {
        let mut text = bench.text.clone();
        for _ in 0..=dice.below(4) {
            dice.damage(&mut text);
        }
        // Everything that is saved is compared with the log.
        let _ = bench.recover(&text);
    }
}

#[test]
fn many_flipped_bytes_cost_the_instants_that_they_are_in() {
    let bench = Bench::new();
    let mut dice = Dice(2);
    let instants = bench.layout.header.end..bench.layout.last.start;
    for _ in 0..2000 {
        let mut text = bench.text.clone();
        let flipped: Vec<usize> = (0..3).map(|_| instants.start + dice.below(instants.len())).collect();
        flipped.iter().for_each(|at| text[*at] ^= 1 << dice.below(8));
        let (report, saved) = bench.recover(&text).unwrap();
        let is_touched = |tick: usize| flipped.iter().any(|at| bench.layout.instants[tick].contains(at));
        for tick in 0..6 {
            // The first behind a gap is not believed when the next, or the last line, does not follow from it.
            let is_behind_a_gap = tick > 0 && is_touched(tick - 1) && (tick == 5 || is_touched(tick + 1));
            assert!(
                saved.contains_key(&(tick as u64)) || is_touched(tick) || is_behind_a_gap,
                "{flipped:?} {report:?}"
            );
        }
    }
}
