//! The end of a run: done, again, held or gone.

use bstr::BString;

use super::machine::{Action, Fate, Shadow};
use super::queue::name_of_code;
use crate::job::JobStatus;
use crate::process::Exit;
use crate::time::Now;
use crate::user_log::{Body, Ending, Evicted, ResourceTable, Share, Terminated, UsageTime};
use crate::user_policy::{self, Fired};

/// Reasons why a job leaves its slot (`VacateReasonCode`).
pub(super) const JOB_POLICY: i64 = 1000;
const STARTER_SIGNALLED: i64 = 1005;
/// An error without a hold code (`pseudo_ulog`).
pub(super) const STARTER_ERROR: i64 = 1007;
const NOT_FOUND: i64 = 1008;

impl Shadow<'_> {
    /// The starter has ended.
    pub(super) fn ended(
        &mut self,
        now: Now,
        (exit, asked): (Option<Exit>, bool),
        reason: Option<String>,
        last: bool,
        out: &mut Vec<Action>,
    ) {
        out.push(Action::WakeAt(None));
        let ran = self.started.map_or(0, |started| now.epoch() - started.epoch());
        let before = crate::classad::Context::new(self.world).my(&self.ad).real("RemoteWallClockTime");
        self.ad.set("LastRemoteWallClockTime", ran as f64);
        self.ad.set("RemoteWallClockTime", before.unwrap_or(0.0) + ran as f64);
        if self.began && !self.deaf {
            // From 1970 on where nobody told of the end of its process, as in the reference (`resourceExit`).
            self.ad.set("ActivationDuration", ran);
            self.ad.set("ActivationTeardownDuration", now.epoch() - self.exited.unwrap_or(0));
        }
        if last {
            // A person wants no further run.
            self.until = super::machine::Until::Runs(self.runs);
        }
        match self.fate.take() {
            Some(Fate::Hold { reason, code, subcode }) => self.hold(now, (reason, code, subcode), out),
            Some(Fate::Remove(reason)) => self.removed(now, &reason, out),
            Some(Fate::RemoveEvicted { reason, code }) => {
                if !self.local {
                    self.evict(now, (reason.clone(), code, 0), out);
                }
                self.removed(now, &reason, out);
            }
            Some(Fate::Vacate { reason, code }) => {
                self.evict(now, (reason, code, 0), out);
                self.again(now, true, out);
            }
            Some(Fate::Failed { reason, code, subcode }) => {
                if !self.local {
                    self.evict(now, (reason.clone(), code, subcode), out);
                }
                // `shouldHoldJobBasedOnCodes`
                match code != 0 && code < 1000 && subcode > -1000 {
                    true => self.hold(now, (reason, code, subcode), out),
                    false => self.again(now, true, out),
                }
            }
            None => match exit {
                Some(exit) if !asked => self.completed(now, exit, out),
                Some(_) => {
                    self.evict(now, ("Unspecified job interruption".into(), STARTER_SIGNALLED, 0), out);
                    self.again(now, true, out);
                }
                None if asked => {
                    self.evict(now, ("Unspecified job interruption".into(), STARTER_SIGNALLED, 0), out);
                    self.again(now, true, out);
                }
                None => self.lost(now, reason, out),
            },
        }
    }

    /// The starter ended without a word: the shadow looks for it, and finds nobody.
    fn lost(&mut self, now: Now, reason: Option<String>, out: &mut Vec<Action>) {
        if self.local {
            out.extend(reason.map(Action::Tell));
            return self.again(now, true, out);
        }
        if reason.is_some() {
            // Why, the starter has said itself.
            out.push(Action::Tell("the starter ended without a word to the shadow".to_owned()));
        }
        let (startd, address) = (self.slot.clone(), self.address.clone());
        let text = "Socket between submit and execute hosts closed unexpectedly";
        Self::log(Body::Disconnected { reason: text.into(), startd: startd.clone(), address }, out);
        let text = BString::from("Job not found at execution machine");
        Self::log(Body::ReconnectFailed { reason: text.clone(), startd }, out);
        self.evict(now, (text, NOT_FOUND, 0), out);
        self.again(now, true, out);
    }

    /// The table of resources, which only a shadow writes.
    fn table(&self) -> Option<ResourceTable> {
        if self.local { None } else { ResourceTable::of_job(&self.ad, self.world) }
    }

    fn share(&self, prefix: &str) -> Share {
        let cpu = |name: &str| {
            let name = format!("{prefix}{name}");
            let value = crate::classad::Context::new(self.world).my(&self.ad).real(name);
            value.unwrap_or(0.0) as i64
        };
        let remote = UsageTime { user: cpu("RemoteUserCpu"), system: cpu("RemoteSysCpu") };
        Share { remote, sent: self.sent as f64, received: self.received as f64, ..Share::default() }
    }

    /// Event 004, and what the queue remembers of it.
    fn evict(&mut self, now: Now, (reason, code, subcode): (BString, i64, i64), out: &mut Vec<Action>) {
        let small = |number: i64| i32::try_from(number).unwrap_or(0);
        let run = Share { sent: 0.0, received: 0.0, ..self.share("") };
        let body = Evicted {
            code: (small(code), small(subcode)),
            run,
            reason: reason.clone(),
            resources: self.table(),
            ..Evicted::default()
        };
        Self::log(Body::Evicted(Box::new(body)), out);
        self.ad.set("VacateReason", reason);
        self.ad.set("VacateReasonCode", code);
        self.ad.set("VacateReasonSubCode", subcode);
        self.ad.set("LastVacateTime", now.epoch());
        self.count("NumVacates");
        self.count_by("NumVacatesByReason", name_of_code(code));
    }

    /// The job ran to its end: its policy says what that means.
    fn completed(&mut self, now: Now, exit: Exit, out: &mut Vec<Action>) {
        let cumulative =
            [("RemoteUserCpu", "CumulativeRemoteUserCpu"), ("RemoteSysCpu", "CumulativeRemoteSysCpu")];
        for (name, total) in cumulative {
            let real =
                |name: &str| crate::classad::Context::new(self.world).my(&self.ad).real(name).unwrap_or(0.0);
            let sum = real(name) + real(total);
            self.ad.set(total, sum);
        }
        self.count("NumJobCompletions");
        let dumped = crate::classad::Context::new(self.world).my(&self.ad).boolean("JobCoreDumped");
        if dumped == Some(true) && !self.local {
            // What it would be called, wherever the job's file lies (`BaseShadow::init`, `terminateJob`).
            let id = [self.int("ClusterId"), self.int("ProcId")].map(Option::unwrap_or_default);
            let iwd = self.string("Iwd").unwrap_or_default();
            self.ad.set("JobCoreFileName", BString::from(format!("{iwd}/core.{}.{}", id[0], id[1])));
        }
        let frozen = self.frozen(now);
        if let Some(fired) = user_policy::periodic(&self.ad, self.knobs, &frozen) {
            return match fired {
                Fired::Hold { reason, code, subcode } => {
                    self.hold(now, (reason, i64::from(code as u16), subcode), out);
                }
                Fired::Remove(reason) => self.removed(now, &reason, out),
            };
        }
        if let Some(why) = user_policy::hold_at_exit(&self.ad, self.knobs, &frozen) {
            return self.hold(now, (why.reason, i64::from(why.code as u16), why.subcode), out);
        }
        let ending = match exit {
            Exit::Code(code) => Ending::Exited(code.into()),
            Exit::Signal { number, .. } => Ending::Signalled(number, self.string("JobCoreFileName")),
        };
        if let Some(reason) = user_policy::stays_at_exit(&self.ad, &frozen) {
            let run = Share { sent: 0.0, received: 0.0, ..self.share("") };
            let body = Evicted { requeued: Some(ending), run, reason: reason.clone(), ..Evicted::default() };
            Self::log(Body::Evicted(Box::new(body)), out);
            self.ad.set("RequeueReason", reason);
            return self.again(now, false, out);
        }
        let real =
            |name: &str| crate::classad::Context::new(self.world).my(&self.ad).real(name).unwrap_or(0.0);
        let total =
            Share { sent: real("BytesSent"), received: real("BytesRecvd"), ..self.share("Cumulative") };
        let resources = self.table();
        let body = Terminated { ending, run: self.share(""), total, resources };
        Self::log(Body::Terminated(Box::new(body)), out);
        self.set_status(now, JobStatus::COMPLETED);
        self.ad.set("CompletionDate", now.epoch());
        self.leave_slot();
        self.finish(out);
    }
}
