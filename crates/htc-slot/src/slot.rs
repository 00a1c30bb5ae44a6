//! One slot: its state, its claims and its policy.

use std::sync::Arc;

use super::events::{SlotKey, StarterId};
use super::execution_point_state::ExecutionPointState;
use super::resources::ResourceAmounts;
use super::runtime_state::alarm::Alarm;
use super::runtime_state::claim::Claim;
use super::runtime_state::fetch_state::FetchState;
use super::runtime_state::idle_window::IdleWindow;
use super::runtime_state::latch::Latch;
use super::runtime_state::resource_conflict::ResourceConflict;
use super::settings::{
    BrokenReason, SlotHookPaths, SlotKind, SlotPlan, SlotRequirements, config_without_requirements,
};
use super::slot_state::{Activity, SlotState};
use htc_base::quirks::Quirk;
use htc_classad::{ClassAd, Context, Expr, Value};

/// What Requirements are at this moment (`Reqexp.cpp`).
pub(super) enum RequirementsState {
    /// Those of the configuration, and whether they stand in the ad so already.
    Configured { stands: bool },
    /// `false`: it takes nothing.
    Unavailable,
    /// Those of the configuration with this START, while it drains.
    WhileDraining(Expr),
}

/// One slot.
pub(super) struct Slot {
    pub key: SlotKey,
    /// The id string, such as `slot1` or `slot1_2`.
    pub id: String,
    pub plan: Arc<SlotPlan>,
    pub kind: SlotKind,
    pub amounts: ResourceAmounts,
    /// Of a backfill slot: what others use of the same machine.
    pub conflict: Option<ResourceConflict>,
    /// Of a dynamic slot: whether another can be carved out of it (`IsSplittable`); not if it was made so itself.
    pub splittable: bool,
    pub hooks: Option<SlotHookPaths>,
    pub broken: Option<BrokenReason>,
    pub statics: Arc<ClassAd>,
    pub config: Arc<ClassAd>,
    pub requirements: SlotRequirements,

    pub state: SlotState,
    pub activity: Activity,
    pub entered_state: i64,
    pub entered_activity: i64,
    /// Seconds spent in each state and activity, without the present stay.
    pub totals: [[i64; Activity::ALL.len()]; SlotState::ALL.len()],
    pub state_after_backfill: Option<SlotState>,
    /// Whether the last activity was Benchmarking.
    pub was_benchmarking: bool,

    /// The live ad, chained to `config`: what expressions are evaluated in (`r_classad`). It holds what the last
    /// refresh put there, so it may be behind.
    pub live_ad: ClassAd,
    /// Whether what never changes of it stands there.
    pub has_constants: bool,
    pub requirements_state: RequirementsState,
    /// What the ad is chained to before it is available for the first time, where that is shared by many slots.
    pub without_requirements: Option<Arc<ClassAd>>,
    /// Whether its job, or the last one, was started while a drain was under way.
    pub accepted_while_draining: bool,

    pub current_claim: Option<Claim>,
    /// The claim that waits for the end of the current one.
    pub waiting_claim: Option<Claim>,

    /// When a match that nobody claims is over.
    pub match_expiry: Option<Alarm>,
    /// Whether a command has suspended its job: CONTINUE does not count until a command to go on.
    pub suspended_by_command: bool,
    /// Whether the claim was given up while its starter cleaned up.
    pub preempts_after_cleaning: bool,

    /// Attributes whose changes are watched.
    pub latches: Vec<Latch>,

    pub fetch_state: FetchState,
    /// Whether it would ask for work and waits until another fetch may begin.
    pub fetch_held_back: bool,
    pub last_fetch_spawned: i64,
    pub last_fetch_completed: i64,
    pub next_fetch_delay: i64,
    /// Whether it was told that there is no work, with nothing running since.
    pub out_of_work: bool,

    /// Kinds of jobs that its Requirements are known to be true for.
    pub accepted_job_kinds: Vec<u32>,

    /// Where slots rest: until when, and what is made up for then.
    pub idle_window: IdleWindow,
    /// The last change, on the clock that never jumps.
    pub changed_at: u64,
    /// Since when CpuBusy has been true, in epoch seconds, where that is published.
    pub cpu_busy_since: Option<i64>,
    /// When the timer of its fetches was set or looked at, on the clock that never jumps.
    pub fetch_timer_set_at: u64,

    pub owner_load: f64,
    /// What its job uses.
    pub load: super::runtime_state::slot_load::SlotLoad,
    /// Number of dynamic slots and when it changed last (partitionable slots).
    pub children: (i64, i64),
    /// Child... lists, made when dynamic slots were last looked at.
    pub child_lists: ClassAd,
}

impl Slot {
    /// A slot in Owner/Idle, as each begins.
    pub(super) fn new(plan: Arc<SlotPlan>, core: &mut ExecutionPointState) -> Self {
        let key = SlotKey::from_number(plan.number);
        let (hooks, shared) = (plan.hooks.clone(), plan.without_requirements.clone());
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
            entered_state: core.now.epoch(),
            entered_activity: core.now.epoch(),
            totals: Default::default(),
            state_after_backfill: None,
            was_benchmarking: false,
            live_ad: ClassAd::new(),
            has_constants: false,
            requirements_state: RequirementsState::Configured { stands: false },
            without_requirements: shared,
            accepted_while_draining: false,
            current_claim: None,
            waiting_claim: None,
            match_expiry: None,
            suspended_by_command: false,
            preempts_after_cleaning: false,
            latches: Vec::new(),
            fetch_state: FetchState::Inactive,
            fetch_held_back: false,
            last_fetch_spawned: 0,
            last_fetch_completed: 0,
            next_fetch_delay: -1,
            out_of_work: false,
            accepted_job_kinds: Vec::new(),
            idle_window: IdleWindow::default(),
            changed_at: core.now.monotonic_us,
            fetch_timer_set_at: 0,
            cpu_busy_since: None,
            owner_load: 0.0,
            load: Default::default(),
            children: (0, core.now.epoch()),
            child_lists: ClassAd::new(),
        };
        slot.current_claim = Some(core.new_claim(super::runtime_state::claim::ClaimKind::Offered));
        slot.rebuild_ad(core);
        slot
    }

    /// Makes the live ad afresh (`init_classad`): what belonged to a job vanishes.
    pub(super) fn rebuild_ad(&mut self, core: &ExecutionPointState) {
        self.live_ad = ClassAd::new();
        self.has_constants = false;
        self.accepted_job_kinds.clear();
        self.chain_to_config();
        self.refresh_ad(core);
    }

    /// What Requirements refer to gets into the new ad with them: not before the slot is available (`reqexp_set_state`).
    fn chain_to_config(&mut self) {
        if let RequirementsState::Configured { stands } = &mut self.requirements_state {
            *stands = false;
        }
        let config = if self.is_available() || self.broken.is_some() {
            self.config.clone()
        } else if let Some(config) = &self.without_requirements {
            config.clone()
        } else {
            Arc::new(config_without_requirements(&self.config))
        };
        self.live_ad.chain(Some(config));
    }

    /// As [`Slot::rebuild_ad`] where nothing that belongs to a job has ever stood in the ad.
    pub(super) fn rebuild_ad_after_job(&mut self, core: &ExecutionPointState) {
        if self.has_constants && core.publish_set.state_only && self.has_stable_constants(core) {
            self.chain_to_config();
            self.refresh_ad(core);
        } else {
            self.rebuild_ad(core);
        }
    }

    /// Brings the live ad up to date (`publish_dynamic` on the internal ad).
    pub(super) fn refresh_ad(&mut self, core: &ExecutionPointState) {
        let has_constants = self.has_stable_constants(core);
        if has_constants && self.has_constants && core.publish_set.state_only {
            // Nobody asks for anything else than its state.
            return self.refresh_state_attributes(core);
        }
        let retirement = if core.publish_set.fetch_times { self.retirement_remaining(core) } else { 0 };
        let mut ad = std::mem::replace(&mut self.live_ad, ClassAd::new());
        self.publish_dynamic(core, &mut ad, true, retirement);
        self.live_ad = ad;
        self.has_constants = has_constants;
        if core.settings.publishes_cpu_busy {
            self.publish_cpu_busy(core);
        }
    }

    /// CpuIsBusy, and how long it has been so in CpuBusyTime.
    fn publish_cpu_busy(&mut self, core: &ExecutionPointState) {
        let busy = self.eval_in_slot_ad(core, None, |context| context.boolean("CpuBusy")) == Some(true);
        let since = self.cpu_busy_since.filter(|_| busy).or(busy.then_some(core.current_time));
        self.cpu_busy_since = since;
        self.live_ad.set("CpuIsBusy", busy);
        self.live_ad.set("CpuBusyTime", since.map_or(0, |since| core.current_time - since));
    }

    /// Whether parts of its ad are never different, once they are there: nothing overrides or takes them away.
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

    /// Seconds spent in a state so far.
    pub(super) fn time_in_state(&self, state: SlotState, epoch: i64) -> i64 {
        let present = if self.state == state { (epoch - self.entered_activity).max(0) } else { 0 };
        self.totals[state as usize].iter().sum::<i64>() + present
    }

    /// Adds the present stay to the totals before it ends.
    pub(super) fn add_time_in_state(&mut self, epoch: i64) {
        let passed = (epoch - self.entered_activity).max(0);
        self.totals[self.state as usize][self.activity as usize] += passed;
    }

    /// The job under the current claim.
    pub(super) fn job(&self) -> Option<&ClassAd> {
        self.current_claim.as_ref().and_then(|claim| claim.job.as_ref())
    }

    /// Whether a starter runs in it.
    pub(super) fn is_active(&self) -> bool {
        self.current_claim.as_ref().is_some_and(Claim::is_active)
    }

    /// The starter that was asked for and has not ended.
    pub(super) fn starter(&self) -> Option<StarterId> {
        Some(self.current_claim.as_ref()?.starter.as_ref()?.id)
    }

    /// Evaluates in the live ad, with `target` as the other ad.
    pub(super) fn eval_in_slot_ad<R>(
        &self,
        core: &ExecutionPointState,
        target: Option<&ClassAd>,
        ask: impl FnOnce(&Context<'_>) -> R,
    ) -> R {
        core.eval_in_ads((&self.live_ad, target), ask)
    }

    /// Evaluates in the job's ad, with the live ad as the other.
    pub(super) fn eval_in_job_ad<R>(
        &self,
        core: &ExecutionPointState,
        job: &ClassAd,
        ask: impl FnOnce(&Context<'_>) -> R,
    ) -> R {
        core.eval_in_ads((job, Some(&self.live_ad)), ask)
    }

    /// Requirements are the normal ones again, unless the execution point ends (`reqexp_restore`).
    pub(super) fn restore_requirements(&mut self, core: &ExecutionPointState) {
        if core.shutdown.is_some() || core.drain.is_draining() || core.power.sleep_state.is_some() {
            // What it is unavailable for stays as it is.
            if self.is_available() {
                self.set_unavailable(
                    core.drain.start_while_draining.clone().filter(|_| core.drain.is_draining()),
                );
            }
            return;
        }
        if matches!(self.requirements_state, RequirementsState::Configured { stands: true })
            && self.has_stable_constants(core)
        {
            return;
        }
        self.requirements_state = RequirementsState::Configured { stands: self.broken.is_none() };
        if self.broken.is_none() {
            self.live_ad.chain(Some(self.config.clone()));
            self.set_live_requirements();
        }
    }

    /// Whether Requirements are those of the configuration.
    pub(super) fn is_available(&self) -> bool {
        matches!(self.requirements_state, RequirementsState::Configured { .. })
    }

    /// Takes nothing more, or only what this START admits (`reqexp_unavail`).
    pub(super) fn set_unavailable(&mut self, start: Option<Expr>) {
        self.requirements_state =
            start.map_or(RequirementsState::Unavailable, RequirementsState::WhileDraining);
        if self.broken.is_none() {
            self.set_live_requirements();
        }
    }

    /// Requirements of the internal ad, and what they refer to where that is not as configured (`reqexp_set_state`).
    fn set_live_requirements(&mut self) {
        let config = self.live_ad.parent().cloned();
        self.live_ad.chain(None);
        for name in ["Start", "WithinResourceLimits"] {
            self.live_ad.remove(name);
        }
        self.live_ad.chain(config);
        match &self.requirements_state {
            RequirementsState::Configured { .. } => {
                self.live_ad.insert("Requirements", self.requirements.expr.clone());
            }
            RequirementsState::Unavailable => {
                self.live_ad.insert("Requirements", Expr::literal(Value::Bool(false)))
            }
            RequirementsState::WhileDraining(start) => {
                self.live_ad.insert("Start", start.clone());
                if let Some(limits) = &self.requirements.limits {
                    self.live_ad.insert("WithinResourceLimits", limits.clone());
                }
                self.live_ad.insert("Requirements", self.requirements.expr.clone());
            }
        }
    }

    /// Whether it takes jobs though it drains.
    ///
    /// In 25.14 a START while draining is of use to partitionable slots alone: a claim that is idle for a moment ends, and one that
    /// is asked for is refused (quirk `drain-start-useless`).
    pub(super) fn is_accepting_while_draining(&self, core: &ExecutionPointState) -> bool {
        core.drain.start_while_draining.is_some() && !core.decide(Quirk::DrainStartUseless)
    }
}
