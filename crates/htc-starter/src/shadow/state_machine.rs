//! The machine: its state and its one entrance.

use bstr::BString;

use super::event::{HoldOrVacateReason, ShadowEvent};
use htc_base::job::attr;
use htc_base::quirks::QuirkMode;
use htc_base::time::{ClockReading, MonotonicTime};
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Expr};
use htc_hook::ParameterSource;
use htc_user_log::EventBody;

/// How long a job is run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunLimit {
    /// Until it leaves the queue, or is held and nothing will release it.
    UntilDone,
    /// Until it is held, or leaves the queue.
    UntilHeld,
    /// As often at most.
    Runs(u32),
}

/// SHADOW_PREPARE_JOB as it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShadowHook {
    /// The path as configured.
    pub path: BString,
    /// Words behind it.
    pub arguments: Vec<BString>,
}

/// What a machine is made from.
pub struct ShadowSetup<'w> {
    /// What expressions are evaluated in; its clock is not used.
    pub world: &'w dyn World,
    /// Deviations.
    pub quirks: QuirkMode,
    /// The configuration, for policies of the system.
    pub knobs: &'w dyn ParameterSource,
    /// The job as it is in the queue.
    pub ad: ClassAd,
    /// Name of the slot, such as `slot1@host`.
    pub slot: BString,
    /// Its ad, if there is one.
    pub slot_ad: Option<ClassAd>,
    /// Name of this machine.
    pub host: String,
    /// What stands for addresses.
    pub address: BString,
    /// SHADOW_PREPARE_JOB, if there is one.
    pub hook: Option<ShadowHook>,
    /// How long it is run again.
    pub run_limit: RunLimit,
    /// PERIODIC_EXPR_INTERVAL, in seconds; none or less: no periodic policy.
    pub interval: i64,
    /// Whether somebody can release the job when it is held.
    pub controlled: bool,
    /// The group of PrimaryUnixGroup, where its owner is not in it.
    pub missing_group: Option<BString>,
    /// Whether there is no shadow, but a schedd whose own universe the job is of: its starter writes the log.
    pub local: bool,
    /// Whether a job that has to leave is asked softly (GRACEFULLY_REMOVE_JOBS); its own WantGracefulRemoval goes before.
    pub graceful: bool,
    /// Whether the job's log cannot be opened, without which it is not run.
    pub log_unavailable: bool,
}

/// What the starter is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobEndRequest {
    /// The job is held.
    Hold,
    /// It is removed.
    Remove,
    /// It goes back.
    Vacate,
    /// It goes back into the queue of the schedd whose own universe it is of.
    Requeue,
}

/// One thing to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum ShadowAction {
    /// An event for the job's log.
    Log(Box<EventBody>),
    /// One beside which the ad is told as it was before the rest of the step.
    LogBefore(Box<EventBody>, Box<ClassAd>),
    /// Call SHADOW_PREPARE_JOB with the ad as it is. Answer: `HookEnded`.
    CallHook(ShadowHook),
    /// Have a starter run the job.
    RunStarter(Box<ClassAd>),
    /// Ask the starter.
    RequestEnd(JobEndRequest),
    /// Ask it for the job's end at once, without a soft signal before.
    RequestEndAtOnce(JobEndRequest),
    /// Wake the machine then; replaces the time asked for before.
    WakeAt(Option<MonotonicTime>),
    /// Tell the user.
    Report(String),
    /// It is over; the job as the queue has it.
    Finish(Box<ClassAd>),
}

/// Where the job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShadowPhase {
    New,
    Hook,
    Running,
    /// Idle for a moment, before it is run again.
    Idle {
        until: MonotonicTime,
    },
    /// Held; policies may release it.
    Held,
    Finished,
}

/// What is to become of the job when the starter has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PendingFate {
    /// A policy holds it.
    Hold(HoldOrVacateReason),
    /// A policy removes it.
    Remove(BString),
    /// Somebody removes it, for this reason and with this code of its eviction.
    RemoveEvicted { reason: BString, code: i64 },
    /// It is sent back.
    Vacate(HoldOrVacateReason),
    /// The starter told of an error.
    Failed(HoldOrVacateReason),
}

/// What counts in one run of the job alone.
#[derive(Default)]
pub(super) struct CurrentRun {
    /// When its slot became the job's.
    pub(super) started: Option<ClockReading>,
    /// When the job began to run; of one that went on after a checkpoint when it did.
    pub(super) executing: Option<i64>,
    /// When its process ended.
    pub(super) exited: Option<i64>,
    pub(super) fate: Option<PendingFate>,
    /// Whether it was sent back at once.
    pub(super) sent_back_at_once: bool,
    /// The code of a critical error, which ends a shadow at once: what its starter says later nobody hears (`pseudo_ulog`).
    pub(super) critical_error_code: Option<i64>,
    /// By which protocol files could not be moved (LastFileTransferErrorProtocol).
    pub(super) failed_protocol: Option<String>,
    /// What 006 told last: image, memory and resident set.
    pub(super) image: Option<(i64, Option<i64>, Option<i64>)>,
    /// Bytes that the job received and sent.
    pub(super) received: u64,
    pub(super) sent: u64,
    /// Processor seconds that its starter told of: of the kernel and of the job.
    pub(super) cpu_seconds: [i64; 2],
    /// The most that it told of the scratch directory: DiskUsage, ScratchDirFileCount.
    pub(super) peak_disk: [i64; 2],
    /// When the job wrote its last checkpoint.
    pub(super) checkpoint: Option<i64>,
    /// The number of starts in the ad that the starter has: without this one.
    pub(super) starts_before: Option<Expr>,
    /// How the job ended, as far as its starter has told.
    pub(super) end: ClassAd,
    /// Whether the starter told the shadow itself of that end.
    pub(super) end_reported: bool,
    /// What was moved in earlier runs: TransferInputStats and TransferOutputStats.
    pub(super) earlier_transfers: [ClassAd; 2],
}

impl CurrentRun {
    /// One that begins.
    pub(super) fn new(moved: [ClassAd; 2]) -> Self {
        // That there are no files is news, that they take no room is none.
        CurrentRun { peak_disk: [0, -1], earlier_transfers: moved, ..CurrentRun::default() }
    }
}

/// The machine of one job.
pub struct Shadow<'w> {
    pub(super) setup: ShadowSetup<'w>,
    /// The job as the queue has it.
    pub(super) ad: ClassAd,
    /// What is other in the ad of this run.
    pub(super) run_overrides: ClassAd,
    pub(super) phase: ShadowPhase,
    pub(super) runs: u32,
    /// Runs that came to nothing, one after the other.
    pub(super) failed_runs: u32,
    pub(super) this_run: CurrentRun,
}

impl<'w> Shadow<'w> {
    /// A machine that has not begun.
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

    /// The job as the queue has it.
    pub fn ad(&self) -> &ClassAd {
        &self.ad
    }

    /// The job as it is handed to this run: with what stands for references to its slot.
    pub fn run_ad(&self) -> ClassAd {
        let mut ad = self.ad.clone();
        ad.update(&self.run_overrides);
        ad
    }

    /// One thing happened; what is to be done.
    pub fn step(&mut self, now: ClockReading, event: ShadowEvent) -> Vec<ShadowAction> {
        let mut out = Vec::new();
        match event {
            ShadowEvent::Begin => self.begin(now, &mut out),
            ShadowEvent::HookEnded(answer) => self.on_hook_ended(now, answer, &mut out),
            ShadowEvent::Transfer(way) => self.on_transfer_started(now, way, &mut out),
            ShadowEvent::Transferred(done) => self.on_transferred(now, &done, &mut out),
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

    /// The job as it is in the queue, for its own expressions.
    pub(super) fn job_context(&self) -> Context<'_> {
        Context::new(self.setup.world).my(&self.ad)
    }

    pub(super) fn job_int(&self, name: &str) -> Option<i64> {
        self.job_context().int(name)
    }

    pub(super) fn job_string(&self, name: &str) -> Option<BString> {
        self.job_context().string(name)
    }

    /// One more of something that is counted.
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

    /// The job's state, and since when.
    pub(super) fn set_status(&mut self, now: ClockReading, status: i64) {
        if let Some(last) = self.job_int(attr::JOB_STATUS).filter(|last| *last != status) {
            self.ad.set("LastJobStatus", last);
        }
        self.ad.set(attr::JOB_STATUS, status);
        self.ad.set("EnteredCurrentStatus", now.epoch());
    }
}
