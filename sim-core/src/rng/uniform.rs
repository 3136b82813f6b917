//! Uniform draws from ranges, and what follows from them: shuffles and choices.

use core::ops::{Range, RangeInclusive};

use super::DetRng;
use crate::math::{clamp, lerp};

mod sealed {
    pub trait Sealed {}
}

/// A number type that [`DetRng::range`] and [`DetRng::range_inclusive`] draw: integers up to 64 bits, `f32`, `f64`.
pub trait UniformRange: Copy + sealed::Sealed {
    #[doc(hidden)]
    fn draw(rng: &mut DetRng, low: Self, high: Self) -> Self;
    #[doc(hidden)]
    fn draw_inclusive(rng: &mut DetRng, low: Self, high: Self) -> Self;
}

impl DetRng {
    /// An integer in [0, `n`), each equally likely to the last bit; 0 for `n` = 0, without a draw.
    ///
    /// Lemire's multiplication with rejection (2019, ACM Trans. Model. Comput. Simul. 29, 3): one word for `n` up to
    /// 2³², two above, and again with a probability of less than n/2³² (n/2⁶⁴).
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        const WORD: u64 = 1 << 32;
        if n == 0 {
            0
        } else if n <= WORD {
            let mut product = u64::from(self.next_u32()) * n;
            // Only a low half below n may have to be rejected; the threshold takes a division and is computed there.
            if product % WORD < n {
                let threshold = WORD % n;
                while product % WORD < threshold {
                    product = u64::from(self.next_u32()) * n;
                }
            }
            product >> 32
        } else {
            let wide = u128::from(n);
            let mut product = u128::from(self.next_u64()) * wide;
            if (product as u64) < n {
                let threshold = n.wrapping_neg() % n;
                while (product as u64) < threshold {
                    product = u128::from(self.next_u64()) * wide;
                }
            }
            (product >> 64) as u64
        }
    }

    /// A number in [`start`, `end`).
    ///
    /// Integers are equally likely to the last bit. Floats are `start + (end − start)·u` with a `u` as from
    /// [`unit`](Self::unit), and the largest number below `end` where that rounds to `end`. A range without numbers
    /// (`start >= end`), or with a bound that is not finite, gives its `start`, without a draw.
    ///
    /// ```
    /// # use chaconne_sim_core::rng::StreamKey;
    /// let mut rng = StreamKey::from_bits(1).stream(0);
    /// let lane: usize = rng.range(0..3);
    /// let speed = rng.range(16.0..22.0);
    /// assert!(lane < 3 && (16.0..22.0).contains(&speed));
    /// ```
    #[inline]
    pub fn range<T: UniformRange>(&mut self, range: Range<T>) -> T {
        T::draw(self, range.start, range.end)
    }

    /// A number in [`start`, `end`], both included.
    ///
    /// Like [`range`](Self::range); floats use a `u` in [0, 1] of 2⁵³ (`f32`: 2²⁴) equally likely values. A range
    /// without numbers (`start > end`), or with a bound that is not finite, gives its `start`, without a draw.
    #[inline]
    pub fn range_inclusive<T: UniformRange>(&mut self, range: RangeInclusive<T>) -> T {
        T::draw_inclusive(self, *range.start(), *range.end())
    }

    /// Puts a slice into one of its orders, each equally likely (Fisher and Yates; Durstenfeld 1964, CACM 7, 420).
    pub fn shuffle<T>(&mut self, slice: &mut [T]) {
        for last in (1..slice.len()).rev() {
            let other = self.range_inclusive(0..=last);
            slice.swap(last, other);
        }
    }

    /// One element of a slice, each equally likely; `None` of an empty one, without a draw.
    #[inline]
    pub fn choose<'a, T>(&mut self, slice: &'a [T]) -> Option<&'a T> {
        if slice.is_empty() { None } else { slice.get(self.range(0..slice.len())) }
    }

    /// An index with a probability proportional to its weight; never one of weight zero.
    ///
    /// `None`, without a draw, when a weight is negative or not finite, or when their sum is zero or overflows. The
    /// time is proportional to the number of weights.
    #[must_use]
    pub fn weighted_index(&mut self, weights: &[f64]) -> Option<usize> {
        let mut total = 0.0;
        for &weight in weights {
            if !(weight.is_finite() && weight >= 0.0) {
                return None;
            }
            total += weight;
        }
        if !(total.is_finite() && total > 0.0) {
            return None;
        }
        let mut rest = self.unit() * total;
        let mut last = None;
        for (index, &weight) in weights.iter().enumerate() {
            if weight > 0.0 {
                if rest < weight {
                    return Some(index);
                }
                last = Some(index);
            }
            rest -= weight;
        }
        // Rounding may leave a rest beyond the last weight.
        last
    }
}

/// Integers are drawn as their distance from the lower bound, which fits `u64` for signed ones too.
macro_rules! uniform_integers {
    ($($integer:ty),+) => {$(
        impl sealed::Sealed for $integer {}

        impl UniformRange for $integer {
            #[inline]
            fn draw(rng: &mut DetRng, low: Self, high: Self) -> Self {
                if low < high { low.wrapping_add(rng.below(distance(low as i128, high as i128)) as Self) } else { low }
            }

            #[inline]
            fn draw_inclusive(rng: &mut DetRng, low: Self, high: Self) -> Self {
                if low < high {
                    let offset = match distance(low as i128, high as i128).checked_add(1) {
                        Some(count) => rng.below(count),
                        None => rng.next_u64(),
                    };
                    low.wrapping_add(offset as Self)
                } else {
                    low
                }
            }
        }
    )+};
}

/// `high − low`, for `low <= high` of a type of at most 64 bits.
#[inline(always)]
const fn distance(low: i128, high: i128) -> u64 {
    (high - low) as u64
}

uniform_integers!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize);

/// The number at fraction `u` of the way from `low` to `high`, both finite; also where their difference overflows.
#[inline(always)]
fn between(low: f64, high: f64, u: f64) -> f64 {
    let width = high - low;
    let value = if width.is_finite() { lerp(low, high, u) } else { low * (1.0 - u) + high * u };
    clamp(value, low, high)
}

impl sealed::Sealed for f64 {}

impl UniformRange for f64 {
    #[inline]
    fn draw(rng: &mut DetRng, low: Self, high: Self) -> Self {
        if !is_finite_range(low, high) {
            return low;
        }
        let value = between(low, high, rng.unit());
        if value < high { value } else { high.next_down() }
    }

    #[inline]
    fn draw_inclusive(rng: &mut DetRng, low: Self, high: Self) -> Self {
        const LARGEST: u64 = (1 << 53) - 1;
        if !is_finite_range(low, high) {
            return low;
        }
        between(low, high, (rng.next_u64() >> 11) as f64 / LARGEST as f64)
    }
}

impl sealed::Sealed for f32 {}

impl UniformRange for f32 {
    #[inline]
    fn draw(rng: &mut DetRng, low: Self, high: Self) -> Self {
        if !is_finite_range(low.into(), high.into()) {
            return low;
        }
        let value = between(low.into(), high.into(), rng.unit_f32().into()) as f32;
        if value < high { value } else { high.next_down() }
    }

    #[inline]
    fn draw_inclusive(rng: &mut DetRng, low: Self, high: Self) -> Self {
        const LARGEST: u32 = (1 << 24) - 1;
        if !is_finite_range(low.into(), high.into()) {
            return low;
        }
        between(low.into(), high.into(), f64::from(rng.next_u32() >> 8) / f64::from(LARGEST)) as f32
    }
}

#[inline(always)]
fn is_finite_range(low: f64, high: f64) -> bool {
    low.is_finite() && high.is_finite() && low < high
}
