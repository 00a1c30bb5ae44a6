//! Where 25.14 ends by an exception, and how (`EXCEPT`, `Starter::ExceptHandler`).
//!
//! The text goes into the job's log, the job is killed, JOB_EXIT is called if there is no job, and the starter ends with
//! [`EXCEPTION`] without waiting for anything. Without JOB_EXIT nothing is left to do, and it ends as if all were well.

use bstr::BString;

use super::action::{Action, JobProcess};
use super::failure::StartFailure;
use super::machine::Starter;
use super::process;
use super::settings::Moment;
use htc_base::job::attr;
use htc_base::quirks::Quirk;
use htc_base::time::Now;
use htc_classad::Context;

/// `STARTER_EXIT_EXCEPTION`.
pub const EXCEPTION: u8 = 4;

/// What `Create_Process` gets as error number of a child that ended before its program was executed.
const CHILD_FAILED: i32 = 666_669;

impl Starter<'_> {
    /// Why 25.14 ends by an exception here, if it does.
    pub(super) fn fault(&self, moment: Moment) -> Option<BString> {
        // PREPARE_JOB may have made a number of it (`build_job_env`).
        let no_iwd = || Context::new(self.setup.world).my(&self.ad).string(attr::IWD).is_none();
        if moment == Moment::Environment
            && self.has(Quirk::StarterExceptions)
            && self.setup.job.is_ok()
            && no_iwd()
        {
            return Some("Assertion ERROR on (0)".into());
        }
        self.setup.settings.faults.iter().find(|fault| fault.moment == moment).map(|fault| fault.text.clone())
    }

    /// The exception that a knob makes here, if one does; true when it ended the starter.
    pub(super) fn faulted(&mut self, now: Now, moment: Moment, out: &mut Vec<Action>) -> bool {
        let Some(text) = self.fault(moment) else { return false };
        self.not_started(now, StartFailure::exception(text), out);
        true
    }

    /// What keeps the job from being executed when its files are open and event 001 is written: the exception of the
    /// starter, or that of the child, which the starter tells of and sees as a strange failure.
    pub(super) fn late_faults(&self, process: &JobProcess) -> Vec<StartFailure> {
        if let Some(text) = self.fault(Moment::Launch) {
            return vec![StartFailure::exception(text).after_event()];
        }
        let Some(text) = self.fault(Moment::Child) else { return Vec::new() };
        let strange = format!("Unknown error {CHILD_FAILED}");
        vec![
            StartFailure::new(text, 0, 0).after_event(),
            process::execute_failed(process, "", CHILD_FAILED, &strange),
        ]
    }

    /// The same when the job runs: it is killed, and nobody is told.
    pub(super) fn faulted_with_job(&mut self, moment: Moment, out: &mut Vec<Action>) -> bool {
        let of_group = self.run.group_fault.take().filter(|_| moment == Moment::Updates);
        let Some(failure) = of_group.or_else(|| Some(StartFailure::new(self.fault(moment)?, 0, 0))) else {
            return false;
        };
        self.end_with_job(failure, out);
        true
    }

    /// The job is killed, and nobody is told how it ended.
    pub(super) fn end_with_job(&mut self, failure: StartFailure, out: &mut Vec<Action>) {
        self.asked.end_fast();
        self.report(StartFailure { exception: false, ..failure }, out);
        out.push(Action::KillFamily);
        self.closing.status = EXCEPTION;
        self.remove_scratch(out);
    }

    /// An exception within the handling of one: the end, and everything stays where it is.
    pub(super) fn end_in_exception(&mut self, out: &mut Vec<Action>) {
        self.closing.status = EXCEPTION;
        self.finish(out);
    }
}
