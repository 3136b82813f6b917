//! Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as
//! 1, 2, 3" (SC 2011): ten rounds of multiplication and exclusive or that turn a key and a counter into four words.
//!
//! It passes TestU01's BigCrush, has no state to carry along, and needs only 32-bit arithmetic, so it is the same in
//! WGSL.
//!
//! ```
//! use chaconne_sim_core::rng::philox::philox4x32_10;
//!
//! assert_eq!(philox4x32_10(0, [0; 4]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
//! ```

/// The multipliers of the first and third counter word.
const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
/// What is added to the key words after each round: the golden ratio and √3 − 1, as fractions of 2³².
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
const ROUNDS: usize = 10;

/// The four words of a block. The low half of the key is the published key's first word, the high half its second.
#[inline]
#[must_use]
pub fn philox4x32_10(key: u64, counter: [u32; 4]) -> [u32; 4] {
    lanes(key, counter.map(|word| [word])).map(|[word]| word)
}

/// `N` blocks at once, word by word: lane `i` of the result is the block of the counter in lane `i`.
///
/// Inlined into functions compiled for wide registers, each line of the loop becomes a few vector instructions.
#[inline(always)]
pub(super) fn lanes<const N: usize>(key: u64, counter: [[u32; N]; 4]) -> [[u32; N]; 4] {
    // Words live in 64-bit lanes whose upper halves are left dirty: the vector multiplication reads lower halves only.
    let [mut c0, mut c1, mut c2, mut c3] = counter.map(|words| words.map(u64::from));
    let (mut k0, mut k1) = (key as u32, (key >> 32) as u32);
    for _ in 0..ROUNDS {
        for lane in 0..N {
            let p0 = u64::from(MULTIPLIERS[0]) * u64::from(c0[lane] as u32);
            let p1 = u64::from(MULTIPLIERS[1]) * u64::from(c2[lane] as u32);
            c0[lane] = (p1 >> 32) ^ c1[lane] ^ u64::from(k0);
            c2[lane] = (p0 >> 32) ^ c3[lane] ^ u64::from(k1);
            c1[lane] = p1;
            c3[lane] = p0;
        }
        k0 = k0.wrapping_add(WEYL[0]);
        k1 = k1.wrapping_add(WEYL[1]);
    }
    [c0, c1, c2, c3].map(|words| words.map(|word| word as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known-answer vectors published with Random123 (kat_vectors, philox4x32 with 10 rounds).
    #[test]
    fn equals_the_published_known_answers() {
        assert_eq!(philox4x32_10(0, [0; 4]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(philox4x32_10(u64::MAX, [u32::MAX; 4]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        let digits_of_pi = [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344];
        assert_eq!(
            philox4x32_10(0x299f_31d0_a409_3822, digits_of_pi),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    #[test]
    fn lanes_equal_single_blocks() {
        const N: usize = 16;
        let key = 0x0123_4567_89ab_cdef;
        let counter: [[u32; N]; 4] = core::array::from_fn(|word| {
            core::array::from_fn(|lane| (word as u32 + 1).wrapping_mul(0x9E37_79B9).wrapping_mul(lane as u32 + 1))
        });
        let together = lanes(key, counter);
        for lane in 0..N {
            assert_eq!(together.map(|words| words[lane]), philox4x32_10(key, counter.map(|words| words[lane])));
        }
    }
}
