//! A claim: the right to use a slot, and the job that is run under it (`claim.cpp`).

use std::time::Duration;

use bstr::{BStr, BString, ByteSlice};

use crate::claim_command::ClaimRequest;
use crate::claim_id::ClaimId;
use crate::events::{AcceptedJobId, StarterId, VacateReason};
use htc_base::quirks::{Quirk, QuirkDecision, QuirkMode};
use htc_base::time::{ClockReading, MonotonicTime};
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Value};

/// How a claim came to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ClaimKind {
    /// Offered to schedds; nobody has taken it.
    #[default]
    Offered,
    /// Made for fetched work.
    Fetched,
    /// Taken by a schedd.
    Requested,
}

/// What a claim does; only time in Running and Suspended is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ClaimPhase {
    #[default]
    Unclaimed,
    Idle,
    Running,
    Suspended,
    Vacating,
    Killing,
}

/// How far the end of a starter was driven, and when the next step comes (`Starter.cpp`, timers).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StarterEnding {
    NotEnding,
    Soft { until: MonotonicTime },
    Hard { until: MonotonicTime },
}

/// A starter that was asked for and has not ended.
#[derive(Clone, Debug)]
pub(crate) struct ClaimStarter {
    pub id: StarterId,
    /// Absent until it is known to run.
    pub pid: Option<u32>,
    pub ending: StarterEnding,
}

/// Seconds counted in one activation, or in the whole life of a claim.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RunTimes {
    pub run: i64,
    pub suspend: i64,
}

/// The accounting group that a match was made in.
#[derive(Clone, Debug)]
struct NegotiatedGroup {
    group: BString,
    auto_regroups: bool,
}

/// What was known of the present job when it was started.
#[derive(Clone, Debug)]
struct Activation {
    universe: i64,
    job_id: Option<(i64, i64)>,
    global_job_id: Option<BString>,
    /// In epoch seconds.
    begun: i64,
}

/// A fetched job: its end is told to EVICT_CLAIM.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FetchedJob {
    pub accepted: AcceptedJobId,
    /// What it is known by among many.
    pub fingerprint: Option<u64>,
    /// Whether its starter was killed, so that its queue was told nothing.
    pub starter_killed: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Claim {
    pub id: ClaimId,
    pub kind: ClaimKind,
    pub phase: ClaimPhase,
    phase_since: i64,
    /// When it was first claimed, on the clock that never jumps.
    pub claimed_at: Option<ClockReading>,
    pub rank: f64,
    /// The job that is run; none while idle.
    pub job: Option<ClassAd>,
    /// The job run last: what EVICT_CLAIM gets.
    pub latest_job: Option<ClassAd>,
    pub starter: Option<ClaimStarter>,
    activation: Option<Activation>,
    job_times: RunTimes,
    claim_times: RunTimes,
    pub activations: u64,
    pub may_unretire: bool,
    /// Whether another job may be run under it when the present one is done.
    pub may_reactivate: bool,
    /// Of one that waits: whether RANK speaks for it; else its user's priority does.
    pub outranks_current: bool,
    pub preempt_was_true: bool,
    pub retire_peacefully: bool,
    pub vacate_reason: Option<VacateReason>,
    /// MachineMaxVacateTime as it was when the job started, in seconds.
    pub max_vacate_time: i64,
    user: BString,
    owner: BString,
    accounting_group: BString,
    schedd: BString,
    host: BString,
    negotiated: Option<NegotiatedGroup>,
    num_pids: i64,
    /// Seconds; renewed at every third of it while a job runs.
    pub lease: i64,
    /// Whether anybody renews it: not if the first job says StartdSendsAlives = false or StarterHandlesAlives = false.
    pub lease_renewed: bool,
    /// When the job that runs, or ran last, was started: renewals are counted from there.
    activated_at: Option<ClockReading>,
    pub lease_ends: Option<MonotonicTime>,
    /// The fetched job that it was given last.
    pub fetched_job: Option<FetchedJob>,
}

impl Claim {
    pub(crate) fn new(id: ClaimId, kind: ClaimKind, now: ClockReading) -> Self {
        Claim {
            id,
            kind,
            phase_since: now.epoch(),
            may_unretire: true,
            may_reactivate: true,
            outranks_current: true,
            lease: 1200,
            lease_renewed: true,
            ..Claim::default()
        }
    }

    /// Is taken by a schedd for its job.
    pub(crate) fn accept_request(&mut self, request: ClaimRequest, rank: f64, world: &dyn World) {
        let ClaimRequest { job, lease, schedd, host, preempts: _ } = request;
        let context = Context::new(world).my(&job);
        self.owner = context.string("User").unwrap_or_default();
        self.user = self.owner.clone();
        self.accounting_group = context.string("AccountingGroup").unwrap_or_default();
        self.negotiated = context.string("RemoteNegotiatingGroup").map(|group| NegotiatedGroup {
            group,
            auto_regroups: context.boolean("RemoteAutoregroup").unwrap_or(false),
        });
        (self.schedd, self.host, self.kind) = (schedd, host, ClaimKind::Requested);
        self.set_job(job, rank, world);
        // The lease of the job counts from its activation on.
        self.lease = lease;
    }

    /// Is taken by a schedd and waits for the end of another claim (`loadAccountingInfo`).
    pub(crate) fn accept_waiting_request(&mut self, request: ClaimRequest, rank: f64, world: &dyn World) {
        let owner = Context::new(world).my(&request.job).string("Owner");
        self.accept_request(request, rank, world);
        self.owner = owner.unwrap_or_default();
        // Which schedd it is, is kept of immediate claims alone.
        self.schedd = BString::default();
    }

    /// Has waited long enough (`accept_request_claim`).
    pub(crate) fn end_wait(&mut self) {
        if self.kind == ClaimKind::Requested {
            self.owner = self.user.clone();
        }
    }

    /// Takes a fetched job.
    pub(crate) fn set_job(&mut self, job: ClassAd, rank: f64, world: &dyn World) {
        let context = Context::new(world).my(&job);
        if let Some(lease) = context.int("JobLeaseDuration") {
            self.lease = lease;
        }
        if self.claimed_at.is_none() {
            // Looked up once, when the claim begins (`startLeaseTimer`).
            let not_false = |name| context.boolean(name) != Some(false);
            self.lease_renewed = not_false("StartdSendsAlives") && not_false("StarterHandlesAlives");
        }
        self.latest_job = Some(job.clone());
        self.job = Some(job);
        self.rank = rank;
    }

    /// The universe of the job that runs.
    pub(crate) fn universe(&self) -> Option<i64> {
        Some(self.activation.as_ref()?.universe)
    }

    /// The fetched job that it was given last.
    pub(crate) fn accepted_job(&self) -> Option<AcceptedJobId> {
        self.fetched_job.map(|job| job.accepted)
    }

    /// Whether a starter runs under it.
    pub(crate) fn is_active(&self) -> bool {
        self.starter.is_some()
    }

    pub(crate) fn change_phase(&mut self, phase: ClaimPhase, now: ClockReading) {
        if self.phase == phase {
            return;
        }
        let (run, suspend) = self.current_phase_times(now);
        for times in [&mut self.job_times, &mut self.claim_times] {
            times.run += run;
            times.suspend += suspend;
        }
        if self.phase == ClaimPhase::Unclaimed && self.claimed_at.is_none() {
            self.claimed_at = Some(now);
        }
        self.phase = phase;
        self.phase_since = now.epoch();
    }

    /// Seconds of the present phase not yet in the totals.
    fn current_phase_times(&self, now: ClockReading) -> (i64, i64) {
        let passed = (now.epoch() - self.phase_since).max(0);
        match self.phase {
            ClaimPhase::Running => (passed, 0),
            ClaimPhase::Suspended => (0, passed),
            _ => (0, 0),
        }
    }

    /// Seconds the present job has run; suspended time is not counted.
    pub(crate) fn job_run_time(&self, now: ClockReading) -> i64 {
        self.job_times.run + self.current_phase_times(now).0
    }

    /// Seconds since the slot was claimed with it.
    pub(crate) fn age(&self, now: ClockReading) -> i64 {
        self.claimed_at.map_or(0, |begun| (now.epoch() - begun.epoch()).max(0))
    }

    /// A job is started (`beginActivation`). `pledged` is the machine's MachineMaxVacateTime with this job.
    pub(crate) fn begin_activation(
        &mut self,
        now: ClockReading,
        pledged: i64,
        owner_follows: bool,
        world: &dyn World,
    ) {
        let Some(job) = &self.job else { return };
        let job = Context::new(world).my(job);
        job.string("User").into_iter().for_each(|user| self.user = user);
        job.string("AccountingGroup").into_iter().for_each(|group| self.accounting_group = group);
        if (self.owner.is_empty() || owner_follows)
            && let Some(owner) = job.string("Owner")
        {
            self.owner = owner;
        }
        self.activations += 1;
        self.activated_at = Some(now);
        self.max_vacate_time = pledged;
        self.activation = Some(Activation {
            universe: job.int("JobUniverse").unwrap_or(5),
            job_id: job.int("ClusterId").zip(job.int("ProcId")),
            global_job_id: job.string("GlobalJobId"),
            begun: now.epoch(),
        });
        self.num_pids = 0;
    }

    /// The starter has ended (`starterExited`, `resetClaim`): all that belongs to one job goes.
    pub(crate) fn end_activation(&mut self, now: ClockReading) {
        self.change_phase(ClaimPhase::Idle, now);
        self.starter = None;
        self.job = None;
        self.activation = None;
        self.job_times = RunTimes::default();
        self.may_unretire = true;
        self.preempt_was_true = false;
    }

    /// In Claimed the user goes back to who holds the claim (`Resource::starterExited`).
    pub(crate) fn reset_user_to_owner(&mut self) {
        self.user = self.owner.clone();
    }

    /// Puts the claim's attributes into a slot ad (`Claim::publish`).
    pub(crate) fn publish(&self, ad: &mut ClassAd, now: ClockReading) {
        ad.set("CurrentRank", self.rank);
        let text = |ad: &mut ClassAd, name: &str, value: &BString| {
            if !value.is_empty() {
                ad.set(name, Value::from(value.clone()));
            }
        };
        text(ad, "RemoteScheddName", &self.schedd);
        text(ad, "ClientMachine", &self.host);
        if let Some(negotiated) = &self.negotiated {
            ad.set("RemoteNegotiatingGroup", Value::from(negotiated.group.clone()));
            ad.set("RemoteAutoregroup", negotiated.auto_regroups);
        }
        text(ad, "RemoteUser", &self.user);
        text(ad, "RemoteOwner", &self.owner);
        if !self.accounting_group.is_empty() {
            ad.set("AccountingGroup", Value::from(self.qualified_group()));
        }
        ad.set("NumPids", self.num_pids);
        if let Some(Activation { job_id, global_job_id, begun, .. }) = &self.activation {
            if let Some((cluster, proc)) = job_id.filter(|(cluster, proc)| *cluster > 0 && *proc >= 0) {
                ad.set("JobId", Value::from(BString::from(format!("{cluster}.{proc}"))));
            }
            if let Some(id) = global_job_id {
                ad.set("GlobalJobId", Value::from(id.clone()));
            }
            ad.set("JobStart", *begun);
        }
        if self.is_active() {
            // Until its processes have been measured.
            ad.set("ImageSize", 0i64);
            ad.set("CpusUsage", 0.0);
        }
        let (run, suspend) = self.current_phase_times(now);
        for (name, seconds) in [
            ("TotalJobRunTime", self.job_times.run + run),
            ("TotalJobSuspendTime", self.job_times.suspend + suspend),
            ("TotalClaimRunTime", self.claim_times.run + run),
            ("TotalClaimSuspendTime", self.claim_times.suspend + suspend),
        ] {
            if seconds > 0 {
                ad.set(name, seconds);
            }
        }
    }

    /// Puts what is known of a waiting claim into a slot ad (`publishPreemptingClaim`).
    pub(crate) fn publish_as_preempting(&self, ad: &mut ClassAd) {
        if self.user.is_empty() {
            for name in ["PreemptingRank", "PreemptingOwner", "PreemptingUser", "PreemptingAccountingGroup"] {
                ad.remove(name);
            }
            return;
        }
        ad.set("PreemptingRank", self.rank);
        ad.set("PreemptingUser", Value::from(self.user.clone()));
        if !self.owner.is_empty() {
            ad.set("PreemptingOwner", Value::from(self.owner.clone()));
        }
        if !self.accounting_group.is_empty() {
            ad.set("PreemptingAccountingGroup", Value::from(self.qualified_group()));
        }
    }

    /// The accountant wants the group with the domain of the user.
    fn qualified_group(&self) -> BString {
        let mut group = self.accounting_group.clone();
        if let Some(at) = self.user.rfind_byte(b'@') {
            group.extend_from_slice(&self.user[at..]);
        }
        group
    }

    /// Whether a job is killed whose lease has no length, or which says that nobody renews it; `None` for others.
    pub(crate) fn lease_kill_decision(&self, quirks: QuirkMode) -> Option<QuirkDecision> {
        let lacks = self.lease <= 0 || !self.lease_renewed;
        lacks.then(|| quirks.decide(Quirk::EmptyLeaseKills))
    }

    /// Whether the lease of a claim that a schedd holds goes on while its job runs; `None` for others.
    pub(crate) fn busy_lease_decision(&self, quirks: QuirkMode) -> Option<QuirkDecision> {
        (self.kind == ClaimKind::Requested && self.lease > 0).then(|| quirks.decide(Quirk::BusyLeaseRenewed))
    }

    /// When an idle claim ends for lack of anybody who renews it: a third of the lease passes between renewals, which
    /// begin with each job and come only while it runs (`alive`, `sendAlive`). Where jobs are not killed for it they come whatever
    /// the job says of them.
    pub(crate) fn idle_lease_expiry(&self, now: ClockReading, quirks: QuirkMode) -> Option<MonotonicTime> {
        let activated = self.activated_at?;
        let lease = Duration::from_secs(u64::try_from(self.lease).unwrap_or(0));
        if !self.lease_renewed && self.lease_kill_decision(quirks).is_some_and(|kills| kills.as_reference) {
            return Some(activated.monotonic().plus(lease));
        }
        let third = Duration::from_secs(u64::try_from(self.lease / 3).unwrap_or(0));
        if third.is_zero() {
            // Renewed again and again while the job ran.
            return Some(now.monotonic().plus(lease));
        }
        let passed = now.monotonic().since(activated.monotonic());
        let renewals = u32::try_from(passed.as_micros() / third.as_micros()).unwrap_or(u32::MAX);
        Some(activated.monotonic().plus(third.saturating_mul(renewals)).plus(lease))
    }
}

/// Bytes as they are, for messages.
pub(crate) fn lossy_text(bytes: &[u8]) -> String {
    BStr::new(bytes).to_string()
}
