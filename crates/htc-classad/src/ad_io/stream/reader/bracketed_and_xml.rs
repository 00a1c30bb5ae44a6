//! Reading of ads in JSON, new syntax and XML, which begin and end with a bracket or a tag.

use std::io::{self, Read};

use bstr::ByteSlice;

use super::super::element_end::{BracketScanner, XmlAdScanner};
use super::super::error::{AdError, SurroundingText};
use super::super::strip_cr;
use super::{AdReader, AdRecord};
use crate::ad_io::format::{json, new_syntax, xml};
use crate::syntax::Dialect;
use crate::syntax::pitfalls::find_large_integer;
use crate::text::Span;
use crate::text::space::is_space;

/// Number of bytes that may be searched in vain for the ends of malformed ads. If the brackets of many ads are not closed, searching
/// for the end of each up to the end of the input would take quadratic time.
const MAX_SEARCHED_IN_VAIN: usize = 16 << 20;

impl<R: Read> AdReader<R> {
    /// Reads the next ad in JSON or new syntax.
    pub(super) fn next_bracketed_ad(&mut self, is_json: bool) -> io::Result<Option<AdRecord>> {
        let (own, list): (u8, &[u8; 3]) = if is_json { (b'{', b"[],") } else { (b'[', b"{},") };
        loop {
            let Some(byte) = self.skip_blanks()? else {
                let missing = if is_json { "`]`" } else { "`}`" };
                return Ok(self.end_of_lists(missing));
            };
            if byte == own {
                let record = self.read_bracketed_ad(is_json)?;
                if record.ad.is_empty() && record.errors.is_empty() {
                    continue;
                }
                return Ok(Some(record));
            }
            if list.contains(&byte) {
                if byte == list[0] {
                    self.open_lists = self.open_lists.saturating_add(1);
                } else if byte == list[1] {
                    self.open_lists = self.open_lists.saturating_sub(1);
                }
                self.window.skip_and_count_lines(1);
                continue;
            }
            let (length, _) = self.window.peek_line()?.unwrap_or_default();
            let line = self.window.line;
            let text = strip_cr(self.window.unread_range(0..length));
            let surroundings = SurroundingText::from_window(&self.window, length);
            let message = format!(
                "expected an ad in the {} form, which begins with `{}`",
                self.form().name(),
                char::from(own)
            );
            let error = AdError::at_span(text, surroundings, Span::new(0, text.len().min(40)), message, None);
            // One error covers all text up to the next byte that may begin an ad.
            loop {
                let (_, whole) = self.window.peek_line()?.unwrap_or_default();
                self.window.skip_and_count_lines(whole);
                match self.skip_blanks()? {
                    Some(byte) if byte != own && !list.contains(&byte) => {}
                    _ => break,
                }
            }
            return Ok(Some(AdRecord { line, errors: vec![error], ..AdRecord::default() }));
        }
    }

    /// Returns a record with the error that the input ends within a list, or `None` if it does not.
    fn end_of_lists(&mut self, missing: &str) -> Option<AdRecord> {
        if std::mem::take(&mut self.open_lists) == 0 {
            return None;
        }
        let surroundings = SurroundingText::from_window(&self.window, 0);
        let message = format!("the list of ads is not closed; its end {missing} is missing");
        let help = Some("the input may have been cut off, so ads may be missing");
        let error = AdError::at_span(b"", surroundings, Span::new(0, 0), message, help);
        Some(AdRecord { line: self.window.line, errors: vec![error], ..AdRecord::default() })
    }

    fn read_bracketed_ad(&mut self, is_json: bool) -> io::Result<AdRecord> {
        let own: &[u8] = if is_json { b"\n{" } else { b"\n[" };
        let mut extent = BracketScanner::default();
        let end = if self.searched_in_vain < MAX_SEARCHED_IN_VAIN {
            self.window.find_end(|text| extent.find_end(text))?
        } else {
            let mut searched = 0;
            self.window.find_end(|text| {
                let next = text[searched..].find(own).map(|at| searched + at + 1);
                searched = text.len().saturating_sub(1);
                extent.find_end(&text[..next.unwrap_or(text.len())]).or(next)
            })?
        };
        let length = end.unwrap_or(self.window.unread().len());
        let text = self.window.unread_range(0..length);
        let line = self.window.line;
        let mut record = AdRecord { line, ..AdRecord::default() };
        let read = if is_json {
            json::parse_next(text, self.dialect.json_utf8(!self.reference_json), &mut self.memo)
        } else {
            new_syntax::parse_prefix(text, self.dialect)
        };
        let used = match read {
            Ok((ad, used)) => {
                record.ad = ad;
                let dialect = if is_json { Dialect::json() } else { self.dialect };
                if let Some(span) = find_large_integer(&text[..used], dialect) {
                    let surroundings = SurroundingText::from_window(&self.window, length);
                    record.errors.push(AdError::large_integer(text, surroundings, span, "is read as 0"));
                }
                used
            }
            Err(error) => {
                record.errors.push(AdError::from_parse_error(
                    text,
                    SurroundingText::from_window(&self.window, length),
                    &error,
                ));
                // If a bracket or quote is missing, the next ad may begin within this text. In lists, ads in JSON and
                // new syntax begin in the first column; nested ads do not.
                let next = text.find(own).map(|at| at + 1);
                let used = next.unwrap_or(length);
                self.searched_in_vain += length - used;
                used
            }
        };
        if end.is_none() {
            // The error of the ad already reports that the input was cut off.
            self.open_lists = 0;
        }
        self.window.skip_and_count_lines(used);
        Ok(record)
    }

    /// Skips white space and comments, and returns the next byte, or `None` at the end of the input.
    fn skip_blanks(&mut self) -> io::Result<Option<u8>> {
        loop {
            match self.window.peek_byte(0)? {
                Some(byte) if is_space(byte) => {
                    let rest = self.window.unread();
                    let blanks = rest.iter().take_while(|byte| is_space(**byte)).count();
                    self.window.skip_and_count_lines(blanks);
                }
                Some(b'#') => self.skip_line()?,
                Some(b'/') if self.window.peek_byte(1)? == Some(b'/') => self.skip_line()?,
                Some(b'/') if !self.has_open_comment && self.window.peek_byte(1)? == Some(b'*') => {
                    let mut from = 2;
                    loop {
                        let rest = self.window.unread();
                        if let Some(end) = rest[from..].find(b"*/") {
                            let end = from + end + 2;
                            self.window.skip_and_count_lines(end);
                            break;
                        }
                        from = rest.len().saturating_sub(1).max(2);
                        if !self.window.read_more()? {
                            self.has_open_comment = true;
                            return Ok(Some(b'/'));
                        }
                    }
                }
                byte => return Ok(byte),
            }
        }
    }

    fn skip_line(&mut self) -> io::Result<()> {
        let (_, whole) = self.window.peek_line()?.unwrap_or_default();
        self.window.skip_and_count_lines(whole);
        Ok(())
    }

    /// Reads the next ad of an XML list.
    pub(super) fn next_xml_ad(&mut self) -> io::Result<Option<AdRecord>> {
        loop {
            let mut extent = XmlAdScanner::default();
            let complete = loop {
                if let Some(end) = extent.find_end(self.window.unread()) {
                    break Some(end);
                }
                if !self.window.read_more()? {
                    break None;
                }
            };
            let text = self.window.unread();
            let text = &text[..complete.unwrap_or(text.len())];
            if text.trim().is_empty() {
                let rest = text.len();
                self.window.skip_and_count_lines(rest);
                return Ok(self.end_of_lists("tag </classads>"));
            }
            let first = self.window.line;
            let begin = text.find(b"<c>").or_else(|| text.find(b"<c ")).unwrap_or(0);
            let line = first + memchr::memchr_iter(b'\n', &text[..begin]).count() as u64;
            let list_tags = if begin == 0 { text } else { &text[..begin] };
            let (opened, closed) = (list_tags.rfind(b"<classads>"), list_tags.rfind(b"</classads>"));
            if opened != closed {
                self.open_lists = u32::from(opened > closed);
            }
            let mut record = AdRecord { line, ..AdRecord::default() };
            let mut fail = |at: usize, message: &str| {
                let span = Span::new(at, at + 1);
                let surroundings = SurroundingText::from_window(&self.window, text.len());
                record.errors.push(AdError::at_span(text, surroundings, span, message.to_owned(), None));
            };
            let mut used = text.len();
            let mut large_integers = Vec::new();
            match xml::parse_prefix(text, self.dialect) {
                Ok(read) => {
                    if let Some(large) = read.large_integer {
                        let surroundings = SurroundingText::from_window(&self.window, text.len());
                        let reading = if large.is_error { "is an error" } else { "is read as 0" };
                        large_integers.push(AdError::large_integer(text, surroundings, large.span, reading));
                    }
                    record.ad = read.ad;
                    match (read.found_ad, complete) {
                        (true, None) => {
                            self.open_lists = 0;
                            fail(begin, "the ad is not closed; its end tag </c> is missing");
                        }
                        (true, Some(_)) => used = read.used.max(1),
                        // An XML list without ads is valid.
                        (false, _) if !self.xml_started && text.find("<classads>").is_none() => {
                            fail(0, "no ad found; an ad begins with <c>")
                        }
                        (false, _) => {}
                    }
                }
                Err(error) => fail(error.at, error.what),
            }
            record.errors.append(&mut large_integers);
            self.xml_started = true;
            self.window.skip_and_count_lines(used);
            if !record.ad.is_empty() || !record.errors.is_empty() {
                return Ok(Some(record));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::AdReader;

    /// Returns the numbers of ads and the errors of a text.
    fn count_ads(text: &str) -> (usize, Vec<String>) {
        let mut reader = AdReader::new(text.as_bytes(), None);
        let (mut ads, mut errors) = (0, Vec::new());
        while let Some(record) = reader.next_record().expect("memory") {
            ads += usize::from(!record.ad.is_empty());
            errors.extend(record.errors.into_iter().map(|error| format!("{}:{}", error.line, error.message)));
        }
        (ads, errors)
    }

    #[test]
    fn a_list_that_was_cut_off_between_two_ads_is_an_error() {
        let json = "the list of ads is not closed; its end `]` is missing";
        let new = "the list of ads is not closed; its end `}` is missing";
        let xml = "the list of ads is not closed; its end tag </classads> is missing";
        for (text, ads, error) in [
            ("[{\"A\":1},{\"A\":2}", 2, format!("1:{json}")),
            ("[\n{\"A\":1}\n,\n", 1, format!("4:{json}")),
            ("[{\"A\":1}]\n[{\"A\":2}", 2, format!("2:{json}")),
            ("{ [A=1],\n[A=2]", 2, format!("2:{new}")),
            ("<classads>\n<c><a n=\"A\"><i>1</i></a></c>\n", 1, format!("3:{xml}")),
            ("<?xml version=\"1.0\"?>\n<classads>\n", 0, format!("3:{xml}")),
        ] {
            assert_eq!(count_ads(text), (ads, vec![error]), "{text}");
        }
        for (text, ads) in [
            ("[{\"A\":1},{\"A\":2}]", 2),
            ("[{\"A\":1}]\n[{\"A\":2}]", 2),
            ("{\"A\":1}\n{\"A\":2}\n", 2),
            ("[\n]\n", 0),
            ("[A=1]\n[A=2]", 2),
            ("<classads>\n</classads>\n", 0),
            ("<c><a n=\"A\"><i>1</i></a></c>", 1),
            ("<classads><c><a n=\"A\"><i>1</i></a></c></classads><classads></classads>", 1),
        ] {
            assert_eq!(count_ads(text), (ads, vec![]), "{text}");
        }
    }
}
