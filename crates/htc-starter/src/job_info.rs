//! What is read from a job's ad before anything else, and what that changes in it.
//!
//! Reference: `JICLocal::initJobInfo` of `jic_local.cpp`. A starter without a shadow adds `OrigCmd`, `OrigIwd` and
//! makes `Cmd` absolute; nothing else.

use std::path::Path;

use bstr::{BString, ByteSlice};
use thiserror::Error;

use htc_base::job::{Universe, attr};
use htc_base::quirks::{Quirk, QuirkMode};
use htc_base::world::World;
use htc_classad::{ClassAd, Context};
use htc_hook::transfer::{TransferRequest, url};

/// What the command line says about the job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobOverrides {
    /// `-job-cluster`.
    pub cluster: Option<i64>,
    /// `-job-proc`.
    pub proc: Option<i64>,
    /// `-job-subproc`.
    pub subproc: Option<i64>,
    /// `-job-stdin`, `-job-stdout`, `-job-stderr`; `-` is the starter's own.
    pub files: [Option<BString>; 3],
}

/// The job as it is known from the start; what a prepare hook changes of it has no effect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobInfo {
    /// First part of its id.
    pub cluster: i64,
    /// Second part.
    pub proc: i64,
    /// Third part, for parallel jobs.
    pub subproc: i64,
    /// Initial working directory.
    pub iwd: BString,
    /// Files of descriptors 0 to 2 by the ad; `None` is `/dev/null`.
    pub files: [Option<BString>; 3],
    /// The same by the command line; these win.
    pub overrides: [Option<BString>; 3],
    /// Whether its files come to the scratch directory: its program too, unless the ad says otherwise.
    pub transfers_files: bool,
    /// What it has of its user's credentials.
    pub credentials: JobCredentials,
}

impl JobInfo {
    /// As the command line has it.
    pub fn with_overrides(mut self, overrides: &JobOverrides) -> Self {
        self.cluster = overrides.cluster.unwrap_or(self.cluster);
        self.proc = overrides.proc.unwrap_or(self.proc);
        self.subproc = overrides.subproc.unwrap_or(self.subproc);
        self.overrides = overrides.files.clone();
        self
    }
}

/// What a job has of its user's credentials.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobCredentials {
    /// The directory that `_CONDOR_CREDS` names.
    pub directory: Option<BString>,
    /// The Kerberos cache that `KRB5CCNAME` names.
    pub cache: Option<BString>,
    /// Why it does not get those that it needs: it is not started.
    pub missing: Option<String>,
}

impl JobInfo {
    /// The id as `cluster.proc`.
    pub fn id(&self) -> String {
        format!("{}.{}", self.cluster, self.proc)
    }
}

/// Why a starter does not take a job on. Its status is then 1.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum JobRefusal {
    /// There is no string `Cmd`.
    #[error("the job ad has no string Cmd: nothing to run")]
    NoCommand,
    /// A universe that needs a shadow or a schedd.
    #[error("JobUniverse {number} ({name}) {}", universe_refusal(*number))]
    Universe {
        /// The number.
        number: i64,
        /// Its name, as far as it has one.
        name: String,
    },
    /// Nothing names an account, and root does not run jobs.
    #[error(
        "neither OsUser nor User names an account to run the job as, and jobs do not run as root: add a line such as User = \
         \"alice@example.org\" to the ad, or run as that account"
    )]
    NoAccount,
    /// The account does not exist.
    #[error("the account '{name}' that {attribute} names does not exist here")]
    UnknownAccount {
        /// The name.
        name: BString,
        /// The attribute or knob.
        attribute: &'static str,
    },
    /// The account does not exist, and nobody knows its numbers.
    #[error(
        "the account '{name}' that {attribute} names does not exist here, and SOFT_UID_DOMAIN does not help: the access point, which \
         would tell its numbers, is this machine"
    )]
    SoftAccount {
        /// The name.
        name: BString,
        /// The attribute or knob.
        attribute: &'static str,
    },
    /// The account is root.
    #[error("{attribute} names '{name}', which is root: jobs do not run as root")]
    RootAccount {
        /// The name.
        name: BString,
        /// The attribute or knob.
        attribute: &'static str,
    },
    /// A hook cannot be used; the reference then refuses all jobs.
    #[error("{knob} cannot be used: {reason}")]
    Hook {
        /// The configuration knob.
        knob: String,
        /// What is wrong with its value.
        reason: String,
    },
    /// The time-out of a hook is no number; 25.14 ends by an exception.
    #[error("{knob} cannot be used: {reason}")]
    HookTimeOut {
        /// The configuration knob.
        knob: String,
        /// What is wrong with its value.
        reason: String,
    },
    /// The ad asks for file transfer in a way that nobody understands.
    #[error("file transfer: {reason}")]
    Transfer {
        /// What is wrong with it.
        reason: String,
    },
    /// A knob of the starter is wrong.
    #[error("the configuration of the starter: {reason}")]
    Knob {
        /// Which, and what is wrong with its value.
        reason: String,
    },
}

/// Why a universe is not taken, and what would be.
fn universe_refusal(universe: i64) -> &'static str {
    match universe {
        7 => "is run by a schedd on its own machine; use 12 (local) with --as local",
        9 => "goes elsewhere by the gridmanager of a schedd: no starter ever sees such a job",
        11 => "needs a shadow that starts all its nodes together; use 5 (vanilla) for one of them",
        13 => {
            "needs the vm gahp of an execution point; --dry-run describes the virtual machine and runs none"
        }
        _ => "is none that jobs run in; use 5 (vanilla), 10 (java) or 12 (local)",
    }
}

/// Reads what is needed of the ad and completes it. `scratch` is the directory that jobs without `Iwd` begin in.
///
/// # Errors
/// A job that cannot be run without a shadow.
pub fn read_job_info(
    ad: &mut ClassAd,
    scratch: &Path,
    quirks: QuirkMode,
    world: &dyn World,
) -> Result<JobInfo, JobRefusal> {
    use std::os::unix::ffi::OsStrExt;
    let context = |ad: &ClassAd, name: &str| Context::new(world).my(ad).string(name);
    let integer = |ad: &ClassAd, name: &str| Context::new(world).my(ad).int(name);
    let command = context(ad, attr::CMD).ok_or(JobRefusal::NoCommand)?;
    ad.set("OrigCmd", command.clone());
    let iwd = match context(ad, attr::IWD) {
        Some(iwd) => {
            ad.set("OrigIwd", iwd.clone());
            iwd
        }
        None => {
            let iwd = BString::from(scratch.as_os_str().as_bytes());
            ad.set(attr::IWD, iwd.clone());
            iwd
        }
    };
    let universe = integer(ad, attr::JOB_UNIVERSE).unwrap_or(5);
    if !is_universe_supported(universe) {
        let name = Universe::from_number(universe).map_or("unknown", Universe::name).to_owned();
        return Err(JobRefusal::Universe { number: universe, name });
    }
    let id = |name: &str| job_id_part(ad, name, quirks, world);
    let cluster = id(attr::CLUSTER_ID).unwrap_or(1);
    let (proc, subproc) = (id(attr::PROC_ID).unwrap_or(0), id("Node").unwrap_or(0));
    if !command.starts_with(b"/") {
        ad.set(attr::CMD, join_directory(&iwd, &command));
    }
    let file = |name: &str| {
        let name = context(ad, name)?;
        match name.as_bstr() == "/dev/null" {
            true => None,
            false if name.starts_with(b"/") => Some(name),
            false => Some(join_directory(&iwd, &name)),
        }
    };
    let files = [file(attr::INPUT), file(attr::OUTPUT), file(attr::ERROR)];
    Ok(JobInfo {
        cluster,
        proc,
        subproc,
        iwd,
        files,
        overrides: Default::default(),
        transfers_files: false,
        credentials: JobCredentials::default(),
    })
}

/// The same for a job whose files are transferred (`JICShadow::initWithFileTransfer`, `initStdFiles`): it begins in the
/// scratch directory, and its standard files lie there, under names of their own unless they are streamed.
///
/// # Errors
/// As for [`read_job_info`].
pub fn read_transferred_job_info(
    ad: &mut ClassAd,
    scratch: &Path,
    request: &TransferRequest,
    (quirks, world): (QuirkMode, &dyn World),
) -> Result<JobInfo, JobRefusal> {
    use std::os::unix::ffi::OsStrExt;
    let (command, iwd) = (Context::new(world).my(ad).string(attr::CMD), ad.get(attr::IWD));
    let mut info = read_job_info(ad, scratch, quirks, world)?;
    let scratch = scratch.as_os_str().as_bytes();
    if let Some(command) = command {
        ad.set(attr::CMD, command);
    }
    ad.set(attr::IWD, BString::from(scratch));
    let input = Context::new(world).my(ad).string(attr::INPUT).filter(|name| *name != "/dev/null");
    info.files[0] =
        input.filter(|name| !name.is_empty()).map(|name| join_directory(scratch, url::base_name(&name)));
    let names = [(attr::OUTPUT, "OriginalOut"), (attr::ERROR, "OriginalErr")];
    for (at, (name, original)) in names.into_iter().enumerate() {
        info.files[at + 1] = match (&request.standard_files[at], &request.standard_file_targets[at]) {
            (Some(local), Some(asked)) => {
                ad.set(name, local.clone());
                ad.set(original, asked.clone());
                Some(join_directory(scratch, local))
            }
            // Streamed: written where it is wanted at once.
            (None, Some(asked)) if asked.starts_with(b"/") => Some(asked.clone()),
            (None, Some(asked)) => {
                let iwd = iwd.as_ref().and_then(|iwd| iwd.as_literal());
                let iwd = iwd.and_then(|iwd| iwd.as_str().map(BString::from)).unwrap_or_default();
                Some(join_directory(&iwd, asked))
            }
            (_, None) => None,
        };
    }
    info.iwd = scratch.into();
    info.transfers_files = true;
    Ok(info)
}

/// A part of the job's id as its ad has it. Those of the reference have 32 bits; what is above them is lost.
pub fn job_id_part(ad: &ClassAd, name: &str, quirks: QuirkMode, world: &dyn World) -> Option<i64> {
    let number = Context::new(world).my(ad).int(name)?;
    Some(if quirks.reproduces(Quirk::JobIdLowBits) { i64::from(number as i32) } else { number })
}

/// Whether a starter without a shadow has a process class for it: vanilla, java, local.
pub(super) fn is_universe_supported(universe: i64) -> bool {
    matches!(universe, 5 | 10 | 12)
}

/// `directory/name`, as the reference joins them: with one slash whatever they are.
pub(super) fn join_directory(directory: &[u8], name: &[u8]) -> BString {
    [directory, b"/", name].concat().into()
}
