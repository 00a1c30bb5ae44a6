//! The credentials that SHADOW_PREPARE_JOB is given, in a directory that is there as long as it runs.
//!
//! Reference: `ShadowHookMgr::tryHookPrepareJob` and `getCredDir` of `ShadowHookMgr.cpp`; `CredDirCreator` of `cred_dir.cpp`.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};

use crate::classad::{ClassAd, Context};
use crate::config::View;
use crate::job::attr;
use crate::process::Identity;
use crate::runner::starter::{all_secrets, sends_kerberos};
use crate::world::World;

/// Files that are laid down.
#[derive(Debug)]
pub struct HookCredentials {
    directory: PathBuf,
}

impl HookCredentials {
    /// Lays down what the job needs, for `owner` to read, in the directory of its shadow below SPOOL; `None` if it needs
    /// nothing.
    ///
    /// # Errors
    /// The credentials are not there, or cannot be laid down.
    pub fn lay(
        ad: &ClassAd,
        owner: Option<&Identity>,
        view: &View<'_>,
        world: &dyn World,
    ) -> Result<Option<Self>, String> {
        let services = Context::new(world).my(ad).string("OAuthServicesNeeded").unwrap_or_default();
        if services.is_empty() && !sends_kerberos(ad, world) {
            return Ok(None);
        }
        let spool = view.string("SPOOL").map_err(|error| error.to_string())?.ok_or("SPOOL is not set")?;
        let directory = spool.value.to_path_lossy().join(name(ad, world));
        let failed = |error: io::Error| format!("'{}' (SPOOL): {error}", directory.display());
        make(&directory).map_err(failed)?;
        let made = HookCredentials { directory };
        let secrets = all_secrets(ad, &made.directory, view, world)?;
        let laid =
            secrets.iter().try_for_each(|secret| secret.lay(0o400, owner)).and_then(|()| made.give(owner));
        laid.map_err(|error| format!("'{}': {error}", made.directory.display()))?;
        Ok(Some(made))
    }

    /// The variable that names the directory.
    pub(super) fn variable(&self) -> (BString, BString) {
        ("_CONDOR_CREDS".into(), self.directory.as_os_str().as_bytes().into())
    }

    /// The hook has ended; what could not be removed is said.
    pub(super) fn take_away(self) -> Option<String> {
        let error = fs::remove_dir_all(&self.directory).err()?;
        Some(format!("the credentials '{}' cannot be removed: {error}", self.directory.display()))
    }

    /// The directory stays ours, so that nobody puts anything into it; its owner may go through.
    fn give(&self, owner: Option<&Identity>) -> io::Result<()> {
        let Some(owner) = owner else { return Ok(()) };
        fs::set_permissions(&self.directory, fs::Permissions::from_mode(0o750))?;
        chown(&self.directory, None, Some(owner.gid))
    }
}

impl Drop for HookCredentials {
    fn drop(&mut self) {
        // However the call came to its end: nothing stays.
        drop(fs::remove_dir_all(&self.directory));
    }
}

/// `_condor_creds.clusterN.procN`, in a directory of the cluster's last four digits.
fn name(ad: &ClassAd, world: &dyn World) -> PathBuf {
    let int = |name: &str| Context::new(world).my(ad).int(name);
    let (cluster, proc) = (int(attr::CLUSTER_ID).unwrap_or(1), int(attr::PROC_ID).unwrap_or(0));
    PathBuf::from(format!("{}/_condor_creds.cluster{cluster}.proc{proc}", cluster % 10_000))
}

/// Makes it, and what it lies in. One that is there is of a shadow that was killed.
fn make(directory: &Path) -> io::Result<()> {
    if let Some(above) = directory.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o755).create(above)?;
    }
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::DirBuilder::new().mode(0o700).create(directory)
}
