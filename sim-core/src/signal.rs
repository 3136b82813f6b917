//! Signals: what participants exchange, and how they ask for them.
//!
//! A signal is one value published under one key at one instant. Its identity is its canonical text (see
//! [`canon`]); inside a process the value itself may travel beside it, so that a reader of the same type
//! gets a clone instead of parsing.
//!
//! ```
//! use chaconne_sim_core::signal::{Payload, Subscription};
//!
//! let payload = Payload::from_text(b"0.25").unwrap();
//! assert_eq!(payload.decode::<f64>().unwrap(), 0.25);
//! let follow = Subscription::latest("chaconne/*/actor/lead/pose");
//! assert_eq!(follow.key(), "chaconne/*/actor/lead/pose");
//! ```

use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Serialize, de::DeserializeOwned};

use crate::canon::{self, CanonError};
use crate::prefetch::prefetch;

/// What can be published: any value that serde writes and reads, that can be cloned across threads and compared.
///
/// The value's canonical text must depend on the value alone and read back as an equal value; a field that serde skips
/// breaks that, and so does a hash-ordered collection (`HashMap`, `HashSet`), whose order varies. A run without typed hand-over checks it at every publish and names the type that does not hold to it.
pub trait SignalValue: Serialize + DeserializeOwned + Clone + PartialEq + Send + Sync + 'static {}

impl<T: Serialize + DeserializeOwned + Clone + PartialEq + Send + Sync + 'static> SignalValue for T {}

/// Which signals of a subscription reach the subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Every signal since the last step, in the inbox, ordered by (time, publisher path, sequence number).
    Every,
    /// The newest value per key: sample and hold, until replaced or its publisher leaves.
    Latest,
}

/// A participant's wish to be given the signals whose keys match an expression.
///
/// The expression is Zenoh's (`*`, `**`, `$*`). Without a leading `chaconne/` it is relative to the subscriber's own
/// actor: `pose` of a part of actor `ego` means `chaconne/{world}/actor/ego/pose`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    key: Cow<'static, str>,
    delivery: Delivery,
}

impl Subscription {
    /// Every signal on `key` since the last step, in the inbox.
    pub fn every(key: impl Into<Cow<'static, str>>) -> Self {
        Self { key: key.into(), delivery: Delivery::Every }
    }

    /// The newest value per key: sample and hold.
    pub fn latest(key: impl Into<Cow<'static, str>>) -> Self {
        Self { key: key.into(), delivery: Delivery::Latest }
    }

    /// The key expression as it was given.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Every signal, or the latest.
    pub fn delivery(&self) -> Delivery {
        self.delivery
    }
}

/// Texts up to this many bytes are carried in place, without an allocation.
const IN_PLACE: usize = 22;

/// The content of one signal: canonical text, a typed value that has it, or both in turn.
///
/// 24 bytes; numbers and short texts are carried in place.
#[derive(Clone)]
pub struct Payload(Repr);

#[derive(Clone)]
enum Repr {
    /// An `f64`, whose text is made when somebody asks for it.
    Number(f64),
    Short {
        len: u8,
        text: [u8; IN_PLACE],
    },
    Long(Arc<[u8]>),
    Value(Arc<dyn TypedValue>),
}

/// A published value behind a pointer: readable as its type, and as canonical text.
trait TypedValue: Send + Sync {
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
    fn write(&self, out: &mut Vec<u8>) -> Result<(), CanonError>;
}

impl<T: SignalValue> TypedValue for T {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn write(&self, out: &mut Vec<u8>) -> Result<(), CanonError> {
        canon::to_writer(out, self)
    }
}

impl Payload {
    /// The text `null`.
    pub const NULL: Self = Self(Repr::Short { len: 4, text: *b"null\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" });

    /// The payload of a published value whose canonical text is `text`. With `typed`, a long text is not kept: the value
    /// travels, and the text is written again where it is asked for.
    #[inline]
    pub(crate) fn of_value<T: SignalValue>(value: &T, text: &[u8], typed: bool, spares: &mut Spares) -> Self {
        if typed
            && TypeId::of::<T>() == TypeId::of::<f64>()
            && let Some(&number) = (value as &dyn Any).downcast_ref::<f64>()
        {
            return Self(Repr::Number(number));
        }
        if text.len() > IN_PLACE && typed {
            return Self(Repr::Value(spares.carry(value)));
        }
        Self::copy(text)
    }

    /// A payload from canonical text that came from elsewhere: a log, a helper process, a network.
    ///
    /// # Errors
    /// When `text` is not one JSON value, or has white space outside of strings.
    pub fn from_text(text: &[u8]) -> Result<Self, CanonError> {
        canon::check(text)?;
        Ok(Self::copy(text))
    }

    #[inline]
    fn copy(text: &[u8]) -> Self {
        if text.len() <= IN_PLACE {
            let mut short = [0; IN_PLACE];
            short[..text.len()].copy_from_slice(text);
            Self(Repr::Short { len: text.len() as u8, text: short })
        } else {
            Self(Repr::Long(text.into()))
        }
    }

    /// Asks for the memory of a value that travels behind a pointer.
    #[inline]
    pub fn prefetch(&self) {
        if let Repr::Value(value) = &self.0 {
            prefetch(&**value, 128);
        }
    }

    /// Appends the canonical text to `out`.
    pub fn write_text(&self, out: &mut Vec<u8>) {
        let written = match &self.0 {
            Repr::Number(number) => canon::write_f64(out, *number),
            Repr::Short { len, text } => {
                out.extend_from_slice(&text[..usize::from(*len)]);
                Ok(())
            }
            Repr::Long(text) => {
                out.extend_from_slice(text);
                Ok(())
            }
            Repr::Value(value) => value.write(out),
        };
        // The value was written once, at its publication; a value whose text depends on more than itself may fail here.
        if written.is_err() {
            out.extend_from_slice(b"null");
        }
    }

    /// The canonical text.
    pub fn to_text(&self) -> Cow<'_, [u8]> {
        match &self.0 {
            Repr::Short { len, text } => Cow::Borrowed(&text[..usize::from(*len)]),
            Repr::Long(text) => Cow::Borrowed(text),
            Repr::Number(_) | Repr::Value(_) => {
                let mut text = Vec::new();
                self.write_text(&mut text);
                Cow::Owned(text)
            }
        }
    }

    /// The value: a clone of the published one when the types agree, parsed from its text when they do not.
    ///
    /// # Errors
    /// When the text does not read as a `T`.
    #[inline]
    pub fn decode<T: SignalValue>(&self) -> Result<T, CanonError> {
        match &self.0 {
            Repr::Number(number) => {
                if let Some(value) = (number as &dyn Any).downcast_ref::<T>() {
                    return Ok(value.clone());
                }
            }
            Repr::Value(value) => {
                if let Some(value) = value.as_any().downcast_ref::<T>() {
                    return Ok(value.clone());
                }
            }
            Repr::Short { .. } | Repr::Long(_) => {}
        }
        canon::from_slice(&self.to_text())
    }
}

/// The last values that one output sent behind pointers, to be written over when nobody holds them any more: a publisher
/// at a steady pace then allocates nothing, and its values stay where they are in memory.
///
/// When the value after next is published, a receiver may not have stepped since the one before last; the third last
/// is the first that is free as a rule.
#[derive(Default)]
pub(crate) struct Spares(Option<Box<SparesInUse>>);

#[derive(Default)]
struct SparesInUse {
    values: [Option<Arc<dyn TypedValue>>; 3],
    oldest: usize,
}

impl Spares {
    /// Asks for the memory that says where the spare values are.
    #[inline]
    pub(crate) fn prefetch(&self) {
        if let Some(spares) = &self.0 {
            prefetch(&**spares, 64);
        }
    }

    fn carry<T: SignalValue>(&mut self, value: &T) -> Arc<dyn TypedValue> {
        let SparesInUse { values, oldest } = &mut **self.0.get_or_insert_default();
        let at = *oldest;
        *oldest = (at + 1) % values.len();
        let spare = &mut values[at];
        if let Some(shared) = spare
            && let Some(free) = Arc::get_mut(shared).and_then(|free| free.as_any_mut().downcast_mut::<T>())
        {
            free.clone_from(value);
            return shared.clone();
        }
        let shared: Arc<dyn TypedValue> = Arc::new(value.clone());
        *spare = Some(shared.clone());
        shared
    }
}

impl Default for Payload {
    #[inline]
    fn default() -> Self {
        Self::NULL
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.to_text()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn published<T: SignalValue>(value: &T, typed: bool) -> Payload {
        let text = canon::to_vec(value).unwrap();
        Payload::of_value(value, &text, typed, &mut Spares::default())
    }

    #[test]
    fn a_payload_is_three_words() {
        assert_eq!(size_of::<Payload>(), 24);
    }

    #[test]
    fn a_value_reads_back_as_its_own_type_and_as_others_typed_or_not() {
        let long = vec![0.1, 1e16, -0.0, 123_456_789.125];
        for typed in [true, false] {
            let payload = published(&long, typed);
            assert_eq!(payload.decode::<Vec<f64>>().unwrap(), long);
            assert_eq!(payload.decode::<[f64; 4]>().unwrap()[1], 1e16);
            assert_eq!(&*payload.to_text(), b"[0.1,10000000000000000,-0,123456789.125]");
            let number = published(&-0.0_f64, typed);
            assert!(number.decode::<f64>().unwrap().is_sign_negative());
            assert_eq!(&*number.to_text(), b"-0");
            assert_eq!(published(&7.0_f64, typed).decode::<u8>().unwrap(), 7);
            assert_eq!(published(&"short".to_string(), typed).decode::<String>().unwrap(), "short");
        }
    }

    #[test]
    fn a_value_is_written_over_only_when_nobody_holds_it() {
        let mut spares = Spares::default();
        let mut publish = |value: u64| {
            let value = vec![value; 30];
            let text = canon::to_vec(&value).unwrap();
            Payload::of_value(&value, &text, true, &mut spares)
        };
        let read = |payload: &Payload| payload.decode::<Vec<u64>>().unwrap()[0];
        let held: Vec<Payload> = (0..10).map(&mut publish).collect();
        assert!(held.iter().zip(0..).all(|(payload, value)| read(payload) == value));
        drop(held);
        let later: Vec<Payload> = (10..20).map(publish).collect();
        assert!(later.iter().zip(10..).all(|(payload, value)| read(payload) == value));
    }

    #[test]
    fn text_from_elsewhere_is_checked() {
        assert!(Payload::from_text(b"{\"a\":1").is_err());
        assert!(Payload::from_text(b"1 2").is_err());
        for spaced in [&b"1 "[..], b"\n1", b"[1, 2]", b"{\"a\": 1}", b"\t{}", b"[\r]"] {
            let error = Payload::from_text(spaced).unwrap_err().to_string();
            assert!(error.contains("white space"), "{error}");
        }
        let text = br#"{"a \\":"b \" c","d":[" "]}"#;
        assert_eq!(&*Payload::from_text(text).unwrap().to_text(), text);
        assert_eq!(Payload::from_text(b"[1,2]").unwrap().decode::<(u8, u8)>().unwrap(), (1, 2));
    }
}
