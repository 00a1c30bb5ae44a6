//! Execution context of a job: directories, accounts, files, limits.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bstr::BString;

use super::credentials::Credentials;
use super::file_transfer::FileTransfer;
use super::sandbox::Sandbox;
use super::user_log::UserLog;
use super::visa::Visa;
use crate::hook_environment::HookEnvironment;
use crate::parent_process::ParentWatch;
use htc_base::process::{ProcessIdentity, ResourceLimit};
use htc_base::quirks::{Quirk, QuirkMode};
use htc_classad::ClassAd;
use htc_os::identity::run_as;

/// Properties of a run that the event loop needs besides the state machine.
pub struct ExecutionContext {
    /// The scratch directory.
    pub sandbox: Sandbox,
    /// The account of hooks and job, or `None` for the account of this program.
    pub identity: Option<ProcessIdentity>,
    /// The environment that all hooks have in common; each call adds variables.
    pub hook_environment: HookEnvironment,
    /// Resource limits of hooks that are called before the job's log is open.
    pub hook_limits: Vec<ResourceLimit>,
    /// Stack size in bytes of hooks that are called after the job's log was opened (StackSize of the job), or `None`
    /// for no limit.
    pub hook_stack: Option<u64>,
    /// Maximum number of bytes kept of each output of a hook (PIPE_BUFFER_MAX).
    pub output_limit: usize,
    /// Quirks of 25.14 to reproduce.
    pub quirks: QuirkMode,
    /// Environment of this program, which is passed to helper programs.
    pub environment: Vec<(BString, BString)>,
    /// Home directory of the daemons' account.
    pub daemon_home: Option<BString>,
    /// Initial working directory of the job, in which a core file is renamed.
    pub iwd: PathBuf,
    /// Id of the job as `cluster.proc`.
    pub id: String,
    /// Name of the slot for events; empty if the job has no slot.
    pub slot: String,
    /// File named by `-job-update-ad`.
    pub update_ad: Option<PathBuf>,
    /// File named by `-job-output-ad`, or `None`; the ad for standard output is written by the caller.
    pub output_ad: Option<PathBuf>,
    /// The account that writes the files of `-job-update-ad` and `-job-output-ad`, or `None` for the account of this
    /// program (quirk `output-ad-as-condor`).
    pub ad_writer: Option<ProcessIdentity>,
    /// The account that reads the wrapper's error file: the account of the job, or with quirk
    /// `wrapper-error-file-ignored` that of the daemons; `None` for the account of this program.
    pub wrapper_error_account: Option<ProcessIdentity>,
    /// The job's own log, which is opened when the scratch directory exists.
    pub log: Option<UserLog>,
    /// The visa that the job requests, or `None` if it requests none.
    pub visa: Option<Visa>,
    /// Processors to which the job is bound; empty for all processors.
    pub affinity: Vec<usize>,
    /// Value of PID_SNAPSHOT_INTERVAL.
    pub snapshot_interval: Duration,
    /// Value of USE_PSS.
    pub uses_pss: bool,
    /// Interval of docker queries about a container's usage (POLLING_INTERVAL).
    pub polling_interval: Duration,
    /// The job ad in the form in which it was read.
    pub ad: ClassAd,
    /// True if the disk usage of the job's directory is needed.
    pub measures_disk: bool,
    /// Uid of an account that is dedicated to the job, so that all its processes belong to the job
    /// (DEDICATED_EXECUTE_ACCOUNT_REGEXP); or `None`.
    pub dedicated_uid: Option<u32>,
    /// The private directory that the slot runner created for this starter, or `None` without a slot runner.
    pub private_directory: Option<PathBuf>,
    /// Time after which the job is ended (`--timeout`), or `None` for no limit.
    pub timeout: Option<Duration>,
    /// Time that the job may continue after the parent exits (`--orphan-grace`); `None` for no limit, unless the parent
    /// is the slot runner.
    pub orphan_grace: Option<Duration>,
    /// Command line of the job's virtual machine, shown in a rehearsal.
    pub virtual_machine: Option<Vec<String>>,
    /// LOG, in which 25.14 runs hooks after SIGHUP and while the scratch directory cannot be entered; or the quirk
    /// about this, if it is not reproduced.
    pub log_directory: Result<PathBuf, Quirk>,
    /// True if SIGHUP was received.
    pub config_reread: bool,
    /// Transfer of the job's files, or `None` if no files are transferred.
    pub file_transfer: Option<FileTransfer>,
    /// Credentials from the access point, or `None` if the job has none.
    pub credentials: Option<Credentials>,
    /// Offset added to the wall clock, in microseconds (`--now`).
    pub clock_skew_us: i64,
}

impl ExecutionContext {
    /// Returns a watch over the parent process, or `None` if the parent is not watched. The slot runner that passed
    /// the job to this program is always watched, another caller only if `--orphan-grace` is given.
    pub fn parent(&self) -> Option<ParentWatch> {
        let is_watched = self.private_directory.is_some() || self.orphan_grace.is_some();
        is_watched.then(|| ParentWatch::new(self.orphan_grace.unwrap_or_default()))
    }

    /// Returns the working directory of hooks: the scratch directory, or `/` if the scratch directory cannot be
    /// entered. As in 25.14, LOG replaces `/`, and is used for all hooks after SIGHUP.
    pub(super) fn hook_directory(&self) -> PathBuf {
        if let Some(log) = self.log_directory.as_ref().ok().filter(|_| self.config_reread) {
            return log.clone();
        }
        let scratch = &self.sandbox.scratch;
        match can_enter(scratch, self.identity.as_ref()) {
            true => scratch.clone(),
            false => self.log_directory.clone().unwrap_or_else(|_| PathBuf::from("/")),
        }
    }
}

/// Returns true if a directory exists and a process with this identity can enter it.
fn can_enter(directory: &Path, identity: Option<&ProcessIdentity>) -> bool {
    run_as(identity, || directory.join(".").is_dir()).unwrap_or(false)
}
