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

#![cfg_attr(not(unix), allow(dead_code, unused_imports, reason = "nobody starts helpers there"))]

mod asking;
mod server;

use chaconne_sim_core::membership::{JoinRequest, LeaveRequest, NodeRequest, Request};
use chaconne_sim_core::port::StepBounds;
use chaconne_sim_core::time::SimTime;
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
        /// Which build it is, where that is known.
        build: Option<&'a str>,
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
    #[serde(borrow)]
    requests: Vec<(u32, Asked<'a>)>,
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

/// A request, without nesting: however deep one is, reading it takes no more stack.
#[derive(Debug, Serialize, Deserialize)]
enum Asked<'a> {
    Join {
        path: &'a str,
        /// The tree, each node before its children.
        #[serde(borrow)]
        nodes: Vec<Node<'a>>,
        first_due: Option<i64>,
        leaves_at: Option<i64>,
    },
    Leave {
        path: &'a str,
        time: Option<i64>,
    },
}

/// A place in a tree that is asked for: its depth, its name within its parent, and, when it is made, factory and parameters.
#[derive(Debug, Serialize, Deserialize)]
struct Node<'a>(u32, &'a str, #[serde(borrow)] Option<(&'a str, &'a str)>);

/// A group that is being put together: its name, and its children so far.
type Open<'a> = (&'a str, Vec<(String, NodeRequest)>);

/// The deepest tree that is asked for.
const MOST_DEPTH: u32 = 256;

impl<'a> Asked<'a> {
    fn of(request: &'a Request) -> Self {
        let nanos = |time: Option<SimTime>| time.map(SimTime::as_nanos);
        match request {
            Request::Join(join) => {
                let mut nodes = Vec::new();
                let mut rest = vec![(0, "", &join.node)];
                while let Some((depth, name, node)) = rest.pop() {
                    match node {
                        NodeRequest::Made { factory, params } => {
                            nodes.push(Node(depth, name, Some((&**factory, &**params))))
                        }
                        NodeRequest::Group(children) => {
                            nodes.push(Node(depth, name, None));
                            rest.extend(children.iter().rev().map(|(name, child)| (depth + 1, &**name, child)));
                        }
                    }
                }
                Self::Join {
                    path: &join.path,
                    nodes,
                    first_due: nanos(join.first_due),
                    leaves_at: nanos(join.leaves_at),
                }
            }
            Request::Leave(leave) => Self::Leave { path: &leave.path, time: nanos(leave.time) },
        }
    }

    fn request(self) -> Result<Request, WireError> {
        let time = |nanos: Option<i64>| nanos.map(SimTime::from_nanos);
        match self {
            Self::Leave { path, time: at } => {
                Ok(Request::Leave(LeaveRequest { path: path.to_owned(), time: time(at) }))
            }
            Self::Join { path, nodes, first_due, leaves_at } => {
                // Groups that are open, from the outermost on, with their names.
                let mut open: Vec<Open<'_>> = vec![("", Vec::new())];
                let close = |open: &mut Vec<Open<'_>>, depth: usize| {
                    while open.len() > depth
                        && let Some((name, children)) = open.pop()
                        && let Some((_, parent)) = open.last_mut()
                    {
                        parent.push((name.to_owned(), NodeRequest::Group(children)));
                    }
                };
                for Node(depth, name, made) in nodes {
                    if depth as usize >= open.len() || depth > MOST_DEPTH {
                        return Err(WireError::unexpected("a tree that is none"));
                    }
                    close(&mut open, depth as usize + 1);
                    match (made, open.last_mut()) {
                        (Some((factory, params)), Some((_, parent))) => {
                            let node = NodeRequest::Made { factory: factory.to_owned(), params: params.to_owned() };
                            parent.push((name.to_owned(), node));
                        }
                        _ => open.push((name, Vec::new())),
                    }
                }
                close(&mut open, 1);
                let Some((_, mut root)) = open.pop() else { return Err(WireError::unexpected("a tree that is none")) };
                match (root.pop(), root.is_empty()) {
                    (Some((_, node)), true) => Ok(Request::Join(JoinRequest {
                        path: path.to_owned(),
                        node,
                        first_due: time(first_due),
                        leaves_at: time(leaves_at),
                    })),
                    _ => Err(WireError::unexpected("a tree that is none")),
                }
            }
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(request: &Request) -> Request {
        let mut out = Vec::new();
        frame(&Asked::of(request), &mut out).unwrap();
        read::<Asked<'_>>(first_frame(&out).unwrap().unwrap()).unwrap().request().unwrap()
    }

    #[test]
    fn requests_arrive_as_they_were_made() {
        let made = |name: &str| NodeRequest::Made { factory: name.to_owned(), params: "{}".to_owned() };
        let named = |name: &str, node| (name.to_owned(), node);
        let group = |children| NodeRequest::Group(children);
        let deep = (0..200).fold(made("x"), |node, at| group(vec![named(&format!("n{at}"), node)]));
        for node in [
            made("a"),
            group(vec![]),
            group(vec![
                named("p", made("a")),
                named("g", group(vec![named("q", made("b")), named("e", group(vec![]))])),
                named("z", made("c")),
            ]),
            group(vec![named("g", group(vec![named("h", group(vec![named("q", made("b"))]))])), named("z", made("c"))]),
            deep,
        ] {
            for (first_due, leaves_at) in [(None, None), (Some(SimTime::from_nanos(-1)), Some(SimTime::MAX))] {
                let request =
                    Request::Join(JoinRequest { path: "a/b".to_owned(), node: node.clone(), first_due, leaves_at });
                assert_eq!(there_and_back(&request), request);
            }
        }
        for time in [None, Some(SimTime::from_nanos(5))] {
            let request = Request::Leave(LeaveRequest { path: "a".to_owned(), time });
            assert_eq!(there_and_back(&request), request);
        }
    }

    #[test]
    fn trees_that_are_none_are_refused() {
        for nodes in [
            vec![],
            vec![Node(1, "a", Some(("f", "{}")))],
            vec![Node(0, "", None), Node(2, "a", None)],
            vec![Node(0, "", Some(("f", "{}"))), Node(0, "", Some(("f", "{}")))],
            vec![Node(0, "", Some(("f", "{}"))), Node(1, "", Some(("f", "{}")))],
            (0..1_000_000).map(|depth| Node(depth, "a", None)).collect(),
        ] {
            let asked = Asked::Join { path: "a", nodes, first_due: None, leaves_at: None };
            assert!(matches!(asked.request(), Err(WireError::Unexpected { .. })));
        }
    }

    #[test]
    fn what_is_no_frame_and_no_message_is_said() {
        assert!(matches!(first_frame(&[0, 0, 0]), Ok(None)));
        assert!(matches!(first_frame(&[1, 0, 0, 0]), Ok(None)));
        assert!(matches!(first_frame(&[0xff; 8]), Err(WireError::TooLong { .. })));
        assert!(matches!(read::<Told<'_>>(&[0xff; 8]), Err(WireError::Malformed { .. })));
        let mut out = Vec::new();
        frame(&Told::Refused("no"), &mut out).unwrap();
        out.push(0);
        assert!(matches!(read::<Told<'_>>(&out[4..]), Err(WireError::Malformed { .. })));
    }
}
