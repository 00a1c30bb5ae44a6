//! What an administrator asks of claims: `condor_vacate`, `condor_suspend`, `condor_continue`.

use super::execution_point::ExecutionPoint;
use super::interface::VacateReason;
use super::state::{Activity, State};

/// `condor_vacate`.
const VACATE_COMMAND: i32 = 1010;

impl ExecutionPoint {
    pub(super) fn vacate(&mut self, id: Option<&str>, fast: bool) {
        let why = VacateReason::new("Claim vacated by the administrator", VACATE_COMMAND);
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
            self.core.warn(None, format!("no slot is called {id}"));
        }
    }

    /// Stops jobs, or lets them go on (`suspend_claim`, `continue_claim`).
    pub(super) fn suspend(&mut self, id: Option<&str>, stop: bool) {
        for slot in self.slots.values_mut() {
            if id.is_some_and(|id| !slot.id.eq_ignore_ascii_case(id)) || slot.state != State::Claimed {
                continue;
            }
            let Some(claim) = &mut slot.current else { continue };
            match (slot.activity, stop) {
                (Activity::Busy, true) => {
                    claim.suspended_by_command = true;
                    slot.change(&mut self.core, State::Claimed, Activity::Suspended, "asked to suspend");
                }
                (Activity::Suspended, false) => {
                    claim.suspended_by_command = false;
                    slot.change(&mut self.core, State::Claimed, Activity::Busy, "asked to continue");
                }
                _ => {}
            }
        }
    }
}
