//! Strings and versions (reference: fnCall.cpp, compat_classad.cpp).

use super::conversions::int32;
use super::tokens;
use super::versions::natural_cmp;
use crate::eval::computed::{Computed, Evaluated};
use crate::eval::evaluator::{Call, Entry};
use crate::text::caseless;

pub(super) const TABLE: &[Entry] = &[
    ("strcat", strcat),
    ("join", join),
    ("toUpper", |call| change(call, |text| text.make_ascii_uppercase())),
    ("toLower", |call| change(call, |text| text.make_ascii_lowercase())),
    ("substr", substr),
    ("strcmp", |call| compare(call, |a, b| sign(a.cmp(b)))),
    ("stricmp", |call| compare(call, |a, b| sign(caseless::cmp(a, b)))),
    ("versioncmp", |call| compare(call, |a, b| Computed::Int(natural_cmp(a, b)))),
    ("versionLT", |call| compare(call, |a, b| Computed::Bool(natural_cmp(a, b) < 0))),
    ("versionLE", |call| compare(call, |a, b| Computed::Bool(natural_cmp(a, b) <= 0))),
    ("versionGT", |call| compare(call, |a, b| Computed::Bool(natural_cmp(a, b) > 0))),
    ("versionGE", |call| compare(call, |a, b| Computed::Bool(natural_cmp(a, b) >= 0))),
    ("versionEQ", |call| compare(call, |a, b| Computed::Bool(natural_cmp(a, b) == 0))),
    ("version_in_range", version_in_range),
    ("split", split),
    ("splitUserName", |call| split_at(call, true)),
    ("splitSlotName", |call| split_at(call, false)),
];

fn sign<'a>(order: std::cmp::Ordering) -> Computed<'a> {
    Computed::Int(order as i64)
}

fn strcat<'a>(call: &mut Call<'_, 'a>) -> Evaluated<'a> {
    let mut out = Vec::new();
    for argument in 0..call.count() {
        match call.value_deeper(argument)? {
            Computed::Undefined => return Ok(Computed::Undefined),
            Computed::Str(text) => out.extend_from_slice(text),
            value => match value.to_text() {
                Some(text) => out.extend_from_slice(&text),
                None => return Ok(Computed::Error),
            },
        }
    }
    call.text(out)
}

/// `join(separator, items...)`, `join(separator, list)` or `join(list)`.
fn join<'a>(call: &mut Call<'_, 'a>) -> Evaluated<'a> {
    let count = call.count();
    let mut list = None;
    if let 1 | 2 = count
        && let Computed::List(found) = call.value_deeper(count - 1)?
    {
        list = Some(found);
    }
    let mut joined = Joined::default();
    let separator = match (list, count) {
        (_, 0) => return Ok(Computed::Str(b"")),
        (Some(_), 1) => Computed::Str(b""),
        _ => call.value_deeper(0)?,
    };
    if separator.is_undefined() {
        joined.undefined = true;
    } else {
        match separator.to_text() {
            Some(text) => joined.separator = text.into_owned(),
            None => return Ok(Computed::Error),
        }
    }
    match list {
        Some(list) => {
            for at in 0..list.len() {
                let item = call.element_deeper(list, at)?;
                if !joined.add(item) {
                    return Ok(Computed::Error);
                }
            }
        }
        None => {
            for argument in 1..count {
                let item = call.value_deeper(argument)?;
                if !joined.add(item) {
                    return Ok(Computed::Error);
                }
            }
        }
    }
    if joined.undefined && !joined.defined { Ok(Computed::Undefined) } else { call.text(joined.out) }
}

#[derive(Default)]
struct Joined {
    separator: Vec<u8>,
    out: Vec<u8>,
    undefined: bool,
    defined: bool,
}

impl Joined {
    /// Adds an item; `false` for an error.
    fn add(&mut self, item: Computed<'_>) -> bool {
        if item.is_undefined() {
            self.undefined = true;
            return true;
        }
        let Some(text) = item.to_text() else { return false };
        if !self.out.is_empty() {
            self.out.extend_from_slice(&self.separator);
        }
        self.defined = true;
        self.out.extend_from_slice(&text);
        true
    }
}

fn change<'a>(call: &mut Call<'_, 'a>, change: impl FnOnce(&mut Vec<u8>)) -> Evaluated<'a> {
    match call.values()? {
        Some([Computed::Undefined]) => Ok(Computed::Undefined),
        Some([value]) => match value.to_text() {
            Some(text) => {
                let mut text = text.into_owned();
                change(&mut text);
                call.text(text)
            }
            None => Ok(Computed::Error),
        },
        None => Ok(Computed::Error),
    }
}

/// Offsets and lengths below zero count from the end; numbers are cut to 32 bits.
fn substr<'a>(call: &mut Call<'_, 'a>) -> Evaluated<'a> {
    let count = call.count();
    if count != 2 && count != 3 {
        return Ok(Computed::Error);
    }
    let (text, offset) = (call.value(0)?, call.value(1)?);
    let length = if count == 3 { call.value(2)? } else { Computed::Int(i64::from(i32::MAX)) };
    if text.is_undefined() || offset.is_undefined() || length.is_undefined() {
        return Ok(Computed::Undefined);
    }
    let (Computed::Str(text), Some(offset), Some(length)) = (text, int32(offset), int32(length)) else {
        return Ok(Computed::Error);
    };
    let offset = i64::from(offset);
    let size = i64::try_from(text.len()).unwrap_or(i64::MAX);
    let start = if offset < 0 { (size + offset).max(0) } else { offset.min(size) };
    let length = match i64::from(length) {
        length @ 0.. => length.min(size - start),
        length => (size - start + length).max(0),
    };
    let (start, length) = (usize::try_from(start).unwrap_or(0), usize::try_from(length).unwrap_or(0));
    Ok(Computed::Str(&text[start..start + length]))
}

/// Two values turned into texts and compared.
fn compare<'a>(call: &mut Call<'_, 'a>, compare: impl FnOnce(&[u8], &[u8]) -> Computed<'a>) -> Evaluated<'a> {
    Ok(match call.values()? {
        Some([left, right]) if left.is_undefined() || right.is_undefined() => Computed::Undefined,
        Some([left, right]) => match (left.to_text(), right.to_text()) {
            (Some(left), Some(right)) => compare(&left, &right),
            _ => Computed::Error,
        },
        None => Computed::Error,
    })
}

fn version_in_range<'a>(call: &mut Call<'_, 'a>) -> Evaluated<'a> {
    Ok(match call.values()? {
        Some([_, low, high]) if low.is_undefined() || high.is_undefined() => Computed::Undefined,
        Some([version, low, high]) => match (version.to_text(), low.to_text(), high.to_text()) {
            (Some(version), Some(low), Some(high)) => {
                Computed::Bool(natural_cmp(&low, &version) <= 0 && natural_cmp(&version, &high) <= 0)
            }
            _ => Computed::Error,
        },
        None => Computed::Error,
    })
}

fn split<'a>(call: &mut Call<'_, 'a>) -> Evaluated<'a> {
    let count = call.count();
    if count != 1 && count != 2 {
        return Ok(Computed::Error);
    }
    let text = call.value(0)?;
    let separators = if count == 2 { call.value(1)? } else { Computed::Str(b", \t") };
    let (Computed::Str(text), Computed::Str(separators)) = (text, separators) else {
        return Ok(Computed::Error);
    };
    call.list(tokens::split(text, separators).into_iter().map(Computed::Str).collect(), true)
}

/// `before@after`; without the sign a user has no domain, and a slot is all machine.
fn split_at<'a>(call: &mut Call<'_, 'a>, is_user: bool) -> Evaluated<'a> {
    let Some([value]) = call.values()? else { return Ok(Computed::Error) };
    let Computed::Str(text) = value else { return Ok(Computed::Error) };
    let (first, second): (&'a [u8], &'a [u8]) = match memchr::memchr(b'@', text) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None if is_user => (text, b""),
        None => (b"", text),
    };
    call.list(vec![Computed::Str(first), Computed::Str(second)], true)
}
