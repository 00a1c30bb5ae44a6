//! What is asked of a starter by signal.

use nix::libc;

use super::live::Live;
use super::notice;
use crate::quirks::Quirk;
use crate::starter::{Event, Request};

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
                if self.job.log_directory.is_none()
                    && notice::is_news(self.job.private.as_deref(), Quirk::HupMovesHooks.id())
                {
                    let (id, line) = (Quirk::HupMovesHooks.id(), Quirk::HupMovesHooks.line());
                    self.warn(format!(
                        "hooks stay in the scratch directory; in HTCondor 25.14 {line} ({id})"
                    ));
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
        self.ends += u32::from(matches!(request, Request::Graceful(_)));
        self.impatient |= matches!(request, Request::Fast(_)) || self.ends > 1;
        self.requested |= !matches!(request, Request::Suspend | Request::Continue | Request::Update);
        self.events.push_back(Event::Asked(request));
    }
}
