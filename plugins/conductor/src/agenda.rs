//! The agenda: who is due when.

use std::collections::BTreeMap;

use chaconne_sim_core::time::SimTime;

/// Leaves by due time. A leaf stands in it once, under its next due time. The entry of one that left stays where it is
/// until its time is taken, but no longer counts: a time at which nobody is left to step is no instant.
#[derive(Default)]
pub(crate) struct Agenda {
    /// The earliest time and its bucket, kept out of the map: an instant's leaves are often all due at the next one.
    first: Option<(SimTime, u32)>,
    /// The later times.
    times: BTreeMap<SimTime, u32>,
    buckets: Vec<Bucket>,
    free: Vec<u32>,
    /// The buckets used last: most leaves of an instant are next due at one of few times.
    recent: [Option<(SimTime, u32)>; 4],
    turn: usize,
    /// Counts how often the leaves were numbered anew.
    numbering: u64,
}

/// Those due at one time.
#[derive(Default)]
struct Bucket {
    leaves: Vec<u32>,
    /// How many of them have left.
    gone: usize,
    /// The place in the world's order of the one put down last.
    last: u64,
    /// They were not put down in the world's order.
    unsorted: bool,
    /// The numbering of the world's order when the first was put down.
    numbering: u64,
}

/// From this many entries of leaves that left on, a bucket is swept when they are more than half of it.
const MANY_GONE: usize = 64;

impl Bucket {
    /// Removes the entries of leaves that left. A slot that was used again for another leaf due then has two, of which one
    /// stays.
    fn sweep(&mut self, is_due: impl Fn(u32) -> bool) {
        self.leaves.retain(|&leaf| is_due(leaf));
        self.leaves.sort_unstable();
        self.leaves.dedup();
        self.leaves.shrink_to(2 * self.leaves.len());
        (self.gone, self.unsorted) = (0, true);
    }
}

/// What [`Agenda::take_next`] took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) time: SimTime,
    /// Entries of leaves that left are among those taken; where a slot was used again, it may be there twice.
    pub(crate) stale: bool,
    /// Those taken are not in the world's order.
    pub(crate) unsorted: bool,
}

impl Agenda {
    /// Puts `leaf`, whose place in the world's order is `order`, down for `time`; never for [`SimTime::MAX`].
    #[allow(clippy::inline_always, reason = "once per step; joins call it too, and would keep it from being inlined")]
    #[inline(always)]
    pub(crate) fn push(&mut self, time: SimTime, leaf: u32, order: u64) {
        let bucket = match self.first {
            Some((first, bucket)) if first == time => bucket,
            _ => self.bucket(time),
        };
        let bucket = &mut self.buckets[bucket as usize];
        if bucket.leaves.is_empty() {
            (bucket.unsorted, bucket.last, bucket.numbering) = (false, order, self.numbering);
        }
        bucket.unsorted |= order < bucket.last;
        bucket.last = order;
        bucket.leaves.push(leaf);
    }

    fn bucket(&mut self, time: SimTime) -> u32 {
        if let Some(&(_, bucket)) = self.recent.iter().flatten().find(|recent| recent.0 == time) {
            return bucket;
        }
        let (free, buckets) = (&mut self.free, &mut self.buckets);
        let mut new = || {
            free.pop().unwrap_or_else(|| {
                buckets.push(Bucket::default());
                buckets.len() as u32 - 1
            })
        };
        match self.first {
            None => {
                let bucket = new();
                self.first = Some((time, bucket));
                bucket
            }
            Some((first, later)) if time < first => {
                let bucket = new();
                self.times.insert(first, later);
                self.first = Some((time, bucket));
                bucket
            }
            Some(_) => {
                let bucket = *self.times.entry(time).or_insert_with(new);
                self.recent[self.turn] = Some((time, bucket));
                self.turn = (self.turn + 1) % self.recent.len();
                bucket
            }
        }
    }

    /// The earliest time at which somebody is due.
    #[inline]
    pub(crate) fn next(&self) -> Option<SimTime> {
        Some(self.first?.0)
    }

    /// Moves those due at the earliest time into `due`, in the order in which they were put down.
    #[inline]
    pub(crate) fn take_next(&mut self, due: &mut Vec<u32>) -> Option<Taken> {
        let (time, bucket) = self.first.take()?;
        let entry = &mut self.buckets[bucket as usize];
        due.clear();
        std::mem::swap(due, &mut entry.leaves);
        let unsorted = entry.unsorted || entry.numbering != self.numbering;
        let taken = Taken { time, stale: std::mem::take(&mut entry.gone) > 0, unsorted };
        self.free.push(bucket);
        self.refill();
        Some(taken)
    }

    /// Says that places in the world's order were numbered anew, as joins may have it.
    pub(crate) fn renumbered(&mut self) {
        self.numbering += 1;
    }

    /// Says that a leaf put down for `time` has left; `is_due` tells of a leaf whether it is due then now.
    pub(crate) fn leave(&mut self, time: SimTime, is_due: impl Fn(u32) -> bool) {
        let first = self.first.filter(|first| first.0 == time);
        let Some(bucket) = first.map(|first| first.1).or_else(|| self.times.get(&time).copied()) else { return };
        let entry = &mut self.buckets[bucket as usize];
        entry.gone += 1;
        if entry.gone < entry.leaves.len() {
            if entry.gone >= MANY_GONE && entry.gone > entry.leaves.len() / 2 {
                entry.sweep(is_due);
            }
            return;
        }
        *entry = Bucket::default();
        self.free.push(bucket);
        self.forget((time, bucket));
        if first.is_some() {
            self.refill();
        } else {
            self.times.remove(&time);
        }
    }

    /// Takes the earliest of the later times out of the map.
    fn refill(&mut self) {
        self.first = self.times.pop_first();
        if let Some(first) = self.first {
            self.forget(first);
        }
    }

    fn forget(&mut self, used: (SimTime, u32)) {
        self.recent.iter_mut().filter(|recent| **recent == Some(used)).for_each(|recent| *recent = None);
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
            agenda.push(time(i64::from(leaf) * 7 % 10), leaf as u32, leaf as u64);
        }
        let mut due = Vec::new();
        let mut seen = 0;
        for step in 0..10 {
            assert_eq!(agenda.next(), Some(time(step)));
            assert_eq!(agenda.take_next(&mut due).unwrap().time, time(step));
            assert!(due.is_sorted());
            assert!(due.iter().all(|&leaf| i64::from(leaf) * 7 % 10 == step));
            seen += due.len();
            if step == 4 {
                // A bucket that was given back is used again for another time.
                agenda.push(time(40), 7, 7);
            }
        }
        assert_eq!(seen, 100);
        assert_eq!(agenda.take_next(&mut due), Some(Taken { time: time(40), stale: false, unsorted: false }));
        assert_eq!((due.as_slice(), agenda.next()), (&[7][..], None));
    }

    #[test]
    fn a_time_whose_leaves_have_all_left_is_no_instant() {
        let mut agenda = Agenda::default();
        let time = SimTime::from_secs;
        for (at, leaf) in [(3, 0), (1, 1), (2, 2), (2, 3), (3, 4)] {
            agenda.push(time(at), leaf, leaf.into());
        }
        agenda.leave(time(1), |_| true);
        assert_eq!(agenda.next(), Some(time(2)));
        agenda.leave(time(2), |_| true);
        let mut due = Vec::new();
        assert_eq!(agenda.take_next(&mut due), Some(Taken { time: time(2), stale: true, unsorted: false }));
        agenda.push(time(5), 2, 2);
        agenda.leave(time(3), |_| true);
        agenda.leave(time(3), |_| true);
        assert_eq!(agenda.next(), Some(time(5)));
        agenda.push(time(3), 7, 7);
        assert_eq!(agenda.take_next(&mut due), Some(Taken { time: time(3), stale: false, unsorted: false }));
        assert_eq!(due, [7]);
        agenda.leave(time(5), |_| true);
        assert_eq!((agenda.next(), agenda.take_next(&mut due)), (None, None));
    }

    #[test]
    fn leaves_put_down_against_the_worlds_order_are_said_to_be_unsorted() {
        let mut agenda = Agenda::default();
        let mut due = Vec::new();
        for (leaf, order) in [(0, 5), (1, 7), (2, 6)] {
            agenda.push(SimTime::ZERO, leaf, order);
        }
        assert!(agenda.take_next(&mut due).unwrap().unsorted);
        for (leaf, order) in [(3, 1), (4, 2)] {
            agenda.push(SimTime::from_secs(1), leaf, order);
        }
        assert!(!agenda.take_next(&mut due).unwrap().unsorted);
        // Numbered anew: what was put down before cannot be compared with what is now.
        agenda.push(SimTime::from_secs(2), 5, 3);
        agenda.renumbered();
        agenda.push(SimTime::from_secs(2), 6, 3);
        assert!(agenda.take_next(&mut due).unwrap().unsorted);
    }
}
