//! Periods, loads and lists of periods.

use bstr::ByteSlice;
use htc_base::text::number::{integer_prefix, real_prefix};

/// Returns true for a number that is followed by nothing or directly by s, m or h.
pub(super) fn is_period(text: &[u8]) -> bool {
    let Some((_, end)) = integer_prefix(text) else { return false };
    text.get(end).is_none_or(|unit| b"smh".contains(&unit.to_ascii_lowercase()))
}

/// Returns true for a name, a colon and a number.
pub(super) fn is_timespan(word: &[u8]) -> bool {
    word.split_once_str(":")
        .is_some_and(|(_, seconds)| !seconds.is_empty() && seconds.iter().all(u8::is_ascii_digit))
}

pub(super) fn is_throttle(text: &[u8]) -> bool {
    let Some((low, end)) = real_prefix(text) else { return false };
    let rest = text[end..].trim_start();
    if rest.is_empty() {
        return low >= 0.0;
    }
    let high = rest.strip_prefix(b"to").map(<[u8]>::trim_start).and_then(real_prefix);
    high.is_some_and(|(high, _)| high >= low && low >= 0.0)
}
