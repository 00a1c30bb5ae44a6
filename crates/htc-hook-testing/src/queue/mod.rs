//! Proves that the hooks of a queue hand no job out twice and lose none, or shows the sequence that did it: FETCH_WORK,
//! REPLY_FETCH, JOB_EXIT and EVICT_CLAIM are called from many slots at once, on a copy of the queue.
//!
//! [`QueueTest`] is what is to be done, [`Proof`] what it has shown. Nothing here prints.

mod directory;
mod drive;
mod effects;
mod error;
mod hooks;
mod plan;
mod prove;
mod step;

pub use effects::Effects;
pub use error::QueueError;
pub use plan::{QueueTest, Round};
pub use prove::{Proof, RoundReport};
