//! Results that are there as a whole or not at all: they are made under another name beside their place, and renamed.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::LogError;

/// A file or a folder under a name of its own, which is gone again unless it was put in its place.
#[derive(Debug)]
pub(crate) struct Temporary {
    path: PathBuf,
    place: PathBuf,
    is_folder: bool,
    kept: bool,
}

/// More names than this are not tried.
const MOST_NAMES: u32 = 1000;

impl Temporary {
    /// A new, empty file that is to take the place of `output`. Neither `input` nor what is in use is ever replaced.
    pub(crate) fn file(input: &Path, output: &Path) -> Result<Self, LogError> {
        let place = followed(output).map_err(|source| of(output, source))?;
        if let Ok(metadata) = fs::metadata(&place) {
            if !metadata.is_file() {
                let what =
                    format!("{} is not a file, and cannot be replaced by one: choose another name", output.display());
                return Err(LogError::Unfit { what });
            }
            if is_same(input, &place) {
                let what =
                    format!("{} would be written over itself: choose another name for the output", input.display());
                return Err(LogError::Unfit { what });
            }
            let handle = File::open(&place).map_err(|source| of(output, source))?;
            if matches!(handle.try_lock(), Err(fs::TryLockError::WouldBlock)) {
                return Err(LogError::InUse { file: output.to_owned(), by: "written or followed" });
            }
        }
        Self::new(output, place, false)
    }

    /// A new, empty folder that is to take the place of `output`, where nothing may be, or an empty folder.
    #[cfg(feature = "csv")]
    pub(crate) fn folder(output: &Path) -> Result<Self, LogError> {
        let place = followed(output).map_err(|source| of(output, source))?;
        match fs::read_dir(&place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(of(output, source)),
            Ok(mut entries) => {
                if entries.next().is_some() {
                    let what = format!("the folder {} is not empty: empty it, or choose another", output.display());
                    return Err(LogError::Unfit { what });
                }
            }
        }
        Self::new(output, place, true)
    }

    fn new(output: &Path, place: PathBuf, is_folder: bool) -> Result<Self, LogError> {
        let folder = place.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
        // The ending decides whether a log is compressed.
        let ending = if place.extension() == Some(OsStr::new("zst")) { "tmp.zst" } else { "tmp" };
        for number in 0..MOST_NAMES {
            let path = folder.join(format!(".chaconne-{}-{number}.{ending}", std::process::id()));
            let made = if is_folder {
                fs::create_dir(&path)
            } else {
                OpenOptions::new().write(true).create_new(true).open(&path).map(drop)
            };
            match made {
                Ok(()) => return Ok(Self { path, place, is_folder, kept: false }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(of(output, source)),
            }
        }
        Err(of(output, io::ErrorKind::AlreadyExists.into()))
    }

    /// Where it is now.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Puts it in its place.
    pub(crate) fn keep(mut self) -> Result<(), LogError> {
        self.put().map_err(|source| of(&self.place, source))
    }

    fn put(&mut self) -> io::Result<()> {
        if !self.is_folder {
            // The name must not be there before the content is.
            OpenOptions::new().write(true).open(&self.path)?.sync_all()?;
        } else if self.place.is_dir() {
            fs::remove_dir(&self.place)?;
        }
        fs::rename(&self.path, &self.place)?;
        self.kept = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        // Whoever asked for it has been told of the failure that led here.
        let _ = if self.is_folder { fs::remove_dir_all(&self.path) } else { fs::remove_file(&self.path) };
    }
}

/// The error of an output that cannot be written.
pub(crate) fn of(output: &Path, source: io::Error) -> LogError {
    LogError::Output { file: output.to_owned(), source }
}

/// Where links lead, for what exists.
fn followed(output: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(output) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::symlink_metadata(output) {
            Ok(_) => Err(io::Error::new(io::ErrorKind::NotFound, "it is a link to something that does not exist")),
            Err(_) if output.file_name().is_none() => {
                Err(io::Error::new(io::ErrorKind::InvalidInput, "it has no name"))
            }
            Err(_) => Ok(output.to_owned()),
        },
        found => found,
    }
}

/// Whether two names are of one file.
fn is_same(a: &Path, b: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        if let (Ok(a), Ok(b)) = (fs::metadata(a), fs::metadata(b)) {
            return (a.dev(), a.ino()) == (b.dev(), b.ino());
        }
    }
    matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
}
