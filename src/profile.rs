//! Profiles: what a run spends its time with, as a file that [Perfetto](https://ui.perfetto.dev) and Chrome open.
//!
//! ```no_run
//! use chaconne::profile::Profile;
//!
//! let profile = Profile::to_file("run.trace.json").unwrap();
//! // … run worlds …
//! profile.finish().unwrap();
//! ```
//!
//! There is a span for each instant and, in it, its batches, its hosts, the step of every participant by path, the fold, the
//! barrier and the monitors; and for each Bevy system, those of populations and of the `App`, on the thread that ran it. Other
//! processes are not in it: a participant in a helper process shows as the wait for it. No result depends on it.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tracing_chrome::{ChromeLayerBuilder, FlushGuard};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::prelude::*;

/// A profile that is being written. What is in memory is written when it is dropped.
pub struct Profile {
    guard: FlushGuard,
    file: PathBuf,
    failure: Failure,
}

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
    /// There is a file of that name which is no profile.
    Foreign {
        /// The file.
        file: PathBuf,
    },
    /// Somebody else in this process collects spans already.
    Taken,
}

impl std::fmt::Display for ProfileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File { file, source } => write!(f, "cannot write the profile to {} ({source})", file.display()),
            Self::Foreign { file } => write!(
                f,
                "cannot write the profile to {}: it is there, and is no profile; it is not written over, choose another name",
                file.display()
            ),
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
        let cannot = |source| ProfileError::File { file: file.to_owned(), source };
        if !may_be_written_over(file).map_err(cannot)? {
            return Err(ProfileError::Foreign { file: file.to_owned() });
        }
        let failure = Failure::default();
        let out = Sink { out: File::create(file).map_err(cannot)?, failure: failure.clone() };
        let (layer, guard) = ChromeLayerBuilder::new().writer(BufWriter::new(out)).include_args(true).build();
        let registry = tracing_subscriber::registry().with(layer.with_filter(LevelFilter::INFO));
        registry.try_init().map_err(|_| ProfileError::Taken)?;
        Ok(Self { guard, file: file.to_owned(), failure })
    }

    /// Writes what is in memory and closes the file.
    ///
    /// # Errors
    /// When not everything could be written.
    pub fn finish(self) -> Result<(), ProfileError> {
        let Self { guard, file, failure } = self;
        drop(guard);
        match failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(source) => Err(ProfileError::File { file, source }),
            None => Ok(()),
        }
    }
}

/// The first error of a file that is being written.
type Failure = Arc<Mutex<Option<io::Error>>>;

/// Writes to a file until that fails, and keeps the error: whoever writes traces does not expect one.
struct Sink {
    out: File,
    failure: Failure,
}

impl Sink {
    fn keep(&self, result: io::Result<()>) {
        if let Err(error) = result {
            self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let has_failed = self.failure.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        if !has_failed {
            let written = self.out.write_all(bytes);
            self.keep(written);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        self.keep(flushed);
        Ok(())
    }
}

/// Whether there is nothing in a file, or an earlier profile.
fn may_be_written_over(file: &Path) -> io::Result<bool> {
    let mut beginning = Vec::new();
    match File::open(file) {
        Ok(file) if file.metadata()?.is_file() => {
            file.take(16).read_to_end(&mut beginning)?;
            Ok(beginning.is_empty() || beginning.starts_with(b"[\n{"))
        }
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}
