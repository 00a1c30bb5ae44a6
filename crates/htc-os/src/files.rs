//! Creation of scratch directories for an account, and atomic replacement of files.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat};
use nix::sys::stat::{Mode, fchmod, fstat, mkdirat};
use nix::unistd::{Gid, Uid, UnlinkatFlags, fchown, unlinkat};

use super::identity::effective_uid;
use htc_base::process::ProcessIdentity;

/// Creates one directory with exactly the given mode. The directory belongs to `owner`, or to us if `owner`
/// is `None`.
///
/// # Errors
/// Returns the error of `mkdir`, `chmod` or `chown`. After a failed `chmod` or `chown`, the directory is
/// removed.
pub fn make_directory(path: &Path, mode: u32, owner: Option<&ProcessIdentity>) -> io::Result<()> {
    let directory = HeldDirectory::make(path)?;
    directory.set_mode_and_owner(mode, owner).inspect_err(|_| directory.remove_if_empty())
}

/// Directory that we created and refer to by a descriptor. The descriptor always refers to the same
/// directory, even if another process renames the directory and puts a link in its place.
#[derive(Debug)]
pub struct HeldDirectory {
    descriptor: OwnedFd,
    parent: OwnedFd,
    name: OsString,
}

impl AsRawFd for HeldDirectory {
    fn as_raw_fd(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }
}

impl HeldDirectory {
    /// Creates a directory with mode 0700.
    ///
    /// # Errors
    /// Returns the error of `mkdir` or `open`.
    pub fn make(path: &Path) -> io::Result<Self> {
        let name = path.file_name().ok_or(Errno::EINVAL)?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let parent = open(parent, OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())?;
        Self::make_at(parent, name)
    }

    /// Creates a directory within this directory, even if this directory has been renamed.
    ///
    /// # Errors
    /// Returns the error of `mkdir` or `open`.
    pub fn make_subdirectory(&self, name: &OsStr) -> io::Result<Self> {
        Self::make_at(self.descriptor.try_clone()?, name)
    }

    fn make_at(parent: OwnedFd, name: &OsStr) -> io::Result<Self> {
        mkdirat(&parent, name, Mode::S_IRWXU)?;
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let itself = openat(&parent, name, flags, Mode::empty())?;
        Ok(HeldDirectory { descriptor: itself, parent, name: name.to_owned() })
    }

    /// Opens the path of the directory again, to refer to a file system that has been mounted there since.
    ///
    /// # Errors
    /// Returns the error of `open`.
    pub fn reopen(self) -> io::Result<Self> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let itself = openat(&self.parent, self.name.as_os_str(), flags, Mode::empty())?;
        Ok(HeldDirectory { descriptor: itself, ..self })
    }

    /// Sets the mode of the directory, and the owner if `owner` is given.
    ///
    /// # Errors
    /// Returns the error of `chown` or `chmod`, or EPERM if this is not the directory that was created:
    /// another process may have moved a different directory to the path before it was opened.
    pub fn set_mode_and_owner(&self, mode: u32, owner: Option<&ProcessIdentity>) -> io::Result<()> {
        let mode = Mode::from_bits_truncate(mode);
        if let Some(owner) = owner {
            let status = fstat(&self.descriptor)?;
            let open_to_others =
                Mode::from_bits_truncate(status.st_mode).intersects(Mode::S_IWGRP | Mode::S_IWOTH);
            if (status.st_uid != effective_uid() && status.st_uid != owner.uid) || open_to_others {
                return Err(Errno::EPERM.into());
            }
            fchown(&self.descriptor, Some(Uid::from_raw(owner.uid)), Some(Gid::from_raw(owner.gid)))?;
        }
        // The mode is set after the owner, because chown clears the set-id bits; mkdir cannot set the mode,
        // because the umask clears some of its bits.
        Ok(fchmod(&self.descriptor, mode)?)
    }

    /// Removes the directory if it is empty and still at its original path.
    pub fn remove_if_empty(&self) {
        let _ = unlinkat(&self.parent, self.name.as_os_str(), UnlinkatFlags::RemoveDir);
    }
}

/// Creates a directory and its missing parents with the given mode, ignoring the umask. If the directory
/// already exists, its mode is changed; existing parents keep their mode.
///
/// # Errors
/// Returns the error of `mkdir` or `chmod`, or EEXIST if the path is not a directory.
pub fn make_directories(path: &Path, mode: u32) -> io::Result<()> {
    let is_missing = |it: &&Path| !it.as_os_str().is_empty() && !it.is_dir();
    let missing: Vec<&Path> = path.ancestors().take_while(is_missing).collect();
    for directory in missing.into_iter().rev() {
        match fs::DirBuilder::new().mode(mode).create(directory) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && directory.is_dir() => {}
            made => made.and_then(|()| fs::set_permissions(directory, Permissions::from_mode(mode)))?,
        }
    }
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// Opens a regular file, or creates it if the options say so. Any other kind of file is not even opened,
/// because opening a FIFO may block and opening a device may have side effects.
///
/// # Errors
/// Returns the error of `open`, or `InvalidData` if the path is not a regular file.
pub fn open_regular_file(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let regular = |is: bool| match is {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::InvalidData, "is not a regular file")),
    };
    match fs::metadata(path) {
        Ok(status) => regular(status.is_file())?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    // Between the check and this call the file may have been replaced by a FIFO, whose opening must not
    // block.
    let file = options.custom_flags(nix::libc::O_NONBLOCK | nix::libc::O_NOCTTY).open(path)?;
    regular(file.metadata()?.is_file())?;
    Ok(file)
}

/// Reads the beginning of a regular file, at most `limit` bytes. The path must not be a link.
///
/// # Errors
/// Returns the error of `open` or `read`, or `InvalidData` if the path is not a regular file.
pub fn read_regular_file(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    use std::io::Read;
    let flags = nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK | nix::libc::O_NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "is not a regular file"));
    }
    let mut text = Vec::new();
    file.take(limit).read_to_end(&mut text)?;
    Ok(text)
}

/// Prefix of the names of the temporary files of [`replace_file`]. A temporary file is left behind if the
/// program is killed while it writes.
pub const TEMPORARY_PREFIX: &str = ".replace";

/// Writes a file under a temporary name and renames it to `path`, so that other processes never read a
/// partial file.
///
/// # Errors
/// Returns the error of the file system. An existing file is then unchanged.
pub fn replace_file(
    path: &Path,
    content: &[u8],
    mode: u32,
    owner: Option<&ProcessIdentity>,
) -> io::Result<()> {
    use std::io::Write;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(TEMPORARY_PREFIX).tempfile_in(directory)?;
    file.write_all(content)?;
    file.as_file().set_permissions(fs::Permissions::from_mode(mode))?;
    if let Some(owner) = owner {
        fchown(file.as_file(), Some(Uid::from_raw(owner.uid)), Some(Gid::from_raw(owner.gid)))?;
    }
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn directories_are_created_with_exactly_their_mode() {
        let home = tempfile::tempdir().unwrap();
        let before = mode(home.path());
        let deep = home.path().join("a/b");
        make_directories(&deep, 0o1777).unwrap();
        assert_eq!([mode(home.path()), mode(&home.path().join("a")), mode(&deep)], [before, 0o1777, 0o1777]);
        // An existing directory gets the mode, but existing parents keep theirs.
        make_directories(&deep, 0o700).unwrap();
        assert_eq!([mode(&home.path().join("a")), mode(&deep)], [0o1777, 0o700]);
        let file = home.path().join("file");
        fs::write(&file, "x").unwrap();
        assert_eq!(make_directories(&file, 0o700).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert!(make_directories(&file.join("c"), 0o700).is_err());
    }

    #[test]
    fn a_directory_has_exactly_its_mode() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("d");
        make_directory(&path, 0o777, None).unwrap();
        assert_eq!(mode(&path), 0o777);
        assert_eq!(make_directory(&path, 0o777, None).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn a_link_in_place_of_a_directory_is_not_changed() {
        let home = tempfile::tempdir().unwrap();
        let outside = home.path().join("outside");
        make_directory(&outside, 0o755, None).unwrap();
        let path = home.path().join("dir_7");
        let top = HeldDirectory::make(&path).unwrap();
        let moved = home.path().join("moved");
        fs::rename(&path, &moved).unwrap();
        symlink(&outside, &path).unwrap();
        let scratch = top.make_subdirectory("scratch".as_ref()).unwrap();
        fs::rename(moved.join("scratch"), moved.join("s2")).unwrap();
        symlink(&outside, moved.join("scratch")).unwrap();
        let own = crate::identity::identity_of_ids(effective_uid(), nix::unistd::getegid().as_raw());
        scratch.set_mode_and_owner(0o711, Some(&own)).unwrap();
        top.set_mode_and_owner(0o711, None).unwrap();
        assert_eq!((mode(&outside), mode(&moved), mode(&moved.join("s2"))), (0o755, 0o711, 0o711));
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    }

    #[test]
    fn the_owner_of_a_directory_placed_by_another_user_is_not_changed() {
        let home = tempfile::tempdir().unwrap();
        let made = HeldDirectory::make(&home.path().join("d")).unwrap();
        made.set_mode_and_owner(0o777, None).unwrap();
        let own = crate::identity::identity_of_ids(effective_uid(), nix::unistd::getegid().as_raw());
        let error = made.set_mode_and_owner(0o700, Some(&own)).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(Errno::EPERM as i32));
    }

    #[test]
    fn a_replaced_file_has_its_mode_and_content() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("f");
        replace_file(&path, b"one", 0o600, None).unwrap();
        replace_file(&path, b"two", 0o644, None).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(mode(&path) & 0o777, 0o644);
    }
}
