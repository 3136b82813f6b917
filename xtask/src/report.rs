//! What `verify` ends with: the cost of each step, every skip, the number of tests.

use std::fmt::Write;
use std::time::Duration;

use crate::steps::{Outcome, Step};
use crate::summary::Tests;

/// The steps that were asked for, as far as they ran.
#[derive(Debug, Default)]
pub(crate) struct Report {
    rows: Vec<Row>,
    tests: Tests,
    skips: Vec<String>,
    failures: Vec<String>,
    notes: Vec<String>,
}

#[derive(Debug)]
struct Row {
    step: Step,
    cost: Option<Duration>,
    tests: u64,
    result: String,
}

impl Report {
    /// Something that a reader should know and that is neither a failure nor a skip.
    pub(crate) fn note(&mut self, note: &str) {
        self.notes.push(note.to_owned());
    }

    /// A step that was left out on request.
    pub(crate) fn left_out(&mut self, step: Step, reason: &str) {
        self.skips.push(format!("step {step}: {reason}"));
    }

    /// A step that a failure before it kept from running.
    pub(crate) fn not_run(&mut self, step: Step) {
        self.rows.push(Row { step, cost: None, tests: 0, result: "not run".to_owned() });
    }

    /// A step that ran. Says whether it passed.
    pub(crate) fn ran(&mut self, step: Step, cost: Duration, outcome: Outcome) -> bool {
        let passed = outcome.failure.is_none() && outcome.tests.failed == 0;
        let result = match (passed, outcome.remark.as_str()) {
            (false, _) => "FAILED".to_owned(),
            (true, "") => "passed".to_owned(),
            (true, remark) => format!("passed, {remark}"),
        };
        let tests = outcome.tests.passed + outcome.tests.failed;
        self.rows.push(Row { step, cost: Some(cost), tests, result });
        self.skips.extend(outcome.tests.skips.iter().chain(&outcome.skips).map(|skip| format!("{step}: {skip}")));
        self.tests += Tests { skips: Vec::new(), ..outcome.tests };
        if !passed {
            let failure = outcome.failure.unwrap_or_else(|| "tests failed".to_owned());
            self.failures.push(format!("{step}: {failure}"));
        }
        passed
    }

    /// Closes the report: a run whose steps all passed and that ran no test where it should have fails, and so does a
    /// run with a skip when none is allowed.
    pub(crate) fn close(&mut self, no_skips: bool) -> bool {
        let complete = self.rows.iter().all(|row| row.cost.is_some());
        let should_test = self.rows.iter().any(|row| row.step.has_tests());
        if self.failures.is_empty() && complete && should_test && self.tests.passed == 0 {
            self.failures.push("no test ran".to_owned());
        }
        if no_skips && !self.skips.is_empty() {
            self.failures.push(format!("{} skipped, and --no-skips allows none", self.skips.len()));
        }
        self.failures.is_empty()
    }

    /// The report as text. `N failed` counts tests, and where a failure is not a test's, the failure itself.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{:<18} {:>8} {:>7}  result\n", "step", "seconds", "tests");
        let mut total = Duration::ZERO;
        for Row { step, cost, tests, result } in &self.rows {
            total += cost.unwrap_or_default();
            let cost = cost.map_or_else(|| "-".to_owned(), |cost| format!("{:.1}", cost.as_secs_f64()));
            let tests = if step.has_tests() { tests.to_string() } else { String::new() };
            line(&mut text, format_args!("{step:<18} {cost:>8} {tests:>7}  {result}"));
        }
        let tests = self.tests.passed + self.tests.failed;
        line(&mut text, format_args!("{:<18} {:>8.1} {tests:>7}", "total", total.as_secs_f64()));
        for (title, items) in [("skipped", &self.skips), ("notes", &self.notes), ("failed", &self.failures)] {
            if !items.is_empty() {
                line(&mut text, format_args!("\n{title}:"));
            }
            for item in items {
                line(&mut text, format_args!("  {item}"));
            }
        }
        let passed = self.tests.passed;
        let failed = self.tests.failed.max(u64::from(!self.failures.is_empty()));
        let skipped = self.skips.len();
        line(&mut text, format_args!("\n{passed} passed, {failed} failed"));
        line(&mut text, format_args!("verify: {passed} passed, {failed} failed, {skipped} skipped"));
        text
    }
}

fn line(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    writeln!(text, "{arguments}").expect("a string takes whatever is written to it");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tested(passed: u64, failed: u64, skips: &[&str]) -> Outcome {
        let skips = skips.iter().map(|skip| (*skip).to_owned()).collect();
        Outcome { tests: Tests { passed, failed, skips }, ..Outcome::default() }
    }

    #[test]
    fn a_run_that_passed_ends_with_its_numbers() {
        let mut report = Report::default();
        assert!(report.ran(Step::Format, Duration::from_millis(440), Outcome::default()));
        assert!(report.ran(Step::Tests, Duration::from_secs(61), tested(12, 0, &["roads slow: marked #[ignore]"])));
        assert!(report.ran(Step::Doctests, Duration::from_secs(2), tested(3, 0, &[])));
        assert!(report.close(false));
        let expected = "\
step                seconds   tests  result
format                  0.4          passed
tests                  61.0      12  passed
doctests                2.0       3  passed
total                  63.4      15

skipped:
  tests: roads slow: marked #[ignore]

15 passed, 0 failed
verify: 15 passed, 0 failed, 1 skipped
";
        assert_eq!(report.text(), expected);
    }

    #[test]
    fn a_failed_step_fails_the_run_and_the_rest_is_listed_as_not_run() {
        let mut report = Report::default();
        let failure = Some("`cargo fmt` failed".to_owned());
        assert!(!report.ran(Step::Format, Duration::ZERO, Outcome { failure, ..Outcome::default() }));
        report.not_run(Step::Tests);
        assert!(!report.close(false));
        let text = report.text();
        assert!(text.contains("not run") && text.contains("format: `cargo fmt` failed"), "{text}");
        assert!(!text.contains("no test ran"), "{text}");
        assert!(text.ends_with("verify: 0 passed, 1 failed, 0 skipped\n"), "{text}");
    }

    #[test]
    fn failed_tests_are_counted_as_tests() {
        let mut report = Report::default();
        assert!(!report.ran(Step::Tests, Duration::ZERO, tested(5, 2, &[])));
        assert!(!report.close(false));
        assert!(report.text().ends_with("\n5 passed, 2 failed\nverify: 5 passed, 2 failed, 0 skipped\n"));
    }

    #[test]
    fn steps_with_tests_that_ran_none_fail() {
        let mut report = Report::default();
        assert!(report.ran(Step::Tests, Duration::ZERO, tested(0, 0, &[])));
        assert!(!report.close(false));
        assert!(report.text().contains("no test ran"));
    }

    #[test]
    fn a_run_of_steps_without_tests_needs_none() {
        let mut report = Report::default();
        assert!(report.ran(Step::Lint, Duration::ZERO, Outcome::default()));
        assert!(report.close(false));
    }

    #[test]
    fn a_skip_fails_the_run_only_when_none_is_allowed() {
        for (no_skips, passes) in [(false, true), (true, false)] {
            let mut report = Report::default();
            report.left_out(Step::Lint, "--only format");
            report.ran(Step::Format, Duration::ZERO, Outcome::default());
            assert_eq!(report.close(no_skips), passes);
        }
    }
}
