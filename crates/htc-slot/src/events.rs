//! Events and actions of the execution point, which are its whole interface.

use std::fmt;
use std::path::PathBuf;

use bstr::BString;

use super::change_reason::ChangeReason;
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

/// Key of a slot: its number, and for a dynamic slot its number within the partitionable slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotKey {
    /// Number of the slot, from 1. A dynamic slot has the number of its partitionable slot.
    pub number: u32,
    /// Number of a dynamic slot within its partitionable slot, from 1; 0 for any other slot.
    pub sub: u32,
}

impl SlotKey {
    /// Returns the key of a slot that is not dynamic.
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

/// Id of an accepted fetched job. It is valid until the job's starter has exited by itself or EVICT_CLAIM is called for the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AcceptedJobId(pub u64);

/// Input of the execution point.
#[derive(Clone, Debug)]
pub enum StartdEvent {
    /// The execution point starts. This is the first event, and is sent once.
    Start,
    /// Time has passed: the execution point does everything that is due.
    Tick,
    /// A hook has ended and its output is complete.
    HookEnded {
        /// Id of the hook run.
        run: HookRunId,
        /// Standard output of the hook, cut at [`HookCall::output_limit`].
        stdout: Vec<u8>,
        /// True if the hook printed more than the limit.
        cut: bool,
    },
    /// A fetch hook has ended with a job that was already parsed.
    JobFetched {
        /// Id of the hook run.
        run: HookRunId,
        /// Ad of the fetched job.
        ad: Box<ClassAd>,
        /// Number of the job's kind, or `None` if unknown. Jobs of the same kind differ only in ClusterId, ProcId and QDate.
        kind: Option<u32>,
    },
    /// A FETCH_WORK call that was only counted ends, and there may be work now. The hook is called after all, with the start time
    /// of the counted call.
    SkippedFetchEnds {
        /// Slot of the counted call.
        slot: SlotKey,
    },
    /// A hook could not be executed.
    HookFailed {
        /// Id of the hook run.
        run: HookRunId,
        /// Reason for the failure, as text.
        reason: String,
    },
    /// A hook was killed after its timeout; its output is ignored.
    HookTimedOut {
        /// Id of the hook run.
        run: HookRunId,
        /// Reason for the timeout, as text.
        reason: String,
    },
    /// Cron jobs have published attributes, or their ads were removed. These ads are merged into the slot ads from now on, and
    /// policies use them at their next evaluation.
    CronPublished(Box<CronAds>),
    /// Benchmarks have published results.
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
    /// The requested starter is running. After a request for a starter, all other events wait until this event or
    /// `StarterFailed`.
    StarterSpawned {
        /// Id of the starter.
        starter: StarterId,
        /// Process id of the starter.
        pid: u32,
    },
    /// The requested starter could not be started.
    StarterFailed {
        /// Id of the starter.
        starter: StarterId,
        /// Reason for the failure, as text.
        reason: String,
    },
    /// A starter has ended, and so have all processes of its family.
    StarterExited {
        /// Id of the starter.
        starter: StarterId,
        /// Exit status of the starter.
        exit: Exit,
    },
    /// The starter of a job with a shadow has reported how the job ended, and now cleans up.
    FinalUpdate {
        /// Id of the starter.
        starter: StarterId,
    },
    /// A starter has reported changes of its job ad. Policies use the new values from now on.
    JobUpdate {
        /// Id of the starter.
        starter: StarterId,
        /// The changed attributes with their new values.
        ad: Box<ClassAd>,
    },
    /// A negotiator, a schedd or a shadow sends a command to a slot.
    Command {
        /// Id string of the slot.
        slot: String,
        /// Command for the slot.
        command: ClaimCommand,
    },
    /// The machine was measured. Expressions use these measurements from the next evaluation on.
    MeasurementsTaken(Box<Measurements>),
    /// Release the claim of one slot, or of all slots: `condor_vacate`.
    Vacate {
        /// Id string of the slot, or `None` for all slots.
        slot: Option<String>,
        /// True to kill the job at once, without retirement and vacate time.
        fast: bool,
    },
    /// Evict all jobs and accept no new ones: `condor_drain`.
    Drain(Box<DrainRequest>),
    /// Accept jobs again: `condor_drain -cancel`.
    CancelDrain {
        /// Id of the drain request to cancel, or `None` for the current one.
        id: Option<String>,
    },
    /// Suspend the job of one slot, or of all slots: `condor_suspend`.
    Suspend {
        /// Id string of the slot, or `None` for all slots.
        slot: Option<String>,
    },
    /// Continue suspended jobs even if CONTINUE is not true: `condor_continue`.
    Continue {
        /// Id string of the slot, or `None` for all slots.
        slot: Option<String>,
    },
    /// Shut the execution point down. A later request with a faster mode replaces an earlier one.
    Shutdown(ShutdownMode),
    /// Refresh all published attributes as at an update, without evaluating any policy.
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
    /// Run a hook. The answer is `HookEnded`, `HookFailed` or `HookTimedOut`.
    RunHook(HookCall),
    /// Run all benchmarks. The answers are `BenchmarksPublished` when they print results, and `BenchmarksEnded`.
    RunBenchmarks,
    /// Start a starter. The answer is `StarterSpawned` or `StarterFailed` at once, and `StarterExited` later.
    SpawnStarter(StarterLaunch),
    /// Send a signal to a starter.
    SignalStarter {
        /// Id of the starter.
        starter: StarterId,
        /// The signal to send.
        signal: StarterSignal,
        /// Reason for ending the job, or `None`. It is sent to the starter before the signal.
        reason: Option<VacateReason>,
    },
    /// A fetched job was accepted. The runner must write this to its journal before it carries out any other action of this step.
    AcceptJob {
        /// Id of the accepted job.
        accepted: AcceptedJobId,
        /// Slot in which the job will run.
        slot: SlotKey,
        /// The job ad in long form.
        ad: Vec<u8>,
    },
    /// An accepted job is given up, and no EVICT_CLAIM hook is configured that could report this to the job's queue.
    GiveUpJob(AcceptedJobId),
    /// Report something to the user.
    Notify(SlotNotice),
    /// Put the machine to sleep. The answer is `Awake`.
    Sleep {
        /// Sleep state to enter.
        state: SleepState,
        /// True if the machine supports the state; otherwise the runner calls no command, and only waits.
        known: bool,
    },
    /// Read the configuration again, as `condor_reconfig` does.
    Reconfigure,
    /// The execution point has ended: no starter runs and no claim is held. Hooks that are still running may be killed.
    Finished {
        /// Reason for the shutdown, as text.
        reason: String,
        /// Action of the parent process after the end.
        next: AfterShutdown,
    },
}

/// Action of the parent process after an execution point has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AfterShutdown {
    /// The execution point ends because a user or a daemon requested it.
    #[default]
    Ends,
    /// The parent starts the execution point again.
    Restarts,
    /// The execution point ended because one of its own conditions, such as DAEMON_SHUTDOWN, was true, so its parent
    /// must not start it again (`DaemonCore::beginDaemonShutdown`).
    StaysDown,
}

/// Hook types that a slot calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SlotHookType {
    /// FETCH_WORK: fetches a job.
    FetchWork,
    /// REPLY_FETCH: reports to the queue whether the job was accepted.
    ReplyFetch,
    /// EVICT_CLAIM: reports to the queue that the claim was evicted.
    EvictClaim,
}

impl SlotHookType {
    /// Returns the name of the hook type in parameters.
    pub fn name(self) -> &'static str {
        HookType::from(self).name()
    }
}

/// Hook call to make.
#[derive(Clone, Debug)]
pub struct HookCall {
    /// Id of this hook run.
    pub run: HookRunId,
    /// Slot that calls the hook.
    pub slot: SlotKey,
    /// Type of the hook.
    pub hook: SlotHookType,
    /// Path of the hook as configured.
    pub path: PathBuf,
    /// Command-line arguments of the hook.
    pub arguments: Vec<BString>,
    /// Standard input of the hook.
    pub stdin: Vec<u8>,
    /// Maximum number of bytes of output to read, or `None` if the output is not read.
    pub output_limit: Option<usize>,
    /// Time when the call began. In a simulation, this may be before the current time.
    pub begun: ClockReading,
    /// Accepted job that the call is about, or `None`.
    pub accepted: Option<AcceptedJobId>,
}

/// Start request for a starter.
#[derive(Clone, Debug)]
pub struct StarterLaunch {
    /// Id of this starter.
    pub starter: StarterId,
    /// Slot in which the starter runs.
    pub slot: SlotKey,
    /// Command-line arguments of the starter.
    pub arguments: Vec<BString>,
    /// Standard input of the starter: the job ad.
    pub stdin: Vec<u8>,
    /// The job as `cluster.proc`, for messages.
    pub job: String,
    /// Parent of the job's scratch directory: EXECUTE or `SLOT<N>_EXECUTE`.
    pub execute: Option<PathBuf>,
    /// Slot ad at the time the job was accepted, or `None` with quirk `machine-ad-empty`.
    pub machine_ad: Option<Vec<u8>>,
    /// True if the starter runs the backfill client instead of a job.
    pub backfill: bool,
    /// Fetched job that the starter runs, or `None` for any other job.
    pub accepted: Option<AcceptedJobId>,
}

/// Signals for a starter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StarterSignal {
    /// SIGTERM: soft-kill the job.
    Soft,
    /// SIGQUIT: hard-kill the job.
    Hard,
    /// SIGKILL to the starter and all processes of its family.
    Kill,
    /// SIGTSTP: suspend the job.
    Suspend,
    /// SIGCONT: continue the job.
    Continue,
}

/// Reason for vacating a job (codes: `condor_holdcodes.h`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VacateReason {
    /// Text of the reason.
    pub text: String,
    /// Hold reason code.
    pub code: i32,
    /// Hold reason subcode.
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
    /// Time of the last input in epoch seconds, or `None` if unknown. Idle times between two measurements are computed from it.
    pub last_input_at: Option<i64>,
    /// Free space of the execute directory's file system in KiB, or `None` to keep the value measured at the start.
    pub free_disk: Option<i64>,
    /// Swap and memory together in KiB.
    pub virtual_memory: i64,
    /// Image size and resident set size of the runner process itself, in KiB.
    pub own_size: [i64; 2],
    /// CPU use of the runner itself, in percent.
    pub own_cpu: f64,
    /// Number of processors of the machine, or 0 if unknown.
    pub processors: u32,
    /// Resource use of each starter with its job, as far as it was measured.
    pub jobs: Vec<JobUsage>,
}

/// Resource use of a starter with its job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobUsage {
    /// Id of the starter.
    pub starter: StarterId,
    /// CPU use since the last measurement, in percent of one processor.
    pub percent_cpu: f64,
    /// Virtual memory size in KiB.
    pub image_kib: i64,
}

/// Cause of a change of a slot's state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChangeCause {
    /// The job begins to run in a slot that is already retiring.
    InRetirement,
    /// The retirement of the job has ended.
    RetirementEnded,
    /// The slot was to retire, but had no job.
    NothingToRetire,
    /// A suspended job continues in retirement, because a better claim waits.
    ContinuedInRetirement,
    /// Any cause not listed.
    #[default]
    Other,
}

/// Report for the user, which the runner formats.
#[derive(Clone, Debug, PartialEq)]
pub enum SlotNotice {
    /// A slot has changed its state or activity.
    StateChanged {
        /// Key of the slot.
        slot: SlotKey,
        /// New state of the slot.
        state: SlotState,
        /// New activity of the slot.
        activity: Activity,
        /// Reason for the change.
        reason: ChangeReason,
        /// Cause of the change, for simulations that count changes by cause.
        cause: ChangeCause,
    },
    /// The output of a hook was classified.
    Verdict {
        /// Key of the slot.
        slot: SlotKey,
        /// Type of the hook.
        hook: SlotHookType,
        /// The job as `cluster.proc`, or `None`.
        job: Option<String>,
        /// `accepted`, `rejected`, `no work` or `bad answer`.
        verdict: &'static str,
        /// Reason for the verdict, as text; may be empty.
        reason: String,
    },
    /// A claim has begun or was released.
    Claim {
        /// Key of the slot.
        slot: SlotKey,
        /// Id of the claim.
        id: ClaimId,
        /// True if the claim has begun, false if it was released.
        begins: bool,
        /// Reason, as text; may be empty.
        reason: String,
    },
    /// A dynamic slot is removed (`Delete` in the reference's log).
    SlotRemoved {
        /// Key of the slot.
        slot: SlotKey,
    },
    /// Warning for the user.
    Warning {
        /// Slot that the message is about, or `None`.
        slot: Option<SlotKey>,
        /// Text of the warning.
        text: String,
    },
    /// A [`ClaimCommand`](super::ClaimCommand), a drain or a suspension was refused.
    Refusal {
        /// Slot that the command was for, or `None`.
        slot: Option<SlotKey>,
        /// Reason for the refusal.
        text: String,
    },
    /// The manual was followed in a case where a real pool behaves differently. Sent once for each quirk.
    Quirk {
        /// The first slot in which the quirk occurred, or `None`.
        slot: Option<SlotKey>,
        /// The quirk that was not reproduced.
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

/// Returns the id of a job ad as `cluster.proc`, as its starter computes it (`JICLocal::initJobInfo`): a missing cluster is 1, a
/// missing proc is 0.
pub fn job_id(ad: &ClassAd, world: &dyn World) -> String {
    let context = Context::new(world).my(ad);
    let number = |name: &str, default: i64| context.int(name).unwrap_or(default);
    format!("{}.{}", number(attr::CLUSTER_ID, 1), number(attr::PROC_ID, 0))
}
