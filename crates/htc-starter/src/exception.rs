//! Exceptions that end the starter in 25.14, and their consequences (`EXCEPT`, `Starter::ExceptHandler`).
//!
//! 25.14 writes the message to the job's log, kills the job, calls JOB_EXIT if it has no job, and exits with
//! [`EXCEPTION_STATUS`] without waiting for anything. If there is no JOB_EXIT hook, 25.14 exits as after a success.

use bstr::BString;

use super::action::{JobProcess, StarterAction};
use super::process;
use super::settings::ParameterReadPoint;
use super::start_failure::StartFailure;
use super::state_machine::Starter;
use htc_base::job::attr;
use htc_base::quirks::Quirk;
use htc_base::time::ClockReading;
use htc_classad::Context;

/// Exit status of the starter after an exception (`STARTER_EXIT_EXCEPTION`).
pub const EXCEPTION_STATUS: u8 = 4;

/// Error number that `Create_Process` reports for a child that ended before it executed its program.
const CHILD_FAILED_ERRNO: i32 = 666_669;

impl Starter<'_> {
    /// Returns the message of the exception that ends 25.14 at this point, or `None` if 25.14 continues.
    pub(super) fn find_fault(&self, read_point: ParameterReadPoint) -> Option<BString> {
        // PREPARE_JOB may have changed Iwd to a number (`build_job_env`).
        let no_iwd = || Context::new(self.setup.world).my(&self.ad).string(attr::IWD).is_none();
        if read_point == ParameterReadPoint::Environment
            && self.has_quirk(Quirk::StarterExceptions)
            && self.setup.job.is_ok()
            && no_iwd()
        {
            return Some("Assertion ERROR on (0)".into());
        }
        self.setup
            .settings
            .faults
            .iter()
            .find(|fault| fault.read_point == read_point)
            .map(|fault| fault.text.clone())
    }

    /// Ends the starter if a parameter causes an exception at this point. Returns true if the starter was ended.
    pub(super) fn end_if_faulty(
        &mut self,
        now: ClockReading,
        read_point: ParameterReadPoint,
        out: &mut Vec<StarterAction>,
    ) -> bool {
        let Some(text) = self.find_fault(read_point) else { return false };
        self.report_not_started(now, StartFailure::exception(text), out);
        true
    }

    /// Returns the failures that prevent the exec after the files are open and event 001 is written: an exception of
    /// the starter, or an exception of its child, which the starter reports together with an unknown error number.
    pub(super) fn faults_before_exec(&self, process: &JobProcess) -> Vec<StartFailure> {
        if let Some(text) = self.find_fault(ParameterReadPoint::Launch) {
            return vec![StartFailure::exception(text).after_event()];
        }
        let Some(text) = self.find_fault(ParameterReadPoint::Child) else { return Vec::new() };
        let strange = format!("Unknown error {CHILD_FAILED_ERRNO}");
        vec![
            StartFailure::new(text, 0, 0).after_event(),
            process::execute_failure(process, "", CHILD_FAILED_ERRNO, &strange),
        ]
    }

    /// Kills a running job if a parameter causes an exception at this point. The exit of the job is not reported.
    pub(super) fn kill_job_if_faulty(
        &mut self,
        read_point: ParameterReadPoint,
        out: &mut Vec<StarterAction>,
    ) -> bool {
        let of_group = self.job_run.group_fault.take().filter(|_| read_point == ParameterReadPoint::Updates);
        let Some(failure) = of_group.or_else(|| Some(StartFailure::new(self.find_fault(read_point)?, 0, 0)))
        else {
            return false;
        };
        self.kill_job_and_end(failure, out);
        true
    }

    /// Kills the job without reporting its exit, and ends the starter.
    pub(super) fn kill_job_and_end(&mut self, failure: StartFailure, out: &mut Vec<StarterAction>) {
        self.shutdown_requests.request_fast_end();
        self.report_start_failure(StartFailure { exception: false, ..failure }, out);
        out.push(StarterAction::KillFamily);
        self.job_end.status = EXCEPTION_STATUS;
        self.remove_scratch(out);
    }

    /// Ends the starter after a second exception, during the handling of the first. Nothing is cleaned up.
    pub(super) fn end_in_exception(&mut self, out: &mut Vec<StarterAction>) {
        self.job_end.status = EXCEPTION_STATUS;
        self.finish(out);
    }
}
