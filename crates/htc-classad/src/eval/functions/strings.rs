//! Functions on strings and versions (reference: fnCall.cpp, compat_classad.cpp).

use super::conversions::truncate_to_int32;
use super::list_items;
use super::versions::natural_cmp;
use crate::eval::computed_value::{ComputedValue, EvalResult};
use crate::eval::evaluator::{FunctionCall, NamedFunction};
use crate::text::caseless;

pub(super) const FUNCTIONS: &[NamedFunction] = &[
    ("strcat", strcat),
    ("join", join),
    ("toUpper", |call| change_text(call, |text| text.make_ascii_uppercase())),
    ("toLower", |call| change_text(call, |text| text.make_ascii_lowercase())),
    ("substr", substr),
    ("strcmp", |call| compare_texts(call, |a, b| ordering_sign(a.cmp(b)))),
    ("stricmp", |call| compare_texts(call, |a, b| ordering_sign(caseless::cmp(a, b)))),
    ("versioncmp", |call| compare_texts(call, |a, b| ComputedValue::Int(natural_cmp(a, b)))),
    ("versionLT", |call| compare_texts(call, |a, b| ComputedValue::Bool(natural_cmp(a, b) < 0))),
    ("versionLE", |call| compare_texts(call, |a, b| ComputedValue::Bool(natural_cmp(a, b) <= 0))),
    ("versionGT", |call| compare_texts(call, |a, b| ComputedValue::Bool(natural_cmp(a, b) > 0))),
    ("versionGE", |call| compare_texts(call, |a, b| ComputedValue::Bool(natural_cmp(a, b) >= 0))),
    ("versionEQ", |call| compare_texts(call, |a, b| ComputedValue::Bool(natural_cmp(a, b) == 0))),
    ("version_in_range", version_in_range),
    ("split", split),
    ("splitUserName", |call| split_at(call, true)),
    ("splitSlotName", |call| split_at(call, false)),
];

fn ordering_sign<'a>(order: std::cmp::Ordering) -> ComputedValue<'a> {
    ComputedValue::Int(order as i64)
}

fn strcat<'a>(call: &mut FunctionCall<'_, 'a>) -> EvalResult<'a> {
    let mut out = Vec::new();
    for argument in 0..call.argument_count() {
        match call.eval_argument_one_level_deeper(argument)? {
            ComputedValue::Undefined => return Ok(ComputedValue::Undefined),
            ComputedValue::Str(text) => out.extend_from_slice(text),
            value => match value.to_text() {
                Some(text) => out.extend_from_slice(&text),
                None => return Ok(ComputedValue::Error),
            },
        }
    }
    call.make_string(out)
}

/// Evaluates `join(separator, items...)`, `join(separator, list)` or `join(list)`.
fn join<'a>(call: &mut FunctionCall<'_, 'a>) -> EvalResult<'a> {
    let count = call.argument_count();
    let mut list = None;
    if let 1 | 2 = count
        && let ComputedValue::List(found) = call.eval_argument_one_level_deeper(count - 1)?
    {
        list = Some(found);
    }
    let mut joined = JoinBuffer::default();
    let separator = match (list, count) {
        (_, 0) => return Ok(ComputedValue::Str(b"")),
        (Some(_), 1) => ComputedValue::Str(b""),
        _ => call.eval_argument_one_level_deeper(0)?,
    };
    if separator.is_undefined() {
        joined.has_undefined = true;
    } else {
        match separator.to_text() {
            Some(text) => joined.separator = text.into_owned(),
            None => return Ok(ComputedValue::Error),
        }
    }
    match list {
        Some(list) => {
            for at in 0..list.len() {
                let item = call.eval_element_one_level_deeper(list, at)?;
                if !joined.add(item) {
                    return Ok(ComputedValue::Error);
                }
            }
        }
        None => {
            for argument in 1..count {
                let item = call.eval_argument_one_level_deeper(argument)?;
                if !joined.add(item) {
                    return Ok(ComputedValue::Error);
                }
            }
        }
    }
    if joined.has_undefined && !joined.has_defined {
        Ok(ComputedValue::Undefined)
    } else {
        call.make_string(joined.out)
    }
}

#[derive(Default)]
struct JoinBuffer {
    separator: Vec<u8>,
    out: Vec<u8>,
    has_undefined: bool,
    has_defined: bool,
}

impl JoinBuffer {
    /// Adds an item to the result of `join`. Returns false if the item is invalid.
    fn add(&mut self, item: ComputedValue<'_>) -> bool {
        if item.is_undefined() {
            self.has_undefined = true;
            return true;
        }
        let Some(text) = item.to_text() else { return false };
        if !self.out.is_empty() {
            self.out.extend_from_slice(&self.separator);
        }
        self.has_defined = true;
        self.out.extend_from_slice(&text);
        true
    }
}

fn change_text<'a>(call: &mut FunctionCall<'_, 'a>, change: impl FnOnce(&mut Vec<u8>)) -> EvalResult<'a> {
    match call.eval_arguments()? {
        Some([ComputedValue::Undefined]) => Ok(ComputedValue::Undefined),
        Some([value]) => match value.to_text() {
            Some(text) => {
                let mut text = text.into_owned();
                change(&mut text);
                call.make_string(text)
            }
            None => Ok(ComputedValue::Error),
        },
        None => Ok(ComputedValue::Error),
    }
}

/// Implements `substr()`. Negative offsets and lengths count from the end of the string; numbers are truncated
/// to 32 bits.
fn substr<'a>(call: &mut FunctionCall<'_, 'a>) -> EvalResult<'a> {
    let count = call.argument_count();
    if count != 2 && count != 3 {
        return Ok(ComputedValue::Error);
    }
    let (text, offset) = (call.eval_argument(0)?, call.eval_argument(1)?);
    let length = if count == 3 { call.eval_argument(2)? } else { ComputedValue::Int(i64::from(i32::MAX)) };
    if text.is_undefined() || offset.is_undefined() || length.is_undefined() {
        return Ok(ComputedValue::Undefined);
    }
    let (ComputedValue::Str(text), Some(offset), Some(length)) =
        (text, truncate_to_int32(offset), truncate_to_int32(length))
    else {
        return Ok(ComputedValue::Error);
    };
    let offset = i64::from(offset);
    let size = i64::try_from(text.len()).unwrap_or(i64::MAX);
    let start = if offset < 0 { (size + offset).max(0) } else { offset.min(size) };
    let length = match i64::from(length) {
        length @ 0.. => length.min(size - start),
        length => (size - start + length).max(0),
    };
    let (start, length) = (usize::try_from(start).unwrap_or(0), usize::try_from(length).unwrap_or(0));
    Ok(ComputedValue::Str(&text[start..start + length]))
}

/// Converts two values to text and compares the texts.
fn compare_texts<'a>(
    call: &mut FunctionCall<'_, 'a>,
    compare: impl FnOnce(&[u8], &[u8]) -> ComputedValue<'a>,
) -> EvalResult<'a> {
    Ok(match call.eval_arguments()? {
        Some([left, right]) if left.is_undefined() || right.is_undefined() => ComputedValue::Undefined,
        Some([left, right]) => match (left.to_text(), right.to_text()) {
            (Some(left), Some(right)) => compare(&left, &right),
            _ => ComputedValue::Error,
        },
        None => ComputedValue::Error,
    })
}

fn version_in_range<'a>(call: &mut FunctionCall<'_, 'a>) -> EvalResult<'a> {
    Ok(match call.eval_arguments()? {
        Some([_, low, high]) if low.is_undefined() || high.is_undefined() => ComputedValue::Undefined,
        Some([version, low, high]) => match (version.to_text(), low.to_text(), high.to_text()) {
            (Some(version), Some(low), Some(high)) => {
                ComputedValue::Bool(natural_cmp(&low, &version) <= 0 && natural_cmp(&version, &high) <= 0)
            }
            _ => ComputedValue::Error,
        },
        None => ComputedValue::Error,
    })
}

fn split<'a>(call: &mut FunctionCall<'_, 'a>) -> EvalResult<'a> {
    let count = call.argument_count();
    if count != 1 && count != 2 {
        return Ok(ComputedValue::Error);
    }
    let text = call.eval_argument(0)?;
    let separators = if count == 2 { call.eval_argument(1)? } else { ComputedValue::Str(b", \t") };
    let (ComputedValue::Str(text), ComputedValue::Str(separators)) = (text, separators) else {
        return Ok(ComputedValue::Error);
    };
    call.make_list(
        list_items::split_items(text, separators).into_iter().map(ComputedValue::Str).collect(),
        true,
    )
}

/// Implements `splitUserName()` and `splitSlotName()`: splits a name at `@`. A user name without `@` has no
/// domain; a slot name without `@` is only a machine name.
fn split_at<'a>(call: &mut FunctionCall<'_, 'a>, is_user: bool) -> EvalResult<'a> {
    let Some([value]) = call.eval_arguments()? else { return Ok(ComputedValue::Error) };
    let ComputedValue::Str(text) = value else { return Ok(ComputedValue::Error) };
    let (first, second): (&'a [u8], &'a [u8]) = match memchr::memchr(b'@', text) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None if is_user => (text, b""),
        None => (b"", text),
    };
    call.make_list(vec![ComputedValue::Str(first), ComputedValue::Str(second)], true)
}
