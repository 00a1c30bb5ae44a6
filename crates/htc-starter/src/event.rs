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

/// Event that the runner reports. Failures are events as well: the state machine decides what follows.
#[derive(Clone, Debug, PartialEq)]
pub enum StarterEvent {
    /// All inputs have been read, and the starter begins.
    Begin,
    /// The scratch directory and its files were created.
    ScratchMade {
        /// True if the data in the scratch directory is encrypted.
        encrypted: bool,
    },
    /// The scratch directory or a file in it could not be created; `RemoveScratch` still has to remove the files that
    /// were created.
    ScratchFailed {
        /// True if the parent directory (EXECUTE) does not exist.
        no_execute: bool,
        /// Step that failed, with the reason.
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
        /// Reason for the failure.
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
        /// Standard output, or empty if it was not captured.
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
        /// Standard output of the command.
        output: Vec<u8>,
        /// Standard error of the command if it is captured separately, otherwise the reason why the command could not
        /// be executed.
        errors: Vec<u8>,
    },
    /// Answer to `Transfer`.
    Transferred(Box<TransferOutcome>),
    /// Answer to `OpenFiles`: one failure for each file that cannot be opened.
    FilesOpened(Vec<StartFailure>),
    /// Answer to `DockerConfig`: `None` if the configuration was written, otherwise the reason why not.
    DockerConfig(Option<String>),
    /// The process of a `StartProcess` is running (its exec succeeded).
    ProcessStarted {
        /// Process ID.
        pid: u32,
    },
    /// The process could not be started, for the given reasons; the first reason determines the outcome.
    ProcessFailed(Vec<StartFailure>),
    /// The process ended, and the rest of its family has been killed.
    ProcessEnded {
        /// Exit of the process.
        exit: Exit,
        /// Exit of the job, if the process was the first process of a PID namespace and the job ran inside it.
        inside: Option<Exit>,
        /// Resource usage of the whole family. The process counts are from before the rest of the family was killed.
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
    /// Answer to `Measure`.
    Measured(FamilyUsage),
    /// A request arrived by signal or command.
    Requested(StarterCommand),
    /// The time of the last `WakeAt` has been reached.
    Timeout,
    /// Answer to `RemoveScratch`.
    ScratchRemoved {
        /// Paths that could not be removed.
        remains: Vec<PathBuf>,
    },
}

impl StarterEvent {
    /// Returns the event for a process that ended without a core file and without records of a job wrapper or of Java.
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
    /// SIGUSR1: remove the job. Contains the reason if the request has one.
    Remove(Option<StarterVacateReason>),
    /// Requeue a job of the local universe. The job ends like a removed job, but JOB_EXIT is called as if no one had
    /// requested the end (`JICLocalSchedd::requeueJob`).
    Requeue,
    /// Hold the job. Contains the reason if the request has one. Only a schedd makes this request, for which there is
    /// no signal.
    Hold(Option<StarterVacateReason>),
    /// Record why a shadow ends the job. The request that ends the job follows.
    SetShadowReason(ShadowReason),
    /// Send an update immediately.
    Update,
    /// SIGTSTP: suspend the job. The signal is an addition; the reference has a command.
    Suspend,
    /// SIGCONT: continue the job.
    Continue,
}

/// Reason why a shadow ends its job, other than a vacate.
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
    /// VacateReasonCode: 1010 for a command, 1011 PREEMPT, 1013 shutdown, 1014 draining; 21 for a hold (WANT_HOLD).
    pub code: i64,
    /// Value of the attribute `VacateReasonSubCode`.
    pub subcode: i64,
}

impl StarterVacateReason {
    /// Returns true if the job is to be held. Codes of 1000 and above are not hold codes and only vacate the job
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
    /// Largest total of virtual memory so far, in KiB.
    pub max_image_kib: u64,
    /// Current total of resident memory, in KiB.
    pub resident_kib: u64,
    /// Current total of proportional memory (PSS), in KiB, or `None` if unknown.
    pub proportional_kib: Option<u64>,
    /// Bytes read from block devices.
    pub block_read_bytes: u64,
    /// Bytes written to block devices.
    pub block_write_bytes: u64,
    /// Number of read operations, or 0 if they are not counted.
    pub block_reads: u64,
    /// Number of write operations, or 0 if they are not counted.
    pub block_writes: u64,
    /// Size of the scratch directory in bytes and entries, or `None` if it was not scanned.
    pub disk: Option<(u64, u64)>,
    /// Times of the last writes to standard output and standard error, in seconds since 1970; `None` for a file that is
    /// not transferred.
    pub written: [Option<i64>; 2],
    /// Resource usage of the container, if docker reported it.
    pub docker: Option<DockerUsage>,
    /// True if the family runs in a control group.
    pub cgroup: bool,
    /// True if the kernel killed a process of the family because memory ran out.
    pub out_of_memory: bool,
}
