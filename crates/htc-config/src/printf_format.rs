//! The formats of `$INT()`, `$REAL()` and `$STRING()`: exactly one conversion of the right kind
//! (`printf_format.cpp`, `validatePrintfFormat`).

use htc_base::text::printf::{ConversionSpec, unescape_percents};

/// Kind of value that a format converts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PrintfConversion {
    /// Integer; conversion letters `d i o u x X c p`.
    Integer,
    /// Floating-point number; conversion letters `e E f F g G a A p`.
    Real,
    /// String; conversion letters `s p`.
    String,
}

/// A parsed format.
#[derive(Clone, Debug)]
pub(crate) struct PrintfFormat {
    text_before: Vec<u8>,
    spec: ConversionSpec,
    length: LengthModifier,
    letter: u8,
    text_after: Vec<u8>,
}

/// Length modifier of an integer, which determines the number of bits shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LengthModifier {
    Char,
    Short,
    Int,
    Long,
}

impl PrintfFormat {
    /// Parses `text`, or returns `None` if it is not a valid format for that kind of value.
    pub(crate) fn parse(text: &[u8], kind: PrintfConversion) -> Option<PrintfFormat> {
        let (before, conversion) = literal_until_conversion(text)?;
        let (spec, mut at) = ConversionSpec::parse(conversion);
        let lengths = conversion[at..].iter().take_while(|b| b"hlLqjzt".contains(b)).count();
        let length = parse_length_modifier(&conversion[at..at + lengths]);
        at += lengths;
        let letter = *conversion.get(at)?;
        let fits = match letter {
            b'd' | b'i' | b'o' | b'u' | b'x' | b'X' | b'c' | b'C' => kind == PrintfConversion::Integer,
            b'e' | b'E' | b'f' | b'F' | b'g' | b'G' | b'a' | b'A' => kind == PrintfConversion::Real,
            b's' | b'S' => kind == PrintfConversion::String,
            b'p' => true,
            _ => false,
        };
        let after = &conversion[at + 1..];
        // A second conversion of any known kind makes the whole format unsafe.
        let mut rest = after;
        while let Some((_, next)) = literal_until_conversion(rest) {
            let (_, mut at) = ConversionSpec::parse(next);
            at += next[at..].iter().take_while(|b| b"hlLqjzt".contains(b)).count();
            match next.get(at) {
                Some(letter) if b"diouxXeEfFgGaAcspnCSVvrRTY".contains(letter) => return None,
                _ => rest = &[],
            }
        }
        let after = unescape_percents(after);
        fits.then_some(PrintfFormat { text_before: before, spec, length, letter, text_after: after })
    }

    fn surround_with_text(&self, value: &[u8]) -> Vec<u8> {
        let mut shown = self.text_before.clone();
        shown.extend_from_slice(value);
        shown.extend_from_slice(&self.text_after);
        shown
    }

    /// Formats an integer, truncated to the bits of the length modifier.
    pub(crate) fn format_integer(&self, value: i64) -> Vec<u8> {
        let (signed, unsigned) = match self.length {
            LengthModifier::Char => (i64::from(value as i8), u64::from(value as u8)),
            LengthModifier::Short => (i64::from(value as i16), u64::from(value as u16)),
            LengthModifier::Int => (i64::from(value as i32), u64::from(value as u32)),
            LengthModifier::Long => (value, value as u64),
        };
        match self.letter {
            b'd' | b'i' => self.surround_with_text(&self.spec.format_signed(signed)),
            b'c' | b'C' if value as u8 == 0 => self.text_before.clone(),
            b'c' | b'C' => self.surround_with_text(&self.spec.format_character(value as u8)),
            b'p' if value == 0 => self.surround_with_text(&self.spec.format_string(b"(nil)")),
            b'p' => self.surround_with_text(
                &ConversionSpec { alternative: true, ..self.spec }.format_unsigned(value as u64, b'x'),
            ),
            letter => self.surround_with_text(&self.spec.format_unsigned(unsigned, letter)),
        }
    }

    /// Formats a real.
    pub(crate) fn format_real(&self, value: f64) -> Vec<u8> {
        self.surround_with_text(&self.spec.format_real(value, self.letter))
    }

    /// Formats a string.
    pub(crate) fn format_string(&self, value: &[u8]) -> Vec<u8> {
        self.surround_with_text(&self.spec.format_string(value))
    }
}

/// Returns the text before the first conversion, with `%%` resolved, and the text after the percent sign.
fn literal_until_conversion(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut before = Vec::new();
    let mut at = 0;
    loop {
        let percent = at + memchr::memchr(b'%', &text[at..])?;
        before.extend_from_slice(&text[at..percent]);
        match text.get(percent + 1)? {
            b'%' => {
                before.push(b'%');
                at = percent + 2;
            }
            _ => return Some((before, &text[percent + 1..])),
        }
    }
}

fn parse_length_modifier(modifiers: &[u8]) -> LengthModifier {
    match modifiers {
        [b'h', b'h', ..] => LengthModifier::Char,
        [b'h', ..] => LengthModifier::Short,
        [b'l' | b'q' | b'j' | b'z' | b't' | b'L', ..] => LengthModifier::Long,
        _ => LengthModifier::Int,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(format: &str, value: i64) -> Option<String> {
        let format = PrintfFormat::parse(format.as_bytes(), PrintfConversion::Integer)?;
        Some(String::from_utf8(format.format_integer(value)).unwrap())
    }

    #[test]
    fn integers_are_formatted_as_printf_does() {
        assert_eq!(int("%04d", 5).unwrap(), "0005");
        assert_eq!(int("x%dy,z 100%%", 5).unwrap(), "x5y,z 100%");
        assert_eq!(int("%x", -1).unwrap(), "ffffffff");
        assert_eq!(int("%lx", -1).unwrap(), "ffffffffffffffff");
        assert_eq!(int("%c", 65).unwrap(), "A");
        for bad in ["%s", "%d %d", "%*d", "%n", "5", "", "%", "%d%s", "%.*d"] {
            assert!(int(bad, 1).is_none(), "{bad}");
        }
    }
}
