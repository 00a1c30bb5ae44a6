//! Scopes of attributes in the values that a transform stores in a job: MY is the job, and TARGET the slot, if there is one.

use bstr::BStr;
use htc_base::text::{Span, caseless};
use htc_classad::Expr;
use htc_config::lint_rule::LintRule;
use htc_transform::RuleLine;

use crate::config::{is_job_attribute, is_slot_attribute, job_counterpart, scoped_references};
use crate::transforms::finding::TransformLinter;
use crate::transforms::requirements::find_word;

/// Attributes that the schedd, the shadow or the gridmanager evaluate with only the job ad
/// (`UserPolicy::AnalyzePolicy`, `JobPolicy`, condor_qmgr), so that TARGET is undefined in them.
const EVALUATED_ALONE: [&str; 31] = [
    "AccountingGroup",
    "AcctGroup",
    "AcctGroupUser",
    "AllowedExecuteDuration",
    "AllowedJobDuration",
    "BatchProject",
    "BatchQueue",
    "BatchRuntime",
    "GridResource",
    "JobLeaseDuration",
    "JobMaxRetries",
    "JobPrio",
    "JobUniverse",
    "LeaveJobInQueue",
    "NiceUser",
    "OnExitHold",
    "OnExitHoldReason",
    "OnExitHoldSubCode",
    "OnExitRemove",
    "PeriodicHold",
    "PeriodicHoldReason",
    "PeriodicHoldSubCode",
    "PeriodicRelease",
    "PeriodicRemove",
    "PeriodicRemoveReason",
    "PeriodicVacate",
    "TimerRemove",
    "TimerRemoveCheck",
    "Owner",
    "ShouldTransferFiles",
    "WhenToTransferOutput",
];

impl TransformLinter<'_> {
    /// Reports references to attributes that only the other ad has, or that no ad has when the value is evaluated.
    pub(super) fn lint_value_scopes(&mut self, line: &RuleLine, at: Span, name: &[u8], expr: &Expr) {
        let is_alone = EVALUATED_ALONE.iter().any(|known| caseless::eq(known.as_bytes(), name));
        let stored_name = BStr::new(name);
        for (scope, attribute) in scoped_references(expr) {
            let shown = BStr::new(&attribute);
            let (message, fix) = match &scope[..] {
                b"TARGET" if is_alone => (
                    format!("TARGET.{shown} is always undefined: {stored_name} is evaluated without a slot"),
                    match job_counterpart(&attribute) {
                        Some(near) => format!("write {near}"),
                        None if is_slot_attribute(&attribute) => "write an attribute of the job".to_owned(),
                        None => format!("write {shown} for the attribute of the job"),
                    },
                ),
                b"TARGET" if is_job_attribute(&attribute) => (
                    format!(
                        "TARGET.{shown} is always undefined: a slot has no {shown}, which is an attribute of jobs"
                    ),
                    format!("write MY.{shown}"),
                ),
                b"MY" | b"" if is_slot_attribute(&attribute) && (is_alone || scope == "MY") => (
                    format!(
                        "{shown} is always undefined: a job has no {shown}, which is an attribute of slots"
                    ),
                    match (job_counterpart(&attribute), is_alone) {
                        (Some(near), true) => format!("write {near}"),
                        (Some(near), false) => format!("write TARGET.{shown}, or MY.{near}"),
                        (None, true) => format!("write a job attribute in place of {shown}"),
                        (None, false) => format!("write TARGET.{shown}"),
                    },
                ),
                _ => continue,
            };
            let text = &line.text[..(at.end as usize).min(line.text.len())];
            let value = text.get(at.start as usize..).unwrap_or_default();
            let place = find_word(value, &attribute).map_or(at, |found| {
                let start = at.start as usize + found;
                Span::new(start, start + attribute.len())
            });
            self.report(LintRule::UnknownAttribute, line, place, message, fix);
        }
    }
}
