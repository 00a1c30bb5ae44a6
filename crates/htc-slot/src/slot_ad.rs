//! Slot ads: the ad that is sent, and the internal ad in which policy expressions are evaluated.

use super::cron_ads::convert_usage_for_sending;
use super::execution_point_state::ExecutionPointState;
use super::settings::SlotKind;
use super::slot::{RequirementsState, Slot};
use super::slot_state::{Activity, SlotState, total_time_attribute};
use htc_base::world::FrozenClockWorld;
use htc_classad::{AttrName, ClassAd, Value};

impl Slot {
    /// Returns the ad that FETCH_WORK gets, which 25.14 also sends to the collector (`publish_single_slot_ad`).
    pub(super) fn sent_ad(&self, core: &ExecutionPointState) -> ClassAd {
        let mut ad = (*self.statics).clone();
        let copy = |ad: &mut ClassAd, name: &str| match self.ads.live.get(name) {
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
        // MaxJobRetirementTime is published after the ads of cron jobs, so they cannot override it.
        match self.ads.live.get("MaxJobRetirementTime") {
            Some(expr) => ad.insert("MaxJobRetirementTime", expr),
            None => ad.set("MaxJobRetirementTime", 0i64),
        }
        for name in ["CpuIsBusy", "CpuBusyTime"].into_iter().filter(|_| core.settings.publishes_cpu_busy) {
            self.ads.live.get(name).into_iter().for_each(|value| ad.insert(name, value));
        }
        for (name, expr) in &core.shared_attributes {
            ad.insert(name, expr.clone());
        }
        let running = (core.now.epoch() - core.started.epoch()).max(1);
        let world = FrozenClockWorld { world: &*core.world, now: core.now };
        convert_usage_for_sending(&mut ad, running, core.settings.cron.keeps_seconds, &world);
        ad
    }

    /// Publishes Requirements, Start and WithinResourceLimits in the ad that is sent (`publish_requirements`).
    fn publish_requirements(&self, ad: &mut ClassAd) {
        match &self.broken {
            Some(broken) => {
                ad.set("Requirements", Value::from(bstr::BString::from(broken.reason.as_str())));
            }
            None if matches!(self.ads.requirements_state, RequirementsState::Unavailable) => {
                ad.set("Requirements", false)
            }
            None => {
                let start = match &self.ads.requirements_state {
                    RequirementsState::WhileDraining(start) => start,
                    RequirementsState::Configured { .. } | RequirementsState::Unavailable => {
                        &self.requirements.start
                    }
                };
                ad.insert(AttrName::from("Start"), start.clone());
                if let Some(limits) = &self.requirements.limits {
                    ad.insert(AttrName::from("WithinResourceLimits"), limits.clone());
                }
                ad.insert(AttrName::from("Requirements"), self.requirements.expr.clone());
                for name in &self.requirements.clauses {
                    if let Some(expr) = self.config.get(name) {
                        ad.insert(name.clone(), expr);
                    }
                }
                return;
            }
        }
        for name in ["Start", "WithinResourceLimits"] {
            ad.remove(name);
        }
    }

    /// Publishes Requirements in the internal ad. Start and WithinResourceLimits are in the slot's configuration ad.
    fn publish_internal_requirements(&self, ad: &mut ClassAd) {
        match (&self.broken, &self.ads.requirements_state) {
            (Some(broken), _) => {
                ad.set("Requirements", Value::from(bstr::BString::from(broken.reason.as_str())));
            }
            (None, RequirementsState::Configured { .. }) => {
                ad.insert("Requirements", self.requirements.expr.clone());
            }
            (None, RequirementsState::Unavailable) => ad.set("Requirements", false),
            (None, RequirementsState::WhileDraining(start)) => {
                ad.insert("Start", start.clone());
                if let Some(limits) = &self.requirements.limits {
                    ad.insert("WithinResourceLimits", limits.clone());
                }
                ad.insert("Requirements", self.requirements.expr.clone());
            }
        }
    }

    /// Publishes the attributes that change with time or with the slot's state (`Resource::publish_dynamic`).
    pub(super) fn publish_dynamic(
        &self,
        core: &ExecutionPointState,
        ad: &mut ClassAd,
        internal: bool,
        retirement: i64,
    ) {
        let groups = core.publish_set;
        ad.set("MyCurrentTime", core.current_time);
        if groups.claim {
            self.publish_job_attributes(core, ad);
        }
        if !(internal && self.ads.has_constants && self.has_stable_constants(core)) {
            self.publish_amounts(core, ad);
        }
        if groups.machine {
            self.publish_machine(core, ad);
        }
        if groups.ad_texts {
            core.counters.publish(ad, core.current_time);
            core.drain_estimate.publish(ad);
        }
        if groups.drain {
            core.drain.publish(ad);
        }
        self.publish_state(core, ad);
        match internal {
            true => self.publish_internal_requirements(ad),
            false => self.publish_requirements(ad),
        }
        if groups.fetch_times {
            ad.set("RetirementTimeRemaining", retirement);
            ad.set("LastFetchWorkSpawned", self.fetch.last_spawned);
            ad.set("LastFetchWorkCompleted", self.fetch.last_completed);
            ad.set("NextFetchWorkDelay", self.fetch.next_delay);
        }
        if groups.claim {
            self.publish_claims(core, ad, internal);
        }
        // Cron ads are merged after all attributes above and before latches, so that cron jobs can affect policy
        // (`Resource::publish_latches`, `ResMgr::adlist_publish`).
        core.merge_cron_ads(ad);
        ad.set("AcceptedWhileDraining", self.claims.accepted_while_draining);
        self.publish_latches(ad);
        if internal {
            publish_retirement_time(core, ad);
        }
        if self.kind == SlotKind::Partitionable {
            self.publish_children(core, ad);
        }
    }

    /// Publishes STARTD_JOB_ATTRS: attributes of the current claim's job.
    fn publish_job_attributes(&self, core: &ExecutionPointState, ad: &mut ClassAd) {
        let claim = self
            .claims
            .current
            .as_ref()
            .filter(|_| matches!(self.state, SlotState::Claimed | SlotState::Preempting));
        let Some(job) = claim.and_then(|claim| claim.job.as_ref()) else { return };
        for name in &core.settings.job_attributes {
            if let Some(expr) = job.get(name.clone()) {
                ad.insert(name.clone(), expr.clone());
            }
        }
    }

    /// Publishes attributes of the current claim and of the waiting claim.
    fn publish_claims(&self, core: &ExecutionPointState, ad: &mut ClassAd, internal: bool) {
        if let Some(claim) = &self.claims.current {
            claim.publish(ad, core.now);
            if let Some(cpus) = self.usage.job.cpus_in_use.filter(|_| claim.is_active()) {
                ad.set("ImageSize", self.usage.job.image_kib);
                ad.set("CpusUsage", cpus);
            }
            if self.splittable && matches!(self.state, SlotState::Claimed | SlotState::Preempting) {
                ad.set("IsSplittable", true);
            }
            if self.state == SlotState::Claimed {
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
        if let Some(claim) = &self.claims.waiting {
            claim.publish_as_preempting(ad);
        }
    }

    /// Publishes the summary of a partitionable slot's dynamic slots.
    fn publish_children(&self, core: &ExecutionPointState, ad: &mut ClassAd) {
        if self.plan.has_consumption_policy {
            ad.set("NumClaims", self.plan.num_claims);
        }
        ad.set("NumDynamicSlots", self.children.0);
        ad.set("NumDynamicSlotsTime", self.children.1);
        if core.settings.publishes_rollup {
            ad.set("PslotRollupInformation", true);
            ad.update(&self.ads.child_lists);
        }
    }

    /// Publishes the slot's resources and the resource attributes of the machine.
    fn publish_amounts(&self, core: &ExecutionPointState, ad: &mut ClassAd) {
        match &self.conflict {
            None => self.amounts.publish_dynamic(ad, self.broken.is_some(), &core.resources.offline_devices),
            Some(_) => self.offered_amounts().publish_dynamic(
                ad,
                self.broken.is_some(),
                &core.resources.offline_devices,
            ),
        }
        self.publish_conflict(ad);
        // STARTD_ATTRS override the attributes of resource amounts.
        let tags = self.amounts.custom.iter().map(|custom| custom.tag.as_str());
        for name in ["Cpus", "Memory"].into_iter().chain(tags) {
            if let Some(expr) = self.statics.get(name) {
                ad.insert(name, expr.clone());
            }
        }
        ad.update(&core.settings.common_dynamic);
        core.power.publish(ad);
        ad.update(&core.resources.changes);
    }

    /// Copies STARTD_SLOT_ATTRS of all slots into the internal ad.
    pub(super) fn insert_slot_attributes(&mut self, core: &ExecutionPointState) {
        for (name, expr) in &core.shared_attributes {
            self.ads.live.insert(name, expr.clone());
        }
    }

    /// Publishes MaxJobRetirementTime in the internal ad (`refresh_draining_attrs`).
    pub(super) fn refresh_retirement_time(&mut self, core: &ExecutionPointState) {
        publish_retirement_time(core, &mut self.ads.live);
    }

    /// Publishes loads, idle times, the clock and counters.
    fn publish_machine(&self, core: &ExecutionPointState, ad: &mut ClassAd) {
        let settings = &core.settings;
        let measured = &core.load.measured;
        let hundredths = |load: f64| (load * 100.0).round() / 100.0;
        ad.set("CondorLoadAvg", hundredths(self.usage.job.load_average));
        ad.set("LoadAvg", hundredths(self.usage.owner_load + self.usage.job.load_average));
        ad.set("TotalCondorLoadAvg", hundredths(core.load.of_jobs));
        ad.set("TotalLoadAvg", hundredths(measured.load));
        // For a slot without a connected keyboard, the idle time is the uptime of the execution point.
        let away = core.current_time - core.started.epoch() + settings.idle_boost;
        let (keyboard, console) = match measured.last_input_at.map(|at| (core.current_time - at).max(0)) {
            Some(idle) => (Some(idle), Some(idle)),
            None => (measured.keyboard_idle, measured.console_idle),
        };
        let is_connected = |slots: u32| self.key.number <= slots && keyboard.is_some();
        let keyboard = keyboard.filter(|_| is_connected(settings.keyboard_slots));
        ad.set("KeyboardIdle", keyboard.unwrap_or(away));
        match (is_connected(settings.console_slots), console) {
            (false, _) => ad.set("ConsoleIdle", away),
            (true, Some(idle)) => ad.set("ConsoleIdle", idle),
            // Without CONSOLE_DEVICES, ConsoleIdle is unknown.
            (true, None) => drop(ad.remove("ConsoleIdle")),
        }
        if !core.publish_set.clock {
            return;
        }
        let zone = core.world.zone(core.current_time);
        let local = core.current_time + i64::from(zone.offset);
        ad.set("ClockMin", local.rem_euclid(86_400) / 60);
        // 1970-01-01 was a Thursday (day 4).
        ad.set("ClockDay", (local.div_euclid(86_400) + 4).rem_euclid(7));
        ad.set("TotalVirtualMemory", measured.virtual_memory);
        ad.set("LastBenchmark", core.benchmarks.last_ended);
        if let Some(mib) = core.resources.image_cache_mib {
            ad.set("DockerCachedImageSizeMb", mib);
        }
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

    /// Publishes state, activity and the time spent in each state (`ResState::publish`).
    fn publish_state(&self, core: &ExecutionPointState, ad: &mut ClassAd) {
        if !core.publish_set.state && !core.publish_set.state_totals {
            return;
        }
        ad.set("State", Value::from(bstr::BString::from(self.state.name())));
        ad.set("Activity", Value::from(bstr::BString::from(self.activity.name())));
        ad.set("EnteredCurrentState", self.history.entered_state);
        ad.set("EnteredCurrentActivity", self.history.entered_activity);
        if !core.publish_set.state_totals {
            return;
        }
        for (state, row) in SlotState::ALL.into_iter().zip(&self.history.totals) {
            for (activity, total) in Activity::ALL.into_iter().zip(row) {
                let mut total = *total;
                if (state, activity) == (self.state, self.activity) {
                    total += (core.current_time - self.history.entered_activity).max(0);
                }
                if total > 0 {
                    ad.set(total_time_attribute(state, activity), total);
                }
            }
        }
    }

    /// Refreshes only state and activity, as the reference does after each change.
    pub(super) fn refresh_state_attributes(&mut self, core: &ExecutionPointState) {
        let mut ad = std::mem::replace(&mut self.ads.live, ClassAd::new());
        self.publish_state(core, &mut ad);
        if core.now.epoch() > core.current_time {
            ad.set("MyCurrentTime", core.now.epoch());
        }
        self.ads.live = ad;
    }
}

/// Publishes MaxJobRetirementTime: the configured value, even if cron jobs set another, or 0 at the end of a drain.
fn publish_retirement_time(core: &ExecutionPointState, ad: &mut ClassAd) {
    const NAME: &str = "MaxJobRetirementTime";
    if core.drain.no_retirement {
        ad.set(NAME, 0i64);
        return;
    }
    // The ad is first unchained from its parent, because `remove` in a chained ad would hide the parent's value.
    let parent = ad.parent().cloned();
    ad.chain(None);
    ad.remove(NAME);
    ad.chain(parent);
}
