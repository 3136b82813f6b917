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
pub(super) const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
/// What is added to the key words after each round: the golden ratio and √3 − 1, as fractions of 2³².
pub(super) const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
pub(super) const ROUNDS: usize = 10;

/// The four words of a block. The low half of the key is the published key's first word, the high half its second.
#[inline(always)]
#[must_use]
pub const fn philox4x32_10(key: u64, counter: [u32; 4]) -> [u32; 4] {
    let [mut c0, mut c1, mut c2, mut c3] = counter;
    let (mut k0, mut k1) = (key as u32, (key >> 32) as u32);
    let mut round = 0;
    while round < ROUNDS {
        let (high0, low0) = multiply(MULTIPLIERS[0], c0);
        let (high1, low1) = multiply(MULTIPLIERS[1], c2);
        [c0, c1, c2, c3] = [high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0];
        k0 = k0.wrapping_add(WEYL[0]);
        k1 = k1.wrapping_add(WEYL[1]);
        round += 1;
    }
    [c0, c1, c2, c3]
}

/// The high and the low half of a product.
#[inline(always)]
const fn multiply(a: u32, b: u32) -> (u32, u32) {
    let product = a as u64 * b as u64;
    ((product >> 32) as u32, product as u32)
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
}
