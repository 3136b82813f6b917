//! The guarded host: one actor on a thread of its own, which may never come back.
//!
//! All that passes between the threads is owned: should a step hang, its thread is left behind with what it was given, and
//! takes nothing along. It ends with the process, which it does not keep from ending.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use chaconne_sim_core::port::{Hosted, RunIdentity};

use super::local::{LocalHost, WORKER_STACK};
use super::remote::{Answer, Parting, Remote};
use super::{HaltCause, Host, ReplyPart, StepReply, StepRequest, panic_text};
use crate::clock::{Deadline, Stopwatch};

enum Order {
    Step(StepRequest),
    /// Let go of the actor and end.
    End,
}

enum Outcome {
    Stepped(StepReply, Duration),
    /// The actor is gone; with what it panicked, if it did.
    Ended(Option<String>),
}

/// One actor's thread, as the conductor sees it.
pub(super) struct Guarded {
    orders: Sender<Order>,
    outcomes: Receiver<Outcome>,
    spare: StepRequest,
    part: ReplyPart,
}

impl Guarded {
    /// Starts a thread for an actor, whose leaves are numbered from zero.
    ///
    /// # Errors
    /// When the system starts no more threads.
    pub(super) fn start(run: &Arc<RunIdentity>, leaves: Vec<Hosted>, path: &str) -> io::Result<Self> {
        let (orders, inbox) = channel();
        let (outbox, outcomes) = channel();
        let run = Arc::clone(run);
        let thread = std::thread::Builder::new().name(format!("actor {path}")).stack_size(WORKER_STACK);
        thread.spawn(move || work(run, leaves, &inbox, &outbox))?;
        Ok(Self { orders, outcomes, spare: StepRequest::default(), part: ReplyPart::default() })
    }
}

/// What the thread does.
fn work(run: Arc<RunIdentity>, leaves: Vec<Hosted>, orders: &Receiver<Order>, outcomes: &Sender<Outcome>) {
    let mut host = LocalHost::new(run, 1);
    host.add(leaves);
    // Nobody listens any more when the run is over.
    while let Ok(order) = orders.recv() {
        let outcome = match order {
            Order::Step(request) => {
                let started = Stopwatch::start();
                host.begin(request);
                let reply = host.finish();
                host.declare_own(&reply);
                Outcome::Stepped(reply, started.elapsed())
            }
            Order::End => {
                let ended = catch_unwind(AssertUnwindSafe(|| drop(host)));
                let _ = outcomes.send(Outcome::Ended(ended.err().map(|panic| panic_text(&*panic))));
                return;
            }
        };
        if outcomes.send(outcome).is_err() {
            return;
        }
    }
    // A participant that panics when it is let go at the end of everything says so on stderr, as any thread does.
}

impl Remote for Guarded {
    fn begin(&mut self, mut request: StepRequest) {
        request.spare.push(std::mem::take(&mut self.part));
        // A thread that has ended shows when its answer is waited for.
        let _ = self.orders.send(Order::Step(request));
    }

    fn next(&mut self, deadline: Deadline) -> Result<Answer, HaltCause> {
        match self.outcomes.recv_timeout(deadline.remaining()) {
            Ok(Outcome::Stepped(mut reply, took)) => {
                let part = reply.parts.pop().unwrap_or_default();
                self.spare = reply.request;
                self.spare.clear();
                Ok(Answer { part, took })
            }
            Err(RecvTimeoutError::Timeout) => Err(HaltCause::TimedOut { timeout: deadline.length(), took: None }),
            Ok(Outcome::Ended(_)) | Err(RecvTimeoutError::Disconnected) => {
                Err(HaltCause::Lost("its thread has ended".to_owned()))
            }
        }
    }

    fn spare(&mut self) -> StepRequest {
        std::mem::take(&mut self.spare)
    }

    fn remove(&mut self, _: u32, timeout: Duration) -> Result<(), Parting> {
        self.ask_to_end();
        self.await_end(Deadline::after(timeout))
    }
}

impl Guarded {
    /// Asks the thread to let go of its actor and to end.
    pub(super) fn ask_to_end(&self) {
        // One that has ended does not listen.
        let _ = self.orders.send(Order::End);
    }

    /// Waits until it has.
    pub(super) fn await_end(&self, deadline: Deadline) -> Result<(), Parting> {
        loop {
            match self.outcomes.recv_timeout(deadline.remaining()) {
                Ok(Outcome::Ended(Some(text))) => return Err(Parting::Panicked(text)),
                Ok(Outcome::Ended(None)) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
                // An answer that nobody waited for.
                Ok(Outcome::Stepped(..)) => {}
                Err(RecvTimeoutError::Timeout) => return Err(Parting::Hangs),
            }
        }
    }
}
