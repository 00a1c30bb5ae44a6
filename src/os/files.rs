//! Scratch directories: made, handed to an account, measured and removed, whatever a job has put into them.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use rustc_hash::FxHashSet;

use crate::process::Identity;

/// Makes one directory with exactly this mode, owned by the account where one is given.
///
/// # Errors
/// Those of `mkdir`, `chmod` and `chown`; nothing is left behind then.
pub fn make_directory(path: &Path, mode: u32, owner: Option<&Identity>) -> io::Result<()> {
    fs::DirBuilder::new().mode(0o700).create(path)?;
    let finish = || {
        if let Some(owner) = owner {
            chown(path, Some(owner.uid), Some(owner.gid))?;
        }
        // Last, since the umask would have taken bits away and chown does take set-id bits away.
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
    };
    finish().inspect_err(|_| drop(fs::remove_dir(path)))
}

/// Writes a whole file under a temporary name and puts it in place, so that nobody ever sees half of it.
///
/// # Errors
/// Those of the file system; the old file, if any, is then still there.
pub fn replace(path: &Path, content: &[u8], mode: u32, owner: Option<&Identity>) -> io::Result<()> {
    use std::io::Write;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".replace").tempfile_in(directory)?;
    file.write_all(content)?;
    file.as_file().set_permissions(fs::Permissions::from_mode(mode))?;
    if let Some(owner) = owner {
        chown(file.path(), Some(owner.uid), Some(owner.gid))?;
    }
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Something in a tree that could not be removed.
#[derive(Debug)]
pub struct Unremoved {
    /// Which file or directory.
    pub path: PathBuf,
    /// Why.
    pub error: io::Error,
}

/// How long a path may get; with a name behind it the system still takes it (PATH_MAX is 4096).
const LONG: usize = 2048;

/// Removes a tree and tells what could not be removed. Links are removed, never followed. A directory of our own
/// without the right to write is opened up for it and, when something in it stays, gets its mode back.
///
/// A tree that is not there is no failure. Depth costs no stack, and directories whose paths get too long for the system
/// are moved up to the root on the way.
pub fn remove_tree(root: &Path) -> Vec<Unremoved> {
    let mut failures = Vec::new();
    let mut moved = 0usize;
    // Each directory is looked at twice: first to go down, then, everything below being gone, to be removed.
    let mut waiting = vec![(root.to_owned(), None::<u32>)];
    while let Some((path, opened)) = waiting.pop() {
        if let Some(mode) = opened {
            if let Err(error) = fs::remove_dir(&path) {
                drop(fs::set_permissions(&path, fs::Permissions::from_mode(mode)));
                // What stays inside has been told already.
                let told = failures.iter().any(|other: &Unremoved| other.path.starts_with(&path));
                if !told {
                    failures.push(Unremoved { path, error });
                }
            }
            continue;
        }
        let status = match fs::symlink_metadata(&path) {
            Ok(status) => status,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => {
                failures.push(Unremoved { path, error });
                continue;
            }
        };
        if status.is_dir() && path.as_os_str().len() > LONG {
            let nearer = root.join(format!(".deep.{}.{moved}", std::process::id()));
            moved += 1;
            // What is moved to another directory has to be writable itself.
            drop(fs::set_permissions(&path, fs::Permissions::from_mode(0o700)));
            if fs::rename(&path, &nearer).is_ok() {
                waiting.push((nearer, None));
                continue;
            }
        }
        if !status.is_dir() {
            if let Err(error) = fs::remove_file(&path) {
                failures.push(Unremoved { path, error });
            }
            continue;
        }
        let mode = status.mode() & 0o7777;
        if mode & 0o700 != 0o700 {
            drop(fs::set_permissions(&path, fs::Permissions::from_mode(mode | 0o700)));
        }
        waiting.push((path.clone(), Some(mode)));
        match fs::read_dir(&path) {
            Ok(entries) => waiting.extend(entries.flatten().map(|entry| (entry.path(), None))),
            Err(error) => failures.push(Unremoved { path, error }),
        }
    }
    failures
}

/// What a tree takes on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeSize {
    /// Blocks in use, in bytes; a file with several names counts once.
    pub bytes: u64,
    /// Entries, the root left out.
    pub files: u64,
}

/// Measures a tree without following links; what cannot be read counts as nothing.
pub fn measure(root: &Path) -> TreeSize {
    let mut size = TreeSize::default();
    let mut seen = FxHashSet::default();
    let mut waiting = vec![root.to_owned()];
    while let Some(directory) = waiting.pop() {
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            let Ok(status) = entry.metadata() else { continue };
            size.files += 1;
            if status.nlink() > 1 && !status.is_dir() && !seen.insert((status.dev(), status.ino())) {
                continue;
            }
            size.bytes += status.blocks() * 512;
            if status.is_dir() {
                waiting.push(entry.path());
            }
        }
    }
    size
}

/// Gives a whole tree to an account; links themselves, not what they point at.
///
/// # Errors
/// The first failure of `lchown`.
pub fn own_tree(root: &Path, owner: &Identity) -> io::Result<()> {
    let mut waiting = vec![root.to_owned()];
    while let Some(path) = waiting.pop() {
        std::os::unix::fs::lchown(&path, Some(owner.uid), Some(owner.gid))?;
        if fs::symlink_metadata(&path)?.is_dir() {
            for entry in fs::read_dir(&path)? {
                waiting.push(entry?.path());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_with_closed_directories_links_and_depth_goes_away() {
        let home = tempfile::tempdir().unwrap();
        let outside = home.path().join("outside");
        fs::write(&outside, "keep").unwrap();
        let root = home.path().join("scratch");
        make_directory(&root, 0o755, None).unwrap();
        assert_eq!(fs::metadata(&root).unwrap().mode() & 0o7777, 0o755);
        let mut deep = root.clone();
        for _ in 0..200 {
            deep.push("d");
            fs::create_dir(&deep).unwrap();
        }
        let closed = root.join("closed");
        fs::create_dir(&closed).unwrap();
        fs::write(closed.join("file"), "x").unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
        std::os::unix::fs::symlink(&outside, root.join("link")).unwrap();
        assert!(remove_tree(&root).is_empty());
        assert!(!root.exists());
        assert_eq!(fs::read_to_string(&outside).unwrap(), "keep");
        assert!(remove_tree(&root).is_empty());
    }

    #[test]
    fn a_tree_whose_paths_are_too_long_for_the_system_goes_away() {
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
        assert!(remove_tree(&root).is_empty());
        assert!(!root.exists());
    }

    #[test]
    fn a_file_with_two_names_is_measured_once() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("a"), vec![1; 100_000]).unwrap();
        let once = measure(home.path());
        fs::hard_link(home.path().join("a"), home.path().join("b")).unwrap();
        assert_eq!(measure(home.path()), TreeSize { bytes: once.bytes, files: 2 });
    }

    #[test]
    fn a_replaced_file_has_its_mode_and_content() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("f");
        replace(&path, b"one", 0o600, None).unwrap();
        replace(&path, b"two", 0o644, None).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o644);
    }
}
