//! Fingerprints: what two runs compare, and the bytes that they are made of.
//!
//! A [`Fingerprint`] is an XXH3-128 hash. What is hashed is specified to the byte, so that any program in any language can
//! compute every hash of a run again from its log alone.
//!
//! # Layout
//!
//! | field | bytes |
//! |---|---|
//! | length, count, tick, sequence number, seed | 8, unsigned, little-endian |
//! | time | 8, nanoseconds, signed (two's complement), little-endian |
//! | text, payload | its length in bytes, then the bytes (UTF-8) |
//! | hash | 16, in canonical (big-endian) order: as its hexadecimal form reads |
//! | kind or flag | 1 |
//!
//! Fields follow each other without padding. `‖` joins, and `x^n` repeats a group n times:
//!
//! ```text
//! contribution = H(path ‖ next due time ‖ n ‖ (key ‖ seq ‖ payload)^n ‖ state)       one per participant stepped
//!        state = 0, a byte, without state; 1, a byte, ‖ H(state bytes) with it
//! tick_hash    = H(tick ‖ time ‖ n ‖ contribution^n ‖ m ‖ (kind ‖ path ‖ time)^m)     kind: 0 join, 1 leave
//! world_hash   = H(previous world_hash ‖ tick_hash)                                   one per instant
//!                starts as H("chaconne/1" ‖ world ‖ seed)
//! ```
//!
//! Contributions stand in the world's order. Joins and leaves name leaves, in the order in which they were applied; the time
//! of a join is its first due time, that of a leave the first instant not stepped.
//!
//! # Test vectors
//!
//! In hexadecimal. `H` of no bytes is `99aa06d3014798d86001c324468d497f`, of the three bytes `abc` it is
//! `06b05ab6733a618578af5f94892f3950`.
//!
//! Participant `ego`, due next at 0.1 s, published `1.5` under `chaconne/w/actor/ego/speed` as its signal number 7; no state:
//!
//! ```text
//! 0300000000000000 65676f                      path
//! 00e1f50500000000                             next due time
//! 0100000000000000                             number of signals
//! 1a00000000000000 636861636f6e6e652f772f6163746f722f65676f2f7370656564    key
//! 0700000000000000                             sequence number
//! 0300000000000000 312e35                      payload
//! 00                                           no state
//! H = 9c2b87dd73aff9fb8e04cd37af63cca3
//! ```
//!
//! Participant `lead`, never due again, published nothing; its state is the number 3, with
//! H(`0300000000000000`) = `bb6f4149b62a32b6e619cdeae4a4a0f4`:
//!
//! ```text
//! 0400000000000000 6c656164                    path
//! ffffffffffffff7f                             next due time
//! 0000000000000000                             number of signals
//! 01 bb6f4149b62a32b6e619cdeae4a4a0f4          state
//! H = d97f28c9823510840b2f00722c110408
//! ```
//!
//! Tick 4 at 0.05 s with these two; then `walker` joins, first due at 0.06 s, and `lead` leaves, not stepped from
//! 0.050000001 s on:
//!
//! ```text
//! 0400000000000000 80f0fa0200000000            tick, time
//! 0200000000000000                             number of contributions
//! 9c2b87dd73aff9fb8e04cd37af63cca3 d97f28c9823510840b2f00722c110408
//! 0200000000000000                             number of changes in membership
//! 00 0600000000000000 77616c6b6572 0087930300000000
//! 01 0400000000000000 6c656164 81f0fa0200000000
//! H = 2b031612b79719845231837ab21fd9a9
//! ```
//!
//! World `w` with seed 42 starts at H(`0a00000000000000 636861636f6e6e652f31 0100000000000000 77 2a00000000000000`) =
//! `10c9410a2db8254708c459bcc9ce1e15`. If this tick came first, the world's hash after it would be
//! `d797f231dc5427757a0881649c257cbe`.
//!
//! ```
//! use chaconne_sim_core::{fingerprint::{contribution, tick_hash, world_next, world_start}, time::SimTime};
//!
//! let speed: (&str, u64, &[u8]) = ("chaconne/w/actor/ego/speed", 7, b"1.5");
//! let ego = contribution("ego", SimTime::from_millis(100), &[speed], None);
//! assert_eq!(ego.to_string(), "9c2b87dd73aff9fb8e04cd37af63cca3");
//!
//! let tick = tick_hash(0, SimTime::ZERO, &[ego], &[]);
//! let world = world_next(world_start("w", 42), tick);
//! # let _ = world;
//! ```

use std::{fmt, ops::Range, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::{
    canon::{self, CanonError},
    time::SimTime,
};

/// A 128-bit XXH3 hash (Collet, xxHash 0.8), as its 16 bytes in canonical (big-endian) order.
///
/// Its text is 32 lower-case hexadecimal digits. The hash finds differences; it does not resist forgery.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; 16]);

/// Why a text is not a fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a fingerprint: write 32 lower-case hexadecimal digits")]
pub struct FingerprintError {
    /// The text that was read.
    pub text: String,
}

impl Fingerprint {
    /// The hash of some bytes.
    #[inline]
    pub fn of(bytes: &[u8]) -> Self {
        Self(xxh3_128(bytes).to_be_bytes())
    }

    /// From 16 bytes in canonical (big-endian) order.
    #[inline]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The 16 bytes in canonical (big-endian) order.
    #[inline]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    fn hex(&self) -> [u8; 32] {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut hex = [0; 32];
        for (pair, byte) in hex.chunks_exact_mut(2).zip(self.0) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        hex
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Hexadecimal digits are UTF-8, so that the default is never taken.
        f.pad(std::str::from_utf8(&self.hex()).unwrap_or_default())
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

impl FromStr for Fingerprint {
    type Err = FingerprintError;

    fn from_str(text: &str) -> Result<Self, FingerprintError> {
        let refuse = || FingerprintError { text: text.to_owned() };
        let digits = text.as_bytes();
        if digits.len() != 32 {
            return Err(refuse());
        }
        let mut bytes = [0; 16];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            for &digit in pair {
                let value = match digit {
                    b'0'..=b'9' => digit - b'0',
                    b'a'..=b'f' => digit - b'a' + 10,
                    _ => return Err(refuse()),
                };
                *byte = *byte << 4 | value;
            }
        }
        Ok(Self(bytes))
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(std::str::from_utf8(&self.hex()).unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Fingerprint;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a fingerprint as a string of 32 hexadecimal digits")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Fingerprint, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

/// Bytes to be hashed, put together from fields that leave no doubt where one ends and the next begins.
///
/// A frame is made once and cleared for each use, so that it allocates only while it grows.
///
/// ```
/// use chaconne_sim_core::fingerprint::Frame;
///
/// let mut frame = Frame::new();
/// let count = frame.reserve_u64();
/// let text = frame.payload(&[1.5, 2.0])?;
/// frame.patch_u64(count, 1);
/// assert_eq!(&frame.as_slice()[text], b"[1.5,2]");
/// println!("{}", frame.finish());
/// # Ok::<(), chaconne_sim_core::CanonError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    bytes: Vec<u8>,
}

impl Frame {
    /// An empty frame.
    #[inline]
    pub const fn new() -> Self {
        Self { bytes: Vec::new() }
    }

    /// Empties the frame and keeps its memory.
    #[inline]
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Whether nothing has been appended.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The number of bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Appends one byte.
    #[inline]
    pub fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// Appends eight bytes, little-endian.
    #[inline]
    pub fn u64(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// Appends eight bytes, little-endian, in two's complement.
    #[inline]
    pub fn i64(&mut self, value: i64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// Appends a time as its nanoseconds.
    #[inline]
    pub fn time(&mut self, time: SimTime) {
        self.i64(time.as_nanos());
    }

    /// Appends a text: the number of its bytes, then the bytes.
    #[inline]
    pub fn str(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// Appends bytes: their number, then the bytes.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.u64(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends the 16 bytes of a hash in canonical (big-endian) order.
    #[inline]
    pub fn fingerprint(&mut self, fingerprint: Fingerprint) {
        self.bytes.extend_from_slice(fingerprint.as_bytes());
    }

    /// Appends the canonical JSON of a value as [`Frame::bytes`] would, and says where its text lies in the frame. After an
    /// error the frame is as it was.
    ///
    /// # Errors
    /// A [`CanonError`] when the value has no canonical text.
    #[inline]
    pub fn payload<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<Range<usize>, CanonError> {
        let at = self.reserve_u64();
        if let Err(error) = canon::to_writer(&mut self.bytes, value) {
            self.bytes.truncate(at);
            return Err(error);
        }
        let text = at + 8..self.bytes.len();
        self.patch_u64(at, text.len() as u64);
        Ok(text)
    }

    /// Appends eight bytes to be patched later, and says where they are: for a count that comes before what it counts.
    #[inline]
    pub fn reserve_u64(&mut self) -> usize {
        let at = self.bytes.len();
        self.u64(0);
        at
    }

    /// Writes a value over the eight bytes at `at`, which came from [`Frame::reserve_u64`] since the last [`Frame::clear`].
    ///
    /// # Panics
    /// When the frame has no eight bytes there.
    #[inline]
    pub fn patch_u64(&mut self, at: usize, value: u64) {
        self.bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }

    /// The bytes so far.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes
    }

    /// The 128-bit hash of the bytes so far.
    #[inline]
    pub fn finish(&self) -> Fingerprint {
        Fingerprint::of(&self.bytes)
    }

    /// The 64-bit hash (XXH3-64) of the bytes so far: what keys of random streams are made of.
    #[inline]
    pub fn finish64(&self) -> u64 {
        xxh3_64(&self.bytes)
    }
}

/// What a participant writes its state to, to have it fingerprinted.
///
/// No bytes written means no state. Numbers take eight bytes, little-endian; texts, byte strings and values are
/// length-prefixed. The order of the calls is part of the state's meaning and has to stay the same for the whole run.
///
/// ```
/// use chaconne_sim_core::fingerprint::StateWriter;
///
/// let mut state = StateWriter::new();
/// assert_eq!(state.finish(), None);
/// state.u64(3);
/// assert_eq!(state.finish().unwrap().to_string(), "bb6f4149b62a32b6e619cdeae4a4a0f4");
/// ```
#[derive(Debug, Default)]
pub struct StateWriter {
    frame: Frame,
    error: Option<CanonError>,
}

impl StateWriter {
    /// An empty writer.
    #[inline]
    pub const fn new() -> Self {
        Self { frame: Frame::new(), error: None }
    }

    /// Empties the writer, forgets its error and keeps its memory.
    #[inline]
    pub fn clear(&mut self) {
        self.frame.clear();
        self.error = None;
    }

    /// Appends an unsigned integer.
    #[inline]
    pub fn u64(&mut self, value: u64) {
        self.frame.u64(value);
    }

    /// Appends a signed integer.
    #[inline]
    pub fn i64(&mut self, value: i64) {
        self.frame.i64(value);
    }

    /// Appends the bits of a number as they are, also those of −0.0, infinities and NaN.
    #[inline]
    pub fn f64(&mut self, value: f64) {
        self.frame.u64(value.to_bits());
    }

    /// Appends a truth value as one byte, 0 or 1.
    #[inline]
    pub fn bool(&mut self, value: bool) {
        self.frame.u8(value.into());
    }

    /// Appends a time as its nanoseconds.
    #[inline]
    pub fn time(&mut self, time: SimTime) {
        self.frame.time(time);
    }

    /// Appends a text: the number of its bytes, then the bytes.
    #[inline]
    pub fn str(&mut self, text: &str) {
        self.frame.str(text);
    }

    /// Appends bytes: their number, then the bytes.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.frame.bytes(bytes);
    }

    /// Appends the canonical JSON of a value: the number of its bytes, then the bytes.
    ///
    /// A value without canonical text appends nothing and becomes the writer's error, which [`StateWriter::take_error`]
    /// gives to whoever asked for the state.
    #[inline]
    pub fn value<T: Serialize + ?Sized>(&mut self, value: &T) {
        if let Err(error) = self.frame.payload(value) {
            self.error.get_or_insert(error);
        }
    }

    /// The first error of [`StateWriter::value`], if there was one: the state is then incomplete, and its hash means nothing.
    #[inline]
    pub fn take_error(&mut self) -> Option<CanonError> {
        self.error.take()
    }

    /// The bytes so far.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        self.frame.as_slice()
    }

    /// The hash of what was written; none when nothing was.
    #[inline]
    pub fn finish(&self) -> Option<Fingerprint> {
        (!self.frame.is_empty()).then(|| self.frame.finish())
    }
}

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
/// [hash of its state](StateWriter::finish); see the [layout](self#layout).
pub fn contribution(
    path: &str,
    next_due: SimTime,
    signals: &[(&str, u64, &[u8])],
    state: Option<Fingerprint>,
) -> Fingerprint {
    contribution_frame(path, next_due, signals, state).finish()
}

fn contribution_frame(
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
/// they were applied; see the [layout](self#layout).
pub fn tick_hash(
    tick: u64,
    time: SimTime,
    contributions: &[Fingerprint],
    membership: &[MembershipChange<'_>],
) -> Fingerprint {
    tick_frame(tick, time, contributions, membership).finish()
}

fn tick_frame(tick: u64, time: SimTime, contributions: &[Fingerprint], membership: &[MembershipChange<'_>]) -> Frame {
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

/// The hash that a world starts with; see the [layout](self#layout).
pub fn world_start(world: &str, seed: u64) -> Fingerprint {
    let mut frame = Frame::new();
    frame.str("chaconne/1");
    frame.str(world);
    frame.u64(seed);
    frame.finish()
}

/// The hash of a world after one more instant; see the [layout](self#layout).
pub fn world_next(previous: Fingerprint, tick_hash: Fingerprint) -> Fingerprint {
    let mut bytes = [0; 32];
    bytes[..16].copy_from_slice(previous.as_bytes());
    bytes[16..].copy_from_slice(tick_hash.as_bytes());
    Fingerprint::of(&bytes)
}

#[cfg(test)]
mod tests;
