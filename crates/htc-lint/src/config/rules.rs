//! All rules together.

use super::subject::Subject;
use super::{lists, names, references, values};
use htc_config::finding::{Finding, sort};

/// Runs all rules over a configuration whose texts were kept.
pub fn lint(subject: &Subject<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    references::lint(subject, &mut findings);
    names::lint(subject, &mut findings);
    values::lint(subject, &mut findings);
    lists::lint(subject, &mut findings);
    sort(&mut findings);
    findings
}
