//! The internal ad of a slot, which REPLY_FETCH reads, out of the one that it sends.

use htc_classad::ClassAd;

/// What stands in an ad that is sent (`publish_single_slot_ad`) and not in the internal one.
const SENT_AD_ONLY_ATTRIBUTES: [&str; 5] =
    ["Start", "MaxJobRetirementTime", "DaemonStartTime", "LastHeardFrom", "StarterPid"];

/// The internal ad of the slot whose sent ad this is, with that policy (s01 compares both). START is what the sent ad says.
/// An ad that has SUSPEND is an internal one already.
pub fn to_internal_ad(sent: &ClassAd, policy: &ClassAd) -> ClassAd {
    let mut ad = sent.clone();
    if sent.contains("SUSPEND") {
        return ad;
    }
    for name in SENT_AD_ONLY_ATTRIBUTES {
        ad.remove(name);
    }
    if let Some(start) = sent.get("Start") {
        ad.insert("START", start);
    }
    for (name, expr) in policy.sorted() {
        if !ad.contains(name) {
            ad.insert(name, expr.clone());
        }
    }
    ad
}
