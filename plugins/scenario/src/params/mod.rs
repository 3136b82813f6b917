//! Parameters: what stands in a text, read into types that derive `serde::Deserialize`, with every error at its place.
//!
//! [`Params`] is a value of a text, or the absence of one, which reads as an empty object. It is strict where files are
//! written by hand: structs are read from objects and never from lists, lists have exactly as many items as are asked for,
//! and a number with a point is never a whole number. Floats are those that are nearest to the literal.
//!
//! ```
//! use chaconne_scenario::params::Params;
//! use serde::Deserialize;
//!
//! #[derive(Debug, Deserialize)]
//! #[serde(deny_unknown_fields)]
//! struct Car {
//!     speed: f64,
//!     lane: u32,
//! }
//!
//! let car: Car = Params::from_json("{ \"speed\": 30, \"lane\": 1 }")?.read()?;
//! assert_eq!((car.speed, car.lane), (30.0, 1));
//!
//! let error = |text| Params::from_json(text).and_then(|params| params.read::<Car>()).unwrap_err().to_string();
//! assert_eq!(error("{ \"sped\": 30 }"), "line 1, column 3: unknown field `sped`; did you mean `speed`?");
//! assert_eq!(
//!     error("{ \"speed\": 30, \"lane\": -1 }"),
//!     "line 1, column 24: `lane` is -1, but must be a whole number from 0 to 4294967295"
//! );
//! assert_eq!(error("{ \"speed\": 30 }"), "line 1, column 1: the field `lane` is missing; add it");
//! # Ok::<(), chaconne_scenario::params::ParamError>(())
//! ```
//!
//! What serde reads twice (`flatten`, and enums that are untagged or internally tagged) it copies first, and places are lost:
//! an error in it has the place of the whole.

mod deserializer;
mod error;
mod placed;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde::de::DeserializeOwned;

pub use error::ParamError;

pub(crate) use deserializer::LITERAL;
pub(crate) use error::nearest;
pub(crate) use placed::{Placed, Unread};

use crate::text::{self, Kind, Place, Tree};
use deserializer::ValueDeserializer;

/// Parameters to be read; see the [module](self). A `&Params` is a `serde::Deserializer`.
#[derive(Clone, Debug)]
pub struct Params<'a> {
    tree: Cow<'a, Tree>,
    /// Where errors about the whole stand, when there is such a place.
    place: Option<Place>,
}

static EMPTY: Tree = Tree::empty();

impl<'a> Params<'a> {
    /// The value of a text.
    pub fn new(tree: &'a Tree) -> Self {
        Self { tree: Cow::Borrowed(tree), place: Some(tree.place()) }
    }

    /// Absent parameters: an empty object without a place.
    pub fn empty() -> Self {
        Self { tree: Cow::Borrowed(&EMPTY), place: None }
    }

    /// Absent parameters of something that stands at a place.
    pub fn empty_at(place: Place) -> Self {
        Self { place: Some(place), ..Self::empty() }
    }

    /// Reads the type that the parameters are meant to be.
    ///
    /// # Errors
    /// The first thing that does not fit, at its place.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, ParamError> {
        T::deserialize(self)
    }

    /// Where they stand; none when they are absent.
    pub fn place(&self) -> Option<Place> {
        self.place
    }

    /// Their text's tree.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// As compact JSON, from which [`from_json`](Params::from_json) reads exactly the same values; `{}` when they are absent.
    pub fn to_json(&self) -> String {
        self.tree.to_json()
    }

    /// Whether nothing is given.
    pub fn is_empty(&self) -> bool {
        matches!(self.tree.kind(), Kind::Object(members) if members.is_empty())
    }

    fn deserializer(&self) -> ValueDeserializer<'_> {
        ValueDeserializer { tree: &self.tree, place: self.place }
    }
}

impl Params<'static> {
    /// Parameters in a text of their own: JSON, or JSON5. An empty text is their absence.
    ///
    /// # Errors
    /// When the text is not JSON5.
    pub fn from_json(text: &str) -> Result<Self, ParamError> {
        if text.trim_ascii().is_empty() {
            return Ok(Self::empty());
        }
        let tree = text::parse(text)?;
        Ok(Self { place: Some(tree.place()), tree: Cow::Owned(tree) })
    }
}
