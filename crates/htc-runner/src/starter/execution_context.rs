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

/// Inputs of the event loop besides the state machine.
pub struct ExecutionContext {
    /// The scratch directory.
    pub sandbox: Sandbox,
    /// The account of hooks and job, or `None` for our own.
    pub identity: Option<ProcessIdentity>,
    /// The environment of all hooks, to which each call adds variables.
    pub hook_environment: HookEnvironment,
    /// Resource limits of hooks before the job's log is open.
    pub hook_limits: Vec<ResourceLimit>,
    /// Stack size of hooks after that, in bytes (StackSize of the job), or `None` for no limit.
    pub hook_stack: Option<u64>,
    /// Maximum number of bytes kept of a hook's outputs (PIPE_BUFFER_MAX).
    pub output_limit: usize,
    /// Selection of quirks.
    pub quirks: QuirkMode,
    /// Our own environment, for passing on.
    pub environment: Vec<(BString, BString)>,
    /// Home directory of the daemons' account.
    pub daemon_home: Option<BString>,
    /// Initial working directory of the job, where core files are renamed.
    pub iwd: PathBuf,
    /// `cluster.proc`.
    pub id: String,
    /// Name of the slot for events; empty if there is none.
    pub slot: String,
    /// File of `-job-update-ad`.
    pub update_ad: Option<PathBuf>,
    /// File of `-job-output-ad`; the caller writes to standard output.
    pub output_ad: Option<PathBuf>,
    /// The account that writes those two files, or `None` for our own (quirk `output-ad-as-condor`).
    pub ad_writer: Option<ProcessIdentity>,
    /// The account that reads the wrapper's error file: the job's, or that of the daemons with quirk
    /// `wrapper-error-file-ignored`; `None` for our own.
    pub wrapper_reader: Option<ProcessIdentity>,
    /// The job's own log, opened once the scratch directory exists.
    pub log: Option<UserLog>,
    /// The visa that the job requests, or `None`.
    pub visa: Option<Visa>,
    /// Processors that the job is bound to, or empty for all.
    pub affinity: Vec<usize>,
    /// Value of PID_SNAPSHOT_INTERVAL.
    pub snapshot_interval: Duration,
    /// Value of USE_PSS.
    pub uses_pss: bool,
    /// Interval of docker queries about a container's usage (POLLING_INTERVAL).
    pub polling_interval: Duration,
    /// The job ad as read.
    pub ad: ClassAd,
    /// True if the disk usage of the job's directory is needed.
    pub measures_disk: bool,
    /// Uid whose processes all belong to the job (DEDICATED_EXECUTE_ACCOUNT_REGEXP), or `None`.
    pub dedicated_uid: Option<u32>,
    /// The slot runner's private directory.
    pub private_directory: Option<PathBuf>,
    /// Time after which the job is ended (`--timeout`), or `None`.
    pub timeout: Option<Duration>,
    /// Time that the job may continue after the parent exits (`--orphan-grace`); `None` for no limit, unless the parent
    /// is the slot runner.
    pub orphan_grace: Option<Duration>,
    /// Command line of a virtual machine, for a rehearsal.
    pub virtual_machine: Option<Vec<String>>,
    /// LOG, in which hooks of 25.14 run after SIGHUP and before there is a scratch directory; otherwise the quirk that
    /// prevents this.
    pub log_directory: Result<PathBuf, Quirk>,
    /// True if SIGHUP was received.
    pub config_reread: bool,
    /// Transfer of the job's files, or `None`.
    pub file_transfer: Option<FileTransfer>,
    /// Credentials from the access point, or `None`.
    pub credentials: Option<Credentials>,
    /// Offset added to the wall clock, in microseconds (`--now`).
    pub clock_skew_us: i64,
}

impl ExecutionContext {
    /// Returns a watch over the parent: the slot runner that handed the job over, or the caller if `--orphan-grace` is
    /// given; else `None`.
    pub fn parent(&self) -> Option<ParentWatch> {
        let is_watched = self.private_directory.is_some() || self.orphan_grace.is_some();
        is_watched.then(|| ParentWatch::new(self.orphan_grace.unwrap_or_default()))
    }

    /// Returns the directory of hooks: the scratch directory, or the root if that does not exist or is inaccessible;
    /// LOG for 25.14.
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

/// True if a directory exists and processes with these rights can enter it.
fn can_enter(directory: &Path, identity: Option<&ProcessIdentity>) -> bool {
    run_as(identity, || directory.join(".").is_dir()).unwrap_or(false)
}
