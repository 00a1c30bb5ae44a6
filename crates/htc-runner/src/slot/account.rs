//! Who runs the execution point's own hooks: CONDOR_IDS, else the account `condor`, else whoever started us.

use crate::starter::{CondorIdsError, condor_ids};
use htc_base::process::ProcessIdentity;
use htc_config::ConfigView;
use htc_os::identity;

/// The account of the execution point's own hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookAccount {
    /// What they become; nothing when they stay what we are.
    pub identity: Option<ProcessIdentity>,
    /// What a user should know about it.
    pub warning: Option<String>,
}

/// Finds it, of the configuration and of CONDOR_IDS in the environment.
///
/// # Errors
/// CONDOR_IDS is no pair of numbers, or of nobody's: no daemon starts then.
pub fn hook_account(view: &ConfigView<'_>) -> Result<HookAccount, CondorIdsError> {
    let world = view.world();
    let nobody_else = |warning| HookAccount { identity: None, warning };
    if !identity::can_switch_account() {
        return Ok(nobody_else(None));
    }
    if let Some((uid, gid)) = condor_ids(view, world)? {
        // As in the reference, an account of that number brings its groups along.
        let identity = match world.account_by_uid(uid) {
            Some(account) => ProcessIdentity { gid, ..identity::identity_of_account(&account) },
            None => identity::identity_of_ids(uid, gid),
        };
        return Ok(HookAccount { identity: Some(identity), warning: None });
    }
    match world.account_by_name(b"condor") {
        Some(account) => Ok(HookAccount { identity: Some(identity::identity_of_account(&account)), warning: None }),
        None => Ok(nobody_else(Some(
            "hooks of the execution point run as root: there is no account 'condor'; set CONDOR_IDS = UID.GID".into(),
        ))),
    }
}
