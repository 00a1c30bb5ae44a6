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
    /// The outside world.
    pub world: &'w dyn World,
    /// Selection of quirks.
    pub quirks: QuirkMode,
    /// The job ad as read, completed from the configuration if a keyword was given.
    pub ad: ClassAd,
    /// The environment with which the starter was started.
    pub environment: DaemonEnvironment,
    /// The slot ad with which the job was accepted, or `None`.
    pub machine: Option<ClassAd>,
    /// Ids and standard files of the command line.
    pub overrides: JobOverrides,
    /// Name of the slot for variables, or empty for none.
    pub slot: BString,
    /// Name of the slot for events, if it differs.
    pub event_slot: Option<String>,
    /// `-job-output-ad`; `-` for standard output, which the caller writes.
    pub output_ad: Option<BString>,
    /// `-job-update-ad`.
    pub update_ad: Option<BString>,
    /// Time limit for hooks that the reference waits for without a limit.
    pub hook_timeout: Option<Duration>,
    /// Time limit for the whole job.
    pub timeout: Option<Duration>,
    /// Time that the job may continue after the parent exits.
    pub orphan_grace: Option<Duration>,
    /// The slot runner's private directory.
    pub private_directory: Option<PathBuf>,
    /// Directory for scratch directories if the configuration names none.
    pub fallback_execute: PathBuf,
    /// Offset added to the wall clock, in microseconds.
    pub clock_skew_us: i64,
    /// Role of the access point.
    pub role: AccessPointRole,
    /// The helper that transfers files.
    pub helper: TransferHelper,
    /// Directory for checkpoints and the output of evicted jobs until the next run.
    pub spool: Option<PathBuf>,
    /// A shell for interactive use instead of the job.
    pub shell: Option<BString>,
    /// The job's log, overriding the one that its ad names.
    pub log: Option<PathBuf>,
}
