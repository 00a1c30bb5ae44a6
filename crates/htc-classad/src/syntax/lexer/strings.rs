//! Reading of string literals and quoted names. In new syntax and JSON, escape sequences are replaced and adjacent
//! strings are joined. In old syntax, a backslash is an ordinary byte unless a quote follows. A text that needs no
//! change is not copied from the source.

use super::{BadToken, Lexer, TokenKind, unescape, unescape_json, unescape_json_utf8};
use crate::syntax::scalar::TextRange;
use crate::text::space::is_space;

impl Lexer<'_> {
    /// Reads a string or quoted name whose opening quote has just been consumed.
    pub(super) fn lex_string(&mut self, quote: u8) -> TokenKind {
        self.at += 1;
        let complete =
            if self.dialect.old_strings { self.lex_old_string(quote) } else { self.lex_new_string(quote) };
        match complete {
            Some(_) if quote == b'"' => TokenKind::String,
            Some(_) => TokenKind::Identifier,
            None => TokenKind::Bad,
        }
    }

    /// Reads a string in new syntax: replaces escape sequences and joins adjacent strings.
    fn lex_new_string(&mut self, quote: u8) -> Option<()> {
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
                self.token.text = TextRange { start: start as u32, len: (end - start) as u32 };
                return Some(());
            }
            let last = &self.source[piece..end];
            let raw = match &mut raw {
                Some(raw) => {
                    raw.extend_from_slice(last);
                    &raw[..]
                }
                None => last,
            };
            let from = self.extra.len();
            if self.dialect.json {
                self.token.quoted_expression =
                    raw.len() >= 4 && raw.starts_with(b"\\/") && raw.ends_with(b"\\/");
                let resolve = if self.dialect.json_utf8 { unescape_json_utf8 } else { unescape_json };
                if !resolve(raw, &mut self.extra) {
                    self.token.bad = BadToken::Nul;
                    return None;
                }
            } else if !unescape(raw, &mut self.extra) {
                self.token.bad = BadToken::Nul;
                return None;
            }
            self.token.text =
                TextRange { start: (self.source.len() + from) as u32, len: (self.extra.len() - from) as u32 };
            return Some(());
        }
    }

    /// Reads a string in old syntax: a backslash is special only before a quote that does not end the line.
    fn lex_old_string(&mut self, quote: u8) -> Option<()> {
        let start = self.at;
        let mut piece = start;
        let mut own: Option<usize> = None;
        // Offset after the opening quote or after the last escaped quote. A quote at this offset closes the string.
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
                None => TextRange { start: start as u32, len: (end - start) as u32 },
                Some(from) => {
                    self.extra.extend_from_slice(&self.source[piece..end]);
                    TextRange {
                        start: (self.source.len() + from) as u32,
                        len: (self.extra.len() - from) as u32,
                    }
                }
            };
            return Some(());
        }
    }
}
