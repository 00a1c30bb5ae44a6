//! State of a slot together with its activity.

use std::fmt;

use htc_slot::{Activity, SlotState};

/// State and activity of a slot, printed as `State/Activity`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StateActivity {
    /// State of the slot.
    pub state: SlotState,
    /// Activity of the slot.
    pub activity: Activity,
}

impl StateActivity {
    /// State and activity of a new slot.
    pub(crate) const INITIAL: StateActivity = StateActivity::new(SlotState::Owner, Activity::Idle);

    /// Creates the pair of a state and an activity.
    pub const fn new(state: SlotState, activity: Activity) -> Self {
        StateActivity { state, activity }
    }

    /// Returns the index of the pair in tables.
    pub fn index(self) -> usize {
        let state = SlotState::ALL.into_iter().position(|it| it == self.state).unwrap_or(0);
        let activity = Activity::ALL.into_iter().position(|it| it == self.activity).unwrap_or(0);
        state * Activity::ALL.len() + activity
    }

    /// Returns the pair with the given index in tables.
    pub fn from_index(index: usize) -> Self {
        let (state, activity) = (index / Activity::ALL.len(), index % Activity::ALL.len());
        StateActivity {
            state: SlotState::ALL.get(state).copied().unwrap_or(SlotState::Owner),
            activity: Activity::ALL.get(activity).copied().unwrap_or(Activity::Idle),
        }
    }
}

impl fmt::Display for StateActivity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.state, self.activity)
    }
}
