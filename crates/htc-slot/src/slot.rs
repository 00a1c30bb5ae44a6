//! One slot: its state, its claims and its policy.

use std::sync::Arc;

use super::events::{SlotKey, StarterId};
use super::execution_point_state::ExecutionPointState;
use super::resources::ResourceAmounts;
use super::runtime_state::alarm::Alarm;
use super::runtime_state::claim::{Claim, ClaimKind};
use super::runtime_state::fetch_state::FetchState;
use super::runtime_state::idle_window::IdleWindow;
use super::runtime_state::latch::Latch;
use super::runtime_state::resource_conflict::ResourceConflict;
use super::runtime_state::slot_load::SlotLoad;
use super::settings::{
    BrokenReason, SlotHookPaths, SlotKind, SlotPlan, SlotRequirements, config_without_requirements,
};
use super::slot_state::{Activity, SlotState};
use htc_base::quirks::Quirk;
use htc_classad::{ClassAd, Context, Expr, Value};

/// Current source of the Requirements expression (`Reqexp.cpp`).
pub(super) enum RequirementsState {
    /// The configured Requirements. `is_published` is true if the ad contains them already.
    Configured { is_published: bool },
    /// `false`: the slot accepts no job.
    Unavailable,
    /// The configured Requirements with this expression as START, while the slot drains.
    WhileDraining(Expr),
}

/// State of one slot.
pub(super) struct Slot {
    pub key: SlotKey,
    /// Id string of the slot, such as `slot1` or `slot1_2`.
    pub id: String,
    pub plan: Arc<SlotPlan>,
    pub kind: SlotKind,
    pub amounts: ResourceAmounts,
    /// For a backfill slot: conflict with the primary slots that use the same resources.
    pub conflict: Option<ResourceConflict>,
    /// True if another dynamic slot can be carved out of this one (`IsSplittable`); false for a slot that was carved out of a
    /// dynamic slot.
    pub splittable: bool,
    pub hooks: Option<SlotHookPaths>,
    pub broken: Option<BrokenReason>,
    pub statics: Arc<ClassAd>,
    pub config: Arc<ClassAd>,
    pub requirements: SlotRequirements,

    pub state: SlotState,
    pub activity: Activity,
    pub history: StateHistory,
    pub ads: SlotAds,
    pub claims: SlotClaims,
    pub fetch: FetchStatus,
    pub usage: SlotUsage,

    /// Configuration ad of the slot before it is first available, without Requirements, or `None` if slots do not share it.
    pub without_requirements: Option<Arc<ClassAd>>,
    /// Window in which polls of this slot can be skipped, and the state to catch up on after the window.
    pub idle_window: IdleWindow,
    /// Time of the last change of the slot, on the monotonic clock, in microseconds.
    pub changed_at: u64,
    /// For a partitionable slot: number of its dynamic slots, and epoch seconds of the last change of that number.
    pub children: (i64, i64),
}

/// Times that a slot has spent in each state, and details of its current state.
pub(super) struct StateHistory {
    pub entered_state: i64,
    pub entered_activity: i64,
    /// Seconds spent in each state and activity, except the current ones.
    pub totals: [[i64; Activity::ALL.len()]; SlotState::ALL.len()],
    pub state_after_backfill: Option<SlotState>,
    /// True if the slot's previous activity was Benchmarking.
    pub was_benchmarking: bool,
}

/// Ads of a slot, and what they contain.
pub(super) struct SlotAds {
    /// Internal ad in which expressions are evaluated (`r_classad`), chained to the slot's configuration. It has the values of
    /// the last refresh, which may be out of date.
    pub live: ClassAd,
    /// True if the live ad already contains the attributes that never change.
    pub has_constants: bool,
    pub requirements_state: RequirementsState,
    /// The `Child...` attributes of a partitionable slot, as of the last update.
    pub child_lists: ClassAd,
    /// Latched attributes (STARTD_LATCH_EXPRS) with their last changes.
    pub latches: Vec<Latch>,
}

/// Claims of a slot.
pub(super) struct SlotClaims {
    pub current: Option<Claim>,
    /// The claim that waits until the current claim ends.
    pub waiting: Option<Claim>,
    /// Time when a match expires if it is not claimed.
    pub match_expiry: Option<Alarm>,
    /// True if a command has suspended the job. CONTINUE is then ignored until `condor_continue`.
    pub suspended_by_command: bool,
    /// True if the claim was released while its starter cleaned up.
    pub preempts_after_cleaning: bool,
    /// True if the current or last job was accepted during a drain.
    pub accepted_while_draining: bool,
}

/// State of fetching work in a slot.
pub(super) struct FetchStatus {
    pub state: FetchState,
    /// True if the slot is ready to fetch work, but must wait until another fetch may begin.
    pub held_back: bool,
    pub last_spawned: i64,
    pub last_completed: i64,
    pub next_delay: i64,
    /// True if the last fetch returned no work, and no job has ended since.
    pub out_of_work: bool,
    /// True if a job ended after the running fetch began.
    pub is_outdated: bool,
    /// True if the user was informed that a run with `--once` waits for FetchWorkDelay.
    pub is_wait_reported: bool,
    /// Time when the fetch timer was set or checked, on the monotonic clock, in microseconds.
    pub timer_set_at: u64,
    /// Kinds of jobs that the slot's Requirements are known to accept.
    pub accepted_job_kinds: Vec<u32>,
}

/// Load and resource usage of a slot.
pub(super) struct SlotUsage {
    pub owner_load: f64,
    /// Load of the slot's job.
    pub job: SlotLoad,
    /// Epoch seconds since which CpuBusy has been true, or `None` if it is false or not published.
    pub cpu_busy_since: Option<i64>,
}

impl StateHistory {
    fn new(now: i64) -> Self {
        StateHistory {
            entered_state: now,
            entered_activity: now,
            totals: Default::default(),
            state_after_backfill: None,
            was_benchmarking: false,
        }
    }
}

impl Default for SlotAds {
    fn default() -> Self {
        SlotAds {
            live: ClassAd::new(),
            has_constants: false,
            requirements_state: RequirementsState::Configured { is_published: false },
            child_lists: ClassAd::new(),
            latches: Vec::new(),
        }
    }
}

impl SlotClaims {
    fn new(first: Claim) -> Self {
        SlotClaims {
            current: Some(first),
            waiting: None,
            match_expiry: None,
            suspended_by_command: false,
            preempts_after_cleaning: false,
            accepted_while_draining: false,
        }
    }
}

impl Default for FetchStatus {
    fn default() -> Self {
        FetchStatus {
            state: FetchState::Inactive,
            held_back: false,
            last_spawned: 0,
            last_completed: 0,
            next_delay: -1,
            out_of_work: false,
            is_outdated: false,
            is_wait_reported: false,
            timer_set_at: 0,
            accepted_job_kinds: Vec::new(),
        }
    }
}

impl Slot {
    /// Creates a slot in its initial state, Owner/Idle.
    pub(super) fn new(plan: Arc<SlotPlan>, core: &mut ExecutionPointState) -> Self {
        let key = SlotKey::from_number(plan.number);
        let (hooks, shared) = (plan.hooks.clone(), plan.without_requirements.clone());
        let first_claim = core.new_claim(ClaimKind::Offered);
        let mut slot = Slot {
            key,
            id: plan.id.clone(),
            kind: plan.kind,
            amounts: plan.amounts.clone(),
            conflict: None,
            splittable: false,
            hooks,
            broken: plan.broken.clone(),
            statics: plan.statics.clone(),
            config: plan.config.clone(),
            requirements: plan.requirements.clone(),
            plan,
            state: SlotState::Owner,
            activity: Activity::Idle,
            history: StateHistory::new(core.now.epoch()),
            ads: SlotAds::default(),
            claims: SlotClaims::new(first_claim),
            fetch: FetchStatus::default(),
            usage: SlotUsage { owner_load: 0.0, job: SlotLoad::default(), cpu_busy_since: None },
            without_requirements: shared,
            idle_window: IdleWindow::default(),
            changed_at: core.now.monotonic_us,
            children: (0, core.now.epoch()),
        };
        slot.rebuild_ad(core);
        slot
    }

    /// Rebuilds the live ad (`init_classad`), so that attributes of jobs are removed.
    pub(super) fn rebuild_ad(&mut self, core: &ExecutionPointState) {
        self.ads.live = ClassAd::new();
        self.ads.has_constants = false;
        self.fetch.accepted_job_kinds.clear();
        self.chain_to_config();
        self.refresh_ad(core);
    }

    /// Chains the live ad to the configuration. Requirements and the attributes they refer to are left out until the slot is
    /// first available (`reqexp_set_state`).
    fn chain_to_config(&mut self) {
        if let RequirementsState::Configured { is_published } = &mut self.ads.requirements_state {
            *is_published = false;
        }
        let config = if self.is_available() || self.broken.is_some() {
            self.config.clone()
        } else if let Some(config) = &self.without_requirements {
            config.clone()
        } else {
            Arc::new(config_without_requirements(&self.config))
        };
        self.ads.live.chain(Some(config));
    }

    /// Rebuilds the live ad as [`Slot::rebuild_ad`] does, unless it never contained any attribute of a job.
    pub(super) fn rebuild_ad_after_job(&mut self, core: &ExecutionPointState) {
        if self.ads.has_constants && core.publish_set.state_only && self.has_stable_constants(core) {
            self.chain_to_config();
            self.refresh_ad(core);
        } else {
            self.rebuild_ad(core);
        }
    }

    /// Refreshes the live ad (`publish_dynamic` for the internal ad).
    pub(super) fn refresh_ad(&mut self, core: &ExecutionPointState) {
        let has_constants = self.has_stable_constants(core);
        if has_constants && self.ads.has_constants && core.publish_set.state_only {
            // The expressions refer only to state attributes, so the other attributes need no refresh.
            return self.refresh_state_attributes(core);
        }
        let retirement = if core.publish_set.fetch_times { self.retirement_remaining(core) } else { 0 };
        let mut ad = std::mem::replace(&mut self.ads.live, ClassAd::new());
        self.publish_dynamic(core, &mut ad, true, retirement);
        self.ads.live = ad;
        self.ads.has_constants = has_constants;
        if core.settings.publishes_cpu_busy {
            self.publish_cpu_busy(core);
        }
    }

    /// Publishes CpuIsBusy, and CpuBusyTime: the time since which CpuBusy is true.
    fn publish_cpu_busy(&mut self, core: &ExecutionPointState) {
        let busy = self.eval_in_slot_ad(core, None, |context| context.boolean("CpuBusy")) == Some(true);
        let since = self.usage.cpu_busy_since.filter(|_| busy).or(busy.then_some(core.current_time));
        self.usage.cpu_busy_since = since;
        self.ads.live.set("CpuIsBusy", busy);
        self.ads.live.set("CpuBusyTime", since.map_or(0, |since| core.current_time - since));
    }

    /// True if the ad has attributes that never change after they are published, because nothing overrides or removes them.
    pub(super) fn has_stable_constants(&self, core: &ExecutionPointState) -> bool {
        !core.publish_set.ad_texts
            && self.kind == SlotKind::Static
            && !self.amounts.is_backfill
            && self.amounts.custom.iter().all(|custom| custom.machine_devices.is_none())
            && (core.settings.latches.is_empty() || core.latches_have_no_overrides)
            && core.cron_ads.is_empty()
            && core.benchmarks.ads.is_empty()
            && !core.drain.is_draining()
            && !core.drain.no_retirement
    }

    /// Returns the seconds that the slot has spent in a state so far.
    pub(super) fn time_in_state(&self, state: SlotState, epoch: i64) -> i64 {
        let present = if self.state == state { (epoch - self.history.entered_activity).max(0) } else { 0 };
        self.history.totals[state as usize].iter().sum::<i64>() + present
    }

    /// Adds the time spent in the current state and activity to the totals. Called before the state changes.
    pub(super) fn add_time_in_state(&mut self, epoch: i64) {
        let passed = (epoch - self.history.entered_activity).max(0);
        self.history.totals[self.state as usize][self.activity as usize] += passed;
    }

    /// Returns the job ad of the current claim, or `None`.
    pub(super) fn job(&self) -> Option<&ClassAd> {
        self.claims.current.as_ref().and_then(|claim| claim.job.as_ref())
    }

    /// True if the current claim has a starter.
    pub(super) fn is_active(&self) -> bool {
        self.claims.current.as_ref().is_some_and(Claim::is_active)
    }

    /// Returns the starter that was requested and has not exited, or `None`.
    pub(super) fn starter(&self) -> Option<StarterId> {
        Some(self.claims.current.as_ref()?.starter.as_ref()?.id)
    }

    /// Evaluates in the live ad, with `target` as TARGET.
    pub(super) fn eval_in_slot_ad<R>(
        &self,
        core: &ExecutionPointState,
        target: Option<&ClassAd>,
        ask: impl FnOnce(&Context<'_>) -> R,
    ) -> R {
        core.eval_in_ads(&self.ads.live, target, ask)
    }

    /// Evaluates in the job ad, with the live ad as TARGET.
    pub(super) fn eval_in_job_ad<R>(
        &self,
        core: &ExecutionPointState,
        job: &ClassAd,
        ask: impl FnOnce(&Context<'_>) -> R,
    ) -> R {
        core.eval_in_ads(job, Some(&self.ads.live), ask)
    }

    /// Restores the configured Requirements, unless the execution point shuts down, drains or sleeps (`reqexp_restore`).
    pub(super) fn restore_requirements(&mut self, core: &ExecutionPointState) {
        if core.ending.shutdown.is_some() || core.drain.is_draining() || core.power.sleep_state.is_some() {
            // The slot stays unavailable while the execution point shuts down, drains or sleeps.
            if self.is_available() {
                self.set_unavailable(
                    core.drain.start_while_draining.clone().filter(|_| core.drain.is_draining()),
                );
            }
            return;
        }
        if matches!(self.ads.requirements_state, RequirementsState::Configured { is_published: true })
            && self.has_stable_constants(core)
        {
            return;
        }
        self.ads.requirements_state = RequirementsState::Configured { is_published: self.broken.is_none() };
        if self.broken.is_none() {
            self.ads.live.chain(Some(self.config.clone()));
            self.set_live_requirements();
        }
    }

    /// True if Requirements are the configured ones.
    pub(super) fn is_available(&self) -> bool {
        matches!(self.ads.requirements_state, RequirementsState::Configured { .. })
    }

    /// Makes the slot reject all jobs, or all jobs except those that the expression `start` accepts (`reqexp_unavail`).
    pub(super) fn set_unavailable(&mut self, start: Option<Expr>) {
        self.ads.requirements_state =
            start.map_or(RequirementsState::Unavailable, RequirementsState::WhileDraining);
        if self.broken.is_none() {
            self.set_live_requirements();
        }
    }

    /// Publishes Requirements in the internal ad, and the attributes they refer to if they differ from the configuration
    /// (`reqexp_set_state`).
    fn set_live_requirements(&mut self) {
        let config = self.ads.live.parent().cloned();
        self.ads.live.chain(None);
        for name in ["Start", "WithinResourceLimits"] {
            self.ads.live.remove(name);
        }
        self.ads.live.chain(config);
        match &self.ads.requirements_state {
            RequirementsState::Configured { .. } => {
                self.ads.live.insert("Requirements", self.requirements.expr.clone());
            }
            RequirementsState::Unavailable => {
                self.ads.live.insert("Requirements", Expr::literal(Value::Bool(false)))
            }
            RequirementsState::WhileDraining(start) => {
                self.ads.live.insert("Start", start.clone());
                if let Some(limits) = &self.requirements.limits {
                    self.ads.live.insert("WithinResourceLimits", limits.clone());
                }
                self.ads.live.insert("Requirements", self.requirements.expr.clone());
            }
        }
    }

    /// True if the slot accepts jobs during a drain.
    ///
    /// In 25.14, a START for draining has an effect only on partitionable slots. On all other slots, a claim that is
    /// idle for a moment ends, and claim requests are refused (quirk `drain-start-useless`).
    pub(super) fn is_accepting_while_draining(&self, core: &ExecutionPointState) -> bool {
        core.drain.start_while_draining.is_some() && !core.decide(Quirk::DrainStartUseless)
    }
}
