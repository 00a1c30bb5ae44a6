//! Adoption of jobs from an earlier run (`AdoptOrphans`), and periodic expressions of managed source jobs.

use bstr::BString;

use super::action::RouterAction;
use super::router::Router;
use super::router_step::RouterStep;
use crate::RoutedJob;
use crate::routed_job::{CopyVisibility, RoutedCopy, RoutedJobState, RoutingMode};
use htc_base::job::{JobId, JobStatus};
use htc_base::quirks::Quirk;
use htc_classad::{ClassAd, Context, Expr};
use htc_hook::user_policy::{self, PolicyAction};
use htc_user_log::EventBody;

impl Router {
    /// Adopts routed jobs of an earlier run of the router, and removes or returns jobs whose counterpart is missing.
    pub(super) fn adopt_orphans(&mut self, step: &mut RouterStep<'_>) {
        let name = self.parameters.name.clone();
        // A job that cannot be read at the moment may still exist, so its counterpart must neither be removed nor
        // routed again.
        let complete = step.context.queue.is_complete() && step.context.copies.is_complete();
        for id in step.context.copies.jobs() {
            let Some(copy) = step.context.copies.job(id) else { continue };
            if step.evaluate_string(&copy, "RoutedBy") != name || !copy.contains("Owner") {
                continue;
            }
            let (from, route) =
                (step.evaluate_string(&copy, "RoutedFromJobId"), step.evaluate_string(&copy, "RouteName"));
            let Some(source_id) = JobId::parse_key(&from).filter(|_| !route.is_empty()) else { continue };
            let key = source_id.to_string();
            match self.jobs.get(&key) {
                Some(known) if known.copy_id().is_none_or(|known| known == id) => continue,
                _ => {}
            }
            let source = step.context.queue.job(source_id);
            let ours = source.as_ref().is_some_and(|_| !self.jobs.contains_key(&key));
            let (Some(source), true) = (source, ours) else {
                if !complete {
                    continue;
                }
                let text = format!("JobRouter (src={from},dest={id}): removing orphaned destination job");
                step.actions.push(RouterAction::Log(text));
                step.actions.push(RouterAction::RemoveCopy(id, "JobRouter orphan".into()));
                continue;
            };
            let routing =
                if copy.contains("SUBMIT_Iwd") { RoutingMode::Spooled } else { RoutingMode::Copied };
            let mut job =
                RoutedJob::new(source_id, route, routing, source.flattened_chain(), self.poll_count);
            job.state = RoutedJobState::Submitted { answer: ClassAd::new() };
            job.copy = Some(RoutedCopy { id, visibility: CopyVisibility::Seen, running: false });
            job.copy_ad = copy.flattened_chain();
            if !self.quirks.reproduces(Quirk::AdoptedCopyUnnamed) {
                job.source_ad.set("RoutedToJobId", id.to_string().as_str());
            }
            step.log_for_job(&job, "adopted orphaned job (from previous run?)");
            self.jobs.insert(key, job);
        }
        if !complete {
            return;
        }
        for id in step.context.queue.jobs() {
            let key = id.to_string();
            if self.jobs.contains_key(&key) {
                continue;
            }
            let Some(ad) = step.context.queue.job(id) else { continue };
            if step.evaluate_string(&ad, "Managed") != "External"
                || step.evaluate_string(&ad, "ManagedManager") != name
                || !ad.contains("Owner")
            {
                continue;
            }
            // A routed job inherits Managed and ManagedManager from its source job; RoutedBy distinguishes the two.
            if step.evaluate_string(&ad, "RoutedBy") == name {
                continue;
            }
            let text = format!(
                "JobRouter (src={id}): found orphan with no routed destination job; yielding management of it."
            );
            step.actions.push(RouterAction::Log(text));
            // This router does not manage the job, so a failed action is not repeated: the next search for orphans
            // finds the job again.
            step.actions.push(RouterAction::YieldSource(id, false));
            if step.is_running(&ad) {
                step.log_evict_event(id, &ad.flattened_chain());
            }
        }
    }

    /// Evaluates the periodic expressions of managed source jobs.
    pub(super) fn evaluate_periodic_expressions(&mut self, step: &mut RouterStep<'_>) {
        let quirks = self.quirks;
        for job in self.jobs.values_mut().filter(|job| !job.is_retired()) {
            if let Some(queued) = step.context.queue.job(job.source_id) {
                for name in ["TimerRemove", "x509UserProxyExpiration"] {
                    if let Some(value) = step.evaluate_int(&queued, name) {
                        job.source_ad.set(name, value);
                    }
                }
            }
            let fired =
                user_policy::evaluate_periodic(&job.source_ad, step.context.parameters, step.context.world);
            let mut changes: Vec<(BString, Option<Expr>)> = Vec::new();
            let mut set = |name: &str, expr: Expr| changes.push((name.into(), Some(expr)));
            let held = match fired {
                None => continue,
                Some(PolicyAction::Remove(reason)) => {
                    set("JobStatus", Expr::literal(JobStatus::REMOVED));
                    set("EnteredCurrentStatus", Expr::literal(step.now));
                    set("RemoveReason", Expr::literal(reason));
                    None
                }
                Some(PolicyAction::Hold { reason, code, subcode }) => {
                    let context = Context::new(step.context.world).my(&job.source_ad);
                    // A job without JobStatus cannot be held.
                    let status = context.int("JobStatus");
                    if status.is_none_or(|status| {
                        [JobStatus::HELD, JobStatus::REMOVED, JobStatus::COMPLETED].contains(&status)
                    }) {
                        continue;
                    }
                    set("JobStatus", Expr::literal(JobStatus::HELD));
                    set("EnteredCurrentStatus", Expr::literal(step.now));
                    set("HoldReason", Expr::literal(reason.clone()));
                    set("HoldReasonCode", Expr::literal(code.number()));
                    set("HoldReasonSubCode", Expr::literal(subcode));
                    if let Some(release) = context.string("ReleaseReason") {
                        set("LastReleaseReason", Expr::literal(release));
                    }
                    set("ReleaseReason", Expr::literal("Undefined"));
                    set("NumSystemHolds", Expr::literal(context.int("NumSystemHolds").unwrap_or(0) + 1));
                    let number = |value: i64| i32::try_from(value).unwrap_or(0);
                    Some(match quirks.reproduces(Quirk::HoldEventUnexplained) {
                        true => {
                            let reason = context.string("RemoveReason").unwrap_or_default();
                            EventBody::Held { reason, code: 0, subcode: 0 }
                        }
                        false => {
                            EventBody::Held { reason, code: number(code.number()), subcode: number(subcode) }
                        }
                    })
                }
            };
            for (name, expr) in &changes {
                if let Some(expr) = expr {
                    job.source_ad.insert(name, expr.clone());
                }
            }
            if let Some(body) = held {
                step.actions.push(RouterAction::UserLog(
                    job.source_id,
                    Box::new(job.source_ad.clone()),
                    body,
                ));
            }
            step.actions.push(RouterAction::UpdateSource(job.source_id, changes));
        }
    }
}
