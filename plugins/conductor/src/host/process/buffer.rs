//! What has been read from a pipe and not been taken in.

use std::ops::Range;

use crate::host::wire::{WireError, first_frame};

/// How much is asked for at once.
const CHUNK: usize = 64 << 10;

/// Bytes from a pipe, cut into frames. Its memory is used again, and grows as far as a frame needs it.
#[derive(Default)]
pub(super) struct FrameBuffer {
    bytes: Vec<u8>,
    /// What is between these has been read and is not part of a frame that was taken.
    taken: usize,
    filled: usize,
}

impl FrameBuffer {
    /// Takes the next frame, when it is complete, and says where it lies.
    ///
    /// # Errors
    /// When it is longer than frames may be.
    pub(super) fn next(&mut self) -> Result<Option<Range<usize>>, WireError> {
        let Some(frame) = first_frame(&self.bytes[self.taken..self.filled])? else { return Ok(None) };
        let start = self.taken + 4;
        self.taken = start + frame.len();
        Ok(Some(start..self.taken))
    }

    /// Whether the next frame is complete; also when it is none.
    pub(super) fn is_complete(&self) -> bool {
        !matches!(first_frame(&self.bytes[self.taken..self.filled]), Ok(None))
    }

    /// Whether a part of a frame is there.
    pub(super) fn has_some(&self) -> bool {
        self.taken < self.filled
    }

    /// A frame that was taken, until something is read again.
    pub(super) fn frame(&self, frame: Range<usize>) -> &[u8] {
        &self.bytes[frame]
    }

    /// Has more read by `read`, which is given room for it and says how much of that it filled.
    pub(super) fn fill<E>(&mut self, read: impl FnOnce(&mut [u8]) -> Result<usize, E>) -> Result<usize, E> {
        if self.taken == self.filled {
            (self.taken, self.filled) = (0, 0);
        } else if self.taken > 0 {
            self.bytes.copy_within(self.taken..self.filled, 0);
            (self.taken, self.filled) = (0, self.filled - self.taken);
        }
        if self.bytes.len() - self.filled < CHUNK {
            self.bytes.resize((2 * self.filled).max(self.filled + CHUNK), 0);
        }
        let count = read(&mut self.bytes[self.filled..])?;
        self.filled += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_whole_however_they_come_in() {
        let frame = |length: usize| {
            let mut frame = (length as u32).to_le_bytes().to_vec();
            frame.extend((0..length).map(|at| at as u8));
            frame
        };
        let lengths = [0, 1, 70_000, 3, 300_000, 12];
        let stream: Vec<u8> = lengths.iter().flat_map(|&length| frame(length)).collect();
        for piece in [1, 7, 4096, 100_000, stream.len()] {
            let (mut buffer, mut rest, mut out) = (FrameBuffer::default(), stream.as_slice(), Vec::new());
            while out.len() < lengths.len() {
                while let Some(found) = buffer.next().unwrap() {
                    out.push(buffer.frame(found).len());
                }
                let read = buffer.fill(|room| {
                    let count = piece.min(rest.len()).min(room.len());
                    room[..count].copy_from_slice(&rest[..count]);
                    rest = &rest[count..];
                    Ok::<_, ()>(count)
                });
                assert!(read.is_ok());
            }
            assert_eq!(out, lengths, "{piece}");
        }
    }
}
