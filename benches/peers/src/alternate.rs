//! Runs contenders in turn and keeps what each took.
//!
//! Times on a shared machine drift: frequency, neighbours, caches. Measuring all runs of one contender and then all of
//! another puts that drift into their ratio. Here every round runs each contender once, each round begins with the
//! next one, and the median over the rounds stands for the contender.

use std::time::{Duration, Instant};

use crate::error::PeerError;

/// No run is asked for more than this, however fast the contender is.
const MAX_AMOUNT: u64 = 1 << 30;

/// Something that can be asked for any amount of its work.
pub(crate) trait Work {
    /// Does `amount` more of the work (instants, say). Only this is timed.
    fn perform(&mut self, amount: u64) -> Result<(), PeerError>;

    /// The number of units, in which times are given, that `amount` contains.
    fn units(&self, amount: u64) -> f64;

    /// Checks that everything asked for so far was done.
    fn verify(&mut self) -> Result<(), PeerError>;
}

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Rounds, at least one.
    pub(crate) runs: usize,
    /// How long one run should last.
    pub(crate) slice: Duration,
}

/// Times of one contender, in nanoseconds per unit, in the order of the rounds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series(Vec<f64>);

impl Series {
    /// The middle value; of an even number of values the mean of the two in the middle.
    pub(crate) fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        match sorted.len() {
            0 => f64::NAN,
            odd if odd % 2 == 1 => sorted[middle],
            _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
        }
    }

    /// Slowest less fastest, as a share of the median: 0.05 says that all runs lie within five per cent.
    pub(crate) fn spread(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        match (sorted.first(), sorted.last()) {
            (Some(fastest), Some(slowest)) => (slowest - fastest) / self.median(),
            _ => f64::NAN,
        }
    }
}

impl FromIterator<f64> for Series {
    fn from_iter<I: IntoIterator<Item = f64>>(samples: I) -> Self {
        Self(samples.into_iter().collect())
    }
}

/// Measures `contenders` against each other and returns their times in the same order.
///
/// Each is first asked for more and more until a run lasts `plan.slice`, which also warms it up, and each is verified
/// when all rounds are over.
pub(crate) fn alternate(contenders: &mut [Box<dyn Work>], plan: Plan) -> Result<Vec<Series>, PeerError> {
    let amounts =
        contenders.iter_mut().map(|work| calibrate(work.as_mut(), plan.slice)).collect::<Result<Vec<_>, _>>()?;
    let mut samples = vec![Vec::with_capacity(plan.runs); contenders.len()];
    for round in 0..plan.runs {
        for turn in 0..contenders.len() {
            let index = (round + turn) % contenders.len();
            let (work, amount) = (contenders[index].as_mut(), amounts[index]);
            let elapsed = time(work, amount)?;
            samples[index].push(elapsed.as_nanos() as f64 / work.units(amount));
        }
    }
    for work in contenders {
        work.verify()?;
    }
    Ok(samples.into_iter().map(Series).collect())
}

/// The amount that lasts about `slice`.
fn calibrate(work: &mut dyn Work, slice: Duration) -> Result<u64, PeerError> {
    let mut amount = 1;
    loop {
        let elapsed = time(work, amount)?;
        if elapsed >= slice / 4 || amount >= MAX_AMOUNT {
            let scale = slice.as_secs_f64() / elapsed.as_secs_f64();
            return Ok(((amount as f64 * scale) as u64).clamp(1, MAX_AMOUNT));
        }
        amount *= 2;
    }
}

fn time(work: &mut dyn Work, amount: u64) -> Result<Duration, PeerError> {
    let start = Instant::now();
    work.perform(amount)?;
    Ok(start.elapsed())
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, rc::Rc};

    use super::*;

    /// Notes its name whenever it is run.
    struct Scribe {
        name: char,
        log: Rc<RefCell<String>>,
        done: u64,
    }

    impl Work for Scribe {
        fn perform(&mut self, amount: u64) -> Result<(), PeerError> {
            self.log.borrow_mut().push(self.name);
            self.done += amount;
            std::thread::sleep(Duration::from_micros(200));
            Ok(())
        }

        fn units(&self, amount: u64) -> f64 {
            amount as f64
        }

        fn verify(&mut self) -> Result<(), PeerError> {
            self.log.borrow_mut().push(self.name.to_ascii_uppercase());
            Ok(())
        }
    }

    #[test]
    fn every_round_runs_each_contender_once_and_begins_with_the_next() {
        let log = Rc::new(RefCell::new(String::new()));
        let mut contenders: Vec<Box<dyn Work>> = ['a', 'b', 'c']
            .into_iter()
            .map(|name| Box::new(Scribe { name, log: log.clone(), done: 0 }) as Box<dyn Work>)
            .collect();
        let series = alternate(&mut contenders, Plan { runs: 3, slice: Duration::from_micros(400) }).unwrap();
        let log = log.borrow();
        assert!(log.ends_with("abcbcacabABC"), "{log}");
        assert_eq!(series.iter().map(|series| series.0.len()).collect::<Vec<_>>(), [3, 3, 3]);
    }

    #[test]
    fn the_amount_is_scaled_to_the_slice() {
        struct Slow;
        impl Work for Slow {
            fn perform(&mut self, amount: u64) -> Result<(), PeerError> {
                std::thread::sleep(Duration::from_millis(amount));
                Ok(())
            }
            fn units(&self, amount: u64) -> f64 {
                amount as f64
            }
            fn verify(&mut self) -> Result<(), PeerError> {
                Ok(())
            }
        }
        let amount = calibrate(&mut Slow, Duration::from_millis(40)).unwrap();
        assert!((10..=40).contains(&amount), "{amount}");
    }

    #[test]
    fn the_median_and_the_spread_do_not_depend_on_the_order_of_runs() {
        let series: Series = [3.0, 1.0, 2.0, 10.0, 4.0].into_iter().collect();
        assert_eq!((series.median(), series.spread()), (3.0, 3.0));
        let even: Series = [4.0, 1.0, 2.0, 3.0].into_iter().collect();
        assert_eq!(even.median(), 2.5);
    }
}
