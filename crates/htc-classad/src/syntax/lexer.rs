//! Lexer: splits a text into tokens (reference: lexer.cpp).

use crate::syntax::Dialect;
use crate::syntax::numbers::strtod;
use crate::syntax::scalar::TextRange;
use crate::text::space::is_space;

mod escapes;
mod strings;
mod token;

pub(crate) use escapes::{unescape, unescape_json, unescape_json_utf8};
pub use token::BadToken;
pub(crate) use token::{Token, TokenKind};

/// Kind of token that begins with a given byte.
#[derive(Clone, Copy)]
enum FirstByte {
    Blank,
    /// The byte begins a name.
    Letter,
    /// The byte begins a name or a reserved word.
    Reserved,
    Digit,
    Quote,
    /// The byte is a complete token, whatever follows.
    SingleByteToken(TokenKind),
    /// The byte is an operator if it is followed by the same byte.
    DoubledOperator(TokenKind),
    /// The byte begins several operators.
    Operator,
    /// The byte may begin a number, selection, sign or comment, or begins no token.
    Other,
}

const FIRST_BYTES: [FirstByte; 256] = {
    let mut table = [FirstByte::Other; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b' ' | b'\t'..=b'\r' => FirstByte::Blank,
            b'i' | b'I' | b't' | b'T' | b'n' | b'N' | b'f' | b'F' | b'e' | b'E' | b'u' | b'U' => {
                FirstByte::Reserved
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => FirstByte::Letter,
            b'0'..=b'9' => FirstByte::Digit,
            b'"' | b'\'' => FirstByte::Quote,
            b'(' => FirstByte::SingleByteToken(TokenKind::OpenParenthesis),
            b')' => FirstByte::SingleByteToken(TokenKind::CloseParenthesis),
            b'[' => FirstByte::SingleByteToken(TokenKind::OpenBox),
            b']' => FirstByte::SingleByteToken(TokenKind::CloseBox),
            b'{' => FirstByte::SingleByteToken(TokenKind::OpenBrace),
            b'}' => FirstByte::SingleByteToken(TokenKind::CloseBrace),
            b',' => FirstByte::SingleByteToken(TokenKind::Comma),
            b':' => FirstByte::SingleByteToken(TokenKind::Colon),
            b';' => FirstByte::SingleByteToken(TokenKind::Semicolon),
            b'+' => FirstByte::SingleByteToken(TokenKind::Plus),
            b'*' => FirstByte::SingleByteToken(TokenKind::Multiply),
            b'%' => FirstByte::SingleByteToken(TokenKind::Modulus),
            b'^' => FirstByte::SingleByteToken(TokenKind::BitXor),
            b'~' => FirstByte::SingleByteToken(TokenKind::BitNot),
            b'&' => FirstByte::DoubledOperator(TokenKind::And),
            b'|' => FirstByte::DoubledOperator(TokenKind::Or),
            b'<' | b'>' | b'=' | b'!' | b'?' => FirstByte::Operator,
            _ => FirstByte::Other,
        };
        byte += 1;
    }
    table
};

/// Table of bytes: true for a byte that may be part of a name.
const WORD_BYTES: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = matches!(FIRST_BYTES[byte], FirstByte::Letter | FirstByte::Reserved | FirstByte::Digit);
        byte += 1;
    }
    table
};

/// Lengths of the reserved words, as a bit mask.
const RESERVED_WORD_LENGTHS: u32 = 1 << 2 | 1 << 4 | 1 << 5 | 1 << 9;

/// Lexer of one text, which has a current token.
#[derive(Debug)]
pub(crate) struct Lexer<'s> {
    source: &'s [u8],
    at: usize,
    dialect: Dialect,
    pub(crate) token: Token,
    /// Text of tokens that differs from the source because of escapes or joined strings. Offsets beyond the source
    /// refer to this text.
    pub(crate) extra: Vec<u8>,
}

impl<'s> Lexer<'s> {
    /// Creates a lexer at the first token of a text. A NUL byte ends the text.
    pub(crate) fn new(source: &'s [u8], dialect: Dialect) -> Self {
        let source = match memchr::memchr(0, source) {
            Some(end) => &source[..end],
            None => source,
        };
        // This token is still the current one if the text begins with a comment that is not closed.
        let token = Token {
            kind: TokenKind::Bad,
            start: 0,
            text: TextRange::default(),
            integer: 0,
            real: 0.0,
            boolean: false,
            quoted_expression: false,
            bad: BadToken::Byte,
        };
        let mut lexer = Lexer { source, at: 0, dialect, token, extra: Vec::new() };
        lexer.advance();
        lexer
    }

    #[inline]
    pub(crate) fn source(&self) -> &'s [u8] {
        self.source
    }

    /// Returns the text of an identifier or string token.
    #[inline]
    pub(crate) fn token_text(&self, text: TextRange) -> &[u8] {
        let (start, len) = (text.start as usize, text.len as usize);
        match start.checked_sub(self.source.len()) {
            None => &self.source[start..start + len],
            Some(_) if len == 0 => &[],
            Some(start) => &self.extra[start..start + len],
        }
    }

    /// Returns the text of an identifier or string token if it is in the source without changes, or else `None`.
    #[inline]
    pub(crate) fn source_text(&self, text: TextRange) -> Option<&'s [u8]> {
        let start = text.start as usize;
        self.source.get(start..start + text.len as usize)
    }

    /// Returns the offset in the source at which the current token ends.
    #[inline]
    pub(crate) fn token_end(&self) -> usize {
        self.at
    }

    #[inline]
    fn peek(&self, ahead: usize) -> u8 {
        self.source.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// Reads the next token. The first byte of the token selects the function, which is called in tail position, so
    /// that the most common tokens are fast.
    pub(crate) fn advance(&mut self) {
        let mut at = self.at;
        loop {
            let Some(byte) = self.source.get(at) else {
                return self.set_token(at, 0, TokenKind::End);
            };
            if *byte == b' ' {
                at += 1;
                continue;
            }
            return match FIRST_BYTES[usize::from(*byte)] {
                FirstByte::Blank => {
                    at += 1;
                    continue;
                }
                FirstByte::Letter => self.lex_word(at),
                FirstByte::Reserved => self.lex_word_or_reserved(at),
                FirstByte::Digit => self.lex_digits(at),
                FirstByte::Quote => self.lex_quoted(at),
                FirstByte::SingleByteToken(kind) => self.set_token(at, 1, kind),
                FirstByte::DoubledOperator(kind) if self.source.get(at + 1) == Some(byte) => {
                    self.set_token(at, 2, kind)
                }
                FirstByte::DoubledOperator(TokenKind::And) => self.set_token(at, 1, TokenKind::BitAnd),
                FirstByte::DoubledOperator(_) => self.set_token(at, 1, TokenKind::BitOr),
                FirstByte::Operator => self.lex_operator(at),
                FirstByte::Other => self.lex_other(at),
            };
        }
    }

    /// Sets the current token to `length` bytes at offset `at`.
    #[inline(always)]
    fn set_token(&mut self, at: usize, length: usize, kind: TokenKind) {
        self.at = at + length;
        self.token.start = at;
        self.token.kind = kind;
    }

    /// Reads a token that begins with a dot, sign or slash: a number, a selection, an operator or a comment.
    #[inline(never)]
    fn lex_other(&mut self, at: usize) {
        match self.source[at] {
            b'/' if self.is_comment(at) => self.skip_comments(at),
            b'/' => self.set_token(at, 1, TokenKind::Divide),
            b'-' if self.token.kind.ends_operand() => self.set_token(at, 1, TokenKind::Minus),
            b'-' | b'.' => self.lex_long_number(at),
            _ => {
                self.token.bad = BadToken::Byte;
                self.set_token(at, 1, TokenKind::Bad);
            }
        }
    }

    fn is_comment(&self, at: usize) -> bool {
        matches!(self.source.get(at..at + 2), Some(b"//" | b"/*"))
    }

    /// Skips comments and reads the token after them. A comment that is not closed is a bad token.
    #[cold]
    #[inline(never)]
    fn skip_comments(&mut self, mut at: usize) {
        while self.is_comment(at) {
            let rest = &self.source[at..];
            let length = match rest[1] {
                b'/' => memchr::memchr(b'\n', rest).unwrap_or(rest.len()),
                _ => match memchr::memmem::find(&rest[2..], b"*/") {
                    Some(length) => length + 4,
                    None => {
                        // The reference reports the error but leaves the previous token as the current one (lexer.cpp
                        // LoadToken), so that a closing parenthesis may be used twice and even complete a call.
                        self.at = self.source.len();
                        self.token.start = at;
                        self.token.bad = BadToken::Comment;
                        return;
                    }
                },
            };
            at += length;
            while is_space(self.source.get(at).copied().unwrap_or(0)) {
                at += 1;
            }
        }
        self.at = at;
        self.advance();
    }

    #[inline]
    fn set_bad(&mut self, bad: BadToken) -> TokenKind {
        self.token.bad = bad;
        TokenKind::Bad
    }

    /// Reads a name.
    #[inline(never)]
    fn lex_word(&mut self, start: usize) {
        let length = word_length(&self.source[start..]);
        self.token.text = TextRange { start: start as u32, len: length as u32 };
        self.set_token(start, length, TokenKind::Identifier);
    }

    #[inline(never)]
    fn lex_word_or_reserved(&mut self, start: usize) {
        self.lex_word(start);
        let length = self.at - start;
        if RESERVED_WORD_LENGTHS >> length.min(31) & 1 == 1 {
            self.token.kind = self.reserved_kind(start, length);
        }
    }

    /// Returns the kind of a word whose length is that of a reserved word: the reserved word or a name.
    fn reserved_kind(&mut self, start: usize, length: usize) -> TokenKind {
        let word = &self.source[start..start + length];
        let is = |reserved: &[u8]| word.eq_ignore_ascii_case(reserved);
        match (length, word[0] | 0x20) {
            (2, b'i') if is(b"is") => TokenKind::Is,
            (4, b't') if is(b"true") => {
                self.token.boolean = true;
                TokenKind::Boolean
            }
            (4, b'i') if is(b"isnt") => TokenKind::Isnt,
            (4, b'n') if self.dialect.json && is(b"null") => TokenKind::Undefined,
            (5, b'f') if is(b"false") => {
                self.token.boolean = false;
                TokenKind::Boolean
            }
            (5, b'e') if is(b"error") => TokenKind::Error,
            (9, b'u') if !self.dialect.json && is(b"undefined") => TokenKind::Undefined,
            _ => TokenKind::Identifier,
        }
    }

    /// Reads a number that begins with a digit. Decimal integers of 64 bits, the most common numbers, are read here.
    #[inline(never)]
    fn lex_digits(&mut self, start: usize) {
        let (mut value, mut at) = (0i64, start);
        while let Some(digit @ b'0'..=b'9') = self.source.get(at) {
            value = value.wrapping_mul(10).wrapping_add(i64::from(digit - b'0'));
            at += 1;
        }
        let length = at - start;
        let plain = !matches!(self.source.get(at), Some(b'.' | b'e' | b'E' | b'x' | b'X')) && length <= 18;
        if plain && (self.source[start] != b'0' || length == 1) {
            self.token.integer = value;
            return self.set_token(start, length, TokenKind::Integer);
        }
        self.lex_long_number(start);
    }

    #[inline(never)]
    fn lex_long_number(&mut self, start: usize) {
        self.at = start;
        self.token.start = start;
        self.token.kind = self.lex_number(start);
    }

    #[inline(never)]
    fn lex_quoted(&mut self, start: usize) {
        self.at = start;
        self.token.start = start;
        self.token.kind = self.lex_string(self.source[start]);
    }

    #[inline]
    fn skip_digits(&mut self) {
        while self.peek(0).is_ascii_digit() {
            self.at += 1;
        }
    }

    /// Reads a number of any form, or the dot of a selection (reference: tokenizeNumber).
    #[inline(never)]
    fn lex_number(&mut self, start: usize) -> TokenKind {
        let mut first = self.peek(0);
        self.at += 1;
        if first == b'-' {
            match self.peek(0) {
                digit @ b'0'..=b'9' => {
                    first = digit;
                    self.at += 1;
                }
                b'.' if self.peek(1).is_ascii_digit() => {}
                _ => return TokenKind::Minus,
            }
        }
        let mut real = false;
        let number = first.is_ascii_digit();
        if first == b'0' {
            if matches!(self.peek(0), b'x' | b'X') {
                self.at += 1;
                if !self.peek(0).is_ascii_hexdigit() {
                    return self.set_bad(BadToken::Number);
                }
                while self.peek(0).is_ascii_hexdigit() {
                    self.at += 1;
                }
            } else {
                let mut decimal_only = false;
                while self.peek(0).is_ascii_digit() {
                    decimal_only |= self.peek(0) > b'7';
                    self.at += 1;
                }
                real = matches!(self.peek(0), b'.' | b'e' | b'E');
                if decimal_only && !real {
                    return self.set_bad(BadToken::Number);
                }
            }
        } else if number {
            self.skip_digits();
            real = matches!(self.peek(0), b'.' | b'e' | b'E');
        }
        if first == b'.' || self.peek(0) == b'.' {
            self.at += usize::from(self.peek(0) == b'.');
            if self.peek(0).is_ascii_digit() {
                real = true;
                self.skip_digits();
            } else if number {
                return self.set_bad(BadToken::Number);
            } else {
                return TokenKind::Selection;
            }
        }
        if real && matches!(self.peek(0), b'e' | b'E') {
            self.at += if matches!(self.peek(1), b'+' | b'-') { 2 } else { 1 };
            if !self.peek(0).is_ascii_digit() {
                return self.set_bad(BadToken::Number);
            }
            self.skip_digits();
        }
        let text = &self.source[start..self.at];
        if real {
            self.token.real = strtod(text).0;
            return TokenKind::Real;
        }
        if (!self.dialect.mode.strict || self.dialect.json) && text[0] == b'0' && text.len() > 1 {
            return self.set_bad(BadToken::Number);
        }
        self.token.integer = parse_integer_prefix(text);
        TokenKind::Integer
    }

    /// Reads an operator whose first byte begins several operators.
    #[inline(never)]
    fn lex_operator(&mut self, at: usize) {
        let byte = |ahead: usize| self.source.get(at + ahead).copied().unwrap_or(0);
        let (kind, length) = match (byte(0), byte(1)) {
            (b'<', b'=') => (TokenKind::LessEqual, 2),
            (b'<', b'<') => (TokenKind::ShiftLeft, 2),
            (b'<', _) => (TokenKind::Less, 1),
            (b'>', b'=') => (TokenKind::GreaterEqual, 2),
            (b'>', b'>') if byte(2) == b'>' => (TokenKind::ShiftRightZero, 3),
            (b'>', b'>') => (TokenKind::ShiftRight, 2),
            (b'>', _) => (TokenKind::Greater, 1),
            (b'=', b'=') => (TokenKind::Equal, 2),
            (b'=', b'?') if byte(2) == b'=' => (TokenKind::Is, 3),
            (b'=', b'?') => {
                self.token.bad = BadToken::Operator;
                (TokenKind::Bad, 2)
            }
            (b'=', b'!') if byte(2) == b'=' => (TokenKind::Isnt, 3),
            (b'=', _) => (TokenKind::Assign, 1),
            (b'!', b'=') => (TokenKind::NotEqual, 2),
            (b'!', _) => (TokenKind::Not, 1),
            _ => {
                let mut length = 1;
                while is_space(byte(length)) {
                    length += 1;
                }
                if byte(length) == b':' { (TokenKind::Elvis, length + 1) } else { (TokenKind::Question, 1) }
            }
        };
        self.set_token(at, length, kind);
    }
}

/// Returns the length of the name at the beginning of a text. Sixteen bytes at a time are read without testing for the
/// end of the text.
#[inline]
fn word_length(text: &[u8]) -> usize {
    let mut length = 0;
    let mut rest = text;
    while let Some((chunk, remaining)) = rest.split_first_chunk::<16>() {
        for byte in chunk {
            if !WORD_BYTES[usize::from(*byte)] {
                return length;
            }
            length += 1;
        }
        rest = remaining;
    }
    length + rest.iter().position(|byte| !WORD_BYTES[usize::from(*byte)]).unwrap_or(rest.len())
}

/// Returns the decimal integer at the beginning of a text, or 0 if the integer does not fit in 64 bits, like
/// `std::from_chars` in the reference.
pub(crate) fn parse_integer_prefix(text: &[u8]) -> i64 {
    let (negative, digits) = match text.first() {
        Some(b'-') => (true, &text[1..]),
        _ => (false, text),
    };
    let mut value: i64 = 0;
    for digit in digits.iter().take_while(|b| b.is_ascii_digit()) {
        let digit = i64::from(digit - b'0');
        let next = value
            .checked_mul(10)
            .and_then(|v| if negative { v.checked_sub(digit) } else { v.checked_add(digit) });
        match next {
            Some(next) => value = next,
            None => return 0,
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the kind and range of each token.
    fn tokens(text: &[u8]) -> Vec<(TokenKind, usize, usize)> {
        let mut lexer = Lexer::new(text, Dialect::new_syntax());
        let mut tokens = Vec::new();
        while !matches!(lexer.token.kind, TokenKind::End | TokenKind::Bad) {
            tokens.push((lexer.token.kind, lexer.token.start, lexer.token_end()));
            lexer.advance();
        }
        tokens.push((lexer.token.kind, lexer.token.start, lexer.token_end()));
        tokens
    }

    #[test]
    fn any_number_of_comments_is_skipped() {
        let comments = "/**/ //\n/* // */\t".repeat(200_000);
        let text = format!("a{comments}b{comments}");
        let second = 1 + comments.len();
        let end = text.len();
        let expected = [
            (TokenKind::Identifier, 0, 1),
            (TokenKind::Identifier, second, second + 1),
            (TokenKind::End, end, end),
        ];
        assert_eq!(tokens(text.as_bytes()), expected);
    }

    #[test]
    fn operators_are_read_with_all_their_bytes() {
        let text = b"< <= << > >= >> >>> = == =?= =!= ! != ? ?: ? : & && | || - / ~ ^";
        let words = text.split(|byte| *byte == b' ').collect::<Vec<_>>();
        let mut at = 0;
        let mut expected: Vec<(usize, usize)> = Vec::new();
        for word in &words {
            expected.push((at, at + word.len()));
            at += word.len() + 1;
        }
        // The lexer reads a question mark and a colon as one operator, even with white space between them.
        let question_mark = words.iter().rposition(|word| *word == b"?").unwrap();
        expected[question_mark].1 = expected.remove(question_mark + 1).1;
        let found: Vec<_> = tokens(text).into_iter().map(|(_, start, end)| (start, end)).collect();
        assert_eq!(found[..found.len() - 1], expected);
    }

    #[test]
    fn words_of_any_length_are_read_to_their_end() {
        for length in 1..50 {
            for end in [&b""[..], b" ", b"(", b"\xe4", b"."] {
                let text = [&b"i".repeat(length)[..], end].concat();
                assert_eq!(tokens(&text)[0], (TokenKind::Identifier, 0, length), "{length} {end:?}");
            }
        }
    }
}
