//! `SLOT_TYPE_<n>_X`, `SLOT<n>_X`, `NUM_SLOTS_TYPE_<n>`, and names that are often confused with them.

use bstr::{BStr, BString, ByteSlice};

use super::site_names::SiteNames;
use crate::config::name_status::{NameStatus, UnreadReason};
use crate::config::parameter_names::is_parameter;
use htc_base::text::{caseless, similar_names};
use htc_config::Advice;

/// Settings that are read only for slot types (`slot_builder.cpp`, `Resource.cpp`, constructor).
const TYPE_ONLY_SETTINGS: [&str; 4] = ["PARTITIONABLE", "BACKFILL", "NAME_PREFIX", "HIDDEN"];

/// Parameters that are looked up for a slot's type before the general ones: `Resource.cpp`,
/// `publish_slot_config_overrides`, `publish_static` and the callers of `Resource::param`; `Reqexp.cpp`,
/// `reqexp_config`.
const TYPE_OVERRIDES: [&str; 44] = [
    "START",
    "SUSPEND",
    "CONTINUE",
    "PREEMPT",
    "KILL",
    "WANT_SUSPEND",
    "WANT_VACATE",
    "WANT_HOLD",
    "WANT_HOLD_REASON",
    "WANT_HOLD_SUBCODE",
    "CLAIM_WORKLIFE",
    "MaxJobRetirementTime",
    "MachineMaxVacateTime",
    "PERIODIC_CHECKPOINT",
    "RunBenchmarks",
    "Rank",
    "SUSPEND_VANILLA",
    "CONTINUE_VANILLA",
    "PREEMPT_VANILLA",
    "KILL_VANILLA",
    "WANT_SUSPEND_VANILLA",
    "WANT_VACATE_VANILLA",
    "START_BACKFILL",
    "EVICT_BACKFILL",
    "FetchWorkDelay",
    "HIBERNATE",
    "Unhibernate",
    "SlotWeight",
    "SLOT_WEIGHT",
    "IsOwner",
    "CpuBusy",
    "WithinResourceLimits",
    "CONSUMPTION_POLICY",
    "NUM_CLAIMS",
    "STARTD_ATTRS",
    "STARTD_EXPRS",
    "STARTD_LATCH_EXPRS",
    "SYSTEM_STARTD_ATTRS",
    "SYSTEM_STARTD_LATCH_EXPRS",
    "SLOT_REQUIREMENTS_CLAUSES",
    "PSLOT_REQUIREMENTS_CLAUSES",
    "DSLOT_REQUIREMENTS_CLAUSES",
    "STARTD_JOB_HOOK_KEYWORD",
    "STARTD_DIRECT_ATTACH_SCHEDD_NAME",
];

/// Settings that are read with the name of a slot (`slot_builder.cpp`, `paramExecuteDir`; `Resource.cpp`,
/// `publish_static`, `getHookKeyword`; `os_proc.cpp`; `job_info_communicator.cpp`, `initUserPriv`).
const SLOT_ONLY_SETTINGS: [&str; 6] =
    ["EXECUTE", "USER", "JOB_HOOK_KEYWORD", "CPU_AFFINITY", "STARTD_ATTRS", "STARTD_EXPRS"];

pub(super) fn classify_slot_name(name: &[u8], site: &SiteNames) -> Option<NameStatus> {
    classify_type_setting(name, site)
        .or_else(|| classify_slot_setting(name, site))
        .or_else(|| classify_separated_slot(name, site))
        .or_else(|| classify_misordered_name(name, site))
}

/// Classifies `SLOT1.START`, which has a dot in place of an underscore after the slot.
pub(in crate::config) fn classify_slot_prefix(
    prefix: &[u8],
    rest: &[u8],
    site: &SiteNames,
) -> Option<NameStatus> {
    if site.is_daemon(prefix) || !site.is_slot(prefix) {
        return None;
    }
    let joined = [prefix, b"_", rest].concat();
    match classify_slot_name(&joined, site)? {
        NameStatus::Read => UnreadReason::misspelled_status(
            "an underscore, not a dot, separates a slot from its setting",
            joined,
        ),
        NameStatus::Unread(reason) => {
            let fix = match reason.fix {
                Advice::DidYouMean(intended) => Advice::Text(format!("did you mean {intended}?")),
                other => other,
            };
            UnreadReason::never_read_status(reason.cause, fix)
        }
        NameStatus::SiteOwn => None,
    }
}

fn is_listed(names: &[&str], name: &[u8]) -> bool {
    names.iter().any(|known| caseless::eq(known.as_bytes(), name))
}

/// Returns true if a parameter may be set for a slot type.
fn is_override(name: &[u8], site: &SiteNames) -> bool {
    let of_resource = ["CONSUMPTION_", "MODIFY_REQUEST_EXPR_"]
        .iter()
        .any(|start| caseless::strip_prefix(name, start.as_bytes()).is_some());
    is_listed(&TYPE_OVERRIDES, name) || of_resource || site.is_attribute(name)
}

fn nearest_setting<'n>(name: &[u8], lists: &[&[&'n str]], site: &'n SiteNames) -> Option<&'n BStr> {
    let listed = lists.iter().flat_map(|list| list.iter().map(|known| known.as_bytes()));
    let all = listed.chain(site.attributes.iter().map(|attribute| &attribute[..]));
    similar_names::nearest(name, all).map(BStr::new)
}

/// Classifies `SLOT_TYPE_<n>` and `NUM_SLOTS_TYPE_<n>` (`slot_builder.cpp`, `initTypes`, `countTypes`;
/// `Resource.cpp`, `SlotType::insert_param`).
fn classify_type_setting(name: &[u8], site: &SiteNames) -> Option<NameStatus> {
    let (prefix, rest) = match caseless::strip_prefix(name, b"SLOT_TYPE_") {
        Some(rest) => ("SLOT_TYPE_", rest),
        None => ("NUM_SLOTS_TYPE_", caseless::strip_prefix(name, b"NUM_SLOTS_TYPE_")?),
    };
    let Some((id, rest)) = split_leading_number(rest) else {
        return UnreadReason::never_read_status("slot types are numbered", format!("write {prefix}<n>"));
    };
    if let Some(plain) = strip_leading_zeros(name, prefix.len()) {
        return UnreadReason::misspelled_status(NO_LEADING_ZEROS, plain);
    }
    if id > site.last_slot_type {
        let last = site.last_slot_type;
        return UnreadReason::unread_status(
            format!("only slot types from 1 to {last} are read"),
            format!("set MAX_SLOT_TYPES = {id}, or use a number from 1 to {last}"),
        );
    }
    if rest.is_empty() {
        return match id {
            0 => UnreadReason::never_read_status(
                "type 0 stands for slots without a type",
                "slot types are numbered from 1",
            ),
            _ => Some(NameStatus::Read),
        };
    }
    let Some(setting) = rest.strip_prefix(b"_").filter(|_| prefix == "SLOT_TYPE_") else {
        return UnreadReason::never_read_status("slot types are numbered", format!("write {prefix}{id}"));
    };
    if is_listed(&TYPE_ONLY_SETTINGS, setting)
        || is_override(setting, site)
        || classify_slot_setting(setting, site) == Some(NameStatus::Read)
    {
        return Some(NameStatus::Read);
    }
    let shown = BStr::new(setting);
    if caseless::eq(setting, b"IS_OWNER") || caseless::eq(setting, b"CPU_BUSY") {
        let correct_name = if caseless::eq(setting, b"IS_OWNER") { "IsOwner" } else { "CpuBusy" };
        let cause = format!("the parameter of a slot type is called {correct_name}, not {shown}");
        return UnreadReason::misspelled_status(cause, format!("SLOT_TYPE_{id}_{correct_name}"));
    }
    if let Some(near) = nearest_setting(setting, &[&TYPE_ONLY_SETTINGS, &TYPE_OVERRIDES], site) {
        let cause = format!("a slot type has no {shown}");
        return UnreadReason::misspelled_status(cause, format!("SLOT_TYPE_{id}_{near}"));
    }
    if is_parameter(setting) {
        let cause = format!("{shown} is the same for all slots and cannot be set for a slot type");
        return UnreadReason::never_read_status(cause, format!("set {shown}"));
    }
    UnreadReason::unread_status(
        format!("a slot type has no {shown}, and no list advertises an attribute of that name"),
        format!("to advertise it, add {shown} to STARTD_ATTRS"),
    )
}

/// Classifies `SLOT<n>_X`, and `SLOT<n>_<m>_X` for a dynamic slot.
fn classify_slot_setting(name: &[u8], site: &SiteNames) -> Option<NameStatus> {
    let (prefix, id, rest) = site.slot_prefixes.iter().find_map(|prefix| {
        let rest = caseless::strip_prefix(name, prefix)?;
        let (id, rest) = split_leading_number(rest)?;
        Some((&name[..prefix.len()], id, rest.strip_prefix(b"_")?))
    })?;
    let (setting, is_dynamic) = match split_leading_number(rest).and_then(|(_, rest)| rest.strip_prefix(b"_"))
    {
        Some(setting) => (setting, true),
        None => (rest, false),
    };
    let shown = BStr::new(setting);
    let slot = format!("{}{id}", BStr::new(prefix));
    let second = prefix.len() + id.to_string().len() + 1;
    if let Some(plain) = strip_leading_zeros(name, prefix.len())
        .or_else(|| strip_leading_zeros(name, second).filter(|_| is_dynamic))
    {
        return UnreadReason::misspelled_status(NO_LEADING_ZEROS, plain);
    }
    if id == 0 {
        return UnreadReason::never_read_status(
            "slots are numbered from 1",
            format!("write {}<n>_{shown}", BStr::new(prefix)),
        );
    }
    if is_dynamic {
        if is_listed(&["USER", "JOB_HOOK_KEYWORD"], setting) {
            return Some(NameStatus::Read);
        }
        let cause = "a dynamic slot has only its own USER and JOB_HOOK_KEYWORD; it uses its parent's settings for everything else";
        return UnreadReason::misspelled_status(cause, format!("{slot}_{shown}"));
    }
    if is_listed(&SLOT_ONLY_SETTINGS, setting) || site.is_attribute(setting) {
        return Some(NameStatus::Read);
    }
    if is_override(setting, site) || is_listed(&TYPE_ONLY_SETTINGS, setting) {
        return UnreadReason::never_read_status(
            format!("{shown} can be set for slot types, not for slots"),
            format!("write SLOT_TYPE_<n>_{shown} for the type of {slot}, or test SlotID in {shown}"),
        );
    }
    if let Some(near) = nearest_setting(setting, &[&SLOT_ONLY_SETTINGS], site) {
        return UnreadReason::misspelled_status(format!("a slot has no {shown}"), format!("{slot}_{near}"));
    }
    if is_parameter(setting) {
        let cause = format!("{shown} is the same for all slots");
        return UnreadReason::never_read_status(cause, format!("set {shown}"));
    }
    UnreadReason::unread_status(
        format!("a slot has no {shown}, and no list advertises an attribute of that name"),
        format!("to advertise it, add {shown} to STARTD_ATTRS or {slot}_STARTD_ATTRS"),
    )
}

/// Detects `SLOT_1_USER`, which has an underscore between the prefix and the number.
fn classify_separated_slot(name: &[u8], site: &SiteNames) -> Option<NameStatus> {
    let (prefix, rest) = site.slot_prefixes.iter().find_map(|prefix| {
        let rest = caseless::strip_prefix(name, prefix)?.strip_prefix(b"_")?;
        Some((&name[..prefix.len()], rest))
    })?;
    let (_, setting) = split_leading_number(rest)?;
    setting.strip_prefix(b"_")?;
    let joined = [prefix, rest].concat();
    match classify_slot_setting(&joined, site)? {
        NameStatus::Read => {
            UnreadReason::misspelled_status("the number of a slot follows its prefix directly", joined)
        }
        other => Some(other),
    }
}

/// Detects `START_SLOT2` and `START_SLOT_TYPE_2`: the parts are in the wrong order.
fn classify_misordered_name(name: &[u8], site: &SiteNames) -> Option<NameStatus> {
    let at = name.to_ascii_uppercase().rfind("_SLOT")?;
    let (setting, slot) = (&name[..at], &name[at + 1..]);
    let is_known = is_override(setting, site)
        || is_listed(&TYPE_ONLY_SETTINGS, setting)
        || is_listed(&SLOT_ONLY_SETTINGS, setting);
    let digits =
        caseless::strip_prefix(slot, b"SLOT_TYPE_").or_else(|| caseless::strip_prefix(slot, b"SLOT"))?;
    if !is_known || !matches!(split_leading_number(digits), Some((_, rest)) if rest.is_empty()) {
        return None;
    }
    let (shown, slot) = (BStr::new(setting), BStr::new(slot));
    let cause = format!("the name of a setting for some slots begins with the slot, not with {shown}");
    if caseless::strip_prefix(slot, b"SLOT_TYPE_").is_some() || is_listed(&SLOT_ONLY_SETTINGS, setting) {
        return UnreadReason::misspelled_status(cause, format!("{slot}_{shown}"));
    }
    UnreadReason::never_read_status(
        cause,
        format!("write SLOT_TYPE_<n>_{shown} for the type of {slot}, or test SlotID in {shown}"),
    )
}

const NO_LEADING_ZEROS: &str = "numbers in names are written without leading zeros";

/// Removes leading zeros of the number that starts at `at`; returns `None` if there are none (the daemons
/// create the name with `%d`).
fn strip_leading_zeros(name: &[u8], at: usize) -> Option<BString> {
    let (before, number) = name.split_at_checked(at)?;
    let digits = number.iter().take_while(|b| b.is_ascii_digit()).count();
    let zeros = number.iter().take(digits.saturating_sub(1)).take_while(|b| **b == b'0').count();
    (zeros > 0).then(|| [before, &number[zeros..]].concat().into())
}

/// Splits a leading number from the rest of a text.
fn split_leading_number(text: &[u8]) -> Option<(u64, &[u8])> {
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let number = std::str::from_utf8(&text[..digits]).ok()?.parse().ok()?;
    Some((number, &text[digits..]))
}
