//! Unix accounts for a starter's jobs, hooks and ads.

use bstr::BString;

use super::file_transfer;
use htc_base::FixableError;
use htc_base::process::ProcessIdentity;
use htc_base::quirks::QuirkMode;
use htc_base::world::World;
use htc_classad::{ClassAd, Context};
use htc_config::ConfigView;
use htc_os::identity;
use htc_starter::JobRefusal;
use htc_starter::account::{self, AccountInputs};
use htc_starter::unsupported::AccessPointRole;

/// Returns the account that owns a job's log and runs its SHADOW_PREPARE_JOB, or `None` for the account of this
/// program.
///
/// # Errors
/// Fails if this program runs as root and the ad names no account other than root, because no ad may have anything
/// done as root.
pub fn queue_owner(
    ad: &ClassAd,
    view: &ConfigView<'_>,
    slot: &[u8],
    quirks: QuirkMode,
) -> Result<Option<ProcessIdentity>, JobRefusal> {
    let world = view.world();
    if world.effective_uid() != 0 {
        return Ok(None);
    }
    if let Some(owner) = file_transfer::named_owner(ad, world) {
        return Ok(Some(owner));
    }
    let chosen = account::choose_account(&AccountInputs {
        ad,
        view,
        slot,
        access_point: AccessPointRole::Absent,
        quirks,
    })?;
    Ok(Some(identity::identity_of_account(&chosen.account)))
}

/// Returns the identity with PrimaryUnixGroup of the job ad as its group, which must be one of the groups of the
/// identity (`new_group` of `uids.cpp`).
///
/// # Errors
/// Returns the name of the group if the identity does not have it.
pub fn in_primary_group(
    identity: ProcessIdentity,
    ad: &ClassAd,
    world: &dyn World,
) -> Result<ProcessIdentity, BString> {
    let Some(name) = Context::new(world).my(ad).string("PrimaryUnixGroup") else { return Ok(identity) };
    match identity::group_id_by_name(&name) {
        Some(gid) if gid == identity.gid || identity.groups.contains(&gid) => {
            Ok(ProcessIdentity { gid, ..identity })
        }
        _ => Err(name),
    }
}

/// Error in CONDOR_IDS; daemons do not start with such a value (`init_condor_ids` of `uids.cpp`).
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{}", self.problem_with_fix())]
pub enum CondorIdsError {
    /// CONDOR_IDS is not a pair of numbers.
    Malformed {
        /// Value of CONDOR_IDS.
        text: String,
        /// Place where the value is set.
        of: &'static str,
    },
    /// No account has that uid.
    Unknown {
        /// Value of CONDOR_IDS.
        text: String,
        /// Place where the value is set.
        of: &'static str,
        /// The uid in the value.
        uid: u32,
    },
}

impl FixableError for CondorIdsError {
    fn problem(&self) -> String {
        match self {
            CondorIdsError::Malformed { text, of } => {
                format!("CONDOR_IDS is '{text}'{of}, which is not a pair of numbers")
            }
            CondorIdsError::Unknown { text, of, uid } => {
                format!("CONDOR_IDS is '{text}'{of}: no account of this machine has the uid {uid}")
            }
        }
    }

    fn fix(&self) -> Option<String> {
        Some("write UID.GID of the account of HTCondor's daemons".to_owned())
    }
}

/// Returns CONDOR_IDS of the environment, or else of the configuration.
///
/// # Errors
/// Fails if the value is not a pair of numbers, or if no account has that uid.
pub fn condor_ids(view: &ConfigView<'_>, world: &dyn World) -> Result<Option<(u32, u32)>, CondorIdsError> {
    let of_environment = world.env("CONDOR_IDS".as_ref()).map(|ids| ids.to_string_lossy().into_owned());
    let configured = || view.string("CONDOR_IDS").ok().flatten().map(|setting| setting.value.to_string());
    let (text, of) = match of_environment {
        Some(text) => (text, " (environment)"),
        None => match configured() {
            Some(text) => (text, ""),
            None => return Ok(None),
        },
    };
    let Some((uid, gid)) = parse_uid_gid(&text) else { return Err(CondorIdsError::Malformed { text, of }) };
    match world.account_by_uid(uid) {
        Some(_) => Ok(Some((uid, gid))),
        None => Err(CondorIdsError::Unknown { text, of, uid }),
    }
}

/// Parses `UID.GID`, ignoring any text after it.
fn parse_uid_gid(text: &str) -> Option<(u32, u32)> {
    let number = |text: &str| -> Option<u32> {
        let text = text.trim_start();
        let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
        text[..end].parse().ok()
    };
    let (uid, gid) = text.split_once('.')?;
    let is_whole = uid.trim_start().bytes().all(|letter| letter.is_ascii_digit());
    Some((number(uid).filter(|_| is_whole)?, number(gid)?))
}

/// Returns the account of the daemons: CONDOR_IDS if set, else the account named `condor`. Returns `None` if
/// CONDOR_IDS is invalid or names root, or if there is no account named `condor`.
pub fn condor_identity(view: &ConfigView<'_>, world: &dyn World) -> Option<ProcessIdentity> {
    match condor_ids(view, world) {
        Ok(Some((0, _))) | Err(_) => None,
        Ok(Some((uid, gid))) => Some(identity::identity_of_ids(uid, gid)),
        Ok(None) => world.account_by_name(b"condor").map(|account| identity::identity_of_account(&account)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_daemons_are_read_as_25_14_reads_them() {
        assert_eq!(parse_uid_gid(" 12. 34x"), Some((12, 34)));
        for text in ["abc", "99999", "12.", ".12", "12x.3", "12 .3", "-1.2", ""] {
            assert_eq!(parse_uid_gid(text), None, "{text}");
        }
    }
}
