//! Verdict on a hook call: the caller's decision with its description and the resulting ads. The decisions are those
//! of the execution point, starter and router crates.

use bstr::BString;

use super::attribute_change::AttributeChange;
use super::case::Case;
use super::decision::Decision;
use htc_base::quirks::{Quirk, QuirkMode};
use htc_classad::ClassAd;
use htc_hook::hook_output::BadOutputLine;
use htc_starter::prepare_failure_decision;

/// Verdict on a hook call.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Decision of the caller.
    pub decision: Decision,
    /// Sentence that describes the action of the caller.
    pub action: String,
    /// Reason for the decision, in the words of the caller if it gives a reason; may be empty.
    pub reason: String,
    /// Hold code and subcode, or `None` if the job is not held.
    pub hold: Option<(i64, i64)>,
    /// Description of the next step of the caller or of the job.
    pub next_step: String,
    /// True if the hook did what a hook of its type is for.
    pub good: bool,
    /// Changes to the ad that the output is about.
    pub changes: Vec<AttributeChange>,
    /// Attributes in the output that have no effect.
    pub ignored_attributes: Vec<BString>,
    /// Resulting ads for the next program: none after a failure, two for JOB_FINALIZE (source job, routed job).
    pub result_ads: Vec<ClassAd>,
    /// Job that FETCH_WORK printed, with the attributes that the startd adds, even if it is rejected; or `None`.
    pub fetched_job: Option<ClassAd>,
    /// Line that makes the output invalid, or at which the caller stops reading; or `None`.
    pub bad_line: Option<BadOutputLine>,
    /// Attribute because of which the queue refuses the whole output, or `None`.
    pub refused_attribute: Option<BString>,
    /// Quirks that affect the verdict, whether or not they are reproduced.
    pub quirks: Vec<Quirk>,
}

impl Verdict {
    pub(super) fn new(decision: Decision, good: bool, says: impl Into<String>) -> Self {
        Verdict {
            decision,
            action: says.into(),
            reason: String::new(),
            hold: None,
            next_step: String::new(),
            good,
            changes: Vec::new(),
            ignored_attributes: Vec::new(),
            result_ads: Vec::new(),
            fetched_job: None,
            bad_line: None,
            refused_attribute: None,
            quirks: Vec::new(),
        }
    }

    /// Returns true if the caller or the job ends up in a different state than with the other verdict.
    pub fn differs_from(&self, other: &Verdict) -> bool {
        self.decision != other.decision
            || self.action != other.action
            || self.hold != other.hold
            || self.changes != other.changes
    }

    pub(super) fn with_reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = reason.into();
        self
    }

    pub(super) fn with_next(mut self, next: impl Into<String>) -> Self {
        self.next_step = next.into();
        self
    }

    pub(super) fn with_quirk(mut self, quirk: Quirk) -> Self {
        self.quirks.push(quirk);
        self
    }

    pub(super) fn with_result(mut self, ads: impl IntoIterator<Item = ClassAd>) -> Self {
        self.result_ads.extend(ads);
        self
    }
}

/// Returns the verdict on a job that is not started because of its prepare hook.
pub(super) fn prepare_failure_verdict(case: &Case, held: bool, by_code: bool, quirks: QuirkMode) -> Verdict {
    let verdict = match (case.with_shadow, held) {
        (true, true) => Verdict::new(Decision::Held, false, "the job is put on hold"),
        (true, false) => {
            Verdict::new(Decision::Requeued, false, "the job goes back to idle and is tried again")
        }
        (false, _) if by_code => Verdict::new(
            Decision::NotStarted,
            false,
            "not started; for a fetched job only JOB_EXIT is called, with 'evict'",
        ),
        (false, _) => Verdict::new(Decision::NotStarted, false, "the job is not started"),
    };
    let Some(hangs) = prepare_failure_decision(case.with_shadow, quirks) else {
        return verdict
            .with_next("JOB_EXIT is called with 'evict', the starter exits with 0, and the claim stays");
    };
    let next = match hangs.as_reference {
        true => "JOB_EXIT is not called; the starter stays until the startd kills it, about 15 s later",
        false => "JOB_EXIT is called with 'evict', then the starter exits",
    };
    verdict.with_next(next).with_quirk(hangs.quirk)
}
