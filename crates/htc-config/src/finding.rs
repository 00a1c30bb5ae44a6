//! Findings of lint rules, and their order.

use crate::lint_rule::LintRule;
use bstr::BString;

use crate::macro_set::Definition;
use crate::source_location::SourceLocation;

/// A finding of a lint rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule that found it.
    pub rule: LintRule,
    /// Its place, or `None` if it is not in a file.
    pub spot: Option<SourceLocation>,
    /// The parameter concerned.
    pub name: BString,
    /// Raw value of the parameter; empty if the finding is not about a value.
    pub value: BString,
    /// The message, in lower case without a full stop.
    pub message: String,
    /// How to fix it.
    pub fix: Option<String>,
}

impl Finding {
    /// Creates a finding about a definition; `spot` is the place of the fault.
    pub fn new(
        rule: LintRule,
        (definition, spot): (&Definition, Option<SourceLocation>),
        message: String,
        fix: Option<String>,
    ) -> Self {
        Finding {
            rule,
            spot,
            name: definition.name.clone(),
            value: definition.raw.clone(),
            message: shorten(message),
            fix,
        }
    }
}

/// Shortens a message that contains a very long name or value.
fn shorten(message: String) -> String {
    const MAX_MESSAGE_BYTES: usize = 2000;
    if message.len() <= MAX_MESSAGE_BYTES {
        return message;
    }
    let at = |limit: usize| (0..=limit).rev().find(|&at| message.is_char_boundary(at)).unwrap_or(0);
    format!(
        "{}...{}",
        &message[..at(MAX_MESSAGE_BYTES / 2)],
        &message[at(message.len() - MAX_MESSAGE_BYTES / 2)..]
    )
}

/// Sorts findings by file in the order of reading, then by line and column, and removes duplicates.
pub fn sort_findings(findings: &mut Vec<Finding>) {
    findings.sort_by(|a, b| {
        let key = |finding: &Finding| {
            finding.spot.as_ref().map(|spot| (spot.source.number(), spot.line, spot.span.start))
        };
        (key(a), a.rule, &a.name).cmp(&(key(b), b.rule, &b.name))
    });
    findings.dedup();
}
