//! What is asked of a starter by signal, and at its socket.

use nix::libc;

use super::control::{ControlCommand, Reply, command_of};
use super::live::{Asked, Live};
use htc_base::quirks::Quirk;
use htc_os::Token;
use htc_starter::{Event, Request};

impl Live<'_> {
    pub(super) fn signal(&mut self, number: i32) {
        // The daemon is told by commands to suspend a job; these signals mean nothing to it (c12 007, 008).
        let by_signal = self.job.private.is_some() || !self.job.quirks.has(Quirk::SuspendSignalsIgnored);
        let request = match number {
            libc::SIGTERM => Request::Graceful(None),
            libc::SIGQUIT => Request::Fast(None),
            // 25.14 dies of these at once and leaves job and scratch directory to the startd; here nobody follows.
            libc::SIGINT | libc::SIGALRM => Request::Graceful(None),
            libc::SIGUSR1 => Request::Remove(None),
            libc::SIGTSTP if by_signal => Request::Suspend,
            libc::SIGCONT if by_signal => Request::Continue,
            // The terminal of the shell that runs there is gone.
            libc::SIGHUP if self.terminal.is_some() => Request::Graceful(None),
            // Reads the configuration again, which changes nothing for a job under way.
            libc::SIGHUP => {
                self.job.reread = true;
                if let Err(quirk) = self.job.log_directory {
                    self.warn_once(quirk.id(), || {
                        format!("hooks stay in the scratch directory; {}", quirk.told())
                    });
                }
                return;
            }
            // SIGUSR2 means nothing.
            _ => return,
        };
        self.ask(request);
    }

    /// Somebody asks for something, by signal or order; the second wish for a soft end is one for a hard one to come soon.
    pub(super) fn ask(&mut self, request: Request) {
        let asked = match &request {
            Request::Suspend | Request::Continue | Request::Update | Request::ForShadow(_) => Asked::Nothing,
            Request::Graceful(_) if self.asked < Asked::Softly => Asked::Softly,
            Request::Graceful(_) | Request::Fast(_) => Asked::AtOnce,
            Request::Hold(_) | Request::Remove(_) | Request::Requeue => Asked::Otherwise,
        };
        self.asked = self.asked.max(asked);
        self.events.push_back(Event::Asked(request));
    }

    /// Something came in at the socket.
    pub(super) fn ordered(&mut self, token: Token) {
        let Some(control) = &mut self.beside.control else { return };
        let Some(said) = control.readable(token, self.reactor) else { return };
        let client = said.client;
        let reply = match command_of(said) {
            Ok(ControlCommand::Status) => Reply::status(&self.job.id, self.doing),
            Ok(command) => Reply::of(self.obey(command)),
            Err(error) => Reply::of(Err(error)),
        };
        if let Some(control) = &mut self.beside.control {
            control.answer(client, &reply, self.reactor);
        }
    }

    /// Whoever plays the queue decides what an order means for the starter. A slot runner asks when its slot wants it, whether
    /// the job's process is there or not.
    pub(super) fn obey(&mut self, command: ControlCommand) -> Result<(), String> {
        let now = self.now();
        if matches!(command, ControlCommand::Starter(Request::Update | Request::Suspend | Request::Continue))
            && self.process.is_none()
            && self.job.private.is_none()
        {
            return Err("no job runs just now".to_owned());
        }
        match (&mut self.beside.companion, command) {
            (
                Some(companion),
                command @ (ControlCommand::Hold(_)
                | ControlCommand::Remove(_)
                | ControlCommand::Vacate(..)
                | ControlCommand::Release(_)),
            ) => self.events.extend(companion.ordered(now, command)?.into_iter().map(Event::Asked)),
            (_, command) => self.ask(command.request()?),
        }
        Ok(())
    }
}
