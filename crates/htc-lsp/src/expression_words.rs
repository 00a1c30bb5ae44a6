//! Names in the text of a ClassAd expression, which may be incomplete or contain macro references.

use std::ops::Range;

/// Kind of a name in an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExpressionWordKind {
    /// An attribute.
    Attribute,
    /// `MY` or `TARGET` before a dot.
    Scope,
    /// A function, before a parenthesis.
    Function,
    /// A literal or operator that is a word: `true`, `undefined`, `isnt`.
    Reserved,
}

/// A name in an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExpressionWord {
    /// Place in the text.
    pub(crate) range: Range<usize>,
    /// Kind of the name.
    pub(crate) kind: ExpressionWordKind,
}

const RESERVED_WORDS: [&str; 6] = ["true", "false", "undefined", "error", "is", "isnt"];

/// Returns the names of an expression in their order. Text in strings and macro references is skipped.
pub(crate) fn expression_words(text: &[u8]) -> Vec<ExpressionWord> {
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => at = quoted_end(text, at),
            b'\'' => {
                let end = quoted_end(text, at);
                let inner = at + 1..(end - 1).max(at + 1);
                words.push(ExpressionWord { range: inner, kind: ExpressionWordKind::Attribute });
                at = end;
            }
            b'$' => at = reference_end(text, at),
            byte if byte.is_ascii_digit() => {
                at += text[at..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'.').count();
            }
            byte if is_word_byte(byte) => {
                let length = text[at..].iter().take_while(|&&b| is_word_byte(b)).count();
                let range = at..at + length;
                words.push(ExpressionWord { kind: word_kind(text, &range), range });
                at += length;
            }
            _ => at += 1,
        }
    }
    words
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn word_kind(text: &[u8], range: &Range<usize>) -> ExpressionWordKind {
    let word = &text[range.clone()];
    let is = |known: &str| word.eq_ignore_ascii_case(known.as_bytes());
    let next = text[range.end..].iter().find(|byte| !byte.is_ascii_whitespace());
    let is_selected = text[..range.start].ends_with(b".");
    match next {
        Some(b'(') if !is_selected => ExpressionWordKind::Function,
        Some(b'.') if is("MY") || is("TARGET") => ExpressionWordKind::Scope,
        _ if !is_selected && RESERVED_WORDS.iter().any(|known| is(known)) => ExpressionWordKind::Reserved,
        _ => ExpressionWordKind::Attribute,
    }
}

/// Returns the offset after the string or quoted name at `at`.
fn quoted_end(text: &[u8], at: usize) -> usize {
    let quote = text[at];
    let mut end = at + 1;
    while let Some(&byte) = text.get(end) {
        end += 1;
        match byte {
            b'\\' => end += 1,
            byte if byte == quote => return end,
            _ => {}
        }
    }
    text.len().max(at + 1)
}

/// Returns the offset after the macro reference at `at`, or after the dollar sign if it does not begin a reference.
fn reference_end(text: &[u8], at: usize) -> usize {
    let name = text[at..].iter().take_while(|&&b| b == b'$' || is_word_byte(b)).count();
    let open = at + name;
    if text.get(open) != Some(&b'(') {
        return at + name.max(1);
    }
    let mut depth = 0usize;
    for (length, byte) in text[open..].iter().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return open + length + 1;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinguished_from_strings_numbers_and_references() {
        let text =
            br#"MY.Owner == "a \" b" && regexp("x", 'My Name') =!= undefined || 1K > $(X:$(Y)).Z + Time ()"#;
        let found: Vec<String> = expression_words(text)
            .iter()
            .map(|word| format!("{:?} {}", word.kind, String::from_utf8_lossy(&text[word.range.clone()])))
            .collect();
        assert_eq!(
            found,
            [
                "Scope MY",
                "Attribute Owner",
                "Function regexp",
                "Attribute My Name",
                "Reserved undefined",
                "Attribute Z",
                "Function Time"
            ]
        );
    }

    #[test]
    fn unfinished_texts_end_quietly() {
        for text in ["\"abc", "'abc", "$(", "$", "a.", "f(", "\"\\", "'", "$((", "$)"] {
            let _ = expression_words(text.as_bytes());
        }
    }
}
