//! Sleep state of the machine.

use super::alarm::Alarm;
use crate::sleep_state::SleepState;
use htc_classad::ClassAd;

/// Sleep state of the machine.
#[derive(Default)]
pub(crate) struct HibernationState {
    pub check_at: Option<Alarm>,
    /// Sleep state that the machine is in or enters, or `None` if it is awake.
    pub sleep_state: Option<SleepState>,
    /// Last reported reason for staying awake, or `None` if it no longer applies.
    pub reported_reason: Option<String>,
}

impl HibernationState {
    /// Publishes the sleep state, which overrides the attributes of an awake machine.
    pub(crate) fn publish(&self, ad: &mut ClassAd) {
        if let Some(state) = self.sleep_state {
            ad.set("HibernationLevel", state.level());
            ad.set("HibernationState", state.name());
        }
    }
}
