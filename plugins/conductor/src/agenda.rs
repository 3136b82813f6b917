//! The agenda: who is due when.

use std::collections::BTreeMap;

use chaconne_sim_core::time::SimTime;

/// Leaves by due time. A leaf stands in it once, under its next due time; entries of leaves that left meanwhile are
/// filtered by who takes them.
#[derive(Default)]
pub(crate) struct Agenda {
    times: BTreeMap<SimTime, u32>,
    buckets: Vec<Vec<u32>>,
    free: Vec<u32>,
    /// The buckets used last: most leaves of an instant are next due at one of few times.
    recent: [Option<(SimTime, u32)>; 4],
    turn: usize,
}

impl Agenda {
    /// Puts `leaf` down for `time`; never for [`SimTime::MAX`].
    #[inline]
    pub(crate) fn push(&mut self, time: SimTime, leaf: u32) {
        let bucket = match self.recent.iter().flatten().find(|recent| recent.0 == time) {
            Some(&(_, bucket)) => bucket,
            None => self.find_bucket(time),
        };
        self.buckets[bucket as usize].push(leaf);
    }

    fn find_bucket(&mut self, time: SimTime) -> u32 {
        let (free, buckets) = (&mut self.free, &mut self.buckets);
        let bucket = *self.times.entry(time).or_insert_with(|| {
            free.pop().unwrap_or_else(|| {
                buckets.push(Vec::new());
                buckets.len() as u32 - 1
            })
        });
        self.recent[self.turn] = Some((time, bucket));
        self.turn = (self.turn + 1) % self.recent.len();
        bucket
    }

    /// The earliest time at which somebody is due.
    #[inline]
    pub(crate) fn next(&self) -> Option<SimTime> {
        self.times.first_key_value().map(|(&time, _)| time)
    }

    /// Moves those due at the earliest time into `due`, in the order in which they were put down.
    #[inline]
    pub(crate) fn take_next(&mut self, due: &mut Vec<u32>) -> Option<SimTime> {
        let (time, bucket) = self.times.pop_first()?;
        due.clear();
        std::mem::swap(due, &mut self.buckets[bucket as usize]);
        self.free.push(bucket);
        for recent in &mut self.recent {
            if recent.is_some_and(|recent| recent.1 == bucket) {
                *recent = None;
            }
        }
        Some(time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_come_out_by_time_then_in_the_order_they_were_put_down() {
        let mut agenda = Agenda::default();
        let time = |n: i64| SimTime::from_nanos(n * 1_000);
        for leaf in 0..100 {
            agenda.push(time(i64::from(leaf) * 7 % 10), leaf as u32);
        }
        let mut due = Vec::new();
        let mut seen = 0;
        for step in 0..10 {
            assert_eq!(agenda.next(), Some(time(step)));
            assert_eq!(agenda.take_next(&mut due), Some(time(step)));
            assert!(due.is_sorted());
            assert!(due.iter().all(|&leaf| i64::from(leaf) * 7 % 10 == step));
            seen += due.len();
            if step == 4 {
                // A bucket that was given back is used again for another time.
                agenda.push(time(40), 7);
            }
        }
        assert_eq!(seen, 100);
        assert_eq!(agenda.take_next(&mut due), Some(time(40)));
        assert_eq!((due.as_slice(), agenda.next()), (&[7][..], None));
    }
}
