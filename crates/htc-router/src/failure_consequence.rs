//! What follows where a router hook has not done what it is for: decided here for the machine, which does it, and for `htc-hook-test`,
//! whose verdicts say it.
//!
//! Reference: `JobRouter.cpp`, `JobRouterHookMgr.cpp`.

use super::hook_decision::HookDecision;
use htc_base::quirks::{Quirk, QuirkDecision, QuirkMode};
use htc_hook::HookType;

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureConsequence {
    /// TRANSLATE_JOB: the job is given back, claimed again at a later poll and translated again.
    Retranslated,
    /// The same after a pause that doubles each time.
    RetranslatedLater,
    /// TRANSLATE_JOB that said nothing: it is called again at every poll.
    CalledForEver,
    /// The same once; a second silence is a failure.
    CalledAgain,
    /// UPDATE_JOB_INFO: the job's status is not looked at.
    Frozen,
    /// It is looked at all the same.
    StatusChecked,
    /// JOB_FINALIZE: the source leaves as completed.
    Completed,
    /// The source is to be routed again.
    Rerouted,
    /// JOB_CLEANUP: it is called again at every poll.
    CleanupRetriedForEver,
    /// It is called again after a pause, and the job released in the end.
    CleanupRetriedLater,
}

/// What 25.14 does after which hook, and what is done by default.
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

/// A row of the table as it is decided.
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
    /// Whether it does follow, and not the other.
    pub(super) fn applies(self, quirks: QuirkMode) -> bool {
        CONSEQUENCES.iter().any(|row| decide_row(row, quirks).0 == self)
    }
}

/// What follows a decision on a hook's answer, and the quirk that decides it; `None` where nothing but what the decision says.
pub fn consequence_of_failure(
    hook: HookType,
    decision: HookDecision,
    quirks: QuirkMode,
) -> Option<(FailureConsequence, QuirkDecision)> {
    let row = CONSEQUENCES.iter().find(|(of, after, ..)| (*of, *after) == (hook, decision));
    row.map(|row| decide_row(row, quirks))
}

/// A hook whose path is refused: 25.14 takes it for not configured; else it is one that fails.
pub fn decide_skipping_refused_hook(quirks: QuirkMode) -> QuirkDecision {
    quirks.decide(Quirk::RouterRefusedHookSkipped)
}

/// A copy without a universe: 25.14 aborts; else the job is given back.
pub(super) fn decide_missing_universe(quirks: QuirkMode) -> (HookDecision, QuirkDecision) {
    let aborts = quirks.decide(Quirk::RouterAbortsNoUniverse);
    (if aborts.as_reference { HookDecision::RouterAbort } else { HookDecision::Dropped }, aborts)
}
