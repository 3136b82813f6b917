//! Participants for tests.

use chaconne_sim_core::key::Key;
use chaconne_sim_core::membership::{JoinRequest, LeaveRequest, Refusal, Request};
use chaconne_sim_core::{Delivery, Participant, SimDuration, SimTime, StepCtx, StepResult, Subscription};

use crate::trace::{Trace, short};

/// Steps when it is told, publishes the number of its step, and writes what reaches it to a trace.
///
/// A line reads `{now} {path}: {arrivals}`; an arrival reads `{actor}/{signal}#{seq}@{time}={value}`, with
/// ` by {publisher}` when that is a part of the actor. A held value reads `[…]`, with `new` inside when it is new, and `[]`
/// when there is none.
#[derive(Default)]
pub struct Probe {
    due: Due,
    subscriptions: Vec<Subscription>,
    sayings: Vec<Saying>,
    asks: Vec<(SimTime, Request)>,
    trace: Option<Trace>,
    steps: u64,
}

enum Due {
    Every(SimDuration),
    At(Vec<SimTime>),
}

impl Default for Due {
    fn default() -> Self {
        Self::Every(SimDuration::from_secs(1))
    }
}

struct Saying {
    signal: String,
    /// At these times only; at every step when there are none.
    times: Vec<SimTime>,
}

impl Probe {
    /// Steps at its first due time and every `secs` seconds from there.
    pub fn every(secs: i32) -> Self {
        Self { due: Due::Every(SimDuration::from_secs(secs)), ..Self::default() }
    }

    /// Steps at its first due time, then at each of these seconds that lies later, then never again.
    pub fn at<const N: usize>(secs: [i32; N]) -> Self {
        Self::at_times(secs.map(SimTime::from_secs))
    }

    /// As [`at`](Self::at), with any times.
    pub fn at_times(times: impl IntoIterator<Item = SimTime>) -> Self {
        Self { due: Due::At(times.into_iter().collect()), ..Self::default() }
    }

    /// Subscribes to every signal.
    pub fn hears(mut self, key: impl Into<String>) -> Self {
        self.subscriptions.push(Subscription::every(key.into()));
        self
    }

    /// Subscribes to the latest value.
    pub fn holds(mut self, key: impl Into<String>) -> Self {
        self.subscriptions.push(Subscription::latest(key.into()));
        self
    }

    /// Publishes the number of the step at every step. Said twice, it publishes twice.
    pub fn says(mut self, signal: impl Into<String>) -> Self {
        self.sayings.push(Saying { signal: signal.into(), times: Vec::new() });
        self
    }

    /// Publishes the number of the step at some of its steps.
    pub fn says_at<const N: usize>(mut self, signal: impl Into<String>, secs: [i32; N]) -> Self {
        self.sayings.push(Saying { signal: signal.into(), times: secs.map(SimTime::from_secs).to_vec() });
        self
    }

    /// Asks for an actor to join, in its step at a time.
    pub fn asks_in(mut self, secs: i32, request: JoinRequest) -> Self {
        self.asks.push((SimTime::from_secs(secs), Request::Join(request)));
        self
    }

    /// Asks for an actor to leave, in its step at a time.
    pub fn asks_out(mut self, secs: i32, path: &str) -> Self {
        let request = LeaveRequest { path: path.to_string(), time: None };
        self.asks.push((SimTime::from_secs(secs), Request::Leave(request)));
        self
    }

    /// As [`asks_out`](Self::asks_out), with the first time that is not stepped.
    pub fn asks_out_at(mut self, secs: i32, path: &str, time: SimTime) -> Self {
        let request = LeaveRequest { path: path.to_string(), time: Some(time) };
        self.asks.push((SimTime::from_secs(secs), Request::Leave(request)));
        self
    }

    /// Writes a line per step to a trace.
    pub fn traced(mut self, trace: &Trace) -> Self {
        self.trace = Some(trace.clone());
        self
    }

    fn write(&self, ctx: &StepCtx<'_>, trace: &Trace) -> Result<(), chaconne_sim_core::StepError> {
        let mut arrivals = Vec::new();
        for received in ctx.inbox() {
            if received.key().actor().is_none() {
                let refusal: Refusal = received.decode()?;
                arrivals.push(format!("refused #{}@{}: {refusal}", received.seq(), short(received.time())));
                continue;
            }
            let mut text = format!(
                "{}#{}@{}={:?}",
                name(received.key()),
                received.seq(),
                short(received.time()),
                received.payload()
            );
            if received.key().actor() != Some(received.publisher().as_str()) {
                text += &format!(" by {}", received.publisher());
            }
            arrivals.push(text);
        }
        for subscription in &self.subscriptions {
            if subscription.delivery() == Delivery::Latest {
                let held: Vec<String> = ctx
                    .latest_payloads(subscription.key())?
                    .into_iter()
                    .map(|(key, held)| {
                        let new = if held.is_new { " new" } else { "" };
                        format!("{}@{}={:?}{new}", name(&key), short(held.time), held.value)
                    })
                    .collect();
                arrivals.push(format!("[{}]", held.join(" ")));
            }
        }
        let arrivals = if arrivals.is_empty() { "-".to_string() } else { arrivals.join(", ") };
        trace.push(format!("{} {}: {arrivals}", short(ctx.now()), ctx.path()));
        Ok(())
    }
}

/// A key without what all keys of the tests' worlds have in common.
fn name(key: &Key) -> &str {
    key.as_str().strip_prefix("chaconne/w/actor/").unwrap_or(key.as_str())
}

impl Participant for Probe {
    fn subscriptions(&self) -> Vec<Subscription> {
        self.subscriptions.clone()
    }

    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        if let Some(trace) = &self.trace {
            self.write(ctx, trace)?;
        }
        let now = ctx.now();
        for saying in &self.sayings {
            if saying.times.is_empty() || saying.times.contains(&now) {
                ctx.publish(&saying.signal, &self.steps)?;
            }
        }
        for (_, request) in self.asks.iter().filter(|(time, _)| *time == now) {
            match request.clone() {
                Request::Join(request) => ctx.join(request),
                Request::Leave(LeaveRequest { path, time: None }) => ctx.leave(path),
                Request::Leave(LeaveRequest { path, time: Some(time) }) => ctx.leave_at(path, time),
            }
        }
        self.steps += 1;
        match &self.due {
            Due::Every(period) => ctx.after(*period),
            Due::At(times) => Ok(times.iter().copied().find(|time| *time > now).unwrap_or(SimTime::MAX)),
        }
    }
}

/// A participant whose step is a closure; see [`acting`].
pub struct Acting<F>(F);

/// A participant without subscriptions that does this at each step.
pub fn acting<F: FnMut(&mut StepCtx<'_>) -> StepResult + Send>(step: F) -> Acting<F> {
    Acting(step)
}

impl<F: FnMut(&mut StepCtx<'_>) -> StepResult + Send> Participant for Acting<F> {
    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        (self.0)(ctx)
    }
}
