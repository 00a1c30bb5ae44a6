//! Ads in the long form: a line `Name = value` for each attribute (classad.md 11).

use std::borrow::Cow;

use crate::classad::ad::Slot;
use crate::classad::unparse::{self, Form};
use crate::classad::{AttrName, ClassAd, LineError, is_private};

/// In which order attributes are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
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
    pub order: Order,
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
/// use htc_hooks::classad::{ClassAd, format::long};
/// let (ad, errors) = long::parse(b"b = 1 + 1\nA = \"x\"\nClaimId = \"secret\"\n");
/// assert!(errors.is_empty());
/// assert_eq!(long::print(&ad), b"A = \"x\"\nb = 1 + 1\n");
/// ```
pub fn print(ad: &ClassAd) -> Vec<u8> {
    print_with(ad, &PrintOptions::default())
}

/// The long form with a choice of order and attributes.
pub fn print_with(ad: &ClassAd, options: &PrintOptions) -> Vec<u8> {
    let (attributes, bytes) = ad.extent();
    // Room for the names and texts, and some for each value that is no text.
    let mut out = Vec::with_capacity(bytes + 32 * attributes);
    push(ad, options, &mut out);
    out
}

/// The order in which the attributes of the last ad of a list were printed. Most ads of a list have the same attributes, so
/// that little is left to sort.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrangement(Vec<u32>);

/// Appends the long form of an ad.
pub fn push(ad: &ClassAd, options: &PrintOptions, out: &mut Vec<u8>) {
    push_arranged(ad, options, &mut Arrangement::default(), out);
}

/// As [`push`], for an ad of many.
pub(crate) fn push_arranged(ad: &ClassAd, options: &PrintOptions, last: &mut Arrangement, out: &mut Vec<u8>) {
    let ad = match ad.parent() {
        Some(_) if !options.own_only => Cow::Owned(ad.flattened_chain()),
        _ => Cow::Borrowed(ad),
    };
    let wanted = |name: &[u8]| {
        (options.private || !is_private(name))
            && options
                .only
                .as_ref()
                .is_none_or(|only| only.iter().any(|wanted| *wanted == AttrName::from(name)))
    };
    let mut slots: Vec<Printed<'_>> = Vec::with_capacity(ad.len());
    for (name, slot) in ad.slots() {
        if wanted(name) {
            slots.push(Printed { beginning: beginning(name), name, slot, at: slots.len() as u32 });
        }
    }
    // Sorting what is sorted already is one look at each.
    if last.0.len() == slots.len() {
        slots = last.0.iter().map(|&at| slots[at as usize]).collect();
    }
    match options.order {
        // Eight bytes decide nearly always, and cost one comparison.
        Order::Bytes => {
            let order = |a: &Printed<'_>, b: &Printed<'_>| {
                a.beginning.cmp(&b.beginning).then_with(|| a.name.cmp(b.name))
            };
            if !slots.is_sorted_by(|a, b| order(a, b).is_le()) {
                slots.sort_unstable_by(order);
            }
        }
        Order::Caseless => slots.sort_unstable_by(|a, b| crate::text::caseless::cmp(a.name, b.name)),
        Order::Ad => slots.sort_unstable_by(|a, b| crate::classad::name::ad_order(a.name, b.name)),
    }
    last.0.clear();
    last.0.extend(slots.iter().map(|printed| printed.at));
    for Printed { name, slot, .. } in slots {
        if options.quote_names {
            unparse::name(name, Form::Old, out);
        } else {
            out.extend_from_slice(name);
        }
        out.extend_from_slice(b" = ");
        unparse::slot(&ad, slot, Form::Old, out);
        out.push(b'\n');
    }
}

/// An attribute that is to be printed.
#[derive(Clone, Copy)]
struct Printed<'a> {
    beginning: u64,
    name: &'a [u8],
    slot: &'a Slot,
    /// Its place among those of the ad that are printed.
    at: u32,
}

/// The first eight bytes of a name as a number that orders as they do.
#[inline]
fn beginning(name: &[u8]) -> u64 {
    match name.first_chunk::<8>() {
        Some(eight) => u64::from_be_bytes(*eight),
        None => name.iter().enumerate().fold(0, |sum, (at, byte)| sum | u64::from(*byte) << (56 - 8 * at)),
    }
}

/// Reads the lines of one long ad. Blank lines and lines that begin with `#` are skipped; a line that is no attribute
/// is reported and the lines behind it are read all the same.
pub fn parse(text: &[u8]) -> (ClassAd, Vec<LineError>) {
    let mut ad = ClassAd::new();
    let mut errors = Vec::new();
    for line in text.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match line.iter().find(|byte| !byte.is_ascii_whitespace()) {
            None | Some(b'#') => {}
            Some(_) => errors.extend(ad.insert_line(line).err()),
        }
    }
    (ad, errors)
}
