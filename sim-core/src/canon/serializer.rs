//! The `serde` serializer.

use serde::ser::{self, Serialize};

use super::{
    error::{CanonError, CanonErrorKind},
    map::MapWriter,
    number::{write_f32, write_f64, write_integer},
};

/// How deep a value may nest: `serde_json` reads back no more.
const DEPTH: u8 = 127;

/// Writes one value to the end of a buffer.
pub(super) struct CanonSerializer<'a> {
    out: &'a mut Vec<u8>,
    /// How many levels may still be opened.
    depth: u8,
}

impl<'a> CanonSerializer<'a> {
    #[inline]
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, depth: DEPTH }
    }

    #[inline]
    pub(super) fn nested(out: &'a mut Vec<u8>, depth: u8) -> Self {
        Self { out, depth }
    }

    #[inline]
    fn open(&mut self, bracket: u8) -> Result<(), CanonError> {
        if self.depth == 0 {
            return Err(CanonError::new(CanonErrorKind::TooDeep { limit: DEPTH }));
        }
        self.depth -= 1;
        self.out.push(bracket);
        Ok(())
    }

    #[inline]
    fn elements(mut self) -> Result<Elements<'a>, CanonError> {
        self.open(b'[')?;
        Ok(Elements { out: self.out, depth: self.depth, written: 0, variant: None })
    }

    #[inline]
    fn open_variant(&mut self, variant: &'static str) -> Result<(), CanonError> {
        self.open(b'{')?;
        write_str(self.out, variant);
        self.out.push(b':');
        Ok(())
    }
}

/// Appends a string with quotes and escapes; says whether an escape was needed.
#[inline]
pub(super) fn write_str(out: &mut Vec<u8>, text: &str) -> bool {
    let bytes = text.as_bytes();
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    let escaped = needs_escape(bytes);
    if escaped {
        write_escaped(out, bytes);
    } else {
        out.extend_from_slice(bytes);
    }
    out.push(b'"');
    escaped
}

/// Appends the name of a field with quotes and colon.
///
/// Always inlined: the name is a literal at every call, so that the compiler lays the whole text out in advance. That takes
/// a sixth off the time of a struct of numbers.
#[inline(always)]
fn write_name(out: &mut Vec<u8>, name: &'static str) {
    const ROOM: usize = 32;
    let bytes = name.as_bytes();
    let length = bytes.len();
    if length > ROOM - 3 || needs_escape(bytes) {
        write_str(out, name);
        out.push(b':');
        return;
    }
    let mut text = [0; ROOM];
    text[0] = b'"';
    text[1..=length].copy_from_slice(bytes);
    text[length + 1] = b'"';
    text[length + 2] = b':';
    out.extend_from_slice(&text[..length + 3]);
}

/// Looks at every byte, found one or not, because that loop vectorises.
#[inline]
fn needs_escape(bytes: &[u8]) -> bool {
    bytes.iter().fold(false, |any, &byte| any | (byte < 0x20) | (byte == b'"') | (byte == b'\\'))
}

#[cold]
fn write_escaped(out: &mut Vec<u8>, bytes: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    for &byte in bytes {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            0x08 => out.extend_from_slice(b"\\b"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            0x0c => out.extend_from_slice(b"\\f"),
            b'\r' => out.extend_from_slice(b"\\r"),
            0x00..=0x1f => {
                out.extend_from_slice(b"\\u00");
                out.push(HEX[usize::from(byte >> 4)]);
                out.push(HEX[usize::from(byte & 15)]);
            }
            _ => out.push(byte),
        }
    }
}

/// Refuses the objects by which `serde_json` passes raw text through a serializer.
#[inline]
fn check_name(name: &'static str) -> Result<(), CanonError> {
    let (token, feature) = match name {
        "$serde_json::private::Number" => ("`serde_json::Number`", "arbitrary_precision"),
        "$serde_json::private::RawValue" => ("`serde_json::value::RawValue`", "raw_value"),
        _ => return Ok(()),
    };
    Err(CanonError::new(CanonErrorKind::Private { token, feature }))
}

macro_rules! integers {
    ($($method:ident: $type:ty),*) => {$(
        #[inline]
        fn $method(self, number: $type) -> Result<(), CanonError> {
            write_integer(self.out, number);
            Ok(())
        }
    )*};
}

impl<'a> ser::Serializer for CanonSerializer<'a> {
    type Ok = ();
    type Error = CanonError;
    type SerializeSeq = Elements<'a>;
    type SerializeTuple = Elements<'a>;
    type SerializeTupleStruct = Elements<'a>;
    type SerializeTupleVariant = Elements<'a>;
    type SerializeMap = MapWriter<'a>;
    type SerializeStruct = Fields<'a>;
    type SerializeStructVariant = Fields<'a>;

    integers!(
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128
    );

    #[inline]
    fn serialize_bool(self, value: bool) -> Result<(), CanonError> {
        self.out.extend_from_slice(if value { b"true" } else { b"false" });
        Ok(())
    }

    #[inline]
    fn serialize_f32(self, number: f32) -> Result<(), CanonError> {
        write_f32(self.out, number)
    }

    #[inline]
    fn serialize_f64(self, number: f64) -> Result<(), CanonError> {
        write_f64(self.out, number)
    }

    #[inline]
    fn serialize_char(self, character: char) -> Result<(), CanonError> {
        self.serialize_str(character.encode_utf8(&mut [0; 4]))
    }

    #[inline]
    fn serialize_str(self, text: &str) -> Result<(), CanonError> {
        write_str(self.out, text);
        Ok(())
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), CanonError> {
        use ser::SerializeSeq;
        let mut elements = self.elements()?;
        for byte in bytes {
            elements.serialize_element(byte)?;
        }
        SerializeSeq::end(elements)
    }

    #[inline]
    fn serialize_none(self) -> Result<(), CanonError> {
        self.serialize_unit()
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), CanonError> {
        value.serialize(self)
    }

    #[inline]
    fn serialize_unit(self) -> Result<(), CanonError> {
        self.out.extend_from_slice(b"null");
        Ok(())
    }

    #[inline]
    fn serialize_unit_struct(self, _: &'static str) -> Result<(), CanonError> {
        self.serialize_unit()
    }

    #[inline]
    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), CanonError> {
        self.serialize_str(variant)
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Result<(), CanonError> {
        check_name(name)?;
        value.serialize(self)
    }

    #[inline]
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        mut self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), CanonError> {
        self.open_variant(variant)?;
        if let Err(error) = value.serialize(CanonSerializer::nested(self.out, self.depth)) {
            return Err(error.in_field(variant));
        }
        self.out.push(b'}');
        Ok(())
    }

    #[inline]
    fn serialize_seq(self, _: Option<usize>) -> Result<Elements<'a>, CanonError> {
        self.elements()
    }

    #[inline]
    fn serialize_tuple(self, _: usize) -> Result<Elements<'a>, CanonError> {
        self.elements()
    }

    #[inline]
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Elements<'a>, CanonError> {
        self.elements()
    }

    #[inline]
    fn serialize_tuple_variant(
        mut self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Elements<'a>, CanonError> {
        self.open_variant(variant)?;
        Ok(Elements { variant: Some(variant), ..self.elements()? })
    }

    #[inline]
    fn serialize_map(mut self, length: Option<usize>) -> Result<MapWriter<'a>, CanonError> {
        if length.is_none() {
            return Err(CanonError::new(CanonErrorKind::MapOfUnknownLength));
        }
        self.open(b'{')?;
        Ok(MapWriter::new(self.out, self.depth))
    }

    #[inline]
    fn serialize_struct(mut self, name: &'static str, _: usize) -> Result<Fields<'a>, CanonError> {
        check_name(name)?;
        self.open(b'{')?;
        Ok(Fields { out: self.out, depth: self.depth, first: true, variant: None })
    }

    #[inline]
    fn serialize_struct_variant(
        mut self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Fields<'a>, CanonError> {
        self.open_variant(variant)?;
        self.open(b'{')?;
        Ok(Fields { out: self.out, depth: self.depth, first: true, variant: Some(variant) })
    }
}

/// Writes the elements of a sequence, a tuple, a tuple struct or a tuple variant.
pub(super) struct Elements<'a> {
    out: &'a mut Vec<u8>,
    depth: u8,
    written: usize,
    variant: Option<&'static str>,
}

impl Elements<'_> {
    #[inline]
    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CanonError> {
        if self.written > 0 {
            self.out.push(b',');
        }
        if let Err(error) = value.serialize(CanonSerializer::nested(self.out, self.depth)) {
            return Err(within(error.in_element(self.written), self.variant));
        }
        self.written += 1;
        Ok(())
    }

    #[inline]
    fn finish(self) -> Result<(), CanonError> {
        self.out.extend_from_slice(if self.variant.is_some() { b"]}" } else { b"]" });
        Ok(())
    }
}

/// Writes the fields of a struct or a struct variant.
pub(super) struct Fields<'a> {
    out: &'a mut Vec<u8>,
    depth: u8,
    first: bool,
    variant: Option<&'static str>,
}

impl Fields<'_> {
    #[inline(always)]
    fn field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), CanonError> {
        if !self.first {
            self.out.push(b',');
        }
        self.first = false;
        write_name(self.out, name);
        match value.serialize(CanonSerializer::nested(self.out, self.depth)) {
            Ok(()) => Ok(()),
            Err(error) => Err(within(error.in_field(name), self.variant)),
        }
    }

    #[inline]
    fn finish(self) -> Result<(), CanonError> {
        self.out.extend_from_slice(if self.variant.is_some() { b"}}" } else { b"}" });
        Ok(())
    }
}

#[cold]
fn within(error: CanonError, variant: Option<&'static str>) -> CanonError {
    match variant {
        Some(variant) => error.in_field(variant),
        None => error,
    }
}

macro_rules! elements {
    ($($trait:ident::$method:ident),*) => {$(
        impl ser::$trait for Elements<'_> {
            type Ok = ();
            type Error = CanonError;

            #[inline]
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CanonError> {
                self.element(value)
            }

            #[inline]
            fn end(self) -> Result<(), CanonError> {
                self.finish()
            }
        }
    )*};
}

elements!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

macro_rules! fields {
    ($($trait:ident),*) => {$(
        impl ser::$trait for Fields<'_> {
            type Ok = ();
            type Error = CanonError;

            #[inline(always)]
            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), CanonError> {
                self.field(name, value)
            }

            #[inline]
            fn end(self) -> Result<(), CanonError> {
                self.finish()
            }
        }
    )*};
}

fields!(SerializeStruct, SerializeStructVariant);
