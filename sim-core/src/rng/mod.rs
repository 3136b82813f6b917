//! temp
pub mod philox;
mod stream;
pub use stream::{DetRng, Domain, StreamKey};
