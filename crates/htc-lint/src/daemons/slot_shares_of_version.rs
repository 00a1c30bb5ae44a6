//! Shares of slot types that earlier versions refuse or read as another amount.
//!
//! 24.0 and 25.0 refuse amounts of disk and swap, and skip the unit of an amount (slot_builder.cpp, `parse_share_value` and
//! `buildSlotRequest` at the tags v24.0.23 and v25.0.13).

use bstr::BStr;
use htc_base::quirks::QuirkMode;
use htc_config::finding::Finding;
use htc_config::lint_rule::LintRule;
use htc_config::macro_definition::MacroEntry;
use htc_config::target_version::TargetVersion;
use htc_slot::{ResourceShare, SlotTypeShares};

use super::slots::{machine_resources, slot_type_number};
use crate::config::LintSubject;

/// Reports the shares that a version refuses or reads as another amount.
pub(super) fn lint(subject: &LintSubject<'_>, version: TargetVersion, findings: &mut Vec<Finding>) {
    if version > TargetVersion::V25_0 {
        return;
    }
    let tags = machine_resources(subject);
    for entry in subject.user_written_entries().filter(|entry| slot_type_number(&entry.name).is_some()) {
        check_entry(subject, version, entry, &tags, findings);
    }
}

fn check_entry(
    subject: &LintSubject<'_>,
    version: TargetVersion,
    entry: &MacroEntry,
    tags: &[String],
    findings: &mut Vec<Finding>,
) {
    let Ok(value) = subject.expand_entry(entry) else { return };
    subject.view.take_messages();
    let Ok(text) = std::str::from_utf8(&value) else { return };
    for span in SlotTypeShares::item_spans(text) {
        let item = &text[span.clone()];
        let Ok(shares) = SlotTypeShares::parse(&format!("{item}\n"), tags, QuirkMode::Manual) else {
            continue;
        };
        let Some((message, fix)) = check_item(version, item, &shares) else { continue };
        let is_written = entry.raw() == BStr::new(&value[..]);
        let place = if is_written { (span.start, span.end) } else { (0, entry.raw().len()) };
        let message = format!("{}: {message}", entry.name);
        findings.push(subject.make_finding(LintRule::SlotType, &entry.current, Some(place), message, fix));
    }
}

/// Returns the problem that a version has with an item that is valid in 25.14, and the correction.
fn check_item(version: TargetVersion, item: &str, shares: &SlotTypeShares) -> Option<(String, String)> {
    let is_amount = |share: ResourceShare| matches!(share, ResourceShare::Amount(amount) if amount > 0.0);
    let (name, share) = item.split_once('=')?;
    if let Some(resource) = [("disk", shares.disk), ("swap", shares.swap)]
        .into_iter()
        .find_map(|(resource, share)| is_amount(share).then_some(resource))
    {
        let message = format!(
            "HTCondor {version} refuses an amount of {resource} in a slot type; no slot of the type is created"
        );
        return Some((message, format!("write a percentage or a fraction: {}=10%", name.trim())));
    }
    let share = share.split(':').next().unwrap_or_default().trim();
    let digits = share.len() - share.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
    let (number, unit) = share.split_at(digits);
    let unit = unit.trim();
    let ResourceShare::Amount(amount) = shares.memory else { return None };
    if digits == 0 || !unit.starts_with(|c: char| "kmgtp".contains(c.to_ascii_lowercase())) {
        return None;
    }
    let message = format!("HTCondor {version} ignores the unit '{unit}': {name}={share} is {number} MiB");
    Some((message, format!("write {}={amount}", name.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_that_earlier_versions_refuse_or_misread_are_found() {
        let found = |item: &str| {
            let shares = SlotTypeShares::parse(&format!("{item}\n"), &[], QuirkMode::Manual).unwrap();
            check_item(TargetVersion::V24_0, item, &shares).map(|(message, _)| message)
        };
        for (wrong, part) in [
            ("disk=1GB", "refuses"),
            ("swap=2048", "refuses"),
            ("memory=8GB", "is 8 MiB"),
            ("ram=2 G", "is 2 MiB"),
        ] {
            let message = found(wrong).unwrap_or_default();
            assert!(message.contains(part), "{wrong}: {message}");
        }
        for good in ["disk=10%", "disk=auto", "memory=2048", "memory=1/4", "cpus=4", "50%", "swap=0"] {
            assert_eq!(found(good), None, "{good}");
        }
    }
}
