//! Pacing: keeping simulated time in step with the wall clock, or not.
//!
//! Instants are due along a line through an *anchor*, a moment of the wall clock and the simulated time that belongs to
//! it. There is one anchor for the whole run, so small delays do not add up: whoever is late is on time again when the
//! work allows. Who is later than [`ConductorPlugin::lateness_limit`](crate::ConductorPlugin::lateness_limit) moves the
//! anchor by the excess, so that a run that was held up for an hour does not race through that hour afterwards. No
//! instant is ever left out.
//!
//! Waiting happens between two instants, so pacing changes no bit of a run.

use std::collections::VecDeque;
use std::time::Duration;

use chaconne_sim_core::time::SimTime;
use hdrhistogram::Histogram;

/// How a run keeps time with the wall clock. Changes no result.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Pacing {
    /// As fast as it goes.
    #[default]
    FreeRun,
    /// An instant begins when its time has come on the wall clock, or as soon after that as those before it allow.
    RealTime {
        /// Simulated seconds per wall second; finite and above zero.
        factor: f64,
        /// Waits out the last millisecond before an instant in a loop, which keeps a core busy; instants then begin within
        /// microseconds of their time where a sleeping thread is woken some tens of microseconds late, or later. Where
        /// the conductor never sleeps (in a window) this does nothing.
        spin: bool,
    },
}

impl Pacing {
    /// The pace of the wall clock.
    pub const REAL_TIME: Self = Self::RealTime { factor: 1.0, spin: false };

    /// What is wrong with it, in a sentence.
    pub(crate) fn fault(&self) -> Option<String> {
        match *self {
            Self::RealTime { factor, .. } if !(factor.is_finite() && factor > 0.0) => {
                Some(format!("the pacing factor {factor} is not possible: give a finite number above 0"))
            }
            _ => None,
        }
    }
}

/// How well a paced run kept time. Lateness is wall time from when an instant was due to when it began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacingReport {
    /// Number of instants that were paced.
    pub instants: u64,
    /// Those of them that were later than the limit, so that the anchor moved.
    pub overruns: u64,
    /// How far the anchor moved in all: what the run lost on the wall clock.
    pub slipped: Duration,
    /// Wall time from the first instant to the end, or to now.
    pub elapsed: Duration,
    /// The largest lateness.
    pub max: Duration,
    /// The median lateness, to three digits.
    pub median: Duration,
    /// The lateness that 99 of 100 instants did not exceed, to three digits.
    pub p99: Duration,
    /// The largest lateness of the last thousand instants: an average over all hides what went wrong just now.
    pub recent_max: Duration,
    /// The mean lateness of the last thousand instants.
    pub recent_mean: Duration,
}

/// How many instants count as recent.
const WINDOW: usize = 1000;

/// Says when instants are due on the wall clock, and keeps count of how late they were. Wall time is what its caller
/// says, since any moment.
#[derive(Debug)]
pub(crate) struct Pacer {
    factor: f64,
    limit: Duration,
    anchor: Option<Anchor>,
    /// When the first instant began.
    begun: Duration,
    /// The latest moment that was told.
    seen: Duration,
    lateness: Histogram<u64>,
    max: Duration,
    recent: VecDeque<u64>,
    overruns: u64,
    slipped: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Anchor {
    wall: Duration,
    time: SimTime,
}

impl Pacer {
    /// `factor` is finite and above zero.
    pub(crate) fn new(factor: f64, limit: Duration) -> Self {
        Self {
            factor,
            limit,
            anchor: None,
            begun: Duration::ZERO,
            seen: Duration::ZERO,
            lateness: histogram(),
            max: Duration::ZERO,
            recent: VecDeque::with_capacity(WINDOW),
            overruns: 0,
            slipped: Duration::ZERO,
        }
    }

    /// How long it is from now until a time is due; zero once it is, and before the first instant, which sets the anchor.
    pub(crate) fn wait(&self, time: SimTime, now: Duration) -> Duration {
        self.anchor.map_or(Duration::ZERO, |anchor| self.due(anchor, time).saturating_sub(now))
    }

    /// When a time is due, on the caller's clock. Exact to a nanosecond for a hundred days after the anchor.
    fn due(&self, anchor: Anchor, time: SimTime) -> Duration {
        let simulated = i128::from(time.as_nanos()) - i128::from(anchor.time.as_nanos());
        // Saturates, far beyond every run.
        let wall = (simulated as f64 / self.factor).round() as u64;
        anchor.wall.saturating_add(Duration::from_nanos(wall))
    }

    /// How late an instant is that begins now, and how much of that would not be caught up.
    pub(crate) fn lateness(&self, time: SimTime, now: Duration) -> (Duration, Duration) {
        let late = self.anchor.map_or(Duration::ZERO, |anchor| now.saturating_sub(self.due(anchor, time)));
        (late, late.saturating_sub(self.limit))
    }

    /// Takes note that an instant began at a moment, and returns how late it was.
    pub(crate) fn begin(&mut self, time: SimTime, now: Duration) -> Duration {
        let (late, excess) = self.lateness(time, now);
        self.seen = now;
        let Some(anchor) = self.anchor else {
            self.begun = now;
            self.anchor = Some(Anchor { wall: now, time });
            self.count(late);
            return late;
        };
        if !excess.is_zero() {
            self.overruns += 1;
            self.slipped += excess;
            self.anchor = Some(Anchor { wall: anchor.wall + excess, ..anchor });
        }
        self.count(late);
        late
    }

    /// Takes note of a moment at which the run still goes on, or ends.
    pub(crate) fn pass(&mut self, now: Duration) {
        self.seen = now;
    }

    fn count(&mut self, late: Duration) {
        let nanos = nanos(late);
        // An automatic histogram takes any number.
        let _ = self.lateness.record(nanos);
        self.max = self.max.max(late);
        if self.recent.len() == WINDOW {
            self.recent.pop_front();
        }
        self.recent.push_back(nanos);
    }

    pub(crate) fn report(&self) -> PacingReport {
        let quantile = |share| Duration::from_nanos(self.lateness.value_at_quantile(share)).min(self.max);
        let sum: u128 = self.recent.iter().map(|&nanos| u128::from(nanos)).sum();
        let mean = sum / self.recent.len().max(1) as u128;
        PacingReport {
            instants: self.lateness.len(),
            overruns: self.overruns,
            slipped: self.slipped,
            elapsed: self.seen.saturating_sub(self.begun),
            max: self.max,
            median: quantile(0.5),
            p99: quantile(0.99),
            recent_max: Duration::from_nanos(self.recent.iter().copied().max().unwrap_or(0)),
            // A mean is at most the largest, which is a `u64`.
            recent_mean: Duration::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX)),
        }
    }
}

/// Nanoseconds, up to the 584 years that an `u64` holds.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Counts values to three digits. It grows as larger ones come.
fn histogram() -> Histogram<u64> {
    // Three digits are possible; the type has no other constructor that grows.
    Histogram::new(3).unwrap_or_else(|_| unreachable!("three digits are between 0 and 5"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_millis(50);

    fn micros(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// Simulated time.
    fn at(millis: i64) -> SimTime {
        SimTime::from_nanos(millis * 1_000_000)
    }

    /// A run of instants every 10 ms from zero on, each of which takes as much wall time as `work` says; the clock is made
    /// up and begins at 7 s. Returns it at the end.
    fn run(pacer: &mut Pacer, instants: i64, work: impl Fn(i64) -> Duration) -> Duration {
        let mut now = Duration::from_secs(7);
        for number in 0..instants {
            let time = at(10 * number);
            now += pacer.wait(time, now);
            assert_eq!(pacer.wait(time, now), Duration::ZERO);
            pacer.begin(time, now);
            now += work(number);
        }
        now
    }

    #[test]
    fn the_first_instant_is_due_at_once_and_sets_the_anchor() {
        let mut pacer = Pacer::new(1.0, LIMIT);
        assert_eq!(pacer.wait(at(5000), millis(3)), Duration::ZERO);
        assert_eq!(pacer.begin(at(5000), millis(3)), Duration::ZERO);
        assert_eq!(pacer.wait(at(5010), millis(3)), millis(10));
        assert_eq!(pacer.wait(at(5010), millis(9)), millis(4));
        assert_eq!(pacer.wait(at(5010), millis(99)), Duration::ZERO);
    }

    #[test]
    fn a_factor_divides_the_waits() {
        for (factor, expected) in [(20.0, micros(500)), (0.5, millis(20)), (1e-3, millis(10_000))] {
            let mut pacer = Pacer::new(factor, LIMIT);
            pacer.begin(at(0), Duration::ZERO);
            assert_eq!(pacer.wait(at(10), Duration::ZERO), expected);
        }
        let mut pacer = Pacer::new(20.0, LIMIT);
        assert_eq!(run(&mut pacer, 2001, |_| micros(100)), Duration::from_secs(8) + micros(100));
        assert_eq!(pacer.report().max, Duration::ZERO);
    }

    #[test]
    fn small_delays_do_not_add_up_over_days() {
        // Three days of 10 ms, each instant but the first begun 60 µs late: as sleeping does.
        let mut pacer = Pacer::new(1.0, LIMIT);
        let (instants, start) = (25_920_000_i64, millis(1));
        let due = |number: i64| start + millis(10 * number as u64);
        pacer.begin(at(0), due(0));
        for number in (1..instants).step_by(997) {
            assert_eq!(pacer.begin(at(10 * number), due(number) + micros(60)), micros(60));
        }
        assert_eq!(pacer.report().slipped, Duration::ZERO);
        assert_eq!(pacer.wait(at(10 * instants), Duration::ZERO), due(instants));
    }

    #[test]
    fn a_due_time_is_exact_to_a_nanosecond_after_a_hundred_days() {
        let mut pacer = Pacer::new(1.0, LIMIT);
        pacer.begin(SimTime::from_nanos(-17), Duration::from_nanos(5));
        let nanos = 100 * 86_400 * 1_000_000_000_i64 + 1;
        assert_eq!(pacer.wait(SimTime::from_nanos(nanos - 17), Duration::from_nanos(5)).as_nanos(), nanos as u128);
    }

    #[test]
    fn far_times_wait_forever_instead_of_overflowing() {
        let mut pacer = Pacer::new(f64::MIN_POSITIVE, LIMIT);
        pacer.begin(SimTime::MIN, Duration::from_secs(1));
        assert!(pacer.wait(SimTime::MAX, Duration::ZERO) > Duration::from_secs(500 * 365 * 86_400));
    }

    #[test]
    fn a_delay_within_the_limit_is_caught_up_with_and_moves_nothing() {
        let mut pacer = Pacer::new(1.0, LIMIT);
        let end = run(&mut pacer, 100, |number| if number == 10 { millis(60) } else { millis(1) });
        let report = pacer.report();
        assert_eq!((report.overruns, report.slipped, report.max), (0, Duration::ZERO, LIMIT));
        assert_eq!(end, Duration::from_secs(7) + millis(991));
    }

    #[test]
    fn beyond_the_limit_the_anchor_moves_and_no_more_than_the_limit_is_caught_up() {
        let mut pacer = Pacer::new(1.0, LIMIT);
        let end = run(&mut pacer, 100, |number| if number == 10 { Duration::from_secs(3600) } else { millis(1) });
        let report = pacer.report();
        let late = Duration::from_secs(3600) - millis(10);
        assert_eq!((report.overruns, report.slipped, report.max), (1, late - LIMIT, late));
        assert_eq!(report.instants, 100, "none is left out");
        assert_eq!(end, Duration::from_secs(7) + millis(991) + report.slipped);
    }

    #[test]
    fn a_lag_does_not_only_grow_when_every_instant_takes_too_long() {
        let mut pacer = Pacer::new(1.0, LIMIT);
        let end = run(&mut pacer, 1000, |_| millis(15));
        let report = pacer.report();
        assert_eq!(report.max, LIMIT + millis(5));
        assert_eq!(report.recent_max, report.max);
        assert_eq!(end, Duration::from_secs(7) + millis(15_000));
        assert_eq!(report.slipped, millis(999 * 5) - LIMIT);
        assert_eq!(report.overruns, 999 - 10);
    }

    #[test]
    fn a_limit_of_zero_catches_up_with_nothing() {
        let mut pacer = Pacer::new(1.0, Duration::ZERO);
        run(&mut pacer, 10, |number| if number == 3 { millis(14) } else { millis(1) });
        let report = pacer.report();
        assert_eq!((report.overruns, report.slipped), (1, millis(4)));
    }

    #[test]
    fn quantiles_are_those_of_the_sorted_lateness_to_three_digits() {
        let mut pacer = Pacer::new(1.0, Duration::from_secs(100));
        let start = Duration::from_secs(1);
        pacer.begin(at(0), start);
        let mut late: Vec<u64> = (0..5000_u64).map(|number| number * number * 7919 % 1_000_003 * 10).collect();
        for (&nanos, number) in late.iter().zip(1..) {
            pacer.begin(at(number), start + millis(number as u64) + Duration::from_nanos(nanos));
        }
        late.push(0);
        let recent = &late[4000..5000];
        let mean = recent.iter().sum::<u64>() / 1000;
        let report = pacer.report();
        assert_eq!((report.recent_max.as_nanos(), report.recent_mean.as_nanos()), {
            (u128::from(*recent.iter().max().unwrap()), u128::from(mean))
        });
        late.sort_unstable();
        assert_eq!(nanos(report.max), *late.last().unwrap());
        for (found, index) in [(report.median, late.len() / 2), (report.p99, late.len() * 99 / 100)] {
            let (found, exact) = (found.as_nanos() as f64, late[index] as f64);
            assert!((found / exact - 1.0).abs() < 2e-3, "{found} {exact}");
        }
    }

    #[test]
    fn what_was_long_ago_is_not_recent() {
        let mut pacer = Pacer::new(1.0, LIMIT);
        run(&mut pacer, 1100, |number| if number == 50 { millis(40) } else { millis(1) });
        let report = pacer.report();
        assert_eq!((report.max, report.recent_max, report.recent_mean), (millis(30), Duration::ZERO, Duration::ZERO));
    }

    #[test]
    fn the_time_that_a_run_took_is_that_from_its_first_instant_to_its_end() {
        let mut pacer = Pacer::new(1.0, LIMIT);
        run(&mut pacer, 3, |_| millis(1));
        assert_eq!(pacer.report().elapsed, millis(20));
        pacer.pass(Duration::from_secs(7) + millis(30));
        assert_eq!(pacer.report().elapsed, millis(30));
    }

    #[test]
    fn only_a_finite_factor_above_zero_is_possible() {
        let fault = |factor| Pacing::RealTime { factor, spin: false }.fault();
        for factor in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(fault(factor).is_some_and(|text| text.contains(&factor.to_string())));
        }
        assert_eq!((fault(f64::MIN_POSITIVE), fault(1e300), Pacing::FreeRun.fault()), (None, None, None));
    }
}
