//! The ring: n members, each stepped every 10 ms of simulated time, each sending one `f64` to the next at every step.
//!
//! A member holds what it has received since its last step. At a step it sends that plus one and holds nothing. What is
//! held or under way in the whole ring therefore grows by exactly one per step, whether a signal is received within
//! the instant in which it was sent (NeXosim, where the order inside an instant is open) or at the next step (Chaconne),
//! so one sum shows that every step was made and no signal was lost or doubled. Where every signal arrives at the next
//! step, a member simply sends the last value it received plus one.
//!
//! The unit is one step together with its signal; setting up is not timed.

use crate::{
    alternate::{Plan, Series, Work, alternate},
    error::PeerError,
    nexosim_ring::{NexosimRing, Schedule},
    ours,
    report::{Report, Row, Side},
};

/// Simulated time between two steps of a member, in milliseconds.
pub(crate) const PERIOD_MS: u64 = 10;

/// Sizes of the ring with the largest ratio of Chaconne's time to NeXosim's that is good enough.
pub(crate) const TARGETS: [(usize, f64); 3] = [(10, 0.35), (1_000, 0.3), (100_000, 0.15)];

/// Thread counts that both sides are measured with; the better one of each counts.
const THREADS: [usize; 2] = [1, 2];

const UNIT: &str = "ns per step-and-signal";

/// A ring that was set up and now only advances.
pub(crate) trait Ring {
    /// Advances simulated time by `instants` periods: every member makes that many steps.
    fn advance(&mut self, instants: u64) -> Result<(), PeerError>;

    /// The sum, over all members, of what was sent and not sent on: held by its receiver or still under way.
    ///
    /// It equals members × instants; see [`held_after`].
    fn checksum(&mut self) -> Result<f64, PeerError>;
}

/// What a ring of `n` holds after `instants`, exact up to 2^53.
pub(crate) fn held_after(n: usize, instants: u64) -> f64 {
    n as f64 * instants as f64
}

/// One way of running the ring, as a contender.
struct Contender {
    peer: &'static str,
    threads: usize,
    is_ours: bool,
}

struct RingWork {
    name: String,
    n: usize,
    instants: u64,
    ring: Box<dyn Ring>,
}

impl Work for RingWork {
    fn perform(&mut self, amount: u64) -> Result<(), PeerError> {
        self.ring.advance(amount)?;
        self.instants += amount;
        Ok(())
    }

    fn units(&self, amount: u64) -> f64 {
        self.n as f64 * amount as f64
    }

    fn verify(&mut self) -> Result<(), PeerError> {
        let (expected, found) = (held_after(self.n, self.instants), self.ring.checksum()?);
        if expected == found {
            return Ok(());
        }
        Err(PeerError::Differs { contender: self.name.clone(), expected, found })
    }
}

/// Measures the ring of `n` and reports a row per thread count and one for the better count of each side.
pub(crate) fn measure(n: usize, plan: Plan, report: &mut Report) -> Result<(), PeerError> {
    report.progress(&format!("ring of {n}: setting up"))?;
    let Field { contenders, mut works, .. } = Field::set_up(n)?;
    report.progress(&format!("ring of {n}: {} contenders, {} rounds", works.len(), plan.runs))?;
    let series = alternate(&mut works, plan)?;

    let target = TARGETS.iter().find(|(size, _)| *size == n).map(|(_, target)| *target);
    let row = |threads: &[usize], target| {
        Row::new("ring", n, UNIT, plan.runs)
            .theirs(best(&contenders, &series, false, threads))
            .ours(best(&contenders, &series, true, threads))
            .target(target)
    };
    for threads in THREADS {
        report.row(row(&[threads], None))?;
    }
    report.row(row(&THREADS, target))
}

/// Everyone who runs a ring of one size; the two lists go together.
struct Field {
    n: usize,
    contenders: Vec<Contender>,
    works: Vec<Box<dyn Work>>,
}

impl Field {
    /// Builds every contender. Theirs come first, so that they find memory as fresh as it gets.
    fn set_up(n: usize) -> Result<Self, PeerError> {
        let mut field = Self { n, contenders: Vec::new(), works: Vec::new() };
        for threads in THREADS {
            for schedule in Schedule::ALL {
                let ring = NexosimRing::build(n, threads, schedule)?;
                field.enter(Contender { peer: schedule.peer(), threads, is_ours: false }, Box::new(ring));
            }
        }
        for threads in THREADS {
            let ring = ours::build(n, threads)?;
            field.enter(Contender { peer: "Chaconne", threads, is_ours: true }, ring);
        }
        Ok(field)
    }

    fn enter(&mut self, contender: Contender, ring: Box<dyn Ring>) {
        let n = self.n;
        let name = format!("the ring of {n} on {} thread(s) of {}", contender.threads, contender.peer);
        self.works.push(Box::new(RingWork { name, n, instants: 0, ring }));
        self.contenders.push(contender);
    }
}

/// The fastest contender of one side among those with one of the given thread counts.
fn best(contenders: &[Contender], series: &[Series], is_ours: bool, threads: &[usize]) -> Option<Side> {
    contenders
        .iter()
        .zip(series)
        .filter(|(contender, _)| contender.is_ours == is_ours && threads.contains(&contender.threads))
        .map(|(contender, series)| Side {
            name: contender.peer,
            threads: contender.threads,
            value: series.median(),
            spread: Some(series.spread()),
        })
        .min_by(|a, b| a.value.total_cmp(&b.value))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_ring_that_lost_a_signal_is_refused_by_name() {
        struct Lossy;
        impl Ring for Lossy {
            fn advance(&mut self, _: u64) -> Result<(), PeerError> {
                Ok(())
            }
            fn checksum(&mut self) -> Result<f64, PeerError> {
                Ok(19.0)
            }
        }
        let mut work = RingWork { name: "a ring".into(), n: 10, instants: 0, ring: Box::new(Lossy) };
        work.perform(2).unwrap();
        let message = work.verify().unwrap_err().to_string();
        assert!(message.starts_with("a ring ended with 19 where 20 was due"), "{message}");
    }

    #[test]
    fn the_better_thread_count_of_each_side_counts() {
        let contender = |peer, threads, is_ours| Contender { peer, threads, is_ours };
        let contenders = [contender("a", 1, false), contender("b", 2, false), contender("c", 1, true)];
        let series: Vec<Series> = [30.0, 20.0, 10.0].map(|value| [value].into_iter().collect()).into();
        let name = |is_ours, threads: &[usize]| best(&contenders, &series, is_ours, threads).map(|side| side.name);
        assert_eq!(name(false, &THREADS), Some("b"));
        assert_eq!(name(false, &[1]), Some("a"));
        assert_eq!(name(true, &[2]), None);
    }

    #[test]
    fn a_small_ring_yields_a_row_per_thread_count_and_one_for_the_best() {
        let mut text = Vec::new();
        let plan = Plan { runs: 1, slice: Duration::from_micros(50) };
        measure(10, plan, &mut Report::json(&mut text)).unwrap();
        let rows: Vec<serde_json::Value> =
            String::from_utf8(text).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(rows.len(), 3);
        assert!(rows.iter().all(|row| row["work"] == "ring" && row["theirs"].is_number()));
        assert_eq!((rows[0]["target"].is_null(), rows[2]["target"].as_f64()), (true, Some(0.35)));
    }
}
