//! State shared by all slots: settings, clock, ids, counters, and the actions of the current step.

use std::cell::Cell;
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::change_prediction::ChangePredictor;
use super::claim_id::ClaimId;
use super::cron_ads::CronAds;
use super::events::{
    AcceptedJobId, HookRunId, Measurements, ShutdownMode, SlotKey, SlotNotice, StartdAction, StarterId,
};
use super::publish_set::PublishSet;
use super::resources::OfflineDevices;
use super::runtime_state::alarm::Alarm;
use super::runtime_state::backfill_state::BackfillState;
use super::runtime_state::benchmark_state::BenchmarkState;
use super::runtime_state::claim::{Claim, ClaimKind};
use super::runtime_state::drain_state::DrainState;
use super::runtime_state::hibernation_state::HibernationState;
use super::runtime_state::poll_schedule::PollSchedule;
use super::runtime_state::poll_skipper::PollSkipper;
use super::settings::StartdSettings;
use htc_base::quirks::{Quirk, QuirkDecision, QuirkMode};
use htc_base::text::calendar::SECONDS_PER_DAY;
use htc_base::time::{ClockReading, MonotonicTime};
use htc_base::world::{FrozenClockWorld, World};
use htc_classad::{ClassAd, Context, Expr};

/// State shared by all slots of an execution point.
pub(super) struct ExecutionPointState {
    pub settings: Arc<StartdSettings>,
    pub world: Rc<dyn World>,
    pub now: ClockReading,
    /// Time of the last refresh in epoch seconds, published as MyCurrentTime.
    pub current_time: i64,
    /// Time when the execution point began, on both clocks.
    pub started: ClockReading,
    pub actions: Vec<StartdAction>,

    pub ending: EndingState,
    pub schedule: PollTimes,
    pub work: RunningWork,
    pub load: MachineLoad,
    pub resources: MachineResources,
    pub counters: StartdCounters,
    pub drain_estimate: DrainEstimate,
    pub drain: DrainState,
    pub power: HibernationState,
    pub backfill: BackfillState,
    pub benchmarks: BenchmarkState,
    /// Ads published by cron jobs.
    pub cron_ads: CronAds,

    pub slot_count: i64,
    /// True if there are slots of a type with SLOT_TYPE_<n>_BACKFILL.
    pub has_backfill_slots: bool,
    /// STARTD_SLOT_ATTRS of all slots as `<slot>_<attribute>`, as of the last time the ads were rebuilt.
    pub shared_attributes: Vec<(String, Expr)>,
    pub publish_set: PublishSet,
    /// Dynamic slots to remove after the current slot has been processed.
    pub slots_to_remove: Vec<SlotKey>,
    /// True if the attributes published for latches override no other attributes.
    pub latches_have_no_overrides: bool,
    reported_quirks: BTreeSet<&'static str>,
    /// Period in which the offset of local time is known to be constant, in epoch seconds.
    known_zone_period: Cell<(i64, i64)>,
    claims_made: u64,
    last_id: u64,
}

/// Reasons why an execution point ends, or no longer fetches work.
#[derive(Default)]
pub(super) struct EndingState {
    pub shutdown: Option<ShutdownMode>,
    /// Reason why no slot fetches work any more, or `None`.
    pub no_more_fetching: Option<String>,
    /// Reason why no job can run now, or `None`. While set, no job is fetched or accepted.
    pub starter_problem: Option<String>,
    /// True if the idle time of `--idle-exit` has passed: hooks that are running may still return a job, but no more
    /// hooks are called.
    pub idle_exit_due: bool,
    /// Reason why the execution point must exit at once, or `None`.
    pub fatal_reason: Option<String>,
}

/// Times of polls and updates, and the state of poll skipping.
pub(super) struct PollTimes {
    pub poll_at: Option<Alarm>,
    pub update_at: Option<Alarm>,
    /// Time from which polls and updates are counted, on the monotonic clock, in microseconds.
    pub polls_since: u64,
    pub updates_since: u64,
    /// State for skipping polls of slots that do not change, or `None` if every poll is made (always in live mode).
    pub poll_skipper: Option<Box<PollSkipper>>,
    pub change_predictor: ChangePredictor,
}

/// Hooks and starters that were started and have not ended.
#[derive(Default)]
pub(super) struct RunningWork {
    pub jobs_accepted: u64,
    /// Number of running FETCH_WORK hooks that may still return a job.
    pub running_fetches: u64,
    /// Hooks that were started and have not ended.
    pub running_hooks: BTreeSet<HookRunId>,
    /// Number of starters that were requested and neither run nor have failed.
    pub starting_starters: usize,
}

/// Measurements of the machine.
#[derive(Default)]
pub(super) struct MachineLoad {
    pub measured: Measurements,
    /// Part of the machine's load that is caused by the jobs of all slots.
    pub of_jobs: f64,
    /// True if some slot has a share of the machine's load, or had one at the last update.
    pub is_shared: bool,
}

/// Changes of the machine's resources since the start.
pub(super) struct MachineResources {
    /// Devices that went offline since the start.
    pub offline_devices: OfflineDevices,
    /// Resource attributes that have changed since the start: Total<Tag>, Offline<Tag>.
    pub changes: ClassAd,
    /// DockerCachedImageSizeMb, or `None` until docker has been asked.
    pub image_cache_mib: Option<i64>,
}

impl ExecutionPointState {
    pub(super) fn new(settings: Arc<StartdSettings>, world: Rc<dyn World>, now: ClockReading) -> Self {
        let cron = CronAds::new(settings.quirks);
        let benchmarks = BenchmarkState::new(settings.quirks);
        ExecutionPointState {
            settings,
            world,
            now,
            current_time: now.epoch(),
            started: now,
            actions: Vec::new(),
            ending: EndingState::default(),
            schedule: PollTimes {
                poll_at: None,
                update_at: None,
                polls_since: 0,
                updates_since: 0,
                poll_skipper: None,
                change_predictor: ChangePredictor::new(),
            },
            work: RunningWork::default(),
            load: MachineLoad::default(),
            resources: MachineResources {
                offline_devices: OfflineDevices::new(),
                changes: ClassAd::new(),
                image_cache_mib: None,
            },
            counters: StartdCounters::default(),
            drain_estimate: DrainEstimate::default(),
            drain: DrainState::default(),
            power: HibernationState::default(),
            backfill: BackfillState::default(),
            benchmarks,
            cron_ads: cron,
            slot_count: 0,
            has_backfill_slots: false,
            shared_attributes: Vec::new(),
            publish_set: PublishSet::ALL,
            slots_to_remove: Vec::new(),
            latches_have_no_overrides: false,
            reported_quirks: BTreeSet::new(),
            known_zone_period: Cell::new((0, 0)),
            claims_made: 0,
            last_id: 0,
        }
    }

    pub(super) fn quirks(&self) -> QuirkMode {
        self.settings.quirks
    }

    /// Returns true if the quirk of 25.14 is to be reproduced; otherwise reports the difference once, for the given slot or for
    /// no slot.
    pub(super) fn decide_and_report(&mut self, quirk: Quirk, slot: impl Into<Option<SlotKey>>) -> bool {
        self.report(self.quirks().decide(quirk), slot)
    }

    /// Reports a quirk decision that another function made, and returns it like [`ExecutionPointState::decide_and_report`].
    pub(super) fn report(&mut self, decided: QuirkDecision, slot: impl Into<Option<SlotKey>>) -> bool {
        let QuirkDecision { quirk, as_reference } = decided;
        if !as_reference && self.reported_quirks.insert(quirk.id()) {
            self.notify(SlotNotice::Quirk { slot: slot.into(), quirk });
        }
        as_reference
    }

    /// Evaluates in an ad as it is now, optionally with a TARGET ad. The change predictor observes the evaluation if it is
    /// active.
    pub(super) fn eval_in_ads<R>(
        &self,
        my: &ClassAd,
        target: Option<&ClassAd>,
        ask: impl FnOnce(&Context<'_>) -> R,
    ) -> R {
        let world = FrozenClockWorld { world: &*self.world, now: self.now };
        let mut context = Context::new(&world).my(my);
        if self.schedule.change_predictor.is_active() {
            context = context.observer(&self.schedule.change_predictor);
        }
        match target {
            Some(target) => ask(&context.target(target)),
            None => ask(&context),
        }
    }

    /// Merges the ads published by cron jobs and benchmarks into a slot ad.
    pub(super) fn merge_cron_ads(&self, ad: &mut ClassAd) {
        if self.benchmarks.ads.is_empty() && self.cron_ads.is_empty() {
            return;
        }
        let world = FrozenClockWorld { world: &*self.world, now: self.now };
        self.benchmarks.ads.merge_into(ad, &world);
        self.cron_ads.merge_into(ad, &world);
    }

    /// Returns true if the quirk of 25.14 is to be reproduced, without a report: for differences that do not affect users.
    pub(super) fn decide(&self, quirk: Quirk) -> bool {
        self.quirks().reproduces(quirk)
    }

    pub(super) fn notify(&mut self, notice: SlotNotice) {
        self.actions.push(StartdAction::Notify(notice));
    }

    pub(super) fn warn(&mut self, slot: Option<SlotKey>, text: impl Into<String>) {
        self.notify(SlotNotice::Warning { slot, text: text.into() });
    }

    /// Reports that a command is refused.
    pub(super) fn refuse(&mut self, slot: Option<SlotKey>, text: impl Into<String>) {
        self.notify(SlotNotice::Refusal { slot, text: text.into() });
    }

    /// Returns a daemon timer that expires `after` from now.
    pub(super) fn alarm(&self, after: Duration) -> Alarm {
        let seconds = i64::try_from(after.as_secs()).unwrap_or(i64::MAX);
        Alarm::new(self.now.monotonic().plus(after), self.now.epoch().saturating_add(seconds))
    }

    /// Returns a daemon timer that expires `seconds` from now; a negative number is treated as 0.
    pub(super) fn alarm_after(&self, seconds: i64) -> Alarm {
        self.alarm(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
    }

    /// True if the timer has expired.
    pub(super) fn is_due(&self, alarm: Option<Alarm>) -> bool {
        alarm.is_some_and(|alarm| alarm.is_due(self.now, self.quirks()))
    }

    /// Returns the current schedule of polls and updates.
    pub(super) fn poll_schedule(&self) -> PollSchedule {
        let StartdSettings { polling_interval, update_interval, .. } = *self.settings;
        let poll = (self.schedule.poll_at, self.schedule.polls_since, polling_interval);
        PollSchedule::from_alarms(
            self.now,
            [poll, (self.schedule.update_at, self.schedule.updates_since, update_interval)],
        )
    }

    /// Returns the instant `seconds` from now; a negative number is treated as 0.
    pub(super) fn time_after(&self, seconds: i64) -> MonotonicTime {
        self.now.monotonic().plus(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
    }

    /// Restarts the update timer from now.
    pub(super) fn start_updating(&mut self) {
        let alarm = self.alarm(self.settings.update_interval);
        self.schedule.updates_since = alarm.at.0;
        self.schedule.update_at = Some(alarm);
    }

    /// Returns the end of the local day in epoch seconds, or the end of the current minute if the offset of local time changes
    /// before (DST).
    pub(super) fn local_day_end(&self, now: i64) -> i64 {
        let (from, to) = self.known_zone_period.get();
        if (from..to).contains(&now) {
            return to;
        }
        let offset = i64::from(self.world.zone(now).offset);
        let midnight = now + SECONDS_PER_DAY - (now + offset).rem_euclid(SECONDS_PER_DAY);
        if i64::from(self.world.zone(midnight).offset) != offset {
            return now + 60;
        }
        self.known_zone_period.set((now, midnight));
        midnight
    }

    pub(super) fn new_claim(&mut self, kind: ClaimKind) -> Claim {
        self.claims_made += 1;
        let key = std::array::from_fn(|_| self.world.random());
        let id = match kind {
            ClaimKind::Offered | ClaimKind::Requested => {
                ClaimId::with_session(&self.settings.address, self.started.epoch(), self.claims_made, key)
            }
            ClaimKind::Fetched => {
                ClaimId::new(&self.settings.address, self.started.epoch(), self.claims_made, key)
            }
        };
        Claim::new(id, kind, self.now)
    }

    pub(super) fn new_hook_run(&mut self) -> HookRunId {
        self.last_id += 1;
        self.work.running_hooks.insert(HookRunId(self.last_id));
        HookRunId(self.last_id)
    }

    /// True if another fetch may begin: a starter could run a job, and each running fetch could return a job without exceeding
    /// `--max-jobs`.
    pub(super) fn can_fetch(&self) -> bool {
        let most = self.settings.limits.max_jobs.unwrap_or(u64::MAX);
        !self.ending.idle_exit_due
            && self.ending.no_more_fetching.is_none()
            && self.ending.starter_problem.is_none()
            && self.work.jobs_accepted.saturating_add(self.work.running_fetches) < most
    }

    pub(super) fn new_starter_id(&mut self) -> StarterId {
        self.last_id += 1;
        StarterId(self.last_id)
    }

    pub(super) fn new_accepted_job(&mut self) -> AcceptedJobId {
        self.last_id += 1;
        AcceptedJobId(self.last_id)
    }

    /// Starts the timer for policy evaluation every POLLING_INTERVAL, if it is not running (`start_poll_timer`).
    pub(super) fn start_polling(&mut self) {
        if self.schedule.poll_at.is_none() {
            let alarm = self.alarm(self.settings.polling_interval);
            self.schedule.polls_since = alarm.at.0;
            self.schedule.poll_at = Some(alarm);
        }
    }
}

/// Counter of events, since the start and over the last 20 minutes. The latter is published as `Recent...`, as in the reference.
#[derive(Default)]
pub(super) struct Counter {
    total: i64,
    recent: VecDeque<i64>,
}

/// Length of the recent window: the default of STATISTICS_WINDOW_SECONDS.
const RECENT_WINDOW_SECONDS: i64 = 1200;

impl Counter {
    pub(super) fn increment(&mut self, epoch: i64) {
        self.total += 1;
        self.recent.push_back(epoch);
        // The list is sorted unless the clock was set back. `publish` skips old entries that remain in that case.
        while self.recent.front().is_some_and(|at| epoch - at >= RECENT_WINDOW_SECONDS) {
            self.recent.pop_front();
        }
    }

    fn publish(&self, ad: &mut ClassAd, name: &str, epoch: i64) {
        let recent = self.recent.iter().filter(|at| epoch - **at < RECENT_WINDOW_SECONDS).count();
        ad.set(name, self.total);
        ad.set(format!("Recent{name}").as_str(), i64::try_from(recent).unwrap_or(i64::MAX));
    }
}

/// Counters of the execution point, published in all slot ads.
#[derive(Default)]
pub(super) struct StartdCounters {
    pub job_starts: Counter,
    pub new_dslot_not_match: Counter,
    // 25.14 counts activation requests only for claims of schedds (command.cpp).
    pub activation_requests: Counter,
    pub claim_requests: Counter,
    pub preemptions: Counter,
    pub rank_preemptions: Counter,
    pub user_prio_preemptions: Counter,
}

impl StartdCounters {
    pub(super) fn publish(&self, ad: &mut ClassAd, epoch: i64) {
        for (name, counter) in [
            ("ActivationRequests", &self.activation_requests),
            ("ClaimRequests", &self.claim_requests),
            ("JobPreemptions", &self.preemptions),
            ("JobRankPreemptions", &self.rank_preemptions),
            ("JobStarts", &self.job_starts),
            ("JobUserPrioPreemptions", &self.user_prio_preemptions),
            ("NewDSlotNotMatch", &self.new_dslot_not_match),
        ] {
            counter.publish(ad, name, epoch);
        }
    }
}

/// Estimated cost of a drain that begins now (`compute_draining_attrs`).
#[derive(Clone, Copy, Default)]
pub(super) struct DrainEstimate {
    graceful_completion: i64,
    quick_completion: i64,
    graceful_badput: i64,
    quick_badput: i64,
}

/// One slot's part of a drain estimate: seconds until it is drained, and number of processors.
pub(super) struct SlotDrainCost {
    pub runtime: i64,
    pub retirement: i64,
    pub vacate: i64,
    pub cpus: i64,
    pub active: bool,
}

impl DrainEstimate {
    pub(super) fn compute(&mut self, parts: impl Iterator<Item = SlotDrainCost>, time: i64) {
        let (mut graceful, mut quick, mut drained) = (0i64, 0i64, true);
        (self.graceful_badput, self.quick_badput) = (0, 0);
        let cap = i64::from(i32::MAX);
        for part in parts {
            drained &= !part.active;
            let remaining = part.retirement.max(part.vacate);
            graceful = graceful.max(remaining);
            quick = quick.max(part.vacate);
            let cost = |seconds: i64| part.cpus.saturating_mul(part.runtime.saturating_add(seconds));
            self.graceful_badput = self.graceful_badput.saturating_add(cost(remaining)).min(cap);
            self.quick_badput = self.quick_badput.saturating_add(cost(part.vacate)).min(cap);
        }
        for (completion, seconds) in
            [(&mut self.graceful_completion, graceful), (&mut self.quick_completion, quick)]
        {
            if !drained {
                *completion = time.saturating_add(seconds).min(cap);
            } else if *completion == 0 || *completion > time {
                *completion = time;
            }
        }
    }

    /// Returns when all slots would be drained, in epoch seconds.
    pub(super) fn completion(&self, graceful: bool) -> i64 {
        if graceful { self.graceful_completion } else { self.quick_completion }
    }

    pub(super) fn publish(&self, ad: &mut ClassAd) {
        ad.set("ExpectedMachineGracefulDrainingBadput", self.graceful_badput);
        ad.set("ExpectedMachineQuickDrainingBadput", self.quick_badput);
        ad.set("ExpectedMachineGracefulDrainingCompletion", self.graceful_completion);
        ad.set("ExpectedMachineQuickDrainingCompletion", self.quick_completion);
    }
}
