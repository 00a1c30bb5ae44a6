//! What negotiators, schedds and shadows ask of a slot: a match, a claim, its activation and its end (`command.cpp`).
//!
//! Whoever asks names the slot; which of its claims is meant follows from the slot's state, as the ids do that the
//! reference compares. A refusal changes nothing but what the reference's `abort_claim` does, and is told.

use super::claim_command::{ClaimCommand, ClaimRequest, Deactivation};
use super::core::Core;
use super::device_choice::{has_devices, whole_has};
use super::execution_point::ExecutionPoint;
use super::interface::{Notice, SlotKey, VacateReason};
use super::kept::claim::{Kind, Phase};
use super::settings::SlotKind;
use super::single::Slot;
use super::startd_hooks::outranking;
use super::state::{Activity, State};
use super::unfit::Unfit;
use htc_base::job::HoldCode;
use htc_base::quirks::Quirk;
use htc_base::world::Frozen;
use htc_classad::ClassAd;

/// Claims are refused when draining ends within so many seconds.
const END_OF_DRAINING: i64 = 20;

impl ExecutionPoint {
    /// Does what is asked of the slot with this id.
    pub(super) fn command(&mut self, id: &str, command: ClaimCommand) {
        let key = self.slots.values().find(|slot| slot.id.eq_ignore_ascii_case(id)).map(|slot| slot.key);
        let Some(key) = key else {
            return self.core.warn(None, format!("no slot is called {id}"));
        };
        match command {
            ClaimCommand::Request(request) => self.request_claim(key, *request),
            ClaimCommand::Activate(job) => {
                self.refresh_all();
                self.with_slot(key, |slot, core| slot.activate(core, *job));
            }
            ClaimCommand::Match => self.with_slot(key, Slot::matched),
            ClaimCommand::Alive => self.with_slot(key, Slot::alive),
            ClaimCommand::Deactivate(how) => self.with_slot(key, |slot, core| slot.deactivate(core, how)),
            ClaimCommand::Release { waiting } => {
                self.with_slot(key, |slot, core| slot.release_command(core, waiting));
            }
        }
    }

    /// The starter of a job with a shadow has told how it ended, and cleans up (`Claim::receiveJobClassAdUpdate`).
    pub(super) fn final_update(slot: &mut Slot, core: &mut Core) {
        let runs = matches!(slot.activity, Activity::Busy | Activity::Retiring | Activity::Suspended);
        if slot.state == State::Claimed && runs {
            slot.change(core, State::Claimed, Activity::Cleaning, "the starter cleans up");
        }
    }

    fn with_slot(&mut self, key: SlotKey, then: impl FnOnce(&mut Slot, &mut Core)) {
        if let Some(slot) = self.slots.get_mut(&key) {
            then(slot, &mut self.core);
        }
    }

    fn request_claim(&mut self, key: SlotKey, mut request: ClaimRequest) {
        let ExecutionPoint { core, slots, .. } = self;
        core.counters.claim_requests.count(core.now.epoch());
        if request.lease == 0 {
            request.lease = core.settings.claim_lease;
        }
        let Some(slot) = slots.get_mut(&key) else { return };
        if let Some(reason) = slot.refuses_claims(core) {
            return core.warn(Some(key), format!("claim refused: {reason}"));
        }
        let splits = slot.kind == SlotKind::Partitionable;
        if let Err(reason) = self.make_room(key, &request.preempts) {
            return self.core.warn(Some(key), format!("claim refused: {reason}"));
        }
        let ExecutionPoint { core, slots, .. } = self;
        let Some(slot) = slots.get_mut(&key) else { return };
        let rank = slot.look(core, Some(&request.job), |context| context.real("Rank")).unwrap_or(0.0);
        if splits {
            match self.carve_for_claim(key, &mut request.job) {
                Ok(child) => self.with_slot(child, |slot, core| slot.accept_claim(core, request, rank)),
                Err(unfit) => {
                    self.core.warn(Some(key), format!("claim refused: {}", unfit.reason));
                    self.with_slot(key, Slot::abort_claim);
                }
            }
            return;
        }
        if slot.kind == SlotKind::Static
            && let Err(unfit) = slot.is_willing_to_claim(core, &request.job)
        {
            core.warn(Some(key), format!("claim refused: {}", unfit.reason));
            return slot.abort_claim(core);
        }
        if slot.state == State::Claimed {
            slot.claim_waits(core, request, rank);
        } else {
            slot.accept_claim(core, request, rank);
        }
    }
}

impl ExecutionPoint {
    /// Kills the claims of dynamic slots and gives what they had back to their parent at once, before they are gone (`command.cpp`,
    /// request_claim: "sloppy, but mostly works").
    fn make_room(&mut self, parent: SlotKey, ids: &[String]) -> Result<(), String> {
        let mut keys = Vec::new();
        for id in ids {
            let named = |slot: &&Slot| slot.id.eq_ignore_ascii_case(id) && slot.kind == SlotKind::Dynamic;
            let child = self.slots.values().find(named).filter(|slot| slot.key.number == parent.number);
            let Some(child) = child else {
                return Err(format!("'{id}' is no dynamic slot of it"));
            };
            if !child.retirement_over(&self.core) {
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
            self.remove_gone();
            let Some(child) = self.slots.get_mut(&key) else { continue };
            let freed = child.amounts.clone();
            child.amounts.take(&freed);
            if let Some(parent) = self.slots.get_mut(&parent) {
                parent.amounts.give_back(&freed);
            }
        }
        if !ids.is_empty() {
            self.with_slot(parent, |slot, core| slot.refresh(core));
        }
        Ok(())
    }
}

impl Slot {
    /// What a starter tells of its job (`Claim::receiveJobClassAdUpdate`).
    pub(super) fn update_job(&mut self, core: &mut Core, changes: &ClassAd) {
        let Some(claim) = &mut self.current else { return };
        // The manual's own PREEMPT asks for MemoryUsage.
        if claim.kind == Kind::Fetched && core.has_silently(Quirk::FetchedUsageUnseen) {
            return;
        }
        if let Some(job) = &mut claim.job {
            job.update(changes);
        }
    }

    fn refuses_claims(&self, core: &Core) -> Option<&'static str> {
        if core.shutdown.is_some() {
            return Some("the execution point is ending");
        }
        if core.power.asleep.is_some() {
            return Some("the machine hibernates");
        }
        if self.state == State::Preempting {
            return Some("the slot still preempts its last job");
        }
        if self.state == State::Backfill && self.destination == Some(State::Claimed) {
            return Some("the slot is claimed already, and its backfill client is being ended");
        }
        let near_end = core.drain.is_on() && core.drain.coordinated < END_OF_DRAINING;
        (near_end && !self.takes_while_draining(core)).then_some("the slot is drained")
    }

    /// Whether the slot's Requirements hold for the job (`willingToRun`); undefined is no.
    pub(super) fn is_willing_to_run(&mut self, core: &Core, job: &ClassAd) -> Result<(), Unfit> {
        self.restore_requirements(core);
        let world = Frozen { world: &*core.world, now: core.now };
        let taken = match self.kind {
            SlotKind::Dynamic => self.with_consumption(&self.live, job, &world),
            SlotKind::Static | SlotKind::Partitionable => None,
        };
        let job = taken.as_ref().unwrap_or(job);
        match self.look(core, Some(job), |context| context.boolean("Requirements")) {
            Some(true) => Ok(()),
            _ => Err(self.unfit_for(core, job)),
        }
    }

    /// The same for a claim of a slot that does not split, whose cards have to be good enough as well.
    fn is_willing_to_claim(&mut self, core: &mut Core, job: &ClassAd) -> Result<(), Unfit> {
        self.is_willing_to_run(core, job)?;
        self.has_devices(core, job)
    }

    /// Whether a slot that does not split takes the job as far as its cards go.
    pub(super) fn has_devices(&self, core: &mut Core, job: &ClassAd) -> Result<(), Unfit> {
        match whole_has(|| has_devices(self, core, job), core.quirks()) {
            Ok(()) => Ok(()),
            Err((unfit, refuses)) => {
                core.told(refuses, self.key);
                Err(unfit)
            }
        }
    }

    /// MATCH_INFO: the slot waits for the claimer, at most MATCH_TIMEOUT.
    fn matched(&mut self, core: &mut Core) {
        match self.state {
            State::Owner | State::Unclaimed => {
                self.match_ends = Some(core.alarm(core.settings.match_timeout));
                self.change(core, State::Matched, Activity::Idle, "matched");
            }
            // Somebody who may take over has been found: nobody else is wanted.
            State::Claimed => self.set_unavailable(None),
            State::Backfill => {
                self.match_ends = Some(core.alarm(core.settings.match_timeout));
                self.leave_backfill(core, State::Matched, "matched");
            }
            State::Matched | State::Preempting | State::Drained => {
                core.warn(Some(self.key), format!("a match comes in state {} and is not used", self.state));
            }
        }
    }

    /// Nobody has claimed what was matched (`match_timed_out`).
    pub(super) fn match_timed_out(&mut self, core: &mut Core) {
        self.match_ends = None;
        if self.state == State::Matched {
            self.change(core, State::Owner, Activity::Idle, "match timed out");
        }
    }

    /// A request that came to nothing (`abort_claim`).
    fn abort_claim(&mut self, core: &mut Core) {
        match self.state {
            State::Claimed | State::Owner => {}
            State::Backfill => self.current = Some(core.new_claim(Kind::Offered)),
            State::Unclaimed | State::Matched | State::Preempting | State::Drained => {
                self.change(core, State::Owner, Activity::Idle, "claiming protocol failed");
            }
        }
    }

    /// The slot is the claimer's (`accept_request_claim`).
    fn accept_claim(&mut self, core: &mut Core, request: ClaimRequest, rank: f64) {
        let world = core.world.clone();
        let world = Frozen { world: &*world, now: core.now };
        let mut claim = match self.current.take() {
            Some(claim) => claim,
            None => core.new_claim(Kind::Offered),
        };
        claim.take_request(request, rank, &world);
        self.current = Some(claim);
        self.match_ends = None;
        if self.state == State::Backfill {
            return self.leave_backfill(core, State::Claimed, "claiming protocol successful");
        }
        self.change(core, State::Claimed, Activity::Idle, "claiming protocol successful");
        if self.state != State::Claimed {
            self.change(core, State::Owner, Activity::Idle, "claiming protocol failed");
        }
    }

    /// A claim that is to take over waits for the end of the present one, if RANK does not speak against it.
    fn claim_waits(&mut self, core: &mut Core, request: ClaimRequest, rank: f64) {
        let present = self.current.as_ref().map_or(0.0, |claim| claim.rank);
        let waiting = self.waiting.as_ref().filter(|claim| claim.job.is_some()).map(|claim| claim.rank);
        if let Some(than) = waiting.filter(|than| rank < *than).or((rank < present).then_some(present)) {
            return core.warn(Some(self.key), format!("claim refused: rank {rank} is less than {than}"));
        }
        let world = core.world.clone();
        let world = Frozen { world: &*world, now: core.now };
        if let Some(than) = waiting {
            let kind = if rank > than { "higher" } else { "the same" };
            self.drop_waiting(core, &format!("a claim of {kind} rank takes its place"));
        }
        let mut claim = core.new_claim(Kind::Requested);
        claim.wait_for_request(request, rank, &world);
        claim.by_rank = rank > present;
        let kind = if claim.by_rank {
            &mut core.counters.rank_preemptions
        } else {
            &mut core.counters.user_prio_preemptions
        };
        kind.count(core.now.epoch());
        core.counters.preemptions.count(core.now.epoch());
        self.waiting = Some(claim);
        self.evaluate(core);
    }

    /// ACTIVATE_CLAIM: a starter is asked for, if slot and job still fit.
    fn activate(&mut self, core: &mut Core, job: ClassAd) {
        let requested = self.current.as_ref().is_some_and(|claim| claim.kind == Kind::Requested);
        let idle = (self.state, self.activity) == (State::Claimed, Activity::Idle);
        if core.shutdown.is_some() || !requested || !idle {
            let reason = format!("activation refused: the slot is {}/{}", self.state, self.activity);
            return core.warn(Some(self.key), reason);
        }
        core.counters.activation_requests.count(core.now.epoch());
        if let Err(unfit) = self.is_willing_to_run(core, &job) {
            let reason = format!("activation refused: the slot does not match the job: {}", unfit.reason);
            return core.warn(Some(self.key), reason);
        }
        let rank = self.look(core, Some(&job), |context| context.real("Rank")).unwrap_or(0.0);
        let world = core.world.clone();
        let world = Frozen { world: &*world, now: core.now };
        if let Some(claim) = &mut self.current {
            claim.set_job(job, rank, &world);
        }
        self.spawn(core);
    }

    fn alive(&mut self, core: &mut Core) {
        if let Some(claim) = self.current.as_mut().filter(|claim| claim.lease_ends.is_some()) {
            claim.lease_ends = Some(core.after(claim.lease));
        }
    }

    fn deactivate(&mut self, core: &mut Core, how: Deactivation) {
        let Some(claim) = self.current.as_ref().filter(|_| self.state == State::Claimed) else { return };
        let reactivates = claim.may_reactivate;
        let closing = self.has_better_claim(core)
            || self.activity == Activity::Retiring
            || core.drain.is_on()
            || !reactivates
            || self.worklife_over(core);
        if let Some(claim) = &mut self.current {
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
                self.set_phase(core, Phase::Vacating);
            }
            Deactivation::Forcibly if !cleaning => {
                self.hard_kill(core, Some(why("Claim deactivated forcibly")));
                self.set_phase(core, Phase::Killing);
            }
            Deactivation::Graceful | Deactivation::Forcibly => {}
        }
        if closing {
            self.release_claim(core, VacateReason::new("Claim deactivated", HoldCode::ClaimDeactivated));
        }
    }

    fn set_phase(&mut self, core: &Core, phase: Phase) {
        if let Some(claim) = self.current.as_mut().filter(|claim| claim.is_active()) {
            claim.change_phase(phase, core.now);
        }
    }

    /// The claim ends softly (`release_claim`).
    fn release_claim(&mut self, core: &mut Core, why: VacateReason) {
        match (self.state, self.activity) {
            (State::Claimed, Activity::Cleaning) => {
                self.preempts_after_cleaning = true;
                let seconds = self.max_vacate_time(core);
                self.soft_kill(core, seconds, None);
                if let Some(claim) = &mut self.current {
                    claim.vacate_reason = Some(why);
                }
            }
            (State::Preempting, Activity::Killing) => {}
            (State::Claimed | State::Preempting, _) => {
                if let Some(claim) = &mut self.current {
                    claim.vacate_reason = Some(why);
                }
                self.change(core, State::Preempting, Activity::Vacating, "claim deactivated");
            }
            (State::Matched, _) => self.change(core, State::Owner, Activity::Idle, "claim deactivated"),
            (State::Owner | State::Unclaimed | State::Backfill | State::Drained, _) => {}
        }
    }

    fn release_command(&mut self, core: &mut Core, waiting: bool) {
        if waiting {
            if self.waiting.as_ref().is_some_and(|claim| claim.job.is_some()) {
                self.drop_waiting(core, "released by its schedd");
                self.waiting = Some(core.new_claim(Kind::Offered));
                self.evaluate(core);
            }
            return;
        }
        if matches!(self.state, State::Claimed | State::Matched) {
            let why = VacateReason::new("Schedd released the claim", HoldCode::StartdReleaseCommand);
            self.kill_claim(core, Some(why), "released by its schedd");
        }
    }
}

impl Notice {
    /// Why a [`ClaimCommand`], a drain or a suspension was refused, if that is told.
    pub fn refusal(&self) -> Option<&str> {
        let Notice::Warning { text, .. } = self else { return None };
        let refuses = [
            "claim refused: ",
            "activation refused: ",
            "a match comes in state ",
            "drain refused: ",
            "undrain refused: ",
            "suspend refused: ",
            "continue refused: ",
        ];
        refuses.iter().any(|start| text.starts_with(start)).then_some(text)
    }
}

impl Slot {
    /// Whether a claim waits that may take over. One made for fetched work does only by the manual.
    pub(super) fn has_better_claim(&self, core: &mut Core) -> bool {
        self.waiting.as_ref().is_some_and(|claim| claim.job.is_some())
            && (self.waiting.as_ref().is_some_and(|claim| claim.kind == Kind::Requested)
                || !core.told(outranking(core.quirks()), self.key))
    }
}
