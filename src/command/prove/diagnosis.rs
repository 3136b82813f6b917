//! What is probably wrong, from which variants differ.
//!
//! The rules stand in `docs/determinism.md`, too.

use serde::Serialize;

use super::outcome::Outcome;
use super::variant::Variant;
use crate::prelude::SimTime;

/// Why runs differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Cause {
    /// What every process, or every moment, has another of.
    Ambient,
    /// State that is not in the participant.
    Outside,
    /// A signal whose text does not hold all of its value.
    Text,
    /// The number of threads.
    Threads,
    /// The pace of the run.
    Pace,
    /// What shows in some runs and not in others, without a pattern.
    Luck,
}

/// What is probably wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Diagnosis {
    pub(crate) cause: Cause,
    /// The participant in which it shows first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
    /// The variants that it explains.
    pub(crate) variants: Vec<&'static str>,
    /// In one sentence.
    pub(crate) text: String,
}

/// A variant that is not the run that the reference was.
struct Evidence<'a> {
    variant: Variant,
    time: Option<SimTime>,
    path: Option<&'a str>,
    /// What a participant that failed said.
    text: Option<&'a str>,
}

impl<'a> Evidence<'a> {
    fn of(variant: Variant, outcome: &'a Outcome) -> Option<Self> {
        let none = Self { variant, time: None, path: None, text: None };
        match outcome {
            Outcome::Differs(difference) => {
                Some(Self { time: difference.time, path: difference.path.as_deref(), ..none })
            }
            Outcome::OtherHash { .. } => Some(none),
            // A process that did not end, or not well, says nothing of the world.
            Outcome::Broken { failed: Some(failed), .. } => {
                Some(Self { time: failed.time, path: Some(&failed.path), text: Some(&failed.text), ..none })
            }
            _ => None,
        }
    }
}

/// What is probably wrong, given what became of each variant that was run.
pub(crate) fn diagnose(ran: &[(Variant, &Outcome)]) -> Vec<Diagnosis> {
    use Variant::{Again, Guarded, Mixed, NoTyped, Paced, Process, SecondRun, Threads2, Threads8};
    let mut left: Vec<Evidence<'_>> =
        ran.iter().filter_map(|(variant, outcome)| Evidence::of(*variant, outcome)).collect();
    let differing: Vec<Variant> = left.iter().map(|one| one.variant).collect();
    let differs = |variant: Variant| differing.contains(&variant);
    let was_run = |variant: Variant| ran.iter().any(|(other, _)| *other == variant);
    let mut found = Vec::new();
    // Each takes what it explains; what has been taken still says where it shows first.
    let mut take = |cause: Cause, explains: &[Variant]| {
        let (taken, others): (Vec<_>, Vec<_>) = left.drain(..).partition(|one| explains.contains(&one.variant));
        left = others;
        if !taken.is_empty() {
            found.push(diagnosis(cause, &taken));
        }
    };
    if differs(Again) {
        take(Cause::Ambient, &Variant::ALL);
        return found;
    }
    let is_text = differs(NoTyped) || (!was_run(NoTyped) && !differs(SecondRun) && !differs(Guarded));
    match (differs(SecondRun), is_text) {
        (true, false) => take(Cause::Outside, &[SecondRun, Guarded, Process, Mixed]),
        (true, true) => {
            take(Cause::Outside, &[SecondRun, Guarded]);
            take(Cause::Text, &[NoTyped, Process, Mixed]);
        }
        (false, true) => {
            take(Cause::Text, &[NoTyped, Process, Mixed]);
            take(Cause::Outside, &[Guarded]);
        }
        (false, false) => take(Cause::Outside, &[Guarded, Process, Mixed]),
    }
    take(Cause::Threads, &[Threads2, Threads8]);
    take(Cause::Pace, &[Paced]);
    take(Cause::Luck, &Variant::ALL);
    if !was_run(Again) {
        for one in &mut found {
            one.text += "; or it differs in any other process, which the variant `again` shows";
        }
    }
    found
}

fn diagnosis(cause: Cause, evidence: &[Evidence<'_>]) -> Diagnosis {
    // The first that has a place: hashes alone have none.
    let first = evidence.iter().filter(|one| one.path.is_some()).min_by_key(|one| one.time);
    let path = first.and_then(|one| one.path);
    let who = path.map_or("something in it".to_owned(), |path| format!("`{path}`"));
    let variants: Vec<&'static str> = evidence.iter().map(|one| one.variant.name()).collect();
    let text = match cause {
        Cause::Ambient => format!(
            "{who} depends on what every process has another of: the wall clock, entropy of the operating system, the order \
             of a hash table, or an address"
        ),
        Cause::Outside => format!(
            "{who} keeps state outside of the participant, in a static or a thread-local, which other runs, threads and \
             processes do not find as it left it"
        ),
        Cause::Text => match first.and_then(|one| unfaithful(one.text?)) {
            Some((key, type_name)) => format!(
                "the JSON of a value of type `{type_name}`, which {who} publishes under `{key}`, does not hold all of it, so \
                 that receivers get the whole value only where it is not sent as text"
            ),
            None => format!(
                "the JSON of a signal does not hold all of its value, which shows in {who}: look at the types of what it \
                 publishes and receives"
            ),
        },
        Cause::Threads => format!(
            "{who} depends on the number of threads: it cuts a sum into as many parts, say, or uses what threads share in the \
             order in which they come"
        ),
        Cause::Pace => format!("{who} depends on the pace of the run: on the wall clock, or on who is ready first"),
        Cause::Luck => format!(
            "{who} differs in {} and in no run like it: it depends on luck, as with a wall clock that is read rarely or threads \
             that race; prove it again, or with a later --until",
            listed(&variants)
        ),
    };
    Diagnosis { cause, path: path.map(str::to_owned), variants, text }
}

/// Key and type, if a sentence says that a value does not read back from its text.
fn unfaithful(text: &str) -> Option<(&str, &str)> {
    let between = |start: &str| text.split_once(start)?.1.split_once('`').map(|(name, _)| name);
    text.contains("does not read back from its own text").then_some(())?;
    Some((between("cannot publish `")?, between("a value of type `")?))
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::told::{Difference, Failed};
    use crate::sim_core::error::PublishError;

    fn differs(path: &str, second: i32) -> Outcome {
        Outcome::Differs(Difference {
            line: 1,
            instant: Some(0),
            time: Some(SimTime::from_secs(second)),
            path: Some(path.to_owned()),
            field: "payload".to_owned(),
            expected: "1".to_owned(),
            found: "2".to_owned(),
        })
    }

    /// The causes and participants that are found when these variants differ and all others do not.
    fn causes(differing: &[(Variant, Outcome)]) -> Vec<(Cause, Option<String>)> {
        let same = Outcome::Whole { world_hash: "same".to_owned() };
        let outcome = |variant| differing.iter().find(|(other, _)| *other == variant).map_or(&same, |(_, one)| one);
        let ran: Vec<(Variant, &Outcome)> = Variant::ALL.map(|variant| (variant, outcome(variant))).to_vec();
        diagnose(&ran).into_iter().map(|one| (one.cause, one.path)).collect()
    }

    #[test]
    fn nothing_is_wrong_where_nothing_differs_or_a_process_just_does_not_end() {
        assert_eq!(causes(&[]), []);
        let slow = Outcome::Broken { text: "it took longer than 1 s".to_owned(), failed: None };
        assert_eq!(causes(&[(Variant::Process, slow)]), []);
    }

    #[test]
    fn what_differs_in_another_process_explains_everything_and_is_named_where_it_shows_first() {
        let found = causes(&[
            (Variant::Again, differs("late", 3)),
            (Variant::Threads2, differs("early", 1)),
            (Variant::NoTyped, differs("later", 4)),
        ]);
        assert_eq!(found, [(Cause::Ambient, Some("early".to_owned()))]);
    }

    #[test]
    fn each_pattern_has_its_cause() {
        use Variant::{Guarded, Mixed, NoTyped, Paced, Process, Recorded, SecondRun, Threads8};
        for (variants, cause) in [
            (&[SecondRun][..], Cause::Outside),
            (&[SecondRun, Guarded, Mixed], Cause::Outside),
            (&[Guarded], Cause::Outside),
            (&[Process, Mixed], Cause::Outside),
            (&[NoTyped, Process, Mixed], Cause::Text),
            (&[NoTyped], Cause::Text),
            (&[Threads8], Cause::Threads),
            (&[Paced], Cause::Pace),
            (&[Recorded], Cause::Luck),
        ] {
            let differing: Vec<_> = variants.iter().map(|variant| (*variant, differs("it", 1))).collect();
            assert_eq!(causes(&differing), [(cause, Some("it".to_owned()))], "{variants:?}");
        }
    }

    #[test]
    fn two_faults_are_told_apart() {
        use Variant::{NoTyped, Process, SecondRun, Threads2};
        let found = causes(&[
            (SecondRun, differs("static", 1)),
            (Threads2, differs("sum", 1)),
            (NoTyped, differs("skipped", 1)),
            (Process, differs("skipped", 1)),
        ]);
        let causes: Vec<Cause> = found.iter().map(|(cause, _)| *cause).collect();
        assert_eq!(causes, [Cause::Outside, Cause::Text, Cause::Threads]);
    }

    #[test]
    fn a_value_that_does_not_read_back_is_told_with_key_and_type() {
        let error =
            PublishError::NotFaithful { key: "chaconne/w/actor/sender/parcel".to_owned(), type_name: "post::Parcel" };
        let text = format!("`sender` failed: {error}");
        let time = Some(SimTime::ZERO);
        let failed = Failed { path: "sender".to_owned(), instant: Some(0), time, text: text.clone() };
        let same = Outcome::Whole { world_hash: String::new() };
        let outcome = Outcome::Broken { text, failed: Some(failed) };
        let found = diagnose(&[(Variant::Again, &same), (Variant::NoTyped, &outcome)]);
        assert_eq!(found[0].cause, Cause::Text);
        for part in ["`post::Parcel`", "`sender`", "`chaconne/w/actor/sender/parcel`"] {
            assert!(found[0].text.contains(part), "{}", found[0].text);
        }
    }
}
