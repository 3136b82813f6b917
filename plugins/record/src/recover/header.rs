//! The header of a damaged log: what it says, or what can still be read from it.

use chaconne_sim_core::path::is_segment;
use serde_json::json;

use super::pieces::pieces;
use super::without_returns;
use crate::error::LogError;
use crate::line::{Header, Kind, Line, VERSION};
use crate::source::LineSource;

/// So many lines without any text may stand before the header.
const MOST_BLANK: u64 = 16;

/// How a log begins.
pub(super) struct Start {
    pub(super) header: Header,
    /// The header's line, if it is as it was.
    pub(super) text: Option<Vec<u8>>,
    /// Whether the world and the seed stand in a well-formed header.
    pub(super) is_proven: bool,
    /// What stood behind the header in its line.
    pub(super) rest: Vec<Vec<u8>>,
    /// Number of lines that were read.
    pub(super) lines: u64,
    /// Something is not as it was.
    pub(super) is_touched: bool,
}

/// Reads the header.
pub(super) fn find(source: &mut LineSource) -> Result<Start, LogError> {
    let file = source.file().to_owned();
    let not_a_log = |what: &str| LogError::NotALog { file: file.clone(), what: what.to_owned() };
    for lines in 1..=MOST_BLANK {
        let Some(line) = source.next()? else {
            return Err(not_a_log(if lines == 1 { "it is empty" } else { "there is no header in it" }));
        };
        if line.text.iter().all(|byte| *byte == 0 || byte.is_ascii_whitespace()) {
            continue;
        }
        let text = without_returns(line.text);
        let is_touched = lines > 1 || text.len() != line.text.len() || !line.terminated;
        if let Some(version) = other_version(text) {
            return Err(LogError::Version { file, version });
        }
        return match read(text) {
            Some(start) => Ok(Start { lines, is_touched: start.is_touched || is_touched, ..start }),
            None if Kind::of(text) == Ok(Kind::Header) => {
                let what = "the header is damaged: the world's name and the seed cannot be read from it, and without them \
                            no hash can be checked; put the header of a log of the same world and seed in front of the \
                            file, and recover again";
                Err(LogError::Line { file, line: lines, what: what.to_owned() })
            }
            None => Err(not_a_log("its first line is not a header, and world and seed cannot be read from it")),
        };
    }
    Err(not_a_log("there is no header in it"))
}

/// The version, if it is a header of another one.
fn other_version(text: &[u8]) -> Option<u64> {
    #[derive(serde::Deserialize)]
    struct Named {
        version: u64,
    }
    let Named { version } = (Kind::of(text) == Ok(Kind::Header)).then(|| serde_json::from_slice(text).ok())??;
    (version != VERSION).then_some(version)
}

fn read(text: &[u8]) -> Option<Start> {
    let start = |header| Start { header, text: None, is_proven: true, rest: Vec::new(), lines: 0, is_touched: false };
    if let Ok(Line::Header(header)) = Line::parse(text) {
        return Some(Start { text: Some(text.to_vec()), ..start(header) });
    }
    let found = pieces(text);
    let header = found.iter().enumerate().find_map(|(at, piece)| match Line::parse(piece) {
        Ok(Line::Header(header)) => Some((at, header)),
        _ => None,
    });
    if let Some((at, header)) = header {
        let rest = found[at + 1..].iter().map(|piece| piece.to_vec()).collect();
        return Some(Start { text: Some(found[at].to_vec()), rest, is_touched: true, ..start(header) });
    }
    Some(Start { is_proven: false, is_touched: true, ..start(remains(text)?) })
}

/// World and seed of a header that is no JSON any more.
fn remains(text: &[u8]) -> Option<Header> {
    let behind = |text: &'_ [u8], mark: &[u8]| memchr::memmem::find(text, mark).map(|at| at + mark.len());
    let text = &text[behind(text, b"\"world\":\"")?..];
    let length = memchr::memchr(b'"', text)?;
    let world = std::str::from_utf8(&text[..length]).ok().filter(|world| is_segment(world))?;
    let text = text[length..].strip_prefix(b"\",\"seed\":")?;
    let length = memchr::memchr(b',', text)?;
    let seed = std::str::from_utf8(&text[..length]).ok()?.parse().ok()?;
    let provenance = behind(text, b"\"provenance\":").map(|at| String::from_utf8_lossy(&text[at..]));
    Some(Header { world: world.to_owned(), seed, provenance: json!({ "damaged": provenance }) })
}
