//! What the machine is told.

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

/// One thing that happened. Failures are events: the machine decides what follows.
#[derive(Clone, Debug, PartialEq)]
pub enum StarterEvent {
    /// Everything is read; go.
    Begin,
    /// The scratch directory and the files in it are made.
    ScratchMade {
        /// Whether what is written there is encrypted.
        encrypted: bool,
    },
    /// They could not be made; whatever was made of them is removed by `RemoveScratch` as usual.
    ScratchFailed {
        /// Whether the directory that it was to be made in is not there at all.
        no_execute: bool,
        /// What could not be done and why.
        reason: String,
    },
    /// A file of `Action::WriteFiles` could not be written.
    WriteFailed {
        /// Which.
        path: PathBuf,
        /// The system's reason.
        reason: String,
    },
    /// A hook runs.
    CallStarted {
        /// Which call.
        call: CallId,
        /// Its process.
        pid: u32,
    },
    /// A hook could not be executed; `CallEnded` does not follow.
    CallFailed {
        /// Which call.
        call: CallId,
        /// Why.
        reason: String,
        /// Whether that may be otherwise in a moment: no process or memory left, a file that is just being written.
        retry: bool,
    },
    /// A hook ended.
    CallEnded {
        /// Which call.
        call: CallId,
        /// How.
        exit: Exit,
        /// What it wrote, where it was wanted.
        stdout: Vec<u8>,
        /// Whether the output reached its limit and was cut.
        cut: bool,
        /// What it complained of.
        stderr: Vec<u8>,
    },
    /// A call of a container's runtime ended.
    ToolEnded {
        /// Which call.
        call: CallId,
        /// How; `None`: it could not be executed or took too long.
        exit: Option<Exit>,
        /// What it wrote.
        output: Vec<u8>,
        /// What it complained of, where that is kept apart; else why it could not be executed.
        errors: Vec<u8>,
    },
    /// The answer to `Transfer`.
    Transferred(Box<TransferOutcome>),
    /// The answer to `OpenFiles`: why those that cannot be opened cannot.
    FilesOpened(Vec<StartFailure>),
    /// Docker's configuration is laid down, or why it could not be.
    DockerConfig(Option<String>),
    /// The process of a `StartProcess` runs (its exec succeeded).
    ProcessStarted {
        /// Its process id.
        pid: u32,
    },
    /// It could not be started, for these reasons; the first decides.
    ProcessFailed(Vec<StartFailure>),
    /// It ended; what it left behind is gone.
    ProcessEnded {
        /// How.
        exit: Exit,
        /// How the job ended whose first process of a PID namespace this was.
        inside: Option<Exit>,
        /// What its whole family used; the counts of processes are those before the rest was killed.
        usage: FamilyUsage,
        /// Whether a core file was found and renamed.
        core: bool,
        /// The text of `.job_wrapper_failure`, if there is one.
        wrapper_failure: Option<BString>,
        /// What CondorJavaWrapper left of a java job.
        java: Option<JavaRecords>,
    },
    /// Docker tells the ports of this machine by which the container's services are reached.
    ServicePorts(Box<ClassAd>),
    /// The answer to `Action::Measure`.
    Measured(FamilyUsage),
    /// A signal or command asks for something.
    Requested(StarterCommand),
    /// The time of the last `WakeAt` has come.
    Timeout,
    /// The answer to `RemoveScratch`.
    ScratchRemoved {
        /// What could not be removed.
        remains: Vec<PathBuf>,
    },
}

impl StarterEvent {
    /// A process ended so: no core file, and nothing that wrapper or java left.
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

    /// Its name in [`super::TRANSITIONS`].
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

/// What can be asked of a starter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StarterCommand {
    /// SIGTERM: end softly.
    Graceful(Option<StarterVacateReason>),
    /// SIGQUIT: end at once.
    Fast(Option<StarterVacateReason>),
    /// SIGUSR1: the job is removed, and why, if somebody says it.
    Remove(Option<StarterVacateReason>),
    /// The job goes back into the queue of the schedd whose own universe it is of: ended as one that is removed, but to JOB_EXIT
    /// nobody has asked for its end (`JICLocalSchedd::requeueJob`).
    Requeue,
    /// The job is held (by a schedd; no signal means it), and why.
    Hold(Option<StarterVacateReason>),
    /// A shadow has the job ended for this reason; the request that ends it follows.
    SetShadowReason(ShadowReason),
    /// An update is wanted now.
    Update,
    /// SIGTSTP (ours; the reference has a command): stop the job.
    Suspend,
    /// SIGCONT: continue it.
    Continue,
}

/// The reason for which a shadow has its starter end a job, where that is more than a vacate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShadowReason {
    /// The job is held, by a user or a policy.
    Hold,
    /// The job is removed, by a user or a policy.
    Remove,
}

/// Why a slot vacates its job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StarterVacateReason {
    /// VacateReason.
    pub reason: BString,
    /// VacateReasonCode: 1010 a command, 1011 PREEMPT, 1013 shutdown, 1014 draining; 21 holds the job (WANT_HOLD).
    pub code: i64,
    /// VacateReasonSubCode.
    pub subcode: i64,
}

impl StarterVacateReason {
    /// Whether the job is to be held: a hold code, not one of those from 1000 on, which only vacate
    /// (`shouldVacateJobBasedOnCodes`).
    pub fn is_hold(&self) -> bool {
        (1..1000).contains(&self.code) && self.subcode > -1000
    }
}

/// What the family of a job's processes has used so far, those that have ended included.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FamilyUsage {
    /// Processes alive.
    pub processes: u32,
    /// Processor time in user mode.
    pub user: Duration,
    /// Processor time in the kernel.
    pub system: Duration,
    /// The largest total of virtual memory seen, in KiB.
    pub max_image_kib: u64,
    /// The present total of resident memory, in KiB.
    pub resident_kib: u64,
    /// The present total of proportional memory, in KiB, where it is known.
    pub proportional_kib: Option<u64>,
    /// Bytes read from block devices.
    pub block_read_bytes: u64,
    /// Bytes written to block devices.
    pub block_write_bytes: u64,
    /// Read operations, where they are counted.
    pub block_reads: u64,
    /// Write operations.
    pub block_writes: u64,
    /// What the job's directory holds, in bytes and entries, where it was looked at.
    pub disk: Option<(u64, u64)>,
    /// When something was last written to its standard output and error, in seconds since 1970, where those are moved.
    pub written: [Option<i64>; 2],
    /// What the container uses, where docker has told it.
    pub docker: Option<DockerUsage>,
    /// Whether a control group holds the family.
    pub cgroup: bool,
    /// Whether the kernel killed one of them for its memory.
    pub out_of_memory: bool,
}
