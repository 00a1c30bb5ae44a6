//! Levels of security that contradict each other (`SecMan::FillInSecurityPolicyAd`, `ReconcileSecurityDependency`).

use bstr::{BStr, ByteSlice};
use htc_config::finding::Finding;
use htc_config::lint_rule::LintRule;
use htc_config::macro_definition::{FoundMacro, MacroEntry};

use super::lint_subject::LintSubject;

/// Levels for which a policy is made, each with those from which it takes what is not set (`aConfigNext`).
const LEVELS: [&[&str]; 11] = [
    &["DEFAULT"],
    &["CLIENT", "DEFAULT"],
    &["READ", "DEFAULT"],
    &["WRITE", "DEFAULT"],
    &["NEGOTIATOR", "DEFAULT"],
    &["ADMINISTRATOR", "DEFAULT"],
    &["CONFIG", "DEFAULT"],
    &["DAEMON", "DEFAULT"],
    &["ADVERTISE_STARTD", "DAEMON", "DEFAULT"],
    &["ADVERTISE_SCHEDD", "DAEMON", "DEFAULT"],
    &["ADVERTISE_MASTER", "DAEMON", "DEFAULT"],
];

/// Settings that exclude each other: the first one must not be NEVER if the second is REQUIRED.
const DEPENDENCIES: [(&str, &str); 5] = [
    ("AUTHENTICATION", "ENCRYPTION"),
    ("AUTHENTICATION", "INTEGRITY"),
    ("NEGOTIATION", "AUTHENTICATION"),
    ("NEGOTIATION", "ENCRYPTION"),
    ("NEGOTIATION", "INTEGRITY"),
];

/// Reports pairs of settings with which no connection of a level is possible.
pub(super) fn lint(subject: &LintSubject<'_>, findings: &mut Vec<Finding>) {
    let mut reported: Vec<(&BStr, &BStr)> = Vec::new();
    for level in LEVELS {
        for (first, second) in DEPENDENCIES {
            let (Some(never), Some(required)) =
                (find_setting(subject, level, first), find_setting(subject, level, second))
            else {
                continue;
            };
            let pair = (&never.name[..], &required.name[..]);
            let is_contradiction =
                first_letter(subject, never) == Some(b'N') && first_letter(subject, required) == Some(b'R');
            let is_written = never.current.is_user_written() || required.current.is_user_written();
            if !is_contradiction || !is_written || reported.contains(&pair) {
                continue;
            }
            reported.push(pair);
            let message = format!(
                "{} is NEVER, but {} is REQUIRED and needs it: no connection with {} is possible",
                never.name, required.name, level[0]
            );
            let fix =
                format!("write OPTIONAL or REQUIRED, or do not require {}", second.to_ascii_lowercase());
            let entry = if never.current.is_user_written() { never } else { required };
            let place = Some((0, entry.current.raw.len()));
            findings.push(subject.make_finding(LintRule::Contradiction, &entry.current, place, message, fix));
        }
    }
}

/// Returns the setting that applies to the first of the levels.
fn find_setting<'a>(subject: &LintSubject<'a>, levels: &[&str], what: &str) -> Option<&'a MacroEntry> {
    levels.iter().find_map(|level| {
        let name = format!("SEC_{level}_{what}");
        match subject.config.set.find(name.as_bytes(), &subject.config.context, subject.world) {
            Some(FoundMacro::Set(entry)) if !entry.raw().trim().is_empty() => Some(entry),
            _ => None,
        }
    })
}

/// Returns the first letter of a level, which alone counts (`SecMan::sec_alpha_to_sec_req`).
fn first_letter(subject: &LintSubject<'_>, entry: &MacroEntry) -> Option<u8> {
    let value = subject.view.expand_raw(&entry.name, entry.raw()).ok()?;
    let letter = value.trim().first()?.to_ascii_uppercase();
    // YES and TRUE mean REQUIRED, NO and FALSE mean NEVER.
    match letter {
        b'Y' | b'T' => Some(b'R'),
        b'F' => Some(b'N'),
        other => Some(other),
    }
}
