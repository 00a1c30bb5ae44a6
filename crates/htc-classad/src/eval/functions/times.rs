//! Functions on times and dates (reference: fnCall.cpp, util.cpp).

use super::conversions::truncate_to_int32;
use crate::ad::ClassAd;
use crate::eval::computed_value::{ComputedValue, EvalFailure, EvalResult};
use crate::eval::evaluator::{FunctionCall, NamedFunction};
use crate::syntax::times;
use crate::syntax::{AbsTime, numbers};
use crate::text::calendar::CivilTime;
use crate::text::strftime::{BrokenDownTime, strftime};

pub(super) const FUNCTIONS: &[NamedFunction] = &[
    ("time", |call| eval_without_arguments(call, |call| ComputedValue::Int(current_time(call)))),
    ("currentTime", |call| eval_without_arguments(call, |call| abs_time_at(call, current_time(call)))),
    ("dayTime", |call| {
        eval_without_arguments(call, |call| {
            ComputedValue::RelTime(local_time(call, current_time(call)).1.rem_euclid(86_400) as f64)
        })
    }),
    ("timeZoneOffset", |call| {
        eval_without_arguments(call, |call| {
            ComputedValue::RelTime(f64::from(zone_offset(call, current_time(call))))
        })
    }),
    ("absTime", abs_time),
    ("relTime", rel_time),
    ("getYear", |call| time_field(call, |time| Some(time.year), |_| None)),
    ("getMonth", |call| time_field(call, |time| Some(time.month), |_| None)),
    ("getDayOfMonth", |call| time_field(call, |time| Some(time.day), |_| None)),
    ("getDayOfYear", |call| time_field(call, |time| Some(time.day_of_year()), |_| None)),
    ("getDayOfWeek", |call| time_field(call, |time| Some(time.weekday()), |_| None)),
    ("getDays", |call| time_field(call, |_| None, |seconds| Some(seconds / 86_400))),
    ("getHours", |call| time_field(call, |time| Some(time.hour), |s| Some(s % 86_400 / 3600))),
    ("getMinutes", |call| time_field(call, |time| Some(time.minute), |s| Some(s % 3600 / 60))),
    ("getSeconds", |call| time_field(call, |time| Some(time.second), |s| Some(s % 60))),
    ("splitTime", split_time),
    ("formatTime", format_time),
];

fn current_time(call: &FunctionCall<'_, '_>) -> i64 {
    call.world().epoch()
}

/// Returns the offset of local time at a given time, in seconds east of UTC.
fn zone_offset(call: &FunctionCall<'_, '_>, seconds: i64) -> i32 {
    call.world().local_zone(seconds).offset
}

/// Returns the local time at a given time: its calendar fields, and its value in seconds.
fn local_time(call: &FunctionCall<'_, '_>, seconds: i64) -> (CivilTime, i64) {
    let shifted = seconds.saturating_add(i64::from(zone_offset(call, seconds)));
    (CivilTime::from_seconds(shifted, 0), shifted)
}

fn abs_time_at<'a>(call: &FunctionCall<'_, 'a>, seconds: i64) -> ComputedValue<'a> {
    ComputedValue::AbsTime(AbsTime { seconds, offset: zone_offset(call, seconds) })
}

fn eval_without_arguments<'a>(
    call: &mut FunctionCall<'_, 'a>,
    answer: impl FnOnce(&FunctionCall<'_, 'a>) -> ComputedValue<'a>,
) -> EvalResult<'a> {
    Ok(if call.argument_count() == 0 { answer(call) } else { ComputedValue::Error })
}

/// Implements `absTime()`. A string that is not a literal remains a string, as in the reference. A literal argument
/// has already become a time when the expression was parsed.
fn abs_time<'a>(call: &mut FunctionCall<'_, 'a>) -> EvalResult<'a> {
    let requested_offset = match call.argument_count() {
        0 => return Ok(abs_time_at(call, current_time(call))),
        1 => None,
        2 => Some(()),
        _ => return Ok(ComputedValue::Error),
    };
    let value = call.eval_argument(0)?;
    let requested_offset = match requested_offset {
        None => None,
        Some(()) => match call.eval_argument(1)? {
            ComputedValue::Int(seconds) => Some(seconds as i32),
            ComputedValue::Real(seconds) => Some(numbers::truncate32(seconds)),
            ComputedValue::RelTime(seconds) => Some(numbers::truncate32(seconds)),
            _ => return Ok(ComputedValue::Error),
        },
    };
    let seconds = match value {
        ComputedValue::Undefined => return Ok(ComputedValue::Undefined),
        ComputedValue::Str(_) | ComputedValue::AbsTime(_) => return Ok(value),
        ComputedValue::Int(_) if requested_offset == Some(-1) => return Err(EvalFailure),
        ComputedValue::Int(seconds) => seconds as i32,
        ComputedValue::Real(seconds) | ComputedValue::RelTime(seconds) => numbers::truncate32(seconds),
        _ => return Ok(ComputedValue::Error),
    };
    let seconds = i64::from(seconds);
    let offset = requested_offset.unwrap_or_else(|| zone_offset(call, seconds));
    Ok(ComputedValue::AbsTime(AbsTime { seconds, offset }))
}

fn rel_time<'a>(call: &mut FunctionCall<'_, 'a>) -> EvalResult<'a> {
    if call.argument_count() == 2 {
        call.eval_argument(0)?;
        call.eval_argument(1)?;
        return Ok(ComputedValue::Error);
    }
    let Some([value]) = call.eval_arguments()? else { return Ok(ComputedValue::Error) };
    Ok(match value {
        ComputedValue::Undefined | ComputedValue::RelTime(_) => value,
        ComputedValue::Int(_) => ComputedValue::RelTime(f64::from(truncate_to_int32(value).unwrap_or(0))),
        ComputedValue::Real(seconds) => ComputedValue::RelTime(seconds),
        ComputedValue::AbsTime(time) => ComputedValue::RelTime(time.seconds as f64),
        ComputedValue::Str(_) => ComputedValue::RelTime(0.0),
        _ => ComputedValue::Error,
    })
}

/// Returns one field of a point in time in the local zone, or of a duration.
fn time_field<'a>(
    call: &mut FunctionCall<'_, 'a>,
    of_moment: impl FnOnce(&CivilTime) -> Option<i64>,
    of_span: impl FnOnce(i64) -> Option<i64>,
) -> EvalResult<'a> {
    let Some([value]) = call.eval_arguments()? else { return Ok(ComputedValue::Error) };
    let number = match value {
        ComputedValue::AbsTime(time) => of_moment(&local_time(call, time.seconds).0),
        ComputedValue::RelTime(seconds) => of_span(i64::from(numbers::truncate32(seconds))),
        _ => None,
    };
    Ok(number.map_or(ComputedValue::Error, ComputedValue::Int))
}

/// Implements `splitTime()`: returns an ad with the fields of a point in time in its own zone, or of a duration.
fn time_parts_ad(call: &FunctionCall<'_, '_>, value: ComputedValue<'_>) -> Option<ClassAd> {
    let moment = |seconds: i64| AbsTime { seconds, offset: zone_offset(call, seconds) };
    Some(match value {
        ComputedValue::Int(seconds) => abs_time_ad(moment(seconds)),
        ComputedValue::Real(seconds) => abs_time_ad(moment(i64::from(numbers::truncate32(seconds)))),
        ComputedValue::AbsTime(time) => abs_time_ad(time),
        ComputedValue::RelTime(seconds) => rel_time_ad(seconds),
        _ => return None,
    })
}

fn abs_time_ad(time: AbsTime) -> ClassAd {
    let civil = CivilTime::from_seconds(time.seconds.saturating_add(i64::from(time.offset)), 0);
    let mut ad = ClassAd::new();
    ad.set("Type", "AbsoluteTime");
    // The reference stores years in a C `int`.
    ad.set("Year", civil.year as i32);
    ad.set("Month", civil.month);
    ad.set("Day", civil.day);
    ad.set("Hours", civil.hour);
    ad.set("Minutes", civil.minute);
    ad.set("Seconds", civil.second);
    ad.set("Offset", time.offset);
    ad
}

/// Returns an ad with the fields of a duration. For a negative duration, only the largest field is negative.
fn rel_time_ad(seconds: f64) -> ClassAd {
    let size = if seconds < 0.0 { -seconds } else { seconds };
    let whole = numbers::truncate32(size);
    let (mut days, rest) = (whole / 86_400, whole % 86_400);
    let (mut hours, rest) = (rest / 3600, rest % 3600);
    let mut minutes = rest / 60;
    let mut second = f64::from(rest % 60) + (size - size.floor());
    if seconds < 0.0 {
        if days > 0 {
            days = -days;
        } else if hours > 0 {
            hours = -hours;
        } else if minutes > 0 {
            minutes = -minutes;
        } else {
            second = -second;
        }
    }
    let mut ad = ClassAd::new();
    ad.set("Type", "RelativeTime");
    ad.set("Days", days);
    ad.set("Hours", hours);
    ad.set("Minutes", minutes);
    ad.set("Seconds", second);
    ad
}

fn split_time<'a>(call: &mut FunctionCall<'_, 'a>) -> EvalResult<'a> {
    let Some([value]) = call.eval_arguments()? else { return Ok(ComputedValue::Error) };
    if value.is_undefined() {
        return Ok(ComputedValue::Undefined);
    }
    match time_parts_ad(call, value) {
        Some(ad) => call.make_ad(ad),
        None => Ok(ComputedValue::Error),
    }
}

/// Maximum size in bytes of the text that `strftime` can write to the reference's buffer.
const MAX_LENGTH: usize = 1022;

fn format_time<'a>(call: &mut FunctionCall<'_, 'a>) -> EvalResult<'a> {
    let count = call.argument_count();
    if count > 2 {
        return Ok(ComputedValue::Error);
    }
    let time = if count == 0 {
        let seconds = current_time(call);
        let zone = call.world().local_zone(seconds);
        let civil = local_time(call, seconds).0;
        BrokenDownTime {
            sec: civil.second as i32,
            min: civil.minute as i32,
            hour: civil.hour as i32,
            mday: civil.day as i32,
            mon: civil.month as i32 - 1,
            year: (civil.year - 1900) as i32,
            wday: civil.weekday() as i32,
            yday: civil.day_of_year() as i32,
            zone: zone.abbreviation,
            gmtoff: zone.offset,
            epoch: seconds,
        }
    } else {
        let value = call.eval_argument(0)?;
        match to_broken_down_time(call, value)? {
            Some(time) => time,
            None => return Ok(ComputedValue::Error),
        }
    };
    let format = if count == 2 { call.eval_argument(1)? } else { ComputedValue::Str(b"%c") };
    let ComputedValue::Str(format) = format else { return Ok(ComputedValue::Error) };
    let text = strftime(format, &time);
    call.make_string(if text.len() > MAX_LENGTH { Vec::new() } else { text })
}

/// Converts a point in time, or an ad with the attributes that `splitTime()` returns, to C's `struct tm`.
fn to_broken_down_time<'a>(
    call: &mut FunctionCall<'_, 'a>,
    value: ComputedValue<'a>,
) -> Result<Option<BrokenDownTime>, EvalFailure> {
    let scope = match value {
        ComputedValue::RelTime(_) => return Ok(None),
        ComputedValue::Ad(scope) => scope,
        other => match time_parts_ad(call, other) {
            Some(ad) => match call.make_ad(ad)? {
                ComputedValue::Ad(scope) => scope,
                _ => return Ok(None),
            },
            None => return Ok(None),
        },
    };
    let mut part = |name: &[u8]| -> Option<i32> {
        match call.eval_attribute_of(scope, name) {
            Ok(Some(ComputedValue::Int(number))) => Some(number as i32),
            _ => None,
        }
    };
    let (sec, min, hour) = (part(b"Seconds"), part(b"Minutes"), part(b"Hours"));
    let (day, month, year) = (part(b"Day"), part(b"Month"), part(b"Year"));
    let mday = day.unwrap_or(0);
    let mon = month.map_or(0, |month| month.wrapping_sub(1));
    let year = year.map_or(0, |year| year.wrapping_sub(1900));
    let (wday, yday) = weekday_and_day_of_year(year.wrapping_add(1900), mon.wrapping_add(1), mday);
    let (sec, min, hour) = (sec.unwrap_or(0), min.unwrap_or(0), hour.unwrap_or(0));
    let civil = CivilTime {
        year: i64::from(year) + 1900,
        month: i64::from(mon) + 1,
        day: mday.into(),
        hour: hour.into(),
        minute: min.into(),
        second: sec.into(),
    };
    let world = call.world();
    let epoch = times::standard_seconds(civil.to_seconds(), |seconds| {
        let zone = world.local_zone(seconds);
        (zone.offset, zone.daylight_saving)
    });
    let zone = standard_zone_name(call);
    Ok(Some(BrokenDownTime { sec, min, hour, mday, mon, year, wday, yday, zone, gmtoff: 0, epoch }))
}

/// Returns the abbreviation of the local zone outside of daylight saving time (`tzname[0]` in C).
fn standard_zone_name(call: &FunctionCall<'_, '_>) -> String {
    let seconds = current_time(call);
    let zone = call.world().local_zone(seconds);
    let other = if zone.daylight_saving { call.world().local_zone(seconds + 182 * 86_400) } else { zone };
    other.abbreviation
}

/// Returns the day of the week and the day of the year, computed as in the reference (util.cpp). The date may be
/// invalid, such as February 30.
fn weekday_and_day_of_year(year: i32, month: i32, day: i32) -> (i32, i32) {
    let (year, month, day) = (i64::from(year), i64::from(month), i64::from(day));
    let is_leap = year % 4 == 0 && !matches!(year % 400, 100 | 200 | 300);
    let fixed = |month: i64, day: i64| {
        let adjustment = match () {
            () if month <= 2 => 0,
            () if is_leap => -1,
            () => -2,
        };
        let years = year - 1;
        365 * years + years / 4 - years / 100 + years / 400 + (367 * month - 362) / 12 + adjustment + day
    };
    let (this, first) = (fixed(month, day), fixed(1, 1));
    ((this % 7) as i32, (this - first) as i32)
}
