//! Calls of router hooks and the effects of their output: a job is translated, updated, finalized or cleaned up.

use bstr::{BString, ByteSlice};

use super::action::RouterAction;
use super::copy_status::to_changes;
use super::event::{CopyUpdateError, RouterHookResult};
use super::router::{Router, not_routed_text};
use super::router_step::RouterStep;
use super::submission::mark_submitted;
use crate::failure_consequence::{FailureConsequence, consequence_of_failure, decide_missing_universe};
use crate::routed_job::{RoutedJobOutcome, RoutedJobState, RoutingMode};
use crate::translate::{SilentWatcher, changes_of_edit};
use crate::{HookDecision, RoutedJob, SourceJob, TranslateError, Translator};
use htc_base::job::JobStatus;
use htc_base::quirks::Quirk;
use htc_classad::ClassAd;
use htc_hook::HookType;

/// Number of failed JOB_CLEANUP calls after which the job is released although the hook failed.
const MAX_CLEANUP_TRIES: u32 = 5;
/// Number of calls without output after which TRANSLATE_JOB is treated as failed.
const MAX_SILENT_TRANSLATIONS: u32 = 2;
/// Longest pause before a retry, in seconds.
pub(super) const MAX_RETRY_PAUSE_SECONDS: i64 = 3600;

/// Outcome of the translation of an ad.
enum AdTranslation {
    /// The configuration no longer has the job's route.
    RouteGone,
    Failed(TranslateError),
    Done,
}

impl Router {
    /// Requests a hook call. 25.14 keeps the keys of the jobs whose hooks run, and treats a job as busy if its key
    /// begins with one of them: while the hook of job 1.1 runs, job 1.10 has to wait. A source job without a routed job
    /// has an empty key: while its JOB_CLEANUP runs, all jobs wait.
    pub(super) fn call_hook(
        &mut self,
        job: &mut RoutedJob,
        hook: HookType,
        route: BString,
        step: &mut RouterStep<'_>,
    ) {
        if self.quirks.reproduces(Quirk::RouterKeyPrefix) && step.is_hook_configured(job, hook) {
            let key = hook_key(job, hook);
            if self.running_hooks.iter().any(|(known, kind)| *kind == hook && key.starts_with(known.as_str()))
            {
                return job.wait_for_poll();
            }
            self.running_hooks.push((key, hook));
        }
        step.request_hook(job, hook, route);
    }

    pub(super) fn start_translation(&mut self, job: &mut RoutedJob, step: &mut RouterStep<'_>) {
        let queued = step.context.queue.job(job.source_id);
        if queued.is_none_or(|ad| step.evaluate_int(&ad, "JobStatus") == Some(JobStatus::REMOVED)) {
            // A source job that was removed since it was claimed is released.
            step.report_quirk(job, self.quirks.decide(Quirk::SourceRemovalUnseen));
            return job.begin_cleanup(RoutedJobOutcome::Interrupted);
        }
        match self.table.index_of(&job.route) {
            Some(at) => {
                let description = self.table.routes[at].description();
                self.call_hook(job, HookType::TranslateJob, description, step);
            }
            None => {
                step.log_for_job(job, "route has been removed before job could be submitted.");
                job.begin_cleanup(RoutedJobOutcome::Failed);
            }
        }
    }

    /// Handles the end of a hook, or continues without a hook that is not configured.
    pub(super) fn handle_hook_result(
        &mut self,
        job: &mut RoutedJob,
        hook: HookType,
        result: RouterHookResult,
        step: &mut RouterStep<'_>,
    ) {
        let key = hook_key(job, hook);
        let ended = |(known, kind): &(String, HookType)| *kind == hook && key.starts_with(known.as_str());
        if let Some(at) = self.running_hooks.iter().position(ended) {
            self.running_hooks.swap_remove(at);
        }
        match &result {
            RouterHookResult::NotConfigured => {}
            RouterHookResult::Failed(reason) => step.log_for_job(job, &format!("{}: {reason}", hook.name())),
            RouterHookResult::Ended(verdict) => {
                let reason =
                    if verdict.reason.is_empty() { String::new() } else { format!(" ({})", verdict.reason) };
                step.log_for_job(job, &format!("{}: {}{reason}", hook.name(), verdict.decision.word()));
            }
        }
        match hook {
            HookType::TranslateJob => self.handle_translate_hook(job, result, step),
            HookType::RouterUpdateJobInfo => self.handle_update_hook(job, result, step),
            HookType::JobFinalize => self.handle_finalize_hook(job, result, step),
            _ => match result {
                RouterHookResult::Ended(verdict) if verdict.decision != HookDecision::Failed => {
                    self.release_source(job, step);
                }
                RouterHookResult::NotConfigured => self.release_source(job, step),
                RouterHookResult::Failed(_) | RouterHookResult::Ended(_) => {
                    self.handle_cleanup_failure(job, step)
                }
            },
        }
    }

    fn handle_translate_hook(
        &mut self,
        job: &mut RoutedJob,
        result: RouterHookResult,
        step: &mut RouterStep<'_>,
    ) {
        let verdict = match result {
            RouterHookResult::NotConfigured => return self.submit_or_edit(job, job.source_ad.clone(), step),
            RouterHookResult::Failed(_) => return self.handle_translation_failure(job, step),
            RouterHookResult::Ended(verdict) => verdict,
        };
        match verdict.decision {
            HookDecision::Routed | HookDecision::Edited => self.submit_or_edit(job, verdict.output_ad, step),
            HookDecision::Stuck => {
                let RoutedJobState::Claimed { silences } = &mut job.state else { return };
                *silences += 1;
                if *silences < MAX_SILENT_TRANSLATIONS {
                    // The next poll calls the hook again.
                    return job.wait_for_poll();
                }
                if let Some((_, loops)) =
                    consequence_of_failure(HookType::TranslateJob, HookDecision::Stuck, self.quirks)
                {
                    step.report_quirk(job, loops);
                }
                self.handle_translation_failure(job, step);
            }
            HookDecision::RouterAbort => {
                step.report_quirk(job, decide_missing_universe(self.quirks).1);
                self.handle_translation_failure(job, step);
            }
            // 25.14 detects an attribute that the schedd refuses only when it submits the job.
            _ if !verdict.output_ad.is_empty() => self.prepare_refused_copy(job, verdict.output_ad, step),
            _ => self.handle_translation_failure(job, step),
        }
    }

    fn handle_update_hook(
        &mut self,
        job: &mut RoutedJob,
        result: RouterHookResult,
        step: &mut RouterStep<'_>,
    ) {
        let unchanged = ClassAd::new();
        let RouterHookResult::Ended(verdict) = result else { return self.check_copy(job, &unchanged, step) };
        match verdict.decision {
            HookDecision::Dropped => {
                if !verdict.output_ad.is_empty() {
                    self.merge_hook_output(job, &verdict.output_ad, step);
                }
                job.begin_cleanup(RoutedJobOutcome::Failed);
            }
            HookDecision::Failed if FailureConsequence::Frozen.applies(self.quirks) => job.wait_for_poll(),
            HookDecision::Updated => self.update_copy(job, verdict.output_ad, step),
            _ => self.check_copy(job, &unchanged, step),
        }
    }

    /// Merges hook output into the routed ad in the queue's current state. Returns false if the routed job no longer
    /// exists.
    fn merge_hook_output(&self, job: &mut RoutedJob, answer: &ClassAd, step: &RouterStep<'_>) -> bool {
        let queued = job.copy.and_then(|copy| step.context.copies.job(copy.id));
        let is_there = queued.is_some();
        if let Some(queued) = queued {
            job.copy_ad = queued.flattened_chain();
        }
        job.copy_ad.update(answer);
        is_there
    }

    /// Writes the output of an update hook to the routed job.
    fn update_copy(&mut self, job: &mut RoutedJob, answer: ClassAd, step: &mut RouterStep<'_>) {
        let Some(copy) = job.copy_id() else { return job.begin_cleanup(RoutedJobOutcome::Failed) };
        if step.context.copies.job(copy).is_none() {
            step.log_for_job(
                job,
                &format!("Ad {copy} disappeared before update finished.  Nothing will be updated."),
            );
            return job.begin_cleanup(RoutedJobOutcome::Failed);
        }
        self.merge_hook_output(job, &answer, step);
        let changes = to_changes(&answer);
        job.state = RoutedJobState::Submitted { answer };
        step.request_action(job, RouterAction::UpdateCopy(job.source_id, copy, changes));
    }

    /// Handles the queue's reply to the update from a hook.
    pub(super) fn handle_copy_update_result(
        &mut self,
        job: &mut RoutedJob,
        result: Result<(), CopyUpdateError>,
        step: &mut RouterStep<'_>,
    ) {
        let RoutedJobState::Submitted { answer } = &mut job.state else { return };
        let answer = std::mem::take(answer);
        match result {
            Ok(()) => {
                step.log_for_job(job, "updated routed job status");
                self.check_copy(job, &answer, step);
            }
            Err(reason) => {
                step.log_for_job(job, &format!("Failed to update routed job status: {reason}"));
                match reason {
                    CopyUpdateError::Refused(_) => job.begin_cleanup(RoutedJobOutcome::Failed),
                    CopyUpdateError::WriteFailed(_) => self.check_copy(job, &ClassAd::new(), step),
                }
            }
        }
    }

    fn handle_finalize_hook(
        &mut self,
        job: &mut RoutedJob,
        result: RouterHookResult,
        step: &mut RouterStep<'_>,
    ) {
        let answer = match result {
            RouterHookResult::NotConfigured => ClassAd::new(),
            RouterHookResult::Ended(verdict) if verdict.decision == HookDecision::Finalized => {
                verdict.output_ad
            }
            RouterHookResult::Failed(_) | RouterHookResult::Ended(_) => {
                // The source job is to be routed again. In 25.14 its status in the queue remains completed, so it
                // leaves the queue instead.
                if FailureConsequence::Rerouted.applies(self.quirks) {
                    step.set_source_idle(job);
                }
                return job.begin_cleanup(RoutedJobOutcome::Failed);
            }
        };
        job.source_ad.update(&answer);
        if !answer.is_empty() {
            step.actions.push(RouterAction::UpdateSource(job.source_id, to_changes(&answer)));
        }
        match job.copy {
            Some(copy) => step.request_action(job, RouterAction::FinalizeCopy(job.source_id, copy.id)),
            None => job.begin_cleanup(RoutedJobOutcome::Failed),
        }
    }

    fn handle_cleanup_failure(&mut self, job: &mut RoutedJob, step: &mut RouterStep<'_>) {
        let RoutedJobState::Cleanup(cleanup) = &mut job.state else { return };
        cleanup.failures += 1;
        let after = consequence_of_failure(HookType::JobCleanup, HookDecision::Failed, self.quirks);
        if cleanup.failures < MAX_CLEANUP_TRIES {
            if after.is_some_and(|(after, _)| after == FailureConsequence::CleanupRetriedLater) {
                cleanup.not_before = step.now + self.retry_pause_seconds(cleanup.failures);
            }
            return job.wait_for_poll();
        }
        if let Some((_, keeps_job)) = after {
            step.report_quirk(job, keeps_job);
        }
        step.log_for_job(job, "the cleanup hook keeps failing; the job is released anyway");
        self.release_source(job, step);
    }

    /// Returns the pause after this many consecutive failures, in seconds.
    fn retry_pause_seconds(&self, failures: u32) -> i64 {
        let period = (self.parameters.polling_period.as_secs() as i64).max(1);
        (period << failures.min(10)).min(MAX_RETRY_PAUSE_SECONDS)
    }

    fn handle_translation_failure(&mut self, job: &mut RoutedJob, step: &mut RouterStep<'_>) {
        if FailureConsequence::RetranslatedLater.applies(self.quirks) {
            let failures = self.paused_sources.get(&job.source_id).map_or(0, |(failures, _)| *failures) + 1;
            self.paused_sources
                .insert(job.source_id, (failures, step.now + self.retry_pause_seconds(failures)));
        }
        job.begin_cleanup(RoutedJobOutcome::Failed);
    }

    /// Translates an ad for the job's route, in place or as the ad of a routed job. Sets `job.copy_ad` to the result
    /// even after an error, because JOB_CLEANUP reads it.
    fn translate_ad(&self, job: &mut RoutedJob, mut ad: ClassAd, step: &RouterStep<'_>) -> AdTranslation {
        let Some(index) = self.table.index_of(&job.route) else { return AdTranslation::RouteGone };
        let route = &self.table.routes[index];
        let translator = Translator {
            table: &self.table,
            parameters: &self.parameters,
            config: step.context.config,
            world: step.context.world,
            quirks: self.quirks,
        };
        let key = job.source_id.to_string();
        let observer = &mut SilentWatcher::default();
        let sandboxed = job.routing == RoutingMode::Spooled;
        let original = SourceJob { ad: &job.source_ad, id: &key, is_sandboxed: sandboxed };
        let made = match job.routing {
            RoutingMode::InPlace => translator.apply_transforms(route, &mut ad, observer),
            RoutingMode::Copied | RoutingMode::Spooled => {
                translator.make_copy(route, &original, &mut ad, observer)
            }
        };
        job.copy_ad = ad;
        made.map_or_else(AdTranslation::Failed, |()| AdTranslation::Done)
    }

    /// Translates an ad that the schedd will refuse. Only JOB_CLEANUP reads the result.
    fn prepare_refused_copy(&mut self, job: &mut RoutedJob, ad: ClassAd, step: &mut RouterStep<'_>) {
        match self.translate_ad(job, ad, step) {
            AdTranslation::RouteGone => {}
            AdTranslation::Done if job.routing == RoutingMode::InPlace => {
                step.log_for_job(job, "Failed to edit job.")
            }
            AdTranslation::Done => {
                mark_submitted(job, None, step);
                step.log_for_job(job, "failed to submit job");
            }
            AdTranslation::Failed(error) => log_translate_error(job, &error, step),
        }
        self.handle_translation_failure(job, step);
    }

    /// Translates an ad, then requests the submission of the routed job or the edit of the source job.
    fn submit_or_edit(&mut self, job: &mut RoutedJob, ad: ClassAd, step: &mut RouterStep<'_>) {
        match self.translate_ad(job, ad, step) {
            AdTranslation::RouteGone => job.begin_cleanup(RoutedJobOutcome::Failed),
            AdTranslation::Failed(error) => {
                match error {
                    TranslateError::NoUniverse => {
                        step.report_quirk(job, decide_missing_universe(self.quirks).1)
                    }
                    // 25.14 copies the proxy before it looks for tokens, and does not delete the copied proxy if the
                    // tokens are missing.
                    TranslateError::InvalidTokens | TranslateError::UnknownToken(_)
                        if self.lent_proxy(job, step.context.world).is_some() =>
                    {
                        step.report_quirk(job, self.quirks.decide(Quirk::ProxyCopyLeft));
                    }
                    _ => {}
                }
                log_translate_error(job, &error, step);
                self.failures
                    .insert((job.source_id, HookType::TranslateJob), not_routed_text(&error.to_string()));
                self.handle_translation_failure(job, step);
            }
            AdTranslation::Done if job.routing == RoutingMode::InPlace => {
                let changes = changes_of_edit(&job.source_ad, &job.copy_ad);
                step.request_action(job, RouterAction::EditSource(job.source_id, changes));
            }
            AdTranslation::Done if !job.source_ad.contains("Owner") => {
                job.begin_cleanup(RoutedJobOutcome::Failed)
            }
            AdTranslation::Done => {
                step.request_action(
                    job,
                    RouterAction::SubmitCopy(job.source_id, Box::new(job.copy_ad.clone())),
                );
            }
        }
    }
}

fn log_translate_error(job: &RoutedJob, error: &TranslateError, step: &mut RouterStep<'_>) {
    let text = error.reference_text(&job.description(), job.route.as_bstr());
    step.actions.push(RouterAction::Log(text));
}

/// Returns the key under which 25.14 records the job's hook: the source id for TRANSLATE_JOB, otherwise the id of the
/// routed job, or an empty string if there is no routed job.
fn hook_key(job: &RoutedJob, hook: HookType) -> String {
    match hook {
        HookType::TranslateJob => job.source_id.to_string(),
        _ => job.copy_id().map(|copy| copy.to_string()).unwrap_or_default(),
    }
}
