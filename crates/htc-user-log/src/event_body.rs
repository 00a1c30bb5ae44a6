//! Details of events, without the job and the time.

use bstr::BString;

use super::{DataReuseEvent, EventKind, ResourceTable};
use htc_base::process::Exit;
use htc_base::text::words;
use htc_classad::ClassAd;

/// CPU time in events, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// Time in user mode.
    pub user: i64,
    /// Time in the kernel.
    pub system: i64,
}

/// Termination of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobTermination {
    /// The job exited with this code.
    Exited(i32),
    /// The job was killed by this signal. Contains the path of its core file, if the job left one.
    Signalled(i32, Option<BString>),
}

impl From<Exit> for JobTermination {
    /// Converts an exit for logs that never report a core file (`LocalUserLog::logTerminate`).
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Code(code) => JobTermination::Exited(code.into()),
            Exit::Signal { number, .. } => JobTermination::Signalled(number, None),
        }
    }
}

/// Bytes transferred and CPU time used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunUsage {
    /// CPU time on the execution point.
    pub remote: CpuTime,
    /// CPU time on the access point.
    pub local: CpuTime,
    /// Bytes sent by the job.
    pub sent: f64,
    /// Bytes received by the job.
    pub received: f64,
}

/// End of a job, with its resource usage.
#[derive(Clone, Debug, PartialEq)]
pub struct TerminatedEvent {
    /// Exit code or signal.
    pub termination: JobTermination,
    /// Usage of the last run.
    pub run: RunUsage,
    /// Usage of all runs.
    pub total: RunUsage,
    /// Resources requested, allocated and used.
    pub resources: Option<ResourceTable>,
}

/// Eviction of a job from its slot before the job ended, or requeue of a job that ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EvictedEvent {
    /// Vacate code and subcode; a code of 0 is not written.
    pub code: (i32, i32),
    /// True if the job had written a checkpoint.
    pub checkpointed: bool,
    /// Termination of the job if it ended and was then requeued, otherwise `None`.
    pub requeued: Option<JobTermination>,
    /// Usage of this run.
    pub run: RunUsage,
    /// Reason for the eviction; may be empty.
    pub reason: BString,
    /// Resources requested, allocated and used.
    pub resources: Option<ResourceTable>,
}

words! {
    /// Step of a file transfer (`FileTransferEventType`) with its text in logs.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum FileTransferStep.text {
        /// 1: waiting to transfer input files.
        InputQueued = 1 => "Entered queue to transfer input files",
        /// 2: the transfer of input files has started.
        InputStarted = 2 => "Started transferring input files",
        /// 3: the transfer of input files has finished.
        InputFinished = 3 => "Finished transferring input files",
        /// 4: waiting to transfer output files.
        OutputQueued = 4 => "Entered queue to transfer output files",
        /// 5: the transfer of output files has started.
        OutputStarted = 5 => "Started transferring output files",
        /// 6: the transfer of output files has finished.
        OutputFinished = 6 => "Finished transferring output files",
    }
}

/// Details of an event, by kind.
#[derive(Clone, Debug, PartialEq)]
pub enum EventBody {
    /// 000: the job was submitted.
    Submit {
        /// Address of the access point.
        host: BString,
        /// `submit_event_notes`; empty for none. In the text form, a `structure` that is not empty replaces these
        /// notes.
        log_notes: BString,
        /// `submit_event_user_notes`; empty for none.
        user_notes: BString,
        /// Attributes of the job that are part of the event, such as its batch name and the node of its DAG;
        /// may be empty.
        structure: ClassAd,
    },
    /// 001: the job is executing.
    Execute {
        /// Address of the startd, or in a log that a starter writes itself, the address of the starter.
        host: BString,
        /// Name of the slot; empty for none.
        slot_name: BString,
        /// Names and expressions of properties, in byte order of the names.
        properties: Vec<(BString, BString)>,
    },
    /// 004: the job was evicted.
    Evicted(Box<EvictedEvent>),
    /// 005: the job terminated.
    Terminated(Box<TerminatedEvent>),
    /// 006: the image size of the job was updated.
    ImageSize {
        /// Image size in KiB.
        size: i64,
        /// Memory usage in MiB.
        memory_usage: Option<i64>,
        /// Resident set size in KiB.
        resident: Option<i64>,
        /// Proportional set size in KiB.
        proportional: Option<i64>,
    },
    /// 008: generic event with this text.
    Generic(BString),
    /// 009: the job was aborted; the reason may be empty.
    Aborted(BString),
    /// 046: a dataflow job was skipped; the reason may be empty.
    DataflowSkipped(BString),
    /// 010: the job was suspended. Contains the number of suspended processes.
    Suspended(i64),
    /// 011: the job was unsuspended.
    Unsuspended,
    /// 012: the job was held.
    Held {
        /// Hold reason; may be empty.
        reason: BString,
        /// Hold code.
        code: i32,
        /// Hold subcode.
        subcode: i32,
    },
    /// 013: the job was released; the reason may be empty.
    Released(BString),
    /// 021: error or message from a daemon.
    RemoteError {
        /// True for an error, false for a message.
        critical: bool,
        /// Name of the sending daemon, such as `starter`.
        daemon: BString,
        /// Name of the slot, or in a log that a starter writes itself, the address of the starter.
        host: BString,
        /// Text of the message; may have several lines.
        message: BString,
        /// Hold code, 0 for none.
        code: i32,
        /// Hold subcode.
        subcode: i32,
    },
    /// 022: the shadow was disconnected from the job.
    Disconnected {
        /// Reason for the disconnection.
        reason: BString,
        /// Name of the slot.
        startd: BString,
        /// Address of the slot's startd.
        address: BString,
    },
    /// 023: the shadow was reconnected to the job.
    Reconnected {
        /// Name of the slot.
        startd: BString,
        /// Address of the slot's startd.
        startd_address: BString,
        /// Address of the starter.
        starter_address: BString,
    },
    /// 024: the reconnection failed.
    ReconnectFailed {
        /// Reason for the failure.
        reason: BString,
        /// Name of the slot.
        startd: BString,
    },
    /// 028: job ad information, with all attributes of the preceding event and the requested attributes of
    /// the job.
    JobAdInformation(Box<ClassAd>),
    /// 033: an attribute of the job was changed.
    AttributeUpdate {
        /// Name of the attribute.
        name: BString,
        /// Previous expression, or `None` if the attribute was not set.
        old: Option<BString>,
        /// New expression.
        value: BString,
    },
    /// 035: a cluster was submitted.
    ClusterSubmit {
        /// Address of the access point.
        host: BString,
    },
    /// 036: a cluster was removed.
    ClusterRemove {
        /// Number of materialized jobs.
        jobs: i32,
        /// Number of items from which jobs were materialized.
        items: i32,
        /// Materialization state: 1 for complete, 0 for incomplete, negative for an error, 2 or more while
        /// paused.
        completion: i32,
        /// Further notes; empty for none.
        notes: BString,
    },
    /// 041 to 045: events about data reuse.
    Reuse(DataReuseEvent),
    /// 040: a step of a file transfer.
    Transfer {
        /// Step of the transfer.
        step: FileTransferStep,
        /// Address of the other side of the transfer, when the input transfer starts; empty for none.
        host: BString,
    },
    /// Any event whose details are not parsed: the rest of its first line and the following lines, unchanged.
    Other {
        /// Event number.
        number: u16,
        /// Lines without their newlines.
        lines: Vec<BString>,
    },
}

impl EventBody {
    /// Returns the number of the event.
    pub fn event_number(&self) -> u16 {
        let kind = match self {
            EventBody::Submit { .. } => EventKind::Submit,
            EventBody::Execute { .. } => EventKind::Execute,
            EventBody::Evicted(_) => EventKind::Evicted,
            EventBody::Terminated(_) => EventKind::Terminated,
            EventBody::ImageSize { .. } => EventKind::ImageSize,
            EventBody::Generic(_) => EventKind::Generic,
            EventBody::Aborted(_) => EventKind::Aborted,
            EventBody::DataflowSkipped(_) => EventKind::DataflowSkipped,
            EventBody::Suspended(_) => EventKind::Suspended,
            EventBody::Unsuspended => EventKind::Unsuspended,
            EventBody::Held { .. } => EventKind::Held,
            EventBody::Released(_) => EventKind::Released,
            EventBody::RemoteError { .. } => EventKind::RemoteError,
            EventBody::Disconnected { .. } => EventKind::Disconnected,
            EventBody::Reconnected { .. } => EventKind::Reconnected,
            EventBody::ReconnectFailed { .. } => EventKind::ReconnectFailed,
            EventBody::JobAdInformation(_) => EventKind::JobAdInformation,
            EventBody::AttributeUpdate { .. } => EventKind::AttributeUpdate,
            EventBody::ClusterSubmit { .. } => EventKind::ClusterSubmit,
            EventBody::ClusterRemove { .. } => EventKind::ClusterRemove,
            EventBody::Transfer { .. } => EventKind::FileTransfer,
            EventBody::Reuse(reuse) => return reuse.event_number(),
            EventBody::Other { number, .. } => return *number,
        };
        kind.number()
    }
}
