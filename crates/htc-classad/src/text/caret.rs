//! Places in a source text as shown in messages: `file:line:column`, the line, and a caret below it.

use std::fmt;

use bstr::ByteSlice;

use super::Span;

/// Maximum number of columns shown of a line; a longer line is cut around the caret.
const MAX_COLUMNS: usize = 100;

/// Place in a named source text.
#[derive(Clone, Copy, Debug)]
pub struct Caret<'a> {
    /// The file's name as the user knows it, or a word such as `expression`.
    pub source: &'a str,
    /// The whole text.
    pub text: &'a [u8],
    /// The place.
    pub span: Span,
}

/// Place in one line of a source text, for callers that keep lines instead of whole files.
///
/// ```
/// use htc_classad::{LineCaret, Span};
/// let place = LineCaret { source: "jobs.ads", line: 7, text: b"Cpus = = 2", span: Span::new(7, 8), cut: 0 };
/// assert_eq!(place.to_string(), "jobs.ads:7:8");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LineCaret<'a> {
    /// The file's name as the user knows it.
    pub source: &'a str,
    /// Line number from 1.
    pub line: u32,
    /// The line's text without its end.
    pub text: &'a [u8],
    /// The place within the text.
    pub span: Span,
    /// Number of bytes of the line before `text`, if `text` is only part of the line.
    pub cut: usize,
}

impl<'a> Caret<'a> {
    /// Returns the line on which the place begins.
    pub fn line(&self) -> LineCaret<'a> {
        self.numbered_line(self.span.position(self.text).line)
    }

    /// Returns the line on which the place begins, given its number: counting lines for many places in a large text is
    /// slow.
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

/// Writes only `file:line:column`.
impl fmt::Display for Caret<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.line(), f)
    }
}

/// Writes only `file:line:column`.
impl fmt::Display for LineCaret<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.source, self.line, self.cut + self.span.start as usize + 1)
    }
}

impl LineCaret<'_> {
    /// Returns the place and the message, then the line and the caret below it, each indented by four blanks, without a
    /// newline at the end.
    ///
    /// Control characters are shown as `?` or a blank, so that the caret is aligned and no escape sequences reach a
    /// terminal; bytes that are not valid UTF-8 are shown as the replacement character.
    pub fn render(&self, message: &str) -> String {
        let (line, marks) = self.excerpt();
        format!("{self}: {message}\n    {line}\n    {marks}")
    }

    /// Returns the line and the line with the caret.
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
        let under = marked.len().clamp(1, MAX_COLUMNS.saturating_sub(column).max(1));
        let marks = format!("{}^{}", " ".repeat(column), "~".repeat(under - 1));
        (line.trim_end().to_owned(), marks)
    }
}

impl Caret<'_> {
    /// Renders the message as [`LineCaret::render`] does.
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
    fn the_caret_stands_under_the_place() {
        let text = b"A = 1\n\tSTART = (a &&\nB = 2\n";
        let caret = Caret { source: "conf", text, span: Span::new(17, 19) };
        assert_eq!(caret.to_string(), "conf:2:12");
        assert_eq!(caret.render("oh"), "conf:2:12: oh\n     START = (a &&\n               ^~");
    }

    #[test]
    fn a_place_at_the_end_of_the_text_still_has_a_line() {
        let caret = Caret { source: "f", text: b"ab", span: Span::new(2, 9) };
        assert_eq!(caret.render("m"), "f:1:3: m\n    ab\n      ^");
        let caret = Caret { source: "f", text: b"", span: Span::at(7) };
        assert_eq!(caret.render("m"), "f:1:1: m\n    \n    ^");
    }

    #[test]
    fn a_long_line_is_cut_around_the_caret() {
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
