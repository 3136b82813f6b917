//! Maps: keys in strictly ascending order, or an error that names both.

use std::{cmp::Ordering, ops::Range};

use serde::ser::{self, Impossible, Serialize};

use super::{
    error::{CanonError, CanonErrorKind},
    number::write_integer,
    serializer::{CanonSerializer, write_str},
};

/// Writes the entries of a map and watches the order of their keys.
pub(super) struct MapWriter<'a> {
    out: &'a mut Vec<u8>,
    depth: u8,
    previous: Option<Key>,
    /// Where the text of the last key lies in `out`, with its quotes.
    text: Range<usize>,
}

/// A key, as far as its order needs it.
enum Key {
    /// Without escapes: its bytes are those between the quotes in the output.
    Plain,
    Escaped(Box<str>),
    Integer(Integer),
}

/// An integer of any type up to 128 bits, ordered by value.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Integer {
    Signed(i128),
    /// Above the range of `i128`.
    Large(u128),
}

impl<'a> MapWriter<'a> {
    /// `out` ends with the opening brace.
    #[inline]
    pub(super) fn new(out: &'a mut Vec<u8>, depth: u8) -> Self {
        Self { out, depth, previous: None, text: 0..0 }
    }

    fn raw<'b>(&'b self, key: &'b Key, text: &Range<usize>) -> Option<&'b [u8]> {
        match key {
            Key::Plain => Some(&self.out[text.start + 1..text.end - 1]),
            Key::Escaped(raw) => Some(raw.as_bytes()),
            Key::Integer(_) => None,
        }
    }

    fn order(&self, previous: &Key, key: &Key, text: &Range<usize>) -> Option<Ordering> {
        match (previous, key) {
            (Key::Integer(previous), Key::Integer(key)) => Some(previous.cmp(key)),
            _ => Some(self.raw(previous, &self.text)?.cmp(self.raw(key, text)?)),
        }
    }
}

#[cold]
fn out_of_order(previous: &[u8], next: &[u8]) -> CanonError {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    CanonError::new(CanonErrorKind::MapOrder { previous: text(previous), next: text(next) })
}

impl ser::SerializeMap for MapWriter<'_> {
    type Ok = ();
    type Error = CanonError;

    #[inline]
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), CanonError> {
        if self.previous.is_some() {
            self.out.push(b',');
        }
        let start = self.out.len();
        let key = key.serialize(KeySerializer { out: self.out })?;
        let text = start..self.out.len();
        if let Some(previous) = &self.previous
            && self.order(previous, &key, &text) != Some(Ordering::Less)
        {
            return Err(out_of_order(&self.out[self.text.clone()], &self.out[text]));
        }
        self.out.push(b':');
        self.previous = Some(key);
        self.text = text;
        Ok(())
    }

    #[inline]
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CanonError> {
        match value.serialize(CanonSerializer::nested(self.out, self.depth)) {
            Ok(()) => Ok(()),
            Err(error) => {
                // Quotes and escapes are left as they are written: a place in a message has to be recognised, not parsed.
                let key = String::from_utf8_lossy(&self.out[self.text.clone()]);
                Err(error.in_field(key.trim_matches('"')))
            }
        }
    }

    #[inline]
    fn end(self) -> Result<(), CanonError> {
        self.out.push(b'}');
        Ok(())
    }
}

/// Writes a key with its quotes and says what it was.
struct KeySerializer<'a> {
    out: &'a mut Vec<u8>,
}

impl KeySerializer<'_> {
    fn quoted(self, number: impl itoa::Integer) {
        self.out.push(b'"');
        write_integer(self.out, number);
        self.out.push(b'"');
    }

    fn signed(self, number: i128) -> Key {
        self.quoted(number);
        Key::Integer(Integer::Signed(number))
    }

    fn refuse<T>(self, what: &'static str) -> Result<T, CanonError> {
        Err(CanonError::new(CanonErrorKind::MapKey { what }))
    }
}

impl ser::Serializer for KeySerializer<'_> {
    type Ok = Key;
    type Error = CanonError;
    type SerializeSeq = Impossible<Key, CanonError>;
    type SerializeTuple = Impossible<Key, CanonError>;
    type SerializeTupleStruct = Impossible<Key, CanonError>;
    type SerializeTupleVariant = Impossible<Key, CanonError>;
    type SerializeMap = Impossible<Key, CanonError>;
    type SerializeStruct = Impossible<Key, CanonError>;
    type SerializeStructVariant = Impossible<Key, CanonError>;

    #[inline]
    fn serialize_str(self, text: &str) -> Result<Key, CanonError> {
        Ok(if write_str(self.out, text) { Key::Escaped(text.into()) } else { Key::Plain })
    }

    fn serialize_char(self, character: char) -> Result<Key, CanonError> {
        self.serialize_str(character.encode_utf8(&mut [0; 4]))
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<Key, CanonError> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<Key, CanonError> {
        value.serialize(self)
    }

    fn serialize_i8(self, number: i8) -> Result<Key, CanonError> {
        Ok(self.signed(number.into()))
    }

    fn serialize_i16(self, number: i16) -> Result<Key, CanonError> {
        Ok(self.signed(number.into()))
    }

    fn serialize_i32(self, number: i32) -> Result<Key, CanonError> {
        Ok(self.signed(number.into()))
    }

    fn serialize_i64(self, number: i64) -> Result<Key, CanonError> {
        Ok(self.signed(number.into()))
    }

    fn serialize_i128(self, number: i128) -> Result<Key, CanonError> {
        Ok(self.signed(number))
    }

    fn serialize_u8(self, number: u8) -> Result<Key, CanonError> {
        Ok(self.signed(number.into()))
    }

    fn serialize_u16(self, number: u16) -> Result<Key, CanonError> {
        Ok(self.signed(number.into()))
    }

    fn serialize_u32(self, number: u32) -> Result<Key, CanonError> {
        Ok(self.signed(number.into()))
    }

    fn serialize_u64(self, number: u64) -> Result<Key, CanonError> {
        Ok(self.signed(number.into()))
    }

    fn serialize_u128(self, number: u128) -> Result<Key, CanonError> {
        match i128::try_from(number) {
            Ok(number) => Ok(self.signed(number)),
            Err(_) => {
                self.quoted(number);
                Ok(Key::Integer(Integer::Large(number)))
            }
        }
    }

    fn serialize_bool(self, _: bool) -> Result<Key, CanonError> {
        self.refuse("a truth value")
    }

    fn serialize_f32(self, _: f32) -> Result<Key, CanonError> {
        self.refuse("a floating-point number")
    }

    fn serialize_f64(self, _: f64) -> Result<Key, CanonError> {
        self.refuse("a floating-point number")
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<Key, CanonError> {
        self.refuse("a byte string")
    }

    fn serialize_none(self) -> Result<Key, CanonError> {
        self.refuse("an option")
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Result<Key, CanonError> {
        self.refuse("an option")
    }

    fn serialize_unit(self) -> Result<Key, CanonError> {
        self.refuse("a unit")
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Key, CanonError> {
        self.refuse("a unit struct")
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<Key, CanonError> {
        self.refuse("an enum variant with content")
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, CanonError> {
        self.refuse("a sequence")
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, CanonError> {
        self.refuse("a tuple")
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeTupleStruct, CanonError> {
        self.refuse("a tuple struct")
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, CanonError> {
        self.refuse("an enum variant with content")
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, CanonError> {
        self.refuse("a map")
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeStruct, CanonError> {
        self.refuse("a struct")
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, CanonError> {
        self.refuse("an enum variant with content")
    }
}
