//! `chaconne log info`: what is in a log, in numbers.

use chaconne::record::line::{End, VERSION};
use chaconne::record::summary::{Ending, KeySummary, ParticipantSummary, Summary, summarize};
use clap::Args;
use serde::Serialize;
use serde_json::Value;

use super::{
    GapObject, HaltObject, Input, Json, Secs, end_text, end_word, failure, gap_objects, gaps_text, name, progress,
    span_text,
};
use crate::command::console::{count, counted, say};
use crate::command::program::Failure;
use crate::command::table::{Table, bytes, pairs};

/// Show what is in a log: its world, how it ended, counts per key and participant, what made it
///
/// Reads the log once, in little memory. Hashes are shown as the log states them; `chaconne log check` computes them
/// again. A log that was cut off is shown as far as it goes.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    input: Input,
    /// Show all keys and participants, also of many and on a terminal
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    json: Json,
}

pub(super) fn run(Arguments { input, all, json }: Arguments, quiet: bool) -> Result<(), Failure> {
    let summary = summarize(&input.file, progress(quiet, "of the log read")).map_err(failure)?;
    let argument = input.file.display().to_string();
    if !quiet {
        say(name(&input.file));
        print(&argument, &summary, all);
    }
    json.say(&Object::of(&argument, &summary));
    Ok(())
}

fn print(file: &str, summary: &Summary, all: bool) {
    pairs(&facts(file, summary));
    say("");
    say("made by");
    pairs(&provenance(&summary.header.provenance));
    keys(summary, all);
    participants(summary, all);
}

fn facts<'a>(file: &str, summary: &Summary) -> Vec<(&'a str, String)> {
    let many = |number: usize, noun: &str| counted(number as u64, noun);
    let mut facts = vec![
        ("world", format!("{}, seed {}", summary.header.world, summary.header.seed)),
        ("status", status(file, summary)),
    ];
    if !summary.gaps.is_empty() {
        facts.push(("missing", gaps_text(&summary.gaps)));
    }
    facts.push(("span", span_text(summary.span)));
    facts.push(("instants", count(summary.ticks)));
    facts.push(("steps", count(summary.steps)));
    let payload = bytes(summary.payload_bytes);
    let keys = many(summary.keys.len(), "key");
    facts.push(("signals", format!("{} under {keys}, with {payload} of payload", count(summary.signals))));
    let (joins, leaves) = (counted(summary.joins(), "join"), counted(summary.leaves(), "leave"));
    facts.push(("participants", format!("{}; {joins}, {leaves}", count(summary.participants.len() as u64))));
    if summary.observed > 0 {
        facts.push(("observed", counted(summary.observed, "line")));
    }
    facts.push(("world hash", format!("{} (as stated; `chaconne log check` computes it again)", summary.world_hash)));
    facts.push(("file", size(summary)));
    facts
}

fn status(file: &str, summary: &Summary) -> String {
    match &summary.ending {
        Ending::Complete(last) if summary.gaps.is_empty() => match last.end {
            End::Ended(_) => format!("complete: {}", end_text(last)),
            End::Halted(_) => format!("{}; the log is complete", end_text(last)),
        },
        Ending::Complete(last) => format!("NOT COMPLETE, instants are missing: {}", end_text(last)),
        Ending::Cut { line, is_written: true } => format!("being written: the run goes on after line {}", count(*line)),
        Ending::Cut { line, .. } => format!(
            "CUT OFF in or after line {}, without an `end` or `halt` line\n\
             `chaconne log recover {file} OUT` saves the {} in it",
            count(*line),
            counted(summary.ticks, "complete instant"),
        ),
    }
}

fn size(summary: &Summary) -> String {
    let Summary { text_bytes, lines, .. } = summary;
    let text = format!("{} in {}", bytes(*text_bytes), counted(*lines, "line"));
    match summary.file_bytes {
        Some(file) if summary.compressed && file > 0 => {
            let factor = *text_bytes as f64 / file as f64;
            format!("{} compressed (zstd) to one part in {factor:.1}, {text}; format version {VERSION}", bytes(file))
        }
        _ if summary.compressed => format!("compressed (zstd), {text}; format version {VERSION}"),
        _ => format!("{text}; format version {VERSION}"),
    }
}

/// What made a run, for people: what is known by name first, then whatever else is there.
fn provenance(value: &Value) -> Vec<(&str, String)> {
    let Value::Object(fields) = value else { return vec![("unknown", plain(value))] };
    let order =
        ["command", "rustc", "target", "profile", "features", "threads", "typed", "config", "inputs", "lockfile"];
    let known = order.iter().filter_map(|name| fields.get_key_value(*name));
    let others = fields.iter().filter(|(name, _)| !order.contains(&name.as_str()) && *name != "crates");
    known
        .chain(others)
        .chain(fields.get_key_value("crates"))
        .map(|(name, value)| (name.as_str(), readable(name, value)))
        .filter(|(_, text)| !text.is_empty())
        .collect()
}

fn readable(name: &str, value: &Value) -> String {
    match (name, value) {
        (_, Value::Null) => String::new(),
        ("typed", Value::Bool(true)) => "yes: values were handed over as they are".to_owned(),
        ("typed", Value::Bool(false)) => "no: every signal was parsed from its text".to_owned(),
        ("command", Value::Array(words)) => words.iter().map(word).collect::<Vec<_>>().join(" "),
        ("inputs", Value::Array(files)) => files.iter().map(input_file).collect::<Vec<_>>().join("\n"),
        (_, Value::Array(values)) => values.iter().map(plain).collect::<Vec<_>>().join(", "),
        ("crates", Value::Object(versions)) => {
            let versions: Vec<_> =
                versions.iter().map(|(name, version)| format!("{name} {}", plain(version))).collect();
            versions.chunks(4).map(|line| line.join(", ")).collect::<Vec<_>>().join("\n")
        }
        (_, Value::Object(fields)) => {
            fields.iter().map(|(name, value)| format!("{name} = {}", plain(value))).collect::<Vec<_>>().join("\n")
        }
        (_, value) => plain(value),
    }
}

/// A word of a command line, in quotes where a shell would need them.
fn word(value: &Value) -> String {
    let text = plain(value);
    let is_plain = |c: char| c.is_alphanumeric() || "_-./=:,+@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

fn input_file(value: &Value) -> String {
    let size = value["bytes"].as_u64().map_or_else(|| plain(&value["bytes"]), bytes);
    format!("{}, {size}, hash {}", plain(&value["path"]), plain(&value["hash"]))
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn keys(summary: &Summary, all: bool) {
    let mut table = Table::new(["key", "signals", "payload", "first s", "last s"], all);
    for KeySummary { key, signals, payload_bytes, span } in &summary.keys {
        table.row(|| [key.clone(), count(*signals), bytes(*payload_bytes), span.0.to_string(), span.1.to_string()]);
    }
    table.print();
}

fn participants(summary: &Summary, all: bool) {
    let joined_once = |participant: &ParticipantSummary| (participant.joins, participant.leaves) == (1, 0);
    if summary.participants.iter().all(joined_once) {
        let mut table = Table::new(["participant", "steps", "signals", "payload"], all);
        for ParticipantSummary { path, steps, signals, payload_bytes, .. } in &summary.participants {
            table.row(|| [path.clone(), count(*steps), count(*signals), bytes(*payload_bytes)]);
        }
        return table.print();
    }
    let mut table = Table::new(["participant", "steps", "signals", "payload", "joins", "leaves"], all);
    for ParticipantSummary { path, steps, signals, payload_bytes, joins, leaves } in &summary.participants {
        table.row(|| {
            [path.clone(), count(*steps), count(*signals), bytes(*payload_bytes), count(*joins), count(*leaves)]
        });
    }
    table.print();
}

/// What `--json` prints.
#[derive(Serialize)]
struct Object<'a> {
    file: &'a str,
    version: u64,
    world: &'a str,
    seed: u64,
    world_hash: String,
    /// The last line is there, and no instant is missing.
    complete: bool,
    /// How the run ended; null when the log was cut off.
    ended: Option<String>,
    halt: Option<HaltObject<'a>>,
    /// The last line that is there of a log that was cut off.
    cut_after_line: Option<u64>,
    /// It has no end because somebody writes it at this moment.
    being_written: bool,
    gaps: Vec<GapObject>,
    first_s: Option<Secs>,
    last_s: Option<Secs>,
    instants: u64,
    steps: u64,
    signals: u64,
    joins: u64,
    leaves: u64,
    observed: u64,
    payload_bytes: u64,
    lines: u64,
    compressed: bool,
    file_bytes: Option<u64>,
    text_bytes: u64,
    keys: Vec<KeyObject<'a>>,
    participants: Vec<ParticipantObject<'a>>,
    provenance: &'a Value,
}

#[derive(Serialize)]
struct KeyObject<'a> {
    key: &'a str,
    signals: u64,
    payload_bytes: u64,
    first_s: Secs,
    last_s: Secs,
}

#[derive(Serialize)]
struct ParticipantObject<'a> {
    path: &'a str,
    steps: u64,
    signals: u64,
    payload_bytes: u64,
    joins: u64,
    leaves: u64,
}

impl<'a> Object<'a> {
    fn of(file: &'a str, summary: &'a Summary) -> Self {
        let (last, cut) = match &summary.ending {
            Ending::Complete(last) => (Some(last), None),
            Ending::Cut { line, is_written } => (None, Some((*line, *is_written))),
        };
        let keys = summary.keys.iter().map(|key| KeyObject {
            key: &key.key,
            signals: key.signals,
            payload_bytes: key.payload_bytes,
            first_s: Secs(key.span.0),
            last_s: Secs(key.span.1),
        });
        let participants = summary.participants.iter().map(|participant| ParticipantObject {
            path: &participant.path,
            steps: participant.steps,
            signals: participant.signals,
            payload_bytes: participant.payload_bytes,
            joins: participant.joins,
            leaves: participant.leaves,
        });
        Self {
            file,
            version: VERSION,
            world: &summary.header.world,
            seed: summary.header.seed,
            world_hash: summary.world_hash.to_string(),
            complete: summary.is_complete(),
            ended: last.map(end_word),
            halt: last.and_then(HaltObject::of),
            cut_after_line: cut.map(|(line, _)| line),
            being_written: cut.is_some_and(|(_, is_written)| is_written),
            gaps: gap_objects(&summary.gaps),
            first_s: summary.span.map(|span| Secs(span.0)),
            last_s: summary.span.map(|span| Secs(span.1)),
            instants: summary.ticks,
            steps: summary.steps,
            signals: summary.signals,
            joins: summary.joins(),
            leaves: summary.leaves(),
            observed: summary.observed,
            payload_bytes: summary.payload_bytes,
            lines: summary.lines,
            compressed: summary.compressed,
            file_bytes: summary.file_bytes,
            text_bytes: summary.text_bytes,
            keys: keys.collect(),
            participants: participants.collect(),
            provenance: &summary.header.provenance,
        }
    }
}
