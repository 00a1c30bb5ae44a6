//! The steps of the ending that may fail for a moment only: tried again, so often, and then given up, which is told.
//!
//! Each step that is done stays done; what asks for an end meanwhile has the step tried at once (`Starter::allJobsDone`). 25.14 tries
//! the output again when its shadow is there again, four times at most (`JICShadow::transferOutputFinish`), the rest never.

use std::time::Duration;

use super::action::{StarterAction, StarterNotice};
use super::state::job_end::StepRetries;
use super::state::phase::{EndStep, StarterPhase};
use super::state_machine::Starter;
use htc_base::time::ClockReading;

impl EndStep {
    /// How often it is tried, and how long between two tries.
    fn retry_limits(self) -> (u32, Duration) {
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
    /// Returns true if a step that failed is tried again; if not, it is given up, and whoever asks goes on without it.
    pub(super) fn schedule_retry(
        &mut self,
        now: ClockReading,
        step: EndStep,
        reason: &str,
        out: &mut Vec<StarterAction>,
    ) -> bool {
        if self.job_end.retries.step != step {
            self.job_end.retries = StepRetries { step, failed: 0, hurried: false };
        }
        self.job_end.retries.failed += 1;
        let (most, pause) = step.retry_limits();
        let (name, failed) = (step.name(), self.job_end.retries.failed);
        if failed >= most || self.job_end.retries.hurried {
            if failed > 1 {
                let text = format!("{name} failed {failed} times and is given up");
                out.push(StarterAction::Report(StarterNotice::Warning(text)));
            }
            return false;
        }
        if failed == 1 {
            let text = format!("{name} failed and is tried again, {most} times in all: {reason}");
            out.push(StarterAction::Report(StarterNotice::Warning(text)));
        }
        self.phase = StarterPhase::Retrying { step, until: now.monotonic().plus(pause) };
        true
    }

    /// Somebody asks for the end while a step waits: it is tried at once, as every event from outside has 25.14 go through the
    /// steps once more; if it is in a hurry for the last time.
    pub(super) fn retry_on_request(
        &mut self,
        now: ClockReading,
        step: EndStep,
        out: &mut Vec<StarterAction>,
    ) {
        self.job_end.retries.hurried = self.shutdown_requests.is_fast();
        self.retry_step(now, step, out);
    }

    /// The time of a step that failed has come.
    pub(super) fn retry_step(&mut self, now: ClockReading, step: EndStep, out: &mut Vec<StarterAction>) {
        match step {
            EndStep::ExitHook => {
                if let Some(call) = self.call_exit_hook(now, out) {
                    self.wait_for_exit_hook(now, call);
                }
            }
            EndStep::Output(way) => self.start_transfer(way, out),
            EndStep::Removal => {
                self.phase = StarterPhase::Removing;
                out.push(StarterAction::RemoveScratch);
            }
        }
    }
}
