//! The one reader of lines of long ads.
//!
//! Ads of a queue resemble one another: a line most often begins like the line that followed the same line in the ad
//! before, so that one comparison tells its name and where its value begins. Numbers and plain strings are read where they
//! stand, other expressions come from a memory of those that stood there before, and only the rest goes to the parser.
//! [`KeptAttributes`] says of which lines the values are kept; the others are checked as the reference checks them.

use std::ops::Range;

use crate::ad::{
    ClassAd, LineError, LineParts, StoredValue, check_exact_line, cut_at_nul, shift_error, split_line,
};
use crate::ad_io::delimiter::{Delimiter, LineKind, strip_cr};
use crate::ad_io::line_memo::{KnownLine, LineMemo, NO_LINE};
use crate::syntax::expr::ExprRepr;
use crate::syntax::scalar::Scalar;
use crate::syntax::simple_literals::{parse_literal_line, parse_plain_literal};
use crate::syntax::{AttrName, Expr};

/// Which attributes are kept.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KeptAttributes<'k> {
    /// All.
    All,
    /// Those of these names, under these spellings. All lines that a memory knows belong to the same names.
    Names(&'k [AttrName]),
}

/// How lines are to be taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineOptions<'a> {
    pub(crate) delimiter: &'a Delimiter,
    /// There may be NUL bytes.
    pub(crate) may_have_nul: bool,
    /// Stop at each delimiter, also where no attribute stands before it, and at a bad line, as the reference does.
    pub(crate) stop_early: bool,
}

/// What was found in the lines of one ad.
#[derive(Debug, Default)]
pub(crate) struct LinesRead {
    /// Bytes read, the delimiter included.
    pub(crate) bytes_used: usize,
    /// Lines read.
    pub(crate) lines: u64,
    /// How many of them were attributes.
    pub(crate) attribute_count: i32,
    /// The first attribute, good or bad: its line, counted from the start of the text, and its offset.
    pub(crate) first_attribute: Option<(u64, usize)>,
    /// Whether a delimiter ended the ad.
    pub(crate) ended_by_delimiter: bool,
    /// Lines that could not be read: number, place and reason.
    pub(crate) errors: Vec<(u64, Range<usize>, LineError)>,
    /// The last delimiter line, if it stands before the first attribute or behind the last.
    pub(crate) delimiter: Option<Range<usize>>,
}

impl LinesRead {
    /// A line of the ad begins at an offset.
    #[inline]
    fn note_attribute(&mut self, start: usize) {
        if self.first_attribute.is_none() {
            self.first_attribute = Some((self.lines - 1, start));
            self.delimiter = None;
        }
    }
}

impl LineMemo {
    /// Reads the lines of one ad from a text that ends with a line, and puts what is kept into the ad.
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
            // Such a delimiter may begin as an attribute does; no other can.
            let begins =
                |known: &&KnownLine| !by_prefix && starts_with_short(&text[start..], &known.beginning);
            let known = self.known_line(expected).filter(begins).map(|known| known.beginning.len());
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
                Ok(()) => found.attribute_count = found.attribute_count.saturating_add(1),
                Err(error) => {
                    found.errors.push((found.lines - 1, start..start + line.len(), error));
                    if options.stop_early {
                        break;
                    }
                }
            }
        }
        found
    }

    /// Takes the line that a text begins with, which begins as expected, if its value is plain to see; the length of the line with
    /// its end.
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
            // The line is what the ad prints.
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

    /// Takes a line that is an attribute or none at all. What it begins like, and how long that is, may be known already.
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
        // Of a line that is known the name is an identifier; what a NUL byte hides counts as well.
        let is_whole = !self.exact || number != NO_LINE && from + value.len() == line.len();
        // What is plain to see of a line that came as expected has been seen, unless NUL bytes stood before it.
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

    /// The number of lines that begin so.
    fn find_or_add_line(&mut self, beginning: &[u8], name: &[u8], keep: KeptAttributes<'_>) -> u32 {
        if let Some(number) = self.find_line(beginning) {
            return number;
        }
        let wanted = wanted_index(name, keep).map_or(NO_LINE, |wanted| wanted as u32);
        let at = beginning.iter().take_while(|byte| crate::text::space::is_space(**byte)).count();
        self.add_line(beginning, at, name, wanted)
    }

    /// The name under which a line is kept, if it is: that of a line that is known, or this one.
    #[inline]
    fn kept_name<'n>(&'n self, number: u32, name: &'n [u8], keep: KeptAttributes<'n>) -> Option<&'n [u8]> {
        match (self.known_line(number), keep) {
            (Some(known), _) => known.kept_name(keep),
            (None, KeptAttributes::All) => Some(name),
            (None, KeptAttributes::Names(names)) => {
                wanted_index(name, keep).map(|wanted| names[wanted].as_bytes())
            }
        }
    }

    /// All attributes of the lines of one ad, what is bad left out.
    pub(crate) fn read_whole_ad(&mut self, text: &[u8], options: LineOptions<'_>) -> ClassAd {
        let mut ad = self.begin_ad();
        self.read_lines(text, options, KeptAttributes::All, &mut ad);
        self.end_ad(&ad);
        ad
    }
}

impl KnownLine {
    /// The name under which it is kept, if it is.
    #[inline]
    fn kept_name<'n>(&'n self, keep: KeptAttributes<'n>) -> Option<&'n [u8]> {
        match keep {
            KeptAttributes::All => Some(self.name()),
            KeptAttributes::Names(names) => names.get(self.wanted_index as usize).map(AttrName::as_bytes),
        }
    }
}

/// Whether a text begins so. What is compared here is short: a call of the C library would take longer than the comparison.
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

/// The place of a name among those that are wanted.
fn wanted_index(name: &[u8], keep: KeptAttributes<'_>) -> Option<usize> {
    match keep {
        KeptAttributes::All => None,
        KeptAttributes::Names(names) => {
            names.iter().position(|wanted| wanted.as_bytes().eq_ignore_ascii_case(name))
        }
    }
}
