//! Reader of routes in the old syntax: consecutive ads in a text, and the defaults for all of them.

use bstr::ByteSlice;

use htc_base::text::space::is_space;
use htc_classad::format::new_syntax;
use htc_classad::{ClassAd, Dialect};

/// Reader of consecutive routes in a text, as in JOB_ROUTER_ENTRIES.
pub struct OldRouteReader<'a> {
    text: &'a [u8],
    offset: usize,
    recovers: bool,
}

impl<'a> OldRouteReader<'a> {
    /// Creates a reader that resumes after errors as the reference does.
    pub fn new(text: &'a [u8]) -> Self {
        OldRouteReader { text, offset: 0, recovers: false }
    }

    /// Creates a reader that reports each invalid route once and resumes at the next `[`. The reference
    /// resumes after the first unexpected token and may report several errors for one route.
    pub fn new_recovering(text: &'a [u8]) -> Self {
        OldRouteReader { text, offset: 0, recovers: true }
    }

    /// Returns the number of bytes read so far.
    pub fn offset(&self) -> usize {
        self.offset
    }
}

impl Iterator for OldRouteReader<'_> {
    /// The route, or its error with a span relative to the start of the whole text.
    type Item = Result<ClassAd, htc_classad::ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.offset >= self.text.len() || (self.recovers && is_blank_or_comment(&self.text[self.offset..]))
        {
            return None;
        }
        let start = self.offset;
        let (ad, used) = match new_syntax::parse_prefix(&self.text[start..], Dialect::new_syntax()) {
            Ok((ad, used)) => (Ok(ad), used),
            Err(mut error) => {
                let rest = &self.text[start..];
                let (from, to) = (error.span.start as usize, error.span.end as usize);
                let used = match self.recovers {
                    true if is_outside_route(rest, from) => next_opening_bracket(rest, from),
                    true => next_route_start(rest, from).min(route_end(rest).unwrap_or(rest.len())),
                    false => resume_offset(rest, from, to),
                };
                let shift = u32::try_from(start).unwrap_or(u32::MAX);
                error.span.start = error.span.start.saturating_add(shift);
                error.span.end = error.span.end.saturating_add(shift);
                (Err(error), used)
            }
        };
        // At least one byte is consumed even on an error, so that the iteration terminates.
        self.offset = (start + used.max(1)).min(self.text.len());
        Some(ad)
    }
}

/// Returns true if only whitespace and comments follow.
fn is_blank_or_comment(text: &[u8]) -> bool {
    let text = text.trim_start();
    match text {
        [] => true,
        [b'/', b'/', ..] => text.find_byte(b'\n').is_none_or(|end| is_blank_or_comment(&text[end..])),
        [b'/', b'*', ..] => text[2..].find("*/").is_none_or(|end| is_blank_or_comment(&text[end + 4..])),
        _ => false,
    }
}

/// Returns true if the error is text that precedes a route and does not belong to it.
fn is_outside_route(text: &[u8], mistake: usize) -> bool {
    text.get(mistake) != Some(&b'[') && text.get(..mistake).is_some_and(is_blank_or_comment)
}

/// Returns the position of the next `[` after an error, or the end of the text.
fn next_opening_bracket(text: &[u8], mistake: usize) -> usize {
    memchr::memchr(b'[', &text[mistake..]).map_or(text.len(), |at| mistake + at)
}

/// Returns the position after the bracket that ends the first route of a text, or `None` if a bracket or a quote is
/// missing.
fn route_end(text: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(&byte) = text.get(at) {
        let rest = &text[at..];
        at += match byte {
            b'[' => {
                depth += 1;
                1
            }
            b']' if depth <= 1 => return (depth == 1).then_some(at + 1),
            b']' => {
                depth -= 1;
                1
            }
            quote @ (b'"' | b'\'') => quoted_length(rest, quote)?,
            b'/' if rest.starts_with(b"//") => rest.find_byte(b'\n')?,
            b'/' if rest.starts_with(b"/*") => rest[2..].find("*/")? + 4,
            _ => 1,
        };
    }
    None
}

/// Returns the length of the string or quoted name at the beginning of a text, or `None` if it is not closed.
fn quoted_length(text: &[u8], quote: u8) -> Option<usize> {
    let mut at = 1;
    loop {
        match *text.get(at)? {
            b'\\' => at += 2,
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// Returns the position of the next `[` that may begin a route: at the error, at the beginning of a line, or
/// after a `]`.
fn next_route_start(text: &[u8], mistake: usize) -> usize {
    let mistake = mistake.min(text.len());
    let begins = |at: usize| {
        let before = text[..at].trim_end_with(|c| matches!(c, ' ' | '\t'));
        at == mistake || before.is_empty() || matches!(before.last(), Some(b'\n' | b']'))
    };
    let opening = memchr::memchr_iter(b'[', &text[mistake..]).map(|at| mistake + at);
    opening.into_iter().find(|&at| at > 0 && begins(at)).unwrap_or(text.len())
}

/// Returns the position at which the reference resumes after an unexpected token. After most tokens it has
/// already read ahead, and the text that it read is lost (`classad::Lexer`).
fn resume_offset(text: &[u8], start: usize, end: usize) -> usize {
    let (Some(token), Some(behind)) = (text.get(start..end), text.get(end..)) else { return text.len() };
    let blanks = behind.iter().take_while(|&&b| is_space(b)).count();
    let read_ahead = match token {
        [b'"' | b'\'' | b'?', ..] => blanks + 1,
        [b'=' | b'!' | b'&' | b'|' | b'<' | b'>' | b'/' | b'-' | b'.'] | b">>" => 1,
        [first, ..] if first.is_ascii_alphanumeric() || matches!(first, b'_' | b'.') => 1,
        _ => 0,
    };
    (end + read_ahead).min(text.len())
}

/// Parses JOB_ROUTER_DEFAULTS: one ad, with or without brackets. If `merge` is true, the text may contain several ads,
/// and later ads override earlier ones. The text after an error is ignored.
///
/// # Errors
/// Returns an error for the part of the text that cannot be read; the ad contains the part before it.
pub fn parse_route_defaults(text: &[u8], merge: bool) -> (ClassAd, Option<htc_classad::ParseError>) {
    let mut merge = merge;
    let mut wrapped = Vec::new();
    let mut text = text;
    if text.is_empty() {
        return (ClassAd::new(), None);
    }
    let shift = if text[0] == b'[' {
        0
    } else {
        wrapped.extend_from_slice(b"[ ");
        wrapped.extend_from_slice(text);
        wrapped.extend_from_slice(b" ]");
        text = &wrapped;
        merge = false;
        2
    };
    let mut all = ClassAd::new();
    let mut routes = OldRouteReader::new(text);
    loop {
        match routes.next() {
            Some(Ok(ad)) => all.update(&ad),
            Some(Err(mut error)) => {
                error.span.start = error.span.start.saturating_sub(shift);
                error.span.end = error.span.end.saturating_sub(shift);
                return (all, Some(error));
            }
            None => return (all, None),
        }
        if !merge {
            return (all, None);
        }
        let rest = &text[routes.offset..];
        let skipped = rest.iter().take_while(|&&b| is_space(b) || b == b']').count();
        if skipped == rest.len() {
            return (all, None);
        }
        routes.offset += skipped;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the name of each route, or `!` for an error.
    fn names(text: &str) -> Vec<String> {
        OldRouteReader::new_recovering(text.as_bytes())
            .map(|route| match route {
                Ok(ad) => ad.string("Name").map_or_else(String::new, |name| name.to_string()),
                Err(_) => "!".to_owned(),
            })
            .collect()
    }

    #[test]
    fn routes_after_other_text_are_read() {
        for (text, routes) in [
            ("[ Name = \"K\"; ] garbage [ Name = \"L\"; ]", &["K", "!", "L"][..]),
            ("[ Name = \"K\" ], [ Name = \"L\" ], [ Name = \"M\" ]", &["K", "!", "L", "!", "M"]),
            ("garbage\n[ Name = \"L\" ]", &["!", "L"]),
            ("[ Name = \"K\"; set_A = ; ], [ Name = \"L\" ]", &["!", "!", "L"]),
            ("[ Name = \"K\"; set_A = ; ] [ Name = \"L\" ]", &["!", "L"]),
            ("[ Name = \"K\"; x = [ y = ]; ] // ]\n [ Name = \"L\" ]", &["!", "L"]),
            ("[ Name = \"K\"; set_A = ;\n[ Name = \"L\" ]", &["!", "L"]),
            ("[ Name = \"K\" ] // [ Name = \"C\" ]\n[ Name = \"L\" ] /* end */", &["K", "L"]),
        ] {
            assert_eq!(names(text), routes, "{text}");
        }
    }
}
