//! Security settings that contradict each other (`SecMan::FillInSecurityPolicyAd`, `ReconcileSecurityDependency`).

use bstr::{BStr, ByteSlice};
use htc_config::finding::Finding;
use htc_config::lint_rule::LintRule;
use htc_config::macro_definition::{FoundMacro, MacroEntry};

use super::lint_subject::LintSubject;

/// Permission levels that have a security policy, each with the levels whose settings are used if its own are not set
/// (`aConfigNext`).
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

/// Pairs of settings of which the first must not be NEVER if the second is REQUIRED.
const DEPENDENCIES: [(&str, &str); 5] = [
    ("AUTHENTICATION", "ENCRYPTION"),
    ("AUTHENTICATION", "INTEGRITY"),
    ("NEGOTIATION", "AUTHENTICATION"),
    ("NEGOTIATION", "ENCRYPTION"),
    ("NEGOTIATION", "INTEGRITY"),
];

/// Reports pairs of settings that rule out all connections at a permission level.
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
                "{} is NEVER, but {} is REQUIRED and needs it: no connection at the level {} is possible",
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

/// Returns the first setting that is set for one of the levels.
fn find_setting<'a>(subject: &LintSubject<'a>, levels: &[&str], setting: &str) -> Option<&'a MacroEntry> {
    levels.iter().find_map(|level| {
        let name = format!("SEC_{level}_{setting}");
        match subject.config.set.find(name.as_bytes(), &subject.config.context, subject.world) {
            Some(FoundMacro::Set(entry)) if !entry.raw().trim().is_empty() => Some(entry),
            _ => None,
        }
    })
}

/// Returns the first letter of a value; only this letter is significant (`SecMan::sec_alpha_to_sec_req`).
fn first_letter(subject: &LintSubject<'_>, entry: &MacroEntry) -> Option<u8> {
    let value = subject.view.expand_raw(&entry.name, entry.raw()).ok()?;
    let letter = value.trim().first()?.to_ascii_uppercase();
    // YES and TRUE are read as REQUIRED, NO and FALSE as NEVER.
    match letter {
        b'Y' | b'T' => Some(b'R'),
        b'F' => Some(b'N'),
        other => Some(other),
    }
}
