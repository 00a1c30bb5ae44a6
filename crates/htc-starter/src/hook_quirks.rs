//! What 25.14 does otherwise with the hooks of its starter: decided here for the machine, which does it, and for what sets a starter up
//! and `htc-hook-test`, which say it.

use htc_base::quirks::{Quirk, QuirkDecision, QuirkMode};

/// JOB_EXIT for a job that was accepted and is not taken on: in 25.14 it is not called.
pub fn refusal_without_exit_hook(quirks: QuirkMode) -> QuirkDecision {
    quirks.decide(Quirk::StarterRefusalUntold)
}

/// The argument of JOB_EXIT for a job that its shadow holds or removes: always `evict` in 25.14, whose starter hears of a vacate only.
pub fn exit_reason_always_evict(quirks: QuirkMode) -> QuirkDecision {
    quirks.decide(Quirk::ExitReasonAlwaysEvict)
}

/// A JOB_EXIT that cannot be executed: 25.14 waits for it for ever; else the starter ends without it.
pub fn unspawnable_exit_hook_hangs(quirks: QuirkMode) -> QuirkDecision {
    quirks.decide(Quirk::ExitHookUnspawnableHangs)
}

/// After a prepare hook that failed, of a job that a shadow brings, 25.14 calls no JOB_EXIT, and hangs until it is killed. `None`
/// without a shadow.
pub fn prepare_failure_hangs(with_shadow: bool, quirks: QuirkMode) -> Option<QuirkDecision> {
    with_shadow.then(|| quirks.decide(Quirk::PrepareFailureHangsShadow))
}

/// Hooks that still run when the starter ends: 25.14 kills them last of all, without their directory by then; else they are killed
/// before that is removed.
pub fn hooks_killed_last(quirks: QuirkMode) -> QuirkDecision {
    quirks.decide(Quirk::HooksKilledLast)
}

/// The temporary directory that hooks are told of once the job has been started: in 25.14 the one that the job was told of.
pub fn hook_tmpdir_of_job(quirks: QuirkMode) -> QuirkDecision {
    quirks.decide(Quirk::HookTmpdirAfterJob)
}
