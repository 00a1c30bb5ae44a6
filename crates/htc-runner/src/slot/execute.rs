//! EXECUTE directory: removal of leftovers in it, and checks before the execution point starts.

use std::io;
use std::path::{Path, PathBuf};

use nix::sys::statvfs::statvfs;

use crate::starter::{is_starter_alive, is_starter_gone};
use htc_base::FixableError;
use htc_base::quirks::{Quirk, QuirkMode};
use htc_base::text::plural::counted;
use htc_os::directory_tree;
use htc_starter::starter_pid_from_name;

/// Error about a directory that an execution point needs to run.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.problem_with_fix())]
pub struct DirectoryError {
    /// Parameter that names the directory.
    pub parameter: &'static str,
    /// Reason why the directory cannot be used.
    pub obstacle: DirectoryObstacle,
}

/// Reason why a required directory cannot be used.
#[derive(Debug)]
pub enum DirectoryObstacle {
    /// The parameter is not defined.
    Undefined,
    /// The path leads to something other than a directory.
    NotADirectory(PathBuf),
    /// The path cannot be examined; usually it does not exist.
    Unreadable {
        /// Path of the directory.
        path: PathBuf,
        /// Error of the operating system.
        error: io::Error,
    },
}

impl FixableError for DirectoryError {
    fn problem(&self) -> String {
        let parameter = self.parameter;
        match &self.obstacle {
            DirectoryObstacle::Undefined => format!("{parameter} is not defined"),
            DirectoryObstacle::NotADirectory(path) => {
                format!("{parameter}: '{}' is not a directory", path.display())
            }
            DirectoryObstacle::Unreadable { path, error } => {
                format!("{parameter}: '{}': {error}", path.display())
            }
        }
    }

    fn fix(&self) -> Option<String> {
        Some(match &self.obstacle {
            DirectoryObstacle::Undefined => "set it to a directory".to_owned(),
            DirectoryObstacle::NotADirectory(_) => "set it to a directory".to_owned(),
            DirectoryObstacle::Unreadable { error, .. } if error.kind() == io::ErrorKind::NotFound => {
                "create that directory".to_owned()
            }
            DirectoryObstacle::Unreadable { .. } => {
                "give the account that runs the slots access to it".to_owned()
            }
        })
    }
}

/// Checks that the directories needed by jobs and hooks exist.
///
/// # Errors
/// A directory is not configured, does not exist or is not a directory.
pub fn check_directories(execute: Option<&Path>, log: Option<&Path>) -> Result<(), DirectoryError> {
    for (parameter, path) in [("EXECUTE", execute), ("LOG", log)] {
        let fail = |obstacle| Err(DirectoryError { parameter, obstacle });
        let Some(path) = path else {
            return fail(DirectoryObstacle::Undefined);
        };
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return fail(DirectoryObstacle::NotADirectory(path.to_owned())),
            Err(error) => return fail(DirectoryObstacle::Unreadable { path: path.to_owned(), error }),
        }
    }
    Ok(())
}

/// Free space in bytes that a starter needs for the directory of a job and its own files there.
const MIN_FREE_BYTES: u64 = 256 * 1024;

/// Checks that a starter can create the directory of a job in EXECUTE. On a full disk, each fetched job would fail at
/// once, as in 25.14, until the queue is empty.
///
/// # Errors
/// Fails with one sentence about the problem.
pub fn check_room(execute: &Path) -> Result<(), String> {
    check_free_bytes(execute, MIN_FREE_BYTES)
}

fn check_free_bytes(execute: &Path, least: u64) -> Result<(), String> {
    let name = execute.display();
    let status = statvfs(execute).map_err(|errno| format!("EXECUTE: '{name}': {errno}"))?;
    let root = nix::unistd::geteuid().is_root();
    let blocks = if root { status.blocks_free() } else { status.blocks_available() };
    let free = blocks.saturating_mul(status.fragment_size().max(1));
    if free < least {
        return Err(format!("EXECUTE: '{name}' is full: {free} bytes are free, but a starter needs {least}"));
    }
    // Some file systems report 0 as the total number of files, because they have no limit.
    if status.files() > 0 && status.files_free() == 0 {
        return Err(format!("EXECUTE: '{name}' is full: its file system can hold no more files"));
    }
    Ok(())
}

/// Removes what the starter with process id `pid` could not remove because it was killed; returns warnings.
pub(super) fn remove_leftovers_of(execute: &Path, pid: u32) -> Vec<String> {
    let of_it =
        |name: &str| starter_pid_from_name(name).is_some_and(|starter| u32::try_from(starter) == Ok(pid));
    let Ok(entries) = std::fs::read_dir(execute) else { return Vec::new() };
    let left = entries.flatten().filter(|entry| of_it(&entry.file_name().to_string_lossy()));
    left.flat_map(|entry| directory_tree::remove_tree(&entry.path()))
        .map(|left| format!("cannot remove '{}': {}", left.path.display(), left.error))
        .collect()
}

/// Removes leftovers of starters that have ended (`cleanup_execute_dirs`); returns warnings.
///
/// 25.14 removes everything in EXECUTE, regardless of its owner (quirk `execute-emptied`).
pub fn clean_execute(execute: &Path, quirks: QuirkMode) -> Vec<String> {
    let mut warnings = Vec::new();
    let Ok(entries) = std::fs::read_dir(execute) else { return warnings };
    let mut kept: Vec<PathBuf> = Vec::new();
    let mut used: Vec<(PathBuf, i32)> = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let ours = starter_pid_from_name(&name);
        let gone =
            ours.is_some_and(|pid| is_starter_gone(&entry.path(), pid) && !is_starter_alive(execute, pid));
        if !gone && !quirks.reproduces(Quirk::ExecuteEmptied) {
            match ours {
                Some(pid) => used.push((entry.path(), pid)),
                None => kept.push(entry.path()),
            }
            continue;
        }
        for left in directory_tree::remove_tree(&entry.path()) {
            warnings.push(format!("cannot remove '{}': {}", left.path.display(), left.error));
        }
    }
    for (path, pid) in used {
        warnings.push(format!(
            "'{}' in EXECUTE belongs to the running process {pid} and stays; a real execution point would remove it \
             (execute-emptied)",
            path.display()
        ));
    }
    if let Some(first) = kept.first() {
        let count = kept.len();
        warnings.push(format!(
            "EXECUTE contains {} that no starter has left behind, such as '{}'; a real execution point would \
             remove everything in it (execute-emptied)",
            counted(count, "item"),
            first.display()
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_execute_directory_is_reported_before_a_job_is_fetched() {
        let execute = tempfile::tempdir().unwrap();
        assert_eq!(check_free_bytes(execute.path(), 0), Ok(()));
        let full = check_free_bytes(execute.path(), u64::MAX).unwrap_err();
        assert!(full.contains("is full: "), "{full}");
        let gone = check_room(&execute.path().join("no")).unwrap_err();
        assert!(gone.contains("No such file"), "{gone}");
    }

    #[test]
    fn all_leftovers_of_a_killed_starter_are_removed() {
        let execute = tempfile::tempdir().unwrap();
        for name in ["dir_12", "dir_12.1", "dir_123", "dir_13"] {
            std::fs::create_dir_all(execute.path().join(name).join("scratch")).unwrap();
        }
        assert_eq!(remove_leftovers_of(execute.path(), 12), Vec::<String>::new());
        let mut names: Vec<_> =
            std::fs::read_dir(execute.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
        names.sort();
        assert_eq!(names, ["dir_123", "dir_13"]);
    }
}
