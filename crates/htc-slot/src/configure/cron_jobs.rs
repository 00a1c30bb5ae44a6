//! STARTD_CRON_JOBLIST and the parameters of each job (`cron_job_mgr.cpp`, `cron_job_params.cpp`).

use std::sync::Arc;

use bstr::ByteSlice;

use super::parameters::SlotParameters;
use crate::settings::{BenchmarkSettings, CronSettings};
use htc_base::world::World;
use htc_classad::ClassAd;
use htc_hook::cron_job::{CronJob, CronManager};

/// Reads the jobs of a cron manager. Invalid jobs are skipped with a warning.
fn read_usable_jobs(manager: CronManager, global: &SlotParameters<'_>) -> Vec<CronJob> {
    let view = global.view();
    let mut jobs = Vec::new();
    for name in manager.job_names(view) {
        match CronJob::read(manager, &name, view, global.quirks()) {
            Ok(job) => {
                job.warnings.iter().for_each(|warning| global.warn(warning.clone()));
                jobs.push(job);
            }
            Err(skipped) => global.warn(skipped.to_string()),
        }
    }
    jobs
}

/// Reads the benchmarks. A benchmark whose program is missing is skipped, so that Mips or KFlops stay undefined.
pub(super) fn read_benchmarks(global: &SlotParameters<'_>, world: &dyn World) -> BenchmarkSettings {
    let manager = CronManager::Benchmarks;
    let mut jobs = read_usable_jobs(manager, global);
    let mut missing = Vec::new();
    jobs.retain(|job| {
        let is_there = world.may_execute(&job.executable.to_path_lossy());
        let parameter = format!("BENCHMARKS_{}_EXECUTABLE", job.name.to_str_lossy().to_uppercase());
        if !is_there && (global.is_set("BENCHMARKS_JOBLIST") || global.is_set(&parameter)) {
            missing.push(job.executable.to_string());
        }
        is_there
    });
    if !missing.is_empty() {
        global.warn(format!(
            "no program is configured for these benchmarks, so they are not run: {}",
            missing.join(", ")
        ));
    }
    BenchmarkSettings { jobs, max_load: manager.max_load(global.view()) }
}

/// Reads the cron jobs. CONDITION is evaluated in `daemon_ad`.
pub(super) fn read_cron_jobs(global: &SlotParameters<'_>, daemon_ad: ClassAd) -> CronSettings {
    let manager = CronManager::Startd;
    let jobs = read_usable_jobs(manager, global);
    let (auto_publish, unknown) = manager.read_auto_publish(global.view());
    if let Some(word) = unknown {
        global.warn(format!(
            "{}_AUTOPUBLISH = {word} is not a valid value; it is treated as Never",
            manager.parameter_prefix()
        ));
    }
    let keeps_seconds = global.boolean("ADVERTISE_CMR_UPTIME_SECONDS", false);
    CronSettings {
        jobs,
        max_load: manager.max_load(global.view()),
        auto_publish,
        keeps_seconds,
        daemon_ad: Arc::new(daemon_ad),
    }
}
