//! `lint --for VERSION`: adds findings that apply only to another version of HTCondor, and removes those that do not
//! apply to it.

use bstr::ByteSlice;

use super::slot_shares_of_version;
use crate::config::LintSubject;
use htc_base::text::{caseless, unqualified_name};
use htc_config::finding::Finding;
use htc_config::lint_rule::LintRule;
use htc_config::macro_definition::MacroEntry;
use htc_config::macro_reference::{MacroFunction, next_reference};
use htc_config::target_version::TargetVersion;

/// Adds findings about parameters that a version does not read yet, and removes findings about names that it still
/// reads.
pub(super) fn apply(subject: &LintSubject<'_>, version: TargetVersion, findings: &mut Vec<Finding>) {
    if version == TargetVersion::default() {
        return;
    }
    let uses_entries = version.reads_router_entries()
        && subject
            .config
            .set
            .find_exact(b"JOB_ROUTER_USE_DEPRECATED_ROUTER_ENTRIES")
            .is_some_and(|entry| caseless::eq(entry.raw(), b"true"));
    findings.retain(|finding| match finding.rule {
        LintRule::UnknownParameter | LintRule::RemovedParameter | LintRule::UnusedMacro => {
            !version.still_reads(&finding.name)
        }
        LintRule::OldSyntax => {
            let is_entries = caseless::starts_with(unqualified_name(&finding.name), b"JOB_ROUTER_");
            !(uses_entries && is_entries)
        }
        _ => true,
    });
    for entry in subject.user_written_entries().filter(|entry| version.lacks_parameter(&entry.name)) {
        let message =
            format!("HTCondor {version} does not read {}: a later version introduced it", entry.name);
        findings.push(subject.make_finding(LintRule::NotInVersion, &entry.current, None, message, None));
    }
    slot_shares_of_version::lint(subject, version, findings);
    for entry in subject.user_written_entries() {
        let words = version.rejected_words(&entry.name);
        if let Some(word) = words.iter().find(|word| caseless::eq(word.as_bytes(), entry.raw().trim())) {
            let message = format!("HTCondor {version} does not accept {word} as the value of {}", entry.name);
            let place = Some((0, entry.raw().len()));
            findings.push(subject.make_finding(LintRule::BadValue, &entry.current, place, message, None));
        }
        report_changed_defaults(subject, version, entry, findings);
    }
}

/// Reports references to parameters that the configuration does not set and that have another default in the version.
fn report_changed_defaults(
    subject: &LintSubject<'_>,
    version: TargetVersion,
    entry: &MacroEntry,
    findings: &mut Vec<Finding>,
) {
    // References to the parameter itself have been expanded in its value, but its line still contains them.
    let spot = subject.make_finding(LintRule::ChangedDefault, &entry.current, None, String::new(), None).spot;
    let line = spot.as_ref().map_or(entry.raw(), |spot| spot.text.as_ref());
    for text in [entry.raw().as_bytes(), line] {
        let mut at = 0;
        while let Some(found) =
            next_reference(text, at, &mut None, |function, _| function == MacroFunction::Plain)
        {
            at = found.end;
            let (name, _) = found.name_and_default(text);
            let is_itself = caseless::eq(name, &entry.name);
            let is_set = subject.config.set.find_exact(name).is_some() && !is_itself
                || is_itself && !entry.replaced.is_empty();
            let Some(default) = version.changed_default(name).filter(|_| !is_set) else { continue };
            let (shown, other) = (name.as_bstr(), TargetVersion::default());
            let message = format!(
                "the default of {shown} in HTCondor {version} differs from that in {other}: {default}"
            );
            let finding = subject.make_finding(LintRule::ChangedDefault, &entry.current, None, message, None);
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
    }
}
