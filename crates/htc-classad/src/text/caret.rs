//! Positions in source texts as shown in messages: `file:line:column`, followed by the line and a caret below the
//! position.

use std::fmt;

use bstr::ByteSlice;

use super::Span;

/// Maximum number of columns of a line that are shown. A longer line is cut around the caret.
const MAX_COLUMNS: usize = 100;

/// Position in a source text.
#[derive(Clone, Copy, Debug)]
pub struct Caret<'a> {
    /// Name of the file as the user knows it, or a description such as `expression`.
    pub source: &'a str,
    /// Complete text.
    pub text: &'a [u8],
    /// Range of the position in the text.
    pub span: Span,
}

/// Position in one line of a source text, for callers that keep only lines and not whole files.
///
/// ```
/// use htc_classad::{LineCaret, Span};
/// let place = LineCaret { source: "jobs.ads", line: 7, text: b"Cpus = = 2", span: Span::new(7, 8), cut: 0 };
/// assert_eq!(place.to_string(), "jobs.ads:7:8");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LineCaret<'a> {
    /// Name of the file as the user knows it.
    pub source: &'a str,
    /// Number of the line, counted from 1.
    pub line: u32,
    /// Text of the line without its newline, or a part of it.
    pub text: &'a [u8],
    /// Range of the position within the text.
    pub span: Span,
    /// Number of bytes of the line that precede `text`.
    pub cut: usize,
}

impl<'a> Caret<'a> {
    /// Returns the position within the line on which it begins.
    pub fn line(&self) -> LineCaret<'a> {
        self.numbered_line(self.span.position(self.text).line)
    }

    /// Returns the position within the line on which it begins, given the number of this line. Counting lines again for
    /// many positions in a large text would be slow.
    pub fn numbered_line(&self, line: u32) -> LineCaret<'a> {
        let start = (self.span.start as usize).min(self.text.len());
        let first = memchr::memrchr(b'\n', &self.text[..start]).map_or(0, |newline| newline + 1);
        let last =
            memchr::memchr(b'\n', &self.text[start..]).map_or(self.text.len(), |length| start + length);
        let end = (self.span.end as usize).clamp(start, last.max(start));
        LineCaret {
            source: self.source,
            line,
            text: &self.text[first..last],
            span: Span::new(start - first, end - first),
            cut: 0,
        }
    }
}

/// Writes `file:line:column`, without the line and the caret.
impl fmt::Display for Caret<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.line(), f)
    }
}

/// Writes `file:line:column`, without the line and the caret.
impl fmt::Display for LineCaret<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.source, self.line, self.cut + self.span.start as usize + 1)
    }
}

impl LineCaret<'_> {
    /// Returns the position and the message, followed by the line and the caret below the position. The last two lines
    /// are indented by four blanks, and there is no newline at the end.
    ///
    /// Control characters are replaced by `?` or a blank, so that the caret is aligned and no escape sequences are sent
    /// to a terminal. Bytes that are not valid UTF-8 are shown as the replacement character.
    pub fn render(&self, message: &str) -> String {
        let (line, marks) = self.excerpt();
        format!("{self}: {message}\n    {line}\n    {marks}")
    }

    /// Returns the text of the line, and the line that has the caret.
    fn excerpt(&self) -> (String, String) {
        let start = (self.span.start as usize).min(self.text.len());
        let end = (self.span.end as usize).clamp(start, self.text.len());
        let before: Vec<char> = to_printable_chars(&self.text[..start]).collect();
        let marked: Vec<char> = to_printable_chars(&self.text[start..end]).collect();
        let after: Vec<char> = to_printable_chars(&self.text[end..]).collect();

        let cut = if before.len() > MAX_COLUMNS / 2 && before.len() + marked.len() + after.len() > MAX_COLUMNS
        {
            before.len() - MAX_COLUMNS / 2
        } else {
            0
        };
        let mut line: String = if cut > 0 || self.cut > 0 { "...".to_owned() } else { String::new() };
        line.extend(&before[cut..]);
        let column = line.chars().count();
        line.extend(marked.iter().chain(&after).take(MAX_COLUMNS.saturating_sub(column)));
        if before.len() - cut + marked.len() + after.len() > MAX_COLUMNS {
            line.push_str("...");
        }
        let mark_count = marked.len().clamp(1, MAX_COLUMNS.saturating_sub(column).max(1));
        let marks = format!("{}^{}", " ".repeat(column), "~".repeat(mark_count - 1));
        (line.trim_end().to_owned(), marks)
    }
}

impl Caret<'_> {
    /// Returns the position, the message, the line and the caret as [`LineCaret::render`] does.
    pub fn render(&self, message: &str) -> String {
        self.line().render(message)
    }
}

fn to_printable_chars(text: &[u8]) -> impl Iterator<Item = char> {
    text.chars().map(|c| match c {
        '\t' | '\r' => ' ',
        c if c.is_control() => '?',
        c => c,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_is_below_the_position() {
        let text = b"A = 1\n\tSTART = (a &&\nB = 2\n";
        let caret = Caret { source: "conf", text, span: Span::new(17, 19) };
        assert_eq!(caret.to_string(), "conf:2:12");
        assert_eq!(caret.render("oh"), "conf:2:12: oh\n     START = (a &&\n               ^~");
    }

    #[test]
    fn a_position_at_the_end_of_the_text_has_a_line() {
        let caret = Caret { source: "f", text: b"ab", span: Span::new(2, 9) };
        assert_eq!(caret.render("m"), "f:1:3: m\n    ab\n      ^");
        let caret = Caret { source: "f", text: b"", span: Span::at(7) };
        assert_eq!(caret.render("m"), "f:1:1: m\n    \n    ^");
    }

    #[test]
    fn a_long_line_is_shortened_around_the_caret() {
        let text = [b'x'; 5000];
        let caret = Caret { source: "f", text: &text, span: Span::new(3000, 3001) };
        let shown = caret.render("m");
        assert!(shown.lines().all(|line| line.len() < 120), "{shown}");
        let marks = shown.lines().nth(2).unwrap();
        assert_eq!(marks.find('^'), Some(4 + 3 + 50));
    }

    #[test]
    fn control_characters_and_bad_bytes_do_not_reach_the_terminal() {
        let caret = Caret { source: "f", text: b"a\x1b[2J\xff b", span: Span::new(6, 7) };
        assert_eq!(caret.render("m"), "f:1:7: m\n    a?[2J\u{fffd} b\n          ^");
    }
}
