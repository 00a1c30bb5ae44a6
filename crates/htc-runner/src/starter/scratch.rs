//! Creation and removal of the scratch directory and of the job's credentials in it.

use std::io;

use super::control::ControlCommand;
use super::credentials::unavailable_hold;
use super::run_state::RunState;
use htc_base::time::MonotonicTime;
use htc_os::clock;
use htc_starter::logical_volume::LogicalVolume;
use htc_starter::{LeftoverRecord, ScratchFile, StarterEvent};

impl RunState<'_> {
    pub(super) fn make_scratch(&mut self, all: &[ScratchFile]) {
        let ad = all.iter().find(|file| file.name == ".job.ad").map_or(&[][..], |file| &file.bytes);
        self.begin_state(ad);
        let volume = self.context.sandbox.volume.as_ref().and_then(|volume| volume.logical.clone());
        let is_encrypted = volume.as_ref().is_some_and(|volume| volume.encrypted);
        if let Some(LogicalVolume { group, name, .. }) = volume {
            self.write_state_record(&LeftoverRecord::Volume {
                group: group.to_string(),
                name: name.to_string(),
            });
        }
        let event = match self.context.sandbox.make() {
            Ok(no_volume) => {
                let encrypted = is_encrypted && no_volume.is_none();
                if let Some(why) = no_volume {
                    self.warn(format!(
                        "the size of the scratch directory is only monitored, because it is not a separate file system: {why}"
                    ));
                }
                all.iter().for_each(|file| self.write_file(file));
                match self.write_credentials() {
                    Ok(()) => StarterEvent::ScratchMade { encrypted },
                    Err(error) => StarterEvent::ScratchFailed {
                        no_execute: false,
                        reason: format!("cannot write the job's tokens to its scratch directory: {error}"),
                    },
                }
            }
            Err(failure) => StarterEvent::ScratchFailed {
                no_execute: self.context.sandbox.top.parent().is_some_and(|execute| !execute.exists()),
                reason: format!(
                    "cannot create the scratch directory '{}': {}",
                    failure.path.display(),
                    failure.error
                ),
            },
        };
        // The file for updates exists from the start; it is empty until the first update.
        if matches!(event, StarterEvent::ScratchMade { .. }) {
            self.write_update(b"");
        }
        self.events.push_back(event);
    }

    fn write_credentials(&mut self) -> io::Result<()> {
        let identity = self.context.identity.clone();
        match &mut self.context.credentials {
            Some(credentials) => credentials.write_files(identity.as_ref(), clock::monotonic_now()),
            None => Ok(()),
        }
    }

    /// Refreshes the credentials if a refresh is due.
    pub(super) fn refresh_credentials(&mut self, now: MonotonicTime) {
        let identity = self.context.identity.clone();
        let Some(credentials) = &mut self.context.credentials else { return };
        if credentials.next_refresh().is_none_or(|due| due > now) {
            return;
        }
        let Err(lack) = credentials.refresh(identity.as_ref(), now) else { return };
        self.warn(format!(
            "the job's credentials cannot be refreshed (SEC_CREDENTIAL_REFRESH): {}",
            lack.why
        ));
        // A job that is ending, or has ended, cannot be held any more.
        if lack.holds_job && self.inputs.observer.is_some() {
            drop(self.carry_out_order(ControlCommand::Vacate(Some(unavailable_hold()), true)));
        }
    }

    /// Removes the scratch directory and the files next to it.
    pub(super) fn remove_scratch(&mut self) {
        self.close_scratch();
        self.remove_credentials();
        self.write_docker_config(None);
        let remains = self.context.sandbox.remove();
        self.events.push_back(StarterEvent::ScratchRemoved { remains });
    }

    fn remove_credentials(&mut self) {
        let identity = self.context.identity.clone();
        let Some(credentials) = &mut self.context.credentials else { return };
        for left in credentials.remove_files(identity.as_ref()) {
            self.warn(format!("the job's credentials cannot be removed: {left}"));
        }
    }
}
