//! State of the current drain and of earlier ones.

use crate::drain_request::{DrainRequest, DrainSpeed};
use htc_classad::{ClassAd, Expr};

/// State of the current drain and of earlier ones.
#[derive(Default)]
pub(crate) struct DrainState {
    pub active_request: Option<DrainRequest>,
    /// START of draining slots, or `None`. It is used as long as a job from before the drain runs.
    pub start_while_draining: Option<Expr>,
    /// Id of the current or last accepted drain request.
    pub request_id: u64,
    pub started: i64,
    pub stopped: i64,
    /// CPU seconds of the jobs that drains have evicted.
    pub badput: i64,
    /// CPU seconds of slots in state Drained.
    pub unclaimed_time: i64,
    /// Longest remaining retirement time of all jobs in seconds, while a drain lets all jobs end together; otherwise 0.
    pub coordinated_retirement: i64,
    /// Number of slots in state Drained.
    pub drained_slots: i64,
    /// True if MaxJobRetirementTime of all slots is 0 instead of the configured value.
    pub no_retirement: bool,
}

impl DrainState {
    pub(crate) fn is_draining(&self) -> bool {
        self.active_request.is_some()
    }

    pub(crate) fn is_graceful(&self) -> bool {
        self.active_request.as_ref().is_some_and(|request| request.speed == DrainSpeed::Graceful)
    }

    pub(crate) fn publish(&self, ad: &mut ClassAd) {
        match &self.active_request {
            Some(request) => {
                ad.set("Draining", true);
                ad.set("DrainReason", request.reason.as_str());
                ad.set("DrainingRequestId", self.request_id.to_string());
            }
            None => {
                for name in ["Draining", "DrainReason", "DrainingRequestId"] {
                    ad.remove(name);
                }
            }
        }
        for (name, value) in [
            ("LastDrainStartTime", self.started),
            ("LastDrainStopTime", self.stopped),
            ("TotalMachineDrainingBadput", self.badput),
            ("TotalMachineDrainingUnclaimedTime", self.unclaimed_time),
        ] {
            if value != 0 {
                ad.set(name, value);
            }
        }
    }
}
