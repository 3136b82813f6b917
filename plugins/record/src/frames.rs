//! Reading zstd frames one after another, and finding the next one after damage.

use std::io::{self, BufRead, Read};

use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

use crate::source::{Damage, ZSTD_MAGIC};

/// How far back the next frame is looked for. A damaged length makes the decoder run into the frames that follow.
const FARTHEST: usize = 8 << 20;

/// Decompressed frames.
pub(crate) struct Frames<R> {
    input: Input<R>,
    decoder: Decoder<'static>,
    state: State,
    damage: Damage,
    /// How much the decoder wants to be given, which is one block at most.
    wanted: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before the first byte of a frame.
    Between,
    Inside,
    /// Looking for the next frame.
    Searching,
}

/// Compressed bytes, of which those of the frame that is being read can be read again.
struct Input<R> {
    reader: R,
    tape: Vec<u8>,
    /// What of the tape has been read, again.
    at: usize,
    is_taped: bool,
}

impl<R: BufRead> Input<R> {
    fn fill(&mut self) -> io::Result<&[u8]> {
        if self.at < self.tape.len() { Ok(&self.tape[self.at..]) } else { self.reader.fill_buf() }
    }

    /// Takes bytes of what [`fill`](Self::fill) gave.
    fn consume(&mut self, count: usize) -> io::Result<()> {
        if self.at < self.tape.len() {
            self.at += count;
            return Ok(());
        }
        if self.is_taped {
            if self.tape.len() > FARTHEST {
                self.tape.drain(..FARTHEST / 2);
            }
            self.tape.extend_from_slice(&self.reader.fill_buf()?[..count]);
            self.at = self.tape.len();
        }
        self.reader.consume(count);
        Ok(())
    }

    /// From here on, bytes can be read again.
    fn mark(&mut self) {
        self.tape.drain(..self.at);
        self.at = 0;
    }

    /// Goes back to the mark, and over some bytes.
    fn rewind(&mut self, over: usize) {
        self.at = over.min(self.tape.len());
    }
}

impl<R: BufRead> Frames<R> {
    pub(crate) fn new(reader: R, damage: Damage) -> Self {
        let decoder = Decoder::new().expect("a decoder without a dictionary needs nothing but memory");
        let input = Input { reader, tape: Vec::new(), at: 0, is_taped: damage == Damage::Skip };
        Self { input, decoder, state: State::Between, damage, wanted: 1 }
    }

    /// Looks for the next frame; says whether there is one.
    fn search(&mut self) -> io::Result<bool> {
        let mut seen = 0;
        while seen < ZSTD_MAGIC.len() {
            self.input.mark();
            let buffer = self.input.fill()?;
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
            self.input.consume(used)?;
        }
        self.input.mark();
        self.decoder.reinit()?;
        let mut nothing = [];
        let (mut magic, mut nothing) = (InBuffer::around(&ZSTD_MAGIC), OutBuffer::around(&mut nothing[..]));
        self.wanted = self.decoder.run(&mut magic, &mut nothing)?;
        self.state = State::Inside;
        Ok(true)
    }

    /// What was being decompressed ends here, and so does its line. The next frame is looked for from its beginning on,
    /// though not at its own magic number.
    fn give_up(&mut self, out: &mut [u8]) -> usize {
        let over = usize::from(self.input.tape.starts_with(&ZSTD_MAGIC));
        self.input.rewind(over);
        self.state = State::Searching;
        out[0] = b'\n';
        1
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            if self.state == State::Searching && !self.search()? {
                return Ok(0);
            }
            let is_first = self.state == State::Between;
            if is_first {
                self.input.mark();
            }
            let buffer = self.input.fill()?;
            let at_end = buffer.is_empty();
            if at_end && is_first {
                return Ok(0);
            }
            // What a call decompresses before it fails is lost, so that where damage is skipped a call is given one
            // block.
            let given = if self.damage == Damage::Skip { buffer.len().min(self.wanted.max(1)) } else { buffer.len() };
            // At the end there may still be something to give that the last call had no room for.
            let mut input = InBuffer::around(&buffer[..given]);
            let mut output = OutBuffer::around(&mut *out);
            let decoded = self.decoder.run(&mut input, &mut output);
            let (used, written) = (input.pos(), output.pos());
            self.input.consume(used)?;
            match decoded {
                Ok(0) => {
                    self.state = State::Between;
                    self.wanted = 1;
                    self.decoder.reinit()?;
                }
                Ok(wanted) => {
                    self.state = State::Inside;
                    self.wanted = wanted;
                }
                Err(_) if self.damage == Damage::Skip => return Ok(self.give_up(out)),
                Err(error) => {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, format!("damaged compression ({error})")));
                }
            }
            if written > 0 {
                return Ok(written);
            }
            if at_end && self.state == State::Inside {
                if self.damage == Damage::Refuse {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                return Ok(self.give_up(out));
            }
        }
    }
}
