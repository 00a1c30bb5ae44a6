//! Valid expressions in transforms that probably do not have the intended effect.

use bstr::{BStr, ByteSlice};
use htc_base::text::{Span, caseless, similar_names};
use htc_classad::Expr;
use htc_config::lint_rule::LintRule;
use htc_transform::RuleLine;

use crate::config::{
    PrintedMistake, PrintedValueFinding, attribute_type_word, check_job_expression, check_printed_value,
    is_known_attribute,
};
use crate::transforms::finding::TransformLinter;

/// Grid types, the first word of `GridResource` (`GridManager`'s `BaseJob`s, and `INFNBatchJob`).
const GRID_TYPES: [&str; 13] =
    ["arc", "azure", "batch", "blah", "boinc", "condor", "ec2", "gce", "lsf", "nqs", "pbs", "sge", "slurm"];

/// Batch systems of `batch` resources, for each of which the BLAHP has a script `<system>_submit.sh`.
const BATCH_SYSTEMS: [&str; 9] =
    ["condor", "flux", "kubernetes", "lsf", "nqs", "pbs", "sfapi", "sge", "slurm"];

impl TransformLinter<'_> {
    /// Checks a condition, or another expression that the router or the schedd evaluates with a job ad as MY.
    pub(super) fn lint_job_expression(&mut self, line: &RuleLine, at: Span, expr: &Expr) {
        self.report_mistake(line, at, check_job_expression(expr));
    }

    /// Checks a value that becomes an attribute of the job.
    pub(super) fn lint_attribute_value(&mut self, line: &RuleLine, at: Span, name: &[u8], expr: &Expr) {
        // The job may have any attribute.
        let count = self.findings.len();
        self.report_mistake(line, at, check_printed_value(name, expr, &|_| true));
        if self.findings.len() > count {
            return;
        }
        self.lint_unquoted_word(line, at, name, expr);
        let literal = expr.without_parentheses().as_literal();
        if let Some(text) = literal.as_ref().and_then(|value| value.as_str())
            && caseless::eq(name, b"GridResource")
        {
            self.lint_grid_resource(line, at, text);
        }
    }

    /// Reports a value that is a single word and not an attribute of HTCondor or of the transform: any word as the value of
    /// a string attribute, or a word in lower case.
    fn lint_unquoted_word(&mut self, line: &RuleLine, at: Span, attribute: &[u8], expr: &Expr) {
        let Some(name) = expr.without_parentheses().as_attribute() else { return };
        let name = name.as_bytes();
        let is_string = attribute_type_word(attribute) == Some("string");
        let is_lower = |byte: &u8| byte.is_ascii_lowercase() || b"_0123456789".contains(byte);
        let is_word = name.len() > 2 && (is_string || name.iter().all(is_lower));
        // A name that appears again outside of strings is treated as an attribute.
        let unquoted = || line.source.text.split(|byte| *byte == b'"').step_by(2);
        let is_used_twice = || {
            let words = unquoted().flat_map(|part| part.fields());
            words.filter(|word| caseless::contains(word, name)).nth(1).is_some()
        };
        if is_word && !is_known_attribute(name) && !is_used_twice() {
            let shown = BStr::new(name);
            let message = format!("{shown} is the name of an attribute: undefined, unless jobs have it");
            let advice = format!("write \"{shown}\", with the quotes");
            self.report(LintRule::UnknownAttribute, line, at, message, advice);
        }
    }

    /// Reports a GridResource whose first word is not a grid type but is similar to one.
    pub(super) fn lint_grid_resource(&mut self, line: &RuleLine, at: Span, text: &[u8]) {
        let word = text.fields().next().unwrap_or_default();
        if GRID_TYPES.iter().any(|known| caseless::eq(known.as_bytes(), word)) {
            self.lint_batch_system(line, at, text);
            return;
        }
        let known = GRID_TYPES.iter().map(|known| known.as_bytes());
        if let Some(near) = similar_names::nearest(word, known) {
            let message = format!("there is no grid type '{}': the job is held", BStr::new(word));
            let advice = format!("did you mean {}?", BStr::new(near));
            self.report(LintRule::Trap, line, at, message, advice);
        }
    }

    /// Reports a batch system whose name is similar to a known one: `batch slrum`.
    fn lint_batch_system(&mut self, line: &RuleLine, at: Span, text: &[u8]) {
        let mut words = text.fields();
        let is_batch = words
            .next()
            .is_some_and(|word| ["batch", "blah"].iter().any(|known| caseless::eq(known.as_bytes(), word)));
        let Some(system) = words.next().filter(|_| is_batch) else { return };
        let is_known = |known: &&str| caseless::eq(known.as_bytes(), system);
        if BATCH_SYSTEMS.iter().any(is_known) {
            return;
        }
        if let Some(near) = similar_names::nearest(system, BATCH_SYSTEMS.iter().map(|known| known.as_bytes()))
        {
            let message = format!("there is no batch system '{}': the job is held", BStr::new(system));
            self.report(LintRule::Trap, line, at, message, format!("did you mean {}?", BStr::new(near)));
        }
    }

    fn report_mistake(&mut self, line: &RuleLine, at: Span, found: Option<PrintedValueFinding>) {
        let Some(PrintedValueFinding { mistake, message, advice }) = found else { return };
        // Another rule may have reported more about the same place.
        let is_reported = self.findings.iter().any(|other| {
            other.line.number == line.number
                && matches!(other.rule, LintRule::Universe | LintRule::Quotes | LintRule::Expression)
        });
        if is_reported {
            return;
        }
        let rule = match mistake {
            PrintedMistake::AlwaysError | PrintedMistake::WrongType => LintRule::Expression,
            PrintedMistake::UnquotedString
            | PrintedMistake::ForeignLiteral
            | PrintedMistake::UnknownAttribute => LintRule::UnknownAttribute,
        };
        self.report(rule, line, at, message, advice);
    }
}
