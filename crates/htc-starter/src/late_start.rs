//! A job that 25.14 starts when it is too late (quirk `job-started-while-ending`).
//!
//! A job that is to end while PREPARE_JOB runs gets its JOB_EXIT at once, and PREPARE_JOB runs on. When that one ends while
//! JOB_EXIT still runs, 25.14 goes on as if nothing had happened: `HookPrepareJobClient::hookExited` does not ask.

use bstr::BString;

use super::action::{Action, LogEvent, Notice};
use super::ending::{self, Deferral};
use super::event::FamilyUsage;
use super::failure::StartFailure;
use super::kept::job_run::{Ended, Process};
use super::kept::phase::Phase;
use super::kept::usage::{Meter, Pace};
use super::machine::{PREPARE_JOB, Starter};
use super::prepare::{self, Answer};
use super::update_timer::Occasion;
use htc_base::quirks::Quirk;
use htc_base::time::Now;

impl Starter<'_> {
    /// PREPARE_JOB ended while JOB_EXIT runs.
    pub(super) fn prepared_late(&mut self, now: Now, answer: &Answer<'_>, out: &mut Vec<Action>) {
        let path: BString = self.setup.hooks.prepare.clone().unwrap_or_default();
        let answer = Answer { cut: false, ..*answer };
        let prepared = prepare::judge(PREPARE_JOB.name(), &path, &answer, &self.frozen(now));
        if !prepared.goes_on() {
            return;
        }
        if !self.has_or_tells(Quirk::JobStartedWhileEnding, "the job is not started any more", out) {
            return;
        }
        if prepared.is_reported() {
            let failure = StartFailure::new(prepared.text.clone(), prepared.hold_code(), prepared.status);
            out.push(Action::Log(LogEvent::Error { failure, critical: false }));
        }
        self.ad.update(&prepared.update);
        if ending::deferral(&self.ad, &self.id(), now.epoch(), &self.frozen(now)) != Deferral::Now {
            return;
        }
        let Phase::Exiting { call, until, .. } = self.phase else { return };
        self.start_job(now, out);
        if self.phase == Phase::Starting {
            self.phase = Phase::Exiting { call, until, late: true };
        }
    }

    /// The late job runs.
    pub(super) fn started_late(&mut self, now: Now, process: Process, out: &mut Vec<Action>) {
        out.push(Action::Log(LogEvent::Execute));
        out.push(Action::Tell(Notice::JobStarted { pid: process.pid }));
        self.note_renice();
        self.run.meter = Meter::new(now.epoch(), self.setup.settings.statistics_window);
        self.run.pace = Pace::new(now.tick());
        self.run.starts(process);
    }

    /// It could not be started.
    pub(super) fn failed_late(&mut self, failures: Vec<StartFailure>, out: &mut Vec<Action>) {
        out.push(Action::Log(LogEvent::Execute));
        failures.into_iter().for_each(|failure| self.report(failure, out));
    }

    /// It ended before JOB_EXIT did, whose result is waited for all the same.
    pub(super) fn ended_late(&mut self, now: Now, ended: Ended, usage: FamilyUsage, out: &mut Vec<Action>) {
        self.run.usage = usage;
        self.update(now, Occasion::Change, out);
        self.run.ends(ended);
        out.push(Action::Tell(Notice::JobEnded { exit: ended.exit, asked: None }));
    }

    /// Somebody asks for its end once more.
    pub(super) fn end_late(&mut self, now: Now, out: &mut Vec<Action>) {
        if self.run.alive().is_some() {
            self.run.evicted = true;
            self.end_job(now, out);
        }
    }
}
