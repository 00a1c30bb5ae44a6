//! All rules over one configuration.

use super::scope::Scope;
use super::{crons, hooks, slots, transforms};
use crate::config as lint;
use crate::config::Subject;
use htc_config::finding::Finding;

/// Rules that say that something is nowhere.
const ABSENCE: [&str; 7] = [
    "undefined",
    "unused-macro",
    "named-not-defined",
    "defined-not-named",
    "keyword-without-hooks",
    "unused",
    "shadowed-definition",
];

/// Runs all rules over a configuration whose texts were kept.
pub fn lint(subject: &Subject<'_>, scope: Scope) -> Vec<Finding> {
    let mut findings = lint::lint(subject);
    hooks::lint(subject, scope, &mut findings);
    slots::lint(subject, &mut findings);
    crons::lint(subject, scope, &mut findings);
    transforms::lint(subject, scope, &mut findings);
    if !scope.complete {
        // What is near to a name that is known is a slip wherever the rest stands.
        let is_slip =
            |finding: &Finding| finding.fix.as_ref().is_some_and(|fix| fix.starts_with("did you mean"));
        findings.retain(|finding| !ABSENCE.contains(&finding.rule) || is_slip(finding));
    }
    lint::sort(&mut findings);
    findings
}
