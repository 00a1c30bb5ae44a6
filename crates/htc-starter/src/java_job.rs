//! The machine around a java job: the virtual machine in the place of its command, and what its end means.

use super::action::{Action, Notice};
use super::failure::StartFailure;
use super::java::{JavaEnd, JavaRecords, classify, command, put_into};
use super::machine::Starter;
use htc_base::process::Exit;
use htc_base::quirks::Quirk;
use htc_base::time::Now;

impl Starter<'_> {
    /// The virtual machine becomes the job's command, once: a job that goes on from a checkpoint has it already.
    pub(super) fn put_java(&mut self, now: Now) -> Result<(), StartFailure> {
        let Some(job) = self.setup.job.as_ref().ok().filter(|_| !self.run.java.placed) else { return Ok(()) };
        let world = self.frozen(now);
        let line = command(&self.publication(job, &world, &self.temporary, &[]))?;
        put_into(&mut self.ad, &line);
        self.run.java.placed = true;
        Ok(())
    }

    /// How the job ended, which is not how its virtual machine did.
    pub(super) fn java_ended(&mut self, exit: Exit, records: &JavaRecords, out: &mut Vec<Action>) -> Exit {
        let (end, thrown) = classify(exit, records);
        self.run.java.thrown = thrown;
        let JavaEnd::SystemError(why) = end else { return end.exit(exit) };
        self.run.java.failed = true;
        // Whoever asked for the end knows why.
        if !self.asked.any() {
            let text = format!("the job goes back as if it had been evicted: {why}");
            out.push(Action::Tell(Notice::Warning(text)));
        }
        let instead = "the end of the virtual machine is reported as it was";
        match exit != end.exit(exit) && self.has_or_tells(Quirk::JavaSystemErrorAsZero, instead, out) {
            true => end.exit(exit),
            false => exit,
        }
    }
}
