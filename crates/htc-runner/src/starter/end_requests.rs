//! What is asked of a starter by signal, and at its socket.

use nix::libc;

use super::control::{ControlCommand, StarterReply, parse_client_command};
use super::run_state::{EndRequest, RunState};
use htc_base::quirks::Quirk;
use htc_os::WatchToken;
use htc_starter::{StarterCommand, StarterEvent};

impl RunState<'_> {
    pub(super) fn handle_signal(&mut self, number: i32) {
        // The daemon is told by commands to suspend a job; these signals mean nothing to it (c12 007, 008).
        let by_signal = self.context.private_directory.is_some()
            || !self.context.quirks.reproduces(Quirk::SuspendSignalsIgnored);
        let request = match number {
            libc::SIGTERM => StarterCommand::Graceful(None),
            libc::SIGQUIT => StarterCommand::Fast(None),
            // 25.14 dies of these at once and leaves job and scratch directory to the startd; here nobody follows.
            libc::SIGINT | libc::SIGALRM => StarterCommand::Graceful(None),
            libc::SIGUSR1 => StarterCommand::Remove(None),
            libc::SIGTSTP if by_signal => StarterCommand::Suspend,
            libc::SIGCONT if by_signal => StarterCommand::Continue,
            // The terminal of the shell that runs there is gone.
            libc::SIGHUP if self.terminal.is_some() => StarterCommand::Graceful(None),
            // Reads the configuration again, which changes nothing for a job under way.
            libc::SIGHUP => {
                self.context.config_reread = true;
                if let Err(quirk) = self.context.log_directory {
                    self.warn_once(quirk.id(), || {
                        format!("hooks stay in the scratch directory; {}", quirk.told())
                    });
                }
                return;
            }
            // SIGUSR2 means nothing.
            _ => return,
        };
        self.queue_request(request);
    }

    /// Somebody asks for something, by signal or order; the second wish for a soft end is one for a hard one to come soon.
    pub(super) fn queue_request(&mut self, request: StarterCommand) {
        let asked = match &request {
            StarterCommand::Suspend
            | StarterCommand::Continue
            | StarterCommand::Update
            | StarterCommand::SetShadowReason(_) => EndRequest::NotRequested,
            StarterCommand::Graceful(_) if self.end_request < EndRequest::Soft => EndRequest::Soft,
            StarterCommand::Graceful(_) | StarterCommand::Fast(_) => EndRequest::Hard,
            StarterCommand::Hold(_) | StarterCommand::Remove(_) | StarterCommand::Requeue => {
                EndRequest::Other
            }
        };
        self.end_request = self.end_request.max(asked);
        self.events.push_back(StarterEvent::Requested(request));
    }

    /// Something came in at the socket.
    pub(super) fn handle_control_socket(&mut self, token: WatchToken) {
        let Some(control) = &mut self.inputs.control else { return };
        let Some(said) = control.handle_readiness(token, self.reactor) else { return };
        let client = said.client;
        let reply = match parse_client_command(said) {
            Ok(ControlCommand::Status) => StarterReply::status(&self.context.id, self.stage),
            Ok(command) => StarterReply::from_result(self.carry_out_order(command)),
            Err(error) => StarterReply::from_result(Err(error)),
        };
        if let Some(control) = &mut self.inputs.control {
            control.answer(client, &reply, self.reactor);
        }
    }

    /// Whoever plays the queue decides what an order means for the starter. A slot runner asks when its slot wants it, whether
    /// the job's process is there or not.
    pub(super) fn carry_out_order(&mut self, command: ControlCommand) -> Result<(), String> {
        let now = self.now();
        if matches!(
            command,
            ControlCommand::StarterRequest(
                StarterCommand::Update | StarterCommand::Suspend | StarterCommand::Continue
            )
        ) && self.process.is_none()
            && self.context.private_directory.is_none()
        {
            return Err("no job runs just now".to_owned());
        }
        match (&mut self.inputs.observer, command) {
            (
                Some(companion),
                command @ (ControlCommand::Hold(_)
                | ControlCommand::Remove(_)
                | ControlCommand::Vacate(..)
                | ControlCommand::Release(_)),
            ) => self
                .events
                .extend(companion.handle_order(now, command)?.into_iter().map(StarterEvent::Requested)),
            (_, command) => self.queue_request(command.into_request()?),
        }
        Ok(())
    }
}
