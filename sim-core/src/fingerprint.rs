//! Fingerprints: what two runs compare, and the bytes that they are made of.
//!
//! A [`Fingerprint`] is an XXH3-128 hash. What is hashed is specified to the byte, so that any program in any language can
//! compute every hash of a run again from its log alone.
//!
//! # Layout
//!
//! | field | bytes |
//! |---|---|
//! | length, count, tick, sequence number, seed | 8, unsigned, little-endian |
//! | time | 8, nanoseconds, signed (two's complement), little-endian |
//! | text, payload | its length in bytes, then the bytes (UTF-8) |
//! | hash | 16, in canonical (big-endian) order: as its hexadecimal form reads |
//! | kind or flag | 1 |
//!
//! Fields follow each other without padding. `‖` joins, and `x^n` repeats a group n times:
//!
//! ```text
//! contribution = H(path ‖ next due time ‖ n ‖ (key ‖ seq ‖ payload)^n ‖ state)       one per participant stepped
//!        state = 0, a byte, without state; 1, a byte, ‖ H(state bytes) with it
//! tick_hash    = H(tick ‖ time ‖ n ‖ contribution^n ‖ m ‖ (kind ‖ path ‖ time)^m)     kind: 0 join, 1 leave
//! world_hash   = H(previous world_hash ‖ tick_hash)                                   one per instant
//!                starts as H("chaconne/1" ‖ world ‖ seed)
//! ```
//!
//! Contributions stand in the world's order. Joins and leaves name leaves, in the order in which they were applied; the time
//! of a join is its first due time, that of a leave the first instant not stepped.
//!
//! # Test vectors
//!
//! In hexadecimal. `H` of no bytes is `99aa06d3014798d86001c324468d497f`, of the three bytes `abc` it is
//! `06b05ab6733a618578af5f94892f3950`.
//!
//! Participant `ego`, due next at 0.1 s, published `1.5` under `chaconne/w/actor/ego/speed` as its signal number 7; no state:
//!
//! ```text
//! 0300000000000000 65676f                      path
//! 00e1f50500000000                             next due time
//! 0100000000000000                             number of signals
//! 1a00000000000000 636861636f6e6e652f772f6163746f722f65676f2f7370656564    key
//! 0700000000000000                             sequence number
//! 0300000000000000 312e35                      payload
//! 00                                           no state
//! H = 9c2b87dd73aff9fb8e04cd37af63cca3
//! ```
//!
//! Participant `lead`, never due again, published nothing; its state is the number 3, with
//! H(`0300000000000000`) = `bb6f4149b62a32b6e619cdeae4a4a0f4`:
//!
//! ```text
//! 0400000000000000 6c656164                    path
//! ffffffffffffff7f                             next due time
//! 0000000000000000                             number of signals
//! 01 bb6f4149b62a32b6e619cdeae4a4a0f4          state
//! H = d97f28c9823510840b2f00722c110408
//! ```
//!
//! Tick 4 at 0.05 s with these two; then `walker` joins, first due at 0.06 s, and `lead` leaves, not stepped from
//! 0.050000001 s on:
//!
//! ```text
//! 0400000000000000 80f0fa0200000000            tick, time
//! 0200000000000000                             number of contributions
//! 9c2b87dd73aff9fb8e04cd37af63cca3 d97f28c9823510840b2f00722c110408
//! 0200000000000000                             number of changes in membership
//! 00 0600000000000000 77616c6b6572 0087930300000000
//! 01 0400000000000000 6c656164 81f0fa0200000000
//! H = 2b031612b79719845231837ab21fd9a9
//! ```
//!
//! World `w` with seed 42 starts at H(`0a00000000000000 636861636f6e6e652f31 0100000000000000 77 2a00000000000000`) =
//! `10c9410a2db8254708c459bcc9ce1e15`. If this tick came first, the world's hash after it would be
//! `d797f231dc5427757a0881649c257cbe`.
//!
//! ```
//! use chaconne_sim_core::{fingerprint::{contribution, tick_hash, world_next, world_start}, time::SimTime};
//!
//! let speed: (&str, u64, &[u8]) = ("chaconne/w/actor/ego/speed", 7, b"1.5");
//! let ego = contribution("ego", SimTime::from_millis(100), &[speed], None);
//! assert_eq!(ego.to_string(), "9c2b87dd73aff9fb8e04cd37af63cca3");
//!
//! let tick = tick_hash(0, SimTime::ZERO, &[ego], &[]);
//! let world = world_next(world_start("w", 42), tick);
//! # let _ = world;
//! ```

mod frame;
mod state;
mod world;

pub use frame::Frame;
pub use state::StateWriter;
pub use world::{MembershipChange, MembershipKind, contribution, tick_hash, world_next, world_start};

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use xxhash_rust::xxh3::xxh3_128;

/// A 128-bit XXH3 hash (Collet, xxHash 0.8), as its 16 bytes in canonical (big-endian) order.
///
/// Its text is 32 lower-case hexadecimal digits. The hash finds differences; it does not resist forgery.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; 16]);

/// Why a text is not a fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a fingerprint: write 32 lower-case hexadecimal digits")]
pub struct FingerprintError {
    /// The text that was read.
    pub text: String,
}

impl Fingerprint {
    /// The hash of some bytes.
    #[inline]
    pub fn of(bytes: &[u8]) -> Self {
        Self(xxh3_128(bytes).to_be_bytes())
    }

    /// From 16 bytes in canonical (big-endian) order.
    #[inline]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The 16 bytes in canonical (big-endian) order.
    #[inline]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The 32 lower-case hexadecimal digits, as bytes.
    #[inline]
    pub fn to_hex(&self) -> [u8; 32] {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut hex = [0; 32];
        for (pair, byte) in hex.chunks_exact_mut(2).zip(self.0) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        hex
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Hexadecimal digits are UTF-8, so that the default is never taken.
        f.pad(std::str::from_utf8(&self.to_hex()).unwrap_or_default())
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

impl FromStr for Fingerprint {
    type Err = FingerprintError;

    fn from_str(text: &str) -> Result<Self, FingerprintError> {
        let refuse = || FingerprintError { text: text.to_owned() };
        let digits = text.as_bytes();
        if digits.len() != 32 {
            return Err(refuse());
        }
        let mut bytes = [0; 16];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            for &digit in pair {
                let value = match digit {
                    b'0'..=b'9' => digit - b'0',
                    b'a'..=b'f' => digit - b'a' + 10,
                    _ => return Err(refuse()),
                };
                *byte = *byte << 4 | value;
            }
        }
        Ok(Self(bytes))
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(std::str::from_utf8(&self.to_hex()).unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Fingerprint;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a fingerprint as a string of 32 hexadecimal digits")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Fingerprint, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

#[cfg(test)]
mod tests;
