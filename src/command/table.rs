//! Columns that line up, and units.

use std::io::{self, IsTerminal};

use crate::command::console::{count, say};

/// Rows that are shown of a long list on a terminal.
const SHOWN: usize = 20;

/// Prints `name  value` lines, the values below each other; names of several lines stand at the first.
pub(crate) fn pairs(rows: &[(&str, String)]) {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    for (name, value) in rows {
        for (at, line) in value.lines().enumerate() {
            say(format_args!("  {:<width$}  {line}", if at == 0 { name } else { "" }));
        }
    }
}

/// A list with a head: the first column to the left, the others, which are numbers, to the right.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
    /// How many there are, also of those that are not shown.
    total: usize,
    shown: usize,
}

impl Table {
    /// A table with this head. On a terminal only the first rows of many are shown, unless all are asked for.
    pub(crate) fn new<const N: usize>(head: [&str; N], all: bool) -> Self {
        let shown = if all || !io::stdout().is_terminal() { usize::MAX } else { SHOWN };
        Self { rows: vec![head.map(str::to_owned).to_vec()], total: 0, shown }
    }

    /// Adds a row. It is made only when it is shown.
    pub(crate) fn row<const N: usize>(&mut self, cells: impl FnOnce() -> [String; N]) {
        // One more, because a line that says that one is left out would take as much room.
        if self.total <= self.shown {
            self.rows.push(cells().to_vec());
        }
        self.total += 1;
    }

    /// Prints the table, if it has rows.
    pub(crate) fn print(&self) {
        if self.total == 0 {
            return;
        }
        let left_out = self.total.saturating_sub(self.shown);
        let rows = if left_out > 1 { &self.rows[..=self.shown] } else { &self.rows[..] };
        let columns = rows[0].len();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
        let widths: Vec<usize> = (0..columns).map(width).collect();
        say("");
        for row in rows {
            let mut line = format!("  {:<width$}", row[0], width = widths[0]);
            for (cell, width) in row.iter().zip(&widths).skip(1) {
                line += &format!("  {cell:>width$}");
            }
            say(line.trim_end());
        }
        if left_out > 1 {
            say(format_args!("  … and {} more; --all shows them", count(left_out as u64)));
        }
    }
}

/// A number of bytes for people: `512 B`, `4.2 MiB`.
pub(crate) fn bytes(number: u64) -> String {
    if number < 1024 {
        return format!("{number} B");
    }
    let mut amount = number as f64 / 1024.0;
    for unit in ["KiB", "MiB", "GiB"] {
        // Not 1024.0 of a unit, also after rounding.
        if amount < 1023.95 {
            return format!("{amount:.1} {unit}");
        }
        amount /= 1024.0;
    }
    format!("{amount:.1} TiB")
}
