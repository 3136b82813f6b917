//! Exported logs, as other programs read them.
#![cfg(any(feature = "mcap", feature = "csv"))]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail their test by panicking")]

mod worlds;

use std::fs;
use std::path::{Path, PathBuf};

use chaconne_conductor::{Actor, Conductor, ConductorConfig};
use chaconne_record::{ExportReport, LogError};
use chaconne_sim_core::time::SimTime;
use tempfile::TempDir;
use worlds::{Teller, record, short_log};

type Export = fn(&Path, &Path) -> Result<ExportReport, LogError>;

/// Both exports, with the name of an output.
fn exports() -> Vec<(Export, &'static str)> {
    vec![
        #[cfg(feature = "mcap")]
        (|input, output| chaconne_record::export_mcap(input, output, |_| {}), "out.mcap"),
        #[cfg(feature = "csv")]
        (|input, output| chaconne_record::export_csv(input, output, |_| {}), "out"),
    ]
}

fn write(folder: &TempDir, name: &str, text: &[u8]) -> PathBuf {
    let file = folder.path().join(name);
    fs::write(&file, text).unwrap();
    file
}

fn assert_nothing_is_left(folder: &TempDir) {
    for entry in fs::read_dir(folder.path()).unwrap() {
        let name = entry.unwrap().file_name();
        assert!(!name.to_string_lossy().contains(".tmp"), "{name:?}");
    }
}

#[test]
fn of_a_log_that_was_cut_off_the_complete_instants_are_exported() {
    for (export, name) in exports() {
        let folder = TempDir::new().unwrap();
        let text = short_log(folder.path());
        let layout = worlds::Layout::of(&text);
        let file = write(&folder, "cut.jsonl", &text[..layout.instants[3].end + 30]);
        let report = export(&file, &folder.path().join(name)).unwrap();
        assert_eq!((report.ticks, report.last, report.signals), (4, None, 10));
        assert!(report.cut_at.is_some());
        assert!(folder.path().join(name).exists());
    }
}

#[test]
fn a_damaged_log_is_refused_and_nothing_is_left_behind() {
    for (export, name) in exports() {
        let folder = TempDir::new().unwrap();
        let mut text = short_log(folder.path());
        let at = text.windows(13).position(|text| text == b"\"payload\":1.5").unwrap();
        text[at + 10] = b'2';
        let file = write(&folder, "damaged.jsonl", &text);
        let error = export(&file, &folder.path().join(name)).unwrap_err().to_string();
        assert!(error.contains("damaged.jsonl:9: tick hash: "), "{error}");
        assert!(!folder.path().join(name).exists());
        let error = export(&folder.path().join("short.jsonl"), &folder.path().join("none").join(name)).unwrap_err();
        assert!(error.to_string().starts_with("cannot write "), "{error}");
        assert!(export(Path::new("-"), &folder.path().join(name)).unwrap_err().to_string().contains("standard input"));
        assert_nothing_is_left(&folder);
    }
}

#[test]
fn instants_that_a_recovery_could_not_save_are_counted() {
    for (export, name) in exports() {
        let folder = TempDir::new().unwrap();
        let mut text = short_log(folder.path());
        let layout = worlds::Layout::of(&text);
        text[layout.instants[2].end - 30] ^= 1;
        let file = write(&folder, "damaged.jsonl", &text);
        chaconne_record::recover(&file, folder.path().join("recovered.jsonl"), |_| {}).unwrap();
        let report = export(&folder.path().join("recovered.jsonl"), &folder.path().join(name)).unwrap();
        assert_eq!((report.ticks, report.lost, report.cut_at), (5, 1, None));
    }
}

/// A world that begins before zero, with payloads of many kinds.
fn varied() -> Conductor {
    let mut conductor = Conductor::new(ConductorConfig { world: "w".into(), seed: 7, ..Default::default() }).unwrap();
    let says = [
        ("mixed", r#"{"x":1,"a.b":"p,q\n\"é\"","seq":[true,null,{"deep":1e-7}]}"#),
        ("mixed", "12345678901234567890123"),
        ("mixed", r#"{"value":0.1,"x":2}"#),
        ("list", "[]"),
        ("list", "[0.30000000000000004,2]"),
    ];
    conductor.add(Actor::of("early", Teller::new(1, &says)).first_due(SimTime::from_millis(-2))).unwrap();
    conductor.add(Actor::of("Early", Teller::new(5, &[("list", "1")])).leaves_at(SimTime::from_millis(2))).unwrap();
    conductor
}

#[cfg(feature = "mcap")]
mod to_mcap {
    use std::collections::BTreeMap;

    use super::*;
    use chaconne_record::{Block, InstantRecord, LogReader, check, export_mcap};
    use mcap::records::Record;

    struct Read {
        messages: Vec<(String, u32, u64, Vec<u8>)>,
        metadata: BTreeMap<String, String>,
        schemas: BTreeMap<String, (String, serde_json::Value)>,
    }

    fn read(file: &Path) -> Read {
        let bytes = fs::read(file).unwrap();
        let mut messages = Vec::new();
        for message in mcap::MessageStream::new(&bytes).unwrap() {
            let message = message.unwrap();
            assert_eq!((message.log_time, message.channel.message_encoding.as_str()), (message.publish_time, "json"));
            let (topic, data) = (message.channel.topic.clone(), message.data.to_vec());
            assert!(serde_json::from_slice::<serde_json::Value>(&data).unwrap().is_object());
            messages.push((topic, message.sequence, message.log_time, data));
        }
        let summary = mcap::Summary::read(&bytes).unwrap().unwrap();
        assert_eq!(summary.stats.unwrap().message_count, messages.len() as u64);
        let schemas = summary.channels.values().map(|channel| {
            let schema = channel.schema.as_ref().unwrap();
            assert_eq!(schema.encoding, "jsonschema");
            (channel.topic.clone(), (schema.name.clone(), serde_json::from_slice(&schema.data).unwrap()))
        });
        let metadata = mcap::read::LinearReader::new(&bytes).unwrap().find_map(|record| match record.unwrap() {
            Record::Metadata(metadata) if metadata.name == "chaconne" => Some(metadata.metadata),
            _ => None,
        });
        Read { messages, metadata: metadata.unwrap(), schemas: schemas.collect() }
    }

    #[test]
    fn every_signal_is_a_message_with_its_bytes() {
        let folder = TempDir::new().unwrap();
        for conductor in [worlds::conductor(), varied()] {
            let file = folder.path().join("run.jsonl");
            record(conductor, SimTime::from_millis(400), &file);
            let out = folder.path().join("run.mcap");
            let report = export_mcap(&file, &out, |share| assert!((0.0..=1.0).contains(&share))).unwrap();
            let found = read(&out);
            let offset: i64 = found.metadata["time_offset_ns"].parse().unwrap();
            let mut signals = found.messages.iter().filter(|message| !message.0.contains("/conductor/"));
            let mut log = LogReader::open(&file).unwrap();
            let mut instant = InstantRecord::default();
            let mut members = 0;
            while let Block::Instant = log.next_block(&mut instant).unwrap() {
                members += instant.membership().len();
                for signal in instant.signals().map(|signal| signal.signal) {
                    let (topic, sequence, time, data) = signals.next().unwrap();
                    assert_eq!((topic.as_str(), u64::from(*sequence)), (signal.key, signal.seq));
                    assert_eq!(*time, (signal.time.as_nanos() + offset) as u64);
                    let is_object = signal.payload.starts_with('{');
                    let payload =
                        if is_object { signal.payload.into() } else { format!("{{\"value\":{}}}", signal.payload) };
                    assert_eq!(std::str::from_utf8(data).unwrap(), payload);
                }
            }
            assert!(signals.next().is_none());
            let of = |topic: &str| found.messages.iter().filter(|message| message.0 == topic).count();
            assert_eq!((of("chaconne/w/conductor/membership"), of("chaconne/w/conductor/end")), (members, 1));
            assert_eq!(report.signals as usize, found.messages.len() - members - 1);
            assert_eq!(report.keys as usize, found.schemas.len() - 2);
            let checked = check(&file, |_| {}).unwrap();
            assert_eq!(found.metadata["world_hash"], checked.last.world_hash.to_string());
            assert_eq!(found.metadata["seed"], checked.header.seed.to_string());
            assert_eq!((found.metadata["world"].as_str(), found.metadata["end"].as_str()), ("w", "finished"));
            assert!(found.metadata["provenance"].starts_with('{'));
        }
    }

    #[test]
    fn a_run_that_begins_before_zero_begins_at_zero() {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("run.jsonl");
        record(varied(), SimTime::from_millis(10), &file);
        export_mcap(&file, folder.path().join("run.mcap"), |_| {}).unwrap();
        let found = read(&folder.path().join("run.mcap"));
        assert_eq!(found.metadata["time_offset_ns"], "2000000");
        assert_eq!(found.messages.iter().map(|message| message.2).min(), Some(0));
        assert!(found.messages.is_sorted_by_key(|message| message.2));
    }

    #[test]
    fn a_schema_says_what_holds_for_all_payloads_of_its_key() {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("run.jsonl");
        record(varied(), SimTime::from_millis(10), &file);
        export_mcap(&file, folder.path().join("run.mcap"), |_| {}).unwrap();
        let found = read(&folder.path().join("run.mcap"));
        let (name, schema) = &found.schemas["chaconne/w/actor/early/mixed"];
        assert_eq!(name, "mixed");
        // `value` is a whole number when it is the payload, and a number as a field.
        let expected = r#"{"x":{"type":"integer"},"a.b":{"type":"string"},"value":{"type":"number"}}"#;
        let expected: serde_json::Value = serde_json::from_str(expected).unwrap();
        assert_eq!((&schema["type"], &schema["properties"]), (&"object".into(), &expected));
        // Two keys of one signal with different shapes have schemas of their own.
        assert_eq!(found.schemas["chaconne/w/actor/Early/list"].0, "chaconne/w/actor/Early/list");
    }
}

#[cfg(feature = "csv")]
mod to_csv {
    use super::*;
    use chaconne_record::export_csv;

    fn rows(file: &Path) -> Vec<Vec<String>> {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_path(file).unwrap();
        reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect()
    }

    fn exported(conductor: Conductor) -> (TempDir, ExportReport) {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("run.jsonl");
        record(conductor, SimTime::from_millis(10), &file);
        let report = export_csv(&file, folder.path().join("out"), |share| assert!((0.0..=1.0).contains(&share)));
        (folder, report.unwrap())
    }

    #[test]
    fn a_key_is_a_file_and_a_leaf_is_a_column() {
        let (folder, report) = exported(varied());
        let out = folder.path().join("out");
        let mixed = rows(&out.join("early.mixed.csv"));
        let columns = [
            "time_s",
            "publisher",
            "seq",
            "x",
            "[\"a.b\"]",
            "[\"seq\"][0]",
            "[\"seq\"][1]",
            "[\"seq\"][2].deep",
            "$",
            "value",
        ];
        assert_eq!(mixed[0], columns);
        assert_eq!(mixed[1], ["-0.002", "early", "0", "1", "p,q\n\"é\"", "true", "", "1e-7", "", ""]);
        assert_eq!(mixed[3], ["-0.001", "early", "2", "", "", "", "", "", "12345678901234567890123", ""]);
        assert_eq!(mixed[6], ["0.0", "early", "5", "2", "", "", "", "", "", "0.1"]);
        let list = rows(&out.join("early.list.csv"));
        assert_eq!(list[0], ["time_s", "publisher", "seq", "[0]", "[1]"]);
        assert_eq!(list[1], ["0.001", "early", "9", "", ""]);
        assert_eq!(list[3], ["0.002", "early", "14", "0.30000000000000004", "2"]);
        // A name that differs in upper case only is another file also where that is not told apart.
        assert_eq!(rows(&out.join("%45arly.list.csv"))[1], ["0.0", "Early", "0", "1"]);
        let members = rows(&out.join("membership.csv"));
        assert_eq!(members[0], ["time_s", "change", "path", "effective_s"]);
        assert_eq!(members[1], ["-0.002", "join", "early", "-0.002"]);
        assert_eq!(members[3], ["0.002", "leave", "Early", "0.002"]);
        let files = rows(&out.join("files.csv"));
        assert_eq!(files[0], ["file", "key", "signals"]);
        assert_eq!(files.len() as u64 - 1, report.keys);
        let signals: u64 = files[1..].iter().map(|row| row[2].parse::<u64>().unwrap()).sum();
        assert_eq!(signals, report.signals);
        for row in &files[1..] {
            assert_eq!(rows(&out.join(&row[0])).len() as u64, row[2].parse::<u64>().unwrap() + 1);
        }
        assert_eq!(fs::read_dir(&out).unwrap().count() as u64, report.keys + 2);
    }

    #[test]
    fn payloads_that_are_no_table_are_one_column_of_text() {
        let text: &'static str = format!("[{}0]", "0,".repeat(5000)).leak();
        let mut conductor = Conductor::new(ConductorConfig { world: "w".into(), ..Default::default() }).unwrap();
        conductor.add(Actor::of("a", Teller::new(1, &[("image", "[1]"), ("image", text)]))).unwrap();
        let (folder, _) = exported(conductor);
        let image = rows(&folder.path().join("out/a.image.csv"));
        assert_eq!(image[0], ["time_s", "publisher", "seq", "payload"]);
        assert_eq!((image[1][3].as_str(), image[3][3].as_str()), ("[1]", text));
    }

    #[test]
    fn thousands_of_keys_need_no_open_files() {
        let mut conductor = Conductor::new(ConductorConfig { world: "w".into(), ..Default::default() }).unwrap();
        for at in 0..3000 {
            conductor.add(Actor::of(format!("a{at}"), Teller::new(5, &[("x", "1.5")]))).unwrap();
        }
        let (folder, report) = exported(conductor);
        assert_eq!(report.keys, 3000);
        assert_eq!(rows(&folder.path().join("out/a2999.x.csv"))[2], ["0.005", "a2999", "1", "1.5"]);
    }

    #[test]
    fn a_folder_with_something_in_it_is_refused_and_an_empty_one_is_used() {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("run.jsonl");
        record(varied(), SimTime::from_millis(10), &file);
        let error = export_csv(&file, folder.path(), |_| {}).unwrap_err().to_string();
        assert!(error.contains("is not empty: empty it, or choose another"), "{error}");
        assert!(export_csv(&file, &file, |_| {}).unwrap_err().to_string().starts_with("cannot write "));
        let empty = folder.path().join("empty");
        fs::create_dir(&empty).unwrap();
        export_csv(&file, &empty, |_| {}).unwrap();
        assert!(empty.join("files.csv").exists());
        assert_nothing_is_left(&folder);
    }
}
