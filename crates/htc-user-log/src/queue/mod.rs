//! Stored ads: the schedd's queue log, history files.
//!
//! | file | subject |
//! |---|---|
//! | `record` | one line of a queue log |
//! | `job_queue` | the ads that a queue log builds up |
//! | `queue_log` | reading and following a queue log: transactions, unfinished ends, rewritten files |
//! | `history` | records of jobs that left, forwards and backwards |
//!
//! Nothing here opens files: callers hand in bytes or readers. Reference: `classad_log.cpp`, `ClassAdLogReader.cpp`,
//! `history_queue.cpp`, `condor_router_history`.

mod history;
mod job_queue;
mod queue_log;
mod record;

pub use history::{BackwardHistoryReader, HistoryReader, HistoryRecord, list_history_files};
pub use job_queue::JobQueue;
pub use queue_log::{BadRecord, BadRecordReason, QueueLogReader};
pub use record::{QueueLogRecord, RecordError};
