//! Lines of a file, plain or compressed, through a buffer that holds one line at least and little more.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::LogError;

/// How much is read at once.
const CHUNK: usize = 256 * 1024;

/// A longer line is a mistake. The line of an instant in which a million participants step has about 60 MiB.
pub(crate) const LONGEST_LINE: usize = 1 << 30;

/// The lines of a larger instant are a mistake: the end of instants was lost.
pub(crate) const LONGEST_INSTANT: usize = 3 << 30;

/// What zstd frames begin with (RFC 8878, 3.1.1).
pub(crate) const ZSTD_MAGIC: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();

/// What a log begins with.
pub(crate) const HEADER: &[u8] = b"{\"type\":\"header\",";

/// One line of a file.
pub(crate) struct SourceLine<'a> {
    pub(crate) file: &'a Path,
    /// Counted from 1.
    pub(crate) number: u64,
    /// Without its line feed.
    pub(crate) text: &'a [u8],
    /// Whether there was a line feed. Only the last line of a file can be without.
    pub(crate) terminated: bool,
}

/// Reads a file line by line.
pub(crate) struct LineSource {
    file: PathBuf,
    reader: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Up to here there is no line feed behind `start`.
    searched: usize,
    line: u64,
    /// Bytes of the lines that were given, with their line feeds.
    bytes: u64,
    exhausted: bool,
    compressed: bool,
    damage: Damage,
    /// Bytes were left out that cannot be of a line.
    skipped: bool,
    position: Arc<AtomicU64>,
    length: Option<u64>,
}

/// Counts what is read from a file.
struct Counted<R> {
    inner: R,
    position: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.position.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// How damage is taken: in compressed data, and lines that are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Damage {
    /// As an error.
    Refuse,
    /// What can be decompressed is given, and reading goes on with the next frame. Zeros, which no line holds, are left
    /// out with what stands before them, and so is what is too long for a line.
    Skip,
}

impl LineSource {
    /// Opens a file; `-` is the standard input.
    pub(crate) fn open(file: &Path, damage: Damage) -> Result<Self, LogError> {
        if file == Path::new("-") {
            return Self::new(file, Box::new(io::stdin()), None, damage);
        }
        let open = |source| LogError::Open { file: file.to_owned(), source };
        let handle = File::open(file).map_err(open)?;
        let metadata = handle.metadata().map_err(open)?;
        if metadata.is_dir() {
            return Err(LogError::NotALog { file: file.to_owned(), what: "it is a folder".to_owned() });
        }
        let length = metadata.is_file().then_some(metadata.len());
        // A file that grows while it is read is read as it was: whoever writes may be faster.
        let inner: Box<dyn Read + Send> = match length {
            Some(length) => Box::new(handle.take(length)),
            None => Box::new(handle),
        };
        Self::new(file, inner, length, damage)
    }

    fn new(file: &Path, inner: Box<dyn Read + Send>, length: Option<u64>, damage: Damage) -> Result<Self, LogError> {
        let position = Arc::new(AtomicU64::new(0));
        let mut reader = Counted { inner, position: position.clone() };
        let mut magic = Vec::with_capacity(ZSTD_MAGIC.len());
        (&mut reader).take(ZSTD_MAGIC.len() as u64).read_to_end(&mut magic).map_err(|source| LogError::Read {
            file: file.to_owned(),
            line: 1,
            source,
        })?;
        let compressed = magic == ZSTD_MAGIC;
        let whole = io::Cursor::new(magic).chain(reader);
        let reader: Box<dyn Read + Send> = if compressed {
            decompressed(file, BufReader::with_capacity(CHUNK, whole), damage)?
        } else {
            Box::new(whole)
        };
        Ok(Self {
            file: file.to_owned(),
            reader,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            searched: 0,
            line: 0,
            bytes: 0,
            exhausted: false,
            compressed,
            damage,
            skipped: false,
            position,
            length,
        })
    }

    /// The file.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Whether the file is compressed.
    pub(crate) fn is_compressed(&self) -> bool {
        self.compressed
    }

    /// The number of the last line that was read.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// How much text the lines had that were read, decompressed.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The file's length in bytes, where it has one.
    pub(crate) fn file_length(&self) -> Option<u64> {
        self.length
    }

    /// Whether bytes were left out that cannot be of a line. Only with [`Damage::Skip`].
    pub(crate) fn has_skipped(&self) -> bool {
        self.skipped
    }

    /// The share of the file that has been read, in [0, 1]; `None` where its length is not known.
    pub(crate) fn progress(&self) -> Option<f64> {
        let length = self.length.filter(|length| *length > 0)?;
        Some((self.position.load(Ordering::Relaxed) as f64 / length as f64).clamp(0.0, 1.0))
    }

    /// Whether the text begins with this, as far as it goes; asked before the first line is read.
    pub(crate) fn begins_with(&mut self, expected: &[u8]) -> Result<bool, LogError> {
        while self.end - self.start < expected.len() && !self.exhausted {
            self.fill()?;
        }
        let there = &self.buffer[self.start..self.end];
        let shorter = there.len().min(expected.len());
        Ok(there[..shorter] == expected[..shorter])
    }

    /// The next line, if there is one.
    pub(crate) fn next(&mut self) -> Result<Option<SourceLine<'_>>, LogError> {
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[self.searched..self.end]) {
                let text = self.start..self.searched + at;
                self.start = text.end + 1;
                self.searched = self.start;
                self.line += 1;
                self.bytes += text.len() as u64 + 1;
                return Ok(Some(SourceLine {
                    file: &self.file,
                    number: self.line,
                    text: &self.buffer[text],
                    terminated: true,
                }));
            }
            self.searched = self.end;
            if self.exhausted {
                if self.start == self.end {
                    return Ok(None);
                }
                let text = std::mem::replace(&mut self.start, self.end)..self.end;
                self.line += 1;
                return Ok(Some(SourceLine {
                    file: &self.file,
                    number: self.line,
                    text: &self.buffer[text],
                    terminated: false,
                }));
            }
            self.fill()?;
        }
    }

    /// Reads more behind what is there.
    fn fill(&mut self) -> Result<(), LogError> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.searched -= self.start;
            self.start = 0;
        }
        if self.damage == Damage::Skip {
            // Without this, the zeros that a power failure leaves at the end of a file would fill the memory.
            let zeros = memchr::memrchr(0, &self.buffer[..self.end]).map_or(0, |last| last + 1);
            let useless = if self.end > LONGEST_LINE { self.end } else { zeros };
            self.buffer.copy_within(useless..self.end, 0);
            self.end -= useless;
            self.searched = self.end;
            self.skipped |= useless > 0;
        }
        if self.end > LONGEST_LINE {
            let what = format!("the line is longer than {} MiB, which no line of a log is", LONGEST_LINE >> 20);
            return Err(LogError::Line { file: self.file.clone(), line: self.line + 1, what });
        }
        if self.buffer.len() < self.end + CHUNK {
            // Twice as much each time, so that a long line is not copied again and again.
            self.buffer.resize((self.end + CHUNK).max(self.buffer.len() * 2), 0);
        }
        loop {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.exhausted = true,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // Decompression fails in this way when its input ends too soon: the file was cut off there.
                Err(error) if self.compressed && error.kind() == io::ErrorKind::UnexpectedEof => self.exhausted = true,
                Err(source) => return Err(LogError::Read { file: self.file.clone(), line: self.line + 1, source }),
            }
            return Ok(());
        }
    }
}

#[cfg(feature = "zstd")]
fn decompressed(
    _: &Path,
    reader: impl io::BufRead + Send + 'static,
    damage: Damage,
) -> Result<Box<dyn Read + Send>, LogError> {
    Ok(Box::new(crate::frames::Frames::new(reader, damage)))
}

#[cfg(not(feature = "zstd"))]
fn decompressed(file: &Path, _: impl io::BufRead, _: Damage) -> Result<Box<dyn Read + Send>, LogError> {
    Err(LogError::Compressed { file: file.to_owned() })
}
