//! The end of a run in the local universe: its starter writes the log and knows the policy, its schedd holds and removes.
//!
//! Reference: `JICLocalSchedd` (`holdJob`, `removeJob`, `requeueJob`, `notifyJobExit`) and `StarterUserPolicy::doAction`; what the schedd
//! does then: `jobExitCode` and `kill_zombie` of `schedd.cpp`.

use bstr::BString;

use super::event::{Ended, Why};
use super::machine::{Action, Fate, Shadow};
use htc_base::job::HoldCode;
use htc_base::process::Exit;
use htc_base::quirks::Quirk;
use htc_base::time::Now;
use htc_classad::{AttrName, references};
use htc_hook::user_policy::{self, Fired};
use htc_user_log::{Body, Evicted, Share, Terminated, UsageTime};

/// How often the job ran to its end.
const NUM_JOB_COMPLETIONS: &str = "NumJobCompletions";

/// Why a job is held whose log cannot be opened.
const NO_LOG: &str = "Failed to initialize user log";

impl Shadow<'_> {
    /// The hold of a job whose log cannot be opened (`JICLocalSchedd::initLocalUserLog`, `BaseShadow::initUserLog`).
    pub(super) fn hold_without_log(&mut self, now: Now, out: &mut Vec<Action>) {
        self.hold(now, Why::new(NO_LOG, HoldCode::UnableToInitUserLog as i64), out);
    }

    /// A starter of the local universe has ended.
    pub(super) fn ended_locally(&mut self, now: Now, fate: Option<Fate>, end: Ended, out: &mut Vec<Action>) {
        match fate {
            Some(Fate::Hold(why)) => self.held_locally(now, why, out),
            // Any code holds it (`notifyStarterError`).
            Some(Fate::Failed(why)) if why.code != 0 => self.held_locally(now, why, out),
            Some(Fate::Remove(reason) | Fate::RemoveEvicted { reason, .. }) => {
                self.log_eviction(out);
                self.removed(now, &reason, out);
            }
            Some(Fate::Vacate(Why { reason, code, .. })) => {
                // A schedd that vacates its job gives the starter no reason.
                let of_policy =
                    code == HoldCode::JobPolicyVacate as i64 || code == HoldCode::SystemPolicyVacate as i64;
                self.requeued_locally(now, end.exit, Some(reason).filter(|_| of_policy), out);
            }
            Some(Fate::Failed(_)) => self.requeued_locally(now, end.exit, None, out),
            None => match end.exit {
                Some(exit) if !end.asked => self.completed_locally(now, exit, out),
                None if !end.asked => {
                    out.extend(end.reason.map(Action::Tell));
                    self.again(now, true, out);
                }
                exit => self.requeued_locally(now, exit, None, out),
            },
        }
    }

    /// The job ran to its end: its policy says what that means.
    fn completed_locally(&mut self, now: Now, exit: Exit, out: &mut Vec<Action>) {
        self.count_completion(out);
        let frozen = self.frozen(now);
        let ad = self.ad_of_policy();
        let hold = match user_policy::periodic(&ad, self.setup.knobs, &frozen) {
            Some(Fired::Hold { reason, code, subcode }) => Some(Why { reason, code: code as i64, subcode }),
            // It leaves the queue as one that is done.
            Some(Fired::Remove(_)) => return self.terminated_locally(now, exit, out),
            None => user_policy::hold_at_exit(&ad, self.setup.knobs, &frozen).map(Why::from),
        };
        if let Some(hold) = hold {
            return self.held_locally(now, hold, out);
        }
        match user_policy::stays_at_exit(&ad, &frozen) {
            Some(reason) => self.requeued_locally(now, Some(exit), Some(reason), out),
            None => self.terminated_locally(now, exit, out),
        }
    }

    /// Counts that the job ran to its end, as a shadow does: `max_retries` of condor_submit ends by this number.
    fn count_completion(&mut self, out: &mut Vec<Action>) {
        let uncounted = self.setup.quirks.decide(Quirk::LocalCompletionsUncounted);
        if uncounted.as_reference {
            return;
        }
        self.count(NUM_JOB_COMPLETIONS);
        let policies = ["OnExitRemove", "OnExitHold", "PeriodicHold", "PeriodicRemove", "PeriodicVacate"];
        let counts = |name: &str| {
            let referred = self.ad.get(name).and_then(|expr| references::internal(&expr, self.context()));
            referred.is_some_and(|names| names.contains(&AttrName::from(NUM_JOB_COMPLETIONS)))
        };
        if self.runs == 1 && policies.into_iter().any(counts) {
            out.push(Action::Tell(format!("NumJobCompletions is counted; {}", uncounted.quirk.told())));
        }
    }

    fn terminated_locally(&mut self, now: Now, exit: Exit, out: &mut Vec<Action>) {
        let body = Terminated {
            ending: exit.into(),
            run: self.local_share(),
            total: Share::default(),
            resources: None,
        };
        Self::log(Body::Terminated(Box::new(body)), out);
        let end = std::mem::take(&mut self.this_run.end);
        self.ad.update(&end);
        self.done(now, out);
    }

    fn held_locally(&mut self, now: Now, hold: Why, out: &mut Vec<Action>) {
        self.log_eviction(out);
        self.hold(now, hold, out);
    }

    /// The job goes back into the queue. One that was not started leaves no event.
    fn requeued_locally(
        &mut self,
        now: Now,
        exit: Option<Exit>,
        reason: Option<BString>,
        out: &mut Vec<Action>,
    ) {
        if let Some(exit) = exit {
            let reason = reason.clone().unwrap_or_default();
            let requeued = Some(exit.into());
            let body = Evicted { requeued, run: self.local_share(), reason, ..Evicted::default() };
            Self::log(Body::Evicted(Box::new(body)), out);
        }
        let by_policy = reason.is_some();
        if let Some(reason) = reason {
            self.ad.set("RequeueReason", reason);
        }
        // Nobody runs one again at once that was sent away.
        self.again(now, !by_policy, out);
    }

    /// Event 004 of a starter: without code, reason and table.
    fn log_eviction(&self, out: &mut Vec<Action>) {
        let body = Evicted { run: self.local_share(), ..Evicted::default() };
        Self::log(Body::Evicted(Box::new(body)), out);
    }

    /// What the job used, which to its starter is the machine's own use (`getRusageFromAd`).
    fn local_share(&self) -> Share {
        let seconds = |name: &str| self.context().real(name).unwrap_or(0.0) as i64;
        let local = UsageTime { user: seconds("RemoteUserCpu"), system: seconds("RemoteSysCpu") };
        Share { local, ..Share::default() }
    }
}
