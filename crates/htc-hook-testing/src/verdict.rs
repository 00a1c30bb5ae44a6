//! What the caller does with an answer. The decisions are those of the machines' rooms; here they are put into words, and
//! the resulting ads are made.

use bstr::BString;

use super::attribute_change::AttributeChange;
use super::case::Case;
use super::decision::Decision;
use htc_base::quirks::{Quirk, QuirkMode};
use htc_classad::ClassAd;
use htc_hook::hook_output::BadOutputLine;
use htc_starter::prepare_failure_hangs;

/// The caller's decision.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The decision itself.
    pub decision: Decision,
    /// What the caller does, in a sentence.
    pub action: String,
    /// Why, in the caller's words where it has some; may be empty.
    pub reason: String,
    /// Hold code and its refinement, where the job is held.
    pub hold: Option<(i64, i64)>,
    /// What follows.
    pub next_step: String,
    /// Whether the hook has done what it is for.
    pub good: bool,
    /// What the answer changed of the ad it is about.
    pub changes: Vec<AttributeChange>,
    /// What was printed without effect.
    pub ignored_attributes: Vec<BString>,
    /// The ads that result, for the next program: none after a failure, two for JOB_FINALIZE (source, routed).
    pub result_ads: Vec<ClassAd>,
    /// The line that spoiled the answer or ended its reading.
    pub bad_line: Option<BadOutputLine>,
    /// The attribute that the queue does not write, and the whole answer with it.
    pub refused_attribute: Option<BString>,
    /// Quirks that had a say, whichever way they are decided.
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
            bad_line: None,
            refused_attribute: None,
            quirks: Vec::new(),
        }
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

/// The words for a job that a prepare hook has stopped.
pub(super) fn prepare_failure_verdict(case: &Case, held: bool, by_code: bool, quirks: QuirkMode) -> Verdict {
    let verdict = match (case.with_shadow, held) {
        (true, true) => Verdict::new(Decision::Held, false, "the job is put on hold"),
        (true, false) => {
            Verdict::new(Decision::Requeued, false, "the job goes back to idle and is tried again")
        }
        (false, _) if by_code => Verdict::new(
            Decision::NotStarted,
            false,
            "not started; a fetched job is told of it by JOB_EXIT evict alone",
        ),
        (false, _) => Verdict::new(Decision::NotStarted, false, "the job is not started"),
    };
    let Some(hangs) = prepare_failure_hangs(case.with_shadow, quirks) else {
        return verdict.with_next("JOB_EXIT evict, starter exits 0, the claim stays");
    };
    let next = match hangs.as_reference {
        true => "JOB_EXIT is not called; the starter stays until the startd kills it, about 15 s later",
        false => "JOB_EXIT evict, starter exits",
    };
    verdict.with_next(next).with_quirk(hangs.quirk)
}
