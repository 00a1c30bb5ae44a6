//! Target of output: standard output, or a file that is replaced only when the new content is complete.

use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;

use super::Problem;
use super::stdio_pipe::write_to_stdout;
use super::stdout::{ProgramStdout, stdout};
use crate::os::NewFile;

/// Writes a report to a file; `-` is standard output.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub(crate) fn write_report_file(path: &Path, text: &[u8]) -> anyhow::Result<()> {
    if path == Path::new("-") {
        return write_to_stdout(text);
    }
    std::fs::write(path, text)
        .with_context(|| Problem::unreadable(format!("cannot write '{}'", path.display())))
}

/// Target of a program's output.
#[derive(Debug)]
pub(crate) enum OutputTarget {
    /// Standard output.
    Stdout(ProgramStdout),
    /// File that is replaced at the end.
    File(NewFile),
}

impl OutputTarget {
    /// Opens a file, or standard output for `None`.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub(crate) fn open(path: Option<&Path>) -> io::Result<Self> {
        Ok(match path {
            None => OutputTarget::Stdout(stdout()),
            Some(path) => OutputTarget::File(NewFile::create(path)?),
        })
    }

    /// Completes the output.
    ///
    /// # Errors
    /// Returns errors of the file system.
    pub(crate) fn commit(self) -> io::Result<()> {
        match self {
            OutputTarget::Stdout(mut stdout) => stdout.flush(),
            OutputTarget::File(file) => file.commit(),
        }
    }
}

impl Write for OutputTarget {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        match self {
            OutputTarget::Stdout(stdout) => stdout.write(text),
            OutputTarget::File(file) => file.file().write(text),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            OutputTarget::Stdout(stdout) => stdout.flush(),
            OutputTarget::File(file) => file.file().flush(),
        }
    }
}
