//! What a caller does with the answer of a hook that has ended in time.

use super::call::Ended;
use super::case::{Case, Protocol};
use super::change::changes;
use super::decision::Decision;
use super::verdict::{Verdict, prepare_failed};
use htc_base::job::HoldCode;
use htc_base::process::Exit;
use htc_base::quirks::{Quirk, Quirks};
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Dialect};
use htc_hook::reply::{self, PrepareReader};
use htc_hook::{HookType, keyword};
use htc_router::{AfterFailure, HookAnswer, HookDecision, after_failure, hook_verdict};
use htc_slot::{FetchAnswer, FetchDecision, evict_claim, fetch_verdict};
use htc_starter::{job_info, prepare, untold_refusal};

/// A hook that has ended in time, and all that its caller decides with.
#[derive(Clone, Copy)]
pub(super) struct Answered<'a> {
    pub(super) case: &'a Case,
    pub(super) ended: &'a Ended,
    pub(super) exit: Exit,
    /// The hook.
    pub(super) path: &'a [u8],
    pub(super) world: &'a dyn World,
    pub(super) quirks: Quirks,
}

impl Answered<'_> {
    pub(super) fn verdict(&self) -> Verdict {
        let Answered { case, quirks, .. } = *self;
        match case.hook {
            HookType::FetchWork => self.fetched(),
            HookType::ReplyFetch => {
                Verdict::new(Decision::NoEffect, true, "not waited for; the startd goes on")
                    .because(case.word.to_string())
                    .result([case.job.clone()])
            }
            HookType::EvictClaim => {
                let never = evict_claim(quirks);
                let verdict = match never.as_reference {
                    true => Verdict::new(Decision::NeverCalled, true, "this startd never calls the hook"),
                    false => Verdict::new(Decision::NoEffect, true, "not waited for; the claim is given up"),
                };
                verdict.quirk(never.quirk).result([case.job.clone()])
            }
            HookType::UpdateJobInfo => {
                Verdict::new(Decision::NoEffect, true, "not waited for; the starter goes on")
                    .result([case.job.clone()])
            }
            HookType::JobExit => {
                let told = case.told(quirks);
                let says = match told == case.word {
                    true => "the starter cleans up and exits 0".to_owned(),
                    false => format!("it is told `{told}`; the starter cleans up and exits 0"),
                };
                let verdict = Verdict::new(Decision::Done, true, says)
                    .because(told.to_string())
                    .result([case.job.clone()]);
                match case.untold(quirks) {
                    None => verdict,
                    Some(untold) => verdict.quirk(untold.quirk),
                }
            }
            HookType::PrepareJob | HookType::PrepareJobBeforeTransfer => self.prepared(),
            HookType::ShadowPrepareJob => self.shadow_prepared(),
            HookType::TranslateJob
            | HookType::RouterUpdateJobInfo
            | HookType::JobFinalize
            | HookType::JobCleanup => self.routed(),
        }
    }

    fn fetched(&self) -> Verdict {
        let Answered { case, ended, world, quirks, .. } = *self;
        let answer = FetchAnswer { stdout: &ended.stdout, cut: ended.cut, limit: case.output_limit };
        let judged = fetch_verdict((&case.slot, &case.keyword), answer, world, quirks);
        let (good, says) = match judged.decision {
            FetchDecision::NoWork => (true, "no work: the slot stays as it is"),
            FetchDecision::BadOutput => (false, "the answer is dropped as a whole; no reply hook is called"),
            FetchDecision::Accepted => {
                (true, "accepted: REPLY_FETCH accept, the slot is claimed for the job")
            }
            FetchDecision::AcceptedLost => {
                (false, "REPLY_FETCH accept is called, but the running job goes on and this one is lost")
            }
            FetchDecision::Rejected => (false, "rejected: REPLY_FETCH reject"),
        };
        let mut verdict = Verdict::new(Decision::Fetch(judged.decision), good, says).because(judged.reason);
        if judged.ends_idle_claim {
            verdict.next = "the idle claim ends: Preempting/Vacating, Owner, Unclaimed".to_owned();
        }
        verdict.bad = judged.bad;
        verdict.quirks = judged.quirks;
        if let Some(job) = judged.job {
            let mut plain = job.clone();
            for name in &judged.added {
                plain.remove(name);
            }
            verdict.changes = changes(&plain, &job);
            if judged.decision == FetchDecision::Accepted {
                let mut read = job.clone();
                let place = std::path::Path::new("/");
                match job_info::read(&mut read, place, quirks, world) {
                    Ok(_) => verdict.next = self.taken_on(&job),
                    Err(refusal) => {
                        verdict.good = false;
                        verdict.says = "accepted, but the starter will not take the job on".to_owned();
                        verdict.reason = refusal.to_string();
                        verdict.next = "starter exit 1; the claim stays".to_owned();
                        verdict.quirks.push(untold_refusal(quirks).quirk);
                    }
                }
                verdict.result.push(job);
            }
        }
        verdict
    }

    /// What follows for a job that is accepted. One that names a keyword of its own is run with the hooks of that keyword, if any.
    fn taken_on(&self, job: &ClassAd) -> String {
        let under = &self.case.keyword;
        let own = Context::new(self.world).my(job).string(keyword::HOOK_KEYWORD);
        match own.filter(|own| !under.is_empty() && !own.eq_ignore_ascii_case(under)) {
            Some(own) => format!(
                "the starter takes the job on with the hooks of its own HookKeyword '{}', not with those of '{under}'",
                own.escape_ascii()
            ),
            None => "the starter takes the job on".to_owned(),
        }
    }

    /// Whether the answer is none because its end is missing, and the quirk that decides it.
    fn refuses_cut(&self) -> (bool, Option<Quirk>) {
        let counts = reply::cut_counts(self.ended.cut, self.quirks);
        (counts.is_some_and(|counts| !counts.as_reference), counts.map(|counts| counts.quirk))
    }

    fn prepared(&self) -> Verdict {
        let Answered { case, ended, exit, path, world, quirks } = *self;
        let (refuses_cut, cut) = self.refuses_cut();
        // By the manual of 7.1 nobody reads the answer: the exit status decides alone.
        let old = case.protocol == Protocol::Old;
        let read: &[u8] = if old { b"" } else { &ended.stdout };
        let answer = prepare::Answer { exit, stdout: read, cut: refuses_cut && !old };
        let judged = prepare::judge(case.hook.name(), path, &answer, world);
        let mut verdict = if !judged.goes_on() {
            let code = judged.hold_code();
            let mut verdict = prepare_failed(case, code != 0, (1..300).contains(&judged.status), quirks);
            if case.with_shadow && code != 0 {
                verdict.hold = Some((code, judged.status));
            }
            verdict.ignored = judged.update.sorted().into_iter().map(|(name, _)| name.to_owned()).collect();
            verdict.because(judged.text.to_string())
        } else {
            let verdict = if judged.is_reported() {
                Verdict::new(
                    Decision::GoOnWithWarning,
                    true,
                    "the job goes on; the message is told as a warning",
                )
                .because(judged.text.to_string())
            } else {
                Verdict::new(Decision::GoOn, true, "the job goes on")
            };
            self.merged(verdict, &judged.update)
        };
        verdict.quirks.extend(cut);
        if old {
            let printed = reply::ad_prefix(&ended.stdout, Dialect::of(self.world)).ad;
            verdict.ignored = printed.sorted().into_iter().map(|(name, _)| name.to_owned()).collect();
        }
        verdict.bad = judged.unread;
        verdict
    }

    fn shadow_prepared(&self) -> Verdict {
        let Answered { case, ended, exit, path, world, .. } = *self;
        let read = reply::ad_prefix(&ended.stdout, Dialect::of(self.world));
        let mut status = reply::prepare_status(exit, &read.ad, PrepareReader::Shadow, world);
        let (refuses_cut, cut) = self.refuses_cut();
        if status.status == 0 && refuses_cut {
            status.status = 1;
            status.how = prepare::CUT.to_owned();
        }
        let text = status.text(case.hook.name(), path).to_string();
        let mut verdict = match status.status {
            0 => self.merged(Verdict::new(Decision::GoOn, true, "the claim is activated"), &read.ad),
            300.. => Verdict::new(Decision::Requeued, false, "the job is not started")
                .because(text)
                .then("it goes back to idle and is tried again"),
            code => {
                let mut verdict = Verdict::new(Decision::Held, false, "the job is put on hold").because(text);
                verdict.hold = Some((HoldCode::HookShadowPrepareJobFailure.number(), code));
                verdict
            }
        };
        verdict.quirks.extend(cut);
        verdict.bad = read.unread;
        verdict
    }

    fn routed(&self) -> Verdict {
        let Answered { case, ended, exit, quirks, .. } = *self;
        let translating = case.hook == HookType::TranslateJob;
        let answer = HookAnswer {
            dialect: Dialect::of(self.world),
            hook: case.hook,
            exit,
            stdout: &ended.stdout,
            cut: ended.cut,
            source: &case.job,
            routed: (!translating).then_some(&case.routed),
            edit_in_place: case.route.edit_in_place,
        };
        let judged = hook_verdict(&answer, quirks);
        let (says, next) = router_words(case.hook, judged.decision, quirks);
        let mut verdict = Verdict::new(Decision::Router(judged.decision), judged.decision.is_success(), says)
            .because(judged.reason)
            .then(next);
        match judged.decision {
            HookDecision::Routed | HookDecision::Edited => {
                verdict.changes = changes(&case.job, &judged.answer);
                verdict.changes.retain(|change| !judged.ignored.contains(&change.name));
                verdict.result.push(judged.answer);
            }
            HookDecision::Updated | HookDecision::Unchanged | HookDecision::Cleaned => {
                let mut routed = case.routed.clone();
                routed.update(&judged.answer);
                verdict.changes = changes(&case.routed, &routed);
                verdict.result.push(routed);
            }
            HookDecision::Finalized => {
                let mut source = case.job.clone();
                source.update(&judged.answer);
                verdict.changes = changes(&case.job, &source);
                verdict.result.extend([source, case.routed.clone()]);
            }
            _ => {}
        }
        verdict.ignored = judged.ignored;
        verdict.bad = judged.bad;
        verdict.refused = judged.refused;
        verdict.quirks = judged.quirks;
        verdict
    }

    /// The job goes on with what was printed in its ad.
    fn merged(&self, mut verdict: Verdict, update: &ClassAd) -> Verdict {
        let mut job = self.case.job.clone();
        job.update(update);
        verdict.changes = changes(&self.case.job, &job);
        verdict.result.push(job);
        verdict
    }
}

fn router_words(hook: HookType, decision: HookDecision, quirks: Quirks) -> (&'static str, &'static str) {
    let after = after_failure(hook, decision, quirks).map(|(after, _)| after);
    match (hook, decision) {
        (_, HookDecision::Routed) => {
            ("the answer is the new job; nothing is copied from the source", "transforms, then submission")
        }
        (_, HookDecision::Edited) => {
            ("the source is edited in place", "transforms, then the differences are written")
        }
        (HookType::TranslateJob, HookDecision::Dropped | HookDecision::Failed) => {
            let next = match after {
                Some(AfterFailure::Retranslated) => "it is claimed and translated again at a later poll",
                _ => "it is claimed and translated again after a pause that doubles each time",
            };
            ("the job is given back", next)
        }
        (_, HookDecision::Dropped) => {
            ("the routed job is removed and the source given back", "it is routed anew")
        }
        (_, HookDecision::Stuck) => {
            let next = match after {
                Some(AfterFailure::AskedForEver) => "the hook is called again at every poll",
                _ => "the hook is called again at the next poll; a second silence gives the job back",
            };
            ("nothing happens: the job stays claimed", next)
        }
        (_, HookDecision::RouterAbort) => ("the job router aborts", "restarted, it does so again"),
        (_, HookDecision::Updated) => {
            ("the answer is merged into the routed job", "then its status is looked at")
        }
        (_, HookDecision::Unchanged) => ("the routed job stays as it is", "its status is looked at"),
        (_, HookDecision::Finalized) => {
            ("the answer is merged into the source job", "the source is done; clean-up follows")
        }
        (_, HookDecision::Cleaned) => ("the source job is released", ""),
        (HookType::JobFinalize, HookDecision::Failed) => match after {
            Some(AfterFailure::Completed) => {
                ("nothing of the answer counts; the source leaves as completed", "clean-up of the routed job")
            }
            _ => (
                "nothing of the answer counts; the source is to be routed again",
                "clean-up of the routed job",
            ),
        },
        (HookType::JobCleanup, HookDecision::Failed) => {
            let next = match after {
                Some(AfterFailure::CleanedForEver) => "the hook is called again at the next poll",
                _ => {
                    "the hook is called again after a pause; when it keeps failing the job is released all the same"
                }
            };
            ("the source job is not released", next)
        }
        (_, HookDecision::Failed) => match after {
            Some(AfterFailure::Frozen) => {
                ("the answer is dropped; the job's status is not looked at", "called again at the next poll")
            }
            _ => (
                "the answer is dropped; the job's status is looked at all the same",
                "called again at the next poll",
            ),
        },
    }
}
