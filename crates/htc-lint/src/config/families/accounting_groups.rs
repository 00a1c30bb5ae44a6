//! Accounting groups: `GROUP_<SETTING>_<group>` for each group of GROUP_NAMES (`GroupEntry.cpp`,
//! `hgq_construct_tree`; `Accountant.cpp`, `getGroupPriorityFactor`).

use bstr::{BStr, BString, ByteSlice};

use crate::config::name_status::{NameStatus, UnreadReason};
use crate::config::parameter_names::{is_parameter, list_items};
use htc_base::text::{caseless, similar_names};
use htc_config::ConfigView;

/// Settings of a group.
const GROUP_SETTINGS: [&str; 5] = ["QUOTA_DYNAMIC", "QUOTA", "ACCEPT_SURPLUS", "AUTOREGROUP", "PRIO_FACTOR"];

/// Settings for all groups together, whose names begin like those for one group.
const COMMON_SETTINGS: [&str; 2] = ["QUOTA_MAX_ALLOCATION_ROUNDS", "QUOTA_ROUND_ROBIN_RATE"];

/// Parameter that lists the groups.
pub(in crate::config) const GROUP_LIST: &str = "GROUP_NAMES";

/// Returns the groups that the configuration lists.
pub(in crate::config) fn listed_groups(view: &ConfigView<'_>) -> Vec<BString> {
    list_items(view, GROUP_LIST)
}

/// Returns the status of a name according to the listed groups. A group's name may contain dots
/// (`physics.lab`), so the whole name is passed.
pub(in crate::config) fn classify_group_name(name: &[u8], groups: &[BString]) -> Option<NameStatus> {
    let rest = caseless::strip_prefix(name, b"GROUP_")?;
    if GROUP_SETTINGS.iter().chain(&COMMON_SETTINGS).any(|known| caseless::eq(known.as_bytes(), rest)) {
        let cause = "each group has a setting of its own";
        let fix = || format!("write {}_<GROUP>", name.to_ascii_uppercase().as_bstr());
        return match is_parameter(name) {
            true => None,
            false => UnreadReason::never_read_status(cause, fix()),
        };
    }
    let group_after = |known: &str| {
        caseless::strip_prefix(rest, known.as_bytes())?.strip_prefix(b"_").filter(|group| !group.is_empty())
    };
    let listed = |group: &[u8]| groups.iter().any(|known| caseless::eq(known, group));
    let interpretations: Vec<(&str, &[u8])> =
        GROUP_SETTINGS.iter().filter_map(|&known| Some((known, group_after(known)?))).collect();
    // QUOTA_DYNAMIC_x may also mean QUOTA of a group DYNAMIC_x: one valid interpretation is enough.
    if interpretations.iter().any(|(_, group)| listed(group)) {
        return Some(NameStatus::Read);
    }
    // `GROUP_QUOTA_DYNAMC_x` is not QUOTA of a group DYNAMC_x if x is a listed group: it is misspelled.
    let is_misspelled = |known: &BString| {
        rest.len()
            .checked_sub(known.len() + 1)
            .filter(|&end| rest[end] == b'_' && caseless::ends_with(rest, known))
            .is_some_and(|end| {
                similar_names::nearest(&rest[..end], GROUP_SETTINGS.iter().map(|known| known.as_bytes()))
                    .is_some()
            })
    };
    if groups.iter().any(is_misspelled) {
        return classify_misspelled_setting(rest, groups);
    }
    if let Some(&(setting, group)) = interpretations.first() {
        let cause = format!("{GROUP_LIST} lists no group {}", BStr::new(group));
        let near = similar_names::nearest(group, groups.iter().map(|known| &known[..]));
        return match near {
            Some(near) => {
                UnreadReason::misspelled_status(cause, format!("GROUP_{setting}_{}", BStr::new(near)))
            }
            None => {
                let fix = match find_related(group, groups) {
                    Some(related) => format!("did you mean GROUP_{setting}_{related}?"),
                    None => format!("add {} to {GROUP_LIST}", BStr::new(group)),
                };
                UnreadReason::unread_status(cause, fix)
            }
        };
    }
    classify_joined_group(rest, groups).or_else(|| classify_misspelled_setting(rest, groups))
}

/// True if a name is certainly a misspelling of another one. Short names, and names that differ in a digit, may belong
/// to two groups, of which one is missing in the list.
pub(in crate::config) fn is_certain_slip(name: &[u8], intended: &[u8]) -> bool {
    const MIN_LENGTH: usize = 5;
    fn last(name: &[u8]) -> &[u8] {
        name.rsplit(|byte| b"_.".contains(byte)).next().unwrap_or_default()
    }
    let digits = |name: &[u8]| name.iter().copied().filter(u8::is_ascii_digit).collect::<Vec<_>>();
    let (one, other) = (last(name), last(intended));
    caseless::eq(one, other) || one.len().min(other.len()) >= MIN_LENGTH && digits(one) == digits(other)
}

/// Detects the name of a group directly after the setting: `GROUP_QUOTAgroup_a`.
fn classify_joined_group(rest: &[u8], groups: &[BString]) -> Option<NameStatus> {
    let known = GROUP_SETTINGS.iter().find(|known| {
        let group = caseless::strip_prefix(rest, known.as_bytes());
        group.is_some_and(|group| {
            groups.iter().any(|listed| caseless::eq(listed, group)) || caseless::starts_with(group, b"group_")
        })
    })?;
    let group = BStr::new(&rest[known.len()..]);
    UnreadReason::misspelled_status(
        "a '_' separates the setting from the group",
        format!("GROUP_{known}_{group}"),
    )
}

/// Returns the only name of a list that begins with a name, or with which the name begins.
pub(in crate::config) fn find_related<'n>(name: &[u8], names: &'n [BString]) -> Option<&'n BString> {
    const MIN_LENGTH: usize = 4;
    let is_related = |known: &&BString| {
        let is_start = |long: &[u8], short: &[u8]| {
            // A dot separates a group from its parent.
            short.len() >= MIN_LENGTH
                && caseless::starts_with(long, short)
                && long[short.len()..].first() != Some(&b'.')
        };
        is_start(known, name) || is_start(name, known)
    };
    let mut related = names.iter().filter(is_related);
    related.next().filter(|_| related.next().is_none())
}

/// Detects a misspelled setting of a group.
fn classify_misspelled_setting(rest: &[u8], groups: &[BString]) -> Option<NameStatus> {
    let ends_in = |group: &&BString| {
        let setting = rest.len().checked_sub(group.len() + 1).map(|end| &rest[..end])?;
        (rest[setting.len()] == b'_' && caseless::ends_with(rest, group)).then_some(setting)
    };
    // If one group's name ends like another's, the longer one is intended.
    let longest = groups
        .iter()
        .filter_map(|group| Some((group, ends_in(&group)?)))
        .max_by_key(|(group, _)| group.len());
    let Some((group, setting)) = longest else { return classify_unlisted_group(rest) };
    let near = similar_names::nearest(setting, GROUP_SETTINGS.iter().map(|known| known.as_bytes()));
    let cause = format!("a group has no {}", BStr::new(setting));
    match near {
        Some(near) => UnreadReason::misspelled_status(cause, format!("GROUP_{}_{group}", BStr::new(near))),
        None => UnreadReason::unread_status(
            cause,
            format!("use one of the settings of a group: {}", GROUP_SETTINGS.join(", ")),
        ),
    }
}

/// Detects a misspelled setting of a group that no list has.
fn classify_unlisted_group(rest: &[u8]) -> Option<NameStatus> {
    let ends = rest.iter().enumerate().filter(|(at, byte)| **byte == b'_' && *at > 4).map(|(at, _)| at);
    ends.filter(|at| at + 1 < rest.len()).find_map(|at| {
        let known = GROUP_SETTINGS.iter().map(|known| known.as_bytes());
        let near = similar_names::nearest(&rest[..at], known)?;
        let cause = format!("a group has no {}", BStr::new(&rest[..at]));
        let group = BStr::new(&rest[at + 1..]);
        UnreadReason::misspelled_status(cause, format!("GROUP_{}_{group}", BStr::new(near)))
    })
}

/// Returns the reason why a listed group does not work as expected: it has no quota, or its parent is not
/// listed.
pub(in crate::config) fn check_listed_group(
    group: &BStr,
    groups: &[BString],
    view: &ConfigView<'_>,
) -> Option<UnreadReason> {
    let quotas = ["GROUP_QUOTA_", "GROUP_QUOTA_DYNAMIC_"].map(|prefix| format!("{prefix}{group}"));
    let parent = group.rfind_byte(b'.').map(|at| BStr::new(&group[..at]));
    if let Some(parent) = parent.filter(|parent| !groups.iter().any(|known| caseless::eq(known, parent))) {
        let cause = format!("group '{group}' is ignored: its parent {parent} is not listed");
        let fix = format!("add {parent} to {GROUP_LIST}");
        return Some(UnreadReason { holds_in_part: true, ..UnreadReason::new(cause, fix) });
    }
    let has_quota = quotas.iter().any(|quota| view.is_defined(quota));
    (!has_quota).then(|| {
        let cause = format!("group '{group}' has neither {} nor {}: its quota is 0", quotas[0], quotas[1]);
        UnreadReason::new(cause, format!("set one of them, or remove the name from {GROUP_LIST}"))
    })
}
