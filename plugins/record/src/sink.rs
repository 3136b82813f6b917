//! Where a log is written to: a file, plain or compressed.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::error::LogError;
use crate::source::{Damage, HEADER, LineSource};

/// Takes whole lines.
pub(crate) trait Sink: Send {
    /// Takes the lines of one instant, or of the beginning or end of a log. After an error the file ends with whole
    /// lines, as far as that can be had, and more may be tried.
    fn write(&mut self, lines: &[u8]) -> io::Result<()>;

    /// Sees to it that all that was taken is in the file.
    fn finish(&mut self) -> io::Result<()>;
}

/// A file that is going to be written. What it holds is not touched yet.
pub(crate) struct Opened {
    file: File,
    path: PathBuf,
    compressed: bool,
    /// It holds an older log.
    pub(crate) has_content: bool,
}

/// Opens a log for writing. A file whose name ends in `.zst` is compressed.
///
/// # Errors
/// When it cannot be written, is in use, or holds something else than a log.
pub(crate) fn open(file: &Path) -> Result<Opened, LogError> {
    let open = |source| LogError::Open { file: file.to_owned(), source };
    let create = |source| LogError::Create { file: file.to_owned(), source };
    let compressed = file.extension().is_some_and(|extension| extension == "zst");
    if compressed && !cfg!(feature = "zstd") {
        return Err(LogError::Compressed { file: file.to_owned() });
    }
    // Nothing of an older log is lost before it is known that nobody else uses it.
    let handle = OpenOptions::new().write(true).create(true).truncate(false).open(file).map_err(create)?;
    // Before it is locked: a lock may keep everybody from reading, and this is read by another handle.
    let metadata = handle.metadata().map_err(open)?;
    let has_content = metadata.is_file() && metadata.len() > 0;
    if has_content && !LineSource::open(file, Damage::Skip)?.begins_with(HEADER).unwrap_or(false) {
        return Err(LogError::NotReplaced { file: file.to_owned() });
    }
    match handle.try_lock() {
        // Some files (a pipe, say) and file systems have no locks.
        Ok(()) | Err(TryLockError::Error(_)) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(LogError::InUse { file: file.to_owned(), by: "written or followed" });
        }
    }
    Ok(Opened { file: handle, path: file.to_owned(), compressed, has_content })
}

/// Opens a log for writing, from its beginning.
pub(crate) fn create(file: &Path) -> Result<Box<dyn Sink>, LogError> {
    open(file)?.begin()
}

impl Opened {
    /// Empties the file.
    pub(crate) fn begin(self) -> Result<Box<dyn Sink>, LogError> {
        let Self { file, path, compressed, .. } = self;
        let open = |source| LogError::Open { file: path.clone(), source };
        let plain = Plain::new(file).map_err(open)?;
        #[cfg(feature = "zstd")]
        if compressed {
            return Ok(Box::new(crate::compress::Compressed::new(plain).map_err(open)?));
        }
        // Without the feature nothing compressed was opened.
        debug_assert!(!compressed, "{}", path.display());
        Ok(Box::new(plain))
    }
}

/// A plain file: one write per call.
pub(crate) struct Plain {
    file: File,
    /// The file's length, for a file that has one: how far its content is whole.
    length: Option<u64>,
}

impl Plain {
    fn new(file: File) -> io::Result<Self> {
        let length = file.metadata()?.is_file().then_some(0);
        if length.is_some() {
            file.set_len(0)?;
        }
        Ok(Self { file, length })
    }
}

impl Sink for Plain {
    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        match self.file.write_all(lines) {
            Ok(()) => {
                if let Some(length) = &mut self.length {
                    *length += lines.len() as u64;
                }
                Ok(())
            }
            Err(error) => {
                // A part may have been written: the disk was full in the middle. It is taken back.
                if let Some(length) = self.length {
                    self.file.set_len(length)?;
                    io::Seek::seek(&mut self.file, io::SeekFrom::Start(length))?;
                }
                Err(error)
            }
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
