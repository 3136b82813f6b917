//! Reading zstd frames one after another, and finding the next one after damage.

use std::io::{self, BufRead, Read};

use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

use crate::source::{Damage, ZSTD_MAGIC};

/// Decompressed frames.
pub(crate) struct Frames<R> {
    reader: R,
    decoder: Decoder<'static>,
    state: State,
    damage: Damage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before the first byte of a frame.
    Between,
    Inside,
    /// Looking for the next frame; this many bytes of the magic number have been seen.
    Searching(usize),
}

impl<R: BufRead> Frames<R> {
    pub(crate) fn new(reader: R, damage: Damage) -> Self {
        let decoder = Decoder::new().expect("a decoder without a dictionary needs nothing but memory");
        Self { reader, decoder, state: State::Between, damage }
    }

    /// Looks for the next frame; says whether there is one.
    fn search(&mut self, mut seen: usize) -> io::Result<bool> {
        loop {
            let buffer = self.reader.fill_buf()?;
            if buffer.is_empty() {
                return Ok(false);
            }
            let mut used = 0;
            for &byte in buffer {
                used += 1;
                // No proper prefix of the magic number ends with its first byte, so one comparison more is enough.
                seen = if byte == ZSTD_MAGIC[seen] { seen + 1 } else { usize::from(byte == ZSTD_MAGIC[0]) };
                if seen == ZSTD_MAGIC.len() {
                    break;
                }
            }
            self.reader.consume(used);
            if seen == ZSTD_MAGIC.len() {
                self.decoder.reinit()?;
                let mut nothing = [];
                self.decoder.run(&mut InBuffer::around(&ZSTD_MAGIC), &mut OutBuffer::around(&mut nothing[..]))?;
                self.state = State::Inside;
                return Ok(true);
            }
        }
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            if let State::Searching(seen) = self.state
                && !self.search(seen)?
            {
                return Ok(0);
            }
            let buffer = self.reader.fill_buf()?;
            let at_end = buffer.is_empty();
            if at_end && self.state == State::Between {
                return Ok(0);
            }
            // At the end there may still be something to give that the last call had no room for.
            let mut input = InBuffer::around(buffer);
            let mut output = OutBuffer::around(&mut *out);
            let decoded = self.decoder.run(&mut input, &mut output);
            let (used, written) = (input.pos(), output.pos());
            self.reader.consume(used);
            match decoded {
                Ok(0) => {
                    self.state = State::Between;
                    self.decoder.reinit()?;
                }
                Ok(_) => self.state = State::Inside,
                Err(_) if self.damage == Damage::Skip => {
                    self.state = State::Searching(0);
                    // What was being decompressed ends here, and so does its line.
                    out[written.min(out.len() - 1)] = b'\n';
                    return Ok(written.min(out.len() - 1) + 1);
                }
                Err(error) => {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, format!("damaged compression ({error})")));
                }
            }
            if written > 0 {
                return Ok(written);
            }
            if at_end && self.state == State::Inside {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}
