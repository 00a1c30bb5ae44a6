//! Fetching work: when a slot calls FETCH_WORK, and how it handles the output (`Resource::tryFetchWork`, `StartdHookMgr.cpp`).

use std::hash::{Hash, Hasher};
use std::path::PathBuf;

use rustc_hash::FxHasher;

use super::change_prediction::HOLDS_FOREVER;
use super::claim_id::ClaimId;
use super::events::{AcceptedJobId, HookCall, SlotHookType, SlotKey, SlotNotice, StartdAction, job_id};
use super::execution_point::ExecutionPoint;
use super::execution_point_state::ExecutionPointState;
use super::fetch_verdict::{FetchOutcome, FetchOutput, add_default_requests, parse_fetch_output};
use super::hook_input;
use super::hook_quirks::{early_accept_decision, failed_fetch_decision, outranking_job_decision};
use super::runtime_state::claim::{Claim, ClaimKind, FetchedJob};
use super::runtime_state::fetch_state::FetchState;
use super::settings::SlotKind;
use super::slot::Slot;
use super::slot_state::{Activity, SlotState};
use htc_base::quirks::{Quirk, QuirkDecision};
use htc_base::text::caseless;
use htc_base::time::ClockReading;
use htc_base::world::FrozenClockWorld;
use htc_classad::{ClassAd, Context, Dialect, Expr, Value};

/// Value of FetchWorkDelay, in seconds, if it does not evaluate to a number.
pub(crate) const DEFAULT_FETCH_DELAY: i64 = 300;

/// Shortest wait for the next fetch that is reported with `--once`, in seconds.
const LONG_WAIT_SECONDS: i64 = 10;

/// Rank of an accepted job, or the reason for its refusal.
type RankOrRefusal = Result<f64, String>;

impl Slot {
    /// Calls FETCH_WORK if the slot may fetch now; otherwise sets the timer for the next try.
    pub(super) fn try_fetch(&mut self, core: &mut ExecutionPointState) {
        self.fetch.held_back = false;
        let is_asking = matches!(self.fetch.state, FetchState::Running(_) | FetchState::Skipped(_));
        if self.hooks.is_none() || is_asking || core.ending.no_more_fetching.is_some() {
            return;
        }
        if core.settings.limits.exit_when_no_work && self.fetch.out_of_work {
            return;
        }
        if let Some(asks) = self.unable_fetch_decision(core)
            && !core.report(asks, self.key)
        {
            self.fetch.state = FetchState::Waiting(core.alarm_after(1));
            return;
        }
        let delay = self.evaluate_fetch_delay(core);
        if delay > 0 {
            let since = core.now.epoch() - self.fetch.last_completed;
            if since < delay {
                // If the wall clock was set back, the wait is limited to the delay.
                let wait = (delay - since).min(delay);
                self.report_long_wait(core, wait);
                self.fetch.state = FetchState::Waiting(core.alarm_after(wait));
                return;
            }
        }
        if !self.is_willing_without_job(core) {
            self.fetch.out_of_work = true;
            self.set_fetch_timer(core);
            return;
        }
        let Some(path) = self.hooks.as_ref().and_then(|hooks| hooks.fetch.clone()) else { return };
        if !core.can_fetch() {
            self.fetch.held_back = true;
            return;
        }
        if core.schedule.change_predictor.is_active() && self.is_fetch_futile(core) {
            // While polls are skipped, a call that cannot return a job is not made, only counted.
            self.fetch.state = FetchState::Skipped(core.now);
            self.fetch.last_spawned = core.now.epoch();
            return;
        }
        let stdin = if core.publish_set.ad_texts {
            hook_input::print_long_ad(&self.sent_ad(core))
        } else {
            Vec::new()
        };
        self.fetch.last_spawned = core.now.epoch();
        self.call_fetch_hook(core, path, stdin, core.now);
    }

    /// Reports once that a run with `--once`, which ends when there is no more work, waits for FetchWorkDelay.
    fn report_long_wait(&mut self, core: &mut ExecutionPointState, seconds: i64) {
        let ends = core.settings.limits.exit_when_no_work;
        if ends && seconds >= LONG_WAIT_SECONDS && !std::mem::replace(&mut self.fetch.is_wait_reported, true)
        {
            let text = format!(
                "--once waits {seconds} s for the next FETCH_WORK (FetchWorkDelay); \
                 'FetchWorkDelay = ifThenElse(Activity == \"Idle\", 1, 300)' makes idle slots wait 1 s, and busy slots not fetch \
                 jobs that they reject"
            );
            core.notify(SlotNotice::Warning { slot: Some(self.key), text });
        }
    }

    /// Decides if the slot fetches although it cannot accept a job; returns `None` if it can accept one.
    pub(super) fn unable_fetch_decision(&self, core: &ExecutionPointState) -> Option<QuirkDecision> {
        let drained = || self.state == SlotState::Drained && !self.is_accepting_while_draining(core);
        let ends = core.ending.shutdown.is_some() || core.power.sleep_state.is_some();
        let unable = ends || self.state == SlotState::Preempting || drained();
        unable.then(|| core.quirks().decide(Quirk::FetchWhenUnable))
    }

    /// Calls FETCH_WORK; `begun` is the start time of the call.
    pub(super) fn call_fetch_hook(
        &mut self,
        core: &mut ExecutionPointState,
        path: PathBuf,
        stdin: Vec<u8>,
        begun: ClockReading,
    ) {
        let run = core.new_hook_run();
        if let Some(skipper) = &mut core.schedule.poll_skipper {
            skipper.fetching_slots.insert(run, self.key);
        }
        self.fetch.state = FetchState::Running(run);
        self.fetch.is_outdated = false;
        core.work.running_fetches += 1;
        core.actions.push(StartdAction::RunHook(HookCall {
            run,
            slot: self.key,
            hook: SlotHookType::FetchWork,
            path,
            arguments: Vec::new(),
            stdin,
            output_limit: Some(core.settings.pipe_buffer_max),
            begun,
            accepted: None,
        }));
    }

    /// True if START, evaluated without a job, is true. If START is undefined, true unless the slot is broken.
    pub(super) fn is_willing_without_job(&self, core: &ExecutionPointState) -> bool {
        self.eval_in_slot_ad(core, None, |context| context.boolean("START")).unwrap_or(self.broken.is_none())
    }

    fn evaluate_fetch_delay(&mut self, core: &mut ExecutionPointState) -> i64 {
        // While polls are skipped, a slot that is evaluated was refreshed before.
        let is_fresh = core.schedule.change_predictor.is_active() && self.changed_at != core.now.monotonic_us;
        if !is_fresh && !core.decide(Quirk::FetchDelayStaleActivity) {
            self.refresh_ad(core);
        }
        let delay = self.eval_in_slot_ad(core, self.job(), |context| context.int("FetchWorkDelay"));
        let delay = delay.unwrap_or(DEFAULT_FETCH_DELAY);
        // 25.14 keeps only the lower 32 bits, so that a delay of 3,000,000,000 seconds becomes no delay.
        self.fetch.next_delay =
            if core.quirks().reproduces(Quirk::FetchDelayLowBits) { i64::from(delay as i32) } else { delay };
        self.fetch.next_delay
    }

    /// Sets the fetch timer to the full FetchWorkDelay (`resetFetchWorkTimer`).
    fn set_fetch_timer(&mut self, core: &mut ExecutionPointState) {
        let delay = self.evaluate_fetch_delay(core);
        if !self.fetch.out_of_work {
            self.report_long_wait(core, delay);
        }
        self.fetch.state = FetchState::Waiting(core.alarm_after(if delay > 0 { delay } else { 1 }));
    }

    fn has_idle_fetched_claim(&self) -> bool {
        (self.state, self.activity) == (SlotState::Claimed, Activity::Idle)
            && self.claims.current.as_ref().is_some_and(|claim| claim.kind == ClaimKind::Fetched)
    }

    /// Records that a fetch returned no work. If a job ended while the hook ran, the fetch is ignored, because the
    /// queue may now have work for the free slot.
    fn mark_out_of_work(&mut self, core: &mut ExecutionPointState, reason: &str) {
        self.fetch.out_of_work = !self.fetch.is_outdated;
        self.end_idle_fetched_claim(core, reason);
    }

    /// Ends an idle claim because there is no work for it (`terminateFetchedWork`).
    pub(super) fn end_idle_fetched_claim(&mut self, core: &mut ExecutionPointState, reason: &str) {
        if self.has_idle_fetched_claim() {
            self.change_state(core, SlotState::Preempting, Activity::Vacating, reason);
        }
    }

    /// Decides if a fetched job is accepted (`StartdHookMgr::handleHookFetchWork`).
    fn decide_on_job(
        &mut self,
        core: &mut ExecutionPointState,
        job: &ClassAd,
        kind: Option<u32>,
    ) -> RankOrRefusal {
        if core.ending.shutdown.is_some() {
            return Err("the execution point is ending".into());
        }
        if let Some(reason) = &core.ending.no_more_fetching {
            return Err(reason.clone());
        }
        if let Some(reason) = &core.ending.starter_problem {
            return Err(format!("no starter could run it: {reason}"));
        }
        if self.state == SlotState::Preempting {
            return Err("the slot is still preempting its last job".into());
        }
        if self.state == SlotState::Backfill && self.history.state_after_backfill == Some(SlotState::Claimed)
        {
            return Err("the slot is already claimed, and its backfill client is being stopped".into());
        }
        self.restore_requirements(core);
        if !self.requirements_accept(core, job, kind) {
            let world = FrozenClockWorld { world: &*core.world, now: core.now };
            return Err(self.unfit_text(&world, job));
        }
        // Devices of a partitionable slot are chosen when it is split.
        if self.kind != SlotKind::Partitionable {
            self.check_devices(core, job).map_err(|unfit| unfit.reason)?;
        }
        let rank = self.eval_in_slot_ad(core, Some(job), |context| context.real("Rank")).unwrap_or(0.0);
        if self.state == SlotState::Claimed && !self.has_idle_fetched_claim() {
            let current = self.claims.current.as_ref().map_or(0.0, |claim| claim.rank);
            if rank <= current {
                return Err(format!("the job's rank {rank} is not higher than the running job's, {current}"));
            }
            let waiting =
                self.claims.waiting.as_ref().filter(|claim| claim.job.is_some()).map(|claim| claim.rank);
            if let Some(waiting) = waiting
                && rank <= waiting
                && !core.report(outranking_job_decision(core.quirks()), self.key)
            {
                return Err(format!("the job's rank {rank} is not higher than the waiting job's, {waiting}"));
            }
        }
        Ok(rank)
    }

    /// True if Requirements are true for the job. If the result cannot change, it is remembered for all jobs of the
    /// same kind.
    fn requirements_accept(&mut self, core: &ExecutionPointState, job: &ClassAd, kind: Option<u32>) -> bool {
        /// Maximum number of remembered job kinds.
        const MAX_REMEMBERED_KINDS: usize = 64;
        let kind = kind.filter(|_| {
            core.publish_set.constants_only && self.is_available() && self.has_stable_constants(core)
        });
        let Some(kind) = kind else {
            return self.eval_in_slot_ad(core, Some(job), |context| context.boolean("Requirements"))
                == Some(true);
        };
        if self.fetch.accepted_job_kinds.contains(&kind) {
            return true;
        }
        core.schedule.change_predictor.begin(self.clock_context(core));
        let accepts =
            self.eval_in_slot_ad(core, Some(job), |context| context.boolean("Requirements")) == Some(true);
        if core.schedule.change_predictor.end() == HOLDS_FOREVER && accepts {
            if self.fetch.accepted_job_kinds.len() == MAX_REMEMBERED_KINDS {
                self.fetch.accepted_job_kinds.clear();
            }
            self.fetch.accepted_job_kinds.push(kind);
        }
        accepts
    }

    /// Calls REPLY_FETCH; `id` is the claim id if the job was accepted, or `None` if it was rejected.
    fn call_reply_hook(
        &self,
        core: &mut ExecutionPointState,
        job: &ClassAd,
        id: Option<ClaimId>,
        accepted: Option<AcceptedJobId>,
    ) {
        let Some(path) = self.hooks.as_ref().and_then(|hooks| hooks.reply.clone()) else { return };
        let word = if id.is_some() { "accept" } else { "reject" };
        let stdin = match core.publish_set.ad_texts {
            true => hook_input::reply_fetch_input(job, &self.ads.live, id.as_ref(), core.quirks()),
            false => Vec::new(),
        };
        self.call_notification_hook(core, SlotHookType::ReplyFetch, path, vec![word.into()], stdin, accepted);
    }

    /// Creates or updates the claim under which the job will run, and returns the claim id for REPLY_FETCH
    /// (`createOrUpdateFetchClaim`).
    fn claim_for_job(
        &mut self,
        core: &mut ExecutionPointState,
        job: ClassAd,
        print: Option<u64>,
        rank: f64,
    ) -> (ClaimId, AcceptedJobId) {
        let shared = core.world.clone();
        let world = FrozenClockWorld { world: &*shared, now: core.now };
        let accepted = core.new_accepted_job();
        let ad = if core.publish_set.ad_texts { hook_input::print_long_ad(&job) } else { Vec::new() };
        core.actions.push(StartdAction::AcceptJob { accepted, slot: self.key, ad });
        if self.has_idle_fetched_claim()
            && let Some(mut claim) = self.claims.current.take()
        {
            if claim.fetched_job.is_some_and(|job| job.starter_killed) {
                // Without EVICT_CLAIM, the queue would not learn that the last job of this claim was killed.
                self.call_evict_hook(core, &claim);
            }
            claim.fetched_job = Some(FetchedJob { accepted, fingerprint: print, starter_killed: false });
            claim.set_job(job, rank, &world);
            let id = claim.id.clone();
            self.claims.current = Some(claim);
            return (id, accepted);
        }
        let mut claim = core.new_claim(ClaimKind::Fetched);
        claim.set_job(job, rank, &world);
        claim.fetched_job = Some(FetchedJob { accepted, fingerprint: print, starter_killed: false });
        let id = claim.id.clone();
        if self.state == SlotState::Claimed {
            self.drop_waiting_claim(core, "a claim of higher rank replaces it");
            self.claims.waiting = Some(claim);
        } else {
            self.claims.current = Some(claim);
        }
        (id, accepted)
    }
}

/// Returns the attributes that identify a job: all except its requests, which may have been rounded for the slot.
fn identity_attributes(ad: &ClassAd) -> impl Iterator<Item = (&bstr::BStr, Expr)> {
    ad.sorted().into_iter().filter(|(name, _)| !caseless::starts_with(name, b"Request"))
}

/// True if two ads describe the same job.
fn is_same_job(one: &ClassAd, other: &ClassAd) -> bool {
    identity_attributes(one).eq(identity_attributes(other))
}

/// Returns a hash of the job's identity, so that a new job is quickly compared with those in hundreds of slots.
fn fingerprint(ad: &ClassAd) -> u64 {
    let mut hasher = FxHasher::default();
    for (name, value) in identity_attributes(ad) {
        (name, value.unparse()).hash(&mut hasher);
    }
    hasher.finish()
}

impl ExecutionPoint {
    /// Handles the output of a FETCH_WORK hook that has ended.
    pub(super) fn handle_fetch_output(&mut self, key: SlotKey, stdout: &[u8], cut: bool) {
        let answer = self.parse_fetch_hook_output(key, stdout, cut);
        let ExecutionPoint { core, slots, .. } = self;
        let Some(slot) = slots.get_mut(&key) else { return };
        let (verdict, reason) = match &answer {
            FetchOutcome::NoWork(reason) => ("no work", (*reason).to_owned()),
            FetchOutcome::BadOutput { line: Some(line), .. } => ("bad answer", line.to_string()),
            FetchOutcome::BadOutput { reason, line: None, .. } => ("bad answer", reason.clone()),
            FetchOutcome::Job(_) => ("", String::new()),
        };
        if !verdict.is_empty() {
            core.notify(SlotNotice::Verdict {
                slot: key,
                hook: SlotHookType::FetchWork,
                job: None,
                verdict,
                reason,
            });
        }
        match answer {
            FetchOutcome::NoWork(_) => slot.mark_out_of_work(core, "no more work"),
            FetchOutcome::BadOutput { keeps_claim, .. } => {
                if !core.report(keeps_claim, key) {
                    slot.mark_out_of_work(core, "the output of FETCH_WORK is not a job");
                }
            }
            FetchOutcome::Job(job) => self.handle_offered_job(key, *job, None),
        }
        self.complete_fetch(key);
    }

    /// Handles the end of a FETCH_WORK hook whose job was already parsed.
    pub(super) fn handle_fetched_job(&mut self, key: SlotKey, job: ClassAd, kind: Option<u32>) {
        self.handle_offered_job(key, job, kind);
        self.complete_fetch(key);
    }

    /// Completes a fetch that waited until the requested starter runs or has failed.
    pub(super) fn complete_pending_fetch(&mut self) {
        if let Some(key) = self.fetch_completion_pending.take() {
            self.complete_fetch(key);
        }
    }

    /// Handles a FETCH_WORK hook that could not be executed.
    pub(super) fn handle_fetch_failure(&mut self, key: SlotKey, reason: String) {
        self.report_no_work(key, reason);
        let ExecutionPoint { core, slots, .. } = self;
        let Some(slot) = slots.get_mut(&key) else { return };
        if core.report(failed_fetch_decision(core.quirks()), key) {
            // 25.14 treats this fetch as running forever, so the slot never fetches again; the hook itself is no longer
            // counted as running.
            core.work.running_fetches = core.work.running_fetches.saturating_sub(1);
            return;
        }
        slot.mark_out_of_work(core, "FETCH_WORK could not be run");
        self.complete_fetch(key);
    }

    /// Handles a FETCH_WORK hook that was killed after its timeout, as if it had printed nothing. 25.14 has no timeout.
    pub(super) fn handle_fetch_timeout(&mut self, key: SlotKey, reason: String) {
        self.report_no_work(key, reason);
        let ExecutionPoint { core, slots, .. } = self;
        let Some(slot) = slots.get_mut(&key) else { return };
        slot.mark_out_of_work(core, "FETCH_WORK was killed");
        self.complete_fetch(key);
    }

    fn report_no_work(&mut self, key: SlotKey, reason: String) {
        let hook = SlotHookType::FetchWork;
        self.core.notify(SlotNotice::Verdict { slot: key, hook, job: None, verdict: "no work", reason });
    }

    fn complete_fetch(&mut self, key: SlotKey) {
        let ExecutionPoint { core, slots, .. } = self;
        if core.work.starting_starters > 0 {
            // The fetch timer is set only after the starter runs, so that the poll that the new job starts comes before the next
            // fetch.
            self.fetch_completion_pending = Some(key);
            return;
        }
        core.work.running_fetches = core.work.running_fetches.saturating_sub(1);
        let Some(slot) = slots.get_mut(&key) else { return };
        slot.fetch.last_completed = core.now.epoch();
        slot.set_fetch_timer(core);
        if slot.kind == SlotKind::Dynamic && matches!(slot.state, SlotState::Owner | SlotState::Unclaimed) {
            // The slot may have become free during the fetch, when it could not be removed.
            slot.evaluate_policy(core);
        }
    }

    fn parse_fetch_hook_output(&mut self, key: SlotKey, stdout: &[u8], cut: bool) -> FetchOutcome {
        let core = &mut self.core;
        let mut involved = Vec::new();
        let answer = FetchOutput { stdout, is_truncated: cut, limit: core.settings.pipe_buffer_max };
        let fetched =
            parse_fetch_output(answer, Dialect::of_world(&*core.world), core.quirks(), &mut involved);
        for quirk in involved {
            core.decide_and_report(quirk, key);
        }
        fetched
    }

    /// Accepts or refuses a fetched job, and reports the decision.
    fn handle_offered_job(&mut self, key: SlotKey, mut job: ClassAd, kind: Option<u32>) {
        let ExecutionPoint { core, slots, .. } = self;
        let shared = core.world.clone();
        let world = FrozenClockWorld { world: &*shared, now: core.now };
        let id = job_id(&job, &world);
        let Some(slot) = slots.get_mut(&key) else { return };
        slot.fetch.out_of_work = false;
        if slot.kind == SlotKind::Static {
            add_default_requests(&mut job);
        }
        let keyword = slot.hooks.as_ref().map(|hooks| hooks.keyword.clone()).unwrap_or_default();
        let mut decision = slot.decide_on_job(core, &job, kind);
        if Context::new(&world).my(&job).string("HookKeyword").is_none() {
            job.set("HookKeyword", Value::from(bstr::BString::from(keyword)));
        }
        // 25.14 calls REPLY_FETCH before it creates the dynamic slot and the claim, so it passes the id of the old claim.
        let early = early_accept_decision(core.quirks()).as_reference;
        if early {
            let id = decision
                .is_ok()
                .then(|| slot.claims.current.as_ref().map(|claim| claim.id.clone()))
                .flatten();
            slot.call_reply_hook(core, &job, id, None);
        }
        let mut runs_in = key;
        let splits = match slot.kind {
            SlotKind::Partitionable => true,
            SlotKind::Dynamic => {
                decision.is_ok() && slot.splittable && core.decide_and_report(Quirk::DslotSplitsAgain, key)
            }
            SlotKind::Static => false,
        };
        if decision.is_ok() && splits {
            match self.carve_dynamic_slot(key, &mut job) {
                Ok(child) => runs_in = child,
                Err(unfit) => decision = Err(unfit.reason),
            }
        }
        let (verdict, reason) = match &decision {
            Ok(rank) => ("accepted", format!("rank {rank}")),
            Err(reason) => ("rejected", reason.clone()),
        };
        let hook = SlotHookType::FetchWork;
        self.core.notify(SlotNotice::Verdict { slot: key, hook, job: Some(id), verdict, reason });
        match decision {
            Ok(rank) => self.accept_job(key, runs_in, job, rank, early),
            Err(_) => self.refuse_job(key, &job, early),
        }
    }

    /// Refuses a fetched job; `replied` is true if REPLY_FETCH was already called.
    fn refuse_job(&mut self, key: SlotKey, job: &ClassAd, replied: bool) {
        let ExecutionPoint { core, slots, .. } = self;
        let Some(slot) = slots.get_mut(&key) else { return };
        if !replied {
            slot.call_reply_hook(core, job, None, None);
        }
        slot.end_idle_fetched_claim(core, "the fetched job was refused");
    }

    /// Accepts a fetched job, which runs in slot `runs_in`: the slot `key` or a dynamic slot carved out of it.
    fn accept_job(&mut self, key: SlotKey, runs_in: SlotKey, job: ClassAd, rank: f64, replied: bool) {
        let ExecutionPoint { core, slots, .. } = self;
        core.work.jobs_accepted += 1;
        // Requests are left out of the fingerprint, because they are rounded for each slot.
        let print = core.publish_set.ad_texts.then(|| fingerprint(&job));
        let same = |claim: &Claim| {
            claim.is_active()
                && claim.fetched_job.is_some_and(|fetched| fetched.fingerprint == print)
                && claim.job.as_ref().is_some_and(|other| is_same_job(other, &job))
        };
        if core.publish_set.ad_texts
            && let Some(other) = slots.values().find(|slot| slot.claims.current.as_ref().is_some_and(same))
        {
            let text = format!(
                "an identical job is already running in {}: does FETCH_WORK return the same job twice if two slots call it at the same time?",
                other.id
            );
            core.warn(Some(key), text);
        }
        let Some(slot) = slots.get_mut(&runs_in) else { return };
        let idle = slot.has_idle_fetched_claim();
        // The job is copied for REPLY_FETCH only if ads are printed as text.
        let texts = core.publish_set.ad_texts;
        let reply_ad = (!replied).then(|| if texts { job.clone() } else { ClassAd::new() });
        let (claim_id, accepted) = slot.claim_for_job(core, job, print, rank);
        if let Some(job) = reply_ad {
            slot.call_reply_hook(core, &job, Some(claim_id), Some(accepted));
        }
        match slot.state {
            SlotState::Claimed if idle => slot.spawn_starter(core),
            // The new job has a higher rank and waits; the policy decides whether to preempt the current job.
            SlotState::Claimed => slot.evaluate_policy(core),
            SlotState::Backfill => slot.leave_backfill(core, SlotState::Claimed, "work was fetched"),
            _ => slot.change_state(core, SlotState::Claimed, Activity::Idle, "work was fetched"),
        }
    }
}
