//! Errors of files that `lint` reads and writes itself.

use std::path::Path;

use crate::cli::common::Problem;

/// Returns the error for a file that cannot be read or written.
pub(super) fn file_problem(verb: &str, path: &Path, error: std::io::Error) -> anyhow::Error {
    Problem::unreadable(format!("cannot {verb} '{}'", path.display())).caused_by(error).into()
}
