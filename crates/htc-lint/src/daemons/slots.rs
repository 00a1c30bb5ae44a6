//! Resource shares and numbers of slot types, and names of custom resources.

use bstr::{BStr, BString, ByteSlice};
use htc_base::text::plural::counted;
use htc_config::lint_rule::LintRule;

use super::lint_scope::LintScope;
use super::slot_layout;
use crate::config::LintSubject;
use htc_base::quirks::QuirkMode;
use htc_base::text::{caseless, list, similar_names, unqualified_name};
use htc_config::Advice;
use htc_config::finding::Finding;
use htc_config::macro_definition::{MacroEntry, SourceId};
use htc_slot::{ResourceShare, ShareListErrorKind, SlotTypeShares};

pub(super) fn lint(subject: &LintSubject<'_>, scope: LintScope, findings: &mut Vec<Finding>) {
    let tags = machine_resources(subject);
    let has_separate_disks = subject.view.names().any(is_slot_directory);
    slot_layout::lint(subject, scope, &tags, findings);
    check_uncounted_types(subject, scope, findings);
    check_resource_names(subject, findings);
    for entry in subject.user_written_entries() {
        if let Some(id) = slot_type_number(&entry.name) {
            check_shares(subject, (scope, has_separate_disks), entry, id, &tags, findings);
        }
        check_quoted_ids(subject, entry, findings);
    }
}

/// Reports slot types without a number of slots, in a configuration that sets the number of others.
fn check_uncounted_types(subject: &LintSubject<'_>, scope: LintScope, findings: &mut Vec<Finding>) {
    let counts: Vec<SourceId> = subject
        .user_written_entries()
        .filter(|entry| caseless::starts_with(unqualified_name(&entry.name), b"NUM_SLOTS_TYPE_"))
        .map(|entry| entry.current.place.source)
        .collect();
    if counts.is_empty() && !scope.is_complete {
        return;
    }
    // If no number is set, all slots are of type 1 or of no type.
    let first = if counts.is_empty() { 2 } else { 1 };
    for entry in subject.user_written_entries() {
        let Some(id) = slot_type_number(&entry.name).filter(|id| *id >= first) else { continue };
        let count = format!("NUM_SLOTS_TYPE_{id}");
        if !subject.is_set_with_any_prefix(count.as_bytes()) {
            let message = format!("there is no slot of type {id}, because {count} is not set");
            let fix = format!("set {count}, or remove the type");
            let finding = subject.make_finding(LintRule::DefinedNotNamed, &entry.current, None, message, fix);
            // A file that sets NUM_SLOTS_TYPE_<n> for one type is expected to set it for all types.
            findings.push(Finding { holds_in_part: counts.contains(&entry.current.place.source), ..finding });
        }
    }
    if scope.is_complete {
        check_settings_of_missing_types(subject, first, findings);
    }
}

/// Reports the first setting of each slot type that has neither shares nor a number of slots.
fn check_settings_of_missing_types(subject: &LintSubject<'_>, first: u32, findings: &mut Vec<Finding>) {
    let mut reported = Vec::new();
    for entry in subject.user_written_entries() {
        let rest = caseless::strip_prefix(unqualified_name(&entry.name), b"SLOT_TYPE_");
        let id =
            rest.and_then(|rest| rest.split_once_str("_")).and_then(|(id, _)| id.to_str().ok()?.parse().ok());
        let Some(id) = id.filter(|id: &u32| *id >= first && !reported.contains(id)) else { continue };
        let (shares, count) = (format!("SLOT_TYPE_{id}"), format!("NUM_SLOTS_TYPE_{id}"));
        let is_made = [&shares, &count].iter().any(|name| subject.is_set_with_any_prefix(name.as_bytes()));
        if is_made || !subject.known.is_known(&entry.name) {
            continue;
        }
        reported.push(id);
        let message = format!("there is no slot of type {id}: neither {count} nor {shares} is set");
        let fix = format!("set {count} and {shares}, or correct the number of the type");
        findings.push(subject.make_finding(LintRule::DefinedNotNamed, &entry.current, None, message, fix));
    }
}

/// Compares MACHINE_RESOURCE_NAMES with the resources that are defined (`MachAttributes::init_machine_resources`).
fn check_resource_names(subject: &LintSubject<'_>, findings: &mut Vec<Finding>) {
    const LIST: &str = "MACHINE_RESOURCE_NAMES";
    let Some(names) = subject.config.set.find_exact(LIST.as_bytes()) else { return };
    let listed = subject.view.text(LIST).unwrap_or_default();
    let tags = machine_resources(subject);
    for name in list::split(&listed) {
        if !tags.iter().any(|tag| caseless::eq(tag.as_bytes(), name)) && names.current.is_user_written() {
            let shown = name.as_bstr();
            let message =
                format!("resource '{shown}' is named here, but MACHINE_RESOURCE_{shown} is not set");
            let fix = match similar_names::nearest(name, tags.iter().map(String::as_str)) {
                Some(near) => Advice::DidYouMean(near.into()),
                None => format!("set MACHINE_RESOURCE_{shown}, or remove the name").into(),
            };
            let place = names.raw().find(name).map(|at| (at, at + name.len()));
            findings.push(subject.make_finding(
                LintRule::NamedNotDefined,
                &names.current,
                place,
                message,
                fix,
            ));
        }
    }
}

/// Reports quotes around the IDs of a resource: they become part of the IDs (`parse_user_resource_config`,
/// ResAttributes.cpp).
fn check_quoted_ids(subject: &LintSubject<'_>, entry: &MacroEntry, findings: &mut Vec<Finding>) {
    let name = unqualified_name(&entry.name);
    let is_named = |start: &[u8]| caseless::starts_with(name, start);
    let is_list = is_named(b"OFFLINE_MACHINE_RESOURCE_")
        || is_named(b"MACHINE_RESOURCE_")
            && !is_named(b"MACHINE_RESOURCE_INVENTORY_")
            && !caseless::eq(name, b"MACHINE_RESOURCE_NAMES");
    let raw = &entry.current.raw;
    if !is_list || !raw.trim().starts_with(b"\"") || raw.contains(&b'\n') {
        return;
    }
    let first = list::split(raw).next().unwrap_or_default();
    let message =
        format!("{}: the quotes are a part of the names: the first is {}", entry.name, first.as_bstr());
    let fix = "write names without quotes, with commas or blanks between them";
    findings.push(subject.make_finding(LintRule::ResourceNames, &entry.current, None, message, fix));
}

/// Returns the number in `SLOT_TYPE_<n>`.
pub(super) fn slot_type_number(name: &[u8]) -> Option<u32> {
    let name = unqualified_name(name);
    let start = b"SLOT_TYPE_";
    let digits = name.get(start.len()..).filter(|_| caseless::starts_with(name, start))?;
    digits.iter().all(u8::is_ascii_digit).then(|| digits.to_str().ok()?.parse().ok()).flatten()
}

/// Returns the custom resources of the machine. GPUs are detected on every machine.
pub(super) fn machine_resources(subject: &LintSubject<'_>) -> Vec<String> {
    let starts = [&b"MACHINE_RESOURCE_INVENTORY_"[..], b"MACHINE_RESOURCE_"];
    let named = subject.config.set.entries().filter_map(|entry| {
        let start = starts.iter().find(|start| caseless::starts_with(&entry.name, start))?;
        Some(entry.name[start.len()..].to_str_lossy().into_owned())
    });
    named.chain(["GPUs".to_owned()]).collect()
}

/// True for `SLOT<N>_EXECUTE`, the directory of one slot.
fn is_slot_directory(name: &BStr) -> bool {
    caseless::starts_with(name, b"SLOT") && caseless::ends_with(name, b"_EXECUTE")
}

fn check_shares(
    subject: &LintSubject<'_>,
    (scope, has_separate_disks): (LintScope, bool),
    entry: &MacroEntry,
    id: u32,
    tags: &[String],
    findings: &mut Vec<Finding>,
) {
    let raw = &entry.current.raw;
    let Ok(value) = subject.expand_entry(entry) else {
        return;
    };
    subject.view.take_messages();
    let Ok(text) = std::str::from_utf8(&value) else {
        return;
    };
    let whole = (0, raw.len());
    let part = |span: &std::ops::Range<usize>| if *raw == *value { (span.start, span.end) } else { whole };
    let mut report = |part: (usize, usize), message: String, fix: Option<Advice>| {
        findings.push(subject.make_finding(LintRule::SlotType, &entry.current, Some(part), message, fix));
    };
    for (span, name) in SlotTypeShares::ignored_items(text, tags) {
        let message = format!("the machine has no resource {name}: this share is ignored");
        if let Some(fix) = resource_advice(scope, &name, tags) {
            report(part(&span), message, Some(fix));
        }
    }
    let count = subject.view.int(&format!("NUM_SLOTS_TYPE_{id}")).ok().flatten();
    let count = count.map_or(1, |setting| setting.value).max(1);
    for span in SlotTypeShares::item_spans(text) {
        // Each item is parsed separately, followed by a newline: if a list contains a newline, only newlines
        // separate its items.
        let (item, place) = (format!("{}\n", &text[span.clone()]), part(&span));
        match SlotTypeShares::parse(&item, tags, QuirkMode::Manual) {
            Err(error) => {
                let fix = match &error.kind {
                    ShareListErrorKind::Unknown(name) => match resource_advice(scope, name, tags) {
                        Some(fix) => Some(fix),
                        None => continue,
                    },
                    _ if item.trim_end().ends_with(':') => Some("write '=' in place of ':'".into()),
                    _ => None,
                };
                report(place, format!("{}: {error}; no slot of the type is created", entry.name), fix);
                // The number after the colon is an item of its own.
                if item.trim_end().ends_with(':') {
                    break;
                }
            }
            Ok(shares) => {
                let Some((resource, percent)) = oversubscribed_resource(&shares, count, has_separate_disks)
                else {
                    continue;
                };
                let times =
                    if count > 1 { format!(" for {}", counted(count, "slot")) } else { String::new() };
                let message = format!(
                    "{}: {percent:.0}% of the machine's {resource}{times} is more than the machine has",
                    entry.name
                );
                report(
                    place,
                    message,
                    Some("reduce the shares so that all slots together use at most 100%".into()),
                );
            }
        }
    }
}

/// Returns a resource of which the slots of a type use more than 100 percent, and the percentage.
fn oversubscribed_resource(
    shares: &SlotTypeShares,
    count: i64,
    has_separate_disks: bool,
) -> Option<(BString, f64)> {
    let named =
        [("cpus", shares.cpus), ("memory", shares.memory), ("swap", shares.swap), ("disk", shares.disk)];
    let custom = shares.custom.iter().map(|custom| (custom.tag.as_str(), custom.share));
    // The partition of each SLOT<N>_EXECUTE is shared separately.
    let named = named.into_iter().filter(|(name, _)| !(has_separate_disks && *name == "disk"));
    named.chain(custom).find_map(|(name, share)| match share {
        // Three shares of `33.4%` are rounded down, not refused.
        ResourceShare::Fraction(part) if part * count as f64 > 1.005 => {
            Some((name.into(), part * count as f64 * 100.0))
        }
        _ => None,
    })
}

/// Returns advice about an unknown resource, or `None` if an unread file may define the resource.
fn resource_advice(scope: LintScope, name: &str, tags: &[String]) -> Option<Advice> {
    let advice = suggest_resource(name, tags);
    (scope.is_complete || matches!(advice, Advice::DidYouMean(_))).then_some(advice)
}

fn suggest_resource(name: &str, tags: &[String]) -> Advice {
    let known = ["cpus", "memory", "ram", "disk", "swap"].into_iter().chain(tags.iter().map(String::as_str));
    match similar_names::nearest(name, known) {
        Some(near) => Advice::DidYouMean(near.into()),
        None => format!("define it as MACHINE_RESOURCE_{name}, or remove it").into(),
    }
}
