//! Input of hooks and starters, formatted by the modules that define the formats.

use super::claim_id::ClaimId;
use htc_base::quirks::QuirkMode;
use htc_classad::{ClassAd, format};
use htc_hook::hook_input;

/// Returns the long form of an ad, as hooks get it.
pub(super) fn print_long_ad(ad: &ClassAd) -> Vec<u8> {
    format::long::print(ad)
}

/// Returns the standard input of REPLY_FETCH; `id` is the claim id if the job was accepted.
pub(super) fn reply_fetch_input(
    job: &ClassAd,
    slot: &ClassAd,
    id: Option<&ClaimId>,
    quirks: QuirkMode,
) -> Vec<u8> {
    hook_input::reply_fetch_input(job, slot, id.map(ClaimId::secret).as_ref().map(|id| &id[..]), quirks)
}

/// Returns the standard input of EVICT_CLAIM.
pub(super) fn evict_claim_input(job: &ClassAd, slot: &ClassAd, id: &ClaimId, quirks: QuirkMode) -> Vec<u8> {
    hook_input::evict_claim_input(job, slot, &id.secret(), quirks)
}
