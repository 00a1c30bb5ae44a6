//! Parameters that the manual of 25.14 describes under a name that does not occur in its source, so that nothing reads them.

use htc_base::text::caseless;
use htc_config::Advice;

use super::name_status::UnreadReason;

/// Names from the manual, each with the name that HTCondor reads instead (defrag.cpp, Starter.cpp, ResMgr.cpp,
/// generic_stats.cpp).
const UNREAD_NAMES: [(&str, &str); 5] = [
    ("DEFRAG_SCHEDULE", "DEFRAG_DRAINING_SCHEDULE"),
    ("SINGULARITY_TEST_TIMEOUT", "SINGULARITY_TEST_SANDBOX_TIMEOUT"),
    ("STARTD_DIRECT_ATTACH_SCHEDD_SUBMITTER", "STARTD_DIRECT_ATTACH_SUBMITTER_NAME"),
    ("STARTD_RECOMPUTE_DISK", "STARTD_RECOMPUTE_DISK_FREE"),
    ("WINDOWED_STAT_WIDTH", "STATISTICS_WINDOW_SECONDS"),
];

/// Names that the source misspells (statsd.cpp); a later version may read the right ones.
const MISSPELT_IN_SOURCE: [(&str, &str); 3] = [
    ("MONITOR_COLLECTOR_ADDR_ATTR", "MONTITOR_COLLECTOR_ADDR_ATTR"),
    ("MONITOR_COLLECTOR_AD_TYPE", "MONTITOR_COLLECTOR_AD_TYPE"),
    ("MONITOR_COLLECTOR_NAME_ATTR", "MONTITOR_COLLECTOR_NAME_ATTR"),
];

/// Returns the reason why nothing reads a parameter that the manual describes, or `None` for all other names.
pub(super) fn explain_unread_manual_name(name: &[u8]) -> Option<UnreadReason> {
    let find = |names: &[(&'static str, &'static str)]| {
        names.iter().find(|(manual, _)| caseless::eq(manual.as_bytes(), name)).map(|(_, read)| *read)
    };
    let reason = |read: &str, fix: Advice| {
        let cause = format!("the manual describes it, but HTCondor 25.14 reads {read}");
        Some(UnreadReason { holds_in_part: true, ..UnreadReason::new(cause, fix) })
    };
    if let Some(read) = find(&UNREAD_NAMES) {
        return reason(read, Advice::DidYouMean(read.into()));
    }
    let read = find(&MISSPELT_IN_SOURCE)?;
    reason(read, format!("set {read} as well").into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parameter_names::is_parameter;

    #[test]
    fn the_names_that_are_read_instead_are_parameters() {
        for (manual, read) in UNREAD_NAMES.iter().chain(&MISSPELT_IN_SOURCE) {
            assert!(is_parameter(read.as_bytes()), "{read}");
            assert!(explain_unread_manual_name(manual.to_lowercase().as_bytes()).is_some(), "{manual}");
        }
    }
}
