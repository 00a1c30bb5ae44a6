//! Locks of whole files, compatible with the daemons: a lock on the file itself, or on a separate lock file on a local
//! disk.
//!
//! Reference: `file_lock.cpp` (`FileLock::CreateHashName`, `initLockFile`), `lock_file.cpp`.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, FcntlArg, OFlag, fcntl, openat};
use nix::libc;
use nix::sys::stat::{Mode, fchmod, fstat, mkdirat};

/// Maximum time to wait for a lock; 25.14 waits without a limit.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Lock on a file, released on drop.
#[derive(Debug)]
pub struct FileLock {
    _file: File,
}

impl FileLock {
    /// Locks an open file for writing. If the directory `place` exists, the lock is on a lock file in it, which
    /// represents `path`. If `place` does not exist, or nothing can be created in it, the lock is on the file itself.
    ///
    /// # Errors
    /// Fails if another process holds the lock for more than ten seconds, or if the system does not support locks.
    pub fn acquire(path: &Path, open_file: &File, place: Option<&Path>) -> io::Result<FileLock> {
        match place.and_then(|place| open_separate_lock_file(place, &lock_file_path(path)).ok()) {
            Some(file) => Self::wait_for_lock(file, path),
            None => Self::wait_for_lock(open_file.try_clone()?, path),
        }
    }

    /// Waits until an open file can be locked, and locks it. `path` is the path for the error message.
    ///
    /// # Errors
    /// Same as [`acquire`](Self::acquire).
    pub fn wait_for_lock(file: File, path: &Path) -> io::Result<FileLock> {
        let until = Instant::now() + LOCK_TIMEOUT;
        let whole = libc::flock {
            l_type: libc::F_WRLCK as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: 0,
            l_len: 0,
            l_pid: 0,
        };
        loop {
            match fcntl(&file, FcntlArg::F_SETLK(&whole)) {
                Ok(_) => return Ok(FileLock { _file: file }),
                Err(Errno::EACCES | Errno::EAGAIN) if Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(errno) => {
                    return Err(io::Error::other(format!("cannot lock '{}': {errno}", path.display())));
                }
            }
        }
    }
}

/// Exclusive lock of a whole file by `flock`, released on drop. An error of the release is ignored, because the kernel
/// releases the lock anyway when the last descriptor is closed.
#[derive(Debug)]
pub struct ExclusiveLock {
    file: File,
}

impl ExclusiveLock {
    /// Locks an open file if no other process has locked it.
    ///
    /// # Errors
    /// Returns the file with the error, which is `WouldBlock` if another process has locked the file.
    pub fn try_acquire(file: File) -> Result<Self, (File, io::Error)> {
        match file.try_lock() {
            Ok(()) => Ok(ExclusiveLock { file }),
            Err(fs::TryLockError::WouldBlock) => Err((file, io::ErrorKind::WouldBlock.into())),
            Err(fs::TryLockError::Error(error)) => Err((file, error)),
        }
    }
}

impl std::ops::Deref for ExclusiveLock {
    type Target = File;

    fn deref(&self) -> &File {
        &self.file
    }
}

impl Drop for ExclusiveLock {
    /// Releases the lock explicitly, because a child that has not executed its program yet may have a copy of the
    /// descriptor.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

/// Opens or creates a file that is used only as a lock.
///
/// # Errors
/// Returns the error of `open`; a link is an error.
pub fn open_lock_file(path: &Path) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o666).custom_flags(flags).open(path)
}

/// Returns the path of the lock file that represents a file: a hash of the file's name, in two levels of directories
/// whose names have two digits.
fn lock_file_path(path: &Path) -> [String; 3] {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let hash = real.as_os_str().as_bytes().iter().fold(0u64, |hash, byte| {
        let letter = i64::from(byte.cast_signed()).cast_unsigned();
        letter.wrapping_add(hash << 6).wrapping_add(hash << 16).wrapping_sub(hash)
    });
    let mut digits = String::new();
    while digits.len() < 5 {
        digits += &hash.to_string();
    }
    [digits[..2].to_owned(), digits[2..4].to_owned(), format!("{}.lockc", &digits[4..])]
}

/// Creates the world-writable directories for a lock file and opens the lock file. Because any account can write in
/// these directories, each step starts from the directory that was opened before, no link is followed, and existing
/// directories keep their mode.
fn open_separate_lock_file(place: &Path, [first, second, name]: &[String; 3]) -> io::Result<File> {
    let existing = place.ancestors().find(|existing| existing.exists()).ok_or(io::ErrorKind::NotFound)?;
    let link_flag = if existing == place { OFlag::O_NOFOLLOW } else { OFlag::empty() };
    let mut at =
        openat(AT_FDCWD, existing, OFlag::O_DIRECTORY | OFlag::O_CLOEXEC | link_flag, Mode::empty())?;
    let missing = place.strip_prefix(existing).unwrap_or(Path::new(""));
    for part in missing.iter().chain([first.as_ref(), second.as_ref()]) {
        at = open_or_create_directory(&at, part)?;
    }
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    Ok(File::from(openat(&at, name.as_str(), flags, Mode::from_bits_truncate(0o666))?))
}

/// Opens a directory, and creates it if it does not exist.
fn open_or_create_directory(at: &OwnedFd, name: &OsStr) -> nix::Result<OwnedFd> {
    let world_writable = Mode::from_bits_truncate(0o777);
    let is_new = match mkdirat(at, name, world_writable) {
        Ok(()) => true,
        Err(Errno::EEXIST) => false,
        Err(errno) => return Err(errno),
    };
    let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let opened = openat(at, name, flags, Mode::empty())?;
    // Another account may have replaced the directory by a directory of its own, but it cannot put a directory there
    // that belongs to us.
    if is_new && fstat(&opened)?.st_uid == super::identity::effective_uid() {
        fchmod(&opened, world_writable)?;
    }
    Ok(opened)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_name_of_a_lock_is_as_in_the_reference() {
        // The hash is sdbm; for "/a" it is 47 * 65599 + 97.
        assert_eq!(lock_file_path(Path::new("/a")), ["30", "83", "250.lockc"]);
    }

    #[test]
    fn a_lock_is_a_separate_file_with_its_directories() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("log");
        let file = File::create(&path).unwrap();
        let lock = FileLock::acquire(&path, &file, Some(&home.path().join("locks"))).unwrap();
        assert!(home.path().join("locks").is_dir());
        drop(lock);
        // If the lock file cannot be created, or a link replaces one of its directories, the file itself is locked.
        FileLock::acquire(&path, &file, Some(&path)).unwrap();
        let (elsewhere, links) = (home.path().join("elsewhere"), home.path().join("links"));
        fs::create_dir(&elsewhere).unwrap();
        fs::create_dir(&links).unwrap();
        let [first, second, _] = lock_file_path(&path);
        std::os::unix::fs::symlink(&elsewhere, links.join(&first)).unwrap();
        FileLock::acquire(&path, &file, Some(&links)).unwrap();
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
        // Existing directories keep their mode, even if another account created them.
        fs::remove_file(links.join(&first)).unwrap();
        fs::create_dir(links.join(&first)).unwrap();
        fs::set_permissions(links.join(&first), fs::Permissions::from_mode(0o700)).unwrap();
        FileLock::acquire(&path, &file, Some(&links)).unwrap();
        let mode = |place: &Path| fs::metadata(place).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode(&links.join(&first)), 0o700);
        assert_eq!(mode(&links.join(&first).join(second)), 0o777);
    }
}
