//! Runs all rules on a configuration.

use super::lint_subject::LintSubject;
use super::{
    account_patterns, command_arguments, dead_settings, docker_volumes, gpu_options, list_rules,
    member_settings, name_rules, precedence, reference_rules, security_levels, unit_comments, user_map_names,
    value_rules, wrong_reader,
};
use htc_config::finding::{Finding, sort_findings};

/// Runs all rules on a configuration that was loaded with the text of its sources.
pub fn lint(subject: &LintSubject<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    reference_rules::lint(subject, &mut findings);
    name_rules::lint(subject, &mut findings);
    value_rules::lint(subject, &mut findings);
    list_rules::lint(subject, &mut findings);
    command_arguments::lint(subject, &mut findings);
    gpu_options::lint(subject, &mut findings);
    docker_volumes::lint(subject, &mut findings);
    user_map_names::lint(subject, &mut findings);
    member_settings::lint(subject, &mut findings);
    security_levels::lint(subject, &mut findings);
    dead_settings::lint(subject, &mut findings);
    wrong_reader::lint(subject, &mut findings);
    account_patterns::lint(subject, &mut findings);
    precedence::lint(subject, &mut findings);
    unit_comments::lint(subject, &mut findings);
    sort_findings(&mut findings);
    findings
}
