//! What follows where a router hook has not done what it is for: decided here for the machine, which does it, and for `htc-hook-test`,
//! whose verdicts say it.
//!
//! Reference: `JobRouter.cpp`, `JobRouterHookMgr.cpp`.

use super::hook_decision::HookDecision;
use htc_base::quirks::{Decided, Quirk, Quirks};
use htc_hook::HookType;

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterFailure {
    /// TRANSLATE_JOB: the job is given back, claimed again at a later poll and translated again.
    Retranslated,
    /// The same after a pause that doubles each time.
    RetranslatedLater,
    /// TRANSLATE_JOB that said nothing: it is called again at every poll.
    AskedForEver,
    /// The same once; a second silence is a failure.
    AskedAgain,
    /// UPDATE_JOB_INFO: the job's status is not looked at.
    Frozen,
    /// It is looked at all the same.
    LookedAt,
    /// JOB_FINALIZE: the source leaves as completed.
    Completed,
    /// The source is to be routed again.
    Rerouted,
    /// JOB_CLEANUP: it is called again at every poll.
    CleanedForEver,
    /// It is called again after a pause, and the job released in the end.
    CleanedLater,
}

/// What 25.14 does after which hook, and what is done by default.
const TABLE: [(HookType, HookDecision, Quirk, AfterFailure, AfterFailure); 5] = [
    (
        HookType::TranslateJob,
        HookDecision::Dropped,
        Quirk::TranslateFailureNoBackoff,
        AfterFailure::Retranslated,
        AfterFailure::RetranslatedLater,
    ),
    (
        HookType::TranslateJob,
        HookDecision::Stuck,
        Quirk::TranslateSilenceLoops,
        AfterFailure::AskedForEver,
        AfterFailure::AskedAgain,
    ),
    (
        HookType::RouterUpdateJobInfo,
        HookDecision::Failed,
        Quirk::UpdateFailureFreezes,
        AfterFailure::Frozen,
        AfterFailure::LookedAt,
    ),
    (
        HookType::JobFinalize,
        HookDecision::Failed,
        Quirk::FinalizeRerouteLost,
        AfterFailure::Completed,
        AfterFailure::Rerouted,
    ),
    (
        HookType::JobCleanup,
        HookDecision::Failed,
        Quirk::CleanupFailureKeepsJob,
        AfterFailure::CleanedForEver,
        AfterFailure::CleanedLater,
    ),
];

/// A row of the table as it is decided.
fn decided(
    (_, _, quirk, reference, default): &(HookType, HookDecision, Quirk, AfterFailure, AfterFailure),
    quirks: Quirks,
) -> (AfterFailure, Decided) {
    let decided = quirks.decide(*quirk);
    (if decided.as_reference { *reference } else { *default }, decided)
}

impl AfterFailure {
    /// Whether it does follow, and not the other.
    pub(super) fn follows(self, quirks: Quirks) -> bool {
        TABLE.iter().any(|row| decided(row, quirks).0 == self)
    }
}

/// What follows a decision on a hook's answer, and the quirk that decides it; `None` where nothing but what the decision says.
pub fn after_failure(
    hook: HookType,
    decision: HookDecision,
    quirks: Quirks,
) -> Option<(AfterFailure, Decided)> {
    let row = TABLE.iter().find(|(of, after, ..)| (*of, *after) == (hook, decision));
    row.map(|row| decided(row, quirks))
}

/// A hook whose path is refused: 25.14 takes it for not configured; else it is one that fails.
pub fn skips_refused(quirks: Quirks) -> Decided {
    quirks.decide(Quirk::RouterRefusedHookSkipped)
}

/// A copy without a universe: 25.14 aborts; else the job is given back.
pub(super) fn without_universe(quirks: Quirks) -> (HookDecision, Decided) {
    let aborts = quirks.decide(Quirk::RouterAbortsNoUniverse);
    (if aborts.as_reference { HookDecision::RouterAbort } else { HookDecision::Dropped }, aborts)
}
