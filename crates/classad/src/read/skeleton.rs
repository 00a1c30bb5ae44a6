//! Texts of expressions that differ in numbers and strings only: where one is an expression, so are the others.

/// Longer numbers are left to the parser.
const DIGITS: usize = 18;

/// What may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A decimal number, or what stands before its point.
    Number,
    /// Digits behind a point.
    Fraction,
    /// What stands between quotation marks, without backslashes.
    String,
}

/// A text that is an expression, and the places at which another one may differ from it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Skeleton {
    text: Vec<u8>,
    holes: Vec<(u32, u32, Kind)>,
}

impl Skeleton {
    /// The skeleton of a text from now on.
    pub(crate) fn learn(&mut self, text: &[u8]) {
        self.text.clear();
        self.text.extend_from_slice(text);
        self.holes.clear();
        let mut at = 0;
        while let Some(byte) = text.get(at) {
            let (start, kind) = match byte {
                b'"' => (at + 1, Some(Kind::String)),
                b'0'..=b'9' => (at, kind_of_digits(text, at)),
                // What quoted names hold stays as it is, and what follows them.
                b'\'' => return,
                _ => {
                    at += 1;
                    continue;
                }
            };
            let end = match kind {
                Some(Kind::String) => match string(&text[start..]) {
                    Some(length) => start + length,
                    None => return,
                },
                _ => start + digits(&text[start..]),
            };
            if let Some(kind) = kind {
                self.holes.push((start as u32, end as u32, kind));
            }
            at = end + usize::from(kind == Some(Kind::String));
        }
    }

    /// Whether a text is an expression because this one is.
    pub(crate) fn fits(&self, text: &[u8]) -> bool {
        if self.text == text {
            return true;
        }
        let (mut rest, mut from) = (text, 0);
        for &(start, end, kind) in &self.holes {
            let Some(behind) = rest.strip_prefix(&self.text[from..start as usize]) else { return false };
            let length = match kind {
                Kind::String => string(behind),
                Kind::Number => Some(digits(behind)).filter(|length| is_number(&behind[..*length])),
                Kind::Fraction => Some(digits(behind)).filter(|length| (1..=DIGITS).contains(length)),
            };
            let Some(length) = length else { return false };
            (rest, from) = (&behind[length..], end as usize);
        }
        rest == &self.text[from..]
    }
}

fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// How long a string is that a text stands in, if no backslash is met before its end.
fn string(text: &[u8]) -> Option<usize> {
    memchr::memchr2(b'"', b'\\', text).filter(|end| text[*end] == b'"')
}

/// Whether digits are a decimal number, and not an octal one.
fn is_number(digits: &[u8]) -> bool {
    (1..=DIGITS).contains(&digits.len()) && (digits[0] != b'0' || digits.len() == 1)
}

/// What the digits at a place are, unless they are part of a name, or of a number in another form.
fn kind_of_digits(text: &[u8], at: usize) -> Option<Kind> {
    let length = digits(&text[at..]);
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let before = |count: usize| at.checked_sub(count).and_then(|at| text.get(at));
    if text.get(at + length).is_some_and(is_word) || before(1).is_some_and(is_word) {
        return None;
    }
    match before(1) {
        // The point of a number, not that of a selection.
        Some(b'.') if before(2).is_some_and(u8::is_ascii_digit) => {
            (length <= DIGITS).then_some(Kind::Fraction)
        }
        Some(b'+' | b'-') if before(2).is_some_and(|byte| matches!(byte, b'e' | b'E')) => None,
        Some(b'.') => None,
        _ => is_number(&text[at..at + length]).then_some(Kind::Number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::{Dialect, Expr};
    use proptest::prelude::*;

    fn fits(known: &str, text: &str) -> bool {
        let mut skeleton = Skeleton::default();
        skeleton.learn(known.as_bytes());
        skeleton.fits(text.as_bytes())
    }

    #[test]
    fn numbers_and_strings_may_differ_and_nothing_else() {
        for (known, text, expected) in [
            ("a > 5 && b == \"x\"", "a > 1234 && b == \"\"", true),
            ("a * 1.5", "a * 20.0625", true),
            ("-5 - 3", "-77 - 0", true),
            ("a > 5", "a > 05", false),
            ("a > 5", "a > 5.5", false),
            ("a > 5", "a > 5K", false),
            ("a > 0x5", "a > 7x5", false),
            ("a1 > 1e5", "a2 > 1e5", false),
            ("1e+5", "1e+7", false),
            ("a == \"x\"", "a == \"x\\\"\"", false),
            ("a == \"x\"", "a == \"x\" \"y\"", false),
            ("a > 5", "a > 1234567890123456789", false),
            ("a > 5", "a > ", false),
            ("'b 1' > 2", "'b 1' > 3", false),
        ] {
            assert_eq!(fits(known, text), expected, "{known} | {text}");
        }
    }

    /// Tokens, most of them with what makes a difference between one text and the next.
    fn texts() -> impl Strategy<Value = Vec<(usize, String, String)>> {
        let pieces = "[a-e_+*/<>&|=.,:?(){}\\[\\] '-]{0,3}|\"|\\\\|[0-9]{1,20}|0|[.][0-9]{1,3}|[eExXK]";
        prop::collection::vec((0..3usize, pieces, "[0-9]{0,20}|[ -~]{0,3}"), 0..12)
    }

    proptest! {
        #[test]
        fn what_fits_is_an_expression_as_the_other_is(texts in texts()) {
            let known: String = texts.iter().map(|(_, text, _)| text.as_str()).collect();
            let other: String =
                texts.iter().map(|(which, text, other)| if *which == 0 { other } else { text }.as_str()).collect();
            let parse = |text: &str| Expr::parse_prefix(text.as_bytes(), Dialect::old_syntax());
            if let Ok((_, used)) = parse(&known) && fits(&known, &other) {
                let read = parse(&other);
                let whole = used == known.len();
                prop_assert!(read.is_ok_and(|(_, used)| !whole || used == other.len()), "{known} | {other}");
            }
        }
    }
}
