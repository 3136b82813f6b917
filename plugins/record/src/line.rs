//! The lines of a log, as [the specification](crate::format) has them, read one by one.

use std::fmt;

use chaconne_sim_core::canon::{self, CanonError};
use chaconne_sim_core::fingerprint::{Fingerprint, MembershipKind};
use chaconne_sim_core::path::is_segment;
use chaconne_sim_core::time::SimTime;
use serde::de::{self, DeserializeOwned, DeserializeSeed, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// What a log names itself in its first line.
pub const FORMAT: &str = "chaconne-log";

/// The version of the format that this crate writes and reads.
pub const VERSION: u64 = 1;

/// A line of a log. Texts are slices of the line.
#[derive(Debug)]
#[non_exhaustive]
pub enum Line<'a> {
    /// The first line.
    Header(Header),
    /// A participant joined or left.
    Membership(MembershipLine<'a>),
    /// A signal.
    Signal(SignalLine<'a>),
    /// The end of an instant.
    Tick(TickLine<'a>),
    /// Something that is no part of the world.
    Observed(ObservedLine<'a>),
    /// Instants that are missing.
    Gap(Gap),
    /// The last line of a run that did not fail, or of one that did.
    Last(Last),
}

/// The first line of a log.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Header {
    /// The world's name.
    pub world: String,
    /// The seed.
    pub seed: u64,
    /// What made the run, an object; see [the specification](crate::format#provenance).
    pub provenance: serde_json::Value,
}

/// A `join` or `leave` line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MembershipLine<'a> {
    /// Joined or left.
    pub kind: MembershipKind,
    /// Who.
    pub path: &'a str,
    /// The first due time of one that joined; the first instant not stepped of one that left.
    pub time: SimTime,
}

/// A `signal` line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalLine<'a> {
    /// When it was published.
    pub time: SimTime,
    /// Who published it.
    pub path: &'a str,
    /// The key.
    pub key: &'a str,
    /// Its place among all that its publisher ever published.
    pub seq: u64,
    /// The canonical JSON of its value.
    pub payload: &'a str,
}

impl SignalLine<'_> {
    /// The value.
    ///
    /// # Errors
    /// When it does not read as a `T`.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, CanonError> {
        canon::from_slice(self.payload.as_bytes())
    }
}

/// A `tick` line. Its steps are read by [`TickLine::steps`].
#[derive(Clone, Copy, Debug)]
pub struct TickLine<'a> {
    /// Counts instants from zero.
    pub tick: u64,
    /// The simulation time.
    pub time: SimTime,
    /// The tick's hash.
    pub tick_hash: Fingerprint,
    /// The world's hash after this instant.
    pub world_hash: Fingerprint,
    steps: &'a str,
}

/// An entry of `steps` in a `tick` line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepEntry<'a> {
    /// Who stepped.
    pub path: &'a str,
    /// When it is due next.
    pub next_due: SimTime,
    /// The hash of the state that it wrote, if any.
    pub state: Option<Fingerprint>,
}

/// An `observed` line.
#[derive(Clone, Copy, Debug)]
pub struct ObservedLine<'a> {
    /// When.
    pub time: SimTime,
    /// Who, if anybody.
    pub path: Option<&'a str>,
    /// What kind of observation.
    pub kind: &'a str,
    /// The observation, as JSON.
    pub data: &'a str,
}

/// A `gap` line: instants from `tick` on and before `next` are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Gap {
    /// The first that is missing.
    pub tick: u64,
    /// The first that is there again.
    pub next: u64,
}

impl fmt::Display for Gap {
    /// Which instants are missing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.next.saturating_sub(self.tick) {
            0 | 1 => write!(f, "instant {}", self.tick),
            _ => write!(f, "instants {} to {}", self.tick, self.next - 1),
        }
    }
}

/// The last line of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Last {
    /// How the run ended.
    pub end: End,
    /// Number of instants.
    pub ticks: u64,
    /// Number of steps, over all participants.
    pub steps: u64,
    /// Number of signals.
    pub signals: u64,
    /// The fingerprint of the run.
    pub world_hash: Fingerprint,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It did not fail.
    Ended(Reason),
    /// It halted.
    Halted(Halted),
}

/// Why a run that did not fail ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    /// Its end was reached, or nobody was due any more.
    Finished,
    /// The program ended before that, in good order.
    Left,
    /// The run was stopped before that, from outside.
    Stopped,
    /// The log was cut off, and has been recovered.
    Recovered,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Finished => "finished",
            Self::Left => "left",
            Self::Stopped => "stopped",
            Self::Recovered => "recovered",
        })
    }
}

/// Why a run halted, as its `halt` line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Halted {
    /// The instant that failed, if one was being stepped.
    pub instant: Option<(u64, SimTime)>,
    /// Who is at fault, if anybody.
    pub path: Option<String>,
    /// What kind of cause.
    pub cause: Cause,
    /// The cause in words.
    pub text: String,
    /// How many others failed at the same instant.
    pub others: u64,
}

impl Halted {
    /// Whether the instant before this one is the one that the halt names, and is in the log: a monitor failed when it was
    /// shown it, or somebody answered too late at it. Otherwise the instant that failed is not.
    pub(crate) fn fails_after(&self, next_tick: u64) -> bool {
        let after = |(tick, _): (u64, SimTime)| tick.checked_add(1) == Some(next_tick);
        let may_count = matches!(self.cause, Cause::Monitor | Cause::Timeout | Cause::Lost);
        may_count && self.instant.is_some_and(after)
    }
}

/// Kinds of causes of a halt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// A step returned an error.
    Error,
    /// A step panicked.
    Panic,
    /// A step returned a next due time that does not lie after now.
    NotAdvancing,
    /// The world was set up wrongly.
    Registration,
    /// A monitor failed.
    Monitor,
    /// A mirror was changed in a way that the world cannot follow.
    Mirror,
    /// A step took longer than its actor's timeout.
    Timeout,
    /// Whoever stepped an actor is gone.
    Lost,
}

impl Cause {
    /// As the line has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Panic => "panic",
            Self::NotAdvancing => "not-advancing",
            Self::Registration => "registration",
            Self::Monitor => "monitor",
            Self::Mirror => "mirror",
            Self::Timeout => "timeout",
            Self::Lost => "lost",
        }
    }

    /// Whether the world itself failed, so that a run of the same world fails in the same way.
    pub fn is_of_the_world(self) -> bool {
        matches!(self, Self::Error | Self::Panic | Self::NotAdvancing | Self::Registration)
    }
}

/// What a line is, from its first field, without reading the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `header`.
    Header,
    /// `join`.
    Join,
    /// `leave`.
    Leave,
    /// `signal`.
    Signal,
    /// `tick`.
    Tick,
    /// `observed`.
    Observed,
    /// `gap`.
    Gap,
    /// `end`.
    End,
    /// `halt`.
    Halt,
}

impl Kind {
    const ALL: [(&'static str, Self); 9] = [
        ("signal", Self::Signal),
        ("tick", Self::Tick),
        ("join", Self::Join),
        ("leave", Self::Leave),
        ("observed", Self::Observed),
        ("header", Self::Header),
        ("gap", Self::Gap),
        ("end", Self::End),
        ("halt", Self::Halt),
    ];

    /// The names of all types, as lines have them.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::ALL.iter().map(|(name, _)| *name)
    }

    /// The type of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
    }

    /// What a line is; nothing behind its first field is looked at.
    ///
    /// # Errors
    /// What is wrong with the line, in words.
    pub fn of(line: &[u8]) -> Result<Self, String> {
        let Some(rest) = line.strip_prefix(b"{\"type\":\"") else {
            return Err(match line {
                [] => "the line is empty".to_owned(),
                _ => "the line does not begin with {\"type\":".to_owned(),
            });
        };
        let name = &rest[..memchr::memchr(b'"', rest).unwrap_or(rest.len())];
        match std::str::from_utf8(name).ok().and_then(Self::named) {
            Some(kind) => Ok(kind),
            None => Err(format!("there is no line of type `{}`", String::from_utf8_lossy(&name[..name.len().min(40)]))),
        }
    }
}

impl<'a> Line<'a> {
    /// Reads a line, without its line feed.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn parse(text: &'a [u8]) -> Result<Self, String> {
        if text.ends_with(b"\r") {
            return Err("the line ends with a carriage return, so the line ends were converted on the way; \
                        `chaconne log recover` restores them"
                .to_owned());
        }
        let kind = Kind::of(text)?;
        let text =
            std::str::from_utf8(text).map_err(|error| format!("byte {} is not UTF-8", error.valid_up_to() + 1))?;
        Self::read(kind, text).map_err(|error| {
            let said = error.to_string();
            // serde_json counts lines within what it was given, which is one.
            let said = said.rsplit_once(" at line 1 column ").map_or(said.as_str(), |(reason, _)| reason);
            format!("{said} (column {})", error.column())
        })
    }

    fn read(kind: Kind, text: &'a str) -> Result<Self, serde_json::Error> {
        Ok(match kind {
            Kind::Header => {
                let HeaderFields { format, version, world, seed, provenance, .. } = serde_json::from_str(text)?;
                if format != FORMAT || version != VERSION {
                    return Err(de::Error::custom(format!("its format is {format} {version}, not {FORMAT} {VERSION}")));
                }
                if !provenance.is_object() {
                    return Err(de::Error::custom("its provenance is not an object"));
                }
                Self::Header(Header { world, seed, provenance })
            }
            Kind::Join | Kind::Leave => {
                let MembershipFields { path, time: Secs(time), .. } = serde_json::from_str(text)?;
                let kind = if kind == Kind::Join { MembershipKind::Join } else { MembershipKind::Leave };
                Self::Membership(MembershipLine { kind, path, time })
            }
            Kind::Signal => {
                let SignalFields { time: Secs(time), path, key, seq, payload, .. } = serde_json::from_str(text)?;
                let is_last = text.strip_suffix('}').and_then(|text| text.strip_suffix(payload.get()));
                if !is_last.is_some_and(|before| before.ends_with(",\"payload\":")) {
                    return Err(de::Error::custom(
                        "the payload is not the last field, or there is white space around it",
                    ));
                }
                Self::Signal(SignalLine { time, path, key, seq, payload: payload.get() })
            }
            Kind::Tick => {
                let TickFields { tick, time: Secs(time), steps, tick_hash, world_hash, .. } =
                    serde_json::from_str(text)?;
                Self::Tick(TickLine { tick, time, tick_hash, world_hash, steps: steps.get() })
            }
            Kind::Observed => {
                let ObservedFields { time: Secs(time), path, kind, data, .. } = serde_json::from_str(text)?;
                if !is_segment(kind) || path.is_some_and(|path| !path.split('/').all(is_segment)) {
                    return Err(de::Error::custom(
                        "its kind or its path has other characters than letters, digits, `_` and `-`",
                    ));
                }
                Self::Observed(ObservedLine { time, path, kind, data: data.get() })
            }
            Kind::Gap => {
                let GapFields { tick, next, .. } = serde_json::from_str(text)?;
                Self::Gap(Gap { tick, next })
            }
            Kind::End => {
                let EndFields { reason, ticks, steps, signals, world_hash, .. } = serde_json::from_str(text)?;
                Self::Last(Last { end: End::Ended(reason), ticks, steps, signals, world_hash })
            }
            Kind::Halt => {
                let fields: HaltFields = serde_json::from_str(text)?;
                let HaltFields { path, cause, text, others, ticks, steps, signals, world_hash, .. } = fields;
                let instant = match (fields.tick, fields.time) {
                    (Some(tick), Some(Secs(time))) => Some((tick, time)),
                    (None, None) => None,
                    _ => return Err(de::Error::custom("of its tick and its time one is null, and the other is not")),
                };
                let halted = Halted { instant, path, cause, text, others };
                Self::Last(Last { end: End::Halted(halted), ticks, steps, signals, world_hash })
            }
        })
    }
}

impl<'a> TickLine<'a> {
    /// Reads the steps, in their order.
    ///
    /// # Errors
    /// What is wrong with them, in words; or what `each` failed with.
    pub fn steps(&self, each: impl FnMut(StepEntry<'a>)) -> Result<(), String> {
        let mut text = serde_json::Deserializer::from_str(self.steps);
        Steps(each).deserialize(&mut text).map_err(|error| {
            let said = error.to_string();
            let said = said.rsplit_once(" at line 1 column ").map_or(said.as_str(), |(reason, _)| reason);
            format!("{said} (column {} of its steps)", error.column())
        })
    }
}

/// The beginning of a text.
fn excerpt(text: &str) -> String {
    text.chars().take(40).collect()
}

/// A field that may be `null`, and has to be there all the same.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::deserialize(deserializer)
}

/// A JSON number of seconds, read by integer arithmetic.
#[derive(Clone, Copy)]
struct Secs(SimTime);

impl<'de> Deserialize<'de> for Secs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <&RawValue>::deserialize(deserializer)?.get();
        if !text.contains('.') {
            return Err(de::Error::custom(format_args!(
                "`{}` is not a time: write seconds with a decimal point",
                excerpt(text)
            )));
        }
        text.parse().map(Self).map_err(de::Error::custom)
    }
}

// `_type` is the first field, which has been read.

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HeaderFields<'a> {
    #[serde(rename = "type")]
    _type: &'a str,
    format: String,
    version: u64,
    world: String,
    seed: u64,
    provenance: serde_json::Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MembershipFields<'a> {
    #[serde(rename = "type")]
    _type: &'a str,
    path: &'a str,
    time: Secs,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SignalFields<'a> {
    #[serde(rename = "type")]
    _type: &'a str,
    time: Secs,
    path: &'a str,
    key: &'a str,
    seq: u64,
    #[serde(borrow)]
    payload: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TickFields<'a> {
    #[serde(rename = "type")]
    _type: &'a str,
    tick: u64,
    time: Secs,
    #[serde(borrow)]
    steps: &'a RawValue,
    tick_hash: Fingerprint,
    world_hash: Fingerprint,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ObservedFields<'a> {
    #[serde(rename = "type")]
    _type: &'a str,
    time: Secs,
    #[serde(borrow, deserialize_with = "present")]
    path: Option<&'a str>,
    kind: &'a str,
    #[serde(borrow)]
    data: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GapFields<'a> {
    #[serde(rename = "type")]
    _type: &'a str,
    tick: u64,
    next: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EndFields<'a> {
    #[serde(rename = "type")]
    _type: &'a str,
    reason: Reason,
    ticks: u64,
    steps: u64,
    signals: u64,
    world_hash: Fingerprint,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HaltFields<'a> {
    #[serde(rename = "type")]
    _type: &'a str,
    #[serde(deserialize_with = "present")]
    tick: Option<u64>,
    #[serde(deserialize_with = "present")]
    time: Option<Secs>,
    #[serde(deserialize_with = "present")]
    path: Option<String>,
    cause: Cause,
    text: String,
    others: u64,
    ticks: u64,
    steps: u64,
    signals: u64,
    world_hash: Fingerprint,
}

/// Gives the entries of `steps` to a function, one by one.
struct Steps<F>(F);

impl<'de, F: FnMut(StepEntry<'de>)> DeserializeSeed<'de> for Steps<F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, F: FnMut(StepEntry<'de>)> Visitor<'de> for Steps<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of [path, next_due, state]")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut steps: A) -> Result<(), A::Error> {
        while let Some((path, Secs(next_due), state)) = steps.next_element::<(&str, Secs, Option<Fingerprint>)>()? {
            (self.0)(StepEntry { path, next_due, state });
        }
        Ok(())
    }
}
