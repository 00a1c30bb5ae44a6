//! Conversion of a sent slot ad to the internal ad, which REPLY_FETCH reads.

use htc_classad::ClassAd;

/// Attributes of a sent ad (`publish_single_slot_ad`) that the internal ad does not have.
const SENT_AD_ONLY_ATTRIBUTES: [&str; 5] =
    ["Start", "MaxJobRetirementTime", "DaemonStartTime", "LastHeardFrom", "StarterPid"];

/// Returns the internal ad of a slot, given the ad that is sent and its policy. START is taken from the sent ad. An ad that has
/// SUSPEND is returned unchanged, because it is an internal ad already.
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
