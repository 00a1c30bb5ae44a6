//! Copies of the files that the examples of the man pages use.

use std::fs;
use std::path::Path;

/// Returns a new directory with the files of `tests/data/manual`.
pub(crate) fn manual_directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/manual"), directory.path());
    directory
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
