//! Many draws at once: the same values as one by one, in a fraction of the time.
//!
//! Blocks are computed side by side in vector registers. Which registers is decided at run time, and cannot matter:
//! the arithmetic is of integers. (The scaling to floats is a multiplication by a power of two, which is exact.)

use super::{
    DetRng, StreamKey,
    philox::{MULTIPLIERS, ROUNDS, WEYL, philox4x32_10},
    stream::{counter, unit_f32, unit_f64},
};

/// 64-bit lanes of two words each that are computed side by side: four registers of AVX2 for each word of the block,
/// which hides the latency of multiplications.
const PAIRS: usize = 16;
/// Blocks computed side by side. Block `i` is the low half of pair `i`, block `i + PAIRS` its high half.
const LANES: usize = 2 * PAIRS;
/// The low half of a pair.
const LOW: u64 = u32::MAX as u64;
/// Words that wait on the stack to become floats.
const STAGED: usize = 256;

impl DetRng {
    /// Fills a slice with the words that as many calls of [`next_u32`](Self::next_u32) would give.
    pub fn fill_u32(&mut self, out: &mut [u32]) {
        let left = &self.block[usize::from(self.used)..];
        let (first, out) = out.split_at_mut(left.len().min(out.len()));
        first.copy_from_slice(&left[..first.len()]);
        self.used += first.len() as u8;

        let (blocks, rest) = out.as_chunks_mut::<4>();
        let count = blocks.len() as u64;
        dispatch(ConsecutiveBlocks { key: self.key, agent: self.agent, first: self.next_block, out: blocks });
        self.next_block = self.next_block.wrapping_add(count);
        for word in rest {
            *word = self.next_u32();
        }
    }

    /// Fills a slice with the numbers that as many calls of [`unit_f32`](Self::unit_f32) would give.
    pub fn fill_unit_f32(&mut self, out: &mut [f32]) {
        let mut words = [0; STAGED];
        for chunk in out.chunks_mut(STAGED) {
            let words = &mut words[..chunk.len()];
            self.fill_u32(words);
            for (number, word) in chunk.iter_mut().zip(words) {
                *number = unit_f32(*word);
            }
        }
    }

    /// Fills a slice with the numbers that as many calls of [`unit`](Self::unit) would give.
    pub fn fill_unit_f64(&mut self, out: &mut [f64]) {
        let mut words = [0; STAGED];
        for chunk in out.chunks_mut(STAGED / 2) {
            let words = &mut words[..2 * chunk.len()];
            self.fill_u32(words);
            for (number, [low, high]) in chunk.iter_mut().zip(words.as_chunks().0) {
                *number = unit_f64(u64::from(*high) << 32 | u64::from(*low));
            }
        }
    }
}

impl StreamKey {
    /// The first word of each agent's stream: `out[i]` is what `self.stream(ids[i]).next_u32()` would give.
    ///
    /// When the slices differ in length, the longer one's excess is left alone.
    pub fn words_for_agents(&self, ids: &[u64], out: &mut [u32]) {
        dispatch(FirstWords { key: self.to_bits(), ids, out, convert: |word| word });
    }

    /// One number in [0, 1) for each agent: `out[i]` is what `self.stream(ids[i]).unit_f32()` would give.
    ///
    /// When the slices differ in length, the longer one's excess is left alone.
    pub fn unit_for_agents(&self, ids: &[u64], out: &mut [f32]) {
        dispatch(FirstWords { key: self.to_bits(), ids, out, convert: unit_f32 });
    }
}

/// Work whose code is compiled once for the target's baseline and once for wide registers.
trait Job {
    /// Must be `#[inline(always)]`, so that it takes on the registers of the function that it is called from.
    fn run(self);
}

/// What [`StreamKey::words_for_agents`] gives on a processor without wide registers.
#[cfg(test)]
pub(super) fn words_on_baseline(key: u64, ids: &[u64], out: &mut [u32]) {
    FirstWords { key, ids, out, convert: |word| word }.run();
}

fn dispatch(job: impl Job) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        #[allow(unsafe_code, reason = "half the time of the baseline, measured on a million agents")]
        // SAFETY: `run_with_avx2` is safe but for its demand that the processor has AVX2, which was just established.
        unsafe {
            run_with_avx2(job);
        }
        return;
    }
    job.run();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn run_with_avx2(job: impl Job) {
    job.run();
}

/// Consecutive blocks of one stream.
struct ConsecutiveBlocks<'a> {
    key: u64,
    agent: u64,
    first: u64,
    out: &'a mut [[u32; 4]],
}

impl Job for ConsecutiveBlocks<'_> {
    #[inline(always)]
    fn run(self) {
        let mut next = self.first;
        let (groups, rest) = self.out.as_chunks_mut::<LANES>();
        for group in groups {
            let number = |lane: usize| next.wrapping_add(lane as u64);
            let words = blocks(self.key, |lane| counter(number(lane), self.agent));
            for pair in 0..PAIRS {
                let [w0, w1, w2, w3] = words.map(|word| word[pair]);
                // Two words at a time: stores of 64 bits interleave faster than stores of 32.
                group[pair] = block_of(low_halves(w0, w1), low_halves(w2, w3));
                group[pair + PAIRS] = block_of(high_halves(w0, w1), high_halves(w2, w3));
            }
            next = next.wrapping_add(LANES as u64);
        }
        for block in rest {
            *block = philox4x32_10(self.key, counter(next, self.agent));
            next = next.wrapping_add(1);
        }
    }
}

/// The first word of each of many streams, converted.
struct FirstWords<'a, T, F> {
    key: u64,
    ids: &'a [u64],
    out: &'a mut [T],
    convert: F,
}

impl<T, F: Fn(u32) -> T> Job for FirstWords<'_, T, F> {
    #[inline(always)]
    fn run(self) {
        let length = self.ids.len().min(self.out.len());
        let (groups, rest) = self.ids[..length].as_chunks::<LANES>();
        let (out_groups, out_rest) = self.out[..length].as_chunks_mut::<LANES>();
        for (ids, out) in groups.iter().zip(out_groups) {
            let [words, ..] = blocks(self.key, |lane| counter(0, ids[lane]));
            for pair in 0..PAIRS {
                out[pair] = (self.convert)(words[pair] as u32);
                out[pair + PAIRS] = (self.convert)((words[pair] >> 32) as u32);
            }
        }
        for (id, out) in rest.iter().zip(out_rest) {
            *out = (self.convert)(philox4x32_10(self.key, counter(0, *id))[0]);
        }
    }
}

/// The blocks of many counters, word by word: the same rounds as in [`philox4x32_10`], two words in each 64-bit lane.
///
/// Vector registers multiply 32-bit numbers into 64-bit lanes, so a multiplication of all takes one for the low and one
/// for the high halves; packed like this the rest needs the fewest instructions.
#[inline(always)]
fn blocks(key: u64, counter: impl Fn(usize) -> [u32; 4]) -> [[u64; PAIRS]; 4] {
    // Loops rather than `array::from_fn`, which the compiler may leave as a call outside the wide registers.
    let [mut c0, mut c1, mut c2, mut c3] = [[0; PAIRS]; 4];
    for pair in 0..PAIRS {
        let (low, high) = (counter(pair), counter(pair + PAIRS));
        c0[pair] = pair_of(low[0], high[0]);
        c1[pair] = pair_of(low[1], high[1]);
        c2[pair] = pair_of(low[2], high[2]);
        c3[pair] = pair_of(low[3], high[3]);
    }
    let (mut k0, mut k1) = (key as u32, (key >> 32) as u32);
    for _ in 0..ROUNDS {
        let (both_k0, both_k1) = (pair_of(k0, k0), pair_of(k1, k1));
        for pair in 0..PAIRS {
            let (high0, low0) = multiply_halves(MULTIPLIERS[0], c0[pair]);
            let (high1, low1) = multiply_halves(MULTIPLIERS[1], c2[pair]);
            c0[pair] = high1 ^ c1[pair] ^ both_k0;
            c1[pair] = low1;
            c2[pair] = high0 ^ c3[pair] ^ both_k1;
            c3[pair] = low0;
        }
        k0 = k0.wrapping_add(WEYL[0]);
        k1 = k1.wrapping_add(WEYL[1]);
    }
    [c0, c1, c2, c3]
}

#[inline(always)]
fn pair_of(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// The high halves of the two products of a factor with either half of a pair, and their low halves.
#[inline(always)]
fn multiply_halves(factor: u32, pair: u64) -> (u64, u64) {
    let of_low = u64::from(factor) * (pair & LOW);
    let of_high = u64::from(factor) * (pair >> 32);
    (high_halves(of_low, of_high), low_halves(of_low, of_high))
}

/// The low halves of two pairs as a pair.
#[inline(always)]
fn low_halves(low: u64, high: u64) -> u64 {
    high << 32 | low & LOW
}

/// The high halves of two pairs as a pair.
#[inline(always)]
fn high_halves(low: u64, high: u64) -> u64 {
    high & !LOW | low >> 32
}

/// The block of four words that lie in two pairs.
#[inline(always)]
fn block_of(first: u64, second: u64) -> [u32; 4] {
    [first as u32, (first >> 32) as u32, second as u32, (second >> 32) as u32]
}
