//! `chaconne log diff`: where two logs begin to differ.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use chaconne::record::{Difference, LogReader, diff};
use clap::Args;
use serde::Serialize;
use serde_json::Value;

use super::{Json, Secs, failure, progress, say};
use crate::command::console::counted;
use crate::command::program::Failure;
use crate::command::table::pairs;

/// Find where two logs begin to differ
///
/// What made the runs (threads, versions, profile) and `observed` lines are not compared; where the former differs,
/// that is shown.
#[derive(Args)]
pub(crate) struct Arguments {
    /// One log
    a: PathBuf,
    /// The other
    b: PathBuf,
    #[command(flatten)]
    json: Json,
}

pub(super) fn run(Arguments { a, b, json }: Arguments, quiet: bool) -> Result<(), Failure> {
    if a == Path::new("-") || b == Path::new("-") {
        return Err(Failure::Input("a log is read twice here, so it cannot be the standard input".to_owned()));
    }
    let made = provenance(&a, &b)?;
    let report = diff(&a, &b, progress(quiet, "of the logs compared")).map_err(failure)?;
    let (file, other) = (a.display().to_string(), b.display().to_string());
    let equal = counted(report.equal_ticks, "instant");
    match &report.difference {
        None => say(quiet, format_args!("{file} and {other} are one run: {equal} and the end are equal")),
        Some(_) => say(quiet, format_args!("{file} and {other} are equal for {equal}, then differ")),
    }
    if !quiet && !made.is_empty() {
        say(quiet, "made differently (first | second), which is not compared:");
        let values = |[a, b]: &[Value; 2]| side_by_side(&text(a), &text(b));
        pairs(&made.iter().map(|(name, both)| (name.as_str(), values(both))).collect::<Vec<_>>());
    }
    json.say(&Object {
        a: &file,
        b: &other,
        equal: report.difference.is_none(),
        equal_instants: report.equal_ticks,
        difference: report.difference.as_ref().map(DifferenceObject::of),
        provenance: &made,
    });
    match report.difference {
        None => Ok(()),
        Some(difference) => Err(Failure::Run(sentence(&file, &other, &difference))),
    }
}

/// The difference, with the lines of both logs.
fn sentence(file: &str, other: &str, difference: &Difference) -> String {
    let line = difference.line;
    match difference.other_line {
        Some(other_line) => format!("{file}:{line} and {other}:{other_line}: {difference}"),
        None => format!("{file}:{line}: {difference}"),
    }
}

/// What of the provenance differs, by name. The command lines do as a rule: they name the file.
fn provenance(a: &Path, b: &Path) -> Result<BTreeMap<String, [Value; 2]>, Failure> {
    let header = |file: &Path| LogReader::open(file).map(|log| log.header().provenance.clone()).map_err(failure);
    let mut differing = BTreeMap::new();
    compare("", &header(a)?, &header(b)?, &mut differing);
    Ok(differing)
}

/// Fields of objects are compared one by one.
fn compare(name: &str, a: &Value, b: &Value, differing: &mut BTreeMap<String, [Value; 2]>) {
    let (Value::Object(x), Value::Object(y)) = (a, b) else {
        if a != b {
            differing.insert(name.to_owned(), [a.clone(), b.clone()]);
        }
        return;
    };
    let of_y_alone = y.keys().filter(|field| !x.contains_key(*field));
    for field in x.keys().chain(of_y_alone) {
        let name = if name.is_empty() { field.clone() } else { format!("{name}.{field}") };
        compare(&name, &a[field.as_str()], &b[field.as_str()], differing);
    }
}

/// Two values on a line, or below each other when they are long: first that of the first log.
fn side_by_side(a: &str, b: &str) -> String {
    if a.len() + b.len() < 60 { format!("{a} | {b}") } else { format!("{a}\n| {b}") }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(values) if values.is_empty() => "-".to_owned(),
        Value::Array(values) => values.iter().map(text).collect::<Vec<_>>().join(" "),
        value => value.to_string(),
    }
}

/// What `--json` prints.
#[derive(Serialize)]
struct Object<'a> {
    a: &'a str,
    b: &'a str,
    equal: bool,
    equal_instants: u64,
    difference: Option<DifferenceObject<'a>>,
    /// Both values of each field that differs.
    provenance: &'a BTreeMap<String, [Value; 2]>,
}

#[derive(Serialize)]
struct DifferenceObject<'a> {
    field: String,
    line_a: u64,
    line_b: Option<u64>,
    instant: Option<u64>,
    time_s: Option<Secs>,
    path: Option<&'a str>,
    value_a: &'a str,
    value_b: &'a str,
}

impl<'a> DifferenceObject<'a> {
    fn of(difference: &'a Difference) -> Self {
        Self {
            field: difference.field.to_string(),
            line_a: difference.line,
            line_b: difference.other_line,
            instant: difference.instant.map(|(tick, _)| tick),
            time_s: difference.instant.map(|(_, time)| Secs(time)),
            path: difference.path.as_deref(),
            value_a: &difference.expected,
            value_b: &difference.found,
        }
    }
}
