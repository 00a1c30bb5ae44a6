//! Events and actions of the execution point: its whole interface.

use std::fmt;
use std::path::PathBuf;

use bstr::BString;

use super::claim_command::ClaimCommand;
use super::claim_id::ClaimId;
use super::cron_ads::CronAds;
use super::drain_request::DrainRequest;
use super::settings::StartdSettings;
use super::sleep_state::SleepState;
use super::slot_state::{Activity, SlotState};
use htc_base::job::{HoldCode, attr};
use htc_base::process::Exit;
use htc_base::quirks::Quirk;
use htc_base::time::ClockReading;
use htc_base::world::World;
use htc_classad::{ClassAd, Context};
use htc_hook::HookType;

/// Key of a slot: its number and, for a dynamic slot, its number below its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotKey {
    /// The slot's number, from 1.
    pub number: u32,
    /// Number of a dynamic slot, from 1; 0 for any other.
    pub sub: u32,
}

impl SlotKey {
    /// Returns the key of a slot from the configuration.
    pub fn from_number(number: u32) -> Self {
        SlotKey { number, sub: 0 }
    }
}

/// Id of one hook run, from the action that starts it to the event that ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HookRunId(pub u64);

/// Id of one starter, from the action that starts it to the event that ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StarterId(pub u64);

/// Id of an accepted fetched job, until its starter has exited by itself or EVICT_CLAIM is called for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AcceptedJobId(pub u64);

/// Input of the execution point.
#[derive(Clone, Debug)]
pub enum StartdEvent {
    /// The execution point starts: the first event, sent once.
    Start,
    /// Time has passed: everything due at `now` is done.
    Tick,
    /// A hook has ended and its output is complete.
    HookEnded {
        /// The hook run.
        run: HookRunId,
        /// Its standard output, cut at the limit given with the call.
        stdout: Vec<u8>,
        /// True if the hook printed more than the limit.
        cut: bool,
    },
    /// A fetch hook has ended with a job that was already parsed.
    JobFetched {
        /// The hook run.
        run: HookRunId,
        /// The job.
        ad: Box<ClassAd>,
        /// Number of the job's kind, or `None`. Jobs of the same kind differ only in ClusterId, ProcId and QDate.
        kind: Option<u32>,
    },
    /// A FETCH_WORK call that was only counted ends. There may be work now, so the call is made, with its original start time.
    SkippedFetchEnds {
        /// The slot that called.
        slot: SlotKey,
    },
    /// A hook could not be executed.
    HookFailed {
        /// The hook run.
        run: HookRunId,
        /// Reason, as text.
        reason: String,
    },
    /// A hook was killed after its time-out; its output is ignored.
    HookTimedOut {
        /// The hook run.
        run: HookRunId,
        /// Reason, as text.
        reason: String,
    },
    /// Cron jobs have published something, or their ads were removed: these ads are merged into the slots from now on. Policy
    /// uses them at its next evaluation.
    CronPublished(Box<CronAds>),
    /// Benchmarks have published something.
    BenchmarksPublished(Box<CronAds>),
    /// Disk use of docker's cached job images, in MiB; published from now on.
    ImageCacheMeasured(i64),
    /// The machine has woken up.
    Awake {
        /// Reason why the machine could not sleep, or `None` if it slept.
        failure: Option<String>,
    },
    /// All benchmarks have ended, or none could be started.
    BenchmarksEnded,
    /// The requested starter is running. All other events wait until this event or `StarterFailed`.
    StarterSpawned {
        /// The starter.
        starter: StarterId,
        /// Its process id.
        pid: u32,
    },
    /// The requested starter could not be started.
    StarterFailed {
        /// The starter.
        starter: StarterId,
        /// Reason, as text.
        reason: String,
    },
    /// A starter has ended and its process family is gone.
    StarterExited {
        /// The starter.
        starter: StarterId,
        /// Its exit status.
        exit: Exit,
    },
    /// The starter of a job with a shadow has reported how the job ended, and cleans up.
    FinalUpdate {
        /// The starter.
        starter: StarterId,
    },
    /// A starter has reported changes of its job ad; policy uses them from now on.
    JobUpdate {
        /// The starter.
        starter: StarterId,
        /// The attributes with their new values.
        ad: Box<ClassAd>,
    },
    /// A negotiator, schedd or shadow sends a command to a slot.
    Command {
        /// The slot's id string.
        slot: String,
        /// The command.
        command: ClaimCommand,
    },
    /// New measurements; expressions use them from the next evaluation on.
    MeasurementsTaken(Box<Measurements>),
    /// Release the claim of one slot, or of all: `condor_vacate`.
    Vacate {
        /// Id string of the slot, or `None` for all.
        slot: Option<String>,
        /// True to vacate at once, without retirement and vacate time.
        fast: bool,
    },
    /// Evict all jobs and accept no new ones: `condor_drain`.
    Drain(Box<DrainRequest>),
    /// Accept jobs again: `condor_drain -cancel`.
    CancelDrain {
        /// Id of the drain request to cancel, or `None` for the current one.
        id: Option<String>,
    },
    /// Suspend the job of one slot, or of all: `condor_suspend`.
    Suspend {
        /// Id string of the slot, or `None` for all.
        slot: Option<String>,
    },
    /// Continue suspended jobs, whatever CONTINUE evaluates to: `condor_continue`.
    Continue {
        /// Id string of the slot, or `None` for all.
        slot: Option<String>,
    },
    /// Shut the execution point down. A second, harder request replaces the first.
    Shutdown(ShutdownMode),
    /// Refresh everything published, as at an update; no policy is evaluated.
    Refresh,
    /// Reason why no starter could run a job now, or `None` if jobs can be run again.
    StarterProblem(Option<String>),
    /// The configuration was read again.
    Reconfigure(Box<StartdSettings>),
}

/// Mode of a shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ShutdownMode {
    /// Jobs may run until they finish.
    Peaceful,
    /// Jobs get their retirement and vacate time.
    Graceful,
    /// Jobs are killed.
    Fast,
}

/// Output of the execution point.
#[derive(Clone, Debug)]
pub enum StartdAction {
    /// Run a hook. Answered by `HookEnded`, `HookFailed` or `HookTimedOut`.
    RunHook(HookCall),
    /// Run all benchmarks. Answered by `BenchmarksPublished` as they print, and by `BenchmarksEnded`.
    RunBenchmarks,
    /// Start a starter. Answered at once by `StarterSpawned` or `StarterFailed`, later by `StarterExited`.
    SpawnStarter(StarterLaunch),
    /// Send a starter a signal.
    SignalStarter {
        /// The starter.
        starter: StarterId,
        /// The signal.
        signal: StarterSignal,
        /// Reason for ending the job, or `None`; sent to the starter before the signal.
        reason: Option<VacateReason>,
    },
    /// A fetched job was accepted. A journal must record this before any other action of this step is done.
    AcceptJob {
        /// Id of the accepted job.
        accepted: AcceptedJobId,
        /// Slot where the process runs.
        slot: SlotKey,
        /// The job ad in long form.
        ad: Vec<u8>,
    },
    /// An accepted job is given up, and no hook is configured that could report this to its queue.
    GiveUpJob(AcceptedJobId),
    /// Report something to the user.
    Notify(SlotNotice),
    /// Put the machine to sleep. Answered by `Awake`.
    Sleep {
        /// The sleep state.
        state: SleepState,
        /// True if the machine supports the state; otherwise no command is called, and only the time passes.
        known: bool,
    },
    /// Read the configuration again, as on request.
    Reconfigure,
    /// The execution point has ended: no starter runs and no claim is held. Hooks that still run may be killed.
    Finished {
        /// Reason of the shutdown.
        reason: String,
        /// Action of the parent: restart the execution point, or leave it stopped.
        next: AfterShutdown,
    },
}

/// Continuation after the end of an execution point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AfterShutdown {
    /// A user or daemon requested the end.
    #[default]
    Ends,
    /// The execution point is started again.
    Restarts,
    /// The execution point ended because of its own condition, so its parent must not restart it
    /// (`DaemonCore::beginDaemonShutdown`).
    StaysDown,
}

/// Hook types that a slot calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SlotHookType {
    /// FETCH_WORK: fetches a job.
    FetchWork,
    /// REPLY_FETCH: reports if the job was accepted.
    ReplyFetch,
    /// EVICT_CLAIM: reports that the claim was evicted.
    EvictClaim,
}

impl SlotHookType {
    /// Returns the type's name in parameters.
    pub fn name(self) -> &'static str {
        HookType::from(self).name()
    }
}

/// Hook call to make.
#[derive(Clone, Debug)]
pub struct HookCall {
    /// Id of this run.
    pub run: HookRunId,
    /// Slot for which the process runs.
    pub slot: SlotKey,
    /// The hook type.
    pub hook: SlotHookType,
    /// The path as configured.
    pub path: PathBuf,
    /// Arguments after the path.
    pub arguments: Vec<BString>,
    /// Complete standard input.
    pub stdin: Vec<u8>,
    /// Maximum output to read, in bytes, or `None` if the output is not read.
    pub output_limit: Option<usize>,
    /// Time when the call began: in a simulation that may be before the current time.
    pub begun: ClockReading,
    /// The accepted job that the call is about, or `None`.
    pub accepted: Option<AcceptedJobId>,
}

/// Starter to start.
#[derive(Clone, Debug)]
pub struct StarterLaunch {
    /// Id of this starter.
    pub starter: StarterId,
    /// Slot for which the process runs.
    pub slot: SlotKey,
    /// The arguments after the program's name.
    pub arguments: Vec<BString>,
    /// Complete standard input: the job ad.
    pub stdin: Vec<u8>,
    /// The job as `cluster.proc`, for messages.
    pub job: String,
    /// Parent of the job's scratch directory: EXECUTE or `SLOT<N>_EXECUTE`.
    pub execute: Option<PathBuf>,
    /// Slot ad at the time the job was accepted, or `None` with quirk `machine-ad-empty`.
    pub machine_ad: Option<Vec<u8>>,
    /// True if it runs the backfill client instead of a job.
    pub backfill: bool,
    /// The fetched job that it runs, or `None`.
    pub accepted: Option<AcceptedJobId>,
}

/// Signals for a starter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StarterSignal {
    /// SIGTERM: soft-kill the job.
    Soft,
    /// SIGQUIT: hard-kill the job.
    Hard,
    /// SIGKILL to the starter and its whole family.
    Kill,
    /// SIGTSTP: suspend the job.
    Suspend,
    /// SIGCONT: continue the job.
    Continue,
}

/// Why a job is vacated (codes: `condor_holdcodes.h`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VacateReason {
    /// Reason, as text.
    pub text: String,
    /// Hold code.
    pub code: i32,
    /// Hold subcode.
    pub subcode: i64,
}

impl VacateReason {
    /// Returns a reason with subcode 0.
    pub fn new(text: &str, code: HoldCode) -> Self {
        VacateReason { text: text.to_owned(), code: code as i32, subcode: 0 }
    }
}

/// Measurements of the machine, as policies see them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurements {
    /// Load average of the machine over one minute.
    pub load: f64,
    /// Seconds since the last input at any keyboard, or `None` if unknown.
    pub keyboard_idle: Option<i64>,
    /// Seconds since the last input at the console, or `None` if unknown.
    pub console_idle: Option<i64>,
    /// Time of the last input in epoch seconds, or `None` if unknown. With it, the idle time grows between two measurements.
    pub last_input_at: Option<i64>,
    /// Free space of the execute directory's file system in KiB; `None` keeps the value measured at the start.
    pub free_disk: Option<i64>,
    /// Swap and memory together in KiB.
    pub virtual_memory: i64,
    /// The runner's own image size and resident set size, in KiB.
    pub own_size: [i64; 2],
    /// CPU use of the runner itself, in percent.
    pub own_cpu: f64,
    /// Number of processors of the machine, or 0 if unknown.
    pub processors: u32,
    /// Resource use of starters with their jobs, for the starters that were measured.
    pub jobs: Vec<JobUsage>,
}

/// Resource use of a starter with its job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobUsage {
    /// The starter.
    pub starter: StarterId,
    /// Percent of one processor since the last measurement.
    pub percent_cpu: f64,
    /// Virtual size in KiB.
    pub image_kib: i64,
}

/// Cause of a change of a slot's state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChangeCause {
    /// The job was to retire when it began to run.
    InRetirement,
    /// The retirement of the job has ended.
    RetirementEnded,
    /// There was no job that could retire.
    NothingToRetire,
    /// A suspended job continues in retirement, because a better claim waits.
    ContinuedInRetirement,
    /// Any other cause.
    #[default]
    Other,
}

/// Report for a user; the runner formats it.
#[derive(Clone, Debug, PartialEq)]
pub enum SlotNotice {
    /// A slot has changed its state or activity.
    StateChanged {
        /// The slot.
        slot: SlotKey,
        /// Its new state.
        state: SlotState,
        /// Its new activity.
        activity: Activity,
        /// Reason, as text; may be empty.
        reason: String,
        /// Cause of the change, as far as it matters to those who count changes.
        cause: ChangeCause,
    },
    /// Classification of a hook's output.
    Verdict {
        /// The slot.
        slot: SlotKey,
        /// The hook type.
        hook: SlotHookType,
        /// The job as `cluster.proc`, or `None`.
        job: Option<String>,
        /// `accepted`, `rejected`, `no work` or `bad answer`.
        verdict: &'static str,
        /// Reason, as text; may be empty.
        reason: String,
    },
    /// A claim begins or is released.
    Claim {
        /// The slot.
        slot: SlotKey,
        /// Id of the claim.
        id: ClaimId,
        /// True if the claim begins.
        begins: bool,
        /// Reason, as text; may be empty.
        reason: String,
    },
    /// A dynamic slot is removed (`Delete` in the reference's log).
    SlotRemoved {
        /// The slot.
        slot: SlotKey,
    },
    /// Warning.
    Warning {
        /// Slot that the message is about, or `None`.
        slot: Option<SlotKey>,
        /// Text of the warning.
        text: String,
    },
    /// The manual was followed where a real pool differs: reported once for each quirk.
    Quirk {
        /// The first slot in which the quirk occurred, or `None`.
        slot: Option<SlotKey>,
        /// The quirk.
        quirk: Quirk,
    },
}

impl From<SlotHookType> for HookType {
    fn from(hook: SlotHookType) -> Self {
        match hook {
            SlotHookType::FetchWork => HookType::FetchWork,
            SlotHookType::ReplyFetch => HookType::ReplyFetch,
            SlotHookType::EvictClaim => HookType::EvictClaim,
        }
    }
}

impl fmt::Display for SlotHookType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns the `cluster.proc` of a job ad, as its starter names it (`JICLocal::initJobInfo`): a missing cluster is 1, a missing
/// proc 0.
pub fn job_id(ad: &ClassAd, world: &dyn World) -> String {
    let context = Context::new(world).my(ad);
    let number = |name: &str, default: i64| context.int(name).unwrap_or(default);
    format!("{}.{}", number(attr::CLUSTER_ID, 1), number(attr::PROC_ID, 0))
}
