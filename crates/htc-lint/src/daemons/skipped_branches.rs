//! Branches that are not taken here: daemons on other machines read them.

use htc_base::text::caseless;
use htc_base::world::World;
use htc_config::Advice;
use htc_config::SkippedDefinition;
use htc_config::finding::Finding;
use htc_config::lint_rule::LintRule;
use htc_config::load::LoadAttempt;

use super::lint_scope::LintScope;
use super::{fatal_error_finding, lint as lint_all};
use crate::config::LintSubject;

/// Maximum number of checks with other definitions. A name rarely has more definitions in such branches.
const MAX_ROUNDS: usize = 4;

/// Maximum number of lines between a statement and a finding in its value.
const MAX_LINES: u32 = 100;

/// Rules that check only the value itself. Names to which a value refers may be set on the machines that read it.
const RULES: [LintRule; 14] = [
    LintRule::BadValue,
    LintRule::BadExpression,
    LintRule::Unbalanced,
    LintRule::QuotedValue,
    LintRule::Quotes,
    LintRule::CommentInValue,
    LintRule::TrailingText,
    LintRule::ShellVariable,
    LintRule::TemplateMark,
    LintRule::AlwaysError,
    LintRule::UnquotedString,
    LintRule::UnitMismatch,
    LintRule::MissingTarget,
    LintRule::IgnoredText,
];

/// Rules about names. Their findings in a branch are reported only if they suggest a similar name.
const NAME_RULES: [LintRule; 4] = [
    LintRule::UnknownParameter,
    LintRule::UnknownAttribute,
    LintRule::RemovedParameter,
    LintRule::NamedNotDefined,
];

/// Reports mistakes in branches that are not taken: invalid statements, and definitions with a wrong name or value.
pub(super) fn lint(
    attempt: &LoadAttempt,
    subject: &LintSubject<'_>,
    scope: LintScope,
    world: &dyn World,
    findings: &mut Vec<Finding>,
) {
    for error in &attempt.branch_errors {
        findings.push(fatal_error_finding(subject, error, "daemons exit here where this branch is read"));
    }
    // Other machines have other values, so that what is missing here may be set there.
    let scope = LintScope { is_complete: false, is_partial: true, for_other_machine: true, ..scope };
    for round in 0..MAX_ROUNDS {
        let Some((config, chosen)) = attempt.config.with_skipped_definitions(round) else { break };
        let mut other = LintSubject::new(&config, world);
        other.reports_unused_macros = false;
        other.is_complete = false;
        other.only_names = Some(chosen.iter().map(|skipped| skipped.name.to_ascii_lowercase()).collect());
        let found = lint_all(&other, scope);
        findings.extend(found.into_iter().filter(|finding| {
            is_about_branch(finding) && chosen.iter().any(|skipped| is_in_definition(finding, skipped))
        }));
    }
}

/// True for a finding that does not depend on the rest of the configuration.
fn is_about_branch(finding: &Finding) -> bool {
    let is_slip = matches!(finding.fix, Some(Advice::DidYouMean(_)));
    RULES.contains(&finding.rule) || is_slip && NAME_RULES.contains(&finding.rule)
}

fn is_in_definition(finding: &Finding, skipped: &SkippedDefinition) -> bool {
    let last = skipped.place.line.unwrap_or_default();
    caseless::eq(&finding.name, &skipped.name)
        && finding.spot.as_ref().is_some_and(|spot| {
            spot.source == skipped.place.source && spot.line <= last && spot.line + MAX_LINES > last
        })
}
