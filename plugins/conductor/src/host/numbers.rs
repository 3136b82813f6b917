//! The numbers that leaves and outputs have at one remote place.
//!
//! The conductor numbers leaves and outputs over the whole world; a place that steps a few actors knows few of them, so there
//! they have small numbers of its own. One number counts leaves: those of the actors that are stepped there, in runs, and the
//! publishers of other outputs, one number per output.

use std::collections::BTreeMap;
use std::ops::Range;

use chaconne_sim_core::port::{OutputId, OutputInfo, OutputTable};

/// Numbers in use at a place.
#[derive(Default)]
pub(super) struct Numbers {
    /// Own leaves, by the slot of an actor's first: how many, and the number of the first.
    own: BTreeMap<u32, (u32, u32)>,
    /// Outputs of others.
    outputs: BTreeMap<OutputId, u32>,
    /// Numbers that are free again, by the length of the run.
    free: BTreeMap<u32, Vec<u32>>,
    next: u32,
}

impl Numbers {
    /// Numbers for the leaves of an actor that is stepped here from now on; the first of them.
    pub(super) fn seat(&mut self, slots: Range<u32>) -> u32 {
        let count = slots.end - slots.start;
        let first = self.take(count);
        self.own.insert(slots.start, (count, first));
        first
    }

    fn take(&mut self, count: u32) -> u32 {
        if let Some(first) = self.free.get_mut(&count).and_then(Vec::pop) {
            return first;
        }
        self.next += count;
        self.next - count
    }

    /// Forgets whoever had these slots before: they are used again, so nothing of theirs is on its way any more.
    pub(super) fn forget(&mut self, slots: Range<u32>) {
        if let Some((count, first)) = self.own.remove(&slots.start) {
            self.free.entry(count).or_default().push(first);
        }
        let of = |leaf| OutputId { leaf, index: 0 };
        while let Some((&id, &number)) = self.outputs.range(of(slots.start)..of(slots.end)).next() {
            self.outputs.remove(&id);
            self.free.entry(1).or_default().push(number);
        }
    }

    /// The number of an own leaf.
    pub(super) fn leaf(&self, slot: u32) -> Option<u32> {
        let (&start, &(count, first)) = self.own.range(..=slot).next_back()?;
        (slot - start < count).then(|| first + slot - start)
    }

    /// The number of an output; what it stands for is added to `news` when it is used for the first time.
    pub(super) fn output(
        &mut self,
        id: OutputId,
        table: &OutputTable,
        news: &mut Vec<(OutputId, OutputInfo)>,
    ) -> OutputId {
        if id == OutputId::REFUSED {
            return id;
        }
        if let Some(leaf) = self.leaf(id.leaf) {
            return OutputId { leaf, index: id.index };
        }
        let of = |leaf| OutputId { leaf, index: 0 };
        if let Some(&number) = self.outputs.get(&id) {
            return of(number);
        }
        let number = self.take(1);
        self.outputs.insert(id, number);
        news.extend(table.get(id).map(|info| (of(number), info.clone())));
        of(number)
    }
}

#[cfg(test)]
mod tests {
    use chaconne_sim_core::{ActorPath, Key};

    use super::*;

    fn table() -> OutputTable {
        let mut table = OutputTable::new("w");
        for leaf in [7, 8, 9] {
            let key = Key::new(&format!("chaconne/w/actor/a{leaf}/x")).unwrap();
            table.declare_next(leaf, OutputInfo { key, publisher: ActorPath::new(&format!("a{leaf}")).unwrap() });
        }
        table
    }

    #[test]
    fn own_leaves_keep_the_numbers_of_their_outputs_and_others_are_told_once() {
        let (mut numbers, mut news) = (Numbers::default(), Vec::new());
        assert_eq!(numbers.seat(100..103), 0);
        let id = |leaf, index| OutputId { leaf, index };
        assert_eq!(numbers.output(id(102, 5), &table(), &mut news), id(2, 5));
        assert_eq!(numbers.output(id(7, 0), &table(), &mut news), id(3, 0));
        assert_eq!(numbers.output(id(7, 0), &table(), &mut news), id(3, 0));
        assert_eq!(numbers.output(OutputId::REFUSED, &table(), &mut news), OutputId::REFUSED);
        assert_eq!(news.iter().map(|(id, info)| (id.leaf, info.publisher.as_str())).collect::<Vec<_>>(), [(3, "a7")]);
        assert_eq!((numbers.leaf(103), numbers.leaf(99)), (None, None));
    }

    #[test]
    fn numbers_of_slots_that_are_used_again_are_used_again() {
        let (mut numbers, mut news) = (Numbers::default(), Vec::new());
        for round in 0..1_000_u32 {
            numbers.forget(20..22);
            numbers.forget(7..10);
            assert_eq!(numbers.seat(20..22), 0, "{round}");
            for leaf in [7, 8, 9] {
                numbers.output(OutputId { leaf, index: 0 }, &table(), &mut news);
            }
        }
        assert_eq!((numbers.next, news.len()), (5, 3_000));
    }
}
