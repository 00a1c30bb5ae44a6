//! Parsing and printing of numbers as the C library does it: `strtod`, `%.15E` and `%.16G`; and conversions to
//! integers that never trap.

use crate::text::space::is_space;

/// Truncates a double to a 64-bit integer as an x86-64 processor does: a value out of range becomes the smallest
/// integer.
pub(crate) fn truncate(real: f64) -> i64 {
    // The bounds are -2^63 and 2^63; NaN is not within them.
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&real) {
        real as i64
    } else {
        i64::MIN
    }
}

/// Truncates a double to a 32-bit integer as an x86-64 processor does.
pub(crate) fn truncate32(real: f64) -> i32 {
    if real > -2_147_483_649.0 && real < 2_147_483_648.0 { real as i32 } else { i32::MIN }
}

/// Parses the number at the beginning of a text as C's `strtod` does in the C locale: leading blanks, a sign, then
/// decimal or hexadecimal digits, `inf`, `infinity`, `nan` or `nan(...)`. Returns the number and the number of bytes
/// used, which is 0 if the text does not begin with a number.
pub(crate) fn strtod(text: &[u8]) -> (f64, usize) {
    let blanks = text.iter().take_while(|b| is_space(**b)).count();
    let negative = text.get(blanks) == Some(&b'-');
    let at = blanks + usize::from(matches!(text.get(blanks), Some(b'-' | b'+')));
    let rest = &text[at..];
    let sign = |value: f64| if negative { -value } else { value };
    let starts = |word: &[u8]| rest.len() >= word.len() && rest[..word.len()].eq_ignore_ascii_case(word);
    if starts(b"infinity") {
        return (sign(f64::INFINITY), at + 8);
    }
    if starts(b"inf") {
        return (sign(f64::INFINITY), at + 3);
    }
    if starts(b"nan") {
        let is_word = |b: &&u8| b.is_ascii_alphanumeric() || **b == b'_';
        let inside = rest.get(4..).unwrap_or_default().iter().take_while(is_word).count();
        let has_payload = rest.get(3) == Some(&b'(') && rest.get(4 + inside) == Some(&b')');
        let (payload, used) =
            if has_payload { (nan_payload(&rest[4..4 + inside]), 5 + inside) } else { (0, 3) };
        return (sign(f64::from_bits(QUIET_NAN | payload)), at + used);
    }
    if starts(b"0x")
        && let Some((value, used)) = parse_hexadecimal(&rest[2..])
    {
        return (sign(value), at + 2 + used);
    }
    let digits = |from: usize| rest[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let whole = digits(0);
    let mut end = whole;
    let mut fraction = 0;
    if rest.get(end) == Some(&b'.') {
        fraction = digits(end + 1);
        if whole + fraction > 0 {
            end += 1 + fraction;
        }
    }
    if whole + fraction == 0 {
        return (0.0, 0);
    }
    if matches!(rest.get(end), Some(b'e' | b'E')) {
        let signed = usize::from(matches!(rest.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits((end + 1 + signed).min(rest.len()));
        if exponent > 0 {
            end += 1 + signed + exponent;
        }
    }
    let value = std::str::from_utf8(&rest[..end]).ok().and_then(|s| s.parse::<f64>().ok()).unwrap_or(0.0);
    (sign(value), at + end)
}

const QUIET_NAN: u64 = 0x7ff8_0000_0000_0000;

/// Returns the payload that glibc gives a NaN for the text in `nan(...)`: the number that `strtoull` parses becomes
/// the lower bits.
fn nan_payload(text: &[u8]) -> u64 {
    let (digits, base) = match text {
        [b'0', b'x' | b'X', digits @ ..] if !digits.is_empty() => (digits, 16),
        [b'0', digits @ ..] => (digits, 8),
        digits => (digits, 10),
    };
    let number = digits.iter().try_fold(0u64, |sum, digit| {
        let digit = u64::from((*digit as char).to_digit(base)?);
        Some(sum.saturating_mul(u64::from(base)).saturating_add(digit))
    });
    number.unwrap_or(0) & 0x0007_ffff_ffff_ffff
}

/// Parses hexadecimal digits that follow `0x`, with an optional point and binary exponent. The result is rounded to
/// nearest even.
fn parse_hexadecimal(text: &[u8]) -> Option<(f64, usize)> {
    let mut mantissa: u64 = 0;
    let mut sticky = false;
    let mut exponent: i64 = 0;
    let mut digits = 0usize;
    let mut point = false;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        if byte == b'.' && !point {
            point = true;
            at += 1;
            continue;
        }
        let Some(digit) = (byte as char).to_digit(16) else { break };
        digits += 1;
        if mantissa >> 60 == 0 {
            mantissa = mantissa << 4 | u64::from(digit);
            exponent -= if point { 4 } else { 0 };
        } else {
            sticky |= digit != 0;
            exponent += if point { 0 } else { 4 };
        }
        at += 1;
    }
    if digits == 0 {
        return None;
    }
    if matches!(text.get(at), Some(b'p' | b'P')) {
        let negative = text.get(at + 1) == Some(&b'-');
        let signed = usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
        let start = at + 1 + signed;
        let count = text.get(start..).unwrap_or_default().iter().take_while(|b| b.is_ascii_digit()).count();
        if count > 0 {
            let power = text[start..start + count]
                .iter()
                .fold(0i64, |sum, b| (sum * 10 + i64::from(b - b'0')).min(1_000_000));
            exponent += if negative { -power } else { power };
            at = start + count;
        }
    }
    Some((scale_by_power_of_two(mantissa, exponent, sticky), at))
}

/// Returns `mantissa * 2^exponent`, correctly rounded. `sticky` is true if nonzero bits below the mantissa were lost.
fn scale_by_power_of_two(mantissa: u64, exponent: i64, sticky: bool) -> f64 {
    if mantissa == 0 {
        return 0.0;
    }
    let shift = i64::from(mantissa.leading_zeros());
    let mantissa = mantissa << shift;
    let exponent = exponent - shift;
    // After shifting the mantissa so that its top bit is set, the leading bit has weight exponent + 63.
    let top = exponent + 63;
    if top > 1023 {
        return f64::INFINITY;
    }
    let keep = if top >= -1022 { 53 } else { 53 - (-1022 - top) };
    if keep < 0 {
        return 0.0;
    }
    let drop = 64 - keep;
    let (kept, half, rest) = if drop == 64 {
        (0, mantissa >> 63 == 1, mantissa << 1 != 0)
    } else {
        (mantissa >> drop, mantissa >> (drop - 1) & 1 == 1, mantissa << (65 - drop) != 0 && drop > 1)
    };
    let up = half && (rest || sticky || kept & 1 == 1);
    let kept = kept + u64::from(up);
    let mut value = kept as f64;
    let mut power = exponent + drop;
    while power > 0 {
        let step = power.min(1000);
        value *= 2f64.powi(step as i32);
        power -= step;
    }
    while power < 0 {
        let step = (-power).min(1000);
        value /= 2f64.powi(step as i32);
        power += step;
    }
    value
}

/// Writes a finite real other than zero with the format `%1.15E` of C, which the new syntax uses.
pub(crate) fn push_e15(real: f64, out: &mut Vec<u8>) {
    let Some(millionths) = as_millionths(real) else {
        push_exponent_form(&format!("{real:.15E}"), out);
        return;
    };
    if real < 0.0 {
        out.push(b'-');
    }
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(millionths).as_bytes();
    out.extend_from_slice(&[digits[0], b'.']);
    out.extend_from_slice(&digits[1..]);
    out.resize(out.len() + SIGNIFICANT_DIGITS - digits.len(), b'0');
    out.extend_from_slice(b"E");
    let power = digits.len() as i32 - 7;
    out.extend_from_slice(if power < 0 { b"-0" } else { b"+0" });
    push_int(i64::from(power.abs()), out);
}

/// Number of significant digits of a printed real.
const SIGNIFICANT_DIGITS: usize = 16;

/// Returns the absolute value of a real in millionths, or `None` if rounding to millionths would change one of its 16
/// significant digits. This makes printing faster: times and usage values have at most six decimal places, and
/// printing an integer takes a tenth of the time of printing a real.
fn as_millionths(real: f64) -> Option<u64> {
    const MILLION: f64 = 1e6;
    let whole = (real.abs() * MILLION).round();
    // Smaller numbers are printed with an exponent; larger numbers have more than sixteen digits.
    if !(100.0..1e15).contains(&whole) {
        return None;
    }
    // The rounding error of the multiplication. It is computed exactly, because the leading bits cancel.
    let rest = real.abs().mul_add(MILLION, -whole);
    let digits = (whole as u64).ilog10() as i32 + 1;
    // Just below a power of ten, the sixteenth digit has a weight ten times smaller.
    let is_below = rest < 0.0 && whole as u64 == 10u64.pow(digits as u32 - 1);
    (!is_below && rest.abs() < 0.499 * 10f64.powi(digits - SIGNIFICANT_DIGITS as i32)).then_some(whole as u64)
}

/// Writes a number like `1.5E3`, as Rust formats it, in C's form `1.5E+03`.
fn push_exponent_form(text: &str, out: &mut Vec<u8>) {
    let (digits, exponent) = text.split_once('E').unwrap_or((text, "0"));
    out.extend_from_slice(digits.as_bytes());
    out.push(b'E');
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(rest) => (b'-', rest),
        None => (b'+', exponent),
    };
    out.push(sign);
    if exponent.len() < 2 {
        out.push(b'0');
    }
    out.extend_from_slice(exponent.as_bytes());
}

/// Writes a finite real with the format `%.16G` of C, and `.0` after it if it has neither a point nor an exponent. The
/// old syntax uses this form.
pub(crate) fn push_g16(real: f64, out: &mut Vec<u8>) {
    let before = out.len();
    push_general(real, 16, out);
    if !out[before..].iter().any(|b| matches!(b, b'.' | b'E' | b'e' | b'N' | b'I')) {
        out.extend_from_slice(b".0");
    }
}

/// Writes a real with the format `%.<precision>G` of C: in fixed or exponent form, without trailing zeros.
pub(crate) fn push_general(real: f64, precision: usize, out: &mut Vec<u8>) {
    if !real.is_finite() {
        let text: &[u8] = if real.is_nan() {
            if real.is_sign_negative() { b"-NAN" } else { b"NAN" }
        } else if real < 0.0 {
            b"-INF"
        } else {
            b"INF"
        };
        out.extend_from_slice(text);
        return;
    }
    // Whole numbers of moderate size are the most common reals in ads, and can be written as integers.
    if real == real.trunc()
        && real.abs() < 1e15
        && precision >= 16
        && !(real == 0.0 && real.is_sign_negative())
    {
        push_int(real as i64, out);
        return;
    }
    if precision == SIGNIFICANT_DIGITS
        && let Some(millionths) = as_millionths(real)
    {
        if real < 0.0 {
            out.push(b'-');
        }
        push_int((millionths / 1_000_000) as i64, out);
        let mut rest = millionths % 1_000_000;
        if rest > 0 {
            out.push(b'.');
        }
        while rest > 0 {
            out.push(b'0' + (rest / 100_000) as u8);
            rest = rest % 100_000 * 10;
        }
        return;
    }
    push_general_finite(real, precision, out);
}

/// Writes a finite real as [`push_general`] does.
fn push_general_finite(real: f64, precision: usize, out: &mut Vec<u8>) {
    let scientific = format!("{real:.*E}", precision.max(1) - 1);
    let (digits, exponent) = scientific.split_once('E').unwrap_or((&scientific, "0"));
    let power: i32 = exponent.parse().unwrap_or(0);
    let trim = |text: &str| -> usize {
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').len() } else { text.len() }
    };
    if power < -4 || power >= precision.max(1) as i32 {
        push_exponent_form(&format!("{}E{exponent}", &digits[..trim(digits)]), out);
        return;
    }
    let negative = digits.starts_with('-');
    let plain: Vec<u8> = digits.bytes().filter(u8::is_ascii_digit).collect();
    let mut fixed = String::new();
    if negative {
        fixed.push('-');
    }
    if power < 0 {
        fixed.push_str("0.");
        fixed.extend(std::iter::repeat_n('0', (-power - 1) as usize));
        fixed.extend(plain.iter().map(|b| *b as char));
    } else {
        let whole = power as usize + 1;
        fixed.extend(plain[..whole.min(plain.len())].iter().map(|b| *b as char));
        if plain.len() > whole {
            fixed.push('.');
            fixed.extend(plain[whole..].iter().map(|b| *b as char));
        }
    }
    out.extend_from_slice(&fixed.as_bytes()[..trim(&fixed)]);
}

/// Writes an integer in decimal.
pub(crate) fn push_int(value: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn g16(real: f64) -> String {
        let mut out = Vec::new();
        push_g16(real, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn reals_in_old_syntax_are_formatted_as_percent_16_g() {
        for (real, text) in [
            (1.5, "1.5"),
            (100.0, "100.0"),
            (1e20, "1E+20"),
            (0.1, "0.1"),
            (1e-5, "1E-05"),
            (10.0 / 3.0, "3.333333333333333"),
            (123456789.125, "123456789.125"),
            (1e16, "1E+16"),
            (1e15, "1000000000000000.0"),
            (-0.00012345, "-0.00012345"),
            (99_999.998_046_875, "99999.998046875"),
            (0.000_976_562_5, "0.0009765625"),
            (-0.5, "-0.5"),
            (0.010_742_187_5, "0.0107421875"),
        ] {
            assert_eq!(g16(real), text);
        }
    }

    /// Generates reals with few decimal places, and the nearest reals above and below each of them.
    #[test]
    fn short_decimals_are_printed_like_all_others() {
        let parts = [1.0, 3.0, 7.0, 10.0, 64.0, 1024.0, 1e4, 1e5, 1e6, 1e7, 1e9];
        let numbers = (1..3_000_000u64).step_by(997).chain((0..13).map(|power| 10u64.pow(power)));
        let next = |real: f64, by: i64| f64::from_bits((real.to_bits() as i64 + by) as u64);
        let mut short = 0;
        for number in numbers.flat_map(|number| [number, number * 4_503, number * 999_983]) {
            let near = |part: &f64| (-3..4).map(|by| next(number as f64 / part, by)).collect::<Vec<_>>();
            for real in parts.iter().flat_map(near) {
                short += usize::from(as_millionths(real).is_some());
                let texts = |write: fn(f64, &mut Vec<u8>)| {
                    let mut out = Vec::new();
                    write(-real, &mut out);
                    String::from_utf8(out).unwrap()
                };
                let any = texts(|real, out| push_general_finite(real, SIGNIFICANT_DIGITS, out));
                assert_eq!(texts(|real, out| push_general(real, SIGNIFICANT_DIGITS, out)), any, "{real:e}");
                let any = texts(|real, out| push_exponent_form(&format!("{real:.15E}"), out));
                assert_eq!(texts(push_e15), any, "{real:e}");
            }
        }
        assert!(short > 100_000, "{short}");
    }

    #[test]
    fn strtod_reads_the_same_as_c() {
        for (text, value, used) in [
            ("12.9", 12.9, 4),
            ("7abc", 7.0, 1),
            ("0x10", 16.0, 4),
            (" 7", 7.0, 2),
            ("1e3", 1000.0, 3),
            ("1e", 1.0, 1),
            (".5.", 0.5, 2),
            ("0x1.8p1", 3.0, 7),
            ("0x", 0.0, 1),
            ("-inf", f64::NEG_INFINITY, 4),
            ("abc", 0.0, 0),
            ("1.", 1.0, 2),
            ("0x1p-1074", 5e-324, 9),
        ] {
            assert_eq!(strtod(text.as_bytes()), (value, used), "{text}");
        }
        assert!(strtod(b"nan(12)").0.is_nan());
    }
}
