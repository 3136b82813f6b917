//! Delivery: inboxes between steps. What waits for a leaf is a list in one shared slab, so a leaf without signals costs
//! nothing and a signal costs one node.

use chaconne_sim_core::path::ActorPath;
use chaconne_sim_core::port::{Content, Inbound};
use chaconne_sim_core::time::SimTime;

use crate::routing::{Route, Waiting};

const NONE: u32 = u32::MAX;

struct NodeEntry {
    item: Inbound,
    next: u32,
}

/// The inbox of one leaf: a list in the slab.
#[derive(Clone, Copy)]
pub(crate) struct InboxList {
    head: u32,
    tail: u32,
    /// Counts how often the list was taken; an older [`Waiting`] is void.
    epoch: u32,
}

impl InboxList {
    /// Nothing waits.
    pub(crate) const EMPTY: Self = Self { head: NONE, tail: NONE, epoch: 0 };

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.head == NONE
    }
}

/// The items of all inboxes.
pub(crate) struct Inboxes {
    nodes: Vec<NodeEntry>,
    free: u32,
    /// Publishers whose leaving was taken note of, once for each time: nothing that they said waits there any more.
    pub(crate) forgotten: Vec<u32>,
}

impl Inboxes {
    pub(crate) fn new() -> Self {
        Self { nodes: Vec::new(), free: NONE, forgotten: Vec::new() }
    }

    /// Appends an item to an inbox.
    #[inline]
    pub(crate) fn push(&mut self, list: &mut InboxList, item: Inbound) -> Waiting {
        let node = match self.nodes.get_mut(self.free as usize) {
            Some(entry) => {
                let node = self.free;
                self.free = entry.next;
                *entry = NodeEntry { item, next: NONE };
                node
            }
            None => {
                self.nodes.push(NodeEntry { item, next: NONE });
                self.nodes.len() as u32 - 1
            }
        };
        if list.tail == NONE {
            list.head = node;
        } else {
            self.nodes[list.tail as usize].next = node;
        }
        list.tail = node;
        Waiting { node, epoch: list.epoch }
    }

    /// Delivers along a route whose receiver wants the latest value alone: what still waits there is overwritten, unless
    /// the receiver is about to step at this very instant (`due_now`) and must see the older one first.
    #[inline]
    pub(crate) fn push_latest(&mut self, list: &mut InboxList, route: &mut Route, item: Inbound, due_now: bool) {
        if let Some(waiting) = route.waiting
            && !due_now
            && list.epoch == waiting.epoch
        {
            self.nodes[waiting.node as usize].item = item;
            return;
        }
        route.waiting = Some(self.push(list, item));
    }

    /// Moves what was published before `now` out of an inbox, ordered by (time, publisher path as bytes,
    /// sequence number), to the end of `out`.
    #[inline]
    pub(crate) fn take(&mut self, list: &mut InboxList, now: SimTime, paths: &[ActorPath], out: &mut Vec<Inbound>) {
        if list.head == NONE {
            return;
        }
        let from = out.len();
        let mut sorted = true;
        let mut node = list.head;
        while node != NONE {
            let entry = &mut self.nodes[node as usize];
            if entry.item.time >= now && !matches!(entry.item.content, Content::Withdrawn) {
                break;
            }
            let item =
                Inbound { content: std::mem::replace(&mut entry.item.content, Content::Withdrawn), ..entry.item };
            if let Some(previous) = out[from..].last() {
                sorted &= before(previous, &item, paths);
            }
            match &item.content {
                Content::Signal(payload) => payload.prefetch(),
                Content::Withdrawn => self.forgotten.push(item.output.leaf),
            }
            out.push(item);
            let next = entry.next;
            entry.next = self.free;
            self.free = node;
            node = next;
        }
        list.head = node;
        if node == NONE {
            list.tail = NONE;
        }
        list.epoch = list.epoch.wrapping_add(1);
        if !sorted {
            out[from..].sort_by(|a, b| order(a, b, paths));
        }
    }

    /// Empties the inbox of a leaf that leaves.
    pub(crate) fn clear(&mut self, list: &mut InboxList) {
        self.take(list, SimTime::MAX, &[], &mut Vec::new());
    }
}

#[inline]
fn before(a: &Inbound, b: &Inbound, paths: &[ActorPath]) -> bool {
    a.time < b.time || (a.time == b.time && order(a, b, paths).is_le())
}

/// The order of an inbox.
fn order(a: &Inbound, b: &Inbound, paths: &[ActorPath]) -> std::cmp::Ordering {
    // What the conductor says has no path, and comes first.
    let path = |item: &Inbound| paths.get(item.output.leaf as usize);
    a.time
        .cmp(&b.time)
        .then_with(|| if a.output.leaf == b.output.leaf { std::cmp::Ordering::Equal } else { path(a).cmp(&path(b)) })
        .then_with(|| a.seq.cmp(&b.seq))
}
