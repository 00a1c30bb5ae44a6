//! Parsing and printing of times (reference: literals.cpp, util.cpp).

use crate::syntax::numbers;
use crate::text::calendar::CivilTime;
use crate::text::space::is_space;

/// Point in time, with the offset of the zone in which it is printed.
///
/// ```
/// use htc_classad::{AbsTime, Value};
/// let time = Value::AbsTime(AbsTime { seconds: 0, offset: 3600 });
/// assert_eq!(time.to_string(), "absTime(\"1970-01-01T01:00:00+01:00\")");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AbsTime {
    /// Seconds since the Unix epoch.
    pub seconds: i64,
    /// Offset of the zone in seconds east of UTC.
    pub offset: i32,
}

/// Returns the time that C's `mktime` computes from a civil time that is marked as standard time (`tm_isdst` is 0).
/// `civil` is the civil time converted to seconds as if it were UTC. If daylight saving time is in effect at that
/// time, the offset of the nearest standard time is used. The search for it goes as far as that of glibc.
pub(crate) fn standard_seconds(civil: i64, local: impl Fn(i64) -> (i32, bool)) -> i64 {
    const STRIDE: i64 = 601_200;
    const FARTHEST: i64 = 536_454_000 / 2 + STRIDE;
    let less = |offset: i32| civil.saturating_sub(i64::from(offset));
    let first = less(local(less(local(civil).0)).0);
    let (offset, daylight) = local(first);
    if !daylight {
        return less(offset);
    }
    let mut distance = STRIDE;
    while distance < FARTHEST {
        for near in [first.saturating_sub(distance), first.saturating_add(distance)] {
            let (offset, daylight) = local(near);
            if !daylight {
                return less(offset);
            }
        }
        distance += STRIDE;
    }
    less(offset).saturating_add(3600)
}

/// Parses the argument of `absTime`. For a text without a zone, `local` returns the offset of local time, and true if
/// daylight saving time is in effect.
pub(crate) fn parse_abs_time(text: &[u8], local: impl Fn(i64) -> (i32, bool)) -> Option<AbsTime> {
    let mut text = text.to_vec();
    let mut zone: Option<i32> = None;
    let length = text.len();
    let last = text.iter().rposition(|b| !is_space(*b));
    let sign_at =
        |text: &[u8], back: usize| text.len() > back && matches!(text[text.len() - back], b'+' | b'-');
    match last {
        Some(at) if at > 0 && matches!(text[at], b'z' | b'Z') => {
            text.remove(at);
            zone = Some(0);
        }
        _ if sign_at(&text, 5) => zone = strip_zone(&mut text),
        _ if sign_at(&text, 6) && text[length - 3] == b':' => {
            text.remove(length - 3);
            zone = strip_zone(&mut text);
        }
        _ => {}
    }
    let mut at = 0;
    let skip = |at: &mut usize| {
        while *at < text.len() && !text[*at].is_ascii_digit() {
            *at += 1;
        }
    };
    skip(&mut at);
    if at + 4 > text.len() {
        return None;
    }
    let year = atoi(&text[at..at + 4]);
    at += 4;
    let mut parts = [1i64, 0, 0, 0, 0];
    // A missing month is read as January (tm_mon is 0), a missing day as day 0.
    for part in &mut parts {
        skip(&mut at);
        if at + 2 <= text.len() {
            *part = atoi(&text[at..at + 2]);
            at += 2;
        }
    }
    skip(&mut at);
    if at < text.len() {
        return None;
    }
    let [month, day, hour, minute, second] = parts;
    let seconds = CivilTime { year, month, day, hour, minute, second }.to_seconds();
    // The reference calls `mktime`, uses the offset that it finds, and corrects the result to standard time.
    let instant = standard_seconds(seconds, &local);
    if instant == -1 {
        return None;
    }
    let (there, daylight) = local(instant);
    let offset = zone.unwrap_or(there);
    if offset == -1 {
        return None;
    }
    let standard = i64::from(there) - if daylight { 3600 } else { 0 };
    Some(AbsTime { seconds: instant + standard - i64::from(offset), offset })
}

/// Removes a zone `±hhmm` from the end of a text and returns its offset. Returns `None` if the last five bytes are not
/// a sign and four digits.
fn strip_zone(text: &mut Vec<u8>) -> Option<i32> {
    let start = text.len().checked_sub(5)?;
    if !matches!(text[start], b'+' | b'-') || !text[start + 1..].iter().all(u8::is_ascii_digit) {
        return None;
    }
    let zone = text.split_off(start);
    let seconds = (atoi(&zone[1..3]) * 3600 + atoi(&zone[3..5]) * 60) as i32;
    Some(if zone[0] == b'-' { -seconds } else { seconds })
}

/// Parses a short text like C's `atoi`.
fn atoi(text: &[u8]) -> i64 {
    let start = text.iter().take_while(|b| is_space(**b)).count();
    let (negative, start) = match text.get(start) {
        Some(b'-') => (true, start + 1),
        Some(b'+') => (false, start + 1),
        _ => (false, start),
    };
    let value = text[start..]
        .iter()
        .take_while(|b| b.is_ascii_digit())
        .fold(0i64, |sum, b| sum * 10 + i64::from(b - b'0'));
    if negative { -value } else { value }
}

/// Parses the argument of `relTime`, starting at its end: `[-] [[[days(d|+)] hours(h|:)] minutes(m|:)] seconds[s]`.
pub(crate) fn parse_rel_time(text: &[u8]) -> Option<f64> {
    let mut end = text.len();
    let blanks = |end: &mut usize| {
        while *end > 0 && is_space(text[*end - 1]) {
            *end -= 1;
        }
    };
    let digits = |end: &mut usize| {
        while *end > 0 && text[*end - 1].is_ascii_digit() {
            *end -= 1;
        }
    };
    blanks(&mut end);
    let mut seconds = 0.0;
    if end > 0 && (matches!(text[end - 1], b's' | b'S') || text[end - 1].is_ascii_digit()) {
        if matches!(text[end - 1], b's' | b'S') {
            end -= 1;
        }
        blanks(&mut end);
        let stop = end;
        digits(&mut end);
        if end > 0 && text[end - 1] == b'.' {
            end -= 1;
            digits(&mut end);
        }
        seconds = numbers::strtod(&text[end..stop]).0;
    }
    let mut part = |marks: [u8; 3]| -> i32 {
        blanks(&mut end);
        if end == 0 || !marks.contains(&text[end - 1]) {
            return 0;
        }
        end -= 1;
        blanks(&mut end);
        let stop = end;
        digits(&mut end);
        std::str::from_utf8(&text[end..stop]).ok().and_then(|digits| digits.parse().ok()).unwrap_or(0)
    };
    let minutes = part(*b"mM:");
    let hours = part(*b"hH:");
    let days = part(*b"dD+");
    blanks(&mut end);
    let negative = end > 0 && text[end - 1] == b'-';
    if negative {
        end -= 1;
    }
    blanks(&mut end);
    if end > 0 {
        return None;
    }
    let whole = days
        .wrapping_mul(86_400)
        .wrapping_add(hours.wrapping_mul(3600))
        .wrapping_add(minutes.wrapping_mul(60));
    let total = f64::from(whole) + seconds;
    Some(if negative { -total } else { total })
}

/// Writes a point in time as the argument of `absTime`: `2020-01-02T03:04:05-00:00`.
pub(crate) fn push_abs_time(time: AbsTime, out: &mut Vec<u8>) {
    let local = CivilTime::from_seconds(time.seconds.saturating_add(i64::from(time.offset)), 0);
    let offset = time.offset.unsigned_abs();
    let text = format!(
        "{}-{:02}-{:02}T{:02}:{:02}:{:02}{}{:02}:{:02}",
        local.year,
        local.month,
        local.day,
        local.hour,
        local.minute,
        local.second,
        if time.offset > 0 { '+' } else { '-' },
        offset / 3600,
        offset / 60 % 60
    );
    out.extend_from_slice(text.as_bytes());
}

/// Writes a duration as the argument of `relTime`: `1+02:03:04`.
pub(crate) fn push_rel_time(seconds: f64, out: &mut Vec<u8>) {
    let mut rest = seconds;
    if rest < 0.0 {
        out.push(b'-');
        rest = -rest;
    }
    let fraction = rest - rest.floor();
    // The reference converts to a C `int`; a value out of range is printed as on x86-64 (sink.cpp).
    let whole = numbers::truncate32(rest);
    let (days, of_day) = (whole / 86_400, whole % 86_400);
    let (hours, of_hour) = (of_day / 3600, of_day % 3600);
    let minutes = of_hour / 60;
    let second = f64::from(of_hour % 60) + fraction;
    let two = |number: i32| if number < 0 { format!("{number}") } else { format!("{number:02}") };
    let mut text = String::new();
    if days != 0 {
        text.push_str(&format!("{days}+{}:{}:", two(hours), two(minutes)));
    } else if hours != 0 {
        text.push_str(&format!("{}:{}:", two(hours), two(minutes)));
    } else if minutes != 0 {
        text.push_str(&format!("{}:", two(minutes)));
    }
    out.extend_from_slice(text.as_bytes());
    if fraction == 0.0 {
        out.extend_from_slice(two(numbers::truncate32(second)).as_bytes());
    } else {
        let mut digits = Vec::new();
        numbers::push_general(second, 6, &mut digits);
        // In `%02g`, the exponent is in lower case.
        digits.make_ascii_lowercase();
        if digits.len() < 2 {
            out.push(b'0');
        }
        out.extend_from_slice(&digits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the offset of a zone with daylight saving time: two hours from the 90th to the 300th day of each year,
    /// and one hour otherwise.
    fn summer_time(seconds: i64) -> (i32, bool) {
        let summer = (90..300).contains(&CivilTime::from_seconds(seconds, 0).day_of_year());
        (if summer { 7200 } else { 3600 }, summer)
    }

    #[test]
    fn a_time_without_a_zone_has_the_offset_of_its_own_day() {
        for (text, seconds, offset) in [
            ("2020-01-02T03:04:05", 1_577_930_645, 3600),
            ("2020-07-02T03:04:05", 1_593_651_845, 7200),
            ("2020-07-02T03:04:05Z", 1_593_659_045, 0),
            ("2020-07-02T03:04:05-04:00", 1_593_673_445, -14_400),
        ] {
            assert_eq!(
                parse_abs_time(text.as_bytes(), summer_time),
                Some(AbsTime { seconds, offset }),
                "{text}"
            );
        }
    }

    #[test]
    fn civil_time_in_summer_is_read_as_standard_time() {
        // 1593659045 is 2020-07-02T03:04:05Z.
        assert_eq!(standard_seconds(1_593_659_045, summer_time), 1_593_659_045 - 3600);
        assert_eq!(standard_seconds(1_577_934_245, summer_time), 1_577_934_245 - 3600);
        // If daylight saving time never ends, standard time is assumed to be one hour behind it.
        assert_eq!(standard_seconds(1_000_000_000, |_| (7200, true)), 1_000_000_000 - 3600);
    }

    #[test]
    fn relative_times_are_read_from_the_right() {
        for (text, seconds) in [
            ("1d2", 86402.0),
            ("2m3", 123.0),
            ("1+02:03:04", 93784.0),
            ("", 0.0),
            ("-4.5s", -4.5),
            ("01:02", 62.0),
        ] {
            assert_eq!(parse_rel_time(text.as_bytes()), Some(seconds), "{text}");
        }
        assert_eq!(parse_rel_time(b"x1"), None);
    }
}
