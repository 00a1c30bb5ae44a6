//! Consequences of a failed router hook. The router carries them out, and `htc-hook-test` reports them in its
//! verdicts.
//!
//! Reference: `JobRouter.cpp`, `JobRouterHookMgr.cpp`.

use super::hook_decision::HookDecision;
use htc_base::quirks::{Quirk, QuirkDecision, QuirkMode};
use htc_hook::HookType;

/// Consequence of a failed hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureConsequence {
    /// TRANSLATE_JOB failed: the source job is released, claimed again at a later poll and translated again.
    Retranslated,
    /// TRANSLATE_JOB failed: as `Retranslated`, but after a pause that doubles each time.
    RetranslatedLater,
    /// TRANSLATE_JOB printed nothing: it is called again at every poll.
    CalledAtEveryPoll,
    /// TRANSLATE_JOB printed nothing: it is called again once; a second call without output is a failure.
    CalledAgain,
    /// UPDATE_JOB_INFO failed: the status of the job is not checked.
    Frozen,
    /// UPDATE_JOB_INFO failed: the status of the job is checked nevertheless.
    StatusChecked,
    /// JOB_FINALIZE failed: the source job leaves the queue as completed.
    Completed,
    /// JOB_FINALIZE failed: the source job is routed again.
    Rerouted,
    /// JOB_CLEANUP failed: it is called again at every poll.
    CleanupRetriedForEver,
    /// JOB_CLEANUP failed: it is called again after a pause, and the job is released in the end.
    CleanupRetriedLater,
}

/// Consequence of a decision on a hook's output, if it depends on a quirk.
struct ConsequenceRule {
    hook: HookType,
    decision: HookDecision,
    quirk: Quirk,
    /// Consequence in 25.14.
    reference: FailureConsequence,
    default: FailureConsequence,
}

const CONSEQUENCES: [ConsequenceRule; 5] = [
    ConsequenceRule {
        hook: HookType::TranslateJob,
        decision: HookDecision::Dropped,
        quirk: Quirk::TranslateFailureNoBackoff,
        reference: FailureConsequence::Retranslated,
        default: FailureConsequence::RetranslatedLater,
    },
    ConsequenceRule {
        hook: HookType::TranslateJob,
        decision: HookDecision::Stuck,
        quirk: Quirk::TranslateSilenceLoops,
        reference: FailureConsequence::CalledAtEveryPoll,
        default: FailureConsequence::CalledAgain,
    },
    ConsequenceRule {
        hook: HookType::RouterUpdateJobInfo,
        decision: HookDecision::Failed,
        quirk: Quirk::UpdateFailureFreezes,
        reference: FailureConsequence::Frozen,
        default: FailureConsequence::StatusChecked,
    },
    ConsequenceRule {
        hook: HookType::JobFinalize,
        decision: HookDecision::Failed,
        quirk: Quirk::FinalizeRerouteLost,
        reference: FailureConsequence::Completed,
        default: FailureConsequence::Rerouted,
    },
    ConsequenceRule {
        hook: HookType::JobCleanup,
        decision: HookDecision::Failed,
        quirk: Quirk::CleanupFailureKeepsJob,
        reference: FailureConsequence::CleanupRetriedForEver,
        default: FailureConsequence::CleanupRetriedLater,
    },
];

impl ConsequenceRule {
    fn decide(&self, quirks: QuirkMode) -> (FailureConsequence, QuirkDecision) {
        let decided = quirks.decide(self.quirk);
        (if decided.as_reference { self.reference } else { self.default }, decided)
    }
}

impl FailureConsequence {
    /// Returns true if this consequence applies, false if the alternative in its rule applies.
    pub(super) fn applies(self, quirks: QuirkMode) -> bool {
        CONSEQUENCES.iter().any(|rule| rule.decide(quirks).0 == self)
    }
}

/// Returns the consequence of a decision on hook output and the quirk that selects it, or `None` if the
/// decision has no further consequence.
pub fn consequence_of_failure(
    hook: HookType,
    decision: HookDecision,
    quirks: QuirkMode,
) -> Option<(FailureConsequence, QuirkDecision)> {
    let rule = CONSEQUENCES.iter().find(|rule| (rule.hook, rule.decision) == (hook, decision));
    rule.map(|rule| rule.decide(quirks))
}

/// Decides how a hook with a refused path is handled: 25.14 treats the hook as not configured. If the quirk is not
/// reproduced, the hook is treated as failed.
pub fn decide_skipping_refused_hook(quirks: QuirkMode) -> QuirkDecision {
    quirks.decide(Quirk::RouterRefusedHookSkipped)
}

/// Decides how a routed ad without JobUniverse is handled: 25.14 aborts. If the quirk is not reproduced, the source job
/// is released.
pub(super) fn decide_missing_universe(quirks: QuirkMode) -> (HookDecision, QuirkDecision) {
    let aborts = quirks.decide(Quirk::RouterAbortsNoUniverse);
    (if aborts.as_reference { HookDecision::RouterAbort } else { HookDecision::Dropped }, aborts)
}
