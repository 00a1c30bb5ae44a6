//! Long form of ads: one line `Name = value` for each attribute (`sPrintAd`, compat_classad.cpp).
//!
//! ```
//! use htc_classad::format::long;
//! let (ad, errors) = long::parse("b = 1 + 1\nA = \"x\"\n");
//! assert!(errors.is_empty());
//! assert_eq!(long::print(&ad), b"A = \"x\"\nb = 1 + 1\n");
//! ```

use std::borrow::Cow;
use std::cell::Cell;
use std::cmp::Ordering;

use crate::ad::StoredValue;
use crate::ad::unparse::{self, UnparseForm};
use crate::ad::{ClassAd, LineError};
use crate::syntax::name::ad_order;
use crate::syntax::{AttrName, Dialect, is_private};
use crate::text::caseless;

/// Order in which attributes are printed.
///
/// ```
/// use htc_classad::{ClassAd, format::long::{self, PrintOptions, PrintOrder}};
/// let ad = ClassAd::from([("b", 1), ("C", 2), ("Aaa", 3)]);
/// let print = |order| String::from_utf8(long::print_with(&ad, &PrintOptions { order, ..Default::default() })).unwrap();
/// assert_eq!(print(PrintOrder::Bytes), "Aaa = 3\nC = 2\nb = 1\n");
/// assert_eq!(print(PrintOrder::Caseless), "Aaa = 3\nb = 1\nC = 2\n");
/// assert_eq!(print(PrintOrder::Ad), "b = 1\nC = 2\nAaa = 3\n");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrintOrder {
    /// By the bytes of the names, upper case first. This is the order of `-long` in the tools and of the "job ad print"
    /// of hooks.
    #[default]
    Bytes,
    /// Case-insensitively by name. This is the order in which lists of ads are printed.
    Caseless,
    /// By length of name, then case-insensitively. This is the internal order of ads (Python's `printOld`).
    Ad,
}

/// Options for printing a long ad. The default is the "job ad print" of hooks.
///
/// ```
/// use htc_classad::{ClassAd, format::long::{self, PrintOptions}};
/// let ad: ClassAd = "[ Owner = \"ana\"; Cpus = 4; ClaimId = \"secret\" ]".parse().unwrap();
/// let some = PrintOptions { only: Some(vec!["cpus".into(), "owner".into()]), ..PrintOptions::default() };
/// assert_eq!(long::print_with(&ad, &some), b"Cpus = 4\nOwner = \"ana\"\n");
/// ```
#[derive(Clone, Debug, Default)]
pub struct PrintOptions {
    /// Order of the attributes.
    pub order: PrintOrder,
    /// True to print secrets such as `ClaimId`.
    pub private: bool,
    /// True to omit the attributes of the chained parent.
    pub own_only: bool,
    /// True to quote names that are not identifiers, as Python's `printOld` does.
    pub quote_names: bool,
    /// Attributes to print, or `None` for all. The spelling of the names comes from the ad.
    pub only: Option<Vec<AttrName>>,
}

/// Prints an ad as the "job ad print" of hooks: attributes sorted by bytes, without secrets, including those of the
/// chained parent (reference: `sPrintAd`, compat_classad.cpp).
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

/// Prints the long form with a choice of order and attributes.
///
/// ```
/// use htc_classad::{ClassAd, format::long::{self, PrintOptions}};
/// let ad = ClassAd::from([("ClaimId", "secret")]);
/// let with_secrets = PrintOptions { private: true, ..PrintOptions::default() };
/// assert_eq!(long::print(&ad), b"");
/// assert_eq!(long::print_with(&ad, &with_secrets), b"ClaimId = \"secret\"\n");
/// ```
pub fn print_with(ad: &ClassAd, options: &PrintOptions) -> Vec<u8> {
    let (attributes, bytes) = ad.content_size();
    // Capacity for the names and strings, and an estimate for other values.
    let mut out = Vec::with_capacity(bytes + 32 * attributes);
    push(ad, options, &mut out);
    out
}

/// Order of the attributes of the last printed ad of a list. Most ads of a list have the same attributes, so the order
/// can be used again.
#[derive(Clone, Debug, Default)]
pub(crate) struct PrintArrangement {
    /// Names of the ad's attributes in internal order, without separators.
    names: Vec<u8>,
    ends: Vec<u32>,
    /// Attributes that are printed, in order.
    order: Vec<SortKey>,
}

impl PrintArrangement {
    /// Returns the indexes of the attributes that are printed, in order.
    pub(crate) fn order_for(&mut self, ad: &ClassAd, options: &PrintOptions) -> impl Iterator<Item = u32> {
        if !self.matches_ad(ad) {
            self.arrange_attributes(ad, options);
        }
        self.order.iter().map(SortKey::index)
    }

    /// Returns true if an ad has the same attributes as the last ad, with the same spelling and at the same indexes.
    fn matches_ad(&self, ad: &ClassAd) -> bool {
        let mut start = 0;
        self.ends.len() == ad.len()
            && self.ends.iter().enumerate().all(|(at, &end)| {
                let known = &self.names[start..end as usize];
                start = end as usize;
                ad.name_at(at) == known
            })
    }

    /// Computes the order of the attributes of an ad.
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
    /// Order of the attributes of the last ad that was printed outside of a list, because callers often print similar
    /// ads one after the other.
    static LAST_ORDER: Cell<Vec<u32>> = const { Cell::new(Vec::new()) };
}

/// Maximum number of attributes of an ad whose order is kept.
const MAX_REMEMBERED: usize = 1024;

/// Appends the long form of an ad.
///
/// ```
/// use htc_classad::{ClassAd, format::long::{self, PrintOptions}};
/// let mut text = b"# A slot\n".to_vec();
/// long::push(&ClassAd::from([("Cpus", 4)]), &PrintOptions::default(), &mut text);
/// assert_eq!(text, b"# A slot\nCpus = 4\n");
/// ```
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

/// Appends the long form of an ad, like [`push`], for one of many ads that are printed with the same options. Returns the number
/// of printed attributes.
pub(crate) fn push_arranged(
    ad: &ClassAd,
    options: &PrintOptions,
    last: &mut PrintArrangement,
    out: &mut Vec<u8>,
) -> usize {
    let ad = with_parent(ad, options);
    push_lines(&ad, options, last.order_for(&ad, options), out)
}

/// Returns the ad including the attributes of its chained parent, unless the options omit the parent.
fn with_parent<'a>(ad: &'a ClassAd, options: &PrintOptions) -> Cow<'a, ClassAd> {
    match ad.parent() {
        Some(_) if !options.own_only => Cow::Owned(ad.flattened_chain()),
        _ => Cow::Borrowed(ad),
    }
}

/// Returns true if an attribute is printed.
fn is_printed(name: &[u8], options: &PrintOptions) -> bool {
    (options.private || !is_private(name))
        && options.only.as_ref().is_none_or(|only| only.iter().any(|wanted| *wanted == AttrName::from(name)))
}

/// Returns false if the printed text of an ad shows that every attribute is read back with its own value: the text has
/// a line for each of the `count` attributes and no backslash, and all names are plain. Otherwise,
/// [`first_misread_attribute`] decides.
pub(crate) fn may_be_misread(ad: &ClassAd, text: &[u8], count: usize) -> bool {
    ad.parent().is_some()
        || memchr::memchr2(0, b'\\', text).is_some()
        || memchr::memchr_iter(b'\n', text).count() != count
        || !(0..ad.len()).all(|at| is_plain_name(ad.name_at(at)))
}

fn is_plain_name(name: &[u8]) -> bool {
    name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

/// Returns the first attribute of an ad whose line would be read back with another value. This is possible because the
/// long form escapes only quotation marks: a newline in a string ends the line, and a backslash may be read as part of
/// an escape.
pub(crate) fn first_misread_attribute(ad: &ClassAd, options: &PrintOptions) -> Option<AttrName> {
    let ad = with_parent(ad, options);
    let mut text = Vec::new();
    let is_misread = |&at: &usize| {
        let (line, value) = ad.line_at(at);
        let name = ad.name_at(at);
        let is_plain_name = is_plain_name(name);
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
                if is_plain_name {
                    return false;
                }
                // Only the name is tested here, so the value does not matter.
                text.extend_from_slice(&[name, b" = 1\n"].concat());
                let (read, errors) = parse(&text);
                return !errors.is_empty() || !read.names().eq([name]);
            }
        }
        let first = memchr::memchr3(0, b'\\', b'\n', &text);
        if is_plain_name && first.is_none_or(|first| first + 1 == text.len()) {
            return false;
        }
        let (read, errors) = parse(&text);
        !errors.is_empty() || !read.names().eq([name]) || read.get(name) != ad.get(name)
    };
    let at = (0..ad.len()).filter(|at| is_printed(ad.name_at(*at), options)).find(is_misread);
    at.map(|at| AttrName::from(ad.name_at(at)))
}

/// Sorts the attributes that are printed. `before` is the order of an earlier ad: if it has the same number of
/// attributes, sorting starts from that order, which is usually already right.
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

/// Appends the lines of the attributes with these indexes. Returns the number of attributes.
fn push_lines(
    ad: &ClassAd,
    options: &PrintOptions,
    order: impl Iterator<Item = u32>,
    out: &mut Vec<u8>,
) -> usize {
    let mut count = 0;
    for at in order {
        count += 1;
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
    count
}

/// Sort key of an attribute: the first eight bytes of its name in the high bits, its index in the low bits. Keys are
/// compared as one number, without a branch.
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

/// Sorts attributes by name. The first eight bytes of the names almost always determine the order, with one comparison.
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

/// Converts the eight bytes in a number to lower case.
fn lowercase_bytes(bytes: u64) -> u64 {
    u64::from_ne_bytes(bytes.to_ne_bytes().map(|byte| byte.to_ascii_lowercase()))
}

/// Returns the first eight bytes of a name as a number that sorts in the same order.
#[inline]
fn name_prefix(name: &[u8]) -> u64 {
    if let Some(eight) = name.first_chunk::<8>() {
        return u64::from_be_bytes(*eight);
    }
    match (name.first_chunk::<4>(), name.last_chunk::<4>()) {
        // For a name of fewer than eight bytes, the two parts overlap.
        (Some(first), Some(last)) => {
            u64::from(u32::from_be_bytes(*first)) << 32
                | u64::from(u32::from_be_bytes(*last)) << (64 - 8 * name.len())
        }
        _ => name.iter().enumerate().fold(0, |sum, (at, byte)| sum | u64::from(*byte) << (56 - 8 * at)),
    }
}

/// Parses the lines of one long ad. Blank lines and lines that begin with `#` are skipped. Lines that are not a valid
/// attribute are returned as errors, and all other lines are still read.
///
/// ```
/// use htc_classad::format::long;
/// let (ad, errors) = long::parse("# A job\nOwner = \"ana\"\nbad line\nCpus = 4\n");
/// assert_eq!((ad.len(), errors.len()), (2, 1));
/// ```
pub fn parse(text: impl AsRef<[u8]>) -> (ClassAd, Vec<LineError>) {
    parse_with(text, Dialect::old_syntax())
}

/// Parses the lines of one long ad like [`parse`], in the mode of a dialect.
///
/// ```
/// use htc_classad::{Dialect, format::long};
/// let (ad, errors) = long::parse_with("Cpus = 2 * 2\n", Dialect::old_syntax().strict(true));
/// assert_eq!((ad["Cpus"].to_string().as_str(), errors.len()), ("2 * 2", 0));
/// ```
pub fn parse_with(text: impl AsRef<[u8]>, dialect: Dialect) -> (ClassAd, Vec<LineError>) {
    let mut ad = ClassAd::new();
    let mut errors = Vec::new();
    for line in text.as_ref().split(|byte| *byte == b'\n') {
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
    fn names_with_a_common_prefix_are_sorted() {
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
    fn values_that_the_long_form_cannot_represent_are_detected() {
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
            assert!(super::may_be_misread(&ad, &print(&ad), ad.len()) || !misread, "{value}");
            let (read, errors) = parse(&print(&ad));
            assert_eq!(errors.is_empty() && read == ad, !misread, "{value}");
        }
    }

    #[test]
    fn names_that_the_long_form_cannot_represent_are_detected() {
        for (name, misread) in
            [("A", false), ("A b", false), ("X\n", true), ("X\nB", true), ("X = 1", true), (" X", true)]
        {
            for value in ["1", "\"text\"", "B + 1"] {
                let mut ad = ClassAd::new();
                ad.insert(name, Expr::parse_with(value.as_bytes(), Dialect::new_syntax()).unwrap());
                let found = super::first_misread_attribute(&ad, &PrintOptions::default());
                assert_eq!(found.is_some(), misread, "{name:?} = {value}");
                assert!(super::may_be_misread(&ad, &print(&ad), ad.len()) || !misread, "{name:?} = {value}");
            }
        }
    }

    #[test]
    fn an_ad_is_sorted_after_any_other_ad() {
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
