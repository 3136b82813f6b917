//! The bytes that are hashed.

/// A reusable buffer of framed values: lengths, counts and sequence numbers are `u64`, times `i64`, all little-endian;
/// texts and payloads follow their length; a hash is its 16 bytes, most significant first.
///
/// Times here are never negative, so they are written as counts: the bytes are the same.
#[derive(Default)]
pub(super) struct Frame(Vec<u8>);

impl Frame {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn count(&mut self, count: u64) {
        self.0.extend_from_slice(&count.to_le_bytes());
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// One text, given as its two parts.
    pub(super) fn text_of_two(&mut self, first: &str, second: &str) {
        self.count((first.len() + second.len()) as u64);
        self.0.extend_from_slice(first.as_bytes());
        self.0.extend_from_slice(second.as_bytes());
    }

    pub(super) fn hash(&mut self, hash: u128) {
        self.0.extend_from_slice(&hash.to_be_bytes());
    }

    /// Leaves room for a count that is not known yet, and says where.
    pub(super) fn reserve_count(&mut self) -> usize {
        let at = self.0.len();
        self.count(0);
        at
    }

    /// Fills the room left at `at`.
    pub(super) fn fill_count(&mut self, at: usize, count: u64) {
        self.0[at..at + 8].copy_from_slice(&count.to_le_bytes());
    }

    /// Says that the participant writes no state.
    pub(super) fn no_state(&mut self) {
        self.0.push(0);
    }
}
