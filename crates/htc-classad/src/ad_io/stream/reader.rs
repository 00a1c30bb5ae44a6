//! Reader of a stream for general use. It reports everything that it cannot read, and an invalid line does not affect
//! other lines.

use std::io::{self, Empty, Read};
use std::ops::Range;

use bstr::{BString, ByteSlice};

use super::batches::{AdBatcher, BatchReader};
use super::error::{AdError, SurroundingText};
use super::input_window::InputWindow;
use super::record::AdRecord;
use super::{AdForm, Delimiter, Projection, ReadError};
use crate::ad::{ClassAd, split_line};
use crate::ad_io::delimiter::as_banner;
use crate::ad_io::line_memo::{CLUSTER_ID, LineMemo};
use crate::ad_io::line_reader::{AdLinesResult, KeptAttributes, LineOptions};
use crate::syntax::Dialect;
use crate::syntax::pitfalls::find_large_integer;
use crate::text::Span;
use crate::text::space::is_space;

mod bracketed_and_xml;

/// Reader of a stream of ads.
///
/// As an iterator, the reader returns an ad, or an error if a part of the ad could not be read:
///
/// ```
/// use htc_classad::stream::AdReader;
/// let text = b"Owner = \"ana\"\n\nOwner = \"bob\"\nbad line\n\nOwner = \"eve\"\n";
/// let mut results = Vec::new();
/// for ad in AdReader::new(&text[..], None) {
///     match ad {
///         Ok(ad) => results.push(ad["Owner"].to_string()),
///         Err(error) => results.push(error.to_string()),
///     }
/// }
/// assert_eq!(results, ["\"ana\"", "line 4, column 1: no `=` in the line; write `Name = value`", "\"eve\""]);
/// ```
///
/// [`AdReader::next_record`] returns ads together with their errors, lines and banners:
///
/// ```
/// # use htc_classad::stream::AdReader;
/// let text = b"Owner = \"ana\"\n*** Offset = 0\nOwner = \"bob\"\nbad line\n*** Offset = 20\n";
/// let mut reader = AdReader::new(&text[..], None);
/// let first = reader.next_record().unwrap().unwrap();
/// assert_eq!(first.ad.string("owner").unwrap(), "ana");
/// assert_eq!(first.banner.unwrap(), "*** Offset = 0");
/// let second = reader.next_record().unwrap().unwrap();
/// assert_eq!((second.ad.len(), second.errors[0].line), (1, 4));
/// assert!(reader.next_record().unwrap().is_none());
/// ```
#[derive(Debug)]
pub struct AdReader<R> {
    window: InputWindow<R>,
    form: Option<AdForm>,
    delimiter: Delimiter,
    dialect: Dialect,
    /// True if JSON strings are read as the reference reads them.
    reference_json: bool,
    memo: LineMemo,
    /// Number of bytes at the start of the window that are complete long ads.
    whole_ads_len: usize,
    /// True if an XML ad has already been read or rejected.
    xml_started: bool,
    /// Number of bytes that were searched for the end of malformed ads and have to be searched again.
    searched_in_vain: usize,
    /// True if a comment without an end was found. Then no later comment has an end either.
    has_open_comment: bool,
    /// Number of lists of ads that have begun and not ended: brackets of JSON, braces of the new syntax, `<classads>`.
    open_lists: u32,
    /// Length of the last ad read by [`AdReader::next_projected`]; the ad ends where the window starts.
    last_ad_len: usize,
    /// True if the iterator has returned an error of the stream itself.
    has_failed: bool,
}

impl<R: Read> AdReader<R> {
    /// Creates a reader of ads in the given syntax, or with `None` in a syntax that is detected. Long ads end at blank
    /// lines and at banners.
    ///
    /// ```
    /// use htc_classad::stream::{AdForm, AdReader};
    /// let lines = "{\"Cpus\": 4}\n{\"Cpus\": 8}\n";
    /// let ads: Result<Vec<_>, _> = AdReader::new(lines.as_bytes(), Some(AdForm::JsonLines)).collect();
    /// assert_eq!(ads.unwrap().len(), 2);
    /// ```
    pub fn new(read: R, form: Option<AdForm>) -> Self {
        AdReader {
            window: InputWindow::new(read),
            form,
            delimiter: Delimiter::BlankOrBanner,
            dialect: Dialect::new_syntax(),
            reference_json: false,
            memo: LineMemo::default(),
            whole_ads_len: 0,
            xml_started: false,
            searched_in_vain: 0,
            has_open_comment: false,
            open_lists: 0,
            last_ad_len: 0,
            has_failed: false,
        }
    }

    /// Sets the delimiter of long ads.
    ///
    /// ```
    /// use htc_classad::stream::{AdReader, Delimiter};
    /// let text = "A = 1\n-- next\nA = 2\n";
    /// let reader = AdReader::new(text.as_bytes(), None).delimiter(Delimiter::Prefix(b"--".to_vec()));
    /// assert_eq!(reader.count(), 2);
    /// ```
    #[must_use]
    pub fn delimiter(mut self, delimiter: Delimiter) -> Self {
        self.delimiter = delimiter;
        self
    }

    /// Turns exact mode for long ads on or off. In exact mode, a name that is not an identifier and text after a value
    /// are errors; the reference accepts both.
    ///
    /// ```
    /// use htc_classad::stream::AdReader;
    /// let errors = |exact| {
    ///     let mut reader = AdReader::new(&b"Cpus = 4 8\n"[..], None).exact(exact);
    ///     reader.next_record().unwrap().unwrap().errors.len()
    /// };
    /// assert_eq!((errors(false), errors(true)), (0, 1));
    /// ```
    #[must_use]
    pub fn exact(mut self, exact: bool) -> Self {
        self.memo.exact = exact;
        self
    }

    /// Sets whether JSON strings are read as the reference reads them. The reference decodes `\u` escapes to bytes
    /// that are not UTF-8.
    ///
    /// ```
    /// use htc_classad::stream::AdReader;
    /// let text = r#"{"Name": "J\u00fcrgen"}"#;
    /// let name = |as_reference| {
    ///     let mut reader = AdReader::new(text.as_bytes(), None).reference_json(as_reference);
    ///     reader.next_record().unwrap().unwrap().ad.string("Name").unwrap().to_string()
    /// };
    /// assert_eq!(name(false), "Jürgen");
    /// assert_ne!(name(true), "Jürgen");
    /// ```
    #[must_use]
    pub fn reference_json(mut self, as_reference: bool) -> Self {
        self.reference_json = as_reference;
        self
    }

    /// Sets the dialect of the expressions, for example to turn on strict mode.
    ///
    /// ```
    /// use htc_classad::{Dialect, stream::AdReader};
    /// let mut reader = AdReader::new(&b"Cpus = 4\n"[..], None).dialect(Dialect::new_syntax().strict(true));
    /// assert_eq!(reader.next().unwrap().unwrap()["Cpus"].to_string(), "4");
    /// ```
    #[must_use]
    pub fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = dialect;
        self.memo = LineMemo::new(dialect, self.memo.exact);
        self
    }

    /// Creates a reader with the same settings and no input, for batches of an [`AdBatcher`].
    pub fn batch_reader(&self) -> AdReader<Empty> {
        let reader = AdReader::new(io::empty(), Some(AdForm::Long)).dialect(self.dialect);
        reader.exact(self.memo.exact).delimiter(self.delimiter.clone())
    }

    /// Distributes the rest of a stream of long ads in batches.
    pub fn into_batcher(self) -> AdBatcher<R> {
        AdBatcher::new(self.window, self.delimiter)
    }

    /// Returns the number of lines read. For a reader of batches, returns the number of lines read in the current
    /// batch.
    ///
    /// ```
    /// use htc_classad::stream::AdReader;
    /// let mut reader = AdReader::new(&b"A = 1\nB = 2\n\nA = 3\n"[..], None);
    /// reader.next().unwrap().unwrap();
    /// assert_eq!(reader.lines_read(), 3);
    /// ```
    pub fn lines_read(&self) -> u64 {
        self.window.line - 1
    }

    /// Returns the syntax of the stream, or the long form if the syntax has not been detected yet.
    pub fn form(&self) -> AdForm {
        self.form.unwrap_or(AdForm::Long)
    }

    /// Detects the syntax from the first bytes, unless it is known already.
    ///
    /// ```
    /// use htc_classad::stream::{AdForm, AdReader};
    /// let mut reader = AdReader::new(&b"[ Cpus = 4;\n  Memory = 8 ]"[..], None);
    /// assert_eq!(reader.detect().unwrap(), AdForm::New);
    /// assert_eq!(reader.form(), AdForm::New);
    /// ```
    ///
    /// # Errors
    /// Fails if reading fails.
    pub fn detect(&mut self) -> io::Result<AdForm> {
        if let Some(form) = self.form {
            return Ok(form);
        }
        let form = self.detect_form()?;
        self.form = Some(form);
        Ok(form)
    }

    /// Reads the next ad with its line number, banner and errors, or returns `None` at the end of the stream. Ads
    /// without attributes are skipped.
    ///
    /// ```
    /// use htc_classad::stream::AdReader;
    /// let mut reader = AdReader::new(&b"Cpus = 4\nbad line\n\nCpus = 8\n"[..], None);
    /// let mut errors = 0;
    /// while let Some(record) = reader.next_record().unwrap() {
    ///     errors += record.errors.len();
    ///     assert!(record.ad.contains("Cpus"));
    /// }
    /// assert_eq!(errors, 1);
    /// ```
    ///
    /// # Errors
    /// Fails if reading fails. Errors in the ad are in [`AdRecord::errors`], which the caller has to check; the
    /// iterator returns them as errors.
    pub fn next_record(&mut self) -> io::Result<Option<AdRecord>> {
        match self.detect()? {
            AdForm::Long => self.next_long_ad(),
            AdForm::Xml => self.next_xml_ad(),
            AdForm::Json | AdForm::JsonLines => self.next_bracketed_ad(true),
            AdForm::New | AdForm::NewLines => self.next_bracketed_ad(false),
        }
    }

    fn detect_form(&mut self) -> io::Result<AdForm> {
        let mut at = 0;
        let first = loop {
            match self.window.peek_byte(at)? {
                None => return Ok(AdForm::Long),
                Some(byte) if is_space(byte) => at += 1,
                // Skips a byte order mark (BOM), which some editors write.
                Some(0xef) if at == 0 && self.window.peek_byte(2)? == Some(0xbf) => self.window.skip(3),
                Some(b'#') => at = self.line_end_offset(at)?,
                Some(b'/') if self.window.peek_byte(at + 1)? == Some(b'/') => {
                    at = self.line_end_offset(at)?
                }
                Some(byte) => break byte,
            }
        };
        let mut next = at + 1;
        let second = loop {
            match self.window.peek_byte(next)? {
                Some(byte) if is_space(byte) => next += 1,
                byte => break byte.unwrap_or(0),
            }
        };
        let one_line = |reader: &mut Self, close: u8| -> io::Result<bool> {
            let end = reader.line_end_offset(at)?;
            let line = reader.window.unread_range(at..end.min(reader.window.unread().len()));
            Ok(line.trim_end().last() == Some(&close))
        };
        Ok(match (first, second) {
            (b'<', _) => AdForm::Xml,
            (b'{', b'[') | (b'[', b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'\'' | b';' | b'/') => {
                if first == b'[' && one_line(self, b']')? { AdForm::NewLines } else { AdForm::New }
            }
            (b'{', _) if one_line(self, b'}')? => AdForm::JsonLines,
            (b'{', _) | (b'[', b'{' | b']') => AdForm::Json,
            (b'[', _) => AdForm::New,
            _ => AdForm::Long,
        })
    }

    /// Returns the offset after the end of the line that contains an offset.
    fn line_end_offset(&mut self, at: usize) -> io::Result<usize> {
        let mut searched = at;
        loop {
            let rest = self.window.unread();
            if let Some(length) = memchr::memchr(b'\n', &rest[searched..]) {
                return Ok(searched + length + 1);
            }
            searched = rest.len();
            if !self.window.read_more()? {
                return Ok(searched);
            }
        }
    }

    /// Reads the next long ad with only its wanted attributes. Attributes to which their values refer become wanted as
    /// well. Unlike [`AdReader::next_record`], this function also returns empty ads, and it reuses the memory of
    /// `record`. Returns false at the end of the stream.
    ///
    /// ```
    /// use htc_classad::{Expr, stream::{AdReader, AdRecord, Projection}};
    /// let wanted = Expr::parse("Cpus > 1").unwrap();
    /// let mut projection = Projection::for_exprs([&wanted]).unwrap();
    /// let mut reader = AdReader::new(&b"Cpus = 4\nMemory = 8\n"[..], None);
    /// let mut record = AdRecord::default();
    /// assert!(reader.next_projected(&mut projection, &mut record).unwrap());
    /// assert_eq!((record.ad.len(), reader.whole_ad().len()), (1, 2));
    /// ```
    ///
    /// # Errors
    /// Fails if reading fails.
    pub fn next_projected(&mut self, projection: &mut Projection, record: &mut AdRecord) -> io::Result<bool> {
        record.ad.clear();
        record.line = 0;
        record.banner = None;
        record.errors.clear();
        record.more_errors = 0;
        self.read_long_ad(Some(projection), record)
    }

    /// Takes a discarded ad, whose memory is reused for a later ad.
    ///
    /// ```
    /// use htc_classad::stream::AdReader;
    /// let mut reader = AdReader::new(&b"Cpus = 4\n\nCpus = 8\n"[..], None);
    /// let mut count = 0;
    /// while let Some(record) = reader.next_record().unwrap() {
    ///     count += record.ad.len();
    ///     reader.reuse(record.ad);
    /// }
    /// assert_eq!(count, 2);
    /// ```
    pub fn reuse(&mut self, ad: ClassAd) {
        self.memo.reuse(ad);
    }

    /// Returns all attributes of the ad that [`AdReader::next_projected`] read last.
    pub fn whole_ad(&mut self) -> ClassAd {
        let options = LineOptions {
            delimiter: &self.delimiter,
            may_have_nul: self.window.has_nul(),
            stop_early: false,
        };
        self.memo.read_whole_ad(self.window.last_skipped(self.last_ad_len), options)
    }

    fn next_long_ad(&mut self) -> io::Result<Option<AdRecord>> {
        let mut record = AdRecord { ad: self.memo.begin_ad(), ..AdRecord::default() };
        Ok(self.read_long_ad(None, &mut record)?.then_some(record))
    }

    /// Reads the next long ad into an empty record, either completely or only its wanted attributes. Returns false at
    /// the end of the stream.
    fn read_long_ad(
        &mut self,
        mut projection: Option<&mut Projection>,
        record: &mut AdRecord,
    ) -> io::Result<bool> {
        loop {
            if self.whole_ads_len == 0 {
                self.whole_ads_len = self.window.whole_ads_length(&self.delimiter)?;
                if self.whole_ads_len == 0 {
                    return Ok(false);
                }
            }
            let text = self.window.unread_range(0..self.whole_ads_len);
            let options = LineOptions {
                delimiter: &self.delimiter,
                may_have_nul: self.window.has_nul(),
                stop_early: false,
            };
            let (found, complete) = match &mut projection {
                Some(projection) => {
                    projection.read_ad(text, options, self.dialect, self.memo.exact, &mut record.ad)
                }
                None => (self.memo.read_lines(text, options, KeptAttributes::All, &mut record.ad), true),
            };
            let AdLinesResult {
                bytes_used: used,
                lines,
                first_attribute: first,
                errors: bad,
                more_errors,
                repeats_cluster_id,
                large_integer,
                delimiter,
                ..
            } = found;
            record.more_errors = more_errors;
            if let Some((number, start)) = first {
                record.line = self.window.line + number;
                record.banner = delimiter.and_then(|range| as_banner(&text[range])).map(BString::from);
                if !complete {
                    // More attributes have become wanted while the ad was read, so the ad is read again completely.
                    record.ad = self.memo.read_whole_ad(&text[start..used], options);
                }
                for (number, range, error) in bad {
                    record.errors.push(AdError::from_line_error(
                        &text[range],
                        self.window.line + number,
                        &error,
                    ));
                }
                if repeats_cluster_id && let Some((line, range)) = find_second_cluster_id(&text[start..used])
                {
                    let number = record.line + line;
                    record.errors.push(AdError::joined_ads(&text[start..used][range], number));
                }
                if let Some((number, range)) = large_integer {
                    let line = &text[range];
                    let from = split_line(line).map_or(0, |parts| parts.value_at);
                    if let Some(span) = find_large_integer(&line[from..], self.memo.dialect) {
                        let surroundings = SurroundingText::at_line(self.window.line + number);
                        record.errors.push(AdError::large_integer(
                            line,
                            surroundings,
                            Span::new(from + span.start as usize, from + span.end as usize),
                            "is read as 0",
                        ));
                    }
                }
                self.last_ad_len = used - start;
            }
            self.window.skip(used);
            self.window.line += lines;
            self.whole_ads_len -= used;
            if record.line > 0 {
                if projection.is_none() {
                    self.memo.end_ad(&record.ad);
                }
                return Ok(true);
            }
        }
    }
}

impl AdReader<&[u8]> {
    /// Reads the next ad of a text in memory, or returns `None` at the end of the text.
    pub(super) fn read_from_memory(&mut self) -> Option<AdRecord> {
        // Reading from memory never fails.
        self.next_record().ok().flatten()
    }
}

/// Returns the next ad, or an error if a part of the ad could not be read. After an error in an ad, the next ad
/// follows; after an error of the stream itself, nothing follows.
impl<R: Read> Iterator for AdReader<R> {
    type Item = Result<ClassAd, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        match self.next_record() {
            Ok(record) => record.map(AdRecord::into_ad),
            Err(error) => {
                self.has_failed = true;
                Some(Err(ReadError::Io(error)))
            }
        }
    }
}

impl<R: Read> std::iter::FusedIterator for AdReader<R> {}

/// Returns the second line that sets `ClusterId`: its number in the text, counted from 0, and its range.
fn find_second_cluster_id(text: &[u8]) -> Option<(u64, Range<usize>)> {
    let mut start = 0;
    let mut has_first = false;
    for (number, line) in text.lines_with_terminator().enumerate() {
        let is_cluster_id = split_line(line).is_ok_and(|parts| parts.name.eq_ignore_ascii_case(CLUSTER_ID));
        if is_cluster_id && has_first {
            return Some((number as u64, start..start + line.trim_end().len()));
        }
        has_first |= is_cluster_id;
        start += line.len();
    }
    None
}

impl BatchReader for AdReader<Empty> {
    fn take_batch<R>(&mut self, bytes: usize, from: &mut InputWindow<R>) {
        from.move_prefix_to(bytes, &mut self.window);
        self.whole_ads_len = bytes;
    }
}

#[cfg(test)]
mod tests;
