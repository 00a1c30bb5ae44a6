//! Token files of a router, created when it starts and again every JOB_ROUTER_IDTOKEN_REFRESH seconds
//! (`JobRouter::refreshIDTokens`).

use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bstr::{BString, ByteSlice};

use crate::router::token_signing::{self, POOL_KEY_NAME};
use htc_base::process::ProcessIdentity;
use htc_base::world::World;
use htc_config::ConfigView;
use htc_os::files::open_regular_file;
use htc_os::identity;
use htc_router::token_spec::TokenSpec;

/// Maximum size of a signing key, in bytes.
const MAX_KEY_SIZE: u64 = 1 << 20;

/// Tokens of a running router.
pub(super) struct RouterTokens {
    orders: Vec<TokenSpec>,
    /// Interval at which the tokens are renewed, or `None` if none are created.
    interval: Option<Duration>,
    /// Names and paths of the token files created by this router.
    written: Vec<(BString, PathBuf)>,
}

impl RouterTokens {
    /// Reads the tokens of a configuration without creating any.
    pub(super) fn new(view: &ConfigView<'_>, log: &dyn Fn(&str)) -> Self {
        let seconds = view.number("JOB_ROUTER_IDTOKEN_REFRESH", 0);
        let every = u64::try_from(seconds).ok().filter(|&seconds| seconds > 0).map(Duration::from_secs);
        RouterTokens {
            orders: htc_router::token_spec::read_token_specs(view, &mut |text| log(&text)),
            interval: every,
            written: Vec::new(),
        }
    }

    /// Returns the interval for calling [`RouterTokens::refresh`], or `None` if it need not be called.
    pub(super) fn refresh_interval(&self) -> Option<Duration> {
        self.interval.filter(|_| !self.orders.is_empty())
    }

    /// Creates all tokens. Deletes a token file of this router if it cannot be created again. Returns the names and
    /// paths of the files that routed jobs can be sent, which may include a file that already existed.
    pub(super) fn refresh(
        &mut self,
        view: &ConfigView<'_>,
        world: &dyn World,
        log: &dyn Fn(&str),
    ) -> Vec<(BString, BString)> {
        let mut usable = Vec::new();
        for order in &self.orders {
            let path = order.file.to_path_lossy().into_owned();
            let made = self.written.iter().position(|(name, _)| *name == order.name);
            let outcome = match self.interval {
                Some(_) => write_token(order, &path, view, world),
                None => Err("no token is created, because JOB_ROUTER_IDTOKEN_REFRESH is not above 0".into()),
            };
            match (outcome, made) {
                (Ok(()), Some(_)) => {}
                (Ok(()), None) => self.written.push((order.name.clone(), path.clone())),
                (Err(reason), Some(made)) => {
                    log(&reason);
                    log(&format!("deleting {} IDTOKEN file : {}", order.name, path.display()));
                    if let Err(error) = std::fs::remove_file(&path) {
                        log(&format!("cannot delete '{}': {error}", path.display()));
                    }
                    self.written.swap_remove(made);
                    continue;
                }
                (Err(reason), None) if path.is_file() => {
                    log(&format!("token {}: {reason}; the existing file is sent", order.name));
                }
                (Err(reason), None) => {
                    log(&format!(
                        "token {}: there is no file '{}', and {reason}; jobs that need it are released",
                        order.name,
                        path.display()
                    ));
                    continue;
                }
            }
            usable.push((order.name.clone(), order.file.clone()));
        }
        usable
    }
}

/// Creates one token and writes its file; error messages have the wording of the reference.
fn write_token(
    order: &TokenSpec,
    path: &Path,
    view: &ConfigView<'_>,
    world: &dyn World,
) -> Result<(), String> {
    let failed = |reason: String| format!("failed to create token {} : {reason}", order.name);
    let key = read_signing_key(&order.signing_key, view).map_err(failed)?;
    let issuer =
        view.text("TRUST_DOMAIN").ok_or_else(|| failed("PASSWD:1:Issuer namespace is not set".into()))?;
    if issuer.find_byteset(b", \t").is_some() {
        return Err(failed("PASSWD:1:Issuer namespace may not contain spaces or commas".into()));
    }
    let id = format!("{:016x}{:016x}", world.random(), world.random());
    let mut text = token_signing::sign_token(order, &key, &issuer, world.now().epoch(), id.as_bytes());
    text.push('\n');
    let owner = owner(order)?;
    let written = identity::run_as(owner.as_ref(), || -> io::Result<()> {
        // An existing file keeps its owner and mode.
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600);
        let mut file = open_regular_file(path, &mut options)?;
        file.write_all(text.as_bytes())?;
        file.set_len(text.len() as u64)
    });
    written.flatten().map_err(|error| {
        let code = error.raw_os_error().map_or_else(String::new, |code| format!(" (errno={code})"));
        let text = error.to_string();
        let words = text.split(" (os error").next().unwrap_or_default();
        format!("Cannot write token to {}: {words}{code}", path.display())
    })
}

/// Returns the account that will own the file, or `None` if this program cannot change accounts.
fn owner(order: &TokenSpec) -> Result<Option<ProcessIdentity>, String> {
    if order.owner.is_empty() || !identity::can_switch_account() {
        return Ok(None);
    }
    match identity::account_by_name(&order.owner) {
        Some(account) if account.uid != 0 => Ok(Some(identity::identity_of_account(&account))),
        _ => Err(format!("Failed in init_user_ids({},) for CREATE_IDTOKEN_{}", order.owner, order.name)),
    }
}

/// Reads a signing key from a file that only this user can access (`getTokenSigningKey`).
fn read_signing_key(name: &[u8], view: &ConfigView<'_>) -> Result<Vec<u8>, String> {
    let is_pool = name.is_empty() || name == POOL_KEY_NAME;
    let path = match is_pool {
        true => view
            .text("SEC_TOKEN_POOL_SIGNING_KEY_FILE")
            .ok_or("TOKEN:1:No master pool token key setup in SEC_TOKEN_POOL_SIGNING_KEY_FILE")?
            .to_path_lossy()
            .into_owned(),
        false => view
            .text("SEC_PASSWORD_DIRECTORY")
            .ok_or("TOKEN:1:SEC_PASSWORD_DIRECTORY is undefined")?
            .to_path_lossy()
            .join(name.to_path_lossy()),
    };
    let refused = |why: String| format!("TOKEN:1:Failed to read file {} securely. ({why})", path.display());
    let file = open_regular_file(&path, OpenOptions::new().read(true))
        .map_err(|error| refused(error.to_string()))?;
    let status = file.metadata().map_err(|error| refused(error.to_string()))?;
    if status.uid() != identity::effective_uid() {
        return Err(refused(format!("its owner is {}, not {}", status.uid(), identity::effective_uid())));
    }
    if status.mode() & 0o077 != 0 {
        return Err(refused(format!(
            "other accounts can read or write it: its mode is {:04o}",
            status.mode() & 0o7777
        )));
    }
    let mut content = Vec::new();
    file.take(MAX_KEY_SIZE).read_to_end(&mut content).map_err(|error| refused(error.to_string()))?;
    let is_password = view.flag("SEC_TOKEN_POOL_SIGNING_KEY_IS_PASSWORD", false);
    Ok(token_signing::derive_signing_key(&content, is_pool, is_password))
}
