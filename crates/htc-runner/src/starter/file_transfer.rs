//! Inputs of a file transfer: lists of files, accounts, limits, plugins, and the helper program.

use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bstr::{BString, ByteSlice};

use crate::transfer::{TransferSession, plugin_data};
use htc_base::job::attr;
use htc_base::process::ProcessIdentity;
use htc_base::text::environment::Environment;
use htc_base::text::list;
use htc_base::time::MonotonicTime;
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Dialect, Expr};
use htc_config::{ConfigView, ValueError};
use htc_hook::transfer::{
    DirectorySnapshot, MultiFilePluginSettings, PluginCall, TransferKind, TransferRequest, TransferTask,
};
use htc_os::ChildId;
use htc_os::identity;
use htc_starter::environment::merge_from_ad;
use htc_starter::{JobRefusal, TransferSetup};

/// File transfer of one job.
pub struct FileTransfer {
    /// The transfer requested by the job ad.
    pub request: TransferRequest,
    /// Transfer parameters of the configuration.
    pub parameters: FileTransferParameters,
    /// The job's owner, who reads its input and receives its output, or `None` for the account of this program. The
    /// owner is never root, and is never determined by the location of Iwd.
    pub owner: Option<ProcessIdentity>,
    /// The program that copies files.
    pub helper: TransferHelper,
    /// Directory for files of a job that will continue in another run, or `None`.
    pub spool: Option<PathBuf>,
    /// The attributes of the job that plugins receive.
    pub data: Vec<(String, BString)>,
    /// The variables of the job's environment; plugins receive those with certain names.
    pub variables: Vec<(BString, BString)>,
    /// Contents of the scratch directory after the input was transferred.
    pub initial_catalogue: DirectorySnapshot,
    /// Directories below which the access point may read and write; empty for no limit.
    pub allowed_directories: Vec<BString>,
    /// The running child of a transfer, or `None`.
    pub(super) child: Option<TransferChild>,
}

/// Child process of a transfer, with the session that it belongs to.
pub(super) struct TransferChild {
    pub(super) session: TransferSession,
    pub(super) child: Option<ChildId>,
    pub(super) kind: TransferChildKind,
    /// Time at which the child was started, in seconds since the epoch.
    pub(super) started_at: i64,
    pub(super) deadline: Option<MonotonicTime>,
    pub(super) timed_out: bool,
}

/// Kind of the child process of a transfer.
pub(super) enum TransferChildKind {
    Helper,
    PluginQuery,
    PluginCall(Box<PluginCall>),
}

/// Transfer parameters of the configuration.
#[derive(Clone, Debug)]
pub struct FileTransferParameters {
    /// Value of FILETRANSFER_PLUGINS.
    pub plugins: Vec<BString>,
    /// Value of ENABLE_URL_TRANSFERS.
    pub urls: bool,
    /// Values of ENABLE_MULTIFILE_TRANSFER_PLUGINS and ASSUME_COMPATIBLE_MULTIFILE_PLUGINS.
    pub list_plugins: MultiFilePluginSettings,
    /// True unless STARTER_DISABLE_USER_SUPPLIED_TRANSFER_PLUGINS is true.
    pub allows_job_plugins: bool,
    /// Value of FILETRANSFER_PLUGIN_CLASSAD_TIMEOUT.
    pub query_timeout: Duration,
    /// Value of MAX_FILE_TRANSFER_PLUGIN_LIFETIME.
    pub call_timeout: Duration,
    /// Value of MAX_REMAP_RECURSIONS.
    pub max_remaps: usize,
    /// Value of ALLOW_TRANSFER_REMAP_TO_MKDIR.
    pub makes_directories: bool,
    /// MAX_TRANSFER_INPUT_MB, in bytes; negative for no limit.
    pub max_input_bytes: i64,
    /// MAX_TRANSFER_OUTPUT_MB, in bytes; negative for no limit.
    pub max_output_bytes: i64,
}

impl FileTransferParameters {
    /// Reads the configuration; size limits, which may be expressions, are evaluated for the job.
    ///
    /// # Errors
    /// Fails if a value is not a valid number or boolean.
    pub fn read(view: &ConfigView<'_>, job: Option<&ClassAd>) -> Result<Self, ValueError> {
        let boolean = |name: &str, usual: bool| -> Result<bool, ValueError> {
            Ok(view.boolean(name)?.map_or(usual, |setting| setting.value))
        };
        let int = |name: &str, usual: i64| -> Result<i64, ValueError> {
            Ok(view.int(name)?.map_or(usual, |setting| setting.value))
        };
        let seconds = |name: &str, usual: i64| -> Result<Duration, ValueError> {
            Ok(Duration::from_secs(int(name, usual)?.max(1).unsigned_abs()))
        };
        let bytes = |name: &str| -> Result<i64, ValueError> {
            let limit = job.map_or(Ok(-1), |job| read_size_limit(name, job, view))?;
            Ok(limit.saturating_mul(1024 * 1024))
        };
        let disabled = view.string("STARTER_DISABLE_USER_SUPPLIED_TRANSFER_PLUGINS")?;
        let disabled = disabled.is_some_and(|setting| {
            let word = setting.value.to_ascii_lowercase();
            !word.is_empty() && word != b"false" && word != b"0"
        });
        Ok(FileTransferParameters {
            plugins: view.list("FILETRANSFER_PLUGINS")?.map(|list| list.value).unwrap_or_default(),
            urls: boolean("ENABLE_URL_TRANSFERS", true)?,
            list_plugins: MultiFilePluginSettings {
                enabled: boolean("ENABLE_MULTIFILE_TRANSFER_PLUGINS", true)?,
                get_data: boolean("ASSUME_COMPATIBLE_MULTIFILE_PLUGINS", true)?,
            },
            allows_job_plugins: !disabled,
            query_timeout: seconds("FILETRANSFER_PLUGIN_CLASSAD_TIMEOUT", 20)?,
            call_timeout: seconds("MAX_FILE_TRANSFER_PLUGIN_LIFETIME", 72_000)?,
            max_remaps: usize::try_from(int("MAX_REMAP_RECURSIONS", 128)?).unwrap_or(0),
            makes_directories: boolean("ALLOW_TRANSFER_REMAP_TO_MKDIR", true)?,
            max_input_bytes: bytes("MAX_TRANSFER_INPUT_MB")?,
            max_output_bytes: bytes("MAX_TRANSFER_OUTPUT_MB")?,
        })
    }
}

/// Reads a size limit, which is a number or an expression evaluated in the job ad
/// (`RemoteResource::initFileTransfer`). A negative result means no limit.
fn read_size_limit(name: &str, job: &ClassAd, view: &ConfigView<'_>) -> Result<i64, ValueError> {
    let error = match view.int(name) {
        Ok(setting) => return Ok(setting.map_or(-1, |setting| setting.value)),
        Err(error) => error,
    };
    let world = view.world();
    let text = view.string(name)?.map(|setting| setting.value).unwrap_or_default();
    let expression = Expr::parse_with(&text, Dialect::of_world(world).old()).ok();
    expression.and_then(|expression| Context::new(world).my(job).eval(&expression).as_int()).ok_or(error)
}

impl FileTransfer {
    /// Returns the helper's task for one direction of the transfer, with limits and accounts. `job` is the job's
    /// account.
    pub(super) fn task(
        &self,
        kind: TransferKind,
        scratch: &BString,
        job: Option<&ProcessIdentity>,
    ) -> TransferTask {
        let account = |identity: Option<&ProcessIdentity>| {
            identity.map(|identity| (identity.uid, identity.gid, identity.groups.clone()))
        };
        let (ad, parameter) = match kind.is_input() {
            true => (self.request.max_input_bytes, self.parameters.max_input_bytes),
            false => (self.request.max_output_bytes, self.parameters.max_output_bytes),
        };
        let (reader, writer) = match kind.is_input() {
            true => (self.owner.as_ref(), job),
            false => (job, self.owner.as_ref()),
        };
        let mut task = self.request.to_task(kind, scratch, &self.initial_catalogue);
        if let (TransferKind::Checkpoint(_) | TransferKind::Evicted, Some(spool)) = (kind, &self.spool) {
            use std::os::unix::ffi::OsStrExt;
            task.target = spool.as_os_str().as_bytes().into();
        }
        TransferTask {
            limit: u64::try_from(ad.unwrap_or(parameter)).ok(),
            most_remaps: self.parameters.max_remaps,
            makes_directories: self.parameters.makes_directories,
            reader: account(reader),
            writer: account(writer),
            allowed: self.allowed_directories.clone(),
            ..task
        }
    }
}

/// Reads the transfer that the ad requests, or returns `None` if nothing is transferred.
///
/// # Errors
/// Fails if an attribute has an invalid value.
pub(super) fn read_transfer_request(
    ad: &ClassAd,
    view: &ConfigView<'_>,
    world: &dyn World,
) -> Result<Option<TransferRequest>, JobRefusal> {
    let domain = view.string("FILESYSTEM_DOMAIN").ok().flatten().map(|setting| setting.value);
    let domain = domain.unwrap_or_else(|| world.full_host().into());
    TransferRequest::read(ad, &domain, world)
        .map_err(|mistake| JobRefusal::Transfer { reason: mistake.to_string() })
}

/// Returns the transfer settings of a state machine whose access point has a shadow.
pub(super) fn shadow_transfer_setup(request: Option<&TransferRequest>, world: &dyn World) -> TransferSetup {
    TransferSetup {
        when_to_transfer: request.map(|request| request.when),
        failure_files: request.is_some_and(|request| !request.failure.is_empty()),
        names_failure_files: request.is_some_and(|request| request.has_failure_files),
        manifest: request.and_then(|request| request.manifest.clone()),
        ip: world.ip_address(),
    }
}

/// Program that copies files as the accounts of their owners: the executable of this program with an argument that
/// selects the helper.
#[derive(Clone, Debug)]
pub struct TransferHelper {
    /// Path of the program.
    pub program: PathBuf,
    /// Arguments of the program, beginning with its name.
    pub argv: Vec<BString>,
}

/// Inputs for creating the file transfer of a job.
pub(super) struct FileTransferInputs<'a> {
    pub(super) ad: &'a ClassAd,
    pub(super) view: &'a ConfigView<'a>,
    pub(super) world: &'a dyn World,
    /// The job's account.
    pub(super) job: Option<&'a ProcessIdentity>,
}

/// Creates the file transfer of a job; also returns warnings.
///
/// # Errors
/// Fails if a parameter is not a valid number or boolean.
pub(super) fn make(
    request: TransferRequest,
    about: FileTransferInputs<'_>,
    helper: TransferHelper,
    spool: Option<PathBuf>,
) -> Result<(FileTransfer, Vec<String>), ValueError> {
    let parameters = FileTransferParameters::read(about.view, Some(about.ad))?;
    let mut warnings = Vec::new();
    let (mut request, owner) = (request, owner(&about));
    if let Some(spool) = &spool {
        request.input.extend(files_of_earlier_run(spool, owner.as_ref()));
    }
    for field in &request.invalid_plugins {
        warnings.push(format!("TransferPlugins: '{field}' has no '=': write scheme=program"));
    }
    if !parameters.allows_job_plugins && !request.plugins.is_empty() {
        warnings.push(
            "the job's own plugins are not used: STARTER_DISABLE_USER_SUPPLIED_TRANSFER_PLUGINS".to_owned(),
        );
    }
    let mut variables = Environment::new();
    drop(merge_from_ad(&mut variables, about.ad, "", about.world));
    let file_transfer = FileTransfer {
        allowed_directories: allowed_directories(&about, spool.as_deref())?,
        owner,
        data: plugin_data(about.ad),
        variables: variables.iter().map(|(name, value)| (name.clone(), BString::from(value))).collect(),
        request,
        parameters,
        helper,
        spool,
        initial_catalogue: DirectorySnapshot::new(),
        child: None,
    };
    Ok((file_transfer, warnings))
}

/// Returns LIMIT_DIRECTORY_ACCESS, or else the limits in the job ad plus the directory of files for the next run
/// (`allow_shadow_access`).
fn allowed_directories(
    about: &FileTransferInputs<'_>,
    spool: Option<&Path>,
) -> Result<Vec<BString>, ValueError> {
    let mut allowed = about.view.list("LIMIT_DIRECTORY_ACCESS")?.map(|list| list.value).unwrap_or_default();
    if allowed.is_empty() {
        let own = Context::new(about.world).my(about.ad).string("LimitDirectoryAccess").unwrap_or_default();
        allowed = list::split_by(&own, b",").map(BString::from).collect();
    }
    let spool = spool.filter(|_| !allowed.is_empty());
    allowed.extend(spool.map(|spool| BString::from(spool.as_os_str().as_encoded_bytes())));
    Ok(allowed)
}

/// Returns the names of the files that an earlier run has left in the directory `spool`, and changes the owner of
/// that directory to the job's owner.
fn files_of_earlier_run(spool: &Path, owner: Option<&ProcessIdentity>) -> Vec<BString> {
    if let Some(owner) = owner {
        // If the directory already belongs to the job's owner, a failure does no harm.
        drop(std::os::unix::fs::chown(spool, Some(owner.uid), Some(owner.gid)));
    }
    let entries = std::fs::read_dir(spool).into_iter().flatten().flatten();
    let mut names: Vec<BString> =
        entries.map(|entry| BString::from(entry.path().into_os_string().into_vec())).collect();
    names.sort();
    names
}

/// Returns the account with which the job's files are read and written on the access point: `User` up to its `@`,
/// else `Owner`, else the job's account. Neither root nor the owner of Iwd is used, because the author of an ad must
/// not get access as these accounts.
fn owner(about: &FileTransferInputs<'_>) -> Option<ProcessIdentity> {
    let job = about.job?;
    Some(named_owner(about.ad, about.world).unwrap_or_else(|| job.clone()))
}

/// Returns the account that `User` or `Owner` names, or `None` if the account does not exist or is root.
pub(super) fn named_owner(ad: &ClassAd, world: &dyn World) -> Option<ProcessIdentity> {
    let string = |name: &str| Context::new(world).my(ad).string(name);
    let user = string(attr::USER).map(|user| match user.rfind_byte(b'@') {
        Some(at) => BString::from(&user[..at]),
        None => user,
    });
    let named = user.or_else(|| string(attr::OWNER));
    let account = named.and_then(|name| world.account_by_name(&name)).filter(|account| account.uid != 0);
    account.map(|account| identity::identity_of_account(&account))
}
