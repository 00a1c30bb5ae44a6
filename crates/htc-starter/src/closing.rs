//! The machine from the end of the job on: exit hook, result, removal.

use std::path::PathBuf;

use bstr::BString;

use super::action::{Action, CallId, LogEvent, Notice};
use super::ending;
use super::exception::EXCEPTION;
use super::failure::StartFailure;
use super::kept::container::After;
use super::kept::job_run::Ended;
use super::kept::phase::EndStep;
use super::kept::phase::Phase;
use super::machine::{JOB_EXIT, Starter, UPDATE_JOB_INFO};
use super::settings::Moment;
use super::starter_hooks::{killed_last, unspawnable_exit};
use htc_base::process::Exit;
use htc_base::quirks::{Decided, Quirk, Quirks};
use htc_base::time::Now;
use htc_classad::ClassAd;
use htc_classad::format::long;

impl Starter<'_> {
    /// No process is left: JOB_EXIT once, then the rest (`Starter::allJobsDone`).
    pub(super) fn all_jobs_done(&mut self, now: Now, out: &mut Vec<Action>) {
        if matches!(
            self.phase,
            Phase::Exiting { .. } | Phase::Again { .. } | Phase::Removing | Phase::Finished
        ) {
            return;
        }
        self.stop_looking();
        if self.closing.exit_ad.is_none() {
            // Made once and kept for later tries.
            let mut ad = self.ad.clone();
            self.publish_main(&mut ad, now);
            self.scripts.publish(&mut ad);
            self.publish_vacate(&mut ad);
            self.closing.exit_ad = Some(ad);
        }
        match self.setup.hooks.exit.clone().filter(|_| !self.closing.exit_hook_over) {
            Some(_) if self.closing.excepted && self.fault(Moment::Environment).is_some() => {
                self.end_in_exception(out)
            }
            Some(_) => {
                let Some(call) = self.call_exit_hook(now, out) else { return };
                if self.closing.excepted
                    && self.has_or_tells(Quirk::ExceptionDropsExitHook, "JOB_EXIT is waited for", out)
                {
                    self.closing.status = EXCEPTION;
                    return self.remove_scratch(out);
                }
                self.wait_for_exit_hook(now, call);
            }
            None => self.clean_up(now, out),
        }
    }

    /// Calls JOB_EXIT, if there is one.
    pub(super) fn call_exit_hook(&mut self, now: Now, out: &mut Vec<Action>) -> Option<CallId> {
        let path = self.setup.hooks.exit.clone()?;
        let reason = BString::from(self.asked.word());
        let mut ad = self.closing.exit_ad.clone().unwrap_or_default();
        self.untell_shadow(&mut ad);
        self.give_reason(&mut ad, out);
        Some(self.call(now, (JOB_EXIT, path, vec![reason]), &ad, out))
    }

    /// Puts ExitReason into the ad of JOB_EXIT, as the manual promises, for a job that exited by itself; 25.14 has it for signals alone.
    fn give_reason(&self, ad: &mut ClassAd, out: &mut Vec<Action>) {
        let Some(Exit::Code(code)) = self.run.ended().map(|ended| ended.exit) else { return };
        if !ad.contains("ExitReason")
            && !self.has_or_tells(Quirk::ExitReasonForSignals, "JOB_EXIT gets an ExitReason", out)
        {
            ad.set("ExitReason", format!("exited normally with status {code}").as_str());
        }
    }

    pub(super) fn wait_for_exit_hook(&mut self, now: Now, call: CallId) {
        let until = now.tick().plus(self.setup.hooks.exit_timeout);
        self.phase = Phase::Exiting { call, until, late: false };
    }

    /// JOB_EXIT takes too long: it is not waited for any more and killed, by 25.14 at the end.
    pub(super) fn exit_timed_out(&mut self, now: Now, call: CallId, out: &mut Vec<Action>) {
        self.calls.open.remove(&call);
        let reason = "ran longer than its time-out; going on without it".to_owned();
        out.push(Action::Tell(Notice::HookFailed { hook: JOB_EXIT.name(), reason }));
        self.closing.exit_hook_over = true;
        if !self.kills_hooks_last() {
            out.push(Action::KillCall(call));
        }
        self.clean_up(now, out);
    }

    /// JOB_EXIT cannot be executed.
    pub(super) fn exit_hook_unspawnable(&mut self, now: Now, out: &mut Vec<Action>) {
        let hangs = unspawnable_exit(self.setup.quirks);
        Self::tell_quirk(hangs.quirk, "the starter ends without JOB_EXIT", out);
        self.closing.exit_hook_over = true;
        self.clean_up(now, out);
    }

    /// Log event, result ad, removal (`Starter::cleanupJobs`).
    pub(super) fn clean_up(&mut self, now: Now, out: &mut Vec<Action>) {
        if self.unload(After::CleanUp, out) || self.moves_back(now, out) {
            return;
        }
        self.report_failed_input(out);
        if let Some(Ended { exit, core, .. }) = self.run.ended() {
            let mut result = ClassAd::new();
            self.publish_main(&mut result, now);
            if let Some(post) = &self.scripts.post {
                post.publish(&mut result, "Post");
            }
            out.push(Action::Log(match self.run.evicted {
                true => LogEvent::Evicted { exit },
                false => LogEvent::Terminated {
                    exit,
                    cpu: (self.run.usage.user.as_secs(), self.run.usage.system.as_secs()),
                    core,
                },
            }));
            out.push(Action::WriteResultAd(long::print(&result)));
        } else if self.run.process.is_some() && self.run.evicted {
            // Only for 25.14 is one evicted that has not ended: a container that was not started.
            let mut result = ClassAd::new();
            self.publish_main(&mut result, now);
            out.push(Action::Log(LogEvent::Evicted { exit: Exit::Code(0) }));
            out.push(Action::WriteResultAd(long::print(&result)));
        } else if let Some(at) = self.closing.missed {
            out.push(Action::WriteResultAd(long::print(&missed_deferral(at))));
        }
        self.remove_scratch(out);
    }

    /// Ends what still runs and removes the scratch directory.
    pub(super) fn remove_scratch(&mut self, out: &mut Vec<Action>) {
        if self.unload(After::RemoveScratch, out) {
            return;
        }
        self.phase = Phase::Removing;
        if !self.kills_hooks_last() {
            self.kill_calls(out);
        }
        if let Some(text) = self.fault(Moment::Removal).filter(|_| self.closing.scratch_made) {
            self.report(StartFailure::new(text, 0, 0), out);
            return self.end_in_exception(out);
        }
        match self.closing.scratch_made {
            true => out.push(Action::RemoveScratch),
            false => self.finish(out),
        }
    }

    fn kills_hooks_last(&self) -> bool {
        killed_last(self.setup.quirks).as_reference
    }

    /// Hooks that still run when the starter ends.
    fn kill_calls(&mut self, out: &mut Vec<Action>) {
        // The runner gives those that remain a moment.
        let waited_for = self.calls.open.iter().filter(|(_, hook)| **hook != UPDATE_JOB_INFO);
        out.extend(waited_for.map(|(call, _)| Action::KillCall(*call)));
        out.push(Action::KillCalls);
        match self.kills_hooks_last() {
            true => self.calls.open.clear(),
            // Their end is still told.
            false => self.calls.open.retain(|_, hook| *hook == UPDATE_JOB_INFO),
        }
    }

    pub(super) fn scratch_removed(&mut self, now: Now, remains: &[PathBuf], out: &mut Vec<Action>) {
        if self.phase != Phase::Removing {
            return;
        }
        let untold = remains_untold(self.setup.quirks);
        if let Some(first) = remains.first().filter(|_| !untold.as_reference) {
            let reason = format!("cannot remove {}", first.display());
            if self.tries_again(now, EndStep::Removal, &reason, out) {
                return;
            }
        }
        if !remains.is_empty() && !self.calls.open.is_empty() && self.kills_hooks_last() {
            // One of them may have written there meanwhile.
            self.kill_calls(out);
            return out.push(Action::RemoveScratch);
        }
        for path in remains {
            let text = format!("cannot remove {}", path.display());
            out.push(Action::Tell(Notice::Warning(text)));
        }
        if !remains.is_empty() && !untold.as_reference {
            let reason = "what stays of the scratch directory is reported, with its modes as they were";
            Self::tell_quirk(untold.quirk, reason, out);
        }
        self.finish(out);
    }
}

/// What cannot be removed of a scratch directory: 25.14 says nothing of it and has changed its modes; else it keeps them, its removal is
/// tried again, and it is reported.
pub fn remains_untold(quirks: Quirks) -> Decided {
    quirks.decide(Quirk::UnremovableScratchSilent)
}

/// What 25.14 writes for a job that missed its time: the empty process publishes itself, with a wait status of 114.
fn missed_deferral(at: Now) -> ClassAd {
    let mut ad = ClassAd::new();
    ad.set("JobState", "Exited");
    ad.set("NumPids", 0i64);
    ad.set("JobDuration", ending::seconds_between(Now { wall_us: 0, monotonic_us: 0 }, at));
    ending::publish_exit(&mut ad, "", Exit::Signal { number: 114, core_dumped: false });
    ad
}
