//! Verdict on the output of a hook that ended within the time limit.

use super::attribute_change::diff_ads;
use super::call::HookExecution;
use super::case::{Case, Protocol};
use super::decision::Decision;
use super::verdict::{Verdict, prepare_failure_verdict};
use htc_base::job::HoldCode;
use htc_base::process::Exit;
use htc_base::quirks::{Quirk, QuirkMode};
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Dialect};
use htc_hook::hook_output::{self, PrepareStatusReader};
use htc_hook::{HookType, keyword};
use htc_router::{
    FailureConsequence, FinishedHookCall, HookDecision, consequence_of_failure, judge_hook_call,
};
use htc_slot::{FetchDecision, FetchOutput, evict_claim_decision, judge_fetch_output};
use htc_starter::{job_info, prepare_verdict, refused_job_exit_hook_decision};

/// Hook call that ended within the time limit, with the inputs of the caller's decision.
#[derive(Clone, Copy)]
pub(super) struct AnsweredCall<'a> {
    pub(super) case: &'a Case,
    pub(super) ended: &'a HookExecution,
    pub(super) exit: Exit,
    /// Path of the hook, for messages.
    pub(super) path: &'a [u8],
    pub(super) world: &'a dyn World,
    pub(super) quirks: QuirkMode,
}

impl AnsweredCall<'_> {
    pub(super) fn verdict(&self) -> Verdict {
        let AnsweredCall { case, quirks, .. } = *self;
        match case.hook {
            HookType::FetchWork => self.fetch_work_verdict(),
            HookType::ReplyFetch => {
                Verdict::new(Decision::NoEffect, true, "the startd continues without waiting for the hook")
                    .with_reason(case.word.to_string())
                    .with_result([case.job.clone()])
            }
            HookType::EvictClaim => {
                let never = evict_claim_decision(quirks);
                let verdict = match never.as_reference {
                    true => Verdict::new(Decision::NeverCalled, true, "this startd never calls the hook"),
                    false => Verdict::new(
                        Decision::NoEffect,
                        true,
                        "the startd releases the claim without waiting for the hook",
                    ),
                };
                verdict.with_quirk(never.quirk).with_result([case.job.clone()])
            }
            HookType::UpdateJobInfo => {
                Verdict::new(Decision::NoEffect, true, "the starter continues without waiting for the hook")
                    .with_result([case.job.clone()])
            }
            HookType::JobExit => {
                let reported_word = case.reported_word(quirks);
                let says = match reported_word == case.word {
                    true => "the starter cleans up and exits with status 0".to_owned(),
                    false => {
                        format!(
                            "it is called with `{reported_word}`; the starter cleans up and exits with status 0"
                        )
                    }
                };
                let verdict = Verdict::new(Decision::Done, true, says)
                    .with_reason(reported_word.to_string())
                    .with_result([case.job.clone()]);
                match case.shadow_reason_quirk(quirks) {
                    None => verdict,
                    Some(untold) => verdict.with_quirk(untold.quirk),
                }
            }
            HookType::PrepareJob | HookType::PrepareJobBeforeTransfer => self.prepare_verdict(),
            HookType::ShadowPrepareJob => self.shadow_prepare_verdict(),
            HookType::TranslateJob
            | HookType::RouterUpdateJobInfo
            | HookType::JobFinalize
            | HookType::JobCleanup => self.router_hook_verdict(),
        }
    }

    fn fetch_work_verdict(&self) -> Verdict {
        let AnsweredCall { case, ended, world, quirks, .. } = *self;
        let answer = FetchOutput { stdout: &ended.stdout, is_truncated: ended.cut, limit: case.output_limit };
        let judged = judge_fetch_output(&case.slot, &case.keyword, answer, world, quirks);
        let (good, says) = match judged.decision {
            FetchDecision::NoWork => (true, "no work: the slot stays as it is"),
            FetchDecision::BadOutput => (false, "the whole output is dropped; no reply hook is called"),
            FetchDecision::Accepted => {
                (true, "accepted: REPLY_FETCH accept, the slot is claimed for the job")
            }
            FetchDecision::AcceptedLost => {
                (false, "REPLY_FETCH accept is called, but the running job continues and this one is lost")
            }
            FetchDecision::Rejected => (false, "rejected: REPLY_FETCH reject"),
        };
        let mut verdict =
            Verdict::new(Decision::Fetch(judged.decision), good, says).with_reason(judged.reason);
        if judged.ends_idle_claim {
            verdict.next_step = "the idle claim ends: Preempting/Vacating, Owner, Unclaimed".to_owned();
        }
        verdict.bad_line = judged.bad_line;
        verdict.quirks = judged.quirks;
        if let Some(job) = judged.job {
            verdict.fetched_job = Some(job.clone());
            let mut plain = job.clone();
            for name in &judged.added_attributes {
                plain.remove(name);
            }
            verdict.changes = diff_ads(&plain, &job);
            if judged.decision == FetchDecision::Accepted {
                let mut read = job.clone();
                let place = std::path::Path::new("/");
                match job_info::read_job_info(&mut read, place, quirks, world) {
                    Ok(_) => verdict.next_step = self.describe_next_step(&job),
                    Err(refusal) => {
                        verdict.good = false;
                        verdict.action = "accepted, but the starter refuses the job".to_owned();
                        verdict.reason = refusal.to_string();
                        verdict.next_step = "the starter exits with status 1; the claim stays".to_owned();
                        verdict.quirks.push(refused_job_exit_hook_decision(quirks).quirk);
                    }
                }
                verdict.result_ads.push(job);
            }
        }
        verdict
    }

    /// Describes what the starter does next with an accepted job. If the job has its own hook keyword, the
    /// description says that the starter uses the hooks of that keyword.
    fn describe_next_step(&self, job: &ClassAd) -> String {
        let slot_keyword = &self.case.keyword;
        let job_keyword = Context::new(self.world).my(job).string(keyword::HOOK_KEYWORD);
        match job_keyword
            .filter(|keyword| !slot_keyword.is_empty() && !keyword.eq_ignore_ascii_case(slot_keyword))
        {
            Some(keyword) => format!(
                "the starter starts the job with the hooks of its own HookKeyword '{}', not with those of '{slot_keyword}'",
                keyword.escape_ascii()
            ),
            None => "the starter starts the job".to_owned(),
        }
    }

    /// Returns true if the caller ignores the output because it is truncated, and the quirk that decides about this.
    fn rejects_truncated(&self) -> (bool, Option<Quirk>) {
        let counts = hook_output::decide_cut_output(self.ended.cut, self.quirks);
        (counts.is_some_and(|counts| !counts.as_reference), counts.map(|counts| counts.quirk))
    }

    fn prepare_verdict(&self) -> Verdict {
        let AnsweredCall { case, ended, exit, path, world, quirks } = *self;
        let (refuses_cut, cut) = self.rejects_truncated();
        // In the protocol of 7.1, the output is ignored and only the exit status is used.
        let old = case.protocol == Protocol::Legacy;
        let read: &[u8] = if old { b"" } else { &ended.stdout };
        let answer = prepare_verdict::PrepareOutput { exit, stdout: read, cut: refuses_cut && !old };
        let judged = prepare_verdict::judge_prepare_hook(case.hook, path, &answer, world);
        let mut verdict = if !judged.lets_job_continue() {
            let code = judged.hold_code();
            let mut verdict =
                prepare_failure_verdict(case, code != 0, (1..300).contains(&judged.status), quirks);
            if case.with_shadow && code != 0 {
                verdict.hold = Some((code, judged.status));
            }
            verdict.ignored_attributes =
                judged.update.sorted().into_iter().map(|(name, _)| name.to_owned()).collect();
            verdict.with_reason(judged.text.to_string())
        } else {
            let verdict = if judged.is_reported() {
                Verdict::new(
                    Decision::GoOnWithWarning,
                    true,
                    "the job continues; the message is logged as a warning",
                )
                .with_reason(judged.text.to_string())
            } else {
                Verdict::new(Decision::GoOn, true, "the job continues")
            };
            self.merge_into_job(verdict, &judged.update)
        };
        verdict.quirks.extend(cut);
        if old {
            let printed = hook_output::parse_ad_prefix(&ended.stdout, Dialect::of_world(self.world)).ad;
            verdict.ignored_attributes =
                printed.sorted().into_iter().map(|(name, _)| name.to_owned()).collect();
        }
        verdict.bad_line = judged.unread;
        verdict
    }

    fn shadow_prepare_verdict(&self) -> Verdict {
        let AnsweredCall { case, ended, exit, path, world, .. } = *self;
        let read = hook_output::parse_ad_prefix(&ended.stdout, Dialect::of_world(self.world));
        let mut status = hook_output::read_prepare_status(exit, &read.ad, PrepareStatusReader::Shadow, world);
        let (refuses_cut, cut) = self.rejects_truncated();
        if status.status == 0 && refuses_cut {
            status.status = 1;
            status.how = prepare_verdict::CUT_OUTPUT_TEXT.to_owned();
        }
        let text = status.log_message(case.hook, path).to_string();
        let mut verdict = match status.status {
            0 => self.merge_into_job(Verdict::new(Decision::GoOn, true, "the claim is activated"), &read.ad),
            300.. => Verdict::new(Decision::Requeued, false, "the job is not started")
                .with_reason(text)
                .with_next("it goes back to idle and is tried again"),
            code => {
                let mut verdict =
                    Verdict::new(Decision::Held, false, "the job is put on hold").with_reason(text);
                verdict.hold = Some((HoldCode::HookShadowPrepareJobFailure.number(), code));
                verdict
            }
        };
        verdict.quirks.extend(cut);
        verdict.bad_line = read.unread;
        verdict
    }

    fn router_hook_verdict(&self) -> Verdict {
        let AnsweredCall { case, ended, exit, quirks, .. } = *self;
        let translating = case.hook == HookType::TranslateJob;
        let answer = FinishedHookCall {
            dialect: Dialect::of_world(self.world),
            hook: case.hook,
            exit,
            stdout: &ended.stdout,
            is_truncated: ended.cut,
            source_ad: &case.job,
            routed_ad: (!translating).then_some(&case.routed),
            edit_in_place: case.route.edit_in_place,
        };
        let judged = judge_hook_call(&answer, quirks);
        let (says, next) = describe_router_decision(case.hook, judged.decision, quirks);
        let mut verdict = Verdict::new(Decision::Router(judged.decision), judged.decision.is_success(), says)
            .with_reason(judged.reason)
            .with_next(next);
        match judged.decision {
            HookDecision::Routed | HookDecision::Edited => {
                verdict.changes = diff_ads(&case.job, &judged.output_ad);
                verdict.changes.retain(|change| !judged.ignored_attributes.contains(&change.name));
                verdict.result_ads.push(judged.output_ad);
            }
            HookDecision::Updated | HookDecision::Unchanged | HookDecision::Cleaned => {
                let mut routed = case.routed.clone();
                routed.update(&judged.output_ad);
                verdict.changes = diff_ads(&case.routed, &routed);
                verdict.result_ads.push(routed);
            }
            HookDecision::Finalized => {
                let mut source = case.job.clone();
                source.update(&judged.output_ad);
                verdict.changes = diff_ads(&case.job, &source);
                verdict.result_ads.extend([source, case.routed.clone()]);
            }
            _ => {}
        }
        verdict.ignored_attributes = judged.ignored_attributes;
        verdict.bad_line = judged.bad_line;
        verdict.refused_attribute = judged.refused_attribute;
        verdict.quirks = judged.quirks;
        verdict
    }

    /// Merges the hook's output into the job ad, and adds the resulting changes to the verdict.
    fn merge_into_job(&self, mut verdict: Verdict, update: &ClassAd) -> Verdict {
        let mut job = self.case.job.clone();
        job.update(update);
        verdict.changes = diff_ads(&self.case.job, &job);
        verdict.result_ads.push(job);
        verdict
    }
}

fn describe_router_decision(
    hook: HookType,
    decision: HookDecision,
    quirks: QuirkMode,
) -> (&'static str, &'static str) {
    let after = consequence_of_failure(hook, decision, quirks).map(|(after, _)| after);
    match (hook, decision) {
        (_, HookDecision::Routed) => (
            "the output is the new job; nothing is copied from the source",
            "the transforms are applied, then the new job is submitted",
        ),
        (_, HookDecision::Edited) => (
            "the source job is edited in place",
            "the transforms are applied, then the changed attributes are written to the queue",
        ),
        (HookType::TranslateJob, HookDecision::Dropped | HookDecision::Failed) => {
            let next = match after {
                Some(FailureConsequence::Retranslated) => {
                    "it is claimed and translated again at a later poll"
                }
                _ => "it is claimed and translated again after a pause that doubles each time",
            };
            ("the job is released", next)
        }
        (_, HookDecision::Dropped) => {
            ("the routed job is removed and the source job released", "the job is routed again")
        }
        (_, HookDecision::Stuck) => {
            let next = match after {
                Some(FailureConsequence::CalledAtEveryPoll) => "the hook is called again at each poll",
                _ => {
                    "the hook is called again at the next poll; if it prints nothing again, the job is released"
                }
            };
            ("nothing happens: the job stays claimed", next)
        }
        (_, HookDecision::RouterAbort) => ("the job router aborts", "after a restart it aborts again"),
        (_, HookDecision::Updated) => {
            ("the output is merged into the routed job", "the status of the routed job is checked")
        }
        (_, HookDecision::Unchanged) => {
            ("the routed job stays as it is", "the status of the routed job is checked")
        }
        (_, HookDecision::Finalized) => (
            "the output is merged into the source job",
            "the source job is finished; JOB_CLEANUP is called next",
        ),
        (_, HookDecision::Cleaned) => ("the source job is released", ""),
        (HookType::JobFinalize, HookDecision::Failed) => match after {
            Some(FailureConsequence::Completed) => (
                "the whole output is ignored; the source job leaves the queue as completed",
                "the routed job is cleaned up",
            ),
            _ => (
                "the whole output is ignored; the source job is routed again",
                "the routed job is cleaned up",
            ),
        },
        (HookType::JobCleanup, HookDecision::Failed) => {
            let next = match after {
                Some(FailureConsequence::CleanupRetriedForEver) => {
                    "the hook is called again at the next poll"
                }
                _ => {
                    "the hook is called again after a pause; if it keeps failing, the job is released anyway"
                }
            };
            ("the source job is not released", next)
        }
        (_, HookDecision::Failed) => match after {
            Some(FailureConsequence::Frozen) => (
                "the output is dropped; the job's status is not checked",
                "the hook is called again at the next poll",
            ),
            _ => (
                "the output is dropped; the job's status is still checked",
                "the hook is called again at the next poll",
            ),
        },
    }
}
