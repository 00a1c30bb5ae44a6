//! Findings about what HTCondor warns of while it reads a configuration.

use bstr::ByteSlice;

use crate::config::LintSubject;
use htc_config::finding::Finding;
use htc_config::lint_rule::LintRule;
use htc_config::source_location::SourceLocation;
use htc_config::{LoadWarning, LoadWarningSubject};

/// Turns the warnings about statements and parameters into findings; returns the others.
pub(super) fn add_findings<'w>(
    subject: &LintSubject<'_>,
    warnings: &'w [LoadWarning],
    findings: &mut Vec<Finding>,
) -> Vec<&'w LoadWarning> {
    let mut others = Vec::new();
    for warning in warnings {
        match &warning.subject {
            LoadWarningSubject::Colon(place) => {
                let spot = SourceLocation {
                    source: place.source,
                    name: place.name.clone(),
                    line: place.line,
                    text: place.text.clone(),
                    span: place.span,
                };
                let message = "':' is the obsolete form of '=' in an assignment".to_owned();
                let fix = "write '=' instead of ':'";
                findings
                    .push(Finding::at(LintRule::ColonAssignment, Some(spot), message, fix).replaced_by("="));
            }
            LoadWarningSubject::Parameter(name) => {
                let entry = subject.config.set.find_exact(name).filter(|it| it.current.is_user_written());
                let Some(entry) = entry else {
                    others.push(warning);
                    continue;
                };
                let is_known =
                    |it: &Finding| it.rule == LintRule::BadValue && it.name.eq_ignore_ascii_case(name);
                if findings.iter().any(is_known) {
                    continue;
                }
                let part = Some((0, entry.raw().len()));
                let text = warning.text.to_str_lossy();
                let message = format!("daemons reject {name}: {text}");
                findings.push(subject.make_finding(LintRule::BadValue, &entry.current, part, message, None));
            }
            LoadWarningSubject::Other => others.push(warning),
        }
    }
    others
}
