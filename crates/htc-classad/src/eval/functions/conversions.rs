//! Functions that convert between types (reference: `convertValueTo...Value`, value.cpp).

use crate::eval::computed_value::{ComputedValue, EvalResult};
use crate::eval::evaluator::{FunctionCall, NamedFunction};
use crate::syntax::numbers;
use crate::text::caseless;

pub(super) const FUNCTIONS: &[NamedFunction] =
    &[("int", int), ("real", real), ("string", string), ("bool", boolean), ("interval", interval)];

/// Converts a value to an integer. Undefined and error are returned unchanged; any other value that cannot be
/// converted becomes error.
fn to_int(value: ComputedValue<'_>) -> ComputedValue<'_> {
    ComputedValue::Int(match value {
        ComputedValue::Undefined => return ComputedValue::Undefined,
        ComputedValue::Bool(truth) => i64::from(truth),
        ComputedValue::Int(integer) => integer,
        ComputedValue::Real(real) => numbers::truncate(real),
        // The string is converted to a real first, so a large integer loses its last digits.
        ComputedValue::Str(text) => match numbers::strtod(text) {
            (_, 0) => return ComputedValue::Error,
            (real, _) => numbers::truncate(real),
        },
        ComputedValue::AbsTime(time) => time.seconds,
        ComputedValue::RelTime(seconds) => i64::from(numbers::truncate32(seconds)),
        ComputedValue::Error | ComputedValue::List(_) | ComputedValue::Ad(_) => return ComputedValue::Error,
    })
}

/// Converts a value to a real. Undefined and error are returned unchanged; any other value that cannot be
/// converted becomes error.
pub(super) fn to_real(value: ComputedValue<'_>) -> ComputedValue<'_> {
    ComputedValue::Real(match value {
        ComputedValue::Undefined => return ComputedValue::Undefined,
        ComputedValue::Bool(truth) => f64::from(u8::from(truth)),
        ComputedValue::Int(integer) => integer as f64,
        ComputedValue::Real(real) => real,
        ComputedValue::Str(text) => match numbers::strtod(text) {
            (_, 0) => return ComputedValue::Error,
            (real, _) => real,
        },
        ComputedValue::AbsTime(time) => time.seconds as f64,
        ComputedValue::RelTime(seconds) => f64::from(numbers::truncate32(seconds)),
        ComputedValue::Error | ComputedValue::List(_) | ComputedValue::Ad(_) => return ComputedValue::Error,
    })
}

/// Returns the value as a real, or `None` if it cannot be converted.
pub(super) fn convert_to_real(value: ComputedValue<'_>) -> Option<f64> {
    match to_real(value) {
        ComputedValue::Real(real) => Some(real),
        _ => None,
    }
}

/// Truncates an integer to a C `int` as the reference does, or returns `None` if the value is not an integer.
pub(super) fn truncate_to_int32(value: ComputedValue<'_>) -> Option<i32> {
    match value {
        ComputedValue::Int(integer) => Some(integer as i32),
        _ => None,
    }
}

fn int<'a>(call: &mut FunctionCall<'_, 'a>) -> EvalResult<'a> {
    Ok(match call.eval_arguments()? {
        Some([value]) => to_int(value),
        None => ComputedValue::Error,
    })
}

fn real<'a>(call: &mut FunctionCall<'_, 'a>) -> EvalResult<'a> {
    Ok(match call.eval_arguments()? {
        Some([value]) => to_real(value),
        None => ComputedValue::Error,
    })
}

fn string<'a>(call: &mut FunctionCall<'_, 'a>) -> EvalResult<'a> {
    match call.eval_arguments()? {
        Some([value @ (ComputedValue::Undefined | ComputedValue::Str(_))]) => Ok(value),
        Some([value]) => match value.to_text() {
            Some(text) => call.make_string(text.into_owned()),
            None => Ok(ComputedValue::Error),
        },
        None => Ok(ComputedValue::Error),
    }
}

fn boolean<'a>(call: &mut FunctionCall<'_, 'a>) -> EvalResult<'a> {
    let Some([value]) = call.eval_arguments()? else { return Ok(ComputedValue::Error) };
    Ok(match value {
        ComputedValue::Undefined => ComputedValue::Undefined,
        ComputedValue::Str(text) if caseless::eq(text, b"true") => ComputedValue::Bool(true),
        ComputedValue::Str(text) if caseless::eq(text, b"false") => ComputedValue::Bool(false),
        ComputedValue::Str(_) => ComputedValue::Undefined,
        ComputedValue::RelTime(seconds) => ComputedValue::Bool(numbers::truncate32(seconds) != 0),
        other => other.truth().map_or(ComputedValue::Error, ComputedValue::Bool),
    })
}

/// Formats a number of seconds as `days+hh:mm:ss`. If the duration is negative, only the first number has a sign.
fn interval<'a>(call: &mut FunctionCall<'_, 'a>) -> EvalResult<'a> {
    let Some([value]) = call.eval_arguments()? else { return Ok(ComputedValue::Error) };
    let Some(total) = truncate_to_int32(to_int(value)) else { return Ok(ComputedValue::Error) };
    let (days, rest) = (total / 86_400, total % 86_400);
    let (hours, minutes, seconds) = (rest / 3600, rest % 3600 / 60, rest % 60);
    let (h, m, s) = (hours.abs(), minutes.abs(), seconds.abs());
    call.make_string(match () {
        () if days != 0 => format!("{days}+{h:02}:{m:02}:{s:02}"),
        () if hours != 0 => format!("{hours}:{m:02}:{s:02}"),
        () if minutes != 0 => format!("{minutes}:{s:02}"),
        () => seconds.to_string(),
    })
}
