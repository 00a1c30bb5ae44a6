//! Credentials for SHADOW_PREPARE_JOB, in a directory that exists while the hook runs.
//!
//! Reference: `ShadowHookMgr::tryHookPrepareJob` and `getCredDir` of `ShadowHookMgr.cpp`; `CredDirCreator` of
//! `cred_dir.cpp`.

use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};
use nix::errno::Errno;
use nix::libc;

use crate::starter::{read_all_credentials, sends_kerberos};
use htc_base::job::attr;
use htc_base::process::ProcessIdentity;
use htc_base::world::World;
use htc_classad::{ClassAd, Context};
use htc_config::ConfigView;
use htc_os::file_lock::ExclusiveLock;

/// Directory with the credentials for one hook call.
#[derive(Debug)]
pub struct HookCredentials {
    directory: PathBuf,
    _lock: ExclusiveLock,
}

/// Prefix of the names of credential directories.
const DIRECTORY_PREFIX: &str = "_condor_creds.cluster";
/// Suffix of the lock file next to a credential directory. The file is locked while the shadow of the directory is
/// alive. A real shadow does not create such a file, so its credentials are never removed by this program.
const LOCK_SUFFIX: &str = ".htc-lock";

impl HookCredentials {
    /// Writes the credentials that the job needs, readable by `owner`, to the directory of its shadow below SPOOL;
    /// returns `None` if the job needs none.
    ///
    /// # Errors
    /// Fails if the credentials are missing or cannot be written.
    pub fn create(
        ad: &ClassAd,
        owner: Option<&ProcessIdentity>,
        view: &ConfigView<'_>,
        world: &dyn World,
    ) -> Result<Option<Self>, String> {
        let services = Context::new(world).my(ad).string("OAuthServicesNeeded").unwrap_or_default();
        if services.is_empty() && !sends_kerberos(ad, world) {
            return Ok(None);
        }
        let spool = view.string("SPOOL").map_err(|error| error.to_string())?.ok_or("SPOOL is not set")?;
        let directory = spool.value.to_path_lossy().join(directory_name(ad, world));
        let failed = |error: io::Error| format!("'{}' (SPOOL): {error}", directory.display());
        let lock = create_directory(&directory).map_err(failed)?;
        let made = HookCredentials { directory, _lock: lock };
        let secrets = read_all_credentials(ad, &made.directory, view, world)?;
        let written = secrets
            .iter()
            .try_for_each(|secret| secret.write_target(0o400, owner))
            .and_then(|()| made.grant_access(owner));
        written.map_err(|error| format!("'{}': {error}", made.directory.display()))?;
        Ok(Some(made))
    }

    /// Returns the variable that names the directory.
    pub(super) fn environment_variable(&self) -> (BString, BString) {
        ("_CONDOR_CREDS".into(), self.directory.as_os_str().as_bytes().into())
    }

    /// Removes the credentials after the hook has ended; returns an error message if that fails.
    pub(super) fn remove(self) -> Option<String> {
        let error = fs::remove_dir_all(&self.directory).err()?;
        Some(format!("the credentials '{}' cannot be removed: {error}", self.directory.display()))
    }

    /// Lets the owner enter the directory. It remains the property of this program's account, so that no other
    /// account can add files.
    fn grant_access(&self, owner: Option<&ProcessIdentity>) -> io::Result<()> {
        let Some(owner) = owner else { return Ok(()) };
        fs::set_permissions(&self.directory, fs::Permissions::from_mode(0o750))?;
        chown(&self.directory, None, Some(owner.gid))
    }
}

impl Drop for HookCredentials {
    fn drop(&mut self) {
        // The directory is removed whether or not the call succeeded. The lock file is removed last, because
        // `remove_abandoned_credentials` finds the directory by it.
        if fs::remove_dir_all(&self.directory).is_ok() || !self.directory.exists() {
            drop(fs::remove_file(lock_path(&self.directory)));
        }
    }
}

/// Removes the credentials left by shadows of this account that were killed. Returns each directory with the result
/// of its removal.
pub fn remove_abandoned_credentials(spool: &Path) -> Vec<(PathBuf, io::Result<()>)> {
    let own = nix::unistd::geteuid().as_raw();
    let entries = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten();
    let mut cleaned = Vec::new();
    for entry in entries(spool).filter(|entry| entry.file_name().to_string_lossy().parse::<u16>().is_ok()) {
        for lock in entries(&entry.path()).map(|entry| entry.path()) {
            let name = lock.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let is_ours = |path: &Path| {
                path.symlink_metadata().is_ok_and(|metadata| metadata.is_file() && metadata.uid() == own)
            };
            let Some(of) = name
                .strip_suffix(LOCK_SUFFIX)
                .filter(|of| of.starts_with(DIRECTORY_PREFIX) && is_ours(&lock))
            else {
                continue;
            };
            let directory = lock.with_file_name(of);
            match acquire_lock(&lock) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => cleaned.push((directory, Err(error))),
                Ok(_held) => {
                    let gone = remove_directory(&directory).and_then(|()| fs::remove_file(&lock));
                    cleaned.push((directory, gone));
                }
            }
        }
    }
    cleaned
}

/// Returns the path `N/_condor_creds.clusterC.procP`, where N is the last four digits of the cluster id.
fn directory_name(ad: &ClassAd, world: &dyn World) -> PathBuf {
    let int = |name: &str| Context::new(world).my(ad).int(name);
    let (cluster, proc) = (int(attr::CLUSTER_ID).unwrap_or(1), int(attr::PROC_ID).unwrap_or(0));
    PathBuf::from(format!("{}/{DIRECTORY_PREFIX}{cluster}.proc{proc}", cluster % 10_000))
}

/// Creates the directory and its parent. If the directory exists, it was left by a shadow that was killed, and is
/// replaced.
fn create_directory(directory: &Path) -> io::Result<ExclusiveLock> {
    if let Some(above) = directory.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o755).create(above)?;
    }
    let lock = acquire_lock(&lock_path(directory)).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => io::Error::other("a job with the same id is being prepared"),
        _ => error,
    })?;
    remove_directory(directory)?;
    fs::DirBuilder::new().mode(0o700).create(directory)?;
    Ok(lock)
}

fn lock_path(directory: &Path) -> PathBuf {
    let mut name = directory.as_os_str().to_owned();
    name.push(LOCK_SUFFIX);
    name.into()
}

fn acquire_lock(path: &Path) -> io::Result<ExclusiveLock> {
    let mut options = File::options();
    let file = options.write(true).create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW).open(path)?;
    let lock = ExclusiveLock::try_acquire(file).map_err(|(_, errno)| errno)?;
    // The previous holder of the lock may have removed the file meanwhile, so that the lock protects nothing.
    let (held, there) = (lock.metadata()?, path.symlink_metadata()?);
    if held.ino() == there.ino() { Ok(lock) } else { Err(Errno::EWOULDBLOCK.into()) }
}

fn remove_directory(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
