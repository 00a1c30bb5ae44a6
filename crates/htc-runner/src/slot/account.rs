//! Account of the execution point's own hooks: CONDOR_IDS if set, else the account `condor`, else the account of this
//! program.

use crate::starter::{CondorIdsError, condor_ids};
use htc_base::FixableError;
use htc_base::process::ProcessIdentity;
use htc_config::ConfigView;
use htc_os::identity;

/// Account of the execution point's own hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookAccount {
    /// Identity to change to, or `None` to keep the current one.
    pub identity: Option<ProcessIdentity>,
    /// Warning about the account, or `None`.
    pub warning: Option<HookAccountWarning>,
}

/// Warning about the account of the hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookAccountWarning {
    /// CONDOR_IDS is not set and no account is named `condor`, so hooks run as root.
    HooksRunAsRoot,
}

impl FixableError for HookAccountWarning {
    fn problem(&self) -> String {
        "hooks of the execution point run as root: there is no account 'condor'".to_owned()
    }

    fn fix(&self) -> Option<String> {
        Some("set CONDOR_IDS = UID.GID".to_owned())
    }
}

/// Determines the account from the configuration and from CONDOR_IDS in the environment.
///
/// # Errors
/// Fails if CONDOR_IDS is not a valid pair of numbers or has an unknown uid; a daemon does not start in that case.
pub fn hook_account(view: &ConfigView<'_>) -> Result<HookAccount, CondorIdsError> {
    let world = view.world();
    let nobody_else = |warning| HookAccount { identity: None, warning };
    if !identity::can_switch_account() {
        return Ok(nobody_else(None));
    }
    if let Some((uid, gid)) = condor_ids(view, world)? {
        // As in the reference, the supplementary groups are those of the account with that uid, if there is one.
        let identity = match world.account_by_uid(uid) {
            Some(account) => ProcessIdentity { gid, ..identity::identity_of_account(&account) },
            None => identity::identity_of_ids(uid, gid),
        };
        return Ok(HookAccount { identity: Some(identity), warning: None });
    }
    match world.account_by_name(b"condor") {
        Some(account) => {
            Ok(HookAccount { identity: Some(identity::identity_of_account(&account)), warning: None })
        }
        None => Ok(nobody_else(Some(HookAccountWarning::HooksRunAsRoot))),
    }
}
