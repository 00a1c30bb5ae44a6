//! Volume group on a file, created for the job of one starter and removed afterwards (LVM_BACKING_FILE).
//!
//! A startd of 25.14 keeps its volume group as long as it runs. Here the group belongs to the starter that holds the
//! lock next to the file. Other starters use file systems on files of their own as long as the lock is held. The
//! group of a killed starter is removed by the next starter or by `--clean`.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};
use nix::fcntl::{FallocateFlags, fallocate};
use nix::libc;

use super::system_program::run_command;
use htc_os::file_lock::ExclusiveLock;
use htc_starter::volume_group::{VolumeGroup, parse_loops};

/// Existing volume group that only this process uses.
#[derive(Debug)]
pub(super) struct FileVolumeGroup {
    group: VolumeGroup,
    device: BString,
    _lock: ExclusiveLock,
}

impl FileVolumeGroup {
    /// Creates the volume group.
    ///
    /// # Errors
    /// Fails with a message; everything that was created is removed again. An existing file that was not left by a
    /// killed starter is not changed, although 25.14 uses it.
    pub(super) fn create(group: &VolumeGroup) -> Result<Self, String> {
        let there = |path: &Path| fs::symlink_metadata(path).is_ok();
        if there(&group.file) && !there(&lock_of(&group.file)) {
            return Err(format!(
                "'{}' already exists and was not created by htc-starter-run: a condor_startd may use it",
                group.file.display()
            ));
        }
        let was_there = there(&group.file);
        let created = lock(&group.file).and_then(|lock| Self::create_on_file(group, lock));
        if created.is_err() && !was_there {
            // The lock file shows that the backing file was created by this project, so the lock file is removed
            // last.
            drop(fs::remove_file(&group.file));
            drop(fs::remove_file(lock_of(&group.file)));
        }
        created
    }

    fn create_on_file(group: &VolumeGroup, lock: ExclusiveLock) -> Result<Self, String> {
        let is_new = make_file(group).map_err(|why| format!("'{}': {why}", group.file.display()))?;
        let device = match device_of(&group.file)? {
            Some(device) => Ok(device),
            None => run_command(&group.attach_command()).map(|output| output.trim().as_bstr().to_owned()),
        };
        let device = match device {
            Ok(device) if !device.is_empty() => device,
            other => {
                return Err(other.err().unwrap_or_else(|| "losetup did not print a device".to_owned()));
            }
        };
        let created = FileVolumeGroup { group: group.clone(), device, _lock: lock };
        // The file was left by a starter that was killed.
        if !is_new {
            created.clear();
        }
        for words in created.group.create_commands(&created.device) {
            if let Err(why) = run_command(&words) {
                drop(created.remove_group());
                return Err(why);
            }
        }
        Ok(created)
    }

    /// Removes the volume group from the device. A volume group of the same name on another device is kept.
    fn clear(&self) {
        let output = run_command(&VolumeGroup::find_group_command(&self.device));
        let is_there = output.is_ok_and(|output| output.trim() == self.group.name.as_slice());
        for words in self.group.remove_group_commands(&self.device) {
            if is_there || words.first().is_some_and(|program| program == "pvremove") {
                drop(run_command(&words));
            }
        }
    }

    /// Removes the volume group and its file.
    ///
    /// # Errors
    /// Fails with a message.
    pub(super) fn remove_group(&self) -> Result<(), String> {
        self.clear();
        run_command(&VolumeGroup::detach_command(&self.device))?;
        fs::remove_file(&self.group.file).map_err(|error| error.to_string())?;
        drop(fs::remove_file(lock_of(&self.group.file)));
        Ok(())
    }
}

/// Removes the volume group that a killed starter has left. Returns true if there was such a group.
///
/// # Errors
/// Fails with a message.
pub(super) fn remove_abandoned_group(group: &VolumeGroup) -> Result<bool, String> {
    if fs::symlink_metadata(&group.file).is_err() || fs::symlink_metadata(lock_of(&group.file)).is_err() {
        return Ok(false);
    }
    // If the lock is held, the group is in use by another starter.
    let Ok(lock) = lock(&group.file) else { return Ok(false) };
    let Some(device) = device_of(&group.file)? else {
        fs::remove_file(&group.file).map_err(|error| error.to_string())?;
        drop(fs::remove_file(lock_of(&group.file)));
        return Ok(true);
    };
    FileVolumeGroup { group: group.clone(), device, _lock: lock }.remove_group().map(|()| true)
}

fn lock_of(file: &Path) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push(".lock");
    path.into()
}

fn lock(file: &Path) -> Result<ExclusiveLock, String> {
    let place = lock_of(file);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    let opened = options.open(&place).map_err(|error| format!("'{}': {error}", place.display()))?;
    ExclusiveLock::try_acquire(opened).map_err(|(_, error)| match error.kind() {
        io::ErrorKind::WouldBlock => format!("'{}' is in use by another starter", file.display()),
        _ => format!("cannot lock '{}': {error}", place.display()),
    })
}

/// Creates the file, or uses an existing file that belongs to root and is large enough. Returns true if the file is
/// new.
fn make_file(group: &VolumeGroup) -> Result<bool, String> {
    if let Ok(status) = fs::symlink_metadata(&group.file) {
        return match () {
            () if !status.is_file() || status.uid() != 0 => {
                Err("it is not a regular file of root".to_owned())
            }
            () if status.len() < group.bytes => {
                Err(format!("it has {} bytes, but {} are requested", status.len(), group.bytes))
            }
            () => Ok(false),
        };
    }
    let make = || -> io::Result<()> {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&group.file)?;
        let length = i64::try_from(group.bytes).map_err(io::Error::other)?;
        Ok(fallocate(&file, FallocateFlags::empty(), 0, length)?)
    };
    make().map(|()| true).map_err(|error| {
        drop(fs::remove_file(&group.file));
        error.to_string()
    })
}

/// Returns the loop device of a file, or `None` if the file has none.
fn device_of(file: &Path) -> Result<Option<BString>, String> {
    let own = fs::metadata(file).map_err(|error| error.to_string())?;
    let listed = run_command(&VolumeGroup::list_loops_command())?;
    let is_it = |behind: &[u8]| {
        fs::metadata(OsStr::from_bytes(behind))
            .is_ok_and(|status| (status.dev(), status.ino()) == (own.dev(), own.ino()))
    };
    Ok(parse_loops(&listed).find(|(_, behind)| is_it(behind)).map(|(device, _)| device.into()))
}
