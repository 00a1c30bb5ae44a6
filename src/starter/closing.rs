//! The machine from the end of the job on: exit hook, result, removal.

use std::path::PathBuf;

use bstr::{BString, ByteSlice};

use super::action::{Action, CallId, LogEvent, Notice};
use super::again::EndStep;
use super::contained::After;
use super::ending;
use super::failure::StartFailure;
use super::machine::{JOB_EXIT, Phase, Process, Starter, UPDATE_JOB_INFO};
use super::settings::Moment;
use crate::classad::{ClassAd, format::long};
use crate::process::Exit;
use crate::quirks::Quirk;
use crate::time::Now;

impl Starter<'_> {
    /// No process is left: JOB_EXIT once, then the rest (`Starter::allJobsDone`).
    pub(super) fn all_jobs_done(&mut self, now: Now, out: &mut Vec<Action>) {
        if matches!(
            self.phase,
            Phase::Exiting { .. } | Phase::Again { .. } | Phase::Removing | Phase::Finished
        ) {
            return;
        }
        self.update_due = None;
        self.graceful_until = None;
        if self.exit_ad.is_none() {
            // Made once and kept for later tries.
            let mut ad = self.ad.clone();
            self.publish_main(&mut ad, now);
            self.publish_scripts(&mut ad);
            self.publish_vacate(&mut ad);
            self.exit_ad = Some(ad);
        }
        match self.hooks.exit.clone().filter(|_| !self.exit_done) {
            Some(_) if self.excepted && self.fault(Moment::Environment).is_some() => {
                self.end_in_exception(out)
            }
            Some(_) => {
                let Some(call) = self.call_exit_hook(now, out) else { return };
                if self.excepted && self.quirks.has(Quirk::ExceptionDropsExitHook) {
                    self.status = 4;
                    return self.remove_scratch(out);
                }
                if self.excepted {
                    Self::tell_quirk(Quirk::ExceptionDropsExitHook, "JOB_EXIT is waited for", out);
                }
                self.wait_for_exit_hook(now, call);
            }
            None => self.clean_up(now, out),
        }
    }

    /// Calls JOB_EXIT, if there is one.
    pub(super) fn call_exit_hook(&mut self, now: Now, out: &mut Vec<Action>) -> Option<CallId> {
        let path = self.hooks.exit.clone()?;
        let reason = BString::from(self.asked.word(self.quirks));
        let ad = self.exit_ad.clone().unwrap_or_default();
        Some(self.call(now, JOB_EXIT, path.as_bstr(), vec![reason], &ad, out))
    }

    pub(super) fn wait_for_exit_hook(&mut self, now: Now, call: CallId) {
        self.phase = Phase::Exiting { call, until: now.tick().plus(self.hooks.exit_timeout) };
    }

    /// What PreCmd and PostCmd tell of themselves.
    pub(super) fn publish_scripts(&self, ad: &mut ClassAd) {
        publish_script(ad, "Pre", self.pre.as_ref());
        publish_script(ad, "Post", self.post.as_ref());
    }

    /// JOB_EXIT takes too long: it is not waited for any more and killed, by 25.14 at the end.
    pub(super) fn exit_timed_out(&mut self, now: Now, call: CallId, out: &mut Vec<Action>) {
        self.calls.remove(&call);
        let reason = "ran longer than its time-out; going on without it".to_owned();
        out.push(Action::Tell(Notice::HookFailed { hook: JOB_EXIT.name(), reason }));
        self.exit_done = true;
        if !self.quirks.has(Quirk::HooksKilledLast) {
            out.push(Action::KillCall(call));
        }
        self.clean_up(now, out);
    }

    /// JOB_EXIT cannot be executed.
    pub(super) fn exit_hook_unspawnable(&mut self, now: Now, out: &mut Vec<Action>) {
        Self::tell_quirk(Quirk::ExitHookUnspawnableHangs, "the starter ends without JOB_EXIT", out);
        self.exit_done = true;
        self.clean_up(now, out);
    }

    /// Log event, result ad, removal (`Starter::cleanupJobs`).
    pub(super) fn clean_up(&mut self, now: Now, out: &mut Vec<Action>) {
        if self.unload(After::CleanUp, out) || self.moves_back(now, out) {
            return;
        }
        let ended = self.main.as_ref().and_then(|main| main.ended);
        if let Some((_, exit)) = ended {
            let mut result = ClassAd::new();
            self.publish_main(&mut result, now);
            publish_script(&mut result, "Post", self.post.as_ref());
            out.push(Action::Log(match self.evicted {
                true => LogEvent::Evicted { exit },
                false => LogEvent::Terminated {
                    exit,
                    cpu: (self.usage.user.as_secs(), self.usage.system.as_secs()),
                    core: self.core,
                },
            }));
            out.push(Action::WriteResultAd(long::print(&result)));
        } else if self.main.is_some() && self.evicted && self.quirks.has(Quirk::DockerFailureIsEviction) {
            // A container that was not started counts as a job that runs.
            let mut result = ClassAd::new();
            self.publish_main(&mut result, now);
            out.push(Action::Log(LogEvent::Evicted { exit: Exit::Code(0) }));
            out.push(Action::WriteResultAd(long::print(&result)));
        } else if let Some(at) = self.missed {
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
        if !self.quirks.has(Quirk::HooksKilledLast) {
            self.kill_calls(out);
        }
        if let Some(text) = self.fault(Moment::Removal).filter(|_| self.scratch_made) {
            self.report(StartFailure::new(text, 0, 0), out);
            return self.end_in_exception(out);
        }
        match self.scratch_made {
            true => out.push(Action::RemoveScratch),
            false => self.finish(out),
        }
    }

    /// Hooks that still run when the starter ends. 25.14 kills them last of all, without their directory by then.
    fn kill_calls(&mut self, out: &mut Vec<Action>) {
        // The runner gives those that remain a moment.
        let waited_for = self.calls.iter().filter(|(_, hook)| **hook != UPDATE_JOB_INFO.name());
        out.extend(waited_for.map(|(call, _)| Action::KillCall(*call)));
        out.push(Action::KillCalls);
        match self.quirks.has(Quirk::HooksKilledLast) {
            true => self.calls.clear(),
            // Their end is still told.
            false => self.calls.retain(|_, hook| *hook == UPDATE_JOB_INFO.name()),
        }
    }

    pub(super) fn scratch_removed(&mut self, now: Now, remains: &[PathBuf], out: &mut Vec<Action>) {
        if self.phase != Phase::Removing {
            return;
        }
        if let Some(first) = remains.first().filter(|_| !self.quirks.has(Quirk::UnremovableScratchSilent)) {
            let reason = format!("cannot remove {}", first.display());
            if self.tries_again(now, EndStep::Removal, &reason, out) {
                return;
            }
        }
        if !remains.is_empty() && !self.calls.is_empty() && self.quirks.has(Quirk::HooksKilledLast) {
            // One of them may have written there meanwhile.
            self.kill_calls(out);
            return out.push(Action::RemoveScratch);
        }
        for path in remains {
            let text = format!("cannot remove {}", path.display());
            out.push(Action::Tell(Notice::Warning(text)));
        }
        if !remains.is_empty() && !self.quirks.has(Quirk::UnremovableScratchSilent) {
            let reason = "what stays of the scratch directory is reported, with its modes as they were";
            Self::tell_quirk(Quirk::UnremovableScratchSilent, reason, out);
        }
        self.finish(out);
    }
}

/// What PreCmd or PostCmd tells of itself.
fn publish_script(ad: &mut ClassAd, prefix: &str, script: Option<&Process>) {
    let Some(script) = script else { return };
    let name = |name: &str| format!("{prefix}{name}");
    ad.set(name("JobPid").as_str(), i64::from(script.pid));
    ad.set(name("JobStartDate").as_str(), script.started.epoch());
    if let Some((ended, exit)) = script.ended {
        ad.set(name("JobDuration").as_str(), ending::seconds_between(script.started, ended));
        ending::publish_exit(ad, prefix, exit);
    }
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
