//! The end of a run: done, again, held or gone.

use bstr::BString;

use super::event::{Ended, Why};
use super::machine::{Action, Fate, Shadow};
use super::queue::name_of_code;
use htc_base::job::{HoldCode, JobStatus};
use htc_base::process::Exit;
use htc_base::time::Now;
use htc_classad::Context;
use htc_hook::user_policy::{self, Fired};
use htc_user_log::{Body, Ending, Evicted, ResourceTable, Share, Terminated, UsageTime};

impl Shadow<'_> {
    /// The starter has ended.
    pub(super) fn ended(&mut self, now: Now, end: Ended, out: &mut Vec<Action>) {
        out.push(Action::WakeAt(None));
        let ran = self.count_time(now);
        if !self.setup.local {
            self.tell_of_transfers();
            self.note_end();
        }
        if self.this_run.executing.is_some() && !self.this_run.deaf {
            // From 1970 on where nobody told of the end of its process, as in the reference (`resourceExit`).
            self.ad.set("ActivationDuration", ran);
            self.ad.set("ActivationTeardownDuration", now.epoch() - self.this_run.exited.unwrap_or(0));
        }
        if end.last {
            // A person wants no further run.
            self.setup.until = super::machine::Until::Runs(self.runs);
        }
        let fate = self.this_run.fate.take();
        if self.setup.local {
            return self.ended_locally(now, fate, end, out);
        }
        match fate {
            Some(Fate::Hold(why)) => self.hold(now, why, out),
            Some(Fate::Remove(reason)) => self.removed(now, &reason, out),
            Some(Fate::RemoveEvicted { reason, code }) => {
                self.evict(now, Why::new(reason.clone(), code), out);
                self.removed(now, &reason, out);
            }
            Some(Fate::Vacate(why)) => {
                self.evict(now, why, out);
                self.again(now, true, out);
            }
            Some(Fate::Failed(why)) => {
                self.evict(now, why.clone(), out);
                // `shouldHoldJobBasedOnCodes`
                match why.code != 0 && why.code < 1000 && why.subcode > -1000 {
                    true => self.hold(now, why, out),
                    false => self.again(now, true, out),
                }
            }
            None => match end.exit {
                Some(exit) if !end.asked => self.completed(now, exit, out),
                None if !end.asked => self.lost(now, end.reason, out),
                _ => {
                    self.evict(
                        now,
                        Why::new("Unspecified job interruption", HoldCode::JobShouldRequeue.number()),
                        out,
                    );
                    self.again(now, true, out);
                }
            },
        }
    }

    /// How the job ended, unless an error ended its shadow before it heard of that.
    fn note_end(&mut self) {
        let end = std::mem::take(&mut self.this_run.end);
        if self.this_run.gone.is_none() || self.this_run.heard_end {
            self.ad.update(&end);
        }
    }

    /// How long the job had its slot (`update_remote_wall_clock`), added to what the queue counts.
    pub(super) fn count_time(&mut self, now: Now) -> i64 {
        let ran = self.this_run.started.map_or(0, |started| now.epoch() - started.epoch());
        let before = self.context().real("RemoteWallClockTime");
        self.ad.set("LastRemoteWallClockTime", ran as f64);
        self.ad.set("RemoteWallClockTime", before.unwrap_or(0.0) + ran as f64);
        let slot_time = self.context().real("CumulativeSlotTime").unwrap_or(0.0);
        self.ad.set("CumulativeSlotTime", slot_time + self.weight() * ran as f64);
        ran
    }

    /// The starter ended without a word: the shadow looks for it, and finds nobody.
    fn lost(&mut self, now: Now, reason: Option<String>, out: &mut Vec<Action>) {
        if reason.is_some() {
            // Why, the starter has said itself.
            out.push(Action::Tell("the starter ended without a word to the shadow".to_owned()));
        }
        let (startd, address) = (self.setup.slot.clone(), self.setup.address.clone());
        let text = "Socket between submit and execute hosts closed unexpectedly";
        Self::log(Body::Disconnected { reason: text.into(), startd: startd.clone(), address }, out);
        let text = BString::from("Job not found at execution machine");
        Self::log(Body::ReconnectFailed { reason: text.clone(), startd }, out);
        self.evict(now, Why::new(text, HoldCode::ReconnectFailed.number()), out);
        self.again(now, true, out);
    }

    fn table(&self) -> Option<ResourceTable> {
        // The schedd lists the slot's resources in what it hands the shadow.
        let listed = self
            .given
            .get("ProvisionedResources")
            .or_else(|| self.setup.slot_ad.as_ref()?.get("MachineResources"));
        let Some(listed) = listed else { return ResourceTable::of_job(&self.ad, self.setup.world) };
        let mut ad = self.ad.clone();
        ad.insert("ProvisionedResources", listed);
        ResourceTable::of_job(&ad, self.setup.world)
    }

    fn share(&self, prefix: &str) -> Share {
        let cpu = |name: &str| {
            let name = format!("{prefix}{name}");
            let value = self.context().real(name);
            value.unwrap_or(0.0) as i64
        };
        let remote = UsageTime { user: cpu("RemoteUserCpu"), system: cpu("RemoteSysCpu") };
        Share {
            remote,
            sent: self.this_run.sent as f64,
            received: self.this_run.received as f64,
            ..Share::default()
        }
    }

    /// Event 004, and what the queue remembers of it.
    fn evict(&mut self, now: Now, why: Why, out: &mut Vec<Action>) {
        let run = Share { sent: 0.0, received: 0.0, ..self.share("") };
        let body = Evicted {
            code: why.codes(),
            run,
            reason: why.reason.clone(),
            resources: self.table(),
            ..Evicted::default()
        };
        Self::log(Body::Evicted(Box::new(body)), out);
        self.note_vacate(now, why);
    }

    /// What the queue remembers of a job that has left its slot before its end.
    pub(super) fn note_vacate(&mut self, now: Now, why: Why) {
        let Why { reason, code, subcode } = why;
        self.ad.set("VacateReason", reason);
        self.ad.set("VacateReasonCode", code);
        self.ad.set("VacateReasonSubCode", subcode);
        self.ad.set("LastVacateTime", now.epoch());
        self.count("NumVacates");
        let mut names = vec![name_of_code(code).to_owned()];
        if let Some(protocol) = self.this_run.protocol.take() {
            names.push(format!("{}{protocol}", names[0]));
        }
        names.iter().for_each(|name| self.count_by("NumVacatesByReason", name));
        // Before it began to run in this run (`SetAttribute` of VacateReasonCode).
        let (began, born) = (self.int("JobCurrentStartExecutingDate"), self.int("ShadowBday"));
        if began.is_none_or(|began| born.is_some_and(|born| born > began)) {
            self.count("NumVacatesPreExecution");
            names.iter().for_each(|name| self.count_by("NumVacatesByReasonPreExecution", name));
        }
    }

    /// The job ran to its end: its policy says what that means.
    fn completed(&mut self, now: Now, exit: Exit, out: &mut Vec<Action>) {
        self.count("NumJobCompletions");
        let dumped = self.context().boolean("JobCoreDumped");
        if dumped == Some(true) {
            // What it would be called, wherever the job's file lies (`BaseShadow::init`, `terminateJob`).
            let id = [self.int("ClusterId"), self.int("ProcId")].map(Option::unwrap_or_default);
            let iwd = self.string("Iwd").unwrap_or_default();
            self.ad.set("JobCoreFileName", BString::from(format!("{iwd}/core.{}.{}", id[0], id[1])));
        }
        self.leave(now, exit, out);
    }

    /// What its policy makes of a job that has ended.
    pub(super) fn leave(&mut self, now: Now, exit: Exit, out: &mut Vec<Action>) {
        let frozen = self.frozen(now);
        match user_policy::periodic(&self.ad, self.setup.knobs, &frozen) {
            Some(Fired::Hold { reason, code, subcode }) => {
                return self.hold(now, Why { reason, code: code as i64, subcode }, out);
            }
            // It leaves the queue as one that is done (`ShadowUserPolicy::doAction`).
            Some(Fired::Remove(_)) => return self.terminated(now, exit, out),
            None => {}
        }
        if let Some(why) = user_policy::hold_at_exit(&self.ad, self.setup.knobs, &frozen) {
            return self.hold(now, why.into(), out);
        }
        if let Some(reason) = user_policy::stays_at_exit(&self.ad, &frozen) {
            let run = Share { sent: 0.0, received: 0.0, ..self.share("") };
            let requeued = Some(self.ending(exit));
            let body = Evicted { requeued, run, reason: reason.clone(), ..Evicted::default() };
            Self::log(Body::Evicted(Box::new(body)), out);
            self.ad.set("RequeueReason", reason);
            return self.again(now, false, out);
        }
        self.terminated(now, exit, out);
    }

    fn ending(&self, exit: Exit) -> Ending {
        match exit {
            Exit::Code(code) => Ending::Exited(code.into()),
            Exit::Signal { number, .. } => Ending::Signalled(number, self.string("JobCoreFileName")),
        }
    }

    /// The job leaves the queue as one that is done (`BaseShadow::terminateJob`).
    fn terminated(&mut self, now: Now, exit: Exit, out: &mut Vec<Action>) {
        self.ad.set("TerminationPending", true);
        self.commit(now);
        let real = |name: &str| self.context().real(name).unwrap_or(0.0);
        let total =
            Share { sent: real("BytesSent"), received: real("BytesRecvd"), ..self.share("Cumulative") };
        let resources = self.table();
        let body = Terminated { ending: self.ending(exit), run: self.share(""), total, resources };
        Self::log(Body::Terminated(Box::new(body)), out);
        self.done(now, out);
    }

    /// What the job ran since it began or wrote its last checkpoint was not in vain.
    fn commit(&mut self, now: Now) {
        let int = |name: &str| self.int(name);
        let checkpoint = int("LastCkptTime").or(self.this_run.checkpoint).unwrap_or(0);
        let since = checkpoint.max(int("JobCurrentStartDate").unwrap_or(0));
        if since > 0 {
            let ran = now.epoch() - since;
            let slot_time = self.context().real("CommittedSlotTime").unwrap_or(0.0);
            let committed = int("CommittedTime").unwrap_or(0);
            self.ad.set("CommittedTime", committed + ran);
            self.ad.set("CommittedSlotTime", slot_time + self.weight() * ran as f64);
        }
        let (open, committed) =
            (self.int("UncommittedSuspensionTime"), self.int("CommittedSuspensionTime").unwrap_or(0));
        if let Some(open) = open.filter(|open| *open > 0) {
            self.ad.set("CommittedSuspensionTime", committed + open);
            self.ad.set("UncommittedSuspensionTime", 0i64);
        }
    }

    /// SlotWeight of the slot, as the schedd notes it at the match.
    fn weight(&self) -> f64 {
        let weight = |ad| Context::new(self.setup.world).my(ad).real("SlotWeight");
        self.setup.slot_ad.as_ref().and_then(weight).unwrap_or(1.0)
    }

    /// The job has left the queue.
    pub(super) fn done(&mut self, now: Now, out: &mut Vec<Action>) {
        self.set_status(now, JobStatus::COMPLETED);
        self.ad.set("CompletionDate", now.epoch());
        self.ad.set("JobFinishedHookDone", now.epoch());
        self.leave_slot();
        self.finish(out);
    }
}
