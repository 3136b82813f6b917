//! Lines on stdout, and a line of progress on a terminal. The examples include this file by its path.

use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

/// Runs shorter than this show no progress.
const PATIENCE: Duration = Duration::from_secs(2);

/// Time between two looks of the line of progress.
const REFRESH: Duration = Duration::from_millis(200);

/// Whether a line of progress stands on the terminal.
static SHOWN: AtomicBool = AtomicBool::new(false);

/// Prints a line on stdout. A reader that has gone away (`| head`) is no error; a full disk is, and ends the program.
pub(crate) fn say(line: impl Display) {
    if let Err(error) = try_say(line) {
        complain(&format!("the output cannot be written ({error})"));
        std::process::exit(1);
    }
}

/// As [`say`], for programs that have something to clear away before they end.
pub(crate) fn try_say(line: impl Display) -> io::Result<()> {
    Progress::erase();
    match writeln!(io::stdout().lock(), "{line}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

/// Prints an object on one line.
pub(crate) fn say_json(object: &impl Serialize) {
    // Keys are texts and numbers finite; what is not would be printed as null.
    say(serde_json::to_string(object).unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}")));
}

/// Prints an error on stderr.
pub(crate) fn complain(sentence: &str) {
    // Where stderr is closed there is nobody to tell.
    let _ = writeln!(io::stderr().lock(), "error: {sentence}");
}

/// Says something on stderr that is no error.
pub(crate) fn note(sentence: &str) {
    let _ = writeln!(io::stderr().lock(), "note: {sentence}");
}

/// `12345678` as `12,345,678`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 step`, `1,000 steps`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", count(number))
}

/// A line on stderr that says how far a run is: on a terminal only, and not before two seconds have gone by.
#[derive(Clone)]
pub(crate) struct Progress {
    /// When the line is due next; never where nobody looks.
    due: Option<Instant>,
}

#[allow(clippy::disallowed_methods, reason = "progress is for people; no result depends on it")]
impl Progress {
    /// Progress of what starts now.
    pub(crate) fn new(quiet: bool) -> Self {
        let watched = !quiet && io::stderr().is_terminal();
        Self { due: watched.then(|| Instant::now() + PATIENCE) }
    }

    /// Says that a share of the work is done, in [0, 1]; `what` says of what.
    pub(crate) fn show(&mut self, share: f64, what: impl FnOnce() -> String) {
        let Some(due) = &mut self.due else { return };
        let now = Instant::now();
        if now < *due {
            return;
        }
        *due = now + REFRESH;
        SHOWN.store(true, Ordering::Relaxed);
        let _ = write!(io::stderr().lock(), "\r\x1b[K{:3.0} %  {}", share * 100.0, what());
    }

    /// Takes the line away.
    pub(crate) fn erase() {
        if SHOWN.swap(false, Ordering::Relaxed) {
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }
}
