//! Calls of hooks, and what their answers lead to: the copy is made, changed, finalized, cleaned up.

use bstr::{BString, ByteSlice};

use super::action::Action;
use super::event::{CopyError, HookResult};
use super::router::{Router, not_routed};
use super::step::Step;
use super::submission::submitted;
use super::watch::changes;
use crate::after_failure::{AfterFailure, after_failure, without_universe};
use crate::routed_job::{Outcome, Routing, State};
use crate::translate::{Unwatched, difference};
use crate::{HookDecision, Original, RoutedJob, TranslateError, Translator};
use htc_base::job::JobStatus;
use htc_base::quirks::Quirk;
use htc_classad::ClassAd;
use htc_hook::HookType;

/// After so many failures of a cleanup hook its job is released all the same.
const CLEANUP_TRIES: u32 = 5;
/// After so many calls without a word a translate hook counts as failed.
const SILENCES: u32 = 2;
/// The longest pause before something that failed is tried again, in seconds.
pub(super) const LONGEST_PAUSE: i64 = 3600;

impl Router {
    /// Asks for a hook. 25.14 keeps the keys of jobs whose hooks run, and takes a key that one of them begins for that job:
    /// while the hook of 1.1 runs, 1.10 has to wait, and all jobs while one without a copy is cleaned up, whose key is empty.
    pub(super) fn call(&mut self, job: &mut RoutedJob, hook: HookType, route: BString, step: &mut Step<'_>) {
        if self.quirks.has(Quirk::RouterKeyPrefix) && step.is_configured(job, hook) {
            let key = hook_key(job, hook);
            if self.running.iter().any(|(known, kind)| *kind == hook && key.starts_with(known.as_str())) {
                return job.rest();
            }
            self.running.push((key, hook));
        }
        step.hook(job, hook, route);
    }

    pub(super) fn claimed(&mut self, job: &mut RoutedJob, step: &mut Step<'_>) {
        let queued = step.around.queue.job(job.source_id);
        if queued.is_none_or(|ad| step.int(&ad, "JobStatus") == Some(JobStatus::REMOVED)) {
            // A source that is removed meanwhile is let go.
            step.strikes(job, self.quirks.decide(Quirk::SourceRemovalUnseen));
            return job.ends(Outcome::Interrupted);
        }
        match self.table.find(&job.route) {
            Some(at) => {
                let description = self.table.routes[at].description();
                self.call(job, HookType::TranslateJob, description, step);
            }
            None => {
                step.log(job, "route has been removed before job could be submitted.");
                job.ends(Outcome::Failed);
            }
        }
    }

    /// A hook has ended, or there is none.
    pub(super) fn hooked(
        &mut self,
        job: &mut RoutedJob,
        hook: HookType,
        result: HookResult,
        step: &mut Step<'_>,
    ) {
        let key = hook_key(job, hook);
        let ended = |(known, kind): &(String, HookType)| *kind == hook && key.starts_with(known.as_str());
        if let Some(at) = self.running.iter().position(ended) {
            self.running.swap_remove(at);
        }
        match &result {
            HookResult::NotConfigured => {}
            HookResult::Failed(reason) => step.log(job, &format!("{}: {reason}", hook.name())),
            HookResult::Ended(verdict) => {
                let why =
                    if verdict.reason.is_empty() { String::new() } else { format!(" ({})", verdict.reason) };
                step.log(job, &format!("{}: {}{why}", hook.name(), verdict.decision.word()));
            }
        }
        match hook {
            HookType::TranslateJob => self.translated(job, result, step),
            HookType::RouterUpdateJobInfo => self.update_answered(job, result, step),
            HookType::JobFinalize => self.finalize_answered(job, result, step),
            _ => match result {
                HookResult::Ended(verdict) if verdict.decision != HookDecision::Failed => {
                    self.release(job, step);
                }
                HookResult::NotConfigured => self.release(job, step),
                HookResult::Failed(_) | HookResult::Ended(_) => self.cleanup_failed(job, step),
            },
        }
    }

    fn translated(&mut self, job: &mut RoutedJob, result: HookResult, step: &mut Step<'_>) {
        let verdict = match result {
            HookResult::NotConfigured => return self.make(job, job.source.clone(), step),
            HookResult::Failed(_) => return self.translation_failed(job, step),
            HookResult::Ended(verdict) => verdict,
        };
        match verdict.decision {
            HookDecision::Routed | HookDecision::Edited => self.make(job, verdict.answer, step),
            HookDecision::Stuck => {
                let State::Claimed { silences } = &mut job.state else { return };
                *silences += 1;
                if *silences < SILENCES {
                    // Asked again at the next poll.
                    return job.rest();
                }
                if let Some((_, loops)) =
                    after_failure(HookType::TranslateJob, HookDecision::Stuck, self.quirks)
                {
                    step.strikes(job, loops);
                }
                self.translation_failed(job, step);
            }
            HookDecision::RouterAbort => {
                step.strikes(job, without_universe(self.quirks).1);
                self.translation_failed(job, step);
            }
            // What no schedd takes is only found when the copy is submitted.
            _ if !verdict.answer.is_empty() => self.make_refused(job, verdict.answer, step),
            _ => self.translation_failed(job, step),
        }
    }

    fn update_answered(&mut self, job: &mut RoutedJob, result: HookResult, step: &mut Step<'_>) {
        let unchanged = ClassAd::new();
        let HookResult::Ended(verdict) = result else { return self.check(job, &unchanged, step) };
        match verdict.decision {
            HookDecision::Dropped => {
                if !verdict.answer.is_empty() {
                    self.merge(job, &verdict.answer, step);
                }
                job.ends(Outcome::Failed);
            }
            HookDecision::Failed if AfterFailure::Frozen.follows(self.quirks) => job.rest(),
            HookDecision::Updated => self.update_copy(job, verdict.answer, step),
            _ => self.check(job, &unchanged, step),
        }
    }

    /// Merges an answer into the routed ad as the queue has it; false where the copy is gone.
    fn merge(&self, job: &mut RoutedJob, answer: &ClassAd, step: &Step<'_>) -> bool {
        let queued = job.copy.and_then(|copy| step.around.copies.job(copy.id));
        let is_there = queued.is_some();
        if let Some(queued) = queued {
            job.copy_ad = queued.flattened_chain();
        }
        job.copy_ad.update(answer);
        is_there
    }

    /// Writes to the copy what an update hook has answered.
    fn update_copy(&mut self, job: &mut RoutedJob, answer: ClassAd, step: &mut Step<'_>) {
        let Some(copy) = job.copy_id() else { return job.ends(Outcome::Failed) };
        if step.around.copies.job(copy).is_none() {
            step.log(
                job,
                &format!("Ad {copy} disappeared before update finished.  Nothing will be updated."),
            );
            return job.ends(Outcome::Failed);
        }
        self.merge(job, &answer, step);
        let changes = changes(&answer);
        job.state = State::Submitted { answer };
        step.ask(job, Action::UpdateCopy(job.source_id, copy, changes));
    }

    /// The queue has taken what a hook answered, or not.
    pub(super) fn copy_updated(
        &mut self,
        job: &mut RoutedJob,
        result: Result<(), CopyError>,
        step: &mut Step<'_>,
    ) {
        let State::Submitted { answer } = &mut job.state else { return };
        let answer = std::mem::take(answer);
        match result {
            Ok(()) => {
                step.log(job, "updated routed job status");
                self.check(job, &answer, step);
            }
            Err(reason) => {
                step.log(job, &format!("Failed to update routed job status: {reason}"));
                match reason {
                    CopyError::Refused(_) => job.ends(Outcome::Failed),
                    CopyError::Unwritten(_) => self.check(job, &ClassAd::new(), step),
                }
            }
        }
    }

    fn finalize_answered(&mut self, job: &mut RoutedJob, result: HookResult, step: &mut Step<'_>) {
        let answer = match result {
            HookResult::NotConfigured => ClassAd::new(),
            HookResult::Ended(verdict) if verdict.decision == HookDecision::Finalized => verdict.answer,
            HookResult::Failed(_) | HookResult::Ended(_) => {
                // The source is to be routed again. In 25.14 the queue keeps it completed: it leaves as that.
                if AfterFailure::Rerouted.follows(self.quirks) {
                    step.set_idle(job);
                }
                return job.ends(Outcome::Failed);
            }
        };
        job.source.update(&answer);
        if !answer.is_empty() {
            step.actions.push(Action::Update(job.source_id, changes(&answer)));
        }
        match job.copy {
            Some(copy) => step.ask(job, Action::Finalize(job.source_id, copy.id)),
            None => job.ends(Outcome::Failed),
        }
    }

    fn cleanup_failed(&mut self, job: &mut RoutedJob, step: &mut Step<'_>) {
        let State::Cleanup(cleanup) = &mut job.state else { return };
        cleanup.failures += 1;
        let after = after_failure(HookType::JobCleanup, HookDecision::Failed, self.quirks);
        if cleanup.failures < CLEANUP_TRIES {
            if after.is_some_and(|(after, _)| after == AfterFailure::CleanedLater) {
                cleanup.not_before = step.now + self.pause(cleanup.failures);
            }
            return job.rest();
        }
        if let Some((_, keeps_job)) = after {
            step.strikes(job, keeps_job);
        }
        step.log(job, "cleanup hook keeps failing, the job is released all the same");
        self.release(job, step);
    }

    /// How long something is let be that has failed so often, in seconds.
    fn pause(&self, failures: u32) -> i64 {
        let period = (self.knobs.polling_period.as_secs() as i64).max(1);
        (period << failures.min(10)).min(LONGEST_PAUSE)
    }

    fn translation_failed(&mut self, job: &mut RoutedJob, step: &mut Step<'_>) {
        if AfterFailure::RetranslatedLater.follows(self.quirks) {
            let failures = self.paused.get(&job.source_id).map_or(0, |(failures, _)| *failures) + 1;
            self.paused.insert(job.source_id, (failures, step.now + self.pause(failures)));
        }
        job.ends(Outcome::Failed);
    }

    /// Turns an ad into what the route of a job makes of it, in place or as its copy. However far it comes: it is what the
    /// cleanup hook reads.
    fn translate(
        &self,
        job: &mut RoutedJob,
        mut ad: ClassAd,
        step: &Step<'_>,
    ) -> Option<Result<(), TranslateError>> {
        let route = &self.table.routes[self.table.find(&job.route)?];
        let translator = Translator {
            table: &self.table,
            knobs: &self.knobs,
            config: step.around.config,
            world: step.around.world,
            quirks: self.quirks,
        };
        let key = job.source_id.to_string();
        let observer = &mut Unwatched::default();
        let sandboxed = job.routing == Routing::Spooled;
        let original = Original { ad: &job.source, key: &key, sandboxed };
        let made = match job.routing {
            Routing::InPlace => translator.apply(route, &mut ad, observer),
            Routing::Copied | Routing::Spooled => translator.copy(route, &original, &mut ad, observer),
        };
        job.copy_ad = ad;
        Some(made)
    }

    /// Makes a copy, or an edited job, that the schedd will not take: it goes no further than to the cleanup hook.
    fn make_refused(&mut self, job: &mut RoutedJob, ad: ClassAd, step: &mut Step<'_>) {
        match self.translate(job, ad, step) {
            None => {}
            Some(Ok(())) if job.routing == Routing::InPlace => step.log(job, "Failed to edit job."),
            Some(Ok(())) => {
                submitted(job, None, step);
                step.log(job, "failed to submit job");
            }
            Some(Err(error)) => log_error(job, &error, step),
        }
        self.translation_failed(job, step);
    }

    /// Makes the copy, or edits the source.
    fn make(&mut self, job: &mut RoutedJob, ad: ClassAd, step: &mut Step<'_>) {
        match self.translate(job, ad, step) {
            None => job.ends(Outcome::Failed),
            Some(Err(error)) => {
                match error {
                    TranslateError::NoUniverse => step.strikes(job, without_universe(self.quirks).1),
                    // 25.14 copies the proxy before it looks for tokens, and forgets it where they fail.
                    TranslateError::Tokens | TranslateError::UnknownToken(_)
                        if self.lent_proxy(job, step.around.world).is_some() =>
                    {
                        step.strikes(job, self.quirks.decide(Quirk::ProxyCopyLeft));
                    }
                    _ => {}
                }
                log_error(job, &error, step);
                self.failures.insert((job.source_id, HookType::TranslateJob), not_routed(&error.to_string()));
                self.translation_failed(job, step);
            }
            Some(Ok(())) if job.routing == Routing::InPlace => {
                let changes = difference(&job.source, &job.copy_ad);
                step.ask(job, Action::Edit(job.source_id, changes));
            }
            Some(Ok(())) if !job.source.contains("Owner") => job.ends(Outcome::Failed),
            Some(Ok(())) => {
                step.ask(job, Action::Submit(job.source_id, Box::new(job.copy_ad.clone())));
            }
        }
    }
}

fn log_error(job: &RoutedJob, error: &TranslateError, step: &mut Step<'_>) {
    let text = error.reference_text(&job.description(), job.route.as_bstr());
    step.actions.push(Action::Log(text));
}

/// The key under which the hook of a job is known: the source's for translations, else the copy's, if there is one.
fn hook_key(job: &RoutedJob, hook: HookType) -> String {
    match hook {
        HookType::TranslateJob => job.source_id.to_string(),
        _ => job.copy_id().map(|copy| copy.to_string()).unwrap_or_default(),
    }
}
