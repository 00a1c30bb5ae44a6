//! Locks of whole files as the daemons take them: of the file itself, or of another that stands for it on this machine's own disk.
//!
//! Reference: `file_lock.cpp` (`FileLock::CreateHashName`, `initLockFile`), `lock_file.cpp`.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

/// Who holds a lock for longer is not waited for; 25.14 waits for ever.
const PATIENCE: Duration = Duration::from_secs(10);

/// A lock; given back when it is dropped.
#[derive(Debug)]
pub struct FileLock {
    _file: File,
}

impl FileLock {
    /// The lock for writing to a file that is open: of the file that stands for it below `place`, or of itself where there is no such
    /// place or nothing can be made there.
    ///
    /// # Errors
    /// Somebody holds it for too long; the system has no locks.
    pub fn of(path: &Path, open_file: &File, place: Option<&Path>) -> io::Result<FileLock> {
        let other = place.map(|place| stand_in(path, place));
        // Anybody may write there: what leads elsewhere is not followed.
        let is_safe = |other: &PathBuf| {
            let mut inside =
                other.ancestors().skip(1).take_while(|at| place.is_some_and(|top| at.starts_with(top)));
            inside.all(|at| fs::symlink_metadata(at).is_ok_and(|status| status.is_dir()))
        };
        let other = other.filter(|other| make_parents(other).is_ok() && is_safe(other));
        let other = other.and_then(|other| open(&other).ok());
        match other {
            Some(file) => Self::wait(file, path),
            None => Self::wait(open_file.try_clone()?, path),
        }
    }

    /// Waits for the lock of an open file.
    ///
    /// # Errors
    /// See [`of`](Self::of).
    pub fn wait(file: File, of: &Path) -> io::Result<FileLock> {
        let until = Instant::now() + PATIENCE;
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
                    return Err(io::Error::other(format!("cannot lock '{}': {errno}", of.display())));
                }
            }
        }
    }
}

/// Opens a file that is there to be locked, or makes it.
///
/// # Errors
/// Those of the system; a link is refused.
pub fn open(path: &Path) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o666).custom_flags(flags).open(path)
}

/// The file that stands for another: a number made of its name, in directories of two digits each.
fn stand_in(path: &Path, place: &Path) -> PathBuf {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let hash = real.as_os_str().as_bytes().iter().fold(0u64, |hash, byte| {
        let letter = i64::from(byte.cast_signed()).cast_unsigned();
        letter.wrapping_add(hash << 6).wrapping_add(hash << 16).wrapping_sub(hash)
    });
    let mut digits = String::new();
    while digits.len() < 5 {
        digits += &hash.to_string();
    }
    place.join(&digits[..2]).join(&digits[2..4]).join(format!("{}.lockc", &digits[4..]))
}

/// Makes the directories of a lock, which are everybody's.
fn make_parents(file: &Path) -> io::Result<()> {
    let mut missing: Vec<&Path> = file.ancestors().skip(1).take_while(|place| !place.exists()).collect();
    while let Some(place) = missing.pop() {
        match fs::create_dir(place) {
            Ok(()) => fs::set_permissions(place, Permissions::from_mode(0o777))?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_lock_is_that_of_the_reference() {
        // sdbm of "/a": 47 * 65599 + 97.
        let place = stand_in(Path::new("/a"), Path::new("/locks"));
        assert_eq!(place, Path::new("/locks/30/83/250.lockc"));
    }

    #[test]
    fn a_lock_is_a_file_of_its_own_with_its_directories() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("log");
        let file = File::create(&path).unwrap();
        let lock = FileLock::of(&path, &file, Some(&home.path().join("locks"))).unwrap();
        assert!(home.path().join("locks").is_dir());
        drop(lock);
        // Where nothing can be made, or a link leads elsewhere, the file itself is locked.
        FileLock::of(&path, &file, Some(&path)).unwrap();
        let (elsewhere, links) = (home.path().join("elsewhere"), home.path().join("links"));
        fs::create_dir(&elsewhere).unwrap();
        fs::create_dir(&links).unwrap();
        let first = stand_in(&path, &links).strip_prefix(&links).unwrap().iter().next().unwrap().to_owned();
        std::os::unix::fs::symlink(&elsewhere, links.join(first)).unwrap();
        FileLock::of(&path, &file, Some(&links)).unwrap();
        assert_eq!(fs::read_dir(&elsewhere).unwrap().flatten().filter(|one| one.path().is_file()).count(), 0);
    }
}
