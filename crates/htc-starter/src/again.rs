//! The steps of the ending that may fail for a moment only: tried again, so often, and then given up, which is told.
//!
//! Each step that is done stays done; what asks for an end meanwhile has the step tried at once (`Starter::allJobsDone`). 25.14 tries
//! the output again when its shadow is there again, four times at most (`JICShadow::transferOutputFinish`), the rest never.

use std::time::Duration;

use super::action::{Action, Notice};
use super::kept::closing::Tries;
use super::kept::phase::{EndStep, Phase};
use super::machine::Starter;
use htc_base::time::Now;

impl EndStep {
    /// How often it is tried, and how long between two tries.
    fn patience(self) -> (u32, Duration) {
        match self {
            EndStep::ExitHook | EndStep::Output(_) => (5, Duration::from_secs(1)),
            // What cannot be removed mostly never can; a process that dies just now may still have written there.
            EndStep::Removal => (3, Duration::from_millis(250)),
        }
    }

    fn name(self) -> &'static str {
        match self {
            EndStep::ExitHook => "JOB_EXIT",
            EndStep::Output(_) => "the transfer of output",
            EndStep::Removal => "the removal of the scratch directory",
        }
    }
}

impl Starter<'_> {
    /// Whether a step that failed is tried again; if not, it is given up, and whoever asks goes on without it.
    pub(super) fn tries_again(
        &mut self,
        now: Now,
        step: EndStep,
        reason: &str,
        out: &mut Vec<Action>,
    ) -> bool {
        if self.closing.tries.step != step {
            self.closing.tries = Tries { step, failed: 0, hurried: false };
        }
        self.closing.tries.failed += 1;
        let (most, pause) = step.patience();
        let (name, failed) = (step.name(), self.closing.tries.failed);
        if failed >= most || self.closing.tries.hurried {
            if failed > 1 {
                let text = format!("{name} failed {failed} times and is given up");
                out.push(Action::Tell(Notice::Warning(text)));
            }
            return false;
        }
        if failed == 1 {
            let text = format!("{name} failed and is tried again, {most} times in all: {reason}");
            out.push(Action::Tell(Notice::Warning(text)));
        }
        self.phase = Phase::Again { step, until: now.tick().plus(pause) };
        true
    }

    /// Somebody asks for the end while a step waits: it is tried at once, as every event from outside has 25.14 go through the
    /// steps once more; if it is in a hurry for the last time.
    pub(super) fn step_asked_for(&mut self, now: Now, step: EndStep, out: &mut Vec<Action>) {
        self.closing.tries.hurried = self.asked.is_fast();
        self.step_again(now, step, out);
    }

    /// The time of a step that failed has come.
    pub(super) fn step_again(&mut self, now: Now, step: EndStep, out: &mut Vec<Action>) {
        match step {
            EndStep::ExitHook => {
                if let Some(call) = self.call_exit_hook(now, out) {
                    self.wait_for_exit_hook(now, call);
                }
            }
            EndStep::Output(way) => self.start_moving(way, out),
            EndStep::Removal => {
                self.phase = Phase::Removing;
                out.push(Action::RemoveScratch);
            }
        }
    }
}
