//! Bytes into tokens (classad.md 3; reference: lexer.cpp).

use super::numbers::{is_space, strtod};
use super::parser::Dialect;
use super::tree::Text;

mod escapes;

pub(crate) use escapes::{unescape, unescape_json};

/// The kinds of token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    End,
    Bad,
    Identifier,
    Undefined,
    Error,
    Boolean,
    Integer,
    Real,
    String,
    Selection,
    Multiply,
    Divide,
    Modulus,
    Plus,
    Minus,
    BitNot,
    Not,
    BitXor,
    BitAnd,
    BitOr,
    And,
    Or,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    ShiftLeft,
    ShiftRight,
    ShiftRightZero,
    Bound,
    Equal,
    NotEqual,
    Is,
    Isnt,
    Question,
    Colon,
    Elvis,
    Semicolon,
    Comma,
    OpenBox,
    CloseBox,
    OpenParenthesis,
    CloseParenthesis,
    OpenBrace,
    CloseBrace,
}

impl Kind {
    pub(crate) const COUNT: usize = Kind::CloseBrace as usize + 1;

    /// Whether a value may end with it, so that a minus sign behind it subtracts.
    #[inline]
    fn ends_operand(self) -> bool {
        matches!(
            self,
            Kind::Integer
                | Kind::Real
                | Kind::Boolean
                | Kind::String
                | Kind::Undefined
                | Kind::Error
                | Kind::Identifier
                | Kind::Selection
                | Kind::CloseBox
                | Kind::CloseParenthesis
                | Kind::CloseBrace
        )
    }
}

/// What is wrong with a token of kind `Kind::Bad`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadToken {
    /// A byte that begins no token.
    Byte,
    /// A string or quoted name without its closing quote.
    Unterminated,
    /// A comment without its end.
    Comment,
    /// An escape that would put a NUL byte into a string.
    Nul,
    /// A number with a leading zero, or one that ends too soon (`1.`, `1e`).
    Number,
    /// `=?` without `=`.
    Operator,
}

/// The token under the cursor. Which fields mean something depends on the kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    /// Where it begins and ends in the source.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Text of identifiers and strings: offset into source followed by `extra`.
    pub(crate) text: Text,
    pub(crate) integer: i64,
    pub(crate) real: f64,
    pub(crate) boolean: bool,
    /// A JSON string that was written between escaped slashes.
    pub(crate) quoted_expression: bool,
    pub(crate) bad: BadToken,
}

/// The bytes that names and words are made of.
const WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_';
        byte += 1;
    }
    table
};

/// The lengths of the reserved words, a bit for each.
const LENGTHS: u32 = 1 << 2 | 1 << 4 | 1 << 5 | 1 << 9;

/// The cursor over one text.
#[derive(Debug)]
pub(crate) struct Lexer<'s> {
    source: &'s [u8],
    at: usize,
    dialect: Dialect,
    pub(crate) token: Token,
    /// Texts that differ from how they were written (escapes, joined strings); they stand behind the source.
    pub(crate) extra: Vec<u8>,
}

impl<'s> Lexer<'s> {
    /// Starts at the first token. A NUL byte ends the text.
    pub(crate) fn new(source: &'s [u8], dialect: Dialect) -> Self {
        let source = match memchr::memchr(0, source) {
            Some(end) => &source[..end],
            None => source,
        };
        // What is left in place when the text begins with a comment that never ends.
        let token = Token {
            kind: Kind::Bad,
            start: 0,
            end: 0,
            text: Text { start: 0, len: 0 },
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

    /// The text of an identifier or string.
    #[inline]
    pub(crate) fn bytes(&self, text: Text) -> &[u8] {
        let (start, len) = (text.start as usize, text.len as usize);
        match start.checked_sub(self.source.len()) {
            None => &self.source[start..start + len],
            Some(_) if len == 0 => &[],
            Some(start) => &self.extra[start..start + len],
        }
    }

    /// The text of an identifier or string, where it stands in the source as it is meant.
    #[inline]
    pub(crate) fn in_source(&self, text: Text) -> Option<&'s [u8]> {
        let start = text.start as usize;
        self.source.get(start..start + text.len as usize)
    }

    #[inline]
    fn peek(&self, ahead: usize) -> u8 {
        self.source.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// Moves to the next token. What each kind of token needs stands in functions of their own, so that the commonest
    /// tokens cost little.
    pub(crate) fn advance(&mut self) {
        let mut at = self.at;
        loop {
            let byte = self.source.get(at).copied().unwrap_or(0);
            if byte <= b' ' {
                if is_space(byte) {
                    at += 1;
                    continue;
                }
                self.token.start = at;
                return if byte == 0 { self.take(at, 0, Kind::End) } else { self.other(at, byte) };
            }
            self.token.start = at;
            return match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.word(at),
                b'0'..=b'9' => self.digits(at),
                b'"' | b'\'' => self.quoted(at, byte),
                b'(' => self.take(at, 1, Kind::OpenParenthesis),
                b')' => self.take(at, 1, Kind::CloseParenthesis),
                b',' => self.take(at, 1, Kind::Comma),
                b':' => self.take(at, 1, Kind::Colon),
                b'&' if self.source.get(at + 1) == Some(&b'&') => self.take(at, 2, Kind::And),
                b'|' if self.source.get(at + 1) == Some(&b'|') => self.take(at, 2, Kind::Or),
                b'/' if matches!(self.source.get(at + 1), Some(b'/' | b'*')) => {
                    match self.behind_comment(at) {
                        Some(behind) => {
                            at = behind;
                            continue;
                        }
                        None => return,
                    }
                }
                _ => self.other(at, byte),
            };
        }
    }

    /// Sets the token to so many bytes.
    #[inline(always)]
    fn take(&mut self, at: usize, length: usize, kind: Kind) {
        self.at = at + length;
        self.token.kind = kind;
        self.token.end = self.at;
    }

    /// Tokens that are less common.
    #[inline(never)]
    fn other(&mut self, at: usize, byte: u8) {
        self.at = at;
        let is_number = byte == b'.' || byte == b'-' && !self.token.kind.ends_operand();
        self.token.kind = if is_number { self.number(at) } else { self.punctuation(byte) };
        self.token.end = self.at;
    }

    /// The offset behind a comment; none where it never ends, which is a bad token.
    #[cold]
    #[inline(never)]
    fn behind_comment(&mut self, at: usize) -> Option<usize> {
        let rest = &self.source[at..];
        if rest[1] == b'/' {
            return Some(at + memchr::memchr(b'\n', rest).unwrap_or(rest.len()));
        }
        if let Some(length) = memchr::memmem::find(&rest[2..], b"*/") {
            return Some(at + length + 4);
        }
        // The reference marks the error but leaves the token before in place (lexer.cpp LoadToken), so that a repeated
        // closing parenthesis may even complete a call.
        self.at = self.source.len();
        self.token.start = at;
        self.token.end = self.at;
        self.token.bad = BadToken::Comment;
        None
    }

    #[inline]
    fn bad(&mut self, bad: BadToken) -> Kind {
        self.token.bad = bad;
        Kind::Bad
    }

    fn word(&mut self, start: usize) {
        let mut end = start + 1;
        while let Some(byte) = self.source.get(end)
            && WORD[usize::from(*byte)]
        {
            end += 1;
        }
        let length = end - start;
        self.token.text = Text { start: start as u32, len: length as u32 };
        let kind =
            if LENGTHS >> length.min(31) & 1 == 1 { self.reserved(start, length) } else { Kind::Identifier };
        self.take(start, length, kind);
    }

    /// The kind of a word as long as one that is reserved.
    fn reserved(&mut self, start: usize, length: usize) -> Kind {
        let word = &self.source[start..start + length];
        let is = |reserved: &[u8]| word.eq_ignore_ascii_case(reserved);
        match (length, word[0] | 0x20) {
            (2, b'i') if is(b"is") => Kind::Is,
            (4, b't') if is(b"true") => {
                self.token.boolean = true;
                Kind::Boolean
            }
            (4, b'i') if is(b"isnt") => Kind::Isnt,
            (4, b'n') if self.dialect.json && is(b"null") => Kind::Undefined,
            (5, b'f') if is(b"false") => {
                self.token.boolean = false;
                Kind::Boolean
            }
            (5, b'e') if is(b"error") => Kind::Error,
            (9, b'u') if !self.dialect.json && is(b"undefined") => Kind::Undefined,
            _ => Kind::Identifier,
        }
    }

    /// A number that begins with a digit. The commonest are decimal integers that fit.
    fn digits(&mut self, start: usize) {
        let mut value = 0i64;
        let mut at = start;
        let next = loop {
            let byte = self.source.get(at).copied().unwrap_or(0);
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 || at - start == 18 {
                break byte;
            }
            value = value * 10 + i64::from(digit);
            at += 1;
        };
        let plain = !matches!(next, b'0'..=b'9' | b'.' | b'e' | b'E' | b'x' | b'X');
        if plain && (self.source[start] != b'0' || at == start + 1) {
            self.token.integer = value;
            return self.take(start, at - start, Kind::Integer);
        }
        self.at = start;
        self.token.kind = self.number(start);
        self.token.end = self.at;
    }

    fn quoted(&mut self, start: usize, quote: u8) {
        self.at = start;
        self.token.kind = self.string(quote);
        self.token.end = self.at;
    }

    /// Numbers, and the dot of a selection (reference: tokenizeNumber).
    #[inline(never)]
    fn number(&mut self, start: usize) -> Kind {
        let mut first = self.peek(0);
        self.at += 1;
        if first == b'-' {
            match self.peek(0) {
                digit @ b'0'..=b'9' => {
                    first = digit;
                    self.at += 1;
                }
                b'.' if self.peek(1).is_ascii_digit() => {}
                _ => return Kind::Minus,
            }
        }
        let mut real = false;
        let mut number = true;
        if first == b'0' {
            if matches!(self.peek(0), b'x' | b'X') {
                self.at += 1;
                if !self.peek(0).is_ascii_hexdigit() {
                    return self.bad(BadToken::Number);
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
                if matches!(self.peek(0), b'.' | b'e' | b'E') {
                    real = true;
                } else if decimal_only {
                    return self.bad(BadToken::Number);
                }
            }
        } else if first.is_ascii_digit() {
            while self.peek(0).is_ascii_digit() {
                self.at += 1;
            }
            real = matches!(self.peek(0), b'.' | b'e' | b'E');
        } else {
            number = false;
        }
        if first == b'.' || self.peek(0) == b'.' {
            if self.peek(0) == b'.' {
                self.at += 1;
            }
            if self.peek(0).is_ascii_digit() {
                real = true;
                while self.peek(0).is_ascii_digit() {
                    self.at += 1;
                }
            } else if number {
                return self.bad(BadToken::Number);
            } else {
                return Kind::Selection;
            }
        }
        if real && matches!(self.peek(0), b'e' | b'E') {
            self.at += 1;
            if matches!(self.peek(0), b'+' | b'-') {
                self.at += 1;
            }
            if !self.peek(0).is_ascii_digit() {
                return self.bad(BadToken::Number);
            }
            while self.peek(0).is_ascii_digit() {
                self.at += 1;
            }
        }
        let text = &self.source[start..self.at];
        if real {
            self.token.real = strtod(text).0;
            return Kind::Real;
        }
        if (self.dialect.condor || self.dialect.json) && text[0] == b'0' && text.len() > 1 {
            return self.bad(BadToken::Number);
        }
        self.token.integer = integer(text);
        Kind::Integer
    }

    fn string(&mut self, quote: u8) -> Kind {
        self.at += 1;
        let complete = if self.dialect.old_strings { self.old_string(quote) } else { self.new_string(quote) };
        match complete {
            Some(_) if quote == b'"' => Kind::String,
            Some(_) => Kind::Identifier,
            None => Kind::Bad,
        }
    }

    /// A string of the new syntax: escapes, and adjacent literals joined.
    fn new_string(&mut self, quote: u8) -> Option<()> {
        let start = self.at;
        let mut raw: Option<Vec<u8>> = None;
        let mut escapes = false;
        let mut piece = start;
        loop {
            let rest = &self.source[self.at..];
            let Some(stop) = memchr::memchr2(quote, b'\\', rest) else {
                self.at = self.source.len();
                self.token.bad = BadToken::Unterminated;
                return None;
            };
            self.at += stop;
            if rest[stop] == b'\\' {
                escapes = true;
                self.at = (self.at + 2).min(self.source.len());
                continue;
            }
            let end = self.at;
            self.at += 1;
            let mut next = self.at;
            while is_space(self.source.get(next).copied().unwrap_or(0)) {
                next += 1;
            }
            if self.source.get(next) == Some(&quote) {
                raw.get_or_insert_default().extend_from_slice(&self.source[piece..end]);
                self.at = next + 1;
                piece = self.at;
                continue;
            }
            if raw.is_none() && !escapes {
                self.token.quoted_expression = false;
                self.token.text = Text { start: start as u32, len: (end - start) as u32 };
                return Some(());
            }
            let mut raw = raw.unwrap_or_default();
            raw.extend_from_slice(&self.source[piece..end]);
            let from = self.extra.len();
            if self.dialect.json {
                self.token.quoted_expression =
                    raw.len() >= 4 && raw.starts_with(b"\\/") && raw.ends_with(b"\\/");
                if !unescape_json(&raw, &mut self.extra) {
                    self.token.bad = BadToken::Nul;
                    return None;
                }
            } else if !unescape(&raw, &mut self.extra) {
                self.token.bad = BadToken::Nul;
                return None;
            }
            self.token.text =
                Text { start: (self.source.len() + from) as u32, len: (self.extra.len() - from) as u32 };
            return Some(());
        }
    }

    /// A string of the old syntax: a backslash is special only before a quote that does not end the line.
    fn old_string(&mut self, quote: u8) -> Option<()> {
        let start = self.at;
        let mut piece = start;
        let mut own: Option<usize> = None;
        // A quote directly behind an escaped quote closes the string even if a backslash came before.
        let mut fresh = start;
        loop {
            let Some(stop) = memchr::memchr(quote, &self.source[self.at..]) else {
                self.at = self.source.len();
                self.token.bad = BadToken::Unterminated;
                return None;
            };
            let end = self.at + stop;
            let escaped = end > fresh && self.source[end - 1] == b'\\';
            let more = !matches!(self.source.get(end + 1), None | Some(b'\n'));
            self.at = end + 1;
            if escaped && more {
                own.get_or_insert(self.extra.len());
                self.extra.extend_from_slice(&self.source[piece..end - 1]);
                self.extra.push(quote);
                piece = end + 1;
                fresh = end + 1;
                continue;
            }
            self.token.text = match own {
                None => Text { start: start as u32, len: (end - start) as u32 },
                Some(from) => {
                    self.extra.extend_from_slice(&self.source[piece..end]);
                    Text { start: (self.source.len() + from) as u32, len: (self.extra.len() - from) as u32 }
                }
            };
            return Some(());
        }
    }

    fn punctuation(&mut self, byte: u8) -> Kind {
        let (kind, length) = match byte {
            b'*' => (Kind::Multiply, 1),
            b'/' => (Kind::Divide, 1),
            b'%' => (Kind::Modulus, 1),
            b'+' => (Kind::Plus, 1),
            b'-' => (Kind::Minus, 1),
            b'~' => (Kind::BitNot, 1),
            b'^' => (Kind::BitXor, 1),
            b':' => (Kind::Colon, 1),
            b';' => (Kind::Semicolon, 1),
            b',' => (Kind::Comma, 1),
            b'[' => (Kind::OpenBox, 1),
            b']' => (Kind::CloseBox, 1),
            b'(' => (Kind::OpenParenthesis, 1),
            b')' => (Kind::CloseParenthesis, 1),
            b'{' => (Kind::OpenBrace, 1),
            b'}' => (Kind::CloseBrace, 1),
            b'&' if self.peek(1) == b'&' => (Kind::And, 2),
            b'&' => (Kind::BitAnd, 1),
            b'|' if self.peek(1) == b'|' => (Kind::Or, 2),
            b'|' => (Kind::BitOr, 1),
            b'<' => match self.peek(1) {
                b'=' => (Kind::LessEqual, 2),
                b'<' => (Kind::ShiftLeft, 2),
                _ => (Kind::Less, 1),
            },
            b'>' => match (self.peek(1), self.peek(2)) {
                (b'=', _) => (Kind::GreaterEqual, 2),
                (b'>', b'>') => (Kind::ShiftRightZero, 3),
                (b'>', _) => (Kind::ShiftRight, 2),
                _ => (Kind::Greater, 1),
            },
            b'=' => match (self.peek(1), self.peek(2)) {
                (b'=', _) => (Kind::Equal, 2),
                (b'?', b'=') => (Kind::Is, 3),
                (b'?', _) => {
                    self.at += 2;
                    return self.bad(BadToken::Operator);
                }
                (b'!', b'=') => (Kind::Isnt, 3),
                _ => (Kind::Bound, 1),
            },
            b'!' if self.peek(1) == b'=' => (Kind::NotEqual, 2),
            b'!' => (Kind::Not, 1),
            b'?' => {
                let mut next = self.at + 1;
                while is_space(self.source.get(next).copied().unwrap_or(0)) {
                    next += 1;
                }
                if self.source.get(next) == Some(&b':') {
                    (Kind::Elvis, next + 1 - self.at)
                } else {
                    (Kind::Question, 1)
                }
            }
            _ => {
                self.at += 1;
                return self.bad(BadToken::Byte);
            }
        };
        self.at += length;
        kind
    }
}

/// The decimal digits that a text begins with, as `std::from_chars` reads them: 0 where they do not fit.
pub(crate) fn integer(text: &[u8]) -> i64 {
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
