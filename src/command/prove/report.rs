//! What was found, as a table that grows while the variants run, sentences below it, and a JSON object.

use std::fmt::Display;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::diagnosis::{Diagnosis, diagnose, listed};
use super::outcome::Outcome;
use super::variant::Variant;
use crate::command::console::{counted, say_json, try_say};
use crate::command::program::Failure;
use crate::command::told::Difference;
use crate::prelude::SimTime;

/// One run.
pub(crate) struct Trial {
    pub(crate) outcome: Outcome,
    pub(crate) wall: Duration,
}

/// What was found.
pub(crate) struct Report {
    scenario: String,
    world: String,
    seed: u64,
    end: SimTime,
    reference: Option<Trial>,
    trials: Vec<(Variant, Trial)>,
}

/// Width of the names of variants, and of what is said of them.
const NAME: usize = 10;
const HASH: usize = 32;
const RESULT: usize = 7;

/// Variants that are named where several differ alike; of more the table shows which.
const NAMED: usize = 4;

impl Report {
    pub(crate) fn new(file: &Path, world: &str, seed: u64, end: SimTime) -> Self {
        let scenario = file.display().to_string();
        Self { scenario, world: world.to_owned(), seed, end, reference: None, trials: Vec::new() }
    }

    /// The head of the table.
    pub(crate) fn begin(&self, quiet: bool) -> Result<(), Failure> {
        let Self { scenario, world, seed, end, .. } = self;
        line(quiet, format_args!("{scenario}: world `{world}`, seed {seed}, until {end} s\n"))?;
        line(quiet, row("variant", "world hash", "result", "wall time"))
    }

    /// Takes note of a run, and prints its row.
    pub(crate) fn add(&mut self, variant: Option<Variant>, trial: Trial, quiet: bool) -> Result<(), Failure> {
        let Trial { outcome, wall } = trial;
        let outcome = match self.reference.as_ref().and_then(|reference| reference.outcome.world_hash()) {
            Some(hash) => outcome.beside(hash),
            None => outcome,
        };
        let result = match (variant, &outcome) {
            // It is what the others are compared with.
            (None, Outcome::Whole { .. }) => "",
            (_, outcome) => outcome.name(),
        };
        let hash = match &outcome {
            Outcome::Differs(Difference { instant: Some(instant), time: Some(time), .. }) => {
                format!("from instant {instant} on, at {time} s")
            }
            outcome => outcome.world_hash().unwrap_or("-").to_owned(),
        };
        let name = variant.map_or("reference", Variant::name);
        let seconds = format!("{:.2} s", wall.as_secs_f64());
        let printed = line(quiet, row(name, &hash, result, &seconds));
        let trial = Trial { outcome, wall };
        match variant {
            None => self.reference = Some(trial),
            Some(variant) => self.trials.push((variant, trial)),
        }
        printed
    }

    /// Whether more runs would say nothing: there is nothing to compare them with, or the program was told to stop.
    pub(crate) fn is_over(&self) -> bool {
        let has_reference =
            self.reference.as_ref().is_some_and(|reference| matches!(reference.outcome, Outcome::Whole { .. }));
        !has_reference || self.is_stopped()
    }

    fn is_stopped(&self) -> bool {
        let last = self.trials.last().map(|(_, trial)| trial).or(self.reference.as_ref());
        last.is_some_and(|last| last.outcome == Outcome::Stopped)
    }

    /// What is below the table, the object, and how the program ends.
    pub(crate) fn close(&self, json: bool, quiet: bool) -> Result<(), Failure> {
        let ran: Vec<_> = self.trials.iter().map(|(variant, trial)| (*variant, &trial.outcome)).collect();
        let diagnoses = diagnose(&ran);
        let object = self.object(&diagnoses);
        self.explain(&diagnoses, quiet)?;
        if object.same {
            let runs = object.variants.len();
            line(quiet, format_args!("\n{runs} runs, one world hash"))?;
        }
        if json {
            say_json(&object);
        }
        self.end()
    }

    fn explain(&self, diagnoses: &[Diagnosis], quiet: bool) -> Result<(), Failure> {
        let mut told: Vec<Variant> = Vec::new();
        let has_place = self.trials.iter().any(|(_, trial)| matches!(trial.outcome, Outcome::Differs(_)));
        for (variant, Trial { outcome, .. }) in &self.trials {
            if told.contains(variant) {
                continue;
            }
            // Those that differ at the same place are told together.
            let alike: Vec<Variant> =
                self.trials.iter().filter(|(_, one)| is_alike(outcome, &one.outcome)).map(|one| one.0).collect();
            let names: Vec<&str> = alike.iter().map(|one| one.name()).collect();
            let names = if names.len() > NAMED {
                format!("{} and {} others", names[0], names.len() - 1)
            } else {
                listed(&names)
            };
            told.extend(alike);
            match outcome {
                Outcome::Differs(difference) => {
                    line(quiet, format_args!("\n{names}: {}", place(difference)))?;
                    line(quiet, format_args!("  the reference has {}", difference.expected))?;
                    line(quiet, format_args!("  {} has {}", variant.name(), difference.found))?;
                }
                // Where others tell more, the table is enough.
                Outcome::OtherHash { .. } if !has_place => {
                    line(quiet, format_args!("\n{names}: the world hash differs at the end"))?;
                }
                Outcome::Broken { text, .. } => line(quiet, format_args!("\n{names}: {text}"))?,
                Outcome::OtherHash { .. } | Outcome::Whole { .. } | Outcome::Stopped => {}
            }
        }
        for diagnosis in diagnoses {
            line(quiet, format_args!("\nprobably: {}", diagnosis.text))?;
        }
        Ok(())
    }

    /// How the program ends.
    fn end(&self) -> Result<(), Failure> {
        let count = self.trials.len();
        if self.is_stopped() {
            let done = counted(count.saturating_sub(1) as u64, "variant");
            return Err(Failure::Stopped(format!("the proof was stopped behind {done}")));
        }
        if let Some(Trial { outcome: Outcome::Broken { text, .. }, .. }) = &self.reference {
            return Err(Failure::Run(format!("the reference run failed, so there is nothing to compare with: {text}")));
        }
        let bad = self.trials.iter().filter(|(_, trial)| !matches!(trial.outcome, Outcome::Whole { .. })).count();
        if bad > 0 {
            let differ = if bad == 1 { "differs" } else { "differ" };
            return Err(Failure::Run(format!("{bad} of {count} variants {differ} from the reference, or failed")));
        }
        Ok(())
    }

    fn object<'a>(&'a self, diagnoses: &'a [Diagnosis]) -> Proof<'a> {
        let reference = self.reference.iter().map(|trial| Proven::of("reference", trial));
        let variants = self.trials.iter().map(|(variant, trial)| Proven::of(variant.name(), trial));
        let variants: Vec<Proven<'_>> = reference.chain(variants).collect();
        Proof {
            scenario: &self.scenario,
            world: &self.world,
            seed: self.seed,
            until: self.end,
            same: !self.is_stopped() && variants.iter().all(|one| one.same),
            stopped: self.is_stopped(),
            world_hash: self.reference.as_ref().and_then(|reference| reference.outcome.world_hash()),
            variants,
            diagnosis: diagnoses,
        }
    }
}

/// What `--json` prints.
#[derive(Serialize)]
struct Proof<'a> {
    scenario: &'a str,
    world: &'a str,
    seed: u64,
    until: SimTime,
    /// All are one run.
    same: bool,
    stopped: bool,
    /// The reference's.
    world_hash: Option<&'a str>,
    /// The reference first.
    variants: Vec<Proven<'a>>,
    diagnosis: &'a [Diagnosis],
}

#[derive(Serialize)]
struct Proven<'a> {
    variant: &'a str,
    result: &'static str,
    same: bool,
    /// That of the whole run.
    world_hash: Option<&'a str>,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<&'a Difference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<&'a str>,
    /// The participant that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
}

impl<'a> Proven<'a> {
    fn of(variant: &'a str, Trial { outcome, wall }: &'a Trial) -> Self {
        let (mut difference, mut failure, mut path) = (None, None, None);
        match outcome {
            Outcome::Differs(of) => difference = Some(of),
            Outcome::Broken { text, failed } => {
                failure = Some(text.as_str());
                path = failed.as_ref().map(|failed| failed.path.as_str());
            }
            _ => {}
        }
        Self {
            variant,
            result: outcome.name(),
            same: matches!(outcome, Outcome::Whole { .. }),
            world_hash: outcome.world_hash(),
            seconds: wall.as_secs_f64(),
            difference,
            failure,
            path,
        }
    }
}

/// Whether one sentence is enough for both.
fn is_alike(a: &Outcome, b: &Outcome) -> bool {
    match (a, b) {
        (Outcome::Differs(a), Outcome::Differs(b)) => (a.line, &a.path, &a.field) == (b.line, &b.path, &b.field),
        (Outcome::Broken { text: a, .. }, Outcome::Broken { text: b, .. }) => a == b,
        (Outcome::OtherHash { .. }, Outcome::OtherHash { .. }) => true,
        _ => false,
    }
}

/// Where a run differs, and in what.
fn place(difference: &Difference) -> String {
    let Difference { instant, time, path, field, .. } = difference;
    let mut text = path.as_ref().map_or(String::new(), |path| format!("`{path}`, "));
    text += field;
    if let Some(instant) = instant {
        text += &format!(", at instant {instant}");
    }
    if let Some(time) = time {
        text += &format!(" ({time} s)");
    }
    text
}

fn row(name: &str, hash: &str, result: &str, seconds: &str) -> String {
    format!("  {name:<NAME$}  {hash:<HASH$}  {result:<RESULT$}  {seconds:>9}")
}

/// Prints a line. It can fail, because what was made has to be cleared away first.
fn line(quiet: bool, text: impl Display) -> Result<(), Failure> {
    if quiet {
        return Ok(());
    }
    try_say(text).map_err(|error| Failure::Run(format!("the output cannot be written ({error})")))
}
