//! Any bytes, read as a scenario. The inputs in `plugins/scenario/tests/corpus` are a good start:
//! `cargo +nightly fuzz run scenario fuzz/corpus/scenario plugins/scenario/tests/corpus`.
#![no_main]

#[path = "../../plugins/scenario/tests/fuzz_one/mod.rs"]
mod fuzz_one;
#[path = "../../plugins/scenario/tests/toys/mod.rs"]
mod toys;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fuzz_one::fuzz_one(bytes);
});
