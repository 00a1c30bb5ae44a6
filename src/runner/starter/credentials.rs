//! The tokens that a job has of its access point: files of SEC_CREDENTIAL_DIRECTORY_OAUTH, which its starter lays into its scratch directory.
//!
//! Reference: `CredDirCreator` of `cred_dir.cpp`, `JICShadow::refreshSandboxCredentialsOAuth`. The directory is open to all there, and to
//! the job alone here.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};

use crate::classad::{ClassAd, Context};
use crate::config::View;
use crate::job::attr;
use crate::os::files;
use crate::os::identity::acting_as;
use crate::process::Identity;
use crate::text::list;
use crate::world::World;

/// The directory in the scratch directory.
const DIRECTORY: &str = ".condor_creds";

/// Tokens that are to be laid there.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// The directory, which `_CONDOR_CREDS` names.
    pub directory: PathBuf,
    files: Vec<(BString, Vec<u8>)>,
}

impl Credentials {
    /// Those that the job needs of its access point; `None` if it needs none.
    ///
    /// # Errors
    /// There is no directory of tokens, or none for a service, or one that others may read or write.
    pub fn read(
        ad: &ClassAd,
        scratch: &Path,
        view: &View<'_>,
        world: &dyn World,
    ) -> Option<Result<Self, String>> {
        let string = |name: &str| Context::new(world).my(ad).string(name);
        let services = string("OAuthServicesNeeded")?;
        let user = string(attr::USER).or_else(|| string(attr::OWNER)).unwrap_or_default();
        Some(
            Self::of(&services, &user, view)
                .map(|files| Credentials { directory: scratch.join(DIRECTORY), files }),
        )
    }

    fn of(services: &[u8], user: &[u8], view: &View<'_>) -> Result<Vec<(BString, Vec<u8>)>, String> {
        if list::split(services).next().is_none() {
            return Ok(Vec::new());
        }
        let knob = view.string("SEC_CREDENTIAL_DIRECTORY_OAUTH").map_err(|error| error.to_string())?;
        let Some(top) = knob.filter(|knob| !knob.value.is_empty()) else {
            return Err("SEC_CREDENTIAL_DIRECTORY_OAUTH is not set".to_owned());
        };
        let trusts = view.boolean("TRUST_CREDENTIAL_DIRECTORY").ok().flatten().is_some_and(|knob| knob.value);
        let user = user.split(|byte| *byte == b'@').next().unwrap_or_default();
        let mut tokens: Vec<(BString, Vec<u8>)> = Vec::new();
        for service in list::split(services) {
            let name = BString::from([&service.replace("*", "_")[..], b".use"].concat());
            if tokens.iter().any(|(known, _)| *known == name) {
                continue;
            }
            // Both become parts of a path.
            if let Some(bad) = [user, &name].into_iter().find(|part| !is_name(part)) {
                return Err(format!("'{}' is no name of a file", BStr::new(bad)));
            }
            let path = top.value.to_path_lossy().join(user.to_path_lossy()).join(name.to_path_lossy());
            let bytes = secret(&path, trusts).map_err(|error| format!("'{}': {error}", path.display()))?;
            tokens.push((name, bytes));
        }
        Ok(tokens)
    }

    /// Lays them down as the job's account.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn lay(&self, identity: Option<&Identity>) -> io::Result<()> {
        acting_as(identity, || {
            fs::DirBuilder::new().mode(0o700).create(&self.directory)?;
            self.files.iter().try_for_each(|(name, bytes)| {
                files::replace(&self.directory.join(name.to_path_lossy()), bytes, 0o600, None)
            })
        })?
    }

    /// Takes them away, wherever the scratch directory is left or moved.
    pub fn take_away(&self, identity: Option<&Identity>) {
        // What the job has made of them goes with the scratch directory.
        let _ = acting_as(identity, || fs::remove_dir_all(&self.directory));
    }
}

fn is_name(text: &[u8]) -> bool {
    !text.is_empty() && text != b"." && text != b".." && !text.contains(&b'/') && !text.contains(&0)
}

/// A file that nobody else may read or write, whole (`read_secure_file`).
fn secret(path: &Path, trusts: bool) -> io::Result<Vec<u8>> {
    let mut file = fs::OpenOptions::new()
        .read(true)
        .custom_flags(nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK)
        .open(path)?;
    let status = file.metadata()?;
    if !status.is_file() {
        return Err(io::Error::other("it is no plain file"));
    }
    if !trusts && status.uid() != nix::unistd::geteuid().as_raw() {
        return Err(io::Error::other(format!(
            "it belongs to uid {}, not to whoever runs this",
            status.uid()
        )));
    }
    if !trusts && status.mode() & 0o077 != 0 {
        return Err(io::Error::other("others may read or write it (TRUST_CREDENTIAL_DIRECTORY)"));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}
