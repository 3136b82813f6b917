//! Comparing two logs.

use std::path::Path;

use crate::compare::{Comparison, Difference, Field, Other, halt_text};
use crate::error::LogError;
use crate::instant::InstantRecord;
use crate::line::{End, Last};
use crate::reader::{Block, LogReader};

/// What a comparison of two logs came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffReport {
    /// Number of instants that are equal, from the first on.
    pub equal_ticks: u64,
    /// Where they begin to differ.
    pub difference: Option<Difference>,
}

/// Finds where two logs begin to differ: in the world, not in what is not compared (provenance, `observed` lines).
///
/// # Errors
/// When one of them cannot be read.
pub fn diff(a: impl AsRef<Path>, b: impl AsRef<Path>, mut progress: impl FnMut(f64)) -> Result<DiffReport, LogError> {
    let (mut a, mut b) = (LogReader::open(a)?, LogReader::open(b)?);
    let (mut of_a, mut of_b) = (InstantRecord::default(), InstantRecord::default());
    let mut equal_ticks = 0;
    let header = |field: Field, expected: String, found: String| {
        let place = Place { lines: (1, 1), instant: None };
        DiffReport { equal_ticks: 0, difference: Some(place.difference(field, expected, found)) }
    };
    let (x, y) = (a.header(), b.header());
    if x.world != y.world {
        return Ok(header(Field::World, format!("`{}`", x.world), format!("`{}`", y.world)));
    }
    if x.seed != y.seed {
        return Ok(header(Field::Seed, x.seed.to_string(), y.seed.to_string()));
    }
    loop {
        if let Some(share) = a.progress() {
            progress(share);
        }
        let (next_a, next_b) = (a.next_text(&mut of_a.lines)?, b.next_text(&mut of_b.lines)?);
        let both_instants = matches!((&next_a, &next_b), (Block::Instant, Block::Instant));
        if both_instants && of_a.lines.text == of_b.lines.text {
            equal_ticks += 1;
            continue;
        }
        for (log, record, block) in [(&a, &mut of_a, &next_a), (&b, &mut of_b, &next_b)] {
            if matches!(block, Block::Instant) {
                record.read().map_err(|(line, what)| log.fault(line, what))?;
            }
        }
        let difference = if both_instants {
            Comparison::new(&of_a, &of_b, Other::Log).first()
        } else {
            let place = Place { lines: (line_of(&next_a, &of_a), line_of(&next_b, &of_b)), instant: None };
            let same = match (&next_a, &next_b) {
                (Block::Last { last: x, .. }, Block::Last { last: y, .. }) => is_one_run(x, y),
                (Block::Gap { gap: x, .. }, Block::Gap { gap: y, .. }) => x == y,
                _ => false,
            };
            (!same).then(|| place.difference(field_of(&next_a, &next_b), text(&next_a, &of_a), text(&next_b, &of_b)))
        };
        match difference {
            Some(difference) => return Ok(DiffReport { equal_ticks, difference: Some(difference) }),
            None if matches!(next_a, Block::Last { .. }) => return Ok(DiffReport { equal_ticks, difference: None }),
            None => equal_ticks += u64::from(both_instants),
        }
    }
}

/// Whether two last lines are of runs that did the same. Whether a program reached the end of its run, or let go of it
/// there, is not of the world.
fn is_one_run(a: &Last, b: &Last) -> bool {
    let ended = matches!((&a.end, &b.end), (End::Ended(_), End::Ended(_)));
    (ended || a.end == b.end)
        && (a.ticks, a.steps, a.signals, a.world_hash) == (b.ticks, b.steps, b.signals, b.world_hash)
}

/// What differs where the logs do not both have an instant.
fn field_of(a: &Block, b: &Block) -> Field {
    match (a, b) {
        (Block::Last { last: a, .. }, Block::Last { last: b, .. }) if a.end == b.end => {
            if a.world_hash != b.world_hash { Field::WorldHash } else { Field::Counts }
        }
        _ => Field::End,
    }
}

struct Place {
    lines: (u64, u64),
    instant: Option<(u64, chaconne_sim_core::SimTime)>,
}

impl Place {
    fn difference(&self, field: Field, expected: String, found: String) -> Difference {
        Difference {
            line: self.lines.0,
            other_line: Some(self.lines.1),
            instant: self.instant,
            path: None,
            field,
            expected,
            found,
            other: Other::Log,
        }
    }
}

fn line_of(block: &Block, record: &InstantRecord) -> u64 {
    match block {
        Block::Instant => record.line_numbers().0,
        Block::Gap { line, .. } | Block::Last { line, .. } => *line,
    }
}

fn text(block: &Block, record: &InstantRecord) -> String {
    match block {
        Block::Instant => format!("instant {} at {} s next", record.tick, record.time),
        Block::Gap { gap, .. } => format!("a gap: {gap}"),
        Block::Last { last, .. } => {
            let Last { end, ticks, steps, signals, world_hash } = last;
            let end = match end {
                End::Ended(reason) => format!("its end ({reason})"),
                End::Halted(halted) => halt_text(halted),
            };
            format!("{end} after {ticks} instants, {steps} steps and {signals} signals with world hash {world_hash}")
        }
    }
}
