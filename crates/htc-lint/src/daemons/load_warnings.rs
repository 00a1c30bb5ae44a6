//! Findings for the warnings that HTCondor prints while it reads a configuration.

use bstr::{BString, ByteSlice};

use super::lint_scope::LintScope;
use crate::config::LintSubject;
use htc_base::text::Span;
use htc_config::finding::{Finding, Replacement};
use htc_config::lint_rule::LintRule;
use htc_config::source_location::SourceLocation;
use htc_config::template;
use htc_config::{LoadWarning, LoadWarningSubject};

/// Turns the warnings about statements and parameters into findings; returns the others.
pub(super) fn add_findings<'w>(
    subject: &LintSubject<'_>,
    scope: LintScope,
    warnings: &'w [LoadWarning],
    findings: &mut Vec<Finding>,
) -> Vec<&'w LoadWarning> {
    let mut others = Vec::new();
    for warning in warnings {
        match &warning.subject {
            LoadWarningSubject::Colon(place) => {
                let spot = SourceLocation {
                    source: place.source,
                    name: place.name.clone().into(),
                    line: place.line,
                    text: place.text.clone().into(),
                    span: place.span,
                };
                findings.push(colon_finding(spot));
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
            // The warning is about the machine on which lint runs, but the files are for another one.
            LoadWarningSubject::ThisMachine if scope.for_other_machine => {}
            LoadWarningSubject::ThisMachine | LoadWarningSubject::Other => others.push(warning),
        }
    }
    others
}

/// Returns the finding about `NAME : value` or `NAME := value`. Its place is the colon or, if `use` is missing before a
/// template, the category of the template.
fn colon_finding(mut spot: SourceLocation) -> Finding {
    let (colon, after) = (spot.span.start as usize, (spot.span.start + 1) as usize);
    let before = BString::from(spot.text.get(..colon).unwrap_or_default());
    if let Some(category) = template::find_category(before.trim()) {
        let start = before.len() - before.trim_start().len();
        let category = category.as_bstr();
        spot.span = Span::new(start, before.trim_end().len());
        let message =
            format!("this assigns a macro {category}, which nothing reads: the word 'use' is missing");
        let fix = format!("write 'use {}'", spot.text.trim().as_bstr());
        let replacement = Replacement { span: Span::new(start, start), text: "use ".into() };
        let finding = Finding::at(LintRule::ColonAssignment, Some(spot), message, fix);
        return Finding { replacement: Some(replacement), ..finding };
    }
    let (message, fix) = match spot.text.get(after) {
        Some(b'=') => {
            spot.span = Span::new(after - 1, after + 1);
            let message = "':=' is not an operator: ':' alone is one, so the value begins with '='";
            (message, "write '=' instead of ':='")
        }
        _ => ("':' is the obsolete form of '=' in an assignment", "write '=' instead of ':'"),
    };
    let has_blank = before.ends_with(b" ") || before.ends_with(b"\t");
    let finding = Finding::at(LintRule::ColonAssignment, Some(spot), message.to_owned(), fix);
    finding.replaced_by(if has_blank { "=" } else { " =" })
}
