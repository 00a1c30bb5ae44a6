//! Formats of `-format`: one `printf` conversion with text around it, including HTCondor's own conversions
//! (reference: printf_format.cpp, ad_printmask.cpp `format_value`).

use crate::text::printf::{ConversionSpec, unescape_percents};

/// Kind of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConversionKind {
    /// `%d %i %o %u %x %X`: an integer
    Int,
    /// `%e %f %g %a` and their upper-case forms: a real number
    Float,
    /// `%c`: a character
    Char,
    /// `%s`: a string
    Str,
    /// `%p`: a pointer
    Pointer,
    /// `%v %V`: any value
    Value,
    /// `%r %R`: the unevaluated expression
    Raw,
    /// `%T`: seconds as days, hours, minutes, seconds
    Time,
    /// `%Y`: a date and time
    Date,
}

/// Format string, and its conversion if it has a valid one.
#[derive(Clone, Debug)]
pub(crate) struct PrintfFormat {
    text: Vec<u8>,
    conversion: Option<Conversion>,
}

#[derive(Clone, Copy, Debug)]
struct Conversion {
    /// Offset of the `%` in the format string.
    start: usize,
    /// Offset after the letter of the conversion.
    end: usize,
    letter: u8,
    kind: ConversionKind,
    spec: ConversionSpec,
    bits: u32,
}

impl PrintfFormat {
    /// Parses a format string in which escape sequences are not yet resolved.
    pub(crate) fn new(text: &[u8]) -> PrintfFormat {
        let text = collapse_escapes(text);
        let conversion = find_conversion(&text, 0);
        PrintfFormat { text, conversion }
    }

    /// Returns the kind of the conversion, or `None` if there is no valid one.
    pub(crate) fn kind(&self) -> Option<ConversionKind> {
        self.conversion.map(|conversion| conversion.kind)
    }

    /// Returns the letter of the conversion, or 0 if there is no valid one.
    pub(crate) fn letter(&self) -> u8 {
        self.conversion.map_or(0, |conversion| conversion.letter)
    }

    /// Returns the width of the format, and true if it aligns to the left.
    pub(crate) fn width(&self) -> (usize, bool) {
        self.conversion.map_or((0, false), |conversion| (conversion.spec.width, conversion.spec.left))
    }

    /// Returns the format string with resolved escape sequences.
    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Replaces the width of the conversion by `digit`, if the byte at offset `at` is a width from `least` to 9.
    pub(crate) fn widen(&mut self, at: usize, least: u8, digit: u8) -> bool {
        let is_width = self.text.get(at).is_some_and(|byte| (least..=b'9').contains(byte));
        if is_width {
            self.text[at] = digit;
            self.conversion = find_conversion(&self.text, 0);
        }
        is_width
    }

    /// True if the format is `%s` and nothing else, or is empty, so that the value is printed unchanged.
    pub(crate) fn is_plain_string(&self) -> bool {
        self.text.is_empty() || self.text == b"%s"
    }

    /// Returns true if the format has a second conversion, for which the reference prints arbitrary memory.
    pub(crate) fn has_second_conversion(&self) -> bool {
        self.conversion.is_some_and(|first| find_conversion(&self.text, first.end).is_some())
    }

    /// Returns the unknown conversion, such as `%z` or `%*d`, of a format that has no valid one. The whole format is then printed
    /// literally.
    pub(crate) fn unknown_conversion(&self) -> Option<&[u8]> {
        let mut from = 0;
        while self.conversion.is_none() {
            let start = from + memchr::memchr(b'%', self.text.get(from..)?)?;
            let (_, used) = ConversionSpec::parse(&self.text[start + 1..]);
            let end = start + 1 + used;
            match self.text.get(end) {
                Some(b'%') => from = end + 1,
                Some(byte) if byte.is_ascii_alphabetic() || *byte == b'*' => {
                    return Some(&self.text[start..=end]);
                }
                _ => from = end,
            }
        }
        None
    }

    /// Formats an integer. Only its low 32 bits are used, unless the format has a length modifier. The NUL byte that `%c`
    /// produces for 0 ends the text, as in a C string.
    pub(crate) fn format_integer(&self, value: i64) -> Vec<u8> {
        let mut out = self.format_with(|conversion| {
            let low = match conversion.bits {
                8 => (i64::from(value as i8), u64::from(value as u8)),
                16 => (i64::from(value as i16), u64::from(value as u16)),
                32 => (i64::from(value as i32), u64::from(value as u32)),
                _ => (value, value as u64),
            };
            match conversion.letter {
                b'd' | b'i' => conversion.spec.format_signed(low.0),
                b'c' | b'C' => conversion.spec.format_character(value as u8),
                b'p' => ConversionSpec { alternative: true, ..conversion.spec }
                    .format_unsigned(value as u64, b'x'),
                letter => conversion.spec.format_unsigned(low.1, letter),
            }
        });
        if let Some(end) = out.iter().position(|byte| *byte == 0) {
            out.truncate(end);
        }
        out
    }

    /// Returns true if an integer does not fit the conversion, so that another number is printed.
    pub(crate) fn truncates_integer(&self, value: i64) -> bool {
        let Some(conversion) = self.conversion.filter(|conversion| conversion.kind == ConversionKind::Int)
        else {
            return false;
        };
        match conversion.bits {
            8 | 16 | 32 => {
                let half = 1i64 << (conversion.bits - 1);
                let most = if matches!(conversion.letter, b'd' | b'i') { half } else { 2 * half };
                !(-half..most).contains(&value)
            }
            _ => false,
        }
    }

    /// Formats a real number.
    pub(crate) fn format_real(&self, value: f64) -> Vec<u8> {
        self.format_with(|conversion| conversion.spec.format_real(value, conversion.letter))
    }

    /// Formats a text, even if the conversion is not `%s`.
    pub(crate) fn format_string(&self, value: &[u8]) -> Vec<u8> {
        self.format_with(|conversion| conversion.spec.format_string(value))
    }

    fn format_with(&self, value: impl Fn(&Conversion) -> Vec<u8>) -> Vec<u8> {
        let Some(conversion) = &self.conversion else { return self.text.clone() };
        let mut out = unescape_percents(&self.text[..conversion.start]);
        out.extend(value(conversion));
        out.extend(unescape_percents(&self.text[conversion.end..]));
        out
    }
}

/// Returns the first conversion at or after the offset `from`.
fn find_conversion(text: &[u8], mut from: usize) -> Option<Conversion> {
    loop {
        let start = from + text.get(from..)?.iter().position(|byte| *byte == b'%')?;
        let (spec, used) = ConversionSpec::parse(&text[start + 1..]);
        let mut at = start + 1 + used;
        let mut bits = 32;
        while let Some(length) = text.get(at).filter(|byte| b"hlLqjzt".contains(byte)) {
            bits = match length {
                b'h' if bits == 16 => 8,
                b'h' => 16,
                _ => 64,
            };
            at += 1;
        }
        let letter = *text.get(at)?;
        let kind = match letter {
            b'd' | b'i' | b'o' | b'u' | b'x' | b'X' => ConversionKind::Int,
            b'e' | b'E' | b'f' | b'F' | b'g' | b'G' | b'a' | b'A' => ConversionKind::Float,
            b'c' | b'C' => ConversionKind::Char,
            b's' | b'S' => ConversionKind::Str,
            b'p' => ConversionKind::Pointer,
            b'v' | b'V' => ConversionKind::Value,
            b'r' | b'R' => ConversionKind::Raw,
            b'T' => ConversionKind::Time,
            b'Y' => ConversionKind::Date,
            b'%' => {
                from = at + 1;
                continue;
            }
            _ => return None,
        };
        return Some(Conversion { start, end: at + 1, letter, kind, spec, bits });
    }
}

/// Resolves backslash escapes as the condor tools do. An octal (hexadecimal) escape of several digits has an unexpected value,
/// because each digit is added to nine (seventeen) times the value before it (escapes.cpp).
fn collapse_escapes(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        if text[at] != b'\\' {
            out.push(text[at]);
            at += 1;
            continue;
        }
        let Some(&next) = text.get(at + 1) else { break };
        at += 2;
        let simple = match next {
            b'a' => 7,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 11,
            b'0'..=b'9' | b'x' => {
                let (radix, factor) = if next == b'x' { (16, 17u32) } else { (10, 9) };
                let mut value = 0u32;
                if next != b'x' {
                    at -= 1;
                }
                while let Some(digit) = text.get(at).and_then(|byte| char::from(*byte).to_digit(radix)) {
                    value = value.wrapping_mul(factor).wrapping_add(digit);
                    at += 1;
                }
                value as u8
            }
            other => other,
        };
        if simple == 0 {
            // The reference ends the text at the first NUL byte.
            break;
        }
        out.push(simple);
    }
    out
}

/// Formats seconds for `%T`: days, hours, minutes, seconds (format_time.cpp, `format_time`).
pub(crate) fn format_duration(seconds: i64) -> Vec<u8> {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (hours, rest) = (rest / 3600, rest % 3600);
    format!("{days:>3}+{hours:02}:{:02}:{:02}", rest / 60, rest % 60).into_bytes()
}

/// Formats a time for `%Y`: month, day, hour and minute in a zone `offset` seconds east of Greenwich (`format_date`).
pub(crate) fn format_date(seconds: i64, offset: i32) -> Vec<u8> {
    if seconds < 0 {
        return b"    ???    ".to_vec();
    }
    let civil = crate::text::calendar::CivilTime::from_seconds(seconds, i64::from(offset));
    format!("{:>2}/{:<2} {:02}:{:02}", civil.month, civil.day, civil.hour, civil.minute).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_truncated_to_the_size_of_the_conversion() {
        assert_eq!(PrintfFormat::new(b"%d|").format_integer(10_000_000_000), b"1410065408|");
        assert_eq!(PrintfFormat::new(b"%lld|").format_integer(10_000_000_000), b"10000000000|");
        assert_eq!(PrintfFormat::new(b"a%%b %5d%%").format_integer(42), b"a%b    42%");
        assert_eq!(PrintfFormat::new(b"%hd").format_integer(65_537), b"1");
        assert_eq!(PrintfFormat::new(b"%u").format_integer(-1), b"4294967295");
    }

    #[test]
    fn formats_without_a_conversion_are_text() {
        for text in ["plain", "%q", "100%%", "%", "%5", "%*d", ""] {
            assert!(PrintfFormat::new(text.as_bytes()).kind().is_none(), "{text}");
        }
        for (text, unknown) in [("%z", Some("%z")), ("a%%b %5q", Some("%5q")), ("%*d", Some("%*"))] {
            let format = PrintfFormat::new(text.as_bytes());
            assert_eq!(format.unknown_conversion(), unknown.map(str::as_bytes), "{text}");
        }
        for text in ["plain", "100%%", "100%", "%5", "%d %z", "5% (of all)"] {
            assert_eq!(PrintfFormat::new(text.as_bytes()).unknown_conversion(), None, "{text}");
        }
        assert!(PrintfFormat::new(b"%s and %s").has_second_conversion());
        assert!(!PrintfFormat::new(b"%s and %%").has_second_conversion());
    }

    #[test]
    fn escapes_are_resolved() {
        assert_eq!(collapse_escapes(br"a\n\t\q\\x\"), b"a\n\tq\\x");
        assert_eq!(collapse_escapes(br"\7|\x7|"), b"\x07|\x07|");
        assert_eq!(collapse_escapes(br"\11"), [10]);
        assert_eq!(collapse_escapes(br"a\0b"), b"a");
    }

    #[test]
    fn times_and_dates() {
        assert_eq!(format_duration(16), b"  0+00:00:16");
        assert_eq!(format_duration(90_061), b"  1+01:01:01");
        assert_eq!(format_date(0, 0), b" 1/1  00:00");
        assert_eq!(format_date(-1, 0), b"    ???    ");
    }
}
