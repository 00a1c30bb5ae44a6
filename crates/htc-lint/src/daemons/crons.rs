//! Cron jobs that never run, or not as it says there.

use bstr::{BStr, ByteSlice};

use super::scope::Scope;
use crate::config::Subject;
use htc_base::quirks::Quirks;
use htc_base::text::{bare_name, caseless};
use htc_config::finding::Finding;
use htc_config::macro_set::Entry;
use htc_hook::Knobs;
use htc_hook::cron_job::{CronJob, CronManager, CronMode};

pub(super) fn lint(subject: &Subject<'_>, scope: Scope, findings: &mut Vec<Finding>) {
    for manager in [CronManager::Startd, CronManager::Schedd, CronManager::Benchmarks] {
        let knob = format!("{}_AUTOPUBLISH", manager.prefix());
        if let ((_, Some(word)), Some(entry)) = (manager.auto_publish(&subject.view), written(subject, &knob))
        {
            let message = format!("{knob}: '{word}' means nothing: it counts as Never");
            let fix = "use Never, Always or If_Changed";
            findings.push(subject.finding("cron-job", &entry.current, None, message, Some(fix.to_owned())));
        }
        for name in manager.names(&subject.view) {
            job(subject, scope, (manager, &name), findings);
        }
    }
}

fn job(
    subject: &Subject<'_>,
    scope: Scope,
    (manager, name): (CronManager, &[u8]),
    findings: &mut Vec<Finding>,
) {
    let prefix = manager.prefix();
    let knob = |item: &str| format!("{prefix}_{}_{item}", BStr::new(name));
    // A job without a program is told where it is named.
    let Some(executable) = written(subject, &knob("EXECUTABLE")) else { return };
    if subject.view.get(knob("EXECUTABLE").as_bytes()).is_none() {
        return;
    }
    let mut tell = |at: &str, message: String| {
        let entry = written(subject, at).unwrap_or(executable);
        findings.push(subject.finding("cron-job", &entry.current, None, message, None));
    };
    let job = match CronJob::read(manager, name, &subject.view, Quirks::None) {
        Ok(job) => job,
        Err(skipped) => {
            // What is not set here may be set elsewhere.
            if scope.complete || written(subject, &skipped.knob).is_some() {
                tell(&skipped.knob, format!("{}: {}: the job is never run", skipped.knob, skipped.problem));
            }
            return;
        }
    };
    for warning in &job.warnings {
        let at = warning.split([' ', ':']).next().unwrap_or_default();
        let at = if at == "METRICS" { knob(at) } else { at.to_owned() };
        tell(&at, warning.clone());
    }
    let most = manager.max_load(&subject.view);
    if job.load > most {
        let (item, max) = (knob("JOB_LOAD"), format!("{prefix}_MAX_JOB_LOAD"));
        tell(&item, format!("{item} ({}) is above {max} ({most}): the job is never run", job.load));
    }
    if manager != CronManager::Benchmarks && job.mode == CronMode::OnDemand {
        tell(&knob("MODE"), format!("{}: nothing ever starts a job that is OnDemand", knob("MODE")));
    }
}

/// What a file sets under this name.
fn written<'a>(subject: &Subject<'a>, name: &str) -> Option<&'a Entry> {
    subject.written().find(|entry| caseless::eq(bare_name(&entry.name), name.as_bytes().trim()))
}
