//! Changes of state and activity, and what leaving and entering them does (`ResState.cpp`).

use std::path::PathBuf;

use bstr::BString;

use super::core::Core;
use super::interface::{AcceptedJob, Action, HookCall, Notice, SlotHook, StarterCall, StarterSignal, job_id};
use super::kept::claim::{Claim, Kind, Phase};
use super::single::Slot;
use super::startd_hooks::evict_claim;
use super::state::{Activity, State};
use super::text;
use htc_base::quirks::Quirk;
use htc_base::world::Frozen;

/// A state and activity that a slot is to have.
pub(super) struct Change<'a> {
    pub state: State,
    pub activity: Activity,
    pub reason: &'a str,
}

impl<'a> Change<'a> {
    pub(super) fn to(state: State, activity: Activity, reason: &'a str) -> Self {
        Change { state, activity, reason }
    }
}

/// What entering a state or activity leads to.
enum Entered {
    /// Policy is looked at next, where an activity asks for it.
    Stays,
    /// Another change follows.
    Goes(Change<'static>),
    /// Nothing follows before an event.
    Waits,
}

impl Slot {
    /// Changes state and activity, and goes on while that suggests another change. A policy that asks for the same change a
    /// second time would go on for ever (25.14 recurses until its stack is full): it is looked at again at the next poll.
    pub(super) fn change(&mut self, core: &mut Core, state: State, activity: Activity, reason: &str) {
        let mut made = Vec::new();
        let mut next = Some(Change::to(state, activity, reason));
        while let Some(change) = next {
            let step = (self.state, self.activity, change.state, change.activity);
            if made.contains(&step) {
                return core.warn(
                    Some(self.key),
                    "policy expressions contradict one another: the state would change for ever; \
                     looked at again at the next poll",
                );
            }
            next = self.change_once(core, &change);
            if next.is_some() {
                made.push(step);
            }
        }
    }

    /// One change; returns what it suggests next (`ResState::change`).
    fn change_once(&mut self, core: &mut Core, change: &Change<'_>) -> Option<Change<'static>> {
        let &Change { state, activity, reason } = change;
        let state_changes = state != self.state;
        if !state_changes && activity == self.activity {
            return None;
        }
        self.leave(core, state, state_changes);
        let was = (self.state, self.activity);
        self.set_state(core, state, activity);
        core.tell(Notice::State { slot: self.key, state, activity, reason: reason.to_owned() });
        match self.enter(core, state_changes) {
            Entered::Stays => {}
            Entered::Goes(next) => return Some(next),
            Entered::Waits => return None,
        }
        self.publish_state_live(core);
        if self.state == State::Backfill || !matches!(self.activity, Activity::Retiring | Activity::Idle) {
            return None;
        }
        let suggestion = self.suggest(core)?;
        if state_changes && self.state == State::Claimed && suggestion.state != State::Claimed {
            self.revert(core, was, suggestion.reason);
            // Nothing would ever end what has ended: a claim that waited is refused.
            let refused = || Change::to(State::Owner, Activity::Idle, "the claim that waited is refused");
            return (self.state == State::Preempting).then(refused);
        }
        self.prepare(core, suggestion)
    }

    /// State and activity are others from now on; the stay that ends is counted.
    fn set_state(&mut self, core: &mut Core, state: State, activity: Activity) {
        let epoch = core.now.epoch();
        self.count_stay(epoch);
        if state != self.state {
            core.drain.drained +=
                i64::from(state == State::Drained) - i64::from(self.state == State::Drained);
            self.state = state;
            self.entered_state = epoch;
            if self.destination == Some(state) {
                self.destination = None;
            }
        }
        if activity != self.activity {
            self.was_benchmarking = self.activity == Activity::Benchmarking;
            self.activity = activity;
        }
        self.entered_activity = epoch;
        self.changed_at = core.now.monotonic_us;
    }

    /// A slot that policy would not let stay Claimed is not claimed at all: it is what it was (`ResState::revert`).
    fn revert(&mut self, core: &mut Core, (state, activity): (State, Activity), reason: &str) {
        if let Some(claim) = &mut self.current {
            claim.phase = Phase::Unclaimed;
            claim.lease_ends = None;
        }
        self.drop_waiting(core, "the slot could not be claimed");
        core.drain.drained += i64::from(state == State::Drained);
        (self.state, self.activity) = (state, activity);
        let reason = format!("not claimed: {reason}");
        core.tell(Notice::State { slot: self.key, state, activity, reason });
        self.publish_state_live(core);
    }

    fn leave(&mut self, core: &mut Core, to: State, state_changes: bool) {
        match self.state {
            State::Matched if state_changes => self.match_ends = None,
            State::Preempting if state_changes => {
                core.current_time = core.now.epoch();
                self.rebuild_after_job(core);
            }
            State::Claimed => {
                if self.activity == Activity::Suspended {
                    self.signal(core, StarterSignal::Continue, None);
                    if let Some(claim) = self.current.as_mut().filter(|claim| claim.is_active()) {
                        claim.change_phase(Phase::Running, core.now);
                    }
                }
                if let Some(claim) = self.current.as_mut().filter(|_| to != State::Claimed) {
                    claim.lease_ends = None;
                }
            }
            _ => {}
        }
    }

    fn enter(&mut self, core: &mut Core, state_changes: bool) -> Entered {
        match (self.state, self.activity) {
            (State::Owner, _) => {
                self.current = Some(core.new_claim(Kind::Offered));
                self.drop_waiting(core, "the slot goes back to its owner");
                if !self.is_owner(core) {
                    return Entered::Goes(Change::to(State::Unclaimed, Activity::Idle, "IS_OWNER is false"));
                }
                self.restore_requirements(core);
            }
            (State::Claimed, activity) => return self.enter_claimed(core, activity, state_changes),
            (State::Unclaimed, _) => self.restore_requirements(core),
            (State::Backfill, activity) => {
                self.restore_requirements(core);
                match activity {
                    Activity::Idle => core.start_polling(),
                    Activity::Killing => {
                        if let Some(change) = self.kill_backfill(core) {
                            return Entered::Goes(change);
                        }
                    }
                    _ => {}
                }
            }
            (State::Matched, _) => self.set_unavailable(None),
            (State::Drained, activity) => {
                self.set_unavailable(core.drain.start.clone());
                if activity == Activity::Idle {
                    core.drain.no_retirement = false;
                }
            }
            (State::Preempting, activity) => {
                self.set_unavailable(None);
                if !self.is_active() {
                    return Entered::Goes(self.leave_preempting(core));
                }
                self.end_job(core, activity == Activity::Vacating);
            }
        }
        Entered::Stays
    }

    fn enter_claimed(&mut self, core: &mut Core, activity: Activity, state_changes: bool) -> Entered {
        self.restore_requirements(core);
        if state_changes {
            self.begin_claim(core);
        }
        if !matches!(activity, Activity::Retiring | Activity::Cleaning)
            && let Some(claim) = &mut self.current
        {
            claim.vacate_reason = None;
        }
        match activity {
            Activity::Suspended => {
                self.signal(core, StarterSignal::Suspend, None);
                if let Some(claim) = &mut self.current {
                    claim.change_phase(Phase::Suspended, core.now);
                }
            }
            Activity::Busy => {
                core.start_polling();
                if !self.accepted_while_draining && self.in_retirement(core) {
                    self.better_claim_is_reason(core);
                    return Entered::Goes(Change::to(State::Claimed, Activity::Retiring, "in retirement"));
                }
            }
            Activity::Retiring if !self.is_active() => {
                let activity = self.preempting_activity(core);
                return Entered::Goes(Change::to(State::Preempting, activity, "no job to wait for"));
            }
            Activity::Idle if self.current.as_ref().is_some_and(|claim| claim.kind == Kind::Fetched) => {
                if state_changes {
                    self.spawn(core);
                    return Entered::Waits;
                }
                self.try_fetch(core);
            }
            _ => {}
        }
        Entered::Stays
    }

    /// The claim begins (`Claim::beginClaim`).
    fn begin_claim(&mut self, core: &mut Core) {
        if let Some(claim) = &mut self.current {
            claim.change_phase(Phase::Idle, core.now);
            if claim.kind == Kind::Requested {
                claim.lease_ends = Some(core.after(claim.lease));
            }
            if core.wants.claim {
                claim.publish(&mut self.live, core.now);
            }
        }
        if self.kind != super::settings::SlotKind::Partitionable {
            self.waiting = Some(core.new_claim(Kind::Offered));
        }
        self.tell_claim(core, true, "");
    }

    /// Asks for a starter for the claim's job (`spawnFetchedWork`); the answer is an event.
    pub(super) fn spawn(&mut self, core: &mut Core) {
        // A job that came with a claim has it in a pool too.
        let fetched = self.current.as_ref().is_none_or(|claim| claim.kind != Kind::Requested);
        let machine_ad = if fetched && core.has(Quirk::MachineAdEmpty, self.key) {
            None
        } else {
            core.wants.texts.then(|| text::print(&self.sent_ad(core)))
        };
        let starter = core.new_starter();
        if let Some(lazy) = &mut core.lazy {
            lazy.starters.insert(starter, self.key);
        }
        let texts = core.wants.texts;
        let shared = core.world.clone();
        let world = Frozen { world: &*shared, now: core.now };
        let Some(claim) = &mut self.current else { return };
        let Some(job) = &claim.job else { return };
        let mut arguments: Vec<BString> = Vec::new();
        // A starter of a simulation is never executed.
        if texts {
            arguments.push("-f".into());
            if core.settings.several_cpus {
                arguments.extend(["-a".into(), self.id.as_str().into()]);
            }
            arguments.extend(["-job-input-ad".into(), "-".into()]);
        }
        let call = StarterCall {
            starter,
            slot: self.key,
            arguments,
            stdin: if texts { text::print(job) } else { Vec::new() },
            job: job_id(job, &world),
            execute: if texts { self.plan.execute.clone() } else { Default::default() },
            machine_ad,
            backfill: false,
            accepted: claim.accepted(),
        };
        claim.starter = Some(super::kept::claim::Starter {
            id: starter,
            pid: None,
            ending: super::kept::claim::Ending::No,
        });
        claim.lease_ends = None;
        core.spawning += 1;
        core.out.push(Action::SpawnStarter(call));
    }

    /// The starter runs: the slot is Busy from now on.
    pub(super) fn spawned(&mut self, core: &mut Core, pid: u32) {
        core.spawning -= 1;
        let pledged = self
            .look(core, self.job(), |context| context.int("MachineMaxVacateTime"))
            .map_or(0, |seconds| seconds.max(0));
        let owner_follows = !core.has_silently(Quirk::RemoteOwnerSticks);
        if let Some(claim) = &mut self.current {
            if let Some(starter) = &mut claim.starter {
                starter.pid = Some(pid);
            }
            claim.change_phase(Phase::Running, core.now);
            let world = Frozen { world: &*core.world, now: core.now };
            claim.begin_activation(core.now, pledged, owner_follows, &world);
        }
        self.accepted_while_draining = core.drain.is_on();
        core.counters.job_starts.count(core.now.epoch());
        self.change(core, State::Claimed, Activity::Busy, "starter spawned");
        // The lease begins anew with the job, and one of no length is over at once.
        let Some(claim) = &mut self.current else { return };
        if let Some(kills) = claim.lease_kills(core.quirks())
            && core.told(kills, self.key)
        {
            if claim.lease <= 0 {
                self.kill_claim(core, None, "the claim's lease is over");
            } else {
                claim.lease_ends = claim.idle_lease_end(core.now, core.quirks());
            }
        } else if claim.busy_lease(core.quirks()).is_some_and(|renewed| !renewed.as_reference) {
            claim.lease_ends = Some(core.after(claim.lease));
        }
    }

    /// The starter could not be started: the claim is given up.
    pub(super) fn spawn_failed(&mut self, core: &mut Core, reason: &str) {
        core.spawning -= 1;
        core.warn(Some(self.key), format!("cannot start a starter: {reason}"));
        if let Some(claim) = &mut self.current {
            claim.starter_ended(core.now);
        }
        self.give_up_current(core, "the starter could not be started");
        self.change(core, State::Owner, Activity::Idle, "the starter could not be started");
    }

    /// The starter has ended, or was killed (`Resource::starterExited`).
    pub(super) fn starter_exited(&mut self, core: &mut Core, killed: bool) {
        self.count_badput(core);
        // What it was told while the job ran says nothing of now.
        self.out_of_work = false;
        self.forget_suspension(core);
        let Some(claim) = &mut self.current else { return };
        claim.starter_ended(core.now);
        claim.fetched.iter_mut().for_each(|job| job.lost = killed);
        match (self.state, self.activity) {
            (State::Claimed, activity) => {
                claim.user_is_owner_again();
                claim.lease_ends = claim.idle_lease_end(core.now, core.quirks());
                let preempts =
                    std::mem::take(&mut self.preempts_after_cleaning) || self.has_better_claim(core);
                if activity == Activity::Retiring || (activity == Activity::Cleaning && preempts) {
                    let activity = self.preempting_activity(core);
                    self.change(core, State::Preempting, activity, "starter exited");
                } else {
                    self.change(core, State::Claimed, Activity::Idle, "starter exited");
                }
            }
            (State::Preempting, _) => {
                let Change { state, activity, reason } = self.leave_preempting(core);
                self.change(core, state, activity, reason);
            }
            _ => self.change(core, State::Owner, Activity::Idle, "starter exited"),
        }
    }

    /// Nothing runs any more under the claim that was preempted (`leave_preempting_state`).
    fn leave_preempting(&mut self, core: &mut Core) -> Change<'static> {
        self.give_up_current(core, "");
        let better = self.has_better_claim(core) && core.shutdown.is_none();
        let willing = |slot: &Self, core: &Core| {
            let job = slot.waiting.as_ref().and_then(|claim| claim.job.as_ref());
            // Only a START that is defined and false keeps it out.
            slot.look(core, job, |context| context.boolean("START")) != Some(false)
        };
        if better && willing(self, core) {
            let reason = match self.is_outranked() {
                true => "a claim of higher rank was waiting",
                false => "a claim of the same rank was waiting",
            };
            self.current = self.waiting.take();
            self.current.iter_mut().for_each(super::kept::claim::Claim::wait_is_over);
            return Change::to(State::Claimed, Activity::Idle, reason);
        }
        if better {
            core.warn(Some(self.key), "the waiting claim is refused: START is false");
        }
        self.drop_waiting(core, "the slot goes back to its owner");
        Change::to(State::Owner, Activity::Idle, "no claim is waiting")
    }

    /// The current claim ends; whoever gave the job is told (`Claim::vacate`).
    pub(super) fn give_up_current(&mut self, core: &mut Core, reason: &str) {
        if self.current.as_ref().is_some_and(|claim| claim.kind != Kind::Offered) {
            self.tell_claim(core, false, reason);
        }
        if let Some(claim) = self.current.take() {
            self.evict(core, &claim);
        }
    }

    /// A waiting claim goes, told like any other that was accepted (`remove_pre`).
    pub(super) fn drop_waiting(&mut self, core: &mut Core, reason: &str) {
        let Some(claim) = self.waiting.take() else { return };
        if claim.job.is_some() {
            let id = claim.id.clone();
            let reason = reason.to_owned();
            core.tell(Notice::Claim { slot: self.key, id, begins: false, reason });
        }
        self.evict(core, &claim);
    }

    /// Calls EVICT_CLAIM for the job that a claim was given last.
    pub(super) fn evict(&self, core: &mut Core, claim: &Claim) {
        let (Some(accepted), Some(job)) = (claim.accepted(), &claim.latest_job) else { return };
        let Some(path) = self.evict_hook(core) else {
            return core.out.push(Action::GiveUp(accepted));
        };
        let stdin = match core.wants.texts {
            true => text::evict(job, &self.live, &claim.id, core.quirks()),
            false => Vec::new(),
        };
        self.tell_by_hook(core, (SlotHook::EvictClaim, path), (Vec::new(), stdin), Some(accepted));
    }

    /// EVICT_CLAIM, where there is one and it is called.
    pub(super) fn evict_hook(&self, core: &mut Core) -> Option<PathBuf> {
        let path = self.hooks.as_ref()?.evict.clone()?;
        (!core.told(evict_claim(core.quirks()), self.key)).then_some(path)
    }

    /// Has a hook run whose output nobody reads.
    pub(super) fn tell_by_hook(
        &self,
        core: &mut Core,
        (hook, path): (SlotHook, PathBuf),
        (arguments, stdin): (Vec<BString>, Vec<u8>),
        accepted: Option<AcceptedJob>,
    ) {
        let (run, slot, begun) = (core.new_run(), self.key, core.now);
        let call = HookCall { run, slot, hook, path, arguments, stdin, output_limit: None, begun, accepted };
        core.out.push(Action::RunHook(call));
    }

    fn tell_claim(&self, core: &mut Core, begins: bool, reason: &str) {
        let Some(claim) = &self.current else { return };
        let id = claim.id.clone();
        core.tell(Notice::Claim { slot: self.key, id, begins, reason: reason.to_owned() });
    }
}
