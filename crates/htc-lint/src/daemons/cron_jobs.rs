//! Cron jobs that never run, or not as configured.

use bstr::{BStr, ByteSlice};
use htc_config::lint_rule::LintRule;

use super::lint_scope::LintScope;
use crate::config::LintSubject;
use htc_base::quirks::QuirkMode;
use htc_base::text::{caseless, unqualified_name};
use htc_config::finding::Finding;
use htc_config::macro_definition::MacroEntry;
use htc_hook::ParameterSource;
use htc_hook::cron_job::{CronJob, CronManager, CronMode};

pub(super) fn lint(subject: &LintSubject<'_>, scope: LintScope, findings: &mut Vec<Finding>) {
    for manager in [CronManager::Startd, CronManager::Schedd, CronManager::Benchmarks] {
        let knob = format!("{}_AUTOPUBLISH", manager.parameter_prefix());
        if let ((_, Some(word)), Some(entry)) =
            (manager.read_auto_publish(&subject.view), file_entry(subject, &knob))
        {
            let message = format!("{knob}: '{word}' is not a valid value: it counts as Never");
            let fix = "use Never, Always or If_Changed";
            findings.push(subject.make_finding(LintRule::CronJob, &entry.current, None, message, fix));
        }
        for name in manager.job_names(&subject.view) {
            check_job(subject, scope, manager, &name, findings);
        }
    }
}

fn check_job(
    subject: &LintSubject<'_>,
    scope: LintScope,
    manager: CronManager,
    name: &[u8],
    findings: &mut Vec<Finding>,
) {
    let prefix = manager.parameter_prefix();
    let knob = |item: &str| format!("{prefix}_{}_{item}", BStr::new(name));
    // A job without a program is reported where it is listed.
    let Some(executable) = file_entry(subject, &knob("EXECUTABLE")) else { return };
    if subject.view.get(knob("EXECUTABLE").as_bytes()).is_none() {
        return;
    }
    let mut tell = |at: &str, message: String| {
        let entry = file_entry(subject, at).unwrap_or(executable);
        findings.push(subject.make_finding(LintRule::CronJob, &entry.current, None, message, None));
    };
    if let Some(at) = executable.raw().find(b" -").filter(|_| executable.raw().starts_with(b"/")) {
        let path = BStr::new(&executable.raw()[..at]);
        let item = knob("EXECUTABLE");
        tell(
            &item,
            format!("{item} is a path without arguments: write {path} here, the rest in {}", knob("ARGS")),
        );
    }
    let job = match CronJob::read(manager, name, &subject.view, QuirkMode::Manual) {
        Ok(job) => job,
        Err(skipped) => {
            // A parameter that is not set here may be set elsewhere.
            if scope.is_complete || file_entry(subject, &skipped.knob).is_some() {
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

/// Returns the entry of a name that a file sets.
fn file_entry<'a>(subject: &LintSubject<'a>, name: &str) -> Option<&'a MacroEntry> {
    subject
        .user_written_entries()
        .find(|entry| caseless::eq(unqualified_name(&entry.name), name.as_bytes().trim()))
}
