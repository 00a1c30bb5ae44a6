//! Conversions between types (reference: `convertValueTo...Value`, value.cpp).

use crate::eval::computed::{Computed, Evaluated};
use crate::eval::evaluator::{Call, Entry};
use crate::syntax::numbers;
use crate::text::caseless;

pub(super) const TABLE: &[Entry] =
    &[("int", int), ("real", real), ("string", string), ("bool", boolean), ("interval", interval)];

/// The value as an integer; undefined and error stand for themselves, and what cannot be converted is an error.
fn to_int(value: Computed<'_>) -> Computed<'_> {
    Computed::Int(match value {
        Computed::Undefined => return Computed::Undefined,
        Computed::Bool(truth) => i64::from(truth),
        Computed::Int(integer) => integer,
        Computed::Real(real) => numbers::truncate(real),
        // Through a real: a large integer in a string loses its last digits.
        Computed::Str(text) => match numbers::strtod(text) {
            (_, 0) => return Computed::Error,
            (real, _) => numbers::truncate(real),
        },
        Computed::AbsTime(time) => time.seconds,
        Computed::RelTime(seconds) => i64::from(numbers::truncate32(seconds)),
        Computed::Error | Computed::List(_) | Computed::Ad(_) => return Computed::Error,
    })
}

/// The value as a real, with the same exceptions.
pub(super) fn to_real(value: Computed<'_>) -> Computed<'_> {
    Computed::Real(match value {
        Computed::Undefined => return Computed::Undefined,
        Computed::Bool(truth) => f64::from(u8::from(truth)),
        Computed::Int(integer) => integer as f64,
        Computed::Real(real) => real,
        Computed::Str(text) => match numbers::strtod(text) {
            (_, 0) => return Computed::Error,
            (real, _) => real,
        },
        Computed::AbsTime(time) => time.seconds as f64,
        Computed::RelTime(seconds) => f64::from(numbers::truncate32(seconds)),
        Computed::Error | Computed::List(_) | Computed::Ad(_) => return Computed::Error,
    })
}

/// The real itself, where the value can be converted.
pub(super) fn real_of(value: Computed<'_>) -> Option<f64> {
    match to_real(value) {
        Computed::Real(real) => Some(real),
        _ => None,
    }
}

/// An integer as the reference hands it to a C `int`.
pub(super) fn int32(value: Computed<'_>) -> Option<i32> {
    match value {
        Computed::Int(integer) => Some(integer as i32),
        _ => None,
    }
}

fn int<'a>(call: &mut Call<'_, 'a>) -> Evaluated<'a> {
    Ok(match call.values()? {
        Some([value]) => to_int(value),
        None => Computed::Error,
    })
}

fn real<'a>(call: &mut Call<'_, 'a>) -> Evaluated<'a> {
    Ok(match call.values()? {
        Some([value]) => to_real(value),
        None => Computed::Error,
    })
}

fn string<'a>(call: &mut Call<'_, 'a>) -> Evaluated<'a> {
    match call.values()? {
        Some([value @ (Computed::Undefined | Computed::Str(_))]) => Ok(value),
        Some([value]) => match value.to_text() {
            Some(text) => call.text(text.into_owned()),
            None => Ok(Computed::Error),
        },
        None => Ok(Computed::Error),
    }
}

fn boolean<'a>(call: &mut Call<'_, 'a>) -> Evaluated<'a> {
    let Some([value]) = call.values()? else { return Ok(Computed::Error) };
    Ok(match value {
        Computed::Undefined => Computed::Undefined,
        Computed::Str(text) if caseless::eq(text, b"true") => Computed::Bool(true),
        Computed::Str(text) if caseless::eq(text, b"false") => Computed::Bool(false),
        Computed::Str(_) => Computed::Undefined,
        Computed::RelTime(seconds) => Computed::Bool(numbers::truncate32(seconds) != 0),
        other => other.truth().map_or(Computed::Error, Computed::Bool),
    })
}

/// Seconds as `days+hh:mm:ss`; of a negative span only the first part has the sign.
fn interval<'a>(call: &mut Call<'_, 'a>) -> Evaluated<'a> {
    let Some([value]) = call.values()? else { return Ok(Computed::Error) };
    let Some(total) = int32(to_int(value)) else { return Ok(Computed::Error) };
    let (days, rest) = (total / 86_400, total % 86_400);
    let (hours, minutes, seconds) = (rest / 3600, rest % 3600 / 60, rest % 60);
    let (h, m, s) = (hours.abs(), minutes.abs(), seconds.abs());
    call.text(match () {
        () if days != 0 => format!("{days}+{h:02}:{m:02}:{s:02}"),
        () if hours != 0 => format!("{hours}:{m:02}:{s:02}"),
        () if minutes != 0 => format!("{minutes}:{s:02}"),
        () => seconds.to_string(),
    })
}
