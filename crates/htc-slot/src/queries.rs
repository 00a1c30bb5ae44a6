//! Queries of the execution point's state.

use super::events::{ShutdownMode, SlotKey, job_id};
use super::execution_point::ExecutionPoint;
use super::runtime_state::claim::{Claim, ClaimKind, ClaimPhase};
use super::settings::{BenchmarkSettings, CronSettings, ImageCacheSettings, SlotKind};
use super::slot::Slot;
use super::slot_state::{Activity, SlotState};
use htc_base::time::MonotonicTime;
use htc_base::world::FrozenClockWorld;
use htc_classad::{ClassAd, Context};

impl ExecutionPoint {
    /// Returns key, id, state and activity of each slot, in order.
    pub fn slots(&self) -> impl Iterator<Item = (SlotKey, &str, SlotState, Activity)> {
        self.slots.values().map(|slot| (slot.key, slot.id.as_str(), slot.state, slot.activity))
    }

    /// Returns the ad that FETCH_WORK of a slot would get now.
    pub fn sent_ad(&self, key: SlotKey) -> Option<ClassAd> {
        self.slots.get(&key).map(|slot| slot.sent_ad(&self.core))
    }

    /// Returns the number of jobs that the slot with this number, or its dynamic slots, have accepted and not yet started.
    pub fn count_jobs_not_begun(&self, number: u32) -> usize {
        let waits = |claim: &&Claim| claim.job.is_some() && !claim.is_active();
        let count_waiting =
            |slot: &Slot| slot.claims.current.iter().chain(&slot.claims.waiting).filter(waits).count();
        self.slots.slots_with_number(number).map(count_waiting).sum()
    }

    /// True if a slot has a FETCH_WORK hook to call.
    pub fn fetches_work(&self, key: SlotKey) -> bool {
        let hooks = self.slots.get(&key).and_then(|slot| slot.hooks.as_ref());
        hooks.is_some_and(|hooks| hooks.fetch.is_some())
    }

    /// Returns the kind of a slot.
    pub fn slot_kind(&self, key: SlotKey) -> Option<SlotKind> {
        self.slots.get(&key).map(|slot| slot.kind)
    }

    /// Returns the slot type of a slot; 0 for a slot without a type.
    pub fn slot_type_id(&self, key: SlotKey) -> Option<u32> {
        self.slots.get(&key).map(|slot| slot.plan.type_id)
    }

    /// Returns the number of processors that a slot currently has.
    pub fn slot_cpus(&self, key: SlotKey) -> Option<f64> {
        self.slots.get(&key).map(|slot| slot.amounts.cpus)
    }

    /// Returns the number of processors that a slot had when it was created.
    pub fn original_slot_cpus(&self, key: SlotKey) -> Option<f64> {
        self.slots.get(&key).map(|slot| if key.sub == 0 { slot.plan.amounts.cpus } else { slot.amounts.cpus })
    }

    /// Returns the first resource of which the job requests more than the slot had when it was created, or `None` if the slot is
    /// large enough.
    pub fn first_insufficient_resource(&self, key: SlotKey, job: &ClassAd) -> Option<String> {
        let slot = self.slots.get(&key)?;
        let original = if key.sub == 0 { &slot.plan.amounts } else { &slot.amounts };
        let world = FrozenClockWorld { world: &*self.core.world, now: self.core.now };
        let context = Context::new(&world).my(job).target(&slot.ads.live);
        let mut had = vec![
            ("Cpus".to_owned(), original.cpus),
            ("Memory".to_owned(), original.memory as f64),
            ("Disk".to_owned(), original.disk as f64),
        ];
        had.extend(original.custom.iter().map(|custom| (custom.tag.clone(), custom.quantity)));
        let lacks = |(tag, amount): &(String, f64)| {
            context.real(format!("Request{tag}").as_str()).is_some_and(|wanted| wanted > *amount)
        };
        had.into_iter().find(lacks).map(|(tag, _)| tag)
    }

    /// Returns the id string of a slot.
    pub fn slot_id(&self, key: SlotKey) -> Option<&str> {
        self.slots.get(&key).map(|slot| slot.id.as_str())
    }

    /// Returns the id of the job under a slot's claim, and the job's owner.
    pub fn job_of(&self, key: SlotKey) -> Option<(String, Option<String>)> {
        let world = &*self.core.world;
        let job = self.slots.get(&key)?.claims.current.as_ref()?.job.as_ref()?;
        let owner = Context::new(world).my(job).string("Owner").map(|owner| owner.to_string());
        Some((job_id(job, world), owner))
    }

    /// Returns when a slot fetches next, or `None` if it does not wait for a fetch.
    pub fn next_fetch_at(&self, key: SlotKey) -> Option<MonotonicTime> {
        let slot = self.slots.get(&key)?;
        slot.fetch.state.next_call_alarm().map(|alarm| alarm.at).filter(|_| slot.hooks.is_some())
    }

    /// Returns the daemon ad, in which the CONDITION of cron jobs is evaluated (`publish_daemon_ad`).
    pub fn daemon_ad(&self) -> ClassAd {
        let core = &self.core;
        let mut ad = (*core.settings.cron.daemon_ad).clone();
        ad.update(&core.settings.common_dynamic);
        core.drain_estimate.publish(&mut ad);
        core.drain.publish(&mut ad);
        core.counters.publish(&mut ad, core.now.epoch());
        core.merge_cron_ads(&mut ad);
        ad
    }

    /// Returns the slot's internal ad, in which policy is evaluated.
    pub fn live_ad(&self, key: SlotKey) -> Option<&ClassAd> {
        self.slots.get(&key).map(|slot| &slot.ads.live)
    }

    /// Returns the cron job settings.
    pub fn cron_settings(&self) -> &CronSettings {
        &self.core.settings.cron
    }

    /// Returns the benchmark settings.
    pub fn benchmark_settings(&self) -> &BenchmarkSettings {
        &self.core.settings.benchmarks
    }

    /// Returns the settings that determine when docker is asked for its images.
    pub fn image_cache_settings(&self) -> &ImageCacheSettings {
        &self.core.settings.image_cache
    }

    /// Returns the mode of the current shutdown, or `None` if the execution point does not shut down.
    pub fn shutdown_mode(&self) -> Option<ShutdownMode> {
        self.core.ending.shutdown
    }

    /// True if the execution point has ended: it returns no more actions.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Returns the run time of a slot's job in seconds, or `None` if no job runs.
    pub fn job_run_time(&self, key: SlotKey) -> Option<i64> {
        let claim = self.slots.get(&key)?.claims.current.as_ref()?;
        matches!(
            claim.phase,
            ClaimPhase::Running | ClaimPhase::Suspended | ClaimPhase::Vacating | ClaimPhase::Killing
        )
        .then(|| claim.job_run_time(self.core.now))
    }

    /// Returns a text that explains what the waiting claim of a slot waits for, or `None` if no claim waits.
    pub fn waiting_claim_text(&self, id: &str) -> Option<String> {
        let slot = self.slots.values().find(|slot| slot.id.eq_ignore_ascii_case(id))?;
        let waiting = slot.claims.waiting.as_ref().filter(|claim| claim.job.is_some())?;
        let present = slot.claims.current.as_ref()?;
        let (rank, present_rank) = (waiting.rank, present.rank);
        let than = match rank > present_rank {
            true => format!("its rank {rank} is higher than {present_rank}"),
            false => {
                format!(
                    "its rank {rank} equals that of the current claim, as for preemption by user priority"
                )
            }
        };
        let job = present.job.as_ref().filter(|_| present.is_active());
        let job = job.map(|job| format!(" with job {}", job_id(job, &*self.core.world))).unwrap_or_default();
        let until = match (slot.activity, slot.retirement_remaining(&self.core)) {
            (Activity::Retiring, seconds) => format!(", which has {seconds} s of retirement time left"),
            _ => String::new(),
        };
        Some(format!(
            "{}: the claim waits for the end of the current claim: {than}; the slot is {}/{}{job}{until}",
            slot.id, slot.state, slot.activity
        ))
    }

    /// True if a slot is claimed by a schedd, and not for a fetched job.
    pub fn is_claimed_by_schedd(&self, key: SlotKey) -> bool {
        let claim = self.slots.get(&key).and_then(|slot| slot.claims.current.as_ref());
        claim.is_some_and(|claim| claim.kind == ClaimKind::Requested)
    }
}
