//! What it costs that an actor is stepped elsewhere: on a guarded thread beside a bare round trip between two threads, in a
//! helper process beside a bare round trip through two pipes of as many bytes.
//!
//! One participant that receives a signal and publishes one at every step, so each way something is carried. The unit is
//! one instant.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use chaconne_conductor::host::process::{HelperProgram, serve};
use chaconne_conductor::{Actor, ActorMaker, Conductor, ConductorConfig, Hosting};
use chaconne_sim_core::membership::{JoinRequest, NodeRequest};
use chaconne_sim_core::{ActorPath, Participant, SimDuration, SimTime, StepCtx, StepResult, Subscription};

use crate::alternate::{Plan, Series, Work, alternate};
use crate::error::PeerError;
use crate::report::{Report, Row, Side};

/// The most that a step elsewhere may cost, in bare round trips.
const TARGET: f64 = 1.5;

/// Bytes of the messages that a step takes there and back, length included, as a trace of the system calls shows them.
const BYTES: (usize, usize) = (36, 22);

/// What the program is asked to be by these benches.
pub(crate) const HELPER: &str = "helper";
pub(crate) const ECHO: &str = "echo";

const UNIT: &str = "ns per instant";

/// Hears itself and says a number.
struct Echo(f64);

impl Participant for Echo {
    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::every("x")]
    }

    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        for heard in ctx.inbox() {
            self.0 += heard.decode::<f64>()?;
        }
        ctx.publish("x", &1.0)?;
        ctx.after(SimDuration::from_millis(1))
    }
}

fn make(request: &JoinRequest, _: &ActorPath) -> Result<Actor, String> {
    Ok(Actor::of(&request.path, Echo(0.0)))
}

/// Serves as a helper process.
pub(crate) fn help() -> Result<(), PeerError> {
    serve(|_| Ok(Box::new(make) as Box<dyn ActorMaker>)).map_err(PeerError::ours)
}

/// Reads as many bytes as a step sends and writes as many as it answers, until nobody sends any more.
pub(crate) fn echo() -> Result<(), PeerError> {
    let (mut from, mut to) = (std::io::stdin().lock(), std::io::stdout().lock());
    let (mut question, answer) = (vec![0; BYTES.0], vec![1; BYTES.1]);
    while from.read_exact(&mut question).is_ok() {
        to.write_all(&answer).and_then(|()| to.flush()).map_err(PeerError::ours)?;
    }
    Ok(())
}

/// A world of that participant.
struct World {
    conductor: Conductor,
    until: SimTime,
    instants: u64,
}

impl World {
    fn new(hosting: Hosting) -> Result<Self, PeerError> {
        let config = ConductorConfig { threads: 1, ..ConductorConfig::default() };
        let mut conductor = Conductor::new(config).map_err(PeerError::ours)?;
        let program = std::env::current_exe().map_err(PeerError::ours)?;
        conductor.set_helper(HelperProgram::new(program, [HELPER]));
        conductor.set_maker(make);
        let node = NodeRequest::Made { factory: "echo".to_owned(), params: "{}".to_owned() };
        conductor.add(Actor::requested("a", node).hosted(hosting)).map_err(PeerError::ours)?;
        Ok(Self { conductor, until: SimTime::ZERO, instants: 0 })
    }
}

impl Work for World {
    fn perform(&mut self, amount: u64) -> Result<(), PeerError> {
        self.instants += amount;
        self.until = SimTime::from_nanos(1_000_000 * self.instants as i64);
        self.conductor.run_until(self.until).map_err(PeerError::ours)
    }

    fn units(&self, amount: u64) -> f64 {
        amount as f64
    }

    fn verify(&mut self) -> Result<(), PeerError> {
        verified("a world", self.instants, self.conductor.signals())
    }
}

fn verified(contender: &str, expected: u64, found: u64) -> Result<(), PeerError> {
    if expected == found {
        return Ok(());
    }
    Err(PeerError::Differs { contender: contender.to_owned(), expected: expected as f64, found: found as f64 })
}

/// A message there and back between two threads.
struct Channel {
    to: Sender<[u64; 8]>,
    from: Receiver<[u64; 8]>,
    asked: u64,
    answered: u64,
}

impl Channel {
    fn new() -> Self {
        let (to, inbox) = channel::<[u64; 8]>();
        let (outbox, from) = channel();
        std::thread::spawn(move || {
            while let Ok(message) = inbox.recv() {
                if outbox.send(message).is_err() {
                    break;
                }
            }
        });
        Self { to, from, asked: 0, answered: 0 }
    }
}

impl Work for Channel {
    fn perform(&mut self, amount: u64) -> Result<(), PeerError> {
        for _ in 0..amount {
            self.asked += 1;
            let _ = self.to.send([self.asked; 8]);
            self.answered += u64::from(self.from.recv().is_ok_and(|answer| answer[7] == self.asked));
        }
        Ok(())
    }

    fn units(&self, amount: u64) -> f64 {
        amount as f64
    }

    fn verify(&mut self) -> Result<(), PeerError> {
        verified("the channel", self.asked, self.answered)
    }
}

/// As many bytes as a step, there and back through two pipes.
struct Pipe {
    child: Child,
    to: Option<ChildStdin>,
    from: ChildStdout,
    asked: u64,
    answered: u64,
}

impl Pipe {
    fn new() -> Result<Self, PeerError> {
        let mut command = Command::new(std::env::current_exe().map_err(PeerError::ours)?);
        let mut child =
            command.arg(ECHO).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(PeerError::ours)?;
        let (to, from) = (child.stdin.take(), child.stdout.take());
        let from = from.ok_or_else(|| PeerError::ours("the echo has no pipe"))?;
        Ok(Self { child, to, from, asked: 0, answered: 0 })
    }
}

impl Work for Pipe {
    fn perform(&mut self, amount: u64) -> Result<(), PeerError> {
        let (question, mut answer) = ([7; BYTES.0], [0; BYTES.1]);
        for _ in 0..amount {
            self.asked += 1;
            if let Some(to) = &mut self.to
                && to.write_all(&question).is_ok()
            {
                self.answered += u64::from(self.from.read_exact(&mut answer).is_ok());
            }
        }
        Ok(())
    }

    fn units(&self, amount: u64) -> f64 {
        amount as f64
    }

    fn verify(&mut self) -> Result<(), PeerError> {
        verified("the pipe", self.asked, self.answered)
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.to = None;
        let _ = self.child.wait();
    }
}

/// Measures both ways of stepping an actor elsewhere and reports a row for each.
pub(crate) fn measure(plan: Plan, report: &mut Report) -> Result<(), PeerError> {
    let long = Duration::from_secs(600);
    report.progress(&format!("hosts: five contenders, {} rounds", plan.runs))?;
    let mut works: Vec<Box<dyn Work>> = vec![
        Box::new(Channel::new()),
        Box::new(World::new(Hosting::guarded(long))?),
        Box::new(Pipe::new()?),
        Box::new(World::new(Hosting::process().timeout(long))?),
        Box::new(World::new(Hosting::default())?),
    ];
    let series = alternate(&mut works, plan)?;
    let [channel, guarded, pipe, process, local] = &series[..] else { return Ok(()) };
    let side =
        |name, series: &Series| Some(Side { name, threads: 2, value: series.median(), spread: Some(series.spread()) });
    let row = |work| Row::new(work, 1, UNIT, plan.runs);
    report.row(row("local").ours(side("Chaconne", local)))?;
    let channel = side("a bare channel", channel);
    report.row(row("guarded").theirs(channel).ours(side("Chaconne", guarded)).target(Some(TARGET)))?;
    let pipe = side("bare pipes", pipe);
    report.row(row("process").theirs(pipe).ours(side("Chaconne", process)).target(Some(TARGET)))
}
