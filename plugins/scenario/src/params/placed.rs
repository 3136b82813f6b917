//! Values that keep their place, and values that are read later.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeOwned, Error, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::deserializer::PLACED;
use super::{ParamError, Params};
use crate::text::{Place, Tree};

/// A value and its place; read from [`Params`] only.
#[derive(Clone, Debug)]
pub(crate) struct Placed<T> {
    pub(crate) value: T,
    pub(crate) place: Place,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Placed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PlacedVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for PlacedVisitor<T> {
            type Value = Placed<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value with its place")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Placed<T>, A::Error> {
                let missing = || A::Error::custom("a value with its place is read from `Params` only");
                let line = parts.next_element()?.ok_or_else(missing)?;
                let column = parts.next_element()?.ok_or_else(missing)?;
                let value = parts.next_element()?.ok_or_else(missing)?;
                Ok(Placed { value, place: Place { line, column } })
            }
        }

        deserializer.deserialize_newtype_struct(PLACED, PlacedVisitor(PhantomData))
    }
}

/// A value that is read on its own, so that a mistake in it does not hide those in others.
#[derive(Clone, Debug)]
pub(crate) struct Unread<T> {
    pub(crate) place: Place,
    of: PhantomData<T>,
}

impl<T> Unread<T> {
    /// What was left unread, in the text that it stands in.
    pub(crate) fn params<'t>(&self, text: &'t Tree) -> Params<'t> {
        text.find(self.place).map_or_else(|| Params::empty_at(self.place), Params::new)
    }

    /// Reads it.
    pub(crate) fn read(&self, text: &Tree) -> Result<T, ParamError>
    where
        T: DeserializeOwned,
    {
        self.params(text).read()
    }
}

impl<'de, T> Deserialize<'de> for Unread<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Placed { value: IgnoredAny, place } = Placed::deserialize(deserializer)?;
        Ok(Self { place, of: PhantomData })
    }
}

macro_rules! schema_of_inner {
    ($($wrapper:ident)+) => {$(
        impl<T: JsonSchema> JsonSchema for $wrapper<T> {
            fn inline_schema() -> bool {
                T::inline_schema()
            }

            fn schema_name() -> Cow<'static, str> {
                T::schema_name()
            }

            fn schema_id() -> Cow<'static, str> {
                T::schema_id()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                T::json_schema(generator)
            }
        }
    )+};
}

schema_of_inner! { Placed Unread }
