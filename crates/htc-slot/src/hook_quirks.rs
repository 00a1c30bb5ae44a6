//! Quirks of 25.14 in the hooks of the startd. They are decided here for both the state machine, which applies them, and the
//! verdicts of `htc-hook-test`.

use htc_base::quirks::{Quirk, QuirkDecision, QuirkMode};

/// Decides if EVICT_CLAIM is never called when a claim ends, as in 25.14.
pub fn evict_claim_decision(quirks: QuirkMode) -> QuirkDecision {
    quirks.decide(Quirk::EvictClaimNever)
}

/// Decides what happens after a FETCH_WORK hook that cannot be executed: in 25.14, the slot treats it as running
/// forever; otherwise the hook is treated as one that returned no work.
pub fn failed_fetch_decision(quirks: QuirkMode) -> QuirkDecision {
    quirks.decide(Quirk::FetchStopsAfterSpawnFailure)
}

/// Decides if REPLY_FETCH is called with `accept` before slot and claim are created, with the ad of the slot that fetched the
/// job, as in 25.14.
pub fn early_accept_decision(quirks: QuirkMode) -> QuirkDecision {
    quirks.decide(Quirk::AcceptBeforeDslot)
}

/// Decides what happens to a fetched job of higher rank than the running job: in 25.14, it is accepted and lost; otherwise it
/// waits until the running job has ended.
pub(super) fn outranking_job_decision(quirks: QuirkMode) -> QuirkDecision {
    quirks.decide(Quirk::FetchedPreemptionLost)
}
