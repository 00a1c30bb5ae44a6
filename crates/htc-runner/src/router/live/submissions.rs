//! Submit commands while a router runs: started, waited for, ended when they take too long.

use std::fs::OpenOptions;
use std::path::Path;

use bstr::BString;
use nix::libc;

use super::{GRACE, Live, RunError};
use crate::router::submission::{self, NotSubmitted, Submission};
use htc_base::job::JobId;
use htc_base::process::Exit;
use htc_base::time::Tick;
use htc_classad::ClassAd;
use htc_os as os;
use htc_os::clock;
use htc_router::Event;

/// What is to be done about an attempt whose outcome is not known.
fn look(note: &Path) -> String {
    format!("it stays claimed: look for its copy, then remove '{}'", note.display())
}

impl Live<'_> {
    /// Starts the submit command for a copy; an answer at once where it cannot be started.
    pub(super) fn submit_through(&mut self, argv: &[BString], source: JobId, ad: ClassAd) -> Option<Event> {
        let note = submission::note(&self.path, source);
        if note.exists() {
            let reason = format!("by a former attempt; {}", look(&note));
            return Some(Event::Unclear(source, reason));
        }
        if let Err(error) = OpenOptions::new().write(true).create_new(true).open(&note) {
            return Some(Event::Submitted(source, Err(format!("'{}': {error}", note.display()))));
        }
        let proxy = match self.lend(source, &ad) {
            Ok(proxy) => proxy,
            Err(reason) => {
                let removed = std::fs::remove_file(&note).err().map(|error| format!("; {error}"));
                let reason = format!("{reason}{}", removed.unwrap_or_default());
                return Some(Event::Unprepared(source, reason));
            }
        };
        let spec = submission::child_spec(argv, &ad, self.options);
        match self.reactor.spawn(spec) {
            Ok(child) => {
                // Until the outcome is known nobody else may take it for a job of a former run.
                self.directory.withhold(source);
                let deadline = self.options.hook_limit.map(|limit| clock::tick().plus(limit));
                self.submissions.insert(child, Submission { source, ad, deadline, told: false, proxy });
                None
            }
            Err(error) => {
                self.take_back(proxy);
                let removed = std::fs::remove_file(&note).err().map(|error| format!("; {error}"));
                let reason = format!("the submit command: {error}{}", removed.unwrap_or_default());
                Some(Event::Submitted(source, Err(reason)))
            }
        }
    }

    /// What came of a submit command: notes the copy, and takes the note of the attempt away once it is clear.
    pub(super) fn submission_ended(&mut self, submission: &Submission, exit: Exit, stdout: &[u8]) -> Event {
        let (source, now) = (submission.source, self.options.world.now().epoch());
        // Whoever took the job over has the proxy by now.
        self.take_back(submission.proxy.clone());
        let outcome = submission::outcome(exit, stdout, submission.told).and_then(|copy| {
            self.copies_mut().adopt(copy, source, &submission.ad, now).map(|()| copy).map_err(|error| {
                NotSubmitted::Unclear(format!("as {copy}, which cannot be written down: {error}"))
            })
        });
        let note = submission::note(&self.path, source);
        let submitted = match outcome {
            Ok(copy) => Ok(copy),
            Err(NotSubmitted::Failed(reason)) => Err(reason),
            Err(NotSubmitted::Unclear(reason)) => {
                return Event::Unclear(source, format!("{reason}; {}", look(&note)));
            }
        };
        match std::fs::remove_file(&note) {
            Ok(()) => self.directory.list_again(source),
            Err(error) => (self.options.log)(&format!("cannot remove '{}': {error}", note.display())),
        }
        Event::Submitted(source, submitted)
    }

    /// Tells submit commands to end whose time is over, and kills those that do not.
    pub(super) fn end_late_submissions(&mut self, now: Tick) {
        for (child, submission) in &mut self.submissions {
            if submission.deadline.is_some_and(|deadline| deadline <= now) {
                let signal = if submission.told { libc::SIGKILL } else { libc::SIGTERM };
                submission.told = true;
                submission.deadline = Some(now.plus(GRACE));
                self.reactor.kill(*child, signal, os::Whom::Family);
            }
        }
    }

    /// Ends the submit commands under way, so that what they did is written down. No further job is begun.
    pub(super) fn stop(&mut self) -> Result<(), RunError> {
        let log = self.options.log;
        let now = clock::tick();
        self.submissions.values_mut().for_each(|submission| submission.deadline = Some(now));
        self.end_late_submissions(now);
        let patience = now.plus(GRACE * 2);
        while !self.submissions.is_empty() && clock::tick() < patience {
            let deadline = self.submissions.values().filter_map(|submission| submission.deadline).min();
            match self.reactor.next(deadline)? {
                os::Event::Exited { child, exit, stdout, .. } => {
                    let Some(submission) = self.submissions.remove(&child) else { continue };
                    match self.submission_ended(&submission, exit, &stdout.bytes) {
                        Event::Submitted(source, Ok(copy)) => log(&format!("submitted {source} as {copy}")),
                        Event::Submitted(source, Err(reason)) => log(&format!("{source}: {reason}")),
                        Event::Unclear(source, reason) => {
                            log(&format!("{source} may have been submitted: {reason}"));
                        }
                        _ => {}
                    }
                }
                os::Event::Timeout => self.end_late_submissions(clock::tick()),
                _ => {}
            }
        }
        Ok(())
    }
}
