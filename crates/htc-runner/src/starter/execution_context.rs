//! What a job is carried out with: directories, accounts, files, limits.

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

/// What the loop needs beside the machine.
pub struct ExecutionContext {
    /// The scratch directory.
    pub sandbox: Sandbox,
    /// The account of hooks and job; `None` is our own.
    pub identity: Option<ProcessIdentity>,
    /// The environment of all hooks, to which each call adds.
    pub hook_environment: HookEnvironment,
    /// The limits of hooks before the job's log is open.
    pub hook_limits: Vec<ResourceLimit>,
    /// StackSize of the job: the stack of hooks after that, in bytes; `None` for any.
    pub hook_stack: Option<u64>,
    /// PIPE_BUFFER_MAX: how much of a hook's outputs is kept, in bytes.
    pub output_limit: usize,
    /// Deviations.
    pub quirks: QuirkMode,
    /// Our own environment, as it is handed on.
    pub environment: Vec<(BString, BString)>,
    /// Home of the account of daemons.
    pub daemon_home: Option<BString>,
    /// Directory of the job and its id, for core files.
    pub iwd: PathBuf,
    /// `cluster.proc`.
    pub id: String,
    /// Name of the slot for events; empty if there is none.
    pub slot: String,
    /// File of `-job-update-ad`.
    pub update_ad: Option<PathBuf>,
    /// File of `-job-output-ad`; standard output is the caller's business.
    pub output_ad: Option<PathBuf>,
    /// The account that writes those two; `None` is our own (quirk `output-ad-as-condor`).
    pub ad_writer: Option<ProcessIdentity>,
    /// The account that looks for what a wrapper wrote: the job's, or with quirk `wrapper-error-file-ignored` that of
    /// daemons; `None` is our own.
    pub wrapper_reader: Option<ProcessIdentity>,
    /// The job's own log, opened when the scratch directory is there.
    pub log: Option<UserLog>,
    /// The visa that the job asks for.
    pub visa: Option<Visa>,
    /// Processors that the job is bound to; empty for all.
    pub affinity: Vec<usize>,
    /// PID_SNAPSHOT_INTERVAL.
    pub snapshot_interval: Duration,
    /// USE_PSS.
    pub uses_pss: bool,
    /// POLLING_INTERVAL: how often docker is asked what a container uses.
    pub polling_interval: Duration,
    /// The job's ad as it was read.
    pub ad: ClassAd,
    /// Whether it is of interest what its directory holds.
    pub measures_disk: bool,
    /// The account whose processes are all the job's (DEDICATED_EXECUTE_ACCOUNT_REGEXP).
    pub dedicated_uid: Option<u32>,
    /// The slot runner's private directory.
    pub private_directory: Option<PathBuf>,
    /// `--timeout`: the job is ended then.
    pub timeout: Option<Duration>,
    /// `--orphan-grace`: how long the job may go on when whoever started this program is gone; `None`: for ever, unless that
    /// is the slot runner.
    pub orphan_grace: Option<Duration>,
    /// What a virtual machine would be started with, for a rehearsal.
    pub virtual_machine: Option<Vec<String>>,
    /// LOG, where hooks of 25.14 run after SIGHUP and before there is a scratch directory; else the quirk by which they do not.
    pub log_directory: Result<PathBuf, Quirk>,
    /// Whether SIGHUP has come.
    pub config_reread: bool,
    /// How its files are moved, where they are.
    pub file_transfer: Option<FileTransfer>,
    /// The tokens that it has of its access point.
    pub credentials: Option<Credentials>,
    /// What is added to the wall clock in microseconds (`--now`).
    pub clock_skew_us: i64,
}

impl ExecutionContext {
    /// Whoever it does not outlive: the slot runner that handed it over, or whoever `--orphan-grace` means.
    pub fn parent(&self) -> Option<ParentWatch> {
        let is_watched = self.private_directory.is_some() || self.orphan_grace.is_some();
        is_watched.then(|| ParentWatch::new(self.orphan_grace.unwrap_or_default()))
    }

    /// The directory of hooks: the scratch directory; where that does not exist or the job has closed it the root, for 25.14 LOG.
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
