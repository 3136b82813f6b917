//! A log.
fn main() {}
