//! What the time of a run goes to: the distribution of step times of every participant, and what the conductor, its hosts
//! and the monitors take beside it. Measured with [`ConductorPlugin::timing`](crate::ConductorPlugin::timing) only.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use chaconne_sim_core::path::ActorPath;
use hdrhistogram::Histogram;

use crate::conductor::Conductor;
use crate::pacing::nanos;

/// Of so many participants that left, each has a row of its own.
const MOST_LEFT: usize = 1000;

/// The path of the row for all others that left.
const OTHERS: &str = "(others that left)";

/// Rows of participants that a table shows.
const ROWS: usize = 20;

/// What the time of a run went to, in wall time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimingReport {
    /// The steps of each participant that is in the world and has stepped, in the world's order.
    pub participants: Vec<Timed>,
    /// The steps of each actor, those of all its participants together, in the world's order.
    pub actors: Vec<Timed>,
    /// The steps of participants that left, by path, all stays of a path together; of the first thousand paths that left.
    /// Those of all others are the last row, `(others that left)`.
    pub left: Vec<Timed>,
    /// Whole instants, from taking who is due to the end of the barrier. The three below are its parts.
    pub instants: Timed,
    /// What the conductor took of each instant: agenda, inboxes, fold, routing, hashes.
    pub conductor: Timed,
    /// How long each instant had to wait for its hosts. The steps are in it; where a host steps on several threads, their
    /// sum may be more.
    pub hosts: Timed,
    /// What the monitors took of each instant.
    pub monitors: Timed,
}

/// The times of one participant's steps, or of one part of every instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timed {
    /// The path of the participant or the actor, or what else was timed.
    pub path: String,
    /// How many were timed.
    pub count: u64,
    /// Their mean.
    pub mean: Duration,
    /// The longest.
    pub max: Duration,
    /// What 99 of 100 did not exceed, to two digits.
    pub p99: Duration,
    /// How many took longer than the budget they had then.
    pub misses: u64,
    /// The budget, if there is one; for an actor none is stated.
    pub budget: Option<Duration>,
    /// All of them together.
    pub total: Duration,
}

impl Timed {
    /// The share of some wall time that they took together. On several threads it may exceed 1; of no time it is 0.
    pub fn share(&self, wall: Duration) -> f64 {
        if wall.is_zero() { 0.0 } else { self.total.as_secs_f64() / wall.as_secs_f64() }
    }
}

/// The distribution of times in nanoseconds: a histogram of two significant digits, which takes a few KiB, and exact sums.
#[derive(Clone, Debug)]
pub(crate) struct StepTimes {
    distribution: Histogram<u32>,
    count: u64,
    sum: u64,
    max: u64,
    misses: u64,
}

impl Default for StepTimes {
    fn default() -> Self {
        // Two digits are possible; the type has no other constructor that grows.
        let distribution = Histogram::new(2).unwrap_or_else(|_| unreachable!("two digits are between 0 and 5"));
        Self { distribution, count: 0, sum: 0, max: 0, misses: 0 }
    }
}

impl StepTimes {
    pub(crate) fn record(&mut self, nanos: u64, missed: bool) {
        // A histogram that grows takes any number; a counter that is full stays full.
        let _ = self.distribution.record(nanos);
        self.count += 1;
        self.sum = self.sum.saturating_add(nanos);
        self.max = self.max.max(nanos);
        self.misses += u64::from(missed);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        // It grows, so everything fits.
        let _ = self.distribution.add(&other.distribution);
        self.count += other.count;
        self.sum = self.sum.saturating_add(other.sum);
        self.max = self.max.max(other.max);
        self.misses += other.misses;
    }

    /// The least value that a share of all does not exceed, in nanoseconds, to two digits.
    fn quantile(&self, share: f64) -> u64 {
        self.distribution.value_at_quantile(share).min(self.max)
    }

    fn timed(&self, path: &str, budget: Option<Duration>) -> Timed {
        Timed {
            path: path.to_owned(),
            count: self.count,
            mean: Duration::from_nanos(self.sum / self.count.max(1)),
            max: Duration::from_nanos(self.max),
            p99: Duration::from_nanos(self.quantile(0.99)),
            misses: self.misses,
            budget,
            total: Duration::from_nanos(self.sum),
        }
    }
}

/// What one leaf's steps took, and the budget it had last.
#[derive(Debug, Default)]
struct LeafTimes {
    times: StepTimes,
    budget: Option<Duration>,
}

/// Collects what the time goes to while a run goes on.
#[derive(Debug, Default)]
pub(crate) struct Timing {
    is_on: bool,
    /// By leaf slot.
    leaves: Vec<Option<Box<LeafTimes>>>,
    left: BTreeMap<ActorPath, StepTimes>,
    others: Option<Box<StepTimes>>,
    instants: StepTimes,
    conductor: StepTimes,
    hosts: StepTimes,
    monitors: StepTimes,
}

impl Timing {
    /// Collects nothing unless it is `on`.
    pub(crate) fn new(on: bool) -> Self {
        Self { is_on: on, ..Self::default() }
    }

    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Takes note of a step, and says whether it missed its budget, which it does when it is on or not.
    #[inline]
    pub(crate) fn step(&mut self, leaf_slot: u32, nanos: u64, budget: Option<Duration>) -> bool {
        let missed = budget.is_some_and(|budget| u128::from(nanos) > budget.as_nanos());
        if self.is_on {
            let slot = leaf_slot as usize;
            if slot >= self.leaves.len() {
                self.leaves.resize_with(slot + 1, || None);
            }
            let leaf = self.leaves[slot].get_or_insert_default();
            leaf.times.record(nanos, missed);
            leaf.budget = budget;
        }
        missed
    }

    /// Takes note that the participants in some slots left, with their paths in the order of the slots: their times are
    /// kept by path, as far as there are not too many, and the slots are free for others.
    pub(crate) fn left<'a>(&mut self, leaf_slots: Range<u32>, paths: impl IntoIterator<Item = &'a ActorPath>) {
        for (slot, path) in leaf_slots.zip(paths) {
            let Some(leaf) = self.leaves.get_mut(slot as usize).and_then(Option::take) else { continue };
            if let Some(times) = self.left.get_mut(path) {
                times.merge(&leaf.times);
            } else if self.left.len() < MOST_LEFT {
                self.left.insert(path.clone(), leaf.times);
            } else {
                self.others.get_or_insert_default().merge(&leaf.times);
            }
        }
    }

    /// Takes note of an instant: what it took as a whole, and of that in hosts and in monitors.
    pub(crate) fn instant(&mut self, whole: Duration, in_hosts: Duration, in_monitors: Duration) {
        if self.is_on {
            self.instants.record(nanos(whole), false);
            self.hosts.record(nanos(in_hosts), false);
            self.monitors.record(nanos(in_monitors), false);
            let conductor = whole.saturating_sub(in_hosts).saturating_sub(in_monitors);
            self.conductor.record(nanos(conductor), false);
        }
    }

    /// The report so far: `in_order` are the slots of those in the world, in its order, and `names` gives the path of the
    /// participant in a slot, and that of its actor.
    pub(crate) fn report<'a>(
        &self,
        in_order: impl IntoIterator<Item = u32>,
        names: impl Fn(u32) -> (&'a ActorPath, &'a ActorPath),
    ) -> TimingReport {
        let mut participants = Vec::new();
        // Parts of an actor follow each other in the world's order.
        let mut actors: Vec<(&ActorPath, StepTimes)> = Vec::new();
        for slot in in_order {
            let Some(leaf) = self.leaves.get(slot as usize).and_then(Option::as_ref) else { continue };
            let (path, actor) = names(slot);
            participants.push(leaf.times.timed(path.as_str(), leaf.budget));
            match actors.last_mut() {
                Some((last, times)) if *last == actor => times.merge(&leaf.times),
                _ => actors.push((actor, leaf.times.clone())),
            }
        }
        let left = self.left.iter().map(|(path, times)| times.timed(path.as_str(), None));
        TimingReport {
            participants,
            actors: actors.iter().map(|(path, times)| times.timed(path.as_str(), None)).collect(),
            left: left.chain(self.others.iter().map(|times| times.timed(OTHERS, None))).collect(),
            instants: self.instants.timed("instants", None),
            conductor: self.conductor.timed("conductor", None),
            hosts: self.hosts.timed("hosts", None),
            monitors: self.monitors.timed("monitors", None),
        }
    }
}

impl Conductor {
    /// What the time of the run went to so far, when it is measured.
    pub(crate) fn timing_report(&self) -> Option<Arc<TimingReport>> {
        if !self.timing.is_on() {
            return None;
        }
        let registry = &self.registry;
        let mut slots: Vec<u32> = registry.actors().flat_map(|(_, entry)| entry.leaf_slots()).collect();
        slots.sort_unstable_by_key(|&slot| (registry.rows[slot as usize].order, slot));
        let report = self.timing.report(slots, |slot| {
            let path = &registry.path[slot as usize];
            (path, registry.entry(registry.actor[slot as usize]).map_or(path, |entry| &entry.path))
        });
        Some(Arc::new(report))
    }
}

impl TimingReport {
    /// A table for people: a row for each of the participants that took most, but at most `rows`; then those actors that
    /// have several parts; then the conductor, hosts and monitors. Shares are of all instants together.
    pub fn table(&self, rows: usize) -> impl fmt::Display + '_ {
        Table { report: self, rows }
    }
}

/// The table with at most twenty participants.
impl fmt::Display for TimingReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.table(ROWS).fmt(f)
    }
}

struct Table<'a> {
    report: &'a TimingReport,
    rows: usize,
}

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TimingReport { participants, actors, left, instants, conductor, hosts, monitors } = self.report;
        let mut all: Vec<&Timed> = participants.iter().chain(left).collect();
        let wholes: Vec<&Timed> = actors
            .iter()
            .filter(|actor| !participants.iter().any(|participant| participant.path == actor.path))
            .collect();
        let mut sections = [("participant", &mut all), ("actor", &mut { wholes })];
        for (_, section) in &mut sections {
            section.sort_by(|a, b| (b.total, &a.path).cmp(&(a.total, &b.path)));
        }
        let shown = |section: &[&Timed]| section.len().min(self.rows);
        let widths = sections.iter().flat_map(|(_, section)| &section[..shown(section)]);
        let width = widths.map(|row| row.path.chars().count()).max().unwrap_or(0).max("participant".len());
        for (title, section) in &sections {
            if section.is_empty() {
                continue;
            }
            header(f, title, width)?;
            for row in &section[..shown(section)] {
                line(f, row, width, instants.total)?;
            }
            if section.len() > self.rows {
                writeln!(f, "and {} more", grouped((section.len() - self.rows) as u64))?;
            }
        }
        header(f, "instants", width)?;
        line(f, instants, width, instants.total)?;
        line(f, conductor, width, instants.total)?;
        line(f, hosts, width, instants.total)?;
        line(f, monitors, width, instants.total)
    }
}

fn header(f: &mut fmt::Formatter<'_>, title: &str, width: usize) -> fmt::Result {
    let what = if title == "instants" { "count" } else { "steps" };
    writeln!(
        f,
        "{title:<width$}  {what:>13}  {:>8}  {:>8}  {:>8}  {:>8}  {:>9}  {:>7}",
        "mean", "max", "p99", "budget", "misses", "share"
    )
}

fn line(f: &mut fmt::Formatter<'_>, row: &Timed, width: usize, wall: Duration) -> fmt::Result {
    let (budget, misses) = match (row.budget, row.misses) {
        (None, 0) => ("-".to_owned(), "-".to_owned()),
        (budget, misses) => (budget.map_or("-".to_owned(), in_units), grouped(misses)),
    };
    writeln!(
        f,
        "{:<width$}  {:>13}  {:>8}  {:>8}  {:>8}  {budget:>8}  {misses:>9}  {:>5.1} %",
        row.path,
        grouped(row.count),
        in_units(row.mean),
        in_units(row.max),
        in_units(row.p99),
        100.0 * row.share(wall),
    )
}

/// `1234567` as `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A duration to three digits, in the unit that suits it: `85 ns`, `1.23 µs`, `45.6 ms`, `12.0 s`.
pub(crate) fn in_units(duration: Duration) -> String {
    let nanos = nanos(duration);
    if nanos < 1000 {
        return format!("{nanos} ns");
    }
    let mut value = nanos as f64 / 1e3;
    for unit in ["µs", "ms"] {
        if value < 9.995 {
            return format!("{value:.2} {unit}");
        } else if value < 99.95 {
            return format!("{value:.1} {unit}");
        } else if value < 999.5 {
            return format!("{value:.0} {unit}");
        }
        value /= 1e3;
    }
    if value < 99.95 { format!("{value:.1} s") } else { format!("{value:.0} s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> ActorPath {
        ActorPath::new(text).unwrap()
    }

    /// Numbers that spread over six decades, and the same every time.
    fn spread(count: u64, seed: u64) -> Vec<u64> {
        let mut state = seed;
        (0..count)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (1_u64 << (state >> 60)) * 60 + (state >> 40) % 1000
            })
            .collect()
    }

    fn times(values: &[u64]) -> StepTimes {
        let mut times = StepTimes::default();
        values.iter().for_each(|&value| times.record(value, false));
        times
    }

    #[test]
    fn quantiles_are_those_of_the_sorted_samples_to_two_digits() {
        for seed in 0..20 {
            let mut values = spread(3000, seed);
            let times = times(&values);
            values.sort_unstable();
            for share in [0.01, 0.25, 0.5, 0.9, 0.99, 0.999] {
                let exact = values[((values.len() as f64 * share).ceil() as usize).max(1) - 1] as f64;
                let found = times.quantile(share) as f64;
                assert!((found / exact - 1.0).abs() < 0.01, "{share}: {found} {exact}");
            }
            let timed = times.timed("a", None);
            assert_eq!(timed.max.as_nanos(), u128::from(*values.last().unwrap()));
            assert_eq!(timed.total.as_nanos(), values.iter().map(|&value| u128::from(value)).sum::<u128>());
            assert_eq!(timed.mean.as_nanos(), timed.total.as_nanos() / 3000);
        }
    }

    #[test]
    fn the_99th_percentile_is_never_above_the_longest() {
        for value in [0, 1, 255, 256, 1023, 123_456_789, 1 << 60] {
            let timed = times(&[value]).timed("a", None);
            assert_eq!((timed.max, timed.p99), (Duration::from_nanos(value), Duration::from_nanos(value)));
        }
    }

    #[test]
    fn merging_is_recording_both() {
        let (one, other) = (spread(500, 1), spread(700, 2));
        let mut merged = times(&one);
        merged.merge(&times(&other));
        let together = times(&[one, other].concat());
        assert_eq!(merged.timed("a", None), together.timed("a", None));
        let mut empty = StepTimes::default();
        empty.merge(&together);
        assert_eq!(empty.timed("a", None), together.timed("a", None));
        let mut unchanged = together.clone();
        unchanged.merge(&StepTimes::default());
        assert_eq!(unchanged.timed("a", None), together.timed("a", None));
    }

    #[test]
    fn nothing_timed_is_zero_everywhere() {
        let timed = StepTimes::default().timed("a", None);
        assert_eq!(
            (timed.count, timed.mean, timed.p99, timed.total),
            (0, Duration::ZERO, Duration::ZERO, Duration::ZERO)
        );
        assert_eq!(timed.share(Duration::ZERO), 0.0);
    }

    #[test]
    fn a_step_misses_its_budget_when_it_takes_longer_whether_times_are_kept_or_not() {
        for on in [false, true] {
            let mut timing = Timing::new(on);
            let budget = Some(Duration::from_nanos(100));
            assert!(!timing.step(3, 100, budget));
            assert!(timing.step(3, 101, budget));
            assert!(!timing.step(3, 1 << 40, None));
        }
    }

    #[test]
    fn rows_stand_in_the_order_of_the_world_and_an_actor_has_its_parts_together() {
        let mut timing = Timing::new(true);
        let [ego, steer, body, lead, idle] = ["ego", "ego/steer", "ego/body", "lead", "idle"].map(path);
        let budget = Some(Duration::from_nanos(15));
        for (slot, nanos) in [(7, 10), (7, 30), (8, 20), (0, 5)] {
            timing.step(slot, nanos, budget.filter(|_| slot == 7));
        }
        timing.instant(Duration::from_nanos(100), Duration::from_nanos(70), Duration::from_nanos(10));
        let report = timing.report([7, 8, 0, 1], |slot| match slot {
            7 => (&steer, &ego),
            8 => (&body, &ego),
            0 => (&lead, &lead),
            _ => (&idle, &idle),
        });
        let rows = |rows: &[Timed]| -> Vec<(String, u64, u128, u64)> {
            rows.iter().map(|row| (row.path.clone(), row.count, row.total.as_nanos(), row.misses)).collect()
        };
        let row = |path: &str, count, total, misses| (path.to_owned(), count, total, misses);
        assert_eq!(
            rows(&report.participants),
            [row("ego/steer", 2, 40, 1), row("ego/body", 1, 20, 0), row("lead", 1, 5, 0)]
        );
        assert_eq!(rows(&report.actors), [row("ego", 3, 60, 1), row("lead", 1, 5, 0)]);
        assert_eq!((report.participants[0].budget, report.participants[1].budget), (budget, None));
        let parts =
            [&report.instants, &report.conductor, &report.hosts, &report.monitors].map(|row| row.total.as_nanos());
        assert_eq!(parts, [100, 20, 70, 10]);
        assert_eq!(report.participants[0].share(report.instants.total), 0.4);
    }

    #[test]
    fn those_who_left_keep_their_times_by_path_and_a_slot_begins_anew() {
        let mut timing = Timing::new(true);
        let (a, b) = (path("a"), path("b"));
        timing.step(4, 10, None);
        timing.step(5, 20, None);
        timing.left(4..6, [&a, &b]);
        timing.step(4, 1, None);
        timing.left(4..5, [&b]);
        timing.left(9..11, [&a, &b]);
        timing.step(4, 7, None);
        let report = timing.report([4], |_| (&a, &a));
        let rows = |rows: &[Timed]| -> Vec<(String, u64)> {
            rows.iter().map(|row| (row.path.clone(), row.total.as_nanos() as u64)).collect()
        };
        assert_eq!(rows(&report.participants), [("a".to_owned(), 7)]);
        assert_eq!(rows(&report.left), [("a".to_owned(), 10), ("b".to_owned(), 21)]);
    }

    #[test]
    fn memory_follows_those_in_the_world_not_those_who_ever_were() {
        let mut timing = Timing::new(true);
        for number in 0..5000_u64 {
            let slot = (number % 3) as u32;
            timing.step(slot, 100 + number, None);
            timing.left(slot..slot + 1, [&path(&format!("visitor-{number}"))]);
        }
        assert_eq!((timing.leaves.len(), timing.left.len()), (3, MOST_LEFT));
        let report = timing.report([], |_| unreachable!());
        assert_eq!(report.left.len(), MOST_LEFT + 1);
        let others = report.left.last().unwrap();
        assert_eq!((others.path.as_str(), others.count), (OTHERS, 4000));
        assert_eq!(report.left.iter().map(|row| row.count).sum::<u64>(), 5000);
    }

    #[test]
    fn a_participant_takes_a_few_kibibytes() {
        let times = times(&spread(10_000, 1));
        assert!(times.distribution.distinct_values() * size_of::<u32>() < 10 << 10);
    }

    #[test]
    fn off_it_keeps_nothing() {
        let mut timing = Timing::new(false);
        timing.step(1000, 10, None);
        timing.instant(Duration::from_secs(1), Duration::ZERO, Duration::ZERO);
        timing.left(1000..1001, [&path("a")]);
        assert_eq!((timing.leaves.len(), timing.left.len(), timing.instants.count), (0, 0, 0));
    }

    #[test]
    fn a_table_has_the_largest_first_and_says_how_many_more_there_are() {
        let mut timing = Timing::new(true);
        let names: Vec<ActorPath> = (0..30).map(|number| path(&format!("p{number}"))).collect();
        let ego = path("ego");
        for slot in 0..30 {
            timing.step(slot, 1000 * u64::from(slot + 1), Some(Duration::from_micros(29)));
        }
        timing.instant(Duration::from_micros(500), Duration::from_micros(470), Duration::ZERO);
        let report = timing.report(0..30, |slot| {
            let path = &names[slot as usize];
            (path, if slot < 2 { &ego } else { path })
        });
        let text = report.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "participant          steps      mean       max       p99    budget     misses    share");
        assert_eq!(lines[1], "p29                      1   30.0 µs   30.0 µs   30.0 µs   29.0 µs          1    6.0 %");
        assert_eq!((lines[21], lines.len()), ("and 10 more", 22 + 2 + 5));
        assert!(lines[23].starts_with("ego                      2   1.50 µs   2.00 µs   2.00 µs         -          -"));
        assert!(lines[27].starts_with("hosts                    1    470 µs"), "{text}");
        assert_eq!(report.table(100).to_string().lines().count(), 31 + 2 + 5);
    }

    #[test]
    fn durations_have_three_digits_and_the_unit_that_suits() {
        for (nanos, expected) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1000, "1.00 µs"),
            (9994, "9.99 µs"),
            (9999, "10.0 µs"),
            (999_400, "999 µs"),
            (999_600, "1.00 ms"),
            (45_600_000, "45.6 ms"),
            (1_000_000_000, "1.0 s"),
            (3_600_000_000_000, "3600 s"),
        ] {
            assert_eq!(in_units(Duration::from_nanos(nanos)), expected);
        }
    }
}
