//! Bytes to be hashed.

use std::ops::Range;

use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

use super::Fingerprint;
use crate::{
    canon::{self, CanonError},
    time::SimTime,
};

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

    /// Appends bytes as they are, without their number: for what is framed already.
    #[inline]
    pub fn raw(&mut self, bytes: &[u8]) {
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
