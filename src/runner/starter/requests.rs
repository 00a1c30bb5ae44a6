//! What is asked of a starter by signal, and what the slot runner says about the end of its job.

use std::fs;

use nix::libc;

use super::live::Live;
use super::notice;
use crate::classad::{Context, format::long};
use crate::quirks::Quirk;
use crate::starter::{Event, Request, Vacate};

impl Live<'_> {
    pub(super) fn signal(&mut self, number: i32) {
        self.ends += u32::from(matches!(number, libc::SIGTERM | libc::SIGINT));
        self.impatient |= number == libc::SIGQUIT || self.ends > 1;
        // The daemon is told by commands to suspend a job; these signals mean nothing to it (c12 007, 008).
        let by_signal = self.job.private.is_some() || !self.job.quirks.has(Quirk::SuspendSignalsIgnored);
        let request = match number {
            libc::SIGTERM => Request::Graceful(self.vacate()),
            libc::SIGQUIT => Request::Fast(self.vacate()),
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
        self.requested |= !matches!(request, Request::Suspend | Request::Continue);
        self.events.push_back(Event::Asked(request));
    }

    /// What the slot runner says about the end of the job, if it does.
    pub(super) fn vacate(&self) -> Option<Vacate> {
        let text = fs::read(self.job.private.as_ref()?.join("vacate.ad")).ok()?;
        let (ad, _) = long::parse(&text);
        let context = Context::new(self.world).my(&ad);
        Some(Vacate {
            reason: context.string("VacateReason")?,
            code: context.int("VacateReasonCode").unwrap_or(0),
            subcode: context.int("VacateReasonSubCode").unwrap_or(0),
        })
    }
}
