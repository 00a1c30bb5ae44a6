//! The words for what a slot is and does (`ResState.h`, `state_to_string`, `activity_to_string`).

use std::sync::OnceLock;

use htc_base::text::words;

words! {
    /// The state of a slot.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum SlotState.name {
        /// The owner of the machine keeps it: IS_OWNER is true. Every slot begins here.
        Owner => "Owner",
        /// Free.
        Unclaimed => "Unclaimed",
        /// A negotiator has promised it; it waits for the claimer.
        Matched => "Matched",
        /// Claimed, with or without a job.
        Claimed => "Claimed",
        /// The claim is being ended.
        Preempting => "Preempting",
        /// Runs a backfill client.
        Backfill => "Backfill",
        /// Drained, or waiting for other slots to be.
        Drained => "Drained",
    }
}

words! {
    /// What a slot does within its state.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Activity.name {
        /// Nothing.
        Idle => "Idle",
        /// Measures itself.
        Benchmarking => "Benchmarking",
        /// Runs a job.
        Busy => "Busy",
        /// Its job is stopped.
        Suspended => "Suspended",
        /// Its job uses up its retirement time; or waits for the other slots to be drained.
        Retiring => "Retiring",
        /// Its job was asked to leave.
        Vacating => "Vacating",
        /// Its job is being killed.
        Killing => "Killing",
        /// The starter of a job with a shadow cleans up.
        Cleaning => "Cleaning",
    }
}

/// The name of the attribute that says how long a slot was in a state and activity. There are few, and they are published often.
pub(super) fn total_time_attribute(state: SlotState, activity: Activity) -> &'static str {
    static ATTRIBUTE_NAMES: OnceLock<Vec<String>> = OnceLock::new();
    let names = ATTRIBUTE_NAMES.get_or_init(|| {
        let of = |state| Activity::ALL.map(|activity| format!("TotalTime{state}{activity}"));
        SlotState::ALL.into_iter().flat_map(of).collect()
    });
    &names[state as usize * Activity::ALL.len() + activity as usize]
}
