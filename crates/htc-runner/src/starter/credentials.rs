//! Credentials of a job's user: tokens of SEC_CREDENTIAL_DIRECTORY_OAUTH, and a Kerberos cache of
//! SEC_CREDENTIAL_DIRECTORY_KRB. The starter writes them to the scratch directory and refreshes them while the job
//! runs.
//!
//! Reference: `CredDirCreator` of `cred_dir.cpp`; `initUserCredentials`, `refreshSandboxCredentialsOAuth` and
//! `refreshSandboxCredentialsKRB` of `jic_shadow.cpp`; `initUserCredentials` of `jic_local.cpp`; `CONDOR_getcreds` of
//! `NTreceivers.cpp`. In 25.14 all accounts can access the directory; here only the job can. Files that a credmon
//! makes must exist before the job starts.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bstr::{BStr, BString, ByteSlice};

use super::credential_files::{self, CredentialFile};
use htc_base::job::{HoldCode, attr};
use htc_base::process::ProcessIdentity;
use htc_base::quirks::{Quirk, QuirkMode};
use htc_base::time::MonotonicTime;
use htc_base::world::World;
use htc_classad::{ClassAd, Context};
use htc_config::ConfigView;
use htc_os::directory_tree::remove_tree;
use htc_os::identity::run_as;
use htc_starter::unsupported::AccessPointRole;
use htc_starter::{JobCredentials, StarterVacateReason};

/// Name of the credential directory in the scratch directory.
const CREDENTIALS_DIRECTORY: &str = ".condor_creds";

/// Default of SEC_CREDENTIAL_REFRESH, in seconds.
const DEFAULT_REFRESH_SECONDS: i64 = 300;

/// Reason why credentials are missing.
#[derive(Clone, Debug)]
pub struct CredentialError {
    /// Message about the missing credentials.
    pub why: String,
    /// True if the credentials are missing at the access point, so that its shadow holds the job.
    pub holds_job: bool,
}

/// Inputs for reading the credentials of a job.
pub(super) struct CredentialReader<'a> {
    /// The job ad.
    pub ad: &'a ClassAd,
    /// The scratch directory.
    pub scratch: &'a Path,
    /// Role of the access point.
    pub role: AccessPointRole,
    /// Name of the account that runs the job.
    pub login: &'a [u8],
    /// The configuration.
    pub view: &'a ConfigView<'a>,
    /// Quirks of 25.14 to reproduce.
    pub quirks: QuirkMode,
    /// Access to the outside world, for evaluating ads.
    pub world: &'a dyn World,
}

/// Credentials of a job, and the schedule for refreshing them in the scratch directory.
#[derive(Clone, Debug)]
pub struct Credentials {
    directory: Option<PathBuf>,
    tokens: Vec<CredentialFile>,
    /// The Kerberos cache. It is refreshed only if its source has changed.
    cache: Option<CredentialFile>,
    is_cache_refreshed: bool,
    /// True if the credentials are removed when they cannot be refreshed.
    is_removed_if_stale: bool,
    interval: Option<Duration>,
    next_refresh: Option<MonotonicTime>,
    holds_job: bool,
}

/// Result of searching for a job's credentials.
#[derive(Debug, Default)]
pub(super) struct FoundCredentials {
    /// The credentials, or `None` if the job needs none or they are missing.
    pub credentials: Option<Credentials>,
    /// Properties of the credentials that appear in the job's environment and ad.
    pub tokens: JobCredentials,
    /// Reason for which the shadow holds the job, or `None`.
    pub hold: Option<StarterVacateReason>,
    /// Warnings to print.
    pub warnings: Vec<String>,
}

impl CredentialReader<'_> {
    fn string(&self, name: &str) -> Option<BString> {
        Context::new(self.world).my(self.ad).string(name)
    }

    /// Searches for the credentials that the job needs.
    pub(super) fn find(&self) -> FoundCredentials {
        match self.read() {
            Ok(None) => FoundCredentials::default(),
            Ok(Some(credentials)) => {
                let tokens = credentials.to_tokens();
                FoundCredentials { tokens, credentials: Some(credentials), ..FoundCredentials::default() }
            }
            Err(CredentialError { why, holds_job: holds }) => FoundCredentials {
                credentials: None,
                warnings: vec![format!(
                    "no credentials for the job (OAuthServicesNeeded, SendCredential): {why}"
                )],
                tokens: JobCredentials { missing: Some(why), ..JobCredentials::default() },
                hold: holds.then(unavailable_hold),
            },
        }
    }

    /// Reads the credentials that the job needs, or returns `None` if it needs none. Fails if no credential directory
    /// is configured, if the user has no credentials there, or if others may read or write them.
    fn read(&self) -> Result<Option<Credentials>, CredentialError> {
        let services = self.string("OAuthServicesNeeded");
        let sends = credential_files::sends_kerberos(self.ad, self.world);
        match self.role {
            AccessPointRole::Shadow if services.is_some() || sends => {
                self.read_as_shadow(services, sends).map(Some)
            }
            // A starter without a shadow provides a Kerberos credential only together with tokens.
            AccessPointRole::Absent | AccessPointRole::Schedd if services.is_some() => {
                self.read_as_starter().map(Some)
            }
            AccessPointRole::Shadow | AccessPointRole::Absent | AccessPointRole::Schedd => Ok(None),
        }
    }

    fn make_credentials(
        &self,
        directory: Option<PathBuf>,
        tokens: Vec<CredentialFile>,
        cache: Option<CredentialFile>,
    ) -> Credentials {
        let setting = self.view.int("SEC_CREDENTIAL_REFRESH").ok().flatten();
        let seconds = setting.map_or(DEFAULT_REFRESH_SECONDS, |setting| setting.value);
        let interval = u64::try_from(seconds).ok().filter(|seconds| *seconds > 0).map(Duration::from_secs);
        let stale = self.quirks.reproduces(Quirk::KerberosBesideTokensStale) && directory.is_some();
        Credentials {
            directory,
            tokens,
            cache,
            is_cache_refreshed: !stale,
            // A shadow that cannot read the credentials sends nothing to the starter, so the existing credentials
            // remain.
            is_removed_if_stale: self.quirks.reproduces(Quirk::TokensGoneUnrefreshed)
                && self.role != AccessPointRole::Shadow,
            interval,
            next_refresh: None,
            holds_job: self.role == AccessPointRole::Shadow,
        }
    }

    fn read_as_shadow(&self, services: Option<BString>, sends: bool) -> Result<Credentials, CredentialError> {
        let directory = services.as_ref().map(|_| self.scratch.join(CREDENTIALS_DIRECTORY));
        let tokens = match (&services, &directory) {
            (Some(services), Some(directory)) => {
                let owner = self.string(attr::OWNER).or_else(|| self.user()).unwrap_or_default();
                credential_files::tokens(services, &owner, directory, self.view)
                    .map_err(|why| CredentialError { why, holds_job: true })?
            }
            _ => Vec::new(),
        };
        let cache = sends.then(|| self.kerberos_cache()).transpose();
        let cache = cache.map_err(|why| CredentialError { why, holds_job: false })?;
        Ok(self.make_credentials(directory, tokens, cache))
    }

    fn read_as_starter(&self) -> Result<Credentials, CredentialError> {
        let directory = self.scratch.join(CREDENTIALS_DIRECTORY);
        let tokens = credential_files::read_all_credentials(self.ad, &directory, self.view, self.world);
        let tokens = tokens.map_err(|why| CredentialError { why, holds_job: false })?;
        Ok(self.make_credentials(Some(directory), tokens, None))
    }

    fn user(&self) -> Option<BString> {
        Some(credential_files::user_without_domain(&self.string(attr::USER)?).into())
    }

    /// Returns the Kerberos cache that the machine's credmon has created for the account.
    fn kerberos_cache(&self) -> Result<CredentialFile, String> {
        let top = credential_files::kerberos_directory(self.view)?;
        let name = BString::from([self.login, b".cc"].concat());
        if !credential_files::is_file_name(&name) || self.login.is_empty() {
            return Err(format!("'{}' is not a valid file name", BStr::new(&name)));
        }
        let name = name.to_path_lossy();
        CredentialFile::read(top.join(&name), self.scratch.join(&name), false).map_err(|why| {
            format!(
                "{why}; in a pool, the credmon of the starter creates it from what the access point sends"
            )
        })
    }
}

impl Credentials {
    /// Returns the properties of the credentials that appear in the job's environment and ad.
    fn to_tokens(&self) -> JobCredentials {
        let path = |path: &Path| BString::from(path.as_os_str().as_bytes());
        JobCredentials {
            directory: self.directory.as_deref().map(path),
            cache: self.cache.as_ref().map(|cache| path(&cache.target)),
            missing: None,
        }
    }

    /// Returns the directory for `_CONDOR_CREDS`, or `None` if the job has no such directory.
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// Returns the time of the next refresh, or `None` if the credentials are not refreshed.
    pub fn next_refresh(&self) -> Option<MonotonicTime> {
        self.next_refresh
    }

    /// Writes the credentials as the job's account.
    ///
    /// # Errors
    /// Fails on errors of the file system.
    pub fn write_files(&mut self, identity: Option<&ProcessIdentity>, now: MonotonicTime) -> io::Result<()> {
        self.next_refresh = self.interval.map(|interval| now.plus(interval));
        run_as(identity, || {
            if let Some(directory) = &self.directory {
                let made = fs::DirBuilder::new().mode(0o700).create(directory);
                made.or_else(|error| match error.kind() {
                    io::ErrorKind::AlreadyExists => Ok(()),
                    _ => Err(error),
                })?;
            }
            self.tokens.iter().chain(&self.cache).try_for_each(|secret| secret.write_target(0o600, None))
        })?
    }

    /// Reads the credentials again and rewrites them in the scratch directory.
    ///
    /// # Errors
    /// Fails if a credential cannot be read or written. If a token cannot be read, the job keeps the existing tokens;
    /// with quirk `tokens-gone-unrefreshed` they are removed.
    pub fn refresh(
        &mut self,
        identity: Option<&ProcessIdentity>,
        now: MonotonicTime,
    ) -> Result<(), CredentialError> {
        self.next_refresh = self.interval.map(|interval| now.plus(interval));
        let mut fresh = self.tokens.clone();
        let read = fresh.iter_mut().try_for_each(CredentialFile::reread);
        if let Err(why) = read {
            if let Some(directory) = self.directory.as_ref().filter(|_| self.is_removed_if_stale) {
                // As `cred_dir_deleter` does. Files that cannot be removed are reported at the end of the run.
                drop(run_as(identity, || remove_credential(directory)));
            }
            return Err(CredentialError { why, holds_job: self.holds_job });
        }
        self.tokens = fresh;
        let mine = |why: String| CredentialError { why, holds_job: false };
        if let (Some(cache), true) = (&mut self.cache, self.is_cache_refreshed) {
            cache.reread_if_changed().map_err(mine)?;
        }
        self.write_files(identity, now).map_err(|error| mine(error.to_string()))
    }

    /// Removes the credentials before the scratch directory is kept or moved; returns messages about files that could
    /// not be removed. Copies that the job has made are removed with the scratch directory.
    pub fn remove_files(&mut self, identity: Option<&ProcessIdentity>) -> Vec<String> {
        self.next_refresh = None;
        let paths: Vec<PathBuf> =
            self.directory.iter().chain(self.cache.as_ref().map(|cache| &cache.target)).cloned().collect();
        let gone = run_as(identity, || paths.iter().flat_map(|path| remove_credential(path)).collect());
        gone.unwrap_or_else(|error| vec![error.to_string()])
    }
}

/// Removes a credential directory or a single credential, even from a directory that the job has made read-only.
fn remove_credential(path: &Path) -> Vec<String> {
    let mut left = remove(path);
    if !left.is_empty()
        && let Some(above) = path.parent()
        && let Ok(mode) = fs::symlink_metadata(above).map(|status| status.permissions().mode())
    {
        let open = fs::set_permissions(above, fs::Permissions::from_mode(mode | 0o700));
        left = remove(path);
        if open.is_ok() {
            // The directory may be kept, so it gets back the mode that the job has set.
            drop(fs::set_permissions(above, fs::Permissions::from_mode(mode)));
        }
    }
    left
}

fn remove(path: &Path) -> Vec<String> {
    let describe = |path: &Path, error: &io::Error| format!("'{}': {error}", path.display());
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => vec![describe(path, &error)],
        Ok(status) if status.is_dir() => {
            remove_tree(path).iter().map(|one| describe(&one.path, &one.error)).collect()
        }
        Ok(_) => fs::remove_file(path).err().map(|error| describe(path, &error)).into_iter().collect(),
    }
}

/// HoldReason of a job whose access point has no credentials for it (`CONDOR_getcreds`).
const NOT_AVAILABLE_REASON: &str = "Job credentials are not available";

/// Returns the hold reason of a job whose access point has no credentials for it.
pub(super) fn unavailable_hold() -> StarterVacateReason {
    StarterVacateReason {
        reason: NOT_AVAILABLE_REASON.into(),
        code: HoldCode::CorruptedCredential as i64,
        subcode: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_os::clock;

    /// Imitates `cred_dir_deleter` of `PrepareCredDir`.
    #[test]
    fn tokens_that_cannot_be_refreshed_are_kept_but_not_in_25_14() {
        for goes_unrefreshed in [false, true] {
            let home = tempfile::tempdir().unwrap();
            let (from, directory) = (home.path().join("x"), home.path().join(CREDENTIALS_DIRECTORY));
            let write = |text: &str| {
                fs::write(&from, text).unwrap();
                fs::set_permissions(&from, fs::Permissions::from_mode(0o600)).unwrap();
            };
            write("old");
            let to = directory.join("x.use");
            let mut credentials = Credentials {
                directory: Some(directory),
                tokens: vec![CredentialFile::read(from.clone(), to.clone(), false).unwrap()],
                cache: None,
                is_cache_refreshed: true,
                is_removed_if_stale: goes_unrefreshed,
                interval: None,
                next_refresh: None,
                holds_job: false,
            };
            let now = clock::monotonic_now();
            credentials.write_files(None, now).unwrap();
            fs::remove_file(&from).unwrap();
            assert!(credentials.refresh(None, now).is_err());
            assert_eq!(to.exists(), !goes_unrefreshed);
            write("new");
            assert!(credentials.refresh(None, now).is_ok());
            assert_eq!(fs::read(&to).unwrap(), b"new");
        }
    }
}
