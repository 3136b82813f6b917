//! The hashes of a run, written down plainly: what tests and checkers of logs compare with.

use super::{Fingerprint, Frame};
use crate::time::SimTime;

/// One join or leave of an instant, as [`tick_hash`] takes it in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MembershipChange<'a> {
    /// Whether the leaf joins or leaves.
    pub kind: MembershipKind,
    /// The path of the leaf.
    pub path: &'a str,
    /// Of a join the first due time, of a leave the first instant that is not stepped.
    pub time: SimTime,
}

/// The kinds of change in membership.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MembershipKind {
    /// The leaf joins; byte 0.
    Join,
    /// The leaf leaves; byte 1.
    Leave,
}

impl MembershipKind {
    /// The byte that stands for this kind in [`tick_hash`].
    #[inline]
    pub const fn as_byte(self) -> u8 {
        match self {
            Self::Join => 0,
            Self::Leave => 1,
        }
    }
}

/// The hash of what one participant did when it was stepped, from its `(key, sequence number, payload)` and the
/// [hash of its state](super::StateWriter::finish); see the [layout](super#layout).
pub fn contribution(
    path: &str,
    next_due: SimTime,
    signals: &[(&str, u64, &[u8])],
    state: Option<Fingerprint>,
) -> Fingerprint {
    contribution_frame(path, next_due, signals, state).finish()
}

pub(super) fn contribution_frame(
    path: &str,
    next_due: SimTime,
    signals: &[(&str, u64, &[u8])],
    state: Option<Fingerprint>,
) -> Frame {
    let mut frame = Frame::new();
    frame.str(path);
    frame.time(next_due);
    frame.u64(signals.len() as u64);
    for &(key, seq, payload) in signals {
        frame.str(key);
        frame.u64(seq);
        frame.bytes(payload);
    }
    match state {
        None => frame.u8(0),
        Some(state) => {
            frame.u8(1);
            frame.fingerprint(state);
        }
    }
    frame
}

/// The hash of an instant, from the contributions in the world's order and the changes in membership in the order in which
/// they were applied; see the [layout](super#layout).
pub fn tick_hash(
    tick: u64,
    time: SimTime,
    contributions: &[Fingerprint],
    membership: &[MembershipChange<'_>],
) -> Fingerprint {
    tick_frame(tick, time, contributions, membership).finish()
}

pub(super) fn tick_frame(
    tick: u64,
    time: SimTime,
    contributions: &[Fingerprint],
    membership: &[MembershipChange<'_>],
) -> Frame {
    let mut frame = Frame::new();
    frame.u64(tick);
    frame.time(time);
    frame.u64(contributions.len() as u64);
    for &contribution in contributions {
        frame.fingerprint(contribution);
    }
    frame.u64(membership.len() as u64);
    for change in membership {
        frame.u8(change.kind.as_byte());
        frame.str(change.path);
        frame.time(change.time);
    }
    frame
}

/// The hash that a world starts with; see the [layout](super#layout).
pub fn world_start(world: &str, seed: u64) -> Fingerprint {
    let mut frame = Frame::new();
    frame.str("chaconne/1");
    frame.str(world);
    frame.u64(seed);
    frame.finish()
}

/// The hash of a world after one more instant; see the [layout](super#layout).
pub fn world_next(previous: Fingerprint, tick_hash: Fingerprint) -> Fingerprint {
    let mut bytes = [0; 32];
    bytes[..16].copy_from_slice(previous.as_bytes());
    bytes[16..].copy_from_slice(tick_hash.as_bytes());
    Fingerprint::of(&bytes)
}
