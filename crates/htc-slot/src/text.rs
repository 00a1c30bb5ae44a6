//! What hooks and starters are given to read, and how an answer is read: glue to the rooms that know the forms.

use super::claim_id::ClaimId;
use htc_base::quirks::Quirks;
use htc_classad::{ClassAd, format};
use htc_hook::input;

/// The long form of an ad ("job ad print").
pub(super) fn print(ad: &ClassAd) -> Vec<u8> {
    format::long::print(ad)
}

/// Stdin of REPLY_FETCH; with an id the job was accepted.
pub(super) fn reply(job: &ClassAd, slot: &ClassAd, id: Option<&ClaimId>, quirks: Quirks) -> Vec<u8> {
    input::reply(job, slot, id.map(ClaimId::secret).as_ref().map(|id| &id[..]), quirks)
}

/// Stdin of EVICT_CLAIM.
pub(super) fn evict(job: &ClassAd, slot: &ClassAd, id: &ClaimId, quirks: Quirks) -> Vec<u8> {
    input::evict(job, slot, &id.secret(), quirks)
}
