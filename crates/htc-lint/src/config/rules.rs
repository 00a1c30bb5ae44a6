//! All rules together.

use super::lint_subject::LintSubject;
use super::{command_arguments, list_rules, name_rules, reference_rules, user_map_names, value_rules};
use htc_config::finding::{Finding, sort_findings};

/// Runs all rules over a configuration whose texts were kept.
pub fn lint(subject: &LintSubject<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    reference_rules::lint(subject, &mut findings);
    name_rules::lint(subject, &mut findings);
    value_rules::lint(subject, &mut findings);
    list_rules::lint(subject, &mut findings);
    command_arguments::lint(subject, &mut findings);
    user_map_names::lint(subject, &mut findings);
    sort_findings(&mut findings);
    findings
}
