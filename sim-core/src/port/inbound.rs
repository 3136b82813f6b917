//! Signals between steps: as they wait in inboxes, and as a step publishes them.

use std::ops::Range;

use super::OutputId;
use crate::signal::{Delivery, Payload};
use crate::time::SimTime;

/// How a signal reaches one receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Reach {
    /// In the inbox.
    pub every: bool,
    /// As the held value of its key.
    pub latest: bool,
}

impl Reach {
    /// Adds what another subscription of the same receiver asks for: a signal is still delivered once.
    pub fn join(&mut self, delivery: Delivery) {
        match delivery {
            Delivery::Every => self.every = true,
            Delivery::Latest => self.latest = true,
        }
    }

    /// Neither in the inbox nor held.
    pub fn is_none(self) -> bool {
        !self.every && !self.latest
    }
}

/// What an inbox item says.
#[derive(Clone, Debug)]
pub enum Content {
    /// A signal was published.
    Signal(Payload),
    /// The publisher left: its value is held no longer.
    Withdrawn,
}

/// One item of an inbox, as the conductor or a host hands it over.
#[derive(Clone, Debug)]
pub struct Inbound {
    /// Which key, by whom.
    pub output: OutputId,
    /// In the inbox, as the latest value, or both.
    pub reach: Reach,
    /// When it was published.
    pub time: SimTime,
    /// The publisher's sequence number.
    pub seq: u64,
    /// The signal itself.
    pub content: Content,
}

/// One signal as published by a step.
#[derive(Clone, Debug)]
pub struct Published {
    /// Index of the key among the publisher's outputs.
    pub output: u32,
    /// Where the canonical text lies in the step's [`Frame`](crate::fingerprint::Frame).
    pub text: Range<usize>,
    /// The content.
    pub payload: Payload,
}

/// A later leaf of the same actor that receives an output.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// The receiver's position in the actor's pipeline.
    pub position: u32,
    /// Every signal, the latest, or both.
    pub reach: Reach,
}
