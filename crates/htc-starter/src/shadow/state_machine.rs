//! The shadow's state machine: its state and its single entry point, `Shadow::step`.

use bstr::BString;

use super::event::{HoldOrVacateReason, ShadowEvent};
use htc_base::job::attr;
use htc_base::quirks::QuirkMode;
use htc_base::time::{ClockReading, MonotonicTime};
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Expr};
use htc_hook::ParameterSource;
use htc_hook::transfer::TransferClass;
use htc_user_log::EventBody;

/// Limit on the number of times that a job is run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunLimit {
    /// The job is run again until it leaves the queue, or is held and nothing can release it.
    UntilDone,
    /// The job is run again until it is held or leaves the queue.
    UntilHeld,
    /// The job is run at most this number of times.
    Runs(u32),
}

/// SHADOW_PREPARE_JOB: path and arguments of the hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShadowHook {
    /// Path of the hook as configured.
    pub path: BString,
    /// Arguments after the path.
    pub arguments: Vec<BString>,
}

/// Inputs of a `Shadow`.
pub struct ShadowSetup<'w> {
    /// World in which expressions are evaluated. Its clock is not used.
    pub world: &'w dyn World,
    /// Selection of the quirks of 25.14 to reproduce.
    pub quirks: QuirkMode,
    /// Configuration of the system policies (SYSTEM_PERIODIC_*).
    pub parameters: &'w dyn ParameterSource,
    /// Job ad in the state of the queue.
    pub ad: ClassAd,
    /// Name of the slot, such as `slot1@host`.
    pub slot: BString,
    /// Slot ad, or `None` if there is no slot.
    pub slot_ad: Option<ClassAd>,
    /// Hostname of this machine.
    pub host: String,
    /// Text used in place of network addresses.
    pub address: BString,
    /// SHADOW_PREPARE_JOB, or `None` if the hook is not configured.
    pub hook: Option<ShadowHook>,
    /// Limit on the number of times that the job is run again.
    pub run_limit: RunLimit,
    /// PERIODIC_EXPR_INTERVAL in seconds; periodic policies are disabled if it is 0 or less.
    pub interval: i64,
    /// True if a user can release the job when it is held.
    pub controlled: bool,
    /// PrimaryUnixGroup of the job, if its owner is not a member of this group.
    pub missing_group: Option<BString>,
    /// True if the job runs in the local universe: there is no shadow, and the starter writes the event log.
    pub local: bool,
    /// GRACEFULLY_REMOVE_JOBS: true if a job that is removed is ended gracefully. WantGracefulRemoval of the job takes
    /// precedence.
    pub graceful: bool,
    /// True if the job's event log cannot be opened. The job is then not run.
    pub log_unavailable: bool,
}

/// Reason for which the starter is asked to end the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobEndRequest {
    /// The job is held.
    Hold,
    /// The job is removed.
    Remove,
    /// The job is vacated.
    Vacate,
    /// The local-universe job is requeued.
    Requeue,
}

/// Kind of a record in the history of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunRecordKind {
    /// The shadow has started.
    Spawn,
    /// The run has ended.
    End,
}

/// Record of a transfer in the history of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct TransferRecord {
    /// Class of the transfer.
    pub class: TransferClass,
    /// Ad with the calls and results of the plugins in the transfer.
    pub transfer: ClassAd,
    /// The job ad, some of whose attributes are copied to the record.
    pub job: ClassAd,
}

/// Action that the shadow requests from its runner.
#[derive(Clone, Debug, PartialEq)]
pub enum ShadowAction {
    /// Write an event to the job's event log.
    Log(Box<EventBody>),
    /// Write an event together with the job ad from before the rest of the step.
    LogBefore(Box<EventBody>, Box<ClassAd>),
    /// Call SHADOW_PREPARE_JOB with the current ad. Answer: `HookEnded`.
    CallHook(ShadowHook),
    /// Start a starter for this job ad.
    RunStarter(Box<ClassAd>),
    /// Ask the starter to end the job.
    RequestEnd(JobEndRequest),
    /// Ask the starter to end the job immediately, without a soft signal first.
    RequestEndAtOnce(JobEndRequest),
    /// Send `Timeout` at this time, instead of at any time requested earlier.
    WakeAt(Option<MonotonicTime>),
    /// Report a message to the user.
    Report(String),
    /// Record the job ad in the history of runs.
    RecordRun(RunRecordKind, Box<ClassAd>),
    /// Record a transfer in the history of runs.
    RecordTransfer(Box<TransferRecord>),
    /// Exit. Contains the job ad in the state of the queue.
    Finish(Box<ClassAd>),
}

/// Phase of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShadowPhase {
    New,
    Hook,
    Running,
    /// The job is idle for a short time, after which it is run again.
    Idle {
        until: MonotonicTime,
    },
    /// The job is held; a policy may release it.
    Held,
    Finished,
}

/// Outcome that the job has when the starter has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PendingOutcome {
    /// A policy holds the job.
    Hold(HoldOrVacateReason),
    /// A policy removes the job.
    Remove(BString),
    /// A user removes the job. Contains the reason, and the code for the eviction.
    RemoveEvicted { reason: BString, code: i64 },
    /// The job is vacated.
    Vacate(HoldOrVacateReason),
    /// The starter reported an error.
    Failed(HoldOrVacateReason),
}

/// State that belongs to the current run of the job only.
#[derive(Default)]
pub(super) struct CurrentRun {
    /// Time at which the job got its slot.
    pub(super) started: Option<ClockReading>,
    /// Time at which the job began to execute, in seconds since 1970; not changed when the job resumes from a
    /// checkpoint.
    pub(super) executing: Option<i64>,
    /// Time at which the job's process ended, in seconds since 1970.
    pub(super) exited: Option<i64>,
    pub(super) pending_outcome: Option<PendingOutcome>,
    /// True if the job was vacated without waiting for its exit.
    pub(super) vacated_without_exit: bool,
    /// Code of a critical error. A shadow exits immediately after such an error and ignores what its starter reports
    /// later (`pseudo_ulog`).
    pub(super) critical_error_code: Option<i64>,
    /// Protocol of the file transfer that failed (LastFileTransferErrorProtocol).
    pub(super) failed_protocol: Option<String>,
    /// Values in the last event 006: image size, memory usage and resident set size.
    pub(super) image: Option<(i64, Option<i64>, Option<i64>)>,
    /// Number of bytes that the job received in this run.
    pub(super) received: u64,
    pub(super) sent: u64,
    /// CPU seconds that the starter reported: in kernel mode and in user mode.
    pub(super) cpu_seconds: [i64; 2],
    /// Largest values of DiskUsage and ScratchDirFileCount that the starter reported.
    pub(super) peak_disk: [i64; 2],
    /// Time of the job's last checkpoint, in seconds since 1970.
    pub(super) checkpoint: Option<i64>,
    /// Value of NumJobStarts in the starter's copy of the job ad, which does not count the current start.
    pub(super) starts_before: Option<Expr>,
    /// Attributes of the job's exit that the starter has reported so far.
    pub(super) end: ClassAd,
    /// True if the starter itself reported the end of the job to the shadow.
    pub(super) end_reported: bool,
    /// Transfer statistics of earlier runs: TransferInputStats and TransferOutputStats.
    pub(super) earlier_transfers: [ClassAd; 2],
}

impl CurrentRun {
    /// Returns the state at the beginning of a run. `moved` are the transfer statistics of earlier runs.
    pub(super) fn new(moved: [ClassAd; 2]) -> Self {
        // An initial ScratchDirFileCount of 0 is published, but an initial DiskUsage of 0 is not.
        CurrentRun { peak_disk: [0, -1], earlier_transfers: moved, ..CurrentRun::default() }
    }
}

/// State machine of the shadow of one job.
pub struct Shadow<'w> {
    pub(super) setup: ShadowSetup<'w>,
    /// Job ad in the state of the queue.
    pub(super) ad: ClassAd,
    /// Attributes whose values in this run's copy of the job ad differ from the queue.
    pub(super) run_overrides: ClassAd,
    pub(super) phase: ShadowPhase,
    pub(super) runs: u32,
    /// Number of consecutive runs that failed.
    pub(super) failed_runs: u32,
    pub(super) this_run: CurrentRun,
}

impl<'w> Shadow<'w> {
    /// Creates a state machine that waits for `ShadowEvent::Begin`.
    pub fn new(mut setup: ShadowSetup<'w>) -> Self {
        Shadow {
            ad: std::mem::take(&mut setup.ad),
            setup,
            run_overrides: ClassAd::new(),
            phase: ShadowPhase::New,
            runs: 0,
            failed_runs: 0,
            this_run: CurrentRun::default(),
        }
    }

    /// Returns the job ad in the state of the queue.
    pub fn ad(&self) -> &ClassAd {
        &self.ad
    }

    /// Returns the job ad for this run, in which references to slot attributes are replaced by their values.
    pub fn run_ad(&self) -> ClassAd {
        let mut ad = self.ad.clone();
        ad.update(&self.run_overrides);
        ad
    }

    /// Processes an event and returns the actions to perform.
    pub fn step(&mut self, now: ClockReading, event: ShadowEvent) -> Vec<ShadowAction> {
        let mut out = Vec::new();
        match event {
            ShadowEvent::Begin => self.begin(now, &mut out),
            ShadowEvent::HookEnded(answer) => self.on_hook_ended(now, answer, &mut out),
            ShadowEvent::Transfer(way) => self.on_transfer_started(now, way, &mut out),
            ShadowEvent::Transferred(done) => self.on_transferred(now, &done, &mut out),
            ShadowEvent::Reconnected => self.on_reconnected(&mut out),
            ShadowEvent::Executing(scratch) => self.on_executing(now, &scratch, &mut out),
            ShadowEvent::Updated(update) => {
                self.on_updated(&update, &mut out);
                self.evaluate_policy_after_update(now, &mut out);
            }
            ShadowEvent::AttributesKnown(update) => self.on_updated(&update, &mut out),
            ShadowEvent::JobEnded => self.on_job_ended(now),
            ShadowEvent::Suspended(processes) => {
                self.on_suspended_or_continued(now, Some(processes), &mut out)
            }
            ShadowEvent::Continued => self.on_suspended_or_continued(now, None, &mut out),
            ShadowEvent::Error { why, critical } => self.on_starter_error(why, critical, &mut out),
            ShadowEvent::Ended(end) => self.on_starter_ended(now, end, &mut out),
            ShadowEvent::UserRequested(order) => self.on_user_request(now, order, &mut out),
            ShadowEvent::Timeout => self.on_timeout(now, &mut out),
        }
        out
    }

    /// Returns a context in which expressions of the queued job ad can be evaluated.
    pub(super) fn job_context(&self) -> Context<'_> {
        Context::new(self.setup.world).my(&self.ad)
    }

    pub(super) fn job_int(&self, name: &str) -> Option<i64> {
        self.job_context().int(name)
    }

    pub(super) fn job_string(&self, name: &str) -> Option<BString> {
        self.job_context().string(name)
    }

    /// Adds 1 to a counter attribute of the job ad.
    pub(super) fn increment(&mut self, name: &str) {
        let count = self.job_int(name).unwrap_or(0).saturating_add(1);
        self.ad.set(name, count);
    }

    pub(super) fn log(body: EventBody, out: &mut Vec<ShadowAction>) {
        out.push(ShadowAction::Log(Box::new(body)));
    }

    pub(super) fn finish(&mut self, out: &mut Vec<ShadowAction>) {
        self.phase = ShadowPhase::Finished;
        out.push(ShadowAction::Finish(Box::new(self.ad.clone())));
    }

    /// Sets JobStatus, and records the previous status and the time of the change.
    pub(super) fn set_status(&mut self, now: ClockReading, status: i64) {
        if let Some(last) = self.job_int(attr::JOB_STATUS).filter(|last| *last != status) {
            self.ad.set("LastJobStatus", last);
        }
        self.ad.set(attr::JOB_STATUS, status);
        self.ad.set("EnteredCurrentStatus", now.epoch());
    }
}
