//! C's `printf` conversions, exactly as glibc formats them in the C locale.
//!
//! Used for reals in ads (`%.16G` or `%1.15E`), for the formats of `-format` and `formatTime`, and to pad numbers with zeros
//! in `interval()`.

/// Conversion specification, such as `%-8.3s`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConversionSpec {
    /// `-`: pads on the right.
    pub left: bool,
    /// `+`: prints a sign before positive numbers.
    pub plus: bool,
    /// Blank: prints a blank before positive numbers in place of the sign.
    pub blank: bool,
    /// `0`: pads numbers with zeros.
    pub zero: bool,
    /// `#`: selects the alternative form.
    pub alternative: bool,
    /// Minimum width in bytes.
    pub width: usize,
    /// Number of digits after the point, or maximum number of bytes of a string.
    pub precision: Option<usize>,
}

/// Returns literal text with each `%%` replaced by `%`.
pub fn unescape_percents(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.iter().peekable();
    while let Some(&byte) = bytes.next() {
        if byte == b'%' && bytes.peek() == Some(&&b'%') {
            bytes.next();
        }
        out.push(byte);
    }
    out
}

/// Upper limit of widths and precisions, to bound memory use.
const MAX_WIDTH: usize = 1 << 16;

/// Maximum number of digits requested from Rust's formatter. No double has more than 1074 digits after the point; further
/// zeros are appended separately, because Rust's formatter accepts no precision above 65535.
const MAX_DIGITS: usize = 1100;

impl ConversionSpec {
    /// Parses flags, width and precision at the start of `text`, the text after the `%`. Returns the specification and the
    /// number of bytes read.
    pub fn parse(text: &[u8]) -> (ConversionSpec, usize) {
        let mut spec = ConversionSpec::default();
        let mut at = 0;
        loop {
            match text.get(at) {
                Some(b'-') => spec.left = true,
                Some(b'+') => spec.plus = true,
                Some(b' ') => spec.blank = true,
                Some(b'0') => spec.zero = true,
                Some(b'#') => spec.alternative = true,
                Some(b'\'') => {}
                _ => break,
            }
            at += 1;
        }
        let number = |at: &mut usize| {
            let mut value = 0usize;
            while let Some(digit) = text.get(*at).filter(|byte| byte.is_ascii_digit()) {
                value = (value * 10 + usize::from(digit - b'0')).min(MAX_WIDTH);
                *at += 1;
            }
            value
        };
        spec.width = number(&mut at);
        if text.get(at) == Some(&b'.') {
            at += 1;
            spec.precision = Some(number(&mut at));
        }
        (spec, at)
    }

    /// Formats an integer for `%d`.
    pub fn format_signed(&self, value: i64) -> Vec<u8> {
        let digits = self.pad_to_precision(value.unsigned_abs().to_string(), value == 0);
        self.pad_number(self.sign_prefix(value < 0), digits.as_bytes(), self.precision.is_none())
    }

    /// Formats an integer for `%u`, `%x`, `%X` or `%o`; `conversion` is the letter.
    pub fn format_unsigned(&self, value: u64, conversion: u8) -> Vec<u8> {
        let (digits, prefix) = match conversion {
            b'x' => (format!("{value:x}"), "0x"),
            b'X' => (format!("{value:X}"), "0X"),
            b'o' => (format!("{value:o}"), "0"),
            _ => (value.to_string(), ""),
        };
        let digits = self.pad_to_precision(digits, value == 0);
        let prefix = if self.alternative && value != 0 { prefix } else { "" };
        self.pad_number(prefix, digits.as_bytes(), self.precision.is_none())
    }

    /// Formats a string for `%s`: at most `precision` bytes, padded to the width.
    pub fn format_string(&self, value: &[u8]) -> Vec<u8> {
        let value = &value[..value.len().min(self.precision.unwrap_or(usize::MAX))];
        self.pad(value)
    }

    /// Formats one byte for `%c`, padded to the width; the precision is ignored.
    pub fn format_character(&self, value: u8) -> Vec<u8> {
        self.pad(&[value])
    }

    /// Formats a real for `%f`, `%e`, `%g`, `%a` or their upper-case forms; `conversion` is the letter.
    pub fn format_real(&self, value: f64, conversion: u8) -> Vec<u8> {
        let upper = conversion.is_ascii_uppercase();
        let sign = self.sign_prefix(value.is_sign_negative());
        let magnitude = value.abs();
        if !magnitude.is_finite() {
            let text = if magnitude.is_nan() { "nan" } else { "inf" };
            let text = if upper { text.to_ascii_uppercase() } else { text.to_owned() };
            return self.pad_number(sign, text.as_bytes(), false);
        }
        let precision = self.precision.unwrap_or(6);
        let digits = match conversion.to_ascii_lowercase() {
            b'f' => format_fixed(magnitude, precision, self.alternative),
            b'e' => format_exponential(magnitude, precision, upper, self.alternative),
            b'a' => {
                // The zeros of the padding follow the `0x`.
                let prefix = format!("{sign}{}", if upper { "0X" } else { "0x" });
                let digits = format_hexadecimal(magnitude, self.precision, upper, self.alternative);
                return self.pad_number(&prefix, digits.as_bytes(), true);
            }
            _ => format_general(magnitude, precision, upper, self.alternative),
        };
        self.pad_number(sign, digits.as_bytes(), true)
    }

    fn sign_prefix(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.blank) {
            (true, _, _) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            (false, false, false) => "",
        }
    }

    /// Pads an integer with zeros to the precision, which is the minimum number of digits. Zero with precision zero has no
    /// digits.
    fn pad_to_precision(&self, digits: String, is_zero: bool) -> String {
        match self.precision {
            Some(0) if is_zero => String::new(),
            Some(least) if digits.len() < least => format!("{}{digits}", "0".repeat(least - digits.len())),
            _ => digits,
        }
    }

    fn pad_number(&self, prefix: &str, digits: &[u8], zeros_allowed: bool) -> Vec<u8> {
        let mut text = Vec::with_capacity(self.width.max(prefix.len() + digits.len()));
        text.extend_from_slice(prefix.as_bytes());
        if self.zero && !self.left && zeros_allowed {
            let used = prefix.len() + digits.len();
            text.resize(prefix.len() + self.width.saturating_sub(used), b'0');
        }
        text.extend_from_slice(digits);
        self.pad(&text)
    }

    fn pad(&self, text: &[u8]) -> Vec<u8> {
        let padding = self.width.saturating_sub(text.len());
        let mut padded = Vec::with_capacity(text.len() + padding);
        if !self.left {
            padded.resize(padding, b' ');
        }
        padded.extend_from_slice(text);
        if self.left {
            padded.resize(text.len() + padding, b' ');
        }
        padded
    }
}

/// Formats any real with `%G` and this precision, without width and flags.
pub fn format_general_upper(value: f64, precision: usize) -> String {
    let sign = if value.is_sign_negative() { "-" } else { "" };
    format!("{sign}{}", format_general(value.abs(), precision, true, false))
}

/// Formats any finite real with `%g` and this precision, without width and flags.
pub fn format_general_lower(value: f64, precision: usize) -> String {
    let sign = if value.is_sign_negative() { "-" } else { "" };
    format!("{sign}{}", format_general(value.abs(), precision, false, false))
}

fn format_fixed(magnitude: f64, precision: usize, alternative: bool) -> String {
    let mut text = format!("{magnitude:.*}", precision.min(MAX_DIGITS));
    text.push_str(&"0".repeat(precision.saturating_sub(MAX_DIGITS)));
    if alternative && precision == 0 {
        text.push('.');
    }
    text
}

/// Formats a real for `%e`. Unlike in Rust's `1.5e-5`, the exponent has a sign and at least two digits.
fn format_exponential(magnitude: f64, precision: usize, upper: bool, alternative: bool) -> String {
    let text = format!("{magnitude:.*e}", precision.min(MAX_DIGITS));
    let zeros = "0".repeat(precision.saturating_sub(MAX_DIGITS));
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let point = if alternative && precision == 0 { "." } else { "" };
    let letter = if upper { 'E' } else { 'e' };
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent),
    };
    format!("{mantissa}{zeros}{point}{letter}{sign}{digits:0>2}")
}

fn format_general(magnitude: f64, precision: usize, upper: bool, alternative: bool) -> String {
    let precision = precision.max(1);
    let probe = format!("{magnitude:.*e}", (precision - 1).min(MAX_DIGITS));
    let exponent: i32 = probe.split_once('e').and_then(|(_, digits)| digits.parse().ok()).unwrap_or(0);
    let limit = i32::try_from(precision).unwrap_or(i32::MAX);
    if exponent < -4 || exponent >= limit {
        let text = format_exponential(magnitude, precision - 1, upper, alternative);
        let at = text.find(['e', 'E']).unwrap_or(text.len());
        let mantissa = if alternative { &text[..at] } else { strip_trailing_zeros(&text[..at]) };
        return format!("{mantissa}{}", &text[at..]);
    }
    let digits = usize::try_from(limit - 1 - exponent).unwrap_or(0);
    let text = format_fixed(magnitude, digits, alternative);
    if alternative { text } else { strip_trailing_zeros(&text).to_owned() }
}

fn strip_trailing_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// Formats a real for `%a`, without the leading `0x`: in the shortest exact form, or with `precision` digits, rounding ties to
/// even. If rounding carries into the digit before the point, that digit becomes 2 and the exponent does not change, as in
/// glibc.
fn format_hexadecimal(magnitude: f64, precision: Option<usize>, upper: bool, alternative: bool) -> String {
    /// Number of hexadecimal digits after the point of a double.
    const HEX_FRACTION_DIGITS: usize = 13;
    let bits = magnitude.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    let biased = i64::try_from(bits >> 52 & 0x7ff).unwrap_or(0);
    let (lead, exponent) = match (biased, fraction) {
        (0, 0) => (0, 0),
        (0, _) => (0, -1022),
        _ => (1u64, biased - 1023),
    };
    let mut significand = lead << 52 | fraction;
    if let Some(kept) = precision.filter(|&kept| kept < HEX_FRACTION_DIGITS) {
        let unit = 1u64 << (4 * (HEX_FRACTION_DIGITS - kept));
        let (below, is_odd) = (significand % unit, significand / unit % 2 == 1);
        significand -= below;
        if below > unit / 2 || below == unit / 2 && is_odd {
            significand += unit;
        }
    }
    let mut digits = format!("{:013x}", significand & ((1 << 52) - 1));
    match precision {
        None => digits.truncate(digits.trim_end_matches('0').len()),
        Some(kept) => {
            digits.truncate(kept);
            digits.push_str(&"0".repeat(kept - digits.len()));
        }
    }
    let point = if digits.is_empty() && !alternative { "" } else { "." };
    let text = format!("{}{point}{digits}p{exponent:+}", significand >> 52);
    if upper { text.to_ascii_uppercase() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(format: &str, value: f64) -> String {
        let (spec, at) = ConversionSpec::parse(&format.as_bytes()[1..]);
        String::from_utf8(spec.format_real(value, format.as_bytes()[1 + at])).expect("ASCII")
    }

    #[test]
    fn reals_are_written_as_glibc_writes_them() {
        assert_eq!(print("%.16G", 0.1), "0.1");
        assert_eq!(print("%.16G", 1e10), "10000000000");
        assert_eq!(print("%.16G", 1e20), "1E+20");
        assert_eq!(print("%.16G", 1e-5), "1E-05");
        assert_eq!(print("%.16G", 10.0 / 3.0), "3.333333333333333");
        assert_eq!(print("%1.15E", 1.5), "1.500000000000000E+00");
        assert_eq!(print("%1.15E", 1e-300), "1.000000000000000E-300");
        assert_eq!(print("%f", 9223372036854775807.0), "9223372036854775808.000000");
        assert_eq!(print("%8.2f|", -1.005), "   -1.00");
        assert_eq!(print("%-8.1e|", 12345.0), "1.2e+04 ");
        assert_eq!(print("%g", 100000.0), "100000");
        assert_eq!(print("%g", 1000000.0), "1e+06");
        assert_eq!(print("%#g", 1.0), "1.00000");
        assert_eq!(print("%08.1f", -2.5), "-00002.5");
        assert_eq!(print("%05f", f64::INFINITY), "  inf");
        assert_eq!(print("%.0f", 2.5), "2");
        assert_eq!(print("%a", 1.5), "0x1.8p+0");
    }

    #[test]
    fn every_precision_up_to_the_limit_is_supported() {
        for precision in [1100, 1101, 65535, 65536, 999_999_999usize] {
            let digits = precision.min(MAX_WIDTH);
            let zeros = |count: usize| "0".repeat(count);
            assert_eq!(print(&format!("%.{precision}f"), 1.5), format!("1.5{}", zeros(digits - 1)));
            assert_eq!(print(&format!("%.{precision}E"), 0.5), format!("5.{}E-01", zeros(digits)));
            assert_eq!(print(&format!("%#.{precision}g"), 0.5), format!("0.5{}", zeros(digits - 1)));
            assert_eq!(print(&format!("%.{precision}g"), 0.5), "0.5");
            let smallest = print(&format!("%.{precision}g"), 0.0001);
            assert_eq!(
                smallest,
                "0.00010000000000000000479217360238592959\
                 8312941379845142364501953125"
            );
        }
    }

    #[test]
    fn hexadecimal_reals_take_flags_width_and_precision() {
        assert_eq!(print("%.0a", 93784.0), "0x1p+16");
        assert_eq!(print("%.0a", 3.0), "0x2p+1", "rounded to even, and the exponent stays");
        assert_eq!(print("%.2a", 1.0 / 3.0), "0x1.55p-2");
        assert_eq!(print("%.5a", 5.0), "0x1.40000p+2");
        assert_eq!(print("%.15a", 1.5), "0x1.800000000000000p+0");
        assert_eq!(print("%#.0a", 0.0), "0x0.p+0");
        assert_eq!(print("%+012.1A", 1.5), "+0X0001.8P+0");
        assert_eq!(print("%-12a|", -1.5), "-0x1.8p+0   ");
        assert_eq!(print("%a", 5e-324), "0x0.0000000000001p-1022");
    }

    #[test]
    fn a_precision_has_no_effect_on_a_character() {
        let spec = |text: &str| ConversionSpec::parse(text.as_bytes()).0;
        assert_eq!(spec("3.0").format_character(b'x'), b"  x");
        assert_eq!(spec("-3").format_character(b'x'), b"x  ");
    }

    #[test]
    fn integers_and_strings_take_width_and_precision() {
        let spec = |text: &str| ConversionSpec::parse(text.as_bytes()).0;
        assert_eq!(spec("5").format_signed(-42), b"  -42");
        assert_eq!(spec("05").format_signed(-42), b"-0042");
        assert_eq!(spec("-5").format_signed(42), b"42   ");
        assert_eq!(spec("+.4").format_signed(42), b"+0042");
        assert_eq!(spec(".0").format_signed(0), b"");
        assert_eq!(spec("#").format_unsigned(255, b'x'), b"0xff");
        assert_eq!(spec("-8.3").format_string(b"abcdef"), b"abc     ");
    }
}
