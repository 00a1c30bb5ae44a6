//! What users ask of a job in the queue: hold, remove, vacate, release (`condor_hold`, `condor_rm`, `condor_vacate_job`,
//! `condor_release`).
//!
//! Reference: `abort_job_myself`, `holdJob`, `releaseJob` of `qmgmt.cpp`; recordings c33a e06 to e09, c39.

use super::event::Order;
use super::machine::{Action, Ask, Fate, Phase, Shadow};
use htc_base::job::HoldCode;
use htc_base::time::Now;

impl Shadow<'_> {
    /// Why an order cannot be carried out just now.
    pub fn refuses(&self, order: &Order) -> Option<&'static str> {
        match (self.phase, order) {
            (Phase::Running, Order::Release(_)) => Some("the job is not held"),
            (Phase::Running, _) if self.this_run.fate.is_some() => {
                Some("the job is about to leave its slot already")
            }
            (Phase::Idle { .. }, Order::Release(_) | Order::Vacate { .. }) => Some("the job is idle"),
            (Phase::Held, Order::Hold(_)) => Some("the job is held already"),
            (Phase::Held, Order::Vacate { .. }) => Some("the job is held"),
            (Phase::Hook, Order::Release(_)) => Some("the job is not held"),
            (Phase::New, _) => Some("the job is being prepared"),
            (Phase::Finished, _) => Some("the job has left the queue"),
            (Phase::Hook | Phase::Running | Phase::Idle { .. } | Phase::Held, _) => None,
        }
    }

    /// How it stands with the job, in a word.
    pub fn state(&self) -> &'static str {
        match self.phase {
            Phase::New | Phase::Hook => "preparing",
            Phase::Running => "running",
            Phase::Idle { .. } => "idle",
            Phase::Held => "held",
            Phase::Finished => "ended",
        }
    }

    pub(super) fn ordered(&mut self, now: Now, order: Order, out: &mut Vec<Action>) {
        if self.refuses(&order).is_some() {
            return;
        }
        if self.phase == Phase::Running {
            let (fate, ask) = match order {
                Order::Hold(why) => (Fate::Failed(why), Ask::Hold),
                Order::Remove(reason) => {
                    (Fate::RemoveEvicted { reason, code: HoldCode::JobRemoved.number() }, Ask::Remove)
                }
                Order::Vacate { why, fast } => {
                    self.this_run.deaf |= fast;
                    (Fate::Vacate(why), Ask::Vacate)
                }
                Order::Release(_) => return,
            };
            self.this_run.fate = Some(fate);
            out.push(Action::WakeAt(None));
            return match ask {
                // A schedd that wants the slot back asks softly whatever the job says of its removal.
                Ask::Vacate => out.push(Action::Ask(ask)),
                _ => self.ask(ask, out),
            };
        }
        out.push(Action::WakeAt(None));
        if self.phase == Phase::Hook {
            // The slot was the job's as long as its hook ran. A pool's shadow hears of it when the hook has ended
            // (`RemoteResource::killStarter` before there is a starter).
            self.count_time(now);
        }
        match order {
            Order::Hold(why) => self.hold(now, why, out),
            Order::Remove(reason) => self.removed(now, &reason, out),
            Order::Release(reason) => self.release(now, reason, out),
            // No starter has seen it: there is nothing that it could be evicted from.
            Order::Vacate { .. } if self.phase == Phase::Hook => self.again(now, true, out),
            Order::Vacate { .. } => {}
        }
    }
}
