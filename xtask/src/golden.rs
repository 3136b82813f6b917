//! Golden hashes of the examples: `tests/golden.json`, checked by `verify` and rewritten by `cargo xtask golden`.
//!
//! ```json
//! { "traffic": { "args": ["--quiet"], "world_hash": "0123456789abcdef0123456789abcdef" } }
//! ```
//!
//! Examples run in the order of their names. An entry names an example of the facade. It runs as `cargo run --release --example NAME -- ARGS --json`, and the
//! last line of its standard output must be a JSON object with that `world_hash`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::cargo::{Cargo, Output};
use crate::error::Error;
use crate::steps::Outcome;
use crate::workspace::{Example, Workspace};

/// What stands for cargo's target folder in arguments: where an example may write, and a later one read.
const TARGET: &str = "{target}";

/// Entries by the name of the example.
type Entries = BTreeMap<String, Entry>;

/// What an example is run with and must end with.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// Arguments after `--`, to which `--json` is added; [`TARGET`] in them stands for cargo's target folder.
    #[serde(default)]
    args: Vec<String>,
    /// 32 lower-case hex digits.
    world_hash: String,
}

/// Runs every example that has an entry and compares the hashes. An example without an entry counts as skipped.
pub(crate) fn verify(workspace: &Workspace, cargo: &Cargo) -> Result<Outcome, Error> {
    let entries = read(&path(workspace))?;
    let examples = workspace.examples();
    let mut outcome = Outcome { skips: unlisted(&examples, &entries), ..Outcome::default() };
    if let Some(name) = entries.keys().find(|name| !examples.iter().any(|example| example.name == name.as_str())) {
        outcome.failure = Some(format!("tests/golden.json names `{name}`, but there is no such example"));
        return Ok(outcome);
    }
    if entries.is_empty() {
        outcome.skips.push("golden hashes: tests/golden.json has no entry".to_owned());
    }
    for example in examples {
        let Some(entry) = entries.get(example.name) else { continue };
        let hash = run(example, &entry.args, workspace, cargo)?;
        if hash != entry.world_hash {
            let golden = &entry.world_hash;
            outcome.failure = Some(format!(
                "example `{}` ends with world hash {hash}, but tests/golden.json has {golden}; when the change is \
                 meant, run `cargo xtask golden` and say why in CHANGELOG.md",
                example.name
            ));
            return Ok(outcome);
        }
        println!("    {}: {hash}, as in tests/golden.json", example.name);
    }
    outcome.remark = format!("{} golden", entries.len());
    Ok(outcome)
}

/// Runs every example and writes what they end with, keeping each entry's arguments.
///
/// Entries of examples that are gone are dropped. Nothing is written unless every example succeeds.
pub(crate) fn rewrite(workspace: &Workspace, cargo: &Cargo) -> Result<(), Error> {
    let path = path(workspace);
    let old = if path.exists() { read(&path)? } else { Entries::new() };
    let mut new = Entries::new();
    for example in workspace.examples() {
        let args = old.get(example.name).map_or_else(Vec::new, |entry| entry.args.clone());
        let world_hash = run(example, &args, workspace, cargo)?;
        new.insert(example.name.to_owned(), Entry { args, world_hash });
    }
    let changes = changes(&old, &new);
    for line in &changes {
        println!("{line}");
    }
    if changes.is_empty() {
        println!("tests/golden.json is up to date ({} examples).", new.len());
        return Ok(());
    }
    fs::write(&path, text(&new)).map_err(|source| Error::File { path, source })?;
    println!("tests/golden.json is rewritten: say in CHANGELOG.md why each hash changed.");
    Ok(())
}

/// The golden hash of an example.
pub(crate) fn hash_of(workspace: &Workspace, example: &str) -> Result<String, Error> {
    let path = path(workspace);
    match read(&path)?.remove(example) {
        Some(entry) => Ok(entry.world_hash),
        None => Err(Error::Golden { path, message: format!("there is no entry for `{example}`") }),
    }
}

fn path(workspace: &Workspace) -> PathBuf {
    workspace.root.join("tests").join("golden.json")
}

fn read(path: &Path) -> Result<Entries, Error> {
    let text = fs::read_to_string(path).map_err(|source| Error::File { path: path.to_owned(), source })?;
    parse(&text).map_err(|message| Error::Golden { path: path.to_owned(), message })
}

fn parse(text: &str) -> Result<Entries, String> {
    let entries: Entries = serde_json::from_str(text).map_err(|error| error.to_string())?;
    match entries.iter().find(|(_, entry)| !is_hash(&entry.world_hash)) {
        Some((name, entry)) => {
            Err(format!("the world hash of `{name}` must be 32 lower-case hex digits, not `{}`", entry.world_hash))
        }
        None => Ok(entries),
    }
}

/// The file's text. Entries are in name order, so that a change is a change of the lines that it concerns.
fn text(entries: &Entries) -> String {
    let mut text = serde_json::to_string_pretty(entries).expect("strings in maps with string keys always serialise");
    text.push('\n');
    text
}

/// A line for each entry that appears, disappears or changes.
fn changes(old: &Entries, new: &Entries) -> Vec<String> {
    let names: std::collections::BTreeSet<_> = old.keys().chain(new.keys()).collect();
    let hash = |entries: &Entries, name: &String| {
        entries.get(name).map_or_else(|| "(none)".to_owned(), |entry| entry.world_hash.clone())
    };
    let lines = names.into_iter().map(|name| (name, hash(old, name), hash(new, name)));
    lines.filter(|(_, old, new)| old != new).map(|(name, old, new)| format!("{name}: {old} → {new}")).collect()
}

/// Examples that nobody compares, each with what to do about it.
fn unlisted(examples: &[Example<'_>], entries: &Entries) -> Vec<String> {
    let without = examples.iter().filter(|example| !entries.contains_key(example.name));
    let line = |name| format!("example `{name}`: no entry in tests/golden.json; `cargo xtask golden` adds it");
    without.map(|example| line(example.name)).collect()
}

/// Runs an example in release and returns its world hash.
fn run(example: Example<'_>, args: &[String], workspace: &Workspace, cargo: &Cargo) -> Result<String, Error> {
    let mut call = example.call();
    let target = workspace.target.to_string_lossy();
    call.args.extend(args.iter().map(|arg| arg.replace(TARGET, &target)));
    call.args.push("--json".to_owned());
    println!("    {call}");

    let failed = |message: String| Error::Example { example: example.name.to_owned(), message };
    let finished = cargo.run(&call, Output::StdoutKept)?;
    if !finished.success {
        return Err(failed(format!("`{call}` failed")));
    }
    world_hash(&finished.text).map_err(failed)
}

/// The `world_hash` of the JSON object that is the last line of an example's output.
fn world_hash(output: &str) -> Result<String, String> {
    let line = output.lines().next_back().unwrap_or_default();
    let object: serde_json::Value = serde_json::from_str(line)
        .map_err(|error| format!("the last line of its output is not JSON ({error}): `{line}`"))?;
    match object.get("world_hash").and_then(serde_json::Value::as_str) {
        Some(hash) if is_hash(hash) => Ok(hash.to_owned()),
        Some(hash) => Err(format!("its world hash must be 32 lower-case hex digits, not `{hash}`")),
        None => Err(format!("the last line of its output has no `world_hash`: `{line}`")),
    }
}

fn is_hash(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "00000000000000000000000000000001";
    const TWO: &str = "00000000000000000000000000000002";

    fn entries(pairs: &[(&str, &str)]) -> Entries {
        let entry = |hash: &str| Entry { args: vec!["--quiet".into()], world_hash: hash.into() };
        pairs.iter().map(|(name, hash)| ((*name).to_owned(), entry(hash))).collect()
    }

    #[test]
    fn the_file_reads_back_as_written() {
        let entries = entries(&[("traffic", ONE), ("ring", TWO)]);
        assert_eq!(parse(&text(&entries)), Ok(entries));
        assert_eq!(parse("{}"), Ok(Entries::new()));
    }

    #[test]
    fn a_file_with_a_wrong_hash_or_an_unknown_field_is_refused_by_name() {
        let error = parse(r#"{"ring": {"world_hash": "ABC"}}"#).expect_err("three capitals are no hash");
        assert!(error.contains("`ring`") && error.contains("`ABC`"), "{error}");
        let error = parse(r#"{"ring": {"word_hash": "0"}}"#).expect_err("the field is misspelt");
        assert!(error.contains("word_hash"), "{error}");
    }

    #[test]
    fn a_change_is_told_as_old_and_new_and_the_unchanged_is_not() {
        let old = entries(&[("gone", ONE), ("same", ONE), ("traffic", ONE)]);
        let new = entries(&[("added", TWO), ("same", ONE), ("traffic", TWO)]);
        assert_eq!(
            changes(&old, &new),
            [format!("added: (none) → {TWO}"), format!("gone: {ONE} → (none)"), format!("traffic: {ONE} → {TWO}")]
        );
    }

    #[test]
    fn the_hash_is_that_of_the_last_line() {
        let output = format!("ego: 1.0 m\n{{\"world_hash\":\"{TWO}\"}}\n{{\"steps\":3,\"world_hash\":\"{ONE}\"}}\n");
        assert_eq!(world_hash(&output), Ok(ONE.to_owned()));
    }

    #[test]
    fn output_that_does_not_end_with_a_hash_is_refused_with_its_last_line() {
        for line in ["", "done", "{}", r#"{"world_hash":"12"}"#, r#"{"world_hash":12}"#] {
            let error = world_hash(line).expect_err("there is no hash");
            assert!(line.is_empty() || error.contains(line) || error.contains("12"), "{error}");
        }
    }

    #[test]
    fn an_example_without_an_entry_is_named() {
        let examples = [Example { name: "hello", features: &[] }, Example { name: "ring", features: &[] }];
        let skips = unlisted(&examples, &entries(&[("ring", ONE)]));
        assert_eq!(skips.len(), 1);
        assert!(skips[0].contains("`hello`"), "{skips:?}");
    }
}
