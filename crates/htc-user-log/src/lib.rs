//! Job events as text, XML and JSON: the logs that submitters and starters keep (UserLog, StarterUserLog, EVENT_LOG).
//!
//! Text forms are written to the byte as 25.14 writes them, and read as leniently as it reads them. An event of an
//! unknown number keeps its lines. Who writes which event when stands in `starter` and `router`.
//!
//! Reference: `condor_event.cpp`, `write_user_log.cpp`.

mod ad;
mod body;
mod information;
mod kind;
mod nodes;
mod options;
mod others;
mod print;
pub mod queue;
mod read;
mod read_body;
mod reuse;
mod table;
mod time;

pub use body::{Body, Ending, Evicted, Share, Terminated, Transfer, UsageTime};
pub use kind::EventKind;
pub use nodes::nodes_mask;
pub use options::FormatOptions;
pub use read::{EventReader, ReadError};
pub use reuse::Reuse;
pub use table::{ResourceRow, ResourceTable};
pub use time::EventTime;

/// One event of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobEvent {
    /// What happened, as a number; [`EventKind`] knows its names.
    pub number: u16,
    /// `ClusterId`; `-1` where no job is meant.
    pub cluster: i32,
    /// `ProcId`; `-1` for a whole cluster.
    pub proc: i32,
    /// Always 0 for jobs of one process.
    pub subproc: i32,
    /// When it happened.
    pub time: EventTime,
    /// The details.
    pub body: Body,
}

impl JobEvent {
    /// An event of a job with the number that belongs to its body.
    pub fn new(cluster: i32, proc: i32, time: EventTime, body: Body) -> Self {
        JobEvent { number: body.number(), cluster, proc, subproc: 0, time, body }
    }
}
