//! One slot: its state, its claims and what is published of it.

use std::sync::Arc;

use super::claim::Claim;
use super::conflicts::Conflict;
use super::core::{Alarm, Core};
use super::cron_ads::advertised;
use super::interface::{HookRun, SlotKey};
use super::latch::Latch;
use super::resources::Amounts;
use super::rest::Rest;
use super::settings::{Broken, Requirements, SlotHooks, SlotKind, SlotPlan, without_requirements};
use super::state::{Activity, State, total_name};
use crate::classad::{AttrName, ClassAd, Context, Expr, Value};
use crate::quirks::Quirk;
use crate::time::Now;
use crate::world::Frozen;

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
    totals: [[i64; Activity::ALL.len()]; State::ALL.len()],
    pub destination: Option<State>,
    /// Whether the last activity was Benchmarking.
    pub was_benchmarking: bool,

    /// The live ad, chained to `config`: what expressions are evaluated in (`r_classad`). It holds what the last
    /// refresh put there, so it may be behind.
    pub live: ClassAd,
    /// Whether what never changes of it stands there.
    pub has_constants: bool,
    /// Whether Requirements are the normal ones; `false` otherwise (`Reqexp.cpp`).
    pub available: bool,
    /// Whether they stand in the ad so already.
    is_restored: bool,
    /// What the ad is chained to while they are not, where that is shared by many slots.
    pub without_requirements: Option<Arc<ClassAd>>,
    /// START while it drains, if it takes anything.
    pub start_while_draining: Option<Expr>,
    /// Whether its job, or the last one, was started while a drain was under way.
    pub accepted_while_draining: bool,

    pub current: Option<Claim>,
    /// The claim that waits for the end of the current one.
    pub waiting: Option<Claim>,

    /// When a match that nobody claims is over.
    pub match_ends: Option<Alarm>,
    /// Whether the claim was given up while its starter cleaned up.
    pub preempts_after_cleaning: bool,

    /// Attributes whose changes are watched.
    pub latches: Vec<Latch>,

    pub fetching: Option<HookRun>,
    pub fetch_at: Option<Alarm>,
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
    /// When the timer of its fetches was set or looked at, on the clock that never jumps.
    pub fetch_seen: u64,
    /// Since when a fetch has been under way that is counted only.
    pub fetching_since: Option<Now>,

    pub owner_load: f64,
    /// What its job uses.
    pub load: super::load::SlotLoad,
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
            available: true,
            is_restored: false,
            without_requirements: shared,
            start_while_draining: None,
            accepted_while_draining: false,
            current: None,
            waiting: None,
            match_ends: None,
            preempts_after_cleaning: false,
            latches: Vec::new(),
            fetching: None,
            fetch_at: None,
            held_back: false,
            last_fetch_spawned: 0,
            last_fetch_completed: 0,
            next_fetch_delay: -1,
            out_of_work: false,
            taken_kinds: Vec::new(),
            rest: Rest::default(),
            changed_at: core.now.monotonic_us,
            fetch_seen: 0,
            fetching_since: None,
            owner_load: 0.0,
            load: Default::default(),
            children: (0, core.now.epoch()),
            child_lists: ClassAd::new(),
        };
        slot.current = Some(core.new_claim(super::claim::Kind::Offered));
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
        self.is_restored = false;
        let config = if self.available || self.broken.is_some() {
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

    /// The ad given to FETCH_WORK, as the collector would get it (`publish_single_slot_ad`).
    pub(super) fn sent_ad(&self, core: &Core) -> ClassAd {
        let mut ad = (*self.statics).clone();
        let copy = |ad: &mut ClassAd, name: &str| match self.live.get(name) {
            Some(expr) => {
                ad.insert(AttrName::from(name), expr.clone());
                true
            }
            None => false,
        };
        if !copy(&mut ad, "Rank") {
            ad.set("Rank", 0.0);
        }
        for name in ["CpuBusy", "SlotWeight", "Unhibernate", "MachineMaxVacateTime"] {
            copy(&mut ad, name);
        }
        self.publish_dynamic(core, &mut ad, false, self.retirement_remaining(core));
        ad.set("LastHeardFrom", core.now.epoch());
        ad.set("DaemonStartTime", core.started.epoch());
        // After what cron jobs publish: they do not override it.
        match self.live.get("MaxJobRetirementTime") {
            Some(expr) => ad.insert("MaxJobRetirementTime", expr),
            None => ad.set("MaxJobRetirementTime", 0i64),
        }
        for (name, expr) in &core.shared_attributes {
            ad.insert(name, expr.clone());
        }
        let running = (core.now.epoch() - core.started.epoch()).max(1);
        let world = Frozen { world: &*core.world, now: core.now };
        advertised(&mut ad, running, core.settings.cron.keeps_seconds, &world);
        ad
    }

    /// Requirements, Start and WithinResourceLimits of an ad that is sent (`publish_requirements`).
    fn publish_requirements(&self, ad: &mut ClassAd) {
        match &self.broken {
            Some(broken) => {
                ad.set("Requirements", Value::from(bstr::BString::from(broken.reason.as_str())));
            }
            None if !self.available && self.start_while_draining.is_none() => {
                ad.set("Requirements", false);
            }
            None => {
                let start = self.start_while_draining.as_ref().unwrap_or(&self.requirements.start);
                ad.insert(AttrName::from("Start"), start.clone());
                ad.insert(AttrName::from("WithinResourceLimits"), self.requirements.limits.clone());
                ad.insert(AttrName::from("Requirements"), self.requirements.whole.clone());
                return;
            }
        }
        for name in ["Start", "WithinResourceLimits"] {
            ad.remove(name);
        }
    }

    /// What changes by itself or with the state (`Resource::publish_dynamic`).
    fn publish_dynamic(&self, core: &Core, ad: &mut ClassAd, internal: bool, retirement: i64) {
        let settings = &core.settings;
        let wants = core.wants;
        ad.set("MyCurrentTime", core.current_time);
        if wants.claim
            && matches!(self.state, State::Claimed | State::Preempting)
            && let Some(job) = self.current.as_ref().and_then(|claim| claim.job.as_ref())
        {
            for name in &settings.job_attributes {
                if let Some(expr) = job.get(name.clone()) {
                    ad.insert(name.clone(), expr.clone());
                }
            }
        }
        if !(internal && self.has_constants && self.keeps_constants(core)) {
            self.publish_amounts(core, ad);
        }
        if wants.machine {
            self.publish_machine(core, ad);
        }
        if wants.texts {
            core.counters.publish(ad, core.current_time);
            core.draining.publish(ad);
        }
        if wants.drain {
            core.drain.publish(ad);
        }
        self.publish_state(core, ad);
        if internal {
            match (&self.broken, self.available, &self.start_while_draining) {
                (Some(broken), ..) => {
                    ad.set("Requirements", Value::from(bstr::BString::from(broken.reason.as_str())));
                }
                (None, true, _) => ad.insert("Requirements", self.requirements.whole.clone()),
                (None, false, None) => ad.set("Requirements", false),
                (None, false, Some(start)) => {
                    ad.insert("Start", start.clone());
                    ad.insert("WithinResourceLimits", self.requirements.limits.clone());
                    ad.insert("Requirements", self.requirements.whole.clone());
                }
            }
        } else {
            self.publish_requirements(ad);
        }
        if wants.times {
            ad.set("RetirementTimeRemaining", retirement);
            ad.set("LastFetchWorkSpawned", self.last_fetch_spawned);
            ad.set("LastFetchWorkCompleted", self.last_fetch_completed);
            ad.set("NextFetchWorkDelay", self.next_fetch_delay);
        }
        if let Some(claim) = self.current.as_ref().filter(|_| wants.claim) {
            claim.publish(ad, core.now);
            if let Some(cpus) = self.load.cpus.filter(|_| claim.is_active()) {
                ad.set("ImageSize", self.load.image_kib);
                ad.set("CpusUsage", cpus);
            }
            if self.splittable && matches!(self.state, State::Claimed | State::Preempting) {
                ad.set("IsSplittable", true);
            }
            if self.state == State::Claimed {
                let public = bstr::BString::from(claim.id.public());
                ad.set("PublicClaimId", Value::from(public));
                ad.set("ClaimEndTime", 0i64);
            }
            if let Some(pid) = claim.starter.as_ref().and_then(|starter| starter.pid)
                && !internal
            {
                ad.set("StarterPid", i64::from(pid));
            }
        }
        if let Some(claim) = self.waiting.as_ref().filter(|_| wants.claim) {
            claim.publish_waiting(ad);
        }
        // Over everything so far, so that they steer policy (`Resource::publish_latches`, `ResMgr::adlist_publish`).
        core.merge_cron(ad);
        ad.set("AcceptedWhileDraining", self.accepted_while_draining);
        self.publish_latches(ad);
        if internal {
            retirement_of(core, ad);
        }
        if self.kind == SlotKind::Partitionable {
            if self.plan.consumption {
                ad.set("NumClaims", self.plan.claims);
            }
            ad.set("NumDynamicSlots", self.children.0);
            ad.set("NumDynamicSlotsTime", self.children.1);
            if settings.rollup {
                ad.set("PslotRollupInformation", true);
                ad.update(&self.child_lists);
            }
        }
    }

    /// What it has, and what the machine is.
    fn publish_amounts(&self, core: &Core, ad: &mut ClassAd) {
        match &self.conflict {
            None => self.amounts.publish_dynamic(ad, self.broken.is_some(), &core.offline),
            Some(_) => self.offered().publish_dynamic(ad, self.broken.is_some(), &core.offline),
        }
        self.publish_conflict(ad);
        // What STARTD_ATTRS says of amounts takes their place in the ad.
        let tags = self.amounts.custom.iter().map(|custom| custom.tag.as_str());
        for name in ["Cpus", "Memory"].into_iter().chain(tags) {
            if let Some(expr) = self.statics.get(name) {
                ad.insert(name, expr.clone());
            }
        }
        ad.update(&core.settings.common_dynamic);
        core.power.publish(ad);
        ad.update(&core.resources);
    }

    /// Attributes that slots show one another, in the internal ad.
    pub(super) fn take_shared(&mut self, core: &Core) {
        for (name, expr) in &core.shared_attributes {
            self.live.insert(name, expr.clone());
        }
    }

    /// MaxJobRetirementTime in the internal ad (`refresh_draining_attrs`).
    pub(super) fn publish_retirement(&mut self, core: &Core) {
        retirement_of(core, &mut self.live);
    }

    /// Load, idle times, clock and counters.
    fn publish_machine(&self, core: &Core, ad: &mut ClassAd) {
        let settings = &core.settings;
        let measured = &core.measured;
        let hundredths = |load: f64| (load * 100.0).round() / 100.0;
        ad.set("CondorLoadAvg", hundredths(self.load.of_jobs));
        ad.set("LoadAvg", hundredths(self.owner_load + self.load.of_jobs));
        ad.set("TotalCondorLoadAvg", hundredths(core.load_of_jobs));
        ad.set("TotalLoadAvg", hundredths(measured.load));
        // A slot that is not connected sees only how long the execution point runs.
        let away = core.current_time - core.started.epoch() + settings.idle_boost;
        let (keyboard, console) = match measured.input_at.map(|at| (core.current_time - at).max(0)) {
            Some(idle) => (Some(idle), Some(idle)),
            None => (measured.idle, measured.console_idle),
        };
        let is_connected = |slots: u32| self.key.number <= slots && keyboard.is_some();
        let keyboard = keyboard.filter(|_| is_connected(settings.keyboard_slots));
        ad.set("KeyboardIdle", keyboard.unwrap_or(away));
        match (is_connected(settings.console_slots), console) {
            (false, _) => ad.set("ConsoleIdle", away),
            (true, Some(idle)) => ad.set("ConsoleIdle", idle),
            // Without CONSOLE_DEVICES nobody knows.
            (true, None) => drop(ad.remove("ConsoleIdle")),
        }
        if !core.wants.clock {
            return;
        }
        let zone = core.world.zone(core.current_time);
        let local = core.current_time + i64::from(zone.offset);
        ad.set("ClockMin", local.rem_euclid(86_400) / 60);
        // The epoch was a Thursday.
        ad.set("ClockDay", (local.div_euclid(86_400) + 4).rem_euclid(7));
        ad.set("TotalVirtualMemory", measured.virtual_memory);
        ad.set("LastBenchmark", core.benchmarks.last);
        ad.set("TotalSlots", core.slot_count);
        ad.set("TimeToLive", i64::from(i32::MAX));
        ad.set("DaemonCoreDutyCycle", 0.0);
        ad.set("RecentDaemonCoreDutyCycle", 0.0);
        ad.set("MonitorSelfAge", core.current_time - core.started.epoch());
        ad.set("MonitorSelfCPUUsage", measured.own_cpu);
        ad.set("MonitorSelfImageSize", measured.own_size[0]);
        ad.set("MonitorSelfRegisteredSocketCount", 0i64);
        ad.set("MonitorSelfResidentSetSize", measured.own_size[1]);
        ad.set("MonitorSelfSecuritySessions", 0i64);
        ad.set("MonitorSelfTime", core.current_time);
    }

    /// State, activity and the time spent in each (`ResState::publish`).
    pub(super) fn publish_state(&self, core: &Core, ad: &mut ClassAd) {
        if !core.wants.state && !core.wants.totals {
            return;
        }
        ad.set("State", Value::from(bstr::BString::from(self.state.name())));
        ad.set("Activity", Value::from(bstr::BString::from(self.activity.name())));
        ad.set("EnteredCurrentState", self.entered_state);
        ad.set("EnteredCurrentActivity", self.entered_activity);
        if !core.wants.totals {
            return;
        }
        for (state, row) in State::ALL.into_iter().zip(&self.totals) {
            for (activity, total) in Activity::ALL.into_iter().zip(row) {
                let mut total = *total;
                if (state, activity) == (self.state, self.activity) {
                    total += (core.current_time - self.entered_activity).max(0);
                }
                if total > 0 {
                    ad.set(total_name(state, activity), total);
                }
            }
        }
    }

    /// As the reference does after each change: only state and activity are brought up to date.
    pub(super) fn publish_state_live(&mut self, core: &Core) {
        let mut ad = std::mem::replace(&mut self.live, ClassAd::new());
        self.publish_state(core, &mut ad);
        if core.now.epoch() > core.current_time {
            ad.set("MyCurrentTime", core.now.epoch());
        }
        self.live = ad;
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

    /// Evaluates in the live ad, with `target` as the other ad.
    pub(super) fn look<R>(
        &self,
        core: &Core,
        target: Option<&ClassAd>,
        ask: impl FnOnce(&Context<'_>) -> R,
    ) -> R {
        let world = Frozen { world: &*core.world, now: core.now };
        let mut context = Context::new(&world).my(&self.live);
        if core.watch.is_on() {
            context = context.observer(&core.watch);
        }
        match target {
            Some(target) => ask(&context.target(target)),
            None => ask(&context),
        }
    }

    /// Evaluates in the job's ad, with the live ad as the other.
    pub(super) fn look_in_job<R>(
        &self,
        core: &Core,
        job: &ClassAd,
        ask: impl FnOnce(&Context<'_>) -> R,
    ) -> R {
        let world = Frozen { world: &*core.world, now: core.now };
        let mut context = Context::new(&world).my(job).target(&self.live);
        if core.watch.is_on() {
            context = context.observer(&core.watch);
        }
        ask(&context)
    }

    /// Requirements are the normal ones again, unless the execution point ends (`reqexp_restore`).
    pub(super) fn restore_requirements(&mut self, core: &Core) {
        if core.shutdown.is_some() || core.drain.is_on() || core.power.asleep.is_some() {
            // What it is unavailable for stays as it is.
            if self.available {
                self.set_unavailable(core.drain.start.clone().filter(|_| core.drain.is_on()));
            }
            return;
        }
        if self.is_restored && self.keeps_constants(core) {
            return;
        }
        self.available = true;
        self.start_while_draining = None;
        if self.broken.is_none() {
            self.live.chain(Some(self.config.clone()));
            self.require();
            self.is_restored = true;
        }
    }

    /// Takes nothing more, or only what this START admits (`reqexp_unavail`).
    pub(super) fn set_unavailable(&mut self, start: Option<Expr>) {
        (self.available, self.is_restored) = (false, false);
        self.start_while_draining = start;
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
        match (self.available, &self.start_while_draining) {
            (true, _) => self.live.insert("Requirements", self.requirements.whole.clone()),
            (false, None) => self.live.insert("Requirements", Expr::literal(Value::Bool(false))),
            (false, Some(start)) => {
                self.live.insert("Start", start.clone());
                self.live.insert("WithinResourceLimits", self.requirements.limits.clone());
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

/// MaxJobRetirementTime is that of the configuration, whatever cron jobs say of it, or 0 at the end of a drain.
fn retirement_of(core: &Core, ad: &mut ClassAd) {
    const NAME: &str = "MaxJobRetirementTime";
    if core.drain.no_retirement {
        ad.set(NAME, 0i64);
        return;
    }
    // Without its parent, so that the parent's value is not hidden.
    let parent = ad.parent().cloned();
    ad.chain(None);
    ad.remove(NAME);
    ad.chain(parent);
}
