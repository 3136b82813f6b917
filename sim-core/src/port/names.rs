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

/// What an [`OutputId`] stands for.
#[derive(Clone, Debug)]
pub struct OutputInfo {
    /// The key.
    pub key: Key,
    /// The leaf that publishes under it.
    pub publisher: ActorPath,
}

/// All outputs of a world that a host has been told of, by leaf.
#[derive(Default, Debug)]
pub struct OutputTable {
    leaves: Vec<SmallVec<[OutputInfo; 1]>>,
}

impl OutputTable {
    /// Adds the next output of `leaf` and returns its id.
    pub fn declare(&mut self, leaf: u32, info: OutputInfo) -> OutputId {
        let slot = leaf as usize;
        if self.leaves.len() <= slot {
            self.leaves.resize_with(slot + 1, SmallVec::new);
        }
        self.leaves[slot].push(info);
        OutputId { leaf, index: self.leaves[slot].len() as u32 - 1 }
    }

    /// Looks one up.
    pub fn get(&self, id: OutputId) -> Option<&OutputInfo> {
        self.leaves.get(id.leaf as usize)?.get(id.index as usize)
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
