//! Parsing and joining of the two syntaxes of job arguments, `V1` and `V2`.
//!
//! * V1 raw: words separated by white space, without quoting (attribute `Args`).
//! * V2 raw: single quotes group characters (`'...'`), and `''` inside a group is one `'`; double quotes and
//!   backslashes are ordinary characters (attribute `Arguments`).
//! * V2 quoted: V2 raw between double quotes, with each double quote in it doubled (`""`) (configuration and submit
//!   files).
//!
//! Reference: `condor_arglist.cpp`. Error messages are those of the reference.

use bstr::{BString, ByteSlice};
use thiserror::Error;

use super::Span;
use super::space::is_space;

/// Error in a text of arguments. The message is that of the reference.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ArgumentError {
    /// A single quote is not closed.
    #[error("Unbalanced quote starting here: {rest}")]
    UnbalancedQuote {
        /// Range from the opening quote to the end of the text.
        span: Span,
        /// Text of the range.
        rest: BString,
    },
    /// The double quote at the beginning of a V2 quoted text is not closed.
    #[error("Unterminated double-quote.")]
    UnterminatedDoubleQuote {
        /// Range of the opening quote.
        span: Span,
    },
    /// Other text follows the closing double quote of a V2 quoted text.
    #[error(
        "Unexpected characters following double-quote.  Did you forget to escape the double-quote by repeating it?  \
         Here is the quote and trailing characters: {rest}"
    )]
    AfterDoubleQuote {
        /// Range from the closing quote to the end of the text.
        span: Span,
        /// Text of the range.
        rest: BString,
    },
    /// The text must be V2 quoted, but does not begin with a double quote.
    #[error("Expecting double-quoted input string (V2 format).")]
    NotQuoted,
    /// A word contains white space, which V1 cannot represent.
    #[error("Cannot represent '{word}' in V1 arguments syntax.")]
    NotInV1 {
        /// Word that cannot be represented.
        word: BString,
    },
}

impl ArgumentError {
    /// Returns the range of the error in the text, or `None` if the error concerns the whole text.
    pub fn span(&self) -> Option<Span> {
        match self {
            ArgumentError::UnbalancedQuote { span, .. }
            | ArgumentError::UnterminatedDoubleQuote { span }
            | ArgumentError::AfterDoubleQuote { span, .. } => Some(*span),
            ArgumentError::NotQuoted | ArgumentError::NotInV1 { .. } => None,
        }
    }
}

/// Returns true if a byte separates arguments. The separators are the same in V1 and V2.
fn is_separator(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Splits V1 raw text into words. Every text is valid.
///
/// ```
/// use htc_classad::text::arguments;
/// assert_eq!(arguments::parse_v1_raw(b" a 'b  c' "), ["a", "'b", "c'"]);
/// ```
pub fn parse_v1_raw(text: &[u8]) -> Vec<BString> {
    text.split(|&byte| is_separator(byte)).filter(|word| !word.is_empty()).map(BString::from).collect()
}

/// Splits V2 raw text into words.
///
/// # Errors
/// Fails if a single quote is not closed.
///
/// ```
/// use htc_classad::text::arguments;
/// assert_eq!(arguments::parse_v2_raw(b"a'b c'd '' 'it''s'").unwrap(), ["ab cd", "", "it's"]);
/// ```
pub fn parse_v2_raw(text: &[u8]) -> Result<Vec<BString>, ArgumentError> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        if byte == b'\'' {
            at = read_quoted_group(text, at, word.get_or_insert_default())?;
        } else {
            if is_separator(byte) {
                words.extend(word.take().map(BString::from));
            } else {
                word.get_or_insert_default().push(byte);
            }
            at += 1;
        }
    }
    words.extend(word.map(BString::from));
    Ok(words)
}

/// Reads a quoted group, appends its text to `word`, and returns the offset after the group. `open` is the offset of
/// the opening quote.
fn read_quoted_group(text: &[u8], open: usize, word: &mut Vec<u8>) -> Result<usize, ArgumentError> {
    let mut at = open + 1;
    loop {
        let Some(length) = text.get(at..).and_then(|rest| rest.find_byte(b'\'')) else {
            let span = Span::new(open, text.len());
            return Err(ArgumentError::UnbalancedQuote { span, rest: text[open..].into() });
        };
        word.extend_from_slice(&text[at..at + length]);
        at += length + 1;
        if text.get(at) != Some(&b'\'') {
            return Ok(at);
        }
        word.push(b'\'');
        at += 1;
    }
}

/// Returns true if a text that may be V1 or V2 is V2 quoted: a double quote is its first byte other than white space.
pub fn is_v2_quoted(text: &[u8]) -> bool {
    text.iter().find(|&&byte| !is_space(byte)) == Some(&b'"')
}

/// Converts V2 quoted text to V2 raw text by removing the double quotes.
///
/// # Errors
/// Fails if there is no opening quote, no closing quote, or text after the closing quote.
fn v2_quoted_to_raw(text: &[u8]) -> Result<BString, ArgumentError> {
    let open = text.iter().position(|&byte| !is_space(byte)).unwrap_or(text.len());
    if text.get(open) != Some(&b'"') {
        return Err(ArgumentError::NotQuoted);
    }
    let mut raw = Vec::with_capacity(text.len());
    let mut at = open + 1;
    loop {
        let Some(length) = text[at..].find_byte(b'"') else {
            return Err(ArgumentError::UnterminatedDoubleQuote { span: Span::new(open, open + 1) });
        };
        raw.extend_from_slice(&text[at..at + length]);
        let close = at + length;
        at = close + 1;
        if text.get(at) == Some(&b'"') {
            raw.push(b'"');
            at += 1;
        } else if text[at..].iter().all(|&byte| is_space(byte)) {
            return Ok(raw.into());
        } else {
            let span = Span::new(close, text.len());
            return Err(ArgumentError::AfterDoubleQuote { span, rest: text[close..].into() });
        }
    }
}

/// Returns the offset in V2 quoted text that corresponds to an offset in the raw text made from it.
fn raw_to_quoted_offset(quoted: &[u8], offset: usize) -> usize {
    let open = quoted.iter().position(|&byte| byte == b'"').unwrap_or(0);
    let mut at = open + 1;
    for _ in 0..offset {
        at += if quoted.get(at) == Some(&b'"') { 2 } else { 1 };
    }
    at.min(quoted.len())
}

/// Converts the range of an error from raw text to the V2 quoted text from which the raw text was made.
fn move_error_to_quoted(error: ArgumentError, quoted: &[u8]) -> ArgumentError {
    match error {
        ArgumentError::UnbalancedQuote { span, rest } => {
            let start = raw_to_quoted_offset(quoted, span.start as usize);
            let end = raw_to_quoted_offset(quoted, span.end as usize);
            ArgumentError::UnbalancedQuote { span: Span::new(start, end), rest }
        }
        other => other,
    }
}

/// Splits V2 quoted text into words.
///
/// # Errors
/// Same as `v2_quoted_to_raw` and [`parse_v2_raw`]. Ranges in errors refer to the quoted text.
pub fn parse_v2_quoted(text: &[u8]) -> Result<Vec<BString>, ArgumentError> {
    parse_v2_raw(&v2_quoted_to_raw(text)?).map_err(|error| move_error_to_quoted(error, text))
}

/// Splits a text into words. The text is V2 quoted if it begins with a double quote, or else V1 raw, as in
/// `STARTER_JOB_ENVIRONMENT` and `<KEYWORD>_HOOK_PREPARE_JOB_ARGS`.
///
/// # Errors
/// Same as [`parse_v2_quoted`].
pub fn parse_v1_raw_or_v2_quoted(text: &[u8]) -> Result<Vec<BString>, ArgumentError> {
    if is_v2_quoted(text) { parse_v2_quoted(text) } else { Ok(parse_v1_raw(text)) }
}

/// Joins words to V2 raw text. As in the reference, only the bytes that require it are quoted: `it's` becomes
/// `it''''s`.
///
/// ```
/// use htc_classad::text::arguments;
/// assert_eq!(arguments::join_v2_raw(["a b", "", "c"]), "a' 'b '' c");
/// ```
pub fn join_v2_raw<W: AsRef<[u8]>>(words: impl IntoIterator<Item = W>) -> BString {
    let mut text = Vec::new();
    for word in words {
        if !text.is_empty() {
            text.push(b' ');
        }
        let word = word.as_ref();
        if word.is_empty() {
            text.extend_from_slice(b"''");
        }
        for &byte in word {
            if !is_separator(byte) && byte != b'\'' {
                text.push(byte);
                continue;
            }
            // A group directly after another group would look like an escaped quote, so the previous group is continued
            // instead.
            if text.last() == Some(&b'\'') {
                text.pop();
            } else {
                text.push(b'\'');
            }
            if byte == b'\'' {
                text.push(b'\'');
            }
            text.extend_from_slice(&[byte, b'\'']);
        }
    }
    text.into()
}

/// Joins words to V1 raw text.
///
/// # Errors
/// Fails if a word has white space.
pub fn join_v1_raw<W: AsRef<[u8]>>(words: impl IntoIterator<Item = W>) -> Result<BString, ArgumentError> {
    let mut text = Vec::new();
    for word in words {
        let word = word.as_ref();
        if word.iter().any(|&byte| is_separator(byte)) {
            return Err(ArgumentError::NotInV1 { word: word.into() });
        }
        if !text.is_empty() {
            text.push(b' ');
        }
        text.extend_from_slice(word);
    }
    Ok(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn double_quotes_and_backslashes_are_literal_in_v2_raw() {
        assert_eq!(parse_v2_raw(br#"a"b \' c'"#).unwrap(), [r#"a"b"#, r"\ c"]);
    }

    #[test]
    fn an_unbalanced_quote_is_shown_from_its_start() {
        let error = parse_v2_raw(b"a 'b c").unwrap_err();
        assert_eq!(error.to_string(), "Unbalanced quote starting here: 'b c");
        assert_eq!(error.span(), Some(Span::new(2, 6)));
        // The caret must point to a position in the quoted text, which the user wrote.
        let error = parse_v2_quoted(br#"  "x""y 'z""#).unwrap_err();
        assert_eq!(error.span(), Some(Span::new(8, 10)));
    }

    #[test]
    fn v2_quoted_requires_both_quotes_and_nothing_after_them() {
        assert_eq!(parse_v2_quoted(b" \"a \"\"b\"\" 'c d'\" \t").unwrap(), ["a", "\"b\"", "c d"]);
        assert_eq!(parse_v2_quoted(b"\"a").unwrap_err().to_string(), "Unterminated double-quote.");
        let error = parse_v2_quoted(b"\"a\" b").unwrap_err();
        assert!(error.to_string().ends_with("Here is the quote and trailing characters: \" b"), "{error}");
        assert_eq!(parse_v2_quoted(b"a"), Err(ArgumentError::NotQuoted));
    }

    #[test]
    fn the_first_byte_decides_between_v1_and_v2() {
        assert_eq!(parse_v1_raw_or_v2_quoted(b"'a b'").unwrap(), ["'a", "b'"]);
        assert_eq!(parse_v1_raw_or_v2_quoted(b" \"'a b'\"").unwrap(), ["a b"]);
    }

    #[test]
    fn joined_words_are_split_into_the_same_words() {
        for words in [vec!["a b", "", "it's", "''", "\n\t", "\"q\""], vec!["x"], vec![], vec!["'", " '"]] {
            assert_eq!(parse_v2_raw(&join_v2_raw(&words)).unwrap(), words);
            let quoted = format!("\"{}\"", join_v2_raw(&words).to_string().replace('"', "\"\""));
            assert_eq!(parse_v2_quoted(quoted.as_bytes()).unwrap(), words);
        }
        assert_eq!(join_v2_raw(["it's"]), "it''''s");
        assert!(join_v1_raw(["a b"]).is_err());
        assert_eq!(join_v1_raw(["a", "'b"]).unwrap(), "a 'b");
    }
}
