//! Requests to a starter to end, suspend, continue or update its job, by signal and through its socket.

use nix::libc;

use super::control::{ControlCommand, StarterReply, parse_client_command};
use super::run_state::{EndRequest, RunState};
use htc_base::quirks::Quirk;
use htc_os::{ENDING_SIGNALS, WatchToken};
use htc_starter::{StarterCommand, StarterEvent};

impl RunState<'_> {
    pub(super) fn handle_signal(&mut self, number: i32) {
        // With quirk `suspend-signals-ignored`, a starter is suspended by commands only. A slot runner always uses
        // signals.
        let by_signal = self.context.private_directory.is_some()
            || !self.context.quirks.reproduces(Quirk::SuspendSignalsIgnored);
        let request = match number {
            libc::SIGTERM => StarterCommand::Graceful(None),
            libc::SIGQUIT => StarterCommand::Fast(None),
            // 25.14 dies of these signals at once and leaves the job and the scratch directory to the startd. Here
            // there is no startd, so the job is ended.
            libc::SIGINT => StarterCommand::Graceful(None),
            number if ENDING_SIGNALS.contains(&number) => {
                self.warn(format!("signal {number} ends the job, as SIGTERM does"));
                StarterCommand::Graceful(None)
            }
            libc::SIGUSR1 => StarterCommand::Remove(None),
            libc::SIGTSTP if by_signal => StarterCommand::Suspend,
            libc::SIGCONT if by_signal => StarterCommand::Continue,
            // The terminal of the interactive shell was closed.
            libc::SIGHUP if self.job.terminal.is_some() => StarterCommand::Graceful(None),
            // A reconfiguration does not affect a running job.
            libc::SIGHUP => {
                self.context.config_reread = true;
                if let Err(quirk) = self.context.log_directory {
                    self.warn_once(quirk.id(), || {
                        format!("hooks continue to run in the scratch directory; {}", quirk.description())
                    });
                }
                return;
            }
            // SIGUSR2 is ignored.
            _ => return,
        };
        self.queue_request(request);
    }

    /// Queues a request from a signal or an order. A second request for a soft end becomes a request for a hard end.
    pub(super) fn queue_request(&mut self, request: StarterCommand) {
        let end_request = match &request {
            StarterCommand::Suspend
            | StarterCommand::Continue
            | StarterCommand::Update
            | StarterCommand::SetShadowReason(_) => EndRequest::NotRequested,
            StarterCommand::Graceful(_) if self.ending.request < EndRequest::Soft => EndRequest::Soft,
            StarterCommand::Graceful(_) | StarterCommand::Fast(_) => EndRequest::Hard,
            StarterCommand::Hold(_) | StarterCommand::Remove(_) | StarterCommand::Requeue => {
                EndRequest::Other
            }
        };
        self.ending.request = self.ending.request.max(end_request);
        self.events.push_back(StarterEvent::Requested(request));
    }

    /// Handles data at the control socket: reads an order, carries it out and sends the reply.
    pub(super) fn handle_control_socket(&mut self, token: WatchToken) {
        let Some(control) = &mut self.inputs.control else { return };
        let Some(said) = control.handle_readiness(token, self.reactor) else { return };
        let client = said.client;
        let reply = match parse_client_command(said) {
            Ok(ControlCommand::Status) => StarterReply::status(&self.context.id, self.stage),
            Ok(command) => StarterReply::from_result(self.carry_out_order(command)),
            Err(error) => StarterReply::invalid(error),
        };
        if let Some(control) = &mut self.inputs.control {
            control.answer(client, &reply, self.reactor);
        }
    }

    /// Carries out an order. If an observer acts as the queue, it converts the order to requests for the starter.
    /// Orders of a slot runner are accepted whether or not the job's process exists.
    pub(super) fn carry_out_order(&mut self, command: ControlCommand) -> Result<(), String> {
        let now = self.now();
        if matches!(
            command,
            ControlCommand::StarterRequest(
                StarterCommand::Update | StarterCommand::Suspend | StarterCommand::Continue
            )
        ) && self.job.process.is_none()
            && self.context.private_directory.is_none()
        {
            return Err("no job is running".to_owned());
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
