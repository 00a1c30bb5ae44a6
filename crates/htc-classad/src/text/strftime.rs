//! C's `strftime` in the C locale as glibc implements it, including flags, widths and GNU extensions.
//!
//! `formatTime()` passes formats from users to this function, with broken-down times that may not be valid
//! dates.

/// C's `struct tm`. Months count from 0 and years from 1900, as in C; the fields may have any value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BrokenDownTime {
    /// Seconds.
    pub sec: i32,
    /// Minutes.
    pub min: i32,
    /// Hours.
    pub hour: i32,
    /// Day of the month, counted from 1.
    pub mday: i32,
    /// Month, counted from 0.
    pub mon: i32,
    /// Year minus 1900.
    pub year: i32,
    /// Day of the week; Sunday is 0.
    pub wday: i32,
    /// Day of the year, counted from 0.
    pub yday: i32,
    /// Abbreviation of the zone, for `%Z`.
    pub zone: String,
    /// Seconds east of UTC, for `%z`.
    pub gmtoff: i32,
    /// Seconds since the epoch as computed by `mktime`, for `%s`.
    pub epoch: i64,
}

const DAY_NAMES: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTH_NAMES: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Flags and width of a conversion.
#[derive(Clone, Copy, Default)]
struct ConversionFlags {
    pad: u8,
    upper: bool,
    change_case: bool,
    width: usize,
}

/// Formats a time like C's `strftime`.
pub fn strftime(format: &[u8], time: &BrokenDownTime) -> Vec<u8> {
    let mut out = Vec::with_capacity(format.len() + 16);
    let mut at = 0;
    while at < format.len() {
        if format[at] == b'%' {
            at = write_conversion(format, at, time, &mut out);
        } else {
            out.push(format[at]);
            at += 1;
        }
    }
    out
}

/// Writes the conversion that begins at offset `start` of the format. Returns the offset after the
/// conversion.
fn write_conversion(format: &[u8], start: usize, time: &BrokenDownTime, out: &mut Vec<u8>) -> usize {
    let mut flags = ConversionFlags::default();
    let mut at = start + 1;
    loop {
        match format.get(at) {
            Some(pad @ (b'_' | b'-' | b'0')) => flags.pad = *pad,
            Some(b'^') => flags.upper = true,
            Some(b'#') => flags.change_case = true,
            _ => break,
        }
        at += 1;
    }
    while let Some(digit) = format.get(at).filter(|byte| byte.is_ascii_digit()) {
        flags.width = (flags.width * 10 + usize::from(digit - b'0')).min(4096);
        at += 1;
    }
    let modifier = match format.get(at) {
        Some(byte @ (b'E' | b'O')) => {
            at += 1;
            *byte
        }
        _ => 0,
    };
    let written = format.get(at).is_some_and(|letter| write_specifier(*letter, modifier, flags, time, out));
    let end = (at + 1).min(format.len());
    if !written {
        // glibc copies the text of an invalid conversion unchanged and pads it with blanks to the width.
        write_text(&format[start..end], ConversionFlags { upper: false, change_case: false, ..flags }, out);
    }
    end
}

/// Returns the modifiers that are valid for a conversion letter.
fn modifiers_of(letter: u8) -> &'static [u8] {
    match letter {
        b'c' | b'C' | b'x' | b'X' | b'Y' => b"E",
        b'y' => b"EO",
        b'b' | b'B' | b'h' | b'd' | b'e' | b'H' | b'I' | b'k' | b'l' | b'j' | b'M' | b'm' | b'S' | b'U'
        | b'V' | b'g' | b'G' | b'W' | b'w' => b"O",
        b'p' | b'P' | b'n' | b't' | b'R' | b'r' | b's' | b'T' | b'u' | b'Z' | b'z' => b"EO",
        _ => b"",
    }
}

/// Writes the conversion with this letter. Returns false if the letter does not exist or the modifier is not
/// valid for it.
fn write_specifier(
    letter: u8,
    modifier: u8,
    flags: ConversionFlags,
    time: &BrokenDownTime,
    out: &mut Vec<u8>,
) -> bool {
    if modifier != 0 && !modifiers_of(letter).contains(&modifier) {
        return false;
    }
    let twelve = match time.hour {
        0 => 12,
        hour if hour > 12 => hour - 12,
        hour => hour,
    };
    let year = i64::from(time.year) + 1900;
    let (yday, wday) = (i64::from(time.yday), i64::from(time.wday));
    let monday = (wday - 1 + 7) % 7;
    let name = |names: &'static [&str], index: i32, short: bool| -> &'static str {
        let name = usize::try_from(index).ok().and_then(|index| names.get(index)).copied().unwrap_or("?");
        if short { name.get(..3).unwrap_or(name) } else { name }
    };
    let name_flags = ConversionFlags { upper: flags.upper || flags.change_case, ..flags };
    match letter {
        b'%' => write_text(b"%", flags, out),
        b'n' => write_text(b"\n", flags, out),
        b't' => write_text(b"\t", flags, out),
        b'a' => write_text(name(&DAY_NAMES, time.wday, true).as_bytes(), name_flags, out),
        b'A' => write_text(name(&DAY_NAMES, time.wday, false).as_bytes(), name_flags, out),
        b'b' | b'h' => write_text(name(&MONTH_NAMES, time.mon, true).as_bytes(), name_flags, out),
        b'B' => write_text(name(&MONTH_NAMES, time.mon, false).as_bytes(), name_flags, out),
        b'c' => write_nested_format(b"%a %b %e %H:%M:%S %Y", flags, time, out),
        b'x' | b'D' => write_nested_format(b"%m/%d/%y", flags, time, out),
        b'X' | b'T' => write_nested_format(b"%H:%M:%S", flags, time, out),
        b'F' => write_nested_format(b"%Y-%m-%d", flags, time, out),
        b'R' => write_nested_format(b"%H:%M", flags, time, out),
        b'r' => write_nested_format(b"%I:%M:%S %p", flags, time, out),
        b'C' => write_number(year / 100 - i64::from(year % 100 < 0), 1, flags, out),
        b'd' => write_number(time.mday.into(), 2, flags, out),
        b'e' => write_number(time.mday.into(), 2, with_space_padding(flags), out),
        b'H' => write_number(time.hour.into(), 2, flags, out),
        b'I' => write_number(twelve.into(), 2, flags, out),
        b'k' => write_number(time.hour.into(), 2, with_space_padding(flags), out),
        b'l' => write_number(twelve.into(), 2, with_space_padding(flags), out),
        b'j' => write_number(yday + 1, 3, flags, out),
        b'M' => write_number(time.min.into(), 2, flags, out),
        b'm' => write_number(i64::from(time.mon) + 1, 2, flags, out),
        b'S' => write_number(time.sec.into(), 2, flags, out),
        b's' => write_number(time.epoch, 1, flags, out),
        b'u' => write_number(monday + 1, 1, flags, out),
        b'w' => write_number(wday, 1, flags, out),
        b'U' => write_number((yday - wday + 7) / 7, 2, flags, out),
        b'W' => write_number((yday - monday + 7) / 7, 2, flags, out),
        b'V' => write_number(iso_week(year, yday, wday).1, 2, flags, out),
        b'g' => write_number(iso_week(year, yday, wday).0.rem_euclid(100), 2, flags, out),
        b'G' => write_number(iso_week(year, yday, wday).0, 1, flags, out),
        b'Y' => write_number(year, 1, flags, out),
        b'y' => write_number(i64::from(time.year).rem_euclid(100), 2, flags, out),
        b'p' | b'P' => write_half_of_day(letter, flags, time, out),
        b'Z' => write_zone(flags, time, out),
        b'z' => {
            out.push(if time.gmtoff < 0 { b'-' } else { b'+' });
            let minutes = i64::from(time.gmtoff).abs() / 60;
            write_number(minutes / 60 * 100 + minutes % 60, 4, flags, out);
        }
        _ => return false,
    }
    true
}

fn write_half_of_day(letter: u8, flags: ConversionFlags, time: &BrokenDownTime, out: &mut Vec<u8>) {
    let upper = letter == b'p' && !flags.change_case;
    let half = match (time.hour > 11, upper) {
        (false, true) => "AM",
        (true, true) => "PM",
        (false, false) => "am",
        (true, false) => "pm",
    };
    // A change of case by `#` or `P` has precedence over `^`.
    write_text(half.as_bytes(), ConversionFlags { upper: flags.upper && upper, ..flags }, out);
}

fn write_zone(flags: ConversionFlags, time: &BrokenDownTime, out: &mut Vec<u8>) {
    let zone = if flags.change_case { time.zone.to_ascii_lowercase() } else { time.zone.clone() };
    write_text(zone.as_bytes(), ConversionFlags { upper: flags.upper && !flags.change_case, ..flags }, out);
}

/// Returns the flags with padding by blanks, unless a flag selects other padding.
fn with_space_padding(flags: ConversionFlags) -> ConversionFlags {
    ConversionFlags { pad: if matches!(flags.pad, b'0' | b'-') { flags.pad } else { b'_' }, ..flags }
}

fn write_nested_format(format: &[u8], flags: ConversionFlags, time: &BrokenDownTime, out: &mut Vec<u8>) {
    write_text(&strftime(format, time), flags, out);
}

fn write_text(words: &[u8], flags: ConversionFlags, out: &mut Vec<u8>) {
    let padding = flags.width.saturating_sub(words.len());
    out.resize(out.len() + padding, if flags.pad == b'0' { b'0' } else { b' ' });
    let start = out.len();
    out.extend_from_slice(words);
    if flags.upper {
        out[start..].make_ascii_uppercase();
    }
}

fn write_number(value: i64, digits: usize, flags: ConversionFlags, out: &mut Vec<u8>) {
    let written = value.unsigned_abs().to_string();
    let sign = if value < 0 { "-" } else { "" };
    let padding = digits.max(flags.width).saturating_sub(written.len() + sign.len());
    match flags.pad {
        b'-' => out.extend_from_slice(sign.as_bytes()),
        b'_' => {
            out.resize(out.len() + padding, b' ');
            out.extend_from_slice(sign.as_bytes());
        }
        _ => {
            out.extend_from_slice(sign.as_bytes());
            out.resize(out.len() + padding, b'0');
        }
    }
    out.extend_from_slice(written.as_bytes());
}

/// Returns the year and the week according to ISO 8601.
fn iso_week(year: i64, yday: i64, wday: i64) -> (i64, i64) {
    // Number of days since the Monday of the first week of the year, which contains the first Thursday
    // (glibc's iso_week_days).
    let week_days = |yday: i64| {
        let three_weeks = 3 * 7;
        yday - (yday - wday + 4 + three_weeks) % 7 + 4 - 1
    };
    let length = |year: i64| 365 + i64::from(super::calendar::is_leap(year));
    let days = week_days(yday);
    if days < 0 {
        return (year - 1, week_days(yday + length(year - 1)) / 7 + 1);
    }
    let next = week_days(yday - length(year));
    if next >= 0 { (year + 1, next / 7 + 1) } else { (year, days / 7 + 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(format: &str) -> String {
        let time = BrokenDownTime {
            sec: 5,
            min: 4,
            hour: 3,
            mday: 2,
            mon: 0,
            year: 120,
            wday: 4,
            yday: 1,
            zone: "UTC".to_owned(),
            gmtoff: 0,
            epoch: 1_577_934_245,
        };
        String::from_utf8(strftime(format.as_bytes(), &time)).expect("ASCII")
    }

    #[test]
    fn letters_flags_and_widths_are_those_of_glibc() {
        assert_eq!(print("%c|%e|%k|%l"), "Thu Jan  2 03:04:05 2020| 2| 3| 3");
        assert_eq!(print("%F %T %Z %z %s"), "2020-01-02 03:04:05 UTC +0000 1577934245");
        assert_eq!(print("%G-W%V-%u %g %U %W"), "2020-W01-4 20 00 00");
        assert_eq!(print("%-d %_d %05d %^a %#p %P %#Z"), "2  2 00002 THU am am utc");
        assert_eq!(print("%Ey %Od %EQ %Q %"), "20 02 %EQ %Q %");
        assert_eq!(print("%10a|%-10a|%_5Y|%08Y"), "       Thu|       Thu| 2020|00002020");
    }
}
