//! What 25.14 does otherwise with the hooks of its startd: decided here for the machine, which does it, and for `htc-hook-test`, whose
//! verdicts say it.

use htc_base::quirks::{Quirk, QuirkDecision, QuirkMode};

/// EVICT_CLAIM when a claim ends: 25.14 calls it never.
pub fn evict_claim_decision(quirks: QuirkMode) -> QuirkDecision {
    quirks.decide(Quirk::EvictClaimNever)
}

/// A FETCH_WORK that cannot be executed: in 25.14 the slot believes for ever that it runs; else it has brought no work.
pub fn failed_fetch_decision(quirks: QuirkMode) -> QuirkDecision {
    quirks.decide(Quirk::FetchStopsAfterSpawnFailure)
}

/// When REPLY_FETCH is told `accept`: in 25.14 before slot and claim are made, of the slot that has fetched the job.
pub fn early_accept_decision(quirks: QuirkMode) -> QuirkDecision {
    quirks.decide(Quirk::AcceptBeforeDslot)
}

/// A fetched job of higher rank than the one that runs: in 25.14 it is accepted and lost; else it waits for the end of the other.
pub(super) fn outranking_job_decision(quirks: QuirkMode) -> QuirkDecision {
    quirks.decide(Quirk::FetchedPreemptionLost)
}
