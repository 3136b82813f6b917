//! What made a run: gathered when the program is built and when it starts, and written into the header of its log.
//!
//! No part of it is hashed or compared; it tells a person, years later, what to build and run to see the run again.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use bevy_app::App;
use bevy_ecs::resource::Resource;
use chaconne_conductor::RunStart;
use chaconne_sim_core::Fingerprint;
use serde_json::{Map, Value, json};

use crate::error::LogError;

/// The lock file of the build.
const LOCK: &str = include_str!(concat!(env!("OUT_DIR"), "/Cargo.lock"));

/// Crates of others that decide bits of a run.
const DECISIVE: [&str; 8] =
    ["bevy_ecs", "libm", "rand_core", "serde", "serde_json", "xxhash-rust", "zenoh-keyexpr", "zmij"];

/// What a program wants to be remembered of a run, beside what is gathered by itself. Copies share it.
///
/// ```
/// use bevy_app::App;
/// use chaconne_record::ProvenanceAppExt;
///
/// let mut app = App::new();
/// app.provenance().config("road", "demo").feature("traffic");
/// ```
#[derive(Resource, Clone, Debug, Default)]
pub struct Provenance(Arc<Mutex<Notes>>);

#[derive(Debug, Default)]
struct Notes {
    features: Vec<String>,
    config: Map<String, Value>,
    inputs: Vec<Value>,
    lockfile: Option<String>,
}

impl Provenance {
    fn noting(&self, note: impl FnOnce(&mut Notes)) -> &Self {
        note(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
        self
    }

    /// A feature that is on.
    pub fn feature(&self, name: &str) -> &Self {
        self.noting(|notes| {
            if !notes.features.iter().any(|known| known == name) {
                notes.features.push(name.to_owned());
                notes.features.sort();
            }
        })
    }

    /// A setting.
    pub fn config(&self, name: &str, value: impl Into<Value>) -> &Self {
        self.noting(|notes| {
            notes.config.insert(name.to_owned(), value.into());
        })
    }

    /// The text of the program's `Cargo.lock`, for a build whose target folder lies elsewhere:
    /// `lockfile(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.lock")))`.
    pub fn lockfile(&self, text: &str) -> &Self {
        self.noting(|notes| notes.lockfile = Some(text.to_owned()))
    }

    /// A file that was read: its size and the hash of its content are noted.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn input(&self, file: impl AsRef<Path>) -> Result<&Self, LogError> {
        let input = |source| LogError::Input { file: file.as_ref().to_owned(), source };
        let content = fs::read(file.as_ref()).map_err(input)?;
        Ok(self.input_content(&file.as_ref().to_string_lossy(), &content))
    }

    /// As [`input`](Self::input), for content that was read already, or is part of the program.
    pub fn input_content(&self, name: &str, content: &[u8]) -> &Self {
        let hash = Fingerprint::of(content).to_string();
        self.noting(|notes| notes.inputs.push(json!({ "path": name, "bytes": content.len(), "hash": hash })))
    }

    /// All that is known, as the header has it.
    pub fn gather(&self, run: &RunStart) -> Value {
        let notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lock = notes.lockfile.as_deref().unwrap_or(LOCK);
        let lockfile = (!lock.is_empty()).then(|| Fingerprint::of(lock.as_bytes()).to_string());
        json!({
            "crates": crates(lock),
            "lockfile": lockfile,
            "features": notes.features,
            "rustc": env!("CHACONNE_RUSTC"),
            "target": env!("CHACONNE_TARGET"),
            "profile": env!("CHACONNE_PROFILE"),
            "command": std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>(),
            "threads": run.threads,
            "typed": run.typed,
            "config": notes.config,
            "inputs": notes.inputs,
        })
    }
}

/// Versions of this suite's crates and of those that decide bits.
fn crates(lock: &str) -> Map<String, Value> {
    let mut crates = Map::new();
    let mut name = "";
    for line in lock.lines() {
        let value = |key: &str| line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"');
        if let Some(found) = value("name") {
            name = found;
        } else if let Some(version) = value("version")
            && (is_ours(name) || DECISIVE.contains(&name))
        {
            crates.insert(name.to_owned(), version.into());
        }
    }
    if crates.is_empty() {
        crates.insert(env!("CARGO_PKG_NAME").to_owned(), env!("CARGO_PKG_VERSION").into());
    }
    crates
}

/// Whether a crate is part of this suite, and of a program that uses it.
fn is_ours(name: &str) -> bool {
    let aside = ["chaconne-tests", "chaconne-benches", "chaconne-peers"];
    (name == "chaconne" || name.starts_with("chaconne-")) && !aside.contains(&name)
}

/// Provenance of an `App`'s run.
pub trait ProvenanceAppExt {
    /// What this program wants to be remembered of its run. It may be added to until the first instant.
    fn provenance(&mut self) -> Provenance;
}

impl ProvenanceAppExt for App {
    fn provenance(&mut self) -> Provenance {
        self.world_mut().get_resource_or_init::<Provenance>().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_the_lock_file() {
        let lock =
            "[[package]]\nname = \"libm\"\nversion = \"0.2.16\"\n\n[[package]]\nname = \"other\"\nversion = \"1\"\n";
        assert_eq!(Value::from(crates(lock)), json!({ "libm": "0.2.16" }));
        assert_eq!(Value::from(crates("")), json!({ "chaconne-record": env!("CARGO_PKG_VERSION") }));
    }

    #[test]
    fn what_is_noted_in_one_copy_is_in_the_other() {
        let provenance = Provenance::default();
        provenance.clone().config("cars", 7).feature("b").feature("a").feature("b").input_content("road", b"abc");
        let run = RunStart { world: "w".into(), seed: 1, typed: true, threads: 2, ticks: 0 };
        let gathered = provenance.gather(&run);
        assert_eq!(gathered["config"], json!({ "cars": 7 }));
        assert_eq!(gathered["features"], json!(["a", "b"]));
        assert_eq!(
            gathered["inputs"],
            json!([{ "path": "road", "bytes": 3, "hash": "06b05ab6733a618578af5f94892f3950" }])
        );
        assert!(gathered["rustc"].as_str().is_some_and(|rustc| rustc.starts_with("rustc ")));
    }
}
