//! Stored ads: the schedd's queue log and history files.
//!
//! | module | subject |
//! |---|---|
//! | `record` | one line of a queue log |
//! | `job_queue` | the ads that a queue log defines |
//! | `projected_queue` | the same with few attributes, in little memory |
//! | `queue_log` | incremental reading of a queue log: transactions, unfinished lines |
//! | `history` | records of jobs that left the queue, forwards and backwards |
//!
//! The code of this module opens no files: callers pass bytes or readers. Reference: `classad_log.cpp`,
//! `ClassAdLogReader.cpp`, `history_queue.cpp`, `condor_router_history`.

mod history;
mod job_queue;
mod projected_queue;
mod queue_log;
mod record;

pub use history::{
    BackwardHistoryReader, BorrowedHistoryRecord, HistoryReader, HistoryRecord, list_history_files,
};
pub use job_queue::JobQueue;
pub use projected_queue::{MissingAttributes, ProjectedJobs, ProjectedQueue};
pub use queue_log::{BadRecord, BadRecordReason, QueueLogReader};
pub use record::{QueueLogRecord, QueueRecords, RecordError};
