//! Mistakes in comparisons.

use htc_classad::Expr;
use htc_config::lint_rule::LintRule;

/// Mistake in a part of an expression, and the rule that it breaks.
#[derive(Clone, Debug)]
pub(super) struct ComparisonProblem {
    pub(super) rule: LintRule,
    pub(super) part: Expr,
    pub(super) message: String,
    pub(super) fix: Option<String>,
}

impl ComparisonProblem {
    pub(super) fn new(rule: LintRule, part: &Expr, message: String, fix: Option<String>) -> Self {
        ComparisonProblem { rule, part: part.clone(), message, fix }
    }
}
