//! Text of numbers.
//!
//! The digits come from `zmij` (pinned exactly). It lays most numbers out as ECMAScript does, but for a trailing `.0` and
//! for where it changes to the notation with an exponent; both are put right here.

use super::error::{CanonError, CanonErrorKind};

/// Appends the shortest text that reads back to the same `f64`, laid out as ECMAScript's `Number::toString` does (RFC 8785,
/// section 3.2.2.3), except that −0.0 is `-0`.
///
/// ```
/// use chaconne_sim_core::canon::write_f64;
///
/// let mut text = Vec::new();
/// write_f64(&mut text, 1e21)?;
/// assert_eq!(text, b"1e+21");
/// # Ok::<(), chaconne_sim_core::CanonError>(())
/// ```
///
/// # Errors
/// [`CanonErrorKind::NonFinite`] for an infinity or NaN; nothing is appended then.
#[inline]
pub fn write_f64(out: &mut Vec<u8>, number: f64) -> Result<(), CanonError> {
    // Up to 2^53 the shortest digits of a whole number are its own. Comparing bits keeps −0.0 out.
    let whole = number as i64;
    if (whole as f64).to_bits() == number.to_bits() && whole.unsigned_abs() <= 1 << 53 {
        write_integer(out, whole);
        return Ok(());
    }
    if !number.is_finite() {
        return Err(non_finite(number));
    }
    let mut buffer = zmij::Buffer::new();
    let text = buffer.format_finite(number).as_bytes();
    let magnitude = number.abs();
    if (1e-5..1e16).contains(&magnitude) || magnitude == 0.0 {
        out.extend_from_slice(text.strip_suffix(b".0").unwrap_or(text));
    } else if (1e-6..1e21).contains(&magnitude) {
        write_without_exponent(out, text);
    } else {
        out.extend_from_slice(text);
    }
    Ok(())
}

/// Appends the shortest text that reads back to the same `f32`, laid out as [`write_f64`] does.
///
/// # Errors
/// [`CanonErrorKind::NonFinite`] for an infinity or NaN; nothing is appended then.
#[inline]
pub fn write_f32(out: &mut Vec<u8>, number: f32) -> Result<(), CanonError> {
    // As for `f64`, up to 2^24.
    let whole = number as i32;
    if (whole as f32).to_bits() == number.to_bits() && whole.unsigned_abs() <= 1 << 24 {
        write_integer(out, whole);
        return Ok(());
    }
    if !number.is_finite() {
        return Err(non_finite(number.into()));
    }
    let mut buffer = zmij::Buffer::new();
    let text = buffer.format_finite(number).as_bytes();
    let magnitude = number.abs();
    if (1e-6..1e13).contains(&magnitude) || magnitude == 0.0 {
        out.extend_from_slice(text.strip_suffix(b".0").unwrap_or(text));
    } else if (1e13..1e21).contains(&magnitude) {
        write_without_exponent(out, text);
    } else {
        out.extend_from_slice(text);
    }
    Ok(())
}

/// Appends `-1.25e+16` as `-12500000000000000` and `1.5e-6` as `0.0000015`.
#[cold]
fn write_without_exponent(out: &mut Vec<u8>, text: &[u8]) {
    let (mantissa, exponent) = match text.iter().position(|&byte| byte == b'e') {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &b"0"[..]),
    };
    let digits = mantissa.iter().copied().filter(u8::is_ascii_digit);
    let places =
        exponent.iter().filter(|byte| byte.is_ascii_digit()).fold(0, |sum, byte| sum * 10 + usize::from(byte - b'0'));
    if mantissa.starts_with(b"-") {
        out.push(b'-');
    }
    if exponent.starts_with(b"-") {
        out.extend_from_slice(b"0.");
        out.extend(std::iter::repeat_n(b'0', places - 1));
        out.extend(digits);
    } else {
        out.extend(digits.chain(std::iter::repeat(b'0')).take(places + 1));
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn text64(number: f64) -> String {
        let mut out = Vec::new();
        write_f64(&mut out, number).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn text32(number: f32) -> String {
        let mut out = Vec::new();
        write_f32(&mut out, number).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// SplitMix64 (Steele, Lea and Flood 2014): every bit pattern is as likely as any other.
    fn patterns(count: usize) -> impl Iterator<Item = u64> {
        let mut state = 0_u64;
        std::iter::repeat_with(move || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ (mixed >> 31)
        })
        .take(count)
    }

    #[test]
    fn golden_texts_of_f64() {
        // From the table of RFC 8785, appendix B, but for −0.0; then the edges of each layout.
        let cases = [
            (0x0000_0000_0000_0000, "0"),
            (0x8000_0000_0000_0000, "-0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0xc340_0000_0000_0000, "-9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0x41b3_de43_5555_5554, "333333333.33333325"),
            (0x41b3_de43_5555_5555, "333333333.3333333"),
            (0x41b3_de43_5555_5556, "333333333.3333334"),
            (0x41b3_de43_5555_5557, "333333333.33333343"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        ];
        for (bits, text) in cases {
            assert_eq!(text64(f64::from_bits(bits)), text);
        }
        let cases = [
            (2.0, "2"),
            (-1.5, "-1.5"),
            (0.1, "0.1"),
            (1e15, "1000000000000000"),
            (1e16, "10000000000000000"),
            (-1e16, "-10000000000000000"),
            (1e20, "100000000000000000000"),
            (1.25e20, "125000000000000000000"),
            (1e21, "1e+21"),
            (1.5e300, "1.5e+300"),
            (1e-4, "0.0001"),
            (1e-5, "0.00001"),
            (1.5e-5, "0.000015"),
            (1.5e-6, "0.0000015"),
            (-1e-6, "-0.000001"),
            (1e-7, "1e-7"),
            (-1.5e-7, "-1.5e-7"),
            (1e-100, "1e-100"),
            (9_007_199_254_740_991.0, "9007199254740991"),
            (9_007_199_254_740_994.0, "9007199254740994"),
            (9_223_372_036_854_775_808.0, "9223372036854776000"),
            (f64::MIN_POSITIVE, "2.2250738585072014e-308"),
            (f64::EPSILON, "2.220446049250313e-16"),
        ];
        for (number, text) in cases {
            assert_eq!(text64(number), text);
        }
    }

    #[test]
    fn golden_texts_of_f32() {
        let cases = [
            (0.1, "0.1"),
            (-0.0, "-0"),
            (0.0, "0"),
            (16_777_216.0, "16777216"),
            (16_777_218.0, "16777218"),
            (33_554_432.0, "33554432"),
            (1e13, "10000000000000"),
            (1e16, "10000000000000000"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1e-6, "0.000001"),
            (1e-7, "1e-7"),
            (1e-45, "1e-45"),
            (f32::MAX, "3.4028235e+38"),
            (f32::MIN_POSITIVE, "1.1754944e-38"),
            (core::f32::consts::PI, "3.1415927"),
        ];
        for (number, text) in cases {
            assert_eq!(text32(number), text);
        }
    }

    /// An implementation of ECMAScript's layout that shares no code with ours.
    fn ecmascript(number: impl ryu_js::Float, negative_zero: bool) -> String {
        if negative_zero { "-0".to_owned() } else { ryu_js::Buffer::new().format(number).to_owned() }
    }

    #[test]
    fn texts_agree_with_another_implementation_of_ecmascript() {
        let negative_zero = |number: f64| number == 0.0 && number.is_sign_negative();
        let check64 = |number: f64| {
            if number.is_finite() {
                assert_eq!(text64(number), ecmascript(number, negative_zero(number)));
            }
        };
        let check32 = |number: f32| {
            if number.is_finite() {
                assert_eq!(text32(number), ecmascript(number, negative_zero(number.into())));
            }
        };
        for bits in patterns(1_000_000) {
            check64(f64::from_bits(bits));
            check32(f32::from_bits(bits as u32));
        }
        // Numbers of everyday size, short decimals, and both neighbours of every power of two and of ten.
        for bits in patterns(200_000) {
            check64(f64::from_bits((bits >> 12) | 0x3ff0_0000_0000_0000) * 1000.0 - 1500.0);
            check64((bits % 100_000_000) as f64 / 1000.0);
            check32((bits % 100_000) as f32 / 100.0);
        }
        for exponent in -324..=308 {
            let power: f64 = format!("1e{exponent}").parse().unwrap();
            [power.next_down(), power, power.next_up(), -power].into_iter().for_each(check64);
            let power = power as f32;
            [power.next_down(), power, power.next_up(), -power].into_iter().for_each(check32);
        }
        for exponent in 0..2047_u64 {
            let power = f64::from_bits(exponent << 52);
            [power.next_down(), power, power.next_up()].into_iter().for_each(check64);
            let power = f32::from_bits((exponent.min(254) as u32) << 23);
            [power.next_down(), power, power.next_up()].into_iter().for_each(check32);
        }
        for shift in 0..52 {
            check64(f64::from_bits(1 << shift));
        }
    }

    #[test]
    fn a_million_bit_patterns_read_back_to_the_bit() {
        let mut out = Vec::new();
        for bits in patterns(1_000_000) {
            let number = f64::from_bits(bits);
            if number.is_finite() {
                out.clear();
                write_f64(&mut out, number).unwrap();
                let back: f64 = crate::canon::from_slice(&out).unwrap();
                assert_eq!(back.to_bits(), bits, "{number:e}");
            }
            let number = f32::from_bits(bits as u32);
            if number.is_finite() {
                out.clear();
                write_f32(&mut out, number).unwrap();
                let back: f32 = crate::canon::from_slice(&out).unwrap();
                assert_eq!(back.to_bits(), bits as u32, "{number:e}");
            }
        }
    }

    #[test]
    fn whole_numbers_read_back_to_the_bit_at_the_edges_of_the_integers() {
        for edge in [1_u64 << 24, 1 << 31, 1 << 32, 1 << 53, 1 << 62, 1 << 63, u64::MAX] {
            let edge = edge as f64;
            for number in [edge.next_down(), edge, edge.next_up(), -edge, -edge.next_up()] {
                let back: f64 = crate::canon::from_slice(text64(number).as_bytes()).unwrap();
                assert_eq!(back.to_bits(), number.to_bits());
                let number = number as f32;
                let back: f32 = crate::canon::from_slice(text32(number).as_bytes()).unwrap();
                assert_eq!(back.to_bits(), number.to_bits());
            }
        }
    }

    #[test]
    fn non_finite_numbers_are_refused_and_append_nothing() {
        let mut out = b"before".to_vec();
        for (number, name) in [(f64::NAN, "NaN"), (f64::INFINITY, "inf"), (f64::NEG_INFINITY, "-inf")] {
            let kind = CanonErrorKind::NonFinite { number: name };
            assert_eq!(*write_f64(&mut out, number).unwrap_err().kind(), kind);
            assert_eq!(*write_f32(&mut out, number as f32).unwrap_err().kind(), kind);
        }
        assert_eq!(out, b"before");
    }
}
