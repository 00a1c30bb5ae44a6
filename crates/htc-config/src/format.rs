//! The formats of `$INT()`, `$REAL()` and `$STRING()`: exactly one conversion of the right kind
//! (`printf_format.cpp`, `validatePrintfFormat`).

use htc_base::text::printf::{Spec, single_percents};

/// What kind of value is to be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conversion {
    /// `d i o u x X c p`
    Integer,
    /// `e E f F g G a A p`
    Real,
    /// `s p`
    String,
}

/// A format taken apart.
#[derive(Clone, Debug)]
pub(crate) struct Format {
    before: Vec<u8>,
    spec: Spec,
    length: Length,
    letter: u8,
    after: Vec<u8>,
}

/// The length modifier of an integer: how many of its bits are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    Char,
    Short,
    Int,
    Long,
}

impl Format {
    /// Takes `text` apart; `None` if it is no format for that kind of value.
    pub(crate) fn parse(text: &[u8], wanted: Conversion) -> Option<Format> {
        let (before, conversion) = literal_until_conversion(text)?;
        let (spec, mut at) = Spec::parse(conversion);
        let lengths = conversion[at..].iter().take_while(|b| b"hlLqjzt".contains(b)).count();
        let length = length(&conversion[at..at + lengths]);
        at += lengths;
        let letter = *conversion.get(at)?;
        let fits = match letter {
            b'd' | b'i' | b'o' | b'u' | b'x' | b'X' | b'c' | b'C' => wanted == Conversion::Integer,
            b'e' | b'E' | b'f' | b'F' | b'g' | b'G' | b'a' | b'A' => wanted == Conversion::Real,
            b's' | b'S' => wanted == Conversion::String,
            b'p' => true,
            _ => false,
        };
        let after = &conversion[at + 1..];
        // A second conversion, of any known kind, makes the whole unsafe.
        let mut rest = after;
        while let Some((_, next)) = literal_until_conversion(rest) {
            let (_, mut at) = Spec::parse(next);
            at += next[at..].iter().take_while(|b| b"hlLqjzt".contains(b)).count();
            match next.get(at) {
                Some(letter) if b"diouxXeEfFgGaAcspnCSVvrRTY".contains(letter) => return None,
                _ => rest = &[],
            }
        }
        let after = single_percents(after);
        fits.then_some(Format { before, spec, length, letter, after })
    }

    fn around(&self, value: &[u8]) -> Vec<u8> {
        let mut shown = self.before.clone();
        shown.extend_from_slice(value);
        shown.extend_from_slice(&self.after);
        shown
    }

    /// An integer, cut to the bits that the length modifier leaves.
    pub(crate) fn integer(&self, value: i64) -> Vec<u8> {
        let (signed, unsigned) = match self.length {
            Length::Char => (i64::from(value as i8), u64::from(value as u8)),
            Length::Short => (i64::from(value as i16), u64::from(value as u16)),
            Length::Int => (i64::from(value as i32), u64::from(value as u32)),
            Length::Long => (value, value as u64),
        };
        match self.letter {
            b'd' | b'i' => self.around(&self.spec.signed(signed)),
            b'c' | b'C' if value as u8 == 0 => self.before.clone(),
            b'c' | b'C' => self.around(&self.spec.character(value as u8)),
            b'p' if value == 0 => self.around(&self.spec.string(b"(nil)")),
            b'p' => self.around(&Spec { alternative: true, ..self.spec }.unsigned(value as u64, b'x')),
            letter => self.around(&self.spec.unsigned(unsigned, letter)),
        }
    }

    /// A real.
    pub(crate) fn real(&self, value: f64) -> Vec<u8> {
        self.around(&self.spec.real(value, self.letter))
    }

    /// A string.
    pub(crate) fn string(&self, value: &[u8]) -> Vec<u8> {
        self.around(&self.spec.string(value))
    }
}

/// The text before the first conversion, `%%` resolved, and what follows the percent sign.
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

fn length(modifiers: &[u8]) -> Length {
    match modifiers {
        [b'h', b'h', ..] => Length::Char,
        [b'h', ..] => Length::Short,
        [b'l' | b'q' | b'j' | b'z' | b't' | b'L', ..] => Length::Long,
        _ => Length::Int,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(format: &str, value: i64) -> Option<String> {
        let format = Format::parse(format.as_bytes(), Conversion::Integer)?;
        Some(String::from_utf8(format.integer(value)).unwrap())
    }

    #[test]
    fn formats_of_integers() {
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
