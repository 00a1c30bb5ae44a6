//! Sleep state of the machine.

use super::alarm::Alarm;
use crate::sleep_state::SleepState;
use htc_classad::ClassAd;

/// Sleep state of the machine.
#[derive(Default)]
pub(crate) struct HibernationState {
    pub check_at: Option<Alarm>,
    /// The state that it is in or enters, or `None` if awake.
    pub sleep_state: Option<SleepState>,
    /// The last reported reason for staying awake, as long as it applies.
    pub reported_reason: Option<String>,
}

impl HibernationState {
    /// Publishes the sleep state, overriding the attributes of a machine that is awake.
    pub(crate) fn publish(&self, ad: &mut ClassAd) {
        if let Some(state) = self.sleep_state {
            ad.set("HibernationLevel", state.level());
            ad.set("HibernationState", state.name());
        }
    }
}
