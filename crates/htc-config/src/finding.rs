//! Findings of rules, and their order.

use crate::lint_rule::LintRule;
use bstr::BString;

use crate::macro_set::Definition;
use crate::source_location::SourceLocation;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Rule that found it.
    pub rule: LintRule,
    /// Its place, or `None` if it is not in a file.
    pub spot: Option<SourceLocation>,
    /// The parameter it is about.
    pub name: BString,
    /// Raw value of the parameter; empty if the finding is not about a value.
    pub value: BString,
    /// The fault, in lower case without a full stop.
    pub message: String,
    /// Advice.
    pub fix: Option<String>,
}

impl Finding {
    /// One about a definition; `spot` is the place of what is wrong with it.
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

/// A message that people can read, whatever names and values it holds.
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

/// Findings in the order in which people read: by file as read, line and column.
pub fn sort_findings(findings: &mut Vec<Finding>) {
    findings.sort_by(|a, b| {
        let key = |finding: &Finding| {
            finding.spot.as_ref().map(|spot| (spot.source.number(), spot.line, spot.span.start))
        };
        (key(a), a.rule, &a.name).cmp(&(key(b), b.rule, &b.name))
    });
    findings.dedup();
}
