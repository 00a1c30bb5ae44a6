//! The one reader of lines of long ads.
//!
//! Ads of a queue resemble one another: a line most often begins like the line that followed the same line in the ad
//! before, so that one comparison tells its name and where its value begins. Numbers and plain strings are read where they
//! stand, other expressions come from a memory of those that stood there before, and only the rest goes to the parser.
//! [`Keep`] says of which lines the values are kept; the others are checked as the reference checks them.

use std::ops::Range;

use crate::ad::{ClassAd, LineError, Parts, Slot, exact_line, parts, shifted, to_nul};
use crate::read::delimiter::{Delimiter, Line, without_cr};
use crate::read::memo::{Known, Memo, NONE};
use crate::syntax::expr::Repr;
use crate::syntax::literal::{plain_line, plain_literal};
use crate::syntax::scalar::Scalar;
use crate::syntax::{AttrName, Expr};

/// Which attributes are kept.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Keep<'k> {
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
    pub(crate) nul: bool,
    /// Stop at each delimiter, also where no attribute stands before it, and at a bad line, as the reference does.
    pub(crate) stops: bool,
}

/// What was found in the lines of one ad.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Bytes read, the delimiter included.
    pub(crate) used: usize,
    /// Lines read.
    pub(crate) lines: u64,
    /// How many of them were attributes.
    pub(crate) attributes: i32,
    /// The first attribute, good or bad: its line, counted from the start of the text, and its offset.
    pub(crate) first: Option<(u64, usize)>,
    /// Whether a delimiter ended the ad.
    pub(crate) ended: bool,
    /// Lines that could not be read: number, place and reason.
    pub(crate) bad: Vec<(u64, Range<usize>, LineError)>,
    /// The last delimiter line, if it stands before the first attribute or behind the last.
    pub(crate) delimiter: Option<Range<usize>>,
}

impl Found {
    /// A line of the ad begins at an offset.
    #[inline]
    fn attribute(&mut self, start: usize) {
        if self.first.is_none() {
            self.first = Some((self.lines - 1, start));
            self.delimiter = None;
        }
    }
}

impl Memo {
    /// Reads the lines of one ad from a text that ends with a line, and puts what is kept into the ad.
    pub(crate) fn read(
        &mut self,
        text: &[u8],
        options: LineOptions<'_>,
        keep: Keep<'_>,
        ad: &mut ClassAd,
    ) -> Found {
        self.nul = options.nul;
        let mut found = Found::default();
        let had = !ad.is_empty();
        let by_prefix = matches!(options.delimiter, Delimiter::Prefix(_));
        while found.used < text.len() {
            let start = found.used;
            let expected = self.expected();
            // Such a delimiter may begin as an attribute does; no other can.
            let begins = |known: &&Known| !by_prefix && begins(&text[start..], &known.beginning);
            let known = self.line(expected).filter(begins).map(|known| known.beginning.len());
            found.lines += 1;
            if let Some(from) = known
                && !options.nul
                && let Some(length) = self.glance(expected, from, &text[start..], keep, ad)
            {
                found.attribute(start);
                found.attributes += 1;
                found.used += length;
                continue;
            }
            let length = memchr::memchr(b'\n', &text[start..]);
            let line = without_cr(&text[start..length.map_or(text.len(), |length| start + length)]);
            found.used = length.map_or(text.len(), |length| start + length + 1);
            if known.is_none() {
                match options.delimiter.line(line, had || found.first.is_some()) {
                    Line::End => {
                        found.delimiter = Some(start..start + line.len());
                        found.ended = options.stops || found.first.is_some();
                        if found.ended {
                            break;
                        }
                        continue;
                    }
                    Line::Nothing => continue,
                    Line::Attribute => {}
                }
            }
            found.attribute(start);
            match self.take(line, known.map(|from| (expected, from)), keep, ad) {
                Ok(()) => found.attributes = found.attributes.saturating_add(1),
                Err(error) => {
                    found.bad.push((found.lines - 1, start..start + line.len(), error));
                    if options.stops {
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
    fn glance(
        &mut self,
        number: u32,
        from: usize,
        text: &[u8],
        keep: Keep<'_>,
        ad: &mut ClassAd,
    ) -> Option<usize> {
        let (plain, used) = plain_line(&text[from..])?;
        let is_usual = *text.get(from + used)? == b'\n';
        let length = from + used + if is_usual { 1 } else { 2 };
        let mut buffer = Vec::new();
        let (known, new) = self.come(number)?;
        match (keep, plain, new) {
            // The line is what the ad prints.
            (Keep::All, Scalar::Str(quoted), Some(hash))
                if is_usual && known.is_usual && quoted.plain().is_some() =>
            {
                ad.put_new_line(from, hash, &text[..length]);
            }
            (Keep::All, Scalar::Int(integer), Some(hash)) => {
                ad.put_new(known.name(), hash, Slot::Int(integer));
            }
            _ => {
                if let Some(name) = known.kept(keep) {
                    ad.put_plain(name, new, plain.map(|quoted| quoted.string(&mut buffer)));
                }
            }
        }
        Some(length)
    }

    /// Takes a line that is an attribute or none at all. What it begins like, and how long that is, may be known already.
    pub(crate) fn take(
        &mut self,
        line: &[u8],
        known: Option<(u32, usize)>,
        keep: Keep<'_>,
        ad: &mut ClassAd,
    ) -> Result<(), LineError> {
        let (name, number, from) = match known {
            Some((number, from)) => (&b""[..], number, from),
            None => {
                let Parts { name, value_at, .. } = parts(line)?;
                (name, self.number_of(&line[..value_at], name, keep), value_at)
            }
        };
        let new = self.enter(number);
        let value = if self.nul { to_nul(&line[from..]) } else { &line[from..] };
        // Of a line that is known the name is an identifier; what a NUL byte hides counts as well.
        let is_whole = !self.exact || number != NONE && from + value.len() == line.len();
        // What is plain to see of a line that came as expected has been seen, unless NUL bytes stood before it.
        let plain = if is_whole && (known.is_none() || self.nul) { plain_literal(value) } else { None };
        let mut buffer = Vec::new();
        if let Some(plain) = plain {
            if let Some(name) = self.kept(number, name, keep) {
                ad.put_plain(name, new, plain.map(|quoted| quoted.string(&mut buffer)));
            }
            return Ok(());
        }
        let is_kept = self.kept(number, name, keep).is_some();
        if is_whole && !is_kept && self.is_good(number, value) {
            return Ok(());
        }
        let mut tree = if is_whole && is_kept { self.recall(number, value) } else { None };
        if tree.is_none() {
            if self.exact {
                exact_line(line, self.dialect)?;
            }
            let parsed = Expr::parse_prefix(value, self.dialect);
            let (expr, _) = parsed.map_err(|error| LineError::Value(shifted(error, from)))?;
            match expr.0 {
                Repr::Node(parsed, root) => {
                    self.learn(number, value, root, &parsed);
                    tree = Some((root, parsed));
                }
                Repr::Scalar(scalar) => {
                    if let Some(name) = self.kept(number, name, keep) {
                        ad.put_plain(name, new, scalar.look());
                    }
                }
            }
        }
        if let (Some((root, tree)), Some(name)) = (tree, self.kept(number, name, keep)) {
            ad.put_known(name, new, Slot::Expr(root, tree));
        }
        Ok(())
    }

    /// The number of lines that begin so.
    fn number_of(&mut self, beginning: &[u8], name: &[u8], keep: Keep<'_>) -> u32 {
        if let Some(number) = self.find(beginning) {
            return number;
        }
        let wanted = position(name, keep).map_or(NONE, |wanted| wanted as u32);
        let at = beginning.iter().take_while(|byte| crate::text::space::is_space(**byte)).count();
        self.add(beginning, at, name, wanted)
    }

    /// The name under which a line is kept, if it is: that of a line that is known, or this one.
    #[inline]
    fn kept<'n>(&'n self, number: u32, name: &'n [u8], keep: Keep<'n>) -> Option<&'n [u8]> {
        match (self.line(number), keep) {
            (Some(known), _) => known.kept(keep),
            (None, Keep::All) => Some(name),
            (None, Keep::Names(names)) => position(name, keep).map(|wanted| names[wanted].as_bytes()),
        }
    }

    /// All attributes of the lines of one ad, what is bad left out.
    pub(crate) fn whole(&mut self, text: &[u8], options: LineOptions<'_>) -> ClassAd {
        let mut ad = self.begin();
        self.read(text, options, Keep::All, &mut ad);
        self.end(&ad);
        ad
    }
}

impl Known {
    /// The name under which it is kept, if it is.
    #[inline]
    fn kept<'n>(&'n self, keep: Keep<'n>) -> Option<&'n [u8]> {
        match keep {
            Keep::All => Some(self.name()),
            Keep::Names(names) => names.get(self.wanted as usize).map(AttrName::as_bytes),
        }
    }
}

/// Whether a text begins so. What is compared here is short: a call of the C library would take longer than the comparison.
#[inline]
fn begins(text: &[u8], beginning: &[u8]) -> bool {
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
fn position(name: &[u8], keep: Keep<'_>) -> Option<usize> {
    match keep {
        Keep::All => None,
        Keep::Names(names) => names.iter().position(|wanted| wanted.as_bytes().eq_ignore_ascii_case(name)),
    }
}
