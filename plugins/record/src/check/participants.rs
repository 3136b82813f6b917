//! Who is in the world, as far as a log has said: who is due when, and which signal of whom comes next.

use std::collections::BTreeMap;

use chaconne_sim_core::path::ActorPath;
use chaconne_sim_core::time::SimTime;

/// Who is in the world, as far as the log has said.
#[derive(Default)]
pub(super) struct Participants {
    index: BTreeMap<Box<str>, usize>,
    pub(super) rows: Vec<Row>,
    /// Rows of those who left.
    free: Vec<usize>,
    /// How many are due at each time.
    pub(super) due: BTreeMap<SimTime, usize>,
    /// The row after the one that stepped last: who steps next, as a rule.
    pub(super) likely: usize,
    /// Not everybody is known, because instants are missing.
    partial: bool,
    /// Counts the gaps.
    gaps: u32,
}

pub(super) struct Row {
    pub(super) path: Box<str>,
    /// `None` for one that has left.
    next_due: Option<SimTime>,
    last_step: Option<SimTime>,
    /// It is to leave at this time, which was said before.
    leaves_at: Option<SimTime>,
    /// Sequence number of its next signal, or the least that it can be where instants are missing.
    pub(super) seq: u64,
    pub(super) seq_is_known: bool,
    /// The number of gaps when it was heard of last: what was known of it before the last one may not hold any more.
    heard: u32,
    /// Who stepped after it last time.
    pub(super) successor: usize,
}

impl Participants {
    fn find(&mut self, path: &str) -> Option<usize> {
        if self.rows.get(self.likely).is_some_and(|row| *row.path == *path) {
            return Some(self.likely);
        }
        self.index.get(path).copied()
    }

    /// Somebody who has not been heard of.
    fn add(&mut self, path: &str) -> usize {
        let at = self.free.pop().unwrap_or(self.rows.len());
        self.index.insert(path.into(), at);
        let row = Row {
            path: path.into(),
            next_due: None,
            last_step: None,
            leaves_at: None,
            seq: 0,
            seq_is_known: !self.partial,
            heard: self.gaps,
            successor: at + 1,
        };
        match self.rows.get_mut(at) {
            Some(free) => *free = row,
            None => self.rows.push(row),
        }
        at
    }

    /// Takes in that instants are missing: anybody may have joined, stepped and left in them.
    pub(super) fn lose(&mut self) {
        self.gaps += 1;
        self.partial = true;
        self.due.clear();
        for row in &mut self.rows {
            (row.next_due, row.last_step, row.leaves_at, row.seq_is_known) = (None, None, None, false);
        }
    }

    /// Who has this path, if anything is known of it since instants were missing; otherwise it may be anywhere, which
    /// is `Err`, with its row if it has one.
    fn known(&mut self, path: &str) -> Result<usize, Option<usize>> {
        match self.find(path) {
            Some(at) if self.rows[at].heard == self.gaps => Ok(at),
            lost => Err(lost),
        }
    }

    /// Somebody of whom something is heard for the first time since instants were missing.
    fn hear(&mut self, path: &str, lost: Option<usize>) -> usize {
        let at = lost.unwrap_or_else(|| self.add(path));
        self.rows[at].heard = self.gaps;
        at
    }

    fn set_due(&mut self, at: usize, next_due: Option<SimTime>) {
        let before = std::mem::replace(&mut self.rows[at].next_due, next_due);
        if before == next_due {
            return;
        }
        if let Some(time) = before
            && let Some(count) = self.due.get_mut(&time)
        {
            *count -= 1;
            if *count == 0 {
                self.due.remove(&time);
            }
        }
        if let Some(time) = next_due.filter(|time| *time != SimTime::MAX) {
            *self.due.entry(time).or_default() += 1;
        }
    }

    /// Whether this one is due now and leaves right behind.
    pub(super) fn leaves_behind(&mut self, path: &str, now: SimTime) -> bool {
        self.known(path).is_ok_and(|at| self.rows[at].leaves_at.is_some() && self.rows[at].next_due == Some(now))
    }

    /// Takes in that somebody joins, whose first signal has a number; the least that it can be where instants are missing.
    pub(super) fn join(&mut self, path: &str, time: SimTime, first_seq: u64) -> Result<(), String> {
        if ActorPath::new(path).is_err() {
            return Err(format!("join: `{path}` is not a path"));
        }
        let at = match self.known(path) {
            Ok(at) if self.rows[at].next_due.is_some() => {
                return Err(format!("join: `{path}` joins, and is in the world already"));
            }
            Ok(at) => at,
            Err(lost) => self.hear(path, lost),
        };
        self.set_due(at, Some(time));
        let is_known = !self.partial;
        let row = &mut self.rows[at];
        row.seq = if is_known { first_seq } else { row.seq.max(first_seq) };
        (row.seq_is_known, row.last_step) = (is_known, None);
        Ok(())
    }

    /// Takes in that somebody is not stepped from a time on.
    pub(super) fn leave(&mut self, path: &str, time: SimTime) -> Result<(), String> {
        match self.known(path) {
            Ok(at) if self.rows[at].next_due.is_some() => {
                if let Some(last) = self.rows[at].last_step.filter(|last| *last >= time) {
                    return Err(format!("leave: `{path}` leaves at {time} s, and has stepped at {last} s"));
                }
                self.rows[at].leaves_at = Some(time);
                self.let_leave(at);
            }
            Err(lost) if self.partial => {
                self.hear(path, lost);
            }
            _ => return Err(format!("leave: `{path}` leaves, and is not in the world")),
        }
        Ok(())
    }

    /// Who is not due any more before the time of leaving has left.
    fn let_leave(&mut self, at: usize) {
        let row = &mut self.rows[at];
        if row.leaves_at.is_some_and(|time| row.next_due.is_none_or(|due| due >= time)) {
            row.leaves_at = None;
            self.set_due(at, None);
            if !self.partial {
                self.forget(at);
            }
        }
    }

    /// Forgets one that left: only where instants are missing there is something to know of it.
    fn forget(&mut self, at: usize) {
        self.index.remove(&self.rows[at].path);
        self.rows[at].path = Box::default();
        self.free.push(at);
    }

    /// Takes a step in: it has to be due now.
    pub(super) fn step(&mut self, path: &str, now: SimTime, next_due: SimTime) -> Result<usize, String> {
        let at = match self.known(path) {
            Ok(at) => at,
            Err(lost) if self.partial => {
                let at = self.hear(path, lost);
                self.set_due(at, Some(now));
                at
            }
            Err(_) => return Err(format!("steps: `{path}` steps at {now} s, and is not in the world")),
        };
        match self.rows[at].next_due {
            Some(due) if due == now => {}
            Some(due) if due == SimTime::MAX => {
                return Err(format!("steps: `{path}` steps at {now} s, and was never to be due again"));
            }
            Some(due) => return Err(format!("steps: `{path}` steps at {now} s, and was due next at {due} s")),
            None => return Err(format!("steps: `{path}` steps at {now} s, and has left the world")),
        }
        if next_due <= now {
            return Err(format!("next due: `{path}` steps at {now} s and is due next at {next_due} s, not later"));
        }
        self.set_due(at, Some(next_due));
        self.rows[at].last_step = Some(now);
        self.let_leave(at);
        Ok(at)
    }

    /// A participant that is due before a time and has not stepped.
    pub(super) fn overdue(&self, before: SimTime) -> Option<(&str, SimTime)> {
        let (&time, _) = self.due.range(..before).next()?;
        let row = self.rows.iter().find(|row| row.next_due == Some(time))?;
        Some((&row.path, time))
    }
}
