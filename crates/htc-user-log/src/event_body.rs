//! What events tell beside job and time.

use bstr::BString;

use super::{DataReuseEvent, EventKind, ResourceTable};
use htc_base::process::Exit;
use htc_base::text::words;
use htc_classad::ClassAd;

/// Processor time as events give it, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// In user mode.
    pub user: i64,
    /// In the kernel.
    pub system: i64,
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobTermination {
    /// It exited with a code.
    Exited(i32),
    /// A signal ended it; the path of its core file if it left one.
    Signalled(i32, Option<BString>),
}

impl From<Exit> for JobTermination {
    /// As logs tell it that never say that there is a core file (`LocalUserLog::logTerminate`).
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Code(code) => JobTermination::Exited(code.into()),
            Exit::Signal { number, .. } => JobTermination::Signalled(number, None),
        }
    }
}

/// Bytes moved and processor time used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunUsage {
    /// On the execution point.
    pub remote: CpuTime,
    /// On the access point.
    pub local: CpuTime,
    /// Bytes sent by the job.
    pub sent: f64,
    /// Bytes received by the job.
    pub received: f64,
}

/// The end of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct TerminatedEvent {
    /// How it ended.
    pub termination: JobTermination,
    /// Of the last run.
    pub run: RunUsage,
    /// Of all runs.
    pub total: RunUsage,
    /// What it had asked for, got and used.
    pub resources: Option<ResourceTable>,
}

/// A job left its slot before its end, or ended and was put back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EvictedEvent {
    /// Code and subcode of the reason; a code of 0 is not written.
    pub code: (i32, i32),
    /// Whether it had written a checkpoint.
    pub checkpointed: bool,
    /// How it ended, if it ended and was put back.
    pub requeued: Option<JobTermination>,
    /// Of this run.
    pub run: RunUsage,
    /// Why; may be empty.
    pub reason: BString,
    /// What it had asked for, got and used.
    pub resources: Option<ResourceTable>,
}

words! {
    /// A step of a file transfer (`FileTransferEventType`) with what logs say.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum FileTransferStep.text {
        /// 1
        InputQueued = 1 => "Entered queue to transfer input files",
        /// 2
        InputStarted = 2 => "Started transferring input files",
        /// 3
        InputFinished = 3 => "Finished transferring input files",
        /// 4
        OutputQueued = 4 => "Entered queue to transfer output files",
        /// 5
        OutputStarted = 5 => "Started transferring output files",
        /// 6
        OutputFinished = 6 => "Finished transferring output files",
    }
}

/// The details of an event.
#[derive(Clone, Debug, PartialEq)]
pub enum EventBody {
    /// 000
    Submit {
        /// Address of the access point.
        host: BString,
        /// `submit_event_notes`; empty for none. Text has `structure` in their place, where there is one.
        log_notes: BString,
        /// `submit_event_user_notes`; empty for none.
        user_notes: BString,
        /// Attributes of the job that are part of the event, such as its batch and the node of its DAG; empty for none.
        structure: ClassAd,
    },
    /// 001
    Execute {
        /// Address of the startd, in a starter's own log of the starter.
        host: BString,
        /// Name of the slot; empty for none.
        slot_name: BString,
        /// Names and expressions, in byte order of the names.
        properties: Vec<(BString, BString)>,
    },
    /// 004
    Evicted(Box<EvictedEvent>),
    /// 005
    Terminated(Box<TerminatedEvent>),
    /// 006
    ImageSize {
        /// Size of the image in KiB.
        size: i64,
        /// MiB.
        memory_usage: Option<i64>,
        /// KiB.
        resident: Option<i64>,
        /// KiB.
        proportional: Option<i64>,
    },
    /// 008
    Generic(BString),
    /// 009; the reason may be empty.
    Aborted(BString),
    /// 046, with the reason; may be empty.
    DataflowSkipped(BString),
    /// 010, with the number of processes stopped.
    Suspended(i64),
    /// 011
    Unsuspended,
    /// 012
    Held {
        /// May be empty.
        reason: BString,
        /// Hold code.
        code: i32,
        /// Hold subcode.
        subcode: i32,
    },
    /// 013; the reason may be empty.
    Released(BString),
    /// 021
    RemoteError {
        /// False for a mere message.
        critical: bool,
        /// Who says so, such as `starter`.
        daemon: BString,
        /// The slot, in a starter's own log its address.
        host: BString,
        /// What it says; may have several lines.
        message: BString,
        /// Hold code, 0 for none.
        code: i32,
        /// Hold subcode.
        subcode: i32,
    },
    /// 022
    Disconnected {
        /// Why.
        reason: BString,
        /// Name of the slot.
        startd: BString,
        /// Address of its startd.
        address: BString,
    },
    /// 023
    Reconnected {
        /// Name of the slot.
        startd: BString,
        /// Address of its startd.
        startd_address: BString,
        /// Address of the starter.
        starter_address: BString,
    },
    /// 024
    ReconnectFailed {
        /// Why.
        reason: BString,
        /// Name of the slot.
        startd: BString,
    },
    /// 028, with all attributes of the event that it follows and those that were asked for.
    JobAdInformation(Box<ClassAd>),
    /// 033
    AttributeUpdate {
        /// Its name.
        name: BString,
        /// The former expression, if there was one.
        old: Option<BString>,
        /// The new one.
        value: BString,
    },
    /// 035
    ClusterSubmit {
        /// Address of the access point.
        host: BString,
    },
    /// 036
    ClusterRemove {
        /// How many jobs it has had.
        jobs: i32,
        /// Of how many items.
        items: i32,
        /// 1 when all were made, 0 when not, -1 and less for an error, 2 and more while it pauses.
        completion: i32,
        /// Anything else; empty for none.
        notes: BString,
    },
    /// 041 to 045
    Reuse(DataReuseEvent),
    /// 040
    Transfer {
        /// Which step.
        step: FileTransferStep,
        /// Address of the other side, at the start of the input; empty for none.
        host: BString,
    },
    /// Any other event: the rest of its first line and the lines behind it, as they stand.
    Other {
        /// The number.
        number: u16,
        /// Lines without their ends.
        lines: Vec<BString>,
    },
}

impl EventBody {
    /// The number of the event.
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
