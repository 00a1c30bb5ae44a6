//! Transfer of input before the job runs and of output after it has ended, if the starter has a shadow.
//!
//! Reference: `JICShadow::beginInputTransfer`, `transferOutput`, `uploadCheckpointFiles`;
//! `Starter::SkipJobs`.

use bstr::BString;

use super::action::{StarterAction, StarterNotice};
use super::job_exit;
use super::start_failure::StartFailure;
use super::state::phase::{EndStep, StarterPhase};
use super::state::transfer_progress::OutputPolicy;
use super::state_machine::Starter;
use htc_base::job::HoldCode;
use htc_base::process::Exit;
use htc_base::time::ClockReading;
use htc_classad::ClassAd;
use htc_classad::format::long;
use htc_hook::HookType;
use htc_hook::transfer::{FailureSide, TransferKind, TransferOutcome, TransferRetry, WhenToTransferOutput};

impl Starter<'_> {
    /// Calls PREPARE_JOB_BEFORE_TRANSFER if there is a shadow and the hook is configured. Then transfers the input.
    pub(super) fn prepare_transfer(&mut self, now: ClockReading, out: &mut Vec<StarterAction>) {
        match self.setup.hooks.prepare_before_transfer.clone().filter(|_| self.setup.transfer.is_some()) {
            Some(path) => {
                let arguments = self.setup.hooks.prepare_arguments.clone();
                let ad = self.ad.clone();
                let hook = HookType::PrepareJobBeforeTransfer;
                let call = self.call_hook(now, hook, path, arguments, &ad, out);
                self.wait_for_prepare_hook(now, call, hook);
            }
            _ => self.transfer_input(now, out),
        }
    }

    /// Transfers the input of the job, if its files are transferred.
    pub(super) fn transfer_input(&mut self, now: ClockReading, out: &mut Vec<StarterAction>) {
        if self.setup.transfer.as_ref().is_none_or(|transfer| transfer.when_to_transfer.is_none()) {
            return self.on_input_present(now, out);
        }
        self.start_transfer(TransferKind::Input, out);
    }

    pub(super) fn start_transfer(&mut self, way: TransferKind, out: &mut Vec<StarterAction>) {
        self.phase = StarterPhase::Transferring(way);
        out.push(StarterAction::Transfer(way));
    }

    fn on_input_present(&mut self, now: ClockReading, out: &mut Vec<StarterAction>) {
        self.write_file_manifest("in", out);
        self.call_prepare_hook(now, out);
    }

    /// Writes a list of the files in the scratch directory to the manifest, if the job asks for a manifest.
    fn write_file_manifest(&self, name: &'static str, out: &mut Vec<StarterAction>) {
        if let Some(directory) = self.setup.transfer.as_ref().and_then(|transfer| transfer.manifest.clone()) {
            out.push(StarterAction::Manifest { directory, name, content: None });
        }
    }

    /// Writes the job's environment to the manifest, if the job asks for a manifest.
    pub(super) fn write_environment_manifest(&self, environment: &[BString], out: &mut Vec<StarterAction>) {
        if let Some(directory) = self.setup.transfer.as_ref().and_then(|transfer| transfer.manifest.clone()) {
            let content = htc_base::text::arguments::join_v2_raw(environment);
            out.push(StarterAction::Manifest {
                directory,
                name: "environment",
                content: Some(content.into()),
            });
        }
    }

    /// Handles the end of a transfer.
    pub(super) fn on_transferred(
        &mut self,
        now: ClockReading,
        done: &TransferOutcome,
        out: &mut Vec<StarterAction>,
    ) {
        if self.phase != StarterPhase::Transferring(done.way) {
            return;
        }
        for warning in &done.warnings {
            out.push(StarterAction::Report(StarterNotice::Warning(warning.clone())));
        }
        match done.way {
            TransferKind::Input => self.on_input_transferred(now, done, out),
            TransferKind::Checkpoint(_) => self.on_checkpoint_transferred(now, done, out),
            TransferKind::Output | TransferKind::Failure | TransferKind::Evicted => {
                self.on_output_transferred(now, done, out)
            }
        }
    }

    fn transfer_start_failure(&self, done: &TransferOutcome) -> Option<StartFailure> {
        let failure = done.failure.as_ref()?;
        let ip = self.setup.transfer.as_ref().map_or("", |transfer| &transfer.ip);
        // With the subcode -1000 the shadow does not hold the job, because the transfer will be retried.
        let subcode = match failure.retry != TransferRetry::Never && failure.subcode > -1000 {
            true => -1000,
            false => failure.subcode,
        };
        Some(StartFailure::new(failure.event_message(done.way, ip), failure.code, subcode))
    }

    fn on_input_transferred(
        &mut self,
        now: ClockReading,
        done: &TransferOutcome,
        out: &mut Vec<StarterAction>,
    ) {
        let Some(failure) = self.transfer_start_failure(done) else {
            if self.shutdown_requests.has_any() {
                return self.end_before_start(now, out);
            }
            return self.on_input_present(now, out);
        };
        self.transfer_progress.output_policy = OutputPolicy::FailureFiles;
        // JOB_EXIT is not called if the input transfer fails.
        self.job_end.exit_hook_done = true;
        self.shutdown_requests.request_fast_end();
        out.push(StarterAction::Report(StarterNotice::NotStarted { reason: failure.reason() }));
        self.transfer_progress.input_failure = Some(failure);
        self.finish_all_jobs(now, out);
    }

    /// Reports an input transfer that failed, and sends the shadow a final update about the scratch directory
    /// (`transferOutputMopUp`).
    pub(super) fn report_failed_input(&mut self, out: &mut Vec<StarterAction>) {
        let Some(failure) = self.transfer_progress.input_failure.take() else { return };
        let mut update = ClassAd::new();
        self.publish_disk_usage(&mut update);
        out.push(StarterAction::WriteUpdateAd(long::print(&update)));
        self.report_start_failure(failure, out);
    }

    /// Uploads the checkpoint of a job that exited after writing the checkpoint. The job is then restarted.
    pub(super) fn upload_checkpoint(&mut self, out: &mut Vec<StarterAction>) {
        self.start_transfer(TransferKind::Checkpoint(self.transfer_progress.checkpoints), out);
    }

    /// Returns true if the starter can upload checkpoints: it has a shadow and files are transferred.
    pub(super) fn can_upload_checkpoints(&self) -> bool {
        self.setup.transfer.as_ref().is_some_and(|transfer| transfer.when_to_transfer.is_some())
    }

    /// Restarts the job without uploading its checkpoint, because files are not transferred. The reference
    /// treats this as a temporary failure (`JICShadow::uploadCheckpointFiles`,
    /// `VanillaProc::restartCheckpointedJob`).
    pub(super) fn continue_without_checkpoint(&mut self, now: ClockReading, out: &mut Vec<StarterAction>) {
        if !self.transfer_progress.is_restarted() {
            let text = "the job continues from its checkpoint, which is not kept for another run: files are not transferred \
                        (ShouldTransferFiles)";
            out.push(StarterAction::Report(StarterNotice::Warning(text.to_owned())));
        }
        self.transfer_progress.checkpoints += 1;
        self.start_job(now, out);
    }

    fn on_checkpoint_transferred(
        &mut self,
        now: ClockReading,
        done: &TransferOutcome,
        out: &mut Vec<StarterAction>,
    ) {
        match &done.failure {
            None if self.shutdown_requests.has_any() => self.finish_all_jobs(now, out),
            None => {
                self.transfer_progress.checkpoints += 1;
                self.start_job(now, out);
            }
            Some(failure) => {
                let reason = format!("the checkpoint could not be uploaded: {}", failure.text);
                out.push(StarterAction::Report(StarterNotice::Warning(reason)));
                self.transfer_progress.output_policy = OutputPolicy::Nothing;
                let text = "Starter failed to upload checkpoint";
                self.shutdown_requests.request_fast_end();
                self.report_start_failure(
                    StartFailure::new(text, HoldCode::FailedToCheckpoint.number(), -1),
                    out,
                );
                self.finish_all_jobs(now, out);
            }
        }
    }

    /// Records the exit of the job, which determines which output is transferred.
    pub(super) fn record_exit(&mut self, exit: Exit) {
        self.transfer_progress.exit = Some(exit);
    }

    /// Starts the transfer of the output. Returns true if the caller has to wait for the end of the transfer.
    pub(super) fn start_output_transfer(&mut self, now: ClockReading, out: &mut Vec<StarterAction>) -> bool {
        let Some(transfer) = self.setup.transfer.as_ref() else { return false };
        let Some(when) = transfer.when_to_transfer else { return false };
        let policy = std::mem::replace(&mut self.transfer_progress.output_policy, OutputPolicy::Nothing);
        let evicted = self.job_run.evicted || self.shutdown_requests.has_any();
        let way = match policy {
            OutputPolicy::Nothing => None,
            OutputPolicy::FailureFiles => transfer.failure_files.then_some(TransferKind::Failure),
            OutputPolicy::ByJobEnd if self.transfer_progress.exit.is_none() => None,
            OutputPolicy::ByJobEnd if when == WhenToTransferOutput::Never => None,
            OutputPolicy::ByJobEnd if evicted => {
                (when == WhenToTransferOutput::OnExitOrEvict).then_some(TransferKind::Evicted)
            }
            OutputPolicy::ByJobEnd if self.exit_differs_from_promised(now) => Some(TransferKind::Failure),
            OutputPolicy::ByJobEnd => Some(TransferKind::Output),
        };
        let Some(way) = way else { return false };
        self.write_file_manifest("out", out);
        self.start_transfer(way, out);
        true
    }

    /// Returns true if the ad promises an exit status and the job's exit is different.
    fn exit_differs_from_promised(&self, now: ClockReading) -> bool {
        let promised = job_exit::promised_status(&self.ad, "", &self.world_at(now));
        let raw_status = self.transfer_progress.exit.map(|exit| i64::from(exit.to_raw()));
        promised.is_some() && promised != raw_status
    }

    fn on_output_transferred(
        &mut self,
        now: ClockReading,
        done: &TransferOutcome,
        out: &mut Vec<StarterAction>,
    ) {
        if let Some(failure) = &done.failure {
            let step = EndStep::Output(done.way);
            let is_retried = match (failure.retry, failure.side) {
                (TransferRetry::Reconnect, _) => self.reconnect_and_retry(now, step, out),
                (TransferRetry::Requeue, FailureSide::Sender) => {
                    self.schedule_retry(now, step, &failure.text.to_string(), out)
                }
                (TransferRetry::Requeue | TransferRetry::Never, _) => false,
            };
            if is_retried {
                return;
            }
        }
        // Only one failure can be reported. A failure of the setup or of the job takes precedence over a failure of the
        // output transfer.
        match (self.transfer_start_failure(done), done.way) {
            (Some(failure), TransferKind::Output) => self.report_start_failure(failure, out),
            // A job that was not started has no standard output and error, but the reference tries to transfer them as
            // well.
            (Some(_), TransferKind::Failure)
                if self.transfer_progress.exit.is_none() && !self.has_failure_files() => {}
            (Some(failure), _) => {
                let text = failure.text;
                out.push(StarterAction::Report(StarterNotice::Warning(format!(
                    "the job's output could not be transferred: {text}"
                ))));
            }
            (None, _) => {}
        }
        self.clean_up(now, out);
    }

    fn has_failure_files(&self) -> bool {
        self.setup.transfer.as_ref().is_some_and(|transfer| transfer.names_failure_files)
    }

    /// Handles a request to end the job during a transfer. Aborts an input transfer immediately, and an output transfer
    /// only if an immediate end is requested.
    pub(super) fn on_request_during_transfer(
        &mut self,
        now: ClockReading,
        way: TransferKind,
        out: &mut Vec<StarterAction>,
    ) {
        if !way.is_input() && !self.shutdown_requests.is_fast() {
            return;
        }
        out.push(StarterAction::AbortTransfer);
        match way {
            TransferKind::Input => self.end_before_start(now, out),
            TransferKind::Checkpoint(_) => self.finish_all_jobs(now, out),
            TransferKind::Output | TransferKind::Failure | TransferKind::Evicted => self.clean_up(now, out),
        }
    }
}
