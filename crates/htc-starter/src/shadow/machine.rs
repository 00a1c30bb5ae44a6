//! The machine: its state and its one entrance.

use bstr::BString;

use super::event::{Event, Why};
use htc_base::job::attr;
use htc_base::quirks::Quirks;
use htc_base::time::{Now, Tick};
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Expr};
use htc_hook::Knobs;
use htc_user_log::Body;

/// How long a job is run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Until it leaves the queue, or is held and nothing will release it.
    Done,
    /// Until it is held, or leaves the queue.
    Held,
    /// As often at most.
    Runs(u32),
}

/// SHADOW_PREPARE_JOB as it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// The path as configured.
    pub path: BString,
    /// Words behind it.
    pub arguments: Vec<BString>,
}

/// What a machine is made from.
pub struct Setup<'w> {
    /// What expressions are evaluated in; its clock is not used.
    pub world: &'w dyn World,
    /// Deviations.
    pub quirks: Quirks,
    /// The configuration, for policies of the system.
    pub knobs: &'w dyn Knobs,
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
    pub hook: Option<Hook>,
    /// How long it is run again.
    pub until: Until,
    /// PERIODIC_EXPR_INTERVAL, in seconds; none or less: no periodic policy.
    pub interval: i64,
    /// Whether somebody can release the job when it is held.
    pub controlled: bool,
    /// The group of PrimaryUnixGroup, where its owner is not in it.
    pub no_group: Option<BString>,
    /// Whether there is no shadow, but a schedd whose own universe the job is of: its starter writes the log.
    pub local: bool,
    /// Whether a job that has to leave is asked softly (GRACEFULLY_REMOVE_JOBS); its own WantGracefulRemoval goes before.
    pub graceful: bool,
    /// Whether the job's log cannot be opened, without which it is not run.
    pub no_log: bool,
}

/// What the starter is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
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
pub enum Action {
    /// An event for the job's log.
    Log(Box<Body>),
    /// One beside which the ad is told as it was before the rest of the step.
    LogBefore(Box<Body>, Box<ClassAd>),
    /// Call SHADOW_PREPARE_JOB with the ad as it is. Answer: `HookEnded`.
    Call(Hook),
    /// Have a starter run the job.
    Run(Box<ClassAd>),
    /// Ask the starter.
    Ask(Ask),
    /// Ask it for the job's end at once, without a soft signal before.
    AskAtOnce(Ask),
    /// Wake the machine then; replaces the time asked for before.
    WakeAt(Option<Tick>),
    /// Tell the user.
    Tell(String),
    /// It is over; the job as the queue has it.
    Finish(Box<ClassAd>),
}

/// Where the job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    New,
    Hook,
    Running,
    /// Idle for a moment, before it is run again.
    Idle {
        until: Tick,
    },
    /// Held; policies may release it.
    Held,
    Finished,
}

/// What is to become of the job when the starter has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// A policy holds it.
    Hold(Why),
    /// A policy removes it.
    Remove(BString),
    /// Somebody removes it, for this reason and with this code of its eviction.
    RemoveEvicted { reason: BString, code: i64 },
    /// It is sent back.
    Vacate(Why),
    /// The starter told of an error.
    Failed(Why),
}

/// What counts in one run of the job alone.
#[derive(Default)]
pub(super) struct Run {
    /// When its slot became the job's.
    pub(super) started: Option<Now>,
    /// When the job began to run; of one that went on after a checkpoint when it did.
    pub(super) executing: Option<i64>,
    /// When its process ended.
    pub(super) exited: Option<i64>,
    pub(super) fate: Option<Fate>,
    /// Whether it was sent back at once.
    pub(super) deaf: bool,
    /// The code of a critical error, which ends a shadow at once: what its starter says later nobody hears (`pseudo_ulog`).
    pub(super) gone: Option<i64>,
    /// By which protocol files could not be moved (LastFileTransferErrorProtocol).
    pub(super) protocol: Option<String>,
    /// What 006 told last: image, memory and resident set.
    pub(super) image: Option<(i64, Option<i64>, Option<i64>)>,
    /// Bytes that the job received and sent.
    pub(super) received: u64,
    pub(super) sent: u64,
    /// Processor seconds that its starter told of: of the kernel and of the job.
    pub(super) used: [i64; 2],
    /// The most that it told of the scratch directory: DiskUsage, ScratchDirFileCount.
    pub(super) space: [i64; 2],
    /// When the job wrote its last checkpoint.
    pub(super) checkpoint: Option<i64>,
    /// The number of starts in the ad that the starter has: without this one.
    pub(super) starts_before: Option<Expr>,
    /// How the job ended, as far as its starter has told.
    pub(super) end: ClassAd,
    /// Whether the starter told the shadow itself of that end.
    pub(super) heard_end: bool,
    /// What was moved in earlier runs: TransferInputStats and TransferOutputStats.
    pub(super) moved: [ClassAd; 2],
}

impl Run {
    /// One that begins.
    pub(super) fn new(moved: [ClassAd; 2]) -> Self {
        // That there are no files is news, that they take no room is none.
        Run { space: [0, -1], moved, ..Run::default() }
    }
}

/// The machine of one job.
pub struct Shadow<'w> {
    pub(super) setup: Setup<'w>,
    /// The job as the queue has it.
    pub(super) ad: ClassAd,
    /// What is other in the ad of this run.
    pub(super) given: ClassAd,
    pub(super) phase: Phase,
    pub(super) runs: u32,
    /// Runs that came to nothing, one after the other.
    pub(super) vain: u32,
    pub(super) this_run: Run,
}

impl<'w> Shadow<'w> {
    /// A machine that has not begun.
    pub fn new(mut setup: Setup<'w>) -> Self {
        Shadow {
            ad: std::mem::take(&mut setup.ad),
            setup,
            given: ClassAd::new(),
            phase: Phase::New,
            runs: 0,
            vain: 0,
            this_run: Run::default(),
        }
    }

    /// The job as the queue has it.
    pub fn ad(&self) -> &ClassAd {
        &self.ad
    }

    /// The job as it is handed to this run: with what stands for references to its slot.
    pub fn given(&self) -> ClassAd {
        let mut ad = self.ad.clone();
        ad.update(&self.given);
        ad
    }

    /// One thing happened; what is to be done.
    pub fn step(&mut self, now: Now, event: Event) -> Vec<Action> {
        let mut out = Vec::new();
        match event {
            Event::Begin => self.begin(now, &mut out),
            Event::HookEnded(answer) => self.hook_ended(now, answer, &mut out),
            Event::Transfer(way) => self.transfer(now, way, &mut out),
            Event::Transferred(done) => self.transferred(now, &done, &mut out),
            Event::Executing(scratch) => self.executing(now, &scratch, &mut out),
            Event::Updated(update) => {
                self.updated(&update, &mut out);
                self.policy_after_update(now, &mut out);
            }
            Event::Known(update) => self.updated(&update, &mut out),
            Event::JobEnded => self.job_ended(now),
            Event::Suspended(processes) => self.suspended(now, Some(processes), &mut out),
            Event::Continued => self.suspended(now, None, &mut out),
            Event::Error { why, critical } => self.error(why, critical, &mut out),
            Event::Ended(end) => self.ended(now, end, &mut out),
            Event::Ordered(order) => self.ordered(now, order, &mut out),
            Event::Timeout => self.timeout(now, &mut out),
        }
        out
    }

    /// The job as it is in the queue, for its own expressions.
    pub(super) fn context(&self) -> Context<'_> {
        Context::new(self.setup.world).my(&self.ad)
    }

    pub(super) fn int(&self, name: &str) -> Option<i64> {
        self.context().int(name)
    }

    pub(super) fn string(&self, name: &str) -> Option<BString> {
        self.context().string(name)
    }

    /// One more of something that is counted.
    pub(super) fn count(&mut self, name: &str) {
        let count = self.int(name).unwrap_or(0).saturating_add(1);
        self.ad.set(name, count);
    }

    pub(super) fn log(body: Body, out: &mut Vec<Action>) {
        out.push(Action::Log(Box::new(body)));
    }

    pub(super) fn finish(&mut self, out: &mut Vec<Action>) {
        self.phase = Phase::Finished;
        out.push(Action::Finish(Box::new(self.ad.clone())));
    }

    /// The job's state, and since when.
    pub(super) fn set_status(&mut self, now: Now, status: i64) {
        if let Some(last) = self.int(attr::JOB_STATUS).filter(|last| *last != status) {
            self.ad.set("LastJobStatus", last);
        }
        self.ad.set(attr::JOB_STATUS, status);
        self.ad.set("EnteredCurrentStatus", now.epoch());
    }
}
