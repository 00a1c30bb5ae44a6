//! Quirks of 25.14 in the starter's hooks. The state machine applies these decisions; the setup of the starter and
//! `htc-hook-test` report them.

use htc_base::quirks::{Quirk, QuirkDecision, QuirkMode};

/// Decides if JOB_EXIT is called for an accepted job that the starter refuses: 25.14 does not call it.
pub fn refused_job_exit_hook_decision(quirks: QuirkMode) -> QuirkDecision {
    quirks.decide(Quirk::StarterRefusalUntold)
}

/// Decides the argument of JOB_EXIT for a job that its shadow holds or removes. In 25.14 it is always `evict`, because
/// the shadow only asks the starter to vacate.
pub fn exit_reason_decision(quirks: QuirkMode) -> QuirkDecision {
    quirks.decide(Quirk::ExitReasonAlwaysEvict)
}

/// Decides what follows if JOB_EXIT cannot be executed: 25.14 waits for the hook forever; otherwise the starter ends
/// without it.
pub fn unspawnable_exit_hook_decision(quirks: QuirkMode) -> QuirkDecision {
    quirks.decide(Quirk::ExitHookUnspawnableHangs)
}

/// Decides what follows a failed prepare hook of a job with a shadow: 25.14 does not call JOB_EXIT, and hangs
/// until it is killed. Returns `None` without a shadow.
pub fn prepare_failure_decision(with_shadow: bool, quirks: QuirkMode) -> Option<QuirkDecision> {
    with_shadow.then(|| quirks.decide(Quirk::PrepareFailureHangsShadow))
}

/// Decides when hooks that are still running at the end are killed: 25.14 kills them after it has removed their
/// directory; otherwise they are killed before the removal.
pub fn final_hook_kill_decision(quirks: QuirkMode) -> QuirkDecision {
    quirks.decide(Quirk::HooksKilledLast)
}

/// Decides TMPDIR of hooks after the job has started: 25.14 uses the value for the job.
pub fn hook_tmpdir_decision(quirks: QuirkMode) -> QuirkDecision {
    quirks.decide(Quirk::HookTmpdirAfterJob)
}
