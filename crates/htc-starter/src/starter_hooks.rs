//! What 25.14 does otherwise with the hooks of its starter: decided here for the machine, which does it, and for what sets a starter up
//! and `htc-hook-test`, which say it.

use htc_base::quirks::{Decided, Quirk, Quirks};

/// JOB_EXIT for a job that was accepted and is not taken on: in 25.14 it is not called.
pub fn untold_refusal(quirks: Quirks) -> Decided {
    quirks.decide(Quirk::StarterRefusalUntold)
}

/// The argument of JOB_EXIT for a job that its shadow holds or removes: always `evict` in 25.14, whose starter hears of a vacate only.
pub fn shadow_reason_unseen(quirks: Quirks) -> Decided {
    quirks.decide(Quirk::ExitReasonAlwaysEvict)
}

/// A JOB_EXIT that cannot be executed: 25.14 waits for it for ever; else the starter ends without it.
pub fn unspawnable_exit(quirks: Quirks) -> Decided {
    quirks.decide(Quirk::ExitHookUnspawnableHangs)
}

/// After a prepare hook that failed, of a job that a shadow brings, 25.14 calls no JOB_EXIT, and hangs until it is killed. `None`
/// without a shadow.
pub fn hangs_after_prepare(with_shadow: bool, quirks: Quirks) -> Option<Decided> {
    with_shadow.then(|| quirks.decide(Quirk::PrepareFailureHangsShadow))
}

/// Hooks that still run when the starter ends: 25.14 kills them last of all, without their directory by then; else they are killed
/// before that is removed.
pub fn killed_last(quirks: Quirks) -> Decided {
    quirks.decide(Quirk::HooksKilledLast)
}

/// The temporary directory that hooks are told of once the job has been started: in 25.14 the one that the job was told of.
pub fn temporary_of_job(quirks: Quirks) -> Decided {
    quirks.decide(Quirk::HookTmpdirAfterJob)
}
