//! Test that the hooks of a queue neither hand out a job twice nor lose a job. Calls FETCH_WORK, REPLY_FETCH,
//! JOB_EXIT and EVICT_CLAIM from many slots at once on a copy of the queue, and reports the calls that led to a
//! violation.
//!
//! [`QueueTest`] describes the test, and [`QueueTestReport`] contains its result. Nothing in this module prints.

mod hook_effects;
mod queue_directory;
mod queue_error;
mod queue_hooks;
mod round_driver;
mod slot_step;
mod test_plan;
mod test_rounds;

pub use hook_effects::HookEffects;
pub use queue_error::QueueError;
pub use test_plan::{QueueTest, TestRound};
pub use test_rounds::{QueueTestReport, RoundReport};
