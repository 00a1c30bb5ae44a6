//! What the machine asks for.

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

/// One thing to be done. The runner does them in the order given and reports with the events named.
#[derive(Clone, Debug, PartialEq)]
pub enum StarterAction {
    /// Make the scratch directory of the set-up and these files in it, owned by the job's account; make it the working
    /// directory of the program. Answer: `ScratchMade` or `ScratchFailed`.
    MakeScratch {
        /// The files.
        files: Vec<ScratchFile>,
    },
    /// Open the job's own log and write its visa, as far as the job wants them.
    OpenLog,
    /// Replace a file in the scratch directory. Answer: nothing, or `WriteFailed`.
    WriteFile(ScratchFile),
    /// Start a hook. Answer: `CallStarted` and later `CallEnded`, or `CallFailed`.
    Call(StarterHookCall),
    /// Call the runtime of a container. Answer: `ToolEnded`.
    RunTool(CallId, Box<ToolCall>),
    /// Open the job's standard files with the job's rights and close them again. Answer: `FilesOpened`.
    OpenFiles([StandardFile; 3]),
    /// Make a directory below the scratch directory with the job's rights.
    MakeDirectory {
        /// Which.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// Say to those who clean up after a starter that was killed which container is its own.
    RememberContainer {
        /// The container.
        container: BString,
    },
    /// Say to them which image is being pulled that was not there, and the name that makes it one of ours.
    RememberPull {
        /// The image.
        image: BString,
        /// That name.
        own: BString,
    },
    /// Lay down docker's configuration in the directory for it (answer: `DockerConfig`); `None`: take it away.
    DockerConfig(Option<Vec<u8>>),
    /// Start the job, PreCmd or PostCmd. Answer: `ProcessStarted` and later `ProcessEnded`, or `ProcessFailed`.
    StartProcess(Box<JobProcess>),
    /// Move the job's files. Answer: `Transferred`, unless `AbortTransfer` comes first.
    Transfer(TransferKind),
    /// Give up what is being moved; nothing is reported of it any more.
    AbortTransfer,
    /// Write a file of the manifest into the scratch directory, with the job's rights.
    Manifest {
        /// Its directory there.
        directory: BString,
        /// Its name in that.
        name: &'static str,
        /// What stands in it; `None`: what is in the scratch directory now.
        content: Option<Vec<u8>>,
    },
    /// Measure the job's family. Answer: `Measured`.
    Measure,
    /// Send a signal to the job's own process. One that cannot be sent kills the family.
    SignalJob(i32),
    /// SIGKILL to the job's family.
    KillFamily,
    /// SIGSTOP to the job's family.
    StopFamily,
    /// SIGCONT to the job's family.
    ContinueFamily,
    /// SIGKILL to one hook and its family. Its end is reported as any other, with what it has printed.
    KillCall(CallId),
    /// SIGKILL to all hooks that still run; nothing is reported of them any more.
    KillCalls,
    /// Wake the machine then with `Timeout`; replaces the time asked for before. `None`: never.
    WakeAt(Option<MonotonicTime>),
    /// Replace the file of `-job-update-ad`, if there is one.
    WriteUpdateAd(Vec<u8>),
    /// Append to the file of `-job-output-ad`, if there is one.
    WriteResultAd(Vec<u8>),
    /// An event for the job's own log (`StarterUserLog`).
    Log(JobLogEvent),
    /// Tell the user.
    Report(StarterNotice),
    /// Remove the scratch directory. Answer: `ScratchRemoved`.
    RemoveScratch,
    /// The end: nothing follows.
    Finish {
        /// The status of the program as the reference has it.
        status: u8,
        /// How it stands with the job.
        job_outcome: JobOutcome,
        /// The job's ad with its outcome merged in, as bytes; `None` when the job was not started.
        outcome_ad: Option<Vec<u8>>,
    },
}

/// How a job ended for those who ask the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobOutcome {
    /// The job ran and ended so.
    Ran(Exit),
    /// The job was not started.
    NotStarted,
}

/// Tells calls of hooks apart; never used twice by one machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u32);

/// One call of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StarterHookCall {
    /// Which.
    pub id: CallId,
    /// Type.
    pub hook: HookType,
    /// The path as configured; relative ones lie in the starter's working directory.
    pub path: BString,
    /// Arguments after the path.
    pub arguments: Vec<BString>,
    /// What it reads.
    pub stdin: Vec<u8>,
    /// Variables put over those of the starter.
    pub environment: Vec<(BString, BString)>,
}

/// A file in the scratch directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScratchFile {
    /// Its name there.
    pub name: &'static str,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// A process under the job's account: the job, or a script around it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobProcess {
    /// The file to execute.
    pub program: PathBuf,
    /// All arguments, the first one included.
    pub argv: Vec<BString>,
    /// The whole environment without ancestor markers, `NAME=value` in byte order.
    pub environment: Vec<BString>,
    /// Working directory.
    pub cwd: PathBuf,
    /// Standard input, output and error.
    pub files: [StandardFile; 3],
    /// Nice value.
    pub nice: i32,
    /// Resource limits.
    pub limits: Vec<ResourceLimit>,
    /// What is wrong with the configuration of the limits: a subject, reported once by all starters of a slot runner,
    /// and the line.
    pub limit_warnings: Vec<(&'static str, String)>,
    /// Directories bound over others: (source below the scratch directory, target). Those whose target is no directory
    /// are left out by the runner.
    pub mounts: Vec<(PathBuf, PathBuf)>,
    /// Whether /dev/shm is a new file system of its own.
    pub private_shm: bool,
    /// What it does not share with the machine.
    pub isolation: ProcessIsolation,
    /// The control group that it is to be in.
    pub group: Option<Box<CgroupPlan>>,
    /// What failures name as the command.
    pub command: BString,
    /// What failures show as its arguments: V2 raw, without the first one.
    pub arguments_shown: BString,
    /// Whether it is PreCmd or PostCmd.
    pub script: bool,
    /// Whether it leaves the records of CondorJavaWrapper.
    pub java: bool,
    /// Its session: one of its own (USE_PROCESS_GROUPS); PreCmd and PostCmd stay in the starter's, a shell for a person is in front there.
    pub session: SessionMode,
    /// Why it cannot be started after all, found when its standard files had been opened: they are, and stay.
    pub failures: Vec<StartFailure>,
    /// Whose rights it has.
    pub account: ProcessAccount,
}

/// Whose rights a process has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProcessAccount {
    /// The job's account.
    #[default]
    Job,
    /// The account of daemons: the process stands for a container that docker runs. Its standard files are the job's all
    /// the same, and its environment is the starter's own.
    Daemon,
}

/// One of a process's standard files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StandardFile {
    /// `/dev/null`.
    #[default]
    Null,
    /// The starter's own descriptor of that number.
    Inherited,
    /// A file opened under the job's account.
    Path {
        /// Its path; relative ones lie in the scratch directory.
        path: PathBuf,
        /// Whether an output is emptied first.
        truncate: bool,
    },
}

/// What belongs into the job's own log (`local_user_log.cpp`).
#[derive(Clone, Debug, PartialEq)]
pub enum JobLogEvent {
    /// 001: about to execute.
    Execute,
    /// 004: ended on request.
    Evicted {
        /// Its end.
        exit: Exit,
    },
    /// 005: ended by itself.
    Terminated {
        /// Its end.
        exit: Exit,
        /// Seconds of processor time, user and system.
        cpu: (u64, u64),
        /// A core file was left.
        core: bool,
    },
    /// 010: stopped.
    Suspended {
        /// Processes of the family.
        processes: u32,
    },
    /// 011: continued.
    Continued,
    /// 021: a failure.
    Error {
        /// What failed.
        failure: StartFailure,
        /// False: a message only.
        critical: bool,
    },
}

/// What a user should be told.
#[derive(Clone, Debug, PartialEq)]
pub enum StarterNotice {
    /// A hook runs.
    HookStarted {
        /// Type.
        hook: &'static str,
        /// Process.
        pid: u32,
    },
    /// A hook ended.
    HookEnded {
        /// Type.
        hook: &'static str,
        /// How.
        exit: Exit,
    },
    /// A hook failed or ran too long.
    HookFailed {
        /// Type.
        hook: &'static str,
        /// Why.
        reason: String,
    },
    /// A hook wrote to its standard error.
    HookStderr {
        /// Type.
        hook: &'static str,
        /// What; the end of it.
        text: String,
    },
    /// What the answer of a hook was taken for.
    Verdict {
        /// Type.
        hook: &'static str,
        /// The verdict in a word or two.
        verdict: &'static str,
        /// Why.
        reason: String,
    },
    /// The job runs.
    JobStarted {
        /// Process.
        pid: u32,
    },
    /// What the job is to run in.
    RuntimeChosen(Box<RuntimeChoice>),
    /// The job is put into a container so.
    ContainerPlanned(Box<ContainerPlan>),
    /// The job was stopped or goes on.
    JobSuspended(bool),
    /// The job ended.
    JobEnded {
        /// How.
        exit: Exit,
        /// What had been asked for, if anything: `evict`, `remove`, `hold`.
        requested: Option<&'static str>,
    },
    /// That was since its time had passed, for which its queue holds it.
    DeferralMissed,
    /// The job was not started.
    NotStarted {
        /// Why.
        reason: String,
    },
    /// A directory of the machine that stays what it is though it was to be the job's own.
    NotMounted {
        /// Which.
        target: PathBuf,
        /// Why.
        why: &'static str,
        /// Whether nobody has asked for it but the default.
        is_default: bool,
    },
    /// Anything else worth a look.
    Warning(String),
    /// The same, told once by all starters of a slot runner.
    WarningOnce {
        /// What it is about.
        subject: &'static str,
        /// The line.
        reason: String,
    },
    /// A real pool would have behaved otherwise here.
    Quirk {
        /// Which.
        quirk: Quirk,
        /// What was done instead.
        reason: String,
    },
}
