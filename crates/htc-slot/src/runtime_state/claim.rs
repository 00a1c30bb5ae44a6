//! Claim: the right to use a slot, and the job that runs under it (`claim.cpp`).

use std::time::Duration;

use bstr::{BStr, BString, ByteSlice};

use crate::claim_command::ClaimRequest;
use crate::claim_id::ClaimId;
use crate::events::{AcceptedJobId, StarterId, VacateReason};
use htc_base::quirks::{Quirk, QuirkDecision, QuirkMode};
use htc_base::time::{ClockReading, MonotonicTime};
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Value};

/// Origin of a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ClaimKind {
    /// The claim is offered to schedds, but no schedd has requested it.
    #[default]
    Offered,
    /// The claim was made for a fetched job.
    Fetched,
    /// A schedd has requested the claim.
    Requested,
}

/// Phase of a claim. Only the time in Running and Suspended is counted.
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

/// Stage of ending a starter, with the time of the next stage (`Starter.cpp`, timers).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StarterEnding {
    NotEnding,
    Soft { until: MonotonicTime },
    Hard { until: MonotonicTime },
}

/// Starter that was requested and has not exited.
#[derive(Clone, Debug)]
pub(crate) struct ClaimStarter {
    pub id: StarterId,
    /// Process id, or `None` until the starter is known to run.
    pub pid: Option<u32>,
    pub ending: StarterEnding,
}

/// Seconds that were counted in one activation, or in the whole claim.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RunSeconds {
    pub run: i64,
    pub suspend: i64,
}

/// Accounting group of a match.
#[derive(Clone, Debug)]
struct NegotiatedGroup {
    group: BString,
    auto_regroups: bool,
}

/// Attributes of the current job, as of its start.
#[derive(Clone, Debug)]
struct Activation {
    universe: i64,
    job_id: Option<(i64, i64)>,
    global_job_id: Option<BString>,
    /// Start time in epoch seconds.
    begun: i64,
}

/// Fetched job that runs under a claim. EVICT_CLAIM is called when it ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FetchedJob {
    pub accepted: AcceptedJobId,
    /// Fingerprint of the job's identity, or `None` if not computed.
    pub fingerprint: Option<u64>,
    /// True if the job's starter was killed, so that the starter could not report the end to the queue.
    pub starter_killed: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Claim {
    pub id: ClaimId,
    pub kind: ClaimKind,
    pub phase: ClaimPhase,
    phase_since: i64,
    /// Time when the claim was first claimed, or `None`.
    pub claimed_at: Option<ClockReading>,
    pub rank: f64,
    /// The running job, or `None` if the claim is idle.
    pub job: Option<ClassAd>,
    /// The last job, which is input of EVICT_CLAIM, or `None`.
    pub latest_job: Option<ClassAd>,
    pub starter: Option<ClaimStarter>,
    activation: Option<Activation>,
    job_times: RunSeconds,
    claim_times: RunSeconds,
    pub activations: u64,
    pub may_unretire: bool,
    /// True if another job may run under the claim after the current one.
    pub may_reactivate: bool,
    /// For a waiting claim: true if it preempts the current claim by RANK, false if by user priority.
    pub outranks_current: bool,
    pub preempt_was_true: bool,
    pub retire_peacefully: bool,
    pub vacate_reason: Option<VacateReason>,
    /// MachineMaxVacateTime at the start of the job, in seconds.
    pub max_vacate_time: i64,
    user: BString,
    owner: BString,
    accounting_group: BString,
    schedd: BString,
    host: BString,
    negotiated: Option<NegotiatedGroup>,
    num_pids: i64,
    /// Lease in seconds. While a job runs, the lease is renewed every third of this time.
    pub lease: i64,
    /// True if the lease is renewed. It is not if the first job has StartdSendsAlives = false or StarterHandlesAlives = false.
    pub lease_renewed: bool,
    /// Time when the current or last job was started, from which lease renewals are counted.
    activated_at: Option<ClockReading>,
    pub lease_ends: Option<MonotonicTime>,
    /// The last fetched job, or `None`.
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

    /// Records a schedd's request for the claim, with its job.
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
        // The job's own lease applies only after activation.
        self.lease = lease;
    }

    /// Records a schedd's request for a claim that waits until another claim ends (`loadAccountingInfo`).
    pub(crate) fn accept_waiting_request(&mut self, request: ClaimRequest, rank: f64, world: &dyn World) {
        let owner = Context::new(world).my(&request.job).string("Owner");
        self.accept_request(request, rank, world);
        self.owner = owner.unwrap_or_default();
        // 25.14 records the name of the schedd only for claims that do not wait.
        self.schedd = BString::default();
    }

    /// Makes a waiting claim the current one, after the previous claim has ended (`accept_request_claim`).
    pub(crate) fn end_wait(&mut self) {
        if self.kind == ClaimKind::Requested {
            self.owner = self.user.clone();
        }
    }

    /// Sets the claim's job.
    pub(crate) fn set_job(&mut self, job: ClassAd, rank: f64, world: &dyn World) {
        let context = Context::new(world).my(&job);
        if let Some(lease) = context.int("JobLeaseDuration") {
            self.lease = lease;
        }
        if self.claimed_at.is_none() {
            // These attributes are read once, when the claim begins (`startLeaseTimer`).
            let not_false = |name| context.boolean(name) != Some(false);
            self.lease_renewed = not_false("StartdSendsAlives") && not_false("StarterHandlesAlives");
        }
        self.latest_job = Some(job.clone());
        self.job = Some(job);
        self.rank = rank;
    }

    /// Returns the universe of the running job.
    pub(crate) fn universe(&self) -> Option<i64> {
        Some(self.activation.as_ref()?.universe)
    }

    /// Returns the id of the last fetched job.
    pub(crate) fn accepted_job(&self) -> Option<AcceptedJobId> {
        self.fetched_job.map(|job| job.accepted)
    }

    /// True if a starter runs under the claim.
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

    /// Returns the seconds run and suspended in the current phase, which the totals do not include yet.
    fn current_phase_times(&self, now: ClockReading) -> (i64, i64) {
        let passed = (now.epoch() - self.phase_since).max(0);
        match self.phase {
            ClaimPhase::Running => (passed, 0),
            ClaimPhase::Suspended => (0, passed),
            _ => (0, 0),
        }
    }

    /// Returns the run time of the current job in seconds, without suspended time.
    pub(crate) fn job_run_time(&self, now: ClockReading) -> i64 {
        self.job_times.run + self.current_phase_times(now).0
    }

    /// Returns the seconds since the slot was first claimed.
    pub(crate) fn age(&self, now: ClockReading) -> i64 {
        self.claimed_at.map_or(0, |begun| (now.epoch() - begun.epoch()).max(0))
    }

    /// Begins an activation (`beginActivation`). `pledged` is MachineMaxVacateTime for this job.
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

    /// Ends the activation after the starter has exited, and resets all state of the job (`starterExited`, `resetClaim`).
    pub(crate) fn end_activation(&mut self, now: ClockReading) {
        self.change_phase(ClaimPhase::Idle, now);
        self.starter = None;
        self.job = None;
        self.activation = None;
        self.job_times = RunSeconds::default();
        self.may_unretire = true;
        self.preempt_was_true = false;
    }

    /// Resets the user of the claim to its owner, if the slot is in Claimed (`Resource::starterExited`).
    pub(crate) fn reset_user_to_owner(&mut self) {
        self.user = self.owner.clone();
    }

    /// Publishes the claim's attributes in a slot ad (`Claim::publish`).
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
            // Initial values, published until the processes have been measured.
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

    /// Publishes the attributes of a waiting claim in a slot ad (`publishPreemptingClaim`).
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

    /// Returns the accounting group with the user's domain, in the form that the accountant expects.
    fn qualified_group(&self) -> BString {
        let mut group = self.accounting_group.clone();
        if let Some(at) = self.user.rfind_byte(b'@') {
            group.extend_from_slice(&self.user[at..]);
        }
        group
    }

    /// Decides if a job is killed because its lease has length zero or is not renewed; returns `None` for other leases.
    pub(crate) fn lease_kill_decision(&self, quirks: QuirkMode) -> Option<QuirkDecision> {
        let lacks = self.lease <= 0 || !self.lease_renewed;
        lacks.then(|| quirks.decide(Quirk::EmptyLeaseKills))
    }

    /// Decides if the lease of a schedd's claim is renewed while the claim's job runs; returns `None` for other claims.
    pub(crate) fn busy_lease_decision(&self, quirks: QuirkMode) -> Option<QuirkDecision> {
        (self.kind == ClaimKind::Requested && self.lease > 0).then(|| quirks.decide(Quirk::BusyLeaseRenewed))
    }

    /// Returns when an idle claim expires because its lease is not renewed, or `None` if no job was ever started. The lease is
    /// renewed after every third of its length, counted from the start of each job, and only while the job runs (`alive`,
    /// `sendAlive`). If jobs without renewals are not killed, their leases are renewed too.
    pub(crate) fn idle_lease_expiry(&self, now: ClockReading, quirks: QuirkMode) -> Option<MonotonicTime> {
        let activated = self.activated_at?;
        let lease = Duration::from_secs(u64::try_from(self.lease).unwrap_or(0));
        if !self.lease_renewed && self.lease_kill_decision(quirks).is_some_and(|kills| kills.as_reference) {
            return Some(activated.monotonic().plus(lease));
        }
        let third = Duration::from_secs(u64::try_from(self.lease / 3).unwrap_or(0));
        if third.is_zero() {
            // While the job ran, the lease was renewed constantly.
            return Some(now.monotonic().plus(lease));
        }
        let passed = now.monotonic().since(activated.monotonic());
        let renewals = u32::try_from(passed.as_micros() / third.as_micros()).unwrap_or(u32::MAX);
        Some(activated.monotonic().plus(third.saturating_mul(renewals)).plus(lease))
    }
}

/// Converts bytes to text for messages; invalid UTF-8 is replaced.
pub(crate) fn lossy_text(bytes: &[u8]) -> String {
    BStr::new(bytes).to_string()
}
