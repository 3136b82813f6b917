//! Export to MCAP, the format of Foxglove.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

use chaconne_sim_core::fingerprint::{self, Fingerprint, MembershipKind};
use chaconne_sim_core::time::SimTime;
use mcap::records::{MessageHeader, Metadata};
use mcap::{McapError, WriteOptions, Writer};
use serde_json::{Value, json};

use super::shape::Shape;
use super::{ExportReport, changed, first_pass, second_pass};
use crate::error::LogError;
use crate::instant::InstantRecord;
use crate::line::{End, Last};
use crate::temporary::{self, Temporary};

/// More keys than this do not fit: channels have 16-bit numbers, and two are ours.
const MOST_KEYS: usize = 65_000;

/// Exports a log to an MCAP file with zstd chunks.
///
/// | in the log | in the file |
/// |---|---|
/// | a key | a channel, whose topic is the key; its metadata names the `publisher`, if only one published under it |
/// | a signal | a message with encoding `json`: the payload byte for byte when it is an object, otherwise `{"value":…}` around it, because Foxglove wants objects |
/// | its time | log and publish time, in nanoseconds |
/// | its sequence number | the sequence, which is its lower 32 bits |
/// | joins and leaves | messages of the topic `chaconne/{world}/conductor/membership`, with the fields `kind`, `path` and `time` (as text) |
/// | the last line | a message of the topic `chaconne/{world}/conductor/end` |
/// | world, seed, world hash, provenance | the metadata record `chaconne` |
///
/// Each channel has a JSON Schema, which says what holds for all of its payloads. Fields that have several types, may
/// be `null`, or are lists of lists are left out of it, because Foxglove refuses schemas with such; the messages have
/// them.
///
/// MCAP knows no times before zero. When a run begins before, all times are later by what the metadata names
/// `time_offset_ns`, so that it begins at zero.
///
/// An older file of that name is replaced when the new one is complete. Memory holds an instant, a chunk, an entry per
/// key, and one per chunk. `progress` is told the share that is done.
///
/// # Errors
/// What [`check()`](crate::check::check) finds, except that the log was cut off; and when there are more than 65000
/// keys, or the file cannot be written.
pub fn export_mcap(
    input: impl AsRef<Path>,
    output: impl AsRef<Path>,
    mut progress: impl FnMut(f64),
) -> Result<ExportReport, LogError> {
    let (input, output) = (input.as_ref(), output.as_ref());
    let mut keys = Keys::default();
    let mut report = first_pass(input, &mut progress, |instant| keys.take(instant))?;
    report.keys = keys.rows.len() as u64;
    if keys.rows.len() > MOST_KEYS {
        let what = format!(
            "{} has {} keys, and an MCAP file holds {MOST_KEYS}: export it to CSV",
            input.display(),
            keys.rows.len()
        );
        return Err(LogError::Unfit { what });
    }
    let temporary = Temporary::file(input, output)?;
    let at_output = |error: McapError| match error {
        McapError::Io(source) => temporary::of(output, source),
        other => temporary::of(output, io::Error::other(other)),
    };
    let file = File::create(temporary.path()).map_err(|source| temporary::of(output, source))?;
    let options = WriteOptions::new()
        .library(concat!("chaconne-record/", env!("CARGO_PKG_VERSION")))
        // Threads of its own would not be worth their start.
        .compression_threads(0);
    let writer = options.create(BufWriter::new(file)).map_err(at_output)?;
    let mut export = Export::new(writer, &keys, &report).map_err(at_output)?;
    second_pass(input, report.ticks, &mut progress, |instant| {
        export.instant(input, &keys, instant).map_err(|fault| match fault {
            Fault::Log(error) => error,
            Fault::File(error) => at_output(error),
        })
    })?;
    if let Some(last) = &report.last {
        export.last(last).map_err(at_output)?;
    }
    export.finish().map_err(|source| temporary::of(output, source))?;
    temporary.keep()?;
    Ok(report)
}

/// Keys in the order of first appearance.
#[derive(Default)]
struct Keys {
    index: BTreeMap<String, usize>,
    rows: Vec<Row>,
    first: Option<SimTime>,
    last_hash: Option<Fingerprint>,
}

#[derive(Default)]
struct Row {
    key: String,
    shape: Shape,
    /// Who published under it; nobody in particular when there are several.
    publisher: Option<String>,
}

impl Keys {
    fn take(&mut self, instant: &InstantRecord) -> Result<(), LogError> {
        self.first.get_or_insert(instant.time);
        self.last_hash = instant.world_hash;
        for signal in instant.signals().map(|signal| signal.signal) {
            let at = match self.index.get(signal.key) {
                Some(at) => *at,
                None => {
                    let publisher = Some(signal.path.to_owned());
                    self.index.insert(signal.key.to_owned(), self.rows.len());
                    self.rows.push(Row { key: signal.key.to_owned(), publisher, ..Row::default() });
                    self.rows.len() - 1
                }
            };
            let row = &mut self.rows[at];
            if row.publisher.as_deref() != Some(signal.path) {
                row.publisher = None;
            }
            row.shape.merge(signal.payload);
        }
        Ok(())
    }

    /// The name and the text of each row's schema: keys that end in the same signal share one if they can.
    fn schemas(&self) -> Vec<(&str, String)> {
        let texts: Vec<String> = self.rows.iter().map(|row| row.shape.schema().to_string()).collect();
        let signal = |row: &'_ Row| row.key.rfind('/').map_or(0, |at| at + 1);
        let mut shared: BTreeMap<&str, Option<&str>> = BTreeMap::new();
        for (row, text) in self.rows.iter().zip(&texts) {
            let common = shared.entry(&row.key[signal(row)..]).or_insert(Some(text));
            *common = common.filter(|common| common == text);
        }
        let names = self.rows.iter().map(|row| match &row.key[signal(row)..] {
            name if shared[name].is_some() => name,
            _ => row.key.as_str(),
        });
        names.collect::<Vec<_>>().into_iter().zip(texts).collect()
    }
}

enum Fault {
    Log(LogError),
    File(McapError),
}

impl From<McapError> for Fault {
    fn from(error: McapError) -> Self {
        Self::File(error)
    }
}

struct Export {
    writer: Writer<BufWriter<File>>,
    /// The channel of each key.
    channels: Vec<u16>,
    membership: u16,
    end: u16,
    /// How far all times are put off, so that none lies before zero.
    offset: i128,
    now: u64,
    /// Number of messages about joins and leaves.
    changes: u32,
    message: Vec<u8>,
}

impl Export {
    fn new(mut writer: Writer<BufWriter<File>>, keys: &Keys, report: &ExportReport) -> Result<Self, McapError> {
        let offset = keys.first.map_or(0, |time| i128::from(time.as_nanos()).min(0)).abs();
        let header = &report.header;
        let start = fingerprint::world_start(&header.world, header.seed);
        let end =
            report.last.as_ref().map_or("the log was cut off".to_owned(), |last| end_of(last)["reason"].to_string());
        let metadata = [
            ("world", header.world.clone()),
            ("seed", header.seed.to_string()),
            ("ticks", report.ticks.to_string()),
            ("lost_ticks", report.lost.to_string()),
            (
                "world_hash",
                report.last.as_ref().map_or(keys.last_hash.unwrap_or(start), |last| last.world_hash).to_string(),
            ),
            ("end", end.trim_matches('"').to_owned()),
            ("time_offset_ns", offset.to_string()),
            ("provenance", header.provenance.to_string()),
        ];
        let metadata = metadata.map(|(name, value)| (name.to_owned(), value)).into();
        writer.write_metadata(&Metadata { name: "chaconne".to_owned(), metadata })?;
        let mut channels = Vec::with_capacity(keys.rows.len());
        for (row, (name, schema)) in keys.rows.iter().zip(keys.schemas()) {
            let schema = writer.add_schema(name, "jsonschema", schema.as_bytes())?;
            let publisher = row.publisher.iter().map(|path| ("publisher".to_owned(), path.clone())).collect();
            channels.push(writer.add_channel(schema, &row.key, "json", &publisher)?);
        }
        let mut own = |name: &str, fields: &[(&str, &str)]| {
            let properties: serde_json::Map<String, Value> =
                fields.iter().map(|(field, kind)| ((*field).to_owned(), json!({ "type": kind }))).collect();
            let schema = json!({ "type": "object", "properties": properties }).to_string();
            let schema = writer.add_schema(&format!("chaconne.{name}"), "jsonschema", schema.as_bytes())?;
            let topic = format!("chaconne/{}/conductor/{name}", header.world);
            writer.add_channel(schema, &topic, "json", &BTreeMap::new())
        };
        let membership = own("membership", &[("kind", "string"), ("path", "string"), ("time", "string")])?;
        let end =
            own("end", &[("reason", "string"), ("ticks", "integer"), ("steps", "integer"), ("signals", "integer")])?;
        Ok(Self { writer, channels, membership, end, offset, now: 0, changes: 0, message: Vec::new() })
    }

    fn instant(&mut self, input: &Path, keys: &Keys, instant: &InstantRecord) -> Result<(), Fault> {
        // Times are not before the first one, and 64 bits hold every distance of two.
        let time = i128::from(instant.time.as_nanos()) + self.offset;
        self.now = time.try_into().map_err(|_| Fault::Log(changed(input, instant.line_numbers().1)))?;
        for change in instant.membership().map(|change| change.change) {
            let kind = match change.kind {
                MembershipKind::Join => "join",
                MembershipKind::Leave => "leave",
            };
            let text = json!({ "kind": kind, "path": change.path, "time": change.time.to_string() }).to_string();
            let sequence = self.changes;
            self.changes = self.changes.wrapping_add(1);
            self.write(self.membership, sequence, text.as_bytes())?;
        }
        for signal in instant.signals() {
            let (line, signal) = (signal.line, signal.signal);
            let Some(at) = keys.index.get(signal.key) else { return Err(Fault::Log(changed(input, line))) };
            let (channel, payload) = (self.channels[*at], signal.payload.as_bytes());
            let sequence = (signal.seq & u64::from(u32::MAX)) as u32;
            if payload.starts_with(b"{") {
                self.write(channel, sequence, payload)?;
                continue;
            }
            let mut message = std::mem::take(&mut self.message);
            message.clear();
            message.extend_from_slice(b"{\"value\":");
            message.extend_from_slice(payload);
            message.push(b'}');
            self.write(channel, sequence, &message)?;
            self.message = message;
        }
        Ok(())
    }

    fn last(&mut self, last: &Last) -> Result<(), McapError> {
        let text = end_of(last).to_string();
        self.write(self.end, 0, text.as_bytes())
    }

    fn write(&mut self, channel_id: u16, sequence: u32, data: &[u8]) -> Result<(), McapError> {
        let (log_time, publish_time) = (self.now, self.now);
        self.writer.write_to_known_channel(&MessageHeader { channel_id, sequence, log_time, publish_time }, data)
    }

    fn finish(mut self) -> io::Result<()> {
        self.writer.finish().map_err(|error| match error {
            McapError::Io(source) => source,
            other => io::Error::other(other),
        })?;
        self.writer.into_inner().into_inner().map(drop).map_err(io::IntoInnerError::into_error)
    }
}

/// What the last line says.
fn end_of(last: &Last) -> Value {
    let mut end = json!({
        "ticks": last.ticks,
        "steps": last.steps,
        "signals": last.signals,
        "world_hash": last.world_hash.to_string(),
    });
    match &last.end {
        End::Ended(reason) => end["reason"] = reason.to_string().into(),
        End::Halted(halted) => {
            end["reason"] = "halted".into();
            end["cause"] = halted.cause.as_str().into();
            end["text"] = halted.text.as_str().into();
            end["path"] = halted.path.as_deref().into();
        }
    }
    end
}
