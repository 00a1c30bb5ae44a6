//! The execute directory: what stands in it before we begin, and what must be there.

use std::path::{Path, PathBuf};

use crate::os::{process_table, tree};
use crate::quirks::{Quirk, Quirks};

/// Makes sure that the directories that jobs and hooks need are there.
///
/// # Errors
/// One sentence: which is missing, and what to do.
pub fn check_directories(execute: Option<&Path>, log: Option<&Path>) -> Result<(), String> {
    for (knob, path) in [("EXECUTE", execute), ("LOG", log)] {
        let Some(path) = path else {
            return Err(format!("{knob} is not defined: set it to a directory"));
        };
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return Err(format!("{knob}: '{}' is not a directory", path.display())),
            Err(error) => {
                return Err(format!("{knob}: '{}': {error}; make that directory", path.display()));
            }
        }
    }
    Ok(())
}

/// Removes what starters that are gone have left (`cleanup_execute_dirs`); returns warnings.
///
/// 25.14 removes everything in EXECUTE, whoever it belongs to (quirk `execute-emptied`).
pub fn clean_execute(execute: &Path, quirks: Quirks) -> Vec<String> {
    let mut warnings = Vec::new();
    let Ok(entries) = std::fs::read_dir(execute) else { return warnings };
    let mut kept: Vec<PathBuf> = Vec::new();
    let mut used: Vec<(PathBuf, i32)> = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix("dir_").map(|rest| rest.strip_suffix(".recover").unwrap_or(rest));
        let ours = pid.and_then(|pid| pid.parse::<i32>().ok());
        let gone = ours.is_some_and(|pid| process_table::read(pid).is_none());
        if !gone && !quirks.has(Quirk::ExecuteEmptied) {
            match ours {
                Some(pid) => used.push((entry.path(), pid)),
                None => kept.push(entry.path()),
            }
            continue;
        }
        for left in tree::remove_tree(&entry.path()) {
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
            "EXECUTE holds {count} thing{} that no starter has left, such as '{}'; a real execution point would \
             remove them (execute-emptied)",
            if count == 1 { "" } else { "s" },
            first.display()
        ));
    }
    warnings
}
