//! Paths of actors: `ego`, `ego/controller`.
//!
//! An [`ActorPath`] names an actor or one of its parts for a whole run. Paths are ordered by their bytes, and that order,
//! never an entity's number, is what results depend on.
//!
//! ```
//! use chaconne_sim_core::path::ActorPath;
//!
//! let ego = ActorPath::new("ego")?;
//! let controller = ego.join("controller")?;
//! assert_eq!(controller.as_str(), "ego/controller");
//! assert_eq!(controller.name(), "controller");
//! assert!(controller.is_within(&ego));
//! # Ok::<(), chaconne_sim_core::path::PathError>(())
//! ```

use std::{borrow::Borrow, fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The path of an actor: one or more segments of `[A-Za-z0-9_-]+`, separated by `/`.
///
/// Copies share one text, so that cloning costs a reference count.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "bevy", derive(bevy_ecs::component::Component))]
pub struct ActorPath(Arc<str>);

/// Why a text is not the path of an actor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// A segment is empty, or holds a character that is not allowed.
    #[error(
        "`{text}` is not an actor's path (segment {position} is `{segment}`): write segments of A-Z, a-z, 0-9, `_` and `-`, separated by `/`, such as `ego/controller`"
    )]
    Segment {
        /// The whole text.
        text: String,
        /// The segment at fault; it may be empty.
        segment: String,
        /// Its place, counted from one.
        position: usize,
    },
}

/// Whether a text is one segment of a path: one or more of `A-Z`, `a-z`, `0-9`, `_` and `-`.
///
/// Names of worlds and of signals follow the same rule.
#[inline]
pub fn is_segment(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

fn check(text: &str) -> Result<(), PathError> {
    match text.split('/').enumerate().find(|(_, segment)| !is_segment(segment)) {
        None => Ok(()),
        Some((index, segment)) => {
            Err(PathError::Segment { text: text.to_owned(), segment: segment.to_owned(), position: index + 1 })
        }
    }
}

impl ActorPath {
    /// Checks a text and makes a path of it.
    ///
    /// # Errors
    /// [`PathError::Segment`] when the text is empty, or a segment is empty or holds a character that is not allowed.
    pub fn new(text: &str) -> Result<Self, PathError> {
        check(text)?;
        Ok(Self(text.into()))
    }

    /// The path as text.
    #[inline]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last segment.
    pub fn name(&self) -> &str {
        self.0.rsplit_once('/').map_or(&*self.0, |(_, name)| name)
    }

    /// The path without its last segment; none when there is only one.
    pub fn parent(&self) -> Option<Self> {
        self.0.rsplit_once('/').map(|(parent, _)| Self(parent.into()))
    }

    /// The path with one more segment.
    ///
    /// # Errors
    /// [`PathError::Segment`] when `segment` is not exactly one segment.
    pub fn join(&self, segment: &str) -> Result<Self, PathError> {
        let text = format!("{self}/{segment}");
        if is_segment(segment) {
            return Ok(Self(text.into()));
        }
        Err(PathError::Segment { text, segment: segment.to_owned(), position: self.segments().count() + 1 })
    }

    /// The segments, from the first to the last.
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }

    /// Whether this path equals `ancestor` or lies below it, by whole segments: `ego/a` is within `ego`, `ego2` is not.
    #[inline]
    pub fn is_within(&self, ancestor: &Self) -> bool {
        match self.0.strip_prefix(&*ancestor.0) {
            Some(rest) => rest.is_empty() || rest.starts_with('/'),
            None => false,
        }
    }
}

impl fmt::Display for ActorPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for ActorPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ActorPath({})", &*self.0)
    }
}

impl FromStr for ActorPath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        Self::new(text)
    }
}

impl TryFrom<&str> for ActorPath {
    type Error = PathError;

    fn try_from(text: &str) -> Result<Self, PathError> {
        Self::new(text)
    }
}

impl TryFrom<String> for ActorPath {
    type Error = PathError;

    fn try_from(text: String) -> Result<Self, PathError> {
        check(&text)?;
        Ok(Self(text.into()))
    }
}

impl AsRef<str> for ActorPath {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for ActorPath {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for ActorPath {
    fn eq(&self, other: &str) -> bool {
        *self.0 == *other
    }
}

impl PartialEq<&str> for ActorPath {
    fn eq(&self, other: &&str) -> bool {
        *self.0 == **other
    }
}

impl Serialize for ActorPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ActorPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = ActorPath;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the path of an actor as a string, such as \"ego/controller\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ActorPath, E> {
                ActorPath::new(text).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_made_of_segments() {
        for text in ["ego", "ego/controller", "a-b/c_d/0", "_", "-"] {
            assert_eq!(ActorPath::new(text).unwrap().as_str(), text);
        }
        for (text, segment, position) in [
            ("", "", 1),
            ("/ego", "", 1),
            ("ego/", "", 2),
            ("a//b", "", 2),
            ("ego/a b", "a b", 2),
            ("é", "é", 1),
            ("a/*", "*", 2),
        ] {
            assert_eq!(
                ActorPath::new(text),
                Err(PathError::Segment { text: text.into(), segment: segment.into(), position }),
                "{text}"
            );
        }
    }

    #[test]
    fn names_parents_and_segments() {
        let path = ActorPath::new("ego/radar/front").unwrap();
        assert_eq!(path.name(), "front");
        assert_eq!(path.parent().unwrap(), "ego/radar");
        assert_eq!(path.segments().collect::<Vec<_>>(), ["ego", "radar", "front"]);
        let ego = ActorPath::new("ego").unwrap();
        assert_eq!(ego.name(), "ego");
        assert_eq!(ego.parent(), None);
        assert_eq!(ego.join("radar").unwrap().join("front").unwrap(), path);
        assert!(ego.join("radar/front").is_err());
        assert!(ego.join("").is_err());
    }

    #[test]
    fn within_goes_by_whole_segments() {
        let path = |text| ActorPath::new(text).unwrap();
        assert!(path("ego").is_within(&path("ego")));
        assert!(path("ego/a/b").is_within(&path("ego/a")));
        assert!(!path("ego2").is_within(&path("ego")));
        assert!(!path("ego").is_within(&path("ego/a")));
    }

    #[test]
    fn order_is_by_bytes() {
        let mut paths = ["b", "a/b", "a-b", "a", "B", "a0"].map(|text| ActorPath::new(text).unwrap());
        paths.sort();
        assert_eq!(paths.map(|path| path.to_string()), ["B", "a", "a-b", "a/b", "a0", "b"]);
    }

    #[test]
    fn json_is_a_checked_string() {
        let path = ActorPath::new("ego/controller").unwrap();
        assert_eq!(serde_json::to_string(&path).unwrap(), "\"ego/controller\"");
        assert_eq!(serde_json::from_str::<ActorPath>("\"ego/controller\"").unwrap(), path);
        assert!(serde_json::from_str::<ActorPath>("\"ego//x\"").unwrap_err().to_string().contains("segment 2"));
    }
}
