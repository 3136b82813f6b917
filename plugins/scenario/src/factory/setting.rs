//! The run for which actors are made, and its text, from which another process has it.
//!
//! ```
//! use chaconne_scenario::{Factories, Setting};
//!
//! let text = Setting::new("office", 42).to_text()?;
//! assert_eq!(text, r#"{"world":"office","seed":42,"shared":[]}"#);
//! let setting = Setting::from_text(&text, &Factories::default())?;
//! assert_eq!((setting.world.as_str(), setting.seed), ("office", 42));
//! # Ok::<(), chaconne_scenario::SettingError>(())
//! ```

use std::path::{Path, PathBuf, absolute};

use chaconne_sim_core::fingerprint::Fingerprint;
use serde::{Deserialize, Serialize};

use super::shared::Source;
use super::{Factories, Shared};
use crate::error::SettingError;
use crate::params::Params;

/// The run for which actors are made.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The world's name.
    pub world: String,
    /// The run's seed.
    pub seed: u64,
    /// The values of shared fields.
    pub shared: Shared,
}

/// What [`Setting::to_text`] writes. What stands in a field is JSON in JSON: a text of its own keeps its digits, and may be
/// as deep as a scenario's.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SettingText {
    world: String,
    seed: u64,
    shared: Vec<FieldText>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FieldText {
    field: String,
    params: String,
    base: String,
    files: Vec<FileText>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileText {
    file: String,
    hash: Fingerprint,
}

impl Setting {
    /// A run without shared values.
    pub fn new(world: impl Into<String>, seed: u64) -> Self {
        Self { world: world.into(), seed, shared: Shared::default() }
    }

    /// The run as one JSON text: its world's name, its seed, and, of each shared value that a scenario had loaded, the field,
    /// the absolute folder that its paths start from, and its files with their hashes. Shared values that were put there in
    /// code have no text: factories that want them say so where the text is read.
    ///
    /// # Errors
    /// When a path is not UTF-8.
    pub fn to_text(&self) -> Result<String, SettingError> {
        let shared = self.shared.sources().map(field_text).collect::<Result<_, _>>()?;
        let text = SettingText { world: self.world.clone(), seed: self.seed, shared };
        serde_json::to_string(&text).map_err(|source| SettingError::Text { source })
    }

    /// The run of a text that [`to_text`](Self::to_text) wrote, in this process or another one on the same machine: its shared
    /// values are loaded once more.
    ///
    /// # Errors
    /// When the text is something else, a shared value cannot be loaded, or a file is not what it was: what would be made
    /// of it then would be another world.
    pub fn from_text(text: &str, factories: &Factories) -> Result<Self, SettingError> {
        let text: SettingText = serde_json::from_str(text).map_err(|source| SettingError::Text { source })?;
        let mut shared = Shared::default();
        for field in &text.shared {
            let wrong = |what: String| SettingError::Field { field: field.field.clone(), what };
            let params = Params::from_json(&field.params).map_err(|error| wrong(error.to_string()))?;
            let loaded = factories.load(&field.field, &params, Path::new(&field.base), &mut shared);
            // Of a file that changes between the two, what is looked at is not newer than what was loaded; and that a file
            // has changed says more than that it cannot be loaded.
            field.files.iter().try_for_each(FileText::check)?;
            loaded.map_err(|mistake| wrong(mistake.what))?;
        }
        Ok(Self { world: text.world, seed: text.seed, shared })
    }
}

fn field_text(source: &Source) -> Result<FieldText, SettingError> {
    let Source { field, params, base, files } = source;
    let file = |(file, hash): &(PathBuf, Fingerprint)| Ok(FileText { file: path_text(file)?, hash: *hash });
    Ok(FieldText {
        field: field.clone(),
        params: params.clone(),
        base: path_text(base)?,
        files: files.iter().map(file).collect::<Result<_, _>>()?,
    })
}

fn path_text(path: &Path) -> Result<String, SettingError> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| SettingError::Path { path: path.display().to_string() })
}

impl FileText {
    fn check(&self) -> Result<(), SettingError> {
        let file = self.file.clone();
        match std::fs::read(&file) {
            Ok(bytes) if Fingerprint::of(&bytes) == self.hash => Ok(()),
            Ok(_) => Err(SettingError::Changed { file }),
            Err(source) => Err(SettingError::Read { file, source }),
        }
    }
}

impl Source {
    /// Notes where a value came from that has just been loaded.
    ///
    /// # Errors
    /// A sentence, when one of its files cannot be read any more.
    pub(super) fn new(field: &str, params: &Params<'_>, base: &Path, files: &[PathBuf]) -> Result<Self, String> {
        let hashed = |file: &PathBuf| match std::fs::read(file) {
            Ok(bytes) => Ok((whole(file), Fingerprint::of(&bytes))),
            Err(error) => Err(format!("cannot read `{}`: {error}", file.display())),
        };
        Ok(Self {
            field: field.to_owned(),
            params: params.to_json(),
            base: whole(base),
            files: files.iter().map(hashed).collect::<Result<_, _>>()?,
        })
    }
}

/// A path from the root, which means the same wherever another process is started.
fn whole(path: &Path) -> PathBuf {
    // An empty path is a file's folder when its name alone was given.
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    // Only an unknown working folder has no absolute path; a relative one is then as good.
    absolute(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_told_from_the_root() {
        let here = std::env::current_dir().unwrap();
        assert_eq!([Path::new(""), Path::new(".")].map(whole), [here.clone(), here.clone()]);
        assert_eq!(whole(Path::new("a/../b")), here.join("a/../b"));
        assert_eq!(whole(&here), here);
    }

    #[cfg(unix)]
    #[test]
    fn a_path_that_text_cannot_hold_is_an_error() {
        use std::os::unix::ffi::OsStrExt;

        let base = Path::new(std::ffi::OsStr::from_bytes(b"/road\xff"));
        let mut shared = Shared::default();
        let source = Source::new("road", &Params::empty(), base, &[]).unwrap();
        shared.insert(std::any::TypeId::of::<u8>(), std::sync::Arc::new(1_u8), Some(source));
        let error = Setting { shared, ..Setting::new("w", 1) }.to_text().unwrap_err().to_string();
        assert!(error.starts_with("the path `/road") && error.contains("is not UTF-8"), "{error}");
    }
}
