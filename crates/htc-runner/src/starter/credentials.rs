//! What a job has of its user's credentials: tokens of SEC_CREDENTIAL_DIRECTORY_OAUTH, a Kerberos cache of
//! SEC_CREDENTIAL_DIRECTORY_KRB. Its starter lays them into its scratch directory and lays them anew as long as the job runs.
//!
//! Reference: `CredDirCreator` of `cred_dir.cpp`; `initUserCredentials`, `refreshSandboxCredentialsOAuth` and
//! `refreshSandboxCredentialsKRB` of `jic_shadow.cpp`; `initUserCredentials` of `jic_local.cpp`; `CONDOR_getcreds` of
//! `NTreceivers.cpp`. The directory is open to all there, and to the job alone here. What a credmon makes has to be there.

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

/// The directory in the scratch directory.
const CREDENTIALS_DIRECTORY: &str = ".condor_creds";

/// SEC_CREDENTIAL_REFRESH, where nothing sets it, in seconds.
const DEFAULT_REFRESH_SECONDS: i64 = 300;

/// Why there are none.
#[derive(Clone, Debug)]
pub struct CredentialError {
    /// In words.
    pub why: String,
    /// The access point's: its shadow holds the job.
    pub holds_job: bool,
}

/// What the credentials of a job are read with.
pub(super) struct CredentialReader<'a> {
    /// The job.
    pub ad: &'a ClassAd,
    /// Where it will run.
    pub scratch: &'a Path,
    /// Who of a pool is played.
    pub role: AccessPointRole,
    /// The name of the account that it runs as.
    pub login: &'a [u8],
    /// The configuration.
    pub view: &'a ConfigView<'a>,
    /// Deviations.
    pub quirks: QuirkMode,
    /// Where ads are evaluated.
    pub world: &'a dyn World,
}

/// Credentials that are to be laid there.
#[derive(Clone, Debug)]
pub struct Credentials {
    directory: Option<PathBuf>,
    tokens: Vec<CredentialFile>,
    /// The Kerberos cache: where it is laid. It is brought anew only when its source is another.
    cache: Option<CredentialFile>,
    is_cache_refreshed: bool,
    /// Whether the job loses those that it has when they cannot be brought anew.
    is_removed_if_stale: bool,
    interval: Option<Duration>,
    next_refresh: Option<MonotonicTime>,
    holds_job: bool,
}

/// What came of the search for credentials.
#[derive(Debug, Default)]
pub(super) struct FoundCredentials {
    /// The credentials.
    pub credentials: Option<Credentials>,
    /// What the job is told of them.
    pub tokens: JobCredentials,
    /// With what its shadow holds the job.
    pub hold: Option<StarterVacateReason>,
    /// What a user should know.
    pub warnings: Vec<String>,
}

impl CredentialReader<'_> {
    fn string(&self, name: &str) -> Option<BString> {
        Context::new(self.world).my(self.ad).string(name)
    }

    /// Looks for those that the job needs.
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

    /// Those that the job needs; `None` if it needs none. They lack where there is no directory of credentials, or none of
    /// the user in it, or one that others may read or write.
    fn read(&self) -> Result<Option<Credentials>, CredentialError> {
        let services = self.string("OAuthServicesNeeded");
        let sends = credential_files::sends_kerberos(self.ad, self.world);
        match self.role {
            AccessPointRole::Shadow if services.is_some() || sends => {
                self.read_as_shadow(services, sends).map(Some)
            }
            // A starter without one gives a Kerberos credential only beside tokens.
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
            // A shadow that has none sends nothing, and what is there stays.
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

    /// The cache that the credmon of the machine has made for the account.
    fn kerberos_cache(&self) -> Result<CredentialFile, String> {
        let top = credential_files::kerberos_directory(self.view)?;
        let name = BString::from([self.login, b".cc"].concat());
        if !credential_files::is_file_name(&name) || self.login.is_empty() {
            return Err(format!("'{}' is no name of a file", BStr::new(&name)));
        }
        let name = name.to_path_lossy();
        CredentialFile::read(top.join(&name), self.scratch.join(&name), false).map_err(|why| {
            format!("{why}; in a pool the starter has its credmon make one of what the access point sends")
        })
    }
}

impl Credentials {
    /// What the job is told of them.
    fn to_tokens(&self) -> JobCredentials {
        let path = |path: &Path| BString::from(path.as_os_str().as_bytes());
        JobCredentials {
            directory: self.directory.as_deref().map(path),
            cache: self.cache.as_ref().map(|cache| path(&cache.target)),
            missing: None,
        }
    }

    /// The directory that `_CONDOR_CREDS` names.
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// When they are looked at next.
    pub fn next_refresh(&self) -> Option<MonotonicTime> {
        self.next_refresh
    }

    /// Lays them down as the job's account.
    ///
    /// # Errors
    /// Those of the file system.
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

    /// Reads them again and lays them down anew.
    ///
    /// # Errors
    /// Some cannot be read; the job keeps those that it has (quirk `tokens-gone-unrefreshed`).
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
                // `cred_dir_deleter`; what stays of it is told at the end.
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

    /// Takes them away, wherever the scratch directory is left or moved; what stays is said. What the job has copied
    /// elsewhere goes with the scratch directory.
    pub fn remove_files(&mut self, identity: Option<&ProcessIdentity>) -> Vec<String> {
        self.next_refresh = None;
        let paths: Vec<PathBuf> =
            self.directory.iter().chain(self.cache.as_ref().map(|cache| &cache.target)).cloned().collect();
        let gone = run_as(identity, || paths.iter().flat_map(|path| remove_credential(path)).collect());
        gone.unwrap_or_else(|error| vec![error.to_string()])
    }
}

/// Removes a directory of credentials or one of them, also out of a directory that the job has closed.
fn remove_credential(path: &Path) -> Vec<String> {
    let mut left = remove(path);
    if !left.is_empty()
        && let Some(above) = path.parent()
        && let Ok(mode) = fs::symlink_metadata(above).map(|status| status.permissions().mode())
    {
        let open = fs::set_permissions(above, fs::Permissions::from_mode(mode | 0o700));
        left = remove(path);
        if open.is_ok() {
            // Whoever keeps the directory finds it as the job left it.
            drop(fs::set_permissions(above, fs::Permissions::from_mode(mode)));
        }
    }
    left
}

fn remove(path: &Path) -> Vec<String> {
    let told = |path: &Path, error: &io::Error| format!("'{}': {error}", path.display());
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => vec![told(path, &error)],
        Ok(status) if status.is_dir() => {
            remove_tree(path).iter().map(|one| told(&one.path, &one.error)).collect()
        }
        Ok(_) => fs::remove_file(path).err().map(|error| told(path, &error)).into_iter().collect(),
    }
}

/// HoldReason of a job whose access point has no credentials for it (`CONDOR_getcreds`).
const NOT_AVAILABLE_REASON: &str = "Job credentials are not available";

/// What the shadow holds such a job with.
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

    /// `cred_dir_deleter` of `PrepareCredDir`.
    #[test]
    fn tokens_that_cannot_be_brought_anew_stay_and_in_a_pool_go_until_they_can() {
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
