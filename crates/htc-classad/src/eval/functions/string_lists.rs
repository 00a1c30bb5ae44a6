//! Lists within strings (reference: compat_classad.cpp, fnCall.cpp).

use super::tokens;
use crate::eval::computed::{Computed, Evaluated, Failure};
use crate::eval::evaluator::{Call, Entry};
use crate::syntax::numbers;
use crate::text::caseless;

pub(super) const TABLE: &[Entry] = &[
    ("stringListSize", size),
    ("stringListSum", |call| summary(call, Summary::Sum)),
    ("stringListAvg", |call| summary(call, Summary::Average)),
    ("stringListMin", |call| summary(call, Summary::Least)),
    ("stringListMax", |call| summary(call, Summary::Greatest)),
    ("stringListMember", |call| member(call, |a, b| a == b)),
    ("stringListIMember", |call| member(call, caseless::eq)),
    ("stringListSubsetMatch", |call| subset(call, |a, b| a == b)),
    ("stringListISubsetMatch", |call| subset(call, caseless::eq)),
    ("stringListsIntersect", intersect),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Summary {
    Sum,
    Average,
    Least,
    Greatest,
}

/// A list and its separators, both of which must be strings.
fn list<'a>(call: &mut Call<'_, 'a>) -> Result<Option<[&'a [u8]; 2]>, Failure> {
    if !(1..=2).contains(&call.count()) {
        return Ok(None);
    }
    let list = call.value(0)?;
    let separators = if call.count() == 2 { call.value(1)? } else { Computed::Str(tokens::BLANK_COMMA) };
    Ok(match (list, separators) {
        (Computed::Str(list), Computed::Str(separators)) => Some([list, separators]),
        _ => None,
    })
}

fn size<'a>(call: &mut Call<'_, 'a>) -> Evaluated<'a> {
    Ok(match list(call)? {
        Some([list, separators]) => {
            let count = tokens::trimmed(list, separators).count();
            Computed::Int(i64::try_from(count).unwrap_or(i64::MAX))
        }
        None => Computed::Error,
    })
}

/// Numbers are read by their beginnings; the result is an integer if no item has anything but digits and signs. The
/// starting values are those of C's `float`, as in the reference, so that the greatest of negative numbers is zero.
fn summary<'a>(call: &mut Call<'_, 'a>, what: Summary) -> Evaluated<'a> {
    let Some([list, separators]) = list(call)? else { return Ok(Computed::Error) };
    let mut result = match what {
        Summary::Sum | Summary::Average => 0.0,
        Summary::Least => f64::from(f32::MAX),
        Summary::Greatest => f64::from(f32::MIN_POSITIVE),
    };
    let mut count = 0u32;
    let mut is_real = false;
    for item in tokens::trimmed(list, separators) {
        let Some(number) = scan(item) else { return Ok(Computed::Error) };
        count += 1;
        is_real |= !item.iter().all(|byte| matches!(byte, b'+' | b'-' | b'0'..=b'9'));
        result = match what {
            Summary::Sum | Summary::Average => number + result,
            Summary::Least if number < result => number,
            Summary::Greatest if number > result => number,
            _ => result,
        };
    }
    Ok(match (what, count) {
        (Summary::Sum | Summary::Average, 0) => Computed::Real(0.0),
        (_, 0) => Computed::Undefined,
        _ => {
            if what == Summary::Average {
                result /= f64::from(count);
            }
            if is_real { Computed::Real(result) } else { Computed::Int(numbers::truncate(result)) }
        }
    })
}

/// `sscanf("%lf")`: as `strtod`, but a number that breaks off after its exponent letter or `0x` is no match.
fn scan(item: &[u8]) -> Option<f64> {
    let (number, used) = numbers::strtod(item);
    if used == 0 {
        return None;
    }
    let rest = &item[used..];
    match rest.first() {
        // The scanner has taken the letter already when it finds no digits behind it.
        Some(b'e' | b'E') if has_digits(&item[..used]) => None,
        Some(b'x' | b'X')
            if item[..used].ends_with(b"0")
                && item[..used].iter().filter(|b| b.is_ascii_digit()).count() == 1 =>
        {
            None
        }
        _ => Some(number),
    }
}

fn has_digits(text: &[u8]) -> bool {
    text.iter().any(u8::is_ascii_digit) && !text.iter().any(|byte| matches!(byte, b'e' | b'E' | b'x' | b'X'))
}

/// Item, list and separators: a single undefined one stands for an empty string or the default.
enum Pair<'a> {
    Is(&'a [u8], &'a [u8], &'a [u8]),
    Answer(Computed<'a>),
}

fn pair<'a>(call: &mut Call<'_, 'a>) -> Result<Pair<'a>, Failure> {
    let count = call.count();
    if count != 2 && count != 3 {
        return Ok(Pair::Answer(Computed::Error));
    }
    let (first, second) = (call.value(0)?, call.value(1)?);
    let separators = if count == 3 { call.value(2)? } else { Computed::Undefined };
    let text = |value: Computed<'a>, default: &'a [u8]| match value {
        Computed::Undefined => Some(default),
        Computed::Str(text) => Some(text),
        _ => None,
    };
    Ok(match (text(first, b""), text(second, b""), text(separators, tokens::WHITE_COMMA)) {
        (Some(_), Some(_), Some(_)) if first.is_undefined() && second.is_undefined() => {
            Pair::Answer(Computed::Undefined)
        }
        (Some(first), Some(second), Some(separators)) => Pair::Is(first, second, separators),
        _ => Pair::Answer(Computed::Error),
    })
}

fn member<'a>(call: &mut Call<'_, 'a>, same: fn(&[u8], &[u8]) -> bool) -> Evaluated<'a> {
    Ok(match pair(call)? {
        Pair::Answer(answer) => answer,
        Pair::Is(item, list, separators) => {
            Computed::Bool(tokens::trimmed(list, separators).any(|other| same(item, other)))
        }
    })
}

fn subset<'a>(call: &mut Call<'_, 'a>, same: fn(&[u8], &[u8]) -> bool) -> Evaluated<'a> {
    Ok(match pair(call)? {
        Pair::Answer(answer) => answer,
        Pair::Is(b"", _, _) => Computed::Bool(true),
        Pair::Is(items, list, separators) => {
            let mut answer = false;
            for item in tokens::trimmed(items, separators) {
                answer = tokens::trimmed(list, separators).any(|other| same(item, other));
                if !answer {
                    break;
                }
            }
            Computed::Bool(answer)
        }
    })
}

/// The only one of these functions that is the library's own: items are not trimmed, and a failure is an error.
fn intersect<'a>(call: &mut Call<'_, 'a>) -> Evaluated<'a> {
    let count = call.count();
    if count != 2 && count != 3 {
        return Ok(Computed::Error);
    }
    let mut values = [Computed::Str(b" ,"); 3];
    for (at, value) in values.iter_mut().enumerate().take(count) {
        match call.value(at) {
            Ok(found) => *value = found,
            Err(Failure) => return Ok(Computed::Error),
        }
    }
    if values.iter().any(|value| value.is_error()) {
        return Ok(Computed::Error);
    }
    if values.iter().any(|value| value.is_undefined()) {
        return Ok(Computed::Undefined);
    }
    let [Computed::Str(first), Computed::Str(second), Computed::Str(separators)] = values else {
        return Ok(Computed::Error);
    };
    let separators: &[u8] = if separators.is_empty() { b" ," } else { separators };
    let second: rustc_hash::FxHashSet<&[u8]> = tokens::raw(second, separators).collect();
    Ok(Computed::Bool(tokens::raw(first, separators).any(|item| second.contains(item))))
}
