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
    CalledForEver,
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

/// Consequences by hook and decision: that of 25.14, and the default.
const CONSEQUENCES: [(HookType, HookDecision, Quirk, FailureConsequence, FailureConsequence); 5] = [
    (
        HookType::TranslateJob,
        HookDecision::Dropped,
        Quirk::TranslateFailureNoBackoff,
        FailureConsequence::Retranslated,
        FailureConsequence::RetranslatedLater,
    ),
    (
        HookType::TranslateJob,
        HookDecision::Stuck,
        Quirk::TranslateSilenceLoops,
        FailureConsequence::CalledForEver,
        FailureConsequence::CalledAgain,
    ),
    (
        HookType::RouterUpdateJobInfo,
        HookDecision::Failed,
        Quirk::UpdateFailureFreezes,
        FailureConsequence::Frozen,
        FailureConsequence::StatusChecked,
    ),
    (
        HookType::JobFinalize,
        HookDecision::Failed,
        Quirk::FinalizeRerouteLost,
        FailureConsequence::Completed,
        FailureConsequence::Rerouted,
    ),
    (
        HookType::JobCleanup,
        HookDecision::Failed,
        Quirk::CleanupFailureKeepsJob,
        FailureConsequence::CleanupRetriedForEver,
        FailureConsequence::CleanupRetriedLater,
    ),
];

/// Returns the consequence that a row of the table selects.
fn decide_row(
    (_, _, quirk, reference, default): &(
        HookType,
        HookDecision,
        Quirk,
        FailureConsequence,
        FailureConsequence,
    ),
    quirks: QuirkMode,
) -> (FailureConsequence, QuirkDecision) {
    let decided = quirks.decide(*quirk);
    (if decided.as_reference { *reference } else { *default }, decided)
}

impl FailureConsequence {
    /// Returns true if this consequence applies rather than its alternative.
    pub(super) fn applies(self, quirks: QuirkMode) -> bool {
        CONSEQUENCES.iter().any(|row| decide_row(row, quirks).0 == self)
    }
}

/// Returns the consequence of a decision on hook output and the quirk that selects it, or `None` if the
/// decision has no further consequence.
pub fn consequence_of_failure(
    hook: HookType,
    decision: HookDecision,
    quirks: QuirkMode,
) -> Option<(FailureConsequence, QuirkDecision)> {
    let row = CONSEQUENCES.iter().find(|(of, after, ..)| (*of, *after) == (hook, decision));
    row.map(|row| decide_row(row, quirks))
}

/// Decides the handling of a hook whose path is refused: 25.14 treats it as not configured; otherwise it
/// counts as failed.
pub fn decide_skipping_refused_hook(quirks: QuirkMode) -> QuirkDecision {
    quirks.decide(Quirk::RouterRefusedHookSkipped)
}

/// Decides the handling of a copy without a universe: 25.14 aborts; otherwise the source job is released.
pub(super) fn decide_missing_universe(quirks: QuirkMode) -> (HookDecision, QuirkDecision) {
    let aborts = quirks.decide(Quirk::RouterAbortsNoUniverse);
    (if aborts.as_reference { HookDecision::RouterAbort } else { HookDecision::Dropped }, aborts)
}
