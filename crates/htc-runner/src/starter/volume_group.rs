//! A volume group on a file, made for the job of one starter and removed with it (LVM_BACKING_FILE).
//!
//! A startd of 25.14 keeps its group as long as it runs. Here the starter that has the lock beside the file does; others meanwhile
//! get a file system on a file of their own. What one that was killed has left is removed by the next, as by the next startd, and by `--clean`.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};
use nix::fcntl::{FallocateFlags, Flock, FlockArg, fallocate};
use nix::libc;

use super::system_program::run_words;
use htc_starter::volume_group::{VolumeGroup, parse_loops};

/// A group that is there, and that nobody else uses.
#[derive(Debug)]
pub(super) struct FileVolumeGroup {
    group: VolumeGroup,
    device: BString,
    _lock: Flock<File>,
}

impl FileVolumeGroup {
    /// Makes it.
    ///
    /// # Errors
    /// In words; nothing of it stays. A file that is there and is not of a starter that was killed is not touched, where 25.14 takes it.
    pub(super) fn create(group: &VolumeGroup) -> Result<Self, String> {
        let there = |path: &Path| fs::symlink_metadata(path).is_ok();
        if there(&group.file) && !there(&lock_of(&group.file)) {
            return Err(format!(
                "'{}' is there, and no starter of ours has made it: a condor_startd may use it",
                group.file.display()
            ));
        }
        let was_there = there(&group.file);
        let laid = lock(&group.file).and_then(|lock| Self::create_on_file(group, lock));
        if laid.is_err() && !was_there {
            // A lock says that the file beside it is ours: it never stays alone.
            drop(fs::remove_file(&group.file));
            drop(fs::remove_file(lock_of(&group.file)));
        }
        laid
    }

    fn create_on_file(group: &VolumeGroup, lock: Flock<File>) -> Result<Self, String> {
        let is_new = make_file(group).map_err(|why| format!("'{}': {why}", group.file.display()))?;
        let device = match device_of(&group.file)? {
            Some(device) => Ok(device),
            None => run_words(&group.attach_command()).map(|said| said.trim().as_bstr().to_owned()),
        };
        let device = match device {
            Ok(device) if !device.is_empty() => device,
            other => {
                return Err(other.err().unwrap_or_else(|| "losetup has named no device".to_owned()));
            }
        };
        let laid = FileVolumeGroup { group: group.clone(), device, _lock: lock };
        // What one that was killed has left.
        if !is_new {
            laid.clear();
        }
        for words in laid.group.create_commands(&laid.device) {
            if let Err(why) = run_words(&words) {
                drop(laid.take_down());
                return Err(why);
            }
        }
        Ok(laid)
    }

    /// Removes what is on the device. A group of that name which stands elsewhere is somebody's, and stays.
    fn clear(&self) {
        let said = run_words(&VolumeGroup::find_group_command(&self.device));
        let is_there = said.is_ok_and(|said| said.trim() == self.group.name.as_slice());
        for words in self.group.remove_group_commands(&self.device) {
            if is_there || words.first().is_some_and(|program| program == "pvremove") {
                drop(run_words(&words));
            }
        }
    }

    /// Takes it away with its file.
    ///
    /// # Errors
    /// In words.
    pub(super) fn take_down(&self) -> Result<(), String> {
        self.clear();
        run_words(&VolumeGroup::detach_command(&self.device))?;
        fs::remove_file(&self.group.file).map_err(|error| error.to_string())?;
        drop(fs::remove_file(lock_of(&self.group.file)));
        Ok(())
    }
}

/// Removes what a starter that was killed has left of a group; whether there was anything.
///
/// # Errors
/// In words.
pub(super) fn remove_left(group: &VolumeGroup) -> Result<bool, String> {
    if fs::symlink_metadata(&group.file).is_err() || fs::symlink_metadata(lock_of(&group.file)).is_err() {
        return Ok(false);
    }
    // One that is in use is nobody's left-over.
    let Ok(lock) = lock(&group.file) else { return Ok(false) };
    let Some(device) = device_of(&group.file)? else {
        fs::remove_file(&group.file).map_err(|error| error.to_string())?;
        drop(fs::remove_file(lock_of(&group.file)));
        return Ok(true);
    };
    FileVolumeGroup { group: group.clone(), device, _lock: lock }.take_down().map(|()| true)
}

fn lock_of(file: &Path) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push(".lock");
    path.into()
}

fn lock(file: &Path) -> Result<Flock<File>, String> {
    let place = lock_of(file);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    let opened = options.open(&place).map_err(|error| format!("'{}': {error}", place.display()))?;
    Flock::lock(opened, FlockArg::LockExclusiveNonblock)
        .map_err(|_| format!("'{}' is in use by another starter", file.display()))
}

/// Makes the file, or takes the one that is there if it is root's and large enough; whether it is new.
fn make_file(group: &VolumeGroup) -> Result<bool, String> {
    if let Ok(status) = fs::symlink_metadata(&group.file) {
        return match () {
            () if !status.is_file() || status.uid() != 0 => Err("it is no regular file of root".to_owned()),
            () if status.len() < group.bytes => {
                Err(format!("it has {} bytes, and {} are asked for", status.len(), group.bytes))
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

/// The loop device that a file is behind.
fn device_of(file: &Path) -> Result<Option<BString>, String> {
    let own = fs::metadata(file).map_err(|error| error.to_string())?;
    let listed = run_words(&VolumeGroup::list_loops_command())?;
    let is_it = |behind: &[u8]| {
        fs::metadata(OsStr::from_bytes(behind))
            .is_ok_and(|status| (status.dev(), status.ino()) == (own.dev(), own.ino()))
    };
    Ok(parse_loops(&listed).find(|(_, behind)| is_it(behind)).map(|(device, _)| device.into()))
}
