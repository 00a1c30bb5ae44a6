//! `lint --for VERSION`: findings that another version of HTCondor has, and those that it does not have.

use crate::config::LintSubject;
use htc_base::text::{caseless, unqualified_name};
use htc_config::finding::Finding;
use htc_config::lint_rule::LintRule;
use htc_config::target_version::TargetVersion;

/// Adds the parameters that a version does not read yet, and removes findings about what it still reads.
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
    for entry in subject.user_written_entries().filter(|entry| version.lacks(&entry.name)) {
        let message =
            format!("HTCondor {version} does not read {}: a later version introduced it", entry.name);
        findings.push(subject.make_finding(LintRule::NotInVersion, &entry.current, None, message, None));
    }
}
