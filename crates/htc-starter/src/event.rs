//! Events that the runner reports to the starter's state machine.

use std::path::PathBuf;
use std::time::Duration;

use bstr::BString;

use super::action::CallId;
use super::container::DockerUsage;
use super::java::JavaRecords;
use super::start_failure::StartFailure;
use htc_base::process::Exit;
use htc_classad::ClassAd;
use htc_hook::transfer::TransferOutcome;

/// One event. Failures are events too: the state machine decides what follows.
#[derive(Clone, Debug, PartialEq)]
pub enum StarterEvent {
    /// Everything has been read; the starter begins.
    Begin,
    /// The scratch directory and its files were created.
    ScratchMade {
        /// True if the data written there is encrypted.
        encrypted: bool,
    },
    /// The scratch directory or a file in it could not be created; `RemoveScratch` removes the rest as usual.
    ScratchFailed {
        /// True if the parent directory (EXECUTE) does not exist.
        no_execute: bool,
        /// Failed step and the reason.
        reason: String,
    },
    /// The file of a `WriteFile` action could not be written.
    WriteFailed {
        /// Path of the file.
        path: PathBuf,
        /// The operating system's reason.
        reason: String,
    },
    /// A hook was started.
    CallStarted {
        /// Identifier of the call.
        call: CallId,
        /// Process ID.
        pid: u32,
    },
    /// A hook could not be executed; `CallEnded` does not follow.
    CallFailed {
        /// Identifier of the call.
        call: CallId,
        /// Reason.
        reason: String,
        /// True if the failure may be temporary: out of processes or memory, or the file is being written.
        retry: bool,
    },
    /// A hook ended.
    CallEnded {
        /// Identifier of the call.
        call: CallId,
        /// Exit of the hook.
        exit: Exit,
        /// Standard output, if it was captured.
        stdout: Vec<u8>,
        /// True if the output reached its limit and was truncated.
        cut: bool,
        /// Standard error.
        stderr: Vec<u8>,
    },
    /// A command of the container runtime ended.
    ToolEnded {
        /// Identifier of the call.
        call: CallId,
        /// Exit of the command, or `None` if it could not be executed or timed out.
        exit: Option<Exit>,
        /// Standard output.
        output: Vec<u8>,
        /// Standard error if it is captured separately, otherwise the reason why the command could not be executed.
        errors: Vec<u8>,
    },
    /// The answer to `Transfer`.
    Transferred(Box<TransferOutcome>),
    /// The answer to `OpenFiles`: one failure for each file that cannot be opened.
    FilesOpened(Vec<StartFailure>),
    /// Docker's configuration was written, or the reason why it could not be.
    DockerConfig(Option<String>),
    /// The process of a `StartProcess` is running (its exec succeeded).
    ProcessStarted {
        /// Process ID.
        pid: u32,
    },
    /// The process could not be started, for these reasons; the first one determines the outcome.
    ProcessFailed(Vec<StartFailure>),
    /// The process ended; the rest of its family has been killed.
    ProcessEnded {
        /// Exit of the process.
        exit: Exit,
        /// Exit of the job inside a PID namespace whose first process this was.
        inside: Option<Exit>,
        /// Resource usage of the whole family; process counts are from before the rest was killed.
        usage: FamilyUsage,
        /// True if a core file was found and renamed.
        core: bool,
        /// Content of `.job_wrapper_failure`, if the file exists.
        wrapper_failure: Option<BString>,
        /// Records that CondorJavaWrapper left for a Java job.
        java: Option<JavaRecords>,
    },
    /// Host ports that docker assigned to the services of the container.
    ServicePorts(Box<ClassAd>),
    /// The answer to `Action::Measure`.
    Measured(FamilyUsage),
    /// A request by signal or command.
    Requested(StarterCommand),
    /// The time of the last `WakeAt` has been reached.
    Timeout,
    /// The answer to `RemoveScratch`.
    ScratchRemoved {
        /// Paths that could not be removed.
        remains: Vec<PathBuf>,
    },
}

impl StarterEvent {
    /// Returns the event for a process that ended without a core file and without records of a wrapper or Java.
    pub fn process_ended(exit: Exit, usage: FamilyUsage) -> Self {
        StarterEvent::ProcessEnded {
            exit,
            inside: None,
            usage,
            core: false,
            wrapper_failure: None,
            java: None,
        }
    }

    /// Returns the name of the event in [`super::TRANSITIONS`].
    pub fn name(&self) -> &'static str {
        match self {
            StarterEvent::Begin => "begin",
            StarterEvent::ScratchMade { .. } => "scratch made",
            StarterEvent::ScratchFailed { .. } => "scratch failed",
            StarterEvent::WriteFailed { .. } => "write failed",
            StarterEvent::CallStarted { .. } => "call started",
            StarterEvent::CallFailed { .. } => "call failed",
            StarterEvent::CallEnded { .. } => "call ended",
            StarterEvent::ToolEnded { .. } => "tool ended",
            StarterEvent::Transferred(_) => "transferred",
            StarterEvent::FilesOpened(_) => "files opened",
            StarterEvent::DockerConfig(_) => "docker config",
            StarterEvent::ProcessStarted { .. } => "process started",
            StarterEvent::ProcessFailed(_) => "process failed",
            StarterEvent::ProcessEnded { .. } => "process ended",
            StarterEvent::ServicePorts(_) => "services",
            StarterEvent::Measured(_) => "measured",
            StarterEvent::Requested(_) => "asked",
            StarterEvent::Timeout => "timeout",
            StarterEvent::ScratchRemoved { .. } => "scratch removed",
        }
    }
}

/// Request to a starter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StarterCommand {
    /// SIGTERM: vacate the job gracefully.
    Graceful(Option<StarterVacateReason>),
    /// SIGQUIT: vacate the job immediately.
    Fast(Option<StarterVacateReason>),
    /// SIGUSR1: remove the job, with the reason if one was given.
    Remove(Option<StarterVacateReason>),
    /// Requeue a job of the local universe: ended like a removed job, but JOB_EXIT is called as if no one had requested the end
    /// (`JICLocalSchedd::requeueJob`).
    Requeue,
    /// Hold the job (only a schedd asks for this; there is no signal), with the reason if one was given.
    Hold(Option<StarterVacateReason>),
    /// Record why a shadow ends the job; the request that ends it follows.
    SetShadowReason(ShadowReason),
    /// Send an update now.
    Update,
    /// SIGTSTP (ours; the reference has a command): suspend the job.
    Suspend,
    /// SIGCONT: continue the job.
    Continue,
}

/// Reason why a shadow ends its job, if it is more than a vacate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShadowReason {
    /// The job is held, by a user or a policy.
    Hold,
    /// The job is removed by a user or a policy.
    Remove,
}

/// Reason why a slot vacates its job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StarterVacateReason {
    /// Value of the attribute `VacateReason`.
    pub reason: BString,
    /// VacateReasonCode: 1010 for a command, 1011 PREEMPT, 1013 shutdown, 1014 draining; 21 holds the job (WANT_HOLD).
    pub code: i64,
    /// Value of the attribute `VacateReasonSubCode`.
    pub subcode: i64,
}

impl StarterVacateReason {
    /// Returns true if the job is to be held: the code is a hold code; codes from 1000 only vacate the job
    /// (`shouldVacateJobBasedOnCodes`).
    pub fn is_hold(&self) -> bool {
        (1..1000).contains(&self.code) && self.subcode > -1000
    }
}

/// Resource usage of the job's process family so far, including processes that have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FamilyUsage {
    /// Number of live processes.
    pub processes: u32,
    /// CPU time in user mode.
    pub user: Duration,
    /// CPU time in kernel mode.
    pub system: Duration,
    /// Maximum total of virtual memory seen, in KiB.
    pub max_image_kib: u64,
    /// Current total of resident memory, in KiB.
    pub resident_kib: u64,
    /// Current total of proportional memory (PSS), in KiB, or `None` if unknown.
    pub proportional_kib: Option<u64>,
    /// Bytes read from block devices.
    pub block_read_bytes: u64,
    /// Bytes written to block devices.
    pub block_write_bytes: u64,
    /// Read operations, if they are counted.
    pub block_reads: u64,
    /// Write operations, if they are counted.
    pub block_writes: u64,
    /// Size of the scratch directory in bytes and entries, or `None` if it was not scanned.
    pub disk: Option<(u64, u64)>,
    /// Time of the last write to standard output and error, in seconds since 1970, if those files are transferred.
    pub written: [Option<i64>; 2],
    /// Resource usage of the container, if docker reported it.
    pub docker: Option<DockerUsage>,
    /// True if the family runs in a control group.
    pub cgroup: bool,
    /// True if the kernel killed a process of the family because memory ran out.
    pub out_of_memory: bool,
}
