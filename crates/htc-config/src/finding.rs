//! Findings of lint rules, and their order.

use bstr::BString;

use crate::advice::{Advice, IntoAdvice};
use crate::lint_rule::LintRule;
use crate::macro_definition::Definition;
use crate::shared_text::SharedText;
use crate::source_location::SourceLocation;
use htc_base::text::Span;

/// Text that corrects a finding with certainty. It replaces a part of the line at the finding's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// Part of the line that is replaced; empty for an insertion.
    pub span: Span,
    /// New text of that part; empty for a deletion.
    pub text: BString,
}

/// A finding of a lint rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Rule that found the problem.
    pub rule: LintRule,
    /// Place of the finding, or `None` if it is not in a file.
    pub spot: Option<SourceLocation>,
    /// Name of the parameter; empty if the finding is not about a parameter.
    pub name: SharedText,
    /// Raw value of the parameter; empty if the finding is not about a value.
    pub value: SharedText,
    /// The message, in lower case without a full stop.
    pub message: String,
    /// Advice on how to correct the problem.
    pub fix: Option<Advice>,
    /// Correction that `lint --fix` applies, or `None` if several are possible.
    pub replacement: Option<Replacement>,
    /// True if a finding about something that is missing is right even when only some files of the configuration were
    /// read.
    pub holds_in_part: bool,
}

impl Finding {
    /// Moves the finding down by a number of lines: those of the file before the text that was checked.
    #[must_use]
    pub fn with_lines_added(mut self, lines: u32) -> Self {
        if let Some(spot) = &mut self.spot {
            spot.line += lines;
        }
        self
    }

    /// Creates a finding about a definition; `spot` is the place of the fault.
    pub fn new(
        rule: LintRule,
        definition: &Definition,
        spot: Option<SourceLocation>,
        message: String,
        fix: impl IntoAdvice,
    ) -> Self {
        Finding {
            rule,
            spot,
            name: definition.name.clone(),
            value: definition.raw.clone(),
            message: shorten(message),
            fix: fix.into_advice(),
            replacement: None,
            holds_in_part: false,
        }
    }

    /// Creates a finding about a place that is not a definition.
    pub fn at(rule: LintRule, spot: Option<SourceLocation>, message: String, fix: impl IntoAdvice) -> Self {
        Finding {
            rule,
            spot,
            name: SharedText::default(),
            value: SharedText::default(),
            message: shorten(message),
            fix: fix.into_advice(),
            replacement: None,
            holds_in_part: false,
        }
    }

    /// Adds a correction that replaces the finding's place by a text; nothing if it has no place in a file.
    #[must_use]
    pub fn replaced_by(mut self, text: impl Into<BString>) -> Self {
        self.replacement = self.spot.as_ref().map(|spot| Replacement { span: spot.span, text: text.into() });
        self
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
