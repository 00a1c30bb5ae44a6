//! The job before and between its runs: submitted, prepared, started, held, released.

use std::time::Duration;

use bstr::{BString, ByteSlice};

use super::event::{HookEnd, Why};
use super::machine::{Action, Hook, Phase, Run, Shadow, Until};
use super::matched::{Matched, matched};
use htc_base::job::{HoldCode, JobStatus, attr};
use htc_base::text::list;
use htc_base::time::Now;
use htc_base::world::Frozen;
use htc_classad::{ClassAd, Context, Dialect, Value};
use htc_hook::HookType;
use htc_hook::reply::{self, PrepareReader};
use htc_hook::transfer::TransferRequest;
use htc_hook::user_policy;
use htc_user_log::{Body, EventKind};

/// A job that came to nothing is started again after this long, doubled each time.
const PAUSE: Duration = Duration::from_secs(1);
/// At most this long.
const LONGEST_PAUSE: u32 = 6;

impl Shadow<'_> {
    pub(super) fn frozen(&self, now: Now) -> Frozen<'_> {
        Frozen { world: self.setup.world, now }
    }

    pub(super) fn begin(&mut self, now: Now, out: &mut Vec<Action>) {
        if self.phase != Phase::New {
            return;
        }
        if self.int("NumShadowStarts").unwrap_or(0) == 0 {
            let notes = |name: &str| self.string(name).unwrap_or_default();
            let body = Body::Submit {
                host: self.setup.address.clone(),
                log_notes: notes("SubmitEventNotes"),
                user_notes: notes("SubmitEventUserNotes"),
                structure: self.submit_structure(),
            };
            Self::log(body, out);
        }
        self.tell_of_rounding(out);
        self.round();
        if self.int("QDate").is_none() {
            self.ad.set("QDate", now.epoch());
        }
        self.set_status(now, JobStatus::IDLE);
        if let Some((size, most)) = self.too_much_input(now) {
            let reason = format!(
                "TransferInputSizeMB ({size}) is greater than MAX_TRANSFER_INPUT_MB ({most}) at submit time"
            );
            self.count("NumSystemHolds");
            return self.hold(now, Why::new(reason, HoldCode::MaxTransferInputSizeExceeded.number()), out);
        }
        if let Some(group) = &self.setup.no_group {
            let reason = format!("Cannot install primary group {group} from supplemental groups.");
            return self.hold(now, Why::new(reason, HoldCode::CannotSwitchPrimaryGroup.number()), out);
        }
        if self.ad.contains("JobMaxRetries") && !self.ad.contains("OnExitRemove") {
            let text = "JobMaxRetries alone does nothing: condor_submit makes OnExitRemove of max_retries";
            out.push(Action::Tell(text.to_owned()));
        }
        self.start(now, out);
    }

    /// Returns the attributes that event 000 has beside its notes (`Scheduler::WriteSubmitToUserLog`).
    fn submit_structure(&self) -> ClassAd {
        let named = self.string("SubmitEventNotesAttrs").unwrap_or_default();
        let names = list::split(&named).chain([&b"DAGNodeName"[..], b"JobBatchName"]);
        let mut structure = ClassAd::new();
        for name in names {
            let value = Context::new(self.setup.world).my(&self.ad).eval_attr(name);
            if !matches!(value, Value::Undefined | Value::Error) {
                structure.set(name, value);
            }
        }
        structure
    }

    /// The size that condor_submit has found, if it is above the limit.
    fn too_much_input(&self, now: Now) -> Option<(i64, i64)> {
        let size = self.int("TransferInputSizeMB")?;
        let knob = || {
            let text = self.setup.knobs.get(b"MAX_TRANSFER_INPUT_MB")?;
            let expr = htc_classad::Expr::parse_with(&text, Dialect::of(self.setup.world)).ok()?;
            Context::new(&self.frozen(now)).my(&self.ad).eval(&expr).as_int()
        };
        let most = self.int("MaxTransferInputMB").or_else(knob).filter(|most| *most >= 0)?;
        (size > most).then_some((size, most))
    }

    /// A shadow begins: its hook, if it has one.
    pub(super) fn start(&mut self, now: Now, out: &mut Vec<Action>) {
        self.runs += 1;
        self.this_run = Run::new(self.moved_before());
        // What was told of another run is no news of this one (`RemoteResource::setJobAd`).
        if self.ad.contains("ExecuteDirWasEncrypted") {
            self.ad.set("ExecuteDirWasEncrypted", Value::Undefined);
        }
        if self.setup.no_log {
            return self.hold_without_log(now, out);
        }
        match matched(&self.ad, self.setup.slot_ad.as_ref(), &self.frozen(now)) {
            Ok(Matched { given, kept }) => {
                self.given = given;
                self.ad.update(&kept);
            }
            Err(missing) => {
                self.count("NumSystemHolds");
                return self.hold(now, Why::new(missing.to_string(), HoldCode::Unspecified.number()), out);
            }
        }
        self.starts(now);
        if !self.setup.local {
            self.count_input();
        }
        if let Some(iwd) = self.string(attr::IWD)
            && let Err(error) = self.setup.world.stat(&iwd.to_path_lossy())
        {
            let errno = i64::from(error.raw_os_error().unwrap_or(2));
            let why = error.to_string();
            let why = why.split(" (os error").next().unwrap_or_default();
            let reason = format!("Cannot access initial working directory {iwd}: {why}");
            self.count_time(now);
            self.tell_of_transfers();
            return self.hold(
                now,
                Why { subcode: errno, ..Why::new(reason, HoldCode::IwdError.number()) },
                out,
            );
        }
        if self.skipped(now, out) {
            return;
        }
        match self.setup.hook.clone() {
            Some(hook) => {
                self.phase = Phase::Hook;
                out.push(Action::Call(hook));
            }
            None => self.run(now, out),
        }
    }

    /// SHADOW_PREPARE_JOB: what it printed goes into the ad; a status below 300 holds the job, others send it back.
    pub(super) fn hook_ended(&mut self, now: Now, end: HookEnd, out: &mut Vec<Action>) {
        if self.phase != Phase::Hook {
            return;
        }
        let (exit, printed) = match end {
            HookEnd::Exited(exit, printed) => (exit, printed),
            HookEnd::Unexecuted => return self.excepted(now, b"Job hook execution failed", out),
            HookEnd::NoCredentials => {
                return self.excepted(now, b"Submit-side job hook execution failed", out);
            }
            HookEnd::TimedOut => return self.excepted(now, b"Submit-side job hook execution timed out", out),
            HookEnd::Abandoned => {
                self.count_time(now);
                return self.again(now, true, out);
            }
        };
        let read = reply::ad_prefix(&printed, Dialect::of(self.setup.world));
        let said = reply::prepare_status(exit, &read.ad, PrepareReader::Shadow, &self.frozen(now));
        let path = self.setup.hook.as_ref().map(|hook: &Hook| hook.path.clone()).unwrap_or_default();
        if said.status == 0 {
            self.ad.update(&read.ad);
            read.ad.names().for_each(|name| drop(self.given.remove(name)));
            return self.run(now, out);
        }
        let text = said.text(HookType::ShadowPrepareJob.name(), &path);
        out.push(Action::Tell(text.to_string()));
        if said.status < 300 {
            self.count_time(now);
            return self.hold(
                now,
                Why {
                    reason: text,
                    code: HoldCode::HookShadowPrepareJobFailure.number(),
                    subcode: said.status,
                },
                out,
            );
        }
        self.excepted(now, &text, out);
    }

    /// The shadow gives up before there is a starter: event 007, and the job is idle again (`BaseShadow::log_except`).
    fn excepted(&mut self, now: Now, message: &[u8], out: &mut Vec<Action>) {
        self.count_time(now);
        let line: BString = message.replace(b"\n", b"|").replace(b"\r", b" ").into();
        let lines = vec![
            "Shadow exception!".into(),
            [b"\t", &line[..]].concat().into(),
            "\t0  -  Run Bytes Sent By Job".into(),
            "\t0  -  Run Bytes Received By Job".into(),
        ];
        Self::log(Body::Other { number: EventKind::ShadowException as u16, lines }, out);
        self.ad.set("LastShadowException", line);
        let reason = [b"Shadow Exception: ", message].concat();
        self.note_vacate(now, Why::new(reason, HoldCode::ShadowException.number()));
        self.again(now, true, out);
    }

    fn run(&mut self, now: Now, out: &mut Vec<Action>) {
        self.phase = Phase::Running;
        if !self.setup.local {
            self.begins_activation();
        }
        let ad = self.given();
        out.push(Action::Run(Box::new(ad)));
        self.set_policy_alarm(now, out);
    }

    /// What the queue notes of a job that has a slot (`mark_job_running`, `add_shadow_birthdate`).
    fn starts(&mut self, now: Now) {
        self.this_run.started = Some(now);
        self.set_status(now, JobStatus::RUNNING);
        if self.int("JobStartDate").is_none() {
            self.ad.set("JobStartDate", now.epoch());
        }
        if let Some(last) = self.int("JobCurrentStartDate") {
            self.ad.set("JobLastStartDate", last);
        }
        self.ad.set("JobCurrentStartDate", now.epoch());
        self.count("NumShadowStarts");
        self.ad.set("JobRunCount", self.int("NumShadowStarts").unwrap_or(1));
        self.ad.set("ShadowBday", now.epoch());
        self.ad.set("LastSuspensionTime", 0i64);
        self.ad.set("CurrentHosts", 1i64);
        self.ad.set("RemoteHost", self.setup.slot.clone());
        // Of the run before.
        ["VacateReason", "VacateReasonCode", "VacateReasonSubCode"]
            .iter()
            .for_each(|name| drop(self.ad.remove(*name)));
    }

    /// Notes how many files of each protocol are to be transferred (`UniShadow::checkInputFileTransfer`).
    fn count_input(&mut self) {
        let counts = TransferRequest::input_counts(&self.ad, self.setup.world);
        self.ad.set("TransferInputFileCounts", counts);
    }

    /// What a shadow sets when it begins (`RemoteResource::setJobAd`, `activateClaim`).
    fn begins_activation(&mut self) {
        self.ad.set("JobCurrentReconnectAttempt", Value::Undefined);
        for name in ["RemoteSysCpu", "RemoteUserCpu"] {
            self.ad.set(name, 0.0);
        }
    }

    /// When policies are looked at next.
    pub(super) fn set_policy_alarm(&mut self, now: Now, out: &mut Vec<Action>) {
        if self.setup.interval > 0 {
            let at = now.tick().plus(Duration::from_secs(self.setup.interval.unsigned_abs()));
            out.push(Action::WakeAt(Some(at)));
        }
    }

    /// The job is held.
    pub(super) fn hold(&mut self, now: Now, why: Why, out: &mut Vec<Action>) {
        let (code, subcode) = why.codes();
        Self::log(Body::Held { reason: why.reason.clone(), code, subcode }, out);
        let Why { reason, code, subcode } = why;
        out.push(Action::Tell(format!("the job is held (code {code}, subcode {subcode}): {reason}")));
        self.set_status(now, JobStatus::HELD);
        self.ad.set("HoldReason", reason);
        self.ad.set("HoldReasonCode", code);
        self.ad.set("HoldReasonSubCode", subcode);
        self.count("NumHolds");
        self.count_by("NumHoldsByReason", name_of_code(code));
        self.leave_slot();
        match self.setup.until {
            Until::Done if self.setup.controlled || (self.may_be_released() && self.setup.interval > 0) => {
                self.phase = Phase::Held;
                self.set_policy_alarm(now, out);
            }
            _ => self.finish(out),
        }
    }

    fn may_be_released(&self) -> bool {
        self.ad.contains("PeriodicRelease")
            || self.setup.knobs.get(b"SYSTEM_PERIODIC_RELEASE").is_some()
            || self.setup.knobs.get(b"SYSTEM_PERIODIC_RELEASE_NAMES").is_some()
    }

    /// Counts in a nested ad.
    pub(super) fn count_by(&mut self, attribute: &str, name: &str) {
        let nested = self.context().eval_attr(attribute);
        let mut nested = match &nested {
            htc_classad::Value::Ad(ad) => (**ad).clone(),
            _ => htc_classad::ClassAd::new(),
        };
        let count = Context::new(self.setup.world).my(&nested).int(name).unwrap_or(0).saturating_add(1);
        nested.set(name, count);
        self.ad.set(attribute, nested);
    }

    /// The job has no slot any more.
    pub(super) fn leave_slot(&mut self) {
        if self.ad.contains("RemoteHost") {
            self.ad.set("LastRemoteHost", self.setup.slot.clone());
            self.ad.remove("RemoteHost");
            self.ad.set("LastSuspensionTime", 0i64);
            self.ad.set("CurrentHosts", 0i64);
            // The one ends with the shadow, the others nobody tells the queue.
            for name in ["ShadowBday", "JobLastCheckpointTime", "UncommittedSuspensionTime"] {
                self.ad.remove(name);
            }
        }
        self.round();
    }

    /// The job is idle: run again, or not. One that came to nothing waits a while.
    pub(super) fn again(&mut self, now: Now, vain: bool, out: &mut Vec<Action>) {
        self.set_status(now, JobStatus::IDLE);
        self.leave_slot();
        let goes_on = match self.setup.until {
            Until::Done | Until::Held => true,
            Until::Runs(most) => self.runs < most,
        };
        if !goes_on {
            self.tell_of_tries(vain, out);
            return self.finish(out);
        }
        let ran = self.this_run.started.map_or(PAUSE, |started| now.tick().since(started.tick()));
        let pause = match vain {
            true => PAUSE * (1 << self.vain.min(LONGEST_PAUSE)),
            // Without an end in sight no job is run more often than once in that time: a schedd does not either.
            false if !matches!(self.setup.until, Until::Runs(_)) => PAUSE.saturating_sub(ran),
            // One that was not run at all would go round within one step.
            false if self.is_skipped() => PAUSE,
            false => Duration::ZERO,
        };
        self.vain = if vain { self.vain + 1 } else { 0 };
        if pause.is_zero() {
            return self.start(now, out);
        }
        let until = now.tick().plus(pause);
        self.phase = Phase::Idle { until };
        out.push(Action::WakeAt(Some(until)));
    }

    /// A job that stays in the queue would be run again by a pool.
    fn tell_of_tries(&self, vain: bool, out: &mut Vec<Action>) {
        if vain || self.setup.local {
            return;
        }
        let done = self.int("NumJobCompletions").unwrap_or(0);
        let tries =
            self.int("JobMaxRetries").map(|most| format!(", try {done} of {}", most.saturating_add(1)));
        let tries = tries.unwrap_or_default();
        let text = format!(
            "the job stays in the queue (OnExitRemove is not true{tries}): --until done runs it again"
        );
        out.push(Action::Tell(text));
    }

    /// Policies are looked at, or a pause is over.
    pub(super) fn timeout(&mut self, now: Now, out: &mut Vec<Action>) {
        match self.phase {
            Phase::Running => self.periodic(now, out),
            Phase::Idle { until } if until <= now.tick() => self.start(now, out),
            Phase::Idle { until } => out.push(Action::WakeAt(Some(until))),
            Phase::Held => self.held_policy(now, out),
            Phase::New | Phase::Hook | Phase::Finished => {}
        }
    }

    fn held_policy(&mut self, now: Now, out: &mut Vec<Action>) {
        let frozen = self.frozen(now);
        let released = user_policy::release(&self.ad, self.setup.knobs, &frozen);
        let removed = match released {
            Some(_) => None,
            None => user_policy::periodic(&self.ad, self.setup.knobs, &frozen),
        };
        if let Some(user_policy::Fired::Remove(reason)) = removed {
            return self.removed(now, &reason, out);
        }
        match released {
            Some(why) => self.release(now, why.reason, out),
            None => self.set_policy_alarm(now, out),
        }
    }

    /// A held job is idle again.
    pub(super) fn release(&mut self, now: Now, reason: BString, out: &mut Vec<Action>) {
        Self::log(Body::Released(reason.clone()), out);
        self.ad.set("ReleaseReason", reason);
        for (name, last) in [
            ("HoldReason", "LastHoldReason"),
            ("HoldReasonCode", "LastHoldReasonCode"),
            ("HoldReasonSubCode", "LastHoldReasonSubCode"),
        ] {
            if let Some(value) = self.ad.get(name) {
                self.ad.insert(last, value);
                self.ad.remove(name);
            }
        }
        self.again(now, false, out);
    }

    /// The job is gone.
    pub(super) fn removed(&mut self, now: Now, reason: &BString, out: &mut Vec<Action>) {
        out.push(Action::Tell(format!("the job is removed: {reason}")));
        Self::log(Body::Aborted(reason.clone()), out);
        self.set_status(now, JobStatus::REMOVED);
        self.ad.set("RemoveReason", reason.clone());
        self.ad.set("JobFinishedHookDone", now.epoch());
        // A job without a log has no event that could be told twice.
        if self.string("UserLog").is_some() {
            self.ad.set("JobAbortEventLogged", 1i64);
        }
        self.leave_slot();
        self.finish(out);
    }
}

/// The reference's name of a code, under which holds and vacates are counted.
pub(super) fn name_of_code(code: i64) -> &'static str {
    let known = HoldCode::ALL.iter().find(|known| i64::from(**known as u16) == code);
    known.map_or("Unspecified", |known| known.name())
}
