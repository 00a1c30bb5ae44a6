//! All rules over one configuration.

use super::lint_scope::LintScope;
use super::{cron_jobs, hooks, slots, transforms};
use crate::config as lint;
use crate::config::LintSubject;
use htc_config::finding::Finding;

/// Rules that say that something is nowhere.
const ABSENCE_RULES: [&str; 7] = [
    "undefined",
    "unused-macro",
    "named-not-defined",
    "defined-not-named",
    "keyword-without-hooks",
    "unused",
    "shadowed-definition",
];

/// Runs all rules over a configuration whose texts were kept.
pub fn lint(subject: &LintSubject<'_>, scope: LintScope) -> Vec<Finding> {
    let mut findings = lint::lint(subject);
    hooks::lint(subject, scope, &mut findings);
    slots::lint(subject, &mut findings);
    cron_jobs::lint(subject, scope, &mut findings);
    transforms::lint(subject, scope, &mut findings);
    if !scope.is_complete {
        // What is near to a name that is known is a slip wherever the rest stands.
        let is_slip =
            |finding: &Finding| finding.fix.as_ref().is_some_and(|fix| fix.starts_with("did you mean"));
        findings.retain(|finding| !ABSENCE_RULES.contains(&finding.rule) || is_slip(finding));
    }
    lint::sort_findings(&mut findings);
    findings
}
