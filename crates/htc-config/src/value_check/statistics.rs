//! Groups of statistics (`generic_stats_ParseConfigString`, generic_stats.cpp).

use htc_base::text::caseless;

use crate::registry::RegisteredParameter;

/// True for a known group with flags that are read: `DC:2RDZL`, `DEFAULT:1!L`, `SCHEDD:NONE`.
pub(super) fn is_statistics_group(word: &[u8], parameter: &RegisteredParameter) -> bool {
    let mut parts = word.splitn(2, |byte| *byte == b':');
    let group = parts.next().unwrap_or_default();
    let flags = parts.next().unwrap_or_default();
    let is_flag =
        |byte: &u8| matches!(byte.to_ascii_lowercase(), b'0'..=b'3' | b'!' | b'd' | b'r' | b'z' | b'l');
    parameter.words().any(|known| caseless::eq(known.as_bytes(), group))
        && (caseless::eq(flags, b"NONE") || flags.iter().all(is_flag))
}
