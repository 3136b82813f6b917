//! What a participant sees of the world during one step.

use std::ops::Deref;

use crate::error::{PublishError, ReadError, StepResult};
use crate::fingerprint::Frame;
use crate::key::Key;
use crate::membership::{JoinRequest, LeaveRequest, Refusal, Request};
use crate::path::ActorPath;
use crate::port::{Content, Held, Inbound, Names, OutputId, Port, Published, Samples, StepInput};
use crate::rng::{DetRng, Domain, StreamKey};
use crate::signal::{Payload, SignalValue};
use crate::time::{SimDuration, SimTime};

/// One step's view of the world: the time, the inbox, the held values; and its way to publish.
///
/// Keys without a leading `chaconne/` are relative to one's own actor.
pub struct StepCtx<'a> {
    now: SimTime,
    last: Option<SimTime>,
    seq: u64,
    inbox: &'a [Inbound],
    names: &'a Names<'a>,
    port: &'a mut Port,
    frame: &'a mut Frame,
    published: &'a mut Vec<Published>,
    requests: &'a mut Vec<Request>,
    /// Where `published` and `frame` are full.
    most_signals: usize,
    most_bytes: usize,
    rng: Option<DetRng>,
    failure: Option<PublishError>,
}

impl<'a> StepCtx<'a> {
    #[inline]
    pub(crate) fn new(
        port: &'a mut Port,
        input: &StepInput<'a>,
        frame: &'a mut Frame,
        published: &'a mut Vec<Published>,
        requests: &'a mut Vec<Request>,
    ) -> Self {
        Self {
            most_signals: published.len() + input.bounds.signals as usize,
            most_bytes: frame.len() + input.bounds.bytes as usize,
            now: input.now,
            last: input.last,
            seq: input.seq,
            inbox: input.inbox,
            names: input.names,
            port,
            frame,
            published,
            requests,
            rng: None,
            failure: None,
        }
    }

    /// The instant at which this step happens.
    #[inline]
    pub fn now(&self) -> SimTime {
        self.now
    }

    /// Time since this participant's last step; zero at its first.
    #[inline]
    pub fn dt(&self) -> SimDuration {
        match self.last {
            // Steps only move forward, and a span of the whole axis is cut to the longest there is.
            Some(last) => self.now.since(last).unwrap_or(SimDuration::MAX),
            None => SimDuration::ZERO,
        }
    }

    /// When this participant stepped last, if it did.
    #[inline]
    pub fn last_step(&self) -> Option<SimTime> {
        self.last
    }

    /// This participant's path.
    pub fn path(&self) -> &ActorPath {
        self.port.path()
    }

    /// The path of the actor that it is part of: what relative keys are relative to.
    pub fn actor(&self) -> &ActorPath {
        self.port.actor()
    }

    /// The world's name.
    pub fn world(&self) -> &str {
        &self.port.run().world
    }

    /// The run's seed.
    pub fn seed(&self) -> u64 {
        self.port.run().seed
    }

    /// The signals of `every` subscriptions since the last step, ordered by (time, publisher path, sequence number).
    #[inline]
    pub fn inbox(&self) -> Inbox<'a> {
        Inbox { items: self.inbox.iter(), names: self.names }
    }

    /// The newest value under `key` (a text of [`subscriptions`](crate::participant::Participant::subscriptions), or
    /// one that a `latest` subscription matches): sample and hold. When several keys match, the newest by (time,
    /// publisher path, sequence number).
    ///
    /// # Errors
    /// When no `latest` subscription matches, or the value does not read as a `T`.
    #[inline]
    pub fn latest<T: SignalValue>(&self, key: &str) -> Result<Option<Latest<T>>, ReadError> {
        let Some(newest) = self.newest(key)? else { return Ok(None) };
        let (key, _) = self.names.get(newest.output);
        Ok(Some(Latest { value: decode(key, &newest.payload)?, time: newest.time, is_new: self.port.is_new(newest) }))
    }

    /// As [`latest`](Self::latest), without reading the value; with its key.
    ///
    /// # Errors
    /// When no `latest` subscription matches.
    pub fn latest_payload(&self, key: &str) -> Result<Option<(Key, Latest<Payload>)>, ReadError> {
        Ok(self.newest(key)?.map(|held| self.with_key(held)))
    }

    #[inline]
    fn newest(&self, key: &str) -> Result<Option<&Held>, ReadError> {
        match self.port.held(key, self.names)? {
            Some(Samples::One(held)) => Ok(held),
            Some(Samples::Several(held)) => Ok(held.into_iter().max_by(|a, b| {
                let path = |id| self.names.get(id).1;
                (a.time, path(a.output), a.seq).cmp(&(b.time, path(b.output), b.seq))
            })),
            None => Err(self.not_subscribed(key)),
        }
    }

    fn with_key(&self, held: &Held) -> (Key, Latest<Payload>) {
        let latest = Latest { value: held.payload.clone(), time: held.time, is_new: self.port.is_new(held) };
        (self.names.get(held.output).0.clone(), latest)
    }

    /// Every held value that `key` matches, with its key, ordered by (key, publisher path).
    ///
    /// # Errors
    /// As [`latest`](Self::latest).
    pub fn latest_all<T: SignalValue>(&self, key: &str) -> Result<Vec<(Key, Latest<T>)>, ReadError> {
        let held = self.latest_payloads(key)?;
        held.into_iter()
            .map(|(key, held)| {
                let value = decode(&key, &held.value)?;
                Ok((key, Latest { value, time: held.time, is_new: held.is_new }))
            })
            .collect()
    }

    /// As [`latest_all`](Self::latest_all), without reading the values.
    ///
    /// # Errors
    /// When no `latest` subscription matches.
    pub fn latest_payloads(&self, key: &str) -> Result<Vec<(Key, Latest<Payload>)>, ReadError> {
        match self.port.held(key, self.names)? {
            Some(Samples::One(held)) => Ok(held.into_iter().map(|held| self.with_key(held)).collect()),
            Some(Samples::Several(held)) => Ok(held.into_iter().map(|held| self.with_key(held)).collect()),
            None => Err(self.not_subscribed(key)),
        }
    }

    #[cold]
    fn not_subscribed(&self, key: &str) -> ReadError {
        ReadError::NotSubscribed { key: key.to_string(), path: self.port.path().clone() }
    }

    /// Publishes `value` under `signal`, one's own actor's unless the text begins with `chaconne/`. One publishes only
    /// one's own or an ancestor's signals.
    ///
    /// # Errors
    /// A malformed or foreign key, or a value without canonical text (a NaN, an infinity). The run halts in any case,
    /// also when the error is swallowed: a signal that others count on did not go out.
    #[inline]
    pub fn publish<T: SignalValue>(&mut self, signal: &str, value: &T) -> Result<(), PublishError> {
        match self.try_publish(signal, value) {
            Ok(()) => Ok(()),
            Err(error) => {
                self.failure.get_or_insert_with(|| error.clone());
                Err(error)
            }
        }
    }

    #[inline]
    fn try_publish<T: SignalValue>(&mut self, signal: &str, value: &T) -> Result<(), PublishError> {
        let typed = self.port.run().typed;
        let (output, key, spares) = self.port.output::<T>(signal)?;
        let start = self.frame.len();
        self.frame.str(key.as_str());
        self.frame.u64(self.seq);
        let text = match self.frame.payload(value) {
            Ok(text) => text,
            Err(source) => {
                self.frame.truncate(start);
                return Err(PublishError::Value { key: key.to_string(), source });
            }
        };
        if self.frame.len() > self.most_bytes || self.published.len() >= self.most_signals {
            self.frame.truncate(start);
            return Err(too_much(key, self.most_signals - self.published.len()));
        }
        let bytes = &self.frame.as_slice()[text.clone()];
        if !typed {
            Port::check_faithful(key, value, bytes)?;
        }
        let payload = Payload::of_value(value, bytes, typed, spares);
        self.published.push(Published { output, text, payload });
        self.seq += 1;
        Ok(())
    }

    /// Publishes content that comes from elsewhere as it stands: a log that is played back, a helper process. Its text has
    /// to be canonical; otherwise as [`publish`](Self::publish).
    ///
    /// # Errors
    /// A malformed or foreign key; the run then halts.
    pub fn publish_payload(&mut self, signal: &str, payload: &Payload) -> Result<(), PublishError> {
        let (output, key, _) = match self.port.output::<Payload>(signal) {
            Ok(output) => output,
            Err(error) => {
                self.failure.get_or_insert_with(|| error.clone());
                return Err(error);
            }
        };
        let start = self.frame.len();
        self.frame.str(key.as_str());
        self.frame.u64(self.seq);
        let text = payload.to_text();
        self.frame.bytes(&text);
        let end = self.frame.len();
        if end > self.most_bytes || self.published.len() >= self.most_signals {
            let error = too_much(key, self.most_signals - self.published.len());
            self.frame.truncate(start);
            self.failure.get_or_insert_with(|| error.clone());
            return Err(error);
        }
        let text = end - text.len()..end;
        self.published.push(Published { output, text, payload: payload.clone() });
        self.seq += 1;
        Ok(())
    }

    /// Asks for an actor to join. The request applies at the barrier of this instant, behind those of participants that
    /// come before this one in the world's order. Its first due time must be later than now; one nanosecond later unless it
    /// says otherwise. Should it be refused, [`refusals`](Self::refusals) says so at the next step.
    pub fn join(&mut self, request: JoinRequest) {
        self.requests.push(Request::Join(request));
    }

    /// Asks for an actor, and all under its path, to leave: it is not stepped after this instant. It may be one's own.
    /// Otherwise as [`join`](Self::join).
    pub fn leave(&mut self, path: impl Into<String>) {
        self.requests.push(Request::Leave(LeaveRequest { path: path.into(), time: None }));
    }

    /// As [`leave`](Self::leave), with the first time at which it is not stepped; later than now, and instead of the time that
    /// was planned for it before. The actor must be in the world when the request applies; should it leave earlier, the time says nothing about whoever has its path then.
    pub fn leave_at(&mut self, path: impl Into<String>, time: SimTime) {
        self.requests.push(Request::Leave(LeaveRequest { path: path.into(), time: Some(time) }));
    }

    /// Which requests since the last step were refused, in the order of asking. They are in the [inbox](Self::inbox) too.
    pub fn refusals(&self) -> impl Iterator<Item = Refusal> + use<'a> {
        let refused = self.inbox.iter().filter(|item| item.output == OutputId::REFUSED);
        refused.filter_map(|item| match &item.content {
            Content::Signal(payload) => payload.decode().ok(),
            Content::Withdrawn => None,
        })
    }

    /// The next due time `duration` from now; for periods, `ctx.after(period)`.
    ///
    /// # Errors
    /// When the sum lies beyond the end of time.
    #[inline]
    pub fn after(&self, duration: SimDuration) -> StepResult {
        Ok(self.now.checked_add(duration)?)
    }

    /// The next due time of a participant that is done: never again.
    #[inline]
    pub fn never(&self) -> SimTime {
        SimTime::MAX
    }

    /// This step's random stream: the same for (seed, path, time), whatever else the world holds.
    pub fn rng(&mut self) -> &mut DetRng {
        let run = self.port.run();
        let (path, now) = (self.port.path().as_str(), self.now.as_nanos());
        self.rng.get_or_insert_with(|| StreamKey::new(run.seed, Domain::Step, path, "", now).stream(0))
    }

    #[inline]
    pub(crate) fn take_failure(&mut self) -> Option<PublishError> {
        self.failure.take()
    }
}

fn decode<T: SignalValue>(key: &Key, payload: &Payload) -> Result<T, ReadError> {
    payload.decode().map_err(|source| ReadError::Decode {
        key: key.to_string(),
        type_name: std::any::type_name::<T>(),
        source,
    })
}

/// A step has published as much as it may, with so many signals left.
#[cold]
fn too_much(key: &Key, signals_left: usize) -> PublishError {
    let what = if signals_left == 0 { "signals" } else { "bytes" };
    PublishError::TooMuch { key: key.to_string(), what }
}

/// A held value, with its age. Dereferences to the value.
#[derive(Clone, Debug, PartialEq)]
pub struct Latest<T> {
    /// The value.
    pub value: T,
    /// When it was published.
    pub time: SimTime,
    /// Whether it came since this participant's last step.
    pub is_new: bool,
}

impl<T> Deref for Latest<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// The signals of one inbox, in order. See [`StepCtx::inbox`].
#[derive(Clone)]
pub struct Inbox<'a> {
    items: std::slice::Iter<'a, Inbound>,
    names: &'a Names<'a>,
}

impl<'a> Iterator for Inbox<'a> {
    type Item = Received<'a>;

    #[inline]
    fn next(&mut self) -> Option<Received<'a>> {
        for item in self.items.by_ref() {
            if let (true, Content::Signal(payload)) = (item.reach.every, &item.content) {
                return Some(Received { item, payload, names: self.names });
            }
        }
        None
    }
}

/// One received signal.
#[derive(Clone, Copy)]
pub struct Received<'a> {
    item: &'a Inbound,
    payload: &'a Payload,
    names: &'a Names<'a>,
}

impl<'a> Received<'a> {
    /// The key that it was published under.
    pub fn key(&self) -> &'a Key {
        self.names.get(self.item.output).0
    }

    /// Who published it.
    pub fn publisher(&self) -> &'a ActorPath {
        self.names.get(self.item.output).1
    }

    /// When it was published.
    pub fn time(&self) -> SimTime {
        self.item.time
    }

    /// Its place among all that its publisher ever published.
    pub fn seq(&self) -> u64 {
        self.item.seq
    }

    /// The content, not yet read.
    pub fn payload(&self) -> &'a Payload {
        self.payload
    }

    /// The value.
    ///
    /// # Errors
    /// When the text does not read as a `T`.
    #[inline]
    pub fn decode<T: SignalValue>(&self) -> Result<T, ReadError> {
        match self.payload.decode() {
            Ok(value) => Ok(value),
            Err(_) => decode(self.key(), self.payload),
        }
    }
}
