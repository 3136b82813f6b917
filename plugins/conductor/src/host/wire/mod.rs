//! What a conductor and a helper process tell each other, over any stream of bytes.
//!
//! A *frame* is the number of its bytes (four, little-endian) and one message in [postcard](https://docs.rs/postcard)'s
//! format. Both sides begin with a greeting that names the protocol and its version; after it the conductor asks and
//! the helper answers in the same order:
//!
//! | conductor | helper |
//! |---|---|
//! | `Hello`: the run, and what factories need to know | `Hello` |
//! | `Make`: an actor, by the names of factories | `Made`: its parts and their subscriptions, or `Refused` |
//! | `Seat`: what was made joins, with these numbers; `Discard`: it does not | |
//! | `Step`: one actor at one instant, with its inbox | `Stepped`: what it did |
//! | `Remove`: an actor leaves | `Removed` |
//!
//! Several `Step` may be on their way at once. Values travel as their canonical text. The helper tells what a step did, not
//! its contribution to the hash: that is computed here from what arrived, so the hash of a run is that of what its log holds.
//!
//! Frames are bounded by [`MOST_BYTES`], and whatever does not read as a message is an error that says so: a helper is not
//! trusted to be one.

mod asking;
mod server;

use chaconne_sim_core::membership::{NodeRequest, Request};
use chaconne_sim_core::port::StepBounds;
use serde::{Deserialize, Serialize};

pub use server::{OpenSetting, Server};

pub(super) use asking::{Asking, Described};

/// The version of the protocol. Both sides must have the same.
pub const VERSION: u32 = 1;

/// The most bytes of a frame, without its length.
pub const MOST_BYTES: usize = 128 << 20;

/// What a greeting begins with.
const NAME: &str = "chaconne host";

/// What a conductor says.
#[derive(Debug, Serialize, Deserialize)]
enum Ask<'a> {
    Hello {
        name: &'a str,
        version: u32,
        world: &'a str,
        seed: u64,
        typed: bool,
        /// The most bytes of memory that the process may take.
        memory: Option<u64>,
        /// What factories need to know of the run, in their own words.
        setting: &'a str,
    },
    Make {
        path: &'a str,
        node: NodeRequest,
    },
    Seat {
        first: u32,
        bounds: StepBounds,
    },
    Discard,
    #[serde(borrow)]
    Step(Step<'a>),
    Remove {
        first: u32,
    },
}

/// One actor, to be stepped.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Step<'a> {
    now: i64,
    /// The number of its first leaf, due or not.
    first: u32,
    timed: bool,
    /// Outputs of others that are told for the first time.
    #[serde(borrow)]
    outputs: Vec<Output<'a>>,
    #[serde(borrow)]
    leaves: Vec<Leaf<'a>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Output<'a> {
    number: u32,
    key: &'a str,
    publisher: &'a str,
}

#[derive(Debug, Serialize, Deserialize)]
struct Leaf<'a> {
    position: u32,
    last_step: i64,
    seq: u64,
    #[serde(borrow)]
    inbox: Vec<Item<'a>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Item<'a> {
    leaf: u32,
    index: u32,
    /// Bit 0: in the inbox; bit 1: as the latest value.
    reach: u8,
    time: i64,
    seq: u64,
    /// The text of a signal; none when its publisher left.
    #[serde(borrow)]
    text: Option<&'a [u8]>,
}

/// What a helper says.
#[derive(Debug, Serialize, Deserialize)]
enum Told<'a> {
    Hello {
        name: &'a str,
        version: u32,
    },
    Made {
        /// Paths of groups within the actor.
        #[serde(borrow)]
        groups: Vec<&'a str>,
        #[serde(borrow)]
        leaves: Vec<MadeLeaf<'a>>,
    },
    Refused(&'a str),
    #[serde(borrow)]
    Stepped(Stepped<'a>),
    /// With what letting go of it panicked, if it did.
    Removed(Option<&'a str>),
}

#[derive(Debug, Serialize, Deserialize)]
struct MadeLeaf<'a> {
    path: &'a str,
    /// Key expressions, and whether the latest value is asked for.
    #[serde(borrow)]
    subscriptions: Vec<(&'a str, bool)>,
}

/// What an actor did.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Stepped<'a> {
    #[serde(borrow)]
    leaves: Vec<SteppedLeaf<'a>>,
    /// Keys used for the first time: place of the leaf among those that were due, and key.
    #[serde(borrow)]
    declared: Vec<(u32, &'a str)>,
    /// What was asked for: place of the leaf, and request.
    requests: Vec<(u32, Request)>,
    /// The step that failed, after which nothing was stepped: place of the leaf, and why.
    #[serde(borrow)]
    failure: Option<(u32, Failure<'a>)>,
    /// How long all of it took, in nanoseconds.
    took: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct SteppedLeaf<'a> {
    next_due: i64,
    state: Option<[u8; 16]>,
    /// Which of its keys, and the text.
    #[serde(borrow)]
    signals: Vec<(u32, &'a [u8])>,
    /// How long the step took, in nanoseconds.
    took: Option<u64>,
}

/// Why a step failed.
#[derive(Debug, Serialize, Deserialize)]
enum Failure<'a> {
    Error(&'a str),
    Panic(&'a str),
    NotAdvancing(i64),
}

/// What is wrong with what the other side said.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// A frame is longer than frames may be.
    #[error("a message of {bytes} bytes; the most is {MOST_BYTES}")]
    TooLong {
        /// Its bytes.
        bytes: usize,
    },
    /// A frame is no message.
    #[error("what is no message of the protocol ({what})")]
    Malformed {
        /// What is wrong with it.
        what: String,
    },
    /// The greeting is another protocol's, or another version's.
    #[error(
        "another protocol or version (`{name}`, version {version}; here it is `{NAME}`, version {VERSION}); use one build of both programs"
    )]
    Version {
        /// The name that was said.
        name: String,
        /// The version that was said.
        version: u32,
    },
    /// A message came that answers nothing, or asks for what is not there.
    #[error("a message that does not belong there: {what}")]
    Unexpected {
        /// What.
        what: String,
    },
}

impl WireError {
    fn malformed(what: impl ToString) -> Self {
        Self::Malformed { what: what.to_string() }
    }

    fn unexpected(what: impl Into<String>) -> Self {
        Self::Unexpected { what: what.into() }
    }
}

/// Appends a message as a frame.
fn frame(message: &impl Serialize, out: &mut Vec<u8>) -> Result<(), WireError> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    let mut bytes = postcard::to_extend(message, std::mem::take(out)).map_err(WireError::malformed)?;
    let length = bytes.len() - start - 4;
    if length > MOST_BYTES {
        bytes.truncate(start);
        *out = bytes;
        return Err(WireError::TooLong { bytes: length });
    }
    bytes[start..start + 4].copy_from_slice(&(length as u32).to_le_bytes());
    *out = bytes;
    Ok(())
}

/// Where the first frame in a buffer ends, without its length in front; none when it is not complete.
///
/// # Errors
/// When it is longer than frames may be.
pub fn first_frame(buffer: &[u8]) -> Result<Option<&[u8]>, WireError> {
    let Some((length, rest)) = buffer.split_first_chunk() else { return Ok(None) };
    let bytes = u32::from_le_bytes(*length) as usize;
    if bytes > MOST_BYTES {
        return Err(WireError::TooLong { bytes });
    }
    Ok(rest.get(..bytes))
}

/// Reads a message; nothing may be behind it.
fn read<'a, T: Deserialize<'a>>(frame: &'a [u8]) -> Result<T, WireError> {
    match postcard::take_from_bytes(frame) {
        Ok((message, [])) => Ok(message),
        Ok((_, rest)) => Err(WireError::malformed(format!("{} bytes too many", rest.len()))),
        Err(error) => Err(WireError::malformed(error)),
    }
}
