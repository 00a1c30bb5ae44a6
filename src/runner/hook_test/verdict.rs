//! What the caller does with an answer. The decisions are those of the machines' rooms; here they are put into words, and
//! the resulting ads are made.

use std::time::Duration;

use bstr::{BString, ByteSlice};

use super::call::{Ended, Ending, Outcome};
use super::case::{Case, Protocol};
use super::change::{Change, changes};
use super::decision::Decision;
use crate::classad::ClassAd;
use crate::hook::reply::{self, BadLine, PrepareReader};
use crate::hook::{Caller, HookType};
use crate::job::HoldCode;
use crate::process::Exit;
use crate::quirks::{Quirk, Quirks};
use crate::router::{HookAnswer, HookDecision, hook_verdict};
use crate::slot::{FetchDecision, fetch_verdict};
use crate::starter::{Overrides, hold_code, job_info, prepare};
use crate::world::World;

/// The caller's decision.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The decision itself.
    pub decision: Decision,
    /// What the caller does, in a sentence.
    pub says: String,
    /// Why, in the caller's words where it has some; may be empty.
    pub reason: String,
    /// Hold code and its refinement, where the job is held.
    pub hold: Option<(i64, i64)>,
    /// What follows.
    pub next: String,
    /// Whether the hook has done what it is for.
    pub good: bool,
    /// What the answer changed of the ad it is about.
    pub changes: Vec<Change>,
    /// What was printed without effect.
    pub ignored: Vec<BString>,
    /// The ads that result, for the next program: none after a failure, two for JOB_FINALIZE (source, routed).
    pub result: Vec<ClassAd>,
    /// The line that spoiled the answer or ended its reading.
    pub bad: Option<BadLine>,
    /// The attribute that the queue does not write, and the whole answer with it.
    pub refused: Option<BString>,
    /// Quirks that had a say, whichever way they are decided.
    pub quirks: Vec<Quirk>,
}

impl Verdict {
    pub(super) fn new(decision: Decision, good: bool, says: impl Into<String>) -> Self {
        Verdict {
            decision,
            says: says.into(),
            reason: String::new(),
            hold: None,
            next: String::new(),
            good,
            changes: Vec::new(),
            ignored: Vec::new(),
            result: Vec::new(),
            bad: None,
            refused: None,
            quirks: Vec::new(),
        }
    }

    pub(super) fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = reason.into();
        self
    }

    fn then(mut self, next: impl Into<String>) -> Self {
        self.next = next.into();
        self
    }

    fn quirk(mut self, quirk: Quirk) -> Self {
        self.quirks.push(quirk);
        self
    }

    pub(super) fn result(mut self, ads: impl IntoIterator<Item = ClassAd>) -> Self {
        self.result.extend(ads);
        self
    }
}

/// Judges a call. `path` is the hook's.
pub fn verdict(case: &Case, outcome: &Outcome, path: &[u8], world: &dyn World, quirks: Quirks) -> Verdict {
    match &outcome.ending {
        Ending::Refused { reason } => refused(case, reason, quirks),
        Ending::NotStarted { reason, .. } => not_started(case, path, reason, quirks),
        Ending::Ran(ended) => {
            let late = case.caller_waits.is_some_and(|limit| outcome.took > limit);
            match ended.exit {
                Some(exit) if !late => answered(case, ended, exit, path, world, quirks),
                _ => still_running(case, outcome.took),
            }
        }
    }
}

/// The path is refused, so that the hook is never called.
fn refused(case: &Case, reason: &str, quirks: Quirks) -> Verdict {
    let verdict = match case.hook.caller() {
        Caller::Startd => {
            Verdict::new(Decision::NotConfigured, false, "the startd takes the hook for not configured").then(
                match case.hook {
                    HookType::FetchWork => "the slot never fetches, until a reconfig finds a better path",
                    _ => "nobody is told; everything else goes on",
                },
            )
        }
        Caller::Starter => Verdict::new(
            Decision::NotStarted,
            false,
            "the starter takes no job on while this path is configured",
        )
        .then("every job ends with starter status 1; no hook at all is called")
        .quirk(Quirk::StarterRefusalUntold),
        Caller::Shadow => Verdict::new(Decision::GoOn, false, "the shadow does without the hook")
            .then("the job starts as if nothing were configured"),
        Caller::Router => {
            let verdict = if quirks.has(Quirk::RouterRefusedHookSkipped) {
                Verdict::new(
                    Decision::NotConfigured,
                    false,
                    "the router goes on as if no hook were configured",
                )
            } else {
                Verdict::new(
                    Decision::Router(HookDecision::Failed),
                    false,
                    "the router treats it as a failing hook",
                )
            };
            verdict.quirk(Quirk::RouterRefusedHookSkipped)
        }
    };
    verdict.because(reason)
}

/// The path is good and exec fails.
fn not_started(case: &Case, path: &[u8], reason: &str, quirks: Quirks) -> Verdict {
    let verdict = match case.hook {
        HookType::FetchWork if quirks.has(Quirk::FetchStopsAfterSpawnFailure) => {
            Verdict::new(Decision::Stuck, false, "the slot believes that a fetch is under way")
                .then("it never fetches again until the startd is restarted")
                .quirk(Quirk::FetchStopsAfterSpawnFailure)
        }
        HookType::FetchWork => {
            Verdict::new(Decision::Fetch(FetchDecision::NoWork), false, "it counts as a fetch without data")
                .then("the slot tries again after FetchWorkDelay")
                .quirk(Quirk::FetchStopsAfterSpawnFailure)
        }
        HookType::ReplyFetch | HookType::EvictClaim | HookType::UpdateJobInfo => {
            Verdict::new(Decision::NoEffect, false, "the caller logs it and goes on")
        }
        HookType::PrepareJob | HookType::PrepareJobBeforeTransfer => {
            let text = format!("failed to execute {} ({})", case.hook.name(), path.as_bstr());
            let held = case.with_shadow.then_some((hold_code::HOOK_PREPARE_JOB_FAILURE, 0));
            let mut verdict =
                prepare_failed(case, held.is_some(), false, quirks).because(format!("{text}: {reason}"));
            verdict.hold = held;
            return verdict;
        }
        HookType::JobExit if quirks.has(Quirk::ExitHookUnspawnableHangs) => {
            Verdict::new(Decision::Stuck, false, "the clean-up of the job stops here")
                .then("the starter stays for ever and the slot Busy, until it is vacated")
                .quirk(Quirk::ExitHookUnspawnableHangs)
        }
        HookType::JobExit => Verdict::new(Decision::Done, false, "it is logged, the clean-up goes on")
            .quirk(Quirk::ExitHookUnspawnableHangs),
        HookType::ShadowPrepareJob => {
            Verdict::new(Decision::Requeued, false, "the shadow gives up: job not started")
                .then("the job goes back to idle and is tried again")
        }
        HookType::TranslateJob
        | HookType::RouterUpdateJobInfo
        | HookType::JobFinalize
        | HookType::JobCleanup => {
            Verdict::new(Decision::Router(HookDecision::Stuck), false, "the job stays in its state")
                .then("the hook is tried again at the next poll, for ever")
        }
    };
    verdict.because(reason)
}

/// The hook has not ended in the time that its caller or we were willing to wait.
fn still_running(case: &Case, took: Duration) -> Verdict {
    let seconds = took.as_secs_f64();
    let limit = case.caller_waits.filter(|limit| took >= *limit).map(|limit| limit.as_secs_f64());
    let forever = format!("no answer within {seconds:.1} s, and this caller has no time-out");
    match case.hook {
        HookType::FetchWork => {
            Verdict::new(Decision::StillRunning, false, "the slot waits and does not fetch again")
                .because(forever)
                .then(
                    "an idle claim just waits; at shutdown the hook is killed with the job it may have taken",
                )
        }
        HookType::ReplyFetch | HookType::EvictClaim => {
            Verdict::new(Decision::NoEffect, true, "nobody waits for it").because(forever)
        }
        HookType::UpdateJobInfo => Verdict::new(Decision::NoEffect, true, "nobody waits for it")
            .because(forever)
            .then("one more is started at each interval, until the starter's end kills them all"),
        HookType::PrepareJob | HookType::PrepareJobBeforeTransfer => {
            Verdict::new(Decision::StillRunning, false, "the job is not started and the slot is blocked")
                .because(forever)
                .then("it stays so until the job is vacated: JOB_EXIT evict, hook killed")
        }
        HookType::JobExit => match (limit, case.caller_waits) {
            (Some(limit), _) => {
                let why = format!("timed out waiting for hook to exit, after {limit} s");
                Verdict::new(Decision::TimedOut, false, format!("{why}: the clean-up goes on without it"))
                    .because(case.word.to_string())
                    .then("the starter exits and kills the hook")
            }
            (None, Some(waits)) => {
                let next = format!("after {} s the starter goes on without it", waits.as_secs_f64());
                Verdict::new(Decision::StillRunning, false, "the clean-up waits for it")
                    .because(format!("no answer within {seconds:.1} s"))
                    .then(next)
            }
            (None, None) => Verdict::new(
                Decision::StillRunning,
                false,
                "the clean-up waits for it, and the slot is blocked",
            )
            .because(forever),
        },
        HookType::ShadowPrepareJob => match (limit, case.caller_waits) {
            (None, Some(waits)) => {
                let next = format!("after {} s it gives up: job not started", waits.as_secs_f64());
                Verdict::new(Decision::StillRunning, false, "the shadow waits for it")
                    .because(format!("no answer within {seconds:.1} s"))
                    .then(next)
            }
            (limit, _) => {
                let (decision, why) = match limit {
                    Some(limit) => {
                        (Decision::TimedOut, format!("Timed out waiting for hook to exit, after {limit} s"))
                    }
                    None => (Decision::StillRunning, forever),
                };
                Verdict::new(decision, false, "the shadow gives up: job not started")
                    .because(why)
                    .then("the job goes back to idle and is tried again")
            }
        },
        HookType::TranslateJob => Verdict::new(
            Decision::StillRunning,
            false,
            "the job stays claimed, each poll asks again and is refused",
        )
        .because(forever)
        .then("removal of the source job is not noticed meanwhile"),
        HookType::RouterUpdateJobInfo | HookType::JobFinalize | HookType::JobCleanup => {
            Verdict::new(Decision::StillRunning, false, "the job stays in its state").because(forever)
        }
    }
}

fn answered(
    case: &Case,
    ended: &Ended,
    exit: Exit,
    path: &[u8],
    world: &dyn World,
    quirks: Quirks,
) -> Verdict {
    match case.hook {
        HookType::FetchWork => fetched(case, ended, world, quirks),
        HookType::ReplyFetch => Verdict::new(Decision::NoEffect, true, "not waited for; the startd goes on")
            .because(case.word.to_string())
            .result([case.job.clone()]),
        HookType::EvictClaim => {
            let verdict = if quirks.has(Quirk::EvictClaimNever) {
                Verdict::new(Decision::NeverCalled, true, "this startd never calls the hook")
            } else {
                Verdict::new(Decision::NoEffect, true, "not waited for; the claim is given up")
            };
            verdict.quirk(Quirk::EvictClaimNever).result([case.job.clone()])
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
            let verdict =
                Verdict::new(Decision::Done, true, says).because(told.to_string()).result([case.job.clone()]);
            match case.told(Quirks::Reference) == case.told(Quirks::None) {
                true => verdict,
                false => verdict.quirk(Quirk::ExitReasonAlwaysEvict),
            }
        }
        HookType::PrepareJob | HookType::PrepareJobBeforeTransfer => {
            prepared(case, ended, exit, path, world, quirks)
        }
        HookType::ShadowPrepareJob => shadow_prepared(case, ended, exit, path, world, quirks),
        HookType::TranslateJob
        | HookType::RouterUpdateJobInfo
        | HookType::JobFinalize
        | HookType::JobCleanup => routed(case, ended, exit, quirks),
    }
}

fn fetched(case: &Case, ended: &Ended, world: &dyn World, quirks: Quirks) -> Verdict {
    let answer = (ended.stdout.as_slice(), ended.cut, case.output_limit);
    let judged = fetch_verdict(&case.slot, answer, &case.keyword, world, quirks);
    let (good, says) = match judged.decision {
        FetchDecision::NoWork => (true, "no work: the slot stays as it is"),
        FetchDecision::BadOutput => (false, "the answer is dropped as a whole; no reply hook is called"),
        FetchDecision::Accepted => (true, "accepted: REPLY_FETCH accept, the slot is claimed for the job"),
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
            match job_info::read(&mut read, place, &Overrides::default(), quirks, world) {
                Ok(_) => verdict.next = "the starter takes the job on".to_owned(),
                Err(refusal) => {
                    verdict.good = false;
                    verdict.says = "accepted, but the starter will not take the job on".to_owned();
                    verdict.reason = refusal.to_string();
                    verdict.next = "starter exit 1; the claim stays".to_owned();
                    verdict.quirks.push(Quirk::StarterRefusalUntold);
                }
            }
            verdict.result.push(job);
        }
    }
    verdict
}

/// The words for a job that a prepare hook has stopped.
fn prepare_failed(case: &Case, held: bool, by_code: bool, quirks: Quirks) -> Verdict {
    let verdict = match (case.with_shadow, held) {
        (true, true) => Verdict::new(Decision::Held, false, "the job is put on hold"),
        (true, false) => {
            Verdict::new(Decision::Requeued, false, "the job goes back to idle and is tried again")
        }
        (false, _) if by_code => Verdict::new(
            Decision::NotStarted,
            false,
            "not started; a fetched job is told of it by JOB_EXIT evict alone",
        ),
        (false, _) => Verdict::new(Decision::NotStarted, false, "the job is not started"),
    };
    if case.with_shadow {
        let next = match quirks.has(Quirk::PrepareFailureHangsShadow) {
            true => "JOB_EXIT is not called; the starter stays until the startd kills it, about 15 s later",
            false => "JOB_EXIT evict, starter exits",
        };
        verdict.then(next).quirk(Quirk::PrepareFailureHangsShadow)
    } else {
        verdict.then("JOB_EXIT evict, starter exits 0, the claim stays")
    }
}

fn prepared(
    case: &Case,
    ended: &Ended,
    exit: Exit,
    path: &[u8],
    world: &dyn World,
    quirks: Quirks,
) -> Verdict {
    let refuses_cut = ended.cut && !quirks.has(Quirk::AnswerCutAccepted);
    // By the manual of 7.1 nobody reads the answer: the exit status decides alone.
    let old = case.protocol == Protocol::Old;
    let read: &[u8] = if old { b"" } else { &ended.stdout };
    let judged = prepare::judge(case.hook.name(), path, exit, read, refuses_cut && !old, world);
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
            Verdict::new(Decision::GoOnWithWarning, true, "the job goes on; the message is told as a warning")
                .because(judged.text.to_string())
        } else {
            Verdict::new(Decision::GoOn, true, "the job goes on")
        };
        merged(verdict, case, &judged.update)
    };
    if ended.cut {
        verdict.quirks.push(Quirk::AnswerCutAccepted);
    }
    if old {
        let printed = reply::ad_prefix(&ended.stdout).ad;
        verdict.ignored = printed.sorted().into_iter().map(|(name, _)| name.to_owned()).collect();
    }
    verdict.bad = judged.unread;
    verdict
}

fn merged(mut verdict: Verdict, case: &Case, update: &ClassAd) -> Verdict {
    let mut job = case.job.clone();
    job.update(update);
    verdict.changes = changes(&case.job, &job);
    verdict.result.push(job);
    verdict
}

fn shadow_prepared(
    case: &Case,
    ended: &Ended,
    exit: Exit,
    path: &[u8],
    world: &dyn World,
    quirks: Quirks,
) -> Verdict {
    let read = reply::ad_prefix(&ended.stdout);
    let mut status = reply::prepare_status(exit, &read.ad, PrepareReader::Shadow, world);
    if ended.cut && status.status == 0 && !quirks.has(Quirk::AnswerCutAccepted) {
        status.status = 1;
        status.how = prepare::CUT.to_owned();
    }
    let text = status.text(case.hook.name(), path).to_string();
    let mut verdict = match status.status {
        0 => merged(Verdict::new(Decision::GoOn, true, "the claim is activated"), case, &read.ad),
        300.. => Verdict::new(Decision::Requeued, false, "the job is not started")
            .because(text)
            .then("it goes back to idle and is tried again"),
        code => {
            let mut verdict = Verdict::new(Decision::Held, false, "the job is put on hold").because(text);
            verdict.hold = Some((HoldCode::HookShadowPrepareJobFailure.number(), code));
            verdict
        }
    };
    if ended.cut {
        verdict.quirks.push(Quirk::AnswerCutAccepted);
    }
    verdict.bad = read.unread;
    verdict
}

fn routed(case: &Case, ended: &Ended, exit: Exit, quirks: Quirks) -> Verdict {
    let translating = case.hook == HookType::TranslateJob;
    let answer = HookAnswer {
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

fn router_words(hook: HookType, decision: HookDecision, quirks: Quirks) -> (&'static str, &'static str) {
    let pauses = !quirks.has(Quirk::TranslateFailureNoBackoff);
    match (hook, decision) {
        (_, HookDecision::Routed) => {
            ("the answer is the new job; nothing is copied from the source", "transforms, then submission")
        }
        (_, HookDecision::Edited) => {
            ("the source is edited in place", "transforms, then the differences are written")
        }
        (HookType::TranslateJob, HookDecision::Dropped | HookDecision::Failed) => {
            let next = match pauses {
                true => "it is claimed and translated again after a pause that doubles each time",
                false => "it is claimed and translated again at a later poll",
            };
            ("the job is given back", next)
        }
        (_, HookDecision::Dropped) => {
            ("the routed job is removed and the source given back", "it is routed anew")
        }
        (_, HookDecision::Stuck) => {
            let next = match quirks.has(Quirk::TranslateSilenceLoops) {
                true => "the hook is called again at every poll",
                false => "the hook is called again at the next poll; a second silence gives the job back",
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
        (HookType::JobFinalize, HookDecision::Failed) => match quirks.has(Quirk::FinalizeRerouteLost) {
            true => {
                ("nothing of the answer counts; the source leaves as completed", "clean-up of the routed job")
            }
            false => (
                "nothing of the answer counts; the source is to be routed again",
                "clean-up of the routed job",
            ),
        },
        (HookType::JobCleanup, HookDecision::Failed) => {
            let next = match quirks.has(Quirk::CleanupFailureKeepsJob) {
                true => "the hook is called again at the next poll",
                false => {
                    "the hook is called again after a pause; when it keeps failing the job is released all the same"
                }
            };
            ("the source job is not released", next)
        }
        (_, HookDecision::Failed) => match quirks.has(Quirk::UpdateFailureFreezes) {
            true => {
                ("the answer is dropped; the job's status is not looked at", "called again at the next poll")
            }
            false => (
                "the answer is dropped; the job's status is looked at all the same",
                "called again at the next poll",
            ),
        },
    }
}
