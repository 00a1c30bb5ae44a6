//! User requests for a job in the queue: hold, remove, vacate, release (`condor_hold`, `condor_rm`,
//! `condor_vacate_job`, `condor_release`).
//!
//! Reference: `abort_job_myself`, `holdJob`, `releaseJob` of `qmgmt.cpp`.

use super::event::UserRequest;
use super::state_machine::{JobEndRequest, PendingOutcome, Shadow, ShadowAction, ShadowPhase};
use htc_base::job::HoldCode;
use htc_base::time::ClockReading;

impl Shadow<'_> {
    /// Returns the reason why a request cannot be performed now, or `None` if it is accepted.
    pub fn refusal_reason(&self, order: &UserRequest) -> Option<&'static str> {
        match (self.phase, order) {
            (ShadowPhase::Running, UserRequest::Release(_)) => Some("the job is not held"),
            (ShadowPhase::Running, _) if self.this_run.pending_outcome.is_some() => {
                Some("the job is already leaving its slot")
            }
            (ShadowPhase::Idle { .. }, UserRequest::Release(_) | UserRequest::Vacate { .. }) => {
                Some("the job is idle")
            }
            (ShadowPhase::Held, UserRequest::Hold(_)) => Some("the job is already held"),
            (ShadowPhase::Held, UserRequest::Vacate { .. }) => Some("the job is held"),
            (ShadowPhase::Hook, UserRequest::Release(_)) => Some("the job is not held"),
            (ShadowPhase::New, _) => Some("the job is being prepared"),
            (ShadowPhase::Finished, _) => Some("the job has left the queue"),
            (ShadowPhase::Hook | ShadowPhase::Running | ShadowPhase::Idle { .. } | ShadowPhase::Held, _) => {
                None
            }
        }
    }

    /// Returns the state of the job in one word.
    pub fn state(&self) -> &'static str {
        match self.phase {
            ShadowPhase::New | ShadowPhase::Hook => "preparing",
            ShadowPhase::Running => "running",
            ShadowPhase::Idle { .. } => "idle",
            ShadowPhase::Held => "held",
            ShadowPhase::Finished => "ended",
        }
    }

    pub(super) fn on_user_request(
        &mut self,
        now: ClockReading,
        order: UserRequest,
        out: &mut Vec<ShadowAction>,
    ) {
        if self.refusal_reason(&order).is_some() {
            return;
        }
        if self.phase == ShadowPhase::Running {
            let (outcome, ask) = match order {
                UserRequest::Hold(why) => (PendingOutcome::Failed(why), JobEndRequest::Hold),
                UserRequest::Remove(reason) => (
                    PendingOutcome::RemoveEvicted { reason, code: HoldCode::JobRemoved.number() },
                    JobEndRequest::Remove,
                ),
                UserRequest::Vacate { why, fast } => {
                    self.this_run.vacated_without_exit |= fast;
                    (PendingOutcome::Vacate(why), JobEndRequest::Vacate)
                }
                UserRequest::Release(_) => return,
            };
            self.this_run.pending_outcome = Some(outcome);
            out.push(ShadowAction::WakeAt(None));
            return match ask {
                // A schedd vacates a job gracefully: WantGracefulRemoval applies only to removals.
                JobEndRequest::Vacate => out.push(ShadowAction::RequestEnd(ask)),
                _ => self.request_job_end(ask, out),
            };
        }
        out.push(ShadowAction::WakeAt(None));
        if self.phase == ShadowPhase::Hook {
            // The job had its slot while the hook ran. The shadow of a pool would handle the request only after the
            // hook has ended (`RemoteResource::killStarter` before there is a starter).
            self.add_wall_clock_time(now);
        }
        match order {
            UserRequest::Hold(why) => self.hold_job(now, why, out),
            UserRequest::Remove(reason) => self.remove_job(now, &reason, out),
            UserRequest::Release(reason) => self.release_job(now, reason, out),
            // The job has no starter yet, so nothing needs to be evicted.
            UserRequest::Vacate { .. } if self.phase == ShadowPhase::Hook => self.requeue(now, true, out),
            UserRequest::Vacate { .. } => {}
        }
    }
}
