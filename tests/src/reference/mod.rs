//! A conductor for comparison: slow, short, and written straight from the rules.
//!
//! It keeps every signal that was ever published and finds out at each step, one by one, which of them the participant may
//! see and has not seen. It shares nothing with the conductor but the types of `sim_core` and the reference functions of
//! the fingerprint; even its key matcher is its own. What the two say of one world must be equal to the last bit.
//!
//! * [`world`]: a world as a value, which either conductor can be given; participants that both can run.
//! * [`conduct`]: the slow conductor.
//! * [`matcher`]: which keys an expression selects.
//! * [`random`]: worlds by number, for comparing the two.

pub mod conduct;
pub mod drive;
pub mod matcher;
pub mod random;
pub mod world;
