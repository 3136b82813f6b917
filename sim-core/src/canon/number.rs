//! Text of numbers.

use super::error::{CanonError, CanonErrorKind};

/// Appends the shortest text that reads back to the same `f64`, laid out as ECMAScript's `Number::toString` does, except
/// that −0.0 is `-0`.
///
/// # Errors
/// [`CanonErrorKind::NonFinite`] for an infinity or NaN; nothing is appended then.
#[inline]
pub fn write_f64(out: &mut Vec<u8>, number: f64) -> Result<(), CanonError> {
    if !number.is_finite() {
        return Err(non_finite(number));
    }
    if number == 0.0 {
        out.extend_from_slice(if number.is_sign_negative() { b"-0" } else { b"0" });
        return Ok(());
    }
    out.extend_from_slice(ryu_js::Buffer::new().format_finite(number).as_bytes());
    Ok(())
}

/// Appends the shortest text that reads back to the same `f32`, laid out as [`write_f64`] does.
///
/// # Errors
/// [`CanonErrorKind::NonFinite`] for an infinity or NaN; nothing is appended then.
#[inline]
pub fn write_f32(out: &mut Vec<u8>, number: f32) -> Result<(), CanonError> {
    if !number.is_finite() {
        return Err(non_finite(number.into()));
    }
    if number == 0.0 {
        out.extend_from_slice(if number.is_sign_negative() { b"-0" } else { b"0" });
        return Ok(());
    }
    out.extend_from_slice(ryu_js::Buffer::new().format_finite(number).as_bytes());
    Ok(())
}

#[cold]
fn non_finite(number: f64) -> CanonError {
    let number = if number.is_nan() {
        "NaN"
    } else if number > 0.0 {
        "inf"
    } else {
        "-inf"
    };
    CanonError::new(CanonErrorKind::NonFinite { number })
}

/// Appends an integer in full.
#[inline]
pub(super) fn write_integer(out: &mut Vec<u8>, number: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}
