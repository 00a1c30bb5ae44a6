//! Reading long ads for a few of their attributes: all values are checked as the reference checks them, but only those
//! that were asked for are kept.
//!
//! Ads of a queue resemble one another: a line most often begins like the line that followed the same line in the ad
//! before, so that one comparison tells its name and where its value begins. Numbers and plain strings are checked by
//! their bytes, other expressions by a memory of texts that were good before, and only the rest by the parser.

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Delimiter, Line, banner, without_cr};
use crate::ad::{ClassAd, exact_line, parts, to_nul};
use crate::read::skeleton::Skeleton;
use crate::syntax::{AttrName, Dialect, Expr, numbers};

/// Lines and texts that are remembered at most: ads of a stranger must not fill the memory.
const MOST_TEMPLATES: usize = 4096;
const MOST_TEXTS: usize = 8192;
const LONGEST_TEXT: usize = 2048;

const NONE: u32 = u32::MAX;

/// How lines of one name begin.
#[derive(Debug)]
struct Template {
    /// The line up to its value: `Name = `.
    prefix: Box<[u8]>,
    /// The number of the attribute, if it is wanted.
    wanted: u32,
    /// The template of the line that followed the last time.
    next: u32,
    /// An expression that stood here and was good, if there was one.
    last: Option<Skeleton>,
}

/// How a reader wants lines to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner<'a> {
    pub(super) delimiter: &'a Delimiter,
    /// Names are identifiers, and values end with their line.
    pub(super) exact: bool,
    /// There may be NUL bytes, each of which ends its line.
    pub(super) nul: bool,
    /// The mode in which values are read.
    pub(super) dialect: Dialect,
}

/// Which attributes of long ads are wanted, and what is remembered of lines seen: for [`AdReader::next_part`](super::AdReader::next_part).
///
/// ```
/// use htc_classad::stream::{AdReader, AdRecord, Skim};
/// use htc_classad::{Context, Expr, System};
/// let text = b"Owner = \"ana\"\nCpus = 2\nMemory = 7\n\nOwner = \"bob\"\n";
/// let wanted = Expr::parse(b"Cpus > 1").unwrap();
/// let mut skim = Skim::of([&wanted]).expect("it looks at what it names, and at nothing else");
/// let mut reader = AdReader::new(&text[..], None);
/// let record = reader.next_part(&mut skim, AdRecord::default()).unwrap().unwrap();
/// assert!(Context::new(&System).my(&record.ad).holds(&wanted));
/// assert!(!record.ad.contains("Memory") && reader.whole().contains("Memory"));
/// ```
#[derive(Debug, Default)]
pub struct Skim {
    wanted: Vec<AttrName>,
    templates: Vec<Template>,
    by_prefix: FxHashMap<Box<[u8]>, u32>,
    good: Good,
    open: bool,
    /// Where the value of each wanted attribute stands in the ad last read.
    values: Vec<Option<Range<usize>>>,
}

/// Texts that are known to be expressions.
#[derive(Debug, Default)]
struct Good {
    /// In which they are.
    dialect: Dialect,
    texts: FxHashSet<Box<[u8]>>,
    tried: u32,
    hits: u32,
}

/// What was found in the lines of one ad.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Bytes read, the delimiter included.
    pub(super) used: usize,
    /// Lines read.
    pub(super) lines: u64,
    /// The first line of the ad, counted from the start of the text, and its offset.
    pub(super) first: Option<(u64, usize)>,
    /// Whether a delimiter ended it.
    pub(super) ended: bool,
    /// Lines that could not be read: number and place.
    pub(super) bad: Vec<(u64, Range<usize>)>,
    /// The delimiter line, if it is a banner.
    pub(super) banner: Option<Range<usize>>,
}

impl Skim {
    /// Wants what these expressions refer to; none where they may look at anything.
    pub fn of<'e>(exprs: impl IntoIterator<Item = &'e Expr>) -> Option<Self> {
        let mut skim = Skim::default();
        for expr in exprs {
            skim.follow(expr);
        }
        (!skim.open).then_some(skim)
    }

    /// Wants one more.
    pub fn want(&mut self, name: AttrName) {
        if !self.wants(&name) {
            for template in &mut self.templates {
                let named = parts(&template.prefix).map(|parts| parts.name);
                if named.is_ok_and(|named| named.eq_ignore_ascii_case(name.as_bytes())) {
                    template.wanted = self.wanted.len() as u32;
                }
            }
            self.wanted.push(name);
            self.values.push(None);
        }
    }

    /// Whether the attribute is wanted.
    pub fn wants(&self, name: &AttrName) -> bool {
        self.wanted.contains(name)
    }

    /// Wants all that an expression refers to; whether that was wanted already.
    fn follow(&mut self, expr: &Expr) -> bool {
        let mut known = !self.open;
        if crate::syntax::mentions::is_open(expr) {
            self.open = true;
            known = false;
        }
        for name in crate::syntax::mentions::every(expr) {
            if !self.wants(&name) {
                known = false;
                self.want(name);
            }
        }
        known
    }

    /// Whether an expression was met that may look at any attribute at all.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Reads one ad from a text that holds whole ads only, and puts what is wanted of it into an empty one. Tells whether that is all
    /// that is wanted: values may refer to more, which is known from then on.
    pub(super) fn part(&mut self, text: &[u8], manner: Manner<'_>, ad: &mut ClassAd) -> (Found, bool) {
        let found = self.read(text, manner);
        let mut complete = true;
        for number in 0..self.wanted.len() {
            let Some(range) = self.values[number].clone() else { continue };
            let name = self.wanted[number].as_bytes();
            let is_literal = ad.insert_old(name, &text[range], manner.dialect);
            if is_literal == Ok(false)
                && let Some(expr) = ad.reference_of(name)
            {
                complete &= self.follow(&expr);
            }
        }
        (found, complete)
    }

    /// Reads the lines of one ad from a text that holds whole ads only.
    fn read(&mut self, text: &[u8], manner: Manner<'_>) -> Found {
        self.values.fill(None);
        if self.good.dialect != manner.dialect {
            // What was good for another reader need not be so for this one.
            self.good = Good { dialect: manner.dialect, ..Good::default() };
            self.forget();
        }
        let mut found = Found::default();
        let mut current = NONE;
        let mut at = 0;
        // Such a delimiter may begin as an attribute does.
        let by_prefix = matches!(manner.delimiter, Delimiter::Prefix(_));
        while at < text.len() {
            let length = memchr::memchr(b'\n', &text[at..]);
            let end = length.map_or(text.len(), |length| at + length);
            let line = without_cr(&text[at..end]);
            let start = at;
            at = length.map_or(text.len(), |length| at + length + 1);
            found.lines += 1;
            // The line that is expected here.
            let mut this = self.templates.get(current as usize).map_or(0, |template| template.next);
            let expected = self.templates.get(this as usize);
            let as_expected = !by_prefix && expected.is_some_and(|known| line.starts_with(&known.prefix));
            if !as_expected {
                match manner.delimiter.line(line, found.first.is_some()) {
                    Line::End => {
                        if banner(line).is_some() {
                            found.banner = Some(start..start + line.len());
                        }
                        if found.first.is_some() {
                            found.ended = true;
                            break;
                        }
                        continue;
                    }
                    Line::Nothing => continue,
                    Line::Attribute => {}
                }
            }
            if found.first.is_none() {
                found.first = Some((found.lines - 1, start));
                found.banner = None;
            }
            if !as_expected {
                this = match self.template(line, manner) {
                    Some(this) => this,
                    None => {
                        self.keep_unknown(line, start, manner, &mut found);
                        continue;
                    }
                };
                if let Some(template) = self.templates.get_mut(current as usize) {
                    template.next = this;
                }
            }
            current = this;
            let template = &mut self.templates[this as usize];
            let from = template.prefix.len();
            let value = if manner.nul { to_nul(&line[from..]) } else { &line[from..] };
            // What a NUL byte hides is not there, unless all of a line counts: then no value before it is good, also none that
            // was good without it.
            let whole = !manner.exact || from + value.len() == line.len();
            if !(whole && (is_plain(value) || template.last.as_ref().is_some_and(|last| last.fits(value)))) {
                if !whole || !self.good.is(value, manner.exact) {
                    found.bad.push((found.lines - 1, start..start + line.len()));
                    continue;
                }
                if value.len() <= LONGEST_TEXT {
                    template.last.get_or_insert_default().learn(value);
                }
            }
            if template.wanted != NONE {
                self.values[template.wanted as usize] = Some(start + from..start + from + value.len());
            }
        }
        found.used = at;
        found
    }

    /// Forgets how lines began.
    fn forget(&mut self) {
        self.by_prefix.clear();
        self.templates.clear();
    }

    /// The template of a line that begins like none that was expected; none where it is no attribute, or where there
    /// are too many templates already.
    fn template(&mut self, line: &[u8], manner: Manner<'_>) -> Option<u32> {
        let parts = parts(line).ok()?;
        let prefix = &line[..parts.value_at];
        if let Some(known) = self.by_prefix.get(prefix) {
            return Some(*known);
        }
        let refused = manner.exact && exact_line(line, manner.dialect).is_err();
        if refused || self.templates.len() >= MOST_TEMPLATES {
            return None;
        }
        let number = self.templates.len() as u32;
        self.by_prefix.insert(prefix.into(), number);
        self.templates.push(Template {
            prefix: prefix.into(),
            wanted: self.number_of(parts.name).map_or(NONE, |wanted| wanted as u32),
            next: NONE,
            last: None,
        });
        Some(number)
    }

    /// The number of a name, if it is wanted.
    fn number_of(&self, name: &[u8]) -> Option<usize> {
        self.wanted.iter().position(|wanted| wanted.as_bytes().eq_ignore_ascii_case(name))
    }

    /// A line that has no template: checked and kept by itself.
    fn keep_unknown(&mut self, line: &[u8], start: usize, manner: Manner<'_>, found: &mut Found) {
        let good = match parts(line) {
            Ok(parts) if manner.exact => exact_line(line, manner.dialect).is_ok().then_some(parts),
            Ok(parts) => self.good.is(parts.value, false).then_some(parts),
            Err(_) => None,
        };
        let Some(parts) = good else {
            found.bad.push((found.lines - 1, start..start + line.len()));
            return;
        };
        if let Some(wanted) = self.number_of(parts.name) {
            let from = start + parts.value_at;
            self.values[wanted] = Some(from..from + parts.value.len());
        }
    }
}

/// Whether a value is an integer, a plain real, a string that is closed by the last byte of the line, or a truth value:
/// what needs no parser.
fn is_plain(value: &[u8]) -> bool {
    match value {
        [b'"', rest @ ..] => is_rest_of_string(rest),
        [b'0'] => true,
        [b'-', b'1'..=b'9', rest @ ..] | [b'1'..=b'9', rest @ ..] => {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            match &rest[digits..] {
                [] => true,
                [b'.', fraction @ ..] => !fraction.is_empty() && fraction.iter().all(u8::is_ascii_digit),
                _ => false,
            }
        }
        [b'0', b'.', fraction @ ..] => !fraction.is_empty() && fraction.iter().all(u8::is_ascii_digit),
        _ => value == b"true" || value == b"false" || value == b"undefined",
    }
}

/// Whether a string of the old syntax ends with the line. A backslash before a quotation mark makes it part of the string.
fn is_rest_of_string(text: &[u8]) -> bool {
    let mut start = 0;
    while let Some(length) = memchr::memchr(b'"', &text[start..]) {
        let quote = start + length;
        if quote + 1 == text.len() {
            return true;
        }
        if length == 0 || text[quote - 1] != b'\\' {
            return false;
        }
        start = quote + 1;
    }
    false
}

impl Good {
    /// Whether a value begins with an expression; `exact`: and is nothing else. Texts that were good are remembered as long as
    /// that pays.
    fn is(&mut self, value: &[u8], exact: bool) -> bool {
        let keeps = value.len() <= LONGEST_TEXT;
        if keeps && self.texts.contains(value) {
            self.hits += 1;
            return true;
        }
        match Expr::parse_prefix(value, self.dialect.old()) {
            Ok((_, used)) if !exact || value[used..].iter().all(|byte| numbers::is_space(*byte)) => {}
            _ => return false,
        }
        self.tried += 1;
        // Where every text is another one, remembering them is but a loss.
        let pays = self.tried < 512 || self.hits > self.tried / 8;
        if keeps && pays && self.texts.len() < MOST_TEXTS {
            self.texts.insert(value.into());
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_values_are_those_the_parser_takes() {
        for text in [
            "1",
            "0",
            "-1",
            "1.5",
            "0.5",
            "-0",
            "01",
            "1.",
            "-",
            "",
            "\"a\"",
            "\"a",
            "\"a\"b\"",
            "\"C:\\\"",
            "true",
            "TRUE",
            "a",
            "1 2",
            "\"a\" ",
            "00",
            "-01",
            "--1",
            "9999999999999999999999",
            "1.5.5",
            "\"",
            "undefined",
            "\"a \\\"b\\\" c\"",
            "\"a\\\\\"b\"",
            "\"a\\\"\"b\"",
            "\"\\\"",
            "\"\\\"\"",
        ] {
            let mut ad = ClassAd::new();
            let line = format!("A = {text}");
            if is_plain(text.as_bytes()) {
                assert!(ad.insert_line(line.as_bytes()).is_ok(), "{text}");
            }
        }
    }

    #[test]
    fn wanted_values_are_found_wherever_they_stand() {
        let mut skim = Skim::default();
        ["Owner", "x"].into_iter().for_each(|name| skim.want(AttrName::from(name)));
        let text =
            b"Owner = \"a\"\nA = 1\n\n\nA = 2\nowner = \"b\"\nX = 1 + 2\nX=7\n\n# c\nB = (\nA = 3\n*** end\n";
        let mut at = 0;
        let mut seen = Vec::new();
        while at < text.len() {
            let rest = &text[at..];
            let manner = Manner {
                delimiter: &Delimiter::BlankOrBanner,
                exact: false,
                nul: false,
                dialect: Dialect::new_syntax(),
            };
            let found = skim.read(rest, manner);
            let value = |number: usize| {
                let range = skim.values[number].clone();
                range.map_or_else(String::new, |range| String::from_utf8_lossy(&rest[range]).into_owned())
            };
            seen.push((value(0), value(1), found.bad.len(), found.first.map(|(line, _)| line)));
            at += found.used;
        }
        let want = |owner: &str, x: &str, bad, line| (owner.to_owned(), x.to_owned(), bad, Some(line));
        assert_eq!(seen, [want("\"a\"", "", 0, 0), want("\"b\"", "7", 0, 1), want("", "", 1, 1)]);
    }
}
