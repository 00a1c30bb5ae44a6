//! Calls of hooks, and what their answers lead to: the copy is made, changed, finalized, cleaned up.

use super::*;

impl Router {
    /// Asks for a hook. 25.14 keeps the keys of jobs whose hooks run, and takes a key that one of them begins for that job:
    /// while the hook of 1.1 runs, 1.10 has to wait, and all jobs while one without a copy is cleaned up, whose key is empty.
    pub(super) fn call(&mut self, job: &mut RoutedJob, hook: HookType, route: BString, step: &mut Step<'_>) {
        if self.quirks.has(Quirk::RouterKeyPrefix) && step.is_configured(job, hook) {
            let key = hook_key(job, hook);
            if self.running.iter().any(|(known, kind)| *kind == hook && key.starts_with(known.as_str())) {
                step.parked = true;
                return;
            }
            self.running.push((key, hook));
        }
        step.hook(job, hook, route);
    }

    pub(super) fn claimed(&mut self, job: &mut RoutedJob, step: &mut Step<'_>) {
        // A source that is removed meanwhile is let go.
        let removed = step
            .around
            .queue
            .job(job.source_id)
            .is_none_or(|ad| step.int(&ad, "JobStatus") == Some(JobStatus::REMOVED));
        if removed && !self.quirks.has(Quirk::SourceRemovalUnseen) {
            job.interrupted = true;
            job.phase = Phase::Cleanup;
            return;
        }
        if job.not_before > step.now {
            return;
        }
        match self.table.find(&job.route) {
            Some(at) => {
                let description = self.table.routes[at].description();
                self.call(job, HookType::TranslateJob, description, step);
            }
            None => {
                step.log(job, "route has been removed before job could be submitted.");
                job.phase = Phase::Cleanup;
            }
        }
    }

    pub(super) fn hooked(
        &mut self,
        job: &mut RoutedJob,
        hook: HookType,
        result: HookResult,
        step: &mut Step<'_>,
    ) {
        let verdict = match result {
            HookResult::NotConfigured => None,
            HookResult::Failed(reason) => {
                step.log(job, &format!("{}: {reason}", hook.name()));
                match hook {
                    HookType::TranslateJob => self.translation_failed(job, step),
                    HookType::RouterUpdateJobInfo => self.check(job, step),
                    HookType::JobFinalize => self.reroute(job, step),
                    _ => self.cleanup_failed(job, step),
                }
                return;
            }
            HookResult::Ended(verdict) => Some(*verdict),
        };
        if let Some(verdict) = &verdict {
            let reason =
                if verdict.reason.is_empty() { String::new() } else { format!(" ({})", verdict.reason) };
            step.log(job, &format!("{}: {}{reason}", hook.name(), verdict.decision.word()));
        }
        let decision = verdict.as_ref().map(|verdict| verdict.decision);
        let answer = verdict.map(|verdict| verdict.answer);
        match hook {
            HookType::TranslateJob => match decision {
                None => self.make(job, job.source.clone(), step),
                Some(HookDecision::Routed | HookDecision::Edited) => {
                    self.make(job, answer.unwrap_or_default(), step);
                }
                Some(HookDecision::Stuck) => {
                    job.silences += 1;
                    if job.silences >= 2 && !self.quirks.has(Quirk::TranslateSilenceLoops) {
                        self.translation_failed(job, step);
                    } else {
                        // Asked again at the next poll.
                        step.parked = true;
                    }
                }
                Some(HookDecision::RouterAbort) => {
                    step.actions.push(Action::Abort("VanillaToGrid: job ad lacks universe".into()));
                }
                // What no schedd takes is only found when the copy is submitted.
                Some(_) if answer.as_ref().is_some_and(|answer| !answer.is_empty()) => {
                    self.make_refused(job, answer.unwrap_or_default(), step);
                }
                Some(_) => self.translation_failed(job, step),
            },
            HookType::RouterUpdateJobInfo => match decision {
                Some(HookDecision::Dropped) => {
                    if let Some(answer) = answer.filter(|answer| !answer.is_empty()) {
                        let queued = job.copy_id.and_then(|id| step.around.copies.job(id));
                        if let Some(queued) = queued {
                            job.copy = queued.flattened_chain();
                        }
                        job.copy.update(&answer);
                    }
                    job.phase = Phase::Cleanup;
                }
                Some(HookDecision::Failed) if self.quirks.has(Quirk::UpdateFailureFreezes) => {
                    step.parked = true
                }
                Some(HookDecision::Updated) => self.answered(job, answer.unwrap_or_default(), step),
                _ => self.check(job, step),
            },
            HookType::JobFinalize => match decision {
                None | Some(HookDecision::Finalized) => {
                    let answer = answer.unwrap_or_default();
                    let changes: Vec<_> = answer
                        .sorted()
                        .into_iter()
                        .map(|(name, expr)| (BString::from(name), Some(expr)))
                        .collect();
                    job.source.update(&answer);
                    if !changes.is_empty() {
                        step.actions.push(Action::Update(job.source_id, changes));
                    }
                    match job.copy_id {
                        Some(copy) => step.ask(job, Action::Finalize(job.source_id, copy)),
                        None => job.phase = Phase::Cleanup,
                    }
                }
                Some(_) => self.reroute(job, step),
            },
            _ => match decision {
                Some(HookDecision::Failed) => self.cleanup_failed(job, step),
                _ => self.clean(job, step),
            },
        }
    }

    /// Writes to the copy what an update hook has answered.
    fn answered(&mut self, job: &mut RoutedJob, answer: ClassAd, step: &mut Step<'_>) {
        let Some(copy) = job.copy_id else { return self.check(job, step) };
        let Some(queued) = step.around.copies.job(copy) else {
            step.log(
                job,
                &format!("Ad {copy} disappeared before update finished.  Nothing will be updated."),
            );
            job.phase = Phase::Cleanup;
            return;
        };
        let changes =
            answer.sorted().into_iter().map(|(name, expr)| (name.into(), Some(expr))).collect::<Vec<_>>();
        job.copy = queued.flattened_chain();
        job.copy.update(&answer);
        job.answer = answer;
        step.ask(job, Action::UpdateCopy(job.source_id, copy, changes));
    }

    /// The queue has taken what a hook answered, or not.
    pub(super) fn copy_updated(
        &mut self,
        job: &mut RoutedJob,
        result: Result<(), CopyError>,
        step: &mut Step<'_>,
    ) {
        let answer = std::mem::take(&mut job.answer);
        match result {
            Ok(()) => {
                step.log(job, "updated routed job status");
                self.check_with(job, Some(&answer), step);
            }
            Err(reason) => {
                step.log(job, &format!("Failed to update routed job status: {reason}"));
                match reason {
                    CopyError::Refused(_) => job.phase = Phase::Cleanup,
                    CopyError::Unwritten(_) => self.check(job, step),
                }
            }
        }
    }

    pub(super) fn cleanup_failed(&mut self, job: &mut RoutedJob, step: &mut Step<'_>) {
        job.cleanup_failures += 1;
        if self.quirks.has(Quirk::CleanupFailureKeepsJob) {
            step.parked = true;
        } else if job.cleanup_failures >= CLEANUP_TRIES {
            step.log(job, "cleanup hook keeps failing, the job is released all the same");
            self.clean(job, step);
        } else {
            let pause = self.knobs.polling_period.as_secs() as i64;
            job.not_before = step.now + (pause << job.cleanup_failures.min(10)).min(LONGEST_PAUSE);
            step.parked = true;
        }
    }

    pub(super) fn translation_failed(&mut self, job: &mut RoutedJob, step: &mut Step<'_>) {
        if !self.quirks.has(Quirk::TranslateFailureNoBackoff) {
            let pause = (self.knobs.polling_period.as_secs() as i64).max(1);
            let (failures, until) = self.paused.entry(job.source_id).or_default();
            *failures += 1;
            *until = step.now + (pause << (*failures).min(10)).min(LONGEST_PAUSE);
        }
        job.phase = Phase::Cleanup;
    }

    /// Makes a copy, or an edited job, that the schedd will not take: it goes no further than to the cleanup hook.
    pub(super) fn make_refused(&mut self, job: &mut RoutedJob, mut ad: ClassAd, step: &mut Step<'_>) {
        if let Some(at) = self.table.find(&job.route) {
            let (route, key) = (&self.table.routes[at], job.source_id.to_string());
            let translator = self.translator(step);
            let observer = &mut Unwatched::default();
            let made = match job.in_place {
                true => translator.apply(route, &mut ad, observer),
                false => translator.copy(route, &job.source, &key, job.sandboxed, &mut ad, observer),
            };
            job.copy = ad;
            match made {
                Ok(()) if job.in_place => step.log(job, "Failed to edit job."),
                Ok(()) => {
                    submitted(job, None, step);
                    step.log(job, "failed to submit job");
                }
                Err(error) => {
                    let text = error.reference_text(&job.description(), route.name.as_bstr());
                    step.actions.push(Action::Log(text));
                }
            }
        }
        self.translation_failed(job, step);
    }

    pub(super) fn translator<'a>(&'a self, step: &Step<'a>) -> Translator<'a> {
        Translator {
            table: &self.table,
            knobs: &self.knobs,
            config: step.around.config,
            world: step.around.world,
            quirks: self.quirks,
        }
    }

    /// Makes the copy, or edits the source.
    pub(super) fn make(&mut self, job: &mut RoutedJob, mut ad: ClassAd, step: &mut Step<'_>) {
        let Some(at) = self.table.find(&job.route) else {
            job.phase = Phase::Cleanup;
            return;
        };
        let route = &self.table.routes[at];
        let translator = self.translator(step);
        let key = job.source_id.to_string();
        let made = match job.in_place {
            true => translator.apply(route, &mut ad, &mut Unwatched::default()),
            false => {
                translator.copy(route, &job.source, &key, job.sandboxed, &mut ad, &mut Unwatched::default())
            }
        };
        // However far it came: it is what the cleanup hook reads.
        job.copy = ad.clone();
        match made {
            Err(TranslateError::NoUniverse) if self.quirks.has(Quirk::RouterAbortsNoUniverse) => {
                step.actions.push(Action::Abort("VanillaToGrid: job ad lacks universe".into()));
            }
            Err(error) => {
                let text = error.reference_text(&job.description(), route.name.as_bstr());
                // 25.14 copies the proxy before it looks for tokens, and forgets it where they fail.
                let of_tokens = matches!(error, TranslateError::Tokens | TranslateError::UnknownToken(_));
                let world = step.around.world;
                if of_tokens
                    && self.quirks.has(Quirk::ProxyCopyLeft)
                    && job.sandboxed
                    && route.lent_proxy(&job.source, world).is_some()
                {
                    step.actions.push(Action::LeaveProxy(job.source_id, Box::new(job.source.clone())));
                }
                step.actions.push(Action::Log(text));
                self.translation_failed(job, step);
            }
            Ok(()) if job.in_place => {
                let changes = difference(&job.source, &ad);
                step.ask(job, Action::Edit(job.source_id, changes));
            }
            Ok(()) if !job.source.contains("Owner") => job.phase = Phase::Cleanup,
            Ok(()) => step.ask(job, Action::Submit(job.source_id, Box::new(ad))),
        }
    }
}

/// The key under which the hook of a job is known: the source's for translations, else the copy's, if there is one.
pub(super) fn hook_key(job: &RoutedJob, hook: HookType) -> String {
    match hook {
        HookType::TranslateJob => job.source_id.to_string(),
        _ => job.copy_id.map(|copy| copy.to_string()).unwrap_or_default(),
    }
}
