//! Hints to the processor that some memory will be read soon.
//!
//! A world of many participants does not fit the caches, and what a step needs lies behind pointers that are known well
//! before it. A hint changes nothing but time.

/// The processor's line size, in bytes.
const LINE: usize = 64;

/// Asks for a value, or for its first `most` bytes when it is larger.
#[inline]
pub fn prefetch<T: ?Sized>(value: &T, most: usize) {
    let start = std::ptr::from_ref(value).cast::<u8>();
    let lines = size_of_val(value).min(most).div_ceil(LINE);
    for line in 0..lines {
        hint(start.wrapping_add(line * LINE));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[allow(
    unsafe_code,
    reason = "the intrinsic is declared unsafe; half of the time of a step among 200,000 is waiting for memory"
)]
fn hint(address: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch neither faults nor changes memory, whatever the address, and SSE is part of x86-64.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn hint(_: *const u8) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_value_may_be_hinted_at_and_stays_as_it_is() {
        let values = vec![7_u64; 1_000];
        prefetch(&values[..], 256);
        prefetch(&values[3..3], 256);
        prefetch(&(), 64);
        prefetch::<dyn std::fmt::Debug>(&values, 0);
        assert!(values.iter().all(|value| *value == 7));
    }
}
