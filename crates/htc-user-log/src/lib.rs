//! Job events as text, XML and JSON: the logs that submitters and starters keep (UserLog, StarterUserLog,
//! EVENT_LOG).
//!
//! Text forms are written byte for byte as 25.14 writes them, and read as leniently as 25.14 reads them. An
//! event with an unknown number keeps its lines. The starter and router crates decide which events are
//! written when.
//!
//! Reference: `condor_event.cpp`, `write_user_log.cpp`.

mod body_parser;
mod dagman_nodes_mask;
mod data_reuse;
mod event_ad;
mod event_body;
mod event_kind;
mod event_reader;
mod event_text;
mod event_time;
mod format_options;
mod job_ad_information;
mod other_events;
pub mod queue;
mod resource_table;

pub use dagman_nodes_mask::dagman_nodes_mask;
pub use data_reuse::DataReuseEvent;
pub use event_body::{
    CpuTime, EventBody, EvictedEvent, FileTransferStep, JobTermination, RunUsage, TerminatedEvent,
};
pub use event_kind::EventKind;
pub use event_reader::{EventReadError, EventReader};
pub use event_time::EventTime;
pub use format_options::FormatOptions;
pub use resource_table::{ResourceRow, ResourceTable};

/// One event of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobEvent {
    /// Event number; [`EventKind`] has its names.
    pub number: u16,
    /// `ClusterId`, or `-1` if the event does not belong to a job.
    pub cluster: i32,
    /// `ProcId`, or `-1` if the event belongs to a whole cluster.
    pub proc: i32,
    /// Always 0 for jobs of one process.
    pub subproc: i32,
    /// Time of the event.
    pub time: EventTime,
    /// Details of the event.
    pub body: EventBody,
}

impl JobEvent {
    /// Creates an event of a job. The body determines the event number.
    pub fn new(cluster: i32, proc: i32, time: EventTime, body: EventBody) -> Self {
        JobEvent { number: body.event_number(), cluster, proc, subproc: 0, time, body }
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
