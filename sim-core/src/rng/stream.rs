//! Names of streams and the generator that reads one.

use core::convert::Infallible;

use rand_core::TryRng;
use smallvec::SmallVec;
use xxhash_rust::xxh3::xxh3_64;

use super::philox::philox4x32_10;

/// Who draws: streams of different domains never meet, even with equal paths and labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Domain {
    /// The step of a participant; byte 1.
    Step,
    /// A system of a population, named by its label; byte 2.
    System,
    /// What is drawn once, before the first step; byte 3.
    SetUp,
}

impl Domain {
    /// The byte that stands for this domain in a key.
    #[must_use]
    pub const fn byte(self) -> u8 {
        match self {
            Self::Step => 1,
            Self::System => 2,
            Self::SetUp => 3,
        }
    }
}

/// The 64-bit Philox key of a family of streams, one for each agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamKey(u64);

impl StreamKey {
    /// The key of the streams with this name.
    ///
    /// It is the XXH3-64 hash (seed 0) of these bytes, numbers in little-endian order:
    ///
    /// | bytes | content |
    /// |---|---|
    /// | 8 | `seed` |
    /// | 1 | the domain's [byte](Domain::byte) |
    /// | 8 + n | the number of bytes of `path` as `u64`, then its UTF-8 bytes |
    /// | 8 + n | the number of bytes of `label` as `u64`, then its UTF-8 bytes |
    /// | 8 | `time_ns`, simulated time in nanoseconds, as `i64` |
    ///
    /// ```
    /// # use chaconne_sim_core::rng::{Domain, StreamKey};
    /// let key = StreamKey::new(42, Domain::System, "walkers", "walk", 1_000_000_000);
    /// assert_eq!(key.to_bits(), 0xd65a_5182_3433_c2c8);
    /// ```
    #[must_use]
    pub fn new(seed: u64, domain: Domain, path: &str, label: &str, time_ns: i64) -> Self {
        let mut bytes = SmallVec::<[u8; 128]>::new();
        bytes.extend_from_slice(&seed.to_le_bytes());
        bytes.push(domain.byte());
        for text in [path, label] {
            bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
            bytes.extend_from_slice(text.as_bytes());
        }
        bytes.extend_from_slice(&time_ns.to_le_bytes());
        Self(xxh3_64(&bytes))
    }

    /// The key with these bits, for a generator elsewhere (a compute shader, another process).
    #[inline]
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The bits of the key.
    #[inline]
    #[must_use]
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// The stream of one agent, from its beginning. What has no agents draws from stream 0.
    #[inline]
    #[must_use]
    pub const fn stream(self, agent: u64) -> DetRng {
        // The first block is computed here, where it can be inlined: a stream of one draw then compiles to the rounds
        // of that word alone.
        DetRng { key: self.0, agent, next_block: 1, block: philox4x32_10(self.0, counter(0, agent)), used: 0 }
    }
}

/// A stream of random words: the blocks of Philox4x32-10 for the counters `(draw, 0, agent low, agent high)` with
/// `draw` = 0, 1, 2, …, all four words of each in order.
///
/// After 2³² blocks the count goes on into the second word, so a stream repeats after 2⁶⁶ words. A clone continues
/// where the original stands, independently of it.
#[derive(Clone, Debug)]
pub struct DetRng {
    pub(super) key: u64,
    pub(super) agent: u64,
    /// The number of the first block that has not been computed.
    pub(super) next_block: u64,
    /// The block that words are taken from.
    pub(super) block: [u32; 4],
    /// How many of its words are gone.
    pub(super) used: u8,
}

impl DetRng {
    /// The next word.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        if usize::from(self.used) >= self.block.len() {
            self.compute_next_block();
        }
        let word = self.block[usize::from(self.used)];
        self.used += 1;
        word
    }

    /// The next two words, the first one as the lower half.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let low = u64::from(self.next_u32());
        let high = u64::from(self.next_u32());
        high << 32 | low
    }

    /// True or false with equal probability: the highest bit of a word.
    #[inline]
    pub fn coin(&mut self) -> bool {
        self.next_u32() >> 31 == 1
    }

    /// A number in [0, 1): a multiple of 2⁻⁵³, each equally likely, from two words.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        unit_f64(self.next_u64())
    }

    /// A number in [0, 1): a multiple of 2⁻²⁴, each equally likely, from one word.
    #[inline]
    pub fn unit_f32(&mut self) -> f32 {
        unit_f32(self.next_u32())
    }

    #[inline(never)]
    fn compute_next_block(&mut self) {
        self.block = philox4x32_10(self.key, counter(self.next_block, self.agent));
        self.next_block = self.next_block.wrapping_add(1);
        self.used = 0;
    }
}

/// The counter of a block of an agent's stream.
#[inline(always)]
pub(super) const fn counter(block: u64, agent: u64) -> [u32; 4] {
    [block as u32, (block >> 32) as u32, agent as u32, (agent >> 32) as u32]
}

/// The upper 53 bits as a fraction of one.
#[inline(always)]
pub(super) fn unit_f64(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// The upper 24 bits as a fraction of one.
#[inline(always)]
pub(super) fn unit_f32(bits: u32) -> f32 {
    (bits >> 8) as f32 * (1.0 / (1_u32 << 24) as f32)
}

/// Through [`rand_core::Rng`], which follows from this, the generator serves every crate that draws by `rand`'s traits.
impl TryRng for DetRng {
    type Error = Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.next_u32())
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.next_u64())
    }

    /// Whole words in little-endian order; a last, partial one uses up its word.
    fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), Infallible> {
        for chunk in dst.chunks_mut(4) {
            chunk.copy_from_slice(&self.next_u32().to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}
