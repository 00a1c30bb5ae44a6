//! Credential files, which only their owner may read: they are read completely, and written to another place.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bstr::{BStr, BString, ByteSlice};

use htc_base::job::attr;
use htc_base::process::ProcessIdentity;
use htc_base::text::list;
use htc_base::world::World;
use htc_classad::{ClassAd, Context};
use htc_config::ConfigView;
use htc_os::files;

/// Credential file, with its contents.
#[derive(Clone, Debug)]
pub struct CredentialFile {
    source: PathBuf,
    /// Path to which the contents are written.
    pub target: PathBuf,
    allows_open_modes: bool,
    bytes: Vec<u8>,
    modified: Option<SystemTime>,
}

impl CredentialFile {
    /// Reads a credential file. If `trusts` is true, the file may belong to another account and be accessible to
    /// others.
    ///
    /// # Errors
    /// Fails if the file cannot be read or, unless `trusts` is true, if others may read or write it.
    pub fn read(from: PathBuf, to: PathBuf, trusts: bool) -> Result<Self, String> {
        let mut secret = CredentialFile {
            source: from,
            target: to,
            allows_open_modes: trusts,
            bytes: Vec::new(),
            modified: None,
        };
        secret.reread()?;
        Ok(secret)
    }

    /// Reads the file again.
    ///
    /// # Errors
    /// Same as [`CredentialFile::read`].
    pub fn reread(&mut self) -> Result<(), String> {
        let read = read_whole(&self.source, self.allows_open_modes);
        (self.bytes, self.modified) =
            read.map_err(|error| format!("'{}': {error}", self.source.display()))?;
        Ok(())
    }

    /// Reads the file again if it has changed.
    ///
    /// # Errors
    /// Same as [`CredentialFile::read`].
    pub fn reread_if_changed(&mut self) -> Result<(), String> {
        let changed = fs::metadata(&self.source).and_then(|status| status.modified());
        let changed = changed.map_err(|error| format!("'{}': {error}", self.source.display()))?;
        if self.modified == Some(changed) { Ok(()) } else { self.reread() }
    }

    /// Writes the target file atomically, owned by `owner`.
    ///
    /// # Errors
    /// Fails on errors of the file system.
    pub fn write_target(&self, mode: u32, owner: Option<&ProcessIdentity>) -> io::Result<()> {
        files::replace_file(&self.target, &self.bytes, mode, owner)
    }
}

/// Returns true if the job requests a Kerberos credential.
pub fn sends_kerberos(ad: &ClassAd, world: &dyn World) -> bool {
    Context::new(world).my(ad).boolean("SendCredential").unwrap_or(false)
}

/// Returns SEC_CREDENTIAL_DIRECTORY_KRB.
///
/// # Errors
/// Fails if the parameter is not set.
pub(super) fn kerberos_directory(view: &ConfigView<'_>) -> Result<PathBuf, String> {
    directory("SEC_CREDENTIAL_DIRECTORY_KRB", view)
}

fn directory(parameter: &str, view: &ConfigView<'_>) -> Result<PathBuf, String> {
    let setting = view.string(parameter).map_err(|error| error.to_string())?;
    let setting = setting.filter(|setting| !setting.value.is_empty());
    let setting = setting.ok_or_else(|| format!("{parameter} is not set"))?;
    Ok(setting.value.to_path_lossy().into_owned())
}

/// Reads all credentials that a job needs from this machine (`LocalCredDirCreator`): tokens, and the Kerberos
/// credential that its user has stored.
///
/// # Errors
/// Fails if no credential directory is configured, if a credential is missing, or if others may read or write it.
pub fn read_all_credentials(
    ad: &ClassAd,
    to: &Path,
    view: &ConfigView<'_>,
    world: &dyn World,
) -> Result<Vec<CredentialFile>, String> {
    let user = Context::new(world).my(ad).string(attr::USER);
    let user = user.ok_or("the job ad has no User, so it is unknown whose credentials are needed")?;
    let user = user_without_domain(&user);
    let mut secrets = Vec::new();
    if sends_kerberos(ad, world) {
        let top = kerberos_directory(view)?;
        let name = |end: &[u8]| path_component([user, end].concat().into());
        secrets.push(CredentialFile::read(top.join(name(b".cred")?), to.join(name(b".cc")?), false)?);
    }
    let services = Context::new(world).my(ad).string("OAuthServicesNeeded").unwrap_or_default();
    secrets.extend(tokens(&services, user, to, view)?);
    Ok(secrets)
}

/// Reads the tokens of a user for the given services.
///
/// # Errors
/// Same as [`read_all_credentials`].
pub(super) fn tokens(
    services: &[u8],
    user: &[u8],
    to: &Path,
    view: &ConfigView<'_>,
) -> Result<Vec<CredentialFile>, String> {
    if list::split(services).next().is_none() {
        return Ok(Vec::new());
    }
    let top = directory("SEC_CREDENTIAL_DIRECTORY_OAUTH", view)?.join(path_component(user.into())?);
    let trusts =
        view.boolean("TRUST_CREDENTIAL_DIRECTORY").ok().flatten().is_some_and(|parameter| parameter.value);
    let mut known: Vec<PathBuf> = Vec::new();
    let mut tokens = Vec::new();
    for service in list::split(services) {
        let name = path_component([&service.replace("*", "_")[..], b".use"].concat().into())?;
        if !known.contains(&name) {
            tokens.push(CredentialFile::read(top.join(&name), to.join(&name), trusts)?);
            known.push(name);
        }
    }
    Ok(tokens)
}

/// Returns the part of `user@domain` before the `@`.
pub(super) fn user_without_domain(user: &[u8]) -> &[u8] {
    user.split(|byte| *byte == b'@').next().unwrap_or_default()
}

/// Converts a text to a path that consists of one file name.
fn path_component(text: BString) -> Result<PathBuf, String> {
    match is_file_name(&text) {
        true => Ok(text.to_path_lossy().into_owned()),
        false => Err(format!("'{}' is not a valid file name", BStr::new(&text))),
    }
}

/// Returns true if a text is a file name without a directory.
pub(super) fn is_file_name(text: &[u8]) -> bool {
    !text.is_empty() && text != b"." && text != b".." && !text.contains(&b'/') && !text.contains(&0)
}

/// Reads a whole file and its modification time. Unless `trusts` is true, only the owner may be able to read or write
/// the file (`read_secure_file`).
fn read_whole(path: &Path, trusts: bool) -> io::Result<(Vec<u8>, Option<SystemTime>)> {
    let mut file = fs::OpenOptions::new()
        .read(true)
        .custom_flags(nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK)
        .open(path)?;
    let status = file.metadata()?;
    if !status.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if !trusts && status.uid() != nix::unistd::geteuid().as_raw() {
        return Err(io::Error::other(format!(
            "it belongs to uid {}, not to the user who runs this program",
            status.uid()
        )));
    }
    if !trusts && status.mode() & 0o077 != 0 {
        return Err(io::Error::other("other accounts can read or write it (TRUST_CREDENTIAL_DIRECTORY)"));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok((bytes, status.modified().ok()))
}
