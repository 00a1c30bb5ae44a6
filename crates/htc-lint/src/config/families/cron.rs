//! `STARTD_CRON_<JOB>_X`, `SCHEDD_CRON_<JOB>_X`, `BENCHMARKS_<JOB>_X`.

use bstr::{BStr, BString, ByteSlice};
use rustc_hash::FxHashSet;

use crate::config::name_status::{NameStatus, UnreadReason};
use crate::config::parameter_names::list_items;
use htc_base::text::{caseless, similar_names};
use htc_config::ConfigView;

/// Settings of a manager of cron jobs (`cron_job_mgr.cpp`, `DoConfig`; `cron_job.cpp`;
/// `startd_cron_job_mgr.cpp`).
const MANAGER_SETTINGS: [&str; 6] =
    ["JOBLIST", "CONFIG_VAL", "MAX_JOB_LOAD", "LOG_NON_ZERO_EXIT", "AUTOPUBLISH", "NAME"];

/// Settings of a job (`cron_job_params.cpp`, `Initialize`; `classad_cron_job.cpp`;
/// `startd_cron_job_params.cpp`).
const JOB_SETTINGS: [&str; 15] = [
    "PREFIX",
    "EXECUTABLE",
    "PERIOD",
    "MODE",
    "RECONFIG",
    "RECONFIG_RERUN",
    "KILL",
    "ARGS",
    "ENV",
    "CWD",
    "JOB_LOAD",
    "CONDITION",
    "CONFIG_VAL_PROG",
    "SLOTS",
    "METRICS",
];

/// Words that are written by mistake for settings of a job, each with the name of the setting.
const SETTING_SYNONYMS: [(&str, &str); 17] = [
    ("EXEC", "EXECUTABLE"),
    ("EXE", "EXECUTABLE"),
    ("CMD", "EXECUTABLE"),
    ("COMMAND", "EXECUTABLE"),
    ("PROGRAM", "EXECUTABLE"),
    ("SCRIPT", "EXECUTABLE"),
    ("PATH", "EXECUTABLE"),
    ("INTERVAL", "PERIOD"),
    ("FREQUENCY", "PERIOD"),
    ("EVERY", "PERIOD"),
    ("ARGUMENTS", "ARGS"),
    ("ARGUMENT", "ARGS"),
    ("OPTIONS", "ARGS"),
    ("ENVIRONMENT", "ENV"),
    ("DIR", "CWD"),
    ("DIRECTORY", "CWD"),
    ("LOAD", "JOB_LOAD"),
];

/// Returns the setting that a word probably stands for.
fn nearest_setting(word: &[u8]) -> Option<&'static [u8]> {
    let synonym = SETTING_SYNONYMS.iter().find(|(other, _)| caseless::eq(other.as_bytes(), word));
    let known = JOB_SETTINGS.iter().map(|known| known.as_bytes());
    synonym.map(|(_, setting)| setting.as_bytes()).or_else(|| similar_names::nearest(word, known))
}

/// Jobs of one manager.
pub(super) struct CronJobNames {
    base: &'static str,
    names: Vec<BString>,
    /// Names of the cron jobs, in lower case.
    lowercase_names: FxHashSet<Vec<u8>>,
}

impl CronJobNames {
    fn new(base: &'static str, view: &ConfigView<'_>) -> Self {
        let names = list_items(view, &format!("{base}_JOBLIST"));
        let lowercase_names = names.iter().map(|name| name.to_ascii_lowercase()).collect();
        CronJobNames { base, names, lowercase_names }
    }
}

/// Returns the jobs that the configuration lists.
pub(super) fn listed_jobs(view: &ConfigView<'_>) -> Vec<CronJobNames> {
    ["STARTD_CRON", "SCHEDD_CRON", "BENCHMARKS"]
        .into_iter()
        .map(|base| CronJobNames::new(base, view))
        .collect()
}

/// Returns the status of a name in the settings of cron jobs; `is_set` returns true for names that the configuration
/// sets.
pub(super) fn classify_cron_name(
    name: &[u8],
    all: &[CronJobNames],
    is_set: &dyn Fn(&str) -> bool,
) -> Option<NameStatus> {
    let of_manager = all.iter().find_map(|jobs| {
        let rest = caseless::strip_prefix(name, jobs.base.as_bytes())?.strip_prefix(b"_")?;
        classify_manager_setting(jobs, rest, is_set)
    });
    of_manager.or_else(|| classify_without_manager(name))
}

/// Classifies `CRON_<JOB>_EXECUTABLE`, which lacks the name of the daemon.
fn classify_without_manager(name: &[u8]) -> Option<NameStatus> {
    let rest = caseless::strip_prefix(name, b"CRON_")?;
    let is_setting = |setting: &&str| {
        let start =
            rest.len().checked_sub(setting.len()).filter(|_| caseless::ends_with(rest, setting.as_bytes()));
        start.is_some_and(|start| start > 1 && rest[start - 1] == b'_')
    };
    JOB_SETTINGS.iter().find(|setting| is_setting(setting))?;
    let cause = "the name of the daemon is missing";
    UnreadReason::misspelled_status(cause, [b"STARTD_", name].concat())
}

fn classify_manager_setting(
    jobs: &CronJobNames,
    rest: &[u8],
    is_set: &dyn Fn(&str) -> bool,
) -> Option<NameStatus> {
    let base = jobs.base;
    let is_of_manager = MANAGER_SETTINGS.iter().any(|known| caseless::eq(known.as_bytes(), rest));
    let listed = |job: &[u8]| jobs.lowercase_names.contains(&job.to_ascii_lowercase());
    let job_of = |known: &str| {
        let job = rest.len().checked_sub(known.len() + 1).map(|end| &rest[..end])?;
        (!job.is_empty() && rest[job.len()] == b'_' && caseless::ends_with(rest, known.as_bytes()))
            .then_some(job)
    };
    // RECONFIG_RERUN may also mean RERUN of a job RECONFIG: one valid interpretation is enough.
    let parts: Vec<&[u8]> = JOB_SETTINGS.iter().filter_map(|known| job_of(known)).collect();
    if is_of_manager || parts.iter().any(|job| listed(job)) {
        return Some(NameStatus::Read);
    }
    if let Some(near) = similar_names::nearest(rest, MANAGER_SETTINGS.iter().map(|known| known.as_bytes())) {
        let cause = format!("{base} has no {}", BStr::new(rest));
        return UnreadReason::misspelled_status(cause, format!("{base}_{}", BStr::new(near)));
    }
    if let Some(job) = parts.first() {
        // A job that is in no list is reported once, for its executable.
        if is_set(&format!("{base}_{}_EXECUTABLE", job.to_str_lossy())) {
            return Some(NameStatus::Read);
        }
        let cause = format!("{base}_JOBLIST lists no job {}", BStr::new(job));
        let near = similar_names::nearest(job, jobs.names.iter().map(|name| &name[..]));
        let setting = BStr::new(&rest[job.len()..]);
        return match near {
            Some(near) => {
                UnreadReason::misspelled_status(cause, format!("{base}_{}{setting}", BStr::new(near)))
            }
            None => UnreadReason::unread_status(cause, format!("add {} to {base}_JOBLIST", BStr::new(job))),
        };
    }
    classify_misspelled_setting(jobs, rest)
}

/// Suggests the setting that an unknown setting of a job probably misspells.
fn classify_misspelled_setting(jobs: &CronJobNames, rest: &[u8]) -> Option<NameStatus> {
    let base = jobs.base;
    let mut longest = jobs.names.iter().filter(|job| {
        caseless::starts_with(rest, job) && rest.get(job.len()) == Some(&b'_') && rest.len() > job.len() + 1
    });
    if let Some(job) = longest.by_ref().max_by_key(|job| job.len()) {
        let setting = &rest[job.len() + 1..];
        let cause = format!("a cron job has no {}", BStr::new(setting));
        return match nearest_setting(setting) {
            Some(near) => UnreadReason::misspelled_status(cause, format!("{base}_{job}_{}", BStr::new(near))),
            None => UnreadReason::unread_status(
                cause,
                format!("use one of the settings of a cron job: {}", JOB_SETTINGS.join(", ")),
            ),
        };
    }
    let underscores = rest.iter().enumerate().filter(|&(at, &byte)| byte == b'_' && at > 0).map(|(at, _)| at);
    let near = underscores.filter_map(|at| Some((at, nearest_setting(&rest[at + 1..])?))).next()?;
    let (job, setting) = (BStr::new(&rest[..near.0]), BStr::new(&rest[near.0 + 1..]));
    let cause = format!("a cron job has no {setting}");
    UnreadReason::misspelled_status(cause, format!("{base}_{job}_{}", BStr::new(near.1)))
}
