//! Removal of directory trees that other processes may change at the same time. All steps use descriptors, so
//! that no path is resolved twice.
//!
//! The owner of a directory can replace it by a link at any moment. A path that was a directory of the job when it was
//! checked could lead anywhere when it is used with root's permissions; a descriptor always refers to the same
//! directory.

use std::ffi::{CStr, CString, OsStr};
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use nix::dir::{Dir, Type};
use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, open, openat, openat2, renameat};
use nix::sys::stat::{Mode, fchmod, fstat};
use nix::unistd::{UnlinkatFlags, unlinkat};

/// File or directory that could not be removed.
#[derive(Debug)]
pub struct RemovalFailure {
    /// Path of the file or directory.
    pub path: PathBuf,
    /// Reason why the file or directory could not be removed.
    pub error: io::Error,
}

/// Maximum number of directories open at the same time. Directories at a greater depth are moved up to the
/// root of the tree.
const MAX_OPEN_DIRECTORIES: usize = 64;

/// Maximum number of times that a directory is read again because it contains new entries after all earlier
/// entries were removed.
const MAX_RESCANS: u32 = 3;

/// Maximum number of names that are tried for a directory that is moved up to the root of the tree.
const MAX_NAME_TRIES: u32 = 100;

/// Flags for opening a directory without following a link.
const DIRECTORY_OPEN_FLAGS: OFlag = OFlag::O_RDONLY
    .union(OFlag::O_DIRECTORY)
    .union(OFlag::O_NOFOLLOW)
    .union(OFlag::O_NONBLOCK)
    .union(OFlag::O_CLOEXEC);

/// Removes a directory tree and returns the entries that could not be removed. Links are removed and never
/// followed, even if a link replaces a directory during the removal. If a directory of our account has no
/// write permission, it is made writable; its mode is restored if some of its entries remain.
///
/// It is not a failure if the tree does not exist. The depth of the tree is not limited by the stack or by
/// the number of descriptors: directories that are too deep, or for which no descriptor is left, are moved up
/// to the root of the tree.
pub fn remove_tree(root: &Path) -> Vec<RemovalFailure> {
    match TreeRemoval::new(root) {
        Ok(mut removal) => {
            while removal.remove_next() {}
            removal.failures
        }
        Err(Errno::ENOENT) => Vec::new(),
        Err(errno) => vec![RemovalFailure { path: root.to_owned(), error: errno.into() }],
    }
}

/// Sets the mode of every directory in a tree to 0700. Directories below the maximum depth of [`remove_tree`]
/// are skipped, because [`remove_tree`] has moved them up.
pub fn make_directories_private(root: &Path) {
    let Ok((parent, name)) = open_parent(root) else { return };
    let mut levels = vec![OpenDirectory::parent_of_root(parent, name)];
    while let Some(level) = levels.last_mut() {
        let Some(entry) = level.entries.pop() else {
            levels.pop();
            continue;
        };
        if levels.len() <= MAX_OPEN_DIRECTORIES
            && entry.may_be_directory
            && let Some(parent) = levels.last()
            && let Ok(entered) = OpenDirectory::enter(parent.directory.as_fd(), entry.name)
        {
            let _ = fchmod(&entered.directory, Mode::S_IRWXU);
            levels.push(entered);
        }
    }
}

/// Opens the parent directory of the tree, and returns it with the name of the tree in it.
fn open_parent(root: &Path) -> nix::Result<(OwnedFd, CString)> {
    let name = root.file_name().and_then(|name| CString::new(name.as_bytes()).ok()).ok_or(Errno::EINVAL)?;
    let parent = root.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok((open(parent, OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())?, name))
}

/// Entry of a directory.
struct DirectoryEntry {
    name: CString,
    may_be_directory: bool,
}

/// Open directory on the path from the root of the tree to the current entry.
struct OpenDirectory {
    directory: OwnedFd,
    name: CString,
    /// Original mode of the directory if the mode was changed, or `None`.
    original_mode: Option<Mode>,
    /// Entries that have not been removed yet.
    entries: Vec<DirectoryEntry>,
    /// True if the removal of an entry of the directory has failed and has been reported.
    failure_reported: bool,
    /// Number of times that the directory may still be read again.
    rescans_left: u32,
}

impl OpenDirectory {
    /// Creates the level for the parent directory of the tree, whose only entry is the root of the tree.
    fn parent_of_root(directory: OwnedFd, name: CString) -> Self {
        let entries = vec![DirectoryEntry { name, may_be_directory: true }];
        OpenDirectory {
            directory,
            name: CString::default(),
            original_mode: None,
            entries,
            failure_reported: false,
            rescans_left: 0,
        }
    }

    /// Opens the directory `name` in the directory `parent`, and makes it writable if that is necessary and
    /// permitted.
    fn enter(parent: BorrowedFd<'_>, name: CString) -> nix::Result<Self> {
        let (directory, changed) = match open_directory(parent, name.as_c_str()) {
            Ok(directory) => {
                let mode = mode_of(&directory)?;
                let opened =
                    !mode.contains(Mode::S_IRWXU) && fchmod(&directory, mode | Mode::S_IRWXU).is_ok();
                (directory, opened.then_some(mode))
            }
            Err(Errno::EACCES) => open_with_chmod(parent, &name)?,
            Err(errno) => return Err(errno),
        };
        let entries = read_entries(&directory)?;
        Ok(OpenDirectory {
            directory,
            name,
            original_mode: changed,
            entries,
            failure_reported: false,
            rescans_left: MAX_RESCANS,
        })
    }
}

/// Opens a directory, unless it is a mount point: another file system does not belong to the tree.
fn open_directory(parent: BorrowedFd<'_>, name: &CStr) -> nix::Result<OwnedFd> {
    match openat2(
        parent,
        name,
        OpenHow::new().flags(DIRECTORY_OPEN_FLAGS).resolve(ResolveFlag::RESOLVE_NO_XDEV),
    ) {
        Err(Errno::EXDEV) => Err(Errno::EBUSY),
        // The kernel does not have openat2, or a container forbids it.
        Err(Errno::ENOSYS | Errno::EPERM) => openat(parent, name, DIRECTORY_OPEN_FLAGS, Mode::empty()),
        opened => opened,
    }
}

/// Opens a directory after giving us access to it. Until then an O_PATH descriptor holds the directory, so
/// that the mode of no other directory is changed.
fn open_with_chmod(parent: BorrowedFd<'_>, name: &CStr) -> nix::Result<(OwnedFd, Option<Mode>)> {
    let handle = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let handle = openat(parent, name, handle, Mode::empty())?;
    let mode = mode_of(&handle)?;
    let itself = format!("/proc/self/fd/{}", handle.as_raw_fd());
    let opened = fs::Permissions::from_mode((mode | Mode::S_IRWXU).bits());
    fs::set_permissions(itself, opened).map_err(|_| Errno::EACCES)?;
    Ok((openat(&handle, c".", DIRECTORY_OPEN_FLAGS, Mode::empty())?, Some(mode)))
}

fn mode_of(file: &OwnedFd) -> nix::Result<Mode> {
    Ok(Mode::from_bits_truncate(fstat(file)?.st_mode))
}

fn read_entries(directory: &OwnedFd) -> nix::Result<Vec<DirectoryEntry>> {
    let duplicate =
        directory.try_clone().map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or(0)))?;
    let mut entries = Vec::new();
    for entry in Dir::from_fd(duplicate)?.iter() {
        let entry = entry?;
        let name = entry.file_name();
        if name != c"." && name != c".." {
            let may_be_directory = matches!(entry.file_type(), None | Some(Type::Directory));
            entries.push(DirectoryEntry { name: name.to_owned(), may_be_directory });
        }
    }
    Ok(entries)
}

/// Removal in progress.
struct TreeRemoval {
    root: PathBuf,
    /// Open directories: the parent of the tree, the root of the tree, and the path down to the current
    /// directory.
    levels: Vec<OpenDirectory>,
    /// Number of names that have been used for directories moved up to the root of the tree.
    names_used: u32,
    failures: Vec<RemovalFailure>,
}

impl TreeRemoval {
    fn new(root: &Path) -> nix::Result<Self> {
        let (parent, name) = open_parent(root)?;
        let levels = vec![OpenDirectory::parent_of_root(parent, name)];
        Ok(TreeRemoval { root: root.to_owned(), levels, names_used: 0, failures: Vec::new() })
    }

    /// Removes or enters the next entry. Returns false if the removal is complete.
    fn remove_next(&mut self) -> bool {
        let Some(level) = self.levels.last_mut() else { return false };
        match level.entries.pop() {
            Some(entry) => self.remove_entry(entry),
            None => self.leave_directory(),
        }
        true
    }

    /// Removes an entry if it is not a directory, or enters it.
    fn remove_entry(&mut self, entry: DirectoryEntry) {
        let Some(level) = self.levels.last() else { return };
        let parent = level.directory.as_fd();
        if !entry.may_be_directory {
            match unlinkat(parent, entry.name.as_c_str(), UnlinkatFlags::NoRemoveDir) {
                Ok(()) | Err(Errno::ENOENT) => return,
                Err(Errno::EISDIR) => {}
                Err(errno) => return self.record_failure(&entry.name, errno),
            }
        }
        let deep = self.levels.len() > MAX_OPEN_DIRECTORIES;
        match OpenDirectory::enter(parent, entry.name.clone()) {
            Ok(_) if deep => self.move_to_root(entry),
            Ok(entered) => self.levels.push(entered),
            Err(Errno::EMFILE | Errno::ENFILE) if self.levels.len() > 2 => self.move_to_root(entry),
            Err(Errno::ENOENT) => {}
            // The entry is not a directory (any more); a link is removed like a file.
            Err(Errno::ENOTDIR | Errno::ELOOP) => {
                match unlinkat(parent, entry.name.as_c_str(), UnlinkatFlags::NoRemoveDir) {
                    Ok(()) | Err(Errno::ENOENT) => {}
                    Err(errno) => self.record_failure(&entry.name, errno),
                }
            }
            Err(errno) => {
                // A directory that cannot be entered can still be removed if it is empty.
                if unlinkat(parent, entry.name.as_c_str(), UnlinkatFlags::RemoveDir).is_err() {
                    self.record_failure(&entry.name, errno);
                }
            }
        }
    }

    /// Moves an entry of the current directory to the root of the tree, where it is removed later.
    fn move_to_root(&mut self, entry: DirectoryEntry) {
        let [_, root, .., level] = self.levels.as_mut_slice() else {
            return self.record_failure(&entry.name, Errno::EMFILE);
        };
        let mut result = Err(Errno::EEXIST);
        for _ in 0..MAX_NAME_TRIES {
            let Ok(name) = CString::new(format!(".deep.{}.{}", std::process::id(), self.names_used)) else {
                break;
            };
            self.names_used = self.names_used.wrapping_add(1);
            result = renameat(&level.directory, entry.name.as_c_str(), &root.directory, name.as_c_str());
            match result {
                Ok(()) => {
                    root.entries.push(DirectoryEntry { name, may_be_directory: true });
                    break;
                }
                // The name is already in use.
                Err(Errno::EEXIST | Errno::ENOTEMPTY | Errno::ENOTDIR) => {}
                Err(_) => break,
            }
        }
        if let Err(errno) = result {
            self.record_failure(&entry.name, errno);
        }
    }

    /// Removes the current directory, whose entries have been removed.
    fn leave_directory(&mut self) {
        let Some(mut level) = self.levels.pop() else { return };
        let Some(parent) = self.levels.last_mut() else { return };
        let name = level.name.as_c_str();
        let removed = match unlinkat(&parent.directory, name, UnlinkatFlags::RemoveDir) {
            // The directory has been replaced by a file or link.
            Err(Errno::ENOTDIR) => unlinkat(&parent.directory, name, UnlinkatFlags::NoRemoveDir),
            removed => removed,
        };
        match removed {
            Ok(()) | Err(Errno::ENOENT) => {}
            Err(Errno::ENOTEMPTY) if !level.failure_reported && level.rescans_left > 0 => {
                level.rescans_left -= 1;
                level.entries = read_entries(&level.directory).unwrap_or_default();
                self.levels.push(level);
            }
            Err(errno) => {
                if let Some(mode) = level.original_mode {
                    let _ = fchmod(&level.directory, mode);
                }
                if level.failure_reported {
                    parent.failure_reported = true;
                } else {
                    self.record_failure(&level.name, errno);
                }
            }
        }
    }

    /// Records that an entry of the current directory could not be removed.
    fn record_failure(&mut self, name: &CStr, errno: Errno) {
        let mut path = self.root.clone();
        let names = self.levels.iter().skip(2).map(|level| level.name.as_c_str());
        // In the parent directory of the tree, the only entry is the root itself, whose path is already
        // complete.
        let last = (self.levels.len() > 1).then_some(name);
        path.extend(names.chain(last).map(|name| OsStr::from_bytes(name.to_bytes())));
        if let Some(level) = self.levels.last_mut() {
            level.failure_reported = true;
        }
        self.failures.push(RemovalFailure { path, error: errno.into() });
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;

    #[test]
    fn a_deep_tree_with_links_and_unreadable_directories_is_removed() {
        let home = tempfile::tempdir().unwrap();
        let outside = home.path().join("outside");
        fs::write(&outside, "keep").unwrap();
        let root = home.path().join("scratch");
        let mut deep = root.clone();
        for _ in 0..200 {
            deep.push("d");
        }
        fs::create_dir_all(&deep).unwrap();
        let closed = root.join("closed");
        fs::create_dir(&closed).unwrap();
        fs::write(closed.join("file"), "x").unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
        symlink(&outside, root.join("link")).unwrap();
        symlink(home.path(), root.join("directory")).unwrap();
        assert!(remove_tree(&root).is_empty());
        assert!(!root.exists());
        assert_eq!(fs::read_to_string(&outside).unwrap(), "keep");
        assert!(remove_tree(&root).is_empty(), "nothing is no failure");
        assert!(remove_tree(&root.join("below/nothing")).is_empty());
    }

    #[test]
    fn mounts_inside_a_tree_are_not_part_of_it() {
        if !crate::mounts::can_mount() {
            return;
        }
        let home = tempfile::tempdir().unwrap();
        let (root, outside) = (home.path().join("scratch"), home.path().join("outside"));
        let place = root.join("d/place");
        fs::create_dir_all(&place).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("file"), "keep").unwrap();
        let (none, flags) = (None::<&str>, nix::mount::MsFlags::MS_BIND);
        nix::mount::mount(Some(&outside), &place, none, flags, none).unwrap();
        let left = remove_tree(&root);
        crate::mounts::unmount_below(&root);
        assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "keep");
        assert_eq!(left.iter().map(|one| one.path.as_path()).collect::<Vec<_>>(), [place.as_path()]);
        assert!(remove_tree(&root).is_empty());
    }

    #[test]
    fn a_tree_with_too_long_paths_is_removed() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("scratch");
        let chain = |top: &Path| {
            let end = top.join("0123456789abcde/".repeat(120));
            fs::create_dir_all(&end).unwrap();
            fs::write(end.join("file"), "x").unwrap();
            end
        };
        let first_end = chain(&root);
        let second = home.path().join("second");
        chain(&second);
        fs::rename(&second, first_end.join("s")).unwrap();
        let third = home.path().join("third");
        chain(&third);
        fs::rename(&third, first_end.join("s").join("0123456789abcde/".repeat(120)).join("t")).unwrap();
        // The job has files with the names to which `TreeRemoval` would move directories.
        fs::create_dir(root.join(format!(".deep.{}.0", std::process::id()))).unwrap();
        fs::write(root.join(format!(".deep.{}.1", std::process::id())), "x").unwrap();
        assert!(remove_tree(&root).is_empty());
        assert!(!root.exists());
    }

    /// Creates a directory outside of the tree with a file in it, and a tree with the directory `a/b`.
    fn tree() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let outside = home.path().join("outside");
        fs::create_dir_all(outside.join("b")).unwrap();
        for file in ["one", "two", "b/three"] {
            fs::write(outside.join(file), "keep").unwrap();
        }
        let root = home.path().join("dir_7");
        fs::create_dir_all(root.join("a/b")).unwrap();
        for file in ["a/one", "a/two", "a/b/three"] {
            fs::write(root.join(file), "x").unwrap();
        }
        (home, outside, root)
    }

    #[test]
    fn a_directory_that_is_replaced_by_a_link_is_not_followed() {
        let count = |path: &Path| fs::read_dir(path).map_or(0, |entries| entries.count());
        // After each number of steps, a directory or the root of the tree is replaced by a link to the
        // outside.
        for victim in ["a", "a/b", ""] {
            for steps in 0..12 {
                let (home, outside, root) = tree();
                let mut removal = TreeRemoval::new(&root).unwrap();
                for _ in 0..steps {
                    removal.remove_next();
                }
                let path = if victim.is_empty() { root.clone() } else { root.join(victim) };
                if fs::rename(&path, home.path().join("elsewhere")).is_ok() {
                    symlink(&outside, &path).unwrap();
                }
                while removal.remove_next() {}
                assert_eq!((count(&outside), count(&outside.join("b"))), (3, 1), "{victim} {steps}");
                assert!(remove_tree(&root).is_empty(), "the link is removed itself");
                assert!(fs::symlink_metadata(&root).is_err());
            }
        }
    }

    #[test]
    fn remaining_files_are_reported_once_and_modes_restored() {
        let (_home, _, root) = tree();
        let closed = root.join("a/b");
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o500)).unwrap();
        let mut removal = TreeRemoval::new(&root).unwrap();
        // Runs until `a/b` is entered: the levels are then parent, root, a, b.
        while removal.levels.len() < 4 {
            assert!(removal.remove_next());
        }
        assert_eq!(fs::metadata(&closed).unwrap().mode() & 0o777, 0o700);
        // Creates a new file whenever the directory is empty.
        let create_late_file = || fs::write(closed.join("late"), "x").is_ok();
        while create_late_file() && removal.remove_next() {}
        let reported: Vec<_> = removal.failures.iter().map(|unremoved| unremoved.path.clone()).collect();
        assert_eq!(reported, std::slice::from_ref(&closed));
        assert_eq!(fs::metadata(&closed).unwrap().mode() & 0o777, 0o500);
        assert!(closed.join("late").exists());
    }

    #[test]
    fn permission_changes_do_not_follow_links() {
        let (_home, outside, root) = tree();
        for open in [&outside, &root.join("a")] {
            fs::set_permissions(open, fs::Permissions::from_mode(0o755)).unwrap();
        }
        symlink(&outside, root.join("link")).unwrap();
        make_directories_private(&root);
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!((mode(&root), mode(&root.join("a")), mode(&outside)), (0o700, 0o700, 0o755));
        let link = root.with_file_name("as_root");
        symlink(&outside, &link).unwrap();
        make_directories_private(&link);
        assert_eq!(mode(&outside), 0o755);
    }
}
