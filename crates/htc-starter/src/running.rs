//! The machine while the job runs: updates, requests, suspension, its end.

use bstr::BString;

use super::action::{Action, LogEvent, Notice};
use super::disk::ONLY_SHADOW;
use super::ending::{self, SIGTERM, SIGTRAP};
use super::event::{FamilyUsage, Request, ShadowReason, Vacate};
use super::exception::EXCEPTION;
use super::failure::StartFailure;
use super::kept::asked::{Fast, Hold, LastRequest, Removal};
use super::kept::job_run::{Ended, Measuring};
use super::kept::phase::Phase;
use super::limits::{self, OutOfMemory};
use super::machine::{Starter, UPDATE_JOB_INFO};
use super::settings::Moment;
use super::starter_hooks::shadow_reason_unseen;
use super::update_timer::Occasion;
use htc_base::job::{HoldCode, attr};
use htc_base::process::Exit;
use htc_base::quirks::Quirk;
use htc_base::time::Now;
use htc_classad::{ClassAd, Value};

impl Starter<'_> {
    pub(super) fn measure(&mut self, why: Measuring, out: &mut Vec<Action>) {
        self.run.measuring.push(why);
        out.push(Action::Measure);
    }

    /// The answer to the oldest open question.
    pub(super) fn measured(&mut self, now: Now, usage: FamilyUsage, out: &mut Vec<Action>) {
        if self.run.measuring.is_empty() {
            return;
        }
        let why = self.run.measuring.remove(0);
        if self.phase != Phase::Running {
            return;
        }
        self.run.usage = usage;
        match why {
            Measuring::Update { vacating } => {
                let since = if vacating { None } else { self.asked.vacate.take() };
                self.update(now, if vacating { Occasion::Change } else { Occasion::Time }, out);
                self.asked.vacate = self.asked.vacate.take().or(since);
            }
            Measuring::Suspended => out.push(Action::Log(LogEvent::Suspended { processes: usage.processes })),
            Measuring::Disk => {}
        }
        self.held_for_disk(now, out);
    }

    /// UPDATE_JOB_INFO and the update file.
    pub(super) fn update(&mut self, now: Now, occasion: Occasion, out: &mut Vec<Action>) {
        let mut update = ClassAd::new();
        self.publish_main(&mut update, now);
        if occasion == Occasion::Change {
            // `OsProc::JobReaper` asks the job's processes alone.
            ONLY_SHADOW.iter().for_each(|name| drop(update.remove(name)));
        }
        self.publish_vacate(&mut update);
        self.send_update(now, &update, occasion, out);
    }

    fn send_update(&mut self, now: Now, update: &ClassAd, occasion: Occasion, out: &mut Vec<Action>) {
        out.push(Action::WriteUpdateAd(htc_classad::format::long::print(update)));
        if let Some(path) = self.setup.hooks.update.clone() {
            let mut ad = self.ad.clone();
            ad.update(update);
            if occasion == Occasion::Change {
                // STARTER_UPDATE_INTERVAL over the default of STARTER_UPDATE_INTERVAL_TIMESLICE.
                let longest = self.setup.settings.update_interval.as_secs().saturating_mul(10);
                self.tell_shadow(i64::try_from(longest).unwrap_or(i64::MAX), &mut ad);
                self.untell_shadow(&mut ad);
            }
            self.call(now, (UPDATE_JOB_INFO, path, Vec::new()), &ad, out);
        }
    }

    /// What an update has for the shadow, and so for the hook: where the job runs, and when the next update comes at the latest, which
    /// is -1 before the first (`JICShadow::updateStartd`, `updateShadow`).
    pub(super) fn tell_shadow(&self, longest: i64, ad: &mut ClassAd) {
        if self.setup.moves.is_some() {
            let scratch = BString::from(self.setup.scratch.as_os_str().as_encoded_bytes());
            ad.set("CondorScratchDir", Value::from(scratch));
            ad.set("_condor_JOBINFO_MAXINTERVAL", longest);
        }
    }

    /// What the job's process tells of itself (`VanillaProc`, `OsProc`, `UserProc::PublishUpdateAd`).
    pub(super) fn publish_main(&mut self, ad: &mut ClassAd, now: Now) {
        let Some(process) = self.run.process else { return };
        self.run.java.publish(ad);
        // What docker runs is not a family of ours.
        match self.run.usage.docker {
            _ if !self.container.is_docker() => {
                self.run.meter.publish(
                    ad,
                    &self.run.usage,
                    &self.setup.settings.memory_usage_metric,
                    now.epoch(),
                );
            }
            Some(docker) => docker.publish(ad),
            None => {}
        }
        ad.update(&self.container.services);
        self.publish_disk(ad);
        if self.setup.moves.is_some() {
            let used = self.run.usage.user + self.run.usage.system;
            ad.set("CpusUsage", self.run.pace.look(used, now.tick()));
        }
        let state = match (process.ended, self.run.suspended) {
            (Some(_), _) => "Exited",
            (None, true) => "Suspended",
            (None, false) => "Running",
        };
        ad.set(attr::JOB_STATE, state);
        ad.set("NumPids", i64::from(self.run.usage.processes));
        if process.ended.is_some_and(|ended| ended.core) {
            ad.set(attr::JOB_CORE_DUMPED, true);
        }
        process.publish(ad, "");
    }

    pub(super) fn publish_vacate(&self, ad: &mut ClassAd) {
        if let Some(Vacate { reason, code, subcode }) =
            self.asked.vacate.as_ref().filter(|vacate| !vacate.reason.is_empty())
        {
            ad.set(attr::VACATE_REASON, reason.clone());
            ad.set(attr::VACATE_REASON_CODE, *code);
            ad.set(attr::VACATE_REASON_SUBCODE, *subcode);
        }
    }

    /// Signals and commands.
    pub(super) fn asked(&mut self, now: Now, request: Request, out: &mut Vec<Action>) {
        if matches!(request, Request::Graceful(_)) && self.faulted_by_shutdown(now, out) {
            return;
        }
        let request = match request {
            // For a person at a terminal the second one means it; 25.14 ignores it.
            Request::Graceful(vacate) if self.asked.graceful && !self.has(Quirk::SecondSigtermIgnored) => {
                Request::Fast(vacate)
            }
            other => other,
        };
        if self.notes(request, out) {
            self.end_where_it_is(now, out);
        }
    }

    /// Notes what is asked for; whether anything ends of it.
    fn notes(&mut self, request: Request, out: &mut Vec<Action>) -> bool {
        match request {
            Request::Suspend | Request::Continue => {
                self.suspend(request == Request::Suspend, out);
                return false;
            }
            Request::Update if self.phase == Phase::Running => {
                self.measure(Measuring::Update { vacating: self.asked.vacate.is_some() }, out);
                return false;
            }
            Request::Update => return false,
            Request::ForShadow(reason) => {
                self.note_shadow_reason(reason, out);
                return false;
            }
            Request::Graceful(Some(vacate)) if vacate.holds() => {
                self.asked.last = LastRequest::Hold;
                self.note_hold(vacate, out);
            }
            Request::Fast(Some(vacate)) if vacate.holds() => {
                if self.asked.is_fast() {
                    return false;
                }
                self.asked.fast = Fast::ForHold;
                self.asked.graceful_until = None;
                self.note_hold(vacate, out);
            }
            Request::Graceful(vacate) => {
                if self.asked.graceful || self.asked.is_fast() {
                    return false;
                }
                self.asked.graceful = true;
                self.asked.last = LastRequest::Graceful;
                self.asked.vacate = vacate.or(self.asked.vacate.take());
            }
            Request::Fast(vacate) => {
                if std::mem::replace(&mut self.asked.fast, Fast::Yes) != Fast::No {
                    // Docker was asked to end the container and what stands for it stays: it is ended itself.
                    if self.phase == Phase::Running
                        && self.container.is_docker()
                        && !self.has(Quirk::DockerEndUnforced)
                    {
                        out.push(Action::KillFamily);
                    }
                    return false;
                }
                self.asked.graceful_until = None;
                self.asked.vacate = vacate.or(self.asked.vacate.take());
            }
            Request::Remove(why) => {
                (self.asked.removal, self.asked.last) = (Some(Removal::ForGood), LastRequest::Remove);
                self.asked.vacate = why.or(self.asked.vacate.take());
            }
            Request::Requeue => {
                let removal = self.asked.removal.unwrap_or(Removal::Requeued);
                (self.asked.removal, self.asked.last) = (Some(removal), LastRequest::Remove);
            }
            Request::Hold(why) => {
                (self.asked.hold, self.asked.last) = (Hold::Told, LastRequest::Hold);
                self.asked.vacate = why.or(self.asked.vacate.take());
            }
        }
        true
    }

    /// The end comes, as far as the job has got.
    fn end_where_it_is(&mut self, now: Now, out: &mut Vec<Action>) {
        if self.asked.any() && !self.asked.is_fast() && self.asked.graceful_until.is_none() {
            self.asked.graceful_until = Some(now.tick().plus(self.setup.settings.graceful_timeout));
        }
        match self.phase {
            Phase::New | Phase::Scratch { .. } | Phase::Starting => {}
            Phase::Moving(way) => self.asked_while_moving(now, way, out),
            Phase::Running => self.end_job(now, out),
            Phase::Container => {
                if let Some(call) = self.container.call.filter(|_| self.container.is_preparing()) {
                    out.push(Action::KillCall(call));
                }
            }
            // A script is neither signalled nor waited for; it ends with the starter (c12 051 to 054).
            Phase::PreScript if self.scripts.pre.is_some() => {
                out.push(Action::KillFamily);
                self.end_unstarted(now, out);
            }
            Phase::PostScript if self.scripts.post.is_some() => {
                out.push(Action::KillFamily);
                self.all_jobs_done(now, out);
            }
            Phase::Preparing { .. } | Phase::Deferred { .. } | Phase::PreScript => {
                let deferred =
                    matches!(self.phase, Phase::Deferred { .. }) && self.setup.hooks.exit.is_some();
                self.end_unstarted(now, out);
                if deferred {
                    Self::tell_quirk(Quirk::DeferredVacateCrashes, "JOB_EXIT is waited for", out);
                }
            }
            Phase::PostScript => self.all_jobs_done(now, out),
            Phase::Exiting { late: true, .. } => self.end_late(now, out),
            Phase::Again { step, .. } => self.step_asked_for(now, step, out),
            Phase::Exiting { .. } | Phase::Removing | Phase::Finished => {}
        }
    }

    /// SHUTDOWN_GRACEFUL_TIMEOUT, which 25.14 reads now.
    fn faulted_by_shutdown(&mut self, now: Now, out: &mut Vec<Action>) -> bool {
        match self.phase {
            Phase::Running => self.faulted_with_job(Moment::Shutdown, out),
            Phase::Exiting { .. } | Phase::Again { .. } | Phase::Removing | Phase::Finished => false,
            _ => self.faulted(now, Moment::Shutdown, out),
        }
    }

    /// A hold by the slot: 25.14 puts neither the reason nor the code into the ad, and JOB_EXIT hears of none.
    fn note_hold(&mut self, vacate: Vacate, out: &mut Vec<Action>) {
        let unnoticed = self.setup.quirks.decide(Quirk::SlotHoldUnnoticed);
        if unnoticed.as_reference {
            self.asked.hold = self.asked.hold.max(Hold::Unnoticed);
            return;
        }
        (self.asked.hold, self.asked.vacate) = (Hold::Told, Some(vacate));
        if self.setup.hooks.exit.is_some() {
            Self::tell_quirk(unnoticed.quirk, "JOB_EXIT gets `hold` and the reason", out);
        }
    }

    /// Notes that a shadow holds or removes the job: JOB_EXIT is called with that word, as the manual has it.
    fn note_shadow_reason(&mut self, reason: ShadowReason, out: &mut Vec<Action>) {
        let unseen = shadow_reason_unseen(self.setup.quirks);
        if unseen.as_reference {
            return;
        }
        self.asked.for_shadow = Some(reason);
        let called = matches!(
            self.phase,
            Phase::Exiting { .. } | Phase::Again { .. } | Phase::Removing | Phase::Finished
        );
        if self.setup.hooks.exit.is_some() && !called {
            let instead = match reason {
                ShadowReason::Hold => "JOB_EXIT gets `hold`",
                ShadowReason::Remove => "JOB_EXIT gets `remove`",
            };
            Self::tell_quirk(unseen.quirk, instead, out);
        }
    }

    /// Ends the running job as the strongest request wants it.
    pub(super) fn end_job(&mut self, now: Now, out: &mut Vec<Action>) {
        if self.asked.is_fast() {
            match self.container.names().cloned() {
                Some(names) => self.side_call(names.kill(9), out),
                None => out.push(Action::KillFamily),
            }
            return;
        }
        let world = self.frozen(now);
        let signal = |name: &str| ending::kill_signal(&self.ad, name, &world);
        let soft = signal(attr::KILL_SIG).unwrap_or(SIGTERM);
        let removal = signal(attr::REMOVE_KILL_SIG);
        let instead = "KillSig is sent, not RemoveKillSig";
        let sent = match self.asked.last {
            LastRequest::Remove => removal.unwrap_or(SIGTERM),
            LastRequest::Hold => signal(attr::HOLD_KILL_SIG).unwrap_or(SIGTERM),
            LastRequest::Graceful => match removal {
                Some(removal)
                    if removal != soft && self.has_or_tells(Quirk::SoftKillRemoveSignal, instead, out) =>
                {
                    removal
                }
                _ => soft,
            },
        };
        let stopped = std::mem::take(&mut self.run.suspended);
        if stopped && self.is_suspended_at_exec(now) {
            Self::tell_quirk(Quirk::SuspendedAtExecHangs, "the job goes on and is signalled", out);
        }
        match self.container.names().cloned() {
            Some(names) => {
                if stopped {
                    self.stop_family(false, out);
                }
                self.side_call(names.kill(sent), out);
            }
            None => {
                // Before it goes on, so that it sees this one first (c39 k22 to k24).
                out.push(Action::SignalJob(sent));
                if stopped {
                    self.stop_family(false, out);
                }
            }
        }
    }

    /// Stops the job, or lets it go on.
    pub(super) fn stop_family(&mut self, stop: bool, out: &mut Vec<Action>) {
        match self.container.names().cloned() {
            Some(names) => self.side_call(names.pause(stop), out),
            None if stop => out.push(Action::StopFamily),
            None => out.push(Action::ContinueFamily),
        }
    }

    /// Stops the job, or lets it go on, and tells it.
    fn suspend(&mut self, stop: bool, out: &mut Vec<Action>) {
        if self.run.suspended == stop {
            return;
        }
        self.run.suspended = stop;
        if self.phase == Phase::Running {
            self.stop_family(stop, out);
            out.push(Action::Tell(Notice::JobSuspended(stop)));
            match stop {
                true => self.measure(Measuring::Suspended, out),
                false => out.push(Action::Log(LogEvent::Continued)),
            }
        }
    }

    /// The job or a script ended.
    pub(super) fn process_ended(
        &mut self,
        ended: Ended,
        usage: FamilyUsage,
        wrapper_failure: Option<BString>,
        out: &mut Vec<Action>,
    ) {
        let now = ended.at;
        match self.phase {
            Phase::PreScript => self.pre_script_ended(now, ended, out),
            Phase::PostScript => self.post_script_ended(now, ended, out),
            Phase::Running if self.container.is_docker() => self.docker_ended(ended.exit, usage, out),
            Phase::Running => self.job_ended(ended, usage, wrapper_failure, out),
            Phase::Exiting { late: true, .. } => self.ended_late(now, ended, usage, out),
            _ => {}
        }
    }

    /// How a job ended that its namespace's first process told of. 25.14 does not ask for it once its end was asked for
    /// (`pidNameSpaceReaper`).
    pub(super) fn true_exit(&self, exit: Exit, inside: Option<Exit>) -> Exit {
        match inside {
            Some(_) if self.asked.any() && self.has(Quirk::PidnsEvictedIsZero) => Exit::Code(0),
            Some(inside) => inside,
            None => exit,
        }
    }

    fn pre_script_ended(&mut self, now: Now, ended: Ended, out: &mut Vec<Action>) {
        if let Some(pre) = &mut self.scripts.pre {
            pre.ended = Some(ended);
        }
        if self.breaks_script_promise(now, "Pre", ended.exit) {
            let failure = self.held_by_script("Pre script failed.", HoldCode::PreScriptFailed.number());
            self.update_of_script(now, ended.exit, out);
            return self.not_started(now, failure, out);
        }
        match self.asked.any() {
            true => self.end_unstarted(now, out),
            false => {
                // What it told of itself is forgotten now (`Starter::Reaper` deletes it).
                self.scripts.pre = None;
                self.start_job(now, out);
            }
        }
    }

    /// Whether the ad promises another end of a script.
    fn breaks_script_promise(&self, now: Now, prefix: &str, exit: Exit) -> bool {
        let promised = ending::promised_status(&self.ad, prefix, &self.frozen(now));
        promised.is_some_and(|status| status != i64::from(exit.to_raw()))
    }

    /// A script did not end as promised: a shadow holds the job, and nobody else is told (`holdJob` of `jic_shadow.cpp`, `jic_local.cpp`).
    fn held_by_script(&self, text: &str, code: i64) -> StartFailure {
        StartFailure { silent: self.setup.moves.is_none(), ..StartFailure::new(text, code, 0) }
    }

    /// The update after a script that did not end as promised; its exit code stands there as the job's too.
    fn update_of_script(&mut self, now: Now, exit: Exit, out: &mut Vec<Action>) {
        let mut update = ClassAd::new();
        self.scripts.publish(&mut update);
        self.publish_disk(&mut update);
        if let Exit::Code(code) = exit {
            update.set("ExitCode", i64::from(code));
        }
        self.send_update(now, &update, Occasion::Change, out);
    }

    fn post_script_ended(&mut self, now: Now, ended: Ended, out: &mut Vec<Action>) {
        if let Some(post) = &mut self.scripts.post {
            post.ended = Some(ended);
        }
        if self.breaks_script_promise(now, "Post", ended.exit) {
            self.update_of_script(now, ended.exit, out);
            self.asked.end_fast();
            let failure = self.held_by_script("Post script failed.", HoldCode::PostScriptFailed.number());
            self.report(failure, out);
        }
        self.all_jobs_done(now, out);
    }

    /// The kernel killed the job, or one of its processes, for its memory; true where that is the end of everything.
    fn ran_out_of_memory(&mut self, now: Now, out: &mut Vec<Action>) -> bool {
        self.update(now, Occasion::Change, out);
        if let Some(failure) = self.setup.settings.groups.fault_out_of_memory() {
            self.run.process = None;
            self.end_with_job(failure, out);
            return true;
        }
        let always = self.setup.settings.groups.always_hold;
        let (text, code, subcode) =
            match limits::out_of_memory(self.run.memory_mib, self.run.usage.max_image_kib, always) {
                OutOfMemory::Held(text) => (text, HoldCode::JobOutOfResources.number(), 102),
                OutOfMemory::OfMachine => ("Worker node is out of memory".to_owned(), 0, 0),
            };
        let held = code != 0;
        out.push(Action::Tell(Notice::Warning(text.clone())));
        if self.has(Quirk::MemoryHoldLost) {
            // Without a shadow a hold is nothing, and the other way out calls no hook.
            if !held {
                self.run.process = None;
                self.report(StartFailure::new(text, code, subcode), out);
                self.remove_scratch(out);
            }
            return !held;
        }
        match held {
            true => self.asked.hold = Hold::Told,
            false => self.asked.end_fast(),
        }
        self.asked.vacate = Some(Vacate { reason: text.clone().into(), code, subcode });
        self.report(StartFailure::new(text, code, subcode), out);
        false
    }

    /// Nothing of the job is looked at any more.
    pub(super) fn stop_looking(&mut self) {
        self.run.measuring.clear();
        self.run.update_due = None;
        self.asked.graceful_until = None;
    }

    pub(super) fn job_ended(
        &mut self,
        ended: Ended,
        usage: FamilyUsage,
        wrapper_failure: Option<BString>,
        out: &mut Vec<Action>,
    ) {
        let now = ended.at;
        self.stop_looking();
        self.run.usage = usage;
        if self.never_launched(now, out) {
            return;
        }
        if usage.out_of_memory && !self.asked.any() && self.ran_out_of_memory(now, out) {
            return;
        }
        // Sent while the process still counts as running (`OsProc::JobReaper`).
        self.update(now, Occasion::Change, out);
        if let Some(text) = wrapper_failure {
            self.run.process = None;
            self.closing.status = EXCEPTION;
            self.closing.excepted = true;
            let text = format!("The job wrapper failed to execute the job: {text}");
            return self.not_started(now, StartFailure::new(text, 0, 0), out);
        }
        self.run.suspended = false;
        self.run.ends(ended);
        let exit = ended.exit;
        self.run.evicted = self.asked.any() || self.run.java.failed;
        self.note_exit(exit);
        let asked = self.asked.any().then(|| self.asked.word());
        if asked.is_none() && matches!(exit, Exit::Signal { number: SIGTRAP, .. }) {
            Self::tell_quirk(Quirk::SigtrapHangs, "the job has ended", out);
        }
        out.push(Action::Tell(Notice::JobEnded { exit, asked }));
        if asked.is_none() && ending::is_checkpoint_exit(&self.ad, exit, &self.frozen(now)) {
            if self.has_checkpoints() {
                return self.upload_checkpoint(out);
            }
            if self.setup.moves.is_some() {
                return self.go_on_unsaved(now, out);
            }
            let reason = "the checkpoint exit ends the job: without a shadow nothing can be uploaded";
            Self::tell_quirk(Quirk::CheckpointExitLoops, reason, out);
        }
        match self.script(now, "Post") {
            Ok(Some(process)) => {
                self.phase = Phase::PostScript;
                out.push(Action::StartProcess(Box::new(process)));
            }
            Ok(None) => self.all_jobs_done(now, out),
            Err(failure) => {
                self.report(failure, out);
                self.all_jobs_done(now, out);
            }
        }
    }
}
