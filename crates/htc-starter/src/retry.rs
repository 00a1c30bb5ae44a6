//! Final steps that may fail temporarily. Each step is retried a limited number of times, then skipped with a message.
//!
//! A completed step is not repeated. A request to end the job retries the waiting step immediately
//! (`Starter::allJobsDone`). 25.14 retries the output transfer when its shadow reconnects, at most four times
//! (`JICShadow::transferOutputFinish`), and the other steps never.

use std::time::Duration;

use super::action::{StarterAction, StarterNotice};
use super::state::job_end::StepRetries;
use super::state::phase::{EndStep, StarterPhase};
use super::state_machine::Starter;
use htc_base::text::plural::counted;
use htc_base::time::ClockReading;

impl EndStep {
    /// Returns the maximum number of tries, and the pause between two tries.
    fn retry_limits(self) -> (u32, Duration) {
        match self {
            EndStep::ExitHook | EndStep::Output(_) => (5, Duration::from_secs(1)),
            // A removal that failed rarely succeeds later, unless a process that was just exiting still wrote files.
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
    /// Schedules another try of a failed step and returns true. Returns false if there are no more tries, so that the
    /// caller has to continue without the step.
    pub(super) fn schedule_retry(
        &mut self,
        now: ClockReading,
        step: EndStep,
        reason: &str,
        out: &mut Vec<StarterAction>,
    ) -> bool {
        let failed = self.count_failure(step);
        let (most, pause) = step.retry_limits();
        let name = step.name();
        if failed >= most || self.job_end.retries.hurried {
            if failed > 1 {
                let text = format!("{name} failed {} and is not tried again", counted(failed, "time"));
                out.push(StarterAction::Report(StarterNotice::Warning(text)));
            }
            return false;
        }
        if failed == 1 {
            let text = format!(
                "{name} failed and is tried again, at most {} in total: {reason}",
                counted(most, "time")
            );
            out.push(StarterAction::Report(StarterNotice::Warning(text)));
        }
        self.phase = StarterPhase::Retrying { step, until: now.monotonic().plus(pause) };
        true
    }

    /// Makes the shadow lose its connection and reconnect immediately, and repeats the failed step. Returns false if
    /// this has been done four times already or the end is urgent.
    pub(super) fn reconnect_and_retry(
        &mut self,
        now: ClockReading,
        step: EndStep,
        out: &mut Vec<StarterAction>,
    ) -> bool {
        let failed = self.count_failure(step);
        if failed >= step.retry_limits().0 || self.shutdown_requests.is_fast() {
            return false;
        }
        out.push(StarterAction::ReconnectShadow);
        self.retry_step(now, step, out);
        true
    }

    /// Counts a failure of a step and returns the number of its consecutive failures.
    fn count_failure(&mut self, step: EndStep) -> u32 {
        if self.job_end.retries.step != step {
            self.job_end.retries = StepRetries { step, failed: 0, hurried: false };
        }
        self.job_end.retries.failed += 1;
        self.job_end.retries.failed
    }

    /// Retries a waiting step immediately because the end was requested: in 25.14 every event from outside repeats the
    /// steps. After a request for an immediate end, this is the last try.
    pub(super) fn retry_on_request(
        &mut self,
        now: ClockReading,
        step: EndStep,
        out: &mut Vec<StarterAction>,
    ) {
        self.job_end.retries.hurried = self.shutdown_requests.is_fast();
        self.retry_step(now, step, out);
    }

    /// Retries a failed step.
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
