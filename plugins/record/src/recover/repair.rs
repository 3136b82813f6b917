//! Instants whose lines are all there, but not as they were: joined, swapped, there twice, or with lines of another
//! instant among them. Whatever is tried, the hash says whether it is right.

use std::collections::BTreeMap;

use super::Recovery;
use super::pieces::pieces;
use crate::error::LogError;
use crate::line::{Line, MembershipLine, SignalLine, TickLine};
use chaconne_sim_core::fingerprint::MembershipKind;

/// So many joins and leaves may be of an instant before, whose `tick` line is lost.
const MOST_FOREIGN: usize = 8;

/// A well-formed line of an instant.
struct Part<'a> {
    number: u64,
    text: &'a [u8],
    line: Line<'a>,
}

impl Recovery<'_> {
    /// Takes the collected lines one by one, and what is joined in them. Lines behind the last `tick` line stay
    /// collected.
    pub(super) fn repair(&mut self) -> Result<(), LogError> {
        self.touched = true;
        let lines = std::mem::take(&mut self.record.lines);
        let mut parts = Vec::new();
        for index in 0..lines.lines.len() {
            let (text, number) = lines.line(index);
            let found = if Line::parse(text).is_ok() { vec![text] } else { pieces(text) };
            for text in found {
                match Line::parse(text) {
                    Ok(line @ (Line::Signal(_) | Line::Membership(_))) => parts.push(Part { number, text, line }),
                    Ok(Line::Tick(tick)) => {
                        self.attempt(&parts, &tick, Part { number, text, line: Line::Tick(tick) })?;
                        parts.clear();
                    }
                    Ok(line) => {
                        if !matches!(line, Line::Observed(_)) {
                            parts.clear();
                        }
                        self.other(line, text)?;
                    }
                    Err(_) => {}
                }
                if self.end.is_some() {
                    return Ok(());
                }
            }
        }
        self.record.lines.clear();
        self.observed.iter_mut().for_each(|observed| observed.0 = 0);
        for Part { number, text, .. } in parts {
            self.record.lines.push(number, text);
        }
        Ok(())
    }

    /// Takes the first arrangement of some lines whose hash is that of their `tick` line.
    fn attempt(&mut self, parts: &[Part<'_>], tick: &TickLine<'_>, tick_part: Part<'_>) -> Result<(), LogError> {
        for arrangement in arrangements(parts, tick) {
            self.record.lines.clear();
            for part in arrangement.iter().map(|at| &parts[*at]).chain([&tick_part]) {
                self.record.lines.push(part.number, part.text);
            }
            if self.record.read().is_ok() && self.checker.is_intact(&self.record) {
                // Where these stood among the lines is not known any more.
                self.observed.iter_mut().for_each(|observed| observed.0 = 0);
                return self.take();
            }
        }
        self.give_up()
    }
}

/// Arrangements of lines that may be those of an instant, the likeliest first: as they stand, then in the order that
/// the format asks for, without those that cannot be of this instant.
fn arrangements(parts: &[Part<'_>], tick: &TickLine<'_>) -> Vec<Vec<usize>> {
    let mut found = vec![(0..parts.len()).collect()];
    let mut steps = BTreeMap::new();
    let mut count = 0_usize;
    let read = tick.steps(|step| {
        steps.insert(step.path, count);
        count += 1;
    });
    if read.is_err() {
        return Vec::new();
    }
    let mut signals = Vec::new();
    // Joins and leaves stand before the signals of their instant, so that those before a signal of another one are not
    // of this.
    let mut first = 0;
    for (at, part) in parts.iter().enumerate() {
        if let Line::Signal(SignalLine { time, path, seq, .. }) = part.line {
            match steps.get(path) {
                Some(step) if time == tick.time => signals.push((*step, seq, at)),
                _ => first = at + 1,
            }
        }
    }
    signals.sort_unstable();
    signals.dedup_by_key(|signal| (signal.0, signal.1));
    let member = |at: usize| match parts[at].line {
        Line::Membership(change) => Some(change),
        _ => None,
    };
    let members: Vec<usize> = (first..parts.len()).filter(|at| member(*at).is_some()).collect();
    let is_timely = |at: &usize| match member(*at) {
        Some(MembershipLine { kind: MembershipKind::Leave, time, .. }) => time == tick.time,
        Some(MembershipLine { time, .. }) => time >= tick.time,
        None => false,
    };
    let is_first = |at: &usize| !members.iter().any(|other| other < at && parts[*other].text == parts[*at].text);
    let mut arrange = |members: Vec<usize>| {
        let arrangement: Vec<usize> = members.into_iter().chain(signals.iter().map(|signal| signal.2)).collect();
        if !found.contains(&arrangement) {
            found.push(arrangement);
        }
    };
    arrange(members.clone());
    if members.is_empty() {
        return found;
    }
    arrange(members.iter().copied().filter(is_timely).collect());
    arrange(Vec::new());
    for skipped in 1..=MOST_FOREIGN.min(members.len()) {
        arrange(members[skipped..].to_vec());
    }
    // Every pair is compared, which is too much for a crowd.
    if members.len() <= 1000 {
        arrange(members.iter().copied().filter(is_first).collect());
    }
    found
}
