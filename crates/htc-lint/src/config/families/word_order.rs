//! Names with the words of a parameter in another order.

use std::sync::LazyLock;

use bstr::{BStr, BString, ByteSlice};
use htc_base::text::caseless;
use htc_config::defaults;
use rustc_hash::FxHashMap;

use crate::config::name_status::{NameStatus, UnreadReason};
use crate::config::parameter_names::other_names;

/// Families of members with settings, `<PREFIX><MEMBER>_<SETTING>`, and their settings.
const MEMBER_FAMILIES: [(&str, &[&str]); 7] = [
    ("SUBMIT_REQUIREMENT_", &["REASON", "IS_WARNING"]),
    ("SYSTEM_PERIODIC_HOLD_", &["REASON", "SUBCODE"]),
    ("SYSTEM_PERIODIC_RELEASE_", &["REASON", "SUBCODE"]),
    ("SYSTEM_PERIODIC_REMOVE_", &["REASON", "SUBCODE"]),
    ("SYSTEM_PERIODIC_VACATE_", &["REASON", "SUBCODE"]),
    ("STARTD_CRON_", &["EXECUTABLE", "PERIOD", "MODE", "ARGS", "PREFIX", "CWD", "ENV", "JOB_LOAD"]),
    ("SCHEDD_CRON_", &["EXECUTABLE", "PERIOD", "MODE", "ARGS", "PREFIX", "CWD", "ENV", "JOB_LOAD"]),
];

/// Detects `SUBMIT_REQUIREMENT_REASON_<NAME>` and `CONCURRENCY_LIMIT_<NAME>`. `is_set` returns true for parameters that
/// the configuration sets. It is needed because a member may have the name of a setting.
pub(in crate::config) fn classify_misordered_setting(
    name: &[u8],
    is_set: &dyn Fn(&str) -> bool,
) -> Option<NameStatus> {
    // CONCURRENCY_LIMIT_DEFAULT_<NAME> is read.
    let is_default = caseless::starts_with(name, b"CONCURRENCY_LIMIT_DEFAULT");
    for start in ["CONCURRENCY_LIMIT_", "CONCURRENCY_LIMITS_"].into_iter().filter(|_| !is_default) {
        if let Some(limit) = caseless::strip_prefix(name, start.as_bytes()).filter(|limit| !limit.is_empty())
        {
            let cause = "the name of a concurrency limit ends in _LIMIT";
            return UnreadReason::misspelled_status(cause, format!("{}_LIMIT", BStr::new(limit)));
        }
    }
    MEMBER_FAMILIES.iter().find_map(|(prefix, settings)| {
        let rest = caseless::strip_prefix(name, prefix.as_bytes())?;
        settings.iter().find_map(|setting| {
            let member = caseless::strip_prefix(rest, setting.as_bytes())?.strip_prefix(b"_")?;
            let member = BStr::new(member);
            let member_parameter = format!("{prefix}{member}");
            let is_known = is_set(&member_parameter) || is_set(&format!("{member_parameter}_EXECUTABLE"));
            if member.is_empty() || !is_known {
                return None;
            }
            let cause = format!("the name of a setting ends in _{setting}");
            UnreadReason::misspelled_status(cause, format!("{member_parameter}_{setting}"))
        })
    })
}

/// Returns the parameter that has the same words in another order: `LOG_STARTD_MAX`.
pub(in crate::config) fn find_reordered(name: &[u8]) -> Option<BString> {
    static BY_WORDS: LazyLock<FxHashMap<Vec<u8>, BString>> = LazyLock::new(|| {
        let names = defaults::all().map(|parameter| parameter.name().to_vec());
        let names = names.chain(other_names().map(<[u8]>::to_vec));
        names.filter_map(|name| Some((sorted_words(&name)?, name.into()))).collect()
    });
    let found = BY_WORDS.get(&sorted_words(name)?)?;
    (!caseless::eq(found, name)).then(|| found.clone())
}

/// Returns the words of a name in alphabetical order, or `None` for a single word and for names with short words,
/// because such names are often valid in several orders.
fn sorted_words(name: &[u8]) -> Option<Vec<u8>> {
    let lower = name.to_ascii_lowercase();
    let mut words: Vec<&[u8]> = lower.split_str("_").collect();
    if words.len() < 2 || words.iter().any(|word| word.len() < 3) {
        return None;
    }
    words.sort_unstable();
    Some(words.join(&b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_another_order_are_recognized() {
        let found = |name: &str| find_reordered(name.as_bytes()).map(|near| near.to_string());
        assert_eq!(found("MEMORY_RESERVED").as_deref(), Some("RESERVED_MEMORY"));
        assert_eq!(found("LOG_STARTD_MAX").as_deref(), Some("MAX_STARTD_LOG"));
        assert_eq!(found("RESERVED_MEMORY"), None);
        assert_eq!(found("SITE_MEMORY"), None);
    }
}
