//! Sizes with units: `request_memory = 2 GB` of submit files, `ram=25%` of slot types, `1.5 MB` of messages.
//!
//! Reference: `metric_units.cpp` (`parse_int64_bytes`, `metric_units`) and `slot_builder.cpp` (shares).

use super::number;

/// A unit of size in steps of 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    /// 1 byte, or one of whatever is counted.
    One,
    /// 1024 bytes.
    Kilo,
    /// 1024² bytes.
    Mega,
    /// 1024³ bytes.
    Giga,
    /// 1024⁴ bytes.
    Tera,
    /// 1024⁵ bytes; known in slot types only.
    Peta,
}

impl Unit {
    /// The unit of a letter in either case.
    pub fn from_letter(letter: u8) -> Option<Self> {
        Some(match letter.to_ascii_uppercase() {
            b'K' => Unit::Kilo,
            b'M' => Unit::Mega,
            b'G' => Unit::Giga,
            b'T' => Unit::Tera,
            b'P' => Unit::Peta,
            _ => return None,
        })
    }

    /// How many bytes one of it is.
    pub fn bytes(self) -> i64 {
        1 << (10 * self as u32)
    }
}

/// Reads a quantity of a submit file or knob such as `2.5G`, `100 kb` or `512` and rounds it up to units of `base`.
/// Without a letter it is in units of `base` already. `None` where anything else is in the text.
///
/// ```
/// use htc_hooks::text::quantity::{Unit, parse_size};
/// assert_eq!(parse_size(b"2.5G", Unit::Mega), Some(2560));
/// assert_eq!(parse_size(b" 1 kb ", Unit::Mega), Some(1));
/// assert_eq!(parse_size(b"17", Unit::Kilo), Some(17));
/// assert_eq!(parse_size(b"5X", Unit::Kilo), None);
/// ```
pub fn parse_size(text: &[u8], base: Unit) -> Option<i64> {
    let (whole, mut at) = number::integer_prefix(text)?;
    let mut fraction = 0.0;
    if text.get(at) == Some(&b'.') {
        let digits = text[at + 1..].iter().take_while(|byte| byte.is_ascii_digit());
        // The reference looks at three places only: the result is rounded up anyway.
        let mut scale = 0.1;
        let mut length = 0;
        for digit in digits {
            if length < 3 {
                fraction += f64::from(digit - b'0') * scale;
                scale /= 10.0;
            }
            length += 1;
        }
        at += 1 + length;
    }
    let rest = text[at..].trim_ascii_start();
    let (unit, rest) = match rest.split_first() {
        None => (base, rest),
        Some((&letter, after)) => {
            let unit = Unit::from_letter(letter).filter(|&unit| unit != Unit::Peta)?;
            let after = match after.split_first() {
                Some((b'b' | b'B', after)) => after,
                _ => after,
            };
            (unit, after)
        }
    };
    if !rest.trim_ascii_start().is_empty() {
        return None;
    }
    let base = base.bytes();
    let bytes = (whole as f64 + fraction) * unit.bytes() as f64 + base as f64 - 1.0;
    Some(bytes as i64 / base)
}

/// One share of a slot type: the right side of `cpus=...`, `ram=...` and so on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Share {
    /// `auto` or `automatic`: an equal part of what is left.
    Auto,
    /// `min` or `minimal`: 1/128 of the total.
    Minimal,
    /// `25%` or `1/4` as a part of the total.
    Fraction(f64),
    /// An amount in the native unit of the resource, or with the unit that was written.
    Amount {
        /// The number; 0 where the text begins with none.
        value: f64,
        /// The letter behind it.
        unit: Option<Unit>,
    },
}

/// A fraction whose denominator is missing or not above zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the denominator must be a number above zero")]
pub struct BadFraction;

impl Share {
    /// Reads a share. Text behind a number or a unit is ignored, as in the reference.
    ///
    /// # Errors
    /// A fraction that divides by nothing.
    pub fn parse(text: &[u8]) -> Result<Self, BadFraction> {
        use super::caseless::eq;
        let real = |text: &[u8]| number::real_prefix(text).map_or(0.0, |(value, _)| value);
        if eq(text, b"auto") || eq(text, b"automatic") {
            return Ok(Share::Auto);
        }
        if eq(text, b"min") || eq(text, b"minimal") {
            return Ok(Share::Minimal);
        }
        if text.contains(&b'%') {
            return Ok(Share::Fraction(real(text) / 100.0));
        }
        if let Some(slash) = text.iter().position(|&byte| byte == b'/') {
            let denominator = real(&text[slash + 1..]);
            return if denominator > 0.0 {
                Ok(Share::Fraction(real(text) / denominator))
            } else {
                Err(BadFraction)
            };
        }
        let (value, end) = number::real_prefix(text).unwrap_or((0.0, 0));
        let unit = text[end..].trim_ascii_start().first().copied().and_then(Unit::from_letter);
        Ok(Share::Amount { value, unit })
    }

    /// An amount in units of `native`: a unit above it multiplies, one below or equal changes nothing.
    pub fn scaled(value: f64, unit: Option<Unit>, native: Unit) -> f64 {
        let steps = unit.map_or(0, |unit| (unit as i32 - native as i32).max(0));
        value * 1024f64.powi(steps)
    }
}

/// A number of bytes as messages show it: `512.0 B `, `1.5 KB`, the largest unit TB.
pub fn metric(bytes: f64) -> String {
    const SUFFIXES: [&str; 5] = ["B ", "KB", "MB", "GB", "TB"];
    let mut value = bytes;
    let mut power = 0;
    while value > 1024.0 && power < SUFFIXES.len() - 1 {
        value /= 1024.0;
        power += 1;
    }
    format!("{value:.1} {}", SUFFIXES[power])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_up_to_the_base() {
        assert_eq!(parse_size(b"1", Unit::Mega), Some(1));
        assert_eq!(parse_size(b"1025K", Unit::Mega), Some(2));
        assert_eq!(parse_size(b"0.0001T", Unit::Giga), Some(0));
        assert_eq!(parse_size(b"1.001M", Unit::Kilo), Some(1026));
        for bad in ["", "x", "5P", "5 K x", "1e3", "5KBB"] {
            assert_eq!(parse_size(bad.as_bytes(), Unit::Kilo), None, "{bad}");
        }
    }

    #[test]
    fn shares_take_words_percent_fractions_and_amounts() {
        assert_eq!(Share::parse(b"AUTO"), Ok(Share::Auto));
        assert_eq!(Share::parse(b"25%"), Ok(Share::Fraction(0.25)));
        assert_eq!(Share::parse(b"1/4"), Ok(Share::Fraction(0.25)));
        assert_eq!(Share::parse(b"1/"), Err(BadFraction));
        assert_eq!(Share::parse(b"2 gigs"), Ok(Share::Amount { value: 2.0, unit: Some(Unit::Giga) }));
        assert_eq!(Share::parse(b"lots"), Ok(Share::Amount { value: 0.0, unit: None }));
        assert_eq!(Share::scaled(2.0, Some(Unit::Giga), Unit::Mega), 2048.0);
        assert_eq!(Share::scaled(2048.0, Some(Unit::Kilo), Unit::Mega), 2048.0);
    }

    #[test]
    fn messages_show_one_decimal() {
        assert_eq!(metric(1024.0), "1024.0 B ");
        assert_eq!(metric(1536.0), "1.5 KB");
    }
}
