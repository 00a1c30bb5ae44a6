//! Commands of an administrator for claims: `condor_vacate`, `condor_suspend`, `condor_continue`.

use super::events::VacateReason;
use super::execution_point::ExecutionPoint;
use super::execution_point_state::ExecutionPointState;
use super::settings::SlotKind;
use super::slot::Slot;
use super::slot_state::{Activity, SlotState};
use htc_base::job::HoldCode;
use htc_base::quirks::Quirk;

impl ExecutionPoint {
    pub(super) fn vacate(&mut self, id: Option<&str>, fast: bool) {
        let why = VacateReason::new("Claim vacated by the administrator", HoldCode::StartdVacateCommand);
        let mut found = false;
        for slot in self.slots.values_mut() {
            if id.is_some_and(|id| !slot.id.eq_ignore_ascii_case(id)) {
                continue;
            }
            found = true;
            if fast {
                slot.kill_claim(&mut self.core, Some(why.clone()), "asked to vacate at once");
            } else {
                slot.retire(&mut self.core, false, why.clone(), "asked to vacate");
            }
        }
        if let Some(id) = id.filter(|_| !found) {
            self.core.warn(None, format!("there is no slot {id}"));
        }
    }

    /// Suspends (`stop`) or continues the job of the slot with this id, or of all slots if `id` is `None`. Warns if no slot has a
    /// job to suspend or continue.
    pub(super) fn suspend_or_continue(&mut self, id: Option<&str>, stop: bool) {
        let ExecutionPoint { core, slots, .. } = self;
        let word = if stop { "suspend" } else { "continue" };
        let mut refused = Vec::new();
        let mut done = false;
        for slot in slots.values_mut() {
            if id.is_some_and(|id| !slot.id.eq_ignore_ascii_case(id)) {
                continue;
            }
            let result =
                if stop { slot.suspend_claim(core, id.is_some()) } else { slot.continue_claim(core) };
            match result {
                Ok(()) => done = true,
                Err(why) => refused.push((slot.key, why)),
            }
        }
        match (refused.pop(), id) {
            (Some((key, why)), Some(_)) => core.refuse(Some(key), format!("{word} refused: {why}")),
            (Some(_), None) if !done => {
                let what = if stop {
                    "runs a job that can be suspended"
                } else {
                    "has a job that a command has suspended"
                };
                core.refuse(None, format!("{word} refused: no slot {what}"));
            }
            _ => {}
        }
    }
}

impl Slot {
    /// Suspends the job (`command_suspend_claim`), so that CONTINUE is ignored until `condor_continue`. 25.14 also suspends a
    /// claim without a job.
    fn suspend_claim(&mut self, core: &mut ExecutionPointState, is_named: bool) -> Result<(), String> {
        let claimed = self.state == SlotState::Claimed;
        // Without a slot name, only slots that run a job are suspended; in 25.14, every command names a slot.
        let mut idle_too =
            || is_named && claimed && core.decide_and_report(Quirk::SuspendWithoutJob, self.key);
        if !(claimed && self.is_active() || idle_too()) {
            let (state, activity) = (self.state, self.activity);
            let why = match state {
                SlotState::Preempting => "its job is already being vacated",
                _ => "it runs no job",
            };
            return Err(format!("the slot is {state}/{activity}: {why}"));
        }
        if self.activity == Activity::Suspended && self.claims.suspended_by_command {
            return Err(format!(
                "the slot is {}/{}: its job is already suspended",
                self.state, self.activity
            ));
        }
        self.change_state(core, SlotState::Claimed, Activity::Suspended, "asked to suspend");
        self.claims.suspended_by_command = true;
        Ok(())
    }

    /// Continues a job that a command has suspended (`command_continue_claim`).
    fn continue_claim(&mut self, core: &mut ExecutionPointState) -> Result<(), String> {
        if self.activity != Activity::Suspended {
            return Err(format!("the slot is {}/{}: nothing is suspended", self.state, self.activity));
        }
        if !self.claims.suspended_by_command {
            return Err("its policy has suspended the job; it continues when CONTINUE is true".to_owned());
        }
        self.change_state(core, SlotState::Claimed, Activity::Busy, "asked to continue");
        self.claims.suspended_by_command = false;
        Ok(())
    }

    /// Forgets, after the job has ended, that a command suspended it, so that CONTINUE applies to the next job.
    pub(super) fn forget_suspension(&mut self, core: &mut ExecutionPointState) {
        if !self.claims.suspended_by_command {
            return;
        }
        let sticks = core.quirks().decide(Quirk::SuspendCommandSticks);
        let sticks = match self.kind {
            SlotKind::Static => core.report(sticks, self.key),
            SlotKind::Dynamic | SlotKind::Partitionable => sticks.as_reference,
        };
        self.claims.suspended_by_command = sticks;
    }
}
