//! What a transfer needs beside the machine: lists, accounts, limits, plugins, the helper.

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

/// Files of one job, and how they are moved.
pub struct FileTransfer {
    /// What the ad asks for.
    pub request: TransferRequest,
    /// Where things are called on.
    pub parameters: FileTransferParameters,
    /// The job's owner, who reads its input and gets its output; `None` is our own account. Never root, and never an account
    /// that only the place of Iwd would give away.
    pub owner: Option<ProcessIdentity>,
    /// The helper: this program, with the word that makes it one.
    pub helper: (PathBuf, Vec<BString>),
    /// Where files of a job that is to go on elsewhere are kept; `None`: beside Iwd there is no such place.
    pub spool: Option<PathBuf>,
    /// The job's attributes for plugins.
    pub data: Vec<(String, BString)>,
    /// The job's own variables, of which plugins get those of their name.
    pub variables: Vec<(BString, BString)>,
    /// What was in the scratch directory when the input was there.
    pub initial_catalogue: DirectorySnapshot,
    /// Directories that the access point reads and writes alone; none: everywhere.
    pub allowed_directories: Vec<BString>,
    /// What is under way.
    pub(super) child: Option<TransferChild>,
}

/// A child of a transfer.
pub(super) struct TransferChild {
    pub(super) session: TransferSession,
    pub(super) child: Option<ChildId>,
    pub(super) kind: TransferChildKind,
    pub(super) deadline: Option<MonotonicTime>,
    pub(super) timed_out: bool,
}

/// What such a child is.
pub(super) enum TransferChildKind {
    Helper,
    PluginQuery,
    PluginCall(Box<PluginCall>),
}

/// What the configuration says about transfers.
#[derive(Clone, Debug)]
pub struct FileTransferParameters {
    /// FILETRANSFER_PLUGINS.
    pub plugins: Vec<BString>,
    /// ENABLE_URL_TRANSFERS.
    pub urls: bool,
    /// ENABLE_MULTIFILE_TRANSFER_PLUGINS, ASSUME_COMPATIBLE_MULTIFILE_PLUGINS.
    pub list_plugins: MultiFilePluginSettings,
    /// STARTER_DISABLE_USER_SUPPLIED_TRANSFER_PLUGINS is not true.
    pub allows_job_plugins: bool,
    /// FILETRANSFER_PLUGIN_CLASSAD_TIMEOUT.
    pub query_timeout: Duration,
    /// MAX_FILE_TRANSFER_PLUGIN_LIFETIME.
    pub call_timeout: Duration,
    /// MAX_REMAP_RECURSIONS.
    pub max_remaps: usize,
    /// ALLOW_TRANSFER_REMAP_TO_MKDIR.
    pub makes_directories: bool,
    /// MAX_TRANSFER_INPUT_MB, in bytes; negative for none.
    pub max_input_bytes: i64,
    /// MAX_TRANSFER_OUTPUT_MB.
    pub max_output_bytes: i64,
}

impl FileTransferParameters {
    /// Reads the configuration; the limits of sizes, which may be expressions over it, for a job.
    ///
    /// # Errors
    /// A value that is no number or truth value.
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

/// A limit of sizes, a number or an expression over the job (`RemoteResource::initFileTransfer`); below zero for none.
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
    /// The task of one way, with limits and accounts. `job` is the account of the job.
    pub(super) fn task(
        &self,
        way: TransferKind,
        scratch: &BString,
        job: Option<&ProcessIdentity>,
    ) -> TransferTask {
        let account = |identity: Option<&ProcessIdentity>| {
            identity.map(|identity| (identity.uid, identity.gid, identity.groups.clone()))
        };
        let (ad, knob) = match way.is_input() {
            true => (self.request.max_input_bytes, self.parameters.max_input_bytes),
            false => (self.request.max_output_bytes, self.parameters.max_output_bytes),
        };
        let (reader, writer) = match way.is_input() {
            true => (self.owner.as_ref(), job),
            false => (job, self.owner.as_ref()),
        };
        let mut task = self.request.to_task(way, scratch, &self.initial_catalogue);
        if let (TransferKind::Checkpoint(_) | TransferKind::Evicted, Some(spool)) = (way, &self.spool) {
            use std::os::unix::ffi::OsStrExt;
            task.target = spool.as_os_str().as_bytes().into();
        }
        TransferTask {
            limit: u64::try_from(ad.unwrap_or(knob)).ok(),
            most_remaps: self.parameters.max_remaps,
            makes_directories: self.parameters.makes_directories,
            reader: account(reader),
            writer: account(writer),
            allowed: self.allowed_directories.clone(),
            ..task
        }
    }
}

/// What the ad asks for; `None`: nothing is transferred.
///
/// # Errors
/// Words that nobody understands.
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

/// What the machine does for a shadow.
pub(super) fn shadow_moves(request: Option<&TransferRequest>, world: &dyn World) -> TransferSetup {
    TransferSetup {
        when_to_transfer: request.map(|request| request.when),
        failure_files: request.is_some_and(|request| !request.failure.is_empty()),
        names_failure_files: request.is_some_and(|request| request.has_failure_files),
        manifest: request.and_then(|request| request.manifest.clone()),
        ip: world.ip_address(),
    }
}

/// What it is made from.
pub(super) struct FileTransferInputs<'a> {
    pub(super) ad: &'a ClassAd,
    pub(super) view: &'a ConfigView<'a>,
    pub(super) world: &'a dyn World,
    /// The job's account.
    pub(super) job: Option<&'a ProcessIdentity>,
}

/// The transfer of files of a job, and what a user should know.
///
/// # Errors
/// A knob that is no number or truth value.
pub(super) fn make(
    request: TransferRequest,
    about: FileTransferInputs<'_>,
    helper: (PathBuf, Vec<BString>),
    spool: Option<PathBuf>,
) -> Result<(FileTransfer, Vec<String>), ValueError> {
    let knobs = FileTransferParameters::read(about.view, Some(about.ad))?;
    let mut warnings = Vec::new();
    let (mut request, owner) = (request, owner(&about));
    if let Some(spool) = &spool {
        request.input.extend(files_of_earlier_run(spool, owner.as_ref()));
    }
    for field in &request.invalid_plugins {
        warnings.push(format!("TransferPlugins: '{field}' has no '=': write scheme=program"));
    }
    if !knobs.allows_job_plugins && !request.plugins.is_empty() {
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
        parameters: knobs,
        helper,
        spool,
        initial_catalogue: DirectorySnapshot::new(),
        child: None,
    };
    Ok((file_transfer, warnings))
}

/// LIMIT_DIRECTORY_ACCESS, else what the job itself says, and then the place for its next run, too (`allow_shadow_access`).
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

/// What an earlier run has left in the place for that, which is the owner's from then on.
fn files_of_earlier_run(spool: &Path, owner: Option<&ProcessIdentity>) -> Vec<BString> {
    if let Some(owner) = owner {
        // One that is the owner's already stays so.
        drop(std::os::unix::fs::chown(spool, Some(owner.uid), Some(owner.gid)));
    }
    let entries = std::fs::read_dir(spool).into_iter().flatten().flatten();
    let mut names: Vec<BString> =
        entries.map(|entry| BString::from(entry.path().into_os_string().into_vec())).collect();
    names.sort();
    names
}

/// The account that the job's files are read and written as where it was submitted: `User` up to its `@`, else `Owner`, else
/// the job's. Never root, whoever owns Iwd: who may name a directory in an ad has not got the rights of its owner.
fn owner(about: &FileTransferInputs<'_>) -> Option<ProcessIdentity> {
    let job = about.job?;
    Some(named_owner(about.ad, about.world).unwrap_or_else(|| job.clone()))
}

/// The account that `User` or `Owner` names, if there is one and it is not root.
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
