//! State of the execution point and of its slots between events. Plain data that depends neither on the slots nor on the state
//! machine.

pub(super) mod alarm;
pub(super) mod backfill_state;
pub(super) mod benchmark_state;
pub(super) mod claim;
pub(super) mod drain_state;
pub(super) mod fetch_state;
pub(super) mod hibernation_state;
pub(super) mod idle_window;
pub(super) mod latch;
pub(super) mod poll_schedule;
pub(super) mod poll_skipper;
pub(super) mod resource_conflict;
pub(super) mod slot_load;
