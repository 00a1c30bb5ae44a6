//! Functions on string lists (reference: compat_classad.cpp, fnCall.cpp).

use super::list_items;
use crate::eval::computed_value::{ComputedValue, EvalFailure, EvalResult};
use crate::eval::evaluator::{FunctionCall, NamedFunction};
use crate::syntax::numbers;
use crate::text::caseless;

pub(super) const FUNCTIONS: &[NamedFunction] = &[
    ("stringListSize", size),
    ("stringListSum", |call| summarize(call, ListSummary::Sum)),
    ("stringListAvg", |call| summarize(call, ListSummary::Average)),
    ("stringListMin", |call| summarize(call, ListSummary::Least)),
    ("stringListMax", |call| summarize(call, ListSummary::Greatest)),
    ("stringListMember", |call| member(call, |a, b| a == b)),
    ("stringListIMember", |call| member(call, caseless::eq)),
    ("stringListSubsetMatch", |call| subset(call, |a, b| a == b)),
    ("stringListISubsetMatch", |call| subset(call, caseless::eq)),
    ("stringListsIntersect", intersect),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum ListSummary {
    Sum,
    Average,
    Least,
    Greatest,
}

/// Evaluates the list and the separators of a function. Returns `Ok(None)` if one of them is not a string.
fn list_arguments<'a>(call: &mut FunctionCall<'_, 'a>) -> Result<Option<[&'a [u8]; 2]>, EvalFailure> {
    if !(1..=2).contains(&call.argument_count()) {
        return Ok(None);
    }
    let list = call.eval_argument(0)?;
    let separators = if call.argument_count() == 2 {
        call.eval_argument(1)?
    } else {
        ComputedValue::Str(list_items::BLANK_COMMA)
    };
    Ok(match (list, separators) {
        (ComputedValue::Str(list), ComputedValue::Str(separators)) => Some([list, separators]),
        _ => None,
    })
}

fn size<'a>(call: &mut FunctionCall<'_, 'a>) -> EvalResult<'a> {
    Ok(match list_arguments(call)? {
        Some([list, separators]) => {
            let count = list_items::trimmed_items(list, separators).count();
            ComputedValue::Int(i64::try_from(count).unwrap_or(i64::MAX))
        }
        None => ComputedValue::Error,
    })
}

/// Summarizes a list of numbers. Only the number at the beginning of each item is used. The result is an integer if all
/// items consist only of digits and signs. As in the reference, the initial values are limits of C's `float`, so the
/// maximum of negative numbers is zero.
fn summarize<'a>(call: &mut FunctionCall<'_, 'a>, what: ListSummary) -> EvalResult<'a> {
    let Some([list, separators]) = list_arguments(call)? else { return Ok(ComputedValue::Error) };
    let mut result = match what {
        ListSummary::Sum | ListSummary::Average => 0.0,
        ListSummary::Least => f64::from(f32::MAX),
        ListSummary::Greatest => f64::from(f32::MIN_POSITIVE),
    };
    let mut count = 0u32;
    let mut is_real = false;
    for item in list_items::trimmed_items(list, separators) {
        let Some(number) = scan_number(item) else { return Ok(ComputedValue::Error) };
        count += 1;
        is_real |= !item.iter().all(|byte| matches!(byte, b'+' | b'-' | b'0'..=b'9'));
        result = match what {
            ListSummary::Sum | ListSummary::Average => number + result,
            ListSummary::Least if number < result => number,
            ListSummary::Greatest if number > result => number,
            _ => result,
        };
    }
    Ok(match (what, count) {
        (ListSummary::Sum | ListSummary::Average, 0) => ComputedValue::Real(0.0),
        (_, 0) => ComputedValue::Undefined,
        _ => {
            if what == ListSummary::Average {
                result /= f64::from(count);
            }
            if is_real { ComputedValue::Real(result) } else { ComputedValue::Int(numbers::truncate(result)) }
        }
    })
}

/// Parses a number like `sscanf("%lf")`. Unlike for `strtod`, a number that ends after its exponent letter or after
/// `0x` is not valid.
fn scan_number(item: &[u8]) -> Option<f64> {
    let (number, used) = numbers::strtod(item);
    if used == 0 {
        return None;
    }
    let rest = &item[used..];
    match rest.first() {
        // When `sscanf` finds no digits after the exponent letter, it has already consumed the letter and fails.
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

/// Item, list and separators of a membership function. If only one of item and list is undefined, it is treated as an
/// empty string; undefined separators are the default separators.
enum ItemAndList<'a> {
    Valid(&'a [u8], &'a [u8], &'a [u8]),
    EarlyResult(ComputedValue<'a>),
}

fn item_and_list_arguments<'a>(call: &mut FunctionCall<'_, 'a>) -> Result<ItemAndList<'a>, EvalFailure> {
    let count = call.argument_count();
    if count != 2 && count != 3 {
        return Ok(ItemAndList::EarlyResult(ComputedValue::Error));
    }
    let (first, second) = (call.eval_argument(0)?, call.eval_argument(1)?);
    let separators = if count == 3 { call.eval_argument(2)? } else { ComputedValue::Undefined };
    let text = |value: ComputedValue<'a>, default: &'a [u8]| match value {
        ComputedValue::Undefined => Some(default),
        ComputedValue::Str(text) => Some(text),
        _ => None,
    };
    Ok(match (text(first, b""), text(second, b""), text(separators, list_items::WHITE_COMMA)) {
        (Some(_), Some(_), Some(_)) if first.is_undefined() && second.is_undefined() => {
            ItemAndList::EarlyResult(ComputedValue::Undefined)
        }
        (Some(first), Some(second), Some(separators)) => ItemAndList::Valid(first, second, separators),
        _ => ItemAndList::EarlyResult(ComputedValue::Error),
    })
}

fn member<'a>(call: &mut FunctionCall<'_, 'a>, same: fn(&[u8], &[u8]) -> bool) -> EvalResult<'a> {
    Ok(match item_and_list_arguments(call)? {
        ItemAndList::EarlyResult(answer) => answer,
        ItemAndList::Valid(item, list, separators) => {
            ComputedValue::Bool(list_items::trimmed_items(list, separators).any(|other| same(item, other)))
        }
    })
}

fn subset<'a>(call: &mut FunctionCall<'_, 'a>, same: fn(&[u8], &[u8]) -> bool) -> EvalResult<'a> {
    Ok(match item_and_list_arguments(call)? {
        ItemAndList::EarlyResult(answer) => answer,
        ItemAndList::Valid(b"", _, _) => ComputedValue::Bool(true),
        ItemAndList::Valid(items, list, separators) => {
            let mut answer = false;
            for item in list_items::trimmed_items(items, separators) {
                answer = list_items::trimmed_items(list, separators).any(|other| same(item, other));
                if !answer {
                    break;
                }
            }
            ComputedValue::Bool(answer)
        }
    })
}

/// Implements `stringListsIntersect()` of the ClassAd library: returns true if two lists have an item in common. Items
/// are not trimmed, and an argument that cannot be evaluated gives error.
fn intersect<'a>(call: &mut FunctionCall<'_, 'a>) -> EvalResult<'a> {
    let count = call.argument_count();
    if count != 2 && count != 3 {
        return Ok(ComputedValue::Error);
    }
    let mut values = [ComputedValue::Str(b" ,"); 3];
    for (at, value) in values.iter_mut().enumerate().take(count) {
        match call.eval_argument(at) {
            Ok(found) => *value = found,
            Err(EvalFailure) => return Ok(ComputedValue::Error),
        }
    }
    if values.iter().any(|value| value.is_error()) {
        return Ok(ComputedValue::Error);
    }
    if values.iter().any(|value| value.is_undefined()) {
        return Ok(ComputedValue::Undefined);
    }
    let [ComputedValue::Str(first), ComputedValue::Str(second), ComputedValue::Str(separators)] = values
    else {
        return Ok(ComputedValue::Error);
    };
    let separators: &[u8] = if separators.is_empty() { b" ," } else { separators };
    let second: rustc_hash::FxHashSet<&[u8]> = list_items::raw_items(second, separators).collect();
    Ok(ComputedValue::Bool(list_items::raw_items(first, separators).any(|item| second.contains(item))))
}
