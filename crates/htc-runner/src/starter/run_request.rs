//! Request for a run of a job.

use std::path::PathBuf;
use std::time::Duration;

use bstr::BString;

use super::file_transfer::TransferHelper;
use crate::hook_environment::DaemonEnvironment;
use htc_base::quirks::QuirkMode;
use htc_base::world::World;
use htc_classad::ClassAd;
use htc_starter::JobOverrides;
use htc_starter::unsupported::AccessPointRole;

/// Request for a run of a job.
pub struct RunRequest<'w> {
    /// Access to the outside world: time, files, accounts, environment, programs.
    pub world: &'w dyn World,
    /// Quirks of 25.14 to reproduce.
    pub quirks: QuirkMode,
    /// The job ad as read. If a keyword was given on the command line, attributes from the configuration were added.
    pub ad: ClassAd,
    /// The environment in which the starter was started.
    pub environment: DaemonEnvironment,
    /// The slot ad for which the job was accepted, or `None`.
    pub machine: Option<ClassAd>,
    /// Job ids and standard files from the command line, which override the ad.
    pub overrides: JobOverrides,
    /// Name of the slot in environment variables; empty if the job has no slot.
    pub slot: BString,
    /// Name of the slot in events, if it differs from `slot`.
    pub event_slot: Option<String>,
    /// Value of `-job-output-ad`. With `-`, the caller writes the ad to standard output.
    pub output_ad: Option<BString>,
    /// Value of `-job-update-ad`.
    pub update_ad: Option<BString>,
    /// Time limit for hooks that the reference waits for without a limit.
    pub hook_timeout: Option<Duration>,
    /// Time limit for the whole job.
    pub timeout: Option<Duration>,
    /// Time that the job may continue after the parent process has ended.
    pub orphan_grace: Option<Duration>,
    /// The private directory that the slot runner created for this starter, or `None` without a slot runner.
    pub private_directory: Option<PathBuf>,
    /// Directory for scratch directories if the configuration sets neither EXECUTE nor LOCAL_DIR.
    pub fallback_execute: PathBuf,
    /// Offset added to the wall clock, in microseconds.
    pub clock_skew_us: i64,
    /// Role of the access point.
    pub role: AccessPointRole,
    /// The helper program that transfers files.
    pub helper: TransferHelper,
    /// Directory that keeps checkpoints and the output of evicted jobs for the next run.
    pub spool: Option<PathBuf>,
    /// Shell that is run interactively instead of the job.
    pub shell: Option<BString>,
    /// Path of the job's log, which overrides the path in the job ad.
    pub log: Option<PathBuf>,
}
