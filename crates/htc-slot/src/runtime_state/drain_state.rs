//! A drain under way, and what earlier ones left.

use crate::drain_request::{DrainRequest, DrainSpeed};
use htc_classad::{ClassAd, Expr};

/// A drain under way, and what earlier ones left.
#[derive(Default)]
pub(crate) struct DrainState {
    pub active_request: Option<DrainRequest>,
    /// START of slots that drain, as long as a job runs that was there before.
    pub start_while_draining: Option<Expr>,
    /// Number of the present or last accepted request.
    pub request_id: u64,
    pub started: i64,
    pub stopped: i64,
    /// Cpu-seconds of jobs that had to leave.
    pub badput: i64,
    /// Cpu-seconds of slots that stood drained.
    pub unclaimed_time: i64,
    /// The longest retirement that any job has left, while all are to end together; 0 when there is nothing to wait for.
    pub coordinated_retirement: i64,
    /// How many slots are in Drained.
    pub drained_slots: i64,
    /// Whether the slots' MaxJobRetirementTime is 0 instead of what the configuration says.
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
