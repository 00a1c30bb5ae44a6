//! Where 25.14 ends by an exception, and how (`EXCEPT`, `Starter::ExceptHandler`).
//!
//! The text goes into the job's log, the job is killed, JOB_EXIT is called if there is no job, and the starter ends with
//! [`EXCEPTION_STATUS`] without waiting for anything. Without JOB_EXIT nothing is left to do, and it ends as if all were well.

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

/// `STARTER_EXIT_EXCEPTION`.
pub const EXCEPTION_STATUS: u8 = 4;

/// What `Create_Process` gets as error number of a child that ended before its program was executed.
const CHILD_FAILED_ERRNO: i32 = 666_669;

impl Starter<'_> {
    /// Why 25.14 ends by an exception here, if it does.
    pub(super) fn find_fault(&self, moment: ParameterReadPoint) -> Option<BString> {
        // PREPARE_JOB may have made a number of it (`build_job_env`).
        let no_iwd = || Context::new(self.setup.world).my(&self.ad).string(attr::IWD).is_none();
        if moment == ParameterReadPoint::Environment
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
            .find(|fault| fault.read_point == moment)
            .map(|fault| fault.text.clone())
    }

    /// The exception that a knob makes here, if one does; true when it ended the starter.
    pub(super) fn end_if_faulty(
        &mut self,
        now: ClockReading,
        moment: ParameterReadPoint,
        out: &mut Vec<StarterAction>,
    ) -> bool {
        let Some(text) = self.find_fault(moment) else { return false };
        self.report_not_started(now, StartFailure::exception(text), out);
        true
    }

    /// What keeps the job from being executed when its files are open and event 001 is written: the exception of the
    /// starter, or that of the child, which the starter tells of and sees as a strange failure.
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

    /// The same when the job runs: it is killed, and nobody is told.
    pub(super) fn kill_job_if_faulty(
        &mut self,
        moment: ParameterReadPoint,
        out: &mut Vec<StarterAction>,
    ) -> bool {
        let of_group = self.job_run.group_fault.take().filter(|_| moment == ParameterReadPoint::Updates);
        let Some(failure) = of_group.or_else(|| Some(StartFailure::new(self.find_fault(moment)?, 0, 0)))
        else {
            return false;
        };
        self.kill_job_and_end(failure, out);
        true
    }

    /// The job is killed, and nobody is told how it ended.
    pub(super) fn kill_job_and_end(&mut self, failure: StartFailure, out: &mut Vec<StarterAction>) {
        self.shutdown_requests.request_fast_end();
        self.report_start_failure(StartFailure { exception: false, ..failure }, out);
        out.push(StarterAction::KillFamily);
        self.job_end.status = EXCEPTION_STATUS;
        self.remove_scratch(out);
    }

    /// An exception within the handling of one: the end, and everything stays where it is.
    pub(super) fn end_in_exception(&mut self, out: &mut Vec<StarterAction>) {
        self.job_end.status = EXCEPTION_STATUS;
        self.finish(out);
    }
}
