//! All rules together.

use super::lint_subject::LintSubject;
use super::{list_rules, name_rules, reference_rules, value_rules};
use htc_config::finding::{Finding, sort_findings};

/// Runs all rules over a configuration whose texts were kept.
pub fn lint(subject: &LintSubject<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    reference_rules::lint(subject, &mut findings);
    name_rules::lint(subject, &mut findings);
    value_rules::lint(subject, &mut findings);
    list_rules::lint(subject, &mut findings);
    sort_findings(&mut findings);
    findings
}
