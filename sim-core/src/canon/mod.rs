//! Canonical JSON: one value, one text, on every machine and with every version of every crate.
//!
//! Payloads are hashed, so their bytes must not depend on a library's taste. They come from a `serde` serializer of our own:
//!
//! * fields in the order of declaration, no white space, enums as `serde_json` writes them (externally tagged);
//! * `f64` in the shortest form that reads back to the same bits, laid out as ECMAScript does (RFC 8785, section 3.2.2.3),
//!   except that −0.0 is `-0`; `f32` in the shortest form of an `f32`; integers in full, up to 128 bits;
//! * strings escaped as RFC 8785, section 3.2.2.2, says: `\"`, `\\`, `\b`, `\t`, `\n`, `\f`, `\r`, other control
//!   characters as `\u00xx`, everything else as it is;
//! * keys of a map strictly ascending, strings by their bytes and integers by value, or an error that names both keys; no
//!   other kind of key.
//!
//! Refused are non-finite numbers, maps out of order, maps that do not know their length (`#[serde(flatten)]` makes one of
//! a struct) and the private objects of `serde_json`'s features `arbitrary_precision` and `raw_value`. An error says where
//! in the value it happened.
//!
//! What is read back equals what was written, bit for bit.
//!
//! ```
//! use chaconne_sim_core::canon;
//!
//! #[derive(serde::Serialize, serde::Deserialize, PartialEq, Debug)]
//! struct Position { x: f64, y: f64 }
//!
//! let position = Position { x: 2.0, y: -0.0 };
//! let bytes = canon::to_vec(&position)?;
//! assert_eq!(bytes, br#"{"x":2,"y":-0}"#);
//! assert_eq!(canon::from_slice::<Position>(&bytes)?, position);
//!
//! let error = canon::to_vec(&Position { x: f64::NAN, y: 0.0 }).unwrap_err();
//! assert_eq!(error.at(), "x");
//! # Ok::<(), canon::CanonError>(())
//! ```

mod error;
mod map;
mod number;
mod serializer;
#[cfg(test)]
mod tests;

pub use error::{CanonError, CanonErrorKind};
pub use number::{write_f32, write_f64};

use serde::{Serialize, de::DeserializeOwned};

use serializer::CanonSerializer;

/// Appends the canonical text of a value to `out`. After an error `out` is as it was.
///
/// # Errors
/// A [`CanonError`] when the value has no canonical text; see the [module](self) for what is refused.
#[inline]
pub fn to_writer<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) -> Result<(), CanonError> {
    let start = out.len();
    match value.serialize(CanonSerializer::new(out)) {
        Ok(()) => Ok(()),
        Err(error) => {
            out.truncate(start);
            Err(error.in_type(std::any::type_name::<T>()))
        }
    }
}

/// The canonical text of a value, as bytes.
///
/// # Errors
/// As [`to_writer`].
pub fn to_vec<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, CanonError> {
    let mut out = Vec::with_capacity(128);
    to_writer(&mut out, value)?;
    Ok(out)
}

/// The canonical text of a value.
///
/// # Errors
/// As [`to_writer`].
pub fn to_string<T: Serialize + ?Sized>(value: &T) -> Result<String, CanonError> {
    let bytes = to_vec(value)?;
    Ok(String::from_utf8(bytes).expect("every piece that the serializer writes is UTF-8"))
}

/// Checks that a text from elsewhere is one JSON value without white space outside of strings, as canonical text is.
///
/// # Errors
/// When it is not.
pub fn check(text: &[u8]) -> Result<(), CanonError> {
    from_slice::<serde::de::IgnoredAny>(text)?;
    let (mut in_string, mut escaped) = (false, false);
    for (at, &byte) in text.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b' ' | b'\t' | b'\n' | b'\r' if !in_string => {
                return Err(CanonError::new(CanonErrorKind::WhiteSpace { at }));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Reads a value from JSON, canonical or not. Numbers are read to the nearest `f64` or `f32`, so that canonical text gives
/// back the bits that were written.
///
/// # Errors
/// A [`CanonError`] when the text is not JSON, or not of this type; it says where in the text.
pub fn from_slice<T: DeserializeOwned>(text: &[u8]) -> Result<T, CanonError> {
    serde_json::from_slice(text).map_err(|error| CanonError::read(&error, std::any::type_name::<T>()))
}
