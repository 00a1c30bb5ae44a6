//! States and activities of slots (`ResState.h`, `state_to_string`, `activity_to_string`).

use std::sync::OnceLock;

use htc_base::text::words;

words! {
    /// State of a slot.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum SlotState.name {
        /// The machine's owner uses it: IS_OWNER is true. Initial state of every slot.
        Owner => "Owner",
        /// Available for jobs.
        Unclaimed => "Unclaimed",
        /// The slot was matched by a negotiator and waits for the claim.
        Matched => "Matched",
        /// The slot is claimed, with or without a job.
        Claimed => "Claimed",
        /// The claim is ending.
        Preempting => "Preempting",
        /// Runs a backfill client.
        Backfill => "Backfill",
        /// The slot is drained, or waits for other slots to be drained.
        Drained => "Drained",
    }
}

words! {
    /// Activity of a slot within its state.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Activity.name {
        /// Does nothing.
        Idle => "Idle",
        /// Runs benchmarks.
        Benchmarking => "Benchmarking",
        /// Runs a job.
        Busy => "Busy",
        /// Its job is suspended.
        Suspended => "Suspended",
        /// Its job uses its retirement time, or the slot waits for others to be drained.
        Retiring => "Retiring",
        /// Its job was soft-killed.
        Vacating => "Vacating",
        /// Its job is being killed.
        Killing => "Killing",
        /// The starter of a job with a shadow cleans up.
        Cleaning => "Cleaning",
    }
}

/// Returns the name of the attribute for the time spent in a state and activity. The names are cached, because they are
/// published often.
pub(super) fn total_time_attribute(state: SlotState, activity: Activity) -> &'static str {
    static ATTRIBUTE_NAMES: OnceLock<Vec<String>> = OnceLock::new();
    let names = ATTRIBUTE_NAMES.get_or_init(|| {
        let of = |state| Activity::ALL.map(|activity| format!("TotalTime{state}{activity}"));
        SlotState::ALL.into_iter().flat_map(of).collect()
    });
    &names[state as usize * Activity::ALL.len() + activity as usize]
}
