//! Files that come before the job and go after it, where the starter has a shadow.
//!
//! Reference: `JICShadow::beginInputTransfer`, `transferOutput`, `uploadCheckpointFiles`; `Starter::SkipJobs`.

use bstr::BString;

use super::action::{Action, Notice};
use super::ending;
use super::failure::StartFailure;
use super::kept::moved::Back;
use super::kept::phase::{EndStep, Phase};
use super::machine::Starter;
use htc_base::job::HoldCode;
use htc_base::process::Exit;
use htc_base::time::Now;
use htc_classad::ClassAd;
use htc_classad::format::long;
use htc_hook::HookType;
use htc_hook::transfer::{Side, Transferred, Way, When};

impl Starter<'_> {
    /// With a shadow the first hook and the input; without one nothing.
    pub(super) fn set_up(&mut self, now: Now, out: &mut Vec<Action>) {
        match self.setup.hooks.before.clone().filter(|_| self.setup.moves.is_some()) {
            Some(path) => {
                let arguments = self.setup.hooks.prepare_arguments.clone();
                let ad = self.ad.clone();
                let hook = HookType::PrepareJobBeforeTransfer;
                let call = self.call(now, (hook, path, arguments), &ad, out);
                self.wait_for_prepare(now, call, hook);
            }
            _ => self.bring_input(now, out),
        }
    }

    /// The input, if there is any to come.
    pub(super) fn bring_input(&mut self, now: Now, out: &mut Vec<Action>) {
        if self.setup.moves.as_ref().is_none_or(|moves| moves.files.is_none()) {
            return self.input_is_there(now, out);
        }
        self.start_moving(Way::Input, out);
    }

    pub(super) fn start_moving(&mut self, way: Way, out: &mut Vec<Action>) {
        self.phase = Phase::Moving(way);
        out.push(Action::Transfer(way));
    }

    fn input_is_there(&mut self, now: Now, out: &mut Vec<Action>) {
        self.list_files("in", out);
        self.prepare(now, out);
    }

    /// What is in the scratch directory, into the manifest, if one is wanted.
    fn list_files(&self, name: &'static str, out: &mut Vec<Action>) {
        if let Some(directory) = self.setup.moves.as_ref().and_then(|moves| moves.manifest.clone()) {
            out.push(Action::Manifest { directory, name, content: None });
        }
    }

    /// The manifest tells the job's environment.
    pub(super) fn list_environment(&self, environment: &[BString], out: &mut Vec<Action>) {
        if let Some(directory) = self.setup.moves.as_ref().and_then(|moves| moves.manifest.clone()) {
            let content = htc_base::text::arguments::join_v2_raw(environment);
            out.push(Action::Manifest { directory, name: "environment", content: Some(content.into()) });
        }
    }

    /// A transfer is over.
    pub(super) fn transferred(&mut self, now: Now, done: &Transferred, out: &mut Vec<Action>) {
        if self.phase != Phase::Moving(done.way) {
            return;
        }
        for warning in &done.warnings {
            out.push(Action::Tell(Notice::Warning(warning.clone())));
        }
        match done.way {
            Way::Input => self.input_transferred(now, done, out),
            Way::Checkpoint(_) => self.checkpoint_transferred(now, done, out),
            Way::Output | Way::Failure | Way::Evicted => self.output_transferred(now, done, out),
        }
    }

    fn failure_of(&self, done: &Transferred) -> Option<StartFailure> {
        let failure = done.failure.as_ref()?;
        let ip = self.setup.moves.as_ref().map_or("", |moves| &moves.ip);
        // What is tried again is no reason to hold.
        let subcode = match failure.again && failure.subcode > -1000 {
            true => -1000,
            false => failure.subcode,
        };
        Some(StartFailure::new(failure.told(done.way, ip), failure.code, subcode))
    }

    fn input_transferred(&mut self, now: Now, done: &Transferred, out: &mut Vec<Action>) {
        let Some(failure) = self.failure_of(done) else {
            if self.asked.any() {
                return self.end_unstarted(now, out);
            }
            return self.input_is_there(now, out);
        };
        self.moved.back = Back::FailureFiles;
        // JOB_EXIT is not called when the set-up itself fails.
        self.closing.exit_hook_over = true;
        self.asked.end_fast();
        out.push(Action::Tell(Notice::NotStarted { reason: failure.reason() }));
        self.moved.input_failure = Some(failure);
        self.all_jobs_done(now, out);
    }

    /// Reports an input that could not be transferred, with the last that a shadow hears of the scratch directory
    /// (`transferOutputMopUp`).
    pub(super) fn report_failed_input(&mut self, out: &mut Vec<Action>) {
        let Some(failure) = self.moved.input_failure.take() else { return };
        let mut update = ClassAd::new();
        self.publish_disk(&mut update);
        out.push(Action::WriteUpdateAd(long::print(&update)));
        self.report(failure, out);
    }

    /// A job that ended as one with checkpoints does when it has written one: it goes on from there.
    pub(super) fn upload_checkpoint(&mut self, out: &mut Vec<Action>) {
        self.start_moving(Way::Checkpoint(self.moved.checkpoints), out);
    }

    /// Whether checkpoints can be uploaded at all.
    pub(super) fn has_checkpoints(&self) -> bool {
        self.setup.moves.as_ref().is_some_and(|moves| moves.files.is_some())
    }

    /// Where files are not transferred a checkpoint is not either, and the job goes on all the same: the reference takes it for a
    /// failure that passes (`JICShadow::uploadCheckpointFiles`, `VanillaProc::restartCheckpointedJob`).
    pub(super) fn go_on_unsaved(&mut self, now: Now, out: &mut Vec<Action>) {
        if !self.moved.is_restarted() {
            let text = "the job goes on from its checkpoint, which nobody keeps for another run: files are not transferred \
                        (ShouldTransferFiles)";
            out.push(Action::Tell(Notice::Warning(text.to_owned())));
        }
        self.moved.checkpoints += 1;
        self.start_job(now, out);
    }

    fn checkpoint_transferred(&mut self, now: Now, done: &Transferred, out: &mut Vec<Action>) {
        match &done.failure {
            None if self.asked.any() => self.all_jobs_done(now, out),
            None => {
                self.moved.checkpoints += 1;
                self.start_job(now, out);
            }
            Some(failure) => {
                let reason = format!("the checkpoint could not be uploaded: {}", failure.text);
                out.push(Action::Tell(Notice::Warning(reason)));
                self.moved.back = Back::Nothing;
                let text = "Starter failed to upload checkpoint";
                self.asked.end_fast();
                self.report(StartFailure::new(text, HoldCode::FailedToCheckpoint.number(), -1), out);
                self.all_jobs_done(now, out);
            }
        }
    }

    /// Notes how the job ended: not every end brings its output back.
    pub(super) fn note_exit(&mut self, exit: Exit) {
        self.moved.exit = Some(exit);
    }

    /// Begins to bring back what the job made; whether there is something to be waited for.
    pub(super) fn moves_back(&mut self, now: Now, out: &mut Vec<Action>) -> bool {
        let Some(moves) = self.setup.moves.as_ref() else { return false };
        let Some(when) = moves.files else { return false };
        let back = std::mem::replace(&mut self.moved.back, Back::Nothing);
        let evicted = self.run.evicted || self.asked.any();
        let way = match back {
            Back::Nothing => None,
            Back::FailureFiles => moves.failure_files.then_some(Way::Failure),
            Back::AsItEnded if self.moved.exit.is_none() => None,
            Back::AsItEnded if when == When::Never => None,
            Back::AsItEnded if evicted => (when == When::OnExitOrEvict).then_some(Way::Evicted),
            Back::AsItEnded if self.breaks_promise(now) => Some(Way::Failure),
            Back::AsItEnded => Some(Way::Output),
        };
        let Some(way) = way else { return false };
        self.list_files("out", out);
        self.start_moving(way, out);
        true
    }

    /// Whether the ad promises an end, and this is another.
    fn breaks_promise(&self, now: Now) -> bool {
        let promised = ending::promised_status(&self.ad, "", &self.frozen(now));
        let is = self.moved.exit.map(|exit| i64::from(exit.to_raw()));
        promised.is_some() && promised != is
    }

    fn output_transferred(&mut self, now: Now, done: &Transferred, out: &mut Vec<Action>) {
        let passing = done.failure.as_ref().filter(|failure| failure.at == Side::Sender && failure.again);
        if let Some(failure) = passing {
            let reason = failure.text.to_string();
            if self.tries_again(now, EndStep::Output(done.way), &reason, out) {
                return;
            }
        }
        // One thing only can be told: why it could not be set up, or did not end as promised.
        match (self.failure_of(done), done.way) {
            (Some(failure), Way::Output) => self.report(failure, out),
            // Standard output and error of a job that was not started are not there, as in the reference, which tries.
            (Some(_), Way::Failure) if self.moved.exit.is_none() && !self.names_failure_files() => {}
            (Some(failure), _) => {
                let text = failure.text;
                out.push(Action::Tell(Notice::Warning(format!(
                    "what the job left could not be kept: {text}"
                ))));
            }
            (None, _) => {}
        }
        self.clean_up(now, out);
    }

    fn names_failure_files(&self) -> bool {
        self.setup.moves.as_ref().is_some_and(|moves| moves.names_failure_files)
    }

    /// Somebody wants the job to end while files are moved: input is given up at once, output only in a hurry.
    pub(super) fn asked_while_moving(&mut self, now: Now, way: Way, out: &mut Vec<Action>) {
        if !way.is_input() && !self.asked.is_fast() {
            return;
        }
        out.push(Action::AbortTransfer);
        match way {
            Way::Input => self.end_unstarted(now, out),
            Way::Checkpoint(_) => self.all_jobs_done(now, out),
            Way::Output | Way::Failure | Way::Evicted => self.clean_up(now, out),
        }
    }
}
