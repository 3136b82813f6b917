//! One input of the fuzzer, which is in `fuzz/`; a test on stable Rust uses it too.

use std::path::Path;
use std::sync::OnceLock;

use chaconne_scenario::{Factories, Loaded, Overrides, Scenario, text};

use crate::toys::{Road, check_places, harmless};

/// Reads any bytes as a scenario. Nothing panics, every mistake has a place inside the text, and what is JSON5 can be written as
/// JSON.
///
/// Returns how many mistakes were found.
pub(crate) fn fuzz_one(bytes: &[u8]) -> usize {
    static FACTORIES: OnceLock<Factories> = OnceLock::new();
    let factories = FACTORIES.get_or_init(|| {
        let all = || {
            let mut factories = harmless()?;
            let road = |length: f64, _: &Path| Ok::<_, String>(Loaded::new(Road { length }));
            factories.share("road", "a road of some length", road)?;
            Ok::<_, chaconne_scenario::FactoryError>(factories)
        };
        all().unwrap_or_else(|error| panic!("{error}"))
    });
    let text = match text::decode(bytes) {
        Ok(text) => text,
        Err(error) => {
            assert!(error.place.line <= 1 + bytes.len() && error.place.column <= 1 + bytes.len());
            return 1;
        }
    };
    if let Ok(tree) = text::parse(text) {
        let json = tree.to_json();
        assert_eq!(text::parse(&json).map(|tree| tree.to_json()), Ok(json));
    }
    match Scenario::from_text(text, "fuzz", Path::new(""), factories, Overrides::default()) {
        Ok(_) => 0,
        Err(error) => {
            check_places(text, &error);
            error.errors().len()
        }
    }
}
