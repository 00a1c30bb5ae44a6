//! What is found in a look through a transform.

use htc_config::lint_rule::{LintRule, LintSeverity};
use std::collections::BTreeMap;

use htc_base::world::World;
use htc_transform::RuleLine;

/// Who will run the transform.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TransformRunner {
    /// `condor_transform_ads` and `htc-router-translate transform --rules`.
    #[default]
    Tool,
    /// The access point, from `JOB_TRANSFORM_x`.
    Schedd,
    /// The job router, from `JOB_ROUTER_ROUTE_x` and its like.
    Router,
}

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransformFinding {
    /// Rule that found it; the severity is the rule's.
    pub rule: LintRule,
    /// The line.
    pub line: RuleLine,
    /// The place within the line.
    pub at: (usize, usize),
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub fix: String,
    /// True if it stands inside an `if`, so that it may never be reached.
    pub inside_if: bool,
}

impl TransformFinding {
    /// Returns true if the transform fails here for every ad.
    pub fn is_fatal(&self) -> bool {
        self.rule.severity() == LintSeverity::Error && !self.inside_if
    }
}

/// The state of one look through a transform.
pub(super) struct TransformLinter<'a> {
    pub(super) runner: TransformRunner,
    pub(super) world: &'a dyn World,
    pub(super) findings: Vec<TransformFinding>,
    pub(super) inside_if: bool,
    /// Attributes set so far and not looked at since: name in lower case, where.
    pub(super) unread_sets: BTreeMap<Vec<u8>, (RuleLine, (usize, usize), usize)>,
}

impl TransformLinter<'_> {
    /// Adds a finding at a place in a line.
    pub(super) fn report(
        &mut self,
        rule: LintRule,
        (line, at): (&RuleLine, (usize, usize)),
        message: impl Into<String>,
        fix: impl Into<String>,
    ) {
        self.findings.push(TransformFinding {
            rule,
            line: line.clone(),
            at,
            message: message.into(),
            fix: fix.into(),
            inside_if: self.inside_if,
        });
    }
}
