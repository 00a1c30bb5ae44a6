//! States and activities of slots (`ResState.h`, `state_to_string`, `activity_to_string`).

use std::sync::OnceLock;

use htc_base::text::words;

words! {
    /// State of a slot.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum SlotState.name {
        /// The owner of the machine uses it, because IS_OWNER is true. Initial state of every slot.
        Owner => "Owner",
        /// The slot is available for jobs.
        Unclaimed => "Unclaimed",
        /// A negotiator has matched the slot, which waits for the claim.
        Matched => "Matched",
        /// The slot is claimed, with or without a job.
        Claimed => "Claimed",
        /// The claim is ending.
        Preempting => "Preempting",
        /// The slot runs a backfill client.
        Backfill => "Backfill",
        /// The slot is drained, or waits for other slots to be drained.
        Drained => "Drained",
    }
}

words! {
    /// Activity of a slot within its state.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Activity.name {
        /// The slot does nothing.
        Idle => "Idle",
        /// The slot runs benchmarks.
        Benchmarking => "Benchmarking",
        /// The slot runs a job.
        Busy => "Busy",
        /// The job is suspended.
        Suspended => "Suspended",
        /// The job may continue during its retirement time, or the slot waits until other slots are drained.
        Retiring => "Retiring",
        /// The job was soft-killed.
        Vacating => "Vacating",
        /// The job is being hard-killed.
        Killing => "Killing",
        /// The starter of a job with a shadow cleans up.
        Cleaning => "Cleaning",
    }
}

/// Returns the name of the attribute with the time spent in this state and activity. The names are cached, because they are
/// published at every refresh.
pub(super) fn total_time_attribute(state: SlotState, activity: Activity) -> &'static str {
    static ATTRIBUTE_NAMES: OnceLock<Vec<String>> = OnceLock::new();
    let names = ATTRIBUTE_NAMES.get_or_init(|| {
        let of = |state| Activity::ALL.map(|activity| format!("TotalTime{state}{activity}"));
        SlotState::ALL.into_iter().flat_map(of).collect()
    });
    &names[state as usize * Activity::ALL.len() + activity as usize]
}
