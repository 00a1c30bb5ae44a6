//! Places of configuration files that no setting names, or that depend on the account.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::BString;
use htc_base::world::World;

use crate::load_options::LoadOptions;

/// Returns the first readable root file in the default places, or `None` if no place has one.
pub(super) fn find_default_root(world: &dyn World) -> Option<BString> {
    let mut places: Vec<BString> =
        vec!["/etc/condor/condor_config".into(), "/usr/local/etc/condor_config".into()];
    if let Some(condor) = world.account_by_name(b"condor") {
        places.push([&condor.home[..], b"/condor_config"].concat().into());
    }
    places.into_iter().find(|place| world.read_file(bytes_to_path(place), Some(1)).is_ok())
}

impl crate::Config {
    /// Returns true if [`crate::Config::load`] would find no configuration, because none is named and there is
    /// none in the default places. No part of a configuration is read or executed.
    pub fn is_missing(world: &dyn World, options: &LoadOptions) -> bool {
        options.file.is_none()
            && world.env(OsStr::new("CONDOR_CONFIG")).is_none()
            && find_default_root(world).is_none()
    }
}

/// Converts bytes to a path.
pub(crate) fn bytes_to_path(name: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(name))
}

/// Returns the user's own file that USER_CONFIG_FILE names.
pub(crate) fn user_file_path(name: &[u8], world: &dyn World) -> Option<BString> {
    let uid = world.effective_uid();
    if uid == 0 {
        return None;
    }
    if name.starts_with(b"/") {
        return Some(name.into());
    }
    let account = world.account_by_uid(uid)?;
    Some([&account.home[..], b"/.condor/", name].concat().into())
}
