//! Claim protocol of negotiators, schedds and shadows: match, claim, activation and release (`command.cpp`).
//!
//! A command names the slot, and the state of the slot determines which of its claims the command is for; in the reference, the
//! claim id determines it. A refused command is reported; its only effect is that of the reference's `abort_claim`.

use super::claim_command::{ClaimCommand, ClaimRequest, Deactivation};
use super::device_choice::{check_devices, check_undivided_slot_devices};
use super::events::{SlotKey, VacateReason};
use super::execution_point::ExecutionPoint;
use super::execution_point_state::ExecutionPointState;
use super::hook_quirks::outranking_job_decision;
use super::runtime_state::claim::{ClaimKind, ClaimPhase};
use super::settings::SlotKind;
use super::slot::Slot;
use super::slot_state::{Activity, SlotState};
use super::unfit_reason::UnfitReason;
use htc_base::job::HoldCode;
use htc_base::quirks::Quirk;
use htc_base::world::FrozenClockWorld;
use htc_classad::ClassAd;

/// Claims are refused if the current drain ends within this time.
const DRAIN_END_MARGIN_SECONDS: i64 = 20;

impl ExecutionPoint {
    /// Executes a command for the slot with this id.
    pub(super) fn handle_claim_command(&mut self, id: &str, command: ClaimCommand) {
        let key = self.slots.values().find(|slot| slot.id.eq_ignore_ascii_case(id)).map(|slot| slot.key);
        let Some(key) = key else {
            return self.core.warn(None, format!("there is no slot {id}"));
        };
        match command {
            ClaimCommand::Request(request) => self.request_claim(key, *request),
            ClaimCommand::Activate(job) => {
                self.refresh_all();
                self.with_slot(key, |slot, core| slot.activate_claim(core, *job));
            }
            ClaimCommand::Match => self.with_slot(key, Slot::handle_match),
            ClaimCommand::Alive => self.with_slot(key, Slot::renew_lease),
            ClaimCommand::Deactivate(how) => {
                self.with_slot(key, |slot, core| slot.deactivate_claim(core, how))
            }
            ClaimCommand::Release { waiting } => {
                self.with_slot(key, |slot, core| slot.handle_release(core, waiting));
            }
        }
    }

    /// Handles the final update of a job with a shadow: the slot becomes Cleaning while the starter cleans up
    /// (`Claim::receiveJobClassAdUpdate`).
    pub(super) fn handle_final_update(slot: &mut Slot, core: &mut ExecutionPointState) {
        let runs = matches!(slot.activity, Activity::Busy | Activity::Retiring | Activity::Suspended);
        if slot.state == SlotState::Claimed && runs {
            slot.change_state(core, SlotState::Claimed, Activity::Cleaning, "the starter cleans up");
        }
    }

    fn with_slot(&mut self, key: SlotKey, then: impl FnOnce(&mut Slot, &mut ExecutionPointState)) {
        if let Some(slot) = self.slots.get_mut(&key) {
            then(slot, &mut self.core);
        }
    }

    fn request_claim(&mut self, key: SlotKey, mut request: ClaimRequest) {
        let ExecutionPoint { core, slots, .. } = self;
        core.counters.claim_requests.increment(core.now.epoch());
        if request.lease == 0 {
            request.lease = core.settings.claim_lease;
        }
        let Some(slot) = slots.get_mut(&key) else { return };
        if let Some(reason) = slot.claim_refusal_reason(core) {
            return core.refuse(Some(key), format!("claim refused: {reason}"));
        }
        let splits = slot.kind == SlotKind::Partitionable;
        if let Err(reason) = self.preempt_dynamic_slots(key, &request.preempts) {
            return self.core.refuse(Some(key), format!("claim refused: {reason}"));
        }
        let ExecutionPoint { core, slots, .. } = self;
        let Some(slot) = slots.get_mut(&key) else { return };
        let rank =
            slot.eval_in_slot_ad(core, Some(&request.job), |context| context.real("Rank")).unwrap_or(0.0);
        if splits {
            match self.carve_for_claim(key, &mut request.job) {
                Ok(child) => self.with_slot(child, |slot, core| slot.accept_claim(core, request, rank)),
                Err(unfit) => {
                    self.core.refuse(Some(key), format!("claim refused: {}", unfit.reason));
                    self.with_slot(key, Slot::abort_claim);
                }
            }
            return;
        }
        if slot.kind == SlotKind::Static
            && let Err(unfit) = slot.check_willing_to_claim(core, &request.job)
        {
            core.refuse(Some(key), format!("claim refused: {}", unfit.reason));
            return slot.abort_claim(core);
        }
        if slot.state == SlotState::Claimed {
            slot.queue_waiting_claim(core, request, rank);
        } else {
            slot.accept_claim(core, request, rank);
        }
    }
}

impl ExecutionPoint {
    /// Kills the claims of these dynamic slots and returns their resources to the parent before the slots themselves are removed
    /// (`command.cpp`, request_claim: "sloppy, but mostly works").
    fn preempt_dynamic_slots(&mut self, parent: SlotKey, ids: &[String]) -> Result<(), String> {
        let mut keys = Vec::new();
        for id in ids {
            let named = |slot: &&Slot| slot.id.eq_ignore_ascii_case(id) && slot.kind == SlotKind::Dynamic;
            let child = self.slots.values().find(named).filter(|slot| slot.key.number == parent.number);
            let Some(child) = child else {
                return Err(format!("'{id}' is not one of its dynamic slots"));
            };
            if !child.has_retirement_expired(&self.core) {
                return Err(format!("{id} still has retirement time, and cannot be preempted at once"));
            }
            keys.push(child.key);
        }
        for key in keys {
            let why =
                VacateReason::new("Preempted for a Priority user", HoldCode::StartdPreemptingClaimUserPrio);
            self.with_slot(key, |slot, core| {
                slot.kill_claim(core, Some(why), "preempted for a claim of the partitionable slot");
            });
            self.remove_free_dynamic_slots();
            let Some(child) = self.slots.get_mut(&key) else { continue };
            let freed = child.amounts.clone();
            child.amounts.subtract(&freed);
            if let Some(parent) = self.slots.get_mut(&parent) {
                parent.amounts.add_back(&freed);
            }
        }
        if !ids.is_empty() {
            self.with_slot(parent, |slot, core| slot.refresh_ad(core));
        }
        Ok(())
    }
}

impl Slot {
    /// Applies a starter's update of its job ad (`Claim::receiveJobClassAdUpdate`).
    pub(super) fn update_job_ad(&mut self, core: &mut ExecutionPointState, changes: &ClassAd) {
        let Some(claim) = &mut self.claims.current else { return };
        // The manual has an example of PREEMPT that refers to MemoryUsage of the running job.
        if claim.kind == ClaimKind::Fetched && core.decide(Quirk::FetchedUsageUnseen) {
            return;
        }
        if let Some(job) = &mut claim.job {
            job.update(changes);
        }
    }

    fn claim_refusal_reason(&self, core: &ExecutionPointState) -> Option<&'static str> {
        if core.ending.shutdown.is_some() {
            return Some("the execution point is ending");
        }
        if core.power.sleep_state.is_some() {
            return Some("the machine hibernates");
        }
        if self.state == SlotState::Preempting {
            return Some("the slot is still preempting its last job");
        }
        if self.state == SlotState::Backfill && self.history.state_after_backfill == Some(SlotState::Claimed)
        {
            return Some("the slot is already claimed, and its backfill client is being stopped");
        }
        let near_end =
            core.drain.is_draining() && core.drain.coordinated_retirement < DRAIN_END_MARGIN_SECONDS;
        (near_end && !self.is_accepting_while_draining(core)).then_some("the slot is drained")
    }

    /// Checks that the slot's Requirements are true for the job (`willingToRun`). Undefined Requirements refuse the job.
    pub(super) fn check_willing_to_run(
        &mut self,
        core: &ExecutionPointState,
        job: &ClassAd,
    ) -> Result<(), UnfitReason> {
        self.restore_requirements(core);
        let world = FrozenClockWorld { world: &*core.world, now: core.now };
        let taken = match self.kind {
            SlotKind::Dynamic => self.job_with_consumption(&self.ads.live, job, &world),
            SlotKind::Static | SlotKind::Partitionable => None,
        };
        let job = taken.as_ref().unwrap_or(job);
        match self.eval_in_slot_ad(core, Some(job), |context| context.boolean("Requirements")) {
            Some(true) => Ok(()),
            _ => Err(self.unfit_reason(core, job)),
        }
    }

    /// Checks that the slot's Requirements are true for the job, and, for a slot that is claimed as a whole, that its
    /// devices match the job.
    fn check_willing_to_claim(
        &mut self,
        core: &mut ExecutionPointState,
        job: &ClassAd,
    ) -> Result<(), UnfitReason> {
        self.check_willing_to_run(core, job)?;
        self.check_devices(core, job)
    }

    /// Checks that the devices of a slot that is claimed as a whole match the job.
    pub(super) fn check_devices(
        &self,
        core: &mut ExecutionPointState,
        job: &ClassAd,
    ) -> Result<(), UnfitReason> {
        match check_undivided_slot_devices(|| check_devices(self, core, job), core.quirks()) {
            Ok(()) => Ok(()),
            Err((unfit, refuses)) => {
                core.report(refuses, self.key);
                Err(unfit)
            }
        }
    }

    /// Handles MATCH_INFO: the slot waits for the claim request, for at most MATCH_TIMEOUT.
    fn handle_match(&mut self, core: &mut ExecutionPointState) {
        match self.state {
            SlotState::Owner | SlotState::Unclaimed => {
                self.claims.match_expiry = Some(core.alarm(core.settings.match_timeout));
                self.change_state(core, SlotState::Matched, Activity::Idle, "matched");
            }
            // The match is with a claimer that will preempt the current claim: the slot accepts no other match.
            SlotState::Claimed => self.set_unavailable(None),
            SlotState::Backfill => {
                self.claims.match_expiry = Some(core.alarm(core.settings.match_timeout));
                self.leave_backfill(core, SlotState::Matched, "matched");
            }
            SlotState::Matched | SlotState::Preempting | SlotState::Drained => {
                core.refuse(Some(self.key), format!("a match in state {} is ignored", self.state));
            }
        }
    }

    /// Handles a match that was not claimed in time (`match_timed_out`).
    pub(super) fn handle_match_timeout(&mut self, core: &mut ExecutionPointState) {
        self.claims.match_expiry = None;
        if self.state == SlotState::Matched {
            self.change_state(core, SlotState::Owner, Activity::Idle, "match timed out");
        }
    }

    /// Aborts a failed claim request (`abort_claim`).
    fn abort_claim(&mut self, core: &mut ExecutionPointState) {
        match self.state {
            SlotState::Claimed | SlotState::Owner => {}
            SlotState::Backfill => self.claims.current = Some(core.new_claim(ClaimKind::Offered)),
            SlotState::Unclaimed | SlotState::Matched | SlotState::Preempting | SlotState::Drained => {
                self.change_state(core, SlotState::Owner, Activity::Idle, "claiming protocol failed");
            }
        }
    }

    /// Gives the slot to the claimer (`accept_request_claim`).
    fn accept_claim(&mut self, core: &mut ExecutionPointState, request: ClaimRequest, rank: f64) {
        let world = core.world.clone();
        let world = FrozenClockWorld { world: &*world, now: core.now };
        let mut claim = match self.claims.current.take() {
            Some(claim) => claim,
            None => core.new_claim(ClaimKind::Offered),
        };
        claim.accept_request(request, rank, &world);
        self.claims.current = Some(claim);
        self.claims.match_expiry = None;
        if self.state == SlotState::Backfill {
            return self.leave_backfill(core, SlotState::Claimed, "claiming protocol successful");
        }
        self.change_state(core, SlotState::Claimed, Activity::Idle, "claiming protocol successful");
        if self.state != SlotState::Claimed {
            self.change_state(core, SlotState::Owner, Activity::Idle, "claiming protocol failed");
        }
    }

    /// Queues a claim that waits for the end of the current claim, unless its rank is too low to preempt that claim.
    fn queue_waiting_claim(&mut self, core: &mut ExecutionPointState, request: ClaimRequest, rank: f64) {
        let present = self.claims.current.as_ref().map_or(0.0, |claim| claim.rank);
        let waiting =
            self.claims.waiting.as_ref().filter(|claim| claim.job.is_some()).map(|claim| claim.rank);
        if let Some(than) = waiting.filter(|than| rank < *than).or((rank < present).then_some(present)) {
            return core.refuse(Some(self.key), format!("claim refused: rank {rank} is less than {than}"));
        }
        let world = core.world.clone();
        let world = FrozenClockWorld { world: &*world, now: core.now };
        if let Some(than) = waiting {
            let kind = if rank > than { "higher" } else { "the same" };
            self.drop_waiting_claim(core, &format!("a claim of {kind} rank replaces it"));
        }
        let mut claim = core.new_claim(ClaimKind::Requested);
        claim.accept_waiting_request(request, rank, &world);
        claim.outranks_current = rank > present;
        let kind = if claim.outranks_current {
            &mut core.counters.rank_preemptions
        } else {
            &mut core.counters.user_prio_preemptions
        };
        kind.increment(core.now.epoch());
        core.counters.preemptions.increment(core.now.epoch());
        self.claims.waiting = Some(claim);
        self.evaluate_policy(core);
    }

    /// Handles ACTIVATE_CLAIM: requests a starter if slot and job still match.
    fn activate_claim(&mut self, core: &mut ExecutionPointState, job: ClassAd) {
        let requested = self.claims.current.as_ref().is_some_and(|claim| claim.kind == ClaimKind::Requested);
        let idle = (self.state, self.activity) == (SlotState::Claimed, Activity::Idle);
        if core.ending.shutdown.is_some() || !requested || !idle {
            let reason = format!("activation refused: the slot is {}/{}", self.state, self.activity);
            return core.refuse(Some(self.key), reason);
        }
        core.counters.activation_requests.increment(core.now.epoch());
        if let Err(unfit) = self.check_willing_to_run(core, &job) {
            let reason = format!("activation refused: the slot does not match the job: {}", unfit.reason);
            return core.refuse(Some(self.key), reason);
        }
        let rank = self.eval_in_slot_ad(core, Some(&job), |context| context.real("Rank")).unwrap_or(0.0);
        let world = core.world.clone();
        let world = FrozenClockWorld { world: &*world, now: core.now };
        if let Some(claim) = &mut self.claims.current {
            claim.set_job(job, rank, &world);
        }
        self.spawn_starter(core);
    }

    fn renew_lease(&mut self, core: &mut ExecutionPointState) {
        if let Some(claim) = self.claims.current.as_mut().filter(|claim| claim.lease_ends.is_some()) {
            claim.lease_ends = Some(core.time_after(claim.lease));
        }
    }

    fn deactivate_claim(&mut self, core: &mut ExecutionPointState, how: Deactivation) {
        let Some(claim) = self.claims.current.as_ref().filter(|_| self.state == SlotState::Claimed) else {
            return;
        };
        let reactivates = claim.may_reactivate;
        let closing = self.has_better_claim(core)
            || self.activity == Activity::Retiring
            || core.drain.is_draining()
            || !reactivates
            || self.has_worklife_expired(core);
        if let Some(claim) = &mut self.claims.current {
            claim.may_reactivate &= !(how == Deactivation::JobDone && closing);
        }
        let why = |text: &str| VacateReason::new(text, HoldCode::ClaimDeactivated);
        let cleaning = self.activity == Activity::Cleaning;
        match how {
            Deactivation::JobDone if self.is_active() => return,
            Deactivation::JobDone => {}
            Deactivation::Graceful if !cleaning => {
                let seconds = self.max_vacate_time(core);
                self.soft_kill(core, seconds, Some(why("Claim deactivated")));
                self.set_claim_phase(core, ClaimPhase::Vacating);
            }
            Deactivation::Forcibly if !cleaning => {
                self.hard_kill(core, Some(why("Claim deactivated forcibly")));
                self.set_claim_phase(core, ClaimPhase::Killing);
            }
            Deactivation::Graceful | Deactivation::Forcibly => {}
        }
        if closing {
            self.release_claim(core, VacateReason::new("Claim deactivated", HoldCode::ClaimDeactivated));
        }
    }

    fn set_claim_phase(&mut self, core: &ExecutionPointState, phase: ClaimPhase) {
        if let Some(claim) = self.claims.current.as_mut().filter(|claim| claim.is_active()) {
            claim.change_phase(phase, core.now);
        }
    }

    /// Releases the claim gracefully (`release_claim`).
    fn release_claim(&mut self, core: &mut ExecutionPointState, why: VacateReason) {
        match (self.state, self.activity) {
            (SlotState::Claimed, Activity::Cleaning) => {
                self.claims.preempts_after_cleaning = true;
                let seconds = self.max_vacate_time(core);
                self.soft_kill(core, seconds, None);
                if let Some(claim) = &mut self.claims.current {
                    claim.vacate_reason = Some(why);
                }
            }
            (SlotState::Preempting, Activity::Killing) => {}
            (SlotState::Claimed | SlotState::Preempting, _) => {
                if let Some(claim) = &mut self.claims.current {
                    claim.vacate_reason = Some(why);
                }
                self.change_state(core, SlotState::Preempting, Activity::Vacating, "claim deactivated");
            }
            (SlotState::Matched, _) => {
                self.change_state(core, SlotState::Owner, Activity::Idle, "claim deactivated")
            }
            (SlotState::Owner | SlotState::Unclaimed | SlotState::Backfill | SlotState::Drained, _) => {}
        }
    }

    fn handle_release(&mut self, core: &mut ExecutionPointState, waiting: bool) {
        if waiting {
            if self.claims.waiting.as_ref().is_some_and(|claim| claim.job.is_some()) {
                self.drop_waiting_claim(core, "released by its schedd");
                self.claims.waiting = Some(core.new_claim(ClaimKind::Offered));
                self.evaluate_policy(core);
            }
            return;
        }
        if matches!(self.state, SlotState::Claimed | SlotState::Matched) {
            let why = VacateReason::new("Schedd released the claim", HoldCode::StartdReleaseCommand);
            self.kill_claim(core, Some(why), "released by its schedd");
        }
    }
}

impl Slot {
    /// True if a waiting claim may preempt the current one. A waiting claim for a fetched job may preempt only according to the
    /// manual.
    pub(super) fn has_better_claim(&self, core: &mut ExecutionPointState) -> bool {
        self.claims.waiting.as_ref().is_some_and(|claim| claim.job.is_some())
            && (self.claims.waiting.as_ref().is_some_and(|claim| claim.kind == ClaimKind::Requested)
                || !core.report(outranking_job_decision(core.quirks()), self.key))
    }
}
