//! Jobs of a former life (`AdoptOrphans`), and the periodic expressions of managed sources.

use bstr::BString;

use super::action::Action;
use super::router::Router;
use super::step::Step;
use crate::RoutedJob;
use crate::routed_job::{RoutedCopy, Routing, Shown, State};
use htc_base::job::{JobId, JobStatus};
use htc_base::quirks::Quirk;
use htc_classad::{ClassAd, Context, Expr};
use htc_hook::user_policy::{self, Fired};
use htc_user_log::Body;

impl Router {
    /// Takes up jobs of a former life.
    pub(super) fn adopt(&mut self, step: &mut Step<'_>) {
        let name = self.knobs.name.clone();
        for id in step.around.copies.jobs() {
            let Some(copy) = step.around.copies.job(id) else { continue };
            if step.string(&copy, "RoutedBy") != name || !copy.contains("Owner") {
                continue;
            }
            let (from, route) = (step.string(&copy, "RoutedFromJobId"), step.string(&copy, "RouteName"));
            let Some(source_id) = JobId::parse_key(&from).filter(|_| !route.is_empty()) else { continue };
            let key = source_id.to_string();
            match self.jobs.get(&key) {
                Some(known) if known.copy_id().is_none_or(|known| known == id) => continue,
                _ => {}
            }
            let source = step.around.queue.job(source_id);
            let ours = source.as_ref().is_some_and(|_| !self.jobs.contains_key(&key));
            let (Some(source), true) = (source, ours) else {
                let text = format!("JobRouter (src={from},dest={id}): removing orphaned destination job");
                step.actions.push(Action::Log(text));
                step.actions.push(Action::Remove(id, "JobRouter orphan".into()));
                continue;
            };
            let routing = if copy.contains("SUBMIT_Iwd") { Routing::Spooled } else { Routing::Copied };
            let mut job = RoutedJob::new(source_id, route, routing, source.flattened_chain(), self.polls);
            job.state = State::Submitted { answer: ClassAd::new() };
            job.copy = Some(RoutedCopy { id, shown: Shown::Seen, running: false });
            job.copy_ad = copy.flattened_chain();
            if !self.quirks.has(Quirk::AdoptedCopyUnnamed) {
                job.source.set("RoutedToJobId", id.to_string().as_str());
            }
            step.log(&job, "adopted orphaned job (from previous run?)");
            self.jobs.insert(key, job);
        }
        for id in step.around.queue.jobs() {
            let key = id.to_string();
            if self.jobs.contains_key(&key) {
                continue;
            }
            let Some(ad) = step.around.queue.job(id) else { continue };
            if step.string(&ad, "Managed") != "External"
                || step.string(&ad, "ManagedManager") != name
                || !ad.contains("Owner")
            {
                continue;
            }
            // A copy carries its source's claim; what it is a copy of tells the two apart.
            if step.string(&ad, "RoutedBy") == name {
                continue;
            }
            let text = format!(
                "JobRouter (src={id}): found orphan with no routed destination job; yielding management of it."
            );
            step.actions.push(Action::Log(text));
            // Nothing is managed here: should it fail, the next look for orphans finds the job again.
            step.actions.push(Action::Yield(id, false));
            if step.runs(&ad) {
                step.evicts(id, &ad.flattened_chain());
            }
        }
    }

    /// Evaluates the periodic expressions of managed sources.
    pub(super) fn periodic(&mut self, step: &mut Step<'_>) {
        let quirks = self.quirks;
        for job in self.jobs.values_mut().filter(|job| !job.is_retired()) {
            if let Some(queued) = step.around.queue.job(job.source_id) {
                for name in ["TimerRemove", "x509UserProxyExpiration"] {
                    if let Some(value) = step.int(&queued, name) {
                        job.source.set(name, value);
                    }
                }
            }
            let fired = user_policy::periodic(&job.source, step.around.knobs, step.around.world);
            let mut changes: Vec<(BString, Option<Expr>)> = Vec::new();
            let mut set = |name: &str, expr: Expr| changes.push((name.into(), Some(expr)));
            let held = match fired {
                None => continue,
                Some(Fired::Remove(reason)) => {
                    set("JobStatus", Expr::literal(JobStatus::REMOVED));
                    set("EnteredCurrentStatus", Expr::literal(step.now));
                    set("RemoveReason", Expr::literal(reason));
                    None
                }
                Some(Fired::Hold { reason, code, subcode }) => {
                    let context = Context::new(step.around.world).my(&job.source);
                    // Without a status nothing can be done.
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
                    Some(match quirks.has(Quirk::HoldEventUnexplained) {
                        true => {
                            let reason = context.string("RemoveReason").unwrap_or_default();
                            Body::Held { reason, code: 0, subcode: 0 }
                        }
                        false => Body::Held { reason, code: number(code.number()), subcode: number(subcode) },
                    })
                }
            };
            for (name, expr) in &changes {
                if let Some(expr) = expr {
                    job.source.insert(name, expr.clone());
                }
            }
            if let Some(body) = held {
                step.actions.push(Action::UserLog(job.source_id, Box::new(job.source.clone()), body));
            }
            step.actions.push(Action::Update(job.source_id, changes));
        }
    }
}
