//! The steps of `cargo xtask verify`, cheapest first, and the commands of each.

use std::fmt;

use clap::ValueEnum;

use crate::cargo::{Call, Cargo, Output};
use crate::error::Error;
use crate::golden;
use crate::python;
use crate::summary::{Runner, Tests};
use crate::workspace::Workspace;

/// The package that builds other people's simulators; it is left out of what is built with all features of ours.
const PEERS: &str = "chaconne-peers";

/// One check of the repository. The order is the order in which they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Step {
    Format,
    Lint,
    Docs,
    Tests,
    TestsNoFeatures,
    Features,
    Doctests,
    Examples,
    Python,
    Benches,
}

/// What a step came to.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// What failed, in a sentence; `None` when nothing did.
    pub(crate) failure: Option<String>,
    pub(crate) tests: Tests,
    /// What was left out apart from tests, with its reason.
    pub(crate) skips: Vec<String>,
    /// What is worth a word in the table.
    pub(crate) remark: String,
}

/// A command of a step, and how its output is read.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Check {
    call: Call,
    /// Who prints the numbers of tests, for a command that runs some.
    runner: Option<Runner>,
}

impl Step {
    /// The step's name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Step::Format => "format",
            Step::Lint => "lint",
            Step::Docs => "docs",
            Step::Tests => "tests",
            Step::TestsNoFeatures => "tests-no-features",
            Step::Features => "features",
            Step::Doctests => "doctests",
            Step::Examples => "examples",
            Step::Python => "python",
            Step::Benches => "benches",
        }
    }

    /// What the step checks.
    pub(crate) fn about(self) -> &'static str {
        match self {
            Step::Format => "every file is formatted as rustfmt would",
            Step::Lint => "clippy finds nothing in any target of any package",
            Step::Docs => "the documentation builds without a warning",
            Step::Tests => "unit and integration tests pass with all features",
            Step::TestsNoFeatures => "each package that has features passes its tests with none",
            Step::Features => "each package that has features builds with none and with each one alone",
            Step::Doctests => "the examples in the documentation compile and pass",
            Step::Examples => "the examples, in release, end with the hashes of tests/golden.json",
            Step::Python => "programs in Python compute the hashes of a log again, and read what is exported from it",
            Step::Benches => "the benches build, and the comparison with peers passes its tests",
        }
    }

    /// Whether the step runs tests, so that a run with such a step and without a test is a failure.
    pub(crate) fn has_tests(self) -> bool {
        matches!(self, Step::Tests | Step::TestsNoFeatures | Step::Doctests)
    }

    /// Carries the step out. `nextest` says whether cargo-nextest is there.
    pub(crate) fn run(self, workspace: &Workspace, cargo: &Cargo, nextest: bool) -> Result<Outcome, Error> {
        match self {
            Step::Examples => return golden::verify(workspace, cargo),
            Step::Python => return python::verify(workspace, cargo),
            _ => {}
        }
        let mut outcome = Outcome::default();
        for check in self.checks(workspace, nextest) {
            println!("    {}", check.call);
            let output = match check.runner {
                None => Output::Shown,
                Some(Runner::Nextest) => Output::StderrCopied,
                Some(Runner::Libtest) => Output::StdoutCopied,
            };
            let finished = cargo.run(&check.call, output)?;
            if let Some(runner) = check.runner {
                outcome.tests += runner.read(&finished.text);
            }
            if !finished.success {
                outcome.failure = Some(format!("`{}` failed", check.call));
                break;
            }
        }
        Ok(outcome)
    }

    /// The commands of the step, in order.
    ///
    /// Commands share their selection of packages and features as far as they can, because cargo builds a dependency
    /// again for each set of features that a selection gives it.
    fn checks(self, workspace: &Workspace, nextest: bool) -> Vec<Check> {
        let plain = |line: &str| Check { call: Call::new(line), runner: None };
        let featured = || workspace.featured().map(|package| package.name.as_str());
        let ours = format!("--workspace --exclude {PEERS} --all-features");
        match self {
            Step::Format => vec![plain("fmt --all --check")],
            Step::Lint => vec![plain("clippy --workspace --all-targets --all-features -- -D warnings")],
            Step::Docs => {
                let call = Call::new("doc --no-deps --workspace --all-features").env("RUSTDOCFLAGS", "-D warnings");
                vec![Check { call, runner: None }]
            }
            Step::Tests => test_checks(&ours, nextest),
            Step::TestsNoFeatures => {
                featured().flat_map(|name| test_checks(&format!("-p {name} --no-default-features"), nextest)).collect()
            }
            Step::Features => workspace
                .featured()
                .flat_map(|package| {
                    let bare = format!("check -p {} --no-default-features", package.name);
                    let alone = package.features.keys().map(|feature| plain(&format!("{bare} --features {feature}")));
                    std::iter::once(plain(&bare)).chain(alone).collect::<Vec<_>>()
                })
                .collect(),
            Step::Doctests => {
                vec![Check { call: Call::new(&format!("test --doc {ours}")), runner: Some(Runner::Libtest) }]
            }
            Step::Examples | Step::Python => Vec::new(),
            Step::Benches => {
                // With the facade beside them, the benches share the dependencies that the examples were built with.
                let benches = "bench --no-run -p chaconne -p chaconne-benches --bench *";
                [vec![plain(benches)], test_checks(&format!("-p {PEERS}"), nextest)].concat()
            }
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Runs the tests of a selection, but not its doctests, and builds its examples.
fn test_checks(selection: &str, nextest: bool) -> Vec<Check> {
    if nextest {
        // Every failing test is worth seeing. A package without tests is no failure: the sum over all steps is looked at.
        let line = format!("nextest run {selection} --no-fail-fast --status-level skip --no-tests pass");
        return vec![Check { call: Call::new(&line), runner: Some(Runner::Nextest) }];
    }
    // `--tests` leaves the doctests to their own step, and the examples out.
    vec![
        Check { call: Call::new(&format!("build {selection} --examples")), runner: None },
        Check { call: Call::new(&format!("test {selection} --tests --no-fail-fast")), runner: Some(Runner::Libtest) },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    fn lines(step: Step, nextest: bool) -> Vec<String> {
        let checks = step.checks(&workspace::tests::sample(), nextest);
        checks.into_iter().map(|check| check.call.to_string()).collect()
    }

    #[test]
    fn each_feature_is_checked_alone_and_each_package_without_any() {
        assert_eq!(
            lines(Step::Features, true),
            [
                "cargo check -p chaconne --no-default-features",
                "cargo check -p chaconne --no-default-features --features default",
                "cargo check -p chaconne --no-default-features --features traffic",
                "cargo check -p chaconne-laws --no-default-features",
                "cargo check -p chaconne-laws --no-default-features --features bevy",
                "cargo check -p chaconne-laws --no-default-features --features default",
            ]
        );
    }

    #[test]
    fn packages_are_tested_without_features_one_by_one_so_that_none_turns_anothers_on() {
        let lines = lines(Step::TestsNoFeatures, true);
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().all(|line| line.matches(" -p ").count() == 1), "{lines:?}");
    }

    #[test]
    fn without_nextest_cargo_test_leaves_doctests_to_their_step_and_still_builds_the_examples() {
        assert_eq!(
            lines(Step::Tests, false),
            [
                "cargo build --workspace --exclude chaconne-peers --all-features --examples",
                "cargo test --workspace --exclude chaconne-peers --all-features --tests --no-fail-fast",
            ]
        );
    }

    #[test]
    fn no_command_changes_rustflags_because_that_would_build_everything_again() {
        for step in Step::value_variants() {
            for line in lines(*step, true).into_iter().chain(lines(*step, false)) {
                assert!(!line.starts_with("RUSTFLAGS"), "{line}");
            }
        }
    }

    #[test]
    fn a_steps_name_is_what_the_command_line_takes() {
        for step in Step::value_variants() {
            assert_eq!(Step::from_str(step.name(), false).as_ref(), Ok(step));
        }
    }
}
