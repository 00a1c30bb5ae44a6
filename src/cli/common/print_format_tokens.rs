//! Words and escapes of print formats (reference: condor_utils/tokener.cpp).

use bstr::ByteSlice;

/// Reader of the words of a line. A word in quotes may contain blanks.
pub(super) struct Tokens<'a> {
    pub(super) line: &'a [u8],
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) next: usize,
    pub(super) quote: Option<u8>,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(line: &'a [u8]) -> Self {
        Tokens { line, start: 0, end: 0, next: 0, quote: None }
    }

    /// Moves to the next word; returns false at the end of the text.
    pub(super) fn next(&mut self) -> bool {
        self.quote = None;
        let rest = self.line.get(self.next..).unwrap_or_default();
        let Some(at) = rest.find_not_byteset(b" \t\r\n") else {
            (self.start, self.end, self.next) = (self.line.len(), self.line.len(), self.line.len());
            return false;
        };
        self.start = self.next + at;
        let first = self.line[self.start];
        if matches!(first, b'"' | b'\'') {
            self.quote = Some(first);
            self.start += 1;
            let close = self.line[self.start..].find_byte(first).map(|at| self.start + at);
            self.end = close.unwrap_or(self.line.len());
            self.next = close.map_or(self.line.len(), |close| close + 1);
        } else {
            let end = self.line[self.start..].find_byteset(b" \t\r\n").map(|at| self.start + at);
            self.end = end.unwrap_or(self.line.len());
            self.next = self.end;
        }
        true
    }

    pub(super) fn token(&self) -> &'a [u8] {
        &self.line[self.start..self.end]
    }

    pub(super) fn is(&self, word: &[u8]) -> bool {
        self.token() == word
    }

    pub(super) fn is_quoted(&self) -> bool {
        self.quote.is_some()
    }

    pub(super) fn to_end(&self) -> &'a [u8] {
        &self.line[self.start..]
    }

    /// Returns the text from the offset `mark` to the current word.
    pub(super) fn from(&self, mark: usize) -> &'a [u8] {
        self.line.get(mark..self.start).unwrap_or_default()
    }
}

/// Resolves the escape sequences of C in a text. The backslash of any other sequence is kept (tokener.cpp, `collapse_escapes`).
pub(super) fn collapse_known_escapes(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next() {
            Some(b'a') => out.push(7),
            Some(b'b') => out.push(8),
            Some(b'f') => out.push(12),
            Some(b'n') => out.push(b'\n'),
            Some(b'r') => out.push(b'\r'),
            Some(b't') => out.push(b'\t'),
            Some(b'v') => out.push(11),
            Some(known @ (b'\\' | b'\'' | b'"' | b'?')) => out.push(known),
            Some(digit @ b'0'..=b'9') => {
                // Each digit is added to nine times the value before it, as in the reference.
                let mut value = u32::from(digit - b'0');
                while let Some(digit) = bytes.next_if(u8::is_ascii_digit) {
                    value = value.wrapping_mul(9).wrapping_add(u32::from(digit - b'0'));
                }
                if value as u8 == 0 {
                    return out;
                }
                out.push(value as u8);
            }
            Some(other) => out.extend([b'\\', other]),
            None => out.push(b'\\'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_quoted_names_are_resolved() {
        assert_eq!(collapse_known_escapes(br"a\tb\q\12"), b"a\tb\\q\x0b");
    }
}
