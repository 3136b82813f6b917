//! Reads how many tests ran from what cargo-nextest, `cargo test` and Python's `unittest` print.

use std::collections::BTreeSet;
use std::ops::AddAssign;

/// What a run of tests came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tests {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    /// One line for each test that did not run: its name, and why.
    pub(crate) skips: Vec<String>,
}

impl AddAssign for Tests {
    fn add_assign(&mut self, other: Tests) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skips.extend(other.skips);
    }
}

/// The program whose output is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runner {
    /// `cargo nextest run --status-level skip`.
    Nextest,
    /// `cargo test`, which also runs the doctests.
    Libtest,
}

impl Runner {
    /// Adds up the summaries in `output`, which may be coloured.
    pub(crate) fn read(self, output: &str) -> Tests {
        let plain = without_escapes(output);
        match self {
            Runner::Nextest => read_nextest(&plain),
            Runner::Libtest => read_libtest(&plain),
        }
    }
}

/// Reads lines such as `Summary [ 0.01s] 2/5 tests run: 1 passed (1 slow), 1 failed, 2 skipped` and `SKIP [ ] (─) crate test`.
fn read_nextest(output: &str) -> Tests {
    let mut tests = Tests::default();
    let mut skipped = 0;
    // A skipped test can be listed twice: as it comes, and again at the end of a run that failed.
    let mut names = BTreeSet::new();
    for line in output.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("SKIP [") {
            let name = rest.split_once(']').map_or(rest, |(_, name)| name).trim();
            let name = name.strip_prefix('(').and_then(|name| name.split_once(')')).map_or(name, |(_, name)| name);
            names.insert(name.trim());
        } else if line.starts_with("Summary [")
            && let Some((_, counts)) = line.split_once(" run: ")
        {
            for (count, word) in without_parentheses(counts).split(',').filter_map(count_and_word) {
                match word {
                    "passed" => tests.passed += count,
                    "skipped" => skipped += count,
                    // failed, timed out, exec failed: whatever did not pass.
                    _ => tests.failed += count,
                }
            }
        }
    }
    tests.skips = names.into_iter().map(|name| format!("{name}: marked #[ignore]")).collect();
    for _ in tests.skips.len() as u64..skipped {
        tests.skips.push("a test that cargo-nextest skipped without naming it".to_owned());
    }
    tests
}

/// Reads lines such as `test result: ok. 2 passed; 0 failed; 1 ignored; …` and `test name ... ignored, reason`.
fn read_libtest(output: &str) -> Tests {
    let mut tests = Tests::default();
    for line in output.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("test result: ") {
            let counts = rest.split_once(". ").map_or(rest, |(_, counts)| counts);
            for (count, word) in counts.split(';').filter_map(count_and_word) {
                match word {
                    "passed" => tests.passed += count,
                    "failed" => tests.failed += count,
                    _ => {}
                }
            }
        } else if let Some((name, reason)) = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... ignored"))
        {
            let reason = reason.strip_prefix(", ").unwrap_or("marked as ignored, without a reason");
            tests.skips.push(format!("{name}: {reason}"));
        }
    }
    tests
}

/// Reads what `unittest -v` prints: lines such as `test_a (module.Case) ... skipped 'reason'`, and at the end
/// `Ran 4 tests in 0.1s` and `FAILED (failures=1, errors=1, skipped=1)`.
pub(crate) fn read_unittest(output: &str) -> Tests {
    let mut tests = Tests::default();
    let mut ran = 0;
    for line in output.lines().map(str::trim) {
        if let Some((name, reason)) = line.split_once(" ... skipped ") {
            let name = name.split_once(' ').map_or(name, |(name, _)| name);
            tests.skips.push(format!("{name}: {}", reason.trim_matches(['\'', '"'])));
        } else if let Some(count) = line.strip_prefix("Ran ") {
            ran = count_and_word(count).map_or(0, |(count, _)| count);
        } else if let Some(counts) = line.strip_prefix("FAILED (").and_then(|rest| rest.strip_suffix(')')) {
            let counts = counts.split(',').filter_map(|item| item.trim().split_once('='));
            let failed = counts.filter(|(word, _)| matches!(*word, "failures" | "errors" | "unexpected successes"));
            tests.failed = failed.filter_map(|(_, count)| count.parse::<u64>().ok()).sum();
        }
    }
    tests.passed = ran.saturating_sub(tests.failed + tests.skips.len() as u64);
    tests
}

/// Splits `"  3 timed out"` into its number and its words.
fn count_and_word(item: &str) -> Option<(u64, &str)> {
    let (count, word) = item.trim().split_once(' ')?;
    Some((count.parse().ok()?, word.trim()))
}

/// Drops `(…)`, in which cargo-nextest says how many of a count were slow, flaky or leaky.
fn without_parentheses(text: &str) -> String {
    let mut depth = 0_u32;
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            c if depth == 0 => plain.push(c),
            _ => {}
        }
    }
    plain
}

/// Drops the escape sequences with which terminals are coloured: `ESC [`, parameters, one letter.
fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\u{1b}' {
            plain.push(c);
        } else if chars.next() == Some('[') {
            // The letter that ends the sequence is dropped with it.
            let _ = chars.by_ref().find(char::is_ascii_alphabetic);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nextest_counts_and_names_what_it_skipped() {
        let output = "
    Starting 2 tests across 1 binary (2 tests skipped)
        SKIP [         ] (───) roads slow_one
        SKIP [         ] (───) roads::curves slow_two
        PASS [   0.005s] (1/2) roads ok
     Summary [   0.005s] 2 tests run: 2 passed (1 slow, 1 leaky), 2 skipped
";
        let skips = vec!["roads slow_one: marked #[ignore]".into(), "roads::curves slow_two: marked #[ignore]".into()];
        assert_eq!(Runner::Nextest.read(output), Tests { passed: 2, failed: 0, skips });
    }

    #[test]
    fn nextest_counts_everything_that_did_not_pass_as_failed() {
        let output = "Summary [   9.071s] 4/5 tests run: 1 passed, 1 failed (1 due to being leaky), 1 timed out, 1 exec failed, 0 skipped";
        let tests = Runner::Nextest.read(output);
        assert_eq!((tests.passed, tests.failed, tests.skips.len()), (1, 3, 0));
    }

    #[test]
    fn nextest_is_read_through_its_colours() {
        let output = "\u{1b}[31;1m     Summary\u{1b}[0m [   0.071s] \u{1b}[1m1\u{1b}[0m test run: \u{1b}[1m1\u{1b}[0m \u{1b}[32;1mpassed\u{1b}[0m, \u{1b}[1m1\u{1b}[0m \u{1b}[33;1mskipped\u{1b}[0m";
        let tests = Runner::Nextest.read(output);
        assert_eq!((tests.passed, tests.failed), (1, 0));
        assert_eq!(tests.skips, ["a test that cargo-nextest skipped without naming it"]);
    }

    #[test]
    fn libtest_summaries_of_several_binaries_add_up() {
        let output = "
test ign ... ignored, needs a moon
test src/lib.rs - a (line 5) ... ignored
test ok ... ok
test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s
test result: FAILED. 3 passed; 4 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s
";
        let skips =
            vec!["ign: needs a moon".into(), "src/lib.rs - a (line 5): marked as ignored, without a reason".into()];
        assert_eq!(Runner::Libtest.read(output), Tests { passed: 5, failed: 4, skips });
    }

    #[test]
    fn unittest_counts_and_names_what_it_skipped() {
        let output = "
test_a (__main__.Logs) ... ok
test_b (__main__.Logs.test_b) ... skipped 'needs a moon'
test_c (__main__.Logs) ... FAIL
----------------------------------------------------------------------
Ran 5 tests in 0.105s

FAILED (failures=1, errors=1, skipped=1)
";
        let skips = vec!["test_b: needs a moon".into()];
        assert_eq!(read_unittest(output), Tests { passed: 2, failed: 2, skips });
        assert_eq!(read_unittest("Ran 44 tests in 0.1s\n\nOK\n"), Tests { passed: 44, ..Tests::default() });
        assert_eq!(read_unittest("SyntaxError: invalid syntax\n"), Tests::default());
    }

    #[test]
    fn output_without_a_summary_counts_nothing() {
        for runner in [Runner::Nextest, Runner::Libtest] {
            assert_eq!(runner.read("error: could not compile `roads`\n"), Tests::default());
        }
    }
}
