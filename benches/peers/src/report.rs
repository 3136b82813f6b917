//! Rows of a comparison, as JSON lines or as a table, and progress on a terminal.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

/// What one side achieved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Side {
    /// Who, and in which variant.
    pub(crate) name: &'static str,
    pub(crate) threads: usize,
    /// In the unit of the row; less is better.
    pub(crate) value: f64,
    /// Slowest less fastest run, as a share of the median.
    pub(crate) spread: Option<f64>,
}

/// One comparison: the same work, on both sides.
///
/// Serialized, its numbers are rounded to four significant digits; whether the target is met was decided before.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    work: &'static str,
    /// Participants.
    n: usize,
    ours: Option<f64>,
    theirs: Option<f64>,
    unit: &'static str,
    /// Ours divided by theirs.
    ratio: Option<f64>,
    /// The largest ratio that is good enough.
    target: Option<f64>,
    met: Option<bool>,
    /// Threads of our side.
    threads: Option<usize>,
    peer: Option<&'static str>,
    peer_threads: Option<usize>,
    runs: usize,
    spread: Option<f64>,
    peer_spread: Option<f64>,
    /// Whether runs were too short to be quoted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    quick: bool,
}

impl Row {
    pub(crate) fn new(work: &'static str, n: usize, unit: &'static str, runs: usize) -> Self {
        Self {
            work,
            n,
            ours: None,
            theirs: None,
            unit,
            ratio: None,
            target: None,
            met: None,
            threads: None,
            peer: None,
            peer_threads: None,
            runs,
            spread: None,
            peer_spread: None,
            quick: false,
        }
    }

    pub(crate) fn ours(mut self, side: Option<Side>) -> Self {
        self.ours = side.map(|side| side.value);
        self.threads = side.map(|side| side.threads);
        self.spread = side.and_then(|side| side.spread);
        self.judged()
    }

    pub(crate) fn theirs(mut self, side: Option<Side>) -> Self {
        self.theirs = side.map(|side| side.value);
        self.peer = side.map(|side| side.name);
        self.peer_threads = side.map(|side| side.threads);
        self.peer_spread = side.and_then(|side| side.spread);
        self.judged()
    }

    pub(crate) fn target(mut self, target: Option<f64>) -> Self {
        self.target = target;
        self.judged()
    }

    fn judged(mut self) -> Self {
        self.ratio = self.ours.zip(self.theirs).map(|(ours, theirs)| ours / theirs);
        self.met = self.ratio.zip(self.target).map(|(ratio, target)| ratio <= target);
        self
    }

    fn rounded(mut self) -> Self {
        for number in [&mut self.ours, &mut self.theirs, &mut self.ratio, &mut self.spread, &mut self.peer_spread] {
            *number = number.map(four_digits);
        }
        self
    }

    /// The row as a line of a table, under [`HEAD`].
    fn line(&self) -> String {
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
        let number = |number: Option<f64>| or_dash(number.map(|number| number.to_string()));
        let count = |count: Option<usize>| or_dash(count.map(|count| count.to_string()));
        aligned([
            self.work,
            &self.n.to_string(),
            &number(self.ours),
            &count(self.threads),
            &number(self.theirs),
            &count(self.peer_threads),
            &number(self.ratio),
            &number(self.target),
            &or_dash(self.met.map(|met| if met { "yes" } else { "no" }.into())),
            &or_dash(self.peer_spread.map(|spread| format!("{:.0} %", 100.0 * spread))),
            self.unit,
            self.peer.unwrap_or("-"),
        ])
    }
}

/// Names of the columns; `t` are threads, the spread is the peer's.
const HEAD: [&str; 12] = ["work", "n", "ours", "t", "theirs", "t", "ratio", "target", "met", "spread", "unit", "peer"];

fn aligned([work, n, ours, t, theirs, peer_t, ratio, target, met, spread, unit, peer]: [&str; 12]) -> String {
    format!(
        "{work:<6} {n:>7} {ours:>8} {t:>2} {theirs:>8} {peer_t:>2} {ratio:>7} {target:>6} {met:>3} {spread:>6}  {unit:<23} {peer}"
    )
}

fn four_digits(value: f64) -> f64 {
    // Rust reads back what it prints, and prints exactly as many digits as asked for.
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// Where rows go.
pub(crate) struct Report<'a> {
    out: &'a mut dyn Write,
    is_json: bool,
    is_quick: bool,
    shows_progress: bool,
    has_head: bool,
}

impl<'a> Report<'a> {
    /// Rows as JSON, one a line.
    pub(crate) fn json(out: &'a mut dyn Write) -> Self {
        Self { out, is_json: true, is_quick: false, shows_progress: false, has_head: true }
    }

    /// Rows as lines of a table.
    pub(crate) fn table(out: &'a mut dyn Write) -> Self {
        Self { is_json: false, has_head: false, ..Self::json(out) }
    }

    /// Marks every row as not to be quoted.
    pub(crate) fn quick(self, is_quick: bool) -> Self {
        Self { is_quick, ..self }
    }

    /// Shows on standard error what is going on, if that is a terminal.
    pub(crate) fn with_progress(self) -> Self {
        Self { shows_progress: io::stderr().is_terminal(), ..self }
    }

    /// Replaces the line of progress.
    pub(crate) fn progress(&mut self, text: &str) -> io::Result<()> {
        if self.shows_progress { write!(io::stderr(), "\r\x1b[K{text}") } else { Ok(()) }
    }

    /// Writes one row at once, so that a long measurement can be followed.
    pub(crate) fn row(&mut self, mut row: Row) -> Result<(), crate::error::PeerError> {
        self.progress("")?;
        row.quick = self.is_quick;
        let row = row.rounded();
        if self.is_json {
            serde_json::to_writer(&mut self.out, &row).map_err(io::Error::from)?;
            writeln!(self.out)?;
        } else {
            if !self.has_head {
                writeln!(self.out, "{}", aligned(HEAD))?;
                self.has_head = true;
            }
            writeln!(self.out, "{}", row.line())?;
        }
        Ok(self.out.flush()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(value: f64) -> Option<Side> {
        Some(Side { name: "a peer", threads: 2, value, spread: Some(0.05) })
    }

    fn json(row: Row) -> String {
        let mut text = Vec::new();
        Report::json(&mut text).row(row).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_row_carries_both_sides_their_ratio_and_whether_it_is_good_enough() {
        let row = Row::new("ring", 10, "ns", 5).theirs(side(300.0)).ours(side(100.01)).target(Some(0.35));
        assert_eq!(
            json(row),
            concat!(
                r#"{"work":"ring","n":10,"ours":100.0,"theirs":300.0,"unit":"ns","ratio":0.3334,"target":0.35,"met":true,"#,
                r#""threads":2,"peer":"a peer","peer_threads":2,"runs":5,"spread":0.05,"peer_spread":0.05}"#,
                "\n"
            )
        );
    }

    #[test]
    fn a_side_that_is_missing_is_null_and_meets_nothing() {
        let text = json(Row::new("ring", 10, "ns", 5).theirs(side(300.0)).target(Some(0.35)));
        for field in [r#""ours":null"#, r#""ratio":null"#, r#""met":null"#, r#""threads":null"#] {
            assert!(text.contains(field), "{text}");
        }
    }

    #[test]
    fn a_ratio_a_hair_above_its_target_misses_it() {
        let row = Row::new("ring", 10, "ns", 5).theirs(side(1.0)).ours(side(0.350_000_1)).target(Some(0.35));
        assert!(json(row).contains(r#""ratio":0.35,"target":0.35,"met":false"#));
    }

    #[test]
    fn the_table_has_one_head_and_its_columns_are_aligned() {
        let mut text = Vec::new();
        let mut report = Report::table(&mut text);
        report.row(Row::new("ring", 100_000, "ns", 5).theirs(side(891.3)).ours(side(120.0))).unwrap();
        report.row(Row::new("growth", 14, "times", 5).theirs(side(1.5)).target(Some(1.3))).unwrap();
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        let unit = lines[0].find("unit").unwrap();
        assert!(lines[1][unit..].starts_with("ns  "), "{text}");
        assert!(lines[2][unit..].starts_with("times  "), "{text}");
    }

    #[test]
    fn quick_rows_say_so() {
        let mut text = Vec::new();
        Report::json(&mut text).quick(true).row(Row::new("ring", 10, "ns", 5)).unwrap();
        assert!(String::from_utf8(text).unwrap().contains(r#""quick":true"#));
    }
}
