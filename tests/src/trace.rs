//! Traces: what reaches participants, as lines of text.

use std::sync::{Arc, Mutex};

use chaconne_sim_core::SimTime;

/// Lines that participants write, in the order of their steps. Copies share the lines.
#[derive(Clone, Default)]
pub struct Trace(Arc<Mutex<Vec<String>>>);

impl Trace {
    /// Appends a line.
    ///
    /// # Panics
    /// When another writer has panicked.
    pub fn push(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }

    /// The lines so far.
    ///
    /// # Panics
    /// When a writer has panicked.
    pub fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// A time in seconds, without the zero of whole seconds.
pub fn short(time: SimTime) -> String {
    let text = time.to_string();
    text.strip_suffix(".0").map(str::to_string).unwrap_or(text)
}
