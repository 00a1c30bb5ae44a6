//! Names and paths of a run: its directories, files named on the command line, and the placeholder for an address.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};

use super::accounts;
use super::user_log::{UserLog, UserLogInputs, UserLogSettings};
use htc_base::job::attr;
use htc_base::quirks::{Quirk, QuirkMode};
use htc_base::world::World;
use htc_classad::ClassAd;
use htc_config::{ConfigView, ValueError};
use htc_starter::{JobInfo, StarterSettings, job_info};

/// Returns the directory in which scratch directories are created.
///
/// # Errors
/// Fails if a parameter is not a valid number or boolean.
pub fn read_execute_directory(
    view: &ConfigView<'_>,
    fallback: &Path,
    world: &dyn World,
) -> Result<PathBuf, ValueError> {
    Ok(execute_directory(&StarterSettings::read(view, None, world)?, fallback, QuirkMode::Manual, view))
}

/// Returns EXECUTE if the configuration sets EXECUTE or LOCAL_DIR, or if the directory exists; else returns the
/// fallback directory.
pub(super) fn execute_directory(
    settings: &StarterSettings,
    fallback: &Path,
    quirks: QuirkMode,
    view: &ConfigView<'_>,
) -> PathBuf {
    let set = |name: &str| view.raw(name).is_some_and(|setting| !setting.origin.is_default());
    match &settings.execute {
        Some(execute)
            if quirks.reproduces(Quirk::ExecuteUnchecked)
                || set("EXECUTE")
                || set("LOCAL_DIR")
                || execute.is_dir() =>
        {
            execute.clone()
        }
        _ => fallback.to_owned(),
    }
}

/// Returns `dir_<pid>`, with a number appended if a directory of that name exists because its starter was killed.
pub(super) fn free_name(execute: &Path, pid: u32, world: &dyn World) -> PathBuf {
    // The path is joined as text, so that a slash at the end of EXECUTE is kept: texts with the path then contain
    // two slashes.
    let named = |name: String| {
        let mut path = execute.as_os_str().to_owned();
        path.push("/");
        path.push(name);
        PathBuf::from(path)
    };
    let plain = named(format!("dir_{pid}"));
    let taken = |path: &PathBuf| world.stat(path).is_ok();
    if !taken(&plain) {
        return plain;
    }
    let numbered = (1..1000).map(|number| named(format!("dir_{pid}.{number}")));
    numbered.into_iter().find(|path| !taken(path)).unwrap_or(plain)
}

/// Resolves a file name of the command line relative to `base`.
pub(super) fn resolve(path: &BString, base: &Path) -> PathBuf {
    base.join(PathBuf::from(OsString::from_vec(path.to_vec())))
}

pub(super) fn starter_user_log(
    ad: &ClassAd,
    job: &JobInfo,
    scratch: &Path,
    view: &ConfigView<'_>,
    named: Option<PathBuf>,
    quirks: QuirkMode,
) -> Result<Option<UserLog>, ValueError> {
    let world = view.world();
    if !ad.contains("StarterUserLog") && named.is_none() {
        return Ok(None);
    }
    let settings = UserLogSettings::read(view, named)?;
    let daemon = if world.effective_uid() == 0 { accounts::condor_identity(view, world) } else { None };
    let (settings, address) = (&settings, placeholder_address(world));
    Ok(UserLog::for_starter(&UserLogInputs { ad, job, scratch, settings, daemon, address, quirks, world }))
}

/// Returns a placeholder for the address of a starter or shadow, because the programs of this project have no command
/// port.
pub(super) fn placeholder_address(world: &dyn World) -> BString {
    format!("<{}:0>", world.ip_address()).into()
}

/// Returns the id of a refused job. A missing cluster becomes 1 and a missing proc becomes 0.
pub(super) fn refused_job_id(ad: &ClassAd, quirks: QuirkMode, world: &dyn World) -> String {
    let id = |name: &str| job_info::job_id_part(ad, name, quirks, world);
    let (cluster, proc) = (id(attr::CLUSTER_ID), id(attr::PROC_ID));
    format!("{}.{}", cluster.unwrap_or(1), proc.unwrap_or(0))
}

/// Returns the slot's name from the name of a starter's log: the text after the first dot that is followed by
/// `prefix`, which is usually `slot`. With `-a slot1_2` the log is `StarterLog.slot1_2` (`Starter::getMySlotName`).
pub fn slot_name_of_log(log: &[u8], prefix: &[u8]) -> BString {
    let name = log.rsplit(|byte| *byte == b'/').next().unwrap_or(log);
    let marked = [b".", prefix].concat();
    name.find(&marked).map_or_else(BString::default, |at| name[at + 1..].into())
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn the_slot_follows_the_dot_in_the_name_of_the_log() {
        assert_eq!(slot_name_of_log(b"/var/StarterLog.slot2", b"slot"), "slot2");
        assert_eq!(slot_name_of_log(b"StarterLog.x.slot1_3", b"slot"), "slot1_3");
        assert_eq!(slot_name_of_log(b"Log.slot7.x", b"slot"), "slot7.x");
        assert_eq!(slot_name_of_log(b"StarterLog.myslot2", b"slot"), "");
        assert_eq!(slot_name_of_log(b"/var/log.slot1/StarterLog", b"slot"), "");
        assert_eq!(slot_name_of_log(b"StarterLog.vm3", b"vm"), "vm3");
    }

    #[test]
    fn paths_of_any_bytes_are_unchanged() {
        let path = resolve(&"/x/\u{e9}".into(), Path::new("/s"));
        assert_eq!(path.as_os_str().as_bytes(), "/x/\u{e9}".as_bytes());
    }
}
