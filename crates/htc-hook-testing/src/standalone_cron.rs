//! Cron job that is given by its program instead of a configuration, and the context in which a daemon runs it.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::TempDir;

use super::cron_session::CronList;
use super::samples;
use htc_base::process::ProcessIdentity;
use htc_base::quirks::QuirkMode;
use htc_base::world::World;
use htc_classad::ClassAd;
use htc_hook::cron_job::{AutoPublish, CronJob, CronManager, CronMode};
use htc_runner::cron::CronContext;
use htc_runner::hook_environment::HookEnvironment;
use htc_slot::cron_ads::{CronAds, CronMerge};

/// Cron job without a configuration.
#[derive(Clone, Debug, Default)]
pub struct StandaloneCronJob {
    /// Name of the job, or `None` to use the name of its program in upper case.
    pub name: Option<String>,
    /// Arguments of the program.
    pub words: Vec<String>,
    /// Value of PREFIX.
    pub prefix: String,
    /// Value of SLOTS.
    pub slots: Vec<i64>,
    /// Value of METRICS.
    pub metrics: String,
    /// Value of MODE, or `None` for WaitForExit.
    pub mode: Option<CronMode>,
    /// True if the job has a PERIOD, which is then one second.
    pub periodic: bool,
}

impl StandaloneCronJob {
    /// Returns a list that contains only this cron job.
    ///
    /// # Errors
    /// METRICS is not valid; the message says why.
    pub fn to_cron_list(&self, program: &Path) -> Result<CronList, String> {
        let path = std::path::absolute(program).unwrap_or_else(|_| program.to_owned());
        let of_program = || program.file_name().unwrap_or_default().to_string_lossy().to_ascii_uppercase();
        let name = self.name.clone().unwrap_or_else(of_program);
        let mut job = CronJob::new(name.as_bytes(), path.as_os_str().as_bytes());
        job.mode = self.mode.unwrap_or(CronMode::WaitForExit);
        job.arguments = self.words.iter().map(|word| word.as_str().into()).collect();
        job.prefix = self.prefix.as_str().into();
        job.slots = self.slots.clone();
        job.read_metrics(self.metrics.as_bytes());
        if let Some(warning) = job.warnings.first() {
            return Err(warning.to_string());
        }
        if self.periodic || self.mode == Some(CronMode::Periodic) {
            job.period = 1;
        }
        Ok(CronList { jobs: vec![job], max_load: 1.0, auto_publish: AutoPublish::Never, skipped: false })
    }
}

/// Creates the context in which a daemon runs its cron jobs, and the daemon's directory. Dropping the returned
/// directory removes it.
///
/// # Errors
/// The directory cannot be created.
pub fn cron_surroundings(
    manager: CronManager,
    environment: HookEnvironment,
    identity: Option<ProcessIdentity>,
    quirks: QuirkMode,
) -> io::Result<(CronContext, TempDir)> {
    let log = tempfile::Builder::new().prefix("htc-hook-cron.").tempdir()?;
    if identity.is_some() {
        // The account of the cron job must be able to enter the daemon's directory.
        std::fs::set_permissions(log.path(), std::fs::Permissions::from_mode(0o755))?;
    }
    let directory = log.path().to_owned();
    Ok((CronContext { manager, environment, directory, identity, quirks }, log))
}

/// Returns the ad of a built-in sample slot with the given number.
pub fn sample_slot(number: i64) -> ClassAd {
    let mut slot = samples::slot_ad("static").unwrap_or_default();
    let host = slot.string("Machine").map_or("host".to_owned(), ToString::to_string);
    slot.set("Name", format!("slot{number}@{host}"));
    slot.set("SlotID", number);
    slot
}

/// Merges the published attributes into an ad of the daemon, and reports for each published ad whether it was merged.
pub fn merge_published<'a>(
    ads: &'a CronAds,
    manager: CronManager,
    ad: &mut ClassAd,
    world: &dyn World,
) -> Vec<CronMerge<'a>> {
    match manager {
        CronManager::Startd | CronManager::Benchmarks => ads.merge_into(ad, world),
        CronManager::Schedd => ads.merge_into_schedd(ad),
    }
}
