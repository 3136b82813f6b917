//! `cargo xtask verify`: every check, cheapest first, stopping at the first failure.

use std::time::Instant;

use clap::ValueEnum;

use crate::cargo::Cargo;
use crate::error::Error;
use crate::prerequisites;
use crate::report::Report;
use crate::steps::{Outcome, Step};
use crate::workspace::Workspace;

/// The command line of `verify`.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Options {
    /// Fails when anything is skipped.
    #[arg(long, conflicts_with_all = ["from", "only"])]
    no_skips: bool,
    /// Starts at this step.
    #[arg(long, value_name = "STEP", conflicts_with = "only")]
    from: Option<Step>,
    /// Runs this step alone.
    #[arg(long, value_name = "STEP")]
    only: Option<Step>,
    /// Lists the steps and what each checks, and runs none.
    #[arg(long)]
    pub(crate) list: bool,
}

impl Options {
    /// Why a step is left out, if it is.
    fn leaves_out(&self, step: Step) -> Option<String> {
        match (self.only, self.from) {
            (Some(only), _) if only != step => Some(format!("left out by --only {only}")),
            (_, Some(from)) if step < from => Some(format!("left out by --from {from}")),
            _ => None,
        }
    }
}

/// Prints the steps in their order.
pub(crate) fn list() {
    for step in Step::value_variants() {
        println!("{step:<18} {}", step.about());
    }
}

/// Runs the steps and prints the report; `false` means that something failed.
pub(crate) fn run(options: &Options, workspace: &Workspace, cargo: &Cargo) -> Result<bool, Error> {
    let mut report = Report::default();
    let mut steps = Vec::new();
    for &step in Step::value_variants() {
        match options.leaves_out(step) {
            Some(reason) => report.left_out(step, &reason),
            None => steps.push(step),
        }
    }
    prerequisites::ensure(&steps, cargo)?;
    let nextest = cargo.succeeds("nextest --version");
    if !nextest && (steps.contains(&Step::Tests) || steps.contains(&Step::TestsNoFeatures)) {
        report.note("cargo-nextest is not installed, so the tests ran with `cargo test`, which takes longer");
    }

    let mut passed = true;
    for (index, &step) in steps.iter().enumerate() {
        if !passed {
            report.not_run(step);
            continue;
        }
        println!("\n==> {step} ({} of {}): {}", index + 1, steps.len(), step.about());
        let start = Instant::now();
        // What goes wrong inside a step is that step's failure: the report is printed either way.
        let outcome = step
            .run(workspace, cargo, nextest)
            .unwrap_or_else(|error| Outcome { failure: Some(error.to_string()), ..Outcome::default() });
        passed = report.ran(step, start.elapsed(), outcome);
    }
    let passed = report.close(options.no_skips);
    print!("\n{}", report.text());
    Ok(passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(options: &Options) -> Vec<Step> {
        Step::value_variants().iter().copied().filter(|step| options.leaves_out(*step).is_none()).collect()
    }

    #[test]
    fn without_options_every_step_runs() {
        assert_eq!(left(&Options::default()), Step::value_variants());
    }

    #[test]
    fn from_leaves_out_what_comes_before() {
        let options = Options { from: Some(Step::Doctests), ..Options::default() };
        assert_eq!(left(&options), [Step::Doctests, Step::Examples, Step::Python, Step::Benches]);
    }

    #[test]
    fn only_leaves_one_step() {
        let options = Options { only: Some(Step::Lint), ..Options::default() };
        assert_eq!(left(&options), [Step::Lint]);
        assert_eq!(options.leaves_out(Step::Format).as_deref(), Some("left out by --only lint"));
    }
}
