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

use super::secrets::{self, Secret};
use htc_base::job::{HoldCode, attr};
use htc_base::process::Identity;
use htc_base::quirks::{Quirk, Quirks};
use htc_base::time::Tick;
use htc_base::world::World;
use htc_classad::{ClassAd, Context};
use htc_config::View;
use htc_os::identity::acting_as;
use htc_os::tree::remove_tree;
use htc_starter::not_done::With;
use htc_starter::{Tokens, Vacate};

/// The directory in the scratch directory.
const DIRECTORY: &str = ".condor_creds";

/// SEC_CREDENTIAL_REFRESH, where nothing sets it, in seconds.
const REFRESH: i64 = 300;

/// Why there are none.
#[derive(Clone, Debug)]
pub struct Lack {
    /// In words.
    pub why: String,
    /// The access point's: its shadow holds the job.
    pub holds: bool,
}

/// What the credentials of a job are read with.
pub(super) struct Reading<'a> {
    /// The job.
    pub ad: &'a ClassAd,
    /// Where it will run.
    pub scratch: &'a Path,
    /// Who of a pool is played.
    pub with: With,
    /// The name of the account that it runs as.
    pub login: &'a [u8],
    /// The configuration.
    pub view: &'a View<'a>,
    /// Deviations.
    pub quirks: Quirks,
    /// Where ads are evaluated.
    pub world: &'a dyn World,
}

/// Credentials that are to be laid there.
#[derive(Clone, Debug)]
pub struct Credentials {
    directory: Option<PathBuf>,
    tokens: Vec<Secret>,
    /// The Kerberos cache: where it is laid. It is brought anew only when its source is another.
    cache: Option<Secret>,
    is_cache_refreshed: bool,
    /// Whether the job loses those that it has when they cannot be brought anew.
    goes_unrefreshed: bool,
    interval: Option<Duration>,
    next: Option<Tick>,
    holds: bool,
}

/// What came of the search for credentials.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The credentials.
    pub credentials: Option<Credentials>,
    /// What the job is told of them.
    pub tokens: Tokens,
    /// With what its shadow holds the job.
    pub held: Option<Vacate>,
    /// What a user should know.
    pub warnings: Vec<String>,
}

impl Reading<'_> {
    fn string(&self, name: &str) -> Option<BString> {
        Context::new(self.world).my(self.ad).string(name)
    }

    /// Looks for those that the job needs.
    pub(super) fn find(&self) -> Found {
        match self.read() {
            Ok(None) => Found::default(),
            Ok(Some(credentials)) => {
                let tokens = credentials.told();
                Found { tokens, credentials: Some(credentials), ..Found::default() }
            }
            Err(Lack { why, holds }) => Found {
                credentials: None,
                warnings: vec![format!(
                    "no credentials for the job (OAuthServicesNeeded, SendCredential): {why}"
                )],
                tokens: Tokens { missing: Some(why), ..Tokens::default() },
                held: holds.then(not_available),
            },
        }
    }

    /// Those that the job needs; `None` if it needs none. They lack where there is no directory of credentials, or none of
    /// the user in it, or one that others may read or write.
    fn read(&self) -> Result<Option<Credentials>, Lack> {
        let services = self.string("OAuthServicesNeeded");
        let sends = secrets::sends_kerberos(self.ad, self.world);
        match self.with {
            With::Shadow if services.is_some() || sends => self.of_shadow(services, sends).map(Some),
            // A starter without one gives a Kerberos credential only beside tokens.
            With::Nobody | With::Schedd if services.is_some() => self.of_starter().map(Some),
            With::Shadow | With::Nobody | With::Schedd => Ok(None),
        }
    }

    fn made(&self, directory: Option<PathBuf>, tokens: Vec<Secret>, cache: Option<Secret>) -> Credentials {
        let setting = self.view.int("SEC_CREDENTIAL_REFRESH").ok().flatten();
        let seconds = setting.map_or(REFRESH, |setting| setting.value);
        let interval = u64::try_from(seconds).ok().filter(|seconds| *seconds > 0).map(Duration::from_secs);
        let stale = self.quirks.has(Quirk::KerberosBesideTokensStale) && directory.is_some();
        Credentials {
            directory,
            tokens,
            cache,
            is_cache_refreshed: !stale,
            // A shadow that has none sends nothing, and what is there stays.
            goes_unrefreshed: self.quirks.has(Quirk::TokensGoneUnrefreshed) && self.with != With::Shadow,
            interval,
            next: None,
            holds: self.with == With::Shadow,
        }
    }

    fn of_shadow(&self, services: Option<BString>, sends: bool) -> Result<Credentials, Lack> {
        let directory = services.as_ref().map(|_| self.scratch.join(DIRECTORY));
        let tokens = match (&services, &directory) {
            (Some(services), Some(directory)) => {
                let owner = self.string(attr::OWNER).or_else(|| self.user()).unwrap_or_default();
                secrets::tokens(services, &owner, directory, self.view)
                    .map_err(|why| Lack { why, holds: true })?
            }
            _ => Vec::new(),
        };
        let cache = sends.then(|| self.kerberos_cache()).transpose();
        let cache = cache.map_err(|why| Lack { why, holds: false })?;
        Ok(self.made(directory, tokens, cache))
    }

    fn of_starter(&self) -> Result<Credentials, Lack> {
        let directory = self.scratch.join(DIRECTORY);
        let tokens = secrets::all(self.ad, &directory, self.view, self.world);
        let tokens = tokens.map_err(|why| Lack { why, holds: false })?;
        Ok(self.made(Some(directory), tokens, None))
    }

    fn user(&self) -> Option<BString> {
        Some(secrets::before_at(&self.string(attr::USER)?).into())
    }

    /// The cache that the credmon of the machine has made for the account.
    fn kerberos_cache(&self) -> Result<Secret, String> {
        let top = secrets::kerberos_directory(self.view)?;
        let name = BString::from([self.login, b".cc"].concat());
        if !secrets::is_name(&name) || self.login.is_empty() {
            return Err(format!("'{}' is no name of a file", BStr::new(&name)));
        }
        let name = name.to_path_lossy();
        Secret::read(top.join(&name), self.scratch.join(&name), false).map_err(|why| {
            format!("{why}; in a pool the starter has its credmon make one of what the access point sends")
        })
    }
}

impl Credentials {
    /// What the job is told of them.
    fn told(&self) -> Tokens {
        let path = |path: &Path| BString::from(path.as_os_str().as_bytes());
        Tokens {
            directory: self.directory.as_deref().map(path),
            cache: self.cache.as_ref().map(|cache| path(&cache.to)),
            missing: None,
        }
    }

    /// The directory that `_CONDOR_CREDS` names.
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// When they are looked at next.
    pub fn due(&self) -> Option<Tick> {
        self.next
    }

    /// Lays them down as the job's account.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn lay(&mut self, identity: Option<&Identity>, now: Tick) -> io::Result<()> {
        self.next = self.interval.map(|interval| now.plus(interval));
        acting_as(identity, || {
            if let Some(directory) = &self.directory {
                let made = fs::DirBuilder::new().mode(0o700).create(directory);
                made.or_else(|error| match error.kind() {
                    io::ErrorKind::AlreadyExists => Ok(()),
                    _ => Err(error),
                })?;
            }
            self.tokens.iter().chain(&self.cache).try_for_each(|secret| secret.lay(0o600, None))
        })?
    }

    /// Reads them again and lays them down anew.
    ///
    /// # Errors
    /// Some cannot be read; the job keeps those that it has (quirk `tokens-gone-unrefreshed`).
    pub fn refresh(&mut self, identity: Option<&Identity>, now: Tick) -> Result<(), Lack> {
        self.next = self.interval.map(|interval| now.plus(interval));
        let mut fresh = self.tokens.clone();
        let read = fresh.iter_mut().try_for_each(Secret::again);
        if let Err(why) = read {
            if let Some(directory) = self.directory.as_ref().filter(|_| self.goes_unrefreshed) {
                // `cred_dir_deleter`; what stays of it is told at the end.
                drop(acting_as(identity, || take_away(directory)));
            }
            return Err(Lack { why, holds: self.holds });
        }
        self.tokens = fresh;
        let mine = |why: String| Lack { why, holds: false };
        if let (Some(cache), true) = (&mut self.cache, self.is_cache_refreshed) {
            cache.again_if_changed().map_err(mine)?;
        }
        self.lay(identity, now).map_err(|error| mine(error.to_string()))
    }

    /// Takes them away, wherever the scratch directory is left or moved; what stays is said. What the job has copied
    /// elsewhere goes with the scratch directory.
    pub fn take_away(&mut self, identity: Option<&Identity>) -> Vec<String> {
        self.next = None;
        let paths: Vec<PathBuf> =
            self.directory.iter().chain(self.cache.as_ref().map(|cache| &cache.to)).cloned().collect();
        let gone = acting_as(identity, || paths.iter().flat_map(|path| take_away(path)).collect());
        gone.unwrap_or_else(|error| vec![error.to_string()])
    }
}

/// Removes a directory of credentials or one of them, also out of a directory that the job has closed.
fn take_away(path: &Path) -> Vec<String> {
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
const NOT_AVAILABLE: &str = "Job credentials are not available";

/// What the shadow holds such a job with.
pub(super) fn not_available() -> Vacate {
    Vacate { reason: NOT_AVAILABLE.into(), code: HoldCode::CorruptedCredential as i64, subcode: 0 }
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
            let (from, directory) = (home.path().join("x"), home.path().join(DIRECTORY));
            let write = |text: &str| {
                fs::write(&from, text).unwrap();
                fs::set_permissions(&from, fs::Permissions::from_mode(0o600)).unwrap();
            };
            write("old");
            let to = directory.join("x.use");
            let mut credentials = Credentials {
                directory: Some(directory),
                tokens: vec![Secret::read(from.clone(), to.clone(), false).unwrap()],
                cache: None,
                is_cache_refreshed: true,
                goes_unrefreshed,
                interval: None,
                next: None,
                holds: false,
            };
            let now = clock::tick();
            credentials.lay(None, now).unwrap();
            fs::remove_file(&from).unwrap();
            assert!(credentials.refresh(None, now).is_err());
            assert_eq!(to.exists(), !goes_unrefreshed);
            write("new");
            assert!(credentials.refresh(None, now).is_ok());
            assert_eq!(fs::read(&to).unwrap(), b"new");
        }
    }
}
