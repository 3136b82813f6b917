//! The fuzzer's question, asked of a corpus and of mutations that are the same at every run.

mod fuzz_one;
mod toys;

use chaconne_sim_core::rng::{DetRng, Domain, StreamKey};
use fuzz_one::fuzz_one;

const CORPUS: [&str; 4] = [
    include_str!("corpus/whole.json5"),
    include_str!("corpus/mistakes.json5"),
    include_str!("corpus/text.json5"),
    include_str!("corpus/hosts.json5"),
];

/// What a mutation puts in: words of the format, signs of JSON5, and values at the ends of ranges.
const WORDS: [&str; 43] = [
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "'",
    "\"",
    "\\",
    "\\u",
    "//",
    "/*",
    "*/",
    "\n",
    "\r\n",
    "\u{2028}",
    "\u{feff}",
    "é",
    "0",
    "-",
    "1e999",
    "1e-9",
    "0x",
    "9223372036.854775807",
    "null",
    "NaN",
    "{}",
    "[]",
    "path: 'a',",
    "type: 'car',",
    "type: 'herd',",
    "children: [],",
    "params: {},",
    "at: 1,",
    "leaves_at: 2,",
    "host: 'local',",
    "host: 'process',",
    "helper: 'a',",
    "timeout: 1,",
    "memory_mib: 16,",
    "budget: 1e-3,",
    "world: 'w',",
    "/",
];

fn mutated(text: &str, rng: &mut DetRng) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    let below = |rng: &mut DetRng, end: usize| rng.below(end.max(1) as u64) as usize;
    for _ in 0..=below(rng, 4) {
        let at = below(rng, bytes.len() + 1);
        let end = (at + below(rng, 12)).min(bytes.len());
        match below(rng, 5) {
            0 => drop(bytes.drain(at..end)),
            1 => drop(bytes.splice(at..at, bytes[at..end].to_vec())),
            2 => drop(bytes.splice(at..end, WORDS[below(rng, WORDS.len())].bytes())),
            3 => drop(bytes.splice(at..at, WORDS[below(rng, WORDS.len())].bytes())),
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << below(rng, 8);
                }
            }
        }
    }
    bytes
}

#[test]
fn the_corpus_is_read_with_the_mistakes_that_it_was_written_with() {
    assert_eq!(fuzz_one(CORPUS[0].as_bytes()), 0);
    assert!(fuzz_one(CORPUS[1].as_bytes()) >= 8);
    assert_eq!(fuzz_one(CORPUS[2].as_bytes()), 0);
    assert_eq!(fuzz_one(CORPUS[3].as_bytes()), 0);
    for text in CORPUS {
        for end in 0..text.len() {
            fuzz_one(&text.as_bytes()[..end]);
        }
    }
}

#[test]
fn no_mutation_panics_or_is_refused_outside_its_text() {
    let streams = StreamKey::new(42, Domain::SetUp, "scenario", "mutations", 0);
    let (mut whole, mut faulty) = (0, 0);
    for round in 0..20_000 {
        let mut rng = streams.stream(round);
        let text = CORPUS[rng.below(CORPUS.len() as u64) as usize];
        match fuzz_one(&mutated(text, &mut rng)) {
            0 => whole += 1,
            _ => faulty += 1,
        }
    }
    // Both kinds come up often enough to say something.
    assert!(whole > 500 && faulty > 10_000, "{whole} whole, {faulty} faulty");
}
