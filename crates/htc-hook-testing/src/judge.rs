//! Verdict on the outcome of a hook call, including a hook that was refused, could not be started or did not end in
//! time.

use std::time::Duration;

use bstr::ByteSlice;

use super::answer_verdict::AnsweredCall;
use super::call::{CallEnding, CallOutcome};
use super::case::Case;
use super::decision::Decision;
use super::verdict::{Verdict, prepare_failure_verdict};
use htc_base::job::HoldCode;
use htc_base::quirks::QuirkMode;
use htc_base::world::World;
use htc_hook::{HookCaller, HookType};
use htc_router::{HookDecision, decide_skipping_refused_hook};
use htc_slot::{FetchDecision, failed_fetch_decision};
use htc_starter::{refused_job_exit_hook_decision, unspawnable_exit_hook_decision};

/// Returns the verdict on a call of the hook at `path`.
pub fn judge_call(
    case: &Case,
    outcome: &CallOutcome,
    path: &[u8],
    world: &dyn World,
    quirks: QuirkMode,
) -> Verdict {
    match &outcome.ending {
        CallEnding::Refused { reason } => refused_path_verdict(case, reason, quirks),
        CallEnding::NotStarted { reason, .. } => not_started_verdict(case, path, reason, quirks),
        CallEnding::Ran(ended) => {
            let is_late = case.caller_waits.is_some_and(|limit| outcome.took > limit);
            match ended.exit {
                Some(exit) if !is_late => AnsweredCall { case, ended, exit, path, world, quirks }.verdict(),
                _ => still_running_verdict(case, outcome.took),
            }
        }
    }
}

/// Returns the verdict on a hook whose path the caller refuses, so that it is never called.
fn refused_path_verdict(case: &Case, reason: &str, quirks: QuirkMode) -> Verdict {
    let verdict = match case.hook.caller() {
        HookCaller::Startd => {
            Verdict::new(Decision::NotConfigured, false, "the startd treats the hook as not configured")
                .with_next(match case.hook {
                    HookType::FetchWork => {
                        "the slot fetches no work until the path is corrected and the startd is reconfigured"
                    }
                    _ => "no message is logged; everything else continues",
                })
        }
        HookCaller::Starter => Verdict::new(
            Decision::NotStarted,
            false,
            "the starter starts no job while this path is configured",
        )
        .with_next("every job ends with starter status 1, and no hook is called")
        .with_quirk(refused_job_exit_hook_decision(quirks).quirk),
        HookCaller::Shadow => Verdict::new(Decision::GoOn, false, "the shadow continues without the hook")
            .with_next("the job starts as if no hook were configured"),
        HookCaller::Router => {
            let skips = decide_skipping_refused_hook(quirks);
            let verdict = if skips.as_reference {
                Verdict::new(
                    Decision::NotConfigured,
                    false,
                    "the router continues as if no hook were configured",
                )
            } else {
                Verdict::new(
                    Decision::Router(HookDecision::Failed),
                    false,
                    "the router treats the hook as failed",
                )
            };
            verdict.with_quirk(skips.quirk)
        }
    };
    verdict.with_reason(reason)
}

/// Returns the verdict on a hook whose path is valid but which cannot be executed.
fn not_started_verdict(case: &Case, path: &[u8], reason: &str, quirks: QuirkMode) -> Verdict {
    let verdict = match case.hook {
        HookType::FetchWork => {
            let stops = failed_fetch_decision(quirks);
            let no_work = Decision::Fetch(FetchDecision::NoWork);
            let verdict = match stops.as_reference {
                true => Verdict::new(Decision::Stuck, false, "the slot treats the fetch as still running")
                    .with_next("the slot never fetches again until the startd is restarted"),
                false => Verdict::new(no_work, false, "the fetch is treated as one that returned no job")
                    .with_next("the slot tries again after FetchWorkDelay"),
            };
            verdict.with_quirk(stops.quirk)
        }
        HookType::ReplyFetch | HookType::EvictClaim | HookType::UpdateJobInfo => {
            Verdict::new(Decision::NoEffect, false, "the caller logs the failure and continues")
        }
        HookType::PrepareJob | HookType::PrepareJobBeforeTransfer => {
            let text = format!("failed to execute {} ({})", case.hook.name(), path.as_bstr());
            let held = case.with_shadow.then_some((HoldCode::HookPrepareJobFailure.number(), 0));
            let mut verdict = prepare_failure_verdict(case, held.is_some(), false, quirks)
                .with_reason(format!("{text}: {reason}"));
            verdict.hold = held;
            return verdict;
        }
        HookType::JobExit => {
            let hangs = unspawnable_exit_hook_decision(quirks);
            let verdict = match hangs.as_reference {
                true => Verdict::new(Decision::Stuck, false, "the cleanup of the job stops")
                    .with_next("the starter stays forever and the slot Busy, until it is vacated"),
                false => {
                    Verdict::new(Decision::Done, false, "the failure is logged, and the cleanup continues")
                }
            };
            verdict.with_quirk(hangs.quirk)
        }
        HookType::ShadowPrepareJob => {
            Verdict::new(Decision::Requeued, false, "the shadow does not start the job")
                .with_next("the job goes back to idle and is tried again")
        }
        HookType::TranslateJob
        | HookType::RouterUpdateJobInfo
        | HookType::JobFinalize
        | HookType::JobCleanup => {
            Verdict::new(Decision::Router(HookDecision::Stuck), false, "the job stays in its state")
                .with_next("the hook is tried again at the next poll, forever")
        }
    };
    verdict.with_reason(reason)
}

/// Returns the verdict on a hook that did not end within the time limit of its caller or of this program.
fn still_running_verdict(case: &Case, took: Duration) -> Verdict {
    let still_running = |action: &str| Verdict::new(Decision::StillRunning, false, action);
    let verdict = match case.hook {
        HookType::JobExit | HookType::ShadowPrepareJob => return timeout_verdict(case, took),
        HookType::FetchWork => still_running("the slot waits and does not fetch again").with_next(
            "an idle claim waits; at shutdown the hook is killed, and a job that it has taken from the queue may be lost",
        ),
        HookType::PrepareJob | HookType::PrepareJobBeforeTransfer => {
            still_running("the job is not started and the slot is blocked")
                .with_next("the slot stays blocked until the job is vacated; then JOB_EXIT is called with 'evict', and the hook is killed")
        }
        HookType::TranslateJob => still_running("the job stays claimed; each poll tries to call the hook again, and fails")
            .with_next("meanwhile the removal of the source job is not noticed"),
        HookType::RouterUpdateJobInfo | HookType::JobFinalize | HookType::JobCleanup => {
            still_running("the job stays in its state")
        }
        HookType::ReplyFetch | HookType::EvictClaim | HookType::UpdateJobInfo => {
            return not_awaited_verdict(case, took);
        }
    };
    verdict.with_reason(no_answer_reason(took))
}

/// Returns the verdict on a hook that is still running and that its caller does not wait for.
fn not_awaited_verdict(case: &Case, took: Duration) -> Verdict {
    let verdict = Verdict::new(Decision::NoEffect, true, "the caller does not wait for the hook")
        .with_reason(format!("the hook has not ended after {:.1} s", took.as_secs_f64()));
    match case.hook {
        HookType::UpdateJobInfo => verdict
            .with_next("another call is started at each interval; all are killed when the starter ends"),
        _ => verdict,
    }
}

fn no_answer_reason(took: Duration) -> String {
    format!("no answer within {:.1} s, and this caller waits without a limit", took.as_secs_f64())
}

/// Returns the verdict on a hook that did not end in time, for a caller that may have a timeout.
fn timeout_verdict(case: &Case, took: Duration) -> Verdict {
    let exits = case.hook == HookType::JobExit;
    let gives_up = |decision| {
        Verdict::new(decision, false, "the shadow does not start the job")
            .with_next("the job goes back to idle and is tried again")
    };
    match case.caller_waits {
        Some(limit) if took < limit => {
            let (action, next_step) = match exits {
                true => ("the cleanup waits for the hook", "the starter continues without the hook"),
                false => ("the shadow waits for the hook", "the shadow does not start the job"),
            };
            Verdict::new(Decision::StillRunning, false, action)
                .with_reason(format!("no answer within {:.1} s", took.as_secs_f64()))
                .with_next(format!("after {} s {next_step}", limit.as_secs_f64()))
        }
        Some(limit) if exits => {
            let reason = format!("timed out waiting for hook to exit, after {} s", limit.as_secs_f64());
            Verdict::new(Decision::TimedOut, false, format!("{reason}: the cleanup continues without it"))
                .with_reason(case.word.to_string())
                .with_next("the starter exits and kills the hook")
        }
        Some(limit) => gives_up(Decision::TimedOut)
            .with_reason(format!("Timed out waiting for hook to exit, after {} s", limit.as_secs_f64())),
        None if exits => Verdict::new(
            Decision::StillRunning,
            false,
            "the cleanup waits for the hook, and the slot is blocked",
        )
        .with_reason(no_answer_reason(took)),
        None => gives_up(Decision::StillRunning).with_reason(no_answer_reason(took)),
    }
}
