//! STARTD_CRON_JOBLIST and what belongs to each of its jobs (`cron_job_mgr.cpp`, `cron_job_params.cpp`).

use std::sync::Arc;

use bstr::ByteSlice;

use super::knobs::Knobs;
use crate::classad::ClassAd;
use crate::config::View;
use crate::hook::cron_job::{CronJob, CronManager};
use crate::quirks::Quirks;
use crate::slot::settings::{BenchmarkSettings, CronSettings};
use crate::world::World;

/// The benchmarks. One whose program is not there is left out: Mips and KFlops stay undefined then.
pub(super) fn benchmarks(
    global: &Knobs<'_>,
    view: &View<'_>,
    world: &dyn World,
    quirks: Quirks,
) -> BenchmarkSettings {
    let manager = CronManager::Benchmarks;
    let mut jobs = Vec::new();
    let mut missing = Vec::new();
    for name in manager.names(view) {
        match CronJob::read(manager, &name, view, quirks) {
            Ok(job) => {
                job.warnings.iter().for_each(|warning| global.warn(warning.clone()));
                let path = job.executable.to_path_lossy().into_owned();
                let knob = format!("BENCHMARKS_{}_EXECUTABLE", name.to_str_lossy().to_uppercase());
                if world.may_execute(&path) {
                    jobs.push(job);
                } else if global.is_set("BENCHMARKS_JOBLIST") || global.is_set(&knob) {
                    missing.push(job.executable.to_string());
                }
            }
            Err(skipped) => global.warn(skipped.to_string()),
        }
    }
    if !missing.is_empty() {
        global
            .warn(format!("no program to be executed: {}: these benchmarks are not run", missing.join(", ")));
    }
    BenchmarkSettings { jobs, max_load: manager.max_load(view) }
}

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
