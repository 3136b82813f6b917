//! Export to CSV: a file per key, a column per value.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use chaconne_sim_core::fingerprint::{Fingerprint, MembershipKind};
use csv::{Writer, WriterBuilder};

use super::json::{Container, Event, Scalar, scan};
use super::{ExportReport, changed, first_pass, second_pass};
use crate::error::LogError;
use crate::instant::InstantRecord;
use crate::temporary::{self, Temporary};

/// A key whose payloads have more leaves than this is no table.
const MOST_COLUMNS: usize = 4096;

/// What the buffers of all files may hold together.
const BUFFERS: usize = 64 << 20;

/// Longer names of files are cut; every file system in use takes 255 bytes.
const LONGEST_NAME: usize = 200;

/// The columns before those of the payload.
const FIXED: [&str; 3] = ["time_s", "publisher", "seq"];

/// Exports a log to a folder of CSV files (UTF-8, comma, line feed, one line of names).
///
/// | file | columns |
/// |---|---|
/// | one per key | `time_s`, `publisher`, `seq`, then one per leaf of the payloads, in the order of first appearance |
/// | `membership.csv` | `time_s` (of the instant), `change` (`join` or `leave`), `path`, `effective_s` (when a participant that joined is first due; the first instant that one that left does not step) |
/// | `files.csv` | `file`, `key`, `signals`: which file is of which key, and its number of rows |
///
/// The file of `chaconne/{world}/actor/ego/motor/pose` is `ego.motor.pose.csv`. Any other key's begins with `~`, and
/// what not every file system takes in a name (also a name that differs from another in upper and lower case only, or
/// that Windows keeps for itself) is written as `%` and two hexadecimal digits per byte; long names are cut, with a
/// hash of the key at their end.
///
/// A leaf is a number, a string, `true`, `false` or `null` in a payload. Its column is named by its path: `position.x`,
/// `[0]`, `wheels[1].speed`; a field whose name could be misread stands in brackets (`["a.b"]`), and a payload that is
/// a leaf itself is the column `value` (`$`, if a field is named so). Numbers stand as they are in the log, digit by
/// digit; strings without quotes and escapes. A leaf that is not there or `null` is an empty cell, and so is a string
/// without characters; empty lists and objects have no leaves. A key whose payloads have more than 4096 different
/// leaves gets the one column `payload`, with the JSON text.
///
/// The folder must not be there, or be empty; it is there when it is complete. Memory holds an instant, the columns of
/// every key, and 64 MiB for rows. `progress` is told the share that is done.
///
/// # Errors
/// What [`check()`](crate::check::check) finds, except that the log was cut off; when the folder is not empty, or
/// cannot be written.
pub fn export_csv(
    input: impl AsRef<Path>,
    directory: impl AsRef<Path>,
    mut progress: impl FnMut(f64),
) -> Result<ExportReport, LogError> {
    let (input, directory) = (input.as_ref(), directory.as_ref());
    // Said before a long log is read.
    drop(Temporary::folder(directory)?);
    let mut tables = Tables::default();
    let mut report = first_pass(input, &mut progress, |instant| {
        tables.see(instant);
        Ok(())
    })?;
    report.keys = tables.rows.len() as u64;
    let temporary = Temporary::folder(directory)?;
    let at_output = |source: csv::Error| temporary::of(directory, source.into());
    let mut files = tables.files(temporary.path(), &report.header.world).map_err(at_output)?;
    second_pass(input, report.ticks, &mut progress, |instant| {
        files.members(instant).map_err(at_output)?;
        for signal in instant.signals() {
            let (line, signal) = (signal.line, signal.signal);
            let at = tables.index.get(signal.key).ok_or_else(|| changed(input, line))?;
            let (table, file) = (&tables.rows[*at], &mut files.signals[*at]);
            let fixed = [&signal.time.to_string(), signal.path, &signal.seq.to_string()];
            let cells = table.cells(signal.payload, &mut files.cells).ok_or_else(|| changed(input, line))?;
            file.write_record(fixed.iter().map(|text| text.as_bytes()).chain(cells)).map_err(at_output)?;
        }
        Ok(())
    })?;
    files.finish().map_err(|source| temporary::of(directory, source))?;
    temporary.keep()?;
    Ok(report)
}

/// Keys and their columns, in the order of first appearance.
#[derive(Default)]
struct Tables {
    index: BTreeMap<String, usize>,
    rows: Vec<Table>,
}

#[derive(Default)]
struct Table {
    key: String,
    signals: u64,
    columns: BTreeMap<String, usize>,
    names: Vec<String>,
    /// There are too many columns.
    is_text: bool,
}

impl Tables {
    fn see(&mut self, instant: &InstantRecord) {
        for signal in instant.signals().map(|signal| signal.signal) {
            let at = match self.index.get(signal.key) {
                Some(at) => *at,
                None => {
                    self.index.insert(signal.key.to_owned(), self.rows.len());
                    self.rows.push(Table { key: signal.key.to_owned(), ..Table::default() });
                    self.rows.len() - 1
                }
            };
            self.rows[at].see(signal.payload);
        }
    }

    /// Creates the files, with their first lines.
    fn files(&self, folder: &Path, world: &str) -> Result<Files, csv::Error> {
        let mut names = Names::new(self.rows.iter().map(|table| table.key.as_str()), world);
        let capacity = (BUFFERS / (self.rows.len() + 1)).clamp(512, 64 << 10);
        let open = |name: &str| {
            WriterBuilder::new().buffer_capacity(capacity).from_writer(Appending { file: folder.join(name) })
        };
        let mut list = open("files.csv");
        list.write_record(["file", "key", "signals"])?;
        let mut signals = Vec::with_capacity(self.rows.len());
        for table in &self.rows {
            let name = names.of(&table.key);
            list.write_record([&name, &table.key, &table.signals.to_string()])?;
            let mut file = open(&name);
            let names = table.names.iter().map(|name| match name.as_str() {
                "" if table.columns.contains_key("value") => "$",
                "" => "value",
                name => name,
            });
            let names: Vec<&str> = if table.is_text { vec!["payload"] } else { names.collect() };
            file.write_record(FIXED.into_iter().chain(names))?;
            signals.push(file);
        }
        list.flush()?;
        let mut membership = open("membership.csv");
        membership.write_record(["time_s", "change", "path", "effective_s"])?;
        Ok(Files { membership, signals, cells: Vec::new() })
    }
}

impl Table {
    fn see(&mut self, payload: &str) {
        self.signals += 1;
        if self.is_text {
            return;
        }
        leaves(payload, |path, _, _| {
            if !self.columns.contains_key(path) && self.names.len() <= MOST_COLUMNS {
                self.columns.insert(path.to_owned(), self.names.len());
                self.names.push(path.to_owned());
            }
        });
        if self.names.len() > MOST_COLUMNS {
            self.is_text = true;
            self.names = Vec::new();
            self.columns = BTreeMap::new();
        }
    }

    /// A payload's cells; `None` when it has a leaf that was not seen before.
    fn cells<'a>(
        &self,
        payload: &str,
        cells: &'a mut Vec<Vec<u8>>,
    ) -> Option<impl Iterator<Item = &'a [u8]> + use<'a>> {
        let count = if self.is_text { 1 } else { self.names.len() };
        cells.resize_with(count.max(cells.len()), Vec::new);
        cells[..count].iter_mut().for_each(Vec::clear);
        let mut is_known = true;
        if self.is_text {
            cells[0].extend_from_slice(payload.as_bytes());
        } else {
            leaves(payload, |path, scalar, text| {
                let Some(cell) = self.columns.get(path).map(|at| &mut cells[*at]) else {
                    is_known = false;
                    return;
                };
                cell.clear();
                match scalar {
                    Scalar::Null => {}
                    Scalar::Bool | Scalar::Number => cell.extend_from_slice(text.as_bytes()),
                    Scalar::String => cell.extend_from_slice(unquoted(text).as_bytes()),
                }
            });
        }
        is_known.then(|| cells[..count].iter().map(Vec::as_slice))
    }
}

/// A string's characters. One that no text can hold (half a surrogate pair) stays as it is.
fn unquoted(text: &str) -> Cow<'_, str> {
    match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        Some(inner) if !inner.contains('\\') => Cow::Borrowed(inner),
        _ => serde_json::from_str(text).map_or(Cow::Borrowed(text), Cow::Owned),
    }
}

/// Shows the leaves of a payload, with their paths. The path of a payload that is a leaf is empty.
fn leaves(payload: &str, mut each: impl FnMut(&str, Scalar, &str)) {
    // Of every object and list that is open: how long its path is, and the number of a list's next item.
    let mut open: Vec<(usize, Option<u64>)> = Vec::new();
    let mut path = String::new();
    scan(payload, |event| {
        if let (Event::Begin(_) | Event::Scalar(..), Some((length, Some(item)))) = (event, open.last_mut()) {
            path.truncate(*length);
            path.push_str(&format!("[{item}]"));
            *item += 1;
        }
        match event {
            Event::Begin(container) => open.push((path.len(), (container == Container::List).then_some(0))),
            Event::End => {
                open.pop();
            }
            Event::Key(name) => {
                path.truncate(open.last().map_or(0, |open| open.0));
                append_name(&mut path, name);
            }
            Event::Scalar(scalar, text) => each(&path, scalar, text),
        }
    });
}

/// Appends a field's name, which has its quotes, so that no two paths have one text.
fn append_name(path: &mut String, quoted: &str) {
    let name = quoted.strip_prefix('"').and_then(|name| name.strip_suffix('"')).unwrap_or(quoted);
    let is_plain = !name.is_empty() && name.chars().all(|char| char.is_alphanumeric() || char == '_' || char == '-');
    if !is_plain || path.is_empty() && FIXED.contains(&name) {
        path.push('[');
        path.push_str(quoted);
        path.push(']');
        return;
    }
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}

/// Appends to a file, which is open only while it is written to: a world may have more keys than a process may have
/// open files.
struct Appending {
    file: PathBuf,
}

impl Write for Appending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut file = OpenOptions::new().append(true).create(true).open(&self.file)?;
        file.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Files {
    membership: Writer<Appending>,
    signals: Vec<Writer<Appending>>,
    cells: Vec<Vec<u8>>,
}

impl Files {
    fn members(&mut self, instant: &InstantRecord) -> Result<(), csv::Error> {
        for change in instant.membership().map(|change| change.change) {
            let kind = match change.kind {
                MembershipKind::Join => "join",
                MembershipKind::Leave => "leave",
            };
            let (time, effective) = (instant.time.to_string(), change.time.to_string());
            self.membership.write_record([&time, kind, change.path, &effective])?;
        }
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        self.membership.flush()?;
        self.signals.iter_mut().try_for_each(Writer::flush)
    }
}

/// Names of files, which are never taken twice.
struct Names<'a> {
    world: &'a str,
    /// In lower case: file systems may not tell it from upper case.
    taken: BTreeSet<String>,
    /// Names in lower case that several keys have.
    shared: BTreeSet<String>,
}

impl<'a> Names<'a> {
    fn new(keys: impl Iterator<Item = &'a str>, world: &'a str) -> Self {
        let taken = ["files.csv", "membership.csv"].map(str::to_owned).into();
        let mut names = Self { world, taken, shared: BTreeSet::new() };
        let mut seen = BTreeSet::new();
        for key in keys {
            let name = names.spelled(key, false).to_ascii_lowercase();
            if let Some(name) = seen.replace(name) {
                names.shared.insert(name);
            }
        }
        names
    }

    fn spelled(&self, key: &str, escapes_upper: bool) -> String {
        let own = key.strip_prefix("chaconne/").and_then(|key| key.strip_prefix(self.world)?.strip_prefix("/actor/"));
        let mut name: String = own.unwrap_or(key).bytes().map(|byte| spelled(byte, escapes_upper)).collect();
        // Escapes are ASCII, and so is everything else.
        if own.is_none() {
            name.insert(0, '~');
        } else if is_reserved(&name) {
            name = format!("%{:02X}{}", name.as_bytes()[0], &name[1..]);
        }
        if name.len() > LONGEST_NAME {
            name.truncate(LONGEST_NAME - 33);
            name = format!("{name}~{}", Fingerprint::of(key.as_bytes()));
        }
        format!("{name}.csv")
    }

    fn of(&mut self, key: &str) -> String {
        let mut name = self.spelled(key, false);
        if self.shared.contains(&name.to_ascii_lowercase()) {
            name = self.spelled(key, true);
        }
        while !self.taken.insert(name.to_ascii_lowercase()) {
            name = format!("~{}-{}.csv", Fingerprint::of(key.as_bytes()), self.taken.len());
        }
        name
    }
}

/// A byte of a key as it stands in a file's name.
fn spelled(byte: u8, escapes_upper: bool) -> String {
    match byte {
        b'/' => ".".to_owned(),
        b'A'..=b'Z' if escapes_upper => format!("%{byte:02X}"),
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    }
}

/// Whether Windows takes a name for a device, whatever stands behind its first dot.
fn is_reserved(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let numbered = |device: &str| stem.strip_prefix(device).is_some_and(|rest| rest.len() == 1 && rest != "0");
    ["con", "prn", "aux", "nul"].contains(&stem.as_str()) || numbered("com") || numbered("lpt")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(payload: &str) -> Vec<String> {
        let mut paths = Vec::new();
        leaves(payload, |path, _, text| paths.push(format!("{path}={text}")));
        paths
    }

    #[test]
    fn leaves_are_named_by_their_paths() {
        assert_eq!(paths("1e21"), ["=1e21"]);
        assert_eq!(paths(r#"[1,[2,{"a":3}],[]]"#), ["[0]=1", "[1][0]=2", "[1][1].a=3"]);
        assert_eq!(paths(r#"{"p":{"x":1,"y":{"z":null}},"q":{}}"#), ["p.x=1", "p.y.z=null"]);
        assert_eq!(
            paths(r#"{"a.b":1,"":2,"seq":3,"n":{"seq":4},"[0]":5}"#),
            [r#"["a.b"]=1"#, r#"[""]=2"#, r#"["seq"]=3"#, "n.seq=4", r#"["[0]"]=5"#]
        );
    }

    #[test]
    fn names_of_files_are_portable_and_never_the_same() {
        let keys =
            ["chaconne/w/actor/Ego/motor/pose", "chaconne/w/actor/ego/motor/pose", "chaconne/w/actor/EGO/motor/pose"];
        let mut names = Names::new(keys.into_iter(), "w");
        let mut of = |key: &str| names.of(key);
        let expected = ["%45go.motor.pose.csv", "ego.motor.pose.csv", "%45%47%4F.motor.pose.csv"];
        assert_eq!(keys.map(&mut of), expected);
        assert_eq!(of("chaconne/w/actor/Lead/x"), "Lead.x.csv");
        assert_eq!(of("chaconne/w/actor/con/x"), "%63on.x.csv");
        assert_eq!(of("chaconne/w/actor/com1/x"), "%63om1.x.csv");
        assert_eq!(of("chaconne/v/actor/ego/x"), "~chaconne.v.actor.ego.x.csv");
        assert_eq!(of("../é\\:"), "~%2E%2E.%C3%A9%5C%3A.csv");
        assert!(of("chaconne/w/actor/membership").starts_with('~'));
        let long = format!("chaconne/w/actor/{}", "a/".repeat(300));
        let (a, b) = (of(&format!("{long}x")), of(&format!("{long}y")));
        assert!(a != b && a.len() <= LONGEST_NAME + 4, "{a} {b}");
    }
}
