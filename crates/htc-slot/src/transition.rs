//! Changes of a slot's state and activity, with their entry and exit actions (`ResState.cpp`).

use std::path::PathBuf;

use bstr::BString;

use super::change_reason::{ChangeReason, PolicyValue};
use super::events::{
    AcceptedJobId, ChangeCause, HookCall, SlotHookType, SlotNotice, StartdAction, StarterLaunch,
    StarterSignal, job_id,
};
use super::execution_point_state::ExecutionPointState;
use super::hook_input;
use super::hook_quirks::evict_claim_decision;
use super::runtime_state::claim::{Claim, ClaimKind, ClaimPhase};
use super::slot::Slot;
use super::slot_state::{Activity, SlotState};
use htc_base::quirks::Quirk;
use htc_base::world::FrozenClockWorld;

/// Target state and activity of a change.
pub(super) struct StateChange {
    pub state: SlotState,
    pub activity: Activity,
    pub reason: ChangeReason,
    pub cause: ChangeCause,
}

impl StateChange {
    pub(super) fn new(state: SlotState, activity: Activity, reason: impl Into<ChangeReason>) -> Self {
        StateChange { state, activity, reason: reason.into(), cause: ChangeCause::Other }
    }

    pub(super) fn with_cause(self, cause: ChangeCause) -> Self {
        StateChange { cause, ..self }
    }
}

/// Result of entering a state or activity.
enum EntryOutcome {
    /// Evaluate the policy next, if the new activity requires it.
    EvaluatePolicy,
    /// Make another change.
    ChangeAgain(StateChange),
    /// Wait for the next event.
    WaitForEvent,
}

impl Slot {
    /// Changes state and activity. If the entry actions suggest another change, makes it as well. If the policy suggests the same
    /// change a second time, it would do so forever (25.14 recurses until its stack overflows); the slot is then evaluated again
    /// at the next poll.
    pub(super) fn change_state(
        &mut self,
        core: &mut ExecutionPointState,
        state: SlotState,
        activity: Activity,
        reason: impl Into<ChangeReason>,
    ) {
        self.make_change(core, StateChange::new(state, activity, reason));
    }

    /// Makes a change as [`Slot::change_state`] does.
    pub(super) fn make_change(&mut self, core: &mut ExecutionPointState, change: StateChange) {
        let mut made = Vec::new();
        let mut next = Some(change);
        while let Some(change) = next {
            let step = (self.state, self.activity, change.state, change.activity);
            if made.contains(&step) {
                return core.warn(
                    Some(self.key),
                    "policy expressions contradict each other, so the state would change forever; they are evaluated again at the next poll",
                );
            }
            next = self.change_state_once(core, change);
            if next.is_some() {
                made.push(step);
            }
        }
    }

    /// Makes one change, and returns the change that its entry actions suggest (`ResState::change`).
    fn change_state_once(
        &mut self,
        core: &mut ExecutionPointState,
        change: StateChange,
    ) -> Option<StateChange> {
        let StateChange { state, activity, reason, cause } = change;
        let state_changes = state != self.state;
        if !state_changes && activity == self.activity {
            return None;
        }
        self.leave_state(core, state, state_changes);
        let was = (self.state, self.activity);
        self.record_state_change(core, state, activity);
        core.notify(SlotNotice::StateChanged { slot: self.key, state, activity, reason, cause });
        match self.enter_state(core, state_changes) {
            EntryOutcome::EvaluatePolicy => {}
            EntryOutcome::ChangeAgain(next) => return Some(next),
            EntryOutcome::WaitForEvent => return None,
        }
        self.refresh_state_attributes(core);
        if self.state == SlotState::Backfill || !matches!(self.activity, Activity::Retiring | Activity::Idle)
        {
            return None;
        }
        let suggestion = self.suggest_change(core)?;
        if state_changes && self.state == SlotState::Claimed && suggestion.state != SlotState::Claimed {
            self.revert_claim(core, was.0, was.1, &suggestion.reason);
            // The starter has already exited, and nothing else would end Preempting, so the waiting claim is refused.
            let refused =
                || StateChange::new(SlotState::Owner, Activity::Idle, "the waiting claim is refused");
            return (self.state == SlotState::Preempting).then(refused);
        }
        self.prepare_change(core, suggestion)
    }

    /// Sets state and activity, and adds the time spent in the previous ones to the totals.
    fn record_state_change(&mut self, core: &mut ExecutionPointState, state: SlotState, activity: Activity) {
        let epoch = core.now.epoch();
        self.add_time_in_state(epoch);
        if state != self.state {
            core.drain.drained_slots +=
                i64::from(state == SlotState::Drained) - i64::from(self.state == SlotState::Drained);
            self.state = state;
            self.history.entered_state = epoch;
            if self.history.state_after_backfill == Some(state) {
                self.history.state_after_backfill = None;
            }
        }
        if activity != self.activity {
            self.history.was_benchmarking = self.activity == Activity::Benchmarking;
            self.activity = activity;
        }
        self.history.entered_activity = epoch;
        self.changed_at = core.now.monotonic_us;
    }

    /// Reverts a claim that the policy would end at once: the slot returns to its previous state (`ResState::revert`).
    fn revert_claim(
        &mut self,
        core: &mut ExecutionPointState,
        state: SlotState,
        activity: Activity,
        reason: &ChangeReason,
    ) {
        if let Some(claim) = &mut self.claims.current {
            claim.phase = ClaimPhase::Unclaimed;
            claim.lease_ends = None;
        }
        self.drop_waiting_claim(core, "the slot could not be claimed");
        core.drain.drained_slots += i64::from(state == SlotState::Drained);
        (self.state, self.activity) = (state, activity);
        let reason = format!("not claimed: {reason}").into();
        core.notify(SlotNotice::StateChanged {
            slot: self.key,
            state,
            activity,
            reason,
            cause: ChangeCause::Other,
        });
        self.refresh_state_attributes(core);
    }

    fn leave_state(&mut self, core: &mut ExecutionPointState, to: SlotState, state_changes: bool) {
        match self.state {
            SlotState::Matched if state_changes => self.claims.match_expiry = None,
            SlotState::Preempting if state_changes => {
                core.current_time = core.now.epoch();
                self.rebuild_ad_after_job(core);
            }
            SlotState::Claimed => {
                if self.activity == Activity::Suspended {
                    self.signal_starter(core, StarterSignal::Continue, None);
                    if let Some(claim) = self.claims.current.as_mut().filter(|claim| claim.is_active()) {
                        claim.change_phase(ClaimPhase::Running, core.now);
                    }
                }
                if let Some(claim) = self.claims.current.as_mut().filter(|_| to != SlotState::Claimed) {
                    claim.lease_ends = None;
                }
            }
            _ => {}
        }
    }

    fn enter_state(&mut self, core: &mut ExecutionPointState, state_changes: bool) -> EntryOutcome {
        match (self.state, self.activity) {
            (SlotState::Owner, _) => {
                self.claims.current = Some(core.new_claim(ClaimKind::Offered));
                self.drop_waiting_claim(core, "the slot goes back to its owner");
                if !self.is_owner(core) {
                    return EntryOutcome::ChangeAgain(StateChange::new(
                        SlotState::Unclaimed,
                        Activity::Idle,
                        PolicyValue::is_false("IS_OWNER"),
                    ));
                }
                self.restore_requirements(core);
            }
            (SlotState::Claimed, activity) => return self.enter_claimed(core, activity, state_changes),
            (SlotState::Unclaimed, _) => self.restore_requirements(core),
            (SlotState::Backfill, activity) => {
                self.restore_requirements(core);
                match activity {
                    Activity::Idle => core.start_polling(),
                    Activity::Killing => {
                        if let Some(change) = self.kill_backfill(core) {
                            return EntryOutcome::ChangeAgain(change);
                        }
                    }
                    _ => {}
                }
            }
            (SlotState::Matched, _) => self.set_unavailable(None),
            (SlotState::Drained, activity) => {
                self.set_unavailable(core.drain.start_while_draining.clone());
                if activity == Activity::Idle {
                    core.drain.no_retirement = false;
                }
            }
            (SlotState::Preempting, activity) => {
                self.set_unavailable(None);
                if !self.is_active() {
                    return EntryOutcome::ChangeAgain(self.leave_preempting(core));
                }
                self.end_job(core, activity == Activity::Vacating);
            }
        }
        EntryOutcome::EvaluatePolicy
    }

    fn enter_claimed(
        &mut self,
        core: &mut ExecutionPointState,
        activity: Activity,
        state_changes: bool,
    ) -> EntryOutcome {
        self.restore_requirements(core);
        if state_changes {
            self.begin_claim(core);
        }
        if !matches!(activity, Activity::Retiring | Activity::Cleaning)
            && let Some(claim) = &mut self.claims.current
        {
            claim.vacate_reason = None;
        }
        match activity {
            Activity::Suspended => {
                self.signal_starter(core, StarterSignal::Suspend, None);
                if let Some(claim) = &mut self.claims.current {
                    claim.change_phase(ClaimPhase::Suspended, core.now);
                }
            }
            Activity::Busy => {
                core.start_polling();
                if !self.claims.accepted_while_draining && self.is_in_retirement(core) {
                    self.set_better_claim_reason(core);
                    let change = StateChange::new(SlotState::Claimed, Activity::Retiring, "in retirement");
                    return EntryOutcome::ChangeAgain(change.with_cause(ChangeCause::InRetirement));
                }
            }
            Activity::Retiring if !self.is_active() => {
                let activity = self.preempting_activity(core);
                let change = StateChange::new(SlotState::Preempting, activity, "no job to wait for");
                return EntryOutcome::ChangeAgain(change.with_cause(ChangeCause::NothingToRetire));
            }
            Activity::Idle
                if self.claims.current.as_ref().is_some_and(|claim| claim.kind == ClaimKind::Fetched) =>
            {
                if state_changes {
                    self.spawn_starter(core);
                    return EntryOutcome::WaitForEvent;
                }
                self.try_fetch(core);
            }
            _ => {}
        }
        EntryOutcome::EvaluatePolicy
    }

    /// Begins the current claim (`Claim::beginClaim`).
    fn begin_claim(&mut self, core: &mut ExecutionPointState) {
        if let Some(claim) = &mut self.claims.current {
            claim.change_phase(ClaimPhase::Idle, core.now);
            if claim.kind == ClaimKind::Requested {
                claim.lease_ends = Some(core.time_after(claim.lease));
            }
            if core.publish_set.claim {
                claim.publish(&mut self.ads.live, core.now);
            }
        }
        if self.kind != super::settings::SlotKind::Partitionable {
            self.claims.waiting = Some(core.new_claim(ClaimKind::Offered));
        }
        self.report_claim(core, true, "");
    }

    /// Requests a starter for the claim's job (`spawnFetchedWork`). The result arrives as an event.
    pub(super) fn spawn_starter(&mut self, core: &mut ExecutionPointState) {
        // In a pool, the starter of a job with a requested claim always gets the machine ad.
        let fetched = self.claims.current.as_ref().is_none_or(|claim| claim.kind != ClaimKind::Requested);
        let machine_ad = if fetched && core.decide_and_report(Quirk::MachineAdEmpty, self.key) {
            None
        } else {
            core.publish_set.ad_texts.then(|| hook_input::print_long_ad(&self.sent_ad(core)))
        };
        let starter = core.new_starter_id();
        if let Some(skipper) = &mut core.schedule.poll_skipper {
            skipper.starter_slots.insert(starter, self.key);
        }
        let texts = core.publish_set.ad_texts;
        let shared = core.world.clone();
        let world = FrozenClockWorld { world: &*shared, now: core.now };
        let Some(claim) = &mut self.claims.current else { return };
        let Some(job) = &claim.job else { return };
        let mut arguments: Vec<BString> = Vec::new();
        // A simulation does not execute starters, so their input is left empty.
        if texts {
            arguments.push("-f".into());
            if core.settings.several_cpus {
                arguments.extend(["-a".into(), self.id.as_str().into()]);
            }
            arguments.extend(["-job-input-ad".into(), "-".into()]);
        }
        let call = StarterLaunch {
            starter,
            slot: self.key,
            arguments,
            stdin: if texts { hook_input::print_long_ad(job) } else { Vec::new() },
            job: job_id(job, &world),
            execute: if texts { self.plan.execute.clone() } else { Default::default() },
            machine_ad,
            backfill: false,
            accepted: claim.accepted_job(),
        };
        claim.starter = Some(super::runtime_state::claim::ClaimStarter {
            id: starter,
            pid: None,
            ending: super::runtime_state::claim::StarterEnding::NotEnding,
        });
        claim.lease_ends = None;
        core.work.starting_starters += 1;
        core.actions.push(StartdAction::SpawnStarter(call));
    }

    /// Handles a starter that runs: the slot becomes Busy.
    pub(super) fn handle_starter_spawned(&mut self, core: &mut ExecutionPointState, pid: u32) {
        core.work.starting_starters -= 1;
        let pledged = self
            .eval_in_slot_ad(core, self.job(), |context| context.int("MachineMaxVacateTime"))
            .map_or(0, |seconds| seconds.max(0));
        let owner_follows = !core.decide(Quirk::RemoteOwnerSticks);
        if let Some(claim) = &mut self.claims.current {
            if let Some(starter) = &mut claim.starter {
                starter.pid = Some(pid);
            }
            claim.change_phase(ClaimPhase::Running, core.now);
            let world = FrozenClockWorld { world: &*core.world, now: core.now };
            claim.begin_activation(core.now, pledged, owner_follows, &world);
        }
        self.claims.accepted_while_draining = core.drain.is_draining();
        core.counters.job_starts.increment(core.now.epoch());
        self.change_state(core, SlotState::Claimed, Activity::Busy, "starter spawned");
        // The lease begins again with the job; a lease of length zero expires at once.
        let Some(claim) = &mut self.claims.current else { return };
        if let Some(kills) = claim.lease_kill_decision(core.quirks())
            && core.report(kills, self.key)
        {
            if claim.lease <= 0 {
                self.kill_claim(core, None, "the claim's lease has expired");
            } else {
                claim.lease_ends = claim.idle_lease_expiry(core.now, core.quirks());
            }
        } else if claim.busy_lease_decision(core.quirks()).is_some_and(|renewed| !renewed.as_reference) {
            claim.lease_ends = Some(core.time_after(claim.lease));
        }
    }

    /// Handles a starter that could not be started: releases the claim.
    pub(super) fn handle_spawn_failure(&mut self, core: &mut ExecutionPointState, reason: &str) {
        core.work.starting_starters -= 1;
        core.warn(Some(self.key), format!("cannot start a starter: {reason}"));
        if let Some(claim) = &mut self.claims.current {
            claim.end_activation(core.now);
        }
        self.give_up_current_claim(core, "the starter could not be started");
        self.change_state(core, SlotState::Owner, Activity::Idle, "the starter could not be started");
    }

    /// Handles a starter that has exited or was killed (`Resource::starterExited`).
    pub(super) fn handle_starter_exit(&mut self, core: &mut ExecutionPointState, killed: bool) {
        self.count_badput(core);
        // Fetches made while the job ran are no longer relevant, because the queue may now have work for the slot.
        self.fetch.out_of_work = false;
        self.fetch.is_outdated = true;
        self.forget_suspension(core);
        let Some(claim) = &mut self.claims.current else { return };
        claim.end_activation(core.now);
        claim.fetched_job.iter_mut().for_each(|job| job.starter_killed = killed);
        match (self.state, self.activity) {
            (SlotState::Claimed, activity) => {
                claim.reset_user_to_owner();
                claim.lease_ends = claim.idle_lease_expiry(core.now, core.quirks());
                let preempts =
                    std::mem::take(&mut self.claims.preempts_after_cleaning) || self.has_better_claim(core);
                if activity == Activity::Retiring || (activity == Activity::Cleaning && preempts) {
                    let activity = self.preempting_activity(core);
                    self.change_state(core, SlotState::Preempting, activity, "starter exited");
                } else {
                    self.change_state(core, SlotState::Claimed, Activity::Idle, "starter exited");
                }
            }
            (SlotState::Preempting, _) => {
                let change = self.leave_preempting(core);
                self.make_change(core, change);
            }
            _ => self.change_state(core, SlotState::Owner, Activity::Idle, "starter exited"),
        }
    }

    /// Leaves Preempting after the starter has exited, and returns the change to make (`leave_preempting_state`).
    fn leave_preempting(&mut self, core: &mut ExecutionPointState) -> StateChange {
        self.give_up_current_claim(core, "");
        let better = self.has_better_claim(core) && core.ending.shutdown.is_none();
        let willing = |slot: &Self, core: &ExecutionPointState| {
            let job = slot.claims.waiting.as_ref().and_then(|claim| claim.job.as_ref());
            // The waiting claim is refused if START evaluates to false, but not if START is undefined.
            slot.eval_in_slot_ad(core, job, |context| context.boolean("START")) != Some(false)
        };
        if better && willing(self, core) {
            let reason = match self.is_outranked() {
                true => "a claim of higher rank was waiting",
                false => "a claim of the same rank was waiting",
            };
            self.claims.current = self.claims.waiting.take();
            self.claims.current.iter_mut().for_each(super::runtime_state::claim::Claim::end_wait);
            return StateChange::new(SlotState::Claimed, Activity::Idle, reason);
        }
        if better {
            core.warn(Some(self.key), "the waiting claim is refused: START is false");
        }
        self.drop_waiting_claim(core, "the slot goes back to its owner");
        StateChange::new(SlotState::Owner, Activity::Idle, "no claim is waiting")
    }

    /// Releases the current claim and reports this to the source of its job (`Claim::vacate`).
    pub(super) fn give_up_current_claim(&mut self, core: &mut ExecutionPointState, reason: &str) {
        if self.claims.current.as_ref().is_some_and(|claim| claim.kind != ClaimKind::Offered) {
            self.report_claim(core, false, reason);
        }
        if let Some(claim) = self.claims.current.take() {
            self.call_evict_hook(core, &claim);
        }
    }

    /// Releases the waiting claim, and reports this to the source of its job as for any accepted job (`remove_pre`).
    pub(super) fn drop_waiting_claim(&mut self, core: &mut ExecutionPointState, reason: &str) {
        let Some(claim) = self.claims.waiting.take() else { return };
        if claim.job.is_some() {
            let id = claim.id.clone();
            let reason = reason.to_owned();
            core.notify(SlotNotice::Claim { slot: self.key, id, begins: false, reason });
        }
        self.call_evict_hook(core, &claim);
    }

    /// Calls EVICT_CLAIM for the last fetched job of a claim.
    pub(super) fn call_evict_hook(&self, core: &mut ExecutionPointState, claim: &Claim) {
        let (Some(accepted), Some(job)) = (claim.accepted_job(), &claim.latest_job) else { return };
        let Some(path) = self.evict_hook_path(core) else {
            return core.actions.push(StartdAction::GiveUpJob(accepted));
        };
        let stdin = match core.publish_set.ad_texts {
            true => hook_input::evict_claim_input(job, &self.ads.live, &claim.id, core.quirks()),
            false => Vec::new(),
        };
        self.call_notification_hook(core, SlotHookType::EvictClaim, path, Vec::new(), stdin, Some(accepted));
    }

    /// Returns the path of the EVICT_CLAIM hook, or `None` if the hook is not configured or never called.
    pub(super) fn evict_hook_path(&self, core: &mut ExecutionPointState) -> Option<PathBuf> {
        let path = self.hooks.as_ref()?.evict.clone()?;
        (!core.report(evict_claim_decision(core.quirks()), self.key)).then_some(path)
    }

    /// Runs a hook whose output is not read.
    pub(super) fn call_notification_hook(
        &self,
        core: &mut ExecutionPointState,
        hook: SlotHookType,
        path: PathBuf,
        arguments: Vec<BString>,
        stdin: Vec<u8>,
        accepted: Option<AcceptedJobId>,
    ) {
        let (run, slot, begun) = (core.new_hook_run(), self.key, core.now);
        let call = HookCall { run, slot, hook, path, arguments, stdin, output_limit: None, begun, accepted };
        core.actions.push(StartdAction::RunHook(call));
    }

    fn report_claim(&self, core: &mut ExecutionPointState, begins: bool, reason: &str) {
        let Some(claim) = &self.claims.current else { return };
        let id = claim.id.clone();
        core.notify(SlotNotice::Claim { slot: self.key, id, begins, reason: reason.to_owned() });
    }
}
