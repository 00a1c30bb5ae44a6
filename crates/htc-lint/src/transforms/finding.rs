//! Findings of the transform linter.

use htc_config::lint_rule::{LintRule, LintSeverity};
use std::collections::BTreeMap;

use bstr::BString;

use htc_base::text::Span;
use htc_base::world::World;
use htc_transform::RuleLine;

/// Program that will run the transform.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TransformRunner {
    /// `condor_transform_ads` and `htc-router-translate transform --rules`.
    #[default]
    Tool,
    /// The access point, from `JOB_TRANSFORM_x`.
    Schedd,
    /// The job router, from `JOB_ROUTER_ROUTE_x` and similar parameters.
    Router,
}

/// A mistake in a transform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransformFinding {
    /// Rule that found the problem; it determines the severity.
    pub rule: LintRule,
    /// Line of the transform that has the problem.
    pub line: RuleLine,
    /// Start and end of the place within the line.
    pub at: Span,
    /// Description of the mistake.
    pub message: String,
    /// Line number, within the transform, of another statement that is part of the mistake.
    /// [`TransformFinding::describe`] appends it to the message.
    pub other_line: Option<u32>,
    /// Correction.
    pub fix: String,
    /// Text to write at the place, or `None` if the correction is not certain.
    pub replacement: Option<BString>,
    /// The macro that is not defined or not used, if that is the mistake.
    pub macro_name: Option<BString>,
    /// True if the line is inside an `if`, so that it may never be reached.
    pub inside_if: bool,
}

impl TransformFinding {
    /// Returns the description; `offset` is the difference between the numbers of lines in the file and in the transform.
    pub fn describe(&self, offset: u32) -> String {
        match self.other_line {
            Some(line) => format!("{} on line {}", self.message, line + offset),
            None => self.message.clone(),
        }
    }

    /// Returns true if this mistake makes the transform fail for every ad.
    pub fn is_fatal(&self) -> bool {
        self.rule.severity() == LintSeverity::Error && !self.inside_if
    }
}

/// State while one transform is checked.
pub(super) struct TransformLinter<'a> {
    pub(super) runner: TransformRunner,
    pub(super) world: &'a dyn World,
    pub(super) findings: Vec<TransformFinding>,
    pub(super) inside_if: bool,
    /// Attributes that were set and not yet read, by name in lower case: the line and place of the statement, and the
    /// depth of its `if`.
    pub(super) unread_sets: BTreeMap<Vec<u8>, (RuleLine, Span, usize)>,
    /// Attributes that are set to an expression, with the attributes that it refers to; all in lower case.
    pub(super) set_references: BTreeMap<Vec<u8>, Vec<Vec<u8>>>,
}

/// Maximum number of findings in one transform, so that a file without a valid line does not fill the memory.
const MAX_FINDINGS: usize = 10_000;

impl TransformLinter<'_> {
    /// Returns true if there are too many findings to check further statements. When the limit is reached, adds a
    /// finding about it.
    pub(super) fn is_full(&mut self, line: &RuleLine) -> bool {
        if self.findings.len() == MAX_FINDINGS {
            let message = format!("too many findings (the limit is {MAX_FINDINGS}): the rest is not checked");
            self.report(
                LintRule::NotRead,
                line,
                Span::new(0, line.text.len()),
                message,
                "correct these findings first",
            );
        }
        self.has_stopped()
    }

    /// Returns true if there were too many findings to check all statements.
    pub(super) fn has_stopped(&self) -> bool {
        self.findings.len() > MAX_FINDINGS
    }

    /// Adds a correction to the latest finding: the text that replaces the text at the finding's place.
    pub(super) fn correct_last(&mut self, text: impl Into<BString>) {
        if let Some(finding) = self.findings.last_mut() {
            finding.replacement = Some(text.into());
        }
    }

    /// Adds the line of another statement to the latest finding.
    pub(super) fn set_other_line(&mut self, number: u32) {
        if let Some(finding) = self.findings.last_mut() {
            finding.other_line = Some(number);
        }
    }

    /// Adds a finding at a place in a line.
    pub(super) fn report(
        &mut self,
        rule: LintRule,
        line: &RuleLine,
        at: Span,
        message: impl Into<String>,
        fix: impl Into<String>,
    ) {
        self.findings.push(TransformFinding {
            rule,
            line: line.clone(),
            at,
            message: message.into(),
            other_line: None,
            fix: fix.into(),
            replacement: None,
            macro_name: None,
            inside_if: self.inside_if,
        });
    }
}
