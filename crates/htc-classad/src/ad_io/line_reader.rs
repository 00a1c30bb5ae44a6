//! Reader of the lines of long ads.
//!
//! Ads of a queue are similar: a line usually begins like the line that followed the same line in the previous ad, so
//! one comparison yields its name and the offset of its value. Numbers and plain strings are read in place, other
//! expressions come from the memo, and only the rest is parsed. [`KeptAttributes`] selects the lines whose values are
//! kept; the others are checked as the reference checks them.

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

/// Maximum number of invalid lines of one ad that are described; a file that holds no ads at all has millions.
const MAX_LINE_ERRORS: usize = 1000;

/// Attributes that are kept.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KeptAttributes<'k> {
    /// All.
    All,
    /// The wanted attributes. All lines known to a memo belong to the same names.
    Wanted(&'k WantedNames),
}

/// Index of a known line whose name is kept because of its prefix, with its own spelling.
const KEPT_BY_PREFIX: u32 = NO_LINE - 1;

/// Names of the attributes that are kept.
#[derive(Debug, Default)]
pub(crate) struct WantedNames {
    /// Names, which are kept with these spellings.
    pub(crate) names: Vec<AttrName>,
    /// Prefixes of other names, which are kept as well.
    pub(crate) prefixes: Vec<AttrName>,
}

impl WantedNames {
    /// Returns the index of a name, or `None` if it is not in the list.
    fn position(&self, name: &[u8]) -> Option<usize> {
        self.names.iter().position(|wanted| wanted.as_bytes().eq_ignore_ascii_case(name))
    }

    /// Returns true if a name begins with one of the prefixes.
    fn has_prefix_of(&self, name: &[u8]) -> bool {
        let begins = |prefix: &AttrName| {
            let start = name.get(..prefix.as_bytes().len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes()))
        };
        self.prefixes.iter().any(begins)
    }

    /// Returns the index that a known line with this name has.
    fn line_index(&self, name: &[u8]) -> u32 {
        match self.position(name) {
            Some(index) => index as u32,
            None if self.has_prefix_of(name) => KEPT_BY_PREFIX,
            None => NO_LINE,
        }
    }
}

/// Options for reading lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineOptions<'a> {
    pub(crate) delimiter: &'a Delimiter,
    /// True if there may be NUL bytes.
    pub(crate) may_have_nul: bool,
    /// True to stop at each delimiter, even before the first attribute, and at a bad line, as the reference does.
    pub(crate) stop_early: bool,
}

/// Result of reading the lines of one ad.
#[derive(Debug, Default)]
pub(crate) struct LinesRead {
    /// Number of bytes read, including the delimiter.
    pub(crate) bytes_used: usize,
    /// Number of lines read.
    pub(crate) lines: u64,
    /// Number of lines that were attributes.
    pub(crate) attribute_count: i32,
    /// The first attribute, valid or not: its line, counted from the start of the text, and its offset.
    pub(crate) first_attribute: Option<(u64, usize)>,
    /// True if a delimiter ended the ad.
    pub(crate) ended_by_delimiter: bool,
    /// Lines that could not be read: number, range and error.
    pub(crate) errors: Vec<(u64, Range<usize>, LineError)>,
    /// Number of lines that could not be read, beyond those in `errors`.
    pub(crate) more_errors: u64,
    /// True if the ad sets ClusterId more than once.
    pub(crate) repeats_cluster_id: bool,
    /// The first line with an integer that does not fit 64 bits: number and range.
    pub(crate) large_integer: Option<(u64, Range<usize>)>,
    /// Last delimiter line, if it is before the first attribute or after the last one.
    pub(crate) delimiter: Option<Range<usize>>,
}

impl LinesRead {
    /// Records that a line of the ad begins at an offset.
    #[inline]
    fn note_attribute(&mut self, start: usize) {
        if self.first_attribute.is_none() {
            self.first_attribute = Some((self.lines - 1, start));
            self.delimiter = None;
        }
    }
}

impl LineMemo {
    /// Reads the lines of one ad from a text that ends with a line end, and adds the kept attributes to the ad.
    pub(crate) fn read_lines(
        &mut self,
        text: &[u8],
        options: LineOptions<'_>,
        keep: KeptAttributes<'_>,
        ad: &mut ClassAd,
    ) -> LinesRead {
        self.may_have_nul = options.may_have_nul;
        let mut found = LinesRead::default();
        let had = !ad.is_empty();
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
                match options.delimiter.classify_line(line, had || found.first_attribute.is_some()) {
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
            match self.read_line(line, known.map(|from| (expected, from)), keep, ad) {
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

    /// Reads the line that a text begins with, which begins as expected, if its value is a plain literal; returns the
    /// length of the line with its end, or `None` otherwise.
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
            // The line is exactly what the ad prints.
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

    /// Reads a line that is either an attribute or invalid. `known` is the known beginning of the line, and its length.
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
        // The name of a known line is an identifier; text hidden by a NUL byte is checked as well.
        let is_whole = !self.exact || number != NO_LINE && from + value.len() == line.len();
        // A line that began as expected was checked for a plain literal already, unless it may have NUL bytes.
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

    /// Returns the number of the lines with a beginning, adding it if it is unknown.
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

    /// Returns the name under which a line is kept, or `None` if it is not kept.
    #[inline]
    fn kept_name<'n>(&'n self, number: u32, name: &'n [u8], keep: KeptAttributes<'n>) -> Option<&'n [u8]> {
        match (self.line_by_number(number), keep) {
            (Some(known), _) => known.kept_name(keep),
            (None, KeptAttributes::All) => Some(name),
            (None, KeptAttributes::Wanted(wanted)) => match wanted.position(name) {
                Some(index) => Some(wanted.names[index].as_bytes()),
                None => wanted.has_prefix_of(name).then_some(name),
            },
        }
    }

    /// Reads all attributes of the lines of one ad, without invalid lines.
    pub(crate) fn read_whole_ad(&mut self, text: &[u8], options: LineOptions<'_>) -> ClassAd {
        let mut ad = self.begin_ad();
        self.read_lines(text, options, KeptAttributes::All, &mut ad);
        self.end_ad(&ad);
        ad
    }
}

impl KnownLine {
    /// Returns the name under which the line is kept, or `None` if it is not kept.
    #[inline]
    fn kept_name<'n>(&'n self, keep: KeptAttributes<'n>) -> Option<&'n [u8]> {
        match keep {
            KeptAttributes::All => Some(self.name()),
            // Most lines are not kept, and this comparison with a constant is all that they cost.
            KeptAttributes::Wanted(_) if self.wanted_index == NO_LINE => None,
            KeptAttributes::Wanted(wanted) => match wanted.names.get(self.wanted_index as usize) {
                Some(name) => Some(name.as_bytes()),
                None if self.wanted_index == KEPT_BY_PREFIX => Some(self.name()),
                None => None,
            },
        }
    }
}

/// Returns true if a text begins with `beginning`. The beginnings are short, so calling the C library would take longer
/// than the comparison.
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
