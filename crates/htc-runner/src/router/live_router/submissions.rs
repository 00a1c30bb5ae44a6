//! Submit commands of a running router: starts them, waits for them, and ends those that exceed their time limit.

use std::fs::OpenOptions;
use std::path::Path;

use bstr::BString;
use nix::libc;

use super::{LiveRouter, RouterRunError, SUBMIT_KILL_GRACE};
use crate::router::submission::{self, Submission, SubmissionError};
use htc_base::job::JobId;
use htc_base::process::Exit;
use htc_base::time::MonotonicTime;
use htc_classad::ClassAd;
use htc_os as os;
use htc_os::clock;
use htc_router::RouterEvent;

/// Returns advice for the user about a submission whose outcome is unknown; `note` is the file that records the
/// attempt.
fn unknown_outcome_hint(note: &Path) -> String {
    format!("the source job stays claimed: look for its routed job, then remove '{}'", note.display())
}

impl LiveRouter<'_> {
    /// Starts the submit command for a routed job; returns an event if it cannot be started.
    pub(super) fn start_submission(
        &mut self,
        argv: &[BString],
        source: JobId,
        ad: ClassAd,
    ) -> Option<RouterEvent> {
        let note = submission::note_path(&self.path, source);
        if note.exists() {
            let reason = format!("by an earlier attempt; {}", unknown_outcome_hint(&note));
            return Some(RouterEvent::SubmitUncertain(source, reason));
        }
        if let Err(error) = OpenOptions::new().write(true).create_new(true).open(&note) {
            return Some(RouterEvent::SubmitResult(source, Err(format!("'{}': {error}", note.display()))));
        }
        let proxy = match self.copy_lent_proxy(source, &ad) {
            Ok(proxy) => proxy,
            Err(reason) => {
                let removed = std::fs::remove_file(&note).err().map(|error| format!("; {error}"));
                let reason = format!("{reason}{}", removed.unwrap_or_default());
                return Some(RouterEvent::SubmitNotPrepared(source, reason));
            }
        };
        let spec = submission::submit_child_spec(argv, &ad, self.options);
        match self.reactor.spawn(spec) {
            Ok(child) => {
                // Until the outcome is known, the note of this attempt must not be reported as one of an earlier
                // run.
                self.directory.withhold(source);
                let deadline = self.options.hook_limit.map(|limit| clock::monotonic_now().plus(limit));
                self.submissions
                    .insert(child, Submission { source, ad, deadline, asked_to_end: false, proxy });
                None
            }
            Err(error) => {
                self.remove_proxy(proxy);
                let removed = std::fs::remove_file(&note).err().map(|error| format!("; {error}"));
                let reason = format!("the submit command: {error}{}", removed.unwrap_or_default());
                Some(RouterEvent::SubmitResult(source, Err(reason)))
            }
        }
    }

    /// Handles the end of a submit command: records the routed job, and removes the note of the attempt once the
    /// outcome is known.
    pub(super) fn handle_submission_end(
        &mut self,
        submission: &Submission,
        exit: Exit,
        stdout: &[u8],
    ) -> RouterEvent {
        let (source, now) = (submission.source, self.options.world.now().epoch());
        // If the job was submitted, the submit command has already passed the proxy to the new queue.
        self.remove_proxy(submission.proxy.clone());
        let outcome = submission::parse_outcome(exit, stdout, submission.asked_to_end).and_then(|copy| {
            self.copies_queue_mut().adopt_copy(copy, source, &submission.ad, now).map(|()| copy).map_err(
                |error| SubmissionError::Unclear(format!("as {copy}, which cannot be recorded: {error}")),
            )
        });
        let note = submission::note_path(&self.path, source);
        let submitted = match outcome {
            Ok(copy) => Ok(copy),
            Err(SubmissionError::Failed(reason)) => Err(reason),
            Err(SubmissionError::Unclear(reason)) => {
                return RouterEvent::SubmitUncertain(
                    source,
                    format!("{reason}; {}", unknown_outcome_hint(&note)),
                );
            }
        };
        match std::fs::remove_file(&note) {
            Ok(()) => self.directory.release_source(source),
            Err(error) => (self.options.log)(&format!("cannot remove '{}': {error}", note.display())),
        }
        RouterEvent::SubmitResult(source, submitted)
    }

    /// Sends SIGTERM to submit commands that have exceeded their time limit, and SIGKILL to those that do not end.
    pub(super) fn end_late_submissions(&mut self, now: MonotonicTime) {
        for (child, submission) in &mut self.submissions {
            if submission.deadline.is_some_and(|deadline| deadline <= now) {
                let signal = if submission.asked_to_end { libc::SIGKILL } else { libc::SIGTERM };
                submission.asked_to_end = true;
                submission.deadline = Some(now.plus(SUBMIT_KILL_GRACE));
                self.reactor.send_signal(*child, signal, os::SignalScope::Family);
            }
        }
    }

    /// Ends the running submit commands, so that their outcome is recorded before the router ends. No further job is
    /// submitted.
    pub(super) fn stop_submissions(&mut self) -> Result<(), RouterRunError> {
        let log = self.options.log;
        let now = clock::monotonic_now();
        self.submissions.values_mut().for_each(|submission| submission.deadline = Some(now));
        self.end_late_submissions(now);
        let patience = now.plus(SUBMIT_KILL_GRACE * 2);
        while !self.submissions.is_empty() && clock::monotonic_now() < patience {
            let deadline = self.submissions.values().filter_map(|submission| submission.deadline).min();
            match self.reactor.next_event(deadline)? {
                os::ReactorEvent::Exited { child, exit, stdout, .. } => {
                    let Some(submission) = self.submissions.remove(&child) else { continue };
                    match self.handle_submission_end(&submission, exit, &stdout.bytes) {
                        RouterEvent::SubmitResult(source, Ok(copy)) => {
                            log(&format!("submitted {source} as {copy}"))
                        }
                        RouterEvent::SubmitResult(source, Err(reason)) => log(&format!("{source}: {reason}")),
                        RouterEvent::SubmitUncertain(source, reason) => {
                            log(&format!("{source} may have been submitted: {reason}"));
                        }
                        _ => {}
                    }
                }
                os::ReactorEvent::Timeout => self.end_late_submissions(clock::monotonic_now()),
                _ => {}
            }
        }
        Ok(())
    }
}
