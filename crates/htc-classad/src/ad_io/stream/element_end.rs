//! Search for the end of an ad without parsing it, so that the parser is given a text with exactly one ad.

/// Scanner for the bracket that closes the first bracket of a text. When more input has been read, the scanner is
/// called again with the extended text and continues where it stopped.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BracketScanner {
    at: usize,
    depth: usize,
    state: LexicalState,
}

#[derive(Clone, Copy, Debug, Default)]
enum LexicalState {
    #[default]
    Code,
    Quotes(u8),
    LineComment,
    Comment,
}

impl BracketScanner {
    /// Returns the offset after the closing bracket, or `None` if the text does not contain it yet.
    pub(crate) fn find_end(&mut self, text: &[u8]) -> Option<usize> {
        while let Some(&byte) = text.get(self.at) {
            match self.state {
                LexicalState::Code => match byte {
                    b'[' | b'{' | b'(' => self.depth += 1,
                    b']' | b'}' | b')' => {
                        self.depth = self.depth.saturating_sub(1);
                        if self.depth == 0 {
                            return Some(self.at + 1);
                        }
                    }
                    b'"' | b'\'' => self.state = LexicalState::Quotes(byte),
                    b'/' => match text.get(self.at + 1) {
                        None => return None,
                        Some(b'/') => self.state = LexicalState::LineComment,
                        Some(b'*') => {
                            self.state = LexicalState::Comment;
                            self.at += 1;
                        }
                        Some(_) => {}
                    },
                    _ => {}
                },
                LexicalState::Quotes(quote) => {
                    let Some(length) = memchr::memchr2(quote, b'\\', &text[self.at..]) else {
                        self.at = text.len();
                        return None;
                    };
                    self.at += length;
                    if text[self.at] == quote {
                        self.state = LexicalState::Code;
                    } else {
                        // If the escaped byte is not in the text yet, stop before the backslash: the next call would
                        // otherwise treat an escaped quote as the end of the string.
                        text.get(self.at + 1)?;
                        self.at += 1;
                    }
                }
                LexicalState::LineComment => {
                    let length = memchr::memchr(b'\n', &text[self.at..]);
                    self.at = length.map_or(text.len(), |length| self.at + length);
                    length?;
                    self.state = LexicalState::Code;
                }
                LexicalState::Comment => {
                    let length = memchr::memchr(b'*', &text[self.at..]);
                    self.at = length.map_or(text.len(), |length| self.at + length);
                    if *text.get(self.at + 1)? == b'/' {
                        self.state = LexicalState::Code;
                        self.at += 1;
                    }
                }
            }
            self.at += 1;
        }
        None
    }
}

/// Scanner for the `</c>` that closes the first `<c>` of a text. Called repeatedly like `BracketScanner`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct XmlAdScanner {
    at: usize,
    depth: usize,
}

impl XmlAdScanner {
    /// Returns the offset after the closing tag, or `None` if the text does not contain it yet.
    pub(crate) fn find_end(&mut self, text: &[u8]) -> Option<usize> {
        loop {
            let length = memchr::memchr(b'<', text.get(self.at..)?);
            let Some(length) = length else {
                self.at = text.len();
                return None;
            };
            let start = self.at + length;
            self.at = start;
            let end = start + memchr::memchr(b'>', &text[start..])? + 1;
            self.at = end;
            match text[start + 1..end - 1].trim_ascii() {
                b"c" => self.depth += 1,
                tag if tag.starts_with(b"c ") && !tag.ends_with(b"/") => self.depth += 1,
                b"/c" => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(end);
                    }
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_found_however_the_text_is_split() {
        for (text, end) in [
            ("[a = 1] [b]", 7),
            (r#"{"a": "}", "b\"}": [1,{}]} "#, 26),
            ("[a = \"]\\\\\"; /* ] */ b = '\\']' // ]\n] x", 36),
            ("[a = 1 / 2]", 11),
        ] {
            let text = text.as_bytes();
            assert_eq!(
                BracketScanner::default().find_end(text),
                Some(end),
                "{}",
                String::from_utf8_lossy(text)
            );
            let mut piecewise = BracketScanner::default();
            let found = (0..=text.len()).find_map(|length| piecewise.find_end(&text[..length]));
            assert_eq!(found, Some(end));
        }
        assert_eq!(BracketScanner::default().find_end(b"[a = \"]"), None);
    }

    #[test]
    fn nested_elements_are_recognized() {
        let text = b"<?xml?><classads><c><a n=\"x\"><c></c></a></c><c>";
        assert_eq!(XmlAdScanner::default().find_end(text), Some(text.len() - 3));
        let mut piecewise = XmlAdScanner::default();
        assert_eq!(
            (0..=text.len()).find_map(|length| piecewise.find_end(&text[..length])),
            Some(text.len() - 3)
        );
    }
}
