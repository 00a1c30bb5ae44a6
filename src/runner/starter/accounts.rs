//! The accounts of this machine that a starter's jobs, hooks and ads belong to.

use bstr::BString;

use super::carriage;
use crate::classad::{ClassAd, Context};
use crate::config::View;
use crate::job::attr;
use crate::os::identity;
use crate::process::Identity;
use crate::quirks::{Quirk, Quirks};
use crate::starter::Refusal;
use crate::starter::account::{self, Asking, Chosen};
use crate::starter::not_done::With;
use crate::world::World;

/// The account of a job.
///
/// # Errors
/// Those of [`account::choose`].
pub(super) fn choose(
    ad: &ClassAd,
    view: &View<'_>,
    slot: &[u8],
    with: With,
    quirks: Quirks,
) -> Result<Chosen, Refusal> {
    account::choose(&Asking { ad, view, slot, with, quirks })
}

/// What a user should know of the choice.
pub(super) fn told(chosen: &Chosen, root: bool) -> Vec<String> {
    let mut lines = chosen.told.clone();
    let by = chosen.by;
    if root && lines.is_empty() && (by == attr::OWNER || by == "SLOT<N>_USER") {
        lines.push(format!(
            "the job runs as '{}', which {by} names; in HTCondor 25.14 {} ({})",
            chosen.account.name,
            Quirk::OwnerIgnored.line(),
            Quirk::OwnerIgnored.id()
        ));
    }
    lines
}

/// The account that a job's log and its SHADOW_PREPARE_JOB belong to; `None` is our own.
///
/// # Errors
/// We are root, and the ad names nobody else: nothing is done as root for who wrote an ad.
pub fn queue_owner(
    ad: &ClassAd,
    view: &View<'_>,
    slot: &[u8],
    quirks: Quirks,
) -> Result<Option<Identity>, Refusal> {
    let world = view.world();
    if world.effective_uid() != 0 {
        return Ok(None);
    }
    if let Some(owner) = carriage::named_owner(ad, world) {
        return Ok(Some(owner));
    }
    let chosen = choose(ad, view, slot, With::Nobody, quirks)?;
    Ok(Some(identity::of_account(&chosen.account)))
}

/// An account with PrimaryUnixGroup of the job's ad as its group, which has to be one of its own (`new_group` of `uids.cpp`).
///
/// # Errors
/// The name of the group where it is not.
pub fn in_primary_group(identity: Identity, ad: &ClassAd, world: &dyn World) -> Result<Identity, BString> {
    let Some(name) = Context::new(world).my(ad).string("PrimaryUnixGroup") else { return Ok(identity) };
    match identity::group_by_name(&name) {
        Some(gid) if gid == identity.gid || identity.groups.contains(&gid) => {
            Ok(Identity { gid, ..identity })
        }
        _ => Err(name),
    }
}

/// The account of daemons: CONDOR_IDS, else `condor`; `None` where root has to do.
pub fn condor_identity(view: &View<'_>, world: &dyn World) -> Option<Identity> {
    let configured = view.string("CONDOR_IDS").ok().flatten().map(|setting| setting.value.to_string());
    let of_environment = world.env("CONDOR_IDS".as_ref()).map(|ids| ids.to_string_lossy().into_owned());
    if let Some(ids) = of_environment.or(configured) {
        let (uid, gid) = ids.trim().split_once('.')?;
        return Some(identity::of_ids(uid.trim().parse().ok()?, gid.trim().parse().ok()?))
            .filter(|identity| identity.uid != 0);
    }
    world.account_by_name(b"condor").map(|account| identity::of_account(&account))
}
