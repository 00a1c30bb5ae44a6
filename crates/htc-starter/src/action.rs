//! Actions that the starter's state machine requests from its runner.

use std::path::PathBuf;

use bstr::BString;

use super::cgroup_plan::CgroupPlan;
use super::container::{ContainerPlan, RuntimeChoice, ToolCall};
use super::isolation::ProcessIsolation;
use super::start_failure::StartFailure;
use htc_base::process::{Exit, ResourceLimit, SessionMode};
use htc_base::quirks::Quirk;
use htc_base::time::MonotonicTime;
use htc_hook::HookType;
use htc_hook::transfer::TransferKind;

/// Action that the runner performs. Actions are performed in order. The runner reports the answer to an action as the
/// event that the comment of the action names.
#[derive(Clone, Debug, PartialEq)]
pub enum StarterAction {
    /// Create the scratch directory of the setup with these files, owned by the job's account, and make it the current
    /// directory of the program. Answer: `ScratchMade` or `ScratchFailed`.
    MakeScratch {
        /// Files to create in the scratch directory.
        files: Vec<ScratchFile>,
    },
    /// Open the job's event log and write the visa, if the job asks for them.
    OpenLog,
    /// Replace a file in the scratch directory. Answer: nothing, or `WriteFailed`.
    WriteFile(ScratchFile),
    /// Start a hook. Answer: `CallStarted` and later `CallEnded`, or `CallFailed`.
    Call(StarterHookCall),
    /// Run a command of the container runtime. Answer: `ToolEnded`.
    RunTool(CallId, Box<ToolCall>),
    /// Open the job's standard files as the job's account and close them again. Answer: `FilesOpened`.
    OpenFiles([StandardFile; 3]),
    /// Create a directory below the scratch directory as the job's account.
    MakeDirectory {
        /// Path of the directory below the scratch directory.
        path: PathBuf,
        /// Mode of the directory.
        mode: u32,
    },
    /// Record the container, so that it can be removed if this starter is killed.
    RememberContainer {
        /// Name of the container.
        container: BString,
    },
    /// Record an image that is being pulled and was not present before, so that it can be removed if this starter is killed.
    RememberPull {
        /// Name of the image.
        image: BString,
        /// Tag by which the image is recognized as one of ours.
        own: BString,
    },
    /// Write docker's configuration into the directory for it (answer: `DockerConfig`), or remove the configuration if
    /// `None`.
    DockerConfig(Option<Vec<u8>>),
    /// Start the job, PreCmd or PostCmd. Answer: `ProcessStarted` and later `ProcessEnded`, or `ProcessFailed`.
    StartProcess(Box<JobProcess>),
    /// Transfer the job's files. Answer: `Transferred`, unless `AbortTransfer` aborts the transfer.
    Transfer(TransferKind),
    /// Abort the current transfer. Its result is not reported.
    AbortTransfer,
    /// Make the shadow lose its connection to the starter and reconnect.
    ReconnectShadow,
    /// Write a manifest file into the scratch directory as the job's account.
    Manifest {
        /// Directory below the scratch directory.
        directory: BString,
        /// File name in that directory.
        name: &'static str,
        /// Content of the file, or `None` to list the current content of the scratch directory.
        content: Option<Vec<u8>>,
    },
    /// Measure the resource usage of the job's process family. Answer: `Measured`.
    Measure,
    /// Send a signal to the job's main process. If that fails, the family is killed.
    SignalJob(i32),
    /// Send SIGKILL to the job's process family.
    KillFamily,
    /// Send SIGSTOP to the job's process family.
    StopFamily,
    /// Send SIGCONT to the job's process family.
    ContinueFamily,
    /// Send SIGKILL to one hook and its process family. `CallEnded` is still reported, with the output so far.
    KillCall(CallId),
    /// Send SIGKILL to all running hooks; their ends are not reported.
    KillCalls,
    /// Send `Timeout` at this time, instead of at any time requested earlier. `None` cancels the request.
    WakeAt(Option<MonotonicTime>),
    /// Replace the file named by `-job-update-ad`, if any.
    WriteUpdateAd(Vec<u8>),
    /// Append to the file named by `-job-output-ad`, if any.
    WriteResultAd(Vec<u8>),
    /// Write an event to the job's own event log (`StarterUserLog`).
    Log(JobLogEvent),
    /// Report a notice to the user.
    Report(StarterNotice),
    /// Remove the scratch directory. Answer: `ScratchRemoved`.
    RemoveScratch,
    /// Exit. No further action follows.
    Finish {
        /// Exit status of the program, as in the reference.
        status: u8,
        /// Outcome of the job.
        job_outcome: JobOutcome,
        /// Job ad with its outcome merged in, as bytes, or `None` if the job was not started.
        outcome_ad: Option<Vec<u8>>,
    },
}

/// Outcome of the job that the program reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobOutcome {
    /// The job ran and ended with this exit.
    Ran(Exit),
    /// The job did not start.
    NotStarted,
}

/// Identifier of a hook call, unique within one state machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u32);

/// One call of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StarterHookCall {
    /// Identifier of the call.
    pub id: CallId,
    /// Hook type.
    pub hook: HookType,
    /// Path as configured; a relative path is resolved in the starter's working directory.
    pub path: BString,
    /// Arguments after the path.
    pub arguments: Vec<BString>,
    /// Bytes for standard input.
    pub stdin: Vec<u8>,
    /// Variables added to the starter's environment. They override variables with the same names.
    pub environment: Vec<(BString, BString)>,
}

/// A file in the scratch directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScratchFile {
    /// Name in the scratch directory.
    pub name: &'static str,
    /// Content of the file.
    pub bytes: Vec<u8>,
}

/// A process run under the job's account: the job itself, PreCmd or PostCmd.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobProcess {
    /// The file to execute.
    pub program: PathBuf,
    /// All arguments, including the first (`argv[0]`).
    pub argv: Vec<BString>,
    /// Complete environment without ancestor markers, as `NAME=value` in byte order.
    pub environment: Vec<BString>,
    /// Working directory.
    pub cwd: PathBuf,
    /// Standard input, output and error.
    pub files: [StandardFile; 3],
    /// Nice value.
    pub nice: i32,
    /// Resource limits.
    pub limits: Vec<ResourceLimit>,
    /// Configuration errors of the limits: a subject and a message. A slot runner reports each subject once for all its
    /// starters.
    pub limit_warnings: Vec<(&'static str, String)>,
    /// Bind mounts: (source below the scratch directory, target). The runner skips those whose target is not a directory.
    pub mounts: Vec<(PathBuf, PathBuf)>,
    /// True if /dev/shm is a private file system.
    pub private_shm: bool,
    /// Isolation of the process: its namespaces and its tracking group.
    pub isolation: ProcessIsolation,
    /// Control group in which the process runs, or `None`.
    pub group: Option<Box<CgroupPlan>>,
    /// Command that error messages name.
    pub command: BString,
    /// Arguments that error messages show: V2 raw syntax, without `argv[0]`.
    pub arguments_shown: BString,
    /// True for PreCmd and PostCmd.
    pub script: bool,
    /// True if the process writes the records of CondorJavaWrapper.
    pub java: bool,
    /// Session of the process: a new session with USE_PROCESS_GROUPS. PreCmd and PostCmd stay in the starter's session;
    /// an interactive shell runs in the foreground of that session.
    pub session: SessionMode,
    /// Reasons why the process cannot be started, found after its standard files were opened. Files that were created
    /// remain.
    pub failures: Vec<StartFailure>,
    /// Account of the process.
    pub account: ProcessAccount,
}

/// Account that a process runs as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProcessAccount {
    /// The account of the job.
    #[default]
    Job,
    /// The account of the daemons, for a process that represents a container run by docker. The standard files of the
    /// process are still the job's, and its environment is the starter's.
    Daemon,
}

/// Source or destination of one of a process's standard files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StandardFile {
    /// `/dev/null`.
    #[default]
    Null,
    /// The starter's own descriptor with the same number.
    Inherited,
    /// A file opened under the job's account.
    Path {
        /// Path of the file; a relative path is resolved in the scratch directory.
        path: PathBuf,
        /// True if an output file is truncated when it is opened.
        truncate: bool,
    },
}

/// Event of the job's own log (`local_user_log.cpp`).
#[derive(Clone, Debug, PartialEq)]
pub enum JobLogEvent {
    /// 001: the job is about to be executed.
    Execute,
    /// 004: the job ended on request.
    Evicted {
        /// Exit of the job.
        exit: Exit,
    },
    /// 005: the job ended by itself.
    Terminated {
        /// Exit of the job.
        exit: Exit,
        /// CPU time in seconds, user and system.
        cpu: (u64, u64),
        /// True if the job left a core file.
        core: bool,
    },
    /// 010: the job was suspended.
    Suspended {
        /// Number of processes in the family.
        processes: u32,
    },
    /// 011: the job was continued.
    Continued,
    /// 021: an error or a message.
    Error {
        /// The error or message.
        failure: StartFailure,
        /// True for an error, false for a message.
        critical: bool,
    },
}

/// Notice to be shown to the user.
#[derive(Clone, Debug, PartialEq)]
pub enum StarterNotice {
    /// A hook was started.
    HookStarted {
        /// Hook type.
        hook: HookType,
        /// Process ID.
        pid: u32,
    },
    /// A hook ended.
    HookEnded {
        /// Hook type.
        hook: HookType,
        /// Exit of the hook.
        exit: Exit,
    },
    /// A hook failed or timed out.
    HookFailed {
        /// Hook type.
        hook: HookType,
        /// Reason for the failure.
        reason: String,
    },
    /// A hook wrote to its standard error.
    HookStderr {
        /// Hook type.
        hook: HookType,
        /// The last part of the text.
        text: String,
    },
    /// The output of a hook was judged.
    Verdict {
        /// Hook type.
        hook: HookType,
        /// The verdict in one or two words.
        verdict: &'static str,
        /// Reason for the verdict.
        reason: String,
    },
    /// The job was started.
    JobStarted {
        /// Process ID.
        pid: u32,
    },
    /// The runtime of the job was chosen.
    RuntimeChosen(Box<RuntimeChoice>),
    /// A container was planned for the job.
    ContainerPlanned(Box<ContainerPlan>),
    /// The job was suspended (true) or continued (false).
    JobSuspended(bool),
    /// The job ended.
    JobEnded {
        /// Exit of the job.
        exit: Exit,
        /// Request that ended the job: `evict`, `remove` or `hold`; `None` if the job ended by itself.
        requested: Option<&'static str>,
    },
    /// The job missed its deferral time; the schedd will hold the job.
    DeferralMissed,
    /// The job was not started.
    NotStarted {
        /// Reason why the job was not started.
        reason: String,
    },
    /// A directory that was to be private to the job was not mounted; the job sees the machine's directory.
    NotMounted {
        /// Directory over which nothing was mounted.
        target: PathBuf,
        /// Reason why the directory was not mounted.
        why: &'static str,
        /// True if the mount comes only from the default of MOUNT_UNDER_SCRATCH.
        is_default: bool,
    },
    /// A warning about anything else.
    Warning(String),
    /// A warning that a slot runner reports once for all its starters.
    WarningOnce {
        /// Subject that identifies the warning.
        subject: &'static str,
        /// Text of the warning.
        reason: String,
    },
    /// HTCondor 25.14 would have behaved differently at this point.
    Quirk {
        /// Quirk of 25.14 that was not imitated.
        quirk: Quirk,
        /// Description of what the starter did instead.
        reason: String,
    },
}
