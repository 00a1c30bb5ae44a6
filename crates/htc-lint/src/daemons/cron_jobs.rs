//! Cron jobs that never run, or do not run as configured.

use bstr::{BStr, ByteSlice};
use htc_config::lint_rule::LintRule;

use super::lint_scope::LintScope;
use crate::config::{LintSubject, is_misspelled_member};
use htc_base::quirks::QuirkMode;
use htc_base::text::{caseless, list, unqualified_name};
use htc_config::Advice;
use htc_config::finding::Finding;
use htc_config::macro_definition::MacroEntry;
use htc_hook::ParameterSource;
use htc_hook::cron_job::{CronJob, CronManager, CronMode};
use rustc_hash::FxHashMap;

pub(super) fn lint(subject: &LintSubject<'_>, scope: LintScope, findings: &mut Vec<Finding>) {
    let entries = CronEntries::collect(subject);
    for manager in [CronManager::Startd, CronManager::Schedd, CronManager::Benchmarks] {
        let parameter = format!("{}_AUTOPUBLISH", manager.parameter_prefix());
        if let ((_, Some(word)), Some(entry)) =
            (manager.read_auto_publish(&subject.view), entries.find(&parameter))
        {
            let message = format!("{parameter}: '{word}' is not a valid value: it is treated as Never");
            let fix = "use Never, Always or If_Changed";
            findings.push(subject.make_finding(LintRule::CronJob, &entry.current, None, message, fix));
        }
        check_config_val(subject, manager, &entries, findings);
        for name in manager.job_names(&subject.view) {
            check_job(subject, scope, (manager, &name), &entries, findings);
        }
    }
}

/// Returns the parameter that the manual describes as the path of condor_config_val.
fn config_val_parameter(manager: CronManager) -> String {
    format!("{}_CONFIG_VAL", manager.parameter_prefix())
}

/// Reports the manager's parameter for the path of condor_config_val, which no cron job gets. Jobs of the schedd get
/// the path from a parameter of the job (`ClassAdCronJob::Initialize`, which `StartdCronJob` does not call).
fn check_config_val(
    subject: &LintSubject<'_>,
    manager: CronManager,
    entries: &CronEntries<'_>,
    findings: &mut Vec<Finding>,
) {
    let parameter = config_val_parameter(manager);
    let Some(entry) = entries.find(&parameter).filter(|entry| !entry.raw().is_empty()) else { return };
    let prefix = manager.parameter_prefix();
    let message = format!(
        "{parameter} has no effect: HTCondor 25.14 does not pass it to cron jobs, though the manual says so"
    );
    let fix = match manager {
        CronManager::Schedd => {
            format!("set {prefix}_<JOB>_CONFIG_VAL_PROG: the job gets its value as SCHEDD_CONFIG_VAL")
        }
        _ => format!("pass the path in {prefix}_<JOB>_ENV"),
    };
    findings.push(subject.make_finding(LintRule::CronJob, &entry.current, None, message, fix));
}

fn check_job(
    subject: &LintSubject<'_>,
    scope: LintScope,
    (manager, name): (CronManager, &[u8]),
    entries: &CronEntries<'_>,
    findings: &mut Vec<Finding>,
) {
    let prefix = manager.parameter_prefix();
    let setting = |item: &str| format!("{prefix}_{}_{item}", BStr::new(name));
    // A job without a program is reported for the list that contains it.
    let Some(executable) = entries.find(&setting("EXECUTABLE")) else { return };
    if subject.view.get(setting("EXECUTABLE").as_bytes()).is_none() {
        return;
    }
    let mut report = |at: &str, message: String| {
        let set_entry = entries.find(at);
        let entry = set_entry.unwrap_or(executable);
        let place = set_entry.map(|set_entry| (0, set_entry.current.raw.len()));
        let fix = set_entry.and_then(|set_entry| advise_setting(at, set_entry.raw()));
        findings.push(subject.make_finding(LintRule::CronJob, &entry.current, place, message, fix));
    };
    if let Some(at) = executable.raw().find(b" -").filter(|_| executable.raw().starts_with(b"/")) {
        let path = BStr::new(&executable.raw()[..at]);
        let item = setting("EXECUTABLE");
        report(
            &item,
            format!(
                "{item} must be a path without arguments: write {path} here and the arguments in {}",
                setting("ARGS")
            ),
        );
    }
    let job = match CronJob::read(manager, name, &subject.view, QuirkMode::Manual) {
        Ok(job) => job,
        Err(skipped) => {
            // A parameter that is not set here may be set in another file.
            let may_be_elsewhere = !scope.is_complete && entries.find(&skipped.knob).is_none();
            if !may_be_elsewhere && !is_misspelled_member(subject, &skipped.knob) {
                report(&skipped.knob, format!("{}: {}: the job is never run", skipped.knob, skipped.problem));
            }
            return;
        }
    };
    check_numbers(subject, &setting, entries, findings);
    let mut report = |at: &str, message: String| {
        let set_entry = entries.find(at);
        let entry = set_entry.unwrap_or(executable);
        let place = set_entry.map(|set_entry| (0, set_entry.current.raw.len()));
        let fix = set_entry.and_then(|set_entry| advise_setting(at, set_entry.raw()));
        findings.push(subject.make_finding(LintRule::CronJob, &entry.current, place, message, fix));
    };
    let config_val = config_val_parameter(manager);
    for warning in &job.warnings {
        let at = warning.split([' ', ':']).next().unwrap_or_default();
        if at == config_val {
            continue;
        }
        let at = if at == "METRICS" { setting(at) } else { at.to_owned() };
        if at == setting("SLOTS") {
            continue;
        }
        report(&at, warning.clone());
    }
    let max_load = manager.max_load(&subject.view);
    if job.load > max_load {
        let (item, max) = (setting("JOB_LOAD"), format!("{prefix}_MAX_JOB_LOAD"));
        report(&item, format!("{item} ({}) is above {max} ({max_load}): the job is never run", job.load));
    }
    if manager != CronManager::Benchmarks && job.mode == CronMode::OnDemand {
        report(&setting("MODE"), format!("{}: nothing ever starts a job that is OnDemand", setting("MODE")));
    }
}

/// Reports text after the unit of a period, and items of a slot list that are not numbers. HTCondor ignores both
/// (`CronJobParams::InitPeriod`, `StartdCronJobParams::Initialize`).
fn check_numbers(
    subject: &LintSubject<'_>,
    setting: &dyn Fn(&str) -> String,
    entries: &CronEntries<'_>,
    findings: &mut Vec<Finding>,
) {
    let value_of = |item: &str| {
        let entry = entries.find(&setting(item))?;
        Some((entry, subject.expand_entry(entry).ok()?))
    };
    let mut report = |entry: &MacroEntry, message: String, fix: &str| {
        let place = Some((0, entry.raw().len()));
        findings.push(subject.make_finding(LintRule::CronJob, &entry.current, place, message, fix));
    };
    if let Some((entry, value)) = value_of("PERIOD") {
        let digits = value.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let rest = value.get(digits + 1..).unwrap_or_default();
        if digits > 0 && rest.first().is_some_and(u8::is_ascii_digit) {
            let read = BStr::new(&value[..digits + 1]);
            let message = format!("{}: '{}' after {read} is ignored", entry.name, BStr::new(rest));
            report(entry, message, "write one number with one unit, such as 90m");
        }
    }
    if let Some((entry, value)) = value_of("SLOTS") {
        let is_number = |item: &&[u8]| item.iter().all(u8::is_ascii_digit);
        if let Some(item) = list::split(&value).find(|item| !is_number(item)) {
            let message = format!(
                "{}: '{}' is not the number of a slot, so the job's attributes are those of all slots",
                entry.name,
                BStr::new(item)
            );
            report(entry, message, "write numbers with commas between them");
        }
    }
}

/// Returns advice about the value of a period: it has no blank before its unit, and only a periodic job has a period.
fn advise_setting(name: &str, value: &[u8]) -> Option<Advice> {
    if !caseless::ends_with(name.as_bytes(), b"_PERIOD") {
        return None;
    }
    let value = value.trim();
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let unit = value[digits..].trim_start();
    let letter = unit.first().map(u8::to_ascii_lowercase).filter(|letter| b"smh".contains(letter));
    match letter {
        Some(letter) if digits > 0 && (unit.len() < value.len() - digits || unit.len() > 1) => {
            let digits = BStr::new(&value[..digits]);
            Some(Advice::Text(format!(
                "write {digits}{}, without a blank before the unit",
                char::from(letter)
            )))
        }
        _ if digits == 0 => None,
        _ if value[..digits].iter().all(|digit| *digit == b'0') => Some("write a number above 0".into()),
        None if !unit.is_empty() => suggest_period(&value[..digits], unit),
        _ => Some("write MODE = Periodic, or remove the period".into()),
    }
}

/// Returns the period in hours for one in days or weeks.
fn suggest_period(number: &[u8], unit: &[u8]) -> Option<Advice> {
    let number: u64 = number.to_str().ok()?.parse().ok()?;
    let hours = match unit.first()?.to_ascii_lowercase() {
        b'd' => 24,
        b'w' => 168,
        _ => return Some("write seconds, or a number directly followed by s, m or h".into()),
    };
    Some(format!("write {}h", number.checked_mul(hours)?).into())
}

/// Settings of managers and their jobs that a file sets, by their names in lower case, without a prefix and a dot.
struct CronEntries<'a>(FxHashMap<Vec<u8>, &'a MacroEntry>);

impl<'a> CronEntries<'a> {
    fn collect(subject: &LintSubject<'a>) -> Self {
        const STARTS: [&str; 3] = ["STARTD_CRON_", "SCHEDD_CRON_", "BENCHMARKS_"];
        let mut entries = FxHashMap::default();
        for entry in subject.user_written_entries() {
            let name = unqualified_name(&entry.name);
            if STARTS.iter().any(|start| caseless::starts_with(name, start.as_bytes())) {
                entries.entry(name.to_ascii_lowercase()).or_insert(entry);
            }
        }
        CronEntries(entries)
    }

    fn find(&self, name: &str) -> Option<&'a MacroEntry> {
        self.0.get(&name.as_bytes().trim().to_ascii_lowercase()).copied()
    }
}
