//! Files that a starter writes for its caller: update ad and result ad, the job's log, the visa.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};

use super::run_state::RunState;
use htc_base::time::ClockReading;
use htc_os::directory_tree::remove_tree;
use htc_os::files;
use htc_os::identity::run_as;
use htc_starter::{StarterEvent, container};

/// Name of the file with the newest update of a job, which the slot runner reads.
pub const UPDATE_FILE: &str = "update.ad";

impl RunState<'_> {
    pub(super) fn open_log(&mut self) {
        let Some(mut log) = self.context.log.take() else { return };
        match log.open(self.context.sandbox.owner.as_ref()) {
            Ok(()) => self.context.log = Some(log),
            Err(error) => self.warn(format!(
                "the job's log '{}' cannot be opened: {error}; the job runs without a log",
                log.path().display()
            )),
        }
    }

    pub(super) fn write_visa(&mut self) {
        let Some(visa) = &self.context.visa else { return };
        let written =
            run_as(self.context.sandbox.owner.as_ref(), || visa.write(&self.context.iwd, self.now()));
        if let Err(error) = written.flatten() {
            let directory = self.context.iwd.display().to_string();
            self.warn(format!("the visa that the job requests cannot be written to '{directory}': {error}"));
        }
    }

    pub(super) fn write_file(&mut self, file: &htc_starter::ScratchFile) {
        if let Err(failure) = self.context.sandbox.write(file) {
            self.events.push_back(StarterEvent::WriteFailed {
                path: failure.path,
                reason: failure.error.to_string(),
            });
        }
    }

    pub(super) fn write_update(&mut self, bytes: &[u8]) {
        if let Some(private) = self.context.private_directory.as_ref().filter(|_| !bytes.is_empty()) {
            // If writing fails, the slot runner, which reads this file, will read the next update.
            drop(files::replace_file(&private.join(UPDATE_FILE), bytes, 0o600, None));
        }
        let Some(path) = self.context.update_ad.clone() else { return };
        // The first file, which is empty, is written by the job's account.
        let writer = match (bytes.is_empty(), &self.context.ad_writer) {
            (true, Some(_)) => self.context.identity.as_ref(),
            (_, writer) => writer.as_ref(),
        };
        let written = run_as(writer, || files::replace_file(&path, bytes, 0o644, None));
        if let Err(error) = written.flatten() {
            self.warn(format!("cannot write the update ad to '{}': {error}", path.display()));
        }
    }

    pub(super) fn write_result(&mut self, bytes: Vec<u8>) {
        if let Some(path) = self.context.output_ad.clone() {
            let append = || {
                fs::OpenOptions::new()
                    .append(true)
                    .create(true)
                    .mode(0o644)
                    .open(&path)
                    .and_then(|mut file| file.write_all(&bytes))
            };
            let written = run_as(self.context.ad_writer.as_ref(), append);
            if let Err(error) = written.flatten() {
                self.ending.unwritten_reason =
                    Some(format!("cannot write the result ad to '{}': {error}", path.display()));
            }
        }
        self.ending.result.extend_from_slice(&bytes);
    }

    /// Writes the recovery file with the container's name next to the scratch directory (`WriteRecoveryFile`). It is
    /// used to clean up after a starter that was killed.
    pub(super) fn write_recovery_file(&mut self, container: &bstr::BString) {
        self.write_state_record(&htc_starter::LeftoverRecord::Container { name: container.to_string() });
        self.job.container = Some(container.clone());
        let mut ad = htc_classad::ClassAd::new();
        ad.set("DockerContainerName", container.clone());
        let path = self.context.sandbox.recovery_file_path();
        let text = htc_classad::format::long::print(&ad);
        let written =
            run_as(self.context.sandbox.condor.as_ref(), || files::replace_file(&path, &text, 0o600, None));
        if let Err(error) = written.flatten() {
            self.warn(format!("cannot write '{}': {error}", path.display()));
        }
    }

    /// Writes the docker configuration for calls that log in to a registry, or removes it if `config` is `None`.
    pub(super) fn write_docker_config(&mut self, config: Option<&[u8]>) {
        let directory = container::docker_config_directory(&self.context.sandbox.top);
        let condor = self.context.sandbox.condor.clone();
        match config {
            Some(bytes) => {
                let lay = || {
                    fs::DirBuilder::new().mode(0o700).create(&directory)?;
                    files::replace_file(&directory.join("config.json"), bytes, 0o600, None)
                };
                let result = run_as(condor.as_ref(), lay).flatten();
                let error_text = result.err().map(|error| format!("'{}': {error}", directory.display()));
                self.events.push_back(StarterEvent::DockerConfig(error_text));
            }
            None => {
                for left in remove_tree(&directory) {
                    let text = format!("cannot remove '{}': {}", left.path.display(), left.error);
                    self.warn(text);
                }
            }
        }
    }

    pub(super) fn log(&mut self, now: ClockReading, event: &htc_starter::JobLogEvent) {
        let Some(log) = &mut self.context.log else { return };
        let written = log.write(now, event, self.world);
        let complaint = log.take_complaint();
        if let Err(error) = written {
            let path = log.path().display().to_string();
            self.context.log = None;
            self.warn(format!("the job's log '{path}' cannot be written: {error}"));
        }
        complaint.into_iter().for_each(|complaint| self.warn(complaint));
    }
}
