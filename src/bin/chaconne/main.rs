//! The command `chaconne`.

fn main() {}
