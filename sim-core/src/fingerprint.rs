//! Fingerprints.

use std::{fmt, ops::Range, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::{
    canon::{self, CanonError},
    time::SimTime,
};

/// A 128-bit XXH3 hash, as its 16 bytes in canonical (big-endian) order.
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

    /// Cuts the frame back to its first `len` bytes, to take back what was appended last.
    #[inline]
    pub fn truncate(&mut self, len: usize) {
        self.bytes.truncate(len);
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

/// What a participant writes its state to, to have it fingerprinted. No bytes written means no state.
#[derive(Debug, Default)]
pub struct StateWriter {
    frame: Frame,
    error: Option<CanonError>,
}

impl StateWriter {
    /// An empty writer.
    pub const fn new() -> Self {
        Self { frame: Frame::new(), error: None }
    }

    /// Empties the writer and keeps its memory.
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

    /// Appends the bits of a number as they are, also those of −0.0 and NaN.
    #[inline]
    pub fn f64(&mut self, value: f64) {
        self.frame.u64(value.to_bits());
    }

    /// Appends a truth value as one byte, 0 or 1.
    #[inline]
    pub fn bool(&mut self, value: bool) {
        self.frame.u8(value.into());
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

    /// Appends the canonical JSON of a value: the number of its bytes, then the bytes. A value that has none is kept as the
    /// writer's error, which [`StateWriter::take_error`] gives to whoever asked for the state.
    #[inline]
    pub fn value<T: Serialize + ?Sized>(&mut self, value: &T) {
        if let Err(error) = self.frame.payload(value) {
            self.error.get_or_insert(error);
        }
    }

    /// The first error of [`StateWriter::value`], if there was one: the state is then incomplete and must not be used.
    pub fn take_error(&mut self) -> Option<CanonError> {
        self.error.take()
    }

    /// The hash of what was written; none when nothing was.
    #[inline]
    pub fn finish(&self) -> Option<Fingerprint> {
        (!self.frame.is_empty()).then(|| self.frame.finish())
    }
}

/// One join or leave of an instant, as [`tick_hash`] takes it in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MembershipChange<'a> {
    /// Whether the leaf joins or leaves.
    pub kind: MembershipKind,
    /// The path of the leaf.
    pub path: &'a str,
    /// Of a join the first due time, of a leave the first instant that is not stepped.
    pub time: SimTime,
}

/// The kinds of change in membership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MembershipKind {
    /// The leaf joins; hashed as byte 0.
    Join,
    /// The leaf leaves; hashed as byte 1.
    Leave,
}

/// The hash of what one stepped participant did at an instant: `H(path, next_due, n, (key, seq, payload)^n, 0 | 1 ‖ H(state))`.
pub fn contribution(
    path: &str,
    next_due: SimTime,
    signals: &[(&str, u64, &[u8])],
    state: Option<Fingerprint>,
) -> Fingerprint {
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
    frame.finish()
}

/// The hash of an instant: `H(tick, time, n, contribution^n, m, (join|leave, path, time)^m)`.
pub fn tick_hash(
    tick: u64,
    time: SimTime,
    contributions: &[Fingerprint],
    membership: &[MembershipChange<'_>],
) -> Fingerprint {
    let mut frame = Frame::new();
    frame.u64(tick);
    frame.time(time);
    frame.u64(contributions.len() as u64);
    for &contribution in contributions {
        frame.fingerprint(contribution);
    }
    frame.u64(membership.len() as u64);
    for change in membership {
        frame.u8(match change.kind {
            MembershipKind::Join => 0,
            MembershipKind::Leave => 1,
        });
        frame.str(change.path);
        frame.time(change.time);
    }
    frame.finish()
}

/// The hash that a world starts with: `H("chaconne/1", world, seed)`.
pub fn world_start(world: &str, seed: u64) -> Fingerprint {
    let mut frame = Frame::new();
    frame.str("chaconne/1");
    frame.str(world);
    frame.u64(seed);
    frame.finish()
}

/// The hash of a world after one more instant: `H(previous, tick_hash)`.
pub fn world_next(previous: Fingerprint, tick_hash: Fingerprint) -> Fingerprint {
    let mut frame = Frame::new();
    frame.fingerprint(previous);
    frame.fingerprint(tick_hash);
    frame.finish()
}
