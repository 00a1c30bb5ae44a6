//! Directory in which the hooks of a queue are tested: a copy of the configuration's directory, in which all
//! references to the original are replaced, or the original directory itself.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};
use tempfile::TempDir;

use super::queue_error::QueueError;
use htc_base::time::MonotonicTime;
use htc_os::clock;

/// Maximum number of files and directories that are copied.
const MAX_ENTRIES: u32 = 20_000;
/// Maximum size in bytes of a file in which paths are replaced; a longer file is copied unchanged.
const MAX_TEXT_BYTES: usize = 1 << 20;

/// Number of bytes of a file that are copied between two checks of the time.
const COPIED_BYTES: u64 = 16 << 20;

/// Directory with the configuration, the hooks and the queue.
pub(super) struct QueueDirectory {
    /// Temporary copy of the directory, or `None` if the hooks work on the original.
    copy: Option<TempDir>,
    original: DirectoryNames,
    /// Configuration file that names the hooks.
    pub config_file: PathBuf,
}

/// Paths by which texts may refer to a directory.
struct DirectoryNames {
    real: PathBuf,
    /// Path of the directory as given, made absolute.
    given: PathBuf,
}

impl QueueDirectory {
    /// Uses the original directory of the configuration without copying it.
    pub(super) fn in_place(config_file: &Path) -> Result<Self, QueueError> {
        let original = DirectoryNames::of_config(config_file)?;
        Ok(QueueDirectory { copy: None, original, config_file: config_file.to_owned() })
    }

    /// Copies the directory of the configuration. In text files (configuration, scripts, ads), absolute paths of the
    /// original are replaced by those of the copy. Symbolic links into the original lead into the copy. Copying fails
    /// at the time `end`.
    pub(super) fn copy_of(config_file: &Path, end: Option<MonotonicTime>) -> Result<Self, QueueError> {
        let original = DirectoryNames::of_config(config_file)?;
        let copy = tempfile::Builder::new().prefix("htc-hook-queue.").tempdir()?;
        let root = copy.path().canonicalize()?;
        let mut left = MAX_ENTRIES;
        TreeCopier { original: &original, root: &root, end }.copy_tree(&original.real, &root, &mut left)?;
        let config_file = root.join(config_file.file_name().unwrap_or_default());
        Ok(QueueDirectory { copy: Some(copy), original, config_file })
    }

    /// Returns the directory in which the hooks work.
    pub(super) fn path(&self) -> &Path {
        self.copy.as_ref().map_or(&self.original.real, TempDir::path)
    }

    /// Returns the original directory.
    pub(super) fn original(&self) -> &Path {
        &self.original.real
    }

    /// Returns true if the hooks work on a copy.
    pub(super) fn is_copy(&self) -> bool {
        self.copy.is_some()
    }

    /// Returns the path at which a hook is called. A path in the original is replaced by the path in the copy. A hook
    /// outside of the original directory is rejected, because it would work on the original queue.
    pub(super) fn hook_path(&self, knob: &str, path: BString) -> Result<BString, QueueError> {
        let Some(copy) = &self.copy else { return Ok(path) };
        let path = self.original.replace_in(&path, copy.path());
        let file = Path::new(std::ffi::OsStr::from_bytes(&path));
        let inside = || -> std::io::Result<bool> {
            let directory = file.parent().unwrap_or(Path::new("/")).canonicalize()?;
            Ok(directory.starts_with(copy.path().canonicalize()?))
        };
        if inside().unwrap_or(false) {
            return Ok(path.into());
        }
        let (knob, directory) = (knob.to_owned(), self.original.real.clone());
        Err(QueueError::HookElsewhere { knob, path: path.into(), directory })
    }
}

impl DirectoryNames {
    fn of_config(config_file: &Path) -> Result<Self, QueueError> {
        let directory =
            config_file.parent().filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let real = directory
            .canonicalize()
            .map_err(|source| QueueError::Directory { path: directory.to_owned(), source })?;
        let given = std::path::absolute(directory)?;
        Ok(DirectoryNames { real, given })
    }

    /// Replaces every path of the directory in a text by the path `by`.
    fn replace_in(&self, text: &[u8], by: &Path) -> Vec<u8> {
        let mut text = replace_path(text, self.real.as_os_str().as_bytes(), by.as_os_str().as_bytes());
        if self.given != self.real {
            text = replace_path(&text, self.given.as_os_str().as_bytes(), by.as_os_str().as_bytes());
        }
        text
    }
}

/// Replaces a path in a text, except where it is only the beginning of a longer name or the end of another path.
fn replace_path(text: &[u8], path: &[u8], by: &[u8]) -> Vec<u8> {
    let in_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte) || *byte >= 0x80;
    let mut out = Vec::with_capacity(text.len());
    let mut from = 0;
    for at in text.find_iter(path) {
        let longer = text.get(at + path.len()).is_some_and(in_name);
        // In `${HOME}/queue`, the text `/queue` is the end of another path.
        let rest = at > 0 && (in_name(&text[at - 1]) || b"})".contains(&text[at - 1]));
        if !longer && !rest && path.len() > 1 {
            out.extend_from_slice(&text[from..at]);
            out.extend_from_slice(by);
            from = at + path.len();
        }
    }
    out.extend_from_slice(&text[from..]);
    out
}

struct TreeCopier<'a> {
    original: &'a DirectoryNames,
    root: &'a Path,
    /// Time at which copying fails, or `None` for no limit.
    end: Option<MonotonicTime>,
}

impl TreeCopier<'_> {
    /// Copies a directory with all its contents. `left` is the number of files and directories that may still be
    /// copied.
    fn copy_tree(&self, from: &Path, to: &Path, left: &mut u32) -> Result<(), QueueError> {
        std::fs::create_dir_all(to)?;
        for entry in std::fs::read_dir(from)? {
            let entry = entry?;
            self.check_time()?;
            *left = left.checked_sub(1).ok_or_else(|| QueueError::TooManyFiles { path: from.to_owned() })?;
            let (source, target) = (entry.path(), to.join(entry.file_name()));
            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.copy_tree(&source, &target, left)?;
            } else if kind.is_symlink() {
                self.copy_link(&source, &target)?;
            } else if kind.is_file() {
                self.copy_file(&source, &target)?;
            }
        }
        // The permissions are set last, because they may forbid writing to the directory.
        std::fs::set_permissions(to, std::fs::metadata(from)?.permissions())?;
        Ok(())
    }

    /// Returns an error if the time limit has expired.
    fn check_time(&self) -> Result<(), QueueError> {
        match self.end {
            Some(end) if clock::monotonic_now() >= end => Err(QueueError::CopyTimedOut),
            _ => Ok(()),
        }
    }

    /// Copies a file with its permissions and modification time. In text files, paths of the original are replaced by
    /// those of the copy.
    fn copy_file(&self, source: &Path, target: &Path) -> Result<(), QueueError> {
        let status = std::fs::metadata(source)?;
        let (mut from, mut to) = (std::fs::File::open(source)?, std::fs::File::create(target)?);
        while std::io::copy(&mut (&mut from).take(COPIED_BYTES), &mut to)? == COPIED_BYTES {
            self.check_time()?;
        }
        std::fs::set_permissions(target, status.permissions())?;
        if status.len() <= MAX_TEXT_BYTES as u64 {
            let text = std::fs::read(source)?;
            let new = self.original.replace_in(&text, self.root);
            if new != text && !text.contains(&0) {
                std::fs::set_permissions(target, std::fs::Permissions::from_mode(0o600))?;
                std::fs::write(target, new)?;
                std::fs::set_permissions(target, status.permissions())?;
            }
        }
        // The modification time is copied because some queues order their jobs by the age of the files.
        if let (Ok(time), Ok(file)) = (status.modified(), std::fs::File::open(target)) {
            let _ = file.set_modified(time);
        }
        Ok(())
    }

    /// Copies a symbolic link. If it leads into the original, the new link leads into the copy. If it leads to a file
    /// elsewhere, the file is copied, so that the hooks do not change it; a link to a program is kept. A link to a
    /// directory elsewhere is an error.
    fn copy_link(&self, source: &Path, target: &Path) -> Result<(), QueueError> {
        let Ok(real) = source.canonicalize() else {
            return Ok(symlink(std::fs::read_link(source)?, target)?);
        };
        if let Ok(rest) = real.strip_prefix(&self.original.real) {
            return Ok(symlink(self.root.join(rest), target)?);
        }
        let status = std::fs::metadata(&real)?;
        if status.is_dir() {
            return Err(QueueError::LinkElsewhere { link: source.to_owned(), target: real });
        }
        let mut head = [0; 4];
        let is_program = status.is_file()
            && status.mode() & 0o111 != 0
            && std::fs::File::open(&real).and_then(|mut file| file.read_exact(&mut head)).is_ok()
            && head == *b"\x7fELF";
        if status.is_file() && !is_program {
            return self.copy_file(&real, target);
        }
        Ok(symlink(real, target)?)
    }
}

/// Snapshot of the files below a directory, which contains only their metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FileSnapshot(BTreeMap<PathBuf, FileMetadataStamp>);

type FileMetadataStamp = (u64, u64, i64, i64);

impl FileSnapshot {
    /// Takes a snapshot of a directory. Files that disappear while it is taken are left out.
    pub(super) fn of_directory(directory: &Path) -> Self {
        let mut files = BTreeMap::new();
        let mut open = vec![directory.to_owned()];
        while let Some(directory) = open.pop() {
            for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
                let Ok(status) = entry.metadata() else { continue };
                if status.is_dir() {
                    open.push(entry.path());
                } else {
                    let stamp = (status.ino(), status.len(), status.mtime(), status.mtime_nsec());
                    files.insert(entry.path(), stamp);
                }
            }
        }
        FileSnapshot(files)
    }

    /// Returns the files that were created, renamed to their current path, or written to since the snapshot `before`.
    pub(super) fn written_since<'a>(&'a self, before: &'a FileSnapshot) -> impl Iterator<Item = &'a Path> {
        let fresh =
            |(path, stamp): &(&'a PathBuf, &'a FileMetadataStamp)| before.0.get(*path) != Some(*stamp);
        self.0.iter().filter(fresh).map(|(path, _)| path.as_path())
    }

    /// Returns the files that were removed or renamed since the snapshot `before`.
    pub(super) fn gone_since<'a>(&'a self, before: &'a FileSnapshot) -> impl Iterator<Item = &'a Path> {
        before.0.keys().filter(|path| !self.0.contains_key(*path)).map(PathBuf::as_path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_paths_are_replaced() {
        let text = b"cd /srv/q; ls '/srv/q/new' /srv/q2 /mnt/srv/q ${X}/srv/q /srv/q.old \"/srv/q\"";
        let new = replace_path(text, b"/srv/q", b"/copy");
        assert_eq!(
            new.as_bstr(),
            "cd /copy; ls '/copy/new' /srv/q2 /mnt/srv/q ${X}/srv/q /srv/q.old \"/copy\""
        );
    }

    #[test]
    fn a_copy_contains_no_path_of_its_original() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.join("new")).unwrap();
        std::fs::write(root.join("new/1"), "x").unwrap();
        let at = root.display().to_string();
        std::fs::write(root.join("config"), format!("HOOK = {at}/hook\n")).unwrap();
        std::fs::write(root.join("hook"), format!("#!/bin/sh\nls {at}/new\n")).unwrap();
        std::fs::write(elsewhere.path().join("data"), "y").unwrap();
        symlink(root.join("new"), root.join("link")).unwrap();
        symlink(elsewhere.path().join("data"), root.join("data")).unwrap();
        let copy_of_queue = QueueDirectory::copy_of(&root.join("config"), None).unwrap();
        let copy = copy_of_queue.path().canonicalize().unwrap();
        let read = |name: &str| std::fs::read_to_string(copy.join(name)).unwrap();
        assert_eq!(read("config"), format!("HOOK = {}/hook\n", copy.display()));
        assert_eq!(read("hook"), format!("#!/bin/sh\nls {}/new\n", copy.display()));
        std::fs::write(copy.join("link/1"), "changed").unwrap();
        std::fs::write(copy.join("data"), "changed").unwrap();
        assert_eq!(std::fs::read_to_string(root.join("new/1")).unwrap(), "x");
        assert_eq!(std::fs::read_to_string(elsewhere.path().join("data")).unwrap(), "y");
        let mapped = copy_of_queue.hook_path("K", format!("{at}/hook").into()).unwrap();
        assert_eq!(mapped, format!("{}/hook", copy_of_queue.path().display()));
        assert!(copy_of_queue.hook_path("K", "/bin/true".into()).is_err());
        symlink(elsewhere.path(), root.join("queue")).unwrap();
        assert!(QueueDirectory::copy_of(&root.join("config"), None).is_err(), "a link out of the tree");
        let late = QueueDirectory::copy_of(&root.join("config"), Some(clock::monotonic_now()));
        assert!(matches!(late, Err(QueueError::CopyTimedOut)));
    }
}
