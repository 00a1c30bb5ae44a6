//! One slot: its state, its claims and its policy.

use std::sync::Arc;

use super::core::Core;
use super::interface::{SlotKey, StarterId};
use super::kept::alarm::Alarm;
use super::kept::claim::Claim;
use super::kept::conflict::Conflict;
use super::kept::fetching::Fetching;
use super::kept::latch::Latch;
use super::kept::rest::Rest;
use super::resources::Amounts;
use super::settings::{Broken, Requirements, SlotHooks, SlotKind, SlotPlan, without_requirements};
use super::state::{Activity, State};
use htc_base::quirks::Quirk;
use htc_classad::{ClassAd, Context, Expr, Value};

/// What Requirements are at this moment (`Reqexp.cpp`).
pub(super) enum Requires {
    /// Those of the configuration, and whether they stand in the ad so already.
    Configured { stands: bool },
    /// `false`: it takes nothing.
    Nothing,
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
    pub amounts: Amounts,
    /// Of a backfill slot: what others use of the same machine.
    pub conflict: Option<Conflict>,
    /// Of a dynamic slot: whether another can be carved out of it (`IsSplittable`); not if it was made so itself.
    pub splittable: bool,
    pub hooks: Option<SlotHooks>,
    pub broken: Option<Broken>,
    pub statics: Arc<ClassAd>,
    pub config: Arc<ClassAd>,
    pub requirements: Requirements,

    pub state: State,
    pub activity: Activity,
    pub entered_state: i64,
    pub entered_activity: i64,
    /// Seconds spent in each state and activity, without the present stay.
    pub totals: [[i64; Activity::ALL.len()]; State::ALL.len()],
    pub destination: Option<State>,
    /// Whether the last activity was Benchmarking.
    pub was_benchmarking: bool,

    /// The live ad, chained to `config`: what expressions are evaluated in (`r_classad`). It holds what the last
    /// refresh put there, so it may be behind.
    pub live: ClassAd,
    /// Whether what never changes of it stands there.
    pub has_constants: bool,
    pub requires: Requires,
    /// What the ad is chained to before it is available for the first time, where that is shared by many slots.
    pub without_requirements: Option<Arc<ClassAd>>,
    /// Whether its job, or the last one, was started while a drain was under way.
    pub accepted_while_draining: bool,

    pub current: Option<Claim>,
    /// The claim that waits for the end of the current one.
    pub waiting: Option<Claim>,

    /// When a match that nobody claims is over.
    pub match_ends: Option<Alarm>,
    /// Whether a command has suspended its job: CONTINUE does not count until a command to go on.
    pub suspended_by_command: bool,
    /// Whether the claim was given up while its starter cleaned up.
    pub preempts_after_cleaning: bool,

    /// Attributes whose changes are watched.
    pub latches: Vec<Latch>,

    pub fetching: Fetching,
    /// Whether it would ask for work and waits until another fetch may begin.
    pub held_back: bool,
    pub last_fetch_spawned: i64,
    pub last_fetch_completed: i64,
    pub next_fetch_delay: i64,
    /// Whether it was told that there is no work, with nothing running since.
    pub out_of_work: bool,

    /// Kinds of jobs that its Requirements are known to be true for.
    pub taken_kinds: Vec<u32>,

    /// Where slots rest: until when, and what is made up for then.
    pub rest: Rest,
    /// The last change, on the clock that never jumps.
    pub changed_at: u64,
    /// Since when CpuBusy has been true, in epoch seconds, where that is published.
    pub cpu_busy_since: Option<i64>,
    /// When the timer of its fetches was set or looked at, on the clock that never jumps.
    pub fetch_seen: u64,

    pub owner_load: f64,
    /// What its job uses.
    pub load: super::kept::load::SlotLoad,
    /// Number of dynamic slots and when it changed last (partitionable slots).
    pub children: (i64, i64),
    /// Child... lists, made when dynamic slots were last looked at.
    pub child_lists: ClassAd,
}

impl Slot {
    /// A slot in Owner/Idle, as each begins.
    pub(super) fn new(plan: Arc<SlotPlan>, core: &mut Core) -> Self {
        let key = SlotKey::of(plan.number);
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
            state: State::Owner,
            activity: Activity::Idle,
            entered_state: core.now.epoch(),
            entered_activity: core.now.epoch(),
            totals: Default::default(),
            destination: None,
            was_benchmarking: false,
            live: ClassAd::new(),
            has_constants: false,
            requires: Requires::Configured { stands: false },
            without_requirements: shared,
            accepted_while_draining: false,
            current: None,
            waiting: None,
            match_ends: None,
            suspended_by_command: false,
            preempts_after_cleaning: false,
            latches: Vec::new(),
            fetching: Fetching::No,
            held_back: false,
            last_fetch_spawned: 0,
            last_fetch_completed: 0,
            next_fetch_delay: -1,
            out_of_work: false,
            taken_kinds: Vec::new(),
            rest: Rest::default(),
            changed_at: core.now.monotonic_us,
            fetch_seen: 0,
            cpu_busy_since: None,
            owner_load: 0.0,
            load: Default::default(),
            children: (0, core.now.epoch()),
            child_lists: ClassAd::new(),
        };
        slot.current = Some(core.new_claim(super::kept::claim::Kind::Offered));
        slot.rebuild(core);
        slot
    }

    /// Makes the live ad afresh (`init_classad`): what belonged to a job vanishes.
    pub(super) fn rebuild(&mut self, core: &Core) {
        self.live = ClassAd::new();
        self.has_constants = false;
        self.taken_kinds.clear();
        self.chain_to_config();
        self.refresh(core);
    }

    /// What Requirements refer to gets into the new ad with them: not before the slot is available (`reqexp_set_state`).
    fn chain_to_config(&mut self) {
        if let Requires::Configured { stands } = &mut self.requires {
            *stands = false;
        }
        let config = if self.is_available() || self.broken.is_some() {
            self.config.clone()
        } else if let Some(config) = &self.without_requirements {
            config.clone()
        } else {
            Arc::new(without_requirements(&self.config))
        };
        self.live.chain(Some(config));
    }

    /// As [`Slot::rebuild`] where nothing that belongs to a job has ever stood in the ad.
    pub(super) fn rebuild_after_job(&mut self, core: &Core) {
        if self.has_constants && core.wants.plain && self.keeps_constants(core) {
            self.chain_to_config();
            self.refresh(core);
        } else {
            self.rebuild(core);
        }
    }

    /// Brings the live ad up to date (`publish_dynamic` on the internal ad).
    pub(super) fn refresh(&mut self, core: &Core) {
        let has_constants = self.keeps_constants(core);
        if has_constants && self.has_constants && core.wants.plain {
            // Nobody asks for anything else than its state.
            return self.publish_state_live(core);
        }
        let retirement = if core.wants.times { self.retirement_remaining(core) } else { 0 };
        let mut ad = std::mem::replace(&mut self.live, ClassAd::new());
        self.publish_dynamic(core, &mut ad, true, retirement);
        self.live = ad;
        self.has_constants = has_constants;
        if core.settings.cpu_busy {
            self.publish_cpu_busy(core);
        }
    }

    /// CpuIsBusy, and how long it has been so in CpuBusyTime.
    fn publish_cpu_busy(&mut self, core: &Core) {
        let busy = self.look(core, None, |context| context.boolean("CpuBusy")) == Some(true);
        let since = self.cpu_busy_since.filter(|_| busy).or(busy.then_some(core.current_time));
        self.cpu_busy_since = since;
        self.live.set("CpuIsBusy", busy);
        self.live.set("CpuBusyTime", since.map_or(0, |since| core.current_time - since));
    }

    /// Whether parts of its ad are never different, once they are there: nothing overrides or takes them away.
    pub(super) fn keeps_constants(&self, core: &Core) -> bool {
        !core.wants.texts
            && self.kind == SlotKind::Static
            && !self.amounts.backfill
            && self.amounts.custom.iter().all(|custom| custom.devices.is_none())
            && (core.settings.latches.is_empty() || core.latches_apart)
            && core.cron.is_empty()
            && core.benchmarks.ads.is_empty()
            && !core.drain.is_on()
            && !core.drain.no_retirement
    }

    /// Seconds spent in a state so far.
    pub(super) fn time_in(&self, state: State, epoch: i64) -> i64 {
        let present = if self.state == state { (epoch - self.entered_activity).max(0) } else { 0 };
        self.totals[state as usize].iter().sum::<i64>() + present
    }

    /// Adds the present stay to the totals before it ends.
    pub(super) fn count_stay(&mut self, epoch: i64) {
        let passed = (epoch - self.entered_activity).max(0);
        self.totals[self.state as usize][self.activity as usize] += passed;
    }

    /// The job under the current claim.
    pub(super) fn job(&self) -> Option<&ClassAd> {
        self.current.as_ref().and_then(|claim| claim.job.as_ref())
    }

    /// Whether a starter runs in it.
    pub(super) fn is_active(&self) -> bool {
        self.current.as_ref().is_some_and(Claim::is_active)
    }

    /// The starter that was asked for and has not ended.
    pub(super) fn starter(&self) -> Option<StarterId> {
        Some(self.current.as_ref()?.starter.as_ref()?.id)
    }

    /// Evaluates in the live ad, with `target` as the other ad.
    pub(super) fn look<R>(
        &self,
        core: &Core,
        target: Option<&ClassAd>,
        ask: impl FnOnce(&Context<'_>) -> R,
    ) -> R {
        core.look((&self.live, target), ask)
    }

    /// Evaluates in the job's ad, with the live ad as the other.
    pub(super) fn look_in_job<R>(
        &self,
        core: &Core,
        job: &ClassAd,
        ask: impl FnOnce(&Context<'_>) -> R,
    ) -> R {
        core.look((job, Some(&self.live)), ask)
    }

    /// Requirements are the normal ones again, unless the execution point ends (`reqexp_restore`).
    pub(super) fn restore_requirements(&mut self, core: &Core) {
        if core.shutdown.is_some() || core.drain.is_on() || core.power.asleep.is_some() {
            // What it is unavailable for stays as it is.
            if self.is_available() {
                self.set_unavailable(core.drain.start.clone().filter(|_| core.drain.is_on()));
            }
            return;
        }
        if matches!(self.requires, Requires::Configured { stands: true }) && self.keeps_constants(core) {
            return;
        }
        self.requires = Requires::Configured { stands: self.broken.is_none() };
        if self.broken.is_none() {
            self.live.chain(Some(self.config.clone()));
            self.require();
        }
    }

    /// Whether Requirements are those of the configuration.
    pub(super) fn is_available(&self) -> bool {
        matches!(self.requires, Requires::Configured { .. })
    }

    /// Takes nothing more, or only what this START admits (`reqexp_unavail`).
    pub(super) fn set_unavailable(&mut self, start: Option<Expr>) {
        self.requires = start.map_or(Requires::Nothing, Requires::WhileDraining);
        if self.broken.is_none() {
            self.require();
        }
    }

    /// Requirements of the internal ad, and what they refer to where that is not as configured (`reqexp_set_state`).
    fn require(&mut self) {
        let config = self.live.parent().cloned();
        self.live.chain(None);
        for name in ["Start", "WithinResourceLimits"] {
            self.live.remove(name);
        }
        self.live.chain(config);
        match &self.requires {
            Requires::Configured { .. } => {
                self.live.insert("Requirements", self.requirements.whole.clone());
            }
            Requires::Nothing => self.live.insert("Requirements", Expr::literal(Value::Bool(false))),
            Requires::WhileDraining(start) => {
                self.live.insert("Start", start.clone());
                if let Some(limits) = &self.requirements.limits {
                    self.live.insert("WithinResourceLimits", limits.clone());
                }
                self.live.insert("Requirements", self.requirements.whole.clone());
            }
        }
    }

    /// Whether it takes jobs though it drains.
    ///
    /// In 25.14 a START while draining is of use to partitionable slots alone: a claim that is idle for a moment ends, and one that
    /// is asked for is refused (quirk `drain-start-useless`).
    pub(super) fn takes_while_draining(&self, core: &Core) -> bool {
        core.drain.start.is_some() && !core.has_silently(Quirk::DrainStartUseless)
    }
}
