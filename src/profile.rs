//! Profiles: what a run spends its time with, as a file that [Perfetto](https://ui.perfetto.dev) and Chrome open.
//!
//! ```no_run
//! use chaconne::profile::Profile;
//!
//! let profile = Profile::to_file("run.trace.json").unwrap();
//! // … run worlds …
//! profile.finish();
//! ```
//!
//! There is a span for each instant and, in it, its batches, its hosts, the step of every participant by path, the fold, the
//! barrier and the monitors; and for each Bevy system, those of populations and of the `App`, on the thread that ran it. Other
//! processes are not in it: a participant in a helper process shows as the wait for it. No result depends on it.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use tracing_chrome::{ChromeLayerBuilder, FlushGuard};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::prelude::*;

/// A profile that is being written. What is in memory is written when it is dropped.
pub struct Profile(FlushGuard);

/// Why no profile can be written.
#[derive(Debug)]
#[non_exhaustive]
pub enum ProfileError {
    /// The file cannot be written.
    File {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Somebody else in this process collects spans already.
    Taken,
}

impl std::fmt::Display for ProfileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File { file, source } => write!(f, "cannot write the profile to {} ({source})", file.display()),
            Self::Taken => f.write_str(
                "cannot write a profile: another subscriber of `tracing` is set in this process; leave one of them out",
            ),
        }
    }
}

impl std::error::Error for ProfileError {}

impl Profile {
    /// Collects the spans of this process from now on, and writes them to a file.
    ///
    /// # Errors
    /// When the file cannot be made, or spans are collected already.
    pub fn to_file(file: impl AsRef<Path>) -> Result<Self, ProfileError> {
        let file = file.as_ref();
        let out = File::create(file).map_err(|source| ProfileError::File { file: file.to_owned(), source })?;
        let (layer, guard) = ChromeLayerBuilder::new().writer(BufWriter::new(out)).include_args(true).build();
        let registry = tracing_subscriber::registry().with(layer.with_filter(LevelFilter::INFO));
        registry.try_init().map_err(|_| ProfileError::Taken)?;
        Ok(Self(guard))
    }

    /// Writes what is in memory and closes the file.
    pub fn finish(self) {
        drop(self.0);
    }
}
