//! Times and dates (reference: fnCall.cpp, util.cpp).

use super::conversions::int32;
use crate::ad::ClassAd;
use crate::eval::computed::{Computed, Evaluated, Failure};
use crate::eval::evaluator::{Call, Entry};
use crate::syntax::times;
use crate::syntax::{AbsTime, numbers};
use crate::text::calendar::Civil;
use crate::text::strftime::{BrokenDown, strftime};

pub(super) const TABLE: &[Entry] = &[
    ("time", |call| without_arguments(call, |call| Computed::Int(now(call)))),
    ("currentTime", |call| without_arguments(call, |call| at(call, now(call)))),
    ("dayTime", |call| {
        without_arguments(call, |call| Computed::RelTime(local(call, now(call)).1.rem_euclid(86_400) as f64))
    }),
    ("timeZoneOffset", |call| {
        without_arguments(call, |call| Computed::RelTime(f64::from(offset(call, now(call)))))
    }),
    ("absTime", abs_time),
    ("relTime", rel_time),
    ("getYear", |call| field(call, |time| Some(time.year), |_| None)),
    ("getMonth", |call| field(call, |time| Some(time.month), |_| None)),
    ("getDayOfMonth", |call| field(call, |time| Some(time.day), |_| None)),
    ("getDayOfYear", |call| field(call, |time| Some(time.day_of_year()), |_| None)),
    ("getDayOfWeek", |call| field(call, |time| Some(time.weekday()), |_| None)),
    ("getDays", |call| field(call, |_| None, |seconds| Some(seconds / 86_400))),
    ("getHours", |call| field(call, |time| Some(time.hour), |s| Some(s % 86_400 / 3600))),
    ("getMinutes", |call| field(call, |time| Some(time.minute), |s| Some(s % 3600 / 60))),
    ("getSeconds", |call| field(call, |time| Some(time.second), |s| Some(s % 60))),
    ("splitTime", split_time),
    ("formatTime", format_time),
];

fn now(call: &Call<'_, '_>) -> i64 {
    call.world().epoch()
}

/// Seconds east of Greenwich at a moment.
fn offset(call: &Call<'_, '_>, seconds: i64) -> i32 {
    call.world().local_zone(seconds).offset
}

/// A moment by the local clock: broken down, and as seconds.
fn local(call: &Call<'_, '_>, seconds: i64) -> (Civil, i64) {
    let shifted = seconds.saturating_add(i64::from(offset(call, seconds)));
    (Civil::at(shifted, 0), shifted)
}

fn at<'a>(call: &Call<'_, 'a>, seconds: i64) -> Computed<'a> {
    Computed::AbsTime(AbsTime { seconds, offset: offset(call, seconds) })
}

fn without_arguments<'a>(
    call: &mut Call<'_, 'a>,
    answer: impl FnOnce(&Call<'_, 'a>) -> Computed<'a>,
) -> Evaluated<'a> {
    Ok(if call.count() == 0 { answer(call) } else { Computed::Error })
}

/// Strings that are no literals stay strings, as in the reference; literals became times when they were parsed.
fn abs_time<'a>(call: &mut Call<'_, 'a>) -> Evaluated<'a> {
    let given = match call.count() {
        0 => return Ok(at(call, now(call))),
        1 => None,
        2 => Some(()),
        _ => return Ok(Computed::Error),
    };
    let value = call.value(0)?;
    let given = match given {
        None => None,
        Some(()) => match call.value(1)? {
            Computed::Int(seconds) => Some(seconds as i32),
            Computed::Real(seconds) => Some(numbers::truncate32(seconds)),
            Computed::RelTime(seconds) => Some(numbers::truncate32(seconds)),
            _ => return Ok(Computed::Error),
        },
    };
    let seconds = match value {
        Computed::Undefined => return Ok(Computed::Undefined),
        Computed::Str(_) | Computed::AbsTime(_) => return Ok(value),
        Computed::Int(_) if given == Some(-1) => return Err(Failure),
        Computed::Int(seconds) => seconds as i32,
        Computed::Real(seconds) | Computed::RelTime(seconds) => numbers::truncate32(seconds),
        _ => return Ok(Computed::Error),
    };
    let seconds = i64::from(seconds);
    let offset = given.unwrap_or_else(|| offset(call, seconds));
    Ok(Computed::AbsTime(AbsTime { seconds, offset }))
}

fn rel_time<'a>(call: &mut Call<'_, 'a>) -> Evaluated<'a> {
    if call.count() == 2 {
        call.value(0)?;
        call.value(1)?;
        return Ok(Computed::Error);
    }
    let Some([value]) = call.values()? else { return Ok(Computed::Error) };
    Ok(match value {
        Computed::Undefined | Computed::RelTime(_) => value,
        Computed::Int(_) => Computed::RelTime(f64::from(int32(value).unwrap_or(0))),
        Computed::Real(seconds) => Computed::RelTime(seconds),
        Computed::AbsTime(time) => Computed::RelTime(time.seconds as f64),
        Computed::Str(_) => Computed::RelTime(0.0),
        _ => Computed::Error,
    })
}

/// A part of a moment by the local clock, or of a span.
fn field<'a>(
    call: &mut Call<'_, 'a>,
    of_moment: impl FnOnce(&Civil) -> Option<i64>,
    of_span: impl FnOnce(i64) -> Option<i64>,
) -> Evaluated<'a> {
    let Some([value]) = call.values()? else { return Ok(Computed::Error) };
    let number = match value {
        Computed::AbsTime(time) => of_moment(&local(call, time.seconds).0),
        Computed::RelTime(seconds) => of_span(i64::from(numbers::truncate32(seconds))),
        _ => None,
    };
    Ok(number.map_or(Computed::Error, Computed::Int))
}

/// The parts of a moment in its own zone, or of a span.
fn parts(call: &Call<'_, '_>, value: Computed<'_>) -> Option<ClassAd> {
    let moment = |seconds: i64| AbsTime { seconds, offset: offset(call, seconds) };
    Some(match value {
        Computed::Int(seconds) => moment_ad(moment(seconds)),
        Computed::Real(seconds) => moment_ad(moment(i64::from(numbers::truncate32(seconds)))),
        Computed::AbsTime(time) => moment_ad(time),
        Computed::RelTime(seconds) => span_ad(seconds),
        _ => return None,
    })
}

fn moment_ad(time: AbsTime) -> ClassAd {
    let civil = Civil::at(time.seconds.saturating_add(i64::from(time.offset)), 0);
    let mut ad = ClassAd::new();
    ad.set("Type", "AbsoluteTime");
    // The reference's years are C's `int`.
    ad.set("Year", civil.year as i32);
    ad.set("Month", civil.month);
    ad.set("Day", civil.day);
    ad.set("Hours", civil.hour);
    ad.set("Minutes", civil.minute);
    ad.set("Seconds", civil.second);
    ad.set("Offset", time.offset);
    ad
}

/// The sign of a negative span stands at its largest part only.
fn span_ad(seconds: f64) -> ClassAd {
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

fn split_time<'a>(call: &mut Call<'_, 'a>) -> Evaluated<'a> {
    let Some([value]) = call.values()? else { return Ok(Computed::Error) };
    if value.is_undefined() {
        return Ok(Computed::Undefined);
    }
    match parts(call, value) {
        Some(ad) => call.ad(ad),
        None => Ok(Computed::Error),
    }
}

/// What C's `strftime` writes at most in the reference's buffer.
const LONGEST: usize = 1022;

fn format_time<'a>(call: &mut Call<'_, 'a>) -> Evaluated<'a> {
    let count = call.count();
    if count > 2 {
        return Ok(Computed::Error);
    }
    let time = if count == 0 {
        let seconds = now(call);
        let zone = call.world().local_zone(seconds);
        let civil = local(call, seconds).0;
        BrokenDown {
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
        let value = call.value(0)?;
        match broken_down(call, value)? {
            Some(time) => time,
            None => return Ok(Computed::Error),
        }
    };
    let format = if count == 2 { call.value(1)? } else { Computed::Str(b"%c") };
    let Computed::Str(format) = format else { return Ok(Computed::Error) };
    let text = strftime(format, &time);
    call.text(if text.len() > LONGEST { Vec::new() } else { text })
}

/// The parts of a moment, or of an ad such as `splitTime()` makes, as C's `struct tm`.
fn broken_down<'a>(call: &mut Call<'_, 'a>, value: Computed<'a>) -> Result<Option<BrokenDown>, Failure> {
    let scope = match value {
        Computed::RelTime(_) => return Ok(None),
        Computed::Ad(scope) => scope,
        other => match parts(call, other) {
            Some(ad) => match call.ad(ad)? {
                Computed::Ad(scope) => scope,
                _ => return Ok(None),
            },
            None => return Ok(None),
        },
    };
    let mut part = |name: &[u8]| -> Option<i32> {
        match call.attribute(scope, name) {
            Ok(Some(Computed::Int(number))) => Some(number as i32),
            _ => None,
        }
    };
    let (sec, min, hour) = (part(b"Seconds"), part(b"Minutes"), part(b"Hours"));
    let (day, month, year) = (part(b"Day"), part(b"Month"), part(b"Year"));
    let mday = day.unwrap_or(0);
    let mon = month.map_or(0, |month| month.wrapping_sub(1));
    let year = year.map_or(0, |year| year.wrapping_sub(1900));
    let (wday, yday) = day_numbers(year.wrapping_add(1900), mon.wrapping_add(1), mday);
    let (sec, min, hour) = (sec.unwrap_or(0), min.unwrap_or(0), hour.unwrap_or(0));
    let civil = Civil {
        year: i64::from(year) + 1900,
        month: i64::from(mon) + 1,
        day: mday.into(),
        hour: hour.into(),
        minute: min.into(),
        second: sec.into(),
    };
    let world = call.world();
    let epoch = times::standard_seconds(civil.seconds(), |seconds| {
        let zone = world.local_zone(seconds);
        (zone.offset, zone.daylight_saving)
    });
    let zone = standard_zone(call);
    Ok(Some(BrokenDown { sec, min, hour, mday, mon, year, wday, yday, zone, gmtoff: 0, epoch }))
}

/// The abbreviation of the local zone when no daylight saving is in force, C's `tzname[0]`.
fn standard_zone(call: &Call<'_, '_>) -> String {
    let seconds = now(call);
    let zone = call.world().local_zone(seconds);
    let other = if zone.daylight_saving { call.world().local_zone(seconds + 182 * 86_400) } else { zone };
    other.abbreviation
}

/// Day of the week and of the year of a date that need not exist, with the reference's own arithmetic (util.cpp).
fn day_numbers(year: i32, month: i32, day: i32) -> (i32, i32) {
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
