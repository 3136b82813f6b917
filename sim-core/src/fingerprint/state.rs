//! The state of a participant, as far as it is fingerprinted.

use serde::Serialize;

use super::{Fingerprint, Frame};
use crate::{canon::CanonError, time::SimTime};

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

    /// Whether nothing was written since the writer was empty, and no error was kept.
    #[inline]
    pub fn is_untouched(&self) -> bool {
        self.frame.is_empty() && self.error.is_none()
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
