//! Whether the machine sleeps.

use super::alarm::Alarm;
use crate::sleep_state::SleepState;
use htc_classad::ClassAd;

/// Where it stands.
#[derive(Default)]
pub(crate) struct HibernationState {
    pub check_at: Option<Alarm>,
    /// The state that it is in, or goes to.
    pub sleep_state: Option<SleepState>,
    /// What was told of what does not come to pass, as long as it stays so.
    pub reported_reason: Option<String>,
}

impl HibernationState {
    /// Over the attributes of a machine that is awake.
    pub(crate) fn publish(&self, ad: &mut ClassAd) {
        if let Some(state) = self.sleep_state {
            ad.set("HibernationLevel", state.level());
            ad.set("HibernationState", state.name());
        }
    }
}
