//! Ads in the long form: a line `Name = value` for each attribute (`sPrintAd`, compat_classad.cpp).

use std::borrow::Cow;
use std::cell::Cell;
use std::cmp::Ordering;

use crate::ad::StoredValue;
use crate::ad::unparse::{self, UnparseForm};
use crate::ad::{ClassAd, LineError};
use crate::syntax::name::ad_order;
use crate::syntax::{AttrName, Dialect, is_private};
use crate::text::caseless;

/// In which order attributes are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrintOrder {
    /// By the bytes of their names, upper case first: `-long` of the tools, the "job ad print" of hooks.
    #[default]
    Bytes,
    /// Without regard to case: the writer of many ads.
    Caseless,
    /// By length of name, then caselessly: the order ads themselves have (Python's `printOld`).
    Ad,
}

/// What a long ad looks like. The default is the "job ad print".
#[derive(Clone, Debug, Default)]
pub struct PrintOptions {
    /// The order of attributes.
    pub order: PrintOrder,
    /// Print secrets such as `ClaimId` as well.
    pub private: bool,
    /// Leave the chained parent out.
    pub own_only: bool,
    /// Quote names that are no identifiers, as Python's `printOld` does.
    pub quote_names: bool,
    /// Print these attributes only, spelled as the ad spells them.
    pub only: Option<Vec<AttrName>>,
}

/// The "job ad print": sorted by bytes, secrets left out, the chained parent merged in
/// (reference: `sPrintAd`, compat_classad.cpp).
///
/// ```
/// use htc_classad::{ClassAd, format::long};
/// let (ad, errors) = long::parse(b"b = 1 + 1\nA = \"x\"\nClaimId = \"secret\"\n");
/// assert!(errors.is_empty());
/// assert_eq!(long::print(&ad), b"A = \"x\"\nb = 1 + 1\n");
/// ```
pub fn print(ad: &ClassAd) -> Vec<u8> {
    print_with(ad, &PrintOptions::default())
}

/// The long form with a choice of order and attributes.
pub fn print_with(ad: &ClassAd, options: &PrintOptions) -> Vec<u8> {
    let (attributes, bytes) = ad.content_size();
    // Room for the names and texts, and some for each value that is no text.
    let mut out = Vec::with_capacity(bytes + 32 * attributes);
    push(ad, options, &mut out);
    out
}

/// The order in which the attributes of the last ad of a list were printed. Most ads of a list have the same attributes, so
/// that nothing is left to find out.
#[derive(Clone, Debug, Default)]
pub(crate) struct PrintArrangement {
    /// The names of the ad as it has them, one behind the other, and where each ends.
    names: Vec<u8>,
    ends: Vec<u32>,
    /// Which of them are printed, in that order.
    order: Vec<SortKey>,
}

impl PrintArrangement {
    /// Which attributes of an ad are printed, by their places in it, in their order.
    pub(crate) fn order_for(&mut self, ad: &ClassAd, options: &PrintOptions) -> impl Iterator<Item = u32> {
        if !self.matches_ad(ad) {
            self.arrange_attributes(ad, options);
        }
        self.order.iter().map(SortKey::index)
    }

    /// Whether an ad has the same attributes, spelled and placed alike.
    fn matches_ad(&self, ad: &ClassAd) -> bool {
        let mut start = 0;
        self.ends.len() == ad.len()
            && self.ends.iter().enumerate().all(|(at, &end)| {
                let known = &self.names[start..end as usize];
                start = end as usize;
                ad.name_at(at) == known
            })
    }

    /// Arranges the attributes of an ad.
    fn arrange_attributes(&mut self, ad: &ClassAd, options: &PrintOptions) {
        self.names.clear();
        self.ends.clear();
        for name in ad.names() {
            self.names.extend_from_slice(name);
            self.ends.push(self.names.len() as u32);
        }
        sort_attributes(ad, options, &[], &mut self.order);
    }
}

thread_local! {
    /// How the attributes of the ad stood that was printed last by itself: callers print one after the other.
    static LAST_ORDER: Cell<Vec<u32>> = const { Cell::new(Vec::new()) };
}

/// Attributes whose order is remembered at most.
const MAX_REMEMBERED: usize = 1024;

/// Appends the long form of an ad.
pub fn push(ad: &ClassAd, options: &PrintOptions, out: &mut Vec<u8>) {
    let ad = with_parent(ad, options);
    let mut last = LAST_ORDER.take();
    let mut order = Vec::with_capacity(ad.len());
    sort_attributes(&ad, options, &last, &mut order);
    push_lines(&ad, options, order.iter().map(SortKey::index), out);
    if order.len() == ad.len() && order.len() <= MAX_REMEMBERED {
        last.clear();
        last.extend(order.iter().map(SortKey::index));
        LAST_ORDER.set(last);
    }
}

/// As [`push`], for an ad of many that are printed with the same options.
pub(crate) fn push_arranged(
    ad: &ClassAd,
    options: &PrintOptions,
    last: &mut PrintArrangement,
    out: &mut Vec<u8>,
) {
    let ad = with_parent(ad, options);
    push_lines(&ad, options, last.order_for(&ad, options), out);
}

/// The ad with its chained parent merged in, where that is to be printed.
fn with_parent<'a>(ad: &'a ClassAd, options: &PrintOptions) -> Cow<'a, ClassAd> {
    match ad.parent() {
        Some(_) if !options.own_only => Cow::Owned(ad.flattened_chain()),
        _ => Cow::Borrowed(ad),
    }
}

/// Whether an attribute is printed.
fn is_printed(name: &[u8], options: &PrintOptions) -> bool {
    (options.private || !is_private(name))
        && options.only.as_ref().is_none_or(|only| only.iter().any(|wanted| *wanted == AttrName::from(name)))
}

/// The first attribute of an ad whose line reads back as something else: the long form has no escapes but that of a quotation
/// mark, so that a newline ends the line within a string, and a backslash may be taken for part of an escape.
pub(crate) fn first_misread_attribute(ad: &ClassAd, options: &PrintOptions) -> Option<AttrName> {
    let ad = with_parent(ad, options);
    let mut text = Vec::new();
    let is_misread = |&at: &usize| {
        let (line, value) = ad.line_at(at);
        text.clear();
        match value {
            None => text.extend_from_slice(line),
            Some(value @ (StoredValue::Str(_) | StoredValue::QuotedLine(_) | StoredValue::Expr(..))) => {
                text.extend_from_slice(line);
                unparse::push_stored_value(&ad, value, UnparseForm::Old, &mut text);
                text.push(b'\n');
            }
            Some(
                StoredValue::Undefined
                | StoredValue::Error
                | StoredValue::Bool(_)
                | StoredValue::Int(_)
                | StoredValue::Real(_),
            ) => {
                return false;
            }
        }
        let Some(first) = memchr::memchr3(0, b'\\', b'\n', &text) else { return false };
        if first + 1 == text.len() {
            return false;
        }
        let (read, errors) = parse(&text);
        let name = ad.name_at(at);
        !errors.is_empty() || read.len() != 1 || read.get(name) != ad.get(name)
    };
    let at = (0..ad.len()).filter(|at| is_printed(ad.name_at(*at), options)).find(is_misread);
    at.map(|at| AttrName::from(ad.name_at(at)))
}

/// The number of each attribute that is printed, behind what orders it nearly always; in order. Where all attributes of an
/// ad with as many stood in some order before, they are looked at in that one, which is mostly right.
fn sort_attributes(ad: &ClassAd, options: &PrintOptions, before: &[u32], order: &mut Vec<SortKey>) {
    order.clear();
    let add = |at: u32| {
        let name = ad.name_at(at as usize);
        if is_printed(name, options) {
            order.push(SortKey::new(name_prefix(name), at));
        }
    };
    if before.len() == ad.len() {
        before.iter().copied().for_each(add);
    } else {
        (0..ad.len() as u32).for_each(add);
    }
    let name = |at: u32| ad.name_at(at as usize);
    match options.order {
        PrintOrder::Bytes => sort_by_name_prefix(order, |a, b| name(a).cmp(name(b))),
        PrintOrder::Caseless => {
            order
                .iter_mut()
                .for_each(|place| *place = SortKey::new(lowercase_bytes(place.prefix()), place.index()));
            sort_by_name_prefix(order, |a, b| caseless::cmp(name(a), name(b)));
        }
        PrintOrder::Ad => order.sort_unstable_by(|a, b| ad_order(name(a.index()), name(b.index()))),
    }
}

/// Appends the lines of attributes.
fn push_lines(ad: &ClassAd, options: &PrintOptions, order: impl Iterator<Item = u32>, out: &mut Vec<u8>) {
    for at in order {
        let (line, value) = ad.line_at(at as usize);
        if options.quote_names {
            let name = ad.name_at(at as usize);
            unparse::push_name(name, UnparseForm::Old, out);
            out.extend_from_slice(&line[name.len()..]);
        } else {
            out.extend_from_slice(line);
        }
        if let Some(value) = value {
            unparse::push_stored_value(ad, value, UnparseForm::Old, out);
            out.push(b'\n');
        }
    }
}

/// Where an attribute stands, below the first eight bytes of its name: one number, which sorts without a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SortKey(u128);

impl SortKey {
    #[inline]
    fn new(beginning: u64, at: u32) -> Self {
        SortKey(u128::from(beginning) << 32 | u128::from(at))
    }

    #[inline]
    fn prefix(&self) -> u64 {
        (self.0 >> 32) as u64
    }

    #[inline]
    fn index(&self) -> u32 {
        self.0 as u32
    }
}

/// Sorts attributes by their names: the first eight bytes decide nearly always, and cost one comparison.
fn sort_by_name_prefix(order: &mut [SortKey], names: impl Fn(u32, u32) -> Ordering) {
    let less =
        |a: &SortKey, b: &SortKey| a.prefix().cmp(&b.prefix()).then_with(|| names(a.index(), b.index()));
    if order.is_sorted_by(|a, b| less(a, b).is_le()) {
        return;
    }
    order.sort_unstable();
    for run in order.chunk_by_mut(|a, b| a.prefix() == b.prefix()) {
        if run.len() > 1 {
            run.sort_unstable_by(|a, b| names(a.index(), b.index()));
        }
    }
}

/// Eight bytes in lower case.
fn lowercase_bytes(bytes: u64) -> u64 {
    u64::from_ne_bytes(bytes.to_ne_bytes().map(|byte| byte.to_ascii_lowercase()))
}

/// The first eight bytes of a name as a number that orders as they do.
#[inline]
fn name_prefix(name: &[u8]) -> u64 {
    if let Some(eight) = name.first_chunk::<8>() {
        return u64::from_be_bytes(*eight);
    }
    match (name.first_chunk::<4>(), name.last_chunk::<4>()) {
        // They overlap where there are fewer than eight.
        (Some(first), Some(last)) => {
            u64::from(u32::from_be_bytes(*first)) << 32
                | u64::from(u32::from_be_bytes(*last)) << (64 - 8 * name.len())
        }
        _ => name.iter().enumerate().fold(0, |sum, (at, byte)| sum | u64::from(*byte) << (56 - 8 * at)),
    }
}

/// Reads the lines of one long ad. Blank lines and lines that begin with `#` are skipped; a line that is no attribute
/// is reported and the lines behind it are read all the same.
pub fn parse(text: &[u8]) -> (ClassAd, Vec<LineError>) {
    parse_with(text, Dialect::old_syntax())
}

/// As [`parse`], in the mode of a dialect.
pub fn parse_with(text: &[u8], dialect: Dialect) -> (ClassAd, Vec<LineError>) {
    let mut ad = ClassAd::new();
    let mut errors = Vec::new();
    for line in text.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match line.iter().find(|byte| !byte.is_ascii_whitespace()) {
            None | Some(b'#') => {}
            Some(_) => errors.extend(ad.insert_line_with(line, dialect).err()),
        }
    }
    (ad, errors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::{Dialect, Expr};

    #[test]
    fn names_that_begin_alike_are_sorted_to_their_ends() {
        let names = [
            "Request",
            "RequestCpus",
            "RequestCpu",
            "R",
            "Re",
            "Req",
            "Requ",
            "Reques",
            "RequestDisk",
            "a",
            "Ab",
        ];
        let mut sorted = names;
        sorted.sort_unstable();
        let mut ad = ClassAd::new();
        for name in names {
            ad.set(name, 1);
        }
        let expected: String = sorted.iter().map(|name| format!("{name} = 1\n")).collect();
        let mut arrangement = PrintArrangement::default();
        for _ in 0..2 {
            let mut out = Vec::new();
            push_arranged(&ad, &PrintOptions::default(), &mut arrangement, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }

    #[test]
    fn what_the_long_form_cannot_say_is_known() {
        let options = PrintOptions::default();
        for (value, misread) in [
            ("\"plain \\\"quoted\\\" text\"", false),
            ("\"C:\\\\dir\\\\\"", false),
            ("\"two\\nlines\"", true),
            ("\"two\\nB = 2\"", true),
            ("strcat(\"C:\\\\\", a)", true),
            ("strcat(\"a\\tb\", a)", false),
            ("1 + 1", false),
            ("2", false),
        ] {
            let mut ad = ClassAd::new();
            ad.insert("A", Expr::parse_with(value.as_bytes(), Dialect::new_syntax()).unwrap());
            assert_eq!(super::first_misread_attribute(&ad, &options).is_some(), misread, "{value}");
            let (read, errors) = parse(&print(&ad));
            assert_eq!(errors.is_empty() && read == ad, !misread, "{value}");
        }
    }

    #[test]
    fn an_ad_is_sorted_whatever_was_printed_before() {
        let ads = [
            "B=1\nA=2\nC=3",
            "C=1\nB=2\nA=3",
            "A=1\nClaimId=\"s\"\nB=3",
            "Z=1\na=2\nM=3",
            "B=1",
            "C=1\nA=1\nB=2",
        ];
        for text in ads.iter().chain(&ads) {
            let (ad, _) = parse(text.as_bytes());
            let mut lines: Vec<String> = text.lines().map(|line| line.replace('=', " = ")).collect();
            lines.retain(|line| !line.starts_with("ClaimId"));
            lines.sort_unstable();
            assert_eq!(String::from_utf8(print(&ad)).unwrap(), lines.join("\n") + "\n", "{text}");
        }
    }
}
