//! Reader of the lines of long ads.
//!
//! The ads of a queue are similar: a line usually begins like the line that followed the same line in the previous ad,
//! so that one comparison gives its name and the offset of its value. Numbers and plain strings are read directly,
//! other expressions come from the memo, and only the rest is parsed. [`KeptAttributes`] selects the lines whose values
//! are kept; all other lines are only checked, as the reference checks them.

use std::ops::Range;

use crate::ad::{
    ClassAd, LineError, LineParts, StoredValue, check_exact_line, cut_at_nul, shift_error, split_line,
};
use crate::ad_io::delimiter::{Delimiter, LineKind, strip_cr};
use crate::ad_io::line_memo::{KnownLine, LineMemo, NO_LINE};
use crate::syntax::expr::ExprRepr;
use crate::syntax::pitfalls::find_large_integer;
use crate::syntax::scalar::Scalar;
use crate::syntax::simple_literals::{parse_literal_line, parse_plain_literal};
use crate::syntax::{AttrName, Expr};
use crate::text::Span;

/// Maximum number of invalid lines of one ad that are described. A file that contains no ads at all may have millions
/// of invalid lines.
const MAX_LINE_ERRORS: usize = 1000;

/// Selection of the attributes that are kept.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KeptAttributes<'k> {
    /// All attributes.
    All,
    /// Only the wanted attributes. A memo must always be used with the same wanted names.
    Wanted(&'k WantedNames),
}

/// Value of `KnownLine::wanted_index` for a name that is kept because of its prefix. Such a name keeps its own
/// spelling.
const KEPT_BY_PREFIX: u32 = NO_LINE - 1;

/// Names and prefixes of the attributes that are kept.
#[derive(Debug, Default)]
pub(crate) struct WantedNames {
    /// Names of wanted attributes. The attributes are kept with this spelling.
    pub(crate) names: Vec<AttrName>,
    /// Prefixes of names. Attributes with such names are also kept.
    pub(crate) prefixes: Vec<AttrName>,
}

impl WantedNames {
    /// Returns the index of a name in the list of names, or `None` if the list does not contain the name.
    fn position(&self, name: &[u8]) -> Option<usize> {
        self.names.iter().position(|wanted| wanted.as_bytes().eq_ignore_ascii_case(name))
    }

    /// Returns true if a name begins with one of the prefixes.
    fn begins_with_prefix(&self, name: &[u8]) -> bool {
        let begins = |prefix: &AttrName| {
            let start = name.get(..prefix.as_bytes().len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes()))
        };
        self.prefixes.iter().any(begins)
    }

    /// Returns the value of `KnownLine::wanted_index` for a line with this name.
    fn line_index(&self, name: &[u8]) -> u32 {
        match self.position(name) {
            Some(index) => index as u32,
            None if self.begins_with_prefix(name) => KEPT_BY_PREFIX,
            None => NO_LINE,
        }
    }
}

/// Options for reading lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineOptions<'a> {
    pub(crate) delimiter: &'a Delimiter,
    /// True if the text may contain NUL bytes.
    pub(crate) may_have_nul: bool,
    /// True to behave as the reference does: stop at each delimiter, even before the first attribute, and at each
    /// invalid line, and end a line at its first NUL byte. If false, a line with a NUL byte is invalid.
    pub(crate) stop_early: bool,
}

/// Result of reading the lines of one ad.
#[derive(Debug, Default)]
pub(crate) struct AdLinesResult {
    /// Number of bytes read, including the delimiter line.
    pub(crate) bytes_used: usize,
    /// Number of lines read.
    pub(crate) lines: u64,
    /// Number of lines that were attributes.
    pub(crate) attribute_count: i32,
    /// First attribute line, valid or not: its line number, counted from the start of the text, and its offset; or
    /// `None`.
    pub(crate) first_attribute: Option<(u64, usize)>,
    /// True if a delimiter line ended the ad.
    pub(crate) ended_by_delimiter: bool,
    /// Invalid lines: number, range and error of each.
    pub(crate) errors: Vec<(u64, Range<usize>, LineError)>,
    /// Number of invalid lines that are not in `errors`.
    pub(crate) more_errors: u64,
    /// True if the ad sets `ClusterId` more than once.
    pub(crate) repeats_cluster_id: bool,
    /// First line with an integer that does not fit in 64 bits: number and range; or `None`.
    pub(crate) large_integer: Option<(u64, Range<usize>)>,
    /// Last delimiter line that precedes the first attribute or follows the last attribute.
    pub(crate) delimiter: Option<Range<usize>>,
}

impl AdLinesResult {
    /// Counts an attribute line that begins at an offset.
    #[inline]
    fn note_attribute(&mut self, start: usize) {
        if self.first_attribute.is_none() {
            self.first_attribute = Some((self.lines - 1, start));
            self.delimiter = None;
        }
    }
}

impl LineMemo {
    /// Reads the lines of one ad and adds the kept attributes to `ad`. The text must end with a newline.
    pub(crate) fn read_lines(
        &mut self,
        text: &[u8],
        options: LineOptions<'_>,
        keep: KeptAttributes<'_>,
        ad: &mut ClassAd,
    ) -> AdLinesResult {
        self.may_have_nul = options.may_have_nul;
        let mut found = AdLinesResult::default();
        let had_attributes = !ad.is_empty();
        let by_prefix = matches!(options.delimiter, Delimiter::Prefix(_));
        while found.bytes_used < text.len() {
            let start = found.bytes_used;
            let expected = self.expected_line();
            let begins = |known: &&KnownLine| {
                !(by_prefix && options.delimiter.may_begin_like(&known.beginning))
                    && starts_with_short(&text[start..], &known.beginning)
            };
            let known = self.line_by_number(expected).filter(begins).map(|known| known.beginning.len());
            found.lines += 1;
            if let Some(from) = known
                && !options.may_have_nul
                && let Some(length) = self.try_expected_line(expected, from, &text[start..], keep, ad)
            {
                found.note_attribute(start);
                found.attribute_count += 1;
                found.bytes_used += length;
                continue;
            }
            let length = memchr::memchr(b'\n', &text[start..]);
            let line = strip_cr(&text[start..length.map_or(text.len(), |length| start + length)]);
            found.bytes_used = length.map_or(text.len(), |length| start + length + 1);
            if known.is_none() {
                match options.delimiter.classify_line(line, had_attributes || found.first_attribute.is_some())
                {
                    LineKind::EndOfAd => {
                        found.delimiter = Some(start..start + line.len());
                        found.ended_by_delimiter = options.stop_early || found.first_attribute.is_some();
                        if found.ended_by_delimiter {
                            break;
                        }
                        continue;
                    }
                    LineKind::Ignored => continue,
                    LineKind::Attribute => {}
                }
            }
            found.note_attribute(start);
            let nul =
                if options.may_have_nul && !options.stop_early { memchr::memchr(0, line) } else { None };
            let read = match nul {
                Some(at) => Err(LineError::NulByte(Span::new(at, at + 1))),
                None => self.read_line(line, known.map(|from| (expected, from)), keep, ad),
            };
            match read {
                Ok(()) => {
                    found.attribute_count = found.attribute_count.saturating_add(1);
                    if std::mem::take(&mut self.has_large_integer) {
                        found.large_integer.get_or_insert((found.lines - 1, start..start + line.len()));
                    }
                }
                Err(error) => {
                    if found.errors.len() < MAX_LINE_ERRORS {
                        found.errors.push((found.lines - 1, start..start + line.len(), error));
                    } else {
                        found.more_errors += 1;
                    }
                    if options.stop_early {
                        break;
                    }
                }
            }
        }
        found.repeats_cluster_id = self.repeats_cluster_id();
        found
    }

    /// Reads the first line of a text, if it begins like the expected line and its value is a plain literal. Returns
    /// the length of the line with its newline, or `None` if the value is not a plain literal.
    #[inline]
    fn try_expected_line(
        &mut self,
        number: u32,
        from: usize,
        text: &[u8],
        keep: KeptAttributes<'_>,
        ad: &mut ClassAd,
    ) -> Option<usize> {
        let (plain, used) = parse_literal_line(&text[from..])?;
        let is_usual = *text.get(from + used)? == b'\n';
        let length = from + used + if is_usual { 1 } else { 2 };
        let mut buffer = Vec::new();
        let (known, new) = self.accept_expected(number)?;
        match (keep, plain, new) {
            // The line has exactly the form in which the ad prints it.
            (KeptAttributes::All, Scalar::Str(quoted), Some(hash))
                if is_usual && known.is_usual && quoted.as_plain().is_some() =>
            {
                ad.put_new_line(from, hash, &text[..length]);
            }
            (KeptAttributes::All, Scalar::Int(integer), Some(hash)) => {
                ad.put_new(known.name(), hash, StoredValue::Int(integer));
            }
            _ => {
                if let Some(name) = known.kept_name(keep) {
                    ad.put_scalar(name, new, plain.map(|quoted| quoted.resolve(&mut buffer)));
                }
            }
        }
        Some(length)
    }

    /// Reads a line that is an attribute or invalid. `known` has the number of the known line with the same beginning,
    /// and the length of the beginning.
    pub(crate) fn read_line(
        &mut self,
        line: &[u8],
        known: Option<(u32, usize)>,
        keep: KeptAttributes<'_>,
        ad: &mut ClassAd,
    ) -> Result<(), LineError> {
        let (name, number, from) = match known {
            Some((number, from)) => (&b""[..], number, from),
            None => {
                let LineParts { name, value_at, .. } = split_line(line)?;
                (name, self.find_or_add_line(&line[..value_at], name, keep), value_at)
            }
        };
        let new = self.enter_line(number);
        let value = if self.may_have_nul { cut_at_nul(&line[from..]) } else { &line[from..] };
        // A known line has an identifier as its name, so only the rest of the line has to be checked, including text
        // after a NUL byte.
        let is_whole = !self.exact || number != NO_LINE && from + value.len() == line.len();
        // If the line began as expected, `try_expected_line` has already found that the value is not a plain literal,
        // unless the line may have NUL bytes.
        let plain = if is_whole && (known.is_none() || self.may_have_nul) {
            parse_plain_literal(value)
        } else {
            None
        };
        let mut buffer = Vec::new();
        if let Some(plain) = plain {
            if let Some(name) = self.kept_name(number, name, keep) {
                ad.put_scalar(name, new, plain.map(|quoted| quoted.resolve(&mut buffer)));
            }
            return Ok(());
        }
        let is_kept = self.kept_name(number, name, keep).is_some();
        if is_whole && !is_kept && self.is_known_expression(number, value) {
            return Ok(());
        }
        let mut tree = if is_whole && is_kept { self.recall_expression(number, value) } else { None };
        if tree.is_none() {
            if self.exact {
                check_exact_line(line, self.dialect)?;
            }
            let parsed = Expr::parse_prefix(value, self.dialect);
            let (expr, _) = parsed.map_err(|error| LineError::Value(shift_error(error, from)))?;
            self.has_large_integer = find_large_integer(value, self.dialect).is_some();
            match expr.0 {
                ExprRepr::Node(parsed, root) => {
                    self.learn_expression(number, value, root, &parsed);
                    tree = Some((root, parsed));
                }
                ExprRepr::Scalar(scalar) => {
                    if let Some(name) = self.kept_name(number, name, keep) {
                        ad.put_scalar(name, new, scalar.as_borrowed());
                    }
                }
            }
        }
        if let (Some((root, tree)), Some(name)) = (tree, self.kept_name(number, name, keep)) {
            ad.put_with_optional_hash(name, new, StoredValue::Expr(root, tree));
        }
        Ok(())
    }

    /// Returns the number of the known line with this beginning. Adds the beginning if it is unknown.
    fn find_or_add_line(&mut self, beginning: &[u8], name: &[u8], keep: KeptAttributes<'_>) -> u32 {
        if let Some(number) = self.find_line(beginning) {
            return number;
        }
        let wanted = match keep {
            KeptAttributes::All => NO_LINE,
            KeptAttributes::Wanted(wanted) => wanted.line_index(name),
        };
        let at = beginning.iter().take_while(|byte| crate::text::space::is_space(**byte)).count();
        self.add_line(beginning, at, name, wanted)
    }

    /// Returns the name under which the attribute of a line is kept, or `None` if the attribute is not kept.
    #[inline]
    fn kept_name<'n>(&'n self, number: u32, name: &'n [u8], keep: KeptAttributes<'n>) -> Option<&'n [u8]> {
        match (self.line_by_number(number), keep) {
            (Some(known), _) => known.kept_name(keep),
            (None, KeptAttributes::All) => Some(name),
            (None, KeptAttributes::Wanted(wanted)) => match wanted.position(name) {
                Some(index) => Some(wanted.names[index].as_bytes()),
                None => wanted.begins_with_prefix(name).then_some(name),
            },
        }
    }

    /// Reads one ad with all its attributes, skipping invalid lines.
    pub(crate) fn read_whole_ad(&mut self, text: &[u8], options: LineOptions<'_>) -> ClassAd {
        let mut ad = self.begin_ad();
        self.read_lines(text, options, KeptAttributes::All, &mut ad);
        self.end_ad(&ad);
        ad
    }
}

impl KnownLine {
    /// Returns the name under which the attribute of the line is kept, or `None` if the attribute is not kept.
    #[inline]
    fn kept_name<'n>(&'n self, keep: KeptAttributes<'n>) -> Option<&'n [u8]> {
        match keep {
            KeptAttributes::All => Some(self.name()),
            // Most lines are not kept; for these lines, this comparison with a constant is the whole cost.
            KeptAttributes::Wanted(_) if self.wanted_index == NO_LINE => None,
            KeptAttributes::Wanted(wanted) => match wanted.names.get(self.wanted_index as usize) {
                Some(name) => Some(name.as_bytes()),
                None if self.wanted_index == KEPT_BY_PREFIX => Some(self.name()),
                None => None,
            },
        }
    }
}

/// Returns true if a text begins with `beginning`. Calling the C library would take longer than comparing such a short
/// text.
#[inline]
fn starts_with_short(text: &[u8], beginning: &[u8]) -> bool {
    let Some(text) = text.get(..beginning.len()) else { return false };
    let (ones, rest) = text.as_chunks::<8>();
    let (others, other_rest) = beginning.as_chunks::<8>();
    let is_same = |(one, other): (&[u8; 8], &[u8; 8])| u64::from_ne_bytes(*one) == u64::from_ne_bytes(*other);
    if !ones.iter().zip(others).all(is_same) {
        return false;
    }
    match (text.last_chunk::<8>(), beginning.last_chunk::<8>()) {
        (Some(one), Some(other)) => is_same((one, other)),
        _ => rest.iter().zip(other_rest).all(|(one, other)| one == other),
    }
}
