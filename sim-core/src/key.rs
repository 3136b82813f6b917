//! Keys of signals and the expressions that select them, with the semantics of Zenoh.
//!
//! A [`Key`] names one signal: `chaconne/{world}/actor/{path}/{signal}`. A [`KeyExpr`] names a set of keys and may hold wild
//! cards, chunk by chunk (a chunk is what stands between two `/`):
//!
//! | wild card | stands for | example | matches | does not match |
//! |---|---|---|---|---|
//! | `*` | one whole chunk | `a/*/c` | `a/b/c` | `a/c`, `a/b/b/c` |
//! | `**` | any number of chunks, also none | `a/**` | `a`, `a/b/c` | `b/a` |
//! | `$*` | any characters inside a chunk, also none | `a/b$*` | `a/b`, `a/bcd` | `a/cb`, `a/b/c` |
//!
//! No wild card stands for a chunk that begins with `@`, or for a part of one: such a chunk is only matched by itself, so
//! `**` does not match `@internal/a`, `@$*/a` does not either, and `@internal/**` does.
//!
//! Texts are canonical: one set of keys is written in one way (`*/**`, never `**/*`), so that equal texts mean equal sets.
//! The matcher is the one that Zenoh uses on the network; this module is the only one that knows it.
//!
//! ```
//! use chaconne_sim_core::{key::{Key, KeyExpr}, path::ActorPath};
//!
//! let ego = ActorPath::new("ego")?;
//! let pose = Key::of("highway", &ego, "pose")?;
//! assert_eq!(pose.as_str(), "chaconne/highway/actor/ego/pose");
//! assert!(KeyExpr::new("chaconne/*/actor/**/pose")?.matches(&pose));
//! assert!(KeyExpr::resolve("pose", "highway", &ego)?.matches(&pose));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::{cmp::Ordering, fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use zenoh_keyexpr::{OwnedKeyExpr, keyexpr};

use crate::path::{ActorPath, is_segment};

/// What every absolute key begins with.
const ROOT: &str = "chaconne/";

/// A concrete key, without wild cards: the name of one signal.
///
/// Copies share one text. Keys are ordered by their bytes.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Key(OwnedKeyExpr);

/// A key expression: the name of a set of keys, with wild cards or without.
///
/// Copies share one text. Expressions are ordered by their bytes.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct KeyExpr {
    expression: OwnedKeyExpr,
    wild: bool,
}

/// Why a text is not a key, or not a key expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The text means a set of keys, but is not the canonical way to write it.
    #[error("`{text}` is not the canonical form of this key expression: write `{canonical}`")]
    NotCanonical {
        /// The text that was given.
        text: String,
        /// What to write instead.
        canonical: String,
    },
    /// The text is no key expression in any form.
    #[error("`{text}` is not a key expression: {reason}")]
    Invalid {
        /// The text that was given.
        text: String,
        /// What is wrong, and what to write instead.
        reason: &'static str,
    },
    /// A key was asked for, and the text has wild cards.
    #[error("`{text}` has wild cards, and a key names exactly one signal: write it without `*`, `**` and `$*`")]
    Wild {
        /// The text that was given.
        text: String,
    },
    /// A part of a key is not one segment.
    #[error("`{text}` cannot be the name of a {part}: write one or more of A-Z, a-z, 0-9, `_` and `-`")]
    Segment {
        /// What the text should have named: a world or a signal.
        part: &'static str,
        /// The text that was given.
        text: String,
    },
}

impl Key {
    /// Checks a whole key.
    ///
    /// # Errors
    /// A [`KeyError`] when the text is no canonical key expression, or has wild cards.
    pub fn new(text: &str) -> Result<Self, KeyError> {
        let expression = parse(text)?;
        if has_wild(text) {
            return Err(KeyError::Wild { text: text.to_owned() });
        }
        Ok(Self(expression))
    }

    /// The key of an actor's signal, `chaconne/{world}/actor/{path}/{signal}`.
    ///
    /// # Errors
    /// [`KeyError::Segment`] when `world` or `signal` is not one segment of `[A-Za-z0-9_-]+`.
    pub fn of(world: &str, actor: &ActorPath, signal: &str) -> Result<Self, KeyError> {
        check_segment("world", world)?;
        check_segment("signal", signal)?;
        Self::new(&absolute(world, actor, signal))
    }

    /// The key that an actor means by `text`: as it stands when it begins with `chaconne/`, otherwise below the actor's own
    /// path, as `chaconne/{world}/actor/{actor}/{text}`.
    ///
    /// # Errors
    /// A [`KeyError`] that names `text` as it was given when it is not a key, or names the world when that is not a segment.
    pub fn resolve(text: &str, world: &str, actor: &ActorPath) -> Result<Self, KeyError> {
        let key = Self::new(text)?;
        if text.starts_with(ROOT) {
            return Ok(key);
        }
        check_segment("world", world)?;
        for segment in text.split('/') {
            check_segment("signal", segment)?;
        }
        Self::new(&absolute(world, actor, text))
    }

    /// The key as text.
    #[inline]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The world, when this is the key of an actor's signal.
    pub fn world(&self) -> Option<&str> {
        self.parts().map(|parts| parts.world)
    }

    /// The path of the actor, when this is the key of an actor's signal.
    pub fn actor(&self) -> Option<&str> {
        self.parts().map(|parts| parts.actor)
    }

    /// The name of the signal, when this is the key of an actor's signal.
    pub fn signal(&self) -> Option<&str> {
        self.parts().map(|parts| parts.signal)
    }

    fn parts(&self) -> Option<Parts<'_>> {
        let (world, rest) = self.as_str().strip_prefix(ROOT)?.split_once('/')?;
        let (actor, signal) = rest.strip_prefix("actor/")?.rsplit_once('/')?;
        let segments = is_segment(world) && is_segment(signal) && actor.split('/').all(is_segment);
        segments.then_some(Parts { world, actor, signal })
    }
}

/// The parts of the key of an actor's signal.
struct Parts<'a> {
    world: &'a str,
    actor: &'a str,
    signal: &'a str,
}

impl KeyExpr {
    /// Checks a whole key expression, which must be in canonical form.
    ///
    /// # Errors
    /// [`KeyError::NotCanonical`] says what to write instead, where that is known; [`KeyError::Invalid`] says what is wrong.
    pub fn new(text: &str) -> Result<Self, KeyError> {
        Ok(Self { expression: parse(text)?, wild: has_wild(text) })
    }

    /// The text of an expression for an actor's signal whatever the world, `chaconne/*/actor/{path}/{signal}`.
    ///
    /// The parts may hold wild cards themselves: `of_actor("**", "pose")` means everybody's pose.
    ///
    /// ```
    /// use chaconne_sim_core::key::KeyExpr;
    ///
    /// assert_eq!(KeyExpr::of_actor("lead", "pose"), "chaconne/*/actor/lead/pose");
    /// ```
    pub fn of_actor(path: &str, signal: &str) -> String {
        format!("{ROOT}*/actor/{path}/{signal}")
    }

    /// The expression that an actor means by `text`: as it stands when it begins with `chaconne/`, otherwise below the
    /// actor's own path, as `chaconne/{world}/actor/{actor}/{text}`.
    ///
    /// # Errors
    /// A [`KeyError`] that names `text` as it was given when it is not a key expression, or names the world when that is
    /// not a segment.
    pub fn resolve(text: &str, world: &str, actor: &ActorPath) -> Result<Self, KeyError> {
        let expression = Self::new(text)?;
        if text.starts_with(ROOT) {
            return Ok(expression);
        }
        check_segment("world", world)?;
        Self::new(&absolute(world, actor, text))
    }

    /// The expression as text.
    #[inline]
    pub fn as_str(&self) -> &str {
        self.expression.as_str()
    }

    /// Whether the expression has wild cards. One without names a single key.
    #[inline]
    pub fn is_wild(&self) -> bool {
        self.wild
    }

    /// Whether the key is in the set.
    #[inline]
    pub fn matches(&self, key: &Key) -> bool {
        if self.wild { self.expression.intersects(&key.0) } else { self.as_str() == key.as_str() }
    }

    /// Whether there is a key in both sets.
    pub fn intersects(&self, other: &Self) -> bool {
        self.expression.intersects(&other.expression)
    }

    /// Whether every key of the other set is in this one.
    pub fn includes(&self, other: &Self) -> bool {
        self.expression.includes(&other.expression)
    }

    /// The one key of an expression without wild cards.
    pub fn as_key(&self) -> Option<Key> {
        (!self.wild).then(|| Key(self.expression.clone()))
    }
}

impl From<Key> for KeyExpr {
    fn from(key: Key) -> Self {
        Self { expression: key.0, wild: false }
    }
}

fn absolute(world: &str, actor: &ActorPath, text: &str) -> String {
    format!("{ROOT}{world}/actor/{actor}/{text}")
}

/// Whether a valid expression has wild cards: each of the three is written with a star, which nothing else may hold.
fn has_wild(text: &str) -> bool {
    text.contains('*')
}

fn check_segment(part: &'static str, text: &str) -> Result<(), KeyError> {
    if is_segment(text) { Ok(()) } else { Err(KeyError::Segment { part, text: text.to_owned() }) }
}

/// Zenoh decides. Its own message is not passed on, because it holds a path of the machine that built the program.
fn parse(text: &str) -> Result<OwnedKeyExpr, KeyError> {
    match keyexpr::new(text) {
        Ok(expression) => Ok(expression.into()),
        Err(_) => Err(explain(text)),
    }
}

#[cold]
fn explain(text: &str) -> KeyError {
    let reason = match text.split('/').find_map(chunk_fault) {
        Some(reason) => reason,
        None => {
            let canonical = canonical(text);
            if keyexpr::new(&canonical).is_ok() {
                return KeyError::NotCanonical { text: text.to_owned(), canonical };
            }
            "see the rules for key expressions"
        }
    };
    KeyError::Invalid { text: text.to_owned(), reason }
}

/// What is wrong with a chunk, whatever its neighbours.
fn chunk_fault(chunk: &str) -> Option<&'static str> {
    if chunk.is_empty() {
        return Some("a chunk is empty; write no leading, trailing or doubled `/`");
    }
    if chunk.contains(['#', '?']) {
        return Some("`#` and `?` are not allowed; leave them out");
    }
    if matches!(chunk, "*" | "**") {
        return None;
    }
    let rest = chunk.replace("$*", "");
    if rest.contains('$') {
        return Some("`$` is only allowed in `$*`; leave it out");
    }
    if rest.contains('*') {
        return Some("`*` and `**` stand for whole chunks; write `$*` for any characters inside a chunk");
    }
    None
}

/// The canonical form of a text whose chunks are without fault: of neighbouring wild cards first the `*`, then one `**`.
fn canonical(text: &str) -> String {
    let mut chunks = Vec::new();
    let mut any = false;
    for chunk in text.split('/') {
        let mut chunk = chunk.to_owned();
        while chunk.contains("$*$*") {
            chunk = chunk.replace("$*$*", "$*");
        }
        match chunk.as_str() {
            "**" => any = true,
            "*" | "$*" => chunks.push("*".to_owned()),
            _ => {
                if any {
                    chunks.push("**".to_owned());
                    any = false;
                }
                chunks.push(chunk);
            }
        }
    }
    if any {
        chunks.push("**".to_owned());
    }
    chunks.join("/")
}

macro_rules! text_type {
    ($type:ident, $expecting:literal) => {
        impl PartialOrd for $type {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Ord for $type {
            fn cmp(&self, other: &Self) -> Ordering {
                self.as_str().cmp(other.as_str())
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($type), self.as_str())
            }
        }

        impl AsRef<str> for $type {
            fn as_ref(&self) -> &str {
                self.as_str()
            }
        }

        impl FromStr for $type {
            type Err = KeyError;

            fn from_str(text: &str) -> Result<Self, KeyError> {
                Self::new(text)
            }
        }

        impl TryFrom<&str> for $type {
            type Error = KeyError;

            fn try_from(text: &str) -> Result<Self, KeyError> {
                Self::new(text)
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl de::Visitor<'_> for Visitor {
                    type Value = $type;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expecting)
                    }

                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$type, E> {
                        $type::new(text).map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Visitor)
            }
        }
    };
}

text_type!(Key, "a key as a string, such as \"chaconne/highway/actor/ego/pose\"");
text_type!(KeyExpr, "a key expression as a string, such as \"chaconne/*/actor/**/pose\"");

#[cfg(test)]
mod tests;
