//! Who runs the execution point's own hooks: CONDOR_IDS, else the account `condor`, else whoever started us.

use crate::os::identity;
use crate::process::Identity;
use crate::world::World;

/// The account of the execution point's own hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookAccount {
    /// What they become; nothing when they stay what we are.
    pub identity: Option<Identity>,
    /// What a user should know about it.
    pub warning: Option<String>,
}

/// Finds it. `ids` is CONDOR_IDS, from the environment or the configuration.
///
/// # Errors
/// CONDOR_IDS is not two numbers with a stop between them.
pub fn hook_account(world: &dyn World, ids: Option<&str>) -> Result<HookAccount, String> {
    let nobody_else = |warning| HookAccount { identity: None, warning };
    if !identity::may_switch() {
        return Ok(nobody_else(None));
    }
    if let Some(ids) = ids {
        let numbers = ids
            .trim()
            .split_once('.')
            .and_then(|(uid, gid)| Some((uid.trim().parse::<u32>().ok()?, gid.trim().parse::<u32>().ok()?)));
        let Some((uid, gid)) = numbers else {
            return Err(format!("CONDOR_IDS: '{ids}' is not of the form UID.GID, such as 64.64"));
        };
        // As in the reference, an account of that number brings its groups along.
        let identity = match world.account_by_uid(uid) {
            Some(account) => Identity { gid, ..identity::of_account(&account) },
            None => identity::of_ids(uid, gid),
        };
        return Ok(HookAccount { identity: Some(identity), warning: None });
    }
    match world.account_by_name(b"condor") {
        Some(account) => Ok(HookAccount { identity: Some(identity::of_account(&account)), warning: None }),
        None => Ok(nobody_else(Some(
            "hooks of the execution point run as root: there is no account 'condor'; set CONDOR_IDS = UID.GID".into(),
        ))),
    }
}
