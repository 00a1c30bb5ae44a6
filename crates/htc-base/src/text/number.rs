//! Numbers at the start of a text, as C's `strtoll` and `strtod` parse them in the C locale.
//!
//! HTCondor parses configuration values, slot types and quantities with `strtoll` and `strtod`. Their peculiarities are
//! therefore part of these languages: leading white space, saturation, `inf`, hexadecimal reals, and other text after the
//! number.

/// Parses a decimal integer after optional white space and a sign. Returns the value and the number of bytes read, or
/// `None` if there is no digit. A value that does not fit in 64 bits becomes the nearest limit.
///
/// ```
/// use htc_base::text::number::integer_prefix;
/// assert_eq!(integer_prefix(b" -12x"), Some((-12, 4)));
/// assert_eq!(integer_prefix(b"x"), None);
/// ```
pub fn integer_prefix(text: &[u8]) -> Option<(i64, usize)> {
    let mut at = count_leading_space(text);
    let negative = skip_sign(text, &mut at);
    let first = at;
    let mut value: i64 = 0;
    while let Some(digit) = text.get(at).filter(|byte| byte.is_ascii_digit()) {
        let digit = i64::from(digit - b'0');
        value = value.saturating_mul(10);
        value = if negative { value.saturating_sub(digit) } else { value.saturating_add(digit) };
        at += 1;
    }
    (at > first).then_some((value, at))
}

/// Parses a real after optional white space and a sign: a decimal number with or without exponent, a hexadecimal number, `inf`,
/// `infinity` or `nan`. Returns the value and the number of bytes read, or `None` if the text does not begin with a real.
///
/// ```
/// use htc_base::text::number::real_prefix;
/// assert_eq!(real_prefix(b" 2.5e1%"), Some((25.0, 6)));
/// assert_eq!(real_prefix(b"0x1.8p1"), Some((3.0, 7)));
/// assert_eq!(real_prefix(b"."), None);
/// ```
pub fn real_prefix(text: &[u8]) -> Option<(f64, usize)> {
    let mut at = count_leading_space(text);
    let negative = skip_sign(text, &mut at);
    let (value, end) = parse_special_word(text, at)
        .or_else(|| parse_hexadecimal(text, at))
        .or_else(|| parse_decimal(text, at))?;
    Some((if negative { -value } else { value }, end))
}

/// Counts the white space at the start of a text, as C's `isspace` defines it.
fn count_leading_space(text: &[u8]) -> usize {
    text.iter().take_while(|&&byte| byte.is_ascii_whitespace() || byte == 0x0b).count()
}

fn skip_sign(text: &[u8], at: &mut usize) -> bool {
    let sign = text.get(*at).copied();
    *at += usize::from(matches!(sign, Some(b'+' | b'-')));
    sign == Some(b'-')
}

fn parse_special_word(text: &[u8], at: usize) -> Option<(f64, usize)> {
    [(&b"infinity"[..], f64::INFINITY), (b"inf", f64::INFINITY), (b"nan", f64::NAN)]
        .into_iter()
        .find(|(word, _)| super::caseless::starts_with(&text[at..], word))
        .map(|(word, value)| (value, at + word.len()))
}

fn skip_digits(text: &[u8], at: usize, is_digit: fn(&u8) -> bool) -> usize {
    at + text[at.min(text.len())..].iter().take_while(|byte| is_digit(byte)).count()
}

/// Returns the end of the exponent that begins at `at`, or `at` if no exponent begins there.
fn skip_exponent(text: &[u8], at: usize, letter: u8) -> usize {
    if text.get(at).map(u8::to_ascii_lowercase) != Some(letter) {
        return at;
    }
    let first = at + 1 + usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
    let end = skip_digits(text, first, u8::is_ascii_digit);
    if end > first { end } else { at }
}

fn parse_decimal(text: &[u8], start: usize) -> Option<(f64, usize)> {
    let whole = skip_digits(text, start, u8::is_ascii_digit);
    let mut end = whole;
    if text.get(whole) == Some(&b'.') {
        end = skip_digits(text, whole + 1, u8::is_ascii_digit);
    }
    if (whole - start) + end.saturating_sub(whole + 1) == 0 {
        return None;
    }
    let end = skip_exponent(text, end, b'e');
    let value = std::str::from_utf8(&text[start..end]).ok()?.parse().ok()?;
    Some((value, end))
}

fn parse_hexadecimal(text: &[u8], start: usize) -> Option<(f64, usize)> {
    if !super::caseless::starts_with(&text[start.min(text.len())..], b"0x") {
        return None;
    }
    let first = start + 2;
    let whole = skip_digits(text, first, u8::is_ascii_hexdigit);
    let mut end = whole;
    if text.get(whole) == Some(&b'.') {
        end = skip_digits(text, whole + 1, u8::is_ascii_hexdigit);
    }
    let fraction = end.saturating_sub(whole + 1);
    if (whole - first) + fraction == 0 {
        return None;
    }
    let mantissa = text[first..end].iter().filter_map(|&byte| char::from(byte).to_digit(16));
    let mantissa = mantissa.fold(0.0, |value, digit| value * 16.0 + f64::from(digit));
    let after = skip_exponent(text, end, b'p');
    let power =
        if after > end { integer_prefix(&text[end + 1..after]).map_or(0, |(power, _)| power) } else { 0 };
    let power = power.clamp(-5000, 5000) as i32 - 4 * i32::try_from(fraction).unwrap_or(i32::MAX / 8);
    Some((mantissa * 2f64.powi(power), after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_saturate_and_stop_at_the_first_other_byte() {
        assert_eq!(integer_prefix(b"99999999999999999999 "), Some((i64::MAX, 20)));
        assert_eq!(integer_prefix(b"-99999999999999999999"), Some((i64::MIN, 21)));
        assert_eq!(integer_prefix(b"\t+7K"), Some((7, 3)));
        assert_eq!(integer_prefix(b"-"), None);
    }

    #[test]
    fn reals_are_read_to_the_first_other_byte() {
        assert_eq!(real_prefix(b"1.e5"), Some((1e5, 4)));
        assert_eq!(real_prefix(b".5e"), Some((0.5, 2)));
        assert_eq!(real_prefix(b"-1e+x"), Some((-1.0, 2)));
        assert_eq!(real_prefix(b"-Infinityx"), Some((f64::NEG_INFINITY, 9)));
        assert_eq!(real_prefix(b"0x"), Some((0.0, 1)));
        assert!(real_prefix(b"nan").is_some_and(|(value, end)| value.is_nan() && end == 3));
        assert_eq!(real_prefix(b""), None);
        assert_eq!(real_prefix(b"  "), None);
    }
}
