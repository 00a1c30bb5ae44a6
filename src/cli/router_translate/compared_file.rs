//! Files that `compare` must read more than once, including pipes and standard input.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::cli::common::Problem;
use crate::os::read_whole;

/// File to compare. A pipe or standard input can be read only once, so it is copied to an unnamed file.
pub(super) struct ComparedFile {
    /// Name of the file in messages.
    pub(super) name: String,
    /// Path of the file or its copy, which can be read more than once.
    pub(super) path: PathBuf,
    /// Unnamed copy of a pipe. It must stay open while `path` is used.
    _copy: Option<File>,
}

impl ComparedFile {
    /// Opens a file; `-` is standard input.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        let is_stdin = path == Path::new("-");
        let is_pipe = || std::fs::metadata(path).is_ok_and(|status| !status.is_file() && !status.is_dir());
        if !is_stdin && !is_pipe() {
            return Ok(ComparedFile { name, path: path.to_owned(), _copy: None });
        }
        let problem = || Problem::cannot_read(&name);
        let text = if is_stdin {
            read_whole(std::io::stdin().lock())
        } else {
            File::open(path).and_then(read_whole)
        };
        let text = text.with_context(problem)?;
        let mut copy = tempfile::tempfile().with_context(problem)?;
        copy.write_all(&text).with_context(problem)?;
        let path = PathBuf::from(format!("/proc/self/fd/{}", copy.as_raw_fd()));
        Ok(ComparedFile { name, path, _copy: Some(copy) })
    }
}
