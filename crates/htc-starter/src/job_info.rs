//! Properties of a job that are read from its ad before anything else, and the changes made to the ad at that time.
//!
//! Reference: `JICLocal::initJobInfo` of `jic_local.cpp`. A starter without a shadow adds `OrigCmd` and `OrigIwd` and
//! makes `Cmd` absolute; it makes no other change.

use std::path::Path;

use bstr::{BString, ByteSlice};
use thiserror::Error;

use htc_base::job::{Universe, attr};
use htc_base::quirks::{Quirk, QuirkMode};
use htc_base::world::World;
use htc_classad::{ClassAd, Context};
use htc_hook::transfer::{TransferRequest, url};

/// Command-line options that override the job ad.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobOverrides {
    /// Value of `-job-cluster`.
    pub cluster: Option<i64>,
    /// Value of `-job-proc`.
    pub proc: Option<i64>,
    /// Value of `-job-subproc`.
    pub subproc: Option<i64>,
    /// Values of `-job-stdin`, `-job-stdout` and `-job-stderr`; `-` means the starter's own file.
    pub files: [Option<BString>; 3],
}

/// Properties of the job that do not change after the start, even if a prepare hook changes the ad.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobInfo {
    /// Value of the attribute `ClusterId`.
    pub cluster: i64,
    /// Value of the attribute `ProcId`.
    pub proc: i64,
    /// Third part of the job ID, for parallel jobs.
    pub subproc: i64,
    /// Initial working directory.
    pub iwd: BString,
    /// Files of descriptors 0 to 2 according to the ad; `None` means `/dev/null`.
    pub files: [Option<BString>; 3],
    /// Files of descriptors 0 to 2 according to the command line, which take precedence over the ad.
    pub overrides: [Option<BString>; 3],
    /// True if files are transferred to the scratch directory, including the executable unless the ad says otherwise.
    pub transfers_files: bool,
    /// Credentials of the user that are available to the job.
    pub credentials: JobCredentials,
}

impl JobInfo {
    /// Applies the command-line options.
    pub fn with_overrides(mut self, overrides: &JobOverrides) -> Self {
        self.cluster = overrides.cluster.unwrap_or(self.cluster);
        self.proc = overrides.proc.unwrap_or(self.proc);
        self.subproc = overrides.subproc.unwrap_or(self.subproc);
        self.overrides = overrides.files.clone();
        self
    }
}

/// Credentials of the user that are available to a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobCredentials {
    /// The directory that `_CONDOR_CREDS` names.
    pub directory: Option<BString>,
    /// The Kerberos cache that `KRB5CCNAME` names.
    pub cache: Option<BString>,
    /// Reason why required credentials are missing; the starter then does not start the job.
    pub missing: Option<String>,
}

impl JobInfo {
    /// Returns the job ID as `cluster.proc`.
    pub fn id(&self) -> String {
        format!("{}.{}", self.cluster, self.proc)
    }
}

/// Reason why a starter refuses a job. The starter then exits with status 1.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum JobRefusal {
    /// `Cmd` is missing or is not a string.
    #[error("the job ad has no string Cmd: nothing to run")]
    NoCommand,
    /// The job's universe needs a shadow or a schedd.
    #[error("JobUniverse {number} ({name}) {}", universe_refusal(*number))]
    Universe {
        /// Number of the universe.
        number: i64,
        /// Name of the universe; empty if it has none.
        name: String,
    },
    /// No attribute names an account, and jobs do not run as root.
    #[error(
        "neither OsUser nor User names an account to run the job as, and jobs do not run as root: add a line such as User = \
         \"alice@example.org\" to the ad, or run as that account"
    )]
    NoAccount,
    /// The account does not exist.
    #[error("the account '{name}' that {attribute} names does not exist here")]
    UnknownAccount {
        /// Name of the account.
        name: BString,
        /// Attribute or parameter that names the account.
        attribute: &'static str,
    },
    /// The account does not exist, and its uid and gid are unknown.
    #[error(
        "the account '{name}' that {attribute} names does not exist here, and SOFT_UID_DOMAIN does not help: the access point, which \
         would supply its uid and gid, is this machine"
    )]
    SoftAccount {
        /// Name of the account.
        name: BString,
        /// Attribute or parameter that names the account.
        attribute: &'static str,
    },
    /// The account is root.
    #[error("{attribute} is '{name}', which is root: jobs do not run as root")]
    RootAccount {
        /// Name of the account.
        name: BString,
        /// Attribute or parameter that names the account.
        attribute: &'static str,
    },
    /// A hook cannot be used; the reference then refuses all jobs.
    #[error("{parameter} cannot be used: {reason}")]
    Hook {
        /// Name of the parameter for the hook.
        parameter: String,
        /// Problem with the value of the parameter.
        reason: String,
    },
    /// The timeout of a hook is not a number; 25.14 exits with an exception.
    #[error("{parameter} cannot be used: {reason}")]
    HookTimeOut {
        /// Name of the parameter for the timeout.
        parameter: String,
        /// Problem with the value of the parameter.
        reason: String,
    },
    /// The file transfer attributes of the ad are invalid.
    #[error("file transfer: {reason}")]
    Transfer {
        /// Problem with the attributes.
        reason: String,
    },
    /// A parameter of the starter is invalid.
    #[error("the configuration of the starter: {reason}")]
    Knob {
        /// Name of the parameter and problem with its value.
        reason: String,
    },
}

/// Returns the reason why a universe is unsupported, and the alternative for the user.
fn universe_refusal(universe: i64) -> &'static str {
    match universe {
        7 => "is run by a schedd on its own machine; use 12 (local) with --as local",
        9 => "is submitted elsewhere by the gridmanager of a schedd: no starter runs such a job",
        11 => "needs a shadow that starts all its nodes together; use 5 (vanilla) to run one node",
        13 => {
            "needs the vm gahp of an execution point; --dry-run describes the virtual machine and runs none"
        }
        _ => "is not a universe that a starter runs; use 5 (vanilla), 10 (java) or 12 (local)",
    }
}

/// Reads the attributes that a starter needs, and adds missing attributes to the ad. Jobs without `Iwd` start in
/// `scratch`.
///
/// # Errors
/// Returns an error if the job cannot run without a shadow.
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

/// Removes the paths in a scratch directory that [`read_job_info`] added to the ad: `Iwd`, and the directory of a
/// relative `Cmd`. Call this function for ads that are read after the directory was removed.
pub fn remove_scratch_paths(ad: &mut ClassAd, scratch: &Path) {
    use std::os::unix::ffi::OsStrExt;
    let scratch = scratch.as_os_str().as_bytes();
    let text =
        |ad: &ClassAd, name: &str| ad.literal(name).and_then(|value| value.as_str().map(BString::from));
    if text(ad, attr::IWD).is_some_and(|iwd| iwd == scratch) {
        ad.remove(attr::IWD);
    }
    if let (Some(command), Some(original)) = (text(ad, attr::CMD), text(ad, "OrigCmd"))
        && command == join_directory(scratch, &original)
    {
        ad.set(attr::CMD, original);
    }
}

/// Reads the properties like [`read_job_info`], but for a job whose files are transferred
/// (`JICShadow::initWithFileTransfer`, `initStdFiles`): the job starts in the scratch directory, and its standard files
/// are created there under generated names unless they are streamed.
///
/// # Errors
/// Returns the errors of [`read_job_info`].
pub fn read_transferred_job_info(
    ad: &mut ClassAd,
    scratch: &Path,
    request: &TransferRequest,
    quirks: QuirkMode,
    world: &dyn World,
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
            (Some(local), Some(path)) => {
                ad.set(name, local.clone());
                ad.set(original, path.clone());
                Some(join_directory(scratch, local))
            }
            // A streamed file is written directly to its final path.
            (None, Some(path)) if path.starts_with(b"/") => Some(path.clone()),
            (None, Some(path)) => {
                let iwd = iwd.as_ref().and_then(|iwd| iwd.as_literal());
                let iwd = iwd.and_then(|iwd| iwd.as_str().map(BString::from)).unwrap_or_default();
                Some(join_directory(&iwd, path))
            }
            (_, None) => None,
        };
    }
    info.iwd = scratch.into();
    info.transfers_files = true;
    Ok(info)
}

/// Returns one part of the job's ID. The reference uses 32-bit integers and drops the higher bits.
pub fn job_id_part(ad: &ClassAd, name: &str, quirks: QuirkMode, world: &dyn World) -> Option<i64> {
    let number = Context::new(world).my(ad).int(name)?;
    Some(if quirks.reproduces(Quirk::JobIdLowBits) { i64::from(number as i32) } else { number })
}

/// Returns true if a starter without a shadow supports the universe: vanilla, java and local.
pub(super) fn is_universe_supported(universe: i64) -> bool {
    matches!(universe, 5 | 10 | 12)
}

/// Returns `directory/name`. Like the reference, adds exactly one slash.
pub(super) fn join_directory(directory: &[u8], name: &[u8]) -> BString {
    [directory, b"/", name].concat().into()
}
