//! STARTD_CRON_JOBLIST and what belongs to each of its jobs (`cron_job_mgr.cpp`, `cron_job_params.cpp`).

use std::sync::Arc;

use super::knobs::Knobs;
use crate::classad::ClassAd;
use crate::config::View;
use crate::hook::cron_job::{CronJob, CronManager};
use crate::quirks::Quirks;
use crate::slot::settings::CronSettings;

/// Reads the jobs; one that cannot be used is skipped with a warning. `daemon_ad` is what CONDITION sees.
pub(super) fn jobs(global: &Knobs<'_>, view: &View<'_>, quirks: Quirks, daemon_ad: ClassAd) -> CronSettings {
    let manager = CronManager::Startd;
    let mut jobs = Vec::new();
    for name in manager.names(view) {
        match CronJob::read(manager, &name, view, quirks) {
            Ok(job) => {
                job.warnings.iter().for_each(|warning| global.warn(warning.clone()));
                jobs.push(job);
            }
            Err(skipped) => global.warn(skipped.to_string()),
        }
    }
    let (auto_publish, unknown) = manager.auto_publish(view);
    if let Some(word) = unknown {
        global.warn(format!("{}_AUTOPUBLISH = {word} means nothing; it counts as Never", manager.prefix()));
    }
    let keeps_seconds = global.boolean("ADVERTISE_CMR_UPTIME_SECONDS", false);
    CronSettings {
        jobs,
        max_load: manager.max_load(view),
        auto_publish,
        keeps_seconds,
        daemon_ad: Arc::new(daemon_ad),
    }
}
