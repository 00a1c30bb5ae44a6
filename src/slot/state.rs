//! The words for what a slot is and does (`ResState.h`, `state_to_string`, `activity_to_string`).

use std::fmt;
use std::sync::OnceLock;

/// The state of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum State {
    /// The owner of the machine keeps it: IS_OWNER is true. Every slot begins here.
    Owner,
    /// Free.
    Unclaimed,
    /// A negotiator has promised it; it waits for the claimer.
    Matched,
    /// Claimed, with or without a job.
    Claimed,
    /// The claim is being ended.
    Preempting,
    /// Runs a backfill client.
    Backfill,
    /// Drained, or waiting for other slots to be.
    Drained,
}

/// What a slot does within its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Activity {
    /// Nothing.
    Idle,
    /// Measures itself.
    Benchmarking,
    /// Runs a job.
    Busy,
    /// Its job is stopped.
    Suspended,
    /// Its job uses up its retirement time; or waits for the other slots to be drained.
    Retiring,
    /// Its job was asked to leave.
    Vacating,
    /// Its job is being killed.
    Killing,
    /// The starter of a job with a shadow cleans up.
    Cleaning,
}

impl State {
    /// All states, in the order of `TotalTime...` attributes.
    pub const ALL: [State; 7] = [
        State::Owner,
        State::Unclaimed,
        State::Matched,
        State::Claimed,
        State::Preempting,
        State::Backfill,
        State::Drained,
    ];

    /// The word as ads and logs have it.
    pub fn name(self) -> &'static str {
        match self {
            State::Owner => "Owner",
            State::Unclaimed => "Unclaimed",
            State::Matched => "Matched",
            State::Claimed => "Claimed",
            State::Preempting => "Preempting",
            State::Backfill => "Backfill",
            State::Drained => "Drained",
        }
    }

    /// The state of that name; exact spelling.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

impl Activity {
    /// All activities.
    pub const ALL: [Activity; 8] = [
        Activity::Idle,
        Activity::Benchmarking,
        Activity::Busy,
        Activity::Suspended,
        Activity::Retiring,
        Activity::Vacating,
        Activity::Killing,
        Activity::Cleaning,
    ];

    /// The word as ads and logs have it.
    pub fn name(self) -> &'static str {
        match self {
            Activity::Idle => "Idle",
            Activity::Benchmarking => "Benchmarking",
            Activity::Busy => "Busy",
            Activity::Suspended => "Suspended",
            Activity::Retiring => "Retiring",
            Activity::Vacating => "Vacating",
            Activity::Killing => "Killing",
            Activity::Cleaning => "Cleaning",
        }
    }

    /// The activity of that name; exact spelling.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|activity| activity.name() == name)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The name of the attribute that says how long a slot was in a state and activity. There are few, and they are published often.
pub(super) fn total_name(state: State, activity: Activity) -> &'static str {
    static NAMES: OnceLock<Vec<String>> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let of = |state| Activity::ALL.map(|activity| format!("TotalTime{state}{activity}"));
        State::ALL.into_iter().flat_map(of).collect()
    });
    &names[state as usize * Activity::ALL.len() + activity as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_back() {
        assert!(State::ALL.into_iter().all(|state| State::from_name(state.name()) == Some(state)));
        assert!(
            Activity::ALL.into_iter().all(|activity| Activity::from_name(activity.name()) == Some(activity))
        );
    }
}
