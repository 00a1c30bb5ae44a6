//! The scratch directory as the machine has it made and removed, with the credentials of the job in it.

use std::io;

use super::control::ControlCommand;
use super::credentials::not_available;
use super::live::Live;
use htc_base::time::Tick;
use htc_os::clock;
use htc_starter::logical_volume::LogicalVolume;
use htc_starter::{Event, File, Left};

impl Live<'_> {
    pub(super) fn make_scratch(&mut self, all: &[File]) {
        let ad = all.iter().find(|file| file.name == ".job.ad").map_or(&[][..], |file| &file.bytes);
        self.begin_state(ad);
        let volume = self.job.sandbox.volume.as_ref().and_then(|volume| volume.logical.clone());
        let is_encrypted = volume.as_ref().is_some_and(|volume| volume.encrypted);
        if let Some(LogicalVolume { group, name, .. }) = volume {
            self.note_left(&Left::Volume { group: group.to_string(), name: name.to_string() });
        }
        let event = match self.job.sandbox.make() {
            Ok(no_volume) => {
                let encrypted = is_encrypted && no_volume.is_none();
                if let Some(why) = no_volume {
                    self.warn(format!(
                        "the job's directory is watched, and not a file system of its own: {why}"
                    ));
                }
                all.iter().for_each(|file| self.write_file(file));
                match self.lay_credentials() {
                    Ok(()) => Event::ScratchMade { encrypted },
                    Err(error) => Event::ScratchFailed {
                        no_execute: false,
                        reason: format!("cannot lay the job's tokens into its scratch directory: {error}"),
                    },
                }
            }
            Err(failure) => Event::ScratchFailed {
                no_execute: self.job.sandbox.top.parent().is_some_and(|execute| !execute.exists()),
                reason: format!(
                    "cannot make the scratch directory '{}': {}",
                    failure.path.display(),
                    failure.error
                ),
            },
        };
        // The file of updates is there from the start, empty (s32 case 08).
        if matches!(event, Event::ScratchMade { .. }) {
            self.write_update(b"");
        }
        self.events.push_back(event);
    }

    fn lay_credentials(&mut self) -> io::Result<()> {
        let identity = self.job.identity.clone();
        match &mut self.job.credentials {
            Some(credentials) => credentials.lay(identity.as_ref(), clock::tick()),
            None => Ok(()),
        }
    }

    /// Brings them anew where it is time to.
    pub(super) fn refresh_credentials(&mut self, now: Tick) {
        let identity = self.job.identity.clone();
        let Some(credentials) = &mut self.job.credentials else { return };
        if credentials.due().is_none_or(|due| due > now) {
            return;
        }
        let Err(lack) = credentials.refresh(identity.as_ref(), now) else { return };
        self.warn(format!(
            "the job's credentials cannot be brought anew (SEC_CREDENTIAL_REFRESH): {}",
            lack.why
        ));
        // Nobody can be asked to hold a job that is about to leave, or has left.
        if lack.holds && self.beside.companion.is_some() {
            drop(self.obey(ControlCommand::Vacate(Some(not_available()), true)));
        }
    }

    /// Removes the directory with all that is laid beside the job's own.
    pub(super) fn remove_scratch(&mut self) {
        self.close_scratch();
        self.take_credentials_away();
        self.docker_config(None);
        let remains = self.job.sandbox.remove();
        self.events.push_back(Event::ScratchRemoved { remains });
    }

    fn take_credentials_away(&mut self) {
        let identity = self.job.identity.clone();
        let Some(credentials) = &mut self.job.credentials else { return };
        for left in credentials.take_away(identity.as_ref()) {
            self.warn(format!("the job's credentials cannot be taken away: {left}"));
        }
    }
}
