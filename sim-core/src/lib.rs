//! What every part of Chaconne agrees on. No Bevy (but for two derives behind a feature), no I/O.

pub mod grid;
pub mod math;
pub mod rng;
