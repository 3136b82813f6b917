//! The ring on NeXosim 1.0, as its documentation would have it.
//!
//! A member is a model with one output port, connected to the next model's input port; the receiving port is a plain
//! method, which spares a future. Its steps are private inputs that it schedules on itself, in both ways that NeXosim
//! offers: a periodic event, scheduled once (*unkeyed, as it is never cancelled*), or an event that schedules the next
//! one. Which is faster depends on the size, so both are measured. Models run free, under the default clock.
//!
//! Two choices were made by measuring, both in NeXosim's favour:
//!
//! * mailboxes hold four messages. At most two arrive in an instant, and with the default of sixteen a ring of 100,000
//!   takes a third longer, because a mailbox uses its slots in turn and each has a box of its own;
//! * models, mailboxes, connections and registrations are made in separate loops, as in NeXosim's examples. Finishing
//!   one model after the other spreads each kind over the heap and costs 100,000 models half as much again.
//!
//! Both sides are built with the workspace's profile. Fat link-time optimisation in one unit would gain NeXosim about four
//! per cent.

use std::time::Duration;

use nexosim::{
    model::{Context, Model, schedulable},
    ports::{Output, QuerySource, Requestor},
    simulation::{Mailbox, QueryId, SimInit, Simulation, SimulationError},
    time::MonotonicTime,
};
use serde::{Deserialize, Serialize};

use crate::{
    error::PeerError,
    ring::{PERIOD_MS, Ring},
};

const PERIOD: Duration = Duration::from_millis(PERIOD_MS);

const MAILBOX_CAPACITY: usize = 4;

/// How a model schedules its own steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Schedule {
    /// One periodic event.
    Periodic,
    /// Every step schedules the next.
    StepByStep,
}

impl Schedule {
    pub(crate) const ALL: [Self; 2] = [Self::Periodic, Self::StepByStep];

    /// The name of the contender in a report.
    pub(crate) fn peer(self) -> &'static str {
        match self {
            Self::Periodic => "NeXosim 1.0, periodic",
            Self::StepByStep => "NeXosim 1.0, step by step",
        }
    }
}

/// One model of the ring.
#[derive(Serialize, Deserialize)]
struct Member {
    schedule: Schedule,
    held: f64,
    next: Output<f64>,
}

#[Model]
impl Member {
    fn receive(&mut self, value: f64) {
        self.held += value;
    }

    async fn held(&mut self) -> f64 {
        self.held
    }

    #[nexosim(init)]
    async fn init(&mut self, cx: &Context<Self>) {
        match self.schedule {
            Schedule::Periodic => cx.schedule_periodic_event(PERIOD, PERIOD, schedulable!(Self::step), ()),
            Schedule::StepByStep => cx.schedule_event(PERIOD, schedulable!(Self::step_and_schedule), ()),
        }
        .expect("a positive period lies in the future");
    }

    #[nexosim(schedulable)]
    async fn step(&mut self) {
        let sent = self.held + 1.0;
        self.held = 0.0;
        self.next.send(sent).await;
    }

    #[nexosim(schedulable)]
    async fn step_and_schedule(&mut self, _: (), cx: &Context<Self>) {
        cx.schedule_event(PERIOD, schedulable!(Self::step_and_schedule), ())
            .expect("a positive period lies in the future");
        self.step().await;
    }
}

/// Asks all members what they hold. It takes no part while time advances.
#[derive(Default, Serialize, Deserialize)]
struct Treasurer {
    members: Requestor<(), f64>,
}

#[Model]
impl Treasurer {
    async fn total(&mut self) -> f64 {
        self.members.send(()).await.sum()
    }
}

/// A ring of models, ready to advance.
pub(crate) struct NexosimRing {
    simulation: Simulation,
    total: QueryId<(), f64>,
    n: usize,
    threads: usize,
}

impl NexosimRing {
    /// Sets up a ring of `n` models at time zero, on `threads` worker threads.
    pub(crate) fn build(n: usize, threads: usize, schedule: Schedule) -> Result<Self, PeerError> {
        let mut members: Vec<_> = (0..n).map(|_| Member { schedule, held: 0.0, next: Output::default() }).collect();
        let mailboxes: Vec<_> = (0..n).map(|_| Mailbox::with_capacity(MAILBOX_CAPACITY)).collect();
        for (index, member) in members.iter_mut().enumerate() {
            member.next.connect(Member::receive, &mailboxes[(index + 1) % n]);
        }
        let mut treasurer = Treasurer::default();
        for mailbox in &mailboxes {
            treasurer.members.connect(Member::held, mailbox);
        }
        let treasury = Mailbox::new();

        let mut bench = SimInit::with_num_threads(threads);
        let total = QuerySource::new().connect(Treasurer::total, &treasury).register(&mut bench);
        for (index, (member, mailbox)) in members.into_iter().zip(mailboxes).enumerate() {
            bench = bench.add_model(member, mailbox, &index.to_string());
        }
        let simulation = bench
            .add_model(treasurer, treasury, "treasurer")
            .init(MonotonicTime::EPOCH)
            .map_err(|source| failed(n, threads, source))?;
        Ok(Self { simulation, total, n, threads })
    }
}

impl Ring for NexosimRing {
    fn advance(&mut self, instants: u64) -> Result<(), PeerError> {
        self.simulation
            .step_until(Duration::from_millis(PERIOD_MS * instants))
            .map_err(|source| failed(self.n, self.threads, source))
    }

    fn checksum(&mut self) -> Result<f64, PeerError> {
        self.simulation.process_query(&self.total, ()).map_err(|source| failed(self.n, self.threads, source))
    }
}

fn failed(n: usize, threads: usize, source: impl Into<SimulationError>) -> PeerError {
    PeerError::NeXosim { n, threads, source: Box::new(source.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::held_after;

    #[test]
    fn every_member_steps_once_per_instant_and_no_signal_is_lost() {
        for threads in [1, 2] {
            for schedule in Schedule::ALL {
                let mut ring = NexosimRing::build(7, threads, schedule).unwrap();
                assert_eq!(ring.checksum().unwrap(), 0.0);
                ring.advance(1).unwrap();
                ring.advance(99).unwrap();
                assert_eq!(ring.checksum().unwrap(), held_after(7, 100), "{schedule:?} on {threads} thread(s)");
            }
        }
    }
}
