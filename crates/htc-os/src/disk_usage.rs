//! Disk usage of a directory as the reference measures it (`Directory::GetDirectorySize`): sizes of files,
//! and number of entries.

use std::ffi::OsStr;
use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use super::clock;

/// Disk usage of the contents of a directory, not counting the directory itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskUsage {
    /// Total size of all files, in bytes.
    pub bytes: u64,
    /// Number of files, directories and links.
    pub entries: u64,
}

/// Incremental walk of a directory tree, which does not follow links.
#[derive(Debug)]
pub struct DirectoryWalk {
    open_directory: Option<fs::ReadDir>,
    current: WalkedDirectory,
    pending: Vec<WalkedDirectory>,
    usage: DiskUsage,
}

/// Directory that is still to be read. Its path is relative to an open directory if the full path exceeds the
/// kernel's limit on the length of paths.
#[derive(Clone, Debug)]
struct WalkedDirectory {
    base: Option<Rc<fs::File>>,
    path: PathBuf,
}

/// Maximum length of a path, in bytes. The paths of deeper directories are relative to an open directory. The
/// kernel's limit leaves space for one more name, which has at most 255 bytes.
const MAX_PATH_LENGTH: usize = 3000;

impl WalkedDirectory {
    fn full_path(&self) -> PathBuf {
        match &self.base {
            Some(open) => Path::new(&format!("/proc/self/fd/{}", open.as_raw_fd())).join(&self.path),
            None => self.path.clone(),
        }
    }

    fn subdirectory(&self, name: &OsStr) -> WalkedDirectory {
        if self.path.as_os_str().len() < MAX_PATH_LENGTH {
            return WalkedDirectory { base: self.base.clone(), path: self.path.join(name) };
        }
        let flags = nix::libc::O_DIRECTORY | nix::libc::O_NOFOLLOW;
        let open = fs::File::options().read(true).custom_flags(flags).open(self.full_path());
        WalkedDirectory { base: open.ok().map(Rc::new), path: name.into() }
    }
}

impl DirectoryWalk {
    /// Creates a walk of a directory, without reading anything yet.
    pub fn new(directory: &Path) -> Self {
        let at = WalkedDirectory { base: None, path: directory.to_owned() };
        DirectoryWalk {
            open_directory: None,
            current: at.clone(),
            pending: vec![at],
            usage: DiskUsage::default(),
        }
    }

    /// Continues the walk for the given duration. Returns the result if the walk is complete, or `None` if it
    /// must be continued.
    pub fn continue_for(&mut self, duration: Duration) -> Option<DiskUsage> {
        let until = clock::monotonic_now().plus(duration);
        for step in 1u64.. {
            match self.open_directory.as_mut().and_then(|open| open.find_map(Result::ok)) {
                Some(entry) => self.count_entry(&entry),
                // Directories that were removed or cannot be read are treated as empty.
                None => match self.pending.pop() {
                    Some(next) => {
                        self.open_directory = fs::read_dir(next.full_path()).ok();
                        self.current = next;
                    }
                    None => return Some(self.usage),
                },
            }
            if step % 256 == 0 && clock::monotonic_now() >= until {
                break;
            }
        }
        None
    }

    fn count_entry(&mut self, entry: &fs::DirEntry) {
        self.usage.entries += 1;
        let Ok(status) = entry.metadata() else { return };
        if status.is_dir() {
            self.pending.push(self.current.subdirectory(&entry.file_name()));
        } else if !status.is_symlink() {
            self.usage.bytes = self.usage.bytes.saturating_add(status.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_count_with_their_size_and_links_only_as_entries() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("a")).unwrap();
        fs::write(home.path().join("a/b"), "12345").unwrap();
        fs::write(home.path().join("c"), "678").unwrap();
        std::os::unix::fs::symlink("/", home.path().join("d")).unwrap();
        let usage = DirectoryWalk::new(home.path()).continue_for(Duration::from_secs(60)).unwrap();
        assert_eq!(usage, DiskUsage { bytes: 8, entries: 4 });
    }

    #[test]
    fn files_below_too_long_paths_are_counted() {
        let home = tempfile::tempdir().unwrap();
        let (part, mut at) = ("d".repeat(200), home.path().to_owned());
        let mut held = None;
        for _ in 0..40 {
            fs::create_dir(at.join(&part)).unwrap();
            let open = fs::File::open(at.join(&part)).unwrap();
            at = PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd()));
            held = Some(open);
        }
        fs::write(at.join("file"), "12345").unwrap();
        drop(held);
        let usage = DirectoryWalk::new(home.path()).continue_for(Duration::from_secs(60)).unwrap();
        assert_eq!(usage, DiskUsage { bytes: 5, entries: 41 });
        assert!(super::super::directory_tree::remove_tree(&home.path().join(part)).is_empty());
    }

    #[test]
    fn a_large_directory_is_scanned_in_several_steps() {
        let home = tempfile::tempdir().unwrap();
        (0..600).for_each(|number| fs::write(home.path().join(number.to_string()), "x").unwrap());
        let mut walk = DirectoryWalk::new(home.path());
        let pieces =
            std::iter::repeat_with(|| walk.continue_for(Duration::ZERO)).position(|end| end.is_some());
        assert_eq!(pieces, Some(2));
        assert_eq!(walk.continue_for(Duration::ZERO), Some(DiskUsage { bytes: 600, entries: 600 }));
    }
}
