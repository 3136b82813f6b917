//! Reading a log, line by line or instant by instant, in memory that does not grow with its length.
//!
//! ```no_run
//! use chaconne_record::{Block, InstantRecord, LogReader};
//!
//! let mut log = LogReader::open("run.jsonl")?;
//! println!("world {} with seed {}", log.header().world, log.header().seed);
//! let mut instant = InstantRecord::default();
//! loop {
//!     match log.next_block(&mut instant)? {
//!         Block::Instant => {
//!             for signal in instant.signals().filter(|signal| signal.key.ends_with("/speed")) {
//!                 println!("{} s, {}: {} m/s", instant.time, signal.path, signal.decode::<f64>()?);
//!             }
//!         }
//!         Block::Gap { gap, .. } => println!("missing: {gap}"),
//!         Block::Last { last, .. } => break println!("{} instants, world hash {}", last.ticks, last.world_hash),
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fs::File;
use std::path::Path;

use crate::error::LogError;
use crate::instant::{InstantRecord, InstantText, is_part};
use crate::line::{Gap, Header, Kind, Last, Line, VERSION};
use crate::source::{Damage, HEADER, LONGEST_INSTANT, LineSource, SourceLine};

/// Reads a log.
pub struct LogReader {
    source: LineSource,
    header: Header,
    header_text: Vec<u8>,
    /// The log's last line has been read.
    ended: bool,
    ticks: u64,
    /// Number of `observed` lines that were passed over.
    observed: u64,
    /// Held while the log is followed, so that nobody writes over it.
    _lock: Option<File>,
}

/// What comes next in a log.
#[derive(Debug)]
pub enum Block {
    /// An instant, complete; it is in the record that was given.
    Instant,
    /// Instants are missing.
    Gap {
        /// Which.
        gap: Gap,
        /// The number of the line that says so.
        line: u64,
    },
    /// The run ended or halted; nothing follows.
    Last {
        /// What the last line says.
        last: Last,
        /// Its number.
        line: u64,
    },
}

/// A line with its place in the file, not read further than its type.
#[derive(Clone, Copy, Debug)]
pub struct RawLine<'a> {
    /// Counted from 1.
    pub number: u64,
    /// Without its line feed.
    pub text: &'a [u8],
    /// What it is.
    pub kind: Kind,
}

/// A line with its place in the file.
#[derive(Debug)]
pub struct LogLine<'a> {
    /// Counted from 1.
    pub number: u64,
    /// Without its line feed.
    pub text: &'a [u8],
    /// What it says.
    pub line: Line<'a>,
}

impl LogReader {
    /// Opens a log and reads its header. `-` is the standard input. Compressed logs are known by their content.
    ///
    /// # Errors
    /// When the file cannot be read, or is no log of this version.
    pub fn open(file: impl AsRef<Path>) -> Result<Self, LogError> {
        Self::of(LineSource::open(file.as_ref(), Damage::Refuse)?)
    }

    /// As [`open`](Self::open), for a run that follows the log: while it does, no recorder writes to the file.
    ///
    /// # Errors
    /// As [`open`](Self::open), and when the file is being written.
    pub fn follow(file: impl AsRef<Path>) -> Result<Self, LogError> {
        let file = file.as_ref();
        let open = |source| LogError::Open { file: file.to_owned(), source };
        let lock = File::open(file).map_err(open)?;
        match lock.try_lock_shared() {
            // Some file systems have no locks.
            Ok(()) | Err(std::fs::TryLockError::Error(_)) => {}
            Err(std::fs::TryLockError::WouldBlock) => {
                return Err(LogError::InUse { file: file.to_owned(), by: "written" });
            }
        }
        Ok(Self { _lock: Some(lock), ..Self::open(file)? })
    }

    pub(crate) fn of(mut source: LineSource) -> Result<Self, LogError> {
        let (header, header_text) = read_header(&mut source)?;
        Ok(Self { source, header, header_text, ended: false, ticks: 0, observed: 0, _lock: None })
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The first line as it stands, without its line feed.
    pub fn header_text(&self) -> &[u8] {
        &self.header_text
    }

    /// The file.
    pub fn file(&self) -> &Path {
        self.source.file()
    }

    /// Whether the file is compressed.
    pub fn is_compressed(&self) -> bool {
        self.source.is_compressed()
    }

    /// How much text was read, in bytes, decompressed.
    pub(crate) fn bytes(&self) -> u64 {
        self.source.bytes()
    }

    /// The file's length in bytes, where it has one.
    pub(crate) fn file_length(&self) -> Option<u64> {
        self.source.file_length()
    }

    /// Number of `observed` lines that were passed over on the way from instant to instant.
    pub(crate) fn observed(&self) -> u64 {
        self.observed
    }

    /// The share of the file that has been read, in [0, 1]; `None` where its length is not known.
    pub fn progress(&self) -> Option<f64> {
        self.source.progress()
    }

    /// The number of the last line that was read.
    pub fn line_number(&self) -> u64 {
        self.source.line()
    }

    /// The next line after the header, whatever it is; `None` at the end of the file, whether or not the log ends
    /// there. A last line without line feed is left out: it was cut off.
    ///
    /// # Errors
    /// When the line cannot be read or is malformed.
    pub fn next_line(&mut self) -> Result<Option<LogLine<'_>>, LogError> {
        let Some(SourceLine { file, number, text, terminated: true }) = self.source.next()? else { return Ok(None) };
        match Line::parse(text) {
            Ok(line) => Ok(Some(LogLine { number, text, line })),
            Err(what) => Err(LogError::Line { file: file.to_owned(), line: number, what }),
        }
    }

    /// As [`next_line`](Self::next_line), without reading what the line says: for those who look at few lines of many.
    ///
    /// # Errors
    /// When the line cannot be read, or has no type.
    pub fn next_raw(&mut self) -> Result<Option<RawLine<'_>>, LogError> {
        let Some(SourceLine { file, number, text, terminated: true }) = self.source.next()? else { return Ok(None) };
        match Kind::of(text) {
            Ok(kind) => Ok(Some(RawLine { number, text, kind })),
            Err(what) => Err(LogError::Line { file: file.to_owned(), line: number, what }),
        }
    }

    /// The next instant, which is read into `instant`, or what comes instead of one.
    ///
    /// # Errors
    /// When a line cannot be read, is malformed, or stands where it must not; [`LogError::Cut`] when the file ends
    /// before the log does.
    pub fn next_block(&mut self, instant: &mut InstantRecord) -> Result<Block, LogError> {
        let block = self.next_text(&mut instant.lines)?;
        if let Block::Instant = block {
            instant.read().map_err(|(line, what)| self.fault(line, what))?;
        }
        Ok(block)
    }

    /// As [`next_block`](Self::next_block), without reading what the lines say.
    pub(crate) fn next_text(&mut self, text: &mut InstantText) -> Result<Block, LogError> {
        text.clear();
        if self.ended {
            return Err(self.fault(self.source.line(), "the log ends here, and nothing of it follows".to_owned()));
        }
        loop {
            let Some(line) = self.source.next()? else { return Err(self.cut()) };
            let (number, terminated) = (line.number, line.terminated);
            if !terminated {
                return Err(self.cut());
            }
            let kind = Kind::of(line.text);
            match kind {
                Ok(kind) if is_part(kind) => {
                    if text.text.len() > LONGEST_INSTANT {
                        let what =
                            format!("the instant has more than {} MiB of lines, which none has", LONGEST_INSTANT >> 20);
                        return Err(self.fault(number, what));
                    }
                    text.push(number, line.text);
                    if kind == Kind::Tick {
                        self.ticks += 1;
                        return Ok(Block::Instant);
                    }
                }
                _ => match Line::parse(line.text) {
                    Ok(Line::Observed(_)) => self.observed += 1,
                    Ok(Line::Gap(gap)) if gap.next <= gap.tick => {
                        let what = format!("a gap from instant {} to {}, in which there is none", gap.tick, gap.next);
                        return Err(self.fault(number, what));
                    }
                    Ok(Line::Gap(gap)) if text.lines.is_empty() => return Ok(Block::Gap { gap, line: number }),
                    Ok(Line::Last(last)) if text.lines.is_empty() => {
                        self.ended = true;
                        self.end_of_file()?;
                        return Ok(Block::Last { last, line: number });
                    }
                    Ok(Line::Gap(_) | Line::Last(_)) => {
                        let what = format!(
                            "the instant that begins in line {} has no `tick` line before this one",
                            text.lines[0].1
                        );
                        return Err(self.fault(number, what));
                    }
                    Ok(_) => return Err(self.fault(number, "a second header".to_owned())),
                    Err(what) => return Err(self.fault(number, what)),
                },
            }
        }
    }

    /// Nothing may follow the last line.
    fn end_of_file(&mut self) -> Result<(), LogError> {
        match self.source.next()? {
            None => Ok(()),
            Some(line) => {
                let number = line.number;
                Err(self.fault(number, "there is more behind the log's last line".to_owned()))
            }
        }
    }

    pub(crate) fn fault(&self, line: u64, what: String) -> LogError {
        LogError::Line { file: self.file().to_owned(), line, what }
    }

    fn cut(&self) -> LogError {
        LogError::Cut { file: self.file().to_owned(), line: self.source.line(), ticks: self.ticks }
    }
}

/// Reads the first line.
fn read_header(source: &mut LineSource) -> Result<(Header, Vec<u8>), LogError> {
    let file = source.file().to_owned();
    let not_a_log = |what: &str| LogError::NotALog { file: file.clone(), what: what.to_owned() };
    // A large file without a line feed is not read to its end to find out.
    if !source.begins_with(HEADER)? {
        return Err(not_a_log("its first line is not a header"));
    }
    let Some(line) = source.next()? else { return Err(not_a_log("it is empty")) };
    if Kind::of(line.text) != Ok(Kind::Header) {
        return Err(not_a_log("its first line is not a header"));
    }
    if !line.terminated {
        return Err(not_a_log("it was cut off inside its header, so that nothing of the run is in it"));
    }
    #[derive(serde::Deserialize)]
    struct Named {
        version: u64,
    }
    // Another version may have other fields; the version itself is always there.
    if let Ok(Named { version }) = serde_json::from_slice(line.text)
        && version != VERSION
    {
        return Err(LogError::Version { file, version });
    }
    match Line::parse(line.text) {
        Ok(Line::Header(header)) => Ok((header, line.text.to_owned())),
        Ok(_) => Err(not_a_log("its first line is not a header")),
        Err(what) => Err(LogError::Line { file, line: 1, what }),
    }
}
