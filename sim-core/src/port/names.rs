//! Which key and which publisher an output's number stands for.

use smallvec::SmallVec;

use super::{Hosted, Inbound};
use crate::key::Key;
use crate::path::ActorPath;

/// Names an output: one key as one leaf publishes it. Numbers, not names: nothing is ordered or hashed by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OutputId {
    /// The publisher's slot in the conductor's registry.
    pub leaf: u32,
    /// Counts the keys of that leaf in the order of their first publication.
    pub index: u32,
}

impl OutputId {
    /// What the conductor says to those whose requests it refused.
    pub const REFUSED: Self = Self { leaf: u32::MAX, index: 0 };
}

/// What an [`OutputId`] stands for.
#[derive(Clone, Debug)]
pub struct OutputInfo {
    /// The key.
    pub key: Key,
    /// The leaf that publishes under it.
    pub publisher: ActorPath,
}

/// All outputs of a world that a host has been told of, by leaf.
#[derive(Debug)]
pub struct OutputTable {
    leaves: Vec<SmallVec<[OutputInfo; 1]>>,
    conductor: OutputInfo,
}

impl OutputTable {
    /// The table of a world, in which nobody has published yet.
    ///
    /// # Panics
    /// When the world's name is not a segment.
    pub fn new(world: &str) -> Self {
        let key = Key::new(&format!("chaconne/{world}/conductor/refused")).expect("a world's name is a segment");
        let publisher = ActorPath::new("conductor").expect("a single segment of letters is a path");
        Self { leaves: Vec::new(), conductor: OutputInfo { key, publisher } }
    }

    /// Takes note of an output. The first of a leaf ends those of whoever had its slot before: by then nothing of them is
    /// on its way any more.
    pub fn declare(&mut self, id: OutputId, info: OutputInfo) {
        let slot = id.leaf as usize;
        if self.leaves.len() <= slot {
            self.leaves.resize_with(slot + 1, SmallVec::new);
        }
        let outputs = &mut self.leaves[slot];
        outputs.truncate(id.index as usize);
        outputs.push(info);
    }

    /// Takes note of the next output of a leaf, for the host that steps it and need not be told.
    pub fn declare_next(&mut self, leaf: u32, info: OutputInfo) {
        let index = self.leaves.get(leaf as usize).map_or(0, SmallVec::len) as u32;
        self.declare(OutputId { leaf, index }, info);
    }

    /// Forgets the outputs of whoever had a slot before: for the host of who has it now, which finds what that one publishes
    /// in the instant of its first publication at its port.
    pub fn forget(&mut self, leaf: u32) {
        if let Some(outputs) = self.leaves.get_mut(leaf as usize) {
            outputs.clear();
        }
    }

    /// Looks one up.
    #[inline]
    pub fn get(&self, id: OutputId) -> Option<&OutputInfo> {
        match self.leaves.get(id.leaf as usize) {
            Some(outputs) => outputs.get(id.index as usize),
            None => (id == OutputId::REFUSED).then_some(&self.conductor),
        }
    }
}

/// Resolves output ids to names, also those first used earlier in the same instant by the same actor.
#[derive(Clone, Copy)]
pub struct Names<'a> {
    /// What the conductor has told.
    pub table: &'a OutputTable,
    /// The earlier leaves of the same actor.
    pub siblings: &'a [Hosted],
}

impl<'a> Names<'a> {
    /// The key and the publisher's path.
    ///
    /// # Panics
    /// On an id that was never declared: hosts check what comes from outside before it gets here.
    pub fn get(&self, id: OutputId) -> (&'a Key, &'a ActorPath) {
        if let Some(info) = self.table.get(id) {
            return (&info.key, &info.publisher);
        }
        self.siblings
            .iter()
            .map(|sibling| &sibling.port)
            .find(|port| port.leaf() == id.leaf)
            .and_then(|port| Some((port.key(id.index)?, port.path())))
            .expect("an output is declared before its signals are delivered")
    }

    /// Orders an inbox by (time, publisher path as bytes, sequence number).
    pub fn sort(&self, inbox: &mut [Inbound]) {
        inbox.sort_by(|a, b| {
            a.time
                .cmp(&b.time)
                .then_with(|| {
                    if a.output.leaf == b.output.leaf {
                        std::cmp::Ordering::Equal
                    } else {
                        self.get(a.output).1.cmp(self.get(b.output).1)
                    }
                })
                .then_with(|| a.seq.cmp(&b.seq))
        });
    }
}
