//! What the machine is told and what it asks for: its whole interface.

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

/// Names a slot for the machine: its number and, for a dynamic slot, its own number below that of its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotKey {
    /// The slot's number, from 1.
    pub number: u32,
    /// Number of a dynamic slot, from 1; 0 for any other.
    pub sub: u32,
}

impl SlotKey {
    /// The key of a slot from the configuration.
    pub fn from_number(number: u32) -> Self {
        SlotKey { number, sub: 0 }
    }
}

/// One call of a hook, from the action that asks for it to the event that ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HookRunId(pub u64);

/// One starter, from the action that asks for it to the event that ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StarterId(pub u64);

/// A fetched job that was accepted, until its starter has ended by itself or EVICT_CLAIM is called for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AcceptedJobId(pub u64);

/// What the machine is told.
#[derive(Clone, Debug)]
pub enum StartdEvent {
    /// The execution point begins. The first event, and only once.
    Start,
    /// Time has passed: whatever is due at `now` is done.
    Tick,
    /// A hook has ended and its output is complete.
    HookEnded {
        /// Which call.
        run: HookRunId,
        /// What it wrote, at most the limit given with it.
        stdout: Vec<u8>,
        /// Whether there was more than the limit.
        cut: bool,
    },
    /// A fetch hook has ended with a job, which was read already.
    JobFetched {
        /// Which call.
        run: HookRunId,
        /// The job.
        ad: Box<ClassAd>,
        /// Jobs of the same number differ in ClusterId, ProcId and QDate alone.
        kind: Option<u32>,
    },
    /// A call of FETCH_WORK ends that was counted only: there may be work now, so it is made, as begun when it was.
    SkippedFetchEnds {
        /// Which.
        slot: SlotKey,
    },
    /// A hook could not be executed.
    HookFailed {
        /// Which call.
        run: HookRunId,
        /// Why, in words.
        reason: String,
    },
    /// A hook was killed because it ran longer than it was allowed to; what it wrote does not count.
    HookTimedOut {
        /// Which call.
        run: HookRunId,
        /// The same in words.
        reason: String,
    },
    /// Cron jobs have published something, or their ads are gone: what is merged into the slots from now on. Policy looks at
    /// it when it is evaluated next.
    CronPublished(Box<CronAds>),
    /// Benchmarks have published something.
    BenchmarksPublished(Box<CronAds>),
    /// What docker's images of jobs take, in MiB; published from now on.
    ImageCacheMeasured(i64),
    /// The machine is awake again.
    Awake {
        /// Why it did not sleep, if so.
        failure: Option<String>,
    },
    /// All benchmarks have ended, or none could be started.
    BenchmarksEnded,
    /// The starter asked for runs. Until this or the next is told all other events wait.
    StarterSpawned {
        /// Which starter.
        starter: StarterId,
        /// Its process id.
        pid: u32,
    },
    /// The starter asked for could not be started.
    StarterFailed {
        /// Which starter.
        starter: StarterId,
        /// Why, in words.
        reason: String,
    },
    /// A starter has ended and its process family is gone.
    StarterExited {
        /// Which starter.
        starter: StarterId,
        /// How it ended.
        exit: Exit,
    },
    /// The starter of a job with a shadow has told how the job ended, and cleans up.
    FinalUpdate {
        /// Which starter.
        starter: StarterId,
    },
    /// A starter has told what has changed in its job's ad; policy sees it from now on.
    JobUpdate {
        /// Which starter.
        starter: StarterId,
        /// The attributes with their new values.
        ad: Box<ClassAd>,
    },
    /// A negotiator, schedd or shadow asks something of a slot.
    Command {
        /// The slot's id string.
        slot: String,
        /// What it is to do.
        command: ClaimCommand,
    },
    /// What was measured; expressions see it from the next evaluation on.
    MeasurementsTaken(Box<Measurements>),
    /// The claim of one slot, or of all, is to be given up: `condor_vacate`.
    Vacate {
        /// The slot's id string; `None` for all.
        slot: Option<String>,
        /// Whether at once, without retirement and vacate time.
        fast: bool,
    },
    /// All jobs are to leave, and nothing new is to come: `condor_drain`.
    Drain(Box<DrainRequest>),
    /// The slots take jobs again: `condor_drain -cancel`.
    CancelDrain {
        /// The number of the request that is meant; whatever is under way without.
        id: Option<String>,
    },
    /// The job of one slot, or of all, is to stop and wait: `condor_suspend`.
    Suspend {
        /// The slot's id string; `None` for all.
        slot: Option<String>,
    },
    /// Suspended jobs go on, whatever CONTINUE says: `condor_continue`.
    Continue {
        /// The slot's id string; `None` for all.
        slot: Option<String>,
    },
    /// The execution point is to end. A second, harder request replaces the first.
    Shutdown(ShutdownMode),
    /// Everything published is brought up to date, as at an update; nothing is decided.
    Refresh,
    /// Whether jobs can be run: why no starter could run one now, or that they can again.
    StarterProblem(Option<String>),
    /// The configuration was read again.
    Reconfigure(Box<StartdSettings>),
}

/// How to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ShutdownMode {
    /// Jobs may run to their end.
    Peaceful,
    /// Jobs have their retirement and vacate time.
    Graceful,
    /// Jobs are killed.
    Fast,
}

/// What the machine asks for.
#[derive(Clone, Debug)]
pub enum StartdAction {
    /// Run a hook. Answered by `HookEnded`, `HookFailed` or `HookTimedOut`.
    RunHook(HookCall),
    /// Run all benchmarks. Answered by `Benchmarked` as they print, and `BenchmarksEnded`.
    RunBenchmarks,
    /// Start a starter. Answered at once by `StarterSpawned` or `StarterFailed`, later by `StarterExited`.
    SpawnStarter(StarterLaunch),
    /// Send a starter a signal.
    SignalStarter {
        /// Which starter.
        starter: StarterId,
        /// What it is to do.
        signal: StarterSignal,
        /// Why it is to end; told before the signal.
        reason: Option<VacateReason>,
    },
    /// A fetched job is accepted. Whoever keeps a journal notes that before anything else of this step is done.
    AcceptJob {
        /// Which.
        accepted: AcceptedJobId,
        /// The slot that it runs in.
        slot: SlotKey,
        /// Its ad in long form.
        ad: Vec<u8>,
    },
    /// An accepted job is given up, and no hook is there to tell its queue.
    GiveUpJob(AcceptedJobId),
    /// Something worth telling.
    Notify(SlotNotice),
    /// The machine is to sleep. Answered by `Woke`.
    Sleep {
        /// How deep.
        state: SleepState,
        /// Whether the machine knows that; else nothing is called, and only the time of it passes.
        known: bool,
    },
    /// The configuration is to be read again, as if somebody had asked for that.
    Reconfigure,
    /// All is done: no starter runs, no claim is held. Hooks that still run may be killed.
    Finished {
        /// Why it ended.
        reason: String,
        /// Whether it is to begin anew.
        restarts: bool,
    },
}

/// The hooks a slot calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SlotHookType {
    /// FETCH_WORK: asks for a job.
    FetchWork,
    /// REPLY_FETCH: tells whether it was accepted.
    ReplyFetch,
    /// EVICT_CLAIM: tells that the claim was given up.
    EvictClaim,
}

impl SlotHookType {
    /// The type's name in knobs.
    pub fn name(self) -> &'static str {
        HookType::from(self).name()
    }
}

/// A hook to be run.
#[derive(Clone, Debug)]
pub struct HookCall {
    /// Names this call.
    pub run: HookRunId,
    /// The slot it is run for.
    pub slot: SlotKey,
    /// Which hook.
    pub hook: SlotHookType,
    /// The path as configured.
    pub path: PathBuf,
    /// Arguments after the path.
    pub arguments: Vec<BString>,
    /// All of its standard input.
    pub stdin: Vec<u8>,
    /// How much of its output is wanted, in bytes; `None` when it is not read at all.
    pub output_limit: Option<usize>,
    /// When it was asked for: in a simulation that may have been before now.
    pub begun: ClockReading,
    /// The accepted job that it tells of.
    pub accepted: Option<AcceptedJobId>,
}

/// A starter to be started.
#[derive(Clone, Debug)]
pub struct StarterLaunch {
    /// Names this starter.
    pub starter: StarterId,
    /// Its slot.
    pub slot: SlotKey,
    /// The arguments after the program's name.
    pub arguments: Vec<BString>,
    /// All of its standard input: the job ad.
    pub stdin: Vec<u8>,
    /// The job as `cluster.proc`, for messages.
    pub job: String,
    /// Where the job's scratch directory is to be made: EXECUTE or `SLOT<N>_EXECUTE`.
    pub execute: Option<PathBuf>,
    /// The slot ad the job was accepted with; `None` with quirk `machine-ad-empty`.
    pub machine_ad: Option<Vec<u8>>,
    /// Whether it runs the backfill client, and no job.
    pub backfill: bool,
    /// The fetched job that it runs.
    pub accepted: Option<AcceptedJobId>,
}

/// What a starter can be told by a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StarterSignal {
    /// SIGTERM: end the job softly.
    Soft,
    /// SIGQUIT: end the job at once.
    Hard,
    /// SIGKILL to the starter and its whole family.
    Kill,
    /// SIGTSTP: stop the job.
    Suspend,
    /// SIGCONT: let it go on.
    Continue,
}

/// Why a job has to leave (codes: `condor_holdcodes.h`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VacateReason {
    /// In words.
    pub text: String,
    /// The code.
    pub code: i32,
    /// The code's refinement.
    pub subcode: i64,
}

impl VacateReason {
    /// A reason without refinement.
    pub fn new(text: &str, code: HoldCode) -> Self {
        VacateReason { text: text.to_owned(), code: code as i32, subcode: 0 }
    }
}

/// What is measured from outside, as policies see it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurements {
    /// Load average of the machine over one minute.
    pub load: f64,
    /// Seconds since the last input at any keyboard; `None` when unknown.
    pub keyboard_idle: Option<i64>,
    /// Seconds since the last input at the console; `None` when unknown.
    pub console_idle: Option<i64>,
    /// The second since the epoch of the last input, where that is known: then it says how long ago that is as time passes.
    pub last_input_at: Option<i64>,
    /// Free space of the execute directory's file system in KiB; `None` keeps what was found at the start.
    pub free_disk: Option<i64>,
    /// Swap and memory together in KiB.
    pub virtual_memory: i64,
    /// The runner's own size in KiB: image, resident.
    pub own_size: [i64; 2],
    /// Share of time the runner itself has used a processor, in percent.
    pub own_cpu: f64,
    /// Processors of the machine; 0 where that is not known.
    pub processors: u32,
    /// What starters use with their jobs, of those that were looked at.
    pub jobs: Vec<JobUsage>,
}

/// What a starter uses with its job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobUsage {
    /// Which.
    pub starter: StarterId,
    /// Percent of one processor since the last look.
    pub percent_cpu: f64,
    /// Virtual size in KiB.
    pub image_kib: i64,
}

/// Something worth telling a user; the runner gives it its form.
#[derive(Clone, Debug, PartialEq)]
pub enum SlotNotice {
    /// A slot has changed.
    StateChanged {
        /// Which.
        slot: SlotKey,
        /// Its new state.
        state: SlotState,
        /// Its new activity.
        activity: Activity,
        /// Why, in words; may be empty.
        reason: String,
    },
    /// What a hook's answer was taken for.
    Verdict {
        /// Which slot.
        slot: SlotKey,
        /// Which hook.
        hook: SlotHookType,
        /// The job, as `cluster.proc`, where there is one.
        job: Option<String>,
        /// `accepted`, `rejected`, `no work` or `bad answer`.
        verdict: &'static str,
        /// Why, in words; may be empty.
        reason: String,
    },
    /// A claim begins or is given up.
    Claim {
        /// Which slot.
        slot: SlotKey,
        /// Its id.
        id: ClaimId,
        /// Whether it begins.
        begins: bool,
        /// Why, in words; may be empty.
        reason: String,
    },
    /// A dynamic slot goes away (`Delete` in the reference's log).
    SlotRemoved {
        /// Which.
        slot: SlotKey,
    },
    /// Something to look at.
    Warning {
        /// The slot it is about.
        slot: Option<SlotKey>,
        /// In words.
        text: String,
    },
    /// The manual's promise was kept where a real pool would not: told once for each quirk.
    Quirk {
        /// The slot it was met in first.
        slot: Option<SlotKey>,
        /// Which.
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

/// `cluster.proc` of a job ad, as its starter names it (`JICLocal::initJobInfo`): what is missing is 1 and 0.
pub fn job_id(ad: &ClassAd, world: &dyn World) -> String {
    let context = Context::new(world).my(ad);
    let number = |name: &str, default: i64| context.int(name).unwrap_or(default);
    format!("{}.{}", number(attr::CLUSTER_ID, 1), number(attr::PROC_ID, 0))
}
