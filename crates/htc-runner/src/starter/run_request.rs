//! What a caller knows of a job and wants of its run.

use std::path::PathBuf;
use std::time::Duration;

use bstr::BString;

use crate::hook_environment::DaemonEnvironment;
use htc_base::quirks::QuirkMode;
use htc_base::world::World;
use htc_classad::ClassAd;
use htc_starter::JobOverrides;
use htc_starter::unsupported::AccessPointRole;

/// What a caller knows of the job and wants of its run.
pub struct RunRequest<'w> {
    /// Where everything else is asked.
    pub world: &'w dyn World,
    /// Deviations.
    pub quirks: QuirkMode,
    /// The job's ad as it was read, completed from the configuration where a keyword was given.
    pub ad: ClassAd,
    /// What the starter was itself started with.
    pub environment: DaemonEnvironment,
    /// The slot's ad the job was accepted with.
    pub machine: Option<ClassAd>,
    /// Ids and standard files of the command line.
    pub overrides: JobOverrides,
    /// Name of the slot for variables; empty for none.
    pub slot: BString,
    /// Name of the slot for events, if it is another.
    pub event_slot: Option<String>,
    /// `-job-output-ad`: `-` is standard output, which is the caller's business.
    pub output_ad: Option<BString>,
    /// `-job-update-ad`.
    pub update_ad: Option<BString>,
    /// Limit for hooks that the reference waits for without end.
    pub hook_timeout: Option<Duration>,
    /// Limit for the whole job.
    pub timeout: Option<Duration>,
    /// How long the job may go on when whoever started this program is gone.
    pub orphan_grace: Option<Duration>,
    /// The slot runner's private directory.
    pub private_directory: Option<PathBuf>,
    /// A directory for scratch directories where the configuration names none.
    pub fallback_execute: PathBuf,
    /// What is added to the wall clock, in microseconds.
    pub clock_skew_us: i64,
    /// Who of a pool is played beside the starter.
    pub role: AccessPointRole,
    /// The helper that moves files: a program and its words.
    pub helper: (PathBuf, Vec<BString>),
    /// Where checkpoints and the output of evicted jobs are kept for the next run.
    pub spool: Option<PathBuf>,
    /// A shell for a person instead of the job.
    pub shell: Option<BString>,
    /// The job's log instead of that which its ad names.
    pub log: Option<PathBuf>,
}
