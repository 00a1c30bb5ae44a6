//! Reader of a stream that behaves exactly like the HTCondor tools (reference: `InsertFromStream`,
//! `CondorClassAdFileParseHelper` and `CondorClassAdFileIterator`, compat_classad.cpp; `Parser` of the Python
//! bindings).

use std::io::{self, Empty, Read};

use bstr::{BString, ByteSlice};

use super::batches::{AdBatcher, BatchReader};
use super::element_end::{BracketScanner, XmlAdScanner};
use super::input_window::InputWindow;
use super::{AdForm, Delimiter, LineKind, Projection, strip_cr};
use crate::ad::ClassAd;
use crate::ad_io::format::{json, new_syntax, xml};
use crate::ad_io::line_memo::LineMemo;
use crate::ad_io::line_reader::{KeptAttributes, LineOptions};
use crate::syntax::{Dialect, ParseError};
use crate::text::space::is_space;

/// Result of one call of the reference's reader.
///
/// ```
/// use htc_classad::stream::{AdForm, Delimiter, ReferenceReader};
/// let text = "Cpus = 4\nMemory = 8\n***\n";
/// let mut reader = ReferenceReader::new(text.as_bytes(), Some(AdForm::Long), Delimiter::Prefix(b"***".to_vec()));
/// let outcome = reader.next_outcome().unwrap();
/// assert_eq!((outcome.status, outcome.failed, outcome.ad.len()), (2, false, 2));
/// assert_eq!(outcome.banner, "***");
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ReadOutcome {
    /// Ad, or the part of it that could be read.
    pub ad: ClassAd,
    /// Number of attribute lines or attributes that were read: 0 for an empty ad or at the end of the input, negative for an
    /// error.
    pub status: i32,
    /// True if a part of the ad could not be read; the ad may still have attributes.
    pub failed: bool,
    /// Delimiter line that ended the ad; empty if blank lines are the delimiters.
    pub banner: BString,
    /// True if the input has ended.
    pub end: bool,
}

/// Reader that reproduces all peculiarities of the reference's reader.
///
/// ```
/// use htc_classad::stream::{Delimiter, ReferenceReader};
/// let mut reader = ReferenceReader::new(&b"Cpus = 4\n\nCpus = 8\n"[..], None, Delimiter::Blank);
/// let mut cpus = Vec::new();
/// while let Some(ad) = reader.next_ad().unwrap() {
///     cpus.push(ad["Cpus"].to_string());
/// }
/// assert_eq!((cpus, reader.has_failed(), reader.would_abort()), (vec!["4".into(), "8".into()], false, false));
/// ```
#[derive(Debug)]
pub struct ReferenceReader<R> {
    window: InputWindow<R>,
    form: Option<AdForm>,
    delimiter: Delimiter,
    inside_list: bool,
    banner: BString,
    end: bool,
    would_abort: bool,
    has_failed: bool,
    dialect: Dialect,
    memo: LineMemo,
    /// Number of bytes at the start of the window that [`ReferenceReader::next_projected`] has found to be complete long ads.
    whole_ads_len: usize,
}

/// Result of parsing an ad in a syntax other than the long form.
enum InsertOutcome {
    /// An ad with this number of attributes was read.
    Attributes(usize),
    /// The input has ended.
    End,
    Error,
    /// The input is in the long form. Contains its first line if that was already read.
    Long(Option<Vec<u8>>),
}

/// Returns the outcome of each call of the reference's reader until the end of the input.
impl<R: Read> Iterator for ReferenceReader<R> {
    type Item = io::Result<ReadOutcome>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.end {
            return None;
        }
        match self.next_outcome() {
            Ok(outcome) if outcome.end && outcome.ad.is_empty() && !outcome.failed => None,
            Ok(outcome) => Some(Ok(outcome)),
            Err(error) => {
                self.end = true;
                Some(Err(error))
            }
        }
    }
}

impl<R: Read> std::iter::FusedIterator for ReferenceReader<R> {}

impl<R: Read> ReferenceReader<R> {
    /// Creates a reader of ads in the given syntax, or with `None` in a syntax that is detected.
    ///
    /// ```
    /// use htc_classad::stream::{AdForm, Delimiter, ReferenceReader};
    /// let reader = ReferenceReader::new(&b"<classads><c><a n=\"A\"><i>1</i></a></c></classads>"[..], Some(AdForm::Xml), Delimiter::Blank);
    /// assert_eq!(reader.filter(|outcome| !outcome.as_ref().unwrap().ad.is_empty()).count(), 1);
    /// ```
    pub fn new(read: R, form: Option<AdForm>, delimiter: Delimiter) -> Self {
        ReferenceReader {
            window: InputWindow::new(read),
            form,
            delimiter,
            inside_list: false,
            banner: BString::default(),
            end: false,
            would_abort: false,
            has_failed: false,
            dialect: Dialect::new_syntax(),
            memo: LineMemo::default(),
            whole_ads_len: 0,
        }
    }

    /// Sets the dialect of the expressions, for example to turn on strict mode.
    #[must_use]
    pub fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = dialect;
        self.memo = LineMemo::new(dialect, false);
        self
    }

    /// Returns the syntax of the stream, or `None` if it has not been detected yet.
    pub fn form(&self) -> Option<AdForm> {
        self.form
    }

    /// Returns the bytes that were read from the input but do not belong to an ad yet.
    ///
    /// ```
    /// use htc_classad::stream::{AdForm, Delimiter, ReferenceReader};
    /// let mut reader = ReferenceReader::new(&b"[ A = 1 ] [ A = 2 ]"[..], Some(AdForm::New), Delimiter::Blank);
    /// reader.next_ad().unwrap().unwrap();
    /// assert_eq!(reader.unread().trim_ascii(), b"[ A = 2 ]");
    /// ```
    pub fn unread(&self) -> &[u8] {
        self.window.unread()
    }

    /// Reads the next ad. The result has the same parts as that of `CondorClassAdFileIterator::next`.
    ///
    /// # Errors
    /// Fails if reading fails.
    pub fn next_outcome(&mut self) -> io::Result<ReadOutcome> {
        if self.end {
            return Ok(ReadOutcome { end: true, banner: self.banner.clone(), ..ReadOutcome::default() });
        }
        let mut ad = self.memo.begin_ad();
        let (attributes, error) = self.insert_from_stream(&mut ad)?;
        self.memo.end_ad(&ad);
        let status = match (attributes, error) {
            (1.., _) => attributes,
            _ if self.end => 0,
            (_, ..0) => error,
            _ => 0,
        };
        if status < 0 {
            ad.clear();
        }
        Ok(ReadOutcome { ad, status, failed: error < 0, banner: self.banner.clone(), end: self.end })
    }

    /// Reads the next ad that has attributes and no error. Returns `None` at the end of the input or after an error.
    ///
    /// # Errors
    /// Fails if reading fails.
    pub fn next_ad(&mut self) -> io::Result<Option<ClassAd>> {
        while !self.end {
            let mut ad = self.memo.begin_ad();
            let (attributes, error) = self.insert_from_stream(&mut ad)?;
            if error < 0 {
                self.has_failed = true;
                return Ok(None);
            }
            if attributes > 0 {
                self.memo.end_ad(&ad);
                return Ok(Some(ad));
            }
        }
        Ok(None)
    }

    /// Reads the next long ad with only its wanted attributes and the attributes to which their values refer, and like
    /// [`ReferenceReader::next_ad`] in other respects. An ad that cannot be projected, or is in another syntax, is read
    /// completely. All ads are read completely if the projection [needs all attributes](Projection::needs_all_attributes). The
    /// memory of `ad` is reused. Returns false at the end of the input.
    ///
    /// # Errors
    /// Fails if reading fails.
    pub fn next_projected(&mut self, projection: &mut Projection, ad: &mut ClassAd) -> io::Result<bool> {
        ad.clear();
        let by_lines = self.form == Some(AdForm::Long) && !matches!(self.delimiter, Delimiter::Prefix(_));
        while by_lines && !self.end && !projection.needs_all_attributes() {
            if self.whole_ads_len == 0 {
                self.whole_ads_len = self.window.whole_ads_length(&self.delimiter)?;
            }
            let options = LineOptions {
                delimiter: &self.delimiter,
                may_have_nul: self.window.has_nul(),
                stop_early: false,
            };
            let text = self.window.unread_range(0..self.whole_ads_len);
            let (found, complete) = projection.read_ad(text, options, self.dialect, false, ad);
            if !complete || !found.errors.is_empty() {
                // The ad is read again from its beginning, so that the result is the same as without a projection.
                break;
            }
            self.window.skip(found.bytes_used);
            self.whole_ads_len -= found.bytes_used;
            self.end = self.whole_ads_len == 0 && self.window.is_at_end()?;
            if found.first_attribute.is_some() {
                return Ok(true);
            }
        }
        self.whole_ads_len = 0;
        Ok(self.next_ad()?.map(|whole| *ad = whole).is_some())
    }

    /// Takes a discarded ad, whose memory is reused for a later ad.
    pub fn reuse(&mut self, ad: ClassAd) {
        self.memo.reuse(ad);
    }

    /// Creates a reader with the same settings and no input, for batches of an [`AdBatcher`].
    pub fn batch_reader(&self) -> ReferenceReader<Empty> {
        ReferenceReader::new(io::empty(), Some(AdForm::Long), self.delimiter.clone()).dialect(self.dialect)
    }

    /// Distributes the rest of a stream in batches. The stream must be in [the long form](ReferenceReader::form).
    pub fn into_batcher(self) -> AdBatcher<R> {
        AdBatcher::new(self.window, self.delimiter)
    }

    /// Returns true if [`ReferenceReader::next_ad`] has found an ad that it could not read.
    pub fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Returns true if the reference would abort with a failed assertion after this input, because its first line looks like a
    /// complete ad in JSON or new syntax but is not.
    pub fn would_abort(&self) -> bool {
        self.would_abort
    }

    /// Reads an ad like `InsertFromStream`. Returns the number of attributes and the error code.
    fn insert_from_stream(&mut self, ad: &mut ClassAd) -> io::Result<(i32, i32)> {
        let mut line = match self.parse_other_form(ad)? {
            InsertOutcome::Attributes(0) => None,
            InsertOutcome::Attributes(count) => return Ok((i32::try_from(count).unwrap_or(i32::MAX), 0)),
            InsertOutcome::End => {
                self.end = true;
                return Ok((0, 0));
            }
            InsertOutcome::Error => {
                self.end = self.window.is_at_end()?;
                return Ok((-1, -1));
            }
            InsertOutcome::Long(first) => first,
        };
        let mut attributes: i32 = 0;
        loop {
            let bad = match line.take() {
                Some(first) => match self.memo.read_line(&first, None, KeptAttributes::All, ad) {
                    Ok(()) => {
                        attributes = attributes.saturating_add(1);
                        continue;
                    }
                    Err(_) => first,
                },
                None => {
                    let (good, ended, bad) = self.read_good_lines(ad)?;
                    attributes = attributes.saturating_add(good);
                    if ended {
                        return Ok((attributes, 0));
                    }
                    let Some(bad) = bad else { continue };
                    bad
                }
            };
            if self.delimiter == Delimiter::Queue {
                if self.recover_from_bad_line(&bad, !ad.is_empty())? {
                    self.end = self.window.is_at_end()?;
                    return Ok((attributes, 0));
                }
                continue;
            }
            if self.form == Some(AdForm::Long) {
                while let Some(text) = self.next_line()? {
                    if self.classify_line(&text, false) == LineKind::EndOfAd {
                        break;
                    }
                }
            }
            self.end = self.window.is_at_end()?;
            return Ok((attributes, -1));
        }
    }

    /// Reads lines up to the first invalid line. Returns the number of attributes, true if the ad has ended, and the invalid
    /// line or `None`.
    fn read_good_lines(&mut self, ad: &mut ClassAd) -> io::Result<(i32, bool, Option<Vec<u8>>)> {
        let length = self.window.whole_lines_length()?;
        if length == 0 {
            self.end = true;
            return Ok((0, true, None));
        }
        let text = self.window.unread_range(0..length);
        let options =
            LineOptions { delimiter: &self.delimiter, may_have_nul: self.window.has_nul(), stop_early: true };
        let found = self.memo.read_lines(text, options, KeptAttributes::All, ad);
        if matches!(self.delimiter, Delimiter::Prefix(_)) {
            self.banner = found.delimiter.map(|range| text[range].into()).unwrap_or_default();
        }
        let bad = found.errors.into_iter().next().map(|(_, range, _)| text[range].to_vec());
        self.window.skip(found.bytes_used);
        if found.ended_by_delimiter {
            self.end = self.window.is_at_end()?;
        }
        Ok((found.attribute_count, found.ended_by_delimiter, bad))
    }

    /// Reads the next line and returns it without its newline, or returns `None` at the end of the input.
    fn next_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some((length, whole)) = self.window.peek_line()? else { return Ok(None) };
        let text = strip_cr(self.window.unread_range(0..length)).to_vec();
        self.window.skip(whole);
        Ok(Some(text))
    }

    fn classify_line(&mut self, line: &[u8], started: bool) -> LineKind {
        let kind = self.delimiter.classify_line(line, started);
        if matches!(self.delimiter, Delimiter::Prefix(_)) {
            self.banner = if kind == LineKind::EndOfAd { line.into() } else { BString::default() };
        }
        kind
    }

    /// Recovers from an invalid line as `condor_q` does: skips attribute lines up to a line of another kind. Returns true if
    /// that line is a delimiter, so that the ad has ended.
    fn recover_from_bad_line(&mut self, line: &[u8], started: bool) -> io::Result<bool> {
        let mut kind = self.classify_line(line, started);
        while kind == LineKind::Attribute {
            let Some(line) = self.next_line()? else { return Ok(true) };
            kind = self.classify_line(&line, started);
        }
        Ok(kind == LineKind::EndOfAd)
    }

    /// Parses an ad in a syntax that is not line-based, like `NewParser` of the reference.
    fn parse_other_form(&mut self, ad: &mut ClassAd) -> io::Result<InsertOutcome> {
        match self.form {
            Some(AdForm::Long) => Ok(InsertOutcome::Long(None)),
            Some(AdForm::Xml) => self.parse_xml(ad),
            Some(AdForm::Json) => self.parse_bracketed(ad, true),
            Some(AdForm::New) => self.parse_bracketed(ad, false),
            Some(AdForm::JsonLines) => self.parse_json_line(ad),
            Some(AdForm::NewLines) => self.parse_bracketed(ad, false),
            None => self.detect_form(ad),
        }
    }

    fn parse_xml(&mut self, ad: &mut ClassAd) -> io::Result<InsertOutcome> {
        let mut extent = XmlAdScanner::default();
        let end = self.window.find_end(|text| extent.find_end(text))?;
        let length = end.unwrap_or(self.window.unread().len());
        let read = xml::parse_prefix(self.window.unread_range(0..length), self.dialect);
        let parsed = match read {
            Ok(read) => {
                self.window.skip(read.used);
                *ad = read.ad;
                read.found_ad
            }
            Err(_) => {
                self.window.skip(length);
                false
            }
        };
        Ok(match parsed {
            true => InsertOutcome::Attributes(ad.len()),
            false if self.window.is_at_end()? => InsertOutcome::End,
            false => InsertOutcome::Error,
        })
    }

    fn parse_json_line(&mut self, ad: &mut ClassAd) -> io::Result<InsertOutcome> {
        let Some(line) = self.next_line()? else { return Ok(InsertOutcome::End) };
        match json::parse_prefix(&line, self.dialect) {
            Ok((read, _)) => {
                *ad = read;
                Ok(InsertOutcome::Attributes(ad.len()))
            }
            Err(_) if self.window.is_at_end()? => Ok(InsertOutcome::End),
            Err(_) => Ok(InsertOutcome::Error),
        }
    }

    /// Parses an ad in JSON or new syntax, which may be an element of a list. The brackets of the list and its commas are
    /// recognized only where an ad is expected.
    fn parse_bracketed(&mut self, ad: &mut ClassAd, is_json: bool) -> io::Result<InsertOutcome> {
        let (own, list_open, list_close) = if is_json { (b'{', b'[', b']') } else { (b'[', b'{', b'}') };
        for attempt in 0..2 {
            let Some(byte) = self.peek_token()? else { return Ok(InsertOutcome::End) };
            if byte == own {
                return self.parse_one_bracketed(ad, is_json);
            }
            let continues = match byte {
                b',' => self.inside_list,
                byte if byte == list_close && self.inside_list => {
                    self.inside_list = false;
                    true
                }
                byte if byte == list_open && !self.inside_list => {
                    self.inside_list = true;
                    true
                }
                _ => false,
            };
            self.skip_token(byte)?;
            if !continues || attempt > 0 {
                break;
            }
        }
        Ok(if self.window.is_at_end()? { InsertOutcome::End } else { InsertOutcome::Error })
    }

    /// Skips white space and comments. Returns the first byte of the next token, or `None` at the end of the input.
    fn peek_token(&mut self) -> io::Result<Option<u8>> {
        loop {
            match self.window.peek_byte(0)? {
                None | Some(0) => return Ok(None),
                Some(byte) if is_space(byte) => self.window.skip(1),
                Some(b'/') => match self.window.peek_byte(1)? {
                    Some(b'/') => {
                        let (length, _) = self.window.peek_line()?.unwrap_or_default();
                        self.window.skip(length);
                    }
                    Some(b'*') => {
                        self.window.skip(2);
                        let mut last = 0;
                        loop {
                            let Some(byte) = self.window.peek_byte(0)? else { return Ok(None) };
                            self.window.skip(1);
                            if last == b'*' && byte == b'/' {
                                break;
                            }
                            last = byte;
                        }
                    }
                    _ => return Ok(Some(b'/')),
                },
                Some(byte) => return Ok(Some(byte)),
            }
        }
    }

    /// Skips a token that cannot be used: a word or number, or else one byte.
    fn skip_token(&mut self, first: u8) -> io::Result<()> {
        self.window.skip(1);
        if first.is_ascii_alphanumeric() || first == b'_' {
            while self.window.peek_byte(0)?.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                self.window.skip(1);
            }
        }
        Ok(())
    }

    fn parse_one_bracketed(&mut self, ad: &mut ClassAd, is_json: bool) -> io::Result<InsertOutcome> {
        let mut extent = BracketScanner::default();
        let end = self.window.find_end(|text| extent.find_end(text))?;
        let length = end.unwrap_or(self.window.unread().len());
        let text = self.window.unread_range(0..length);
        let read = if is_json {
            json::parse_prefix(text, self.dialect)
        } else {
            new_syntax::parse_prefix(text, self.dialect)
        };
        match read {
            Ok((read, used)) => {
                *ad = read;
                self.window.skip(used);
                Ok(InsertOutcome::Attributes(ad.len()))
            }
            Err(error) => {
                self.window.skip(error_stop_offset(&error, length));
                Ok(if self.window.is_at_end()? { InsertOutcome::End } else { InsertOutcome::Error })
            }
        }
    }

    fn detect_form(&mut self, ad: &mut ClassAd) -> io::Result<InsertOutcome> {
        loop {
            let Some(line) = self.next_line()? else { return Ok(InsertOutcome::End) };
            let mut line = line.trim_with(|c| c.is_ascii() && is_space(c as u8)).to_vec();
            if self.classify_line(&line, false) != LineKind::Attribute {
                continue;
            }
            let (first, last) = (line.first().copied(), line.last().copied());
            if line == b"<?xml version=\"1.0\"?>" {
                self.form = Some(AdForm::Xml);
                return self.parse_xml(ad);
            }
            if line == b"[" || line == b"{" {
                let next = self.window.peek_byte(0)?;
                match (first, next) {
                    (Some(b'{'), Some(b'[')) => {
                        self.inside_list = true;
                        self.form = Some(AdForm::New);
                        return self.parse_bracketed(ad, false);
                    }
                    (Some(b'['), Some(b'{')) => {
                        self.inside_list = true;
                        self.form = Some(AdForm::Json);
                        return self.parse_bracketed(ad, true);
                    }
                    _ => {
                        // The reference loses the byte that it has peeked at.
                        self.window.skip(1);
                        line.extend(self.next_line()?.unwrap_or_default());
                    }
                }
            } else if line.len() > 2 && first == Some(b'{') && last == Some(b'}') {
                if let Ok((read, _)) = json::parse_prefix(&line, self.dialect) {
                    *ad = read;
                    self.form = Some(AdForm::JsonLines);
                    return Ok(InsertOutcome::Attributes(ad.len()));
                }
                self.would_abort = true;
            } else if line.len() > 2 && first == Some(b'[') && last == Some(b']') {
                if let Ok((read, _)) = new_syntax::parse_prefix(&line, self.dialect) {
                    *ad = read;
                    self.form = Some(AdForm::NewLines);
                    return Ok(InsertOutcome::Attributes(ad.len()));
                }
                self.would_abort = true;
            }
            self.form = Some(AdForm::Long);
            return Ok(InsertOutcome::Long(Some(line)));
        }
    }
}

impl BatchReader for ReferenceReader<Empty> {
    fn take_batch<R>(&mut self, bytes: usize, from: &mut InputWindow<R>) {
        from.move_prefix_to(bytes, &mut self.window);
        self.end = false;
        self.whole_ads_len = 0;
    }
}

/// Returns the offset at which the reference's reader continues after an error: after the token that caused it.
fn error_stop_offset(error: &ParseError, length: usize) -> usize {
    (error.span.end as usize).clamp(1, length.max(1))
}
