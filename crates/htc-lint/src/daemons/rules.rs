//! All rules over one configuration.

use super::lint_scope::LintScope;
use super::{cron_jobs, hooks, routes, slots, transforms};
use crate::config as lint;
use crate::config::LintSubject;
use htc_config::finding::Finding;
use htc_config::lint_rule::LintRule;

/// Rules that report that something is missing.
const ABSENCE_RULES: [LintRule; 8] = [
    LintRule::Undefined,
    LintRule::UnusedMacro,
    LintRule::NamedNotDefined,
    LintRule::DefinedNotNamed,
    LintRule::KeywordWithoutHooks,
    LintRule::Unused,
    LintRule::ShadowedDefinition,
    LintRule::NoReplyHook,
];

/// Runs all rules over a configuration whose texts were kept.
pub fn lint(subject: &LintSubject<'_>, scope: LintScope) -> Vec<Finding> {
    let mut findings = lint::lint(subject);
    hooks::lint(subject, scope, &mut findings);
    slots::lint(subject, &mut findings);
    cron_jobs::lint(subject, scope, &mut findings);
    transforms::lint(subject, scope, &mut findings);
    if scope.is_complete {
        routes::lint(subject, &mut findings);
    }
    if !scope.is_complete {
        // A name that is similar to a known one is misspelled, even if other files are not known.
        let is_slip =
            |finding: &Finding| finding.fix.as_ref().is_some_and(|fix| fix.starts_with("did you mean"));
        findings.retain(|finding| !ABSENCE_RULES.contains(&finding.rule) || is_slip(finding));
    }
    lint::sort_findings(&mut findings);
    findings
}
