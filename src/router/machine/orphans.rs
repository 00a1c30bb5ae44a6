//! Jobs of a former life, and the periodic expressions of managed sources (8.8, 10.1).

use super::*;

impl Router {
    /// Takes up jobs of a former life (8.8).
    pub(super) fn adopt(&mut self, step: &mut Step<'_>) {
        let name = self.knobs.name.clone();
        let ids = step.around.queue.jobs();
        for &id in &ids {
            let Some(copy) = step.around.queue.job(id) else { continue };
            if step.string(&copy, "RoutedBy") != name || !copy.contains("Owner") {
                continue;
            }
            let (from, route) = (step.string(&copy, "RoutedFromJobId"), step.string(&copy, "RouteName"));
            let Some(source_id) = JobId::parse_key(&from).filter(|_| !route.is_empty()) else { continue };
            let key = source_id.to_string();
            match self.jobs.get(&key) {
                Some(known) if known.copy_id.is_none_or(|known| known == id) => continue,
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
            let mut job = RoutedJob::new(source_id, route, source.flattened_chain());
            job.phase = Phase::Submitted;
            job.copy_id = Some(id);
            job.claimed = true;
            job.seen = true;
            job.since = step.now;
            job.sandboxed = copy.contains("SUBMIT_Iwd");
            job.copy = copy.flattened_chain();
            job.source.set("RoutedToJobId", id.to_string().as_str());
            step.log(&job, "adopted orphaned job (from previous run?)");
            self.jobs.insert(key, job);
        }
        for id in ids {
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
            let job = RoutedJob::new(id, BString::default(), ad.flattened_chain());
            step.log(&job, "found orphan with no routed destination job; yielding management of it.");
            // Nothing is managed here: should it fail, the next look for orphans finds the job again.
            step.actions.push(Action::Yield(id, false));
            if matches!(step.int(&ad, "JobStatus"), Some(RUNNING | TRANSFERRING_OUTPUT)) {
                step.evicts(&job);
            }
        }
    }

    /// Evaluates the periodic expressions of managed sources (10.1).
    pub(super) fn periodic(&mut self, step: &mut Step<'_>) {
        for job in self.jobs.values_mut().filter(|job| job.phase != Phase::Retired) {
            let status = step.int(&job.source, "JobStatus").unwrap_or(IDLE);
            if let Some(queued) = step.around.queue.job(job.source_id)
                && let Some(timer) = step.int(&queued, "TimerRemove")
            {
                job.source.set("TimerRemove", timer);
            }
            let context = Context::new(step.around.world).my(&job.source);
            let fired = |name: &str| context.boolean(name) == Some(true);
            let text = |name: &str| {
                let expr = job.source.get(name).map(|expr| expr.unparse_old()).unwrap_or_default();
                format!("The job attribute {name} expression '{expr}' evaluated to TRUE")
            };
            let reason = |name: &str| {
                context
                    .string(format!("{name}Reason"))
                    .filter(|reason| !reason.is_empty())
                    .unwrap_or_else(|| text(name).into())
            };
            let timer = context.int("TimerRemove").filter(|&at| at >= 0 && at < step.now);
            if timer.is_some() || fired("PeriodicRemove") {
                if status != REMOVED {
                    let reason =
                        if timer.is_some() { text("TimerRemove").into() } else { reason("PeriodicRemove") };
                    let changes = vec![
                        ("JobStatus".into(), Some(Expr::literal(REMOVED))),
                        ("EnteredCurrentStatus".into(), Some(Expr::literal(step.now))),
                        ("RemoveReason".into(), Some(Expr::literal(reason))),
                    ];
                    step.actions.push(Action::Update(job.source_id, changes));
                }
            } else if fired("PeriodicHold") && ![HELD, REMOVED, COMPLETED].contains(&status) {
                let reason = reason("PeriodicHold");
                let subcode = context.int("PeriodicHoldSubCode").unwrap_or(0);
                let holds = context.int("NumSystemHolds").unwrap_or(0);
                let mut changes: Vec<(BString, Option<Expr>)> = vec![
                    ("JobStatus".into(), Some(Expr::literal(HELD))),
                    ("EnteredCurrentStatus".into(), Some(Expr::literal(step.now))),
                    ("HoldReason".into(), Some(Expr::literal(reason.clone()))),
                    ("HoldReasonCode".into(), Some(Expr::literal(3))),
                    ("HoldReasonSubCode".into(), Some(Expr::literal(subcode))),
                    ("ReleaseReason".into(), Some(Expr::literal("Undefined"))),
                    ("NumSystemHolds".into(), Some(Expr::literal(holds + 1))),
                ];
                if let Some(release) = context.string("ReleaseReason") {
                    changes.push(("LastReleaseReason".into(), Some(Expr::literal(release))));
                }
                for (name, expr) in &changes {
                    if let Some(expr) = expr {
                        job.source.insert(name, expr.clone());
                    }
                }
                let subcode = i32::try_from(subcode).unwrap_or(0);
                let body = Body::Held { reason, code: 3, subcode };
                step.actions.push(Action::UserLog(job.source_id, Box::new(job.source.clone()), body));
                step.actions.push(Action::Update(job.source_id, changes));
            }
        }
    }
}
