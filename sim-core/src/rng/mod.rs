//! Random streams that depend on nothing but their names: counter-based, without shared state.
//!
//! A stream is named by seed, [`Domain`], participant path, label, simulated time and agent. The first five are hashed
//! to a [`StreamKey`]; key and agent give a [`DetRng`], a generator that no other draw anywhere can disturb. So adding
//! a participant, a system or a cadence changes nobody else's numbers, and agents may draw in any order, on any thread.
//!
//! ```
//! use chaconne_sim_core::rng::{Domain, StreamKey};
//!
//! let key = StreamKey::new(42, Domain::System, "walkers", "walk", 1_000_000_000);
//! let mut rng = key.stream(7);
//! let die = rng.range_inclusive(1..=6);
//! assert!((1..=6).contains(&die));
//! // Asking again for the same stream starts it again.
//! assert_eq!(key.stream(7).range_inclusive(1..=6), die);
//! ```
//!
//! | draw | methods |
//! |---|---|
//! | bits | [`next_u32`](DetRng::next_u32), [`next_u64`](DetRng::next_u64), [`coin`](DetRng::coin) |
//! | floats in [0, 1) | [`unit`](DetRng::unit), [`unit_f32`](DetRng::unit_f32) |
//! | uniform | [`below`](DetRng::below), [`range`](DetRng::range), [`range_inclusive`](DetRng::range_inclusive) |
//! | continuous | [`normal`](DetRng::normal), [`exponential`](DetRng::exponential), [`log_normal`](DetRng::log_normal) |
//! | discrete | [`bernoulli`](DetRng::bernoulli), [`poisson`](DetRng::poisson), [`binomial`](DetRng::binomial) |
//! | slices | [`shuffle`](DetRng::shuffle), [`choose`](DetRng::choose), [`weighted_index`](DetRng::weighted_index) |
//! | many at once | [`fill_u32`](DetRng::fill_u32), [`fill_unit_f64`](DetRng::fill_unit_f64), [`StreamKey::unit_for_agents`] |
//!
//! The generator is [Philox4x32-10](philox); [`DetRng`] also implements `rand_core`'s traits. Every draw has the same
//! bits on every platform: integers are exact, and floating-point distributions go through `libm`.

mod binomial;
mod distributions;
mod fill;
mod mass;
pub mod philox;
mod poisson;
mod stream;
mod uniform;

pub use binomial::Binomial;
pub use distributions::DistributionError;
pub use poisson::Poisson;
pub use stream::{DetRng, Domain, StreamKey};
pub use uniform::UniformRange;

#[cfg(test)]
mod tests;
