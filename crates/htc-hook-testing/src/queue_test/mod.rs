//! Proves that the hooks of a queue hand no job out twice and lose none, or shows the sequence that did it: FETCH_WORK,
//! REPLY_FETCH, JOB_EXIT and EVICT_CLAIM are called from many slots at once, on a copy of the queue.
//!
//! [`QueueTest`] is what is to be done, [`QueueTestReport`] what it has shown. Nothing here prints.

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
