//! State machine steps of a Java job: the virtual machine as its command, and the interpretation of the exit.

use super::action::{StarterAction, StarterNotice};
use super::java::{JavaEnd, JavaRecords, classify_exit, java_command, set_command_in_ad};
use super::start_failure::StartFailure;
use super::state_machine::Starter;
use htc_base::process::Exit;
use htc_base::quirks::Quirk;
use htc_base::time::ClockReading;

impl Starter<'_> {
    /// Makes the virtual machine the job's command. A job that restarts from a checkpoint already has this command.
    pub(super) fn set_java_command(&mut self, now: ClockReading) -> Result<(), StartFailure> {
        let Some(job) = self.setup.job.as_ref().ok().filter(|_| !self.job_run.java.command_set) else {
            return Ok(());
        };
        let world = self.world_at(now);
        let line = java_command(&self.environment_inputs(job, &world, &self.temporary_directory, &[]))?;
        set_command_in_ad(&mut self.ad, &line);
        self.job_run.java.command_set = true;
        Ok(())
    }

    /// Returns the exit of the job, which may differ from the exit of its virtual machine.
    pub(super) fn judge_java_exit(
        &mut self,
        exit: Exit,
        records: &JavaRecords,
        out: &mut Vec<StarterAction>,
    ) -> Exit {
        let (end, thrown) = classify_exit(exit, records);
        self.job_run.java.thrown = thrown;
        let JavaEnd::SystemError(why) = end else { return end.job_exit(exit) };
        self.job_run.java.machine_failed = true;
        // If someone requested the end of the job, the reason for its end is already known.
        if !self.shutdown_requests.has_any() {
            let text = format!("the job is put back into the queue as if it had been evicted: {why}");
            out.push(StarterAction::Report(StarterNotice::Warning(text)));
        }
        let instead = "the exit of the virtual machine is reported unchanged";
        match exit != end.job_exit(exit)
            && self.decide_quirk_and_report(Quirk::JavaSystemErrorAsZero, instead, out)
        {
            true => end.job_exit(exit),
            false => exit,
        }
    }
}
